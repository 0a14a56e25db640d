"""A recommendation in sentences that a manager understands, and as plain values for programs."""

from __future__ import annotations

import math
from typing import Any

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.plans.metrics import METRICS, figure
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.studies.recommending.search import Answer, Question, Trial

__all__ = ["answer_mapping", "answer_sentences", "trial_mapping"]


def answer_sentences(question: Question, answer: Answer) -> list[str]:
    """The answer first, then what the next cheaper node would break, then what would change it."""
    promise = question.promise
    if answer.best is None:
        near, count = answer.nearest, len(question.nodes)
        none = "the one node does not keep" if count == 1 else f"none of the {count} nodes keeps"
        return [
            f"Nothing is recommended: {none} the promise {promise.text} with any of "
            f"{amount(len(question.policies), 'policy', 'policies')}. The nearest is {near.node} with "
            f"{label_of(near.policy)}: {_value(question, answer, near)}."
        ]
    best = answer.best
    said = [
        f"Take {best.node} with the policy {label_of(best.policy)}, for ${best.price_usd_h:,.2f} an hour. It keeps the "
        f"promise {promise.text}: {_value(question, answer, best)}."
    ]
    if answer.cheaper is None:
        said.append(f"It is the cheapest of {amount(len(question.nodes), 'node')}.")
    else:
        said.append(_cheaper_words(question, answer, answer.cheaper))
    return [*said, *_hanging(answer)]


def _cheaper_words(question: Question, answer: Answer, cheaper: Trial) -> str:
    """What the next cheaper node would break; where that is open, that more seeds may decide it."""
    price = math.inf if answer.best is None else answer.best.price_usd_h
    is_open = any(one.verdict == "open" and one.price_usd_h < price for one in answer.trials)
    keeps = "is shown to keep" if is_open else "keeps"
    breaks = "would break it" if cheaper.verdict == "broken" else "is not shown to keep it"
    more = " More seeds may show that a cheaper one does (--seeds)." if is_open else ""
    return (
        f"No cheaper node of the {len(question.nodes)} {keeps} it: the next cheaper one, {cheaper.node} for "
        f"${cheaper.price_usd_h:,.2f} an hour, {breaks}; with {label_of(cheaper.policy)}, its best policy, "
        f"{_value(question, answer, cheaper)}.{more}"
    )


def _hanging(answer: Answer) -> list[str]:
    changing = {name: other for name, other in answer.variations.items() if other != "the same answer"}
    same = [name for name, other in answer.variations.items() if other == "the same answer"]
    said = [f"With {name} the answer would be: {other}." for name, other in changing.items()]
    if same:
        said.append(f"It stays the same with {', with '.join(same)}.")
    return said


# What a figure of a metric says to somebody who does not know the metric's name.
_PLAIN = {
    "mean_latency_s": "on average a task is done {} after it came",
    "p50_latency_s": "half of the tasks are done within {}",
    "p95_latency_s": "95 % of the tasks are done within {}",
    "p99_latency_s": "99 % of the tasks are done within {}",
    "p99_9_latency_s": "99.9 % of the tasks are done within {}",
    "longest_latency_s": "the slowest task is done within {}",
    "makespan_s": "all tasks are done after {}",
    "mean_wait_s": "on average a task waits {}",
}


def _value(question: Question, answer: Answer, trial: Trial) -> str:
    card, found = METRICS[question.promise.metric], trial.interval
    if math.isnan(found.mean):
        return "tasks fail"
    told = _PLAIN.get(card.key, f"{card.title.lower()} is {{}}").format(_with_unit(found.mean, card.unit))
    if found.count > 1:
        low, high = figure(found.low, card.unit), _with_unit(found.high, card.unit)
        return f"{told} (95 % interval {low} to {high} over {found.count} runs)"
    return f"{told} (one run; {'its spread is not known' if answer.drawn else 'repeats would give the same'})"


def _with_unit(value: float, unit: str) -> str:
    return figure(value, unit) if unit in ("", "%") else f"{figure(value)} {unit}"


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
