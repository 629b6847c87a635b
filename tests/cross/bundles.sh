#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Links objects of two bundles into one program, for this machine and, under qemu, for others. Arguments: the source
# tree, clang, llvm-nm and the command that writes the objects.
set -euo pipefail
source=$1 clang=$2 nm=$3 bundle=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    "$source/ukernels/machine/archs.py" emulated
    [[ $(uname -m) != x86_64 ]] || echo "x86_64 x86_64-generic - x86_64-linux-gnu -"
} >"$work/machines"
while read -r _ target qemu _; do
    [[ $qemu == - ]] || command -v "$qemu" >/dev/null ||
        { echo "bundles_emulated skipped: $qemu is not installed; ./uk-setup test installs it"; exit 77; }
    targets+=("$target")
done <"$work/machines"
"$bundle" --objects "$work" "${targets[@]}"

exports() { # exports FILE NAME...: checks that the file exports exactly these names, and needs only memcpy and the compiler's own functions
    local file=$1
    shift
    diff <("$nm" --defined-only --extern-only --format=just-symbols "$file" | sort) <(printf '%s\n' "$@" | sort)
    if "$nm" --undefined-only --format=just-symbols "$file" | grep -vE '^(memcpy|memset|memmove|__aeabi_.*|_GLOBAL_OFFSET_TABLE_)$'; then
        echo "$file needs these" >&2
        exit 1
    fi
}
while read -r _ target qemu triple cpu; do
    exports "$work/$target.first.o" bundle_run bundle_memory bundle_bytes bundle_far bundle_weights
    exports "$work/$target.second.o" other_run
    "$clang" --target="$triple" -std=c17 -O1 -Wall -Wextra -static -fuse-ld=lld -o "$work/run" "$source/tests/cross/bundles.c" \
        "$work/$target.first.o" "$work/$target.second.o"
    run=("$work/run")
    [[ $qemu == - ]] || run=("$qemu" -cpu "$cpu" "$work/run")
    "${run[@]}"
    echo "$target: two bundles in one program"
done <"$work/machines"
