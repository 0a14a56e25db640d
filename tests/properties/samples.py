"""Batches and nodes for Hypothesis: small, but with ties, odd ids, graphs, noise, measured times and odd GPUs."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from hybrid_ml_scheduler.core import TaskBatch, validate_batch
from hybrid_ml_scheduler.physics import CoExecution, CostModel, Cpu, Gpu, MemoryRule, Node, SpeedupLaw

# A few values come up again and again, so that arrivals, durations and backlogs tie on purpose. No share is so small
# that its seconds underflow to zero: whether such a part exists is not a question worth an answer.
sizes = st.one_of(st.sampled_from([250.0, 1000.0, 4000.0]), st.floats(10.0, 5000.0))
intensities = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0, allow_subnormal=False))
memories = st.one_of(st.sampled_from([0.0, 500.0, 8000.0, 8001.0]), st.floats(0.0, 20_000.0))
arrivals = st.one_of(st.sampled_from([0.0, 0.25, 1.0, 1.0625]), st.floats(0.0, 20.0))
measured = st.one_of(st.just(math.nan), st.sampled_from([0.5, 1.0]), st.floats(0.001, 5.0))
duration_factor = st.one_of(st.just(1.0), st.floats(0.3, 3.0))

LEAST_GPU_MB = 1000.0

gpus = st.builds(
    Gpu,
    speed=st.sampled_from([0.5, 1.0, 1.7]),
    memory_mb=st.sampled_from([LEAST_GPU_MB, 8000.0, 16_000.0]),
    bandwidth_mb_s=st.sampled_from([4000.0, 16_000.0]),
    launch_s=st.sampled_from([0.0, 0.01]),
    power_w=st.sampled_from([0.0, 50.0, 300.0]),
    price_usd_s=st.sampled_from([0.0001, 0.0007]),
    type=st.sampled_from(["", "t4", "h200"]),
    dense_speed=st.sampled_from([1.0, 2.5]),
    stream_speed=st.sampled_from([1.0, 0.5]),
    fp32_speed=st.sampled_from([1.0, 1.5]),
)
equal_gpus = st.integers(1, 4).map(lambda count: (Gpu(),) * count)
various_gpus = st.lists(gpus, min_size=1, max_size=4).map(tuple)


@st.composite
def nodes(draw: st.DrawFn, *, slots: bool = False) -> Node:
    """Any node: all laws and rules, equal GPUs as often as various ones; with several slots of the CPU if asked."""
    return Node(
        cpu=Cpu(
            speed=draw(st.sampled_from([1.0, 0.75, 3.0])),
            power_w=draw(st.sampled_from([0.0, 30.0, 91.0])),
            slots=draw(st.sampled_from([1, 2, 3])) if slots else 1,
        ),
        gpus=draw(st.one_of(equal_gpus, various_gpus)),
        speedup_law=draw(st.sampled_from(SpeedupLaw)),
        max_speedup=draw(st.sampled_from([4.0, 1.0, 20.0])),
        co_execution=draw(st.sampled_from(CoExecution)),
        memory_rule=draw(st.sampled_from(MemoryRule)),
        paging_slowdown=draw(st.sampled_from([10.0, 2.5])),
        cost_model=draw(st.sampled_from(CostModel)),
    )


@st.composite
def batches(
    draw: st.DrawFn,
    *,
    graphs: bool | None = None,
    noisy: bool | None = None,
    max_tasks: int = 12,
    arrival: st.SearchStrategy[float] = arrivals,
    memory: st.SearchStrategy[float] = memories,
    most_gpus: int = 1,
    lost: bool = False,
) -> TaskBatch:
    """Any valid batch: ids in no order, children that may arrive before their parents, gangs of up to so many GPUs.

    Where there are gangs, there are also tasks that need no GPU at all. Some tasks run on GPUs only, some in FP32;
    only where there may be `lost` ones does one of the former fit no GPU, so that it fails.
    """
    graphs = draw(st.booleans()) if graphs is None else graphs
    noisy = draw(st.booleans()) if noisy is None else noisy
    with_measured = draw(st.booleans())
    row = st.tuples(
        arrival,
        sizes,
        intensities,
        memory,
        measured if with_measured else st.just(math.nan),
        measured if with_measured else st.just(math.nan),
        duration_factor if noisy else st.just(1.0),
        st.sampled_from([1.0, 0.8]),
        st.booleans() if draw(st.booleans()) else st.just(True),
        st.integers(0 if most_gpus > 1 else 1, most_gpus),
        st.booleans() if draw(st.booleans()) else st.just(False),
        st.booleans() if draw(st.booleans()) else st.just(False),
    )
    rows = [
        (*one[:10], one[10] and one[9] > 0 and (lost or one[3] <= LEAST_GPU_MB), one[11])
        for one in draw(st.lists(row, min_size=1, max_size=max_tasks))
    ]
    ids = draw(st.permutations(range(3, 3 + len(rows))))
    parents = [_parents(draw, ids[:place]) if graphs else () for place in range(len(rows))]
    order = sorted(range(len(rows)), key=lambda place: (rows[place][0], ids[place]))
    columns = list(zip(*(rows[place] for place in order), strict=True))
    batch = TaskBatch.from_columns(
        task_id=[ids[place] for place in order],
        arrival_time=columns[0],
        size=columns[1],
        compute_intensity=columns[2],
        memory_required=columns[3],
        cpu_time=columns[4],
        gpu_time=columns[5],
        duration_factor=columns[6],
        speedup_factor=columns[7],
        divisible=[
            divisible and width == 1 and not only
            for divisible, width, only in zip(columns[8], columns[9], columns[10], strict=True)
        ],
        gpus_required=columns[9],
        gpu_only=columns[10],
        fp32=columns[11],
        dependencies=[parents[place] for place in order],
    )
    return validate_batch(batch)


def _parents(draw: st.DrawFn, earlier: list[int]) -> tuple[int, ...]:
    """Up to three parents among tasks that were drawn before, so that there is no cycle."""
    if not earlier:
        return ()
    return tuple(draw(st.lists(st.sampled_from(earlier), max_size=3)))
