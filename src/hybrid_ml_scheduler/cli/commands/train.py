"""`hms train`: making the learners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_ml_scheduler.cli.output.formats import Format
from hybrid_ml_scheduler.cli.output.model_output import FIRST_TRAINING_SEED, Gpus, Hardware, Output, PlanFile, Plot

if TYPE_CHECKING:
    from hybrid_ml_scheduler.cli.output.model_output import LearningInputs
    from hybrid_ml_scheduler.training.training_log import TrainingLog

    Work = tuple[Mapping[str, float], Callable[[TrainingLog], None]]

__all__ = ["train"]


class Kind(str, Enum):
    """The kinds of forest."""

    RANDOM_FOREST = "random_forest"
    EXTRA_TREES = "extra_trees"


class Agent(str, Enum):
    """The agents that can be trained."""

    RL_AGENT = "rl_agent"
    RL_SPLIT = "rl_split"
    RL_HOLD = "rl_hold"


ENDINGS = {Agent.RL_AGENT: (".pth", ".npy"), Agent.RL_SPLIT: (".json",), Agent.RL_HOLD: (".json",)}

train = typer.Typer(
    help="Train the forest or an agent and save the model.",
    epilog="Start with: `hms train forest --out forest.joblib --plot forest.png`, then `hms evaluate forest.joblib`",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


@train.command(
    epilog="Example: `hms train forest --workload gpu_friendly --tasks 2000 --out forest.joblib --plot forest.svg`"
)
def forest(
    out: Annotated[Path, typer.Option(help="The model file to write (.joblib).")] = Path("forest.joblib"),
    workload: Annotated[
        str | None,
        typer.Option(metavar="PRESET|FILE", help="What to learn on (default mixed); of a file its earlier half."),
    ] = None,
    tasks: Annotated[int, typer.Option(min=50, max=100_000_000, help="How many labelled tasks to learn from.")] = 1_000,
    seed: Annotated[
        int, typer.Option(min=FIRST_TRAINING_SEED, max=2**62, help="Seed of the training tasks.")
    ] = 4_000_000,
    kind: Annotated[Kind, typer.Option(help="Random forest, or extra trees.")] = Kind.RANDOM_FOREST,
    gpus: Gpus = None,
    hardware: Hardware = None,
    plan: PlanFile = None,
    plot: Plot = None,
    format: Output = Format.TABLE,
) -> None:
    """Fit the forest of `hybrid_ml_share` to oracle labels of generated tasks, and save it with its scaler.

    The plot shows predicted beside best shares of unseen tasks, how the execution time comes down with the number of
    labels, and what each feature is worth.
    """
    from hybrid_ml_scheduler.cli.output.formats import stages
    from hybrid_ml_scheduler.cli.output.model_output import (
        check_plot,
        check_writable,
        learning_inputs,
        show,
        write_plot,
    )
    from hybrid_ml_scheduler.cli.output.training_report import forest_frames, forest_result, forest_table
    from hybrid_ml_scheduler.learning import save_forest
    from hybrid_ml_scheduler.plans.file_tasks import FileTasks
    from hybrid_ml_scheduler.training.forest_training import sizes_up_to, train_forest

    check_writable("--out", out, (".joblib",))
    check_plot(plot)
    inputs = learning_inputs([] if workload is None else [workload], gpus, hardware, plan)
    name, source, node = inputs.names[0], inputs.sources[0], inputs.node
    tasks = min(tasks, source.training_count) if isinstance(source, FileTasks) else tasks
    total, done = len(sizes_up_to(tasks)) + 1, 0
    with stages() as tell:

        def step() -> None:
            nonlocal done
            done += 1
            tell("growing and judging forests", done, total)

        trained = train_forest(source, node, seed, tasks, kind.value, step)
    save_forest(trained.model, out, {"workload": name, "seed": seed, "tasks": tasks, "num_gpus": node.num_gpus})
    write_plot("forest_training", forest_frames(trained, name), plot)
    result = {"model": str(out), "plot": None if plot is None else str(plot), "separation": inputs.separation}
    show(result | forest_result(trained), forest_table(trained, inputs, out, plot), format)


@train.command(
    epilog="Example: `hms train agent --effort 0.1 --out mine.pth --plot mine.png`, then `hms evaluate mine.pth`"
)
def agent(
    strategy: Annotated[Agent, typer.Option(help="Which agent to train.")] = Agent.RL_AGENT,
    out: Annotated[
        Path | None, typer.Option(help="The file to write (default rl_agent.pth, rl_split.json or rl_hold.json).")
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PRESET|FILE",
            help="Workload to learn on (default mixed); rl_agent takes several, the first above all.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=FIRST_TRAINING_SEED, max=2**62, help="First training seed (default: that of the product)."),
    ] = None,
    effort: Annotated[float, typer.Option(min=0.001, max=10, help="Share of the full training budget.")] = 1.0,
    gpus: Gpus = None,
    hardware: Hardware = None,
    plan: PlanFile = None,
    tensorboard: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write the curves for TensorBoard into this folder.")
    ] = None,
    plot: Plot = None,
    format: Output = Format.TABLE,
) -> None:
    """Train an agent in the simulator and save it.

    With nothing but the strategy this makes the very weights that the product ships: `rl_agent` by true
    returns of every action behind a searched demonstrator (about 40 s of one core), `rl_hold` by playing many
    workloads under all its settings (a minute and a half; on all presets and nodes of one to eight GPUs), `rl_split` by
    policy search (three and a half minutes of one core, shared by all cores). `--effort 0.1` is for trying out. A name
    ending in `.npy` keeps the bare weights only. The plot shows the learning curves: search, loss, and latency on
    training seeds; `rl_hold`, which is fitted in one step, has none, and is judged by `hms race` instead of
    `hms evaluate`.
    """
    from hybrid_ml_scheduler.cli.output.formats import stages
    from hybrid_ml_scheduler.cli.output.model_output import (
        check_plot,
        check_writable,
        learning_inputs,
        show,
        write_plot,
    )
    from hybrid_ml_scheduler.cli.output.training_report import agent_table, curve_frames
    from hybrid_ml_scheduler.training.training_log import TrainingLog

    place = out or Path(f"{strategy.value}{ENDINGS[strategy][0]}")
    check_writable("--out", place, ENDINGS[strategy])
    check_plot(plot)
    prepare = {Agent.RL_AGENT: _agent_work, Agent.RL_SPLIT: _split_work, Agent.RL_HOLD: _hold_work}[strategy]
    # All that can be refused is refused here: the log begins its folder as soon as it is opened.
    if strategy is Agent.RL_HOLD and plot is not None:
        from hybrid_ml_scheduler.core.errors import PlanError

        raise PlanError(f"--plot {plot}: rl_hold is fitted in one step, so there is no curve to draw.")
    inputs = learning_inputs(workload or (_all_presets() if strategy is Agent.RL_HOLD else []), gpus, hardware, plan)
    budget, work = prepare(inputs, seed, effort, place)
    with stages() as tell, TrainingLog(tell, tensorboard, strategy.value) as log:
        work(log)
    if plot is not None:
        write_plot(f"{strategy.value}_training", curve_frames(strategy.value, log.curves, inputs.names), plot)
    result = {
        "model": str(place),
        "plot": None if plot is None else str(plot),
        "tensorboard": tensorboard,
        "strategy": strategy.value,
        "workloads": inputs.names,
        "separation": inputs.separation,
        "budget": budget,
        "curves": log.curves,
    }
    show(result, agent_table(result), format)


def _agent_work(inputs: LearningInputs, seed: int | None, effort: float, place: Path) -> Work:
    """How to train `rl_agent` and save it, and what that costs."""
    from hybrid_ml_scheduler.training.agent_training import AgentBudget, train_agent
    from hybrid_ml_scheduler.training.training_files import save_trained_agent

    budget, node = AgentBudget().with_effort(effort, seed), inputs.node

    def work(log: TrainingLog) -> None:
        save_trained_agent(train_agent(inputs.sources, node, budget, log), node, place)

    return budget.record(), work


def _split_work(inputs: LearningInputs, seed: int | None, effort: float, place: Path) -> Work:
    """How to train `rl_split` and save it, and what that costs."""
    from hybrid_ml_scheduler.core.errors import PlanError
    from hybrid_ml_scheduler.training.split_search import SearchBudget, train_split
    from hybrid_ml_scheduler.training.training_files import save_trained_split

    names = inputs.names
    if len(names) > 1:
        raise PlanError(f"rl_split learns on one workload, not on {len(names)} ({', '.join(names)}).")
    budget = SearchBudget().with_effort(effort, seed)

    def work(log: TrainingLog) -> None:
        save_trained_split(train_split(inputs.sources[0], inputs.node, budget, log), names, place)

    return budget.record(), work


def _all_presets() -> list[str]:
    from hybrid_ml_scheduler.workload import PRESETS

    return list(PRESETS)


def _hold_work(inputs: LearningInputs, seed: int | None, effort: float, place: Path) -> Work:
    """How to train `rl_hold` and save it, and what that costs."""
    from hybrid_ml_scheduler.core.errors import PlanError
    from hybrid_ml_scheduler.physics import Node
    from hybrid_ml_scheduler.training.hold_training import HoldBudget, train_hold
    from hybrid_ml_scheduler.training.training_files import save_trained_hold
    from hybrid_ml_scheduler.workload import WorkloadParameters

    laws = [source for source in inputs.sources if isinstance(source, WorkloadParameters)]
    if len(laws) < len(inputs.sources):
        raise PlanError("rl_hold is trained on presets; `hms tune` fits it to the tasks of a file.")
    if inputs.names == _all_presets():
        laws = []  # nothing was asked for: what no preset has is among the workloads as well
    budget = HoldBudget().with_effort(effort, seed)

    def work(log: TrainingLog) -> None:
        node = None if inputs.node == Node() else inputs.node
        save_trained_hold(train_hold(budget, log, laws=laws, node=node), inputs.names, place)

    return budget.record(), work
