from __future__ import annotations

import gc
import gzip
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core import HmsError, TaskBatch, validate_batch
from hybrid_ml_scheduler.physics import Gpu, Node, durations
from hybrid_ml_scheduler.workload import DIALECTS, describe, load, resolve
from tests.unit.workload.comparing import DATA, fingerprint, real_files

SAMPLES = {
    "swf": DATA / "jobs.swf",
    "wfformat": DATA / "workflow.json",
    "philly": DATA / "philly.csv",
    "azure_llm": DATA / "azure_llm.csv",
    "openb": DATA / "openb_pods.csv",
    "openb_requests": DATA / "openb_requests.csv",
}
FILES = [*SAMPLES.values(), *real_files()]


def named(batch: TaskBatch) -> set[str]:
    return {assumption.partition(":")[0] for assumption in batch.assumptions}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_trace_becomes_a_valid_workload_with_a_time_and_stated_assumptions(path: Path) -> None:
    batch = validate_batch(load(path, seed=1), str(path))
    missing_cpu, missing_gpu = np.isnan(batch.cpu_time), np.isnan(batch.gpu_time)
    assert not (missing_cpu & missing_gpu).any()
    assert ("guessed_cpu_time" in named(batch)) == missing_cpu.any()
    assert ("guessed_gpu_time" in named(batch)) == missing_gpu.any()
    assert batch.arrival_time[0] == 0.0
    assert {"time_scale", "derived_size"} <= named(batch)
    assert all(sentence.endswith(".") for sentence in batch.assumptions)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_size_of_a_traced_task_gives_its_cpu_time_by_the_default_physics(path: Path) -> None:
    batch = load(path)
    bare = TaskBatch.from_columns(
        size=batch.size,
        compute_intensity=batch.compute_intensity,
        memory_required=batch.memory_required,
        arrival_time=batch.arrival_time,
    )
    assert np.allclose(durations(bare, Node()).cpu_s, durations(batch, Node()).cpu_s, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_guesses_depend_on_the_seed_alone(path: Path) -> None:
    assert fingerprint(load(path, seed=3)) == fingerprint(load(path, seed=3))
    assert fingerprint(load(path, seed=3)) != fingerprint(load(path, seed=4))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_limit_gives_the_first_tasks_with_the_same_guesses(path: Path) -> None:
    options = {} if "json" in path.name or "workflow" in path.name else {"arrival_scale": 1}
    whole = load(path, options=options)
    part = load(path, limit=3, options=options)
    assert part.cpu_time.tobytes() == whole.cpu_time[:3].tobytes()
    assert part.compute_intensity.tobytes() == whole.compute_intensity[:3].tobytes()
    assert part.arrival_time.tobytes() == whole.arrival_time[:3].tobytes()


@pytest.mark.parametrize(("dialect", "path"), SAMPLES.items())
def test_a_packed_file_of_any_name_is_recognised_by_its_content(dialect: str, path: Path, tmp_path: Path) -> None:
    packed = tmp_path / "anything"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert fingerprint(load(packed)) == fingerprint(load(path)) == fingerprint(load(path, dialect=dialect))


def test_a_philly_job_is_its_measured_run_time_on_all_its_gpus_in_order_of_submission() -> None:
    batch = load(SAMPLES["philly"], options={"arrival_scale": 1}, node=Node.uniform(8))
    assert batch.gpu_time.tolist() == [2951.0, 100.0, 66.0, 860.5]
    assert batch.gpus_required.tolist() == [2, 1, 1, 8]
    assert not batch.divisible.any()
    assert batch.arrival_time.tolist() == [0.0, 0.0, 3715.0, 237599.0]
    assert batch.task_id.tolist() == [0, 1, 2, 3]
    assert {"gang_seconds", "guessed_intensity", "guessed_memory", "guessed_cpu_time"} <= named(batch)


def test_the_target_load_fixes_the_share_of_time_the_gpus_would_be_busy() -> None:
    batch = load(SAMPLES["philly"], options={"target_load": 0.5, "gpus": 2})
    held_s = (batch.gpu_time * batch.gpus_required).sum()
    assert held_s / (2 * batch.arrival_time[-1]) == pytest.approx(0.5, rel=1e-12)
    default = load(SAMPLES["philly"])
    held_s = (default.gpu_time * default.gpus_required).sum()
    assert held_s / (4 * default.arrival_time[-1]) == pytest.approx(0.7, rel=1e-12)
    assert any("1 of 4 tasks need more than the node's 4 GPUs at once (up to 8)" in one for one in default.assumptions)
    assert any("target_load 0.7" in sentence for sentence in default.assumptions)


def test_the_time_scale_is_a_change_of_unit() -> None:
    seconds, minutes = load(SAMPLES["swf"]), load(SAMPLES["swf"], options={"time_scale": "0.0166666666666666666"})
    assert np.allclose(minutes.cpu_time * 60, seconds.cpu_time)
    assert minutes.speedup_factor.tobytes() == seconds.speedup_factor.tobytes()
    assert minutes.arrival_time[-1] == pytest.approx(seconds.arrival_time[-1] / 60, rel=1e-2)  # transfers stay


def test_an_swf_job_is_its_run_time_with_memory_and_preceding_job_where_known() -> None:
    batch = load(SAMPLES["swf"], options={"arrival_scale": 1})
    assert batch.task_id.tolist() == [1, 2, 4, 5, 6]
    assert batch.cpu_time.tolist() == [100.0, 50.0, 1000.0, 70.0, 20.0]
    assert batch.arrival_time.tolist() == [0.0, 30.0, 90.0, 300.0, 400.0]
    assert batch.memory_required[1:3].tolist() == [1.2, 16.0]
    assert [task.dependencies for task in batch] == [(), (), (2,), (), ()]
    text = "\n".join(batch.assumptions)
    assert "1 of 6 jobs have no run time" in text
    assert "the memory of 3 of 5 tasks is drawn" in text
    assert "(1 such jobs had none left to wait for)" in text


def test_a_workflow_keeps_its_graph_and_numbers_tasks_by_level() -> None:
    batch = load(SAMPLES["wfformat"])
    assert [task.dependencies for task in batch] == [(), (0,), (0,), (1, 2)]
    assert batch.cpu_time.tolist() == [2.5, 10.0, 4.0, 1.25]
    assert batch.memory_required.tolist() == [3.5, 3.0, 64.0, 0.5]
    assert batch.compute_intensity[:3].tolist() == [0.95, 1.0, 0.2]
    assert not batch.arrival_time.any()
    assert "the compute intensity of 1 of 4 tasks is drawn" in "\n".join(batch.assumptions)


def test_an_llm_request_is_two_rates_and_keeps_its_arrival() -> None:
    batch = load(SAMPLES["azure_llm"])
    assert batch.gpu_time.tolist() == [0.51, 0.2, 0.2]
    assert batch.arrival_time == pytest.approx([0.0, 0.1, 2.0000001], rel=1e-12)
    # Intensity and memory follow from the prompt alone: the length of the answer is not known beforehand.
    assumed_s = 100 / 1500
    assert batch.compute_intensity == pytest.approx(
        [0.2 + 0.6 * 0.5 / (0.5 + assumed_s), 0.2, 0.2 + 0.6 * 0.2 / (0.2 + assumed_s)], rel=1e-12
    )
    assert batch.memory_required == pytest.approx([5000 * 0.131072, 0.0, 2000 * 0.131072])
    faster = load(SAMPLES["azure_llm"], options={"prompt_tokens_per_s": 20_000, "output_tokens_per_s": 3000})
    assert np.allclose(faster.gpu_time * 2, batch.gpu_time)


def test_a_pod_is_its_lifetime_times_its_share_of_a_gpu_or_on_all_its_gpus() -> None:
    batch = load(SAMPLES["openb"], options={"arrival_scale": 1}, node=Node.uniform(8))
    assert batch.arrival_time.tolist() == [0.0, 50.0, 150.0, 300.0]
    assert batch.gpu_time[[0, 1, 3]].tolist() == [1000.0, pytest.approx(92.0), 50.0]
    assert batch.gpus_required.tolist() == [1, 1, 1, 8]
    assert any(
        "1 of 4 pods asked for a type of GPU (A10, V100M32), which is ignored" in one for one in batch.assumptions
    )
    assert batch.cpu_time[2] == 40.0
    assert batch.memory_required[0] == pytest.approx(16384 * 1.048576 * 0.1)
    assert "1 pods that never ran and 0 pods created before second 0 are left out of 5" in batch.assumptions[0]
    later = load(SAMPLES["openb"], options={"start_s": 200}, node=Node.uniform(8))
    assert len(later) == 2


def test_the_spread_of_the_guessed_speed_up_can_be_turned_off() -> None:
    batch = load(SAMPLES["philly"], options={"speedup_sigma": 0})
    seconds = durations(batch, Node())
    assert seconds.cpu_s / seconds.on_gpu(0) == pytest.approx(1 + 3 * batch.compute_intensity, rel=1e-12)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_physics_of_the_node_act_on_every_time_that_is_not_measured(path: Path) -> None:
    batch = load(path, limit=200 if "json" not in path.name else None)
    usual, law = durations(batch, Node()), durations(batch, Node(max_speedup=16.0))
    bus = durations(batch, Node(gpus=(Gpu(bandwidth_mb_s=1.0),) * 4))
    missing_cpu, missing_gpu = np.isnan(batch.cpu_time), np.isnan(batch.gpu_time)
    gains = batch.compute_intensity > 0.0
    assert (law.on_gpu(0)[missing_gpu & gains] < usual.on_gpu(0)[missing_gpu & gains]).all()
    moved = missing_gpu & (batch.memory_required > 0.0)
    assert (bus.on_gpu(0)[moved] > usual.on_gpu(0)[moved]).all()
    assert (law.cpu_s[missing_cpu & gains] > usual.cpu_s[missing_cpu & gains]).all()
    assert (law.cpu_s[~missing_cpu] == batch.cpu_time[~missing_cpu]).all()
    assert (law.on_gpu(0)[~missing_gpu] == batch.gpu_time[~missing_gpu]).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"targetload": 1}, r"no trace option 'targetload'; did you mean 'target_load'\?"),
        ({"time_scale": 0}, "time_scale = 0 must be a finite number above 0"),
        ({"time_scale": None}, "time_scale = None must be a number"),
        ({"target_load": "nan"}, "target_load = nan"),
        ({"target_load": "much"}, "target_load = 'much' must be a number"),
        ({"speedup_sigma": -1}, "speedup_sigma = -1 must be a finite number of at least 0"),
        ({"target_load": 1, "arrival_scale": 1}, "arrival_scale cannot be given together with target_load"),
        ({"memory_low_mb": 9, "memory_high_mb": 3}, "memory_low_mb = 9 must not exceed"),
    ],
)
def test_a_wrong_option_is_refused_with_its_name(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(HmsError, match=sentence):
        load(SAMPLES["philly"], options=options)


def test_options_that_cannot_apply_are_refused() -> None:
    with pytest.raises(HmsError, match="arrive at different times"):
        load(SAMPLES["wfformat"], options={"target_load": 0.5})
    with pytest.raises(HmsError, match="'time_scale' does not apply to the own CSV, which takes arrival_scale"):
        load(DATA / "own.csv", options={"time_scale": 2})
    with pytest.raises(HmsError, match=r"no trace dialect 'phily'; did you mean 'philly'\?"):
        load(SAMPLES["philly"], dialect="phily")
    with pytest.raises(HmsError, match="limit = 0"):
        load(SAMPLES["philly"], limit=0)


def test_a_name_is_a_preset_or_a_file(tmp_path: Path) -> None:
    assert len(resolve("light", num_tasks=5, values={"arrival_rate": 3.0})) == 5
    copy = tmp_path / "trace.csv"
    shutil.copy(SAMPLES["philly"], copy)
    assert len(resolve(copy, num_tasks=2)) == 2
    noisy = resolve(copy, values={"noise_sigma": 0.4})
    assert noisy.is_noisy
    assert "duration_noise" in named(noisy)
    for wrong, sentence in (
        ("mixd", "did you mean 'mixed'"),
        (str(tmp_path / "none.csv"), "there is no such file"),
        ("none.csv", "there is no such file"),
    ):
        with pytest.raises(HmsError, match=sentence):
            resolve(wrong)
    with pytest.raises(HmsError, match=r"workload\.size_law applies to presets only"):
        resolve(copy, values={"size_law": "uniform"})
    with pytest.raises(HmsError, match="is a preset"):
        resolve("mixed", options={"target_load": 1})
    with pytest.raises(HmsError, match=r"workload\.noise_sigma = -1"):
        resolve(copy, values={"noise_sigma": -1.0})


def test_every_dialect_but_the_own_has_a_sample() -> None:
    assert set(SAMPLES) == set(DIALECTS) - {"csv", "gavel"}  # Gavel's times are by type of GPU: test_gavel


EXPECTED_GRAPHS = {
    "epigenomics-chameleon-hep-1seq-100k-001": (41, 48, 9, 9),
    "montage-chameleon-2mass-005d-001": (58, 114, 8, 18),
    "cycles-chameleon-1l-1c-9p-001": (67, 97, 4, 32),
    "blast-chameleon-large-001": (103, 300, 3, 100),
    "montage-chameleon-dss-125d-001": (1066, 3012, 8, 900),
    "workflow": (4, 4, 3, 2),
    "rnaseq-dirt02-001": (141, 398, 9, 68),  # of 197 tasks and 451 edges: 56 tasks took 0 seconds
}


@pytest.mark.parametrize("path", [path for path in FILES if ".json" in path.name], ids=lambda path: path.name)
def test_a_workflow_graph_has_the_published_shape(path: Path) -> None:
    description = describe(load(path))
    graph = description["graph"]
    shape = (description["tasks"], graph["edges"], graph["depth"], graph["width"])
    assert shape == EXPECTED_GRAPHS[path.name.partition(".")[0]]


def philly_text(rows: int) -> str:
    lines = [
        f"2017-10-{1 + row % 28:02d} 0{row % 10}:00:{row % 60:02d},{row + 1}.0,1,{row + 1}.0,c" for row in range(rows)
    ]
    return "\n".join(["timestamp,duration,num_gpus,gpu_time,cluster", *lines])


def own_text(rows: int) -> str:
    lines = [f'{row},10.5,0.5,3.25,{row},"[{max(row - 2, 0)}, {row - 1}]"' for row in range(2, rows)]
    first = ["0,1,0.5,1,0,[]", "1,1,0.5,1,1,[0]"]
    return "\n".join(["task_id,size,compute_intensity,memory_required,arrival_time,dependencies", *first, *lines])


@pytest.mark.parametrize("text", [philly_text, own_text])
def test_reading_grows_in_proportion_to_the_rows(text: Callable[[int], str], tmp_path: Path) -> None:
    def seconds(rows: int) -> float:
        path = tmp_path / f"{rows}.csv"
        path.write_text(text(rows))
        best = float("inf")
        gc.collect()
        for _ in range(3):
            begin = time.process_time()
            assert len(load(path)) == rows
            best = min(best, time.process_time() - begin)
        return best

    load(SAMPLES["philly"])  # what is compiled once is not counted
    gc.disable()  # what the collector costs depends on everything else in the process
    try:
        # Eight times the rows: a reader with a quadratic step would need up to 64 times as long.
        assert seconds(40_000) < 20 * seconds(5_000)
    finally:
        gc.enable()
