"""Answers of one model from two backends: scikit-learn's trees and the same trees as plain NumPy loops.

The second backend is a device like any other: a worker of its own that serves another implementation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler import HybridExecutor, task

Rows = npt.NDArray[np.float64]


@lru_cache(maxsize=1)
def model() -> Any:
    """Fitted once in every worker, from the same seed."""
    from sklearn.linear_model import LogisticRegression

    rows = np.linspace(-1.0, 1.0, 400).reshape(200, 2)
    return LogisticRegression().fit(rows, rows.sum(axis=1) > 0)


@task(kind="answer", size=len)
def answer(rows: Rows) -> list[int]:
    """The library's own way."""
    return [int(one) for one in model().predict(rows)]


@answer.on("plain")
def answer_plain(rows: Rows) -> list[int]:
    """The same line drawn by hand."""
    fitted = model()
    return [int(one) for one in rows @ fitted.coef_[0] + fitted.intercept_[0] > 0]


def main() -> None:
    batches = [np.random.Generator(np.random.PCG64(seed)).normal(size=(60, 2)) for seed in range(20)]
    with HybridExecutor(1, devices=["plain"]) as executor:
        answers = [one for found in executor.map(answer, batches) for one in found]
        places = sorted({record.place for record in executor.records()})
    print(f"{len(answers):,} rows answered, {sum(answers)} of them yes, on {' and '.join(places)}")


if __name__ == "__main__":
    main()
