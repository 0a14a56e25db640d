"""What the service offers: strategies, presets, its own version and limits, its health."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hybrid_ml_scheduler.service.wire.common import Answer

__all__ = ["About", "Component", "GpuTypeCard", "Health", "Online", "Preset", "StrategyCard"]


class StrategyCard(Answer):
    """A registered strategy."""

    name: str
    label: str
    color: str = Field(description="A CSS colour that is the same everywhere.")
    kind: str = Field(description="`baseline`, `heuristic`, `learner`, `reference` or `plugin`.")
    description: str
    in_race: bool
    learns: bool
    explains: bool = Field(description="Whether it gives reasons; known once it races.")


class GpuTypeCard(Answer):
    """A type of GPU that a new run's node can have; prices are examples, not quotations."""

    name: str
    title: str
    memory_mb: float
    fp32_tflops: float
    tensor_tflops: float = Field(description="Peak FP16 on tensor cores; 0 for a board without fast FP16.")
    power_w: float
    price_usd_h: float


class Preset(Answer):
    """A named workload."""

    name: str
    description: str
    arrival_rate: float
    size_range: tuple[float, float]
    intensity_range: tuple[float, float]
    memory_range: tuple[float, float]


class About(Answer):
    """What a client should know about this service; never a secret."""

    name: str
    version: str
    environment: str
    needs_api_key: bool = Field(description="Changing calls need the header `X-API-Key`.")
    follows: bool = Field(description="Another service runs the race; this one shows it and changes nothing.")
    update_interval_s: float
    num_gpus: int
    retrain_interval: int
    default_speed: float
    max_body_bytes: int
    max_message_bytes: int
    rate_limit: str


class Online(Answer):
    """The answer of `/` to a client that asks for JSON."""

    status: Literal["online"]
    name: str
    version: str
    docs: str


class Component(Answer):
    """One part of the service and how quickly it answered."""

    status: Literal["ok", "degraded", "down"]
    latency_ms: float | None
    detail: str


class Health(Answer):
    """The truth about the parts; the status code is 503 when the database is down."""

    status: Literal["ok", "degraded", "down"]
    database: Component
    cache: Component
    engine: Component
