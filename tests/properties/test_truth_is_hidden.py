"""Below the level `exact` nothing that a strategy can reach depends on a true time before that task has ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cli.race_plan import Flags, plan_of
from hybrid_ml_scheduler.cluster import RunColumns
from hybrid_ml_scheduler.core import Decision, Scheduler
from hybrid_ml_scheduler.core.holding import Holds
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, NOMINAL, Level
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course, Trace
from hybrid_ml_scheduler.physics import Gpu, Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.file_tasks import choice_text
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.plan import WorkloadChoice, plan_from_mapping
from hybrid_ml_scheduler.schedulers import available, create
from hybrid_ml_scheduler.studies.knowledge import WARM_UP, KnowledgeStudy, knowledge_cell
from hybrid_ml_scheduler.studies.running import entrants, run_known
from hybrid_ml_scheduler.studies.trials import Trial, run_trial
from hybrid_ml_scheduler.studies.what_if import RunToChange, changed_run
from hybrid_ml_scheduler.workload import WorkloadParameters, load
from tests.properties.spying import SAMPLES, HoldingSpy, RuleSpy, Sample, Spy

BELOW = (NOMINAL, LEARNED)
BUILT_IN = tuple(name for name in available() if name != "oracle")
Both = tuple[KnownTasks, KnownTasks]
by_name = pytest.mark.parametrize("sample", SAMPLES, ids=lambda one: one.name)


def changed_from(first: int) -> dict[int, float]:
    """Factors by which true times change: none before a row, and another one for every row after it."""
    drawn = np.random.default_rng(first).choice([0.2, 0.5, 2.0, 5.0], 200)
    return {row: float(factor) for row, factor in enumerate(drawn) if row >= first}


def both(sample: Sample, folder: Path, first: int = 0) -> Both:
    """The tasks of a file, and of the same file with other times from a row on."""
    found = []
    node = Node(gpus=(Gpu(type=sample.gpu_type),) * 8) if sample.gpu_type else Node.uniform(8)
    for name, factors, options in (("as", {}, {}), ("changed", changed_from(first), sample.changed)):
        (folder / name).mkdir()
        place = sample.write(folder / name, lambda row, factors=factors: factors.get(row, 1.0))  # type: ignore[misc]
        batch = load(place, seed=3, options={**sample.options, **options}, node=node)
        found.append(KnownTasks(batch=batch, node=node, truth=Truth(), seed=3))
    one, other = found
    assert one.batch.task_id.tolist() == other.batch.task_id.tolist()
    return one, other


def first_end_s(tasks: Both, one: RunColumns, other: RunColumns) -> float:
    """When the first part ends of a task whose time is another one."""
    before, after = tasks
    changed = before.true.cpu_s * before.batch.duration_factor != after.true.cpu_s * after.batch.duration_factor
    changed |= np.any(before.true.gpu_s != after.true.gpu_s, axis=1)
    assert changed.any()
    ends = [np.where(run.cpu_s > 0.0, run.cpu_start_s + run.cpu_s, np.inf)[changed].min() for run in (one, other)]
    ends += [np.where(run.gpu_s > 0.0, run.gpu_start_s + run.gpu_s, np.inf)[changed].min() for run in (one, other)]
    return float(min(ends))


def decided(run: RunColumns, tasks: KnownTasks, until_s: float, *, holds: bool) -> list[tuple[float, ...]]:
    """Where tasks went that were decided by then."""
    starts = np.fmin(
        np.where(run.cpu_s > 0.0, run.cpu_start_s, np.inf), np.where(run.gpu_s > 0.0, run.gpu_start_s, np.inf)
    )
    roots = np.diff(tasks.batch.parent_offsets) == 0
    early = starts < until_s if holds else (starts < until_s) | (roots & (tasks.batch.arrival_time < until_s))
    rows = np.flatnonzero(early)
    return list(zip(rows.tolist(), run.gpu_fraction[rows].tolist(), run.gpu[rows].tolist(), strict=True))


def until(notes: list[tuple[float, str]], until_s: float) -> list[tuple[float, str]]:
    return [note for note in notes if note[0] < until_s]


@pytest.mark.parametrize("spy", [Spy, HoldingSpy, RuleSpy])
@pytest.mark.parametrize("level", BELOW)
@by_name
def test_all_that_a_strategy_can_reach_is_the_same_until_a_changed_task_has_ended(
    sample: Sample, level: Level, spy: type[Spy], tmp_path: Path
) -> None:
    for first in (0, 2, 15):
        folder = tmp_path / str(first)
        folder.mkdir()
        if first and (sample.changed or len(both(sample, folder)[0].batch) <= first):
            break
        again = folder / "again"
        again.mkdir()
        tasks = both(sample, again, first)
        spies = spy(), spy()
        runs = [run_known(one, known, level) for one, known in zip(spies, tasks, strict=True)]
        end_s = first_end_s(tasks, *runs)
        assert until(spies[0].notes, end_s) == until(spies[1].notes, end_s)
        assert until(spies[0].notes, end_s)


@by_name
def test_the_spy_would_see_the_truth(sample: Sample, tmp_path: Path) -> None:
    spies = Spy(), Spy()
    tasks = both(sample, tmp_path)
    end_s = first_end_s(tasks, *(run_known(one, known, EXACT) for one, known in zip(spies, tasks, strict=True)))
    assert until(spies[0].notes, end_s) != until(spies[1].notes, end_s)


@pytest.mark.parametrize("level", BELOW)
@by_name
def test_built_in_strategies_decide_the_same_until_a_changed_task_has_ended(
    sample: Sample, level: Level, tmp_path: Path
) -> None:
    tasks = both(sample, tmp_path)
    for name in BUILT_IN:
        holds = isinstance(create(name), Holds)
        runs = [run_known(create(name), known, level) for known in tasks]
        end_s = first_end_s(tasks, *runs)
        one, other = (decided(run, known, end_s, holds=holds) for run, known in zip(runs, tasks, strict=True))
        assert one == other, name


@pytest.mark.parametrize("level", BELOW)
@by_name
def test_in_a_live_race_strategies_meet_tasks_without_their_times(sample: Sample, level: Level, tmp_path: Path) -> None:
    spies: list[Scheduler] = []
    notes = []
    for known in both(sample, tmp_path):
        race = live(known, level)
        while not race.is_complete:
            race.step()
        outcomes = [outcome for name, outcome in race.take_rows().outcomes if name == "earliest_finish"]
        spies.append(race.racers[0].scheduler)
        ends = [
            end for one in outcomes for end in (one.cpu_start_s + one.cpu_s, one.gpu_start_s + one.gpu_s) if end > 0
        ]
        notes.append((min(ends), [(one.task_id, one.gpu_fraction, one.gpu, one.ready_s) for one in outcomes]))
    end_s = min(end for end, _ in notes)
    first, second = ([row for row in rows if row[3] < end_s] for _, rows in notes)
    assert first == second


def live(known: KnownTasks, level: Level) -> Race:
    course = Course(
        seed=3,
        node=known.node,
        preset="file",
        workload=WorkloadParameters(),
        schedulers=("earliest_finish", "sjf"),
        knowledge=level,
        trace=Trace(upload="0" * 32, batch=known.batch),
    )
    return Race(course, run_id=1, first_task_id=0)


def test_a_task_is_estimated_by_those_of_its_kind_that_have_ended(tmp_path: Path) -> None:
    sample = next(one for one in SAMPLES if one.name == "own, longer")
    known, _ = both(sample, tmp_path)
    spread = replace(known, batch=replace(known.batch, arrival_time=np.linspace(0.0, 40_000.0, len(known.batch))))
    means = {}
    for level in BELOW:
        estimator = spread.estimator(level)
        run_known(create("gpu_only"), spread, level, learned=estimator)
        seen = spread.seen.task(len(known.batch) - 1)
        means[level] = estimator.gpu_s(seen, 0)
    kind = known.batch.kind == known.batch.kind[-1]
    mean_s = float(known.true.gpu_s[kind, 0].mean())  # the run is over, so all of them have ended
    assert means[NOMINAL] == pytest.approx(mean_s, rel=1e-9)
    assert means[LEARNED] == pytest.approx(mean_s, rel=0.35)


@pytest.mark.parametrize("level", BELOW)
@pytest.mark.parametrize("name", ["gavel", "typed", "swf"])
def test_what_if_shows_no_true_time_either(name: str, level: Level, tmp_path: Path) -> None:
    tasks, spies, runs = both(next(one for one in SAMPLES if one.name == name), tmp_path), [], []
    for known in tasks:
        spy = Spy()
        again = RunToChange(make=lambda spy=spy: spy, known=known, level=level)  # type: ignore[misc]
        runs.append(changed_run(again, int(known.batch.task_id[0]), Decision(gpu_fraction=1.0, gpu=1)))
        spies.append(spy)
    end_s = first_end_s(tasks, *runs)
    assert until(spies[0].notes, end_s) == until(spies[1].notes, end_s)


def test_the_price_of_not_knowing_is_measured_with_the_estimator_of_a_race(tmp_path: Path) -> None:
    rows = "\n".join(f"{row},{row * 30},{'abc'[row % 3]},{(row % 7 + 1) * 200},{row % 7 + 50}" for row in range(300))
    place = tmp_path / "mine.csv"
    place.write_text(f"task_id,arrival_time,kind,cpu_time,gpu_time\n{rows}\n")
    file = choice_text(WorkloadChoice(source=str(place)))
    study = KnowledgeStudy(tasks=100, file=file, only=(("hybrid_ml", LEARNED),))
    known = study.known_tasks(0.7, 0)
    latency_s = run_known(create("hybrid_ml"), known, LEARNED).finish_s - known.batch.arrival_time
    (cell,) = knowledge_cell(study, 0.7, 0)
    assert cell.mean_latency_s == pytest.approx(float(latency_s[int(WARM_UP * len(latency_s)) :].mean()))


def as_it_is(row: int) -> float:
    return 1.0


def three_times(row: int) -> float:
    return 3.0


STRATEGY = """
class Noting:
    name = "noting"

    def decide(self, task, cluster):
        with open({where!r}, "a") as file:
            print(task._replace(arrival_time=0.0), cluster.estimator.gpu_s(task, 0), file=file)
        from hybrid_ml_scheduler import Decision
        return Decision(gpu_fraction=1.0, gpu=0)
"""


@pytest.mark.parametrize("level", BELOW)
@pytest.mark.parametrize("way", ["flags", "plan"])
@pytest.mark.parametrize("name", ["gavel", "typed"])
def test_a_race_by_flags_and_one_by_plan_show_the_first_task_without_its_time(
    name: str, way: str, level: Level, tmp_path: Path
) -> None:
    sample = next(one for one in SAMPLES if one.name == name)
    seen = []
    for change in (as_it_is, three_times):
        folder = tmp_path / change.__name__
        folder.mkdir()
        place, log, code = sample.write(folder, change), folder / "log", folder / "noting.py"
        code.write_text(STRATEGY.format(where=str(log)))
        if way == "plan":
            plan = plan_from_mapping(
                {
                    "workload": {"file": str(place), "options": sample.options},
                    "physics": {"gpus": [{"type": sample.gpu_type}] * 8},
                    "knowledge": {"level": level},
                    "schedulers": {"race": [f"{code}:Noting"]},
                }
            )
        else:
            options = tuple(f"{key}={value}" for key, value in sample.options.items())
            plan = plan_of(
                Flags(
                    workload=str(place),
                    gpus=8,
                    gpu_type=sample.gpu_type,
                    options=options,
                    knowledge=level,
                    schedulers=(f"{code}:Noting",),
                )
            )
        run_trial(Trial(plan=plan, seed=0, entrant=entrants(plan)[0]))
        seen.append(log.read_text().splitlines()[0])
    assert seen[0] == seen[1]
