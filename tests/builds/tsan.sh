#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests contexts in several threads, with the library and the test built for the thread sanitizer, in a build folder
# inside the calling one. Arguments: the source tree, that build folder. UK_OBJECTS and UK_BITCODE: the folders with
# that build's kernels.
set -euo pipefail
source=$1
build=$2/tsan

export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$source/tests/builds/tsan.supp
if [[ ! -f $build/build.ninja ]]; then
    CC_LD=lld meson setup "$build" "$source" -Db_sanitize=thread -Doptimization=1 \
        -Dc_args=-gline-tables-only -Dbitcode="$UK_BITCODE" -Dobjects="$UK_OBJECTS" >"$2/tsan.log" ||
        { cat "$2/tsan.log"; exit 1; }
fi
meson compile -C "$build" threads >"$2/tsan.log" || { tail -n 50 "$2/tsan.log"; exit 1; }
"$build/tests/base/threads"
