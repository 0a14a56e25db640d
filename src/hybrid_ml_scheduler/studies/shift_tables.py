"""The tables of the shift experiment: what is stored, drawn and printed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.plans.intervals import bounded_interval
from hybrid_ml_scheduler.studies.shift import (
    STRATEGIES,
    ShiftRun,
    adaptation,
    figure_interval,
    last_tasks,
    measures,
)
from hybrid_ml_scheduler.studies.tables import comparison_table, interval_ends, interval_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BEST", "MEASURES", "shift_tables"]

MEASURES = ("total_time_s", "last_time_s", "mean_time_s", "makespan_s")
BEST = "best_possible"
_COMPARED = ("total_time_s", "last_time_s", "makespan_s")
_WINDOWS = 25


def shift_tables(runs: Sequence[ShiftRun]) -> dict[str, pd.DataFrame]:
    """All tables: by seed, means, pairs, the agent's adaptation by seed and as figures, and the way along the tasks."""
    seeds = _by_seed(runs)
    adapted = _adaptation(runs)
    return {
        "seeds": seeds,
        "means": interval_table(seeds, MEASURES),
        "pairs": comparison_table(seeds, _COMPARED),
        "adaptation": adapted,
        "figures": _figures(adapted, len(runs[0].exploring)),
        "along": _along(runs),
    }


def _by_seed(runs: Sequence[ShiftRun]) -> pd.DataFrame:
    """One row a strategy and seed, with the least possible sum of times beside it."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name in STRATEGIES:
        for run in runs:
            last = run.execution_s[name][-last_tasks(len(run.best_s)) :]
            found = {"scheduler": name, "seed": run.seed, **measures(run)[name], "last_time_s": float(last.sum())}
            rows.append({**found, "best_total_s": float(run.best_s.sum())})
    return pd.DataFrame(rows)


def _adaptation(runs: Sequence[ShiftRun]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for run in runs:
        found = adaptation(run)
        adapted = found["agent_adapted_after"] < len(run.exploring)
        rows.append({"seed": run.seed, **found, "agent_adapted": adapted})
    return pd.DataFrame(rows)


def _figures(adapted: pd.DataFrame, tasks: int) -> pd.DataFrame:
    """Every figure of the adaptation as a mean over seeds with its interval."""
    import pandas as pd

    names = [name for name in adapted.columns if name not in ("seed", "agent_adapted")]
    found = {name: figure_interval(name, adapted[name].to_numpy(dtype=float), tasks) for name in names}
    return pd.DataFrame([{"figure": name, **interval_ends(one)} for name, one in found.items()])


def _along(runs: Sequence[ShiftRun]) -> pd.DataFrame:
    """Execution time and share of the GPU in windows of tasks after the shift, means over seeds with intervals."""
    import pandas as pd

    count = len(runs[0].best_s)
    edges = np.unique(np.linspace(0, count, min(_WINDOWS, count) + 1).astype(int)).tolist()
    rows = []
    for name in (*STRATEGIES, BEST):
        for begin, end in pairwise(edges):
            times = [(run.best_s if name == BEST else run.execution_s[name])[begin:end].mean() for run in runs]
            row = {"scheduler": name, "tasks": end, **interval_ends(bounded_interval(times))}
            if name != BEST:
                row["gpu_fraction"] = float(np.mean([run.gpu_fraction[name][begin:end].mean() for run in runs]))
            rows.append(row)
    return pd.DataFrame(rows)
