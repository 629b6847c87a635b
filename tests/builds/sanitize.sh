#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the libraries and their tests with the address and the undefined-behaviour sanitizer, and libFuzzer's targets, in
# build folders inside the calling one. Arguments: the source tree, that build folder, and `all` or a suite: `sanitize`,
# which reads foreign texts and shapes, `sanitize_files`, which reads foreign models and objects, or `sanitize_failures`,
# which makes allocations and steps fail. `all`: the suites `quick` and `change`; from `all` long fuzzing, damaged
# objects, every allocation, more refusals, every golden text, and more networks with loops and states; and instrumented
# kernels.
# UK_OBJECTS and UK_BITCODE: the folders with that build's kernels.
set -euo pipefail
source=$1 outer=$2 which=$3

# Records four callers per allocation: recording is a tenth of the run time.
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:malloc_context_size=4 UBSAN_OPTIONS=print_stacktrace=1 CC_LD=lld
# Leaves out checks of null pointers and object bounds: the address sanitizer reports these, and the second check takes
# a quarter of compile time. Checks in kernels with hundreds of loads or stores are calls: inlined ones make clang ten
# times slower.
flags='-gline-tables-only -fno-sanitize=null,object-size -mllvm -asan-instrumentation-with-call-threshold=500'
options=(-Db_sanitize=address,undefined -Doptimization=1)

# tested FOLDER MESON-TEST-ARGUMENTS -- OPTIONS: builds what the tests need, and runs them.
tested() {
    local build=$outer/$1 log=$outer/$1.log arguments=()
    shift
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    if [[ ! -f $build/build.ninja ]]; then
        meson setup "$build" "$source" "${options[@]}" "${@:2}" >"$log" || { cat "$log"; exit 1; }
    fi
    meson test -C "$build" --print-errorlogs "${arguments[@]}" >"$log" 2>&1 || { tail -n 200 "$log"; exit 1; }
    sed -n '/^Ok:/,$p' "$log"
}

built=(-Dfuzz=true -Dobjects="$UK_OBJECTS" -Dbitcode="$UK_BITCODE")
if [[ $which != all ]]; then
    # These suites build in one folder, one after the other.
    exec 9>"$outer/sanitized.lock"
    flock 9
    # Not optimized, the simulator of GPUs included: most of the time is that of the compiler.
    tested sanitized --suite="$which" -- "${built[@]}" \
        -Dc_args="-O0 $flags -fsanitize-ignorelist=$source/tests/builds/not_sanitized.txt"
else
    tested sanitized_all --suite=quick --suite=change -- "${built[@]}" -Dc_args="$flags"
    tested sanitized_all random_fuzz_parser random_fuzz_schedule random_fuzz_network random_fuzz_conv amdgpu_library_all \
        fail_alloc_all golden_all refused_all network_states_all recurrent_operators_all unrolled_all -- "${built[@]}" -Dc_args="$flags"
    # Without -fsanitize=function: tests call kernels of all element types through one function type.
    tested sanitized_kernels --suite=quick --suite=change -- -Dc_args="$flags -fno-sanitize=function" -Dtensorize=false
fi
