#!/usr/bin/env bash
# The live dashboard with one command: sets everything up, then serves it on http://127.0.0.1:8000.
# Arguments go to the service:  ./run_live_dashboard.sh --port 9000
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source scripts/setup.sh

ensure_runtime
compile_kernels
ensure_dashboard
kernels_ready

exec .venv/bin/hms serve "$@"
