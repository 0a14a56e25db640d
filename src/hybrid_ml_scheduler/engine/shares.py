"""The loop without a state, for the commonest large job: prescribed shares of independent tasks on equal GPUs."""

from __future__ import annotations

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FITTED, NO_GPU
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.engine.state import Outcomes
from hybrid_ml_scheduler.physics.placement import place

__all__ = ["run_shares"]


@compiled(allocates=False, nogil=True)
def run_shares(
    fractions: FloatColumn,
    arrival_s: FloatColumn,
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    free_s: FloatColumn,
    out: Outcomes,
) -> None:
    """What `loop.run` makes of shares on the GPU with the least backlog where everything fits and nothing is hidden.

    Ends need not be waited for, because nothing depends on them but the moments at which devices are free: it is ten
    times as fast.
    """
    cpu_free = free_s[0]  # kept in a register: every task waits for it
    for row in range(arrival_s.shape[0]):
        now, fraction = arrival_s[row], fractions[row]
        cpu_part, gpu_part = (1.0 - fraction) * cpu_s[row], fraction * gpu_s[row]
        device, gpu_free = 1, free_s[1]  # found with the device: to load it afterwards would wait for the search
        least = max(gpu_free - now, 0.0)
        for other in range(2, free_s.shape[0]):
            other_free = free_s[other]
            backlog = max(other_free - now, 0.0)
            if backlog < least:
                device, least, gpu_free = other, backlog, other_free
        placed = place(now, cpu_free, gpu_free, cpu_part, gpu_part, 1.0, 1.0, False)
        cpu_free = placed[5]
        if gpu_part > 0.0:  # not always: a store that need not be is what this loop would wait for
            free_s[device] = placed[6]
        out.gpu_fraction[row] = fraction
        out.gpu[row] = device - 1 if gpu_part > 0.0 else NO_GPU
        out.cpu_start_s[row], out.gpu_start_s[row], out.finish_s[row] = placed[0], placed[1], placed[2]
        out.cpu_s[row], out.gpu_s[row], out.status[row] = placed[3], placed[4], FITTED
    free_s[0] = cpu_free
