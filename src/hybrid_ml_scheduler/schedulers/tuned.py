"""Tuned files: a strategy with options that suit one's own tasks, used wherever a strategy's name is.

A file is versioned data that is checked before anything is made of it, never a pickle and never code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import ModelError, SchedulerError
from hybrid_ml_scheduler.learning.files import json_model, write_model

__all__ = ["TunedRule", "is_tuned_file", "load_tuned", "save_tuned"]

FORMAT = "hybrid-ml-scheduler/tuned"
VERSION = 1
_HOLD_FORMAT = "hybrid-ml-scheduler/rl-hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedRule:
    """A strategy by name, its options, and how they were found."""

    strategy: str
    options: Mapping[str, Any]
    record: Mapping[str, Any] = field(default_factory=dict)


def is_tuned_file(spec: str) -> bool:
    """Whether a strategy is asked for by a file of options or of a trained model."""
    return spec.endswith(".json")


def save_tuned(rule: TunedRule, place: Path) -> None:
    """Write a tuned file whole; a limit that is none is null."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "record": dict(rule.record),
        "strategy": rule.strategy,
        "options": {name: _plain(value) for name, value in rule.options.items()},
    }
    text = json.dumps(document, indent=1) + "\n"
    write_model(place, lambda beside: Path(beside).write_text(text, encoding="utf-8"))


def load_tuned(path: str) -> TunedRule:
    """Read a tuned file, or one of `rl_hold`'s models; refuses any other with one sentence."""
    place = Path(path)
    if not place.is_file():
        raise SchedulerError(f"There is no file {path}.")
    try:
        if _format_of(place) == _HOLD_FORMAT:
            return TunedRule(strategy="rl_hold", options={"model": str(place.resolve())})
        document = json_model(place, FORMAT, VERSION)
    except ModelError as error:
        raise SchedulerError(f"{path} is no tuned strategy: {error}") from error
    strategy, options = document.get("strategy"), document.get("options")
    if not isinstance(strategy, str) or not isinstance(options, dict):
        raise SchedulerError(f"{path} is no tuned strategy: it names no strategy with options.")
    record = document.get("record")
    return TunedRule(
        strategy=strategy,
        options={name: _limits(value) for name, value in options.items()},
        record=record if isinstance(record, dict) else {},
    )


def _format_of(place: Path) -> object:
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # the reader of tuned files says what is wrong
    return document.get("format") if isinstance(document, dict) else None


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and math.isinf(value) else value


def _limits(value: Any) -> Any:
    return [math.inf if one is None else one for one in value] if isinstance(value, list) else value
