"""What the service says of itself when it starts."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.api.server import url_of


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:9433"), ("::1", "http://[::1]:9433"), ("box.example", "http://box.example:9433")],
)
def test_the_address_is_one_that_a_browser_takes(host: str, url: str) -> None:
    assert url_of(host, 9433) == url
