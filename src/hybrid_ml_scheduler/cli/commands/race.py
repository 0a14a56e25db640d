"""`hms race` and `hms schedulers`."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import ColumnNames, Format, RowValues, check_place

if TYPE_CHECKING:
    from hybrid_ml_scheduler.core import TaskBatch
    from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
    from hybrid_ml_scheduler.plans.plan import Plan
    from hybrid_ml_scheduler.studies.folder import ResultsFolder
    from hybrid_ml_scheduler.studies.race import Entrant, SeedRace
    from hybrid_ml_scheduler.studies.sequential import Look

__all__ = ["race", "schedulers"]

_SEEDS = 5
_MAX_SEEDS = 80


def schedulers(
    check: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="See whether this strategy, a name or file.py:Class, keeps the contract."),
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")] = Format.TABLE,
) -> None:
    """List every strategy: built in, installed by a plugin, or (with `race --scheduler file.py:Class`) your own.

    With `--check`, try one strategy on small nodes instead: valid decisions, the same ones for the same seed, a state
    that continues exactly, and compiled forms that decide alike.
    """
    from dataclasses import asdict

    from hybrid_ml_scheduler.cli.output.show import print_json, print_schedulers
    from hybrid_ml_scheduler.schedulers import available

    if check is not None:
        _check(check, output)
        return
    # Options of its own has a tuned file only.
    entries = [{key: value for key, value in asdict(one).items() if key != "options"} for one in available().values()]
    if output is Format.JSON:
        print_json({"schedulers": entries})
    else:
        print_schedulers(entries)


def _check(spec: str, output: Format) -> None:
    from hybrid_ml_scheduler.cli.output.show import print_json
    from hybrid_ml_scheduler.schedulers import check_scheduler, create, printing_apart

    with printing_apart():
        name = create(spec).name
    check_scheduler(lambda: create(spec))
    if output is Format.JSON:
        print_json({"name": name, "keeps_the_contract": True})
    else:
        typer.echo(f"{name} keeps the contract.")


def race(
    tasks: Annotated[int | None, typer.Option(help="How many tasks (of a file: how many to keep).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream (default 0).")] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Race on this many seeds and show 95 % intervals (default 5).")
    ] = None,
    until_decided: Annotated[
        bool, typer.Option("--until-decided", help="Add seeds until every latency comparison is decided.")
    ] = False,
    max_seeds: Annotated[
        int | None, typer.Option(min=1, help="With --until-decided: give up after this many seeds (default 80).")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET|FILE", help="unknown (default), mixed, gpu_friendly, cpu_friendly, heavy, light; or a file."
        ),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Arrivals per simulated second (default: the preset's).")] = None,
    dependencies: Annotated[
        float | None, typer.Option(metavar="P", help="Probability that a task waits for earlier ones.")
    ] = None,
    noise: Annotated[float | None, typer.Option(help="Spread of the hidden duration factor (sigma).")] = None,
    slo: Annotated[
        float | None,
        typer.Option(metavar="S", help="Tasks are promised to be done S seconds after their arrival; who keeps it?"),
    ] = None,
    spread: Annotated[float | None, typer.Option(help="How much kinds differ from the formula (unknown: 0.5).")] = None,
    knowledge: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="What strategies know of durations: exact, nominal or learned (default)."),
    ] = None,
    nominal_backlogs: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="Backlogs at nominal: `estimated` (default), or `seen` (set right as parts end)."
        ),
    ] = None,
    gpus: Annotated[int | None, typer.Option(help="Number of GPUs (default 4).")] = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A strategy: name, name@level, file.py:Class or tuned.json; repeat."),
    ] = None,
    dialect: Annotated[
        str | None, typer.Option(metavar="NAME", help="Form of a trace file (default: recognised).")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A figure of a trace assumption; repeat for more."),
    ] = None,
    columns: ColumnNames = None,
    where: RowValues = None,
    gpu_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Type of all GPUs, e.g. h200; `hms nodes` lists them.")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="A plan file (.toml, .yaml); flags override it.")] = None,
    hardware: Annotated[Path | None, typer.Option(help="A hardware profile made by `hms profile`.")] = None,
    interference: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Devices slow each other down as `hms calibrate` measured."),
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="A table or JSON.")] = Format.TABLE,
    out: Annotated[Path | None, typer.Option(help="Folder for plan, results and tables.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Chrome/Perfetto trace of the first seed (JSON).")] = None,
) -> None:
    """Race strategies on one workload: latency, energy, cost, and the gap to a lower bound.

    Without flags: 1,000 tasks of the preset `unknown` on 1 CPU + 4 GPUs, nine strategies that learn how long tasks
    take, and five seeds. A file that gives the same tasks for every seed is run once. `--workload mixed --seeds 1
    --knowledge exact` gives the table of version 0.2 for the strategies named with `--scheduler`.
    """
    from hybrid_ml_scheduler.cli.compiling import take_one_thread

    take_one_thread()
    from hybrid_ml_scheduler.cli.race_plan import Defaults, Flags, plan_of
    from hybrid_ml_scheduler.core.knowledge import LEARNED
    from hybrid_ml_scheduler.studies.trials import known_tasks

    until = _until(until_decided, seeds, max_seeds)
    if trace is not None:
        check_place("--trace", trace)
    chosen = plan_of(
        Flags(
            tasks=tasks,
            seed=seed,
            seeds=seeds,
            workload=workload,
            rate=rate,
            dependencies=dependencies,
            noise=noise,
            slo=slo,
            gpus=gpus,
            schedulers=tuple(scheduler or ()),
            dialect=dialect,
            options=tuple(option or ()),
            columns=tuple(columns or ()),
            where=tuple(where or ()),
            gpu_type=gpu_type,
            plan=plan,
            hardware=hardware,
            knowledge=knowledge,
            nominal_backlogs=nominal_backlogs,
            spread=spread,
            interference=interference,
        ),
        Defaults(workload="unknown", seeds=_SEEDS if until is None else 1, knowledge=LEARNED),
    )
    first = known_tasks(chosen, chosen.seed)
    if seeds is None and plan is None and chosen.seeds > 1 and not _varies(chosen, first.batch):
        chosen = replace(chosen, seeds=1)
    folder, strategies, races, look = _raced(chosen, first, trace, until, out)
    result = _told(chosen, strategies, races, look, output)
    if folder is not None:
        from hybrid_ml_scheduler.studies.race_files import write_race

        write_race(folder, chosen, result, races)
    if output is not Format.JSON:
        _tell_files(out, trace)


def _varies(plan: Plan, first: TaskBatch) -> bool:
    """Whether the next seed gives other tasks; a file that leaves nothing to be drawn gives the same ones."""
    if plan.workload.is_preset:
        return True
    second = plan.tasks(plan.seed + 1)
    pairs = ((getattr(first, one.name), getattr(second, one.name)) for one in fields(first))
    return any(a.tobytes() != b.tobytes() for a, b in pairs if not isinstance(a, tuple))


def _until(until_decided: bool, seeds: int | None, max_seeds: int | None) -> int | None:
    """After how many seeds to give up, or None where their number is fixed; what cannot go together is refused."""
    from hybrid_ml_scheduler.core.errors import PlanError

    if until_decided and seeds is not None:
        raise PlanError("--seeds does not go with --until-decided, which adds seeds itself, up to --max-seeds.")
    if max_seeds is not None and not until_decided:
        raise PlanError("--max-seeds goes with --until-decided; a fixed number of seeds is --seeds.")
    return (max_seeds or _MAX_SEEDS) if until_decided else None


def _tell_files(out: Path | None, trace: Path | None) -> None:
    if out is not None:
        typer.echo(f"Plan, results and tables are in {out}; `hms report {out}` draws plots and a PDF.")
    if trace is not None:
        typer.echo(f"The trace of the first seed is {trace}; ui.perfetto.dev and chrome://tracing show it.")


def _raced(
    plan: Plan, first: KnownTasks, trace: Path | None, until: int | None, out: Path | None
) -> tuple[ResultsFolder | None, list[Entrant], list[SeedRace], Look | None]:
    """Run the race behind a progress bar; write the trace of the first seed on the way.

    The results folder, where one is asked for, is begun after the plan has been checked and before anything runs.
    """
    from contextlib import nullcontext

    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.reports.perfetto import TraceWriter
    from hybrid_ml_scheduler.studies.race import check_search, entrants, race_until_decided, run_race
    from hybrid_ml_scheduler.studies.race_files import race_folder

    strategies = entrants(plan)
    if until is not None:
        check_search(plan, until)
    folder = None if out is None else race_folder(out, plan, until)
    say_if_compiling()
    look: Look | None = None
    with folder or nullcontext(), TraceWriter(trace) if trace is not None else nullcontext() as writer:

        def watch(entrant: Entrant, seed: int, batch: Any, columns: Any) -> None:
            if writer is not None and seed == plan.seed:
                writer.add(entrant.name, batch, columns)

        with progress_bar("racing", len(first.batch) * (until or plan.seeds) * len(strategies)) as advance:
            if until is None:
                races = run_race(plan, strategies, first=first, progress=advance, watch=watch)
            else:
                races, look = race_until_decided(
                    plan, strategies, most=until, first=first, progress=advance, watch=watch
                )
    return folder, strategies, races, look


def _told(
    plan: Plan, strategies: list[Entrant], races: list[SeedRace], look: Look | None, output: Format
) -> dict[str, Any]:
    from hybrid_ml_scheduler.cli.output.show import print_json, print_race
    from hybrid_ml_scheduler.studies.results import race_mapping

    result = race_mapping(plan, strategies, races, look)
    if output is Format.JSON:
        print_json(result)
    else:
        print_race(result)
    return result
