"""Results that a program keeps cost memory, but few descriptors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from hybrid_ml_scheduler.execution import HybridExecutor
from tests.unit.execution.samples import same

PROGRAM = """
import resource
import numpy as np
from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor
def made(number): return np.full(40_000, float(number))
if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
    with HybridExecutor(2, devices=[], options=ExecutorOptions(store="")) as executor:
        kept = list(executor.map(made, range(600)))
    print(all((one == number).all() for number, one in enumerate(kept)))
"""


def test_many_large_results_are_kept_under_a_low_limit_of_descriptors() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout.strip(), done.stderr) == ("True", "")


def test_kept_results_hold_their_values_while_others_come_and_go(processes: HybridExecutor) -> None:
    kept = {number: processes.submit(same, np.full(50_000, float(number))).result() for number in range(40)}
    for number in range(0, 40, 2):
        del kept[number]
    for number in range(40, 80):
        kept[number] = processes.submit(same, np.full(30_000 + 1000 * number, float(number))).result()
    assert all((values == number).all() for number, values in kept.items())
