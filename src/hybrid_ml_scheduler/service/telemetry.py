"""Prometheus metrics with real values: requests as they come, the race as it stands when it is asked."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.live.racer import DECISION_BUCKETS_S, Racer
from hybrid_ml_scheduler.service.ports import Race
from hybrid_ml_scheduler.service.viewers.screen import DEFAULT_FOCUS, Screen
from hybrid_ml_scheduler.service.wire.live import SimulationUpdate
from hybrid_ml_scheduler.service.wire.simulation import SimulationStatus
from hybrid_ml_scheduler.storage import StoreWriter

__all__ = ["Telemetry"]

_DECISION_HELP = (
    "Seconds to place one task (reasons if asked for, deciding, queueing, its outcome), by strategy; "
    "tasks placed together at full speed, up to 64, each count with their mean."
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

    def watch(self, race: Race, hub: Hub, screen: Screen) -> None:
        """Also tell about the race and its viewers; device loads come from the newest update."""
        self._registry.register(_RaceCollector(race, hub, screen))

    def watch_engine(self, arena: Arena, writer: StoreWriter) -> None:
        """Also tell about decisions and stored rows, where the race runs in this process."""
        self._registry.register(_EngineCollector(arena, writer))

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

    def __init__(self, race: Race, hub: Hub, screen: Screen) -> None:
        self._race = race
        self._hub = hub
        self._screen = screen

    def collect(self) -> Iterator[Metric]:
        status = self._race.status()
        yield CounterMetricFamily("hms_tasks", "Task ids given out over all runs.", value=status.tasks_total)
        yield GaugeMetricFamily("hms_run_tasks", "Tasks of the present run.", value=status.tasks_processed)
        yield GaugeMetricFamily("hms_race_running", "1 while the race runs.", value=float(status.state == "running"))
        yield GaugeMetricFamily("hms_race_tasks_per_second", "Speed reached.", value=status.achieved_speed)
        yield GaugeMetricFamily("hms_simulated_seconds", "The simulated clock.", value=status.simulated_time_s)
        yield GaugeMetricFamily("hms_websocket_clients", "Viewers connected.", value=len(self._hub))
        yield from _learning(status)
        yield from _devices(self._screen.update(DEFAULT_FOCUS))


class _EngineCollector(Collector):
    """Reads what only the process that runs the race knows."""

    def __init__(self, arena: Arena, writer: StoreWriter) -> None:
        self._arena = arena
        self._writer = writer

    def collect(self) -> Iterator[Metric]:
        health = self._writer.health()
        yield GaugeMetricFamily("hms_store_backlog_rows", "Rows not yet stored.", value=health.backlog_rows)
        yield GaugeMetricFamily("hms_store_up", "1 while rows are being stored.", value=float(health.state == "ok"))
        yield CounterMetricFamily("hms_store_rows", "Rows stored.", value=health.written_rows)
        yield _decisions([] if self._arena.race is None else self._arena.race.racers)


def _learning(status: SimulationStatus) -> Iterator[Metric]:
    updates = CounterMetricFamily("hms_model_updates", "Retrainings or gradient steps.", labels=["scheduler"])
    merged = CounterMetricFamily("hms_retrainings_coalesced", "Merged into a newer one.", labels=["scheduler"])
    error = GaugeMetricFamily("hms_model_error", "Mean absolute error of the forest.", labels=["scheduler"])
    for name, state in status.learning.items():
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


def _devices(update: SimulationUpdate) -> Iterator[Metric]:
    busy = GaugeMetricFamily(
        "hms_device_utilization", "Busy share of the last 60 simulated seconds.", labels=["scheduler", "device"]
    )
    queue = GaugeMetricFamily("hms_device_queue_length", "Parts waiting or running.", labels=["scheduler", "device"])
    for scheduler, cluster in update.clusters.items():
        for device, load in {"cpu": cluster.cpu, **cluster.__pydantic_extra__}.items():
            busy.add_metric([scheduler, device], load.utilization)
            queue.add_metric([scheduler, device], load.queue_length)
    yield from (busy, queue)
