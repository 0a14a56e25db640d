"""The shift experiment for people: a table, a picture and a JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.experiments.palette import label_of, style_of
from hybrid_ml_scheduler.experiments.shift import STRATEGIES, ShiftRun

__all__ = ["shift_table", "write_shift"]

SMOOTH = 25


def shift_table(result: dict[str, Any]) -> str:
    """All strategies, fastest first, and the three figures."""
    lines = [f"{'strategy':14} {'sum of times s':>15} {'mean time s':>12} {'makespan s':>11}"]
    for name, row in sorted(result["strategies"].items(), key=lambda item: item[1]["total_time_s"]):
        lines.append(f"{name:14} {row['total_time_s']:15.2f} {row['mean_time_s']:12.4f} {row['makespan_s']:11.2f}")
    for key in ("frozen_forest_vs_agent", "frozen_forest_vs_agent_last_300", "agent_adapted_after"):
        interval = result[f"{key}_ci"]
        shown = f"  [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else ""
        lines.append(f"{key.replace('_', ' '):34} {result[key]:.2f}{shown}")
    return "\n".join(lines)


def write_shift(runs: Sequence[ShiftRun], result: dict[str, Any], folder: Path) -> None:
    """Write `shift.json` and `shift.png`, each whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(result, indent=2) + "\n"
        beside = folder / ".shift.json.writing"
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, folder / "shift.json")
        picture = folder / ".shift.writing.png"
        _figure(runs).savefig(picture, dpi=150)
        os.replace(picture, folder / "shift.png")
    except OSError as error:
        raise HmsError(f"{folder} cannot be written: {error.strerror or error}.") from error


def _figure(runs: Sequence[ShiftRun]) -> Any:
    """Execution time after the shift, averaged over seeds and smoothed over a few tasks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name in STRATEGIES:
        mean = np.mean([run.execution_s[name] for run in runs], axis=0)
        smooth = np.convolve(mean, np.full(SMOOTH, 1.0 / SMOOTH), mode="valid")
        style = style_of(name)
        axes.plot(np.arange(len(smooth)) + SMOOTH - 1, smooth, label=label_of(name), color=style.colour)
    axes.set_xlabel("task after the shift")
    axes.set_ylabel(f"execution time, s (mean over {len(runs)} seeds and {SMOOTH} tasks)")
    axes.set_ylim(bottom=0.0)
    axes.set_title("From gpu_friendly to cpu_friendly: who adapts")
    axes.legend(fontsize=8)
    return figure
