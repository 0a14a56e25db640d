"""The help says what a flag takes in words that a reader knows, and nothing where it takes nothing."""

from __future__ import annotations

import re

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.plans.plan import Plan
from tests.unit.cli.test_every_flag import commands, valued

GROUPS = ("", "workload", "train", "db")


def help_of(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "120")
    assert run([*name.split(), "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", [*GROUPS, *commands()])
def test_no_help_speaks_of_types(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = help_of(name, capsys, monkeypatch)
    options = said.partition("─ Options")[2]
    assert re.findall(r"<[a-z\[\]|_ ]+>|list\[\w+|x[<>]=|<=x", options) == []
    assert re.search(r"--help +-h +Show", options)
    usage = next(line for line in said.splitlines() if "Usage:" in line)
    assert not set(usage) & set("{}"), usage


@pytest.mark.parametrize("name", list(commands()))
def test_every_flag_with_a_value_names_it_and_no_other_does(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = help_of(name, capsys, monkeypatch)
    command = commands()[name]
    taking = {option.opts[0] for option in valued(command)}
    for option in command.params:
        flag = option.opts[0]
        if flag.startswith("--"):
            (row,) = re.findall(rf"^│[ *]*{flag}(?:,--[a-z-]+)? +(.*?) *│$", said, re.MULTILINE)
            takes = re.match(r"([A-Z]+\b|[a-z_]+\|)", row) is not None
            assert takes == (flag in taking), row


@pytest.mark.parametrize("name", GROUPS)
def test_every_group_says_what_to_begin_with(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Start with: hms" in help_of(name, capsys, monkeypatch)


def test_a_range_is_told_in_words_and_still_holds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "N (1 to 1024)" in help_of("heavy", capsys, monkeypatch)
    assert "N (from 1000000)" in help_of("train agent", capsys, monkeypatch)
    assert run(["heavy", "--workers", "1025"]) == 2
    assert "1025" in capsys.readouterr().err


def test_the_task_that_explain_suggests_is_one_of_the_race_that_it_suggests(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = help_of("explain", capsys, monkeypatch)
    (task,) = re.findall(r"--task (\d+)", said)
    assert "hms race --out" in said
    assert int(task) < len(Plan().tasks(0))
