"""Azure LLM inference requests: arrival and token counts; every duration is a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hybrid_ml_scheduler.workload import draws
from hybrid_ml_scheduler.workload.table import Table
from hybrid_ml_scheduler.workload.traces.options import TraceOptions
from hybrid_ml_scheduler.workload.traces.records import ANY_MODE, Assumption, Records, unknown

__all__ = ["COLUMNS", "read"]

SERVICES = ("code", "conv")
COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
# Nobody knows beforehand how long an answer will be: what a strategy sees of a request assumes this one.
ASSUMED_OUTPUT_TOKENS = 100


def read(table: Table, options: TraceOptions) -> Records:
    """A request is one task: its prompt at one rate, its output at another.

    Intensity and memory follow from the prompt alone, since a server knows nothing else when the request arrives.
    """
    arrival = table.seconds("TIMESTAMP")
    prompt, output = table.integers("ContextTokens"), table.integers("GeneratedTokens")
    prompt_s = prompt / options.prompt_tokens_per_s
    gpu_s = prompt_s + output / options.output_tokens_per_s
    (decode, _), (prefill, _) = draws.MODES
    assumed_s = ASSUMED_OUTPUT_TOKENS / options.output_tokens_per_s
    count = len(table)
    return Records(
        task_id=np.arange(count),
        arrival_s=arrival,
        cpu_s=unknown(count),
        gpu_s=gpu_s,
        intensity=decode + (prefill - decode) * prompt_s / (prompt_s + assumed_s),
        memory_mb=prompt.astype(np.float64) * options.mb_per_token,
        mode=np.full(count, ANY_MODE),
        parent_offsets=np.zeros(count + 1, dtype=np.int64),
        parent_ids=np.zeros(0, dtype=np.int64),
        notes=_notes(options, decode, prefill),
        kind=(_service(table.path),) * count,
        held_gpu=np.ones(count, dtype=np.bool_),
    )


def _service(path: Path) -> str:
    """The service that the requests went to; the public files tell it by their names."""
    name = path.name.lower()
    return next((service for service in SERVICES if service in name), "")


def _notes(options: TraceOptions, decode: float, prefill: float) -> tuple[Assumption, ...]:
    duration = (
        f"the GPU time of a request is its prompt tokens / {options.prompt_tokens_per_s:g} per s + its output tokens / "
        f"{options.output_tokens_per_s:g} per s (guessed rates of a GPU shared by a batch; nothing was measured)."
    )
    intensity = (
        f"intensity is {prefill:g} for reading the prompt and {decode:g} for writing the output, "
        f"weighted by their share of the GPU time if the answer has {ASSUMED_OUTPUT_TOKENS} tokens (its length is not "
        "known beforehand)."
    )
    memory = f"memory is the key-value cache of the prompt, {options.mb_per_token:g} MB per token (an 8-billion model)."
    return (
        Assumption(name="token_rates", text=duration),
        Assumption(name="intensity_from_tokens", text=intensity),
        Assumption(name="memory_from_tokens", text=memory),
    )
