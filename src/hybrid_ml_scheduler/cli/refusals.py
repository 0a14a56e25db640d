"""What was wrong with the words of a command, in one sentence that names flag and value."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Sequence
from typing import Any

import typer

__all__ = ["empty_value", "file_sentence", "flag_sentence", "named_by_flag"]

# Flags stand for keys of a plan, and the plan knows only those.
_FLAG_OF_KEY = {
    "workload.num_tasks": "--tasks",
    "workload.arrival_rate": "--rate",
    "workload.dependency_probability": "--dependencies",
    "workload.noise_sigma": "--noise",
    "workload.deadline_slack": "--deadline",
    "workload.slo_s": "--slo",
    "truth.kind_spread": "--spread",
    "simulation.num_gpus": "--gpus",
    "simulation.seeds": "--seeds",
    "simulation.seed": "--seed",
    "seed": "--seed",
    "limit": "--limit",
    "target": "--target",
    "best": "--best",
    "budget": "--budget",
    "current": "--current",
    "target load": "--target-load",
    "reference node": "--reference-node",
    "knowledge": "--knowledge",
    "leave-out-gangs-above": "--leave-out-gangs-above",
}
_FORMER_FLAG = {"--target": "--promise"}
# Settings that `hms serve` takes as flags too.
_FLAG_OF_SETTING = {"HOST": "--host", "PORT": "--port", "SPEED": "--speed", "DATABASE_URL": "--database"}
_LIMIT = re.compile(r"must be (at least|at most) ")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_TOO_MANY = re.compile(r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)")
_NO_COMMAND = re.compile(r"No such command '([^']*)'")


def empty_value(words: Sequence[str]) -> str | None:
    """A sentence for a value that is empty, which no flag and no argument may be."""
    for place, word in enumerate(words):
        flag, given, value = word.partition("=")
        if word == "" or (flag.startswith("--") and given and not value):
            owner = flag or (words[place - 1] if place else "")
            return f"The value of {owner} is empty." if owner.startswith("--") else "An argument is empty."
    return None


def flag_sentence(error: typer.TyperException, words: Sequence[str]) -> str:
    """What was wrong with the flags; empty if the help was asked for."""
    from hybrid_ml_scheduler.core.text import nearest_hint  # brings NumPy along, which help must not wait for

    unknown = getattr(error, "option_name", None)
    if isinstance(error, typer.BadParameter) and error.param is not None and not _is_missing(error):
        return _value_sentence(error, words)
    if isinstance(unknown, str) and "requires" not in str(error):
        return f"There is no option {unknown}{nearest_hint(unknown, _options(error))}"
    command = _NO_COMMAND.match(str(error))
    if command is not None:
        return f"There is no command {command[1]}{nearest_hint(command[1], _commands(error))}"
    more = _TOO_MANY.match(str(error))
    if more is not None:
        return f"{more[1]!r} is more than this command takes: see `{_path(error)} --help`."
    return _with_full_stop(error.format_message() if isinstance(error, typer.BadParameter) else str(error))


def _is_missing(error: typer.BadParameter) -> bool:
    return type(error).__name__ == "MissingParameter"


def _value_sentence(error: Any, words: Sequence[str]) -> str:
    from hybrid_ml_scheduler.core.text import plain_demand

    flag = next((name for name in error.param.opts if name.startswith("--")), error.param.opts[0])
    demand = plain_demand(str(error.message))
    values = list(_values(flag, words))
    if _LIMIT.match(demand) and any(value.strip().lower() == "nan" for value in values):
        demand = "must be a number"  # what is no number is neither above nor below a limit
    given = ", ".join(repr(value) for value in values)
    return _with_full_stop(f"{flag} = {given} {demand}" if given else f"{flag}: {demand}")


def _values(flag: str, words: Sequence[str]) -> Iterable[str]:
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == flag:
            yield after
        elif word.startswith(f"{flag}="):
            yield word.partition("=")[2]


def _options(error: Any) -> list[str]:
    return [name for option in error.ctx.command.params for name in option.opts if name.startswith("--")]


def _path(error: Any) -> str:
    return str(error.ctx.command_path)


def _commands(error: Any) -> list[str]:
    return list(error.ctx.command.list_commands(error.ctx))


def named_by_flag(sentence: str, words: Sequence[str]) -> str:
    """A refusal of a plan's key or of a setting, told by the flag that was given for it."""
    for table, mark in ((_FLAG_OF_KEY, " = "), (_FLAG_OF_SETTING, ": ")):
        key, _, rest = sentence.partition(mark)
        flag = table.get(key, "")
        given = {word.partition("=")[0] for word in words} & {flag, _FORMER_FLAG.get(flag)}
        if flag and given:
            return f"{given.pop()}{mark}{rest}"
    return sentence


def file_sentence(error: OSError) -> str:
    """What the system says about a file."""
    if error.filename is None and error.errno in _NO_ROOM:
        return f"The output cannot be written: {error.strerror}."
    if error.filename is None:
        return _with_full_stop(str(error))
    return f"{error.filename}: {error.strerror or 'it cannot be used'}."


def _with_full_stop(sentence: str) -> str:
    return sentence if not sentence or sentence.endswith((".", "?", "!")) else f"{sentence}."
