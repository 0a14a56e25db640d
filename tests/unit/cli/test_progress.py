"""Progress is for people who watch: it moves, and nothing of it is left in pipes."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.cli.output.formats import progress_bar, row_count, stages, steps


def tell_all() -> None:
    with progress_bar("racing", 4, unit="laps") as advance:
        advance(2)
    with stages() as tell:
        tell("growing", 1, 3)
    with row_count() as count:
        count(1_234)
    with steps() as say:
        say("streaming", 5, 7)


def test_a_pipe_sees_nothing_of_the_progress(capsys: pytest.CaptureFixture[str]) -> None:
    tell_all()
    assert capsys.readouterr() == ("", "")


def test_a_person_sees_each_kind_on_standard_error_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    tell_all()
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("racing", "2/4", "laps", "growing", "1/3", "1,234 rows written", "streaming", "5/7"):
        assert words in shown.err
