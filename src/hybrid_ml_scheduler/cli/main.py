"""`hms`: one command a question. Modules are imported when their command is called, so that help is instant."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from hybrid_ml_scheduler.cli.help_words import PlainCommand, PlainGroup, speak_plainly

__all__ = ["app", "main", "run"]

# name -> (module, attribute, one line for the overview); the order is that of the overview.
_COMMANDS: dict[str, tuple[str, str, str]] = {
    "race": ("race", "race", "Race strategies on one workload and print who did what."),
    "schedulers": ("race", "schedulers", "List every strategy that can race, or check your own."),
    "nodes": ("recommend", "nodes", "List the GPU types that a node may be built of, with example prices."),
    "workload": ("workload", "app", "Make tasks, look at them, and convert traces."),
    "train": ("train", "train", "Train the forest or the agent and save the model."),
    "tune": ("tune", "tune", "Tune a strategy to your own tasks and machine, or be told to keep what you have."),
    "evaluate": ("evaluate", "evaluate", "Judge a saved model on seeds it never saw."),
    "shift": ("shift", "shift", "Who adapts when the workload changes?"),
    "knowledge": ("knowledge", "knowledge", "What does it cost not to know how long tasks take?"),
    "heavy": ("heavy", "heavy", "10,000 tasks, every strategy: plots, tables and a PDF."),
    "pipeline": ("pipeline", "pipeline", "Profile, train, evaluate and report in one resumable run."),
    "report": ("heavy", "report", "Remake plots and PDF from stored results."),
    "sweep": ("sweep", "sweep", "A grid of plans on all cores or on Ray: tables, plots and a PDF."),
    "attack": ("attack", "attack", "Search workloads on which a strategy does worst."),
    "explain": ("explain", "explain", "What if one decision of a run had been another?"),
    "recommend": ("recommend", "recommend", "The cheapest node and policy that keep a promise, and why."),
    "run": ("run", "run", "Run real tasks on real devices: built-in kinds, or your own program."),
    "calibrate": ("run", "calibrate", "Measure real kinds alone and together on this machine."),
    "validate": ("run", "validate", "Run streams for real and in the model, and say how far the model is off."),
    "models": ("models", "app", "What was learned about durations on this machine."),
    "profile": ("profile", "profile", "Measure this machine's CPU and GPUs."),
    "serve": ("serve", "serve", "Run the live arena with its API and dashboard."),
    "rollback": ("rollback", "rollback", "Call a strategy's earlier model back in a running service."),
    "db": ("db", "app", "Upgrade, check and export the database."),
}

_EXAMPLES = {
    "race": "Example: `hms race --workload heavy --seeds 10 --scheduler greedy --scheduler mine.py:Mine`",
    "schedulers": "Example: `hms schedulers --format json`, or `hms schedulers --check mine.py:Mine`",
    "nodes": "Example: `hms nodes`, then `hms race --gpu-type h200 --gpus 2`",
    "tune": "Example: `hms tune --workload mine.csv --hardware mine.json --out tuned.json`",
    "evaluate": "Example: `hms evaluate rl_split --load 0.8 --seeds 10 --plot rl_split.png`",
    "shift": "Example: `hms shift --seeds 10 --out results/shift`, then `hms report results/shift`",
    "knowledge": "Example: `hms knowledge --tasks 2000 --seeds 3 --load 0.8 --out results/knowledge`",
    "heavy": "Example: `hms heavy --tasks 2000 --seeds 5 --out results/heavy`",
    "pipeline": "Example: `hms pipeline --workload gpu_friendly --out results/gpu`, or one phase: `--phase data`",
    "report": "Example: `hms report results/heavy`",
    "sweep": "Example: `hms sweep plans/sweep_load.toml --engine ray --address 127.0.0.1:6379`",
    "attack": "Example: `hms attack greedy --out results/attack`, then `hms race --plan results/attack/worst.toml`",
    "explain": "Example: `hms race --out results/race`, then `hms explain results/race --task 711`",
    "recommend": "Example: `hms recommend --workload mine.csv --nodes plans/nodes.toml --target 'p95_latency < 2 s'`",
    "serve": "Example: `hms serve --port 9000 --scheduler mine.py:Mine --scheduler oracle`",
    "rollback": "Example: `hms rollback hybrid_ml --url http://127.0.0.1:9000`",
    "run": "Example: `hms run --device numba --seconds 20 --repeats 3`, or `hms run script.py`",
    "calibrate": "Example: `hms calibrate --device numba --out results/mine`",
    "validate": "Example: `hms validate --device numba --load 0.5 --load 0.8 --repeats 2 --out results/mine`",
    "profile": "Example: `hms profile --quick --out mine.json`, then `hms race --hardware mine.json`",
}

_INTERRUPTED, _TERMINATED = 130, 143


class _Overview(PlainGroup):
    """A group whose members are imported only when they are called."""

    listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.listing = True
        super().format_help(ctx, formatter)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, summary = _COMMANDS[cmd_name]
        if self.listing:
            return TyperCommand(cmd_name, help=summary)
        found = getattr(importlib.import_module(f"hybrid_ml_scheduler.cli.commands.{module}"), attribute)
        return _as_command(found, cmd_name)


def _as_command(found: Any, name: str) -> TyperCommand | TyperGroup:
    if isinstance(found, typer.Typer):
        command = typer.main.get_command(speak_plainly(found))
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        single.command(name, cls=PlainCommand, epilog=_EXAMPLES.get(name))(found)
        command = typer.main.get_command(single)
    command.name = name
    return cast(TyperCommand | TyperGroup, command)


app = typer.Typer(
    name="hms",
    cls=_Overview,
    help="Hybrid ML Scheduler: race placement strategies on a clocked model of a CPU+GPU node.",
    epilog="Start with: `hms race`",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _show_version(value: bool) -> None:
    if value:
        from hybrid_ml_scheduler import __version__

        typer.echo(f"hms {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Hybrid ML Scheduler: race placement strategies on a clocked model of a CPU+GPU node."""


def main() -> None:
    """Run a command; whatever a user can cause ends in one sentence and exit code 2.

    A polite kill ends it as Ctrl-C does, so that nothing is left lying about; a second one at once.
    """
    killed: list[int] = []

    def interrupt(number: int, _: object) -> None:
        killed.append(number)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    code = run(sys.argv[1:])
    sys.exit(_TERMINATED if killed and code == _INTERRUPTED else code)


def run(arguments: Sequence[str]) -> int:
    """Run a command given as words; returns the exit code."""
    from hybrid_ml_scheduler.cli.refusals import empty_value, flag_sentence

    empty = empty_value(arguments)
    if empty is not None:
        return _refuse(empty)
    try:
        result = typer.main.get_command(app).main(list(arguments), prog_name="hms", standalone_mode=False)
    except typer.TyperException as error:
        sentence = flag_sentence(error, arguments)
        return _refuse(sentence) if sentence else 0  # without a sentence, the help was asked for and shown
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("Interrupted.", code=_INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 0
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # what tables are drawn with ends the program itself
            return 0
        raise
    except Exception as error:  # noqa: BLE001 - the top of the program: whatever it is becomes one sentence
        return _refuse_any(error, arguments)
    if result == _INTERRUPTED:  # typer turns Ctrl-C into this code without a word
        return _refuse("Interrupted.", code=_INTERRUPTED)
    return result if isinstance(result, int) else 0


def _refuse_any(error: Exception, words: Sequence[str]) -> int:
    """A sentence for whatever went wrong; a fault in a user's own strategy names its file and line."""
    from hybrid_ml_scheduler.cli.refusals import file_sentence, named_by_flag
    from hybrid_ml_scheduler.core.errors import HmsError

    if isinstance(error, HmsError):
        return _refuse(named_by_flag(str(error), words))
    if isinstance(error, OSError):
        return _refuse(file_sentence(error))
    if os.environ.get("HMS_TRACEBACK"):
        raise error
    from hybrid_ml_scheduler.schedulers.own_code import authors_line

    line = authors_line(error)  # of a strategy of one's own, also where it is our code that it called in a wrong way
    if line:
        return _refuse(f"{type(error).__name__} in {line}: {error} (HMS_TRACEBACK=1 shows the whole way there).")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    own = "hybrid_ml_scheduler" in Path(frame.filename).parts
    where = f"{Path(frame.filename).name}, line {frame.lineno}"
    hint = "this is a fault of hms; " if own else ""
    _refuse(f"{type(error).__name__} in {where}: {error} ({hint}HMS_TRACEBACK=1 shows the whole way there).")
    return 70 if own else 2


def _refuse(sentence: str, code: int = 2) -> int:
    print(f"hms: {' '.join(sentence.split())}", file=sys.stderr)
    return code
