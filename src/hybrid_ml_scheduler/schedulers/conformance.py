"""`check_scheduler`: what an author runs to see whether a strategy keeps the contract."""

from __future__ import annotations

import copy
import math
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, cast

import numpy as np

from hybrid_ml_scheduler.core import (
    BatchRule,
    Decision,
    Foresees,
    HasRule,
    Learns,
    Outcome,
    Prepares,
    RaceContext,
    Remembers,
    Scheduler,
    Task,
    TaskBatch,
    stream,
    with_foresight,
    with_rule,
)
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import Holds
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers.conformance_holding import AsksAgain, check_dispatch
from hybrid_ml_scheduler.schedulers.grid import rule_choice
from hybrid_ml_scheduler.schedulers.naming import require_name
from hybrid_ml_scheduler.schedulers.own_code import printing_apart, strategy_errors_at

__all__ = ["check_scheduler"]

_TASKS = 60
_SEED = 20_017


@dataclass(slots=True)
class _View:
    """A cluster view with backlogs of our choosing."""

    estimator: PhysicsEstimator
    now_s: float
    cpu_backlog_s: float
    gpu_backlogs_s: list[float]

    @property
    def least_loaded_gpu(self) -> int:
        return self.gpu_backlogs_s.index(min(self.gpu_backlogs_s))

    def completion_s(self, task: Task, gpu_fraction: float, gpu: int | None) -> float:
        gpu = self.least_loaded_gpu if gpu is None else gpu
        backlog = self.gpu_backlogs_s[gpu]
        return self.estimator.completion_s(task, gpu_fraction, gpu, self.cpu_backlog_s, backlog)


def check_scheduler(make: Callable[[], Scheduler]) -> None:
    """Raise `SchedulerError` with one sentence if the strategies that `make` returns break the contract.

    `make` is the strategy's class, or a function without arguments that returns a new strategy; silence is praise.

    Checked on nodes of 1, 2 and 4 GPUs: a name, valid decisions, no change of what it was shown, the same
    decisions for the same seed, a captured state that continues exactly, and a `rule` and a `rule_ahead` that
    decide like `decide`, `rule_ahead` also leaving the state that `decide` leaves. Of a strategy that holds, `dispatch`
    commits tasks that it holds, the same ones each time, and none for ever; its `decide` may say "not yet" (`None`).
    """
    with printing_apart():
        _check(_careful(make))


def _check(make: Callable[[], Scheduler]) -> None:
    first = make()
    for num_gpus in (1, 2, 4):
        decisions = _decisions(make(), num_gpus)
        if decisions != _decisions(make(), num_gpus):
            raise SchedulerError(f"{first.name}: two runs with the same seed decide differently.")
        if isinstance(first, Remembers) and decisions != _decisions(make(), num_gpus, again=make):
            raise SchedulerError(f"{first.name}: a restored strategy decides differently from an uninterrupted one.")
        ruled, ahead = with_rule(make()), with_foresight(make())
        if ruled is not None:
            _check_rule(ruled, make(), num_gpus)
        if ahead is not None:
            _check_ahead(ahead, make(), num_gpus)
        if isinstance(first, Holds) or _NOT_YET in decisions:
            estimator = PhysicsEstimator(Node.uniform(num_gpus))
            holds = make if isinstance(first, Holds) else lambda: AsksAgain(make())
            check_dispatch(holds, [task for task, _ in _stream(estimator)], estimator)


def _careful(make: Callable[[], Scheduler]) -> Callable[[], Scheduler]:
    """The maker itself, but what it cannot make, or what is no strategy, becomes a sentence."""
    given: Any = make  # an author may well hand over something else
    called = getattr(given, "__name__", type(given).__name__)
    if not callable(given) or (hasattr(given, "decide") and not isinstance(given, type)):
        raise SchedulerError(f"check_scheduler takes the class {called} itself, not a strategy made of it.")

    def made() -> Scheduler:
        with strategy_errors_at(called, "made without arguments"):
            scheduler = make()
        if not callable(getattr(scheduler, "decide", None)):
            raise SchedulerError(f"{called} is no strategy: it needs a `name` and a method `decide(task, cluster)`.")
        require_name(type(scheduler).__name__, getattr(scheduler, "name", None))
        return scheduler

    return made


# What stands for the answer "not yet" among decisions that are compared.
_NOT_YET = (-1.0, None)


def _decide(scheduler: Scheduler, task: Task, view: _View) -> Decision:
    with strategy_errors_at(scheduler.name, f"asked about task {task.task_id}"):
        return scheduler.decide(task, view)


def _decisions(
    scheduler: Scheduler, num_gpus: int, again: Callable[[], Scheduler] | None = None
) -> list[tuple[float, int | None]]:
    """The decisions on a fixed little stream; with `again`, captured and restored half-way."""
    estimator = PhysicsEstimator(Node.uniform(num_gpus))
    _prepare(scheduler, estimator)
    decisions = []
    for task, view in _stream(estimator):
        if again is not None and task.task_id == _TASKS // 2 and isinstance(scheduler, Remembers):
            state = _copied(scheduler)
            scheduler = again()
            _prepare(scheduler, estimator)
            if isinstance(scheduler, Remembers):
                with strategy_errors_at(scheduler.name, "restored"):
                    scheduler.restore(state)
        decision = _checked(scheduler, task, view, num_gpus)
        decisions.append(_NOT_YET if decision is None else (decision.gpu_fraction, decision.gpu))
        if decision is None:
            continue
        if isinstance(scheduler, Learns):
            with strategy_errors_at(scheduler.name, f"told the outcome of task {task.task_id}"):
                scheduler.observe(task, _outcome(task, decision, view))
    return decisions


def _copied(scheduler: Remembers) -> Mapping[str, Any]:
    """The captured state, through bytes and back, as a checkpoint would have it."""
    name = getattr(scheduler, "name", "strategy")
    try:
        with strategy_errors_at(name, "captured", pickle.PickleError, AttributeError, TypeError, ValueError):
            state: Mapping[str, Any] = pickle.loads(pickle.dumps(dict(scheduler.capture())))
    except (pickle.PickleError, AttributeError, TypeError, ValueError) as error:
        raise SchedulerError(f"{name}: the captured state cannot be stored: {error}.") from error
    return state


def _check_rule(ruled: HasRule, deciding: Scheduler, num_gpus: int) -> None:
    """Compare what the compiled form decides with what `decide` decides, task by task."""
    moments = _prepared(num_gpus, cast(Scheduler, ruled), deciding)
    with strategy_errors_at(deciding.name, "asked for its rule"):
        rule = ruled.rule(_batch(moments))
    _compare("rule", rule, deciding, moments)


def _check_ahead(ahead: Foresees, deciding: Scheduler, num_gpus: int) -> None:
    """Let one strategy decide stretches ahead, with single decisions between them, and another one each task."""
    other = cast(Scheduler, ahead)
    moments = _prepared(num_gpus, other, deciding)
    third = _TASKS // 3
    for begin in range(0, _TASKS, third):
        part = moments[begin : begin + third]
        with strategy_errors_at(deciding.name, "asked for its rule ahead"):
            rule = None if begin == third else ahead.rule_ahead(_batch(part))
        if rule is not None:
            _compare("rule_ahead", rule, deciding, part)
            continue
        for task, view in part:
            found, expected = _decide(other, task, view), _decide(deciding, task, view)
            if (found.gpu_fraction, found.gpu) != (expected.gpu_fraction, expected.gpu):
                raise SchedulerError(f"{deciding.name}: after rule_ahead, task {task.task_id} is decided differently.")
    if _memory(other) != _memory(deciding):
        raise SchedulerError(f"{deciding.name}: rule_ahead leaves another captured state than decide.")


def _prepared(num_gpus: int, *schedulers: Scheduler) -> list[tuple[Task, _View]]:
    """Prepare strategies for the little stream, and return it."""
    estimator = PhysicsEstimator(Node.uniform(num_gpus))
    for scheduler in schedulers:
        _prepare(scheduler, estimator)
    return list(_stream(estimator))


def _batch(moments: list[tuple[Task, _View]]) -> TaskBatch:
    return TaskBatch.from_tasks([task for task, _ in moments])


def _compare(form: str, rule: BatchRule, deciding: Scheduler, moments: list[tuple[Task, _View]]) -> None:
    for place, (task, view) in enumerate(moments):
        fraction, gpu = rule_choice(rule, place, task, view)
        decision = _decide(deciding, task, view)
        other_gpu = decision.gpu not in (None, gpu) or (decision.gpu is None and gpu != view.least_loaded_gpu)
        if fraction != decision.gpu_fraction or (fraction > 0.0 and other_gpu):
            raise SchedulerError(f"{deciding.name}: {form} and decide differ for task {task.task_id}.")


def _memory(scheduler: Scheduler) -> Any:
    return _plain(_copied(scheduler)) if isinstance(scheduler, Remembers) else None


def _plain(value: Any) -> Any:
    """A captured value as what can be compared; of an object of another kind only its class."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, _plain(value.tolist())
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | deque):
        return [_plain(one) for one in value]
    if isinstance(value, float | np.floating):
        return repr(float(value))  # so that NaN equals NaN
    return value if isinstance(value, str | bytes | Integral | None) else type(value)


def _prepare(scheduler: Scheduler, estimator: PhysicsEstimator) -> None:
    if isinstance(scheduler, Prepares):
        with strategy_errors_at(scheduler.name, "prepared"):
            scheduler.prepare(RaceContext(estimator=estimator, seed=_SEED))


def _stream(estimator: PhysicsEstimator) -> Iterator[tuple[Task, _View]]:
    rng = stream(_SEED, "conformance")
    now_s = 0.0
    for task_id in range(_TASKS):
        now_s += float(rng.exponential(0.2))
        size, intensity, memory = rng.uniform(100, 5000), rng.random(), rng.uniform(10, 9000)
        backlogs = (rng.random(estimator.num_gpus) * (rng.random() < 0.8) * 5).tolist()
        task = Task(
            task_id=task_id,
            size=float(size),
            compute_intensity=float(intensity),
            memory_required=float(memory),
            arrival_time=now_s,
        )
        yield task, _View(estimator, now_s, float(rng.random() * 5), backlogs)


def _checked(scheduler: Scheduler, task: Task, view: _View, num_gpus: int) -> Decision | None:
    before = copy.deepcopy((task, view.now_s, view.cpu_backlog_s, view.gpu_backlogs_s))
    decision: Decision | None = _decide(scheduler, task, view)
    if decision is None:  # "not yet"
        return None
    if not isinstance(decision, Decision):
        raise SchedulerError(f"{scheduler.name}: decide must return a Decision, not {type(decision).__name__}.")
    if not (isinstance(decision.gpu_fraction, Real) and 0.0 <= decision.gpu_fraction <= 1.0):
        raise SchedulerError(f"{scheduler.name}: gpu_fraction = {decision.gpu_fraction} is outside [0, 1].")
    if decision.gpu is not None and not (isinstance(decision.gpu, Integral) and 0 <= decision.gpu < num_gpus):
        raise SchedulerError(f"{scheduler.name}: GPU {decision.gpu} does not exist on a node of {num_gpus}.")
    if before != (task, view.now_s, view.cpu_backlog_s, view.gpu_backlogs_s):
        raise SchedulerError(f"{scheduler.name}: decide changed the cluster it was shown.")
    return decision


def _outcome(task: Task, decision: Decision, view: _View) -> Outcome:
    gpu = view.least_loaded_gpu if decision.gpu is None else decision.gpu
    parts = view.estimator.parts(task, decision.gpu_fraction, gpu)
    return Outcome(
        task_id=task.task_id,
        gpu_fraction=parts.gpu_fraction,
        gpu=gpu if parts.gpu_s > 0 else -1,
        arrival_s=task.arrival_time,
        ready_s=view.now_s,
        cpu_start_s=view.now_s if parts.cpu_s > 0 else math.nan,
        gpu_start_s=view.now_s if parts.gpu_s > 0 else math.nan,
        finish_s=view.now_s + view.completion_s(task, decision.gpu_fraction, gpu),
        execution_s=view.estimator.execution_s(parts),
        cpu_s=parts.cpu_s,
        gpu_s=parts.gpu_s,
        energy_j=view.estimator.energy_j(parts, gpu),
        cost_usd=view.estimator.cost_usd(parts, gpu),
        out_of_memory=parts.out_of_memory,
    )
