"""`python -m hybrid_ml_scheduler.execution`: calibrate, run and validate on a machine with numpy, numba and torch."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.execution.runs.calibration import Calibration, read_calibration, write_calibration
from hybrid_ml_scheduler.execution.runs.kinds import kinds_named, sizes_named
from hybrid_ml_scheduler.execution.runs.real_runs import RealPlan, real_run
from hybrid_ml_scheduler.execution.runs.report import markdown, write_comparisons, write_json
from hybrid_ml_scheduler.execution.runs.run_result import RunResult
from hybrid_ml_scheduler.execution.runs.study import Bench
from hybrid_ml_scheduler.execution.runs.validated import validated_range
from hybrid_ml_scheduler.execution.runs.validation import (
    Comparison,
    RealCase,
    case_summary,
    compare,
    fidelity,
    measured_cases,
    read_cases,
)

DEFAULT_POLICIES = ("hybrid_ml", "best_fixed", "cpu_only", "gpu_only")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the three; progress goes to stderr, the answer to stdout."""
    given = _parser().parse_args(arguments)
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        if given.judge:
            _judge(given)
            return 0
        with _bench(given) as bench:
            {"calibrate": _calibrate, "run": _run, "validate": _validate}[given.command](given, bench)
    except HmsError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped; what was written down until now is kept.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hybrid_ml_scheduler.execution", description=__doc__)
    parser.add_argument("command", choices=("calibrate", "run", "validate"))
    parser.add_argument("--out", type=Path, default=Path("results/real"), help="folder for the results")
    parser.add_argument("--device", action="append", help="a further device (cuda, numba); default: every CUDA GPU")
    parser.add_argument("--workers", type=int, help="CPU workers; default: one for each core that is left")
    parser.add_argument("--kind", action="append", help="a built-in kind; default: all")
    parser.add_argument("--sizes", default="small", help="small (1 to 50 ms on a core) or large (10 to 500 ms)")
    parser.add_argument(
        "--judge", type=Path, action="append", help="validate: judge the real runs of this folder; repeat"
    )
    parser.add_argument("--measure-only", action="store_true", help="validate: only run; judge elsewhere")
    parser.add_argument("--draws", type=int, default=20, help="validate: simulated runs of each case")
    parser.add_argument("--calibration", type=Path, help="a calibration made before; default: measure now")
    parser.add_argument("--calibrate-seconds", type=float, default=60.0, help="how long to measure")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a stream")
    parser.add_argument("--strategy", action="append", help="default: hybrid_ml, best_fixed, cpu_only, gpu_only")
    parser.add_argument("--load", type=float, action="append", help="1 = all tasks at once (default)")
    parser.add_argument("--repeats", type=int, default=2, help="real runs of each case")
    parser.add_argument("--seed", type=int, default=1, help="of the streams")
    parser.add_argument("--patience", type=float, default=float("inf"), help="run: stop after so many first makespans")
    return parser


@contextmanager
def _bench(given: argparse.Namespace) -> Iterator[Bench]:
    """Workers that are calibrated: now, or by what was measured before."""
    if given.calibration is not None:
        with Bench.of(read_calibration(given.calibration).of_kinds(given.kind), given.device) as bench:
            yield bench
        return
    with Bench(sizes_named(given.sizes, kinds_named(given.kind)), given.workers, given.device) as bench:
        write_calibration(bench.calibrate(given.calibrate_seconds, _say), given.out / "calibration.json")
        yield bench


def _calibrate(given: argparse.Namespace, bench: Bench) -> None:
    calibration = bench.calibration
    rows = [
        {"device": device, "kind": kind, "slower while others are busy": factor.value, "±": 1.64 * factor.spread}
        for device, kinds in calibration.cross.items()
        for kind, factor in kinds.items()
    ]
    print(markdown(rows))
    print(f"pause between tasks {calibration.gap_s * 1e6:.0f} µs, drift {calibration.drift:.1%}")


def _run(given: argparse.Namespace, bench: Bench) -> None:
    runs: list[dict[str, object]] = []

    def ended(strategy: str, repeat: int, run: RunResult) -> None:
        told = {"strategy": strategy, "repeat": repeat, "stopped": bool(run.unfinished), **run.summary()}
        runs.append(told)
        write_json(given.out / "runs.json", runs)  # whatever happens next, this much is known

    found = real_run(
        bench,
        given.strategy or DEFAULT_POLICIES,
        plan=RealPlan(
            load=(given.load or [1.0])[0],
            seconds=given.seconds,
            repeats=given.repeats,
            seed=given.seed,
            patience=given.patience,
        ),
        say=_say,
        ended=ended,
    )
    found.write(given.out)
    # In the order in which they were run, as those of `validate` are; what was stopped cannot be judged.
    turns = [(repeat, name) for repeat in range(given.repeats) for name in found.measured]
    cases = [
        RealCase(
            found.load, name, given.seed, given.seconds, repeat,
            case_summary(run, found.tasks, bench.calibration, found.decision_s[name]), knows=False,
        )
        for repeat, name in turns
        if not (run := found.measured[name][repeat]).unfinished
    ]  # fmt: skip
    write_json(given.out / "measured.json", cases)  # they can be judged as the runs of `validate` can
    print(found.table())


def _validate(given: argparse.Namespace, bench: Bench) -> None:
    policies, loads = given.strategy or DEFAULT_POLICIES, given.load or [0.5, 0.8, 1.0]
    cases, calibration = [], bench.calibration
    for case in measured_cases(bench, loads, policies, given.repeats, given.seconds, _say, given.seed):
        cases.append(case)
        write_json(given.out / "measured.json", cases)  # whatever happens next, this much is known
    if not given.measure_only:
        _tell(given.out, calibration, cases, compare(cases, calibration, given.draws))


def _judge(given: argparse.Namespace) -> None:
    """Judge real runs of one machine that were made elsewhere, each folder's by its own calibration."""
    cases, rows = [], []
    for folder in given.judge:
        calibration, own = read_calibration(folder / "calibration.json"), read_cases(folder / "measured.json")
        cases += own
        rows += compare(own, calibration, given.draws)
    _tell(given.out, calibration, cases, rows)


def _tell(out: Path, calibration: Calibration, cases: list[RealCase], rows: list[Comparison]) -> None:
    write_comparisons(out / "validation.csv", rows)
    verdict = {"machine": dict(calibration.machine), "devices": dict(calibration.devices), **fidelity(rows)}
    write_json(out / "validation.json", verdict)
    loads, policies = [case.load for case in cases], {case.strategy for case in cases}
    spoken_for = validated_range(loads, sorted(policies), min(case.seconds for case in cases), verdict)
    write_calibration(replace(calibration, validated=spoken_for), out / "calibration.json")
    print(json.dumps(verdict, indent=1))


def _say(label: str, done: int, total: int) -> None:
    print(f"{done:>4}/{total} {label}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
