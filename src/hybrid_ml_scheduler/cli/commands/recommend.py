"""`hms recommend`: the cheapest node and policy that keep a promise."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_ml_scheduler.cli.output.formats import ColumnNames, Format, RowValues

if TYPE_CHECKING:
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.recommending.search import Answer, Question

__all__ = ["nodes", "recommend"]


def recommend(
    workload: Annotated[str, typer.Option(metavar="PRESET|FILE", help="A preset, or a file of your own tasks.")],
    nodes: Annotated[Path, typer.Option(help="Candidate nodes (.toml, .yaml), such as plans/nodes.toml.")],
    promise: Annotated[str, typer.Option(metavar="PROMISE", help="For example 'p95_latency < 2 s'.")],
    scheduler: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A policy to consider; repeat (default: eight).")
    ] = None,
    tasks: Annotated[int | None, typer.Option(min=1, help="How many tasks (of a file: how many to keep).")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Arrivals per second (default: the preset's or the file's).")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A figure of a trace assumption; repeat for more.")
    ] = None,
    columns: ColumnNames = None,
    where: RowValues = None,
    seed: Annotated[int, typer.Option(min=0, help="First seed.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="At most so many seeds; fewer where that decides.")] = 5,
    output: Annotated[Format, typer.Option("--format", help="A table and sentences, or JSON.")] = Format.TABLE,
    out: Annotated[Path | None, typer.Option(help="Folder for tables, the chart and the answer.")] = None,
) -> None:
    """Find the cheapest node and policy that keep a promise, and say what would change the answer.

    Every node meets the same tasks with every policy, over paired seeds; pairs that are decided get no more of them.
    A node keeps the promise if the whole 95 % interval of the metric does. The answer is modelled, not measured. With
    `--out` an interrupted search goes on where it stopped.
    """
    from hybrid_ml_scheduler.cli.race_plan import Flags, plan_of
    from hybrid_ml_scheduler.plans.candidates import load_candidates
    from hybrid_ml_scheduler.plans.promises import read_promise
    from hybrid_ml_scheduler.studies.recommending.search import DEFAULT_POLICIES, Question

    promised = read_promise(promise)
    flags = Flags(
        tasks=tasks,
        workload=workload,
        rate=rate,
        options=tuple(option or ()),
        columns=tuple(columns or ()),
        where=tuple(where or ()),
    )
    question = Question(
        workload=plan_of(flags).workload,
        nodes=tuple(load_candidates(nodes)),
        policies=tuple(dict.fromkeys(scheduler or DEFAULT_POLICIES)),
        promise=promised,
        seed=seed,
        seeds=seeds,
    )
    _answer(question, output, out)


def _answer(question: Question, output: Format, out: Path | None) -> None:
    from contextlib import nullcontext

    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.cli.output.formats import steps
    from hybrid_ml_scheduler.cli.output.show import print_json
    from hybrid_ml_scheduler.schedulers import create
    from hybrid_ml_scheduler.studies.folder_files import RunLog
    from hybrid_ml_scheduler.studies.recommending.search import recommend as search
    from hybrid_ml_scheduler.studies.recommending.words import answer_mapping

    for name in question.policies:
        create(name)
    question.workload.tasks(question.seed, question.nodes[0].node)  # a file that cannot be read begins no folder
    folder = None if out is None else _folder(out, question)
    say_if_compiling()
    with folder or nullcontext():
        with steps() as tell:
            answer = search(question, tell, None if folder is None else RunLog(folder.path / "runs.jsonl"))
        if folder is not None:
            _write(folder, question, answer)
    if output is Format.JSON:
        print_json(answer_mapping(question, answer))
        return
    from hybrid_ml_scheduler.cli.output.recommend_table import print_answer

    print_answer(question, answer)
    if out is not None:
        typer.echo(f"The answer, all trials, the chart and a PDF are in {out}.")


def _folder(out: Path, question: Question) -> ResultsFolder:
    from hybrid_ml_scheduler.plans.inputs import inputs_of
    from hybrid_ml_scheduler.plans.node_plan import node_to_mapping
    from hybrid_ml_scheduler.plans.plan import Plan
    from hybrid_ml_scheduler.studies.folder import ResultsFolder

    plan = {
        "workload": question.workload.to_mapping(),
        "nodes": [{"name": one.name, "price": one.price_usd_h, **node_to_mapping(one.node)} for one in question.nodes],
        "policies": list(question.policies),
        "promise": question.promise.text,
        "seed": question.seed,
        "seeds": question.seeds,
    }
    inputs = inputs_of(Plan(workload=question.workload, schedulers=question.policies))
    return ResultsFolder.create(out, kind="recommend", plan=plan, inputs=inputs)


def _write(folder: ResultsFolder, question: Question, answer: Answer) -> None:
    """Leave the answer, a table of all trials, the chart and a PDF; each file whole."""
    import pandas as pd

    from hybrid_ml_scheduler.reports.making import write_report
    from hybrid_ml_scheduler.reports.plots.drawing import draw
    from hybrid_ml_scheduler.studies.recommending.words import answer_mapping, trial_mapping

    rows = []
    for one in answer.trials:
        row = trial_mapping(one)
        low, high = row.pop("interval") or (None, None)
        rows.append({**row, "low": low, "high": high, "limit": one.limit, "metric": question.promise.metric})
    with folder.phase("search"):
        folder.write_table("candidates", pd.DataFrame(rows).astype({"mean": float, "low": float, "high": float}))
        folder.write_json("recommendation.json", answer_mapping(question, answer))
    with folder.phase("plots"):
        for suffix, data in draw("price_against_promise", folder.read_table).items():
            folder.write_bytes(f"plots/price_against_promise.{suffix}", data)
    write_report(folder)
    folder.complete()


def nodes(
    output: Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")] = Format.TABLE,
) -> None:
    """List the GPU types of the catalogue: memory, bandwidth, peak figures, power, and example prices to be edited.

    A plan takes one by `type = "h200"` in `[[physics.gpus]]` or `[physics.gpu]`, a race by `--gpu-type h200`. A section
    `[physics.types.h200]` edits one, for example its price; another name adds one; `profile = "mine.json"` in it names
    a measurement of `hms profile`, which then scales times before published figures do.
    """
    from hybrid_ml_scheduler.physics.gpu_types import GPU_TYPES, PRICES_OF

    rows = [{key: value for key, value in asdict(one).items() if key != "curves"} for one in GPU_TYPES.values()]
    if output is Format.JSON:
        from hybrid_ml_scheduler.cli.output.show import print_json

        print_json({"gpu_types": rows, "prices_of": PRICES_OF, "prices_are": "examples, to be edited in a plan"})
        return
    from hybrid_ml_scheduler.cli.output.gpu_type_table import print_gpu_types

    print_gpu_types(rows, PRICES_OF)
