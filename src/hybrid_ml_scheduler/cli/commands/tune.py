"""`hms tune`: the strategy that suits one's own tasks and machine, or the advice to keep what one has."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import ColumnNames, Format, RowValues
from hybrid_ml_scheduler.cli.output.model_output import Gpus, Hardware, Output, PlanFile

if TYPE_CHECKING:
    from hybrid_ml_scheduler.studies.tuning import Tuning

__all__ = ["tune"]


_LEVELS = {
    "exact": "strategies know the true durations",
    "nominal": "strategies know what was known beforehand",
    "learned": "strategies learn durations from tasks that have finished",
}


class Objective(str, Enum):
    """What can be tuned for."""

    LATENCY = "latency"
    SLOWDOWN = "slowdown"
    P99 = "p99"


def tune(
    workload: Annotated[
        str | None, typer.Option(metavar="PRESET|FILE", help="The stream of tasks: a file of one's own, or a preset.")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=200, max=100_000_000, help="How many tasks are read or made.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The tuned strategy's file (.json).")] = Path("tuned.json"),
    objective: Annotated[Objective, typer.Option(help="What counts.")] = Objective.LATENCY,
    aging: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1e9,
            help="Bound the longest wait: a task held for so many times what tasks take and wait in the mean goes "
            "first (120 is a good start; 0 is no bound).",
        ),
    ] = 0.0,
    knowledge: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="What strategies know of durations: exact, nominal or learned (default: the plan's, else learned).",
        ),
    ] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Options of the trace reader.")] = None,
    columns: ColumnNames = None,
    where: RowValues = None,
    seed: Annotated[int, typer.Option(min=0, max=2**62, help="Seed of the search, and of the tasks of a preset.")] = 0,
    gpus: Gpus = None,
    hardware: Hardware = None,
    plan: PlanFile = None,
    format: Output = Format.TABLE,
) -> None:
    """Tune a strategy to a stream: search on its first 60 %, judge on the rest, recommend only what is proven there.

    Settings are proposed by playing the first part again with the seconds that its tasks took. They are compared and
    judged in runs where strategies know of durations what --knowledge says. The later part is never searched on. Beside
    the tuned strategy the plain rules, the shipped `rl_hold` and (unless durations are exact) `hybrid_ml` run over
    the same tasks; the tuned file is written and recommended if a paired 95 % interval says that it is better than the
    rule to keep and no other rule has a lower mean, otherwise the command says what to keep. The file is used wherever
    a strategy is named, as in `hms race --scheduler tuned.json`. Ctrl-C loses nothing: the same command goes on.
    """
    from dataclasses import replace

    from hybrid_ml_scheduler.cli.output.formats import stages, warn_overload
    from hybrid_ml_scheduler.cli.output.model_output import check_writable, show
    from hybrid_ml_scheduler.cli.race_plan import Flags, plan_of
    from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED
    from hybrid_ml_scheduler.plans.overload import overload_words
    from hybrid_ml_scheduler.plans.plan import read_plan_file
    from hybrid_ml_scheduler.schedulers.tuned import save_tuned
    from hybrid_ml_scheduler.studies.trials import known_tasks
    from hybrid_ml_scheduler.studies.tuning import tune as tuned

    check_writable("--out", out, (".json",))
    flags = Flags(
        knowledge=knowledge,
        workload=workload,
        tasks=tasks,
        seed=seed,
        gpus=gpus,
        hardware=hardware,
        plan=plan,
        options=tuple(option or ()),
        columns=tuple(columns or ()),
        where=tuple(where or ()),
    )
    wanted = plan_of(flags)
    if knowledge is None and (plan is None or "level" not in read_plan_file(plan).get("knowledge", {})):
        wanted = replace(wanted, knowledge=LEARNED)
    known = known_tasks(wanted, seed)
    warn_overload(overload_words(known.batch, known.node, known.true))
    state = out.with_name(f"{out.name}.part")
    with stages() as tell:
        found = tuned(
            known,
            wanted.knowledge,
            objective=objective.value,
            aging=aging,
            state=state,
            tell=tell,
        )
    if found.is_tuned:
        save_tuned(found.tuned, out)
    state.unlink(missing_ok=True)
    assumptions = [*known.batch.assumptions, *(() if wanted.knowledge == EXACT else known.notes)]
    result = {**tuning_result(found, wanted.workload.source, out, aging), "assumptions": assumptions}
    show(result, tuning_table(result), format)


def tuning_result(found: Tuning, workload: str, out: Path, aging: float = 0.0) -> dict[str, Any]:
    """What came of it, for machines."""
    gain = found.against_best_rule
    return {
        "workload": workload,
        "objective": found.objective,
        "knowledge": found.level,
        "aging": aging,
        "judged_tasks": found.judged_tasks,
        "values": dict(found.values),
        "best_rule": found.best_rule,
        "difference": gain.mean,
        "interval": [gain.low, gain.high],
        "recommended": found.recommended,
        "strategy": found.tuned.strategy if found.is_tuned else None,
        "model": str(out) if found.is_tuned else None,
    }


def tuning_table(result: dict[str, Any]) -> str:
    """The values on the later part, best first, and what to do."""
    from hybrid_ml_scheduler.cli.output.model_output import align_columns

    unit = {"latency": "mean latency s", "slowdown": "mean slowdown", "p99": "p99 latency s"}[result["objective"]]
    best_first = sorted(result["values"].items(), key=lambda item: item[1])
    rows = [["strategy", unit], *([name, f"{value:.4g}"] for name, value in best_first)]
    low, high = result["interval"]
    lines = [
        *(f"  assumed  {assumption}" for assumption in result["assumptions"]),
        f"{result['workload']}: judged at the level {result['knowledge']} ({_LEVELS[result['knowledge']]}) on the last "
        f"{result['judged_tasks']:,} tasks, which nothing was fitted to.",
        "",
        align_columns(rows),
        "",
        f"Against {result['best_rule']}: {result['difference']:+.4g} a task [{low:+.4g}, {high:+.4g}].",
    ]
    if result["model"] is not None:
        lines.append(
            f"Use it wherever a strategy is named: hms race --scheduler {result['model']}, hms serve likewise,"
        )
        lines.append(
            f"or HybridExecutor(strategy={result['model']!r}). It is {result['strategy']} with options of its own."
        )
    else:
        lines.append(_kept_words(result["recommended"], result["aging"]))
    return "\n".join(lines)


def _kept_words(kept: str, aging: float) -> str:
    """What to use where nothing tuned is better."""
    holds = kept in ("rl_hold", "hybrid_ml") or kept.startswith("sjf")
    bound = f" with aging = {aging:g}" if aging and holds else ""
    if kept in ("rl_hold", "hybrid_ml"):
        return f"Use {kept} as it is shipped{bound}: nothing that was tuned is better."
    return f"Keep what you have, or use {kept}{bound}: nothing learned is shown to be better."
