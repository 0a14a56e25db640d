"""Tasks that hold several GPUs at once, and a CPU with several slots."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Simulation, certificate, run_batch, summarize
from hybrid_ml_scheduler.core import BatchRule, ClusterView, Decision, RuleKind, Task, TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError, WorkloadError
from hybrid_ml_scheduler.physics import Cpu, Gpu, Node
from hybrid_ml_scheduler.schedulers import available, create
from hybrid_ml_scheduler.studies.running import run_scheduler

# Their compiled learning takes longer than all others together; they are raced with the rest.
LEARNED = ("hybrid_ml", "rl_agent", "rl_split", "rl_hold", "best_of", "local_search", "lp_classes", "heft", "peft")


def jobs(gpu_s: list[float], width: list[int], cpu_s: float = 100.0, arrival: list[float] | None = None) -> TaskBatch:
    """Indivisible tasks of measured seconds."""
    count = len(gpu_s)
    return TaskBatch.from_columns(
        size=np.full(count, 1000.0),
        compute_intensity=np.full(count, 0.5),
        memory_required=np.zeros(count),
        arrival_time=np.zeros(count) if arrival is None else arrival,
        cpu_time=np.full(count, cpu_s),
        gpu_time=gpu_s,
        gpus_required=width,
        divisible=np.zeros(count, dtype=bool),
    )


def on_gpus(count: int, gpus: list[int] | None = None) -> BatchRule:
    """Every task to GPUs."""
    named = None if gpus is None else np.array(gpus, dtype=np.int64)
    return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.ones(count), gpus=named)


def test_a_gang_starts_when_the_last_of_its_gpus_is_free_and_holds_them_all() -> None:
    batch, node = jobs([3.0, 1.0, 2.0, 1.0], [1, 1, 2, 1]), Node.uniform(2)
    columns = run_batch(batch, node, on_gpus(4))
    assert columns.gpu_start_s.tolist() == [0.0, 0.0, 3.0, 5.0]
    assert columns.gang[2].tolist() == [1]
    assert [name for name, _, _ in columns.parts(2)] == ["gpu_0", "gpu_1"]
    assert columns.busy_s().tolist() == [0.0, 6.0, 3.0]


def test_a_gang_pays_for_all_its_gpus() -> None:
    node = Node(gpus=(Gpu(power_w=50.0, price_usd_s=1.0), Gpu(power_w=70.0, price_usd_s=2.0)))
    columns = run_batch(jobs([4.0], [2]), node, on_gpus(1))
    assert columns.energy_j.tolist() == [4.0 * 120.0]
    assert columns.cost_usd.tolist() == [12.0]


def test_the_leader_is_the_named_gpu_and_the_others_are_free_earliest() -> None:
    batch = jobs([5.0, 1.0, 2.0, 2.0], [1, 1, 1, 2])
    columns = run_batch(batch, Node.uniform(3), on_gpus(4, [0, 1, 2, 2]))
    assert (int(columns.gpu[3]), columns.gang[3].tolist(), float(columns.gpu_start_s[3])) == (2, [1], 2.0)


def test_a_gang_over_several_kinds_goes_at_the_pace_of_the_slowest() -> None:
    node = Node(gpus=(Gpu(speed=2.0), Gpu(speed=2.0), Gpu(speed=1.0)))
    columns = run_batch(jobs([6.0, 6.0], [2, 3], arrival=[0.0, 100.0]), node, on_gpus(2, [0, 0]))
    assert columns.gpu_s.tolist() == [3.0, 6.0]


def test_a_gang_wider_than_the_node_is_refused() -> None:
    with pytest.raises(WorkloadError, match="Task 1 needs 3 GPUs at once, and the node has 2 GPUs"):
        run_batch(jobs([1.0, 1.0], [1, 3]), Node.uniform(2), on_gpus(2))
    simulation = Simulation(Node.uniform(2), create("greedy"))
    with pytest.raises(WorkloadError, match="Task 1 needs 3 GPUs at once"):
        simulation.run((task, 1.0) for task in jobs([1.0, 1.0], [1, 3]))


def test_a_cpu_with_slots_runs_so_many_parts_side_by_side_first_in_first_out() -> None:
    node = Node(cpu=Cpu(slots=2, power_w=30.0))
    batch = jobs([1.0] * 4, [1] * 4, cpu_s=2.0)
    columns = run_batch(batch, node, BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.zeros(4)))
    assert columns.cpu_start_s.tolist() == [0.0, 0.0, 2.0, 2.0]
    summary = summarize(columns)
    assert summary.utilization["cpu"] == 1.0
    assert summary.energy_j == 4.0 * 30.0  # two slots together draw what the CPU draws


@pytest.mark.parametrize("slots", [0, -1, True, 1.5])
def test_slots_that_are_no_count_are_refused(slots: object) -> None:
    with pytest.raises(PlanError, match=r"physics.cpu.slots = .* must be a whole number from 1"):
        Node(cpu=Cpu(slots=slots))  # type: ignore[arg-type]


def test_a_share_asked_for_an_indivisible_task_goes_to_the_nearer_device_and_is_counted() -> None:
    batch = jobs([1.0] * 4, [1, 1, 1, 2])
    shares = np.array([0.0, 0.3, 1.0, 0.7])
    columns = run_batch(batch, Node.uniform(2), BatchRule(kind=RuleKind.PRESCRIBED, fractions=shares))
    assert columns.gpu_fraction.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert columns.rounded.tolist() == [False, True, False, True]
    assert summarize(columns).rounded_count == 2


@pytest.mark.parametrize("name", [name for name in available() if name not in LEARNED])
def test_every_strategy_places_gangs_and_whole_tasks_on_a_node_with_slots(name: str) -> None:
    width = [1, 2, 1, 4, 1, 1, 2, 1] * 3
    batch = jobs([1.0, 2.0, 0.5] * 8, width, cpu_s=3.0, arrival=[0.4 * row for row in range(24)])
    node = Node(cpu=Cpu(slots=2))
    columns = run_scheduler(create(name), batch, node, seed=1)
    assert columns.completed.all()
    held = (columns.gang >= 0).sum(axis=1) + (columns.gpu >= 0)
    assert (held == np.where(columns.gpu >= 0, batch.gpus_required, 0)).all()
    assert summarize(columns).makespan_s >= certificate(batch, node).makespan_s


class AsTold:
    """Sends tasks where a list says."""

    name = "as_told"

    def __init__(self, decisions: tuple[Decision, ...]) -> None:
        self._decisions = list(decisions)

    def decide(self, task: object, cluster: object) -> Decision:
        return self._decisions.pop(0)


class SaysNotYet:
    """Holds a gang until somebody else is ready, and notes when it was told that its GPUs are free."""

    name = "says_not_yet"

    def __init__(self) -> None:
        self.told: list[tuple[float, ...]] = []

    def decide(self, task: Task, cluster: ClusterView) -> Decision | None:
        if task.gpus_required == 1:
            return Decision(gpu_fraction=1.0, gpu=0)
        self.told.append(tuple(cluster.gpu_backlogs_s))
        return None if len(self.told) == 1 else Decision(gpu_fraction=1.0)


def test_a_gang_that_was_held_is_told_as_before_when_all_its_gpus_are_free() -> None:
    strategy = SaysNotYet()
    batch = jobs([5.0, 1.0, 1.0], [1, 2, 1], arrival=[0.0, 1.0, 2.0])
    Simulation(Node.uniform(2), strategy).run((task, 1.0) for task in batch)  # type: ignore[arg-type]
    assert strategy.told[:2] == [(4.0, 4.0), (3.0, 3.0)]


def test_the_bound_is_met_and_never_beaten_by_any_placement_of_small_instances() -> None:
    """Every order of arrival at time zero and every device for each task, tried out."""
    node = Node(cpu=Cpu(slots=2), gpus=(Gpu(),) * 2)
    places = [Decision(gpu_fraction=0.0), Decision(gpu_fraction=1.0, gpu=0), Decision(gpu_fraction=1.0, gpu=1)]
    met = 0
    for seconds, width in (([2.0, 2.0, 1.0], [2, 2, 1]), ([1.0, 1.0, 2.0], [1, 1, 2]), ([3.0, 1.0, 1.0], [2, 1, 1])):
        best = np.inf
        for order in itertools.permutations(range(3)):
            batch = jobs([seconds[one] for one in order], [width[one] for one in order], cpu_s=1e9)
            for decisions in itertools.product(places, repeat=3):
                outcomes = Simulation(node, AsTold(decisions)).run((task, 1.0) for task in batch)
                best = min(best, max(outcome.finish_s for outcome in outcomes))
        floor = certificate(jobs(seconds, width, cpu_s=1e9), node).makespan_s
        assert best >= floor
        met += best <= floor * (1.0 + 1e-6)
    assert met == 2  # the first two leave no GPU idle
