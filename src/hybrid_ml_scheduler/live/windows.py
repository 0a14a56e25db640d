"""The windows that strategies are compared over: the whole run, the tasks since the last shift, the latest thousand."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.physics.node import Node

__all__ = ["LATEST", "Span", "WindowName", "Windows", "loads"]

LATEST = 1000

WindowName = Literal["run", "shift", "latest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The tasks of one window, and those of them that are compared: up to `compared_task`, which came at `compared_s`.

    `oracle_s` is how long the oracle would run the compared tasks.
    """

    name: WindowName
    first_task: int
    last_task: int
    compared_task: int
    begin_s: float
    end_s: float
    compared_s: float
    oracle_s: float

    @property
    def tasks(self) -> int:
        """How many tasks have entered."""
        return self.last_task - self.first_task + 1

    @property
    def compared(self) -> int:
        """How many tasks are compared."""
        return max(0, self.compared_task - self.first_task + 1)


def loads(
    node: Node, work_s: tuple[float, float], length_s: float, makespan_s: float
) -> tuple[float | None, float | None]:
    """Return the seconds of work that a slot of the CPU, and a GPU on average, were given for every second.

    Where all tasks came at one moment, the seconds are those until the last finish.
    """
    passed_s = length_s if length_s > 0.0 else makespan_s
    if passed_s <= 0.0:
        return None, None
    return work_s[0] / passed_s / node.cpu.slots, work_s[1] / passed_s / node.num_gpus


class Windows:
    """What a window needs that is no strategy's own: where it begins, and the oracle's answers in it."""

    def __init__(self, first_task: int, begin_s: float = 0.0) -> None:
        self._first_task = self._next_task = first_task
        self._begin_s = begin_s
        self._shift: tuple[int, float] | None = None
        self._now_s, self._compared_s, self.oracle_s, self._shift_oracle_s = begin_s, begin_s, 0.0, 0.0
        self._arrival_s, self._label_s = [0.0] * LATEST, [0.0] * LATEST
        self._ahead: deque[tuple[int, float, float]] = deque()  # tasks that are not compared yet

    def enter(self, task_id: int, arrival_s: float, label_s: float, now_s: float) -> None:
        """Note a task of the race with the execution time of the oracle's split."""
        self._ahead.append((task_id, arrival_s, label_s))
        self._next_task, self._now_s = task_id + 1, now_s

    def enter_all(self, task_ids: IntColumn, arrival_s: FloatColumn, label_s: FloatColumn) -> None:
        """Note tasks that were taken together."""
        self._ahead.extend(zip(task_ids.tolist(), arrival_s.tolist(), label_s.tolist(), strict=True))
        self._next_task, self._now_s = int(task_ids[-1]) + 1, float(arrival_s[-1])

    def compare(self, up_to: int) -> None:
        """Let the comparison end at this task."""
        ahead, first_shifted = self._ahead, self._next_task if self._shift is None else self._shift[0]
        while ahead and ahead[0][0] <= up_to:
            task_id, self._compared_s, label_s = ahead.popleft()
            slot = task_id % LATEST
            self._arrival_s[slot], self._label_s[slot] = self._compared_s, label_s
            self.oracle_s += label_s
            if task_id >= first_shifted:
                self._shift_oracle_s += label_s

    def shift(self, task_id: int, now_s: float) -> None:
        """The tasks from this one on follow other laws."""
        self._shift, self._shift_oracle_s = (task_id, now_s), 0.0

    def spans(self) -> list[Span]:
        """Return the windows; the one since the last shift begins with the first task after it."""
        last = self._next_task - 1
        spans = [self._span("run", self._first_task, self._begin_s, self.oracle_s)]
        if self._shift is not None and self._shift[0] <= last:
            spans.append(self._span("shift", *self._shift, self._shift_oracle_s))
        first = max(self._first_task, self._compared_task - LATEST + 1)
        begin_s = self._begin_s if first == self._first_task else self._arrival_s[first % LATEST]
        spans.append(self._span("latest", first, begin_s, self._latest_oracle_s(first)))
        return spans

    @property
    def _compared_task(self) -> int:
        return self._ahead[0][0] - 1 if self._ahead else self._next_task - 1

    def _span(self, name: WindowName, first: int, begin_s: float, oracle_s: float) -> Span:
        return Span(
            name=name,
            first_task=first,
            last_task=self._next_task - 1,
            compared_task=self._compared_task,
            begin_s=begin_s,
            end_s=self._now_s,
            compared_s=max(begin_s, self._compared_s),
            oracle_s=oracle_s,
        )

    def _latest_oracle_s(self, first: int) -> float:
        slots = np.arange(first, self._compared_task + 1) % LATEST
        return float(np.array(self._label_s)[slots].sum())

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state, picklable."""
        return {
            "next_task": self._next_task,
            "begin_s": self._begin_s,
            "shift": self._shift,
            "now_s": self._now_s,
            "compared_s": self._compared_s,
            "oracle_s": self.oracle_s,
            "shift_oracle_s": self._shift_oracle_s,
            "arrival_s": self._arrival_s.copy(),
            "label_s": self._label_s.copy(),
            "ahead": list(self._ahead),
        }

    def restore(self, state: Mapping[str, Any], first_task: int) -> None:
        """Continue from a captured state."""
        self._first_task = first_task
        for name, value in state.items():
            setattr(self, name if name == "oracle_s" else f"_{name}", value)
        self._arrival_s, self._label_s = self._arrival_s.copy(), self._label_s.copy()
        self._ahead = deque(state["ahead"])
