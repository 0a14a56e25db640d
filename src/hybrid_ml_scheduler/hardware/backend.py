"""Timing work on a device: by the wall clock anywhere, by events and recorded graphs on CUDA."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.hardware.effort import Run

__all__ = ["Backend", "Call", "Cuda", "Tensor"]

# Torch's types by another name: it is imported only inside functions, so that this room needs numpy alone.
Tensor = Any
_Graph = Any

# One unit of work; the number says which of several buffers to use.
Call = Callable[[int], object]

_NOISE_BLOCK = 2**20


class Backend:
    """A torch device timed by the wall clock, waiting for it before and after."""

    method = "wall clock around a burst of calls, device awaited"

    def __init__(self, kind: str) -> None:
        import torch

        self.kind = kind
        self._module: Any = getattr(torch, kind)

    def synchronize(self) -> None:
        """Wait until the device has done everything asked of it."""
        self._module.synchronize()

    def noise(self, *shape: int) -> Tensor:
        """Numbers that are neither zero nor equal: one random block, repeated to fill the shape."""
        import torch

        count = int(np.prod(shape))
        block = stream(0, "hardware", "noise").random(min(count, _NOISE_BLOCK), dtype=np.float32) - np.float32(0.5)
        filled = torch.from_numpy(np.resize(block, count)).reshape(shape)
        return filled.to(self.kind)

    def queued_burst(self, call: Call, before: Callable[[], object] | None = None) -> Run:
        """Time a burst that keeps the device busy: its own seconds, without waiting for the host."""
        return self.awaited_burst(call, before)

    def awaited_burst(self, call: Call, before: Callable[[], object] | None = None) -> Run:
        """Time a burst by the wall clock, the device awaited once at the end."""

        def run(times: int) -> float:
            if before is not None:
                before()
            self.synchronize()
            begin = time.perf_counter()
            for turn in range(times):
                call(turn)
            self.synchronize()
            return time.perf_counter() - begin

        return run

    def alone(self, call: Call) -> Run:
        """Time calls that are each launched and awaited: what a lone task waits for."""

        def run(times: int) -> float:
            self.synchronize()
            begin = time.perf_counter()
            for turn in range(times):
                call(turn)
                self.synchronize()
            return time.perf_counter() - begin

        return run


class Cuda(Backend):
    """A CUDA device: bursts are recorded as a graph and timed by events, so that no launch gap is counted."""

    method = "CUDA events around the replay of a recorded graph"

    def __init__(self) -> None:
        super().__init__("cuda")

    def queued_burst(self, call: Call, before: Callable[[], object] | None = None) -> Run:
        """Record a burst once for each length, then time its replays on the device's own clock."""
        import torch

        graphs: dict[int, _Graph] = {}

        def run(times: int) -> float:
            if times not in graphs:
                graphs[times] = self._recorded(call, times)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            if before is not None:
                before()
            begin.record()
            graphs[times].replay()
            end.record()
            end.synchronize()
            return float(begin.elapsed_time(end)) / 1000.0

        return run

    def _recorded(self, call: Call, times: int) -> _Graph:
        import torch

        # Libraries allocate their workspace at the first call, which must not happen while recording.
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            call(0)
        torch.cuda.current_stream().wait_stream(side)
        self.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for turn in range(times):
                call(turn)
        return graph
