"""`hms train` and `hms evaluate` from end to end, in small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.cli.output.model_output import FIRST_TRAINING_SEED, LAST_TEST_START, MOST_TEST_SEEDS
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import FileTasks
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.studies.pipeline import TRAINING_SEEDS_FROM


def _asked(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert run([*words, "--format", "json"]) == 0
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


def _is_picture(place: Path) -> bool:
    start = place.read_bytes()[:200]
    return start.startswith(b"\x89PNG") if place.suffix == ".png" else b"<?xml" in start


def test_a_forest_is_trained_drawn_saved_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, plot, verdict = (str(tmp_path / name) for name in ("forest.joblib", "forest.svg", "verdict.png"))
    trained = _asked(["train", "forest", "--tasks", "300", "--out", place, "--plot", plot], capsys)
    assert trained["samples"] == 300
    assert trained["plot"] == plot
    curve, importance = trained["learning_curve"], trained["feature_importance"]
    assert isinstance(curve, list)
    assert curve[-1]["samples"] == 300
    assert curve[-1]["execution_time_vs_optimum"] < curve[0]["execution_time_vs_optimum"]
    assert isinstance(importance, dict)
    assert max(importance, key=lambda name: importance[name]) == "compute_intensity"
    judged = _asked(["evaluate", place, "--seeds", "2", "--tasks", "500", "--plot", verdict], capsys)
    ratio = judged["execution_time_vs_optimum"]
    assert isinstance(ratio, float)
    assert 1.0 <= ratio < 1.05
    assert judged["plot"] == verdict
    assert _is_picture(Path(plot))
    assert _is_picture(Path(verdict))


def test_the_same_training_draws_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in ("png", "svg"):
        places = [tmp_path / f"{name}.{suffix}" for name in ("one", "two")]
        for place in places:
            words = ["train", "forest", "--tasks", "60", "--out", str(tmp_path / "f.joblib"), "--plot", str(place)]
            assert run(words) == 0
            assert f"The plot is {place}." in capsys.readouterr().out
        assert places[0].read_bytes() == places[1].read_bytes()


@pytest.mark.parametrize(("strategy", "name"), [("rl_split", "split.json"), ("rl_agent", "agent.pth")])
def test_an_agent_is_trained_saved_and_judged(
    strategy: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, plot, board = str(tmp_path / name), tmp_path / "curves.png", tmp_path / "board"
    words = ["train", "agent", "--strategy", strategy, "--effort", "0.001", "--workload", "light", "--gpus", "2"]
    trained = _asked([*words, "--out", place, "--plot", str(plot), "--tensorboard", str(board)], capsys)
    assert trained["model"] == place
    assert trained["plot"] == str(plot)
    assert isinstance(trained["curves"], dict)
    assert _is_picture(plot)
    assert _scalars(board) == {f"{strategy}/{curve}" for curve in trained["curves"]}
    judged = _asked(["evaluate", place, "--seeds", "2", "--tasks", "300", "--load", "0.5", "--gpus", "2"], capsys)
    assert any(key.startswith("latency_vs_") for key in judged)


def _scalars(folder: Path) -> set[str]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return set(EventAccumulator(str(folder)).Reload().Tags()["scalars"])


TRAIN_FOREST = ["train", "forest", "--tasks", "60"]
UNWRITABLE = [
    ([*TRAIN_FOREST, "--out", "missing/forest.joblib"], "missing/forest.joblib"),
    ([*TRAIN_FOREST, "--out", "forest.pkl"], ".joblib"),
    ([*TRAIN_FOREST, "--plot", "forest.pdf"], ".png or .svg"),
    ([*TRAIN_FOREST, "--plot", "missing/forest.png"], "missing/forest.png"),
    (["train", "agent", "--effort", "0.001", "--out", "missing/agent.pth"], "missing/agent.pth"),
    (["train", "agent", "--effort", "0.001", "--out", "agent.json"], ".pth or .npy"),
    (["train", "agent", "--strategy", "rl_split", "--out", "split.pth"], ".json"),
    (["train", "agent", "--strategy", "rl_split", "--workload", "mixed", "--workload", "light"], "one workload"),
    (["train", "agent", "--plot", "agent"], ".png or .svg"),
    (["evaluate", "rl_split", "--plot", "verdict.jpg"], ".png or .svg"),
    (["evaluate", "rl_split", "--plot", "missing/verdict.svg"], "missing/verdict.svg"),
]


@pytest.mark.parametrize(("words", "culprit"), UNWRITABLE)
def test_what_could_not_be_written_in_the_end_is_refused_before_any_work(
    words: list[str],
    culprit: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert culprit in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["train"], ["train", "forest"], ["train", "agent"], ["evaluate"]])
def test_the_help_teaches_by_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run([*words, "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"hms {' '.join(words)}" in shown.partition("Example:")[2] + shown.partition("Start with:")[2]
    assert "--plot" in shown


def test_the_shipped_agents_can_be_judged_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "agent.png"
    words = ["evaluate", "rl_agent", "--seeds", "2", "--tasks", "2000", "--load", "0.9", "--plot", str(plot)]
    judged = _asked(words, capsys)
    assert _is_picture(plot)
    ratio = judged["latency_vs_earliest_device_at_0.9"]
    assert isinstance(ratio, float)
    assert ratio < 1.0


def test_the_interval_of_a_verdict_keeps_to_what_is_possible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "split.svg"
    words = ["evaluate", "rl_split", "--load", "0.8", "--seeds", "2", "--tasks", "300", "--plot", str(plot)]
    judged = _asked(words, capsys)
    assert judged["latency_vs_earliest_finish_at_0.8_ci"][0] == 0.0  # type: ignore[index]
    assert judged["makespan_vs_bound_ci"][0] == 1.0  # type: ignore[index]


def test_a_model_that_is_not_there_is_refused_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom hybrid_ml_scheduler.cli.main import run\n"
        f"assert run(['evaluate', {str(tmp_path / 'nope.pth')!r}]) == 2\n"
        "heavy = {'numba', 'torch', 'sklearn', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, f"hms: There is no model file {tmp_path / 'nope.pth'}.\n")


@pytest.mark.parametrize("content", [b"no model", b"", bytes(range(256)) * 2])
def test_a_bad_model_ends_in_one_sentence(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("bad.joblib", "bad.pth", "bad.npy", "bad.json", "bad.txt"):
        (tmp_path / name).write_bytes(content)
        assert run(["evaluate", str(tmp_path / name)]) == 2
        said = capsys.readouterr().err
        assert name in said
        assert "Traceback" not in said
        assert "pickle" not in said
        assert not said.endswith("..\n")
    assert run(["evaluate", "rl_agent", "--gpus", "3"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["train", "forest", "--seed", "0"],
        ["train", "agent", "--seed", "7"],
        ["evaluate", "rl_split", "--seed", str(LAST_TEST_START + 1)],
        ["shift", "--seed", str(LAST_TEST_START + 1)],
    ],
)
def test_a_seed_is_for_training_or_for_judging_never_for_both(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert "--seed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        ["--gpus", "0"],
        ["--workload", "mixd"],
        ["--strategy", "rl_split", "--workload", "mixed", "--workload", "light"],
    ],
)
def test_a_refused_training_leaves_no_tensorboard_folder(
    wrong: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["train", "agent", "--effort", "0.001", "--tensorboard", "tb", *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_all_commands_agree_where_training_begins() -> None:
    assert TRAINING_SEEDS_FROM == FIRST_TRAINING_SEED == LAST_TEST_START + MOST_TEST_SEEDS


@pytest.mark.parametrize("words", [["evaluate", "rl_split"], ["shift"]])
def test_learners_are_judged_on_equally_many_seeds_at_most(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--seeds", str(MOST_TEST_SEEDS + 1)]) == 2
    assert f"--seeds = '{MOST_TEST_SEEDS + 1}'" in capsys.readouterr().err


TRACE = ["size,compute_intensity,memory_required,arrival_time,cpu_time,gpu_time"]
TRACE += [
    f"{100 + 7 * (n % 50)},{(n % 10) / 10},{10 + n % 90},{0.5 * n},{1 + n % 7},{0.3 + (n % 5) / 3}" for n in range(400)
]


def test_a_forest_learns_from_the_earlier_part_of_a_file_and_is_judged_on_the_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, place = tmp_path / "jobs.csv", str(tmp_path / "forest.joblib")
    file.write_text("\n".join(TRACE))
    trained = _asked(["train", "forest", "--workload", str(file), "--out", place, "--gpus", "2"], capsys)
    assert trained["samples"] == 200  # the earlier half, however many were asked for
    assert "the first 50% train" in str(trained["separation"])
    judged = _asked(["evaluate", place, "--workload", str(file), "--seeds", "2", "--tasks", "100"], capsys)
    assert judged["separation"] == trained["separation"]
    ratio = judged["execution_time_vs_optimum"]
    assert isinstance(ratio, float)
    assert ratio >= 1.0


def test_training_never_sees_a_task_of_the_later_part(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text("\n".join(TRACE))
    source = FileTasks(WorkloadChoice(source=str(file)), Node.uniform(2))
    seen = {task for seed in range(TRAINING_SEEDS_FROM, TRAINING_SEEDS_FROM + 20) for task in _ids(source, seed)}
    judged = {task for seed in range(20) for task in _ids(source, seed)}
    assert len(seen) > 50  # seeds take different stretches
    assert max(seen) < 200 <= 240 <= min(judged)
    assert source.tasks(3, 50).arrival_time[0] == 0.0


def _ids(source: FileTasks, seed: int) -> list[int]:
    ids: list[int] = source.tasks(seed, 50).task_id.tolist()
    return ids


def test_an_agent_learns_from_a_file_on_the_node_of_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, plan = tmp_path / "jobs.csv", tmp_path / "plan.toml"
    file.write_text("\n".join(TRACE))
    plan.write_text(f'[simulation]\nnum_gpus = 2\n[workload]\nfile = "{file}"\n')
    words = ["train", "agent", "--strategy", "rl_split", "--effort", "0.001", "--out", str(tmp_path / "split.json")]
    trained = _asked([*words, "--plan", str(plan)], capsys)
    assert trained["workloads"] == [str(file)]
    words = ["evaluate", str(trained["model"]), "--seeds", "2", "--tasks", "100", "--load", "0.5", "--plan", str(plan)]
    assert "apart in time" in str(_asked(words, capsys)["separation"])


def test_a_file_that_cannot_be_cut_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text("\n".join(TRACE[:20]))
    assert run(["train", "forest", "--workload", str(file), "--out", str(tmp_path / "f.joblib")]) == 2
    assert "19 tasks" in capsys.readouterr().err
    assert not (tmp_path / "f.joblib").exists()
