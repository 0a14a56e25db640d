"""The folder of a race: plan, results and tables, from which `hms report` draws plots and a PDF."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_ml_scheduler.plans.inputs import hardware_words, inputs_of, run_facts
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.race import SeedRace, same_tasks
from hybrid_ml_scheduler.studies.tables import comparison_table, interval_table, metric_table, ratio_table, standpoints
from hybrid_ml_scheduler.studies.trials import Record

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["race_folder", "write_race"]


def race_folder(out: Path, plan: Plan, until: int | None) -> ResultsFolder:
    """Begin the folder before the race, so that another plan's results are refused at once."""
    stored = {**plan.to_mapping(), "digest": plan.digest}
    if until is not None:
        stored["until_decided"] = until
    return ResultsFolder.create(out, kind="race", plan=stored, inputs=inputs_of(plan))


def write_race(folder: ResultsFolder, plan: Plan, result: Mapping[str, Any], races: Sequence[SeedRace]) -> None:
    """Write results and tables; the folder is complete when all of them are there."""
    with folder.phase("simulate"):
        for name, frame in _tables(races, result).items():
            folder.write_table(name, frame)
        folder.write_bytes("summary.csv", _summary(result).encode("utf-8"))
        folder.write_json("run.json", _run_facts(plan, result))
        text = json.dumps(result, indent=2, allow_nan=False) + "\n"
        folder.write_bytes("race.json", text.encode("utf-8"))
    folder.complete()


def _tables(races: Sequence[SeedRace], result: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """The same tables as those of a long comparison, as far as summaries go."""
    floors = {race.seed: race.floor for race in races}
    runs = [_plain(race.runs[name]) for name in races[0].runs for race in races]
    metrics = metric_table(runs, floors)
    level = result["comparison_level"]
    comparisons = comparison_table(metrics, level=level)
    # Repeats of one observation name no winner.
    found = comparisons.iloc[:0] if same_tasks(races) else comparisons
    learning = {name: row["learning"] for name, row in result["schedulers"].items()}
    knowledge = {name: row["knowledge"] for name, row in result["schedulers"].items()}
    ratios = ratio_table(metrics, standpoints(metrics, learning, knowledge), level=level)
    return {"metrics": metrics, "intervals": interval_table(metrics), "comparisons": found, "ratios": ratios}


def _plain(record: Record) -> Record:
    """A record without what the summary says once for all seeds."""
    return replace(record, figures={key: value for key, value in record.figures.items() if key != "learning"})


def _run_facts(plan: Plan, result: Mapping[str, Any]) -> dict[str, Any]:
    return run_facts(
        "race",
        plan.to_mapping(),
        plan.digest,
        tasks=result["tasks"],
        seeds=result["seeds"],
        assumptions=result["assumptions"],
        bound=result["lower_bound"]["argument"],
        schedulers={name: row["learning"] for name, row in result["schedulers"].items()},
        knowledge={name: row["knowledge"] for name, row in result["schedulers"].items()},
        hardware=hardware_words(plan.node),
        judged_by=result["judged_by"],
        overload=result["overload"],
        headline=result["headline"],
    )


def _summary(result: Mapping[str, Any]) -> str:
    """One row a strategy with every plain figure."""
    rows: Mapping[str, Mapping[str, Any]] = result["schedulers"]
    first = next(iter(rows.values()))
    names = [key for key, value in first.items() if not isinstance(value, (Mapping, list))]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["scheduler", *names])
    table.writerows([name, *(row[key] for key in names)] for name, row in rows.items())
    return text.getvalue()
