"""Strategies that hold beside the first edition's `rl_split`, the proven bounds and one another, with 95 % intervals.

Streams: the preset `mixed`, 20,000 tasks, test seeds 0 to 9, the first tenth discarded. `rl_split` is the first
edition's, weights and gate as in `models/rl_split_first.json`. Public traces are measured where they are found
(`../shared/traces`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import constructed, everywhere, tune_cuts
from hybrid_ml_scheduler.cluster import certificate
from hybrid_ml_scheduler.core import BatchTerms, FloatColumn, Scheduler, stream
from hybrid_ml_scheduler.core.knowledge import EXACT
from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.intervals import bounded_interval
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.loads import at_load, at_once
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.schedulers.agents.rl_hold import RlHold
from hybrid_ml_scheduler.schedulers.holding.best_of import planned_finishes
from hybrid_ml_scheduler.schedulers.holding.heft import Heft
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.studies.tuning import RULES, tune
from hybrid_ml_scheduler.training.hold_training import HoldBudget, train_hold
from hybrid_ml_scheduler.training.training_log import TrainingLog
from hybrid_ml_scheduler.workload import load, preset

__all__ = ["render", "run"]

FIRST_EDITION = Path(__file__).resolve().parent / "models" / "rl_split_first.json"
BATCH_RULES = ("lp_classes", "hetero_prio", "lpt", "min_min", "earliest_finish", "rl_hold")
TUNING_SEED = 5_000_000
AGING = 120.0  # found on the training seeds 8,000,000 to 8,000,005: see docs/strategies.md
AGED: dict[str, tuple[str, dict[str, Any]]] = {
    "sjf, aging": ("sjf", {"aging": AGING}),
    "sjf (whole tasks), aging": ("sjf", {"splits": False, "aging": AGING}),
    "rl_hold, aging": ("rl_hold", {"aging": AGING}),
    "rl_hold, longer aging": ("rl_hold", {"aging": 150.0}),
}

EVERYWHERE = everywhere.Amount()


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured."""

    seeds: tuple[int, ...] = tuple(range(10))
    loads: tuple[float, ...] = (0.5, 0.8, 0.95)
    tasks: int = 20_000
    tuning_tasks: int = 33_000
    at_once: int = 10_000
    trace_tasks: int = 5000
    search_steps: int = 300_000
    cuts: int = 20
    training: float = 1.0
    training_tasks: int = HoldBudget().tasks
    most_sources: int = 100
    travels: everywhere.Amount = EVERYWHERE
    shaped: tuple[int, int] = (5, 1000)  # seeds and tasks of each constructed workload
    out: Path | None = None
    workers: int | None = None


FULL = Effort()
QUICK = Effort(
    seeds=(0, 1),
    loads=(0.8,),
    tasks=400,
    tuning_tasks=400,
    at_once=100,
    trace_tasks=400,
    search_steps=100,
    cuts=1,
    training=0.01,
    training_tasks=200,
    most_sources=1,
    shaped=(1, 60),
    travels=everywhere.Amount(seeds=2, told=200, learning=200, traced=200, most_sources=1),
)


def run(*, quick: bool, job: str = "", out: Path | None = None, workers: int | None = None) -> dict[str, Any]:
    """Measure everything, or one job of it; `out` keeps what is done of the longest one, `everywhere`."""
    effort = replace(QUICK if quick else FULL, out=out, workers=workers)
    result: dict[str, Any] = {"seeds": len(effort.seeds), "tasks": effort.tasks}
    for name, part in JOBS.items():
        if job in ("", name):
            part(result, effort)
            print(render(result), file=sys.stderr)  # what is known by now: the whole takes a while
    return result


def _training(result: dict[str, Any], effort: Effort) -> None:
    _tell("training rl_hold from nothing")
    begun = time.perf_counter()
    train_hold(replace(HoldBudget().with_effort(effort.training), tasks=effort.training_tasks), TrainingLog())
    result["train_s"] = time.perf_counter() - begun


def _streams(result: dict[str, Any], effort: Effort) -> None:
    """`mixed` at three loads: untuned rules, `rl_hold`, tuned, all over the first edition."""
    node, law = Node(), preset("mixed")
    for key in (
        "best_vs_rl_split",
        "best_rule_vs_rl_split",
        "learned_vs_best_rule",
        "tuned_vs_rl_split",
        "tuned_vs_best_rule",
        "tails",
    ):
        result[key] = {}
    for place in effort.loads:
        _tell(f"mixed at {place:.0%}")
        batch = at_load(law, node, place, TUNING_SEED, effort.tuning_tasks).batch
        known = KnownTasks(batch=batch, node=node, truth=Truth(), seed=0)
        tuned, aged = tune(known, EXACT).model, tune(known, EXACT, aging=AGING).model
        strategies: dict[str, Any] = {name: lambda spec=spec: create(*spec) for name, spec in RULES.items()}
        strategies |= {"rl_split": lambda: create("rl_split", {"model": str(FIRST_EDITION)})}
        strategies |= {"rl_hold": RlHold, "tuned": lambda tuned=tuned: RlHold().adopt(tuned)}
        strategies |= {"tuned, aging": lambda aged=aged: RlHold().adopt(aged)}
        strategies |= {name: lambda spec=spec: create(*spec) for name, spec in AGED.items()}
        found: dict[str, list[FloatColumn]] = {name: [] for name in strategies}
        for seed in effort.seeds:
            loaded = at_load(law, node, place, seed, effort.tasks)
            for name, make in strategies.items():
                columns = run_scheduler(make(), loaded.batch, node, seed=seed, seconds=loaded.seconds)
                found[name].append(columns.latency_s[effort.tasks // 10 :])
        means = {name: np.array([one.mean() for one in columns]) for name, columns in found.items()}
        best = min(RULES, key=lambda name: float(means[name].mean()))
        untuned = min((*RULES, "rl_hold"), key=lambda name: float(means[name].mean()))
        key = f"{place:g}"
        result["best_vs_rl_split"][key] = {"rule": untuned, **_ratio(means[untuned], means["rl_split"])}
        result["best_rule_vs_rl_split"][key] = {"rule": best, **_ratio(means[best], means["rl_split"])}
        result["learned_vs_best_rule"][f"mixed {key}"] = _ratio(means["rl_hold"], means[best])
        result["tuned_vs_rl_split"][key] = _ratio(means["tuned"], means["rl_split"])
        result["tuned_vs_best_rule"][key] = _ratio(means["tuned"], means[best])
        result["tails"][key] = {name: _tail(columns, found["rl_split"]) for name, columns in found.items()}


def _travels(result: dict[str, Any], effort: Effort) -> None:
    """`rl_hold` beside the best rule and `earliest_finish`: every preset, every public trace, the H200 profile."""
    result["everywhere"] = everywhere.everywhere(effort.travels, effort.out, effort.workers)


def _constructed(result: dict[str, Any], effort: Effort) -> None:
    """Workloads with one trait each that a learned strategy must not fail on."""
    result["constructed"] = constructed.constructed(*effort.shaped)


def _batches(result: dict[str, Any], effort: Effort) -> None:
    node, law = Node(), preset("mixed")
    _tell("batches")
    ratios: dict[str, list[float]] = {name: [] for name in BATCH_RULES}
    for seed in effort.seeds:
        loaded = at_once(law, node, seed, effort.at_once)
        bound = certificate(loaded.batch, node, loaded.seconds).makespan_s
        for name in BATCH_RULES:
            columns = run_scheduler(create(name), loaded.batch, node, seed=seed, seconds=loaded.seconds)
            ratios[name].append(float(np.max(columns.finish_s)) / bound)
    result["batch_vs_bound"] = {name: _summary(np.array(found)) for name, found in ratios.items()}


def _graphs(result: dict[str, Any], effort: Effort) -> None:
    """Mean gaps to the bound on the workflows; the ratios to that of `earliest_finish`."""
    makers: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in ("earliest_finish", "rank_hold")}
    makers |= {"rl_hold": ("rl_hold", {}), "heft": ("heft", {}), "heft, splits": ("heft", {"splits": True})}
    makers |= {"peft": ("peft", {}), "best_of": ("best_of", {})}
    makers |= {"local_search": ("local_search", {"steps": effort.search_steps})}
    gaps: dict[str, list[float]] = {name: [] for name in makers}
    node, slowest = Node(), 0.0
    for path in everywhere.traces(everywhere.GRAPHS, effort.most_sources):
        _tell(path.name)
        batch = load(path, seed=0, options={"divisible": 1})
        seconds = durations(batch, node)
        bound = certificate(batch, node, seconds).makespan_s
        for name, (spec, options) in makers.items():
            begun = time.perf_counter()
            strategy: Scheduler = create(spec, options)
            columns = run_scheduler(strategy, batch, node, seed=0, seconds=seconds)
            slowest = max(slowest, time.perf_counter() - begun)
            gaps[name].append(float(np.nanmax(columns.finish_s)) / bound - 1.0)
    if gaps["earliest_finish"]:
        means = {name: float(np.mean(one)) for name, one in gaps.items()}
        result["dag_gaps"], result["slowest_plan_s"] = means, slowest
        result["dag_gap_mean"] = means["rank_hold"] / means["earliest_finish"]
        result["dag_gap_plan"] = means["local_search"] / means["earliest_finish"]


def _tuning_on_traces(result: dict[str, Any], effort: Effort) -> None:
    """`hms tune` at several cuts in time: what it recommends beside the best rule, on the tasks after the cut."""
    result["tune_cuts"] = tune_cuts.measured(tasks=effort.trace_tasks, cuts=effort.cuts)


def _heft_beside_saga(result: dict[str, Any], effort: Effort) -> None:
    """`heft` beside anrg-saga, where that is installed: makespans of random graphs without transfers, and the time.

    saga knows one speed a device; a cost that divides into a time of its own for each speed makes costs unrelated.
    """
    try:
        from saga import Network, TaskGraph, TaskGraphNode
        from saga.schedulers.heft import HeftScheduler
    except ImportError as error:
        advice = "pip install 'hybrid-ml-scheduler[peers]' brings it"
        result["heft_vs_saga"] = {"measured": f"no: anrg-saga cannot be imported ({error}); {advice}."}
        return

    class Times(float):
        """A cost that takes a time of its own on the device of each speed."""

        table: dict[float, float]

        def __truediv__(self, speed: float) -> float:
            return self.table[speed]

    _tell("heft beside anrg-saga")
    worst, ours_s, theirs_s, rng = 0.0, 0.0, 0.0, stream(0, "benchmark", "saga")
    names = [f"d{device}" for device in range(4)]
    network = Network.create(
        [(name, device + 1.0) for device, name in enumerate(names)],
        [(a, b, 1e300) for a in names for b in names if a < b],
    )
    for related in (True, False) * (10 if effort.cuts > 1 else 1):
        seconds, parents = _random_graph(rng, related)
        tasks = []
        for row, times in enumerate(seconds):
            cost = Times(times[0])
            cost.table = {device + 1.0: float(one) for device, one in enumerate(times)}
            tasks.append(TaskGraphNode.model_construct(name=f"t{row:03}", cost=cost))
        edges = [(f"t{parent:03}", f"t{row:03}") for row, above in enumerate(parents) for parent in above]
        graph, known = TaskGraph.create(tasks, edges), _known(seconds, parents)
        begun = time.perf_counter()
        theirs = float(HeftScheduler().schedule(network, graph).makespan)
        theirs_s += time.perf_counter() - begun
        Heft().plan_rule(known)  # compiled by now
        begun = time.perf_counter()
        plan = Heft().plan_rule(known)
        ours_s += time.perf_counter() - begun
        worst = max(worst, abs(float(planned_finishes(known, plan).max()) / theirs - 1.0))
    result["heft_vs_saga"] = {"largest_difference": worst, "times_as_fast": theirs_s / ours_s}


def _random_graph(rng: np.random.Generator, related: bool) -> tuple[FloatColumn, list[list[int]]]:
    """Seconds on four devices, and parents: one first task, one last task, each between behind one to three others."""
    count = 60
    work = rng.uniform(1.0, 10.0, count)
    seconds = work[:, None] / np.arange(1.0, 5.0) if related else rng.uniform(1.0, 10.0, (count, 4))
    drawn = [sorted(set(rng.integers(0, row, 3).tolist())) for row in range(1, count - 1)]
    ends = sorted(set(range(count - 1)) - {parent for above in drawn for parent in above})
    return seconds, [[], *drawn, ends]


def _known(seconds: FloatColumn, parents: list[list[int]]) -> KnownGraph:
    count, gpus = len(seconds), seconds.shape[1] - 1
    terms = BatchTerms(
        np.ascontiguousarray(seconds[:, 0]),
        np.ascontiguousarray(seconds[:, 1:]),
        np.empty((count, 0)),
        np.arange(gpus),
        np.zeros(count),
        np.ones(gpus),
        np.zeros(count, dtype=np.int64),
        False,
    )
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum([len(above) for above in parents], out=offsets[1:])
    flat = np.array([parent for above in parents for parent in above], dtype=np.int64)
    return KnownGraph(terms, np.arange(count), offsets, flat, np.zeros(gpus + 1))


def _ratio(ours: FloatColumn, theirs: FloatColumn) -> dict[str, Any]:
    """The ratio of the mean latencies over all seeds, which the bars speak of, and the mean ratio of a seed.

    Only the latter has a paired interval. It weighs a seed on which both are quick as much as any other.
    """
    return {"ratio": float(ours.mean() / theirs.mean()), **_summary(ours / theirs)}


def _summary(ratios: FloatColumn) -> dict[str, Any]:
    interval = bounded_interval(ratios)
    return {"mean": interval.mean, "interval": [interval.low, interval.high]}


def _tail(columns: Sequence[FloatColumn], first: Sequence[FloatColumn]) -> dict[str, float]:
    """Mean, p99 and longest latency over the seeds, and each as a multiple of the first edition's."""
    ours, theirs = (
        np.mean([(one.mean(), np.quantile(one, 0.99), one.max()) for one in some], axis=0) for some in (columns, first)
    )
    names = ("mean_s", "p99_s", "longest_s", "mean_ratio", "p99_ratio", "longest_ratio")
    return dict(zip(names, (*ours.tolist(), *(ours / theirs).tolist()), strict=True))


def _tell(what: str) -> None:
    print(f"portfolio: {what}", file=sys.stderr)


JOBS: Mapping[str, Callable[[dict[str, Any], Effort], None]] = {
    "training": _training,
    "saga": _heft_beside_saga,
    "streams": _streams,
    "batches": _batches,
    "graphs": _graphs,
    "everywhere": _travels,
    "constructed": _constructed,
    "tuning": _tuning_on_traces,
}
"""The parts of the benchmark by the name under which one may be asked for alone."""


def render(result: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [f"{result['seeds']} seeds, {result['tasks']:,} tasks"]
    for key, value in result.items():
        if key == "constructed":
            lines += ["", key, *constructed.lines(value)]
            continue
        if key == "everywhere":
            lines += ["", key, *everywhere.lines(value)]
            continue
        if key == "tails":
            value = {f"{load} {name}": one for load, tails in value.items() for name, one in tails.items()}
        if isinstance(value, dict):
            lines += ["", key, *(f"  {name:45} {_words(one)}" for name, one in value.items())]
        elif key not in ("seeds", "tasks"):
            lines.append(f"{key} {value:.4g}")
    return "\n".join(lines)


def _words(value: Any) -> str:
    if isinstance(value, dict) and "interval" in value:
        low, high = value["interval"]
        of_means = f"{value['ratio']:.4f}, by seed " if "ratio" in value else ""
        return f"{of_means}{value['mean']:.4f} [{low:.4f}, {high:.4f}] {value.get('rule', '')}".rstrip()
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(one)}" for name, one in value.items())
    return value if isinstance(value, str) else f"{value:.4g}"
