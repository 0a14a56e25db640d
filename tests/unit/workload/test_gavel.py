"""Gavel's job streams: steps over measured steps per second, by type of GPU and number of GPUs."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core import HmsError, validate_batch
from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.plans.node_plan import node_from_mapping
from hybrid_ml_scheduler.workload import load
from tests.unit.workload.comparing import DATA, gavel_streams

STREAM, TABLE = DATA / "gavel.trace", {"throughputs": str(DATA / "gavel_throughputs.json")}


def typed(name: str, count: int = 8) -> Node:
    return node_from_mapping({"gpus": [{"type": name}] * count}, None, None, "test")


EIGHT = typed("v100")


def test_seconds_are_steps_over_the_measured_throughput_of_every_type() -> None:
    batch = load(STREAM, options=TABLE, node=EIGHT)
    assert batch.gpu_types == ("k80", "v100")
    assert batch.task_id.tolist() == [0, 1, 2, 4]
    np.testing.assert_allclose(batch.gpu_times[:, 0], [300.0, 500.0, 200.0, 100.0])
    np.testing.assert_allclose(batch.gpu_times[:, 1], [60.0, np.nan, 50.0, 20.0])
    assert batch.gpus_required.tolist() == [1, 2, 1, 8]
    assert not batch.divisible.any()
    assert batch.kind_names[batch.kind[1]] == "LM (batch size 5)"
    said = " ".join(batch.assumptions)
    assert "1 of 5 jobs have no measured throughput on any type and are left out (CycleGAN)" in said
    assert durations(batch, typed("k80")).gpu_s[:, 0].tolist() == batch.gpu_times[:, 0].tolist()


def test_gangs_wider_than_the_node_are_left_out_counted_and_named() -> None:
    batch = load(STREAM, options=TABLE, node=typed("v100", 4))
    assert batch.gpus_required.max() == 2
    assert "wide_gangs: 1 of 4 tasks need more than the node's 4 GPUs at once (up to 8)" in " ".join(batch.assumptions)


def test_the_table_is_found_beside_the_stream_packed_or_not(tmp_path: Path) -> None:
    stream = shutil.copy(STREAM, tmp_path / "jobs.trace")
    with pytest.raises(HmsError, match=r"needs simulation_throughputs.json beside it, or the trace option throughputs"):
        load(stream, node=EIGHT)
    shutil.copy(DATA / "gavel_throughputs.json", tmp_path / "simulation_throughputs.json")
    assert len(load(stream, node=EIGHT)) == 4


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("[1", "this is not valid JSON"),
        ("[1]", "jobs by type of GPU"),
        ('{"k80": {"(\'LM\', 1)": {"null": "fast"}}}', "k80 has no throughput of"),
        ('{"k80": {"LM": {"null": 1.0}}}', "k80 has no throughput of 'LM' alone"),
        ('{"k80": {"(\'GAN\', 1)": {"null": 1.0}}}', "has no throughput of any of its jobs"),
        ('{"k80": {}}', "this table of throughputs is empty"),
        ("{}", "this table of throughputs is empty"),
    ],
)
def test_a_bad_table_gets_one_sentence(table: str, sentence: str, tmp_path: Path) -> None:
    place = tmp_path / "table.json"
    place.write_text(table)
    with pytest.raises(HmsError, match=sentence):
        load(STREAM, options={"throughputs": str(place)})


@pytest.mark.parametrize(
    ("cell", "place", "sentence"),
    [("-1", 6, "scale_factor is '-1'"), ("0", 6, "scale_factor is '0'"), ("many", 4, "total_steps is 'many'")],
)
def test_a_bad_job_is_refused_with_its_line(cell: str, place: int, sentence: str, tmp_path: Path) -> None:
    lines = [line.split("\t") for line in STREAM.read_text().splitlines()]
    lines[1][place] = cell
    stream = tmp_path / "jobs.trace"
    stream.write_text("\n".join("\t".join(line) for line in lines))
    with pytest.raises(HmsError, match=f"line 2: {sentence}"):
        load(stream, options=TABLE)


def test_the_table_alone_is_no_workload() -> None:
    with pytest.raises(HmsError, match="a table of throughputs; name the job stream"):
        load(DATA / "gavel_throughputs.json")


@pytest.mark.parametrize("path", [STREAM, *gavel_streams()], ids=lambda path: path.name)
def test_every_stream_is_read_with_its_measured_times(path: Path) -> None:
    batch = validate_batch(load(path, options=TABLE if path == STREAM else {}, node=EIGHT), str(path))
    assert batch.gpu_types == (("k80", "v100") if path == STREAM else ("k80", "p100", "v100"))
    assert set(batch.gpus_required.tolist()) <= {1, 2, 4, 8}
    assert np.isfinite(batch.gpu_times).any(axis=1).all()
