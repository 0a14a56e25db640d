"""Bring a trace of your own: write the columns of a task, read them back, and see what is in them.

Run it with `python examples/own_trace.py [FILE]`; without a file it makes a small one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hybrid_ml_scheduler.workload import describe, load

# A measured time replaces the formula; an empty cell means that nothing was measured.
TASKS = """\
task_id,size,compute_intensity,memory_required,arrival_time,dependencies,cpu_time,gpu_time
0,800,0.9,120,0.0,[],,
1,1500,0.8,240,0.1,[0],2.4,0.7
2,300,0.2,15,0.2,[],0.3,
3,900,0.7,80,0.4,"[1, 2]",,
"""


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(arguments[0]) if arguments else Path(folder) / "tasks.csv"
        if not arguments:
            path.write_text(TASKS, encoding="utf-8")
        batch = load(path, seed=0)
    description = describe(batch)
    graph = description["graph"]
    print(f"{description['tasks']} tasks, {graph['edges']} edges, depth {graph['depth']}")
    for name, summary in description["columns"].items():
        print(f"{name:18} known for {summary['known']}, median {summary['p50']:.4g}, largest {summary['max']:.4g}")
    for assumption in description["assumptions"]:
        print("assumed", assumption)


if __name__ == "__main__":
    main(sys.argv[1:])
