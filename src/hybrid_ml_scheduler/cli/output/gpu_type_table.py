"""The table that `hms nodes` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from hybrid_ml_scheduler.cli.output.show import page

__all__ = ["print_gpu_types"]

_COLUMNS = (
    ("memory GB", "memory_mb", 1000.0),
    ("memory GB/s", "memory_gb_s", 1.0),
    ("FP32 TFLOPS", "fp32_tflops", 1.0),
    ("FP16 TFLOPS", "tensor_tflops", 1.0),
    ("bus GB/s", "bandwidth_mb_s", 1000.0),
    ("power W", "power_w", 1.0),
    ("price $/h", "price_usd_h", 1.0),
)


def print_gpu_types(rows: Sequence[Mapping[str, Any]], prices_of: str) -> None:
    """List the catalogue, with what its figures are."""
    table = Table(title="GPU types")
    table.add_column("type")
    table.add_column("board")
    for heading, _, _ in _COLUMNS:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(row["name"], row["title"], *(f"{row[key] / unit:g}" for _, key, unit in _COLUMNS))
    console = page()
    console.print(table)
    console.print(
        "Figures as published by the makers: FP32 without tensor cores, FP16 on tensor cores without sparsity (0: no "
        "fast FP16).",
        highlight=False,
    )
    console.print(
        f"Prices are examples of {prices_of}, rounded, not quotations: write your own into a plan as "
        "\\[physics.types.h200] price_usd_h.",
        highlight=False,
    )
