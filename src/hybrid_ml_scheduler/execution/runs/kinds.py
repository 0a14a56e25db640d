"""Built-in real kinds of work, each with the implementations that exist: NumPy or Python, Numba, torch on CUDA.

A task names its kind's size; the input is made once a worker and size and then used again, so that a run measures the
work and, on a GPU, the way there and back.
"""

from __future__ import annotations

import functools
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.core.text import nearest_hint
from hybrid_ml_scheduler.execution.devices import CPU
from hybrid_ml_scheduler.execution.tasks import TaskFunction, task

__all__ = ["KINDS", "SIZE_TABLES", "Sizes", "kinds_named", "sizes_named", "warm_up"]

Floats = npt.NDArray[np.float32]
_CHAIN_STEPS = 200


@functools.lru_cache(maxsize=256)
def _numbers(*shape: int) -> Floats:
    made: Floats = stream(0, "execution", "input", *shape).random(shape, dtype=np.float32) - np.float32(0.5)
    return made


@functools.lru_cache(maxsize=64)
def _text(size: int) -> bytes:
    rows = [{"id": row, "name": f"row {row % 97}", "value": row * 0.37} for row in range(size)]
    return json.dumps(rows).encode()


def _first(size: float) -> float:
    return size


@task(kind="matmul", size=_first, intensity=1.0)
def matmul(size: int) -> float:
    """A product of two square matrices."""
    left = _numbers(size, size)
    return float((left @ left)[0, 0])


@task(kind="stream", size=_first, intensity=0.3)
def streaming(size: int) -> float:
    """A few passes over a long vector."""
    values = _numbers(size)
    return float((np.sqrt(values * values + 1.0) * 2.0 - values).sum())


@task(kind="sort", size=_first, intensity=0.4)
def sort(size: int) -> float:
    """Sorting a vector."""
    return float(np.sort(_numbers(size))[size // 2])


@task(kind="perceptron", size=_first, intensity=0.9)
def perceptron(size: int) -> float:
    """Four layers on a batch of rows."""
    values, weights = _numbers(size, 256), _numbers(256, 256)
    for _ in range(4):
        values = np.maximum(values @ weights, 0.0)
    return float(values.sum())


@task(kind="chain", size=_first, intensity=0.1)
def chain(size: int) -> float:
    """Many small steps, each waiting for the one before."""
    values = _numbers(size)
    for _ in range(_CHAIN_STEPS):
        values = values * np.float32(0.99) + np.float32(0.01)
    return float(values[0])


@task(kind="fft", size=_first, intensity=0.6)
def fft(size: int) -> float:
    """A discrete Fourier transform."""
    return float(np.abs(np.fft.rfft(_numbers(size)))[1])


@task(kind="compress", size=_first, intensity=0.0)
def compress(size: int) -> int:
    """Packing text with zlib."""
    return len(zlib.compress(_text(size), 6))


@task(kind="parse", size=_first, intensity=0.0)
def parse(size: int) -> float:
    """Pure Python: reading numbers out of text."""
    return sum(float(word.split(b",")[0].split(b"}")[0]) for word in _text(size).split(b'"value": ')[1:])


KINDS: dict[str, TaskFunction] = {
    one.kind: one for one in (matmul, streaming, sort, perceptron, chain, fft, compress, parse)
}
Sizes = Mapping[str, tuple[int, ...]]
# `small` sizes take about 1 to 50 ms on one core of a server, `large` ones 10 to 500 ms: those are for GPU nodes.
SIZE_TABLES: dict[str, dict[str, tuple[int, ...]]] = {
    "small": {
        "matmul": (192, 320, 512, 768),
        "stream": (200_000, 500_000, 1_200_000, 3_000_000),
        "sort": (30_000, 80_000, 200_000, 500_000),
        "perceptron": (64, 200, 600, 1600),
        "chain": (2_000, 10_000, 40_000, 120_000),
        "fft": (40_000, 120_000, 360_000, 900_000),
        "compress": (500, 1500, 4000, 9000),
        "parse": (1000, 4000, 12_000, 30_000),
    },
    "large": {
        "matmul": (768, 1280, 1792, 2304),
        "stream": (2_000_000, 6_000_000, 12_000_000, 24_000_000),
        "sort": (400_000, 1_000_000, 2_000_000, 4_000_000),
        "perceptron": (1600, 4800, 9600, 16_000),
        "chain": (60_000, 200_000, 500_000, 1_000_000),
        "fft": (500_000, 1_500_000, 4_000_000, 8_000_000),
        "compress": (6_000, 15_000, 40_000, 90_000),
        "parse": (12_000, 40_000, 100_000, 250_000),
    },
}


def sizes_named(name: str, kinds: Iterable[str]) -> Sizes:
    """A table of sizes by name, for some kinds."""
    if name not in SIZE_TABLES:
        raise PlanError(f"sizes = {name!r} must be one of {', '.join(SIZE_TABLES)}.")
    return {kind: SIZE_TABLES[name][kind] for kind in kinds}


def kinds_named(names: Iterable[str] | None) -> tuple[str, ...]:
    """Kinds by name; all of them by default."""
    chosen = tuple(KINDS) if names is None else tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in KINDS:
            raise PlanError(f"There is no built-in kind {name!r}{nearest_hint(name, KINDS)}")
    return chosen


def warm_up(sizes: Sizes) -> None:
    """Run everything once in a new worker: inputs, compilation and a GPU's start are no part of a measurement."""
    device = os.environ.get("HMS_DEVICE", CPU)
    for kind, wanted in sizes.items():
        call = KINDS[kind].implementations.get(device)
        if call is not None:
            for size in (*wanted, *wanted):
                call(size)


# -- Numba: the same work as compiled loops -------------------------------------------------------------------------


@functools.cache
def _compiled() -> dict[str, Callable[..., Any]]:
    from hybrid_ml_scheduler.execution.runs import numba_kinds

    return {"stream": numba_kinds.streaming, "chain": numba_kinds.chain, "parse": numba_kinds.parse,
            "perceptron": numba_kinds.perceptron, "sort": numba_kinds.sort}  # fmt: skip


@streaming.on("numba")
def streaming_numba(size: int) -> float:
    """One pass instead of several."""
    return float(_compiled()["stream"](_numbers(size)))


@chain.on("numba")
def chain_numba(size: int) -> float:
    """The steps of each element in a register."""
    return float(_compiled()["chain"](_numbers(size), _CHAIN_STEPS)[0])


@parse.on("numba")
def parse_numba(size: int) -> float:
    """The digits read by a compiled loop."""
    return float(_compiled()["parse"](np.frombuffer(_text(size), dtype=np.uint8)))


@perceptron.on("numba")
def perceptron_numba(size: int) -> float:
    """The same product through a compiled function."""
    return float(_compiled()["perceptron"](_numbers(size, 256), _numbers(256, 256), 4))


@sort.on("numba")
def sort_numba(size: int) -> float:
    """A compiled sort, slower than NumPy's."""
    return float(_compiled()["sort"](_numbers(size))[size // 2])


# -- torch: the same work on a CUDA GPU, with the way there and back --------------------------------------------------


def _to_gpu(values: Floats) -> Any:
    import torch

    return torch.from_numpy(values).to("cuda")


@matmul.on("cuda")
def matmul_cuda(size: int) -> float:
    """The product on the GPU; the whole result comes back."""
    left = _to_gpu(_numbers(size, size))
    return float((left @ left).cpu()[0, 0])


@streaming.on("cuda")
def streaming_cuda(size: int) -> float:
    """The passes on the GPU."""
    values = _to_gpu(_numbers(size))
    return float(((values * values + 1.0).sqrt() * 2.0 - values).sum().cpu())


@sort.on("cuda")
def sort_cuda(size: int) -> float:
    """Sorted on the GPU; the whole vector comes back."""
    return float(_to_gpu(_numbers(size)).sort().values.cpu()[size // 2])


@perceptron.on("cuda")
def perceptron_cuda(size: int) -> float:
    """The layers on the GPU."""
    values, weights = _to_gpu(_numbers(size, 256)), _to_gpu(_numbers(256, 256))
    for _ in range(4):
        values = (values @ weights).clamp(min=0.0)
    return float(values.sum().cpu())


@chain.on("cuda")
def chain_cuda(size: int) -> float:
    """One small kernel a step."""
    values = _to_gpu(_numbers(size))
    for _ in range(_CHAIN_STEPS):
        values = values * 0.99 + 0.01
    return float(values.cpu()[0])


@fft.on("cuda")
def fft_cuda(size: int) -> float:
    """The transform on the GPU; the whole spectrum comes back."""
    import torch

    return float(torch.fft.rfft(_to_gpu(_numbers(size))).abs().cpu()[1])
