"""A workload in words: what arrives, what it gains from a GPU, what must be moved."""

from __future__ import annotations

from hybrid_ml_scheduler.workload import WorkloadParameters

__all__ = ["workload_words"]

_LITTLE, _MUCH = 0.4, 0.6


def workload_words(laws: WorkloadParameters) -> str:
    """Describe the laws in three short sentences, as somebody says them who does not know their names."""
    about = "about " if laws.kinds else ""  # where durations are hidden, a run begins at 60 % of what its node can do
    rate = f"{about}{laws.arrival_rate:g} {'task' if laws.arrival_rate == 1 else 'tasks'} a second"
    told = f" {laws.kinds} kinds of work, whose durations nobody is told." if laws.kinds else ""
    return f"{_sizes(laws)}, {rate}. {_gain(laws)} {_memory(laws)}{told}"


def _sizes(laws: WorkloadParameters) -> str:
    low, high = laws.size_range
    if laws.size_law == "pareto":
        return f"Many small tasks and a few large ones (size {low:,g} to {high:,g})"
    return f"Tasks of size {low:,g} to {high:,g}, all equally likely"


def _gain(laws: WorkloadParameters) -> str:
    low, high = laws.intensity_range
    if laws.intensity_law == "bimodal":
        return "Some gain much from a GPU, the others little."
    if low >= _MUCH:
        return "All gain much from a GPU."
    if high <= _LITTLE:
        return "None gains much from a GPU."
    return "They gain little, much or something between from a GPU."


def _memory(laws: WorkloadParameters) -> str:
    low, high = laws.memory_range
    grows = ", more for larger ones" if laws.memory_law == "with_size" else ""
    return f"Each moves {low:,g} to {high:,g} MB{grows}."
