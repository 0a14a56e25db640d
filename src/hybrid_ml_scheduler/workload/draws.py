"""The laws: how each column of a workload is drawn from its own named stream.

Every draw takes its numbers from a stream one task after the other, so that cutting a workload
into chunks of any size changes nothing. (Generator methods draw in order; only scalar C functions
are applied to the draws, never a vector routine whose last bit could depend on the chunk's length.)
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn
from hybrid_ml_scheduler.workload.parameters import WorkloadParameters

__all__ = [
    "STREAMS",
    "Streams",
    "arrivals",
    "deadlines",
    "factors",
    "intensities",
    "kind_names",
    "kinds",
    "memories",
    "parents",
    "runs_on",
    "sizes",
    "streams",
]

STREAMS = (
    "size",
    "intensity_mode",
    "intensity",
    "memory",
    "arrival",
    "dependencies",
    "noise",
    "kind",
    "deadline",
    "runs_on",
)
Streams = dict[str, np.random.Generator]

PARETO_SHAPE = 1.5
LOGNORMAL_MEDIAN_OF_LOW = 3.0
LOGNORMAL_SIGMA = 1.0
MODES = ((0.2, 0.1), (0.8, 0.1))
FIRST_MODE_SHARE = 0.3
MEMORY_NOISE_OF_HIGH = 0.1
WITHIN_KIND_SPREAD = 0.05


def streams(seed: int) -> Streams:
    """Return the generator of every column."""
    return {name: stream(seed, "workload", name) for name in STREAMS}


def sizes(rng: Streams, law: WorkloadParameters, count: int) -> FloatColumn:
    """Problem sizes: a long tail, or uniform."""
    low, high = law.size_range
    if law.size_law == "uniform":
        return rng["size"].uniform(low, high, count)
    if law.size_law == "lognormal":
        drawn = rng["size"].lognormal(math.log(LOGNORMAL_MEDIAN_OF_LOW * low), LOGNORMAL_SIGMA, count)
    else:
        drawn = low * (1.0 + rng["size"].pareto(PARETO_SHAPE, count))
    return np.clip(drawn, low, high)


def kind_names(law: WorkloadParameters) -> tuple[str, ...]:
    """The names of the kinds of work, after the empty one that stands for "not known"."""
    return ("", *(f"kind-{number}" for number in range(1, law.kinds + 1)))


def kinds(rng: Streams, law: WorkloadParameters, count: int) -> IntColumn:
    """Codes of kinds with Zipf popularity: the second is half as frequent as the first, the third a third, ..."""
    if law.kinds == 0:
        return np.zeros(count, dtype=np.int64)
    shares = np.cumsum(1.0 / np.arange(1, law.kinds + 1))
    return np.searchsorted(shares, rng["kind"].random(count) * shares[-1], side="right").astype(np.int64) + 1


@lru_cache(maxsize=64)
def _kind_intensities(seed: int, law: WorkloadParameters) -> FloatColumn:
    """The mean intensity of every kind, by the law of the workload; the empty kind never occurs."""
    low, high = law.intensity_range
    values = stream(seed, "workload", "kind_intensity")
    if law.intensity_law == "uniform":
        means = values.uniform(low, high, law.kinds)
    else:
        means = bimodal(stream(seed, "workload", "kind_intensity_mode"), values, law.kinds, (low, high))
    return np.concatenate([[0.0], means])


def intensities(rng: Streams, law: WorkloadParameters, kind: IntColumn, seed: int) -> FloatColumn:
    """Compute intensities: two humps (serial and parallel work), or uniform; with kinds, close to the kind's own."""
    low, high = law.intensity_range
    count = len(kind)
    if law.kinds > 0:
        normal = rng["intensity"].standard_normal(count)
        return np.clip(_kind_intensities(seed, law)[kind] + WITHIN_KIND_SPREAD * normal, low, high)
    if law.intensity_law == "uniform":
        return rng["intensity"].uniform(low, high, count)
    return bimodal(rng["intensity_mode"], rng["intensity"], count, (low, high))


def bimodal(
    mode_rng: np.random.Generator, value_rng: np.random.Generator, count: int, limits: tuple[float, float]
) -> FloatColumn:
    """30 % around 0.2 and 70 % around 0.8, clipped to the limits."""
    first = mode_rng.random(count) < FIRST_MODE_SHARE
    (mean_a, spread_a), (mean_b, spread_b) = MODES
    normal = value_rng.standard_normal(count)
    drawn = np.where(first, mean_a, mean_b) + np.where(first, spread_a, spread_b) * normal
    return np.clip(drawn, *limits)


def memories(rng: Streams, law: WorkloadParameters, size: FloatColumn) -> FloatColumn:
    """Memory in MB: growing with size plus noise, or uniform."""
    low, high = law.memory_range
    if law.memory_law == "uniform":
        return rng["memory"].uniform(low, high, len(size))
    noise = (MEMORY_NOISE_OF_HIGH * high) * rng["memory"].standard_normal(len(size))
    return np.clip(high * size / law.size_range[1] + noise, low, high)


def arrivals(rng: Streams, law: WorkloadParameters, count: int, clock_s: float) -> FloatColumn:
    """Arrival times after the clock: a Poisson process, or all at once."""
    if law.arrival_law == "batch":
        return np.full(count, clock_s)
    steps = np.empty(count + 1)
    steps[0] = clock_s
    steps[1:] = rng["arrival"].standard_exponential(count) / law.arrival_rate
    # cumsum adds from left to right, so a chunk that starts from the clock continues to the same bits.
    return np.cumsum(steps)[1:]


def factors(rng: Streams, law: WorkloadParameters, count: int) -> FloatColumn:
    """The duration factor of each task: log-normal with mean 1, or exactly 1."""
    sigma = law.noise_sigma
    if sigma == 0.0:
        return np.ones(count)
    return rng["noise"].lognormal(-0.5 * sigma * sigma, sigma, count)


def deadlines(rng: Streams, law: WorkloadParameters, size: FloatColumn, intensity: FloatColumn) -> FloatColumn | None:
    """Seconds after its arrival by which each task should be done; none where the law names no slack and no promise."""
    if law.deadline_slack == 0.0:
        return np.full(len(size), law.slo_s) if law.slo_s else None
    ratio = size / 1000.0
    reference_s = ratio * np.sqrt(ratio) / (intensity + 0.5)
    return law.deadline_slack * reference_s * (0.5 + rng["deadline"].random(len(size)))


def runs_on(rng: Streams, law: WorkloadParameters, count: int) -> tuple[BoolColumn, BoolColumn]:
    """Which tasks run on GPUs only, and which on the CPU only."""
    if not law.gpu_only and not law.cpu_only:
        return np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    drawn = rng["runs_on"].random(count)
    return drawn < law.gpu_only, drawn >= 1.0 - law.cpu_only


def parents(rng: Streams, law: WorkloadParameters, first_index: int, count: int) -> tuple[IntColumn, IntColumn]:
    """Return offsets and a flat column of parents, counted back (1 = the task before)."""
    if law.dependency_probability == 0.0:
        return np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    uniform = rng["dependencies"].random((count, 2 + law.max_parents))
    reach = np.minimum(np.arange(first_index, first_index + count), law.parent_window)
    wanted = 1 + np.floor(uniform[:, 1] * law.max_parents).astype(np.int64)
    number = np.where(uniform[:, 0] < law.dependency_probability, np.minimum(wanted, reach), 0)
    back = _distinct(uniform[:, 2:], reach, number)
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(number, out=offsets[1:])
    return offsets, back[back > 0]


def _distinct(uniform: FloatColumn, reach: IntColumn, number: IntColumn) -> IntColumn:
    """Draw distinct steps back from 1..reach for each row, the farthest first; unused places hold 0.

    The j-th draw picks among the reach - j steps not yet taken: it is shifted past every smaller one.
    """
    rows, most = uniform.shape
    taken = np.full((rows, most), np.iinfo(np.int64).max)
    for place in range(most):
        pick = np.floor(uniform[:, place] * np.maximum(reach - place, 1)).astype(np.int64) + 1
        for other in range(place):
            pick += pick >= taken[:, other]
        taken[:, place] = np.where(place < number, pick, np.iinfo(np.int64).max)
        taken[:, : place + 1].sort(axis=1)
    steps = np.where(taken == np.iinfo(np.int64).max, 0, taken)
    return -np.sort(-steps, axis=1)
