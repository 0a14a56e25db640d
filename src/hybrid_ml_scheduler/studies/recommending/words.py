"""A recommendation in sentences that a manager understands, and as plain values for programs."""

from __future__ import annotations

import math
from typing import Any

from hybrid_ml_scheduler.plans.metrics import METRICS, figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.studies.recommending.search import Answer, Question, Trial

__all__ = ["answer_mapping", "answer_sentences", "trial_mapping"]


def answer_sentences(question: Question, answer: Answer) -> list[str]:
    """The answer first, then what the next cheaper node would break, then what would change it."""
    promise = question.promise
    if answer.best is None:
        near = answer.nearest
        return [
            f"Nothing is recommended: none of the {len(question.nodes)} nodes keeps the promise {promise.text} with "
            f"any of the {len(question.policies)} policies. The nearest is {near.node} with {label_of(near.policy)}: "
            f"{_value(question, near)}."
        ]
    best = answer.best
    said = [
        f"Take {best.node} with the policy {label_of(best.policy)}, for ${best.price_usd_h:,.2f} an hour: it keeps the "
        f"promise {promise.text} with {_value(question, best)}, and no cheaper node of the {len(question.nodes)} does."
    ]
    if answer.cheaper is None:
        said.append("It is the cheapest of the nodes.")
    else:
        cheaper = answer.cheaper
        breaks = "would break it" if cheaper.verdict == "broken" else "is not shown to keep it"
        said.append(
            f"The next cheaper node, {cheaper.node} for ${cheaper.price_usd_h:,.2f} an hour, {breaks}: "
            f"{_value(question, cheaper)} with {label_of(cheaper.policy)}, its best policy."
        )
    return [*said, *_hanging(answer)]


def _hanging(answer: Answer) -> list[str]:
    changing = {name: other for name, other in answer.variations.items() if other != "the same answer"}
    same = [name for name, other in answer.variations.items() if other == "the same answer"]
    said = [f"With {name} the answer would be: {other}." for name, other in changing.items()]
    if same:
        said.append(f"It stays the same with {', with '.join(same)}.")
    return said


def _value(question: Question, trial: Trial) -> str:
    card, found = METRICS[question.promise.metric], trial.interval
    if math.isnan(found.mean):
        return "tasks that fail"
    seeds = "one run" if found.count == 1 else f"{found.count} runs"
    text = figure_with_interval(found.mean, found.low, found.high, card.unit)
    return f"{card.title.lower()} {text} {card.unit}".rstrip() + f" ({seeds})"


def trial_mapping(trial: Trial) -> dict[str, Any]:
    """One policy on one node as plain values."""
    ends = [None if math.isnan(end) else end for end in (trial.interval.low, trial.interval.high)]
    mean = trial.interval.mean
    return {
        "node": trial.node,
        "policy": trial.policy,
        "price_usd_h": trial.price_usd_h,
        "mean": None if math.isnan(mean) else mean,
        "interval": None if None in ends else ends,
        "seeds": trial.interval.count,
        "verdict": trial.verdict,
    }


def answer_mapping(question: Question, answer: Answer) -> dict[str, Any]:
    """The whole answer as plain values."""
    return {
        "promise": {"text": question.promise.text, "metric": question.promise.metric, "limit": question.promise.limit},
        "workload": question.workload.to_mapping(),
        "tasks": answer.tasks,
        "recommended": None if answer.best is None else trial_mapping(answer.best),
        "next_cheaper": None if answer.cheaper is None else trial_mapping(answer.cheaper),
        "nearest": trial_mapping(answer.nearest),
        "if_assumptions_differ": dict(answer.variations),
        "trials": [trial_mapping(one) for one in sorted(answer.trials, key=lambda one: (one.price_usd_h, one.node))],
        "sentences": answer_sentences(question, answer),
        "assumptions": list(answer.assumptions),
        "kind": "modelled",
    }
