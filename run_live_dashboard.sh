#!/usr/bin/env bash
# The live dashboard with one command: sets everything up, then serves it on http://127.0.0.1:8000.
# Arguments go to the service:  ./run_live_dashboard.sh --port 9000
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source scripts/setup.sh

ensure_runtime
ensure_dashboard

if .venv/bin/hms serve --help >/dev/null 2>&1; then
    exec .venv/bin/hms serve "$@"
fi
say "The service is not part of this version yet: racing the strategies in the terminal instead."
exec .venv/bin/hms race "$@"
