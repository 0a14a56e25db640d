"""What a result depends on beside its plan: the program's version and the files that the plan only names.

A results folder keeps the digests. Weights, traces, profiles or strategies that change between an interrupt and
the next start would otherwise leave a folder whose parts do not belong together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from hybrid_ml_scheduler.experiments.plans import Plan
from hybrid_ml_scheduler.experiments.results import versions

__all__ = ["changed_input", "inputs_of", "program_inputs"]

_VERSION = "version of hms"


def program_inputs(strategies: Iterable[str]) -> dict[str, str]:
    """The version of the program and the digests of the weights it ships for these strategies."""
    found = {_VERSION: versions()["hybrid-ml-scheduler"]}
    shipped = files("hybrid_ml_scheduler.schedulers") / "weights"
    names = set(strategies)
    for file in sorted(shipped.iterdir(), key=lambda one: one.name):
        if file.name.partition(".")[0] in names:
            found[f"shipped {file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def inputs_of(plan: Plan) -> dict[str, str]:
    """Everything a plan's results depend on beside its values."""
    found = program_inputs(plan.schedulers)
    for path in _named_files(plan):
        if path.is_file():
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _named_files(plan: Plan) -> Iterator[Path]:
    if not plan.workload.is_preset:
        yield Path(plan.workload.source)
    if plan.hardware is not None:
        yield Path(plan.hardware)
    for spec in plan.schedulers:
        if ".py:" in spec:
            yield Path(spec.rpartition(":")[0])
    for options in plan.options.values():
        model = options.get("model")
        if isinstance(model, str):
            yield Path(model)


def changed_input(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """The first input that is not what it was, in words; None where all are the same."""
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            known = f" ({before.get(name, 'unknown')}; now {now.get(name, 'unknown')})" if name == _VERSION else ""
            return f"another {name}{known}"
    return None
