"""Every flag of every command refuses what it cannot use: exit code 2, one sentence, nothing left behind.

The commands and their flags are read from the parser, so a new flag without a bad value fails here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer

from hybrid_ml_scheduler.cli.main import app, run
from hybrid_ml_scheduler.cli.output.formats import Format

# What a command needs beside the flag under test, in the folder that `room` furnishes.
NEEDED = {
    "workload generate": ["--out", "w.csv"],
    "workload describe": ["mixed"],
    "workload convert": ["tasks.csv", "o.csv"],
    "evaluate": ["rl_split"],
    "report": ["results"],
    "sweep": ["sweep.toml"],
    "explain": ["plan.toml"],
    "attack": ["greedy"],
    "recommend": ["--workload", "mixed", "--nodes", "nodes.toml", "--target", "p95_latency < 2 s"],
    "db export": ["h.csv"],
    "run": ["missing.py"],
    "models show": ["fft"],
    "models plot": ["fft"],
    "models forget": ["fft"],
    "rollback": ["hybrid_ml"],
}
HUGE = "9" * 30
WHOLE_NUMBERS = ("many", "1.5", "nan", "-1", "")
NUMBERS = ("much", "nan", "inf", "-1", "")
FILES_TO_READ = ("missing.toml", "empty_folder", "noise.bin", "")
BAD: dict[str, tuple[str, ...]] = {
    "--scheduler": ("gredy", "missing.py:Mine", "missing.py", "empty_folder", ""),
    "--workload": ("mixd", "missing.csv", "empty_folder", "noise.bin", ""),
    "--check": ("gredy", "missing.py:Mine", "missing.py", "empty_folder", ""),
    "--dialect": ("phily", ""),
    "--knowledge": ("lernd", ""),
    "--nominal-backlogs": ("sean", ""),
    "--url": ("nonsense", "ftp://x", ""),
    "--service": ("nonsense", "ftp://x", ""),
    "--map": ("x", "=y", "bogus=size", ""),
    "--where": ("x", "=y", ""),
    "--gpu-type": ("h2000", ""),
    "--nodes": FILES_TO_READ,
    "--interference": FILES_TO_READ,
    "--target": ("fast", "bogus < 1", "p95_latency < -1", "", "101 % within 2 s"),
    "--option": ("x", "bogus=1", "=1", ""),
    "--before": ("mixd", ""),
    "--after": ("mixd", ""),
    "--task": ("-1", "none"),
    "--best": ("bogus",),
    "--budget": ("cheap", "$-1/h", ""),
    "--current": ("no_such_node", ""),
    "--reference-node": ("no_such_node", ""),
    "--database": ("oracle://x", "nowhere", "sqlite:///empty_folder", ""),
    "--table": ("histroy", ""),
    "--host": ("999.1.1.1", ""),
    "--address": ("nowhere", ""),
    "--tensorboard": ("",),
    "--load": NUMBERS,
    "--device": ("gpu9", ""),
    "--kind": ("fftt", ""),
    "--sizes": ("huge", ""),
    "--calibration": FILES_TO_READ,
    "script": ("missing.py", "empty_folder", ""),
    "kind": ("no_such_kind", ""),
    "scheduler": ("gredy", ""),
    "strategy": ("gredy", "missing.py:Mine", ""),
    "--against": ("everybody", ""),
    "--plan": FILES_TO_READ,
    "--hardware": FILES_TO_READ,
    "--env-file": FILES_TO_READ,
    "--out": ("tasks.csv/below", ""),
    "--plot": ("tasks.csv/x.png", "empty_folder", "x.bogus", ""),
    "--trace": ("tasks.csv/x.json", "empty_folder", ""),
    "--tasks": (*WHOLE_NUMBERS, "0", HUGE),
    "--gpus": (*WHOLE_NUMBERS, "0", HUGE),
    "--seed": (*WHOLE_NUMBERS, HUGE),
    "--seeds": (*WHOLE_NUMBERS, "0", HUGE),
    "--max-seeds": (*WHOLE_NUMBERS, "0"),
    "--workers": (*WHOLE_NUMBERS, "0", HUGE),
    "--limit": (*WHOLE_NUMBERS, "0"),
    "--timeout": (*NUMBERS, HUGE),
    "--port": (*WHOLE_NUMBERS, HUGE),
    "source": ("missing.csv", "empty_folder", "noise.bin", ""),
    "out": ("tasks.csv/x.csv", "empty_folder", ""),
    "path": ("tasks.csv/x.csv", "empty_folder", "h.txt", ""),
    "folder": ("missing", "tasks.csv", "empty_folder", ""),
    "file": FILES_TO_READ,
    "run": FILES_TO_READ,
    "model": ("missing.pth", "empty_folder", "noise.bin", "gredy", ""),
}


def commands() -> dict[str, Any]:
    """Every command that runs something, by the words that call it."""
    return dict(_below(typer.main.get_command(app), (), None))


def _below(command: Any, words: tuple[str, ...], above: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield " ".join(words), command
        return
    context = typer.Context(command, info_name=words[-1] if words else "hms", parent=above)
    for name in command.list_commands(context):
        yield from _below(command.get_command(context, name), (*words, name), context)


def bad_values(option: Any) -> tuple[str, ...]:
    """What this flag must refuse; empty if nobody has thought of it."""
    name, kind = option.opts[0], option.type_descriptor.annotation
    if name in BAD:
        return BAD[name]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ("nonsense", "")
    return {int: WHOLE_NUMBERS, float: NUMBERS}.get(kind, ())


def valued(command: Any) -> list[Any]:
    """The flags and arguments that take a value."""
    return [option for option in command.params if not getattr(option, "is_flag", False)]


def calls(name: str, command: Any) -> Iterator[tuple[list[str], str, str]]:
    """The words of each wrong call, the flag at fault and its value."""
    arguments = [option.opts[0] for option in command.params if not option.opts[0].startswith("--")]
    for option in valued(command):
        flag = option.opts[0]
        for value in bad_values(option):
            needed = list(NEEDED.get(name, ()))
            if flag in arguments:
                needed[arguments.index(flag)] = value
            elif flag in needed:
                needed[needed.index(flag) + 1] = value
            else:
                needed += [flag, value]
            yield [*name.split(), *needed], flag, value


def names(said: str, flag: str, value: str) -> bool:
    """Whether a sentence has the flag or the value in it, each as a whole word; an empty argument has neither."""
    clues = [flag] if flag.startswith("--") else ([] if value else ["argument is empty"])
    clues += [clue for clue in (value, value.partition(":")[0], value.partition("=")[0]) if clue]
    return any(re.search(rf"(?<![\w.-]){re.escape(clue)}(?!\.?\w|-)", said, re.IGNORECASE) for clue in clues)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with things of the wrong kind, and the few right ones that a command needs."""
    (tmp_path / "empty_folder").mkdir()
    (tmp_path / "noise.bin").write_bytes(bytes(range(128, 256)))
    (tmp_path / "tasks.csv").write_text(
        "task_id,size,compute_intensity,memory_required,arrival_time,dependencies\n0,100,0.5,10,0,[]\n"
    )
    (tmp_path / "sweep.toml").write_text('[sweep]\n"workload.arrival_rate" = [1.0]\n')
    (tmp_path / "nodes.toml").write_text("[[node]]\ngpus = 1\n")
    (tmp_path / "plan.toml").write_text("[workload]\nnum_tasks = 5\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", list(commands()))
def test_every_flag_refuses_a_bad_value_in_one_sentence(
    name: str, room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, wrong = sorted(room.rglob("*")), []
    for words, flag, value in calls(name, commands()[name]):
        code = run(words)
        captured = capsys.readouterr()
        said = captured.err.removesuffix("\n")
        one_sentence = "\n" not in said and said.endswith((".", "?")) and len(said) > len("hms: .")
        plain = "Traceback" not in said and "Input should" not in said and "HMS_TRACEBACK" not in said
        if code != 2 or captured.out or not (one_sentence and plain and names(said, flag, value)):
            wrong.append((words, code, said))
    assert wrong == []
    assert sorted(room.rglob("*")) == before


def test_every_flag_has_a_bad_value_to_be_tried_with() -> None:
    untried = [
        (name, option.opts[0]) for name, command in commands().items() for option in valued(command)
        if not bad_values(option)
    ]  # fmt: skip
    assert untried == []


@pytest.mark.parametrize(
    ("said", "flag", "value"),
    [
        ("There is no preset of this name.", "--workload", "mixd"),
        ("The seed is wrong.", "--seed", "-1"),
        ("--seeds = '0' must be at least 1.", "--seed", ""),
        ("It must be at least 1.5.", "--seed", "1"),
    ],
)
def test_a_sentence_without_flag_and_value_does_not_count_as_naming_them(said: str, flag: str, value: str) -> None:
    assert not names(said, flag, value)


def test_every_command_prints_in_the_same_formats() -> None:
    kinds = {
        name: option.type_descriptor.annotation
        for name, command in commands().items() for option in command.params if "--format" in option.opts
    }  # fmt: skip
    assert "db check" in kinds
    assert {name: kind for name, kind in kinds.items() if kind is not Format} == {}
