"""Tasks a second of the live race with PostgreSQL, beside an earlier source tree (`--base DIR`), in turns.

Like is compared with like: the same strategies, the same database server, no viewers, as fast as possible. A tree from
before durations were hidden has neither levels nor the preset `unknown`; its `mixed` with a noise of 0.2 stands for it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests import services
from tests.api.service import PATIENCE_S, TOLD, LiveService, service

__all__ = ["live_rates", "rate_words"]

# The noise is set inside the older program, which has no option for it.
_NOISY = (
    "import hybrid_ml_scheduler.workload.presets as laws; "
    "noisy = laws.PRESETS['mixed'].with_values({'noise_sigma': 0.2}); "
    "laws.PRESETS = {**laws.PRESETS, 'mixed': noisy}; "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateEffort:
    """How often and how long each race is watched, and how many tasks must have passed before."""

    rounds: int = 3
    first_tasks: int = 10_000
    warm_up_s: float = 3.0
    measured_s: float = 8.0


QUICK_RATES = RateEffort(rounds=1, first_tasks=1, warm_up_s=0.3, measured_s=0.5)


def live_rates(base: Path, schedulers: str, *, quick: bool) -> dict[str, Any]:
    """The rates of both trees in turns, and what is left of the older one's."""
    effort = QUICK_RATES if quick else RateEffort()
    hidden = {"HMS_WORKLOAD": "unknown", "HMS_KNOWLEDGE": "learned"}
    races: dict[str, tuple[Path | None, Mapping[str, str], str]] = {
        "base_mixed": (base, {}, ""),
        "mixed_exact": (None, TOLD, ""),
        "base_mixed_noise": (base, {}, _NOISY),
        "unknown_learned": (None, hidden, ""),
    }
    found: dict[str, list[float]] = {name: [] for name in races}
    for _ in range(effort.rounds):
        for name, (tree, environment, before) in races.items():
            with services.postgres() as server, tempfile.TemporaryDirectory() as folder:
                told = {"HMS_SCHEDULERS": schedulers, "DATABASE_URL": server.url, **environment}
                with _started(Path(folder), told, tree, before) as live:
                    found[name].append(_tasks_per_s(live, effort))
    means = {name: float(np.mean(rates)) for name, rates in found.items()}
    return {
        "rounds": found,
        "tasks_per_s": means,
        "mixed_exact_vs_base": means["mixed_exact"] / means["base_mixed"],
        "unknown_learned_vs_base_noise": means["unknown_learned"] / means["base_mixed_noise"],
    }


@contextmanager
def _started(folder: Path, environment: Mapping[str, str], tree: Path | None, before: str) -> Iterator[LiveService]:
    """This program, or that of another source tree, which knows no levels."""
    if tree is None:
        with service(folder, environment) as live:
            yield live
        return
    live = LiveService(folder, {**environment, "PYTHONPATH": str(tree / "src")}, before=before)
    for name in TOLD:
        live.environment.pop(name, None)
    try:
        yield live.start()
    finally:
        live.close()


def _tasks_per_s(live: LiveService, effort: RateEffort) -> float:
    begun_s = time.monotonic()
    while live.client.post("/api/simulation/start", json={"speed": 0}).status_code != 200:
        # A tree that was never run is compiled first, and says meanwhile that its engine does not answer.
        assert time.monotonic() - begun_s < PATIENCE_S, live.output[-2000:]
    # Kernels are compiled at their first use, some of them long after the first task: none may be left by now.
    live.wait(lambda status: status["tasks_processed"] >= effort.first_tasks)
    time.sleep(effort.warm_up_s)
    first, begin = live.status()["tasks_processed"], time.perf_counter()
    time.sleep(effort.measured_s)
    rate = (live.status()["tasks_processed"] - first) / (time.perf_counter() - begin)
    live.held()
    return float(rate)


def rate_words(found: Mapping[str, Any]) -> str:
    """The rates and their ratios as text."""
    lines = [f"{name:17} {rate:7.0f} tasks/s" for name, rate in found["tasks_per_s"].items()]
    ratios = ("mixed_exact_vs_base", "unknown_learned_vs_base_noise")
    return "\n".join([*lines, *(f"{name:30} {found[name]:.3f}" for name in ratios)])
