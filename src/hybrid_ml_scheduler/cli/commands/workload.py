"""`hms workload`: make tasks, look at them, and turn traces into the product's own CSV."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import ColumnNames, Format, RowValues, check_place
from hybrid_ml_scheduler.core.errors import PlanError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.core.tasks import TaskBatch
    from hybrid_ml_scheduler.physics import Node

__all__ = ["app"]

app = typer.Typer(
    name="workload",
    help="Make tasks, look at them, and convert traces.",
    epilog="Start with: `hms workload describe mixed`",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


Dialect = Annotated[
    str | None,
    typer.Option(
        help="Form of the file: csv, swf, wfformat, gavel, philly, azure_llm, openb ... (default: recognised)."
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="A figure of a trace assumption as KEY=VALUE, e.g. target_load=0.9; repeatable."),
]
Gpus = Annotated[int | None, typer.Option(metavar="N", help="GPUs of the node that a load is meant for (default 4).")]
GpuTypeName = Annotated[
    str | None, typer.Option("--gpu-type", metavar="TYPE", help="Type of these GPUs; `hms nodes` lists them.")
]
Seed = Annotated[int, typer.Option(help="Seed of every random stream; the same seed gives the same tasks.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")]
Source = Annotated[str, typer.Argument(metavar="FILE|PRESET", help="A preset name or a file of tasks (.gz too).")]


@app.command(epilog="Example: `hms workload generate --tasks 500 --workload heavy --dependencies 0.3 --out tasks.csv`")
def generate(
    out: Annotated[Path, typer.Option(help="CSV file to write; .csv.gz is packed.")],
    tasks: Annotated[int, typer.Option(help="How many tasks.")] = 1000,
    seed: Seed = 0,
    workload: Annotated[
        str, typer.Option(metavar="PRESET", help="mixed, gpu_friendly, cpu_friendly, heavy, light or unknown.")
    ] = "mixed",
    rate: Annotated[float | None, typer.Option(help="Arrivals per simulated second (default: the preset's).")] = None,
    dependencies: Annotated[
        float, typer.Option(metavar="P", help="Probability that a task waits for 1 to 3 earlier ones.")
    ] = 0.0,
    noise: Annotated[float, typer.Option(help="Spread (sigma) of the hidden duration factor; 0 = none.")] = 0.0,
    deadline: Annotated[
        float, typer.Option(help="Tasks are due after about so many times their CPU seconds; 0 = never.")
    ] = 0.0,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Draw tasks from a preset and write them as CSV."""
    from hybrid_ml_scheduler.core.text import amount
    from hybrid_ml_scheduler.workload import generate as generate_batch
    from hybrid_ml_scheduler.workload import preset, write_csv

    values: dict[str, Any] = {"num_tasks": tasks, "dependency_probability": dependencies, "noise_sigma": noise}
    values["deadline_slack"] = deadline
    if rate is not None:
        values["arrival_rate"] = rate
    parameters = preset(workload).with_values(values)
    check_place("--out", out)
    with _working(f"Drawing {amount(tasks, 'task')} and writing {out}"):
        batch = generate_batch(parameters, seed)
        write_csv(batch, out)
    _say_written(batch, out, output)


@app.command(epilog="Example: `hms workload describe mixed` or `hms workload describe trace.swf.gz --format json`")
def describe(
    source: Source,
    seed: Seed = 0,
    tasks: Annotated[int | None, typer.Option(help="How many tasks of the preset, or how many of the file's.")] = None,
    dialect: Dialect = None,
    option: Options = None,
    columns: ColumnNames = None,
    where: RowValues = None,
    gpus: Gpus = None,
    gpu_type: GpuTypeName = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show what a workload is like: counts, quantiles, arrivals, graph and every assumption."""
    from hybrid_ml_scheduler.workload import describe as description_of
    from hybrid_ml_scheduler.workload import resolve

    with _working(f"Looking at {source}"):
        batch = resolve(
            source,
            seed=seed,
            num_tasks=tasks,
            dialect=dialect,
            options=_options(option, columns, where),
            node=_node(gpus, gpu_type),
        )
        description = {"source": source, "seed": seed, **description_of(batch)}
    if output is Format.JSON:
        _print_json(description)
        return
    from hybrid_ml_scheduler.cli.output.workload_picture import show

    show(batch, description)


@app.command(epilog="Example: `hms workload convert philly.csv.gz philly-1000.csv --limit 1000`")
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A file of tasks in any known dialect.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.csv", help="CSV file to write; .csv.gz is packed.")],
    dialect: Dialect = None,
    seed: Seed = 0,
    limit: Annotated[int | None, typer.Option(help="Keep only the first tasks in order of arrival.")] = None,
    option: Options = None,
    columns: ColumnNames = None,
    where: RowValues = None,
    gpus: Gpus = None,
    gpu_type: GpuTypeName = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Turn a trace into the product's own CSV, filling what it lacks by stated assumptions."""
    from hybrid_ml_scheduler.workload import load, write_csv

    check_place("OUT", out)
    with _working(f"Converting {source}"):
        batch = load(
            source,
            dialect=dialect,
            seed=seed,
            limit=limit,
            options=_options(option, columns, where),
            node=_node(gpus, gpu_type),
        )
        write_csv(batch, out)
    _say_written(batch, out, output)


def _options(option: list[str] | None, columns: list[str] | None, where: list[str] | None) -> dict[str, Any]:
    from hybrid_ml_scheduler.cli.race_plan import column_mapping, row_choice

    return {**_pairs(option), **column_mapping(tuple(columns or ())), **row_choice(tuple(where or ()))}


def _node(gpus: int | None, gpu_type: str | None) -> Node | None:
    """The node that was asked for; None where none was."""
    if gpus is None and gpu_type is None:
        return None
    from hybrid_ml_scheduler.cli.race_plan import Flags, plan_of

    return plan_of(Flags(gpus=gpus, gpu_type=gpu_type)).node


def _working(what: str) -> AbstractContextManager[Any]:
    """Show on a terminal's error output that work goes on; silent elsewhere."""
    from rich.console import Console

    return Console(stderr=True).status(f"{what} ...")


def _pairs(texts: Sequence[str] | None) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise PlanError(f"--option {text!r} must have the form KEY=VALUE.")
        pairs[key.strip()] = value.strip()
    return pairs


def _print_json(value: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _say_written(batch: TaskBatch, out: Path, output: Format) -> None:
    if output is Format.JSON:
        _print_json({"file": str(out), "tasks": len(batch), "assumptions": list(batch.assumptions)})
        return
    from hybrid_ml_scheduler.core.text import amount

    typer.echo(f"{amount(len(batch), 'task')} written to {out}.")
    for assumption in batch.assumptions:
        typer.echo(f"  assumed  {assumption}")
