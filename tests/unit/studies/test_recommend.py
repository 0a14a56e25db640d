"""A recommendation is the cheapest that keeps the target; where none does, the nearest is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core.errors import HmsError, PlanError
from hybrid_ml_scheduler.plans.candidates import load_candidates
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.plans.targets import read_target
from hybrid_ml_scheduler.studies.folder_files import RunLog
from hybrid_ml_scheduler.studies.recommending.asked import Asked, question_from_values, recommendation
from hybrid_ml_scheduler.studies.recommending.search import Answer, Question, recommend

NODES = """
[[node]]
name = "one"
gpus = 1
price_usd_h = 1.0

[[node]]
name = "dear"
gpus = 2
price_usd_h = 9.0

[[node]]
name = "two"
gpus = 2
price_usd_h = 2.0
"""
HEAD = "task_id,size,compute_intensity,memory_required,arrival_time,cpu_time,gpu_time,divisible"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two tasks a second, each of one second on a GPU and of ten on the CPU: two GPUs keep up, one does not."""
    rows = [f"{row},1000,1,0,{row / 2},10,1,no" for row in range(60)]
    (tmp_path / "tasks.csv").write_text("\n".join([HEAD, *rows]))
    (tmp_path / "nodes.toml").write_text(NODES)
    return tmp_path / "tasks.csv", tmp_path / "nodes.toml"


def asked(files: tuple[Path, Path], target: str, **changes: Any) -> Answer:
    values = {"policies": ("gpu_only", "cpu_only"), "seeds": 3, "knowledge": "exact", **changes}
    workload = values.pop("workload", WorkloadChoice(source=str(files[0])))
    nodes = tuple(load_candidates(files[1]))
    return recommend(Question(workload=workload, nodes=nodes, target=read_target(target), **values))


def test_the_cheapest_node_that_keeps_the_target_is_recommended(files: tuple[Path, Path]) -> None:
    answer = asked(files, "p95_latency <= 1000 ms")
    assert answer.best is not None
    assert (answer.best.node, answer.best.policy, answer.best.interval.mean) == ("two", "gpu_only", 1.0)
    assert answer.cheaper is not None
    assert (answer.cheaper.node, answer.cheaper.verdict) == ("one", "broken")
    assert answer.best.interval.count == 1, "a file that leaves nothing to be drawn is run once"


def test_a_looser_target_takes_the_cheaper_node(files: tuple[Path, Path]) -> None:
    answer = asked(files, "p95_latency < 1 h")
    assert answer.best is not None
    assert answer.best.node == "one"
    assert answer.cheaper is None


def test_what_no_node_keeps_is_not_recommended_and_the_nearest_is_named(files: tuple[Path, Path]) -> None:
    answer = asked(files, "mean_latency < 0.5")
    assert answer.best is None
    assert (answer.nearest.node, answer.nearest.policy) == ("two", "gpu_only")


def test_an_assumption_that_would_change_the_answer_is_named(files: tuple[Path, Path]) -> None:
    answer = asked(files, "p95_latency < 1.5 s")
    assert answer.variations["a quarter more arrivals"] == "no node keeps the target"
    assert answer.variations["a fifth fewer arrivals"] == "the same answer"


def test_seeds_are_spent_only_where_they_decide(files: tuple[Path, Path]) -> None:
    workload = WorkloadChoice(source="mixed", num_tasks=200)
    answer = asked(files, "p95_latency < 10 h", workload=workload, seeds=20)
    counts = {one.policy: one.interval.count for one in answer.trials if one.node == "two"}
    assert counts == {"gpu_only": 2, "cpu_only": 1}, "a policy that is far behind gets no second seed"
    assert {one.verdict for one in answer.trials if one.policy == "cpu_only"} == {"open"}, "one run shows nothing"
    assert answer.best is not None
    assert all(one.interval.low >= 0.0 for one in answer.trials if one.interval.is_known), "no latency is below 0"


def test_the_command_answers_in_words_in_json_and_in_a_folder(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["recommend", "--workload", str(files[0]), "--nodes", str(files[1]), "--promise", "p95_latency < 1.1 s"]
    assert run([*arguments, "--out", str(tmp_path / "out")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Take two with the policy" in printed
    assert (
        "for $2.00 an hour. It keeps the target p95_latency < 1.1 s: 95 % of the tasks are done within 1 s" in printed
    )
    assert "(one run; repeats would give the same)" in printed
    assert (tmp_path / "out" / "plots" / "price_against_promise.svg").is_file()
    assert (tmp_path / "out" / "report.pdf").read_bytes().startswith(b"%PDF")
    assert run(["report", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert run([*arguments, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recommended"]["node"] == "two"
    assert found == json.loads((tmp_path / "out" / "recommendation.json").read_text())


def test_a_search_that_was_interrupted_makes_only_the_runs_that_are_missing(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    question = Question(
        workload=WorkloadChoice(source=str(files[0])),
        nodes=tuple(load_candidates(files[1])),
        policies=("gpu_only", "cpu_only"),
        knowledge="exact",
        target=read_target("p95_latency < 1.1 s"),
    )
    whole, place = recommend(question), tmp_path / "runs.jsonl"

    def stop(_: str, __: int, ___: int) -> None:
        if place.is_file() and len(place.read_text().splitlines()) >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recommend(question, stop, RunLog(place))
    with place.open("a") as file:
        file.write('["cut of')  # as a power cut leaves it
    assert recommend(question, None, RunLog(place)) == whole
    lines = place.read_text().splitlines()
    assert len(lines) == 1 + len({line.partition(",")[0] for line in lines if line.endswith("]")}), "no run twice"


@pytest.mark.parametrize(
    "text",
    [
        "p95_latency",
        "p95_latency > 2",
        "p95_latency < two",
        "p95_latency < 0",
        "p95_latency < 2 kg",
        "throughput < 2",
        "x < 1",
    ],
)
def test_a_target_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="target = "):
        read_target(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[simulation]\nseed = 1\n", "has no section 'simulation'"),
        ("", "needs 1 to 1000 sections"),
        ("[[node]]\ngpus = 0\n", "node 1: gpus = 0 must be a whole number from 1"),
        ("[[node]]\ngpus = -2\n", "must be a whole number from 1"),
        ('[[node]]\ngpu_type = "h2000"\ngpus = 1\n', "no GPU type 'h2000'"),
        ("[[node]]\ngpus = 1\nprice_usd_h = -1\n", "price_usd_h = -1 must be"),
        ("[[node]]\nprize = 1\n", "has no key 'prize'"),
        ("[[node]]\ngpus = 1\n[[node]]\ngpus = 1\n", "two nodes are called"),
        ('[[node]]\ngpu_type = "t4"\n', "node 1 does not say how many GPUs it has. Add gpus"),
        ('[[node]]\ngpus = 1\npurchase = "dear"\n', "purchase = 'dear' must be"),
    ],
)
def test_nodes_that_cannot_be_are_refused_with_their_file(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "nodes.toml"
    path.write_text(text)
    with pytest.raises(PlanError) as caught:
        load_candidates(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_nodes_of_the_repository_can_be_read() -> None:
    nodes = load_candidates(Path("plans/nodes.toml"))
    assert len(nodes) == 12
    assert nodes[0].price_usd_h == pytest.approx(0.53 + 0.00002 * 3600)


def test_a_question_of_plain_values_gives_the_record_and_tells_how_far_it_is(files: tuple[Path, Path]) -> None:
    told: list[tuple[str, int, int]] = []
    question = question_from_values(
        WorkloadChoice(source=str(files[0])),
        [{"name": "one", "gpus": 1, "price_usd_h": 1}, {"name": "two", "gpus": 2, "price_usd_h": 2}],
        Asked(target="p95_latency < 1.1 s", policies=("gpu_only", "cpu_only")),
    )
    found = recommendation(question, lambda *step: told.append(step))
    assert found == json.loads(json.dumps(found)), "plain values only"
    assert (found["recommended"]["node"], found["nearest"]["node"]) == ("two", "two")
    assert told[0][1:] == (0, 4)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert all(done <= total for _, done, total in told)
    assert told[-1][1] == told[-1][2] == 4 + 2 * 4, "both variations of the arrivals are counted"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"nodes": [{"gpus": 1, "hardware": "plans/hardware/h200.json"}]}, "only be named on the command line"),
        ({"types": {"t4": {"profile": "x.json"}}}, "only be named on the command line"),
        ({"nodes": [{"physics": {"types": {"t4": {"profile": "x"}}}}]}, "only be named on the command line"),
        ({"nodes": ["t4"]}, "must be a section"),
        ({"nodes": []}, "needs 1 to 1000"),
        ({"policies": ["nobody"]}, "nobody"),
        ({"target": "p95 latency"}, "^target = "),
        ({"seeds": 0}, "from 1 to 1000"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_before_anything_runs(changes: Any, sentence: str) -> None:
    asked_for = {"nodes": [{"gpus": 1}], "target": "mean_latency < 1 s", **changes}
    nodes, types = asked_for.pop("nodes"), asked_for.pop("types", None)
    with pytest.raises(HmsError, match=sentence):
        question_from_values(WorkloadChoice(), nodes, Asked(**asked_for), types)
