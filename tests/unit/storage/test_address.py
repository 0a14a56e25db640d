"""Database addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.storage.connect.address import parse_address, public_name


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("sqlite:///a.db", "sqlite+aiosqlite"),
        ("postgres://u:p@h/d", "postgresql+asyncpg"),
        ("postgresql://u:p@h:5433/d", "postgresql+asyncpg"),
        ("postgresql+asyncpg://u@h/d", "postgresql+asyncpg"),
    ],
)
def test_usual_addresses_get_their_async_driver(url: str, driver: str) -> None:
    assert parse_address(url).drivername == driver


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://u:geheim@h/d", "sqlite://", "sqlite:///:memory:", "postgresql://u:geheim@/d"]
)
def test_wrong_addresses_are_one_sentence_without_a_secret(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_address(url)
    assert str(caught.value).endswith(".")
    assert "geheim" not in str(caught.value)


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="folder"):
        parse_address(f"sqlite:///{tmp_path}")


@pytest.mark.parametrize("url", ["sqlite:////tmp/q.db?mode=ro&uri=true", "sqlite:///file:q.db", "sqlite:///a.db?x=1"])
def test_options_of_sqlite_are_refused_rather_than_taken_for_a_part_of_the_name(url: str) -> None:
    with pytest.raises(ConfigurationError, match="only name a file"):
        parse_address(url)


def test_the_name_holds_place_and_no_secret() -> None:
    assert (
        public_name(parse_address("postgresql://me:geheim@db.example:5433/history"))
        == "PostgreSQL db.example:5433/history"
    )
    assert public_name(parse_address("sqlite:///data/history.db")) == "SQLite data/history.db"


def test_libpqs_sslmode_becomes_the_drivers_ssl() -> None:
    assert dict(parse_address("postgresql://u:p@h/d?sslmode=require").query) == {"ssl": "require"}
