"""The table that `hms recommend` prints."""

from __future__ import annotations

from rich import box
from rich.table import Table

from hybrid_ml_scheduler.cli.output.show import page
from hybrid_ml_scheduler.plans.metrics import METRICS, figure_with_interval
from hybrid_ml_scheduler.studies.recommending.search import Answer, Question, Trial
from hybrid_ml_scheduler.studies.recommending.words import answer_sentences

__all__ = ["print_answer"]


def print_answer(question: Question, answer: Answer) -> None:
    """Every node with its best policy, cheapest first, then the answer in words."""
    card = METRICS[question.promise.metric]
    table = Table(title=f"Promise: {question.promise.text}", box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for heading in ("node", "best policy"):
        table.add_column(heading)
    for heading in ("price $/h", card.head, "runs"):
        table.add_column(heading, justify="right")
    table.add_column("promise")
    for one in _best_of_each(answer):
        found = one.interval
        value = figure_with_interval(found.mean, found.low, found.high, card.unit) if found.mean == found.mean else "–"
        marked = answer.best is not None and one.node == answer.best.node
        table.add_row(
            one.node,
            one.policy,
            f"{one.price_usd_h:.2f}",
            value,
            str(found.count),
            one.verdict,
            style="bold" if marked else "",
        )
    console = page()
    console.print(table)
    for sentence in answer_sentences(question, answer):
        console.print(sentence, highlight=False)
    for assumption in answer.assumptions:
        console.print(f"assumed: {assumption}", style="yellow", highlight=False)


def _best_of_each(answer: Answer) -> list[Trial]:
    best: dict[str, Trial] = {}
    for one in answer.trials:
        if answer.best is not None and one.node == answer.best.node and one.policy != answer.best.policy:
            continue
        held = best.get(one.node)
        if held is None or not held.interval.mean <= one.interval.mean:
            best[one.node] = one
    return sorted(best.values(), key=lambda one: (one.price_usd_h, one.node))
