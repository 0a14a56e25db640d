"""The measurements themselves: matrix product, streaming, transfers and launch, on any backend."""

from __future__ import annotations

from collections.abc import Callable

from hybrid_ml_scheduler.hardware.backend import Backend, Call, Tensor
from hybrid_ml_scheduler.hardware.effort import Effort, Run, Tick, reading, sample, sweep
from hybrid_ml_scheduler.hardware.profile import Reading, Series

__all__ = ["launch", "matmul", "product", "stream_add", "transfers"]

_WINDOWS = 256


def product(backend: Backend, size: int) -> Call:
    """The matrix product c = a·b of two size × size matrices, fp32, operands on the device."""
    import torch

    left, right = backend.noise(size, size), backend.noise(size, size)
    out = torch.empty_like(left)
    return lambda _turn: torch.mm(left, right, out=out)


def matmul(
    backend: Backend, effort: Effort, tick: Tick, *, label: str = "matrix product", alone: bool = False
) -> Series:
    """Seconds of one matrix product over sizes; `alone` launches and awaits each one."""

    def run_at(size: int) -> Run:
        call = product(backend, size)
        return backend.alone(call) if alone else backend.queued_burst(call)

    points = sweep(f"{backend.kind} {label}", effort.sizes, 3.0, run_at, effort, tick)
    method = "wall clock, each call launched and awaited" if alone else backend.method
    return Series(unit="s", axis="size", method=method, points=points)


def stream_add(backend: Backend, effort: Effort, tick: Tick) -> Series:
    """Seconds of c = a + 3·b over size² numbers (12 bytes each), read from memory rather than from the cache."""
    import torch

    pool = max(effort.sizes) ** 2
    left, right = backend.noise(pool), backend.noise(pool)
    out = torch.empty_like(left)

    def empty_caches() -> object:
        return torch.add(left, right, out=out)

    def run_at(size: int) -> Run:
        a, b, c = (_windows(column, size * size) for column in (left, right, out))

        def call(turn: int) -> object:
            at = turn % len(a)
            return torch.add(a[at], b[at], alpha=3.0, out=c[at])

        return backend.queued_burst(call, empty_caches)

    points = sweep(f"{backend.kind} streaming", effort.sizes, 2.0, run_at, effort, tick)
    return Series(unit="s", axis="size", method=f"{backend.method}, caches emptied before", points=points)


def _windows(column: Tensor, count: int) -> list[Tensor]:
    """Up to so many pieces of the column, as far apart as they go."""
    pieces = min(_WINDOWS, column.numel() // count)
    step = column.numel() // pieces
    return [column[turn * step : turn * step + count] for turn in range(pieces)]


def transfers(backend: Backend, effort: Effort, tick: Tick, *, pinned: bool) -> dict[str, Series]:
    """Seconds of one copy to the device and back over numbers of bytes."""
    import torch

    kind = "pinned" if pinned else "pageable"

    def both(number_of_bytes: int) -> tuple[Tensor, Tensor]:
        host = Backend("cpu").noise(number_of_bytes // 4)
        host = host.pin_memory() if pinned else host
        return host, torch.empty_like(host, device=backend.kind)

    def to_device(number_of_bytes: int) -> Run:
        host, device = both(number_of_bytes)
        return backend.alone(lambda _turn: device.copy_(host, non_blocking=pinned))

    def to_host(number_of_bytes: int) -> Run:
        host, device = both(number_of_bytes)
        device.copy_(host)
        return backend.alone(lambda _turn: host.copy_(device, non_blocking=pinned))

    def series(label: str, run_at: Callable[[int], Run]) -> Series:
        points = sweep(f"{kind} {label}, bytes", effort.transfer_bytes, 1.0, run_at, effort, tick)
        return Series(unit="s", axis="bytes", method="wall clock, each copy awaited", points=points)

    return {
        f"transfer_{kind}_to_device": series("to device", to_device),
        f"transfer_{kind}_to_host": series("to host", to_host),
    }


def launch(backend: Backend, effort: Effort, *, awaited: bool) -> Reading:
    """Seconds of the smallest piece of work: launched and awaited, or one of many in a queue."""
    one = backend.noise(1)
    timer = backend.alone if awaited else backend.awaited_burst
    return reading("s", sample(timer(lambda _turn: one.add_(1.0)), effort))
