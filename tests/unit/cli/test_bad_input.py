"""Whatever is wrong with a command ends in exit code 2 and one sentence that names the culprit."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run

WRONG_FLAGS = [
    (["race", "--tasks", "many"], "--tasks"),
    (["race", "--tasks", "0"], "--tasks = 0"),
    (["race", "--rate", "nan"], "--rate = nan"),
    (["race", "--rate", "-1"], "--rate = -1"),
    (["race", "--gpus", "0"], "--gpus = 0"),
    (["race", "--seed", "-1"], "--seed = -1"),
    (["race", "--seeds", "0"], "--seeds = 0"),
    (["race", "--noise", "inf"], "--noise = inf"),
    (["race", "--dependencies", "2"], "--dependencies = 2"),
    (["race", "--workload", "mixd"], "mixed"),
    (["race", "--workload", "missing.csv"], "missing.csv"),
    (["race", "--scheduler", "gredy"], "greedy"),
    (["race", "--scheduler", "missing.py:Mine"], "missing.py"),
    (["race", "--plan", "missing.toml"], "missing.toml"),
    (["race", "--option", "target_load"], "KEY=VALUE"),
    (["race", "--format", "xml"], "--format"),
    (["race", "--task", "5"], "--tasks"),
    (["rase"], "did you mean 'race'?"),
    (["workload", "describe", "missing.swf"], "missing.swf"),
    (["race", "--tasks", "5", "--scheduler", "greedy", "--trace", "no/such/folder/t.json"], "no/such/folder/t.json"),
]


@pytest.mark.parametrize(("words", "culprit"), WRONG_FLAGS)
def test_a_wrong_flag_is_one_sentence(
    words: list[str], culprit: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert culprit in captured.err
    assert "Traceback" not in captured.err
    assert list(tmp_path.iterdir()) == []


HINTS = [
    (["workload", "generate", "mixed", "--out", "m.csv"], "'mixed' is more than this command takes: see `hms workload"),
    (["heavy", "--out", "/dev/null"], "/dev/null is a file; results need a folder: choose another --out."),
    (["profile", "--out", "/proc/profile.json"], "--out /proc/profile.json cannot be written: No such file"),
    (["profile", "--out", "/dev/null"], "--out /dev/null must name a plain file"),
    (["db", "check", "--database", "sqlite:///none.db"], "run 'hms db upgrade' with the same --database"),
    (["db", "check"], "run 'hms db upgrade' to create it"),
    (["db", "export", "h.txt"], "--as csv or --as parquet"),
    (["db", "export", "h.csv", "--table", "histroy"], "did you mean 'history'?"),
    (["rollback", "hybrid_ml", "--url", "http://127.0.0.1:9"], "No service answers at http://127.0.0.1:9/api/models/"),
    (
        ["rollback", "hybrid_ml", "--url", "file:///etc"],
        "--url must begin with http:// or https://, not 'file:///etc'.",
    ),
    (["race", "--tasks=many"], "--tasks = 'many' must be a whole number."),
    (["race", "--workload="], "The value of --workload is empty."),
    (["workload", "desribe", "mixed"], "did you mean 'describe'?"),
    (["race", "--max-seeds", "3", "--seeds", "4"], "--max-seeds goes with --until-decided"),
    (["race", "--until-decided", "--seeds", "2"], "--seeds does not go with --until-decided"),
    (["evaluate", "rl_split", "--load", "nan"], "--load = 'nan' must be a number."),
    (["train", "agent", "--effort", "nan"], "--effort = 'nan' must be a number."),
    (["db", "check", "--timeout", "nan"], "--timeout = 'nan' must be a number."),
    (["race", "--workload", "nope"], "hms: There is no workload preset 'nope'"),
    (["workload", "convert", __file__, "o.csv", "--dialect", "phily"], "hms: There is no trace dialect 'phily'"),
    (["workload", "describe", __file__, "--option", "no=1", "--dialect", "swf"], "hms: There is no trace option 'no'"),
    (["serve", "--follow"], "hms: A service that follows needs"),
]


@pytest.mark.parametrize(("words", "hint"), HINTS)
def test_a_refusal_says_how_to_go_on(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    assert hint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


WRONG_PLANS = [
    ("[simulatoin]\n", "simulation"),
    ("[simulation]\nnum_gpu = 3\n", "num_gpus"),
    ('[workload]\npreset = "mixde"\n', "mixed"),
    ("[workload]\nsize_rnage = [1, 2]\n", "size_range"),
    ("[workload]\nsize_range = [5, 2]\n", "size_range"),
    ("[workload]\narrival_rate = -1\n", "arrival_rate"),
    ("[physics]\nmax_speedup = 0.5\n", "max_speedup"),
    ('[physics]\nmemory_rule = "swap"\n', "memory_rule"),
    ("[physics.gpu]\nspeeed = 1\n", "speed"),
    ("[physics.gpu]\nspeed = 0\n", "speed"),
    ('[physics.cpu]\npower_w = "high"\n', "power_w"),
    ("[physics]\ngpus = []\n", "gpus"),
    ("[schedulers]\nrace = 3\n", "race"),
    ('[schedulers]\nrace = ["greedy", "greedy"]\n', "greedy"),
    ('[schedulers]\nrace = ["oracle"]\n[schedulers.oracle]\nstpe = 0.1\n', "step"),
    ('[schedulers]\nrace = ["oracle"]\n[schedulers.oracle]\nstep = 0.3\n', "step"),
    ('[schedulers]\nrace = ["oracle"]\n[schedulers.gredy]\nstep = 0.3\n', "gredy"),
    ('[schedulers]\nrace = ["oracle"]\n[schedulers.oracle]\nstep = "wide"\n', "oracle.step"),
    ('[schedulers]\nrace = ["oracle"]\n[schedulers.oracle]\nstep = nan\n', "oracle.step"),
    ('[schedulers]\nrace = ["hybrid_ml"]\n[schedulers.hybrid_ml]\nwindow = 50.5\n', "window"),
    ("not toml at all", "plan.toml"),
]


@pytest.mark.parametrize(("text", "culprit"), WRONG_PLANS)
def test_a_wrong_plan_is_refused_before_anything_runs(
    text: str, culprit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(text)
    assert run(["race", "--plan", str(plan), "--out", str(out)]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert culprit in shown
    assert not out.exists()


WRONG_FILES = [
    ("def decide(: pass\n", "cannot be imported"),
    ("raise RuntimeError('boom')\n", "boom"),
    ("x = 1\n", "no class"),
    ("class Mine:\n    pass\n", "name"),
    ("class Mine:\n    name = 'mine'\n", "decide"),
    ("class Mine:\n    name = 'mine'\n    def decide(self, task, cluster):\n        return 0.5\n", "mine"),
    (
        "from hybrid_ml_scheduler import Decision\nclass Mine:\n    name = 'mine'\n"
        "    def decide(self, task, cluster):\n        return Decision(gpu_fraction=1.5)\n",
        "gpu_fraction",
    ),
    (
        "class Mine:\n    name = 'mine'\n    def decide(self, task, cluster):\n        return 1 / 0\n",
        "ZeroDivisionError",
    ),
]


@pytest.mark.parametrize(("text", "culprit"), WRONG_FILES)
def test_a_broken_strategy_file_is_one_sentence(
    text: str, culprit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    assert run(["race", "--tasks", "5", "--scheduler", f"{path}:Mine"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert culprit in shown


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom hybrid_ml_scheduler.cli.main import run\n"
        "assert run(['--help']) == 0\n"
        "heavy = {'numpy', 'numba', 'torch', 'sklearn', 'pandas', 'fastapi', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "race" in done.stdout


# Still at it when it is interrupted, however quick the machine.
ENDLESS = """
import time
from hybrid_ml_scheduler import Decision

class Endless:
    name = "endless"
    def decide(self, task, cluster):
        while task.task_id == 50:
            time.sleep(0.01)
        return Decision(gpu_fraction=0.5)
"""


def test_interrupting_a_race_leaves_no_file_behind(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    plugin = tmp_path_factory.mktemp("plugin") / "endless.py"
    plugin.write_text(ENDLESS)
    words = ["race", "--tasks", "100", "--scheduler", f"{plugin}:Endless", "--trace", str(tmp_path / "trace.json")]
    script = f"import sys; from hybrid_ml_scheduler.cli.main import run; sys.exit(run({words!r}))"
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 180
            while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(2)
            _, said = process.communicate(timeout=180)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Interrupted" in said
    assert list(tmp_path.iterdir()) == []
