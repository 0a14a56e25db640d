"""A recommendation in sentences that a manager understands, and as plain values for programs."""

from __future__ import annotations

import math
from typing import Any

from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.plans.intervals import Interval
from hybrid_ml_scheduler.plans.metrics import METRICS, figure
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.plans.targets import LATE_SHARE
from hybrid_ml_scheduler.studies.recommending.question import Question
from hybrid_ml_scheduler.studies.recommending.search import SAME_NODE, Answer
from hybrid_ml_scheduler.studies.recommending.trials import Trial, paired_difference

__all__ = ["answer_mapping", "answer_sentences", "trial_mapping"]


def answer_sentences(question: Question, answer: Answer) -> list[str]:
    """The answer first, then what the next cheaper node would break, then what would change it."""
    best = answer.best
    if best is None:
        return [_nothing(question, answer), *_left_out(question, answer), *_compared(question, answer)]
    said = [_best_words(question, answer, best), *_overload(best)]
    if question.target.is_best:
        said += _rival_words(question, answer, best)
    elif answer.cheaper is None:
        said.append(f"It is the cheapest of {amount(len(question.nodes), 'node')}.")
    else:
        said.append(_cheaper_words(question, answer, answer.cheaper))
    return [*said, *_compared(question, answer), *_left_out(question, answer), *_hanging(answer)]


def _condition(question: Question) -> str:
    """At which arrivals, where they are not the workload's own."""
    rate = question.workload.values.get("arrival_rate")
    if question.load is not None:
        return f"At a load of {100 * question.load.share:g} % of {question.load.node}'s GPUs, take"
    return "Take" if rate is None else f"At {rate:g} tasks a second, take"


def _best_words(question: Question, answer: Answer, best: Trial) -> str:
    taken = f"{_condition(question)} {best.node} with the policy {label_of(best.policy)}, for "
    price = question.price_words(best.price)
    if not question.target.is_best:
        return f"{taken}{price}. It keeps the target {question.target.text}: {_value(question, answer, best)}."
    within = "" if question.budget is None else f" for at most {question.budget.words()}"
    return f"{taken}{price}. It has {question.target.text}{within}: {_value(question, answer, best)}."


def _nothing(question: Question, answer: Answer) -> str:
    near, count = answer.nearest, len(question.affordable)
    if all(one.cannot_run for one in answer.trials):
        least, most = min(one.cannot_run for one in answer.trials), max(one.node.num_gpus for one in question.searched)
        return (
            f"Nothing is recommended: no node can run all {amount(answer.tasks, 'task')}; {least:,} of them need more "
            f"than {amount(most, 'GPU')} at once. Add a node with more, or leave those tasks out "
            f"(--leave-out-gangs-above {most}). Of the others {near.node} does best with {label_of(near.policy)}: "
            f"{_value(question, answer, near)}."
        )
    none = "the one node does not keep" if count == 1 else f"none of the {count} nodes keeps"
    load = (
        "" if question.load is None else f" at a load of {100 * question.load.share:g} % of {question.load.node}'s GPUs"
    )
    return (
        f"Nothing is recommended: {none} the target {question.target.text}{load} with any of "
        f"{amount(len(question.policies), 'policy', 'policies')}. The nearest is {near.node} with "
        f"{label_of(near.policy)}: {_value(question, answer, near)}."
    )


def _overload(best: Trial) -> list[str]:
    if best.load is None or best.load < 1.0:
        return []
    return [
        f"Its load is {best.load:.2f}: tasks arrive faster than it can finish them, so its latencies grow for as long "
        "as the arrivals go on."
    ]


def _rival_words(question: Question, answer: Answer, best: Trial) -> list[str]:
    rival = answer.rival
    if rival is None:
        return ["No other node within the budget can be compared with it."] if len(question.nodes) > 1 else []
    words = f"The next best is {rival.node} with {label_of(rival.policy)}, for {question.price_words(rival.price)}"
    return [f"{words}: {_value(question, answer, rival)}{_decided(answer, paired_difference(rival, best))}."]


def _decided(answer: Answer, gap: Interval) -> str:
    if not answer.drawn or not gap.is_known:
        return ""
    return " (the difference is not decided)" if gap.low <= 0.0 <= gap.high else " (the difference is decided)"


def _cheaper_words(question: Question, answer: Answer, cheaper: Trial) -> str:
    """What the next cheaper node would break; where that is open, that more seeds may decide it."""
    price = math.inf if answer.best is None else answer.best.price
    is_open = any(one.verdict == "open" and one.price < price for one in answer.trials)
    keeps = "is shown to keep" if is_open else "keeps"
    breaks = "would break it" if cheaper.verdict == "broken" else "is not shown to keep it"
    if cheaper.cannot_run:
        breaks = f"cannot run {amount(cheaper.cannot_run, 'task')}"
    elif cheaper.breaks_at_peak_only:
        breaks = f"{breaks} at the busiest time"
    more = " More seeds may show that a cheaper one does (--seeds)." if is_open else ""
    return (
        f"No cheaper node of the {len(question.nodes)} {keeps} it: the next cheaper one, {cheaper.node} for "
        f"{question.price_words(cheaper.price)}, {breaks}; with {label_of(cheaper.policy)}, its best policy, "
        f"{_value(question, answer, cheaper)}.{more}"
    )


def _compared(question: Question, answer: Answer) -> list[str]:
    """The node that one has, beside the answer."""
    now, best = answer.current, answer.best
    if now is None:
        return []
    words = f"The current node, {now.node} for {question.price_words(now.price)}, gives with "
    words += f"{label_of(now.policy)}, its best policy: {_value(question, answer, now)}"
    if best is None:
        return [f"{words}."]
    if best.node == now.node:
        return ["It is the current node."]
    more = best.price - now.price
    price = f"{question.price_words(abs(more))} {'more' if more > 0 else 'less'}" if more else "the same"
    ratio = ""
    if now.interval.mean > 0.0 and best.interval.mean > 0.0:
        name = question.target.head.partition(" (")[0].lower()
        ratio = f", and its {name} is {figure(best.interval.mean / now.interval.mean)} times that"
        ratio += _decided(answer, paired_difference(best, now))
    return [f"{words}. {best.node} costs {price}{ratio}."]


def _left_out(question: Question, answer: Answer) -> list[str]:
    """The nodes that cannot run some tasks, each judged without the others."""
    found = {one.node: one.cannot_run for one in answer.trials if one.cannot_run}
    if not found or (answer.best is None and len(found) == len({one.node for one in answer.trials})):
        return []
    named = [f"{node} ({count:,})" for node, count in found.items()]
    return [
        f"Some nodes cannot keep the target because some of the {answer.tasks:,} tasks need more GPUs at once or a "
        f"larger GPU: {', '.join(named)}. Their figures are those of the other tasks."
    ]


def _hanging(answer: Answer) -> list[str]:
    """What would change the node, one sentence each; then all that would not."""
    same = [name for name, other in answer.variations.items() if other.startswith(SAME_NODE)]
    said = [
        f"With {name} the answer would be: {other}." for name, other in answer.variations.items() if name not in same
    ]
    if same:
        said.append(f"The node stays the same with {', with '.join(same)}.")
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
    found, peak = trial.interval, trial.peak
    if math.isnan(found.mean):
        return "tasks fail" if not trial.cannot_run else f"it cannot run {amount(trial.cannot_run, 'task')}"
    told = _figure_words(question, found.mean)
    if trial.cannot_run:
        told = f"without {amount(trial.cannot_run, 'task')} that it cannot run, {told}"
    if found.count > 1:
        spread = f"95 % interval {_ends(question, found)} over {found.count} runs"
    else:
        spread = "one run; its spread is not known" if answer.drawn else "one run; repeats would give the same"
    if peak == found:
        return f"{told} ({spread})"
    return f"{told} ({spread}), at the busiest time {_short(question, peak.mean)}"


def _figure_words(question: Question, value: float) -> str:
    target = question.target
    if target.metric == LATE_SHARE:
        within = target.text.lower().partition("within")[2].strip()
        return f"{_short(question, value)} of the tasks are done within {within}"
    card = METRICS[target.metric]
    return _PLAIN.get(card.key, f"{card.title.lower()} is {{}}").format(_short(question, value))


def _short(question: Question, value: float) -> str:
    """A figure with its unit; of a share that is late, the share that is done in time."""
    if question.target.metric == LATE_SHARE:
        return figure(1.0 - value, "%")
    unit = question.target.unit
    return figure(value, unit) if unit in ("", "%") else f"{figure(value)} {unit}"


def _ends(question: Question, found: Interval) -> str:
    if question.target.metric == LATE_SHARE:
        return f"{figure(1.0 - found.high, '%')} to {figure(1.0 - found.low, '%')}"
    return f"{figure(found.low, question.target.unit)} to {_short(question, found.high)}"


def trial_mapping(trial: Trial) -> dict[str, Any]:
    """One policy on one node as plain values."""
    return {
        "node": trial.node,
        "policy": trial.policy,
        "price_usd_h": trial.price_usd_h,
        "price": trial.price,
        **_interval_mapping(trial.interval),
        "peak": _known(trial.peak.mean),
        "seeds": trial.interval.count,
        "verdict": trial.verdict,
        "cannot_run": trial.cannot_run,
        "load": trial.load,
    }


def _interval_mapping(found: Interval) -> dict[str, Any]:
    ends = [_known(end) for end in (found.low, found.high)]
    return {"mean": _known(found.mean), "interval": None if None in ends else ends}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def answer_mapping(question: Question, answer: Answer) -> dict[str, Any]:
    """The whole answer as plain values; `promise` is the former name of `target`."""
    target, budget, load = question.target, question.budget, question.load
    limit = None if target.is_best else target.limit
    asked = {"text": target.text, "metric": target.metric, "limit": limit, "within_s": target.within_s}
    asked |= {"head": target.head, "unit": target.unit}
    optional = {"next_cheaper": answer.cheaper, "next_best": answer.rival, "current": answer.current}
    return {
        "target": asked,
        "promise": asked,
        "budget": None if budget is None else budget.words(),
        "target_load": None if load is None else {"load": load.share, "reference_node": load.node},
        "knowledge": question.knowledge,
        "workload": question.workload.to_mapping(),
        "tasks": answer.tasks,
        "recommended": None if answer.best is None else trial_mapping(answer.best),
        **{name: None if one is None else trial_mapping(one) for name, one in optional.items()},
        "nearest": trial_mapping(answer.nearest),
        "if_assumptions_differ": dict(answer.variations),
        "trials": [trial_mapping(one) for one in answer.trials],
        "sentences": answer_sentences(question, answer),
        "assumptions": list(answer.assumptions),
        "kind": "modelled",
    }
