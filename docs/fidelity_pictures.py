"""Draw docs/images/fidelity-*.png and write the tables of docs/fidelity.md from stored validations.

    python docs/fidelity_pictures.py

`plans/hardware/NAME_validation.csv` is what `hms validate` left of a machine: every real run beside its prediction.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from numpy import quantile

from hybrid_ml_scheduler.execution.runs.validation import Comparison, fidelity, widen
from hybrid_ml_scheduler.plans.palette import label_of, style_of
from hybrid_ml_scheduler.reports.plots.axes import NEUTRAL, new_figure, plain_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).resolve().parent
PROFILES = DOCS.parent / "plans" / "hardware"
MACHINES = {
    "h200": "Two nodes with an H200 and 14 CPU workers",
    "h200_third_node": "A third node with an H200 and 14 CPU workers",
    "two_cores": "Two cores",
}
_H200 = ("h200", "h200_third_node")
# What the table over all nodes adds up, and which machines are in each row.
_OVERALL = {
    "two H200 nodes": ("h200",),
    "third H200 node, held out": ("h200_third_node",),
    "all three H200 nodes": _H200,
    "two cores": ("two_cores",),
    "all nodes": tuple(MACHINES),
}
PANELS = (("makespan_s", "makespan (s)", 0.15), ("mean_latency_s", "mean latency (s)", 0.25))
_MARKERS = "ovs^D*"
_WORDS = {
    "median_error": "median error",
    "p90_error": "error of 90 % of the runs",
    "worst_error": "worst",
    "repeat_spread": "spread of real repeats (median over cases)",
    "share_within_half_limit": "runs within 5 % (latencies: 10 % or the spread of their repeats); half should be",
    "share_within_90_limit": "runs within 15 % (latencies: 25 % or the spread of their repeats); 90 % should be",
    "coverage": "inside the 90 % interval",
    "coverage_of_draws": "inside the interval of the draws alone",
}


def read(name: str) -> list[Comparison]:
    """Every real run of a machine beside its prediction."""
    with (PROFILES / f"{name}_validation.csv").open(encoding="utf-8", newline="") as file:
        return [_comparison(row) for row in csv.DictReader(file)]


def _comparison(row: dict[str, str]) -> Comparison:
    measured, modelled, low, high = (float(row[column]) for column in ("measured", "modelled", "low", "high"))
    usual = float(row.get("usual", modelled))
    case = float(row["load"]), row["strategy"], int(row["seed"]), int(row["repeat"]), row["metric"]
    return Comparison(*case, measured, modelled, low, high, usual)


def cases(rows: Sequence[Comparison]) -> dict[tuple[float, str, int], list[Comparison]]:
    """Repeats of one stream with one strategy, by load."""
    found: dict[tuple[float, str, int], list[Comparison]] = defaultdict(list)
    for row in sorted(rows, key=lambda one: (one.load, one.strategy, one.seed, one.repeat)):
        found[row.load, row.strategy, row.seed].append(row)
    return found


def draw(name: str, rows: Sequence[Comparison]) -> None:
    """Predicted against measured: a point for each case, its repeats across, its 90 % interval up and down."""
    figure = new_figure(9.6, 4.9)
    panels = figure.subplots(1, 2)
    wide = widen(rows)
    for axes, (metric, label, limit) in zip(panels, PANELS, strict=True):
        _panel(axes, [row for row in wide if row.metric == metric], limit)
        axes.set(xlabel=f"measured {label}", ylabel=f"modelled {label}")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(f"{MACHINES[name]}: {len(rows) // 3} real runs")
    figure.savefig(DOCS / "images" / f"fidelity-{name.replace('_', '-')}.png", dpi=130)


def _panel(axes: Axes, rows: Sequence[Comparison], limit: float) -> None:
    ends = [value for row in rows for value in (row.measured, row.modelled)]
    line = [0.8 * min(ends), 1.25 * max(ends)]
    axes.fill_between(
        line, [x * (1 - limit) for x in line], [x * (1 + limit) for x in line], color=NEUTRAL, alpha=0.12, linewidth=0
    )
    axes.plot(line, line, color=NEUTRAL, lw=0.8)
    loads = sorted({row.load for row in rows})
    for (load, strategy, _), mine in cases(rows).items():
        _point(axes, load, strategy, mine, _MARKERS[loads.index(load) % len(_MARKERS)])
    for which in ("x", "y"):
        axes.set(**{f"{which}lim": line})
        plain_log(axes, which)


def _point(axes: Axes, load: float, strategy: str, mine: Sequence[Comparison], marker: str) -> None:
    measured = [row.measured for row in mine]
    middle, modelled = (sum(values) / len(mine) for values in (measured, [row.modelled for row in mine]))
    known = axes.get_legend_handles_labels()[1]
    label = f"{label_of(strategy)}, load {load:g}"
    axes.errorbar(
        [middle], [modelled],
        xerr=[[middle - min(measured)], [max(measured) - middle]],
        yerr=[[modelled - min(row.low for row in mine)], [max(row.high for row in mine) - modelled]],
        color=style_of(strategy).colour, marker=marker, markersize=6, lw=1.0, capsize=2,
        label=f"_{label}" if label in known else label,
    )  # fmt: skip


def table(rows: Sequence[Comparison]) -> str:
    """Every case, then what comes of all, in Markdown."""
    lines = [
        "| load | strategy | makespan, measured | modelled | mean latency, measured | modelled |",
        "|---" * 6 + "|",
    ]
    spans = cases([row for row in rows if row.metric == "makespan_s"])
    latencies = cases([row for row in rows if row.metric == "mean_latency_s"])
    for key, mine in spans.items():
        cells = [f"{key[0]:g}", f"`{key[1]}`"]
        for group in (mine, latencies[key]):
            cells.append(" / ".join(f"{row.measured:.3g}" for row in group) + " s")
            cells.append(" / ".join(dict.fromkeys(f"{row.modelled:.3g}" for row in group)) + " s")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_verdict(fidelity(rows))])


def _verdict(verdict: dict[str, Any]) -> list[str]:
    metrics = ("makespan_s", "mean_latency_s", "p95_latency_s")
    lines = [f"| {verdict['runs']} runs | makespan | mean latency | p95 latency |", "|---" * 4 + "|"]
    for key, words in _WORDS.items():
        values = [verdict[metric][key] for metric in metrics]
        lines.append(f"| {words} | {' | '.join('-' if value is None else _percent(value) for value in values)} |")
    rankings = [verdict[f"{key}{rule}"] for key in ("ranking", "ranking_latency") for rule in ("", "_of_extremes")]
    if not any(one["pairs"] for one in rankings):
        nothing = (
            "Real repeats of every two strategies overlap, so these runs do not test whether the model ranks them."
        )
        return [*lines, "", nothing]
    told = [
        f"{words} in {' and in '.join(_pairs(verdict[f'{key}{rule}']) for rule in ('', '_of_extremes'))}"
        for key, words in (("ranking", "makespans"), ("ranking_latency", "mean latencies"))
    ]
    where = "Where 95 % intervals of real repeats do not overlap, and where no two real runs do"
    return [*lines, "", f"{where}, the model ranks as reality does: {'; '.join(told)}."]


def _pairs(ranking: dict[str, int]) -> str:
    return f"{ranking['agreed']} of {ranking['pairs']} pairs"


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.0f} %"


def overall(rows: dict[str, list[Comparison]]) -> str:
    """The figures over several machines; an interval is as wide as the errors of its own machine ask for."""
    head = "| nodes | runs | mean latency: median error | nine in ten | worst | inside the 90 % interval |"
    lines = [f"{head} p95 latency: median | makespan at load 1: median | below load 1 |", "|---" * 9 + "|"]
    for words, names in _OVERALL.items():
        runs = [row for name in names for row in rows[name]]
        latency = [abs(row.error) for row in runs if row.metric == "mean_latency_s"]
        wide = [row for name in names for row in widen(rows[name]) if row.metric == "mean_latency_s"]
        held = sum(row.low <= row.measured <= row.high for row in wide) / len(wide)
        spans = [row for row in runs if row.metric == "makespan_s"]
        cells = [
            *map(_tenths, (median(latency), float(quantile(latency, 0.9)), max(latency), held)),
            _tenths(median(abs(row.error) for row in runs if row.metric == "p95_latency_s")),
            _median_or_none([abs(row.error) for row in spans if row.load >= 1.0]),
            _median_or_none([abs(row.error) for row in spans if row.load < 1.0]),
        ]
        lines.append(f"| {words} | {len(latency)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _median_or_none(errors: Sequence[float]) -> str:
    return _tenths(median(errors)) if errors else "-"


def _tenths(value: float) -> str:
    return f"{100 * value:.1f} %"


def between_marks(text: str, name: str, content: str) -> str:
    """The page with another content between the marks of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = text.split(begin)
    return before + begin + "\n" + content + "\n" + end + rest.split(end)[1]


def main() -> None:
    """Draw every machine, and put its tables between its marks."""
    page = DOCS / "fidelity.md"
    text = page.read_text(encoding="utf-8")
    rows = {name: read(name) for name in MACHINES}
    for name in MACHINES:
        draw(name, rows[name])
        text = between_marks(text, name, table(rows[name]))
    text = between_marks(text, "all nodes", overall(rows))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
