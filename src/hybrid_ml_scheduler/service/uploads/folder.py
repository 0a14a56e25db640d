"""The folder of uploads: each in a folder named by the digest of its content, beside a card that says what was read."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.plans.upload_source import UploadSource

__all__ = ["KeptUpload", "UploadFolder"]

_DIGITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptUpload:
    """One file: its name, how it is read, and what was found in it."""

    upload_id: str
    name: str
    use: str
    dialect: str | None
    options: Mapping[str, Any]
    bytes: int
    at: float
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> UploadSource:
        """How a plan names it."""
        return UploadSource(digest=self.upload_id, name=self.name)


class UploadFolder:
    """Keeps files whole or not at all; a restart finds them again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> list[KeptUpload]:
        """Every upload, newest first; a card that cannot be read names none."""
        found = [self.get(card.stem) for card in self.path.glob("*.json")]
        return sorted((one for one in found if one is not None), key=lambda one: -one.at)

    def get(self, upload_id: str) -> KeptUpload | None:
        """One upload; None where there is none."""
        try:
            facts = json.loads(self._card(upload_id).read_text("utf-8"))
            return KeptUpload(**facts)
        except (OSError, ValueError, TypeError):
            return None

    def place(
        self, data: bytes, name: str, reading: Mapping[str, Any], beside: Mapping[str, bytes] | None = None
    ) -> tuple[str, Path]:
        """The id of a file that is read in this way, and a fresh folder with its content and what lies beside it."""
        said = json.dumps(dict(reading), sort_keys=True)
        digest = hashlib.sha256(data + b"\0" + f"{name}\0{said}".encode())
        for other, content in (beside or {}).items():
            digest.update(b"\0" + other.encode() + b"\0" + content)
        upload_id = digest.hexdigest()[:_DIGITS]
        draft = self.path / f".{upload_id}.{os.getpid()}"
        try:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            for each, content in {**(beside or {}), name: data}.items():
                (draft / each).write_bytes(content)
        except OSError as error:
            self.drop(draft)
            raise HmsError(f"{name} cannot be kept: {error.strerror or error}.") from error
        return upload_id, draft

    def keep(self, draft: Path, upload: KeptUpload) -> None:
        """Give a checked file its name, and then its card; of a file sent again, the first one stays where it is."""
        final, card = self.path / upload.upload_id, draft.with_suffix(".card")
        if not (final / upload.name).is_file():
            shutil.rmtree(final, ignore_errors=True)
            os.replace(draft, final)
        card.write_text(json.dumps(asdict(upload)), "utf-8")
        os.replace(card, self._card(upload.upload_id))

    def _card(self, upload_id: str) -> Path:
        return self.path / f"{upload_id}.json"

    def drop(self, draft: Path) -> None:
        """Forget a file that was refused."""
        shutil.rmtree(draft, ignore_errors=True)

    def remove(self, upload_id: str) -> None:
        """Remove an upload; its card goes first, so that nothing half removed is found again."""
        self._card(upload_id).unlink(missing_ok=True)
        shutil.rmtree(self.path / upload_id, ignore_errors=True)
