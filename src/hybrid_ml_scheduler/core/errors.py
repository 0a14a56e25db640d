"""One tree of errors: everything a user can cause is an `HmsError` with one clear sentence."""

from __future__ import annotations

from hybrid_ml_scheduler.core.text import plain_text

__all__ = [
    "ConfigurationError",
    "HmsError",
    "InternalError",
    "ModelError",
    "PlanError",
    "ProfileError",
    "SchedulerError",
    "StorageError",
    "WorkloadError",
]


class HmsError(Exception):
    """Anything wrong that the user can mend; the message is one sentence naming the culprit.

    It is told, sent and stored, and may quote anything: here it becomes text that can be.
    """

    def __init__(self, sentence: object = "") -> None:
        super().__init__(plain_text(sentence))


class PlanError(HmsError, ValueError):
    """A plan, flag or option has a wrong key or value."""


class WorkloadError(HmsError):
    """A workload or trace cannot be used: bad row, range, cycle, duplicate or missing parent."""


class SchedulerError(HmsError):
    """A strategy cannot be loaded or made a decision outside its contract."""


class ModelError(HmsError):
    """A stored model is corrupt, foreign or of another version."""


class ProfileError(HmsError):
    """A hardware profile cannot be read or used."""


class StorageError(HmsError):
    """The store cannot be reached or refuses what was asked."""


class ConfigurationError(HmsError):
    """The environment the program runs in is wrongly configured."""


class InternalError(Exception):
    """The program broke its own promise; never the user's fault."""
