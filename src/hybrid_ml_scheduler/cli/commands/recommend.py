"""`hms recommend`: the cheapest node and policy that keep a target, or the best for a budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_ml_scheduler.cli.output.formats import ColumnNames, Format, RowValues, warn_overload

if TYPE_CHECKING:
    from hybrid_ml_scheduler.core import TaskBatch
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.recommending.question import Question
    from hybrid_ml_scheduler.studies.recommending.search import Answer

__all__ = ["nodes", "recommend"]

_LONG_S = 45.0


def recommend(
    workload: Annotated[str, typer.Option(metavar="PRESET|FILE", help="A preset, or a file of your own tasks.")],
    nodes: Annotated[Path, typer.Option(help="Candidate nodes (.toml, .yaml), such as plans/nodes.toml.")],
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "--promise",
            metavar="TARGET",
            help="'p95_latency < 2 s' or '95 % within 10 s': the cheapest node that keeps it.",
        ),
    ] = None,
    best: Annotated[
        str | None, typer.Option(metavar="METRIC", help="The best node instead, e.g. p95_latency; with --budget.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="MONEY", help="The most that a node may cost: '$10/h', or 'EUR 30000' to buy it."),
    ] = None,
    current: Annotated[
        str | None, typer.Option(metavar="NODE", help="The node that you have, to compare with.")
    ] = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A policy to consider; repeat (default: the usual ones and the best rules)."),
    ] = None,
    knowledge: Annotated[
        str, typer.Option(metavar="LEVEL", help="What policies know of durations: exact, nominal or learned.")
    ] = "learned",
    tasks: Annotated[int | None, typer.Option(min=1, help="How many tasks (of a file: how many to keep).")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Arrivals per second (default: the preset's or the file's own).")
    ] = None,
    target_load: Annotated[
        float | None, typer.Option(metavar="L", help="Change arrivals to this load of the reference node, e.g. 0.7.")
    ] = None,
    reference_node: Annotated[
        str | None, typer.Option(metavar="NODE", help="The node whose load --target-load is.")
    ] = None,
    leave_out_gangs_above: Annotated[
        int | None, typer.Option(metavar="N", help="Leave out tasks that need more than N GPUs at once.")
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
    """Find the cheapest node and policy that keep a target, or the best ones for a budget.

    Every node meets the workload at its own arrivals and is judged on its own, over paired seeds. A node keeps the
    target if the whole 95 % interval of the metric does, over all tasks and over the tenth of them that arrive closest
    together. The answer is modelled, not measured, and says what would change it. With `--out` an interrupted search
    goes on where it stopped.
    """
    from hybrid_ml_scheduler.cli.race_plan import Flags, plan_of
    from hybrid_ml_scheduler.plans.candidates import load_candidates
    from hybrid_ml_scheduler.studies.recommending.asked import Asked
    from hybrid_ml_scheduler.studies.recommending.question import DEFAULT_POLICIES

    flags = Flags(
        tasks=tasks,
        workload=workload,
        rate=rate,
        options=tuple(option or ()),
        columns=tuple(columns or ()),
        where=tuple(where or ()),
    )
    asked = Asked(
        target=target,
        best=best,
        budget=budget,
        current=current,
        target_load=target_load,
        reference_node=reference_node,
        knowledge=knowledge,
        policies=scheduler or DEFAULT_POLICIES,
        widest=leave_out_gangs_above,
        seed=seed,
        seeds=seeds,
    )
    question = asked.question(plan_of(flags).workload, load_candidates(nodes))
    _answer(question, output, out)


def _warn(question: Question, batch: TaskBatch) -> None:
    """Say which nodes get more work than they can do."""
    from hybrid_ml_scheduler.core.errors import HmsError
    from hybrid_ml_scheduler.plans.overload import overload_words

    for one in question.nodes:
        with suppress(HmsError):  # the search says which tasks a node cannot hold
            warn_overload(overload_words(batch, one.node), f"node {one.name}: ")


def _answer(question: Question, output: Format, out: Path | None) -> None:
    from contextlib import nullcontext

    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.cli.output.formats import steps
    from hybrid_ml_scheduler.cli.output.show import print_json
    from hybrid_ml_scheduler.studies.folder_files import RunLog
    from hybrid_ml_scheduler.studies.recommending.question import tasks_of
    from hybrid_ml_scheduler.studies.recommending.search import recommend as search
    from hybrid_ml_scheduler.studies.recommending.words import answer_mapping

    batch = tasks_of(question, question.seed)  # a file that cannot be read begins no folder
    _warn(question, batch)
    folder = None if out is None else _folder(out, question)
    say_if_compiling()
    with folder or nullcontext():
        with steps() as tell:
            log = None if folder is None else RunLog(folder.path / "runs.jsonl")
            answer = search(question, _Foretold(tell, len(question.searched)), log)
        if folder is not None:
            _write(folder, question, answer)
    if output is Format.JSON:
        print_json(answer_mapping(question, answer))
        return
    from hybrid_ml_scheduler.cli.output.recommend_table import print_answer

    print_answer(question, answer)
    if out is not None:
        typer.echo(f"The answer, all trials, the chart and a PDF are in {out}.")


class _Foretold:
    """Passes the progress on, and says once on standard error how long a long search will take."""

    def __init__(self, tell: Callable[[str, int, int], None], nodes: int) -> None:
        self._tell, self._nodes, self._began = tell, nodes, time.monotonic()
        self._is_said = False

    def __call__(self, label: str, done: int, total: int) -> None:
        self._tell(label, done, total)
        if self._is_said or self._nodes * done < total or not done:
            return
        self._is_said = True  # a node's share of the runs is done: the others take about as long
        left_s = (time.monotonic() - self._began) / done * (total - done)
        if left_s >= _LONG_S:
            typer.echo(
                f"About {left_s / 60:.0f} more minutes for {total - done} runs; fewer --tasks, --seeds or --scheduler "
                "take less, and with --out an interrupted search goes on.",
                err=True,
            )


def _folder(out: Path, question: Question) -> ResultsFolder:
    from hybrid_ml_scheduler.plans.inputs import inputs_of
    from hybrid_ml_scheduler.plans.node_plan import node_to_mapping
    from hybrid_ml_scheduler.plans.plan import Plan
    from hybrid_ml_scheduler.studies.folder import ResultsFolder

    plan = {
        "workload": question.workload.to_mapping(),
        "nodes": [
            {"name": one.name, "price": question.price(one), **node_to_mapping(one.node)} for one in question.by_price
        ],
        "policies": list(question.policies),
        "knowledge": question.knowledge,
        "target": question.target.text,
        "budget": None if question.budget is None else question.budget.words(),
        "current": question.current,
        "load": None if question.load is None else list(question.load),
        "widest": question.widest,
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
        rows.append({**row, "low": low, "high": high, "limit": one.limit, "metric": question.target.metric})
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
