"""What is believed about durations, in compiled form: a running posterior of log(measured / nominal) for each cell.

A cell is a kind of work on a type of device. Its mean is shrunk towards what its type and its kind do elsewhere, by
precision: a cell without runs believes its type, a type without runs believes the formula. Two cumulative sums of
standardised residuals watch every cell; when one passes its limit the cell has drifted, and only what came since the
sum left zero is kept. After one cell of a type has drifted, the others of that type are watched more closely.

Where no nominal seconds exist (real runs), nominal is 1 s and each cell also learns how its seconds grow with size.
All state is in four plain arrays; every function costs well below a microsecond for a handful of device types.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = [
    "CELL",
    "PRIOR",
    "RUNS",
    "SHARED",
    "TYPE",
    "Prior",
    "believe_seconds",
    "fresh_shared",
    "fresh_types",
    "learn",
    "log_belief",
    "mean_factor",
    "mean_factors",
    "quantile",
]

# One row of the table of cells: runs since the last drift; weight and sums of the log ratios r and of x = log(size);
# the slope over x; the variance of the residuals; two cumulative sums, each with the sums since it left zero.
RUNS, WEIGHT, SUM_X, SUM_XX, SUM_R, SUM_XR, SLOPE, VARIANCE_RUNS, VARIANCE, RISE, FALL = range(11)
_SUMS = 5
SINCE_RISE, SINCE_FALL = 11, 11 + _SUMS
CELL = 11 + 2 * _SUMS
# One row of the table of device types: the common deviation and its variance, the width of intervals, suspicion.
DEVIATION, DEVIATION_VARIANCE, WIDTH, SUSPICION = range(4)
TYPE = 4
# What all cells share: observations, noise variance and its weight, variance between cells and between kinds.
SEEN, NOISE, BETWEEN_CELLS, BETWEEN_KINDS = range(4)
SHARED = 4
# The prior: mean and variance of a type's deviation, of cells and kinds around it, of the noise; slope; memory.
# `COMMON_VARIANCE` is that of what all types share: 0 where the scale of the nominal seconds is known. With `PLAIN`
# nothing is inferred: the estimate is the mean of the ratios of the kind on all devices, else of all kinds.
(
    MEAN, TYPE_VARIANCE, CELL_VARIANCE, KIND_VARIANCE, NOISE_VARIANCE, SLOPE_MEAN, SLOPE_VARIANCE, MEMORY, WATCHFUL,
    COMMON_VARIANCE, PLAIN,
) = range(11)  # fmt: skip
PRIOR = 11
Prior = tuple[float, ...]

VARIANCE_WEIGHT = 20.0  # runs that the shared noise counts for in a cell's own
SPREAD_WEIGHT = 4.0  # cells that the prior variances count for
LEAST_VARIANCE = 1e-8
MOST_CORRECTION = 1.0  # of the variance that turns a median into a mean: heavy tails are no log-normal
MOST_SURPRISE = 4.0  # a residual counts for no more standard deviations than this
ALLOWANCE = 0.75  # what the cumulative sums forgive, in standard deviations
LIMIT = 6.0
ALERT_LIMIT = 2.5  # for a type under full suspicion
ALERT_FADES = 0.995
REFRESH_EVERY = 16
NINETY = 1.6448536269514722
WIDTH_STEP = 0.02
MISSED = 0.1


def fresh_types(types: int, prior: FloatColumn) -> FloatColumn:
    """Device types of which nothing is known but the prior."""
    table = np.zeros((types, TYPE))
    table[:, DEVIATION], table[:, DEVIATION_VARIANCE] = prior[MEAN], prior[TYPE_VARIANCE] + prior[COMMON_VARIANCE]
    table[:, WIDTH] = NINETY
    return table


def fresh_shared(prior: FloatColumn) -> FloatColumn:
    """What all cells share before the first observation."""
    return np.array([0.0, prior[NOISE_VARIANCE], prior[CELL_VARIANCE], prior[KIND_VARIANCE]])


@compiled(inline="always")
def _noise(cell: FloatColumn, shared: FloatColumn) -> float:
    """The variance of a cell's residuals, shrunk towards that of all."""
    total = VARIANCE_WEIGHT * shared[NOISE] + cell[VARIANCE_RUNS] * cell[VARIANCE]
    return max(LEAST_VARIANCE, total / (VARIANCE_WEIGHT + cell[VARIANCE_RUNS]))


@compiled(inline="always")
def _level(cell: FloatColumn) -> float:
    """The mean log ratio of a cell at x = 0."""
    return (cell[SUM_R] - cell[SLOPE] * cell[SUM_X]) / cell[WEIGHT]


@compiled(inline="always")
def _elsewhere(
    kind: int, device: int, cells: FloatColumn, types: FloatColumn, shared: FloatColumn
) -> tuple[float, float]:
    """What the kind does on other types of device beyond what is common there, and the variance that is left."""
    if shared[BETWEEN_KINDS] <= LEAST_VARIANCE:
        return 0.0, 0.0
    precision, total = 1.0 / shared[BETWEEN_KINDS], 0.0
    for other in range(types.shape[0]):
        cell = cells[kind, other]
        if other != device and cell[WEIGHT] > 0.0:
            weight = 1.0 / (shared[BETWEEN_CELLS] + _noise(cell, shared) / cell[WEIGHT])
            precision += weight
            total += weight * (_level(cell) - types[other, DEVIATION])
    return total / precision, 1.0 / precision


@compiled(inline="always")
def _plain_mean(kind: int, cells: FloatColumn, types: FloatColumn, shared: FloatColumn) -> float:
    """The mean ratio of the kind, else of all that finished; 1 before anything has. Sums are of ratios, not of logs."""
    runs, total = 0.0, 0.0
    for device in range(types.shape[0]):
        runs += cells[kind, device, WEIGHT]
        total += cells[kind, device, SUM_R]
    if runs == 0.0:
        runs, total = shared[SEEN], shared[NOISE]
    return total / runs if runs > 0.0 else 1.0


@compiled(inline="always")
def _learn_plainly(cell: FloatColumn, ratio: float, shared: FloatColumn) -> None:
    """Count one more ratio towards the means."""
    if shared[SEEN] == 0.0:
        shared[NOISE] = 0.0
    shared[SEEN] += 1.0
    shared[NOISE] += ratio
    cell[RUNS] += 1.0
    cell[WEIGHT] += 1.0
    cell[SUM_R] += ratio


@compiled(inline="always")
def log_belief(
    kind: int, device: int, x: float, cells: FloatColumn, types: FloatColumn, shared: FloatColumn, prior: FloatColumn
) -> tuple[float, float, float]:
    """Mean of the log ratio, variance of that mean, and variance of the noise around it."""
    if prior[PLAIN] > 0.0:
        return math.log(_plain_mean(kind, cells, types, shared)), 0.0, 0.0
    cell = cells[kind, device]
    beyond, beyond_variance = _elsewhere(kind, device, cells, types, shared)
    mean = types[device, DEVIATION] + beyond
    variance = types[device, DEVIATION_VARIANCE] + beyond_variance + shared[BETWEEN_CELLS]
    noise = _noise(cell, shared)
    slope_variance, center = prior[SLOPE_VARIANCE], 0.0
    if cell[WEIGHT] > 0.0:
        own = noise / cell[WEIGHT]
        share = variance / (variance + own)
        mean += share * (_level(cell) - mean)
        variance = share * own
        if slope_variance > 0.0:
            center = cell[SUM_X] / cell[WEIGHT]
            spread = cell[SUM_XX] - cell[SUM_X] * center
            slope_variance = 1.0 / (1.0 / slope_variance + max(0.0, spread) / noise)
    slope = cell[SLOPE] if cell[WEIGHT] > 0.0 else prior[SLOPE_MEAN]
    return mean + slope * x, variance + slope_variance * (x - center) ** 2, noise


@compiled(inline="always")
def mean_factor(
    kind: int, device: int, x: float, cells: FloatColumn, types: FloatColumn, shared: FloatColumn, prior: FloatColumn
) -> float:
    """The expected measured / nominal seconds."""
    mean, variance, noise = log_belief(kind, device, x, cells, types, shared, prior)
    return math.exp(mean + 0.5 * min(MOST_CORRECTION, variance + noise))


@compiled(inline="always")
def mean_factors(
    kind: int, cells: FloatColumn, types: FloatColumn, shared: FloatColumn, prior: FloatColumn, out: FloatColumn
) -> None:
    """The expected measured / nominal seconds on every type of device."""
    for device in range(types.shape[0]):
        out[device] = mean_factor(kind, device, 0.0, cells, types, shared, prior)


@compiled(inline="always")
def believe_seconds(
    kind: int,
    cells: FloatColumn,
    types: FloatColumn,
    shared: FloatColumn,
    prior: FloatColumn,
    factors: FloatColumn,
    seconds: FloatColumn,
) -> None:
    """Fill in the factors and, below the nominal seconds (CPU first), the believed ones."""
    mean_factors(kind, cells, types, shared, prior, factors)
    for device in range(factors.shape[0]):
        seconds[1, device] = seconds[0, device] * factors[device]


@compiled()
def quantile(
    kind: int, device: int, x: float, cells: FloatColumn, types: FloatColumn, shared: FloatColumn, prior: FloatColumn
) -> tuple[float, float]:
    """The ends of the 90 % interval of measured / nominal seconds."""
    mean, variance, noise = log_belief(kind, device, x, cells, types, shared, prior)
    reach = types[device, WIDTH] * math.sqrt(variance + noise)
    return math.exp(mean - reach), math.exp(mean + reach)


@compiled()
def learn(
    kind: int,
    device: int,
    ratio: float,
    x: float,
    cells: FloatColumn,
    types: FloatColumn,
    shared: FloatColumn,
    prior: FloatColumn,
) -> bool:
    """A task of this kind took so many times its nominal seconds; says whether the cell has drifted."""
    observed = math.log(ratio)
    cell = cells[kind, device]
    if prior[PLAIN] > 0.0:
        _learn_plainly(cell, ratio, shared)
        return False
    mean, variance, noise = log_belief(kind, device, x, cells, types, shared, prior)
    surprise = (observed - mean) / math.sqrt(variance + noise)
    missed = abs(surprise) > types[device, WIDTH]
    types[device, WIDTH] = max(0.1, types[device, WIDTH] + WIDTH_STEP * ((1.0 if missed else 0.0) - MISSED))
    clipped = min(MOST_SURPRISE, max(-MOST_SURPRISE, surprise))
    drifted = _watch(cell, clipped, observed, x, types[device], prior)
    if not drifted:
        _learn_noise(cell, shared, clipped * clipped * noise)
        keep = 1.0 if cell[WEIGHT] < prior[MEMORY] else 1.0 - 1.0 / prior[MEMORY]
        for index in range(WEIGHT, WEIGHT + _SUMS):
            cell[index] *= keep
        _add(cell, WEIGHT, observed, x)
        cell[RUNS] += 1.0
    if prior[SLOPE_VARIANCE] > 0.0:
        _fit_slope(cell, noise, prior)
    else:
        cell[SLOPE] = prior[SLOPE_MEAN]
    shared[SEEN] += 1.0
    if shared[SEEN] % REFRESH_EVERY == 0.0 or shared[SEEN] < REFRESH_EVERY:
        _refresh(cells, types, shared, prior)
    return drifted


@compiled(inline="always")
def _add(cell: FloatColumn, first: int, observed: float, x: float) -> None:
    cell[first] += 1.0
    cell[first + 1] += x
    cell[first + 2] += x * x
    cell[first + 3] += observed
    cell[first + 4] += x * observed


@compiled()
def _watch(
    cell: FloatColumn, surprise: float, observed: float, x: float, device: FloatColumn, prior: FloatColumn
) -> bool:
    """Move both cumulative sums on; where one passes the limit, keep only what came since it left zero."""
    if prior[WATCHFUL] == 0.0:
        return False
    limit = LIMIT - (LIMIT - ALERT_LIMIT) * device[SUSPICION]
    device[SUSPICION] *= ALERT_FADES
    cell[RISE] = max(0.0, cell[RISE] + surprise - ALLOWANCE)
    cell[FALL] = max(0.0, cell[FALL] - surprise - ALLOWANCE)
    for total, first in ((RISE, SINCE_RISE), (FALL, SINCE_FALL)):
        if cell[total] == 0.0:
            cell[first : first + _SUMS] = 0.0
            continue
        _add(cell, first, observed, x)
        if cell[total] > limit:
            cell[RUNS] = cell[first]
            for index in range(_SUMS):
                cell[WEIGHT + index] = cell[first + index]
            cell[RISE:] = 0.0
            device[SUSPICION] = 1.0
            return True
    return False


@compiled(inline="always")
def _learn_noise(cell: FloatColumn, shared: FloatColumn, square: float) -> None:
    """One more squared residual, for the cell and for all."""
    cell[VARIANCE_RUNS] = min(cell[VARIANCE_RUNS] + 1.0, 500.0)
    cell[VARIANCE] += (square - cell[VARIANCE]) / cell[VARIANCE_RUNS]
    shared[NOISE] += (square - shared[NOISE]) / min(VARIANCE_WEIGHT + shared[SEEN], 2000.0)


@compiled(inline="always")
def _fit_slope(cell: FloatColumn, noise: float, prior: FloatColumn) -> None:
    """The slope over log(size) within the cell, shrunk towards its prior."""
    center = cell[SUM_X] / cell[WEIGHT]
    spread = max(0.0, cell[SUM_XX] - center * cell[SUM_X])
    together = cell[SUM_XR] - center * cell[SUM_R]
    firm = noise / prior[SLOPE_VARIANCE]
    cell[SLOPE] = (together + firm * prior[SLOPE_MEAN]) / (spread + firm)


@compiled()
def _common(cells: FloatColumn, types: FloatColumn, shared: FloatColumn, prior: FloatColumn) -> tuple[float, float]:
    """What all types of device have in common, and its variance; the prior where the scale is known."""
    if prior[COMMON_VARIANCE] <= 0.0:
        return prior[MEAN], 0.0
    precision = 1.0 / prior[COMMON_VARIANCE]
    total = precision * prior[MEAN]
    for device in range(types.shape[0]):
        weights, levels = 0.0, 0.0
        for kind in range(cells.shape[0]):
            cell = cells[kind, device]
            if cell[WEIGHT] > 0.0:
                weight = 1.0 / (shared[BETWEEN_CELLS] + shared[BETWEEN_KINDS] + _noise(cell, shared) / cell[WEIGHT])
                weights += weight
                levels += weight * _level(cell)
        if weights > 0.0:
            weight = 1.0 / (prior[TYPE_VARIANCE] + 1.0 / weights)
            precision += weight
            total += weight * levels / weights
    return total / precision, 1.0 / precision


@compiled()
def _refresh(cells: FloatColumn, types: FloatColumn, shared: FloatColumn, prior: FloatColumn) -> None:
    """Learn from all cells what types have in common, and how much cells and kinds differ."""
    common, common_variance = _common(cells, types, shared, prior)
    for device in range(types.shape[0]):
        precision = 1.0 / (prior[TYPE_VARIANCE] + common_variance)
        total = precision * common
        for kind in range(cells.shape[0]):
            cell = cells[kind, device]
            if cell[WEIGHT] > 0.0:
                weight = 1.0 / (shared[BETWEEN_CELLS] + shared[BETWEEN_KINDS] + _noise(cell, shared) / cell[WEIGHT])
                precision += weight
                total += weight * _level(cell)
        types[device, DEVIATION], types[device, DEVIATION_VARIANCE] = total / precision, 1.0 / precision
    squares, count = SPREAD_WEIGHT * (prior[CELL_VARIANCE] + prior[KIND_VARIANCE]), SPREAD_WEIGHT
    products, pairs = SPREAD_WEIGHT * prior[KIND_VARIANCE], SPREAD_WEIGHT
    for kind in range(cells.shape[0]):
        for device in range(types.shape[0]):
            cell = cells[kind, device]
            if cell[WEIGHT] <= 0.0:
                continue
            off = _level(cell) - types[device, DEVIATION]
            own = _noise(cell, shared) / cell[WEIGHT]
            sure = shared[BETWEEN_CELLS] / (shared[BETWEEN_CELLS] + own)
            squares += sure * max(0.0, off * off - own)
            count += sure
            for other in range(device):
                twin = cells[kind, other]
                if twin[WEIGHT] > 0.0:
                    products += sure * off * (_level(twin) - types[other, DEVIATION])
                    pairs += sure
    whole = squares / count
    shared[BETWEEN_KINDS] = min(max(0.0, products / pairs), 0.9 * whole)
    shared[BETWEEN_CELLS] = max(LEAST_VARIANCE, whole - shared[BETWEEN_KINDS])
