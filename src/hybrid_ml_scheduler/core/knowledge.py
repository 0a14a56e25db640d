"""What strategies are told about durations: three levels, and how a name asks for one of them.

`exact`: the true seconds without the noise. `nominal`: the formula (of a trace, what was known beforehand).
`learned`: starts as nominal and learns from what this strategy has seen finish.

Backlogs are part of it. Who is told the truth or learns has them corrected by every part that is seen to end. At
`nominal` they are `estimated`: believed seconds less the time passed, whatever finishes. A plan may ask for those that
are `seen`.
"""

from __future__ import annotations

from typing import Literal, get_args

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.text import nearest_hint

__all__ = [
    "BACKLOGS",
    "ESTIMATED",
    "EXACT",
    "LEARNED",
    "LEVELS",
    "NOMINAL",
    "SEEN",
    "Backlogs",
    "Level",
    "at_level",
    "checked_backlogs",
    "checked_level",
    "level_of",
    "sees_ends",
    "split_level",
]

Level = Literal["exact", "nominal", "learned"]
LEVELS: tuple[Level, ...] = get_args(Level)
EXACT, NOMINAL, LEARNED = LEVELS
Backlogs = Literal["estimated", "seen"]
BACKLOGS: tuple[Backlogs, ...] = get_args(Backlogs)
ESTIMATED, SEEN = BACKLOGS
_MARK = "@"


def checked_level(where: str, level: object) -> Level:
    """Return a level of knowledge, or refuse what is none with a sentence that says where it stands."""
    if level not in LEVELS:
        raise PlanError(f"{where} = {level!r} is no level of knowledge{nearest_hint(level, LEVELS)}")
    return level


def checked_backlogs(where: str, backlogs: object) -> Backlogs:
    """Return what backlogs are at the level `nominal`, or refuse what is none of the two."""
    if backlogs not in BACKLOGS:
        raise PlanError(f"{where} = {backlogs!r} must be estimated or seen.")
    return backlogs


def sees_ends(level: Level, nominal_backlogs: Backlogs) -> bool:
    """Whether a strategy's backlogs are corrected by the parts that it sees end."""
    return level != NOMINAL or nominal_backlogs == SEEN


def split_level(spec: str) -> tuple[str, Level | None]:
    """Return a strategy's name or file without its level, and the level if one is asked for (`name@level`)."""
    bare, mark, level = spec.rpartition(_MARK)
    if not mark or "/" in level or ":" in level:  # a folder of a file may hold the mark
        return spec, None
    return bare, checked_level(f"{spec}: the level", level)


def level_of(strategy: object, asked: Level | None, usual: Level) -> Level:
    """The level at which a strategy decides: as asked, else as is usual; one may have a level of its own (`knows`)."""
    own: Level | None = getattr(strategy, "knows", None)
    if own is not None and asked not in (None, own):
        raise PlanError(f"{getattr(strategy, 'name', strategy)} is always at the level {own}, never at {asked}.")
    return own or asked or usual


def at_level(name: str, level: Level | None) -> str:
    """The identifier of a strategy at a level that was asked for by name."""
    return name if level is None else f"{name}{_MARK}{level}"
