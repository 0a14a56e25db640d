"""The most of something that a plan, a flag or the environment may ask for."""

from __future__ import annotations

__all__ = ["MOST_GPUS", "MOST_SEED", "MOST_SEEDS"]

MOST_GPUS = 1024
# What a database's whole numbers can hold.
MOST_SEED = 2**63 - 1
MOST_SEEDS = 1_000_000
