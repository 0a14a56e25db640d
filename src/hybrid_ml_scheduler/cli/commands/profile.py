"""`hms profile`: measure this machine, so that races can run on its numbers."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_ml_scheduler.cli.output.formats import Format, check_place

if TYPE_CHECKING:
    from hybrid_ml_scheduler.hardware import Profile

__all__ = ["profile"]

EPILOG = "Example: `hms profile --quick --out mine.json`, then `hms race --hardware mine.json`"


class Device(str, Enum):
    """Which GPU to measure beside the CPU."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"


def profile(
    out: Annotated[Path, typer.Option(help="JSON file to write.")] = Path("profile.json"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer sizes and repeats: about ten seconds.")] = False,
    device: Annotated[
        Device, typer.Option(help="The GPU to measure beside the CPU; auto takes CUDA, then MPS, then none.")
    ] = Device.AUTO,
    output: Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")] = Format.TABLE,
) -> None:
    """Measure the CPU and, where present, a GPU: matrix product, streaming, transfers, launch and power.

    The file holds every median with its spread. Keep the machine quiet meanwhile, or the file will say that it was not.
    """
    from hybrid_ml_scheduler.hardware import write_profile

    check_place("--out", out)
    measured = _measured(quick, device.value)
    write_profile(measured, out)
    if output is Format.JSON:
        import json

        from hybrid_ml_scheduler.hardware import to_mapping

        typer.echo(json.dumps(to_mapping(measured), indent=1, ensure_ascii=False, allow_nan=False))
        return
    from hybrid_ml_scheduler.cli.output.profile_table import show

    show(measured, out)


def _measured(quick: bool, device: str) -> Profile:
    from hybrid_ml_scheduler.cli.output.formats import steps
    from hybrid_ml_scheduler.hardware import measure

    with steps() as say:
        return measure(quick=quick, device=device, progress=say)
