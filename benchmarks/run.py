"""`python benchmarks/run.py NAME [--format json]`: measure one part of the product beside its peers."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

NAMES = {
    "simulation": "the kernel and the stepping form beside SimPy, heapq events and a C loop",
    "decisions": "time of one decision, one retraining, one agent update, beside scikit-learn, ONNX Runtime and SB3",
    "learning": "how good the learners are on seeds they never saw, with intervals",
    "storage": "rows a second into SQLite and PostgreSQL beside a plain ORM",
    "service": "rate of the live arena, API latency and viewers",
    "soak": "a million tasks through the arena: does memory stay flat?",
    "experiments": "the scientific commands from start to PDF",
}


def main() -> int:
    """Run one benchmark and print its figures."""
    listed = "\n".join(f"  {name:12} {text}" for name, text in NAMES.items())
    parser = argparse.ArgumentParser(
        description=f"Measure one part beside its peers:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=NAMES, metavar="NAME")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    arguments = parser.parse_args()
    module = importlib.import_module(f"benchmarks.{arguments.name}")
    result = module.run()
    print(json.dumps(result, indent=2) if arguments.format == "json" else module.render(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
