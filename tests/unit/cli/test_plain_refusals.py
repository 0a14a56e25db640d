"""Refusals say what is wrong in the product's own words, never in those of a library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import plain_demand
from hybrid_ml_scheduler.execution.devices import node_devices

NO_CALIBRATION = "this is no calibration: it holds no JSON; make one with `hms calibrate`."
CASES = [
    (["race", "--interference", "x.bin"], "x.bin", b"\xe3\x28not text", f"x.bin: {NO_CALIBRATION}"),
    (["race", "--interference", "x.json"], "x.json", b"", f"x.json: {NO_CALIBRATION}"),
    (["race", "--plan", "p.yaml"], "p.yaml", b"a: [1,\n", "p.yaml, line 2 is not valid YAML: "),
    (["race", "--plan", "p.yaml"], "p.yaml", b"a: 2026-13-45\n", "p.yaml is not valid YAML: month must be in 1..12"),
    (["race", "--plan", "p.toml"], "p.toml", b"[schedulers]\nrace = []\n", "p.toml: schedulers.race names nobody"),
    (["race", "--plan", "p.toml"], "p.toml", b"[simulation]\nseed = 2026-01-02\n", "seed = '2026-01-02' must"),
    (["race", "--plan", "p.yaml"], "p.yaml", b"simulation:\n  seed: 2026-01-02\n", "seed = '2026-01-02' must"),
    (
        ["workload", "describe", "w.json", "--dialect", "wfformat"],
        "w.json",
        b"[]",
        "w.json: this JSON is no object with a schemaVersion, as WfFormat has it.",
    ),
    (["evaluate", "rl_hold"], None, b"", "which is not judged by `hms evaluate` but raced"),
    (
        ["evaluate", "h.json"],
        "h.json",
        json.dumps({"format": "hybrid-ml-scheduler/rl-hold"}).encode(),
        "h.json is a model of rl_hold, which is not judged by `hms evaluate` but raced beside rules of your choice: "
        "`hms race --scheduler h.json`.",
    ),
    (
        ["train", "agent", "--strategy", "rl_hold", "--out", "h.json", "--plot", "h.png"],
        None,
        b"",
        "hms: --plot h.png: rl_hold is fitted in one step",
    ),
    (
        ["recommend", "--workload", "mixed", "--nodes", "n.toml", "--promise", "fast"],
        "n.toml",
        b"[[node]]\ngpus = 1\n",
        "hms: --promise = 'fast' must have the form",
    ),
]


@pytest.mark.parametrize(("words", "file", "content", "sentence"), CASES)
def test_a_refusal_is_in_plain_words(
    words: list[str],
    file: str | None,
    content: bytes,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if file is not None:
        (tmp_path / file).write_bytes(content)
    assert run(words) == 2
    said = capsys.readouterr().err
    assert sentence in said
    for foreign in ("<unicode string>", "<stream end>", "codec", "Expecting value", "datetime", "Invalid value"):
        assert foreign not in said


@pytest.mark.parametrize(
    ("message", "demand"),
    [
        ("Extra inputs are not permitted", "is not known here"),
        ("Field required", "is missing"),
        ("Input should be a valid dictionary or object to extract fields from", "must be an object"),
        ("List should have at least 1 item after validation, not 0", "must have at least 1 item"),
        ("String should have at most 64 characters", "must have at most 64 characters"),
        ("Input should be a valid string", "must be text"),
        ("Input should be a valid list", "must be a list"),
        ("Value error, either workload or upload must be given", "either workload or upload must be given"),
    ],
)
def test_what_a_validator_says_becomes_a_demand(message: str, demand: str) -> None:
    assert plain_demand(message) == demand


@pytest.mark.parametrize("workers", ["a", 1.5, 0])
def test_workers_that_are_no_number_are_refused_in_a_sentence(workers: Any) -> None:
    with pytest.raises(PlanError, match=r"max_workers = .* must be a whole number of at least 1"):
        node_devices(workers, [])
