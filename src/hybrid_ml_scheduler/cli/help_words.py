"""Help in plain words: what a flag takes, and nothing where it takes nothing."""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["PlainCommand", "PlainGroup", "speak_plainly"]

_WORDS = {"int": "N", "float": "X", "str": "TEXT", "path": "PATH", "bool": ""}
_NO_LIMIT = 1e9  # an upper end beyond this is the machine's, and tells nobody anything


class PlainCommand(TyperCommand):
    """A command whose help says `--tasks N (from 1)` and not `--tasks <int range> [x>=1]`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help."""
        _name_values(self, ctx)
        super().format_help(ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the usage line; what must be given stands there bare."""
        return [piece[1:-1].upper() if piece[:1] == "{" else piece for piece in super().collect_usage_pieces(ctx)]


class PlainGroup(TyperGroup):
    """A group of commands with the same help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help."""
        _name_values(self, ctx)
        super().format_help(ctx, formatter)


def speak_plainly(app: typer.Typer) -> typer.Typer:
    """Give a group and all commands in it the plain help."""
    app.info.cls = PlainGroup
    for command in app.registered_commands:
        command.cls = PlainCommand
    return app


def _name_values(command: TyperCommand | TyperGroup, ctx: Any) -> None:
    """Name what each option takes; only the help ever sees it, for nothing runs after it."""
    options: list[Any] = list(command.get_params(ctx))
    for option in options:
        shown = getattr(option, "display_type", None)
        if option.metavar is not None or shown is None or not option.opts[0].startswith("-"):
            continue
        if getattr(option, "is_flag", False):
            option.metavar = ""
            continue
        kind = re.sub(r"^list\[(.*)\]$", r"\1", shown(ctx).strip("<>")).removesuffix(" range")
        option.metavar = f"{_WORDS.get(kind, kind)}{_range_words(option.min, option.max)}"
        option.min = option.max = None  # told now; what is allowed is kept elsewhere


def _range_words(least: float | None, most: float | None) -> str:
    most = None if most is not None and most > _NO_LIMIT else most
    if least is None and most is None:
        return ""
    if most is None:
        return f" (from {_digits(least)})"
    return f" (up to {_digits(most)})" if least is None else f" ({_digits(least)} to {_digits(most)})"


def _digits(value: float | None) -> str:
    return str(int(value)) if value is not None and value == int(value) else str(value)
