#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests elements as subscripts on every architecture, under qemu, and on this machine: elements.c links the programs'
# objects and none of our libraries. Arguments: uk, the source tree, clang.
set -euo pipefail
uk=$1 source=$2 clang=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$source/ukernels/machine/archs.py" emulated >"$work/emulated"
while read -r _ _ qemu _; do
    command -v "$qemu" >/dev/null || { echo "elements_emulated skipped: $qemu is not installed; ./uk-setup test installs it"; exit 77; }
done <"$work/emulated"

cat >"$work/embedding.uk" <<'END'
size V, W, S, B
tensor E f32 [V, W]
tensor P f32 [S, W]
tensor I i64 [B, S]
tensor Y f32 [B, S, W]
Y[b, s, w] = E[I[b, s], w] + P[s, w]
END
cat >"$work/bag.uk" <<'END'
size V, W, B, S
tensor E f32 [V, W]
tensor I i16 [B, S]
temp   J i16 [B, S]
tensor Y f32 [B, W]
J[b, s] = I[b, s] + 100
Y[b, w] = sum(s) E[wrap(J[b, s]), w]
END
cat >"$work/take.uk" <<'END'
size L, V, N, S
tensor X u8 [L, V, N]
tensor I u8 [S]
tensor Y u8 [L, S, N]
Y[l, s, n] = X[l, I[s], n]
END

cat >"$work/add_rows.uk" <<'END'
size V, W, B, S
tensor I i64 [B, S]
tensor U f32 [S, W]
tensor Y f32 [V, W]
Y[I[b, s], w] += U[s, w]
END
cat >"$work/put.uk" <<'END'
size V, S, B
tensor I i16 [B, S]
tensor X u8 [B, S]
tensor Y u8 [V]
Y[wrap(I[b, s])] = X[b, s]
END

# Compiles the programs for a target.
compile() {
    for program in embedding bag take add_rows put; do
        workspace=()
        [[ $program != bag ]] || workspace=(--workspace=argument)
        "$uk" compile "$work/$program.uk" "${workspace[@]}" --target="$1" -o "$work/$program.o" 2>"$work/notes"
        "$uk" compile "$work/$program.uk" "${workspace[@]}" --target="$1" --emit=header -o "$work/$program.h" 2>"$work/notes"
    done
}
objects=("$work"/{embedding,bag,take,add_rows,put}.o)
compile native
"$clang" -O1 -Wall -Wextra -I "$work" -o "$work/run" "$source/tests/cross/elements.c" "${objects[@]}"
"$work/run"
while read -r _ target qemu triple cpu; do
    compile "$target"
    "$clang" --target="$triple" -O1 -Wall -Wextra -static -fuse-ld=lld -I "$work" -o "$work/run" "$source/tests/cross/elements.c" "${objects[@]}"
    "$qemu" -cpu "$cpu" "$work/run" || { echo "elements for $target"; exit 1; }
done <"$work/emulated"
