"""A slow and obvious simulator in plain Python, written from the specification and from nothing else.

It shares no code with the product but the nouns (`Task`, `TaskBatch`, `Node`): its physics, its event
loop and its strategies are its own, so that an error would have to be made twice to pass unnoticed.
"""

from __future__ import annotations

from tests.reference.simulator import Record, simulate
from tests.reference.strategies import STRATEGIES, Strategy, make_strategy

__all__ = ["STRATEGIES", "Record", "Strategy", "make_strategy", "simulate"]
