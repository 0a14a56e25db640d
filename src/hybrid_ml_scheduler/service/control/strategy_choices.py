"""Which strategies a client may ask for: registered ones, and files that somebody at the machine has named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.knowledge import at_level, split_level
from hybrid_ml_scheduler.schedulers import SchedulerEntry, available, find
from hybrid_ml_scheduler.schedulers.tuned import is_tuned_file

__all__ = ["StrategyChoices"]


class StrategyChoices:
    """Knows the strategies named when the service started and those of stored runs; asking for others runs no file."""

    def __init__(self, named: Iterable[str]) -> None:
        self._registered = available()  # looking through all installed distributions takes long, so once
        self._named = dict.fromkeys(named)

    def learn(self, specs: Iterable[str]) -> None:
        """Add strategies that take part in a run."""
        self._named.update(dict.fromkeys(specs))

    def entries(self, specs: Iterable[str]) -> dict[str, SchedulerEntry]:
        """Return what is known about these strategies by name; one whose file has gone is left out."""
        found: dict[str, SchedulerEntry] = {}
        for spec in specs:
            try:
                entry = self._registered.get(spec) or find(spec)
            except SchedulerError:
                continue
            found[entry.name] = entry
        return found

    def all_entries(self) -> dict[str, SchedulerEntry]:
        """Return every strategy that may be asked for."""
        return self._registered | self.entries(self._named)

    def plan_names(self, asked: Sequence[str]) -> list[str]:
        """Return the strategies that a client asked for, by name or file and at any level, as a plan names them."""
        return [at_level(self._spec(bare), level) for bare, level in map(split_level, asked)]

    def _spec(self, asked: str) -> str:
        if asked in self._registered or asked in self._named:
            return asked
        for spec in self._named:
            if _place(spec) == _place(asked) or asked in self.entries([spec]):
                return spec
        if ".py" in asked or is_tuned_file(asked):
            raise SchedulerError(
                f"{asked} was not named when the service started, and a file is not run because a client asks for it; "
                f"name it there (hms serve --scheduler {asked}, or HMS_SCHEDULERS)."
            )
        return find(asked).name  # there is none: says which ones are near


def _place(spec: str) -> tuple[Path, str]:
    """Return a file and the class in it, if one is named, however the way to the file is written."""
    path, _, attribute = spec.rpartition(":") if not is_tuned_file(spec) else (spec, "", "")
    return Path(path).resolve(), attribute
