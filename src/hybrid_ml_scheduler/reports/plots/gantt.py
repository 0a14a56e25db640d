"""Who runs what, when: the beginning of the run on every device of every strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.plots.axes import new_figure, strategy_order

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["gantt"]

_FIRST_TASKS = 60
_MOST_SHOWN = 6
_PREFERRED = ("rl_hold", "hybrid_ml", "rl_agent", "earliest_finish", "oracle", "greedy", "round_robin")


def gantt(read: Read) -> Figure:
    """The first tasks of up to six strategies, one row a device."""
    tasks = read("tasks")
    names = strategy_order(tasks)
    preferred = [name for name in _PREFERRED if name in names]
    wanted = (preferred if len(preferred) >= 3 else names)[:_MOST_SHOWN]
    shown = [name for name in names if name in wanted]
    devices = int(tasks["gpu"].max()) + 2
    figure = new_figure(9.2, 0.4 + len(shown) * (0.45 + 0.16 * devices))
    panels = np.atleast_1d(figure.subplots(len(shown), 1, sharex=True))
    for axes, name in zip(panels, shown, strict=True):
        _rows(axes, _first_begun(tasks[tasks["scheduler"] == name]), devices)
        axes.set_title(label_of(name), fontsize=9)
    others = f"; {len(shown)} of {len(names)} strategies are drawn" if len(shown) < len(names) else ""
    panels[-1].set_xlabel(f"time (s){others}")
    return figure


def _first_begun(tasks: pd.DataFrame) -> pd.DataFrame:
    """The tasks that began first: strategies that hold begin them in another order than they arrive."""
    begun = tasks[["cpu_start_s", "gpu_start_s"]].min(axis=1)
    return tasks.loc[begun.sort_values(kind="stable").index[:_FIRST_TASKS]]


def _rows(axes: Axes, tasks: pd.DataFrame, devices: int) -> None:
    from matplotlib import colormaps

    colours = colormaps["turbo"](np.linspace(0.05, 0.95, _FIRST_TASKS))
    for device in range(devices):
        which = "cpu" if device == 0 else "gpu"
        used = (tasks[f"{which}_s"] > 0) & ((tasks["gpu"] == device - 1) | (device == 0))
        spans = list(zip(tasks.loc[used, f"{which}_start_s"], tasks.loc[used, f"{which}_s"], strict=True))
        axes.broken_barh(spans, (device - 0.4, 0.8), facecolors=colours[: len(tasks)][used], lw=0.3, edgecolor="white")
    axes.set_ylim(devices - 0.5, -0.5)
    axes.set_yticks(range(devices), ["CPU", *(f"GPU {gpu}" for gpu in range(devices - 1))], fontsize=7)
    axes.grid(visible=False, axis="y")
