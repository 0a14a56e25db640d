"""The program that searches for a recommendation, in a process of its own and at low priority.

It takes one JSON object from stdin. On stdout it says how far it is, a line at a time, and at last the record or, in
one sentence, why there is none.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from hybrid_ml_scheduler.core import HmsError

__all__ = ["search"]

_NICENESS = 15
_SAY_EVERY_S = 0.25


def search(order: Mapping[str, Any], say: Callable[[str, int, int], None]) -> dict[str, Any]:
    """The record of the answer to an order."""
    from hybrid_ml_scheduler.plans.plan import WorkloadChoice
    from hybrid_ml_scheduler.studies.recommending.asked import Asked, question_from_values, recommendation

    question = question_from_values(WorkloadChoice(**order["workload"]), order["nodes"], Asked(**order["asked"]))
    record = recommendation(question, say)
    record.pop("workload")  # the order says it, and a path of this machine is nobody's business
    return record


class _Teller:
    """Says how far it is, a few times a second at most."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, label: str, done: int, total: int) -> None:
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _SAY_EVERY_S
            print(json.dumps({"label": label, "done": done, "total": total}), flush=True)


def _answer(text: str) -> dict[str, Any]:
    try:
        return {"record": search(json.loads(text), _Teller())}
    except HmsError as error:
        return {"refusal": str(error)}
    except MemoryError:
        return {"refusal": "The search needs more memory than there is; ask for fewer tasks."}


if __name__ == "__main__":
    with contextlib.suppress(OSError, AttributeError):  # not on every platform
        os.nice(_NICENESS)
    print(json.dumps(_answer(sys.stdin.read())), flush=True)
