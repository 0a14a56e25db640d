"""A recommendation over types of GPU: what scaling fills in leads to the node that measured times lead to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.plans.candidates import load_candidates
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.plans.targets import read_target
from hybrid_ml_scheduler.studies.recommending.search import Answer, Question, recommend

NODES = """
[[node]]
name = "L4"
gpu_type = "l4"
gpus = 1
price_usd_h = 0.8

[[node]]
name = "A100"
gpu_type = "a100"
gpus = 1
price_usd_h = 2.5

[[node]]
name = "H100"
gpu_type = "h100"
gpus = 1
price_usd_h = 4.25
"""
HEAD = "task_id,size,compute_intensity,memory_required,arrival_time,runs_on,gpu_time.l4,gpu_time.a100,gpu_time.h100"
# Seconds over those on an A100 as servers show them: writing tokens (intensity 0.2), reading prompts (0.8).
MEASURED = {0.2: (5.6, 1.0, 0.55), 0.8: (3.1, 1.0, 0.36)}


def requests(path: Path, known: tuple[bool, bool]) -> Path:
    """Requests of 0.05 to 0.25 s on an A100, one each 0.3 s; of those that are not known only A100 times are there."""
    rng, rows = np.random.default_rng(4), [HEAD]
    for row in range(120):
        intensity, seconds = (0.2, 0.8)[row % 2], float(rng.uniform(0.05, 0.25))
        times = [repr(seconds * ratio) for ratio in MEASURED[intensity]]
        if not known[row // 2 % 2]:
            times[0] = times[2] = ""
        rows.append(f"{row},1000,{intensity},200,{0.3 * row},gpu,{','.join(times)}")
    path.write_text("\n".join(rows) + "\n")
    return path


def asked(tasks: Path, nodes: Path, limit_s: float) -> Answer:
    return recommend(
        Question(
            workload=WorkloadChoice(source=str(tasks)),
            nodes=tuple(load_candidates(nodes)),
            target=read_target(f"p95_latency < {limit_s} s"),
            policies=("earliest_device", "sjf"),
            seeds=2,
        )
    )


@pytest.mark.parametrize(("limit_s", "node"), [(1000.0, "L4"), (0.7, "A100"), (0.15, "H100")])
def test_half_of_the_measured_times_pick_the_node_that_all_of_them_pick(
    tmp_path: Path, limit_s: float, node: str
) -> None:
    (tmp_path / "nodes.toml").write_text(NODES)
    complete = asked(requests(tmp_path / "all.csv", (True, True)), tmp_path / "nodes.toml", limit_s)
    half = asked(requests(tmp_path / "half.csv", (True, False)), tmp_path / "nodes.toml", limit_s)
    assert complete.best is not None
    assert half.best is not None
    assert half.best.node == complete.best.node == node
    assert not any("GPU types" in name for name in complete.variations), "nothing is scaled"
    assert [name for name in half.variations if name.startswith("GPU types 1.2 times slower than scaled")]
    said = " ".join(half.assumptions)
    assert "An l4 takes " in said
    assert "(3.1 to 5.4) times as long as an a100, to within a factor of 1.2 (scaled for 60 of 120 tasks)." in said
