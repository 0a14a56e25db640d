"""`python -m hybrid_ml_scheduler.api.openapi` writes the OpenAPI document for the dashboard's types."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from hybrid_ml_scheduler.api.app import create_app
from hybrid_ml_scheduler.settings import Settings

__all__ = ["main"]


def main(target: str = "dashboard/openapi.json") -> None:
    """Write the document beside its place first, then put it there."""
    document = create_app(Settings()).openapi()
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".json.draft")
    draft.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(draft, path)
    sys.stdout.write(f"wrote {path}\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
