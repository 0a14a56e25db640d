"""Print how far scaling between types of GPU is off, from measured pairs: `python docs/type_scaling_table.py FOLDER`.

The folder of public traces holds Gavel's table of throughputs. Milliseconds of LLM layers are medians that the
simulator Vidur (MLSys 2024) publishes for Llama-2-7B on one GPU, added up over the linear layers of a block.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from hybrid_ml_scheduler.physics.gpu_types import GPU_TYPES
from hybrid_ml_scheduler.physics.type_scaling import FP32_JOBS
from hybrid_ml_scheduler.workload.traces.gavel import table_beside, throughputs

# Milliseconds for batches of so many tokens; up to 128 tokens the weights are read, at 4,096 arithmetic binds.
TOKENS = (1, 8, 32, 64, 128, 4096)
LAYERS_MS = {
    "a40": (0.727, 0.734, 0.8035, 0.918, 0.908, 15.173),
    "a100": (0.266, 0.260, 0.273, 0.278, 0.3515, 7.4915),
    "h100": (0.156, 0.152, 0.159, 0.162, 0.180, 2.205),
}
# Peak FP16 on tensor cores and memory bandwidth; an A40 is not in the catalogue.
FIGURES = {"a40": (149.7, 696.0)} | {
    name: (GPU_TYPES[name].dense_tflops, GPU_TYPES[name].memory_gb_s) for name in ("a100", "h100")
}
FP32_INTENSITY = 0.8  # what the readers draw for work that asked for GPUs


def layer_errors() -> Iterator[float]:
    """Measured over published ratios of LLM layers."""
    for one, other in combinations(LAYERS_MS, 2):
        for place, tokens in enumerate(TOKENS):
            figure = 0 if tokens == TOKENS[-1] else 1
            yield LAYERS_MS[one][place] / LAYERS_MS[other][place] / (FIGURES[other][figure] / FIGURES[one][figure])


def job_errors(folder: Path) -> tuple[list[float], list[float]]:
    """Measured ratios of FP32 jobs over published ones, and over those of the table of models."""
    place = table_beside(folder / "gavel_2020" / "jobs.trace")
    if place is None:
        raise SystemExit(f"{folder}/gavel_2020 has no table of throughputs.")
    steps, published, tabled = throughputs(place), [], []
    for one, other in combinations(("k80", "p100", "v100"), 2):
        low, high = GPU_TYPES[one], GPU_TYPES[other]
        peaks = np.log([high.fp32_tflops / low.fp32_tflops, high.memory_gb_s / low.memory_gb_s])
        predicted = np.exp(np.array([FP32_INTENSITY, 1.0 - FP32_INTENSITY]) @ peaks)
        for job, rate in steps[one].items():
            if job[1] == 1 and rate > 0.0 and steps[other].get(job, 0.0) > 0.0:
                model = FP32_JOBS[job[0].partition(" (")[0].lower()]
                published.append(steps[other][job] / rate / float(predicted))
                tabled.append(steps[other][job] / rate / (model[other] / model[one]))
    return published, tabled


def row(work: str, errors: list[float]) -> str:
    """The row of one sort of work."""
    logs = np.abs(np.log(errors))
    found = np.exp([logs.max(), np.sqrt(np.mean(logs**2)), np.median(logs)])
    return f"| {work} | {len(errors)} | {', '.join(f'{one:.3g}' for one in found)} |"


if __name__ == "__main__":
    print("| work | pairs | largest, root mean square and median factor between measured ratio and published figures |")
    print("|---|---|---|")
    print(row("LLM layers, A40, A100 and H100, six batch sizes", list(layer_errors())))
    if len(sys.argv) > 1:
        by_figures, by_table = job_errors(Path(sys.argv[1]))
        jobs = f"FP32 training jobs, K80, P100 and V100, by FP32 peak and bandwidth at intensity {FP32_INTENSITY:g}"
        print(row(jobs, by_figures))
        print(row("the same by the table of models", by_table))
