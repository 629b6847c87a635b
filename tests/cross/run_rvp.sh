#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests uk run for RISC-V P, under qemu with simulated instructions: sizes for each kernel, counts of instructions, a word
# that is no instruction. Arguments: uk, the source tree, clang, and `some` or `all`: the number of sizes.
. "${0%/*}/run_checks.sh"

# Instructions that qemu lacks are simulated; each counts once, whether it traps each time or was replaced.
for program in conv2d_1x1_u8i8 conv2d_3x3_u8i8 conv2d_3x3_zero_point conv2d_requantize_{float,upward,doubling}; do
    says 'check: (equal|within)' $program.uk --size H=7 --size W=5 --size C=24 --size O=9 --target=riscv64-p --check
done
# Bytes of either sign by weights of either sign, made from the examples' u8 by i8; names of kernels show the pair.
# Extents are smaller than a register, or several registers and a remainder.
mixed() { # mixed TARGET X F KERNEL PROGRAM SIZE..
    sed -E "s/^(tensor X|scalar x0|tensor A) [iu]8/\1 $2/; s/^tensor ([FB]) i8/tensor \1 $3/" "$5.uk" >"$work/mixed.uk"
    computes "$4" "$work/mixed.uk" "${@:6}" --target=$1 --check
    grep -q 'check: equal' "$work/out" || { cat "$work/out"; exit 1; }
}
for types in 'u8 u8' 'i8 u8'; do
    read -r x f <<<"$types"
    pair=$([[ $x == u8 ]] && echo u8 || echo i8u8)
    for target in riscv64-p $([[ $which != all && $x == u8 ]] || echo aarch64-neon+dotprod x86_64-avx2); do
        mixed $target $x $f "uk_${x}${f}dw$([[ $target == riscv64-p ]] && echo c || echo t)_" conv2d_depthwise_u8i8_nhwc --size H=4 --size W=7 --size C=37
    done
    mixed riscv64-p $x $f "uk_${pair}gemm_" matmul_i8 "${odd[@]}"
    mixed riscv64-p $x $f "uk_${x}${f}dw3_" conv2d_depthwise_u8i8_nchw --size H=5 --size W=13 --size C=3
    mixed riscv64-p $x $f "uk_${pair}gemm_(runs|ra)_" conv2d_3x3_u8i8 --define N=1 --define H=5 --define W=13 --define C=24 --define O=11
done
mixed x86_64-avx2 i8 u8 uk_i8u8gemm_ conv2d_3x3_u8i8 --size H=5 --size W=7 --size C=24 --size O=13
# Matrix by vector, and products of i16.
printf 'tensor W i8 [M, K]\ntensor x u8 [K]\ntensor y i32 [M]\ny[m] = sum(k) i32(W[m, k]) * i32(x[k])\n' >"$work/vector.uk"
sizes=(37:19 5:0)
[[ $which != all ]] || sizes+=(3:7 21:203)
for size in "${sizes[@]}"; do
    says 'uk_i8u8gemv_n_' "$work/vector.uk" --size M=${size%:*} --size K=${size#*:} --target=riscv64-p --check
    grep -q 'check: equal' "$work/out" || { cat "$work/out"; exit 1; }
done
sed -E 's/^tensor ([AB]) [iu]8/tensor \1 i16/' matmul_i8.uk >"$work/words.uk"
says 'uk_i16gemm_4x' "$work/words.uk" "${odd[@]}" --target=riscv64-p --check
grep -q 'check: equal' "$work/out" || { cat "$work/out"; exit 1; }
# Constant weights: a window's column and its channels are one sum, its rows are runs; channels that do not fill groups
# of 8, for which kernels read past the end in a copy; tiles of 4 x 8, their edges, and smaller ones.
sizes=(6:20:35 2:5:9)
[[ $which != all ]] || sizes+=(13:3:8 4:1:9 9:24:16)
for size in "${sizes[@]}"; do
    IFS=: read -r width channels columns <<<"$size"
    for program in conv2d_3x3_u8i8 conv2d_3x3_zero_point; do
        sed -E '/^assume C/d; /^tensor F /s/$/ constant/' $program.uk >"$work/runs.uk"
        computes 'uk_igemm_(runs|ra)_4x[48]_rvp_' "$work/runs.uk" --define N=2 --define H=5 --define W=$width --define C=$channels \
            --define O=$columns --target=riscv64-p --check
        grep -q 'check: equal' "$work/out" || { cat "$work/out"; exit 1; }
    done
done
# Whole tiles, edges of rows and columns, and planes narrower than a register; no kernel makes the border's copy. A
# plane of one column is also a matrix by vector.
depthwise() {
    computes 'uk_(u8dw[3c]|igemv_n)_.*qemu-riscv64' "$@" --target=riscv64-p --check
    grep -q 'check: equal' "$work/out" || { cat "$work/out"; exit 1; }
}
[[ $which == all ]] && widths=(1 2 3 5 6 7 8 13 18 37) || widths=(1 13)
for width in "${widths[@]}"; do
    depthwise conv2d_depthwise_u8i8_nchw.uk --size H=5 --size W=$width --size C=3
    depthwise conv2d_depthwise_u8i8_nchw_s2.uk --size H=9 --size P=5 --size W=$((2 * width)) --size Q=$width --size C=3
done
# Windows with fewer channels than a register has, one register, several and a remainder; and planes transposed by
# blocks.
[[ $which == all ]] && some_channels=(1 5 8 21 37 64) || some_channels=(5 37)
for channels in "${some_channels[@]}"; do
    says 'check: equal' maxpool_u8.uk --size H=5 --size W=7 --size P=2 --size Q=3 --size C=$channels --target=riscv64-p --check
    computes 'check: equal' averagepool_u8.uk --size H=5 --size W=4 --size C=$channels --target=riscv64-p --check
    grep -q 'uk_u8sum_' "$work/out" || { cat "$work/out"; exit 1; }
    depthwise conv2d_depthwise_u8i8.uk --size H=3 --size W=11 --size C=$channels
done
depthwise conv2d_depthwise_u8i8_nchw.uk --define N=1 --define H=14 --define W=14 --define C=3
# Adjacent channels: fewer than a register has, several registers and a remainder; one pixel, and up to two iterations
# of the inner loop and a remainder.
sizes=(1:1:5 3:5:21)
[[ $which != all ]] || sizes+=(2:3:8 4:7:37)
for size in "${sizes[@]}"; do
    IFS=: read -r rows columns channels <<<"$size"
    depthwise conv2d_depthwise_u8i8_nhwc.uk --size H=$rows --size W=$columns --size C=$channels
    depthwise conv2d_depthwise_u8i8_nhwc_s2.uk --size P=$rows --size Q=$columns --size C=$channels
    depthwise conv2d_depthwise_u8i8_nhwc.uk --define N=1 --define H=$rows --define W=$columns --define C=$((8 * columns))
done
[[ $which == all ]] && repeats=12 || repeats=0
for ((i = 0; i < repeats; i++)); do # random sizes; a failure prints them
    says 'check: equal' matmul_i8.uk --size M=$((RANDOM % 40)) --size N=$((RANDOM % 40)) --size K=$((RANDOM % 90)) \
        --target=riscv64-p --check
    computes 'check: equal' conv2d_requantize_float.uk --size H=$((RANDOM % 9 + 1)) --size W=$((RANDOM % 9 + 1)) \
        --size C=$((RANDOM % 5 * 8 + 8)) --size O=$((RANDOM % 40 + 1)) --target=riscv64-p --check
done
says '_rvp_.*qemu-riscv64' matmul_i8.uk "${odd[@]}" --target=riscv64-p --check
"$uk" run matmul_i8.uk "${odd[@]}" --target=riscv64-p --count | grep ^count: >"$work/replaced"
UK_RVP_PATCH=0 "$uk" run matmul_i8.uk "${odd[@]}" --target=riscv64-p --count | grep ^count: >"$work/trapped"
cmp "$work/replaced" "$work/trapped" || { cat "$work/replaced" "$work/trapped"; exit 1; }
# Upper bounds of instructions per multiply-add, including packing and entry: counts do not depend on the machine.
# Without MALLOC_PERTURB_, which meson sets, since malloc would then fill buffers, which counts.
counts() {
    env -u MALLOC_PERTURB_ "$uk" run "${@:2}" --target=riscv64-p --count |
        awk -v limit="$1" '/^count:/ { most = $6; print } END { exit !(most > 0 && most <= limit) }' ||
        { echo "uk run ${*:2}: more than $1 instructions for each multiply-add"; exit 1; }
}
counts 0.24 matmul_i8.uk --size M=64 --size N=64 --size K=256
counts 0.252 conv2d_1x1_u8i8.uk --define N=1 --define H=14 --define W=14 --define C=256 --define O=256
counts 1.30 conv2d_depthwise_u8i8_nchw.uk --define N=1 --define H=14 --define W=14 --define C=512
counts 1.45 conv2d_depthwise_u8i8_nchw_s2.uk --define N=1 --define H=112 --define W=112 --define P=56 --define Q=56 --define C=4
counts 1.40 conv2d_depthwise_u8i8.uk --define N=1 --define H=112 --define W=112 --define C=16
counts 1.80 conv2d_depthwise_u8i8_nhwc.uk --define N=1 --define H=56 --define W=56 --define C=32
counts 2.45 conv2d_depthwise_u8i8_nhwc_s2.uk --define N=1 --define P=28 --define Q=28 --define C=32
rules=(float:0.399)
if [[ $which == all ]]; then
    counts 0.232 matmul_i8.uk --define M=64 --define N=64 --define K=256
    counts 1.10 conv2d_depthwise_u8i8_nchw.uk --define N=1 --define H=112 --define W=112 --define C=4
    counts 2.60 conv2d_depthwise_u8i8_nhwc.uk
    rules+=(upward:0.405 doubling:0.417)
fi
for rule in "${rules[@]}"; do
    counts ${rule#*:} conv2d_requantize_${rule%:*}.uk --define N=1 --define H=6 --define W=6 --define C=64 --define O=64
done

# Each list has every instruction on one line: by the name of P's instruction, and by its function.
"$uk" run matmul_i8.uk "${odd[@]}" --target=riscv64-p --histogram >"$work/histogram"
[[ $(awk '/^count by function/ { into = 1; next } /^count by mnemonic/ { into = 2; next } !/^  / { into = 0 } into { sum[into] += $2 }
    /^count: / { all = $2 } END { print (sum[1] == all && sum[2] == all && all > 0) }' "$work/histogram") == 1 ]] &&
    grep -E '^  matmul_i8 ' "$work/histogram" >/dev/null && grep -E '^  smaqa  ' "$work/histogram" >/dev/null &&
    ! grep -E 'uk_rvp|illegal' "$work/histogram" || { cat "$work/histogram"; exit 1; }
refuses 2 '^uk: error: --time: target riscv64-p runs under an emulator' matmul_i8.uk "${odd[@]}" --target=riscv64-p --time
path=$work refuses 1 "qemu-riscv64, which is not installed; install Debian's qemu-user" matmul_i8.uk --target=riscv64-p

# A word of P that the table does not have.
cat >"$work/unknown.uk" <<'END'
pragma import c """
void add_2(const int *a, const int *b, int *c) {
    __asm__ volatile(".option norvc; .balign 4; .insn r 0x77, 7, 0x20, a4, a4, a5" ::: "a4", "memory");
    c[0] = a[0] + b[0]; c[1] = a[1] + b[1];
}
"""
intrinsic add_2
  tensor a i32 [2]
  tensor b i32 [2]
  tensor c i32 [2]
  c[i] = a[i] + b[i]
  compute void add_2(ptr a, ptr b, ptr c)
end
size N = 8
tensor X i32 [N]
tensor Y i32 [N]
tensor Z i32 [N]
Z[i] = X[i] + Y[i]
schedule
  split Z.i 2 -> io ii
  tensorize ii add_2
END
for said in '^simulate/rvp: at 0x[0-9a-f]+ \(unknown\+0x[0-9a-f]+\): the word 0x40f77777 is no instruction of P 0.9.11' \
    '^uk: error: the code was ended by signal 4 under qemu-riscv64'; do
    refuses 1 "$said" "$work/unknown.uk" --target=riscv64-p
done

[[ -z $(ls "$TMPDIR") ]] || { echo "left behind: $(ls "$TMPDIR")"; exit 1; }
