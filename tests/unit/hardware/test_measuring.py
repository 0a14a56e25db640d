"""Measuring this very machine, and reading meters."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from hybrid_ml_scheduler.cli.main import app, run
from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.hardware import Point, Series, measure, read_profile, to_mapping
from hybrid_ml_scheduler.hardware.backend import Backend
from hybrid_ml_scheduler.hardware.effort import QUICK, sweep
from hybrid_ml_scheduler.hardware.measuring import chosen_accelerator, steps
from hybrid_ml_scheduler.hardware.power import busy_gpu_power, counters, idle_gpu_power, joules_between, watts_of
from hybrid_ml_scheduler.hardware.profile import DeviceProfile, disturbances, disturbed_points
from hybrid_ml_scheduler.hardware.series import launch, matmul, transfers

TINY = replace(
    QUICK, sizes=(16, 64), transfer_bytes=(2**12, 2**16), point_s=0.002, most_repeats=3, power_s=0.3, settle_s=0.05
)


def test_a_quick_profile_of_this_cpu_is_a_valid_file(tmp_path: Path) -> None:
    out = tmp_path / "p.json"
    ran = CliRunner().invoke(
        app, ["profile", "--quick", "--device", "cpu", "--format", "json", "--out", str(out)], catch_exceptions=False
    )
    assert ran.exit_code == 0
    assert json.loads(ran.stdout) == json.loads(out.read_text())
    profile = read_profile(out)
    assert profile.quick
    assert profile.gpu is None
    for name in ("matmul", "stream"):
        points = profile.cpu.series[name].points
        assert {64.0, 256.0, 1024.0} <= {point.at for point in points}
        assert all(point.repeats >= 3 for point in points)
    times = profile.cpu.series["matmul"].medians
    assert times[max(times)] > times[64.0]


def test_a_profile_names_neither_host_nor_user() -> None:
    profile = measure(device="cpu", effort=TINY)
    text = json.dumps(to_mapping(profile))
    assert str(Path.home()) not in text
    assert socket.gethostname() not in text
    assert set(profile.machine) <= {"system", "architecture", "python", "torch", "cuda", "cpu", "cores"}


def test_progress_counts_every_step_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    measure(device="cpu", effort=TINY, progress=lambda _label, done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == list(range(steps(TINY, None) + 1))
    assert {total for _, total in seen} == {steps(TINY, None)}


def test_measuring_gives_back_threads_and_precision() -> None:
    before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    measure(device="cpu", effort=TINY)
    assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == before


def test_measuring_needs_numpy_and_torch_only() -> None:
    program = (
        "import sys\nfor name in ('numba', 'rich', 'typer', 'pydantic', 'scipy'): sys.modules[name] = None\n"
        "from hybrid_ml_scheduler.hardware.__main__ import main\n"
        "try: main(['--help'])\nexcept SystemExit as end: sys.exit(end.code)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_device_that_is_not_there_is_refused() -> None:
    absent = "mps" if torch.cuda.is_available() else "cuda"
    with pytest.raises(ProfileError, match=f"--device {absent}: torch .* finds no such device"):
        chosen_accelerator(absent)
    with pytest.raises(ProfileError, match="must be one of auto, cpu, cuda, mps"):
        chosen_accelerator("abacus")


def test_the_command_refuses_a_device_that_is_not_there_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = "mps" if torch.cuda.is_available() else "cuda"
    assert run(["profile", "--device", absent, "--out", str(tmp_path / "mine.json")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert f"--device {absent}" in said.err


def test_the_steps_of_a_gpu_run_on_any_torch_device() -> None:
    backend = Backend("cpu")
    alone = matmul(backend, TINY, lambda _label: None, alone=True)
    copies = transfers(backend, TINY, lambda _label: None, pinned=False)
    assert [point.at for point in alone.points] == [16.0, 64.0]
    assert set(copies) == {"transfer_pageable_to_device", "transfer_pageable_to_host"}
    assert all(series.axis == "bytes" and len(series.points) == 2 for series in copies.values())
    assert launch(backend, TINY, awaited=True).median > 0


def test_a_sweep_leaves_out_what_would_take_too_long() -> None:
    effort = replace(TINY, longest_point_s=1.0, always=20)
    points = sweep("work", (10, 20, 30, 100), 3.0, lambda size: lambda times: times * size**3 * 1e-6, effort, print)
    assert [point.at for point in points] == [10.0, 20.0, 30.0]
    assert points[0].median == pytest.approx(1e-3)
    assert points[0].iqr == pytest.approx(0.0, abs=1e-12)


def test_a_burst_is_long_enough_for_the_clock_and_divided_again() -> None:
    asked: list[int] = []

    def run(times: int) -> float:
        asked.append(times)
        return times * 1e-5

    (point,) = sweep("work", (7,), 3.0, lambda _size: run, TINY, print)
    assert max(asked) == 100
    assert point.median == pytest.approx(1e-5)


def series(*points: tuple[float, float, float]) -> Series:
    made = tuple(Point(at=at, median=median, iqr=iqr, repeats=5) for at, median, iqr in points)
    return Series(unit="s", axis="size", method="by hand", points=made)


def test_disturbed_points_are_told_from_quiet_ones() -> None:
    quiet = series((1, 1.0, 0.3), (2, 1.2, 0.0), (3, 1.0, 0.1))
    loud = series((1, 1.0, 0.6), (2, 9.0, 0.0), (3, 2.0, 0.1))
    assert disturbed_points(quiet) == []
    assert disturbed_points(loud) == [1, 2]
    device = DeviceProfile(name="Some CPU", series={"stream": quiet, "matmul": loud})
    assert disturbances([device]) == [
        "2 of 6 points of Some CPU look disturbed by other work (matmul): "
        "measure again on a quiet machine before relying on them."
    ]


def test_watts_are_read_and_silence_is_left_out() -> None:
    assert watts_of("GPU-1, 77.84\nGPU-2, [N/A]\n\nnonsense\n") == {"GPU-1": 77.84}


def meter(folder: Path, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_idle_and_busy_power_come_from_the_meter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meter(tmp_path, "echo 'GPU-1, 78.5'", monkeypatch)
    idle = idle_gpu_power()
    assert (idle["GPU-1"].median, idle["GPU-1"].unit) == (78.5, "W")
    asked: list[float] = []
    busy = busy_gpu_power("GPU-1", asked.append, TINY)
    assert busy is not None
    assert busy.median == 78.5
    assert asked[0] >= TINY.power_s  # the work outlasts the readings
    assert busy_gpu_power("GPU-2", asked.append, TINY) is None


def test_a_broken_meter_gives_no_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meter(tmp_path, "exit 9", monkeypatch)
    assert idle_gpu_power() == {}


def test_energy_counters_are_read_and_may_wrap(tmp_path: Path) -> None:
    for name, used in (("intel-rapl:0", 9_000_000), ("intel-rapl:1", 1_000_000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energy_uj").write_text(f"{used}\n")
        (tmp_path / name / "max_energy_range_uj").write_text("10000000\n")
    (tmp_path / "intel-rapl:2").mkdir()  # a package that tells nothing
    before = counters(tmp_path)
    assert before == {"intel-rapl:0": (9.0, 10.0), "intel-rapl:1": (1.0, 10.0)}
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("2000000\n")
    assert joules_between(before, counters(tmp_path)) == pytest.approx(3.0)
