"""Where the service runs: environment and `.env`; read only by the command line and `api/app.py`."""

from __future__ import annotations

import ipaddress
import itertools
import os
import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.core.text import nearest, plain_demand
from hybrid_ml_scheduler.core.validation import MOST_GPUS, MOST_SEED

__all__ = ["Settings", "load_settings"]

_OWN_PREFIX = "HMS_"
# Ours, but read by the command line, the tests and the benchmarks; no setting of the service.
_READ_ELSEWHERE = frozenset({"HMS_CHROMIUM", "HMS_PERFORMANCE_STORE", "HMS_SOAK_TASKS", "HMS_TRACEBACK", "HMS_TRACES"})
# A key made of nothing but these, however often and with whatever between them, was never chosen as a secret.
_WORTHLESS_WORDS = re.compile(
    r"(?:admin|api|change|default|demo|dev|elopment|example|here|hms|hybrid|insert|it|key|letmein|me|ml|my|pass|phrase|"
    r"please|prod|uction|qwerty|replace|sample|scheduler|secret|some|super|test|ing|the|this|todo|token|user|very|word|"
    r"your|[^a-z])+"
)
_SHORTEST_KEY = 16
_LONGEST_REPEATED = 7
# What a header carries as it is, whoever sends it: others are bytes that each client and server reads its own way.
_SENDABLE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_RATE = re.compile(r"([1-9][0-9]{0,8})/(second|minute|hour)")
_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0}
Names = Annotated[tuple[str, ...], NoDecode]


def _own(name: str) -> str:
    return f"{_OWN_PREFIX}{name}"


def _is_network(place: str) -> bool:
    try:
        ipaddress.ip_network(place)
    except ValueError:
        return False
    return True


def _is_worthless(key: str) -> bool:
    """Whether anybody would try this key: usual words, a short piece repeated, or one character after the other."""
    plain = key.lower()
    has_words = any(letter.isalpha() for letter in plain)
    if len(set(plain)) < 4 or (has_words and _WORTHLESS_WORDS.fullmatch(plain)):
        return True
    if any(plain == (plain[:size] * len(plain))[: len(plain)] for size in range(1, _LONGEST_REPEATED + 1)):
        return True
    steps = {ord(after) - ord(before) for before, after in itertools.pairwise(plain)}
    return len(steps & {1, -1}) == 1 and len(steps) <= 2


class Settings(BaseSettings):
    """The environment of one service; a value that cannot be right is refused at the door."""

    model_config = SettingsConfigDict(
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
        env_file_encoding="utf-8",
        hide_input_in_errors=True,
        populate_by_name=True,
    )

    environment: Literal["development", "test", "production"] = "development"
    api_key: SecretStr | None = None
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    database_url: SecretStr | None = None
    postgres_host: str | None = None
    postgres_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    postgres_user: str | None = None
    postgres_password: SecretStr | None = None
    postgres_db: str | None = None

    redis_url: SecretStr | None = None
    redis_host: str | None = None
    redis_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    redis_password: SecretStr | None = None
    redis_db: Annotated[int, Field(ge=0, le=1024)] | None = None

    num_gpus: Annotated[int, Field(ge=1, le=MOST_GPUS)] = 4
    retrain_interval: Annotated[int, Field(ge=1, le=1_000_000)] = 50

    host: str = Field(default="127.0.0.1", alias=_own("HOST"))
    port: Annotated[int, Field(ge=0, le=65535)] = Field(default=8000, alias=_own("PORT"))
    data_dir: Path = Field(default=Path("data"), alias=_own("DATA_DIR"))
    log_dir: Path = Field(default=Path("logs"), alias=_own("LOG_DIR"))
    speed: Annotated[float, Field(ge=0, le=1e6)] = Field(default=10.0, alias=_own("SPEED"))
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = Field(default=42, alias=_own("SEED"))
    workload: str = Field(default="unknown", alias=_own("WORKLOAD"))
    knowledge: Literal["exact", "nominal", "learned"] = Field(default="learned", alias=_own("KNOWLEDGE"))
    schedulers: Names = Field(
        default=(
            "round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "rl_split", "oracle",
            "earliest_finish", "frugal_finish", "sjf", "rl_hold", "earliest_finish@nominal", "earliest_finish@exact",
        ),
        alias=_own("SCHEDULERS"),
    )  # fmt: skip
    retraining: Literal["background", "synchronous"] = Field(default="background", alias=_own("RETRAINING"))
    autostart: bool = Field(default=True, alias=_own("AUTOSTART"))
    follow: bool = Field(default=False, alias=_own("FOLLOW"))
    retention_tasks: Annotated[int, Field(ge=0)] = Field(default=0, alias=_own("RETENTION_TASKS"))
    connect_timeout_s: Annotated[float, Field(gt=0, le=600)] = Field(default=10.0, alias=_own("CONNECT_TIMEOUT_S"))
    allowed_origins: Names = Field(default=(), alias=_own("ALLOWED_ORIGINS"))
    trusted_proxies: str = Field(default="", alias=_own("TRUSTED_PROXIES"))
    rate_limit: str = Field(default="600/minute", alias=_own("RATE_LIMIT"))
    max_body_bytes: Annotated[int, Field(ge=256, le=2**30)] = Field(default=65_536, alias=_own("MAX_BODY_BYTES"))
    max_upload_bytes: Annotated[int, Field(ge=1024, le=2**28)] = Field(
        default=16 * 2**20, alias=_own("MAX_UPLOAD_BYTES")
    )
    uploads_bytes: Annotated[int, Field(ge=1024, le=2**40)] = Field(default=256 * 2**20, alias=_own("UPLOADS_BYTES"))
    max_message_bytes: Annotated[int, Field(ge=64, le=2**24)] = Field(default=4096, alias=_own("MAX_MESSAGE_BYTES"))
    max_viewers: Annotated[int, Field(ge=1, le=100_000)] = Field(default=1000, alias=_own("MAX_VIEWERS"))
    update_interval_s: Annotated[float, Field(ge=0.05, le=60)] = Field(default=0.5, alias=_own("UPDATE_INTERVAL_S"))

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @field_validator("schedulers", "allowed_origins", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("speed")
    @classmethod
    def _possible(cls, value: float) -> float:
        if 0.0 < value < 0.001:
            raise ValueError("a speed is 0 (as fast as possible) or at least 0.001")
        return value

    @field_validator("rate_limit")
    @classmethod
    def _countable(cls, value: str) -> str:
        if _RATE.fullmatch(value) is None:
            raise ValueError('a rate such as "600/minute" is expected (per second, minute or hour)')
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, value: str) -> str:
        places = [part.strip() for part in value.split(",") if part.strip()]
        wrong = [place for place in places if not _is_network(place)]
        if wrong and places != ["*"]:
            example = "10.0.0.5 or 10.0.0.0/8 is expected, or a single * for everybody"
            raise ValueError(f"{wrong[0]!r} is neither an address nor a network; {example}")
        return ",".join(places)

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: SecretStr | None) -> SecretStr | None:
        from hybrid_ml_scheduler.storage.connect.address import DRIVERS  # the drivers take a while to load

        scheme = value.get_secret_value().partition("://") if value is not None else ("sqlite", "://", "")
        if scheme[0] not in DRIVERS or not scheme[1]:
            raise ValueError("a URL beginning with postgresql:// or sqlite:/// is expected")
        return value

    @field_validator("api_key")
    @classmethod
    def _sendable(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and _SENDABLE.fullmatch(value.get_secret_value()) is None:
            raise ValueError("must be letters A to Z and a to z, digits and ASCII punctuation, for a header carries it")
        return value

    @field_validator("redis_url")
    @classmethod
    def _known_cache(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("a URL beginning with redis:// is expected")
        return value

    @model_validator(mode="after")
    def _whole(self) -> Settings:
        if self.database_url is None and self._names_postgres and not self.postgres_user:
            raise ValueError("POSTGRES_USER is missing, though another POSTGRES_ variable is set")
        if self.follow and self.cache_url is None:
            raise ValueError("A service that follows needs the Redis of the one that runs the race; set REDIS_URL")
        if self.environment == "production":
            key = "" if self.api_key is None else self.api_key.get_secret_value()
            if len(key) < _SHORTEST_KEY or _is_worthless(key):
                raise ValueError(
                    f"API_KEY must be your own secret of at least {_SHORTEST_KEY} characters in production"
                )
        return self

    @property
    def named_schedulers(self) -> tuple[str, ...]:
        """The strategies that somebody named, by flag or variable; empty where the default stands."""
        return self.schedulers if "schedulers" in self.model_fields_set else ()

    @property
    def _names_postgres(self) -> bool:
        fields = (self.postgres_host, self.postgres_port, self.postgres_user, self.postgres_password, self.postgres_db)
        return any(value is not None for value in fields)

    @property
    def required_api_key(self) -> str | None:
        """The key that changing calls need, if any."""
        return None if self.api_key is None else self.api_key.get_secret_value()

    @property
    def rate(self) -> tuple[int, float]:
        """The rate limit as a number of calls and a window in seconds."""
        count, _, unit = self.rate_limit.partition("/")
        return int(count), _SECONDS[unit]

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins that browsers may come from: those named, else this machine's own and the developer server."""
        if self.allowed_origins:
            return self.allowed_origins
        own = ("127.0.0.1", "localhost", "[::1]")
        ports = ("" if self.port == 80 else f":{self.port}", ":5173")  # browsers leave out the usual port
        return tuple(f"http://{name}{port}" for port in ports for name in own)

    @property
    def database_file(self) -> Path:
        """The embedded database's file, where no server is named."""
        return self.data_dir / "hybrid_scheduler.db"

    @property
    def uploads_dir(self) -> Path:
        """The folder of what people send: beside the embedded database, else in the folder for data."""
        url = self.database.get_secret_value()
        if url.startswith("sqlite"):
            file = Path(url.partition(":///")[2].partition("?")[0])
            return file.with_name(f"{file.stem}.uploads")
        return self.data_dir / "uploads"

    @property
    def database(self) -> SecretStr:
        """The database as an SQLAlchemy URL with an asynchronous driver."""
        if self.database_url is not None:
            from hybrid_ml_scheduler.storage.connect.address import DRIVERS  # the drivers take a while to load

            scheme, _, rest = self.database_url.get_secret_value().partition("://")
            return SecretStr(f"{DRIVERS[scheme]}://{rest}")
        if not self._names_postgres:
            return SecretStr(f"sqlite+aiosqlite:///{self.database_file}")
        login = quote(self.postgres_user or "", safe="")
        if self.postgres_password is not None:
            login += ":" + quote(self.postgres_password.get_secret_value(), safe="")
        place = f"{self.postgres_host or 'localhost'}:{self.postgres_port or 5432}"
        return SecretStr(f"postgresql+asyncpg://{login}@{place}/{self.postgres_db or 'hybrid_scheduler_db'}")

    @property
    def database_words(self) -> str:
        """The database in words that hold no secret."""
        url = self.database.get_secret_value()
        if url.startswith("sqlite"):
            return url.partition(":///")[2]
        return "postgresql://" + url.partition("://")[2].rpartition("@")[2].partition("?")[0]

    @property
    def log_file(self) -> Path:
        """The log; services that follow, of which several may run in one folder, each have their own."""
        return self.log_dir / (f"follow-{self.port}.log" if self.follow else "app.log")

    @property
    def cache_url(self) -> SecretStr | None:
        """The Redis to use, or None for the in-process twin."""
        if self.redis_url is not None:
            return self.redis_url
        fields = (self.redis_host, self.redis_port, self.redis_password, self.redis_db)
        if all(value is None for value in fields):
            return None
        login = "" if self.redis_password is None else f":{quote(self.redis_password.get_secret_value(), safe='')}@"
        return SecretStr(
            f"redis://{login}{self.redis_host or 'localhost'}:{self.redis_port or 6379}/{self.redis_db or 0}"
        )


def _variables() -> set[str]:
    return {(field.alias or name).upper() for name, field in Settings.model_fields.items()}


def _refuse_unknown(env_file: Path) -> None:
    """Refuse a misspelt variable: one with our prefix, or any that `.env` sets."""
    from dotenv import dotenv_values

    known = _variables()
    named = {name.upper(): f"the environment variable {name}" for name in os.environ if name.startswith(_OWN_PREFIX)}
    if env_file.is_file():
        named |= {name.upper(): f"{env_file}: {name}" for name in dotenv_values(env_file)}
    for name, place in named.items():
        if name in known or name in _READ_ELSEWHERE or name.startswith("COMPOSE_"):
            continue
        near = nearest(name, sorted(known))
        raise ConfigurationError(f"{place} is unknown" + (f"; did you mean {near}?" if near else "."))


def load_settings(env_file: Path = Path(".env"), **overrides: object) -> Settings:
    """Read environment and `.env`; a wrong value is refused with one sentence that names its variable."""
    try:
        _refuse_unknown(env_file)
        return Settings(_env_file=env_file, **overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        message = plain_demand(str(first["msg"]))
        name = ".".join(str(part) for part in first["loc"]).upper()
        raise ConfigurationError(f"{name}: {message}." if name else f"{message}.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{env_file} is not UTF-8 text.") from None
