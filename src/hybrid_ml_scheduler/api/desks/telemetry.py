"""Prometheus metrics with real values: requests as they come, the race as it stands when it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.frames import Frame
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.live.racer import DECISION_BUCKETS_S, Racer
from hybrid_ml_scheduler.storage import StoreWriter

__all__ = ["Telemetry"]

_DECISION_HELP = (
    "Seconds to place one task (reasons if asked for, deciding, queueing, its outcome), by strategy; "
    "tasks placed together at full speed, up to 24, each count with their mean."
)


class Telemetry:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "hms_http_requests", "HTTP requests.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "hms_http_request_seconds", "Seconds to answer a request.", ["route"], registry=self._registry
        )
        self._refused = Counter(
            "hms_websocket_refused", "WebSocket connections refused.", ["reason"], registry=self._registry
        )
        self._sent = Counter("hms_websocket_messages", "WebSocket messages sent.", registry=self._registry)

    def watch(self, arena: Arena, hub: Hub, writer: StoreWriter, frame: Callable[[], Frame]) -> None:
        """Also tell about the race, its viewers and its store; device loads come from the newest frame."""
        self._registry.register(_RaceCollector(arena, hub, writer, frame))

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def refused(self, reason: str) -> None:
        """Count a refused viewer."""
        self._refused.labels(reason).inc()

    def sent(self) -> None:
        """Count a message to a viewer."""
        self._sent.inc()

    def text(self) -> bytes:
        """Return everything in the Prometheus text format."""
        return generate_latest(self._registry)


class _RaceCollector(Collector):
    """Reads the race's own counters when a scrape asks for them."""

    def __init__(self, arena: Arena, hub: Hub, writer: StoreWriter, frame: Callable[[], Frame]) -> None:
        self._frame = frame
        self._arena = arena
        self._hub = hub
        self._writer = writer

    def collect(self) -> Iterator[Metric]:
        status, health = self._arena.status(), self._writer.health()
        yield CounterMetricFamily("hms_tasks", "Task ids given out over all runs.", value=status.next_task_id)
        yield GaugeMetricFamily("hms_run_tasks", "Tasks of the present run.", value=status.tasks_processed)
        yield GaugeMetricFamily("hms_race_running", "1 while the race runs.", value=float(status.state == "running"))
        yield GaugeMetricFamily("hms_race_tasks_per_second", "Speed reached.", value=status.achieved_speed)
        yield GaugeMetricFamily("hms_simulated_seconds", "The simulated clock.", value=status.simulated_time_s)
        yield GaugeMetricFamily("hms_websocket_clients", "Viewers connected.", value=len(self._hub))
        yield GaugeMetricFamily("hms_store_backlog_rows", "Rows not yet stored.", value=health.backlog_rows)
        yield GaugeMetricFamily("hms_store_up", "1 while rows are being stored.", value=float(health.state == "ok"))
        yield CounterMetricFamily("hms_store_rows", "Rows stored.", value=health.written_rows)
        yield from self._learning()
        racers = [] if self._arena.race is None else self._arena.race.racers
        yield _decisions(racers)
        yield from _devices(self._frame())

    def _learning(self) -> Iterator[Metric]:
        updates = CounterMetricFamily("hms_model_updates", "Retrainings or gradient steps.", labels=["scheduler"])
        merged = CounterMetricFamily("hms_retrainings_coalesced", "Merged into a newer one.", labels=["scheduler"])
        error = GaugeMetricFamily("hms_model_error", "Mean absolute error of the forest.", labels=["scheduler"])
        for name, state in self._arena.status().learning.items():
            updates.add_metric([name], state.updates)
            merged.add_metric([name], state.coalesced)
            if state.error is not None:
                error.add_metric([name], state.error)
        yield from (updates, merged, error)


def _decisions(racers: list[Racer]) -> Metric:
    family = HistogramMetricFamily("hms_decision_seconds", _DECISION_HELP, labels=["scheduler"])
    for racer in racers:
        total, buckets = 0, []
        for bound, count in zip(DECISION_BUCKETS_S, list(racer.decision_counts), strict=True):
            total += count
            buckets.append(("+Inf" if bound == float("inf") else repr(bound), total))
        family.add_metric([racer.name], buckets, sum_value=racer.decision_s)
    return family


def _devices(frame: Frame) -> Iterator[Metric]:
    busy = GaugeMetricFamily(
        "hms_device_utilization", "Busy share of the last 60 simulated seconds.", labels=["scheduler", "device"]
    )
    queue = GaugeMetricFamily("hms_device_queue_length", "Parts waiting or running.", labels=["scheduler", "device"])
    for scheduler, devices in frame.clusters.items():
        for device, state in devices.items():
            busy.add_metric([scheduler, device], state.utilization)
            queue.add_metric([scheduler, device], state.queue_length)
    yield from (busy, queue)
