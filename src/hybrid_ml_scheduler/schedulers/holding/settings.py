"""The settings among which `rl_hold` chooses, and what each would have made of tasks that are known.

All are without units: limits are multiples of the mean seconds of a task, prices are a share of device-seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar, cast

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, Estimator, FloatColumn, IntColumn, Task
from hybrid_ml_scheduler.core.holding import HeldStage, Pick
from hybrid_ml_scheduler.physics.optimum import bounded_slowdown
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid
from hybrid_ml_scheduler.schedulers.holding.keyed import WHOLE
from hybrid_ml_scheduler.schedulers.holding.replaying import replay_tasks

__all__ = [
    "HOPELESS",
    "OBJECTIVES",
    "PLAIN",
    "PLANNED",
    "SETTINGS",
    "History",
    "Setting",
    "gpus_by_speed",
    "held_order",
    "nested_limits",
    "replayed_values",
    "stage_of",
]

OBJECTIVES = ("latency", "makespan", "slowdown", "p99", "energy", "cost")
_USUAL = Task(-1, 1000.0, 0.7, 100.0, 0.0)  # by which GPUs are compared
_NO_WIDTHS: IntColumn = np.empty(0, dtype=np.int64)
_AS_BELIEVED: FloatColumn = np.empty(0)
_Seconds = TypeVar("_Seconds", float, FloatColumn)
HOPELESS = 2.0  # so many times the waiting of another setting, and a replay is given up
_SPLITS = split_grid(DEFAULT_STEP)


class Setting(NamedTuple):
    """How held tasks are planned: cut or whole, what device-seconds cost, and which parts devices refuse.

    The first GPU takes no part longer than `low` times the mean, each further one `ratio` times as much, the last one
    anything; the CPU nothing longer than `cpu` times the mean. With `slowest` above 0 nothing is planned: idle devices
    take whole tasks by `slowest` and `affinity` (`physics.held_choices.pull_key`), 3 and 0 being the c-mu rule.
    `patience` is in multiples of what the strategy has: 0 is first come first served. With `soonest` above 0 the held
    task plans next whose best device ends soonest, as under `min_min`.
    """

    splits: bool
    price: float
    low: float = math.inf
    ratio: float = 2.0
    cpu: float = math.inf
    slowest: float = 0.0
    affinity: float = 0.0
    patience: float = 1.0
    soonest: float = 0.0


_LONG, _ENDLESS = 10.0, 1e4  # times the patience: hardly a bound, and one for form's sake


def _pull(slowest: float, affinity: float = 0.0, patience: float = 1.0) -> Setting:
    return Setting(False, 0.0, slowest=slowest, affinity=affinity, patience=patience)


_SHORTEST = (Setting(True, 0.0), Setting(False, 0.0))
PLAIN = (
    *_SHORTEST,
    _pull(3.0),
    *(one._replace(patience=patience) for patience in (_LONG, _ENDLESS) for one in (*_SHORTEST, _pull(3.0))),
    *(one._replace(patience=0.0) for one in _SHORTEST),
    Setting(True, 0.0, 4.0, 1.0, 4.0, patience=0.0),
)
"""What every other setting must beat: shortest first cut and whole and the c-mu rule, each with the patience as it is,
with more and with much more; first come first served, cut, whole, and with a GPU for the long ones."""

PLANNED = (
    *_SHORTEST,
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
"""Settings by which tasks plan: what `hms tune` begins with."""

SETTINGS = (
    *PLAIN,
    *PLANNED[2:],
    *(_pull(slowest) for slowest in (1.5, 6.0, math.inf)),
    *(_pull(slowest, patience=_LONG) for slowest in (1.5, math.inf)),
    _pull(math.inf, patience=_ENDLESS),
    *(_pull(slowest, 1.0) for slowest in (3.0, math.inf)),
    _pull(math.inf, 3.0),
    _pull(math.inf, 10.0),
    Setting(False, 0.0, soonest=1.0),
    Setting(True, 0.0, soonest=1.0),
    Setting(False, 0.3),
    Setting(False, 1.0),
    Setting(False, 3.0),
)


class History(NamedTuple):
    """Tasks that are known, in the order in which they became ready, and the aging and patience with which they wait.

    `whole_s` are their seconds where no task is cut (`None`: the same), `width` how many GPUs each needs (`None`: one),
    `slower` how many times as long as believed each took (`None`: as believed), `by_speed` the GPUs by rising speed.
    """

    ready_s: FloatColumn
    size_s: FloatColumn
    tasks: BatchTerms
    aging: float = math.inf
    patience: float = 0.0
    whole_s: FloatColumn | None = None
    width: IntColumn | None = None
    slower: FloatColumn | None = None
    by_speed: tuple[int, ...] = ()

    @property
    def has_gangs(self) -> bool:
        """Whether any of them needs several GPUs at once."""
        return self.width is not None and len(self.width) > 0 and int(self.width.max()) > 1

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
        return self._replace(
            ready_s=self.ready_s[first:last],
            size_s=self.size_s[first:last],
            tasks=some,
            whole_s=None if self.whole_s is None else self.whole_s[first:last],
            width=None if self.width is None else self.width[first:last],
            slower=None if self.slower is None else self.slower[first:last],
        )

    def order(self, setting: Setting) -> FloatColumn:
        """By which they go under this setting."""
        own_s = self.size_s if setting.splits or self.whole_s is None else self.whole_s
        return held_order(self.ready_s, own_s, self.patience, setting.patience)


def held_order(arrival_s: _Seconds, own_s: _Seconds, patience: float, multiple: float) -> _Seconds:
    """The place of tasks in the order: their seconds, or the moment up to which they let others pass."""
    if multiple == 0.0:
        return arrival_s
    return arrival_s + patience * multiple * own_s if patience else own_s


def gpus_by_speed(estimator: Estimator) -> tuple[int, ...]:
    """The GPUs by rising speed for a usual task; equal ones by number."""
    if estimator.gpus_alike:
        return tuple(range(estimator.num_gpus))
    usual = estimator.terms(_USUAL)
    return tuple(sorted(range(estimator.num_gpus), key=lambda gpu: -float(usual.gpu_s[usual.gpu_kind[gpu]])))


def nested_limits(setting: Setting, devices: int, by_speed: Sequence[int] = ()) -> tuple[float, ...]:
    """The longest part of every device in multiples of the mean, the CPU first.

    The GPUs take longer parts in the order `by_speed` (empty: by number), and the last one takes anything: a slow GPU
    that takes the longest parts would be busy for ever.
    """
    limits = [math.inf] * (devices - 1)
    for place, gpu in enumerate((by_speed or range(devices - 1))[: devices - 2]):
        limits[gpu] = setting.low * setting.ratio**place
    return (setting.cpu, *limits)


def stage_of(
    setting: Setting, devices: int, first: int, patience: float = 0.0, order: int = 0, by_speed: Sequence[int] = ()
) -> HeldStage:
    """A setting as the compiled code takes it, with the patience of the strategy and the place of its order."""
    return HeldStage(
        first=first,
        grid=_SPLITS if setting.splits else WHOLE,
        price=setting.price,
        longest=nested_limits(setting, devices, by_speed),
        order=order,
        slowest=setting.slowest,
        affinity=setting.affinity,
        patience=patience * setting.patience,
        pick=Pick.LEAST_COMPLETION if setting.soonest else Pick.IN_ORDER,
    )


def replayed_values(
    history: History, settings: tuple[Setting, ...], objective: str, rates: FloatColumn, *, all_count: bool = False
) -> FloatColumn:
    """What the objective would have been under every setting; `rates` are watts or dollars a second of the devices.

    The first tenth does not count, unless `all_count`: a cluster that starts idle serves it too well, but a device that
    takes one of them and is busy for the rest would look free of cost.
    It is infinite where tasks waited more than twice as long as under a setting before it, and where gangs, which are
    planned in order, would have to be taken by devices or by who is done soonest.

    Energy and cost are multiplied with the mean latency, or the cheapest setting would be the slowest.
    """
    count, devices = len(history.ready_s), len(rates)
    first = 0 if all_count else count // 10
    no_parents, no_children = np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
    values, give_up_s = np.full(len(settings), math.inf), math.inf
    for place, setting in enumerate(settings):
        if (setting.slowest or setting.soonest) and history.has_gangs:
            continue
        device_s = np.zeros(devices)
        latency_s = _replay(history, setting, no_parents, no_children, device_s, give_up_s) - history.ready_s
        total_s = float(latency_s.sum())
        if not math.isnan(total_s):
            give_up_s = min(give_up_s, HOPELESS * total_s)
            values[place] = (
                float((latency_s + history.ready_s).max() - history.ready_s[0])
                if objective == "makespan"
                else _value(latency_s[first:], history.size_s[first:], objective, float(device_s @ rates))
            )
    return values


def _replay(
    history: History,
    setting: Setting,
    offsets: IntColumn,
    children: IntColumn,
    device_s: FloatColumn,
    give_up_s: float,
) -> FloatColumn:
    stage = stage_of(setting, len(device_s), 0, history.patience, by_speed=history.by_speed)
    return replay_tasks(
        history.ready_s,
        history.order(setting),
        history.size_s,
        history.tasks,
        np.zeros(len(history.ready_s), dtype=np.int64),
        offsets,
        children,
        as_column(stage.grid),
        stage.price,
        as_column(stage.longest),
        as_column((stage.slowest, stage.affinity, stage.patience, float(stage.pick))),
        cast("IntColumn", history.width) if history.has_gangs else _NO_WIDTHS,
        _AS_BELIEVED if history.slower is None else history.slower,
        history.aging,
        device_s,
        give_up_s,
    )


def _value(latency_s: FloatColumn, size_s: FloatColumn, objective: str, used: float) -> float:
    if objective == "slowdown":
        return float(bounded_slowdown(latency_s, size_s).mean())
    if objective == "p99":
        return float(np.quantile(latency_s, 0.99))
    mean = float(latency_s.mean())
    return mean * used if objective in ("energy", "cost") else mean
