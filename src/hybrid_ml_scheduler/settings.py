"""Where the service runs: environment and `.env`; read only by the command line and `api/app.py`."""

from __future__ import annotations

from pydantic import SecretStr
from pydantic_settings import BaseSettings

__all__ = ["Settings"]


class Settings(BaseSettings):
    """Where it runs."""

    environment: str = "development"
    api_key: SecretStr | None = None

    @property
    def required_api_key(self) -> str | None:
        """The key that changing calls need, if any."""
        return None if self.api_key is None else self.api_key.get_secret_value()
