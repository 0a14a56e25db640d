"""`python -m hybrid_ml_scheduler.hardware profile.json`: measure a bare GPU machine that has numpy and torch only."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.hardware.files import write_profile
from hybrid_ml_scheduler.hardware.measuring import DEVICES, measure


def main(arguments: list[str] | None = None) -> int:
    """Measure and write; progress goes to stderr, one line a step."""
    parser = argparse.ArgumentParser(prog="python -m hybrid_ml_scheduler.hardware", description=__doc__)
    parser.add_argument("out", type=Path, help="JSON file to write")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repeats, under ten seconds")
    parser.add_argument("--device", choices=DEVICES, default="auto", help="which GPU backend to measure")
    given = parser.parse_args(arguments)
    try:
        write_profile(measure(quick=given.quick, device=given.device, progress=_say), given.out)
    except HmsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _say(label: str, done: int, total: int) -> None:
    print(f"{done:>4}/{total} {label}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
