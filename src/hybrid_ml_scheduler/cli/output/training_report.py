"""What `hms train` tells in the end: figures as JSON, tables for people, tables for the plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.cli.output.model_output import LearningInputs, align_columns

if TYPE_CHECKING:
    import pandas as pd

    from hybrid_ml_scheduler.training.forest_training import ForestTraining

__all__ = ["agent_table", "curve_frames", "forest_frames", "forest_result", "forest_table"]


def forest_result(trained: ForestTraining) -> dict[str, Any]:
    """The figures of a forest as JSON."""
    from hybrid_ml_scheduler.training.judging import summary

    def point(ratios: Sequence[float]) -> dict[str, Any]:
        mean, interval = summary(ratios, "optimum")
        return {"execution_time_vs_optimum": mean, "execution_time_vs_optimum_ci": interval}

    return {
        "kind": trained.model.kind,
        "samples": trained.model.samples,
        "fit_error": trained.model.fit_error,
        "unseen_error": trained.unseen_error,
        **point(trained.ratios),
        "learning_curve": [{"samples": size, **point(ratios)} for size, ratios in trained.curve.items()],
        "feature_importance": trained.importance,
    }


def forest_table(trained: ForestTraining, inputs: LearningInputs, out: Path, plot: Path | None) -> str:
    """The figures of a forest for people, and where everything is."""
    from hybrid_ml_scheduler.plans.metrics import format_fixed
    from hybrid_ml_scheduler.training.judging import summary

    rows = [["samples", "time / optimum", "95 % interval"]]
    for size, ratios in trained.curve.items():
        mean, (low, high) = summary(ratios, "optimum")
        rows.append([f"{size:,}", f"{mean:.4f}", f"[{low:.4f}, {high:.4f}]"])
    weights = sorted(trained.importance.items(), key=lambda item: -item[1])
    lines = [
        f"{trained.model.kind} on {inputs.names[0]}, judged on unseen tasks",
        inputs.separation,
        "",
        align_columns(rows),
        "",
        f"mean error of the share: {trained.unseen_error:.4f} ({trained.model.fit_error:.4f} on its own tasks)",
        align_columns(
            [["feature", "error added when shuffled"], *([name, format_fixed(added, 4)] for name, added in weights)]
        ),
        "",
        f"The model is {out}.",
    ]
    return "\n".join([*lines, *([] if plot is None else [f"The plot is {plot}."])])


def forest_frames(trained: ForestTraining, workload: str) -> dict[str, pd.DataFrame]:
    """The tables behind the plot of a forest's training."""
    import pandas as pd

    from hybrid_ml_scheduler.training.judging import summary

    curve = [(size, *_flat(summary(ratios, "optimum"))) for size, ratios in trained.curve.items()]
    return {
        "forest_shares": pd.DataFrame({"best": trained.best, "predicted": trained.predicted, "workload": workload}),
        "forest_curve": pd.DataFrame(curve, columns=["samples", "mean", "low", "high"]),
        "forest_importance": pd.DataFrame(trained.importance.items(), columns=["feature", "added_error"]),
    }


def _flat(found: tuple[float, list[float]]) -> tuple[float, float, float]:
    return found[0], found[1][0], found[1][1]


def agent_table(result: Mapping[str, Any]) -> str:
    """What was trained, how each curve began and ended, and where everything is."""
    rows = [["curve", "first", "last", "points"]]
    for name, points in result["curves"].items():
        ends = [f"{points[place][1]:.4g}" for place in (0, -1)]
        rows.append([name.replace("_", " "), *ends, f"{len(points)}"])
    budget = ", ".join(f"{name} {value:,}" for name, value in result["budget"].items())
    lines = [f"{result['strategy']} on {', '.join(result['workloads'])} ({budget})", "", align_columns(rows), ""]
    lines += [result["separation"], f"The model is {result['model']}."]
    for what, key in (("plot", "plot"), ("log for TensorBoard", "tensorboard")):
        if result[key] is not None:
            lines.append(f"The {what} is {result[key]}.")
    return "\n".join(lines)


def curve_frames(
    strategy: str, curves: Mapping[str, Sequence[tuple[int, float]]], workloads: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """The table behind the plot of an agent's training."""
    import pandas as pd

    rows = [(name, step, value) for name, points in curves.items() for step, value in points]
    frame = pd.DataFrame(rows, columns=["curve", "step", "value"])
    frame["workloads"] = ", ".join(workloads)
    return {f"{strategy}_curves": frame}
