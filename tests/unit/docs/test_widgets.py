"""Every widget of the dashboard has a test that holds its figures against the service's."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FEATURES = ROOT / "dashboard" / "src" / "features"
E2E = ROOT / "tests" / "e2e"

_RACE = "test_numbers.test_the_race_shows_every_figure_of_a_window"
_ALL = "test_numbers.test_tasks_node_history_runs_and_strategies_show_the_services_figures"
_NODE = "test_numbers.test_the_devices_and_queues_of_two_strategies_are_drawn_from_the_services_parts"
_WHAT_IF = "test_what_if.test_the_audit_answers_what_if_and_real_runs_are_marked"
_RECOMMEND = "test_recommend.test_the_answer_is_the_apis_marked_as_modelled_and_the_same_after_a_reload"
_PRICE = "test_learning.test_the_price_of_not_knowing_is_the_quotient_of_two_latencies_of_one_window"
_LEARNING = "test_learning.test_every_figure_of_the_view_is_the_services"

# The file of a widget, and where its figures are compared. That the service's are those of the stored rows, on both
# databases, is held by tests/api/test_windows.py; the answers of simulations have no rows.
HELD: dict[str, str] = {
    "audit/AuditDrawer": "test_numbers.test_the_audit_of_a_task_shows_what_every_strategy_did_with_it",
    "audit/WhatIf": _WHAT_IF,
    "history/CollectionWidget": _ALL,
    "history/ModelErrorWidget": _ALL,
    "history/ModelsWidget": _ALL,
    "history/TrendWidget": _ALL,
    "learning/AdaptWidget": "test_numbers.test_learning_shows_the_loss_around_the_shift_as_the_service_counts_it",
    "learning/BeliefsWidget": _LEARNING,
    "learning/PriceWidget": _PRICE,
    "learning/RecoveryWidget": "test_numbers.test_learning_shows_the_loss_around_the_shift_as_the_service_counts_it",
    "node/LoadWidget": _ALL,
    "node/MotionWidget": _NODE,
    "node/QueueWidget": _NODE,
    "race/LogWidget": _ALL,
    "race/RaceWidget": _RACE,
    "race/RecentFormWidget": _ALL,
    "race/ScatterWidget": _ALL,
    "race/SummaryWidget": _RACE,
    "race/WinWidget": _RACE,
    "recommend/AnswerWidget": _RECOMMEND,
    "recommend/RecommendView": _RECOMMEND,
    "runs/ComparePanel": _ALL,
    "runs/RunsView": _ALL,
    "strategy/ClusterLoadWidget": _ALL,
    "strategy/CostliestWidget": _WHAT_IF,
    "strategy/DevicesWidget": _ALL,
    "strategy/EfficiencyWidget": _ALL,
    "strategy/LastDecisionWidget": _ALL,
    "strategy/PlacementWidget": _ALL,
    "strategy/RadarWidget": _ALL,
    "tasks/AskWidget": "test_ledger.test_every_strategy_answers_for_a_task_of_ones_own",
    "tasks/CorrelationWidget": _ALL,
    "tasks/HeatWidget": _ALL,
    "tasks/LedgerWidget": _ALL,
    "tasks/SizesWidget": _ALL,
}


def test_no_widget_is_without_a_test_of_its_figures() -> None:
    frames = {
        path.relative_to(FEATURES).with_suffix("").as_posix()
        for path in FEATURES.rglob("*.tsx")
        if "<Widget\n" in path.read_text()
    }
    assert len(frames) > 30
    assert frames - set(HELD) == set()
    assert {name for name in HELD if not (FEATURES / f"{name}.tsx").is_file()} == set()


@pytest.mark.parametrize("test", sorted(set(HELD.values())))
def test_the_test_that_holds_a_widget_is_there(test: str) -> None:
    module, _, name = test.partition(".")
    tree = ast.parse((E2E / f"{module}.py").read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
