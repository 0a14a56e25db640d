"""A grid of plans: checked first, resumable, complete even where a cell fails."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.studies.engines import LocalEngine
from hybrid_ml_scheduler.studies.folder import INCOMPLETE, ResultsFolder
from hybrid_ml_scheduler.studies.race import entrants, race_seed
from hybrid_ml_scheduler.studies.sweep import Sweep, load_sweep, run_sweep

BASE = """
[simulation]
seeds = 2
[workload]
preset = "mixed"
num_tasks = 80
[schedulers]
race = ["greedy", "earliest_finish"]
[sweep]
"workload.arrival_rate" = [2.0, 6.0]
[sweep.simulation]
num_gpus = [1, 4]
"""
MOODY = """
from hybrid_ml_scheduler import Decision

class Moody:
    name = "moody"
    def decide(self, task, cluster):
        if cluster.estimator.num_gpus == 1 and not FLAG.exists():
            raise RuntimeError("one GPU is not enough")
        return Decision(gpu_fraction=0.0)
"""


def written(path: Path, text: str = BASE) -> Path:
    path.write_text(text)
    return path


def swept(sweep: Sweep, path: Path) -> tuple[ResultsFolder, dict[str, str], list[str]]:
    folder = ResultsFolder.create(path, kind="sweep", plan=sweep.source)
    steps: list[str] = []
    failures = run_sweep(sweep, folder, LocalEngine(2), steps.append)
    return folder, failures, steps


def test_the_table_holds_every_cell_and_equals_plain_races(tmp_path: Path) -> None:
    sweep = load_sweep(written(tmp_path / "s.toml"))
    folder, failures, steps = swept(sweep, tmp_path / "out")
    assert failures == {}
    assert folder.is_complete
    assert len(steps) == len(sweep.cells) == 8
    table = folder.read_table("sweep")
    assert len(table) == 16
    cell = sweep.cells[5]
    race = race_seed(cell.plan, entrants(cell.plan), cell.seed)
    place = (table["workload.arrival_rate"] == 6.0) & (table["simulation.num_gpus"] == 1) & (table["seed"] == cell.seed)
    row = table[place & (table["scheduler"] == "greedy")].iloc[0]
    assert row["mean_latency_s"] == race.summaries["greedy"].mean_latency_s
    assert set(folder.read_table("intervals")["count"]) == {2}


def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    sweep = load_sweep(written(tmp_path / "s.toml"))
    folder, _, _ = swept(sweep, tmp_path / "out")
    before = (folder.path / "tables/sweep.parquet").read_bytes()
    kept = sorted(folder.path.glob("cells/*.json"))
    stamps = [path.stat().st_mtime_ns for path in kept[1:]]
    kept[0].unlink()
    swept(sweep, tmp_path / "out")
    assert [path.stat().st_mtime_ns for path in kept[1:]] == stamps
    assert kept[0].is_file()
    assert (folder.path / "tables/sweep.parquet").read_bytes() == before


def test_a_failed_cell_is_reported_the_rest_goes_on_and_a_later_run_heals_it(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    plugin = written(tmp_path / "moody.py", f"import pathlib\nFLAG = pathlib.Path({str(flag)!r})\n{MOODY}")
    text = BASE.replace('"earliest_finish"', json.dumps(f"{plugin}:Moody"))
    sweep = load_sweep(written(tmp_path / "s.toml", text))
    folder, failures, _ = swept(sweep, tmp_path / "out")
    assert len(failures) == 4
    assert all("num_gpus = 1" in label and "not enough" in reason for label, reason in failures.items())
    assert (folder.path / INCOMPLETE).is_file()
    assert set(folder.read_table("sweep")["simulation.num_gpus"]) == {4}
    flag.touch()
    folder, failures, _ = swept(sweep, tmp_path / "out")
    assert failures == {}
    assert folder.is_complete
    assert set(folder.read_table("sweep")["simulation.num_gpus"]) == {1, 4}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"workload.arrival_rate"', '"workload.arival_rate"'), "did you mean 'arrival_rate'"),
        (('"workload.arrival_rate"', '"wrkload.arrival_rate"'), "workload"),
        (("[2.0, 6.0]", "[2.0, -6.0]"), "arrival_rate"),
        (("[2.0, 6.0]", "[]"), "at least one value"),
        (("[2.0, 6.0]", "2.0"), "must be a list"),
        (("[2.0, 6.0]", "[2.0, 2.0]"), "more than once"),
        (('"greedy"', '"gredy"'), "did you mean 'greedy'"),
        (('"workload.arrival_rate"', '"arrival_rate"'), "section and a key"),
        (('"workload.arrival_rate"', '"workload.preset.x"'), "not a section"),
        (("[2.0, 6.0]", "[2.0, -6.0]"), "sweep.workload.arrival_rate: .*-6"),
        (("num_gpus = [1, 4]", "num_gpus = [1, 0]"), "sweep.simulation.num_gpus: .*= 0 must be"),
        (('preset = "mixed"', 'file = "nowhere.csv"'), "nowhere.csv' does not exist"),
        (
            ('race = ["greedy", "earliest_finish"]', 'race = ["rl_agent"]\nrl_agent = {energy_weight = 2}'),
            "energy_weight",
        ),
    ],
)
def test_a_mistake_anywhere_in_the_grid_is_refused_before_anything_runs(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(HmsError, match=message) as refused:
        load_sweep(written(tmp_path / "s.toml", BASE.replace(*change)))
    assert str(refused.value).startswith(f"{tmp_path / 's.toml'}: "), "a refusal names the file"


def test_a_plan_without_a_grid_is_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"section \[sweep\]"):
        load_sweep(written(tmp_path / "s.toml", "[simulation]\nseed = 1\n"))


def test_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    folder, _, _ = swept(load_sweep(written(tmp_path / "s.toml")), tmp_path / "out")
    csv = pd.read_csv(folder.path / "tables/sweep.csv")
    pd.testing.assert_frame_equal(csv, folder.read_table("sweep"), check_dtype=False, rtol=1e-15)


@pytest.mark.parametrize(
    ("grid", "culprit"),
    [
        ("simulation.num_gpus = [1]\nworkload.arrival_rate = [-1]", "workload.arrival_rate"),
        ("workload.noise_sigma = [0.1]\nworkload.arrival_rate = [-0.1]", "workload.arrival_rate"),
        ("simulation.seed = [0]\nsimulation.seeds = [0]", "simulation.seeds"),
        ("simulation.seeds = [1]\nworkload.file = ['1.csv']", "workload.file"),
        ("workload.arrival_rate = [1]\nworkload.arival_rate = [2]", "workload.arival_rate"),
        ("simulation.seed = [4]\nschedulers.race = [['gredy']]", "schedulers.race"),
        ("simulation.num_gpus = [1]\nsimulation.sed = [4]", "simulation.sed"),
    ],
)
def test_a_refusal_names_the_key_at_fault_and_not_its_neighbour(tmp_path: Path, grid: str, culprit: str) -> None:
    with pytest.raises(PlanError) as refused:
        load_sweep(written(tmp_path / "s.toml", f"[sweep]\n{grid}\n"))
    assert str(refused.value).startswith(f"{tmp_path / 's.toml'}: sweep.{culprit}: ")


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ("[simulation]\nnum_tasks = 100", "simulation has no key 'num_tasks'; it belongs to the section workload."),
        ("[simulation]\nbogus = 1", "simulation has no key 'bogus'; known: num_gpus, seed"),
        ("[simulation]\nnum_gpu = 3", "simulation has no key 'num_gpu'; did you mean 'num_gpus'?"),
        ("[workload]\nretrain_interval = 9", "workload has no key 'retrain_interval'; it belongs to the section sim"),
    ],
)
def test_a_slip_outside_the_grid_is_not_blamed_on_the_grid(tmp_path: Path, section: str, sentence: str) -> None:
    with pytest.raises(PlanError) as refused:
        load_sweep(written(tmp_path / "s.toml", f'{section}\n[sweep]\n"simulation.num_gpus" = [1, 2]\n'))
    assert str(refused.value).startswith(f"{tmp_path / 's.toml'}: {sentence}")
