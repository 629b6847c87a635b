#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs random programs for other architectures, under qemu: all those of an architecture in one process. Arguments: the
# source tree, clang, and the command that writes them to the folder after its --objects.
set -euo pipefail
source=$1 clang=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$source/ukernels/machine/archs.py" emulated >"$work/emulated"
while read -r _ _ qemu _; do
    command -v "$qemu" >/dev/null || { echo "programs_emulated skipped: $qemu is not installed; ./uk-setup test installs it"; exit 77; }
done <"$work/emulated"

"$@" --objects "$work" >"$work/out" 2>&1 ||
    { cat "$work/out"; exit 1; }
grep -E '^(--seed|[0-9]+ programs)' "$work/out"
while read -r arch _ qemu triple cpu; do
    # Simulates instructions that one of the architecture's targets has and its emulator lacks.
    simulation=()
    [[ $arch != riscv64 ]] ||
        simulation=("$source"/simulate/rvp/{emulate,replace,decode,illegal,signals,copies}.c -I "$source/simulate/rvp" -I "$source/ukernels")
    "$clang" --target="$triple" -std=c17 -O1 -Wall -Wextra -static -fuse-ld=lld -I "$work/$arch" -I "$source/tests/data" -o "$work/run" \
        "$source/tests/cross/programs.c" "$work/$arch"/*.o "${simulation[@]}" -lm
    "$qemu" -cpu "$cpu" "$work/run" "$work/$arch/data" || { grep -e --seed "$work/out"; exit 1; }
done <"$work/emulated"
