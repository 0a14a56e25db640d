"""Model files: a forest in joblib, a network in torch's format; both with a header that is checked first.

Reading never replaces anything: the caller gets a complete model or one sentence. A file is written beside
its place and moved there when it is whole. Torch files are read with `weights_only`, so no code in them can
run; joblib's format is pickle and may run code on loading: load forests only from people you trust.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import warnings
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.learning.features import FEATURES
from hybrid_ml_scheduler.learning.forest import ForestModel

if TYPE_CHECKING:
    from importlib.abc import Traversable

__all__ = [
    "AGENT_FORMAT",
    "FOREST_FORMAT",
    "json_model",
    "load_agent",
    "load_forest",
    "open_board",
    "save_agent",
    "save_forest",
    "write_model",
]

FOREST_FORMAT = "hybrid-ml-scheduler/forest"
AGENT_FORMAT = "hybrid-ml-scheduler/agent"
VERSION = 1
# What a reader of pickles raises when the bytes are not what it wrote.
UNREADABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
    struct.error,
    zlib.error,
)


def write_model(path: Path, write: Callable[[str], object]) -> None:
    """Write beside the place and move; a failure leaves what was there. The folder must exist."""
    if not path.absolute().parent.is_dir():
        raise ModelError(f"{path} cannot be written: the folder {path.parent} does not exist.")
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(str(beside))
        os.replace(beside, path)
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror or error}.") from error
    except RuntimeError as error:  # how torch says that the system took only a part of the bytes
        raise ModelError(f"{path} cannot be written whole; is the disk full?") from error
    finally:
        beside.unlink(missing_ok=True)


def _checked(path: Path, content: object, expected: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping) or content.get("format") != expected:
        raise ModelError(f"{path} is not a file of the kind {expected}.")
    if content.get("version") != VERSION:
        raise ModelError(f"{path} has version {content.get('version')!r}; this program reads version {VERSION}.")
    return content


def save_forest(model: ForestModel, path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a forest with its scaler and metadata."""
    import joblib

    content = {"format": FOREST_FORMAT, "version": VERSION, "metadata": dict(metadata or {}), **model.payload()}
    write_model(Path(path), lambda place: joblib.dump(content, place, compress=3))


def load_forest(path: str | Path) -> tuple[ForestModel, dict[str, Any]]:
    """Read a forest and its metadata, or refuse the file with one sentence."""
    import joblib

    place = _existing(path)
    try:
        raw = joblib.load(place)
    except UNREADABLE as error:
        raise ModelError(f"{place} is corrupt or not a model file ({type(error).__name__}).") from error
    content = _checked(place, raw, FOREST_FORMAT)
    try:
        if tuple(content["features"]) != FEATURES:
            raise ModelError(f"{place} was trained on other features: {', '.join(content['features'])}.")
        model = ForestModel.from_payload(content)
        _check_nodes(place, model)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{place} lacks a part of a forest or holds a wrong one: {error}.") from error
    return model, dict(content["metadata"])


def _check_nodes(place: Path, model: ForestModel) -> None:
    """Refuse links that lead outside the arrays: compiled code would follow them."""
    forest = model.forest
    nodes, count = forest.nodes, len(forest.nodes)
    inner = nodes[:, 0] >= 0
    sound = (
        nodes.dtype == np.int32
        and nodes.shape == (count, 4)
        and forest.value.shape == (count,)
        and len(forest.roots) > 0
        and bool(np.all((forest.roots >= 0) & (forest.roots < count)))
        and bool(np.all(nodes[:, 0] < len(FEATURES)))
        and bool(np.all(nodes[inner, 1] > np.flatnonzero(inner)))
        and bool(np.all(nodes[inner, 1] + 1 < count))
    )
    if not sound:
        raise ModelError(f"{place} holds trees that lead nowhere.")


def save_agent(state: Mapping[str, Any], path: str | Path) -> None:
    """Write what `capture` returned, arrays as tensors."""
    import torch

    content = {"format": AGENT_FORMAT, "version": VERSION, **_with_tensors(state)}
    write_model(Path(path), lambda place: torch.save(content, place))


def load_agent(path: str | Path) -> dict[str, Any]:
    """Read an agent's state, or refuse the file with one sentence; nothing in the file is executed."""
    import torch

    place = _existing(path)
    try:
        with warnings.catch_warnings():  # torch also warns about what it then refuses
            warnings.simplefilter("ignore", UserWarning)
            raw = torch.load(place, weights_only=True, map_location="cpu")
    except UNREADABLE as error:
        raise ModelError(f"{place} is corrupt or not a model file ({type(error).__name__}).") from error
    content = dict(_with_arrays(_checked(place, raw, AGENT_FORMAT)))
    del content["format"], content["version"]
    return content


def _existing(path: str | Path) -> Path:
    place = Path(path)
    if not place.is_file():
        raise ModelError(f"There is no model file {place}.")
    return place


def _with_tensors(value: Any) -> Any:
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, Mapping):
        return {key: _with_tensors(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_tensors(item) for item in value]
    return value


def _with_arrays(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, Mapping):
        return {key: _with_arrays(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item) for item in value]
    return value


def open_board(folder: str | Path) -> Any:
    """A writer of scalars into a folder, or one sentence that says what is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ModelError("TensorBoard is not installed: pip install 'hybrid-ml-scheduler[tensorboard]'.") from error
    try:
        return SummaryWriter(str(folder))
    except OSError as error:
        raise ModelError(f"{folder} cannot hold a TensorBoard log: {error.strerror or error}.") from error


def json_model(place: Path | Traversable, kind: str, version: int) -> dict[str, Any]:
    """The document of a model file in JSON, or one sentence that says why it is none."""
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{place} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise ModelError(f"{place} is corrupt or not a model file: it holds no JSON.") from error
    if not isinstance(document, dict) or document.get("format") != kind:
        raise ModelError(f"{place} is not a file of the kind {kind}.")
    if document.get("version") != version:
        raise ModelError(f"{place} has version {document.get('version')!r}; this program reads version {version}.")
    return document
