"""A tuned file is a strategy wherever one is named; anything else is refused in a sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.loads import at_load
from hybrid_ml_scheduler.schedulers import create, find
from hybrid_ml_scheduler.schedulers.holding.settings import Setting
from hybrid_ml_scheduler.schedulers.registry import absolute_spec
from hybrid_ml_scheduler.schedulers.tuned import TunedRule, load_tuned, save_tuned
from hybrid_ml_scheduler.service.control.strategy_choices import StrategyChoices
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.training.hold_search import tuned_model
from hybrid_ml_scheduler.training.training_files import save_hold
from hybrid_ml_scheduler.workload import preset
from tests.unit.execution.samples import square

RULE = TunedRule(
    strategy="sjf", options={"splits": False, "price": 0.5, "longest": [2.0, math.inf]}, record={"command": "hms tune"}
)


@pytest.fixture
def tuned(tmp_path: Path) -> str:
    save_tuned(RULE, tmp_path / "mine.json")
    return str(tmp_path / "mine.json")


def test_a_tuned_file_is_data_that_reads_back_as_it_was(tuned: str) -> None:
    assert load_tuned(tuned) == RULE
    assert json.loads(Path(tuned).read_text())["options"]["longest"] == [2.0, None]


def test_it_decides_as_its_strategy_with_these_options_under_a_name_of_its_own(tuned: str) -> None:
    loaded = at_load(preset("mixed"), Node(), 0.8, 0, 300)
    named, plain = create(tuned), create("sjf", RULE.options)
    assert (named.name, find(tuned).name, find(f"{tuned}@learned").name) == ("mine", "mine", "mine@learned")
    runs = [run_scheduler(one, loaded.batch, Node(), seed=0, seconds=loaded.seconds) for one in (named, plain)]
    np.testing.assert_array_equal(runs[0].finish_s, runs[1].finish_s)


def test_a_trained_model_of_rl_hold_is_one_too(tmp_path: Path) -> None:
    save_hold(tuned_model(Setting(True, 0.3), 100.0, {}), tmp_path / "held.json")
    assert create(str(tmp_path / "held.json")).name == "held"


def test_it_runs_real_tasks(tuned: str) -> None:
    options = ExecutorOptions(store="")
    with HybridExecutor(1, devices=["vector"], workers="threads", strategy=tuned, options=options) as executor:
        assert executor.strategy.name == "mine"
        assert [float(executor.submit(square, np.full(3, 2.0)).result()[0]) for _ in range(5)] == [4.0] * 5


def test_a_client_of_the_service_may_ask_for_it_only_if_it_was_named_at_the_start(tuned: str, tmp_path: Path) -> None:
    choices = StrategyChoices([absolute_spec(tuned)])
    assert choices.plan_names(["mine", tuned, "sjf"]) == [absolute_spec(tuned), absolute_spec(tuned), "sjf"]
    with pytest.raises(SchedulerError, match="was not named when the service started"):
        choices.plan_names([str(tmp_path / "other.json")])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "There is no file"),
        ("{", "holds no JSON"),
        ("[]", "is not a file of the kind"),
        ('{"format": "hybrid-ml-scheduler/tuned", "version": 9}', "has version 9; this program reads version 1"),
        ('{"format": "hybrid-ml-scheduler/tuned", "version": 1}', "names no strategy with options"),
        ('{"format": "hybrid-ml-scheduler/tuned", "version": 1, "strategy": "x", "options": {}}', "called 'x'"),
        ('{"format": "hybrid-ml-scheduler/tuned", "version": 1, "strategy": "sjf", "options": {"q": 1}}', "option 'q'"),
    ],
)
def test_what_is_no_tuned_file_is_refused_in_a_sentence(tmp_path: Path, text: str | None, sentence: str) -> None:
    place = tmp_path / "mine.json"
    if text is not None:
        place.write_text(text)
    with pytest.raises(SchedulerError, match=sentence) as refused:
        create(str(place))
    assert len(str(refused.value).splitlines()) == 1


def test_a_file_named_like_a_strategy_is_refused(tmp_path: Path) -> None:
    save_tuned(RULE, tmp_path / "sjf.json")
    with pytest.raises(SchedulerError, match="rename the file"):
        find(str(tmp_path / "sjf.json"))
