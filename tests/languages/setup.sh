#!/bin/sh
# Installs, pinned, what the example in a language is built with.
#
#   tests/languages/setup.sh js|c DEST        (the tests use target/languages)
#
# Prints one line on standard output: `ready [NODE_MODULES]`, or `missing WHY`. What
# installers say goes to standard error. Exits 0 in both cases: whether a missing tool is a
# failure is for the caller to say. A second run with the same pins does nothing. Each step
# is bounded in time.

set -eu

language=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
dest=$(cd "$2" && pwd)

# How long one installer may take. Behind a closed network npm retries for minutes.
limit=${DAMPER_LANGUAGES_TIMEOUT:-240}

bounded() {
    if command -v timeout >/dev/null 2>&1; then
        timeout "$limit" "$@"
    else
        # macOS has no timeout(1), but it has Perl.
        perl -e 'alarm shift; exec @ARGV' "$limit" "$@"
    fi
}

missing() {
    echo "missing $1"
    exit 0
}

# One installation at a time: the tests of several binaries may ask at once.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$dest/.lock"
    flock 9
fi

js() {
    command -v npm >/dev/null 2>&1 || missing "npm is not installed; install Node.js 20 or newer"
    example=$here/../../examples/js-guard
    if ! cmp -s "$example/package-lock.json" "$dest/.npm-installed"; then
        rm -f "$dest/.npm-installed"
        cp "$example/package.json" "$example/package-lock.json" "$example/.npmrc" "$dest"/
        (cd "$dest" && bounded npm ci --fetch-retries=1 >&2) ||
            missing "npm could not install the packages within $limit s; is its registry within reach?"
        cp "$example/package-lock.json" "$dest/.npm-installed"
    fi
    echo "ready $dest/node_modules"
}

# Whether a program for WASI links, with a function of the C library and one of the compiler's.
c_works() {
    cat >"$dest/probe.c" <<'PROBE'
#include <stdlib.h>
long double probe(const char *text) { return strtod(text, 0) * 2.0L; }
PROBE
    "${CC:-clang}" --target=wasm32-wasi -mexec-model=reactor -Wl,--export=probe \
        -o "$dest/probe.wasm" "$dest/probe.c" >"$dest/probe.log" 2>&1
}

c() {
    packages="clang lld wasi-libc libclang-rt-dev-wasm32"
    if ! c_works && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "installing $packages (up to $limit s each step)" >&2
        bounded apt-get update -qq >&2 || true
        DEBIAN_FRONTEND=noninteractive bounded apt-get install -y -qq \
            --no-install-recommends $packages >&2 || true
    fi
    c_works || missing "no C compiler for wasm32-wasi; on Debian install $packages"
    echo "ready"
}

case $language in
    js) js ;;
    c) c ;;
    *)
        echo "usage: $0 js|c DEST" >&2
        exit 2
        ;;
esac
