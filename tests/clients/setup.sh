#!/bin/sh
# Installs the clients of this folder, pinned, into a folder outside the source tree.
#
#   tests/clients/setup.sh DEST        (the tests use target/clients)
#
# Prints one line for each part on standard output: `ready PART PATH`, `skipped PART: WHY`
# where this machine lacks the tool itself, or `failed PART: WHY` where an installation did
# not work. What installers say goes to standard error. Exits 0 in all cases: whether a
# missing part is a failure is for the caller to say. A second run with the same pins does
# nothing. Each step is bounded in time.
#
#   typescript   a Node.js, which runs DEST/client.mjs
#   node22       a Node.js 22, which the conformance suite needs
#   conformance  DEST/conformance.mjs, for that Node.js to run
#   python       a Python with the `mcp` package, which runs DEST/client.py

set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dest=$(cd "$1" && pwd)

# How long one installer may take. Behind a closed network npm and pip retry for minutes.
limit=${DAMPER_CLIENTS_TIMEOUT:-240}

bounded() {
    if command -v timeout >/dev/null 2>&1; then
        timeout "$limit" "$@"
    else
        # macOS has no timeout(1), but it has Perl.
        perl -e 'alarm shift; exec @ARGV' "$limit" "$@"
    fi
}

# One installation at a time: the tests of several binaries may ask at once.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$dest/.lock"
    flock 9
fi

# Why a part cannot be had, and whether that is `skipped` or `failed`.
missing=skipped
why=

# The scripts live beside node_modules, because that is where Node looks for packages.
cp "$here"/*.mjs "$here"/client.py "$here"/package.json "$here"/package-lock.json \
    "$here"/.npmrc "$here"/requirements.txt "$dest"/
mkdir -p "$dest/conformance"
cp "$here"/conformance/*.yaml "$dest/conformance/"

install_node_packages() {
    missing=skipped
    if ! command -v node >/dev/null 2>&1; then
        why="node is not installed; install Node.js 20 or newer"
        return 1
    fi
    if ! command -v npm >/dev/null 2>&1; then
        why="npm is not installed; install Node.js 20 or newer"
        return 1
    fi
    if cmp -s "$dest/package-lock.json" "$dest/.npm-installed"; then
        return 0
    fi
    rm -f "$dest/.npm-installed"
    echo "installing npm packages into $dest (up to $limit s)" >&2
    if ! (cd "$dest" && bounded npm ci --no-audit --no-fund --fetch-retries=1 >&2); then
        missing=failed
        why="npm could not install the packages within $limit s; is its registry within reach?"
        return 1
    fi
    cp "$dest/package-lock.json" "$dest/.npm-installed"
}

# Prints the path of a Node.js 22 or newer, or nothing.
newer_node() {
    for node in "$dest"/node_modules/node-*/bin/node "$(command -v node || true)"; do
        if [ -x "$node" ] && "$node" -e 'process.exit(parseInt(process.versions.node) >= 22 ? 0 : 1)'; then
            echo "$node"
            return
        fi
    done
}

install_python_packages() {
    missing=skipped
    if ! command -v python3 >/dev/null 2>&1; then
        why="python3 is not installed"
        return 1
    fi
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
        why="python3 is older than 3.10"
        return 1
    fi
    if cmp -s "$dest/requirements.txt" "$dest/.pip-installed"; then
        return 0
    fi
    rm -rf "$dest/.pip-installed" "$dest/python"
    echo "installing Python packages into $dest (up to $limit s)" >&2
    if ! python3 -m venv "$dest/python" >&2; then
        why="python3 cannot make a virtual environment; on Debian install python3-venv"
        return 1
    fi
    if ! bounded "$dest/python/bin/pip" install --quiet --disable-pip-version-check \
        --retries 1 --no-deps -r "$dest/requirements.txt" >&2; then
        missing=failed
        why="pip could not install the packages within $limit s; is its index within reach?"
        return 1
    fi
    cp "$dest/requirements.txt" "$dest/.pip-installed"
}

if install_node_packages; then
    node22=$(newer_node)
    echo "ready typescript ${node22:-$(command -v node)}"
    if [ -n "$node22" ]; then
        echo "ready node22 $node22"
        echo "ready conformance $dest/conformance.mjs"
    else
        echo "skipped node22: no Node.js 22 or newer here, and none is packaged for this platform"
        echo "skipped conformance: it needs Node.js 22"
    fi
else
    for part in typescript node22 conformance; do
        echo "$missing $part: $why"
    done
fi

if install_python_packages; then
    echo "ready python $dest/python/bin/python"
else
    echo "$missing python: $why"
fi
