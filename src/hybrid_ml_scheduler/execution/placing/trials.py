"""When a device that is believed to be slower is tried again: one unlucky measurement must not decide for ever.

What is believed of a device that is not used never changes. So it is tried again when a try is cheap: when the least it
may take (the lower end of its interval) is at most a tenth of what was spent on the kind elsewhere since its last run
there. After each try the allowance is halved, unless the try was faster than that lower end. A device that really is
slower is therefore tried ever more rarely, and all tries together cost a share of the time that goes to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hybrid_ml_scheduler.learning.duration_model import Belief, shown_seconds

__all__ = ["Trial", "Trials", "trial_sentence"]

ALLOWED_SHARE = 0.1
_MOST_REMEMBERED = 4096


class Trial(NamedTuple):
    """Why a device is tried again: what is believed of it, and what was spent elsewhere since it last ran the kind."""

    device: str
    believed_s: float
    low_s: float
    runs: int
    spent_s: float


class _Account:
    """One kind on one device: what had been spent elsewhere when it last ran, and how often it was tried since."""

    __slots__ = ("low_s", "mark_s", "placed", "tries")

    def __init__(self, mark_s: float) -> None:
        self.mark_s, self.placed, self.tries, self.low_s = mark_s, 0, 0, 0.0


class Trials:
    """Accounts of time spent, by kind and device; its owner holds the lock."""

    def __init__(self, belief: Callable[[str, str, float], Belief]) -> None:
        self._belief = belief
        self._spent_s: dict[str, float] = {}
        self._accounts: dict[tuple[str, str], _Account] = {}

    def due(self, kind: str, device: str, size: float) -> Trial | None:
        """Why this device is tried again now; None if it is not."""
        account = self._accounts.get((kind, device))
        spent_s = 0.0 if account is None else self._spent_s.get(kind, 0.0) - account.mark_s
        if account is None or spent_s <= 0.0:
            return None
        believed = self._belief(kind, device, size)
        if not believed.runs or believed.low_s * 2.0**account.tries > ALLOWED_SHARE * spent_s:
            return None
        return Trial(device, believed.seconds, believed.low_s, believed.runs, spent_s)

    def times_placed(self, kind: str, device: str) -> int:
        """How many tasks of the kind went to the device."""
        account = self._accounts.get((kind, device))
        return 0 if account is None else account.placed

    def placed(self, kind: str, device: str, trial: Trial | None) -> None:
        """A task of the kind goes to the device, as a try or because it is the best place."""
        account = self._accounts.get((kind, device))
        if account is None:
            if len(self._accounts) >= _MOST_REMEMBERED:
                return  # kinds without end are no kinds
            account = self._accounts[kind, device] = _Account(0.0)
        account.placed += 1
        account.mark_s = self._spent_s.get(kind, 0.0)
        if trial is not None:
            account.tries += 1
            account.low_s = trial.low_s

    def measured(self, kind: str, device: str, seconds: float) -> None:
        """A task of the kind took this long there."""
        account = self._accounts.get((kind, device))
        if account is None:
            return
        self._spent_s[kind] = self._spent_s.get(kind, 0.0) + seconds
        account.mark_s += seconds  # only what is spent elsewhere counts
        if seconds < account.low_s:
            account.tries = 0
        account.low_s = 0.0

    def forget(self) -> None:
        """Nothing was spent, nothing was tried."""
        self._spent_s.clear()
        self._accounts.clear()


def trial_sentence(trial: Trial, place: str) -> str:
    """A try in words."""
    runs = f"{trial.runs} run{'s' if trial.runs > 1 else ''}"
    return (
        f"{place} is tried again: {shown_seconds(trial.believed_s)} are believed of it from {runs}, perhaps "
        f"{shown_seconds(trial.low_s)}, little beside the {shown_seconds(trial.spent_s)} that this kind took elsewhere "
        f"since it last ran there"
    )
