"""The environment: what is accepted, what is refused, what is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv((field.alias or name).upper(), raising=False)


def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return load_settings(tmp_path / ".env")


def test_without_a_variable_everything_is_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(tmp_path, monkeypatch)
    assert settings.database.get_secret_value() == "sqlite+aiosqlite:///data/hybrid_scheduler.db"
    assert settings.cache_url is None
    assert (settings.num_gpus, settings.retrain_interval, settings.speed) == (4, 50, 10.0)
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)


def test_one_variable_of_postgresql_or_redis_is_enough_to_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = loaded(tmp_path, monkeypatch, POSTGRES_USER="me", POSTGRES_PASSWORD="p@ss/word", REDIS_DB="3")
    assert settings.database.get_secret_value() == (
        "postgresql+asyncpg://me:p%40ss%2Fword@localhost:5432/hybrid_scheduler_db"
    )
    assert settings.database_words == "postgresql://localhost:5432/hybrid_scheduler_db"
    assert settings.cache_url is not None
    assert settings.cache_url.get_secret_value() == "redis://localhost:6379/3"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgres://u@h/d", "postgresql+asyncpg://u@h/d"),
        ("postgresql://u@h/d", "postgresql+asyncpg://u@h/d"),
        ("sqlite:///x.db", "sqlite+aiosqlite:///x.db"),
    ],
)
def test_a_database_url_gets_its_asynchronous_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, used: str
) -> None:
    assert loaded(tmp_path, monkeypatch, DATABASE_URL=given).database.get_secret_value() == used


def test_secrets_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(
        tmp_path, monkeypatch, API_KEY="a-very-secret-key", POSTGRES_USER="me", POSTGRES_PASSWORD="another-secret",
        REDIS_URL="redis://:third-secret@h/0",
    )  # fmt: skip
    shown = repr(settings) + str(settings) + settings.database_words + str(settings.model_dump())
    assert not any(secret in shown for secret in ("a-very-secret-key", "another-secret", "third-secret"))


def test_a_refusal_does_not_show_the_secret_it_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        loaded(tmp_path, monkeypatch, DATABASE_URL="mysql://me:very-secret@h/d")
    assert "very-secret" not in str(refusal.value)


def test_production_accepts_a_key_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(tmp_path, monkeypatch, ENVIRONMENT="production", API_KEY="9f3c1e7a55d04b12aa")
    assert settings.required_api_key == "9f3c1e7a55d04b12aa"


WORTHLESS = [
    "", "short", "changeme", "1111111111111111111111", "changemechangeme", "ChangeMe-ChangeMe-1", "your-secret-api-key",
    "default_password_123", "0123456789abcdef", "abcdefghijklmnopqrst", "1234567890123456", "xK9$xK9$xK9$xK9$xK9$",
]  # fmt: skip


@pytest.mark.parametrize(
    "key", ["83920174651029384756", "correct-horse-battery-staple", "9f3c1e7a55d04b12", "Tr0ub4dor&3zebra"]
)
def test_production_accepts_keys_that_nobody_would_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    assert loaded(tmp_path, monkeypatch, ENVIRONMENT="production", API_KEY=key).required_api_key == key


@pytest.mark.parametrize("key", WORTHLESS)
def test_production_refuses_a_missing_or_worthless_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    with pytest.raises(ConfigurationError, match="API_KEY"):
        loaded(tmp_path, monkeypatch, ENVIRONMENT="production", API_KEY=key)


@pytest.mark.parametrize("environment", ["development", "production"])
@pytest.mark.parametrize(
    "key", ["schlüssel-für-uns-alle-2026", "ключ-который-никто-не-знает", "9f3c1e7a55d0\t4b12aa", " 9f3c1e7a55d04b12aa"]
)
def test_a_key_that_no_client_could_send_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: str, key: str
) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^API_KEY: must be letters A to Z .* a header carries it\.$"
    ) as refusal:
        loaded(tmp_path, monkeypatch, ENVIRONMENT=environment, API_KEY=key)
    assert key not in str(refusal.value)


def test_a_key_may_hold_every_visible_character_and_spaces_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "".join(map(chr, range(33, 127))) + " and more"
    assert loaded(tmp_path, monkeypatch, API_KEY=key).required_api_key == key


def test_proxies_are_addresses_networks_or_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for given, used in (("10.0.0.5, 10.1.0.0/16,::1", "10.0.0.5,10.1.0.0/16,::1"), ("*", "*"), ("", "")):
        assert loaded(tmp_path, monkeypatch, HMS_TRUSTED_PROXIES=given).trusted_proxies == used


def test_lists_and_rates_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(tmp_path, monkeypatch, HMS_SCHEDULERS="greedy, random", HMS_RATE_LIMIT="7/second")
    assert settings.schedulers == ("greedy", "random")
    assert settings.rate == (7, 1.0)


def test_the_own_address_is_an_allowed_origin_unless_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "http://127.0.0.1:9123" in loaded(tmp_path, monkeypatch, HMS_PORT="9123").origins
    assert "http://[::1]:9123" in loaded(tmp_path, monkeypatch, HMS_PORT="9123").origins
    usual = loaded(tmp_path, monkeypatch, HMS_PORT="80").origins
    assert {"http://127.0.0.1", "http://localhost", "http://[::1]"} <= set(usual)
    named = loaded(tmp_path, monkeypatch, HMS_ALLOWED_ORIGINS="https://a.example")
    assert named.origins == ("https://a.example",)


def test_the_environment_wins_over_the_file_and_options_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("NUM_GPUS=2\nHMS_SPEED=3\nRETRAIN_INTERVAL=9\n")
    monkeypatch.setenv("NUM_GPUS", "6")
    settings = load_settings(tmp_path / ".env", speed=5.0)
    assert (settings.num_gpus, settings.speed, settings.retrain_interval) == (6, 5.0, 9)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "nonsense"),
        ("REDIS_URL", "http://x"),
        ("NUM_GPUS", "0"),
        ("NUM_GPUS", "4.5"),
        ("RETRAIN_INTERVAL", "-3"),
        ("POSTGRES_PORT", "99999"),
        ("LOG_LEVEL", "LOUD"),
        ("ENVIRONMENT", "prod"),
        ("HMS_RATE_LIMIT", "sometimes"),
        ("HMS_PORT", "-1"),
        ("HMS_SPEED", "nan"),
        ("HMS_SPEED", "0.0000001"),
        ("HMS_AUTOSTART", "perhaps"),
        ("HMS_RETRAINING", "never"),
        ("HMS_TRUSTED_PROXIES", "not an ip"),
        ("HMS_TRUSTED_PROXIES", "10.0.0.1, proxy.example"),
        ("HMS_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("HMS_TRUSTED_PROXIES", "10.0.0.1, *"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}: ") as refusal:
        loaded(tmp_path, monkeypatch, **{name: value})
    assert str(refusal.value).count(". ") == 0


def test_a_server_without_a_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="POSTGRES_USER"):
        loaded(tmp_path, monkeypatch, POSTGRES_HOST="localhost")


def test_following_needs_the_redis_of_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="set REDIS_URL"):
        loaded(tmp_path, monkeypatch, HMS_FOLLOW="true")
    settings = loaded(tmp_path, monkeypatch, HMS_FOLLOW="true", REDIS_URL="redis://localhost", HMS_PORT="9000")
    assert settings.log_file.name == "follow-9000.log"


def test_a_misspelt_name_is_refused_with_the_nearest_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="HMS_PROT is unknown; did you mean HMS_PORT"):
        loaded(tmp_path, monkeypatch, HMS_PROT="9")


def test_names_that_others_read_do_not_stop_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {
        "HMS_TRACEBACK": "1",
        "HMS_TRACES": "traces",
        "HMS_CHROMIUM": "chromium",
        "HMS_SOAK_TASKS": "10",
        "HMS_PERFORMANCE_STORE": "measured",
    }
    assert loaded(tmp_path, monkeypatch, **others).port == 8000
