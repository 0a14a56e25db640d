"""Decisions a second of the engine, by form and strategy, beside an earlier source tree (`--base DIR`), in turns.

20,000 tasks of `mixed` at 80 % load on 1 CPU + 4 GPUs, at `exact`, on one core. Each source tree is measured in
processes of its own, alternating, so that a busy machine disturbs both alike; ratios are medians of the pairs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["render", "run"]

HERE = Path(__file__).resolve().parent
FULL, QUICK = (20_000, 9), (500, 1)
PAIRS = 7


def run(*, quick: bool, base: Path | None = None) -> dict[str, Any]:
    """Measure this tree, and with another one both in turns."""
    own = HERE.parent
    rounds = [
        (_measured(own, quick=quick), _measured(base, quick=quick) if base else None)
        for _ in range(1 if quick else PAIRS)
    ]
    found = {name: statistics.median(_flat(ours)[name] for ours, _ in rounds) for name in _flat(rounds[0][0])}
    result: dict[str, Any] = {**_nested(found), "pairs": len(rounds)}
    if base is not None:
        ratios = {
            name: statistics.median(_flat(ours)[name] / _flat(theirs)[name] for ours, theirs in rounds if theirs)
            for name in found
        }
        result["vs_base"] = _nested(ratios)
        result["same_latencies"] = all(theirs is None or ours["sums"] == theirs["sums"] for ours, theirs in rounds)
    return result


def _measured(tree: Path, *, quick: bool) -> dict[str, Any]:
    count, repeats = QUICK if quick else FULL
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, str(HERE / "engine_job.py"), str(count), str(repeats)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The engine of {tree} could not be measured: {done.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _flat(found: dict[str, Any]) -> dict[str, float]:
    held = {f"held_M.{name}": value for name, value in found["held_M"].items()}
    return {**{name: found[name] for name in ("at_once_M", "finish_M", "stepped_K")}, **held}


def _nested(flat: dict[str, float]) -> dict[str, Any]:
    rounded = {name: round(value, 3) for name, value in flat.items()}
    held = {name.partition(".")[2]: value for name, value in rounded.items() if name.startswith("held_M.")}
    return {**{name: value for name, value in rounded.items() if "." not in name}, "held_M": held}


def render(result: dict[str, Any]) -> str:
    """The figures as text."""
    names = ["at_once_M", "finish_M", *(f"held_M.{name}" for name in result["held_M"]), "stepped_K"]

    def value(found: dict[str, Any], name: str) -> float:
        held = name.partition(".")[2]
        return float(found["held_M"][held] if held else found[name])

    lines = [f"{name:20} {value(result, name):10.3f}" for name in names]
    if "vs_base" in result:
        ratios = [f"{value(result['vs_base'], name):8.2f} x the other tree" for name in names]
        lines = [f"{line} {ratio}" for line, ratio in zip(lines, ratios, strict=True)]
        lines.append(f"same sums of latencies: {'yes' if result['same_latencies'] else 'no'}")
    return "\n".join(lines)
