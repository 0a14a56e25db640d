"""Log lines hold whatever happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import logging
from pathlib import Path
from hybrid_ml_scheduler.service.logs import configure_logs

configure_logs("INFO", Path("log.jsonl"))
try:
    raise RuntimeError("bad \\ud800 file")
except RuntimeError as error:
    logging.getLogger("own").error("the race was halted", exc_info=error)
"""


def test_a_traceback_with_odd_text_is_logged_like_any_other(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", _PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=True)
    for text in (ended.stderr, (tmp_path / "log.jsonl").read_text()):
        (line,) = text.splitlines()
        told = json.loads(line)
        assert told["event"] == "the race was halted"
        assert "RuntimeError: bad" in told["exception"]
