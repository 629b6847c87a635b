#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and run_rvp.sh: their arguments (uk, the source tree, clang, `some` or `all`), a folder that is removed
# at the end, and checks of uk run. The current folder is examples/. Ends the test if an emulator is missing.
set -euo pipefail
uk=$1 source=$2 clang=$3 which=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source/examples"
export TMPDIR=$work/runs
mkdir "$TMPDIR"

"$source/ukernels/machine/archs.py" emulated >"$work/emulated"
mapfile -t targets < <("$source/ukernels/machine/archs.py" targets)
while read -r _ _ qemu _; do
    command -v "$qemu" >/dev/null || { echo "${0##*/} skipped: $qemu is not installed; ./uk-setup test installs it"; exit 77; }
done <"$work/emulated"

# computes TEXT ARGUMENT...: checks that uk run succeeds and prints TEXT. says: the same, with kernels required.
computes() {
    "$uk" run "${@:2}" >"$work/out" 2>&1 || { echo "uk run ${*:2}:"; cat "$work/out"; exit 1; }
    grep -qE "$1" "$work/out" || { echo "uk run ${*:2} does not say '$1', but:"; cat "$work/out"; exit 1; }
}
says() { computes "$1" --require-kernels "${@:2}"; }

# refuses STATUS TEXT ARGUMENT...: checks that uk run fails, with the PATH in `path`.
path=$PATH
refuses() {
    local status=0
    PATH=$path "$uk" run "${@:3}" >"$work/out" 2>&1 || status=$?
    [[ $status == "$1" ]] && grep -qE "$2" "$work/out" ||
        { echo "uk run ${*:3}: exit status $status, expected $1 and '$2', but:"; cat "$work/out"; exit 1; }
}

# Sizes that no tile divides.
odd=(--size M=37 --size N=41 --size K=19)
