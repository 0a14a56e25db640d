"""Fitting and judging forests and agents, and the problem as an environment for other people's agents."""

from __future__ import annotations

from pathlib import Path

from hybrid_ml_scheduler.core.errors import ModelError

__all__ = ["strategy_of"]

# Here, where nothing heavy is loaded: a model that is not there is refused at once.
_SHIPPED = ("rl_agent", "rl_split")
_ENDINGS = {".joblib": "hybrid_ml_share", ".json": "rl_split", ".pth": "rl_agent", ".npy": "rl_agent"}

_HOLD_FORMAT = "hybrid-ml-scheduler/rl-hold"
_FIRST_BYTES = 4096
_RACED = "which is not judged by `hms evaluate` but raced beside rules of your choice:"


def strategy_of(model: str) -> str:
    """The strategy that a model belongs to; one sentence where there is no such model."""
    if model in _SHIPPED:
        return model
    if model == "rl_hold":
        raise ModelError(f"rl_hold is a strategy {_RACED} `hms race --scheduler rl_hold`.")
    strategy = _ENDINGS.get(Path(model).suffix)
    if strategy is None:
        raise ModelError(f"{model} is no model: name rl_agent, rl_split or a .joblib, .pth, .npy or .json file.")
    if not Path(model).is_file():
        raise ModelError(f"There is no model file {model}.")
    if strategy == "rl_split" and _HOLD_FORMAT in _beginning(Path(model)):
        raise ModelError(f"{model} is a model of rl_hold, {_RACED} `hms race --scheduler {model}`.")
    return strategy


def _beginning(path: Path) -> str:
    """The first characters of a file, where the kind of a model stands."""
    with path.open("rb") as file:
        return file.read(_FIRST_BYTES).decode("utf-8", errors="replace")
