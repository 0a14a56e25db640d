"""`python benchmarks/run.py NAME [--quick] [--format json]`: measure one part of the product beside its peers."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

__all__ = ["NAMES", "Benchmark", "benchmark", "main"]

NAMES = {
    "engine": "decisions a second of the engine by strategy, beside another source tree",
    "simulation": "the kernel and the stepping form beside SimPy, heapq events and a C loop",
    "decisions": "time of one decision, one retraining, one agent update, beside scikit-learn, ONNX Runtime and SB3",
    "learning": "how good the learners are on seeds they never saw, with intervals",
    "portfolio": "strategies that hold beside the first edition, the bounds and one another",
    "tune_cuts": "what `hms tune` recommends at 20 points in time, beside the best rule on the tasks that follow",
    "knowledge": "what not knowing durations costs, how much of it is learned, and how soon after a drift",
    "storage": "rows a second into SQLite and PostgreSQL beside a plain ORM",
    "history": "pages of the ledger and comparisons of runs among a million stored tasks",
    "service": "rate of the live arena, API latency and viewers",
    "dashboard": "what a tab costs: CPU time of its main thread at two speeds, its heap over half an hour",
    "soak": "a million tasks through the arena: does memory stay flat?",
    "execution": "real tasks through the executor beside the standard library's pools, joblib, Ray and dask",
    "experiments": "the scientific commands from start to PDF",
}

_JOBS = ("training", "saga", "streams", "batches", "graphs", "everywhere", "constructed", "tuning")


class Benchmark(Protocol):
    """What every module of this folder that measures something offers."""

    def run(self, *, quick: bool, **given: Any) -> dict[str, Any]:
        """Measure; `quick` shows in seconds that everything runs, and its figures mean nothing."""

    def render(self, result: dict[str, Any]) -> str:
        """The figures as text."""


def benchmark(name: str) -> Benchmark:
    """The module that measures one part, imported when it is wanted."""
    return cast(Benchmark, importlib.import_module(f"benchmarks.{name}"))


def main(words: Sequence[str] | None = None) -> int:
    """Run one benchmark and print its figures."""
    listed = "\n".join(f"  {name:12} {text}" for name, text in NAMES.items())
    parser = argparse.ArgumentParser(
        description=f"Measure one part beside its peers:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=NAMES, metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="a small sample in seconds: it runs, but measures little")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--base", type=Path, metavar="DIR", help="service, engine: another source tree, which is measured in turns"
    )
    parser.add_argument("--job", default="", metavar="NAME", help=f"portfolio: one part alone ({', '.join(_JOBS)})")
    parser.add_argument("--out", type=Path, metavar="FILE", help="portfolio: keeps what `everywhere` has done")
    parser.add_argument("--workers", type=int, metavar="N", help="portfolio: processes of `everywhere`")
    arguments = parser.parse_args(words)
    own = {name: getattr(arguments, name) for name in ("job", "out", "workers") if getattr(arguments, name)}
    if own and arguments.name != "portfolio":
        parser.error(f"--{next(iter(own))} is for portfolio.")
    if arguments.job and arguments.job not in _JOBS:
        parser.error(f"--job {arguments.job} must be one of {', '.join(_JOBS)}.")
    if arguments.workers is not None and arguments.workers < 1:
        parser.error("--workers must be at least 1.")
    if arguments.base is not None and (
        arguments.name not in ("service", "engine") or not (arguments.base / "src").is_dir()
    ):
        parser.error("--base is for service and engine, and names a source tree with a folder src in it.")
    module = benchmark(arguments.name)
    given = own if arguments.base is None else {"base": arguments.base.resolve()}
    result = module.run(quick=arguments.quick, **given)
    if arguments.quick:
        print("A quick sample: it shows that everything runs; its figures mean little.", file=sys.stderr)
    print(json.dumps(result, indent=2) if arguments.format == "json" else module.render(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
