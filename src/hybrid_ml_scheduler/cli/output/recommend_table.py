"""The table that `hms recommend` prints."""

from __future__ import annotations

from rich import box
from rich.table import Table

from hybrid_ml_scheduler.cli.output.show import page
from hybrid_ml_scheduler.plans.metrics import figure, figure_with_interval
from hybrid_ml_scheduler.studies.recommending.question import Question
from hybrid_ml_scheduler.studies.recommending.search import Answer, Trial
from hybrid_ml_scheduler.studies.recommending.words import answer_sentences

__all__ = ["print_answer"]


def print_answer(question: Question, answer: Answer) -> None:
    """Every node with its best policy, cheapest first, then the answer in words."""
    unit = question.target.unit
    title = (
        f"{'Best' if question.target.is_best else 'Target'}: {question.target.text} (knowledge: {question.knowledge})"
    )
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for heading in ("node", "best policy"):
        table.add_column(heading)
    price = "price $/h" if question.budget is None or question.budget.is_hourly else f"price {question.budget.currency}"
    for heading in (price, question.target.head, "busiest time", "load", "runs"):
        table.add_column(heading, justify="right")
    table.add_column("target")
    for one in _best_of_each(answer):
        found = one.interval
        value = figure_with_interval(found.mean, found.low, found.high, unit) if found.mean == found.mean else "–"
        marked = answer.best is not None and one.node == answer.best.node
        table.add_row(
            one.node,
            one.policy,
            f"{one.price:,.2f}",
            value,
            figure(one.peak.mean, unit),
            "–" if one.load is None else f"{one.load:.2f}",
            str(found.count),
            f"cannot run {one.cannot_run:,}" if one.cannot_run else "" if question.target.is_best else one.verdict,
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
    for one in sorted(answer.trials, key=lambda one: (one != answer.best, one.verdict != "kept", one.rank)):
        best.setdefault(one.node, one)
    return sorted(best.values(), key=lambda one: (one.price, one.node))
