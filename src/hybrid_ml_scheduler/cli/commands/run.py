"""`hms run`, `hms calibrate` and `hms validate`: real tasks on real devices, and the model's error beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_ml_scheduler.cli.output.formats import Format
from hybrid_ml_scheduler.core.errors import PlanError

if TYPE_CHECKING:
    from hybrid_ml_scheduler.cli.real_following import LiveSender
    from hybrid_ml_scheduler.execution.runs.real_runs import RealRun
    from hybrid_ml_scheduler.execution.runs.study import Bench

__all__ = ["calibrate", "run", "validate"]

Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Devices = Annotated[
    list[str] | None, typer.Option("--device", help="A further device: cuda or numba (default: every CUDA GPU).")
]
Workers = Annotated[
    int | None, typer.Option(min=1, max=1024, help="CPU workers (default: one for each core that is left).")
]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="A built-in kind (default: all).")]
SizeTable = Annotated[str, typer.Option("--sizes", help="small (1 to 50 ms on a core) or large (10 to 500 ms).")]
Known = Annotated[
    Path | None,
    typer.Option("--calibration", help="A calibration made before; it names the devices, too (default: measure now)."),
]
Seconds = Annotated[float, typer.Option(min=0.5, help="Length of a stream in seconds.")]
Repeats = Annotated[int, typer.Option(min=1, max=1000, help="Real runs of each case.")]
Strategies = Annotated[list[str] | None, typer.Option("--scheduler", help="A strategy; best_fixed is the hindsight.")]
Output = Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")]
_DEVICES = ("cuda", "numba")
_MOST_SECONDS = 86_400.0
_POLICIES = ("hybrid_ml", "best_fixed", "cpu_only", "gpu_only")


def calibrate(
    out: Out = Path("results/real"),
    device: Devices = None,
    workers: Workers = None,
    kind: Kinds = None,
    sizes: SizeTable = "small",
    seconds: Annotated[float, typer.Option(min=2.0, help="How long to measure.")] = 60.0,
    output: Output = Format.TABLE,
) -> None:
    """Measure every kind alone on every device, together, lightly loaded and as strategies place them.

    The file holds the seconds of each kind and size, by how much devices slow each other down, and how sure that is.
    Keep the machine quiet meanwhile.
    """
    from dataclasses import asdict

    _check(out, device, (kind, sizes), [("--seconds", seconds)])
    with _bench(out, None, device, workers, (kind, sizes), seconds) as bench:
        found = bench.calibration
    rows = [
        {"device": name, "kind": kind_name, "slower together": factor.value, "±": 1.64 * factor.spread}
        for name, kinds in found.cross.items()
        for kind_name, factor in kinds.items()
    ]
    _show(output, asdict(found), rows)
    if output is not Format.JSON:
        typer.echo(f"The calibration is {out / 'calibration.json'}.")


def run(
    script: Annotated[Path | None, typer.Argument(help="Your own program, which makes a HybridExecutor.")] = None,
    out: Out = Path("results/real"),
    scheduler: Strategies = None,
    device: Devices = None,
    workers: Workers = None,
    kind: Kinds = None,
    sizes: SizeTable = "small",
    calibration: Known = None,
    load: Annotated[float, typer.Option(min=0.01, help="Share of the capacity; from 1 on all tasks at once.")] = 1.0,
    seconds: Seconds = 20.0,
    repeats: Repeats = 1,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the stream.")] = 1,
    store: Annotated[
        bool, typer.Option("--store", help="Keep the run in the database, where it is a run like all.")
    ] = False,
    service: Annotated[str | None, typer.Option(help="Send it to a running service, http://127.0.0.1:8000.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Run a stream of built-in real tasks with each strategy by turns, or your own program with a report on it.

    Every run is measured; the model says beside it what was to be expected and what other strategies would have done.
    """
    _check(out, device, (kind, sizes), [("--seconds", seconds), ("--load", load)], scheduler, calibration)
    if script is not None:
        kinds_only = {"--scheduler": scheduler, "--device": device, "--workers": workers, "--kind": kind}
        _refuse_unused({**kinds_only, "--calibration": calibration})
        _check_history(store, service)
        _run_program(script, out, output, store, service)
        return
    from hybrid_ml_scheduler.cli.output.formats import steps
    from hybrid_ml_scheduler.execution.runs.real_runs import RealPlan, real_run

    _check_history(store, service)
    sender = None if service is None else _sender(service)
    with _bench(out, calibration, device, workers, (kind, sizes), 60.0) as bench, steps() as say:
        found = real_run(
            bench,
            scheduler or _POLICIES,
            plan=RealPlan(load=load, seconds=seconds, repeats=repeats, seed=seed),
            say=say,
            follower=sender,
        )
    found.write(out)
    for sentence in found.alarms:
        typer.echo(sentence, err=True)
    _keep(found, store, service, sender)
    _show(output, found.rows(), found.rows())


def _sender(service: str) -> LiveSender:
    """Whoever sends a run to a service while it runs."""
    from hybrid_ml_scheduler.cli.real_following import LiveSender

    return LiveSender(service, _key())


def _key() -> str | None:
    from hybrid_ml_scheduler.settings import load_settings

    key = load_settings().api_key
    return None if key is None else key.get_secret_value()


def _keep(found: RealRun, store: bool, service: str | None, sender: LiveSender | None) -> None:
    """Put a run into the history, if that is asked for."""
    from hybrid_ml_scheduler.cli import real_storing
    from hybrid_ml_scheduler.settings import load_settings

    if not store and service is None:
        return
    if service is None or sender is None:
        ids = real_storing.store(found, load_settings().database.get_secret_value())
    else:
        begun = sender.stop()
        if sender.problem is not None:
            typer.echo(f"The run could not be followed live: {sender.problem}", err=True)
        ids = real_storing.send(found, service, _key(), begun)
    typer.echo(f"Stored as run {', '.join(map(str, ids))}.", err=True)


def validate(
    out: Out = Path("results/real"),
    scheduler: Strategies = None,
    device: Devices = None,
    workers: Workers = None,
    kind: Kinds = None,
    sizes: SizeTable = "small",
    calibration: Known = None,
    load: Annotated[list[float] | None, typer.Option(help="Loads (default 0.5, 0.8 and 1).")] = None,
    seconds: Seconds = 20.0,
    repeats: Repeats = 2,
    output: Output = Format.TABLE,
) -> None:
    """Run streams for real and in the model: errors of makespan and latency, ranking, coverage, spread of repeats."""
    from dataclasses import replace

    from hybrid_ml_scheduler.cli.output.formats import steps
    from hybrid_ml_scheduler.execution.runs.calibration import write_calibration
    from hybrid_ml_scheduler.execution.runs.report import write_comparisons, write_json
    from hybrid_ml_scheduler.execution.runs.validated import validated_range
    from hybrid_ml_scheduler.execution.runs.validation import METRICS, compare, fidelity, measured_cases

    amounts = [("--seconds", seconds), *(("--load", one) for one in load or [])]
    _check(out, device, (kind, sizes), amounts, scheduler, calibration)
    policies, loads = scheduler or _POLICIES, load or [0.5, 0.8, 1.0]
    cases = []
    with _bench(out, calibration, device, workers, (kind, sizes), 60.0) as bench, steps() as say:
        known = bench.calibration
        for case in measured_cases(bench, loads, policies, repeats, seconds, say):
            cases.append(case)
            write_json(out / "measured.json", cases)  # whatever happens next, this much is known
    rows = compare(cases, known)
    verdict = fidelity(rows)
    write_comparisons(out / "validation.csv", rows)
    write_json(out / "validation.json", verdict)
    write_calibration(
        replace(known, validated=validated_range(loads, policies, seconds, verdict)), out / "calibration.json"
    )
    _show(output, verdict, [{"metric": metric, **verdict[metric]} for metric in METRICS])


def _check(
    out: Path,
    device: list[str] | None,
    kinds: tuple[list[str] | None, str],
    amounts: list[tuple[str, float]],
    scheduler: list[str] | None = None,
    calibration: Path | None = None,
) -> None:
    """Refuse what cannot be used before anything is measured."""
    from hybrid_ml_scheduler.core.errors import HmsError
    from hybrid_ml_scheduler.execution.devices import cuda_count
    from hybrid_ml_scheduler.execution.placing.placement import strategy_of
    from hybrid_ml_scheduler.execution.runs.calibration import read_calibration
    from hybrid_ml_scheduler.execution.runs.kinds import kinds_named, sizes_named

    for flag, value in amounts:
        if not 0.0 < value <= _MOST_SECONDS:
            raise HmsError(f"{flag} = {value:g} must be a number above 0 and at most {_MOST_SECONDS:g}.")
    for name in device or []:
        if name not in _DEVICES:
            raise HmsError(f"--device {name!r} must be one of {', '.join(_DEVICES)}.")
        if name == "cuda" and cuda_count() == 0:
            raise HmsError("--device cuda: there is no CUDA GPU on this machine that this process may use.")
    sizes_named(kinds[1], kinds_named(kinds[0]))
    for name in scheduler or []:
        if name != "best_fixed":
            strategy_of(name)
    if calibration is not None:
        read_calibration(calibration).of_kinds(kinds[0])
    above = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not above.is_dir():
        raise HmsError(f"--out {out} must be a folder, and {above} is a file.")


@contextmanager
def _bench(
    out: Path,
    given: Path | None,
    device: list[str] | None,
    workers: int | None,
    kinds: tuple[list[str] | None, str],
    seconds: float,
) -> Iterator[Bench]:
    """Workers with a calibration from a file, or measured now on them and written beside the results."""
    from hybrid_ml_scheduler.cli.output.formats import steps
    from hybrid_ml_scheduler.execution.runs.calibration import read_calibration, write_calibration
    from hybrid_ml_scheduler.execution.runs.kinds import kinds_named, sizes_named
    from hybrid_ml_scheduler.execution.runs.study import Bench

    out.mkdir(parents=True, exist_ok=True)
    if given is not None:
        with Bench.of(read_calibration(given).of_kinds(kinds[0]), device) as bench:
            yield bench
        return
    with Bench(sizes_named(kinds[1], kinds_named(kinds[0])), workers, device) as bench:
        with steps() as say:
            found = bench.calibrate(seconds, say)
        write_calibration(found, out / "calibration.json")
        yield bench


def _check_history(store: bool, service: str | None) -> None:
    """Refuse a service that is none, or does not answer, and a database that is in use, before anything runs for it."""
    from hybrid_ml_scheduler.cli.real_storing import check_service, check_store
    from hybrid_ml_scheduler.settings import load_settings

    if service is not None and not service.startswith(("http://", "https://")):
        raise PlanError(f"--service {service!r} must be an address such as http://127.0.0.1:8000.")
    if service is not None:
        check_service(service)
    elif store:
        check_store(load_settings().database.get_secret_value())


def _refuse_unused(given: dict[str, object]) -> None:
    """A program of one's own says by itself how its executor works."""
    unused = [flag for flag, value in given.items() if value]
    if unused:
        raise PlanError(f"{', '.join(unused)} would change nothing: a program of your own makes its own executor.")


def _run_program(script: Path, out: Path, output: Format, store: bool, service: str | None) -> None:
    """Run a user's program as it is; its executors report into the folder, as they go on and when they shut down."""
    from hybrid_ml_scheduler.core.errors import HmsError
    from hybrid_ml_scheduler.execution.program_report import (
        FOLLOW_VARIABLE,
        LIVE_FILES,
        REPORT_VARIABLE,
        read_reports,
        summary_rows,
    )

    if not script.is_file():
        raise HmsError(f"There is no program {script}.")
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("executor-*.json"), *out.glob(LIVE_FILES)):
        old.unlink()
    followed = {FOLLOW_VARIABLE: "1"} if store or service is not None else {}
    environment = {**os.environ, REPORT_VARIABLE: str(out.resolve()), **followed}
    printed_to = sys.stderr.fileno() if output is Format.JSON else None  # the standard output is for the JSON alone
    with _followed(script, out, store, service):
        ended = subprocess.run([sys.executable, str(script)], env=environment, check=False, stdout=printed_to)
    reports = read_reports(out)
    if not reports:
        raise HmsError(f"{script} ended with code {ended.returncode} and used no HybridExecutor that ran a task.")
    rows = [summary_rows(report) for report in reports]
    _show(output, rows, *rows)
    if ended.returncode:
        raise HmsError(f"{script} ended with code {ended.returncode}.")


@contextmanager
def _followed(script: Path, out: Path, store: bool, service: str | None) -> Iterator[None]:
    """Send what a program's executors do to a service while it runs, or put it into the database when it has ended."""
    from hybrid_ml_scheduler.cli.program_following import ProgramFollower, read_executors
    from hybrid_ml_scheduler.cli.real_storing import store_program
    from hybrid_ml_scheduler.settings import load_settings

    follower = None if service is None else ProgramFollower(out, script.name, service, _key())
    ids: Sequence[int] = []
    try:
        yield
    finally:
        if follower is not None:
            ids = follower.stop()
            if follower.problem is not None:
                typer.echo(f"The program could not be followed to its end: {follower.problem}", err=True)
        elif store:
            ids = store_program(read_executors(out, script.name), load_settings().database.get_secret_value())
    if ids:
        typer.echo(f"Stored as run {', '.join(map(str, ids))}.", err=True)


def _show(output: Format, content: Any, *tables: list[dict[str, Any]]) -> None:
    from hybrid_ml_scheduler.cli.output.show import print_rows

    if output is Format.JSON:
        import json

        typer.echo(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))
        return
    for table in tables:
        print_rows(table)
