"""The list of plots, their captions, and their bytes: the same tables give the same PNG and SVG."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["CAPTIONS", "COMPARISON_PLOTS", "KNOWLEDGE_PLOTS", "SHIFT_PLOTS", "SWEEP_PLOTS", "Read", "draw", "plots_for"]

Read = Callable[[str], "pd.DataFrame"]

_PACKAGE = "hybrid_ml_scheduler.reports.plots"
_COMPARISON = {
    "latency_cdf": ("latency", "latency_cdf", ("tasks",)),
    "latency_boxplot": ("latency", "latency_boxplot", ("tasks",)),
    "makespan_comparison": ("bars", "makespan_comparison", ("intervals", "metrics")),
    "avg_duration_comparison": ("bars", "avg_duration_comparison", ("intervals", "metrics")),
    "speedup_comparison": ("bars", "speedup_comparison", ("intervals", "metrics")),
    "cost_comparison": ("bars", "cost_comparison", ("intervals", "metrics")),
    "pareto_front": ("front", "pareto_front", ("metrics", "front")),
    "learning_curves": ("curves", "learning_curves", ("curves",)),
    "win_matrix": ("matrix", "win_matrix", ("wins",)),
    "workload": ("workload", "workload", ("workload",)),
    "gantt": ("gantt", "gantt", ("tasks",)),
}
_SPEEDUP, _WINS = "speedup_comparison", "win_matrix"
_TRAINING = {
    "forest_training": ("training", "forest_training", ("forest_shares", "forest_curve", "forest_importance")),
    "rl_agent_training": ("training", "rl_agent_training", ("rl_agent_curves",)),
    "rl_split_training": ("training", "rl_split_training", ("rl_split_curves",)),
    "model_judged": ("judged", "model_judged", ("verdicts",)),
}
_SHIFT = {
    "shift_adaptation": ("shift", "shift_adaptation", ("along",)),
    "shift_choices": ("shift", "shift_choices", ("along",)),
    "shift_comparison": ("shift", "shift_comparison", ("means", "seeds")),
    "shift_by_seed": ("shift", "shift_by_seed", ("adaptation", "figures", "along")),
}
_SWEEP = {
    "sweep_lines": ("sweep", "sweep_lines", ("sweep", "intervals")),
    "sweep_leaders": ("sweep_leaders", "sweep_leaders", ("sweep", "leaders")),
}
_KNOWLEDGE = {
    "knowledge_levels": ("knowledge", "knowledge_levels", ("levels",)),
    "knowledge_prices": ("knowledge", "knowledge_prices", ("prices",)),
}
_RECOMMEND = {"price_against_promise": ("recommend", "price_against_promise", ("candidates",))}
_PLOTS = {**_COMPARISON, **_SHIFT, **_SWEEP, **_TRAINING, **_RECOMMEND, **_KNOWLEDGE}
COMPARISON_PLOTS, SHIFT_PLOTS, SWEEP_PLOTS = tuple(_COMPARISON), tuple(_SHIFT), tuple(_SWEEP)
KNOWLEDGE_PLOTS = tuple(_KNOWLEDGE)
_BOUND_LINE = (
    "the line is the mean of the proven lower bounds of the seeds; each seed's result lies above its own bound."
)
CAPTIONS = {
    "latency_cdf": "Share of tasks done within a latency (first seed; logarithmic axis).",
    "latency_boxplot": "Latency of single tasks (first seed): box = middle half, whiskers = 5 % and 95 %.",
    "makespan_comparison": f"Makespan, mean over seeds with 95 % interval; {_BOUND_LINE}",
    "avg_duration_comparison": f"Mean execution time, mean over seeds with 95 % interval; {_BOUND_LINE}",
    "speedup_comparison": "How many times better than round robin, seed by seed: mean with 95 % interval.",
    "cost_comparison": "Rent and electricity of the run with 95 % interval; dashed: CPU only and GPU only where raced.",
    "pareto_front": "Mean execution time against mean energy per task (first seed); no allowed choice lies below "
    "the line.",
    "learning_curves": "Execution time over the best possible one along the run (1 = perfect), a panel for each "
    "strategy with the others in grey: mean over seeds, bands = range of the seeds. The numbers are the means of the "
    "first and the last tenth of the run.",
    "win_matrix": "Share of tasks (%) where the row has the lower latency than the column; equal values count for "
    "nobody. Below it the reach of the 95 % interval over seeds.",
    "workload": "The tasks of the first seed.",
    "gantt": "The first tasks on each device (first seed); a colour is a task.",
    "forest_training": "Shares of unseen tasks, execution time over the number of labels, and what features are worth.",
    "rl_agent_training": "Search of the demonstrator, loss of the fit, and latency on training seeds meanwhile.",
    "rl_split_training": "Search by latency, search by makespan, and the load below which the future counts less.",
    "model_judged": "A frozen model against its rivals on unseen seeds: mean with 95 % interval; dots are seeds.",
    "shift_adaptation": "Execution time after the shift, in windows of tasks: mean over seeds, bands = 95 % intervals.",
    "shift_choices": "Mean share of a task that goes to a GPU after the shift, in the same windows.",
    "shift_comparison": "Sum of execution times and makespan after the shift, mean over seeds with 95 % interval.",
    "shift_by_seed": "Seed by seed: how many times longer the frozen forest's tasks took than the agent's, and when "
    "the agent had adapted. The diamond is the mean with its 95 % interval, cut off at zero and, on the right, at the "
    "number of tasks.",
    "knowledge_levels": "Mean latency over the load when told the truth, told the formula alone, and while learning: "
    "mean over seeds, bands = 95 % intervals.",
    "knowledge_prices": "The price of not knowing: latency over that of the same strategy told the truth, by seed; "
    "bands = 95 % intervals.",
    "price_against_promise": "The best policy of every node: its price against the promised metric; the dashed line is "
    "the promise.",
    "sweep_lines": "Each strategy along a swept parameter: mean over seeds, bars or bands = 95 % intervals (cut off at "
    "the frame). Panels side by side are values of the other parameters; where those are too many, each panel is the "
    "mean over them.",
    "sweep_leaders": "Who has the lowest mean at each point of the grid: full colour where it is shown to beat every "
    "other strategy there, pale where it is not. The number is the mean or, where several points lie behind a cell, "
    "how many of them it leads.",
}


def plots_for(tables: Collection[str], read: Read) -> list[str]:
    """The plots that can be drawn from these tables: none that compares where there is nobody to compare with."""
    found = [name for name, (_, _, needed) in _PLOTS.items() if set(needed) <= set(tables)]
    if _SPEEDUP in found and not _has_speedup(read("intervals")):
        found.remove(_SPEEDUP)
    if _WINS in found and read("wins").empty:
        found.remove(_WINS)
    return found


def _has_speedup(intervals: pd.DataFrame) -> bool:
    return bool(intervals.loc[intervals["metric"] == "speedup_makespan", "mean"].notna().any())


def draw(name: str, read: Read) -> dict[str, bytes]:
    """Draw one plot and return its files by suffix."""
    module, function, _ = _PLOTS[name]
    make: Callable[[Read], Figure] = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), function)
    import matplotlib as mpl

    with mpl.rc_context(_LOOK):  # type: ignore[arg-type]  # the stubs list every key as a literal
        return _files(make(read), name)


def _files(figure: Figure, name: str) -> dict[str, bytes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    # Laid out once for both files: finding room for labels takes longer than drawing them. Afterwards there is no
    # engine at all, for even an idle one has every file drawn twice.
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    found = {}
    # Neither file may tell when or by which build it was drawn: equal results must be equal bytes.
    for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": "hms", "Title": name})):
        target = io.BytesIO()
        figure.savefig(target, format=suffix, metadata=metadata)
        found[suffix] = target.getvalue()
    return found


_LOOK: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#475569",
    "axes.grid": True,
    "axes.labelcolor": "#1e293b",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": "#0f172a",
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": "#e2e8f0",
    "legend.frameon": False,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "svg.hashsalt": "hms",
    "text.color": "#0f172a",
    "xtick.color": "#475569",
    "ytick.color": "#475569",
}
