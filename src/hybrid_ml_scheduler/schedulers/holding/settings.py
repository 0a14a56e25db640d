"""The settings among which `rl_hold` chooses, and what each would have made of tasks that are known.

All are without units: limits are multiples of the mean seconds of a task, prices are a share of device-seconds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, FloatColumn, IntColumn
from hybrid_ml_scheduler.core.holding import HeldStage
from hybrid_ml_scheduler.physics.optimum import bounded_slowdown
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid
from hybrid_ml_scheduler.schedulers.holding.keyed import WHOLE
from hybrid_ml_scheduler.schedulers.holding.replaying import replayed

__all__ = [
    "HOPELESS",
    "OBJECTIVES",
    "PLAIN",
    "SETTINGS",
    "History",
    "Setting",
    "nested_limits",
    "replayed_values",
    "stage_of",
]

OBJECTIVES = ("latency", "slowdown", "p99", "energy", "cost")
_DEPTH = 64
HOPELESS = 2.0  # so many times the waiting of another setting, and a replay is given up
_SPLITS = split_grid(DEFAULT_STEP)


class Setting(NamedTuple):
    """How held tasks are planned: cut or whole, what device-seconds cost, and which parts devices refuse.

    The first GPU takes no part longer than `low` times the mean, each further one `ratio` times as much, the last one
    anything; the CPU nothing longer than `cpu` times the mean.
    """

    splits: bool
    price: float
    low: float = math.inf
    ratio: float = 2.0
    cpu: float = math.inf


PLAIN = (Setting(True, 0.0), Setting(False, 0.0))
"""Shortest first as it stands, cut and whole: what every other setting must beat."""

SETTINGS = (
    *PLAIN,
    Setting(True, 0.3, 8.0, 4.0, 20.0),
    Setting(False, 0.0, 16.0, 2.0, 20.0),
    Setting(True, 0.0, 8.0, 2.0),
    Setting(True, 0.7, 4.0, 8.0),
    Setting(False, 0.7, 2.0, 2.0),
    Setting(True, 0.3, 4.0, 4.0),
    Setting(True, 0.7, 2.0, 2.0),
    Setting(True, 0.0, 4.0, 8.0),
    Setting(True, 0.7, 8.0, 4.0),
    Setting(True, 0.3, math.inf, 2.0, 20.0),
    Setting(True, 0.3, 2.0, 8.0),
    Setting(False, 0.0, 8.0, 2.0),
    Setting(False, 0.0, 4.0, 2.0),
    Setting(True, 0.3, 2.0, 4.0, 20.0),
    Setting(True, 0.7, 2.0, 8.0),
    Setting(True, 0.7, 16.0, 2.0, 20.0),
)


class History(NamedTuple):
    """Tasks that are known, in the order in which they became ready, and the aging under which they are held."""

    ready_s: FloatColumn
    order: FloatColumn
    size_s: FloatColumn
    tasks: BatchTerms
    aging: float = math.inf

    def rows(self, first: int, last: int) -> History:
        """Those from one place up to another."""
        tasks = self.tasks
        some = tasks._replace(
            cpu_s=tasks.cpu_s[first:last],
            gpu_s=tasks.gpu_s[first:last],
            paged_s=tasks.paged_s[first:last],
            memory_mb=tasks.memory_mb[first:last],
            memory_rule=tasks.memory_rule[first:last],
        )
        return History(self.ready_s[first:last], self.order[first:last], self.size_s[first:last], some, self.aging)


def nested_limits(setting: Setting, devices: int) -> tuple[float, ...]:
    """The longest part of every device in multiples of the mean, the CPU first; the last GPU takes anything."""
    between = [setting.low * setting.ratio**place for place in range(devices - 2)]
    return (setting.cpu, *between, math.inf)


def stage_of(setting: Setting, devices: int, first: int) -> HeldStage:
    """A setting as the compiled code takes it."""
    grid = _SPLITS if setting.splits else WHOLE
    return HeldStage(first=first, grid=grid, price=setting.price, longest=nested_limits(setting, devices))


def replayed_values(history: History, settings: tuple[Setting, ...], objective: str, rates: FloatColumn) -> FloatColumn:
    """What the objective would have been under every setting; `rates` are watts or dollars a second of the devices.

    It is infinite where tasks waited more than twice as long as under a setting before it.

    Energy and cost are multiplied with the mean latency, or the cheapest setting would be the slowest.
    """
    count, devices = len(history.ready_s), len(rates)
    no_parents, no_children = np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
    values, give_up_s = np.full(len(settings), math.inf), math.inf
    for place, setting in enumerate(settings):
        device_s = np.zeros(devices)
        latency_s = _replay(history, setting, no_parents, no_children, device_s, give_up_s) - history.ready_s
        total_s = float(latency_s.sum())
        if not math.isnan(total_s):
            give_up_s = min(give_up_s, HOPELESS * total_s)
            values[place] = _value(latency_s, history.size_s, objective, float(device_s @ rates))
    return values


def _replay(
    history: History,
    setting: Setting,
    offsets: IntColumn,
    children: IntColumn,
    device_s: FloatColumn,
    give_up_s: float,
) -> FloatColumn:
    stage = stage_of(setting, len(device_s), 0)
    return replayed(
        history.ready_s,
        history.order,
        history.size_s,
        history.tasks,
        np.zeros(len(history.ready_s), dtype=np.int64),
        offsets,
        children,
        as_column(stage.grid),
        stage.price,
        as_column(stage.longest),
        _DEPTH,
        history.aging,
        device_s,
        give_up_s,
    )


def _value(latency_s: FloatColumn, size_s: FloatColumn, objective: str, used: float) -> float:
    kept, sizes = latency_s[len(latency_s) // 10 :], size_s[len(latency_s) // 10 :]
    if objective == "slowdown":
        return float(bounded_slowdown(kept, sizes).mean())
    if objective == "p99":
        return float(np.quantile(kept, 0.99))
    mean = float(kept.mean())
    return mean * used if objective in ("energy", "cost") else mean
