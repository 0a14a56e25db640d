"""A small workflow: shards are made, cleaned and added up; futures are handed on as arguments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler import HybridExecutor, task

Floats = npt.NDArray[np.float64]


@task(kind="make")
def make(number: int) -> Floats:
    return np.arange(number * 500, (number + 1) * 500, dtype=np.float64)


@task(kind="clean")
def clean(shard: Floats) -> Floats:
    return shard[np.isfinite(shard)]


@task(kind="total")
def total(shards: list[Floats]) -> float:
    return float(sum(shard.sum() for shard in shards))


def main() -> None:
    with HybridExecutor(2, devices=[]) as executor:
        shards = [executor.submit(clean, executor.submit(make, number)) for number in range(4)]
        everything = executor.submit(total, shards)
        print(f"total of all shards: {everything.result()}")


if __name__ == "__main__":
    main()
