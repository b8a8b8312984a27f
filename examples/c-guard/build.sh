#!/bin/sh
# Makes build/guard.wasm, a core module that says in a section which world it is of.
# `damper plugin build` runs this and makes the component. It sets DAMPER to itself.
set -eu
"${DAMPER:-damper}" plugin bindings c --world guard-plugin --out bindings
mkdir -p build
# A reactor is a module that is called, and not one that has a `main`.
"${CC:-clang}" --target=wasm32-wasi -mexec-model=reactor -Os -Wall -Wextra -Werror \
    -Wl,--gc-sections,--strip-debug -o build/guard.wasm \
    guard.c bindings/guard_plugin.c bindings/guard_plugin_component_type.o
