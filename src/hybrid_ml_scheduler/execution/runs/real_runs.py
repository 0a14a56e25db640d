"""A real run is a run: strategies on one stream, repeated and paired, with its bound and what would have been."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from hybrid_ml_scheduler.execution.runs.calibration import Calibration, write_calibration
from hybrid_ml_scheduler.execution.runs.measured_run import EndedTasks
from hybrid_ml_scheduler.execution.runs.measuring import this_machine
from hybrid_ml_scheduler.execution.runs.meters import Meters
from hybrid_ml_scheduler.execution.runs.modelled_run import simulate
from hybrid_ml_scheduler.execution.runs.report import markdown, write_json, write_tasks, write_trace
from hybrid_ml_scheduler.execution.runs.run_result import RunResult, half_width
from hybrid_ml_scheduler.execution.runs.streams import RealStream
from hybrid_ml_scheduler.execution.runs.study import Bench, bound, make_strategy, stream_of_length
from hybrid_ml_scheduler.execution.runs.validated import alarms, surprise

__all__ = ["Follower", "RealPlan", "RealRun", "real_run"]

Say = Callable[[str, int, int], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RealPlan:
    """A stream of about so many seconds at a load (from 1 on all tasks at once), and how often it is run.

    A strategy that has not ended after `patience` times the first one's makespan is stopped: it took longer than that.
    """

    load: float = 1.0
    seconds: float = 20.0
    repeats: int = 1
    seed: int = 1
    patience: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RealRun:
    """Measured runs by strategy and repeat, the same tasks in the model, and the proven bound.

    `decision_s` says what deciding takes each strategy.
    """

    tasks: RealStream
    calibration: Calibration
    load: float
    decision_s: dict[str, float]
    measured: dict[str, list[RunResult]]
    would_have_been: dict[str, RunResult]
    bound_s: float
    energy_j: dict[str, list[float | None]]
    meters: str
    alarms: list[str]

    @property
    def repeats(self) -> int:
        """How often every strategy ran."""
        return len(next(iter(self.measured.values())))

    def document(self, repeat: int) -> dict[str, Any]:
        """One repeat as the history takes it in: what stands beside the rows."""
        return {**_document(self.tasks, self.calibration, self.load, repeat, self.repeats), **self.last_words()}

    def last_words(self) -> dict[str, Any]:
        """What is known of a run when it has ended."""
        return {"bound_s": self.bound_s, "meters": self.meters, "alarms": list(self.alarms)}

    def result_documents(self, repeat: int, chunk: int) -> Iterator[dict[str, Any]]:
        """What came of the tasks, strategy by strategy, in pieces: measured, then what would have been."""
        runs = [(name, several[repeat], self.energy_j[name][repeat]) for name, several in self.measured.items()]
        for name, run, energy_j in [*runs, *((name, run, None) for name, run in self.would_have_been.items())]:
            for first in range(0, len(self.tasks), chunk):
                own = slice(first, first + chunk)
                yield {
                    "scheduler": name,
                    "source": run.source,
                    "first": first,
                    "place": run.place[own].tolist(),
                    "start_s": [_moment(value) for value in run.start_s[own].tolist()],
                    "finish_s": [_moment(value) for value in run.finish_s[own].tolist()],
                    "energy_j": energy_j,
                }

    def rows(self) -> list[dict[str, Any]]:
        """The table: means with 95 % intervals, the gap to the bound, and the model's word on every strategy."""
        best = next(iter(self.measured))
        found = []
        for name, modelled_run in self.would_have_been.items():
            runs = [run.summary() for run in self.measured.get(name, [])]
            spans = [run["makespan_s"] for run in runs]
            row: dict[str, Any] = {"strategy": name, "runs": len(runs)}
            row["makespan_s"] = statistics.fmean(spans) if runs else "-"
            row["never ran"] = sum(run.unfinished for run in self.measured.get(name, []))
            row["±"] = half_width(spans) if len(spans) > 1 else "-"
            row["mean_latency_s"] = statistics.fmean(run["mean_latency_s"] for run in runs) if runs else "-"
            row["p95_latency_s"] = statistics.fmean(run["p95_latency_s"] for run in runs) if runs else "-"
            joules = [one for one in self.energy_j.get(name, []) if one is not None]
            row["energy_j"] = statistics.fmean(joules) if joules else "-"
            row["gap to bound"] = row["makespan_s"] / self.bound_s - 1.0 if runs else "-"
            row[f"÷ {best}"] = self._ratio(name, best) if runs else "-"
            row["modelled makespan_s"] = modelled_run.makespan_s
            found.append(row)
        return found

    def _ratio(self, name: str, best: str) -> str:
        """Paired by repeat: the mean of the ratios with its interval."""
        pairs = zip(self.measured[name], self.measured[best], strict=True)
        ratios = [ours.makespan_s / theirs.makespan_s for ours, theirs in pairs]
        width = f" ± {half_width(ratios):.2f}" if len(ratios) > 1 else ""
        return f"{statistics.fmean(ratios):.2f}{width}"

    def table(self) -> str:
        """The table as Markdown."""
        return markdown(self.rows())

    def write(self, folder: Path) -> None:
        """The results folder: summary, calibration, every task, the trace and the table."""
        folder.mkdir(parents=True, exist_ok=True)
        everything = [run for runs in self.measured.values() for run in runs]
        summary = {
            "source": "measured",
            "machine": dict(self.calibration.machine),
            "devices": dict(self.calibration.devices),
            "load": self.load,
            "seed": self.tasks.seed,
            "tasks": len(self.tasks),
            "bound_s": self.bound_s,
            "decision_s": self.decision_s,
            "meters": self.meters,
            "alarms": self.alarms,
            "rows": self.rows(),
        }
        write_json(folder / "run.json", summary)
        write_calibration(self.calibration, folder / "calibration.json")
        write_tasks(folder / "tasks.csv", self.tasks, [*everything, *self.would_have_been.values()])
        write_trace(folder / "trace.json", self.tasks, [*everything, *self.would_have_been.values()])
        (folder / "table.md").write_text(self.table() + "\n", encoding="utf-8")


def _document(tasks: RealStream, calibration: Calibration, load: float, repeat: int, repeats: int) -> dict[str, Any]:
    """What is known of a repeat before it begins."""
    return {
        "name": f"Real run, load {load:g}, repeat {repeat + 1} of {repeats}",
        "seed": tasks.seed,
        "tasks": len(tasks),
        "load": load,
        "machine": dict(calibration.machine),
        "devices": dict(calibration.devices),
    }


def _moment(value: float) -> float | None:
    return max(value, 0.0) if math.isfinite(value) else None


class Follower(Protocol):
    """Whoever looks on while strategies run; what it does takes place on its own thread."""

    def begin(self, document: dict[str, Any], tasks: RealStream) -> None:
        """A repeat begins."""

    def watch(self, strategy: str, ended: EndedTasks) -> None:
        """A strategy begins to run it."""


def real_run(
    bench: Bench,
    strategies: Sequence[str],
    *,
    plan: RealPlan,
    say: Say,
    follower: Follower | None = None,
    ended: Callable[[str, int, RunResult], Any] | None = None,
) -> RealRun:
    """Run one stream with every strategy by turns, each starting ignorant; the model knows the calibration.

    `ended` is told of every run as soon as it is over.
    """
    load, repeats, calibration = plan.load, plan.repeats, bench.calibration
    tasks = stream_of_length(calibration, plan.seconds, load, plan.seed)
    measured: dict[str, list[RunResult]] = {name: [] for name in strategies}
    others = [name for name in ("earliest_device", "cpu_only", "gpu_only", "round_robin") if name not in strategies]
    meters, energy = Meters(), {name: list[float | None]() for name in strategies}
    total = repeats * len(strategies)
    decision_s = {name: bench.decision_s(name) for name in (*strategies, *others)}
    for repeat in range(repeats):
        if follower is not None:
            follower.begin(_document(tasks, calibration, load, repeat, repeats), tasks)
        for turn, name in enumerate(strategies):
            say(f"{name}, run {repeat + 1}", repeat * len(strategies) + turn, total)
            meters.start()
            first = measured[strategies[0]]
            limit_s = plan.patience * first[-1].makespan_s if turn else math.inf
            watch = None if follower is None else partial(follower.watch, name)
            measured[name].append(bench.run(name, tasks, knows=False, limit_s=limit_s, watch=watch))
            energy[name].append(meters.joules())
            if ended is not None:
                ended(name, repeat, measured[name][-1])
    model = {
        name: simulate(
            tasks,
            calibration,
            make_strategy(name, tasks, calibration),
            knows=False,
            uncertain=False,
            decision_s=seconds,
        )
        for name, seconds in decision_s.items()
    }
    told = alarms(calibration, load, strategies, this_machine(calibration.devices))
    told += filter(None, (surprise(calibration, runs[0], model[name]) for name, runs in measured.items()))
    return RealRun(
        energy_j=energy,
        decision_s=decision_s,
        meters=meters.sentence,
        alarms=told,
        tasks=tasks,
        calibration=calibration,
        load=load,
        measured=measured,
        would_have_been=model,
        bound_s=bound(tasks, calibration).makespan_s,
    )
