"""What the tasks are like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_ml_scheduler.reports.plots.axes import new_figure, plain_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["workload"]

_COLOUR = "#0ea5e9"
_MOST_DOTS = 4_000


def workload(read: Read) -> Figure:
    """Sizes, intensities, memory, arrivals, and how much a GPU gains."""
    tasks = read("workload")
    figure = new_figure(9.2, 5.2)
    grid = figure.subplots(2, 3)
    _histogram(grid[0, 0], tasks["size"].to_numpy(), "size", logarithmic=True)
    _histogram(grid[0, 1], tasks["compute_intensity"].to_numpy(), "compute intensity")
    _histogram(grid[0, 2], tasks["memory_required"].to_numpy(), "memory (MB)")
    dots = tasks.iloc[:_MOST_DOTS]
    grid[1, 0].scatter(dots["size"], dots["compute_intensity"], s=3, alpha=0.35, color=_COLOUR, rasterized=True)
    grid[1, 0].set(xlabel="size", ylabel="compute intensity", title="size and intensity")
    plain_log(grid[1, 0], "x")
    times = tasks["arrival_time"].to_numpy()
    grid[1, 1].step(times, np.arange(1, len(times) + 1), color=_COLOUR, where="post", rasterized=True)
    grid[1, 1].set(xlabel="time (s)", ylabel="tasks", title="arrivals")
    _histogram(grid[1, 2], (tasks["cpu_s"] / tasks["gpu_s"]).to_numpy(), "CPU time ÷ GPU time", logarithmic=True)
    grid[1, 2].axvline(1.0, color="#dc2626", lw=1.2, linestyle="--")
    return figure


def _histogram(axes: Axes, values: np.ndarray, title: str, *, logarithmic: bool = False) -> None:
    spread = values.max() > values.min() > 0
    if logarithmic and spread:
        axes.hist(values, bins=np.geomspace(values.min(), values.max(), 41).tolist(), color=_COLOUR)
        plain_log(axes, "x")
    else:
        axes.hist(values, bins=40, color=_COLOUR)
    axes.set(xlabel=title, ylabel="tasks", title=title)
