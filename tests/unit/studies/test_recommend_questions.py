"""Every way to ask for a node: targets that are shares, budgets, a current node, a named load, peaks, gangs."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.plans.targets import read_budget, read_target
from hybrid_ml_scheduler.studies.recommending.asked import Asked, question_from_values, recommendation
from hybrid_ml_scheduler.studies.recommending.question import DEFAULT_POLICIES, busiest_tenth, tasks_of

HEAD = "task_id,size,compute_intensity,memory_required,arrival_time,cpu_time,gpu_time,divisible,gpus_required"
NODES: list[dict[str, Any]] = [
    {"name": "one", "gpus": 1, "price_usd_h": 1.0, "purchase": 10_000},
    {"name": "two", "gpus": 2, "price_usd_h": 2.0, "purchase": 18_000},
    {"name": "four", "gpus": 4, "price_usd_h": 4.0, "purchase": 33_000},
]


def trace(folder: Path, arrivals: list[float], gangs: tuple[int, ...] = (1,)) -> WorkloadChoice:
    """Tasks of one second on a GPU and of ten on the CPU."""
    rows = [f"{row},1000,1,0,{at},10,1,no,{gangs[row % len(gangs)]}" for row, at in enumerate(arrivals)]
    (folder / "tasks.csv").write_text("\n".join([HEAD, *rows]))
    return WorkloadChoice(source=str(folder / "tasks.csv"))


def even(folder: Path, gangs: tuple[int, ...] = (1,)) -> WorkloadChoice:
    """Two tasks a second: two GPUs keep up, one does not."""
    return trace(folder, [row / 2 for row in range(60)], gangs)


def answered(workload: WorkloadChoice, target: str | None = None, **changes: Any) -> dict[str, Any]:
    asked = {"nodes": NODES, "policies": ("gpu_only", "earliest_device"), "seeds": 2, **changes}
    return recommendation(question_from_values(workload, asked.pop("nodes"), Asked(target=target, **asked)))


def test_a_target_may_be_a_share_of_the_tasks(tmp_path: Path) -> None:
    found = answered(even(tmp_path), "95 % within 1.5 s")
    assert found["recommended"]["node"] == "two"
    assert "It keeps the target 95 % within 1.5 s: 100.0 % of the tasks are done within 1.5 s" in found["sentences"][0]
    assert answered(even(tmp_path), "1% of the tasks done within 1.5 s")["recommended"]["node"] == "one"


def test_a_budget_buys_the_best_node_within_it(tmp_path: Path) -> None:
    found = answered(even(tmp_path), best="p95_latency", budget="$2/h")
    assert found["recommended"]["node"] == "two"
    assert "Take two" in found["sentences"][0]
    assert "the lowest 95 % latency for at most $2.00 an hour" in found["sentences"][0]
    assert {one["node"] for one in found["trials"]} == {"one", "two"}
    assert "The next best is one with" in found["sentences"][1]


def test_a_budget_may_be_for_the_purchase_of_a_node(tmp_path: Path) -> None:
    found = answered(even(tmp_path), best="p95_latency", budget="EUR 12000")
    assert found["recommended"]["node"] == "one"
    assert found["recommended"]["price"] == 10_000
    assert "for EUR 10,000. It has the lowest 95 % latency for at most EUR 12,000" in found["sentences"][0]


def test_the_node_that_one_has_is_compared_with_the_answer(tmp_path: Path) -> None:
    found = answered(even(tmp_path), "p95_latency < 1.5 s", current="one")
    said = " ".join(found["sentences"])
    assert "The current node, one for $1.00 an hour, gives with" in said
    assert "two costs $1.00 an hour more, and its 95 % latency is" in said
    assert found["current"]["node"] == "one"
    assert "It is the current node." in answered(even(tmp_path), "p95_latency < 1.5 s", current="two")["sentences"]


def test_a_current_node_beyond_the_budget_is_judged_and_never_recommended(tmp_path: Path) -> None:
    found = answered(even(tmp_path), best="p95_latency", budget="$1/h", current="four")
    assert found["recommended"]["node"] == "one"
    assert found["current"]["node"] == "four"


def test_arrivals_are_the_traces_own_whichever_node_comes_first() -> None:
    jobs = WorkloadChoice(source="tests/data/jobs.swf")
    for nodes in (NODES, NODES[::-1]):
        batch = tasks_of(question_from_values(jobs, nodes, Asked(target="p95_latency < 1 h")), 0)
        assert "arrival_scale: arrival times are as recorded" in " ".join(batch.assumptions)


def test_another_load_is_that_of_a_named_node_and_stands_in_the_sentence(tmp_path: Path) -> None:
    found = answered(even(tmp_path), "p95_latency < 1.5 s", target_load=0.5, reference_node="four")
    assert found["sentences"][0].startswith("At a load of 50 % of four's GPUs, take two with")
    assert found["target_load"] == {"load": 0.5, "reference_node": "four"}
    for place in permutations(NODES):
        again = answered(even(tmp_path), "p95_latency < 1.5 s", target_load=0.5, reference_node="four", nodes=place)
        assert again["trials"] == found["trials"]


def test_a_target_must_hold_when_tasks_arrive_closest_together(tmp_path: Path) -> None:
    calm = [float(row) for row in range(400)]
    burst = [400.0 + row / 100 for row in range(20)]  # 20 at once among 424: p95 of all does not see them
    workload = trace(tmp_path, [*calm, *burst, *[500.0 + row for row in range(4)]])
    found = answered(workload, "p95_latency < 6 s")
    one = [trial for trial in found["trials"] if trial["node"] == "one"]
    assert any(trial["mean"] < 6.0 < trial["peak"] and trial["verdict"] == "broken" for trial in one)
    assert found["recommended"]["node"] == "four"
    assert "would break it at the busiest time" in " ".join(found["sentences"])
    assert answered(workload, "makespan < 600 s")["recommended"]["node"] == "one", "a total has no busiest time"


def test_the_busiest_tenth_is_where_arrivals_are_closest(tmp_path: Path) -> None:
    workload = trace(tmp_path, [*[float(row) for row in range(100)], *[100.0 + row / 100 for row in range(20)]])
    rows = busiest_tenth(tasks_of(question_from_values(workload, NODES, Asked(target="p95_latency < 1")), 0))
    assert rows is not None
    assert rows.nonzero()[0].tolist() == list(range(100, 120))
    at_once = trace(tmp_path, [0.0] * 100)
    assert busiest_tenth(tasks_of(question_from_values(at_once, NODES, Asked(target="p95_latency < 1")), 0)) is None


def test_a_small_node_among_the_candidates_takes_no_gang_from_the_others(tmp_path: Path) -> None:
    workload = even(tmp_path, (1, 2))
    found, alone = answered(workload, "p95_latency < 9 s"), answered(workload, "p95_latency < 9 s", nodes=NODES[1:])
    assert [one for one in found["trials"] if one["node"] != "one"] == alone["trials"]
    one = next(trial for trial in found["trials"] if trial["node"] == "one")
    assert (one["cannot_run"], one["verdict"]) == (30, "broken")
    assert "need more GPUs at once or a larger GPU: one (30)" in " ".join(found["sentences"])


def test_gangs_that_no_node_can_hold_are_named_with_a_way_out(tmp_path: Path) -> None:
    workload = even(tmp_path, (1, 8))
    found = answered(workload, "p95_latency < 9 s")
    assert found["recommended"] is None
    assert "30 of them need more than 4 GPUs at once" in found["sentences"][0]
    assert "--leave-out-gangs-above 4" in found["sentences"][0]
    without = answered(workload, "p95_latency < 9 s", widest=4)
    assert (without["tasks"], without["recommended"]["node"]) == (30, "one")
    assert (
        "wide_gangs: 30 of 60 tasks need more than 4 GPUs at once (up to 8) and are left out, as asked."
        in without["assumptions"]
    )


def test_what_policies_know_is_learned_unless_asked_and_is_said(tmp_path: Path) -> None:
    workload = WorkloadChoice(source="unknown", num_tasks=400)
    learned, exact = (answered(workload, "p95_latency < 9 s", **level) for level in ({}, {"knowledge": "exact"}))
    assert (learned["knowledge"], exact["knowledge"]) == ("learned", "exact")
    assert "(knowledge: learned)" in " ".join(learned["assumptions"])
    means = [
        [one["mean"] for one in found["trials"] if one["policy"] == "earliest_device"] for found in (learned, exact)
    ]
    assert means[0] != means[1]


def test_the_default_policies_wait_and_learn_and_the_oracle_cannot_be_bought() -> None:
    assert {"sjf", "min_min", "c_mu", "hetero_prio", "size_split", "rl_hold", "hybrid_ml"} < set(DEFAULT_POLICIES)
    assert "oracle" not in DEFAULT_POLICIES
    with pytest.raises(PlanError, match="oracle cannot be recommended"):
        question_from_values(
            WorkloadChoice(), NODES, Asked(target="p95_latency < 1", policies=["oracle"], knowledge="exact")
        )


def test_prices_that_decide_are_named(tmp_path: Path) -> None:
    nodes = [{**NODES[1], "name": "a"}, {**NODES[1], "name": "b", "price_usd_h": 2.1}]
    said = " ".join(answered(even(tmp_path), "p95_latency < 1.5 s", nodes=nodes)["sentences"])
    assert "With its price a quarter higher the answer would be: b with" in said


def test_that_no_gpu_was_ever_measured_is_said_where_the_answer_hangs_on_it(tmp_path: Path) -> None:
    rows = [f"{row},1000,1,0,{row / 2},10,,no,1" for row in range(60)]
    (tmp_path / "steps.csv").write_text("\n".join([HEAD, *rows]))
    found = answered(WorkloadChoice(source=str(tmp_path / "steps.csv")), "p95_latency < 12 s")
    said = " ".join(found["sentences"])
    assert found["recommended"] is not None
    assert (
        "With none of the 60 tasks without a measured GPU time able to use a GPU the answer would be: no node" in said
    )
    assert "able to use a GPU" not in " ".join(answered(even(tmp_path), "p95_latency < 5 s")["sentences"])


def test_a_node_that_falls_behind_is_said_to_be_overloaded(tmp_path: Path) -> None:
    said = " ".join(answered(even(tmp_path), "p95_latency < 1 h", policies=("gpu_only",))["sentences"])
    assert "Its load is 1." in said
    assert "tasks arrive faster than it can finish them" in said


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"target": None}, "Say what is asked for"),
        ({"best": "p95_latency"}, "two questions"),
        ({"target": "0 % within 1 s"}, "above 0 % and at most 100 %"),
        ({"target": "95 % within 1 kg"}, "'kg' is no unit"),
        ({"target": "95 % within -1 s"}, "finite number above 0"),
        ({"target": "makespan_gap < 1 %"}, "no metric 'makespan_gap'"),
        ({"target": None, "best": "throughput"}, "no metric 'throughput' that should be low"),
        ({"budget": "much"}, "must have the form"),
        ({"budget": "$0/h"}, "above 0"),
        ({"budget": "EUR 10/h"}, "rents are in dollars"),
        ({"budget": "$0.5/h"}, "No node costs at most .0.50 an hour; the cheapest, one, costs .1.00 an hour"),
        ({"budget": "EUR 9", "nodes": [{"name": "x", "gpus": 1}]}, "the node 'x' has no price to buy it"),
        ({"current": "thre"}, "current = 'thre' is none of the nodes"),
        ({"target_load": 0.7}, "name that node as the reference node"),
        ({"reference_node": "two"}, "reference node = 'two' is the node of a target load"),
        ({"target_load": 0.7, "reference_node": "tow"}, "reference node = 'tow' is none of the nodes"),
        ({"target_load": -1.0, "reference_node": "two"}, "finite number above 0"),
        ({"knowledge": "all"}, "no level of knowledge"),
        ({"widest": 0}, "from 1 to"),
        ({"policies": []}, "at least one policy"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_sentence(changes: Any, sentence: str) -> None:
    asked = {"nodes": NODES, "target": "mean_latency < 1 s", **changes}
    with pytest.raises(HmsError, match=sentence):
        question_from_values(WorkloadChoice(), asked.pop("nodes"), Asked(**asked))


def test_a_load_among_the_trace_options_must_name_its_node(tmp_path: Path) -> None:
    workload = even(tmp_path)
    loaded = WorkloadChoice(source=workload.source, options={"target_load": 0.7})
    with pytest.raises(PlanError, match="does not say whose load it is"):
        question_from_values(loaded, NODES, Asked(target="p95_latency < 1"))
    rated = WorkloadChoice(source=workload.source, values={"arrival_rate": 2.0})
    with pytest.raises(PlanError, match="does not go with a rate"):
        question_from_values(rated, NODES, Asked(target="p95_latency < 1", target_load=0.5, reference_node="two"))


@pytest.mark.parametrize(
    ("text", "said"), [("$10 an hour", "$10.00 an hour"), ("10 $/h", "$10.00 an hour"), ("€30,000", "€30,000")]
)
def test_a_budget_is_read_as_people_write_it(text: str, said: str) -> None:
    assert read_budget(text).words() == said
    assert read_target("99.9 % of tasks within 500 ms").within_s == 0.5


def test_the_command_takes_the_new_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = even(tmp_path)
    (tmp_path / "nodes.toml").write_text(
        "".join(
            f'[[node]]\nname = "{one["name"]}"\ngpus = {one["gpus"]}\npurchase = {one["purchase"]}\n' for one in NODES
        )
    )
    command = [
        "recommend",
        "--workload",
        workload.source,
        "--nodes",
        str(tmp_path / "nodes.toml"),
        "--scheduler",
        "sjf",
    ]
    assert run([*command, "--best", "p95_latency", "--budget", "EUR 20000", "--out", str(tmp_path / "out")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "(knowledge: learned)" in printed
    assert f"Take two with the policy {label_of('sjf')}, for EUR 18,000." in printed
    assert (tmp_path / "out" / "report.pdf").read_bytes().startswith(b"%PDF")
    assert run([*command, "--target", "95 % within 1 h", "--out", str(tmp_path / "share")]) == 0
    capsys.readouterr()
    assert run([*command, "--best", "p95_latency", "--budget", "much"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
