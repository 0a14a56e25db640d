"""Every word that a strategy of the product explains itself with is explained by the dashboard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.knowledge import LEARNED
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.schedulers import available

WORDS = Path(__file__).parents[3] / "dashboard" / "src" / "features" / "audit" / "reasonWords.ts"
TASKS = 12
# Shown as sentences, or as the frame of other words.
FRAMES = {"reason", "features", "setting"}


def explained() -> set[str]:
    """The words that the dashboard knows."""
    return set(re.findall(r"^  (\w+): word\($", WORDS.read_text(), re.M)) | set(
        re.findall(r"^  (\w+): word\(\"", WORDS.read_text(), re.M)
    )


def said(reasons: Mapping[str, Any]) -> Iterator[str]:
    """Every word of one explanation, also of what stands in a frame."""
    for word, value in reasons.items():
        if word not in FRAMES:
            yield word
        elif isinstance(value, Mapping):
            yield from value


def test_the_dashboard_knows_every_word_that_a_strategy_gives_as_a_reason() -> None:
    plan = Plan(schedulers=tuple(available()), workload=WorkloadChoice(source="unknown"), knowledge=LEARNED)
    course = Course(
        seed=0,
        node=plan.node,
        preset=plan.workload.source,
        workload=plan.workload.parameters(),
        schedulers=plan.schedulers,
        retraining="synchronous",
        knowledge=plan.knowledge,
        truth=plan.hidden,
    )
    race = Race(course, run_id=0, first_task_id=0)
    unknown: dict[str, set[str]] = {}
    heard = set()
    for _ in range(TASKS):
        race.step(explain=True)
        for racer in race.racers:
            words = set(said(racer.reasons))
            heard |= words
            unknown.setdefault(racer.name, set()).update(words - explained())
    assert len(heard) > 20
    assert {name: words for name, words in unknown.items() if words} == {}
