#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The libraries and their tests with the address and the undefined-behaviour sanitizer, in a build folder of their own
# inside the one that runs this. Arguments: the source tree, that build folder.
set -euo pipefail
source=$1
build=$2/sanitized

export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
# Of kernels with hundreds of loads or stores the checks are calls: inline they take clang ten times as long to compile.
flags='-gline-tables-only -mllvm -asan-instrumentation-with-call-threshold=500'
if [[ ! -f $build/build.ninja ]]; then
    # Compiled further, it would not run faster: most of the time is LLVM's and isl's, which are not instrumented.
    CC_LD=lld meson setup "$build" "$source" -Db_sanitize=address,undefined -Doptimization=1 \
        -Dc_args="$flags" -Dbitcode="$2/ukernels" >"$2/sanitized.log" || { cat "$2/sanitized.log"; exit 1; }
fi
meson compile -C "$build" >"$2/sanitized.log" || { tail -n 50 "$2/sanitized.log"; exit 1; }
meson test -C "$build" --no-rebuild --print-errorlogs
