"""Model files: complete or refused, never half, never replaced."""

from __future__ import annotations

import resource
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import torch

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.learning import (
    ForestModel,
    feature_matrix,
    fit_forest,
    load_agent,
    load_forest,
    save_agent,
    save_forest,
)


@pytest.fixture(scope="module")
def model() -> ForestModel:
    rng = stream(1, "test", "files")
    features = feature_matrix(rng.uniform(100, 5000, 60), rng.random(60), rng.uniform(10, 500, 60))
    return fit_forest(features, rng.random(60), rng, num_trees=5)


def test_a_forest_comes_back_as_it_was(model: ForestModel, tmp_path: Path) -> None:
    place = tmp_path / "forest.joblib"
    save_forest(model, place, {"seed": 7})
    again, metadata = load_forest(place)
    asked = feature_matrix(np.array([500.0]), np.array([0.4]), np.array([90.0]))
    assert np.array_equal(again.predict(asked), model.predict(asked))
    assert metadata == {"seed": 7}
    assert [path.name for path in tmp_path.iterdir()] == ["forest.joblib"]


def test_an_agents_state_comes_back_as_it_was(tmp_path: Path) -> None:
    state: dict[str, Any] = {
        "weights": np.arange(4, dtype=np.float32),
        "rng": {"state": 2**100, "name": "PCG64"},
        "list": [1, 2.5],
    }
    save_agent(state, tmp_path / "agent.pth")
    again = load_agent(tmp_path / "agent.pth")
    assert np.array_equal(again["weights"], state["weights"])
    assert again["rng"] == state["rng"]
    assert again["list"] == state["list"]


def _forest_content(model: ForestModel, **changes: Any) -> dict[str, Any]:
    header = {"format": "hybrid-ml-scheduler/forest", "version": 1, "metadata": {}}
    return {**header, **model.payload(), **changes}


def test_bad_forest_files_are_refused_with_one_sentence(model: ForestModel, tmp_path: Path) -> None:
    place = tmp_path / "bad.joblib"
    astray = model.payload()["forest"] | {"nodes": np.full_like(model.forest.nodes, 3)}
    contents = [
        (_forest_content(model, version=99), "version 99"),
        (_forest_content(model, format="something else"), "not a file of the kind"),
        (_forest_content(model, features=("size",)), "other features"),
        (_forest_content(model, forest=astray), "lead nowhere"),
        (_forest_content(model, forest={}), "lacks a part"),
        ([1, 2, 3], "not a file of the kind"),
    ]
    for content, words in contents:
        joblib.dump(content, place)
        with pytest.raises(ModelError, match=words):
            load_forest(place)


@pytest.mark.parametrize("name", ["forest.joblib", "agent.pth"])
def test_corrupt_empty_and_missing_files_are_refused(model: ForestModel, tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    load = load_forest if name.endswith("joblib") else load_agent
    if name.endswith("joblib"):
        save_forest(model, place)
    else:
        save_agent({"weights": np.zeros(100, dtype=np.float32)}, place)
    whole = place.read_bytes()
    for content in (b"", b"\x80\x04nonsense", b"hello", whole[: len(whole) // 2], whole[:200] + b"\0" * 50):
        place.write_bytes(content)
        with pytest.raises(ModelError, match="corrupt"):
            load(place)
    place.unlink()
    with pytest.raises(ModelError, match="no model file"):
        load(place)


def test_bad_agent_files_are_refused_and_run_no_code(tmp_path: Path) -> None:
    place, witness = tmp_path / "agent.pth", tmp_path / "witness"

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (witness,)

    torch.save({"format": "hybrid-ml-scheduler/agent", "version": 1, "evil": Evil()}, place)
    with pytest.raises(ModelError, match="corrupt"):
        load_agent(place)
    assert not witness.exists()
    for content, words in (({"format": "hybrid-ml-scheduler/agent", "version": 2}, "version 2"), ({}, "not a file")):
        torch.save(content, place)
        with pytest.raises(ModelError, match=words):
            load_agent(place)


@pytest.mark.parametrize("name", ["agent.pth", "forest.joblib"])
def test_a_model_that_does_not_fit_is_one_sentence_and_leaves_what_was_there(
    model: ForestModel, tmp_path: Path, name: str
) -> None:
    place = tmp_path / name
    place.write_text("old")
    noise = {"noise": stream(1, "noise").random(10_000)}
    save = partial(save_agent, noise, place) if name == "agent.pth" else partial(save_forest, model, place, noise)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
    try:
        with pytest.raises(ModelError, match=f"{name} cannot be written"):
            save()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]
