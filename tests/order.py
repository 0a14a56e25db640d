"""The order of the tests: what takes long or shares a service comes first, and small tests fill what is left.

Each worker gets an equal number of tests, one stretch of this order, and takes over the end of another's when its own
is done. So a stretch begins with whole folders whose tests share a browser, a service or a cluster, which then is
started once, and ends with small tests, of which the last one keeps nobody waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["in_stretches"]

Test = TypeVar("Test")

# What takes long, by the beginning of its path; lists run side by side, and what is not named is small. The browser's
# tests wait most and are two lists, so that they do not go on alone when all others are done.
_LONG = (
    (
        "tests/e2e/test_access",
        "tests/e2e/test_connection",
        "tests/e2e/test_first_visit",
        "tests/e2e/test_following",
        "tests/e2e/test_l",
        "tests/e2e/test_new_run",
    ),
    ("tests/e2e/",),
    ("tests/api/", "tests/contracts/storage/"),
    (
        "tests/contracts/on_ray/",
        "tests/unit/programs/",
        "tests/unit/docs/",
        "tests/unit/execution/",
        "tests/unit/studies/",
        "tests/unit/reports/",
        "tests/unit/cli/",
    ),
)


def in_stretches(tests: Sequence[Test], names: Sequence[str], workers: int) -> list[Test]:
    """The tests, which have these names, so that the stretch of each worker begins with long ones.

    A list that is longer than a stretch leaves its end to the others: what were in front of the next stretch would be
    the middle of a list, and its beginning would come last of all.
    """
    if workers < 2:
        return list(tests)
    long: list[list[Test]] = [[] for _ in range(workers)]
    small: list[Test] = []
    for place in sorted(range(len(tests)), key=lambda place: _place(names[place])):
        group, _ = _place(names[place])
        (small if group == len(_LONG) else long[group % workers]).append(tests[place])
    shortest = len(tests) // workers
    small = [*(test for own in long for test in own[shortest:]), *small]
    ordered: list[Test] = []
    for worker, own in enumerate(long):
        room = (len(tests) - len(ordered)) // (workers - worker)  # as pytest-xdist cuts
        stretch = own[:shortest]
        filling = room - len(stretch)
        ordered += [*stretch, *small[:filling]]
        small = small[filling:]
    return [*ordered, *small]


def _place(name: str) -> tuple[int, int]:
    """The list that a test is in, and where; tests of one place keep their order."""
    for group, places in enumerate(_LONG):
        for rank, place in enumerate(places):
            if name.startswith(place):
                return group, rank
    return len(_LONG), 0
