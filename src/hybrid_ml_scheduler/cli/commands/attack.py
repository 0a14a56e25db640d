"""`hms attack`: the workloads on which a strategy does worst."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import Format, check_place, warn_overload
from hybrid_ml_scheduler.core.errors import PlanError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.studies.attack import Attack, AttackResult, Found

__all__ = ["attack"]


def attack(
    strategy: Annotated[str, typer.Argument(metavar="STRATEGY", help="A strategy: name or file.py:Class.")],
    against: Annotated[
        str, typer.Option(metavar="portfolio|bound", help="Against the best of the portfolio, or the proven bound.")
    ] = "portfolio",
    gpus: Annotated[int, typer.Option(help="Number of GPUs of the node, 1 to 1,024.")] = 4,
    tasks: Annotated[int, typer.Option(min=10, max=100_000, help="Tasks of every workload that is tried.")] = 400,
    tries: Annotated[int, typer.Option(min=8, max=100_000, help="How many workloads, and how many small ones.")] = 120,
    seed: Annotated[int, typer.Option(min=0, max=2**62, help="Seed of the search.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="A new folder for the cases found: worst.toml, smallest.csv.")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="A table or JSON.")] = Format.TABLE,
) -> None:
    """Search workloads on which a strategy does worst against the best of a portfolio, or against the proven bound.

    Laws of the workload (load, sizes, intensity, memory) are searched first, then instances of six tasks. With `--out`
    the worst of both are left as files that can be raced: `hms race --plan FOLDER/worst.toml` and
    `hms race --workload FOLDER/smallest.csv`.
    """
    from hybrid_ml_scheduler.cli.compiling import say_if_compiling
    from hybrid_ml_scheduler.cli.output.formats import progress_bar
    from hybrid_ml_scheduler.physics import Node
    from hybrid_ml_scheduler.schedulers import create
    from hybrid_ml_scheduler.studies.attack import RIVALS, Attack, runs_of
    from hybrid_ml_scheduler.studies.attack import attack as search

    create(strategy)  # a name that does not exist is refused before anything is compiled
    if against not in RIVALS:
        raise PlanError(f"--against {against!r} must be {' or '.join(RIVALS)}.")
    if out is not None:
        _check_new(out)
    asked = Attack(strategy=strategy, against=against, node=Node.uniform(gpus), tasks=tasks, tries=tries, seed=seed)
    say_if_compiling()
    with progress_bar("searching", runs_of(asked), unit="cases") as advance:
        found = search(asked, advance)
    warn_overload(_overload(asked, found.worst), "the worst workload: ")
    if out is not None:
        _write(out, asked, found)
    if output is Format.JSON:
        from hybrid_ml_scheduler.cli.output.show import print_json

        print_json(_mapping(asked, found, out))
        return
    _print(asked, found, out)


def _overload(asked: Attack, found: Found) -> str | None:
    from hybrid_ml_scheduler.plans.overload import overload_words

    return overload_words(found.case.batch, asked.node)


def _check_new(out: Path) -> None:
    above = next(place for place in (out, *out.absolute().parents) if place.exists())
    check_place("--out", above / "worst.toml")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlanError(f"--out {out}: there is something already; name a new folder.")


def _write(out: Path, asked: Attack, found: AttackResult) -> None:
    """Leave the cases as a plan and as a workload."""
    from hybrid_ml_scheduler.workload import write_csv

    out.mkdir(parents=True, exist_ok=True)
    laws, seed = found.worst.case.laws, found.worst.case.seed
    lines = [f"# {_sentence('The worst workload', asked, found.worst)}", "[simulation]"]
    lines += [f"num_gpus = {asked.node.num_gpus}", f"seed = {seed}", "", "[workload]", 'preset = "mixed"']
    lines += [f"{name} = {_toml(value)}" for name, value in laws.items()]
    rivals = [name for name in (asked.strategy, found.worst.rival) if name != "bound"]
    lines += ["", "[schedulers]", f"race = {_toml(list(dict.fromkeys(rivals)))}", ""]
    (out / "worst.toml").write_text("\n".join(lines), encoding="utf-8")
    write_csv(found.smallest.case.batch, out / "smallest.csv")


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return repr(value)


def _sentence(what: str, asked: Attack, found: Found) -> str:
    from hybrid_ml_scheduler.plans.metrics import figure

    rival = "the proven bound" if found.rival == "bound" else found.rival
    return (
        f"{what}: {asked.strategy} has {figure(found.ratio)} times the mean latency of {rival} "
        f"({figure(found.latency_s)} s against {figure(found.rival_latency_s)} s)."
    )


def _print(asked: Attack, found: AttackResult, out: Path | None) -> None:
    from hybrid_ml_scheduler.core.text import amount
    from hybrid_ml_scheduler.plans.metrics import figure

    gpus = amount(asked.node.num_gpus, "GPU")
    typer.echo(f"Tried {amount(found.looked_at, 'case')} of {asked.strategy} on 1 CPU + {gpus}.")
    typer.echo(_sentence("Usually (preset mixed)", asked, found.usual))
    typer.echo(_sentence("The worst workload", asked, found.worst))
    for name, value in found.worst.case.laws.items():
        shown = ", ".join(figure(one) for one in value) if isinstance(value, tuple) else value
        typer.echo(f"  {name} = {shown if not isinstance(shown, float) else figure(shown)}")
    typer.echo(_sentence("The worst six tasks", asked, found.smallest))
    if out is not None:
        typer.echo(f"Race them: hms race --plan {out}/worst.toml and hms race --workload {out}/smallest.csv.")


def _mapping(asked: Attack, found: AttackResult, out: Path | None) -> dict[str, Any]:
    def case(one: Found) -> dict[str, Any]:
        values = {"ratio": one.ratio, "rival": one.rival, "latency_s": one.latency_s}
        laws = {name: list(value) if isinstance(value, tuple) else value for name, value in one.case.laws.items()}
        return {**values, "rival_latency_s": one.rival_latency_s, "laws": laws, "seed": one.case.seed}

    return {
        "strategy": asked.strategy,
        "against": asked.against,
        "num_gpus": asked.node.num_gpus,
        "looked_at": found.looked_at,
        "usual": case(found.usual),
        "worst": case(found.worst),
        "smallest": case(found.smallest),
        "out": None if out is None else str(out),
    }
