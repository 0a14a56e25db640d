"""Having a file read so that the service's loop never waits for it.

A small one is read beside the loop in milliseconds. A large or packed one, of which nobody knows what it grows to, is
read by a process of its own, with bounded memory and for a bounded time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.service.problems import Unavailable
from hybrid_ml_scheduler.service.uploads.reading import read

__all__ = ["PACKED", "check_upload"]

_READER = "hybrid_ml_scheduler.service.uploads.reading"
_READ_WITHIN_S = 120.0


_SMALL_BYTES = 65_536
PACKED = b"\x1f\x8b"


async def check_upload(folder: Path, data: bytes, order: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was found in the file; what a reader refuses is refused with its sentence."""
    if len(data) > _SMALL_BYTES or data.startswith(PACKED):
        return await _read_apart(folder, order)
    try:
        return await asyncio.to_thread(read, order, folder)
    except HmsError as problem:
        raise PlanError(str(problem).replace(f"{folder}/", "")) from problem


async def _read_apart(folder: Path, order: Mapping[str, Any]) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        _READER,
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(json.dumps(dict(order)).encode()), _READ_WITHIN_S)
    except asyncio.TimeoutError:
        sentence = f"{order['name']} was not read within {_READ_WITHIN_S:.0f} s; send a shorter part of it."
        raise PlanError(sentence) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Unavailable(f"The reader of {order['name']} ended before it was done; try again.")
    answer: dict[str, Any] = json.loads(said)
    if "refusal" in answer:
        raise PlanError(answer["refusal"])
    facts: dict[str, Any] = answer["facts"]
    return facts
