#!/usr/bin/env bash
# Everything that must hold: style, types, the dashboard's own checks, then all tests.
# Does its whole set-up itself. Arguments go to pytest:  ./run_tests.sh tests/unit -x --numprocesses 0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source scripts/setup.sh
# Every process of the tests would compile the same files again where somebody has forbidden to keep them.
unset PYTHONDONTWRITEBYTECODE

failures=$(mktemp)
log=$(mktemp)
old_log=$(mktemp)
# What took how long, one step a line; pytest says it at the end (tests/conftest.py).
STEPS=$(mktemp)
export STEPS
python_checks=()
trap 'rm -f "$failures" "$log" "$old_log" "$STEPS"; kill "${python_checks[@]}" 2>/dev/null || true' EXIT

# Remember how long a step took that began at this second of the script.
took() { printf '%s\t%s\n' "$((SECONDS - $2))" "$1" >>"$STEPS"; }

# Run one check; a failure is remembered, so that one run shows all that is wrong.
check() {
    local name=$1 begun=$SECONDS
    shift
    say "Checking: $name."
    if ! "$@" >&2; then
        printf '%s\n' "$name" >>"$failures"
    fi
    took "$name" "$begun"
}

# In a subshell, so that a failed build is one failed check and not the end of the run.
build_dashboard() { (ensure_dashboard); }

in_dashboard() { CI=true npm --prefix dashboard run --silent --if-present "$1"; }

ensure_test
ensure_chromium
compile_kernels
took "set-up" 0
check_python() {
    check "style (ruff check)" .venv/bin/ruff check .
    check "format (ruff format)" .venv/bin/ruff format --check .
    check "types (mypy --strict)" .venv/bin/mypy --strict
}
check_old_python() {
    # What users of Python 3.10 get. The types of pandas and others are whole from 3.11 on only, hence the two exceptions.
    check "types as Python 3.10 sees them" .venv/bin/mypy --strict --python-version 3.10 \
        --no-warn-return-any --no-warn-unused-ignores src examples
}

# Python's checks run beside the dashboard's, and say what they found when all are done.
check_python 2>"$log" &
python_checks+=($!)
check_old_python 2>"$old_log" &
python_checks+=($!)
if has_dashboard; then
    begun=$SECONDS
    ensure_node
    install_dashboard
    took "set-up of the dashboard" "$begun"
    check "the dashboard's types" in_dashboard typecheck
    check "the dashboard's style" in_dashboard lint
    check "the dashboard's own tests" in_dashboard test
    check "the dashboard's build" build_dashboard
fi
waiting wait "${python_checks[@]}"
python_checks=()
cat "$log" "$old_log" >&2
mapfile -t failed <"$failures"

if ((${#failed[@]})); then
    say "These checks failed, so this run fails whatever the tests say: $(printf '%s; ' "${failed[@]}")"
fi
# The tests that failed in the run before, one a line.
failed_tests() {
    .venv/bin/python -c 'import json, pathlib
path = pathlib.Path(".pytest_cache/v/cache/lastfailed")
print("\n".join(json.loads(path.read_text()) if path.exists() else []))'
}

# Processes side by side take each other's time. A test that failed beside others is tried once more alone; it
# is named, because a test that depends on time wants mending, and more than five are no accident.
again_alone() {
    local tests
    mapfile -t tests < <(failed_tests | grep .)
    if ((${#tests[@]} == 0 || ${#tests[@]} > 5)); then
        return 1
    fi
    say "Trying alone what failed beside other tests: $(printf '%s; ' "${tests[@]}")"
    .venv/bin/python -m pytest --numprocesses 0 -o faulthandler_timeout=600 "${tests[@]}"
}

kernels_ready
took "all until the tests" 0
say "Running the tests after $SECONDS s."
status=0
rm -f .pytest_cache/v/cache/lastfailed
# The processes take the cores; threads of libraries would only take them from each other.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Four processes: browsers and services make tests wait, and two leave a core idle meanwhile (tests/order.py).
# Nothing is printed after this: pytest has the last word. Should a test ever hang, it says where after ten minutes.
.venv/bin/python -m pytest --numprocesses 4 --dist worksteal --durations=15 -o faulthandler_timeout=600 "$@" || status=$?
if ((status == 1)) && again_alone; then
    status=0
fi
if ((status == 0 && ${#failed[@]})); then
    status=1
fi
exit "$status"
