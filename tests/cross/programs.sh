#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random programs with random schedules for other architectures, under qemu: all of one architecture in one process. Arguments:
# the program `expressions`, the source tree, clang, how many programs.
set -euo pipefail
expressions=$1 source=$2 clang=$3 programs=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in qemu-aarch64 qemu-arm; do
    command -v $tool >/dev/null || { echo "programs_emulated skipped: $tool is not installed; ./uk-setup test installs it"; exit 77; }
done

"$expressions" --programs $((programs * 5 / 4)) --compiled "$programs" --objects "$work" >"$work/out" 2>&1 ||
    { cat "$work/out"; exit 1; }
grep -E '^(--seed|[0-9]+ programs)' "$work/out"
for arch in aarch64:aarch64-linux-gnu:qemu-aarch64 arm:armv7-linux-gnueabihf:qemu-arm; do
    IFS=: read -r arch triple qemu <<<"$arch"
    "$clang" --target="$triple" -std=c17 -O1 -Wall -Wextra -static -fuse-ld=lld -I "$work/$arch" -I "$source/tests/data" -o "$work/run" \
        "$source/tests/cross/programs.c" "$work/$arch"/*.o -lm
    "$qemu" -cpu max "$work/run" "$work/$arch/data" || { grep -e --seed "$work/out"; exit 1; }
done
