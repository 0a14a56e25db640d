"""`hms evaluate`: judging a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import Format
from hybrid_ml_scheduler.cli.output.model_output import (
    LAST_TEST_START,
    MOST_TEST_SEEDS,
    Gpus,
    Hardware,
    Output,
    PlanFile,
    Plot,
)

if TYPE_CHECKING:
    import pandas as pd

    from hybrid_ml_scheduler.training.verdicts import Verdict

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[str, typer.Argument(help="A model file (.joblib, .pth, .npy, .json) or rl_agent, rl_split.")],
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET|FILE", help="The workload to be judged on (default mixed); of a file its later part."
        ),
    ] = None,
    load: Annotated[
        list[float] | None, typer.Option(min=0.001, max=100, help="Load of the node; repeat for more.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, max=MOST_TEST_SEEDS, help="How many test seeds.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=LAST_TEST_START, help="The first test seed.")] = 0,
    tasks: Annotated[
        int, typer.Option(min=100, max=100_000_000, help="Tasks of each seed; the first tenth is discarded.")
    ] = 20_000,
    gpus: Gpus = None,
    hardware: Hardware = None,
    plan: PlanFile = None,
    plot: Plot = None,
    format: Output = Format.TABLE,
) -> None:
    """Judge a saved, frozen model on seeds it never saw, with 95 % intervals.

    A forest is judged by execution time against the proven optimum, `rl_agent` by latency against
    `earliest_device`, `rl_split` by latency against `earliest_finish` and `frugal_finish` and by makespan against the
    proven bound. Below 1 the model is the better one; nothing can be below the optimum or the bound. A model of
    `rl_hold` is judged by `hms race` beside the rules of one's choice.
    """
    from hybrid_ml_scheduler.cli.output.formats import stages
    from hybrid_ml_scheduler.cli.output.model_output import check_plot, learning_inputs, show, write_plot
    from hybrid_ml_scheduler.training import strategy_of

    check_plot(plot)
    strategy = strategy_of(model)
    from hybrid_ml_scheduler.core.text import amount
    from hybrid_ml_scheduler.training.verdicts import Judgement, judge_model

    inputs = learning_inputs([] if workload is None else [workload], gpus, hardware, plan)
    name = inputs.names[0]
    task = Judgement(
        law=inputs.sources[0],
        node=inputs.node,
        loads=tuple(dict.fromkeys(load or (0.5, 0.8, 0.95))),
        seeds=range(seed, seed + seeds),
        tasks=tasks,
    )
    with stages() as tell:
        verdicts = judge_model(model, task, lambda done, total: tell(f"judging {model}", done, total))
    title = f"{model} on {name}: {amount(seeds, 'unseen seed')} of {amount(tasks, 'task')}, frozen"
    write_plot("model_judged", {"verdicts": _frame(verdicts, strategy, title)}, plot)
    result: dict[str, Any] = {"model": model, "plot": None if plot is None else str(plot), "strategy": strategy}
    result |= {"workload": name, "seeds": seeds, "tasks": tasks, "separation": inputs.separation, **_figures(verdicts)}
    show(result, _table(f"{title}\n{inputs.separation}", verdicts, plot), format)


def _figures(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    from hybrid_ml_scheduler.training.judging import summary

    figures: dict[str, Any] = {}
    for verdict in verdicts:
        figures[verdict.key], figures[f"{verdict.key}_ci"] = summary(verdict.ratios, verdict.rival)
    return figures


def _table(title: str, verdicts: Sequence[Verdict], plot: Path | None) -> str:
    from hybrid_ml_scheduler.cli.output.model_output import align_columns
    from hybrid_ml_scheduler.training.judging import summary

    rows = [["figure", "mean", "95 % interval"]]
    for verdict in verdicts:
        mean, (low, high) = summary(verdict.ratios, verdict.rival)
        rows.append([verdict.label, f"{mean:.4f}", f"[{low:.4f}, {high:.4f}]"])
    lines = [title, "", align_columns(rows), ""]
    lines.append("Below 1 the model is the better one; nothing can be below the optimum or the bound.")
    return "\n".join([*lines, *([] if plot is None else [f"The plot is {plot}."])])


def _frame(verdicts: Sequence[Verdict], strategy: str, title: str) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [
            {"strategy": strategy, "title": title, "label": one.label, "rival": one.rival, "ratio": ratio}
            for one in verdicts
            for ratio in one.ratios
        ]
    )
