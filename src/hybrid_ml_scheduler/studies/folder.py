"""The results folder: every file whole or absent, and a marker that says whether the work is done.

`INCOMPLETE` lies in the folder from its first moment until its last phase has ended, so that no interrupt,
not even a power cut, can make a half-done folder look finished. `status.json` names the phases that are done
and the digest of every file they wrote; a phase whose files are all still there is not done again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.studies.folder_files import FolderFiles, write_whole

if TYPE_CHECKING:
    from typing_extensions import Self  # in Python itself from 3.11 on

__all__ = ["INCOMPLETE", "ResultsFolder"]

INCOMPLETE = "INCOMPLETE"
_STATUS = "status.json"
_PLAN = "plan.json"


class ResultsFolder(FolderFiles):
    """One folder of results, written by phases.

    `with` a new folder, work that is refused before it has a result leaves nothing behind, so that the folder is free.
    """

    def __init__(self, path: Path, status: dict[str, Any]) -> None:
        super().__init__(path)
        self._status = status
        self._made: list[Path] | None = None  # the folders that were not there before; None: it is not new

    @classmethod
    def create(
        cls, path: Path, *, kind: str, plan: Mapping[str, Any], inputs: Mapping[str, str] | None = None
    ) -> ResultsFolder:
        """Start a folder, or continue the one that was begun with the very same plan and inputs.

        `inputs` are digests of what the results depend on beside the plan, such as shipped weights.
        """
        digest = plan_digest(kind, plan)
        if (path / _STATUS).is_file():
            folder = cls.open(path)
            folder._refuse_unless(digest, inputs or {})
            return folder
        _refuse_foreign(path)
        missing = [place for place in (path, *path.parents) if not place.exists()]
        folder = cls(path, {"kind": kind, "plan_hash": digest, "state": "incomplete", "phases": {}})
        folder._status["inputs"] = dict(inputs or {})
        folder._status["started_in"] = str(Path.cwd())
        try:
            folder._mark_incomplete()
        except HmsError as error:  # the marker is ours; what the user named is the folder
            reason = error.__cause__.strerror if isinstance(error.__cause__, OSError) else error
            raise HmsError(f"The results folder {path} cannot be written ({reason}).") from error
        folder.write_json(_PLAN, plan)
        folder._save()
        folder._made = missing
        return folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._made is not None and isinstance(error, Exception):
            self._take_back(self._made)

    def _take_back(self, made: Sequence[Path]) -> None:
        """Remove what was begun, unless there is anything in the folder that took work."""
        own = {self.path / name for name in (INCOMPLETE, _PLAN, _STATUS)}
        if any(item.is_file() and item not in own for item in self.path.rglob("*")):
            return
        for item in own:
            item.unlink(missing_ok=True)
        for place in made:
            with suppress(OSError):  # somebody else put something there meanwhile
                place.rmdir()

    @classmethod
    def open(cls, path: Path) -> ResultsFolder:
        """Open a folder that exists."""
        try:
            status = json.loads((path / _STATUS).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            hint = "; race into a new folder with `hms race --out`" if (path / "race.json").is_file() else ""
            raise HmsError(f"{path} is no results folder: it has no {_STATUS}{hint}.") from None
        except (OSError, ValueError) as error:
            raise HmsError(f"{path / _STATUS} cannot be read ({error}).") from error
        if not isinstance(status, dict) or not {"kind", "plan_hash", "phases"} <= status.keys():
            raise HmsError(f"{path / _STATUS} is not the status of a results folder.")
        return cls(path, status)

    @property
    def kind(self) -> str:
        """The command that made the folder, such as `heavy`."""
        return str(self._status["kind"])

    @property
    def is_complete(self) -> bool:
        """Whether every phase has ended."""
        return not (self.path / INCOMPLETE).exists() and self._status["state"] == "complete"

    @property
    def plan(self) -> dict[str, Any]:
        """The stored plan."""
        return dict(self.read_json(_PLAN))

    @property
    def started_in(self) -> Path | None:
        """The folder from which the command was started, where the plan's relative paths are found."""
        place = self._status.get("started_in")
        return Path(place) if isinstance(place, str) and Path(place).is_dir() else None

    def is_done(self, phase: str) -> bool:
        """Whether a phase has ended and all its files are still what it wrote."""
        files = self._status["phases"].get(phase)
        return files is not None and all(_digest(self.path / name) == digest for name, digest in files.items())

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Do a phase: it counts as done only if its body ends well."""
        self._status["phases"].pop(name, None)
        self._mark_incomplete()
        self._save()
        self._written = {}
        yield
        self._status["phases"][name] = dict(sorted(self._written.items()))
        self._save()

    def complete(self) -> None:
        """Say that everything is there."""
        self._status["state"] = "complete"
        self._save()
        (self.path / INCOMPLETE).unlink(missing_ok=True)

    def _refuse_unless(self, digest: str, inputs: Mapping[str, str]) -> None:
        """Refuse to mix what is here with results of another plan, other weights or another version."""
        from hybrid_ml_scheduler.plans.inputs import changed_input

        if self._status["plan_hash"] != digest:
            raise PlanError(f"{self.path} holds results of another plan; choose another --out, or delete the folder.")
        changed = changed_input(self._status.get("inputs", {}), inputs)
        if changed is not None:
            raise PlanError(
                f"{self.path} was begun with {changed}, so old and new results would mix; choose another --out, or "
                "delete the folder."
            )

    def _mark_incomplete(self) -> None:
        text = f"This folder is not finished. Run `hms {self.kind}` again with the same options to go on.\n"
        write_whole(self.path / INCOMPLETE, text.encode("utf-8"))
        self._status["state"] = "incomplete"

    def _save(self) -> None:
        text = json.dumps(self._status, indent=2, sort_keys=True)
        write_whole(self.path / _STATUS, (text + "\n").encode("utf-8"))


def _refuse_foreign(path: Path) -> None:
    """Refuse a folder with anything in it but what a start that was cut short leaves; clear away half-written files.

    A plan alone is no such trace: the marker is always there before it.
    """
    if not path.exists():
        return
    if not path.is_dir():
        raise PlanError(f"{path} is a file; results need a folder: choose another --out.")
    found = list(path.iterdir())
    own = (INCOMPLETE, _PLAN) if (path / INCOMPLETE).is_file() else ()
    halves = [item for item in found if any(item.match(f".{name}.*.part") for name in (INCOMPLETE, _PLAN, _STATUS))]
    if any(item.name not in own and item not in halves for item in found):
        raise PlanError(f"{path} is not empty and holds no results of this program; choose another --out.")
    for half in halves:
        half.unlink(missing_ok=True)


def plan_digest(kind: str, plan: Mapping[str, Any]) -> str:
    """The identity of a piece of work: the same command with the same plan."""
    text = json.dumps([kind, plan], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
