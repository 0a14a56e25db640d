"""What people are told about a model: that it decides, that it was refused, that it was called back."""

from __future__ import annotations

from hybrid_ml_scheduler.live.records import Activation, Level

__all__ = ["MODEL_EVENTS", "activation_words", "model_key"]

MODEL_EVENTS = {"model": "model_retrained", "refused": "model_refused", "recalled": "model_recalled"}
"""The first word of a notice's key, and its event."""

_WORDS = {"activated": "model", "refused": "refused", "recalled": "recalled"}


def model_key(outcome: str, scheduler: str, boundary: int) -> str:
    """What names the notice about a model within its run."""
    return f"{_WORDS.get(outcome, outcome)}-{scheduler}-{boundary}"


def activation_words(activation: Activation) -> tuple[Level, str, str]:
    """The level, the event and the sentence of a notice."""
    event = MODEL_EVENTS[_WORDS[activation.outcome]]
    name, error = activation.scheduler, activation.error
    if activation.outcome == "recalled":
        return "info", event, f"{name} decides with its earlier model again, from task {activation.boundary} on."
    if activation.outcome == "refused":
        return "warning", event, f"{name} keeps its model: {_compared(activation)} on the latest tasks."
    measured = "" if error is None else f", error {error:.4f}"
    judged = "" if activation.held_out_error is None else f" On the latest tasks, {_compared(activation)}."
    took = f"in {activation.duration_s:.2f} s"
    return "success", event, f"{name} retrained on {activation.samples} samples{measured}, {took}.{judged}"


def _compared(activation: Activation) -> str:
    return (
        f"the retrained one has an error of {activation.held_out_error:.4f}, "
        f"the one before {activation.present_error:.4f}"
    )
