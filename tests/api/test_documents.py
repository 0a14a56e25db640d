"""What docs/api.md shows is what the service answers; what docs/configuration.md lists is what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from hybrid_ml_scheduler.settings import Settings
from tests.api.service import LiveService

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console api\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTED = "http://127.0.0.1:8000"


def examples() -> list[tuple[str, list[str]]]:
    """Commands of the page with the pieces of output that are shown under each."""
    found: list[tuple[str, list[str]]] = []
    for block in BLOCK.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def carried_out(live: LiveService, command: str) -> str:
    """Do what a curl command would do."""
    program, *words = shlex.split(command)
    assert program == "curl"
    method, body, headers, address = "GET", None, {}, ""
    while words:
        word = words.pop(0)
        if word == "-X":
            method = words.pop(0)
        elif word == "-d":
            body = words.pop(0)
        elif word == "-H":
            name, _, value = words.pop(0).partition(": ")
            headers[name] = value
        else:
            address = word
    assert address.startswith(DOCUMENTED)
    return live.client.request(method, address.removeprefix(DOCUMENTED), content=body, headers=headers).text


def test_the_examples_of_the_page_about_the_api_do_what_it_shows(running: LiveService) -> None:
    shown = examples()
    assert len(shown) >= 10
    for command, pieces in shown:
        said = carried_out(running, command)
        for piece in pieces:
            assert piece in said, f"{command} does not say {piece}"


def test_the_page_about_configuration_lists_every_variable_and_no_other() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE)
    known = {(field.alias or name).upper() for name, field in Settings.model_fields.items()}
    assert sorted(listed) == sorted(known)


def test_the_example_environment_names_only_variables_that_exist_and_holds_no_secret() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    known = {(field.alias or name).upper() for name, field in Settings.model_fields.items()}
    pairs = dict(re.findall(r"^(?:# )?([A-Z_]+)=(.*)$", text, re.MULTILINE))
    assert set(pairs) <= known
    assert all(pairs[name] == "" for name in pairs if name.endswith(("KEY", "PASSWORD")))


def test_compose_gives_the_application_only_variables_that_exist() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    known = {(field.alias or name).upper() for name, field in Settings.model_fields.items()}
    assert set(services) == {"app", "postgres", "redis"}
    assert set(services["app"]["environment"]) <= known
    assert all("127.0.0.1:" in port for service in services.values() for port in service.get("ports", []))


def test_compose_hands_on_every_variable_that_the_example_lists() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    listed = set(re.findall(r"^(?:# )?([A-Z_]+)=", text, re.MULTILINE))
    inside = {"POSTGRES_PORT", "REDIS_PORT", "REDIS_DB", "HMS_HOST", "HMS_PORT"}  # settled by the containers themselves
    app = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["app"]["environment"]
    assert listed - inside <= set(app)
