"""The compiled forest: scikit-learn's answers, scikit-learn's splits, and its own persistence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.learning import feature_matrix, feature_row, fit_forest, flatten_forest
from hybrid_ml_scheduler.learning.growing import grow_trees


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31 - 1),
    rows=st.integers(5, 80),
    trees=st.integers(1, 13),
    depth=st.one_of(st.none(), st.integers(1, 6)),
    coarse=st.booleans(),
    extra=st.booleans(),
)
def test_the_compiled_forest_answers_as_scikit_learn_to_the_last_bit(
    seed: int, rows: int, trees: int, depth: int | None, coarse: bool, extra: bool
) -> None:
    rng = stream(seed, "test", "forest")
    features = rng.standard_normal((rows, 5))
    if coarse:
        features = np.round(features)
    kind = ExtraTreesRegressor if extra else RandomForestRegressor
    model = kind(n_estimators=trees, max_depth=depth, random_state=seed % 1000, n_jobs=1)
    model.fit(features, rng.random(rows))
    asked = np.vstack([features, rng.standard_normal((20, 5))]).astype(np.float32)
    assert np.array_equal(flatten_forest(model).predict(asked), model.predict(asked))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), rows=st.integers(2, 120), least_leaf=st.integers(1, 5))
def test_a_grown_tree_splits_as_scikit_learn_does(seed: int, rows: int, least_leaf: int) -> None:
    """One feature, so that equally good splits of two features (which scikit-learn draws by lot) cannot occur."""
    rng = stream(seed, "test", "growing")
    features = rng.standard_normal((rows, 1)).astype(np.float32)
    target = rng.random(rows)
    counts = rng.integers(0, 4, rows).astype(np.int16)
    counts[0] += 1
    mine = grow_trees(features, target, counts[None, :], least_leaf)
    drawn = np.repeat(np.arange(rows), counts)
    theirs = DecisionTreeRegressor(min_samples_leaf=least_leaf, random_state=0).fit(features[drawn], target[drawn])
    asked = np.linspace(-3, 3, 101, dtype=np.float32)[:, None]
    np.testing.assert_allclose(mine.predict(asked), theirs.predict(asked), atol=1e-12)


def _labelled(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(seed, "test", "labels")
    size, intensity, memory = rng.uniform(100, 5000, rows), rng.random(rows), rng.uniform(10, 500, rows)
    return feature_matrix(size, intensity, memory), 0.5 + 0.3 * intensity - 0.1 * memory / 500


def test_grown_and_scikit_learns_forests_are_equally_good() -> None:
    features, shares = _labelled(1, 600)
    unseen, truth = _labelled(2, 400)
    errors = {}
    for engine in ("compiled", "scikit-learn"):
        model = fit_forest(features, shares, stream(3, "test"), engine=engine)
        errors[engine] = float(np.abs(model.predict(unseen) - truth).mean())
    assert errors["compiled"] < 0.02
    assert errors["compiled"] == pytest.approx(errors["scikit-learn"], rel=0.15)


def test_training_twice_with_one_seed_gives_the_same_forest() -> None:
    features, shares = _labelled(1, 300)
    first, second, other = (fit_forest(features, shares, stream(seed, "test")) for seed in (1, 1, 2))
    assert np.array_equal(first.forest.nodes, second.forest.nodes)
    assert np.array_equal(first.forest.value, second.forest.value)
    assert not np.array_equal(first.forest.value[:50], other.forest.value[:50])


def test_one_row_and_many_rows_get_the_same_answer() -> None:
    features, shares = _labelled(1, 300)
    model = fit_forest(features, shares, stream(1, "test"))
    many = model.predict(features[:20])
    assert [model.predict_one(tuple(row))[0] for row in features[:20]] == many.tolist()


def test_contributions_sum_to_the_prediction() -> None:
    features, shares = _labelled(1, 300)
    model = fit_forest(features, shares, stream(1, "test"))
    asked = feature_row(800.0, 0.7, 120.0)
    assert sum(model.contributions(asked).values()) == pytest.approx(model.predict_one(asked)[0])


def test_the_spread_is_that_of_the_trees() -> None:
    features, shares = _labelled(1, 200)
    rows = features.astype(np.float32)
    model = RandomForestRegressor(n_estimators=17, random_state=1).fit(rows, shares)
    flat = flatten_forest(model)
    zero, one = np.zeros(5), np.ones(5)
    answers = [tree.predict(rows[:1])[0] for tree in model.estimators_]
    _, spread = flat.predict_raw(features[0], zero, one, np.empty(5, dtype=np.float32))
    assert spread == pytest.approx(float(np.std(answers)), abs=1e-9)
