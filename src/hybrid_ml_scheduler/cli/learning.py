"""`hms train` and `hms evaluate`: making and judging the learners."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["evaluate", "train"]


class Format(str, Enum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


class Kind(str, Enum):
    """The kinds of forest."""

    RANDOM_FOREST = "random_forest"
    EXTRA_TREES = "extra_trees"


class Agent(str, Enum):
    """The agents that can be trained."""

    RL_AGENT = "rl_agent"
    RL_SPLIT = "rl_split"


Workload = Annotated[str, typer.Option(metavar="PRESET", help="The workload to learn on or to be judged on.")]
Output = Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")]
Gpus = Annotated[int, typer.Option(min=1, max=64, help="Number of GPUs of the node.")]

# No test may meet a seed that some training saw: tests take at most 1,000 seeds from one below a million on.
FIRST_TRAINING_SEED = 1_000_000
LAST_TEST_SEED = FIRST_TRAINING_SEED - 1_000

train = typer.Typer(
    help="Train the forest or an agent and save the model.",
    epilog="Start with: `hms train forest --out forest.joblib`",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


@train.command(epilog="Example: `hms train forest --workload gpu_friendly --tasks 2000 --out forest.joblib`")
def forest(
    out: Annotated[Path, typer.Option(help="The model file to write (joblib).")] = Path("forest.joblib"),
    workload: Workload = "mixed",
    tasks: Annotated[int, typer.Option(min=50, help="How many labelled tasks to learn from.")] = 1_000,
    seed: Annotated[int, typer.Option(min=FIRST_TRAINING_SEED, help="Seed of the training tasks.")] = 4_000_000,
    kind: Annotated[Kind, typer.Option(help="Random forest, or extra trees.")] = Kind.RANDOM_FOREST,
    gpus: Gpus = 4,
    format: Output = Format.TABLE,
) -> None:
    """Fit the forest of `hybrid_ml` to oracle labels of generated tasks, and save it with its scaler."""
    from hybrid_ml_scheduler.cli.progress import busy
    from hybrid_ml_scheduler.core import stream
    from hybrid_ml_scheduler.experiments.judging import forest_ratio, summary
    from hybrid_ml_scheduler.experiments.labelling import labelled
    from hybrid_ml_scheduler.learning import fit_forest, save_forest
    from hybrid_ml_scheduler.physics import Node
    from hybrid_ml_scheduler.workload import preset

    node, law = Node.uniform(gpus), preset(workload)
    with busy(f"labelling {tasks:,} tasks, growing the forest and judging it"):
        features, shares = labelled(law, node, seed, tasks)
        model = fit_forest(features, shares, stream(seed, "training", "hybrid_ml"), kind=kind.value)
        save_forest(model, out, {"workload": workload, "seed": seed, "tasks": tasks, "num_gpus": gpus})
        mean, interval = summary(forest_ratio(model, law, node, range(5), 5_000))
    _show(
        {
            "model": str(out),
            "kind": kind.value,
            "samples": model.samples,
            "fit_error": model.fit_error,
            "execution_time_vs_optimum": mean,
            "execution_time_vs_optimum_ci": interval,
        },
        format,
    )


@train.command(epilog="Example: `hms train agent --strategy rl_split --out split.json`, then `hms evaluate split.json`")
def agent(
    strategy: Annotated[Agent, typer.Option(help="Which agent to train.")] = Agent.RL_AGENT,
    out: Annotated[Path | None, typer.Option(help="The file to write (default rl_agent.pth or rl_split.json).")] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PRESET",
            help="Workload to learn on (default mixed); rl_agent takes several, the first above all.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=FIRST_TRAINING_SEED, help="First training seed (default: that of the product)."),
    ] = None,
    effort: Annotated[float, typer.Option(min=0.001, max=10, help="Share of the full training budget.")] = 1.0,
    gpus: Gpus = 4,
    format: Output = Format.TABLE,
) -> None:
    """Train an agent in the simulator and save it.

    With nothing but the strategy this makes the very weights that the product ships: `rl_agent` by true
    returns of every action behind a searched demonstrator (minutes), `rl_split` by policy search (about
    ten minutes). `--effort 0.1` is for trying out. A name ending in `.npy` keeps the bare weights only.
    """
    from hybrid_ml_scheduler.physics import Node

    whole, names = strategy is Agent.RL_AGENT, workload or ["mixed"]
    place = out or Path("rl_agent.pth" if whole else "rl_split.json")
    make = _train_rl_agent if whole else _train_rl_split
    budget = make(names, Node.uniform(gpus), seed, effort, place)
    _show({"model": str(place), "strategy": strategy.value, "workloads": names, "budget": budget}, format)


def _train_rl_agent(names: list[str], node: Any, seed: int | None, effort: float, place: Path) -> Any:
    from dataclasses import replace

    from hybrid_ml_scheduler.experiments.agent_training import KNEE_LOAD, AgentBudget, train_agent
    from hybrid_ml_scheduler.experiments.homes import AGENT_TOLERANCES, home_of
    from hybrid_ml_scheduler.experiments.training_files import save_trained_agent
    from hybrid_ml_scheduler.workload import preset

    full = AgentBudget()
    budget = replace(
        full,
        search_rounds=max(1, round(full.search_rounds * effort)),
        search_tasks=max(500, round(full.search_tasks * min(1.0, effort))),
        tasks=max(2_000, round(full.tasks * min(1.0, effort))),
        sampled=full.sampled * min(1.0, effort),
        steps=max(20, round(full.steps * effort)),
        seed=full.seed if seed is None else seed,
    )
    laws = [preset(name) for name in names]
    with _stages() as tell:
        dqn = train_agent(laws, node, budget, tell)
    home = home_of(laws, node, budget.seed, AGENT_TOLERANCES, KNEE_LOAD)
    save_trained_agent(dqn, home, node, place)
    return budget.record()


def _train_rl_split(names: list[str], node: Any, seed: int | None, effort: float, place: Path) -> Any:
    from dataclasses import replace

    from hybrid_ml_scheduler.experiments.split_search import SearchBudget, search_split
    from hybrid_ml_scheduler.experiments.training_files import save_trained_split
    from hybrid_ml_scheduler.workload import preset

    full = SearchBudget()
    budget = replace(
        full,
        stream_rounds=max(1, round(full.stream_rounds * effort)),
        flood_rounds=max(1, round(full.flood_rounds * effort)),
        floods=max(1, round(full.floods * min(1.0, effort))),
        tasks=max(500, round(full.tasks * min(1.0, effort))),
        seed=full.seed if seed is None else seed,
    )
    with _stages() as tell:
        rounds = {"latency": budget.stream_rounds, "makespan": budget.flood_rounds, "knee": 100}
        model = search_split(preset(names[0]), node, budget, lambda curve, done, _: tell(curve, done, rounds[curve]))
    record = {"command": "hms train agent --strategy rl_split", "workload": names[0], **model.record}
    save_trained_split(replace(model, record=record), place)
    return budget.record()


def evaluate(
    model: Annotated[str, typer.Argument(help="A model file (.joblib, .pth, .npy, .json) or rl_agent, rl_split.")],
    workload: Workload = "mixed",
    load: Annotated[
        list[float] | None, typer.Option(min=0.001, max=100, help="Load of the node; repeat for more.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, max=1000, help="How many test seeds.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=LAST_TEST_SEED, help="The first test seed.")] = 0,
    tasks: Annotated[int, typer.Option(min=100, help="Tasks of each seed; the first tenth is discarded.")] = 20_000,
    gpus: Gpus = 4,
    format: Output = Format.TABLE,
) -> None:
    """Judge a saved, frozen model on seeds it never saw, with 95 % intervals.

    A forest is judged by execution time against the proven optimum, `rl_agent` by latency against
    `earliest_device`, `rl_split` by latency against `earliest_finish` and by makespan against the proven bound.
    """
    from hybrid_ml_scheduler.cli.progress import busy
    from hybrid_ml_scheduler.experiments.training_files import judged
    from hybrid_ml_scheduler.physics import Node
    from hybrid_ml_scheduler.workload import preset

    loads = tuple(load or (0.5, 0.8, 0.95))
    with busy(f"judging {model} on {seeds} seeds of {tasks:,} tasks"):
        result = judged(model, preset(workload), Node.uniform(gpus), loads, range(seed, seed + seeds), tasks)
    _show({"model": model, "workload": workload, "seeds": seeds, "tasks": tasks, **result}, format)


def _stages() -> AbstractContextManager[Callable[[str, int, int], None]]:
    """A progress bar over named stages."""
    from contextlib import contextmanager

    @contextmanager
    def shown() -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            lines: dict[str, Any] = {}

            def tell(stage: str, done: int, total: int) -> None:
                if stage not in lines:
                    lines[stage] = progress.add_task(stage, total=total)
                progress.update(lines[stage], completed=done)

            yield tell

    return shown()


def _show(result: dict[str, Any], format: Format) -> None:
    if format is Format.JSON:
        from hybrid_ml_scheduler.cli.show import print_json

        print_json(result)
        return
    for key, value in result.items():
        if key.endswith("_ci"):
            continue
        interval = result.get(f"{key}_ci")
        shown = f"{value:.4f}" if isinstance(value, float) else str(value)
        typer.echo(
            f"{key.replace('_', ' '):34} {shown}" + (f"  [{interval[0]:.4f}, {interval[1]:.4f}]" if interval else "")
        )
