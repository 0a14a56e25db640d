"""The strategies that promise a minimum keep the promise, and ties fall as declared."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.cluster import BacklogView
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from tests.properties.forms import kernel_columns, scheduler_called
from tests.properties.samples import batches, nodes
from tests.reference import formulas

backlogs = st.one_of(st.sampled_from([0.0, 0.0, 1.0]), st.floats(0.0, 10.0))
GRID = [step / 20 for step in range(21)]


@given(batch=batches(noisy=False), node=nodes())
def test_the_oracle_has_the_least_execution_time_of_its_grid(batch: TaskBatch, node: Node) -> None:
    columns = kernel_columns(batch, node, "oracle", 0)
    for row, task in enumerate(batch):
        every = [formulas.split(node, task, share, gpu) for share in GRID for gpu in range(node.num_gpus)]
        assert columns.execution_s[row] == min(formulas.execution_s(node, one) for one in every)


@given(batch=batches(max_tasks=3), node=nodes(), cpu=backlogs, data=st.data())
def test_the_earliest_rules_complete_no_later_than_any_candidate(
    batch: TaskBatch, node: Node, cpu: float, data: st.DataObject
) -> None:
    view = BacklogView(PhysicsEstimator(node), 1.0, cpu, [data.draw(backlogs) for _ in node.gpus])
    for name, grid in (("earliest_finish", GRID), ("earliest_device", [0.0, 1.0])):
        for task in batch:
            decision = scheduler_called(name).decide(task, view)
            assert decision.gpu is not None
            chosen = (view.completion_s(task, decision.gpu_fraction, decision.gpu), decision.gpu_fraction, decision.gpu)
            shares = grid if task.divisible else [1.0] if task.gpu_only else [0.0, 1.0]  # all or nothing is said
            candidates = [(view.completion_s(task, f, gpu), f, gpu) for f in shares for gpu in range(node.num_gpus)]
            assert chosen == min(candidates)


@given(batch=batches(max_tasks=3), node=nodes(), cpu=backlogs, data=st.data())
def test_a_strategy_that_names_no_gpu_gets_the_least_loaded_one(
    batch: TaskBatch, node: Node, cpu: float, data: st.DataObject
) -> None:
    loads = [data.draw(backlogs) for _ in node.gpus]
    view = BacklogView(PhysicsEstimator(node), 1.0, cpu, loads)
    assert view.least_loaded_gpu == min(range(node.num_gpus), key=lambda gpu: (loads[gpu], gpu))
    for task in batch:
        assert scheduler_called("greedy").decide(task, view).gpu is None
