"""All strategies by name: built in, from entry points, or from a user's file.

A built-in is named by module and class, so that listing strategies imports none of them.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from hybrid_ml_scheduler.core.errors import HmsError, SchedulerError
from hybrid_ml_scheduler.core.knowledge import at_level, split_level
from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.core.text import nearest_hint, plain_text
from hybrid_ml_scheduler.schedulers.naming import is_name, require_name, spoken
from hybrid_ml_scheduler.schedulers.own_code import strategy_errors, strategy_errors_at
from hybrid_ml_scheduler.schedulers.tuned import is_tuned_file, load_tuned

__all__ = [
    "DEFAULT_RACE",
    "ENTRY_POINT_GROUP",
    "SchedulerEntry",
    "absolute_spec",
    "available",
    "create",
    "find",
    "options_for",
]

ENTRY_POINT_GROUP = "hybrid_ml_scheduler.schedulers"
_PACKAGE = "hybrid_ml_scheduler.schedulers"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerEntry:
    """What is known about a strategy before it is made."""

    name: str
    label: str
    kind: str
    summary: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Scheduler]:
        """Import the class behind the entry."""
        module, _, attribute = self.target.rpartition(":")
        return cast(Callable[..., Scheduler], getattr(importlib.import_module(module), attribute))


def _built_in(name: str, label: str, kind: str, target: str, summary: str) -> SchedulerEntry:
    return SchedulerEntry(name=name, label=label, kind=kind, summary=summary, target=f"{_PACKAGE}.{target}")


_BUILT_IN = (
    _built_in(
        "round_robin", "Round robin", "baseline", "rules.round_robin:RoundRobin", "GPU 0, CPU, GPU 1, CPU ... in turn"
    ),
    _built_in("random", "Random", "baseline", "rules.random_split:RandomSplit", "uniform share on a uniform GPU"),
    _built_in("greedy", "Greedy", "baseline", "rules.greedy:Greedy", "share = compute intensity, least loaded GPU"),
    _built_in(
        "hybrid_ml",
        "Hybrid ML",
        "learner",
        "forest.hybrid_ml:HybridMl",
        "learns how long tasks take; places and orders by that",
    ),
    _built_in(
        "hybrid_ml_share",
        "Hybrid ML share",
        "learner",
        "forest.hybrid_ml_share:HybridMlShare",
        "a forest predicts the fastest share; least loaded GPU",
    ),
    _built_in(
        "rl_agent", "RL agent", "learner", "agents.rl_agent:RlAgent", "a Dueling Double DQN picks a whole device"
    ),
    _built_in(
        "rl_split", "RL split", "learner", "agents.rl_split:RlSplit", "learned value of the queues picks GPU and share"
    ),
    _built_in("rl_hold", "RL hold", "learner", "agents.rl_hold:RlHold", "holds; replays what it saw to choose how"),
    _built_in("oracle", "Oracle", "reference", "rules.oracle:Oracle", "fastest split on a grid; ignores queues"),
    _built_in("sjf", "Shortest first", "heuristic", "holding.sjf:ShortestFirst", "holds; the shortest starts first"),
    _built_in("lpt", "Longest first", "heuristic", "holding.lpt:LongestFirst", "holds; the longest starts first"),
    _built_in("edf", "Earliest deadline", "heuristic", "holding.edf:EarliestDeadline", "holds; what is due first"),
    _built_in("size_split", "Size split", "heuristic", "holding.size_split:SizeSplit", "a GPU for the long ones"),
    _built_in("rank_hold", "Rank hold", "heuristic", "holding.rank_hold:RankHold", "holds; longest way to go first"),
    _built_in("min_min", "Min-Min", "heuristic", "holding.min_min:MinMin", "holds; what can be done soonest first"),
    _built_in("max_min", "Max-Min", "heuristic", "holding.min_min:MaxMin", "holds; what would be done last first"),
    _built_in("sufferage", "Sufferage", "heuristic", "holding.min_min:Sufferage", "holds; who loses most goes first"),
    _built_in("c_mu", "c-mu", "heuristic", "holding.c_mu:CMu", "holds; a device takes what is shortest on it"),
    _built_in(
        "hetero_prio", "HeteroPrio", "heuristic", "holding.hetero_prio:HeteroPrio", "holds; GPUs take what gains most"
    ),
    _built_in(
        "work_stealing", "Work stealing", "heuristic", "holding.work_stealing:WorkStealing", "holds; idle ones steal"
    ),
    _built_in(
        "lp_classes", "LP classes", "heuristic", "holding.lp_classes:LpClasses", "plans; linear programme, then LPT"
    ),
    _built_in("heft", "HEFT", "heuristic", "holding.heft:Heft", "plans by upward rank, into gaps"),
    _built_in("peft", "PEFT", "heuristic", "holding.peft:Peft", "plans by optimistic cost, into gaps"),
    _built_in("best_of", "Best of", "heuristic", "holding.best_of:BestOf", "plans by every order, takes the best"),
    _built_in(
        "local_search", "Local search", "heuristic", "holding.local_search:LocalSearch", "betters a plan step by step"
    ),
    _built_in("fifo", "FIFO", "heuristic", "holding.fifo:Fifo", "waits; first come, first served by partition"),
    _built_in(
        "easy_backfill",
        "EASY backfill",
        "heuristic",
        "holding.easy_backfill:EasyBackfill",
        "waits; later tasks may fill the gap before the first one",
    ),
    _built_in("cpu_only", "CPU only", "baseline", "rules.fixed:CpuOnly", "everything on the CPU"),
    _built_in("gpu_only", "GPU only", "baseline", "rules.fixed:GpuOnly", "everything on the least loaded GPU"),
    _built_in(
        "earliest_device", "Earliest device", "heuristic", "rules.earliest:EarliestDevice", "device that ends first"
    ),
    _built_in(
        "earliest_finish", "Earliest finish", "heuristic", "rules.earliest:EarliestFinish", "split that ends first"
    ),
    _built_in(
        "frugal_finish",
        "Frugal finish",
        "heuristic",
        "rules.frugal_finish:FrugalFinish",
        "soon, for few device-seconds",
    ),
)

_RETIRED_MODES = {
    ("hybrid_ml", "at_once"): 'hybrid_ml has no mode "at_once" since 0.3: it lets tasks wait in every command. Leave '
    "the mode out; a stored run that used it cannot be continued, so start a new one."
}

DEFAULT_RACE = (
    "round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle", "earliest_finish", "sjf", "rl_hold",
)  # fmt: skip


def available() -> dict[str, SchedulerEntry]:
    """Every strategy that can be named, built-ins first, then entry points."""
    entries = {entry.name: entry for entry in _BUILT_IN}
    for entry in _installed(tuple(sys.path)):
        if is_name(entry.name):  # of any other, whoever asks for it is told what is wrong with it
            entries.setdefault(entry.name, entry)
    return entries


@lru_cache(maxsize=1)
def _installed(_places: tuple[str, ...]) -> tuple[SchedulerEntry, ...]:
    """What other distributions announce; looked up once a search path, since that reads the metadata of them all."""
    return tuple(
        SchedulerEntry(
            name=point.name,
            label=spoken(point.name),
            kind="plugin",
            summary=f"entry point {point.value}",
            target=point.value,
        )
        for point in entry_points(group=ENTRY_POINT_GROUP)
    )


def find(spec: str) -> SchedulerEntry:
    """Return the entry of a name, of a class in a file (`path/to/file.py:Class`) or of a tuned file (`tuned.json`).

    Each may end in `@level`.
    """
    bare, level = split_level(spec)
    entry = _find(bare)
    if level is None:
        return entry
    return replace(entry, name=at_level(entry.name, level), label=f"{entry.label} ({level})")


def _find(spec: str) -> SchedulerEntry:
    path, separator, attribute = spec.rpartition(":")
    if separator and path.endswith(".py"):
        return _from_file(Path(path), attribute)
    if is_tuned_file(spec):
        return _from_tuned(spec)
    if spec.endswith(".py"):
        raise SchedulerError(f"{spec} is a file: name the class in it too, as {spec}:Class.")
    entries = available()
    if spec in entries:
        return entries[spec]
    for entry in _installed(tuple(sys.path)):
        if entry.name == spec:
            require_name(f"The entry point of {entry.target}", spec)
    raise SchedulerError(f"There is no strategy called {spec!r}{nearest_hint(spec, entries)}")


def absolute_spec(spec: str) -> str:
    """Return a strategy's name as it is, and a file with its whole path, so that it is found from any folder."""
    bare, level = split_level(spec)
    if is_tuned_file(bare):
        return at_level(str(Path(bare).resolve()), level)
    path, separator, attribute = bare.rpartition(":")
    return at_level(f"{Path(path).resolve()}:{attribute}", level) if separator and path.endswith(".py") else spec


def options_for(spec: str, options: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """A strategy's own options among those of a plan: under its name or, for a class in a file, `file.py:Class`.

    They apply to all levels of knowledge of the strategy.
    """
    bare, _ = split_level(spec)
    name = _find(bare).name
    given = [key for key in dict.fromkeys((bare, name)) if key in options]
    if len(given) > 1:
        raise SchedulerError(f"The options of {name} stand twice, under {bare!r} and under {name!r}: keep one.")
    return options[given[0]] if given else {}


def create(spec: str, options: Mapping[str, Any] | None = None) -> Scheduler:
    """Make a strategy from its name or file, with keyword options for its constructor; a level makes no difference."""
    entry = _find(split_level(spec)[0])
    try:
        with strategy_errors_at(spec, "loaded", ImportError, AttributeError):
            factory = entry.load()
    except (ImportError, AttributeError) as error:
        raise SchedulerError(f"The strategy {spec!r} cannot be loaded: {error}.") from error
    factory, wanted = _in_mode(entry, factory, {**entry.options, **(options or {})})
    _check_options(entry, factory, wanted)
    try:
        with strategy_errors_at(spec, "made", TypeError, ValueError):
            scheduler = factory(**wanted)
    except HmsError:
        raise
    except (TypeError, ValueError) as error:
        raise SchedulerError(f"The strategy {spec!r} cannot be made: {error}.") from error
    if not isinstance(getattr(scheduler, "name", None), str) or not callable(getattr(scheduler, "decide", None)):
        raise SchedulerError(f"{spec!r} is no strategy: it needs a `name` and a method `decide(task, cluster)`.")
    if is_tuned_file(split_level(spec)[0]) or "mode" in (options or {}):
        scheduler.name = entry.name  # it may race beside the strategy that it is tuned from, or is another name of
    require_name(spec, scheduler.name)
    return scheduler


def _in_mode(
    entry: SchedulerEntry, factory: Callable[..., Scheduler], options: dict[str, Any]
) -> tuple[Callable[..., Scheduler], dict[str, Any]]:
    """A strategy may come in several `modes`, each a class of its own with its own options."""
    modes: Mapping[str, Callable[..., Scheduler]] = getattr(factory, "modes", {})
    if not modes or "mode" not in options:
        return factory, options
    mode = options.pop("mode")
    if (entry.name, mode) in _RETIRED_MODES:
        raise SchedulerError(_RETIRED_MODES[entry.name, mode])
    if mode not in modes:
        raise SchedulerError(f"{entry.name} has no mode {mode!r}{nearest_hint(mode, modes)}")
    return modes[mode], options


def _check_options(entry: SchedulerEntry, factory: Callable[..., Scheduler], options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(factory).parameters
    if any(parameter.kind == inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for key in options:
        if key not in parameters:
            raise SchedulerError(f"{entry.name} has no option {key!r}{nearest_hint(key, parameters)}")
        _check_kind(f"{entry.name}.{key}", options[key], parameters[key].default)


def _check_kind(path: str, value: Any, default: Any) -> None:
    """Refuse a value of another kind than the option's default: text for a number, a fraction for a count."""
    if isinstance(default, bool):
        fits, wanted = isinstance(value, bool), "true or false"
    elif isinstance(default, int):
        fits, wanted = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    elif isinstance(default, float):
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        wanted = "a finite number"
    elif isinstance(default, str):
        fits, wanted = isinstance(value, str), "text"
    else:
        return  # no default to go by: the strategy itself must judge
    if not fits:
        raise SchedulerError(f"{path} = {value!r} must be {wanted}.")


def _from_tuned(spec: str) -> SchedulerEntry:
    """A tuned file: named after the file, so that several can race beside one another and beside what they are of."""
    tuned, name = load_tuned(spec), Path(spec).stem
    require_name(spec, name)
    entries = available()
    if name in entries:
        raise SchedulerError(f"{spec} would race as {name!r}, which is a strategy's name: rename the file.")
    if tuned.strategy not in entries:
        raise SchedulerError(f"{spec}: there is no strategy called {tuned.strategy!r}.")
    entry = entries[tuned.strategy]
    return replace(
        entry,
        name=name,
        label=f"{spoken(name)} ({entry.label})",
        kind="plugin",
        summary=f"{entry.label} with the options of {Path(spec).name}",
        options=tuned.options,
    )


def _from_file(path: Path, attribute: str) -> SchedulerEntry:
    module = _load_file(path)
    strategy = getattr(module, attribute, None)
    if not isinstance(strategy, type):
        raise SchedulerError(f"{path} has no class {attribute!r}.")
    name = getattr(strategy, "name", None)
    if not isinstance(name, str):
        raise SchedulerError(f"{path}: class {attribute} needs a class attribute `name`, such as my_rule.")
    require_name(f"{path}:{attribute}", name)
    if any(name == entry.name for entry in _BUILT_IN):
        raise SchedulerError(f"{path}: class {attribute} is called {name!r}, which is a built-in strategy's name.")
    summary = (inspect.getdoc(strategy) or f"from {path.name}").splitlines()[0]
    label = getattr(strategy, "label", spoken(name))
    return SchedulerEntry(
        name=name,
        label=plain_text(label),
        kind="plugin",
        summary=plain_text(summary),
        target=f"{module.__name__}:{attribute}",
    )


def _load_file(path: Path) -> ModuleType:
    resolved = path.resolve()
    if not resolved.is_file():
        raise SchedulerError(f"There is no file {path}.")
    name = f"hms_plugin_{hashlib.sha256(os.fsencode(resolved)).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise SchedulerError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with strategy_errors(f"{path} cannot be imported"):
            spec.loader.exec_module(module)
    except HmsError:
        del sys.modules[name]
        raise
    return module
