"""Telling the user when the first race has to compile."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["say_if_compiling"]


def say_if_compiling() -> None:
    """Say so once if the compiled code is not in the cache yet."""
    from hybrid_ml_scheduler.cluster.kernel import run_independent

    stats = run_independent.stats
    cache = Path(str(stats.cache_path))
    if not any(cache.glob("kernel.run_independent-*.nbc")):
        print(
            "The first race compiles its kernels (some 10 seconds); they are cached for the next one.", file=sys.stderr
        )
