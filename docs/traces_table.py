"""Race every strategy over a folder of public traces and write the results into docs/traces.md.

    python docs/traces_table.py path/to/traces

The traces themselves are not part of the repository; docs/traces.md says where they come from. An interrupted
run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from hybrid_ml_scheduler.plans.metrics import figure, figure_with_interval
from hybrid_ml_scheduler.studies.engines import LocalEngine
from hybrid_ml_scheduler.studies.folder import ResultsFolder
from hybrid_ml_scheduler.studies.folder_files import write_whole
from hybrid_ml_scheduler.studies.statistics import compare_all
from hybrid_ml_scheduler.studies.sweep import Sweep, run_sweep, sweep_from_mapping

PAGE = Path(__file__).with_name("traces.md")
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
FILES = (
    "alibaba_openb_2023/openb_pod_list_default.csv.gz",
    "azure_llm_2023/AzureLLMInferenceTrace_code.csv.gz",
    "azure_llm_2023/AzureLLMInferenceTrace_conv.csv.gz",
    "philly_2017/philly.csv.gz",
    "pwa_swf/KTH-SP2-1996-2.1-cln.swf.gz",
    "wfinstances/blast-chameleon-large-001.json.gz",
    "wfinstances/cycles-chameleon-1l-1c-9p-001.json.gz",
    "wfinstances/epigenomics-chameleon-hep-1seq-100k-001.json.gz",
    "wfinstances/montage-chameleon-2mass-005d-001.json.gz",
    "wfinstances/montage-chameleon-dss-125d-001.json.gz",
)

# The rules, the learners, and two that hold; docs/strategies.md has the whole portfolio.
STRATEGIES = (
    "round_robin",
    "random",
    "greedy",
    "oracle",
    "cpu_only",
    "gpu_only",
    "earliest_device",
    "earliest_finish",
    "frugal_finish",
    "hybrid_ml",
    "rl_agent",
    "rl_split",
    "sjf",
    "rl_hold",
)


def sweep_of(traces: Path, tasks: int, seeds: int) -> Sweep:
    """All traces with these strategies; seeds draw anew what the traces do not hold."""
    return sweep_from_mapping(
        {
            "simulation": {"seeds": seeds},
            "workload": {"num_tasks": tasks},
            "schedulers": {"race": list(STRATEGIES)},
            "sweep": {"workload.file": [str(traces / name) for name in FILES]},
        }
    )


def shown(table: pd.DataFrame, name: str, metric: str, unit: str = "") -> str:
    """One cell: the mean with its interval."""
    row = table[(table["scheduler"] == name) & (table["metric"] == metric)].iloc[0]
    return figure_with_interval(float(row["mean"]), float(row["low"]), float(row["high"]), unit)


def verdict(rows: pd.DataFrame, metric: str) -> str:
    """Who is best on a metric, and who cannot be told from it (Holm over all pairs)."""
    wide = rows.pivot(index="seed", columns="scheduler", values=metric)
    pairs = compare_all(metric, {str(name): wide[name].to_numpy() for name in wide})
    best = str(wide.mean().idxmin())
    ties = [
        pair.second if pair.first == best else pair.first
        for pair in pairs
        if best in (pair.first, pair.second) and pair.winner != best
    ]
    if not ties:
        return f"`{best}` beats all others"
    return f"`{best}` has the lowest mean; not decided against, or equal to {', '.join(f'`{name}`' for name in ties)}"


def section(name: str, rows: pd.DataFrame, intervals: pd.DataFrame, assumptions: tuple[str, ...]) -> str:
    """The part of the page about one trace."""
    bound = figure(float(rows.drop_duplicates("seed")["makespan_bound_s"].mean()))
    count = int(rows["tasks"].iloc[0])
    order = intervals[intervals["metric"] == "mean_latency_s"].sort_values("mean", kind="stable")["scheduler"]
    lines = [
        f"### {name}",
        "",
        f"{count:,} tasks. Certificate: no schedule ends before {bound} s (mean over seeds).",
        "",
        "| strategy | mean latency s | makespan above the bound | energy kJ |",
        "|---|---|---|---|",
    ]
    for scheduler in order:
        energy = intervals[(intervals["scheduler"] == scheduler) & (intervals["metric"] == "energy_j")].iloc[0]
        mean, low, high = (float(energy[key]) / 1000 for key in ("mean", "low", "high"))
        kilojoules = figure_with_interval(mean, low, high)
        gap = shown(intervals, scheduler, "makespan_gap", "%")
        lines.append(f"| `{scheduler}` | {shown(intervals, scheduler, 'mean_latency_s')} | {gap} | {kilojoules} |")
    lines += ["", f"Latency: {verdict(rows, 'mean_latency_s')}. Makespan: {verdict(rows, 'makespan_s')}.", ""]
    lines += ["Assumed:", "", *(f"- {assumption}" for assumption in assumptions), ""]
    return "\n".join(lines)


def page(sweep: Sweep, folder: ResultsFolder) -> str:
    """The results of all traces as Markdown."""
    table, intervals = folder.read_table("sweep"), folder.read_table("intervals")
    parts = []
    for file in sweep.grid["workload.file"]:
        cell = next(cell for cell in sweep.cells if cell.point["workload.file"] == file)
        chosen = [frame[frame["workload.file"] == file] for frame in (table, intervals)]
        parts.append(section(Path(file).name, chosen[0], chosen[1], cell.plan.workload.tasks(cell.seed).assumptions))
    return "\n".join(parts)


def main() -> None:
    """Run the sweep and rewrite the results part of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/traces"))
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=None)
    flags = parser.parse_args()
    sweep = sweep_of(flags.traces, flags.tasks, flags.seeds)
    folder = ResultsFolder.create(flags.out, kind="sweep", plan=sweep.source)
    failures = run_sweep(sweep, folder, LocalEngine(flags.workers), lambda label: print(label, file=sys.stderr))
    if failures:
        sys.exit("\n".join(f"failed: {label}: {reason}" for label, reason in failures.items()))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    write_whole(PAGE, f"{before}{BEGIN}\n\n{page(sweep, folder)}\n{END}{after}".encode())


if __name__ == "__main__":
    main()
