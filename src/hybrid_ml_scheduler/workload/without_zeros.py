"""Tasks that took zero seconds are no work for a scheduler: left out, counted and named, in every reader."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

__all__ = ["parents_inherited", "zero_seconds_note"]

Name = TypeVar("Name", bound=Hashable)
_MOST_NAMES = 5


def zero_seconds_note(left_out: int, total: int, names: Sequence[object]) -> str:
    """What was left out, in a sentence."""
    shown = ", ".join(str(name) for name in names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return (
        f"zero_seconds: {left_out:,} of {total:,} tasks took 0 seconds and are left out ({shown}); "
        "what waited for them waits for their parents."
    )


def parents_inherited(parents: Mapping[Name, Sequence[Name]], dropped: Collection[Name]) -> dict[Name, list[Name]]:
    """The parents of every task, in which one that is dropped is replaced by its own parents, and so on."""
    gone = set(dropped)
    return {name: list(own) if gone.isdisjoint(own) else _beyond(own, parents, gone) for name, own in parents.items()}


def _beyond(own: Sequence[Name], parents: Mapping[Name, Sequence[Name]], gone: set[Name]) -> list[Name]:
    """The kept tasks that lie behind these; found without recursion, since chains may be long."""
    found: dict[Name, None] = {}
    seen: set[Name] = set()
    pending: list[Name] = list(reversed(own))
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if one in gone:
            pending.extend(reversed(parents.get(one, ())))
        else:
            found[one] = None
    return list(found)
