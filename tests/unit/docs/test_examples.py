"""The examples of the documents run, and say what the documents say they say.

A block that begins with ```console run is executed line by line in a folder of its own (one for each document,
so that an example may use what an earlier one left). Lines without a `$` must appear in the output, in
order; `...` stands for anything. Plan sections (```toml) must be accepted.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from hybrid_ml_scheduler.cli.main import app, run
from hybrid_ml_scheduler.plans.candidates import load_candidates
from hybrid_ml_scheduler.plans.plan import plan_from_mapping
from hybrid_ml_scheduler.service.wire.tasks import NewTask
from hybrid_ml_scheduler.studies.race import entrants
from hybrid_ml_scheduler.studies.sweep import load_sweep
from hybrid_ml_scheduler.workload import WorkloadParameters
from tests.toml_text import read_toml

REPOSITORY = Path(__file__).parents[3]
BLOCK = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SPOKEN = re.compile(r"(?:`|^(?:\$ )?)hms ([a-z][^`\n#]*)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def blocks(document: Path, kind: str) -> list[str]:
    found = BLOCK.finditer(document.read_text(encoding="utf-8"))
    return [match["text"] for match in found if match["kind"].strip() == kind]


def documents(kind: str) -> list[Path]:
    pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
    return [page for page in pages if blocks(page, kind)]


def steps(block: str) -> list[tuple[str, list[str]]]:
    """Commands with the lines that are shown under each."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            found[-1][1].append(line)
    return found


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("document", documents("console run"), ids=lambda path: path.stem)
def test_the_commands_of_a_document_do_what_it_shows(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plans").symlink_to(REPOSITORY / "plans")
    monkeypatch.chdir(tmp_path)
    for block in blocks(document, "console run"):
        for command, shown in steps(block):
            program, *words = shlex.split(command)
            assert program == "hms", command
            capsys.readouterr()
            assert run(words) == 0, f"{command}: {capsys.readouterr().err}"
            said = squeezed(capsys.readouterr().out)
            for line in shown:
                if line.strip() != "...":
                    assert squeezed(line.strip()) in said, f"{command} does not say: {line}"
                    said = said.split(squeezed(line.strip()), 1)[1]


def unknown_words(spoken: str) -> list[str]:
    """Commands and options in a call of `hms` that do not exist."""
    command: Any = typer.main.get_command(app)
    words, options = spoken.split(), {"--help", "-h"}
    context = command.make_context("hms", ["schedulers"])
    while words and hasattr(command, "get_command"):
        found = command.get_command(context, words[0])
        if found is None:
            return words[:1]
        command, words = found, words[1:]
    options |= {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    return [word for word in words if re.match("--?[a-z]", word) and word.split("=")[0].rstrip(",.:;)") not in options]


@pytest.mark.parametrize(
    "document", [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))], ids=lambda path: path.stem
)
def test_every_command_and_option_that_a_document_names_exists(document: Path) -> None:
    spoken = SPOKEN.findall(document.read_text(encoding="utf-8").replace("\\\n", " "))
    assert {call: lost for call in spoken if (lost := unknown_words(call))} == {}


def test_an_option_that_does_not_exist_is_noticed() -> None:
    assert unknown_words("race --workload mine.csv --fast") == ["--fast"]
    assert unknown_words("db check --full --whole") == ["--whole"]
    assert unknown_words("rase --tasks 5") == ["rase"]


@pytest.mark.parametrize("document", documents("toml"), ids=lambda path: path.stem)
def test_the_plan_sections_of_a_document_are_accepted(document: Path) -> None:
    for block in blocks(document, "toml"):
        sections = read_toml(block)
        for key, values in sections.pop("sweep", {}).items():
            section, _, name = key.rpartition(".")
            sections.setdefault(section, {})[name] = values[0]
        entrants(plan_from_mapping(sections))


@pytest.mark.parametrize("plan", sorted((REPOSITORY / "plans").glob("*.toml")), ids=lambda path: path.name)
def test_every_plan_of_the_repository_is_accepted(plan: Path) -> None:
    sections = read_toml(plan.read_text(encoding="utf-8"))
    if "sweep" in sections:
        assert load_sweep(plan).cells
    elif "node" in sections:
        assert load_candidates(plan)
    else:
        entrants(plan_from_mapping(sections, str(plan)))


@pytest.mark.parametrize("document", sorted((REPOSITORY / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    lost = [
        link for link in LINK.findall(document.read_text(encoding="utf-8")) if not (document.parent / link).exists()
    ]
    assert lost == []


def test_the_documents_that_were_promised_are_there() -> None:
    promised = (
        "architecture",
        "physics",
        "strategies",
        "experiments",
        "statistics",
        "troubleshooting",
        "faq",
        "traces",
    )
    assert [name for name in promised if not (REPOSITORY / "docs" / f"{name}.md").is_file()] == []


def test_the_fields_of_a_task_stand_in_the_pages_on_the_api() -> None:
    text = (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in NewTask.model_fields if f"| `{name}` |" not in text] == []


def test_every_key_of_a_plan_stands_in_the_documents() -> None:
    told = (REPOSITORY / "docs" / "experiments.md").read_text(encoding="utf-8")
    simulation = plan_from_mapping({}).to_mapping()["simulation"]
    assert [key for key in (*simulation, "hardware") if f"| `{key}` |" not in told] == []
    told += (REPOSITORY / "docs" / "workloads.md").read_text(encoding="utf-8")
    assert [item.name for item in fields(WorkloadParameters) if f"`{item.name}`" not in told] == []
