#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the two libFuzzer targets with the address and the undefined-behaviour sanitizer in a build folder of their own
# inside the one that runs this, and runs both at once for a while. Arguments: the source tree, that build folder, the
# seconds. What crashes is left in fuzzed/crash-*, and its path printed.
set -euo pipefail
source=$1
build=$2/fuzzed
seconds=$3

if [[ ! -f $build/build.ninja ]]; then
    CC_LD=lld meson setup "$build" "$source" -Dfuzz=true -Db_sanitize=address,undefined -Doptimization=1 \
        -Dc_args=-gline-tables-only -Dbitcode="$2/ukernels" -Dobjects="$2/ukernels" >"$2/fuzzed.log" ||
        { cat "$2/fuzzed.log"; exit 1; }
fi
meson compile -C "$build" fuzz_parser fuzz_schedule >"$2/fuzzed.log" || { tail -n 50 "$2/fuzzed.log"; exit 1; }

seeds=$build/seeds
rm -rf "$seeds"
mkdir -p "$seeds" "$build/corpus_parser" "$build/corpus_schedule"
for file in "$source"/tests/golden/*.uk "$source"/examples/*.uk; do
    sed '/^#=/,$d' "$file" >"$seeds/$(basename "$file")"
done

status=0
pid=()
for target in parser schedule; do
    (
        cd "$build"
        ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 "tests/fuzz/fuzz_$target" \
            -max_total_time="$seconds" -timeout=200 -rss_limit_mb=4096 -max_len=4096 -dict="$source/tests/fuzz/uk.dict" \
            -artifact_prefix="$build/crash-$target-" "corpus_$target" "$seeds" >"fuzz_$target.log" 2>&1
    ) &
    pid+=($!)
done
for i in 0 1; do
    wait "${pid[$i]}" || status=1
done
for target in parser schedule; do
    echo "fuzz_$target: $(grep -E '^#[0-9]+.*DONE|^Done' "$build/fuzz_$target.log" | tail -n 1)"
    if ((status)) && grep -q 'Test unit written' "$build/fuzz_$target.log"; then
        grep -B 40 'Test unit written' "$build/fuzz_$target.log" | tail -n 60
    fi
done
exit $status
