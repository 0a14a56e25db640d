"""`hms nodes`: the GPU types that a node may be built of."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from hybrid_ml_scheduler.cli.output.formats import Format

__all__ = ["nodes"]


def nodes(
    output: Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")] = Format.TABLE,
) -> None:
    """List the GPU types of the catalogue: memory, bandwidth, peak figures, power, and example prices to be edited.

    A plan takes one by `type = "h200"` in `[[physics.gpus]]` or `[physics.gpu]`, a race by `--gpu-type h200`. A section
    `[physics.types.h200]` edits one, for example its price; another name adds one; `profile = "mine.json"` in it names
    a measurement of `hms profile`, which then scales times before published figures do.
    """
    from hybrid_ml_scheduler.physics.gpu_types import GPU_TYPES, PRICES_OF

    rows = [{key: value for key, value in asdict(one).items() if key != "curves"} for one in GPU_TYPES.values()]
    if output is Format.JSON:
        from hybrid_ml_scheduler.cli.output.show import print_json

        print_json({"gpu_types": rows, "prices_of": PRICES_OF, "prices_are": "examples, to be edited in a plan"})
        return
    from hybrid_ml_scheduler.cli.output.gpu_type_table import print_gpu_types

    print_gpu_types(rows, PRICES_OF)
