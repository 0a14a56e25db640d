"""`python -m hybrid_ml_scheduler.plans.glossary` writes the catalogue of metrics into docs/glossary.md."""

from __future__ import annotations

import sys
from pathlib import Path

from hybrid_ml_scheduler.plans.metrics import CATALOGUE

__all__ = ["metric_lines"]

_BEGIN, _END = "<!-- metrics -->", "<!-- end of metrics -->"


def metric_lines() -> list[str]:
    """The catalogue as the rows of a Markdown table."""
    rows = ["| metric | key | live | unit | what it means | how it is computed |", "|---|---|---|---|---|---|"]
    for metric in CATALOGUE.values():
        key = f"`{metric.key}`" if metric.study else "–"
        live = "–" if metric.wire is None else f"`{metric.wire}`"
        rows.append(
            f"| {metric.title} | {key} | {live} | {metric.unit or '–'} | {metric.meaning} | {metric.computed} |"
        )
    return rows


def _rewritten(page: str) -> str:
    before, _, rest = page.partition(_BEGIN)
    return "\n".join([before + _BEGIN, "", *metric_lines(), "", _END + rest.partition(_END)[2]])


def main(target: str = "docs/glossary.md") -> None:
    """Put the table in its place; the rest of the page stays."""
    path = Path(target)
    path.write_text(_rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"wrote {path}\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
