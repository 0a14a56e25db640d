"""The range in which the model was validated on a machine, and the alarm in runs that leave it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hybrid_ml_scheduler.execution.runs.calibration import Calibration
from hybrid_ml_scheduler.execution.runs.run_result import RunResult

__all__ = ["alarms", "surprise", "validated_range"]


def validated_range(
    loads: Sequence[float], strategies: Sequence[str], seconds: float, verdict: Mapping[str, Any]
) -> dict[str, Any]:
    """What a validation speaks for, to be kept with the calibration."""
    return {
        "loads": [min(loads), max(loads)],
        "strategies": sorted(strategies),
        "seconds": seconds,
        "runs": verdict["runs"],
        "makespan_p90": verdict["makespan_s"]["p90_error"],
        "mean_latency_p90": verdict["mean_latency_s"]["p90_error"],
    }


def alarms(calibration: Calibration, load: float, strategies: Iterable[str], machine: Mapping[str, str]) -> list[str]:
    """One sentence for every way in which a run leaves the validated range."""
    found = []
    known = calibration.validated
    different = [name for name in ("cpu", "cores", "gpu") if machine.get(name) != calibration.machine.get(name)]
    if different:
        found.append(f"The calibration is of another machine (its {', '.join(different)} differ).")
    if not known:
        return [*found, "The model was never validated on this machine: run `hms validate`."]
    low, high = known["loads"]
    if not low <= load <= high:
        found.append(f"Load {load:g} lies outside the validated range {low:g} to {high:g}.")
    new = [name for name in strategies if name not in known["strategies"]]
    if new:
        found.append(f"The model was not validated with {', '.join(new)}.")
    return found


def surprise(calibration: Calibration, measured: RunResult, modelled: RunResult) -> str | None:
    """A sentence if a run's makespan is further from the model than nine validated runs in ten."""
    known = calibration.validated
    off = abs(modelled.makespan_s / measured.makespan_s - 1.0)
    if not known or off <= known["makespan_p90"]:
        return None
    return (
        f"{measured.strategy}: the model is off by {off:.0%} in makespan, and in nine of ten validated runs it was "
        f"off by at most {known['makespan_p90']:.0%}: something has changed, calibrate again."
    )
