"""Learning curves: how the forest and the agents came to be what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_ml_scheduler.plans.palette import style_of
from hybrid_ml_scheduler.reports.plots.axes import NEUTRAL, new_figure, plain_log

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybrid_ml_scheduler.reports.plots.drawing import Read

__all__ = ["forest_training", "rl_agent_training", "rl_split_training"]

_LIMIT = "#dc2626"
_DARK = "#0f172a"
_LOADS = {"0.5": ("dotted", "o"), "0.8": ("dashed", "s"), "0.95": ("solid", "D")}


def forest_training(read: Read) -> Figure:
    """Predicted beside best share, execution time over the number of labels, and what each feature is worth."""
    figure = new_figure(11.4, 3.7)
    shares, curve, worth = figure.subplots(1, 3, width_ratios=(1.0, 1.15, 1.0))
    _shares(shares, read("forest_shares"))
    _labels_curve(curve, read("forest_curve"))
    _importance(worth, read("forest_importance"))
    return figure


def _shares(axes: Axes, frame: pd.DataFrame) -> None:
    colour = style_of("hybrid_ml_share").colour
    both = frame[["best", "predicted"]]
    low, high = float(both.min().min()), float(both.max().max())
    room = max(0.05 * (high - low), 0.01)
    ends = (low - room, high + room)
    axes.scatter(frame["best"], frame["predicted"], s=10, color=colour, alpha=0.5, linewidths=0, label="a task")
    axes.plot(ends, ends, color=NEUTRAL, lw=1.0, linestyle="--", label="perfect")
    axes.set(xlim=ends, ylim=ends, xlabel="best GPU share", ylabel="predicted GPU share", aspect="equal")
    axes.locator_params(nbins=5)
    axes.set_title(f"{len(frame):,} unseen tasks of {frame['workload'].iloc[0]}")
    axes.legend(loc="upper left", markerscale=1.6)


def _labels_curve(axes: Axes, frame: pd.DataFrame) -> None:
    style = style_of("hybrid_ml_share")
    above = 100.0 * (frame[["mean", "low", "high"]] - 1.0)
    reach = (above["mean"] - above["low"], above["high"] - above["mean"])
    axes.errorbar(
        frame["samples"], above["mean"], yerr=reach, color=style.colour, marker=style.marker, ms=4.5, lw=1.8,
        ecolor=_DARK, elinewidth=1.0, capsize=3,
    )  # fmt: skip
    axes.axhline(0.0, color=_LIMIT, lw=1.4, linestyle="--")
    axes.annotate("proven optimum", (1.0, 0.0), xycoords=("axes fraction", "data"), xytext=(0, 4),
                  textcoords="offset points", ha="right", color=_LIMIT, fontsize=8)  # fmt: skip
    plain_log(axes, "x")
    axes.set_ylim(bottom=-0.04 * float(above["high"].max()))
    axes.set(xlabel="labelled tasks", ylabel="execution time above the optimum, %")
    axes.set_title("Over the number of labels")


def _importance(axes: Axes, frame: pd.DataFrame) -> None:
    rows = frame.sort_values("added_error", kind="stable")
    names = [str(name).replace("_", " ") for name in rows["feature"]]
    axes.barh(names, rows["added_error"], color=style_of("hybrid_ml_share").colour, edgecolor=NEUTRAL, linewidth=0.6)
    axes.grid(visible=False, axis="y")
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("error of the share added\nwhen the feature is shuffled")
    axes.set_title("What the forest looks at")


def rl_agent_training(read: Read) -> Figure:
    """The search of the demonstrator, the loss of the fit, and the agent's latency on training seeds."""
    curves = read("rl_agent_curves")
    figure = new_figure(11.4, 3.6)
    search, loss, latency = figure.subplots(1, 3)
    _ratio_panel(search, curves, "demonstrator_vs_earliest_device", "rl_agent")
    search.set(xlabel="round of the search", ylabel="latency ÷ earliest_device")
    search.set_title("Search of the demonstrator")
    fit = curves[curves["curve"] == "fit_loss"]
    loss.plot(fit["step"], fit["value"], color=style_of("rl_agent").colour, lw=1.8, marker="o", ms=2.5)
    loss.set(xlabel="step of the fit", ylabel="loss")
    loss.set_ylim(bottom=0.0)
    _whole_steps(loss)
    loss.set_title("Fit to true returns")
    _latency_panel(latency, curves)
    return figure


def _latency_panel(axes: Axes, curves: pd.DataFrame) -> None:
    style = style_of("rl_agent")
    for load, (dash, marker) in _LOADS.items():
        rows = curves[curves["curve"] == f"latency_vs_earliest_device_at_{load}"]
        label = f"load {100 * float(load):g} %"
        axes.plot(rows["step"], rows["value"], color=style.colour, lw=1.8, ls=dash, marker=marker, ms=4, label=label)
    _one(axes)
    plain_log(axes, "y")
    _whole_steps(axes)
    axes.set(xlabel="step of the fit", ylabel="latency ÷ earliest_device")
    axes.set_title("The agent meanwhile (training seeds)")
    axes.legend(loc="best")


def rl_split_training(read: Read) -> Figure:
    """The search by latency, the search by makespan, and the load below which the future counts less."""
    curves = read("rl_split_curves")
    figure = new_figure(11.4, 3.6)
    stream, flood, knee = figure.subplots(1, 3)
    _ratio_panel(stream, curves, "latency_vs_earliest_finish", "rl_split")
    stream.set(xlabel="round of the search", ylabel="latency ÷ earliest_finish")
    stream.set_title("Streams: search by latency")
    rows = curves[curves["curve"] == "makespan_vs_bound"]
    above = 100.0 * (rows["value"] - 1.0)
    flood.plot(rows["step"], above, color=style_of("rl_split").colour, lw=1.8, marker="o", ms=3.5)
    flood.axhline(0.0, color=_LIMIT, lw=1.4, linestyle="--", label="proven bound")
    _whole_steps(flood)
    flood.set_ylim(bottom=-0.05 * float(above.max()))
    flood.set(xlabel="round of the search", ylabel="makespan above the bound, %")
    flood.set_title("Floods: search by makespan")
    flood.legend(loc="upper right")
    _knee_panel(knee, curves[curves["curve"] == "latency_vs_earliest_finish_by_knee"])
    return figure


def _knee_panel(axes: Axes, rows: pd.DataFrame) -> None:
    style = style_of("rl_split")
    axes.plot(rows["step"], rows["value"], color=style.colour, lw=1.8, marker="o", ms=3.5)
    best = rows.sort_values("value", kind="stable").head(1)
    axes.plot(best["step"], best["value"], marker="o", ms=9, mfc="none", mec=_DARK, ls="none", label="chosen")
    axes.set(xlabel="load below which the future counts less, %", ylabel="latency ÷ earliest_finish")
    axes.set_title("From calm to busy: the knee")
    axes.legend(loc="best")


def _ratio_panel(axes: Axes, curves: pd.DataFrame, prefix: str, strategy: str) -> None:
    """All curves of a name (one a workload), in the strategy's colour, on a logarithmic scale."""
    workloads = str(curves["workloads"].iloc[0]).split(", ")
    dashes = ("solid", "dashed", "dotted", "dashdot")
    names = [prefix, *(f"{prefix}_{number}" for number in range(2, len(workloads) + 1))]
    for place, name in enumerate(names):
        rows = curves[curves["curve"] == name]
        axes.plot(
            rows["step"], rows["value"], color=style_of(strategy).colour, lw=1.8, marker="o", ms=3.5,
            linestyle=dashes[place % len(dashes)], label=workloads[min(place, len(workloads) - 1)],
        )  # fmt: skip
    _one(axes)
    plain_log(axes, "y")
    _whole_steps(axes)
    if len(names) > 1:
        axes.legend(loc="best")


def _one(axes: Axes) -> None:
    """The line at 1: as good as the rule."""
    axes.axhline(1.0, color=NEUTRAL, lw=1.2, linestyle=":")


def _whole_steps(axes: Axes) -> None:
    """There is no half a round or step, not even where one point is all there is to show."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, min_n_ticks=1))
