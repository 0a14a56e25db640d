"""Stored statistics as the wire message."""

from __future__ import annotations

from dataclasses import replace

from hybrid_ml_scheduler.live.windows import WindowName
from hybrid_ml_scheduler.service.views.stored import STORED_NAMES
from hybrid_ml_scheduler.service.wire.statistics import (
    Correlations,
    HeatMap,
    Histogram,
    Metric,
    Stats,
    WinMatrix,
)
from hybrid_ml_scheduler.storage import Percentiles, Statistics

__all__ = ["stats_view"]


def _stored(metric: Metric) -> str:
    return STORED_NAMES.get(metric.value, metric.value)


def stats_view(found: Statistics, window: int, covers: WindowName, first_task: int) -> Stats:
    """Return statistics with the names of the wire; the window begins with `first_task`."""
    wire_names = {stored: wire for wire, stored in STORED_NAMES.items()}
    names = [wire_names.get(name, name) for name in found.correlation_names]
    schedulers = list(found.schedulers)
    return Stats(
        window=window,
        covers=covers,
        tasks=found.tasks,
        window_tasks=0 if found.last_task is None else found.last_task - first_task + 1,
        first_task_id=found.first_task,
        last_task_id=found.last_task,
        win_loss={
            metric: WinMatrix(
                metric=metric,
                schedulers=schedulers,
                share=[list(row) for row in found.win_loss[_stored(metric)]],
                tasks=found.compared[_stored(metric)],
            )
            for metric in Metric
        },
        correlations=Correlations(
            names=names,
            values=[list(row) for row in found.correlations],
            scheduler=found.correlation_scheduler,
            tasks=found.correlated,
        ),
        heat_map=HeatMap(
            size_bounds=list(found.size_bounds),
            intensity_bounds=list(found.intensity_bounds),
            cells=list(found.heat_map),
        ),
        sizes=Histogram(bounds=list(found.histogram_bounds), counts=list(found.histogram_counts)),
        percentiles=_percentiles(found),
    )


def _percentiles(found: Statistics) -> list[Percentiles]:
    by_stored = {_stored(metric): metric.value for metric in Metric}
    return [replace(one, metric=by_stored[one.metric]) for one in found.spreads if one.metric in by_stored]
