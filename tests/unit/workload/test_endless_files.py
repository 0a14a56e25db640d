"""What never ends is refused wherever it is named; what is piped is read once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.workload import files, load
from tests.unit.workload.comparing import DATA, fingerprint


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (
            ["race", "--hardware", "/dev/zero"],
            "hardware profile /dev/zero cannot be read: it is longer than 64 MiB.",
        ),
        (["race", "--plan", "/dev/zero"], "/dev/zero: a plan file ends in .toml, .yaml or .yml."),
        (["workload", "describe", "/dev/zero"], "/dev/zero: this is not text: it holds zero bytes."),
    ],
)
def test_a_file_that_never_ends_is_refused_wherever_it_is_named(
    words: list[str], culprit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert culprit in capsys.readouterr().err


def test_a_piped_trace_is_read_once_and_raced_as_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, (DATA / "own.csv").read_bytes())
        os.close(writing)
        piped = Path(f"/dev/fd/{reading}")
        assert fingerprint(load(piped)) == fingerprint(load(DATA / "own.csv"))
        assert run(["race", "--workload", str(piped), "--scheduler", "greedy"]) == 0
    finally:
        os.close(reading)
        files._PIPED.clear()
    assert str(piped) in capsys.readouterr().out
