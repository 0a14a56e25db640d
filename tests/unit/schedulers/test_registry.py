"""Strategies are found by name or in a file; everything else is refused with a sentence and a hint."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from hybrid_ml_scheduler.core.errors import HmsError, PlanError, SchedulerError
from hybrid_ml_scheduler.schedulers import DEFAULT_RACE, available, check_scheduler, create, find
from hybrid_ml_scheduler.schedulers.naming import is_name
from hybrid_ml_scheduler.service.wire.common import StrategyName

PLUGIN = '''
"""A strategy in one file."""

from hybrid_ml_scheduler.core import Decision


class Half:
    """Half of everything.

    Nothing else.
    """

    name = "always_half"

    def __init__(self, share=0.5):
        self.share = share

    def decide(self, task, cluster):
        return Decision(gpu_fraction=self.share)


class Greedy(Half):
    name = "greedy"


class NoName:
    def decide(self, task, cluster):
        return Decision(gpu_fraction=0.0)


class NoDecision:
    name = "no_decision"


class Broken:
    name = "broken"

    def __init__(self):
        raise ValueError("no licence")


class Wordy(Half):
    name = "n" * 65


class Renamed(Half):
    name = "renamed"

    def __init__(self):
        self.name = "n" * 200


class JustFits(Half):
    name = "n" * 64


class Odd(Half):
    name = "größe"


class Spaced(Half):
    name = "my rule"


class Lined(Half):
    name = "line\\n"


class Numbered(Half):
    name = "2nd"


class Later(Half):
    name = "later"

    def __init__(self):
        self.name = "später"


class Dashed(Half):
    name = "half-and.half_2"


share = 3
'''


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return path


def refusal(spec: str, **options: object) -> str:
    with pytest.raises(SchedulerError) as caught:
        create(spec, options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence[-1] in ".?"
    return sentence


def test_the_names_of_the_specification_are_known() -> None:
    expected = {
        "round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle",
        "cpu_only", "gpu_only", "earliest_finish", "earliest_device",
    }  # fmt: skip
    assert expected <= set(available())
    assert set(DEFAULT_RACE) <= set(available())


def test_an_entry_speaks_of_the_class_behind_it() -> None:
    for name in ("round_robin", "random", "greedy", "oracle", "cpu_only", "gpu_only", "earliest_finish"):
        entry = find(name)
        assert entry.name == name
        assert create(name).name == name
        assert entry.summary
        assert entry.label


@pytest.mark.parametrize(
    ("typed", "meant"), [("gredy", "greedy"), ("earliest-finish", "earliest_finish"), ("orcle", "oracle")]
)
def test_a_slip_of_the_pen_is_understood(typed: str, meant: str) -> None:
    assert refusal(typed) == f"There is no strategy called {typed!r}; did you mean {meant!r}?"


def test_a_name_like_no_other_gets_the_list() -> None:
    sentence = refusal("zzzzz")
    assert "round_robin" in sentence
    assert "earliest_finish" in sentence


def test_options_reach_the_constructor() -> None:
    with pytest.raises(PlanError, match=r"step = 0\.3 must divide 1"):
        create("oracle", {"step": 0.3})
    with pytest.raises(PlanError, match="variant = 'thrice'"):
        create("round_robin", {"variant": "thrice"})


@pytest.mark.parametrize("step", [0.0, -0.05, 0.07, 2.0])
@pytest.mark.parametrize("name", ["oracle", "earliest_finish"])
def test_a_step_that_does_not_divide_one_is_refused(name: str, step: float) -> None:
    with pytest.raises(PlanError, match="must divide 1"):
        create(name, {"step": step})


@pytest.mark.parametrize(
    ("name", "option", "hint"), [("oracle", "stepp", "did you mean 'step'?"), ("greedy", "x", "none")]
)
def test_an_unknown_option_is_named(name: str, option: str, hint: str) -> None:
    sentence = refusal(name, **{option: 1})
    assert f"{name} has no option {option!r}" in sentence
    assert hint in sentence


class TestFiles:
    """A class in a user's file."""

    def test_a_class_in_a_file_is_a_strategy(self, plugin: Path) -> None:
        entry = find(f"{plugin}:Half")
        assert (entry.name, entry.label, entry.kind, entry.summary) == (
            "always_half",
            "Always half",
            "plugin",
            "Half of everything.",
        )
        check_scheduler(lambda: create(f"{plugin}:Half"))

    def test_it_takes_options(self, plugin: Path) -> None:
        assert create(f"{plugin}:Half", {"share": 0.25}).share == 0.25  # type: ignore[attr-defined]
        assert "no option 'shar'; did you mean 'share'?" in refusal(f"{plugin}:Half", shar=1)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        assert refusal(f"{tmp_path}/none.py:Half") == f"There is no file {tmp_path}/none.py."

    def test_a_missing_class_is_named(self, plugin: Path) -> None:
        assert refusal(f"{plugin}:Whole") == f"{plugin} has no class 'Whole'."
        assert refusal(f"{plugin}:share") == f"{plugin} has no class 'share'."
        assert refusal(f"{plugin}:") == f"{plugin} has no class ''."

    def test_a_class_without_a_name_is_refused(self, plugin: Path) -> None:
        assert "class NoName needs a class attribute `name`" in refusal(f"{plugin}:NoName")

    def test_a_class_that_cannot_decide_is_refused(self, plugin: Path) -> None:
        assert "is no strategy" in refusal(f"{plugin}:NoDecision")

    def test_a_class_with_the_name_of_a_built_in_is_refused(self, plugin: Path) -> None:
        assert "class Greedy is called 'greedy', which is a built-in" in refusal(f"{plugin}:Greedy")

    def test_a_name_that_no_table_could_hold_is_refused_before_it_races(self, plugin: Path) -> None:
        with pytest.raises(SchedulerError, match=r"Wordy.* 65 characters; at most 64"):
            find(f"{plugin}:Wordy")
        with pytest.raises(SchedulerError, match=r"Renamed.* 200 characters; at most 64"):
            create(f"{plugin}:Renamed")
        assert create(f"{plugin}:JustFits").name == "n" * 64

    @pytest.mark.parametrize("attribute", ["Odd", "Spaced", "Lined", "Numbered", "Later"])
    def test_a_name_that_could_not_be_asked_for_is_refused_with_its_place(self, plugin: Path, attribute: str) -> None:
        sentence = refusal(f"{plugin}:{attribute}")
        assert sentence.startswith(f"{plugin}:{attribute}: ")
        assert "cannot be a strategy's `name`; it is made of the letters A to Z" in sentence
        assert sentence.isascii()

    def test_what_is_accepted_can_be_asked_for_over_the_wire(self, plugin: Path) -> None:
        name = create(f"{plugin}:Dashed").name
        for taken in (name, "n" * 64, *available()):
            assert TypeAdapter(StrategyName).validate_python(taken) == taken
        for refused in ("größe", "", "n" * 65, "line\n", "2nd", "a b"):
            assert not is_name(refused)
            with pytest.raises(ValidationError):
                TypeAdapter(StrategyName).validate_python(refused)

    def test_a_class_that_cannot_be_made_is_refused(self, plugin: Path) -> None:
        assert "cannot be made: no licence" in refusal(f"{plugin}:Broken")

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("def broken(:\n", "SyntaxError"),
            ("import no_such_package\n", "ModuleNotFoundError"),
            ("1 / 0\n", "ZeroDivisionError"),
        ],
    )
    def test_a_file_that_cannot_be_imported_is_refused_with_its_reason(
        self, tmp_path: Path, text: str, reason: str
    ) -> None:
        path = tmp_path / "bad.py"
        path.write_text(text, encoding="utf-8")
        sentence = refusal(f"{path}:Anything")
        assert sentence.startswith(f"{path} cannot be imported: {reason}: ")

    def test_a_file_that_failed_can_be_mended(self, tmp_path: Path) -> None:
        path = tmp_path / "later.py"
        path.write_text("1 / 0\n", encoding="utf-8")
        with pytest.raises(HmsError):
            find(f"{path}:Half")
        path.write_text(PLUGIN, encoding="utf-8")
        assert find(f"{path}:Half").name == "always_half"


class TestEntryPoints:
    """A strategy of another installed distribution."""

    def install(self, folder: Path, target: str, name: str = "always_half") -> None:
        (folder / "their_strategies.py").write_text(PLUGIN, encoding="utf-8")
        about = folder / "theirs-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", encoding="utf-8")
        points = f"[hybrid_ml_scheduler.schedulers]\n{name} = {target}\n"
        (about / "entry_points.txt").write_text(points, encoding="utf-8")

    def test_it_appears_by_its_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.install(tmp_path, "their_strategies:Half")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert available()["always_half"].kind == "plugin"
        assert create("always_half", {"share": 0.75}).share == 0.75  # type: ignore[attr-defined]

    def test_one_that_cannot_be_imported_is_refused_only_when_it_is_asked_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.install(tmp_path, "their_missing_module:Half", name="absent")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert "absent" in available()
        assert "'absent' cannot be loaded" in refusal("absent")

    def test_one_with_a_name_that_could_not_be_asked_for_harms_nobody_and_is_explained(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.install(tmp_path, "their_strategies:Half", name="größe")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert "größe" not in available()
        assert create("greedy").name == "greedy"
        sentence = refusal("größe")
        assert sentence.startswith("The entry point of their_strategies:Half: 'gr\\xf6\\xdfe' cannot be")

    def test_it_cannot_take_the_name_of_a_built_in(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.install(tmp_path, "their_strategies:Greedy", name="greedy")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert available()["greedy"].kind == "baseline"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "wide", True, None])
def test_an_option_of_another_kind_than_its_default_is_refused_by_name(value: object) -> None:
    with pytest.raises(SchedulerError, match=r"oracle\.step = .* must be a finite number"):
        create("oracle", {"step": value})
