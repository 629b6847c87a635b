#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a libFuzzer target on inputs and on mutations of them. Inputs are the programs of golden/, which the program
# UK_GOLDEN writes to a folder, and of examples/; or the files that the program UK_SEEDS writes; or, without both, an
# empty one. An input that crashes is left next to the target as crash-*, and its path is printed.
#
#     fuzz.sh TARGET SOURCE DICTIONARY CORPUS OPTION...
#
# The program DICTIONARY prints the words of the inputs; "": they have none. The folder CORPUS keeps inputs that
# reached new code; "" keeps none, and takes every third program of golden/.
set -euo pipefail
target=$1 source=$2 dictionary=$3 corpus=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/seeds" "$work/corpus"
if [[ $dictionary ]]; then
    "$dictionary" >"$work/dictionary"
    set -- -dict="$work/dictionary" "$@"
fi
if [[ ${UK_SEEDS-} ]]; then
    "$UK_SEEDS" --write "$work/seeds"
elif [[ ${UK_GOLDEN-} ]]; then
    "$UK_GOLDEN" "$source/tests/golden" $([[ $corpus ]] || echo --third) --write "$work/seeds"
    cp "$source"/examples/*.uk "$work/seeds"
fi
if [[ $corpus ]]; then
    mkdir -p "$corpus"
fi

status=0
"$target" -timeout=200 -rss_limit_mb=4096 -max_len=4096 "$@" \
    -artifact_prefix="$(dirname "$target")/crash-" "${corpus:-$work/corpus}" "$work/seeds" >"$work/log" 2>&1 || status=$?
if ((status)); then
    { grep -B 40 'Test unit written' "$work/log" || cat "$work/log"; } | tail -n 60
fi
grep -E '^#[0-9]+.*DONE|^Done' "$work/log" | tail -n 1
exit $status
