"""The most of something that a plan, a flag or the environment may ask for."""

from __future__ import annotations

__all__ = ["LEAST_AMOUNT", "MOST_AMOUNT", "MOST_GPUS", "MOST_OPEN", "MOST_SEED", "MOST_SEEDS", "MOST_SLOTS"]

# Sizes, megabytes and seconds: far beyond any machine, and so that no formula overflows or ends at zero.
LEAST_AMOUNT, MOST_AMOUNT = 1e-12, 1e12
MOST_GPUS = 1024
MOST_SLOTS = 1024
# What a database's whole numbers can hold.
MOST_SEED = 2**63 - 1
MOST_SEEDS = 1_000_000
# How many tasks may come after the oldest one that a strategy holds in a live race, unless a plan says otherwise.
MOST_OPEN = 4096
