#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the examples with staged files, as a user would. Arguments: the folder where they are staged, the source tree,
# the folder of the build's kernels.
set -euo pipefail
stage=$1
examples=$2/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=cc

if [[ ! -x $stage/bin/uk ]]; then
    echo "$stage/bin/uk is not there; run ./uk-setup test, or meson install first" >&2
    exit 1
fi
flags=(-std=c17 -Wall -Wextra -Werror "-I$stage/include")
libraries=("-L$stage/lib" "-Wl,-rpath,$stage/lib")

# expect WHAT COMMAND...: checks that the command succeeds and prints a line that contains WHAT.
expect() {
    local what=$1
    shift
    "$@" >"$work/out" || {
        echo "$* failed:" >&2
        cat "$work/out" >&2
        exit 1
    }
    grep -qF -- "$what" "$work/out" || {
        echo "$* does not print '$what':" >&2
        cat "$work/out" >&2
        exit 1
    }
}

$cc "${flags[@]}" "$examples/use_kernel.c" "${libraries[@]}" -lukernels -o "$work/use_kernel"
expect 'C[1][2] = 4' "$work/use_kernel"
$cc "${flags[@]}" "$examples/use_conv.c" "${libraries[@]}" -lukernels -o "$work/use_conv"
expect 'Y[1][1] = 18 8 0, Y[0][0] = 8 0 0' "$work/use_conv"

$cc "${flags[@]}" "$examples/compile_program.c" "${libraries[@]}" -luktensorize -lukernels -o "$work/compile_program"
expect '4 5' "$work/compile_program"
expect '10 11' "$work/compile_program"

read -ra blas < <(PKG_CONFIG_PATH=$stage/lib/pkgconfig pkg-config --cflags --libs ukblas)
$cc "${flags[@]}" "$examples/use_blas.c" "${blas[@]}" "-Wl,-rpath,$stage/lib" -o "$work/use_blas"
expect '10 11' "$work/use_blas"

target=x86_64-avx2
grep -q avx2 /proc/cpuinfo || {
    echo "skipped: this CPU has no AVX2, which link_object and vadd.uk need"
    exit 77
}
"$stage/bin/uk" compile "$examples/matmul.uk" --require-kernels --target=$target --emit=object -o "$work/matmul.o"
"$stage/bin/uk" compile "$examples/matmul.uk" --require-kernels --target=$target --emit=header -o "$work/matmul.h"
$cc "${flags[@]}" "-I$work" "$examples/link_object/main.c" "$work/matmul.o" -o "$work/link_object"
expect '5 11' "$work/link_object"
if ldd "$work/link_object" | grep -E 'LLVM|ukernels|uktensorize' >/dev/null; then
    echo "link_object needs a library that it should not need:" >&2
    ldd "$work/link_object" >&2
    exit 1
fi

# not_called OBJECT: checks that the kernel is neither a symbol of the object nor the target of a call, and that its
# code is present.
not_called() {
    if "$bin/llvm-nm" "$1" | grep -F uk_ || "$bin/llvm-objdump" -dr "$1" | grep -F uk_; then
        echo "$1 refers to a kernel that should have been inlined" >&2
        exit 1
    fi
    "$bin/llvm-objdump" -d "$1" | grep -E 'vfmadd231ps.*ymm' >/dev/null || { echo "$1 does not have the kernel's code" >&2; exit 1; }
}

bin=$LLVM_BIN
/usr/bin/python3 "$2/tests/kernels/bitcode.py" "$bin" "$stage/lib/ukernels/bitcode" "$3"
bitcode=$stage/lib/ukernels/bitcode/x86_64-avx2/uk_sgemm_6x16_avx2_asm.bc
clang=("$bin/clang" -O2 -mavx2 -mfma "${flags[@]}")
"${clang[@]}" -c -Xclang -mlink-builtin-bitcode -Xclang "$bitcode" "$examples/clang/main.c" -o "$work/builtin.o"
"${clang[@]}" -c -emit-llvm "$examples/clang/main.c" -o "$work/main.bc"
"$bin/llvm-link" --internalize --only-needed "$work/main.bc" "$bitcode" -o "$work/linked.bc"
"$bin/clang" -O2 -mavx2 -mfma -c "$work/linked.bc" -o "$work/linked.o"
for way in builtin linked; do
    not_called "$work/$way.o"
    $cc "$work/$way.o" -o "$work/$way"
    expect '0 of 1550 elements are wrong' "$work/$way"
done

for program in matmul matmul_tn matmul_nt matmul_tt matmul_acc; do
    expect 'check: equal' "$stage/bin/uk" run "$examples/$program.uk" --require-kernels \
        --size M=100 --size N=70 --size K=33 --check
done
expect 'check: equal' "$stage/bin/uk" run "$examples/resnet50_1x1.uk" --require-kernels --define M=49 --define N=64 --define K=32 --check
for size in 70 1 0; do
    expect 'check: equal' "$stage/bin/uk" run "$examples/mlp.uk" --require-kernels --size B=$size --check
    expect 'check: within' "$stage/bin/uk" run "$examples/attention.uk" --size L=$size --check
    expect 'check: within' "$stage/bin/uk" run "$examples/encoder.uk" --size L=$size --threads=2 --check
done
for program in conv2d_3x3 conv2d_3x3_s2 conv2d_1x1; do
    for size in 14 9 1 0; do
        expect 'check: equal' "$stage/bin/uk" run "$examples/$program.uk" --require-kernels --size N=2 --size H=$size --size W=$((size + 3)) \
            --size C=17 --size O=40 --check
    done
done
for n in 16 100 7; do
    expect 'vadd_16' "$stage/bin/uk" run "$examples/vadd.uk" --require-kernels --size N=$n --check
done
expect 'vadd_16 compute: ok' "$stage/bin/uk" verify "$examples/vadd.uk"
for form in reset update; do
    expect "gemm_4x24 $form: ok" "$stage/bin/uk" verify "$examples/matmul_4x24.uk"
done
for size in 480 101 3 0; do
    expect 'check: equal' "$stage/bin/uk" run "$examples/matmul_4x24.uk" --require-kernels --size M=$size --size N=$size --check
done
for size in 13 1 0; do
    expect 'check: equal' "$stage/bin/uk" run "$examples/conv2d_nchw.uk" --require-kernels --size H=$size --size C=5 --size O=21 --check
    expect 'check: equal' "$stage/bin/uk" run "$examples/conv2d_depthwise.uk" --require-kernels --size W=$size --size H=9 --size C=37 --check
done
if grep -q avx512dq /proc/cpuinfo; then
    expect 'check: equal' "$stage/bin/uk" run "$examples/conv2d_scheduled.uk" --require-kernels --size H=9 --size C=20 --size O=40 \
        --target=x86_64-avx512 --check
    expect 'check: equal' "$stage/bin/uk" run "$examples/matmul_scheduled.uk" --require-kernels --size M=300 --size N=70 --size K=600 --check
fi
expect 'uk_sgemm_14x32_avx512_asm' "$stage/bin/uk" compile "$examples/matmul_scheduled.uk" --require-kernels \
    --target=x86_64-avx512 --emit=loops

# GPUs: a program that calls a product (tests/gpu/gemm.sh runs it), interpreted programs with reports of races, and
# programs in the simulator.
for part in object:o header:h; do
    "$stage/bin/uk" compile "$examples/matmul.uk" --target=amdgcn-gfx90a --emit="${part%:*}" -o "$work/matmul.${part#*:}"
done
$cc "${flags[@]}" "-I$work" "$examples/gpu_gemm.c" "$work/matmul.o" "${libraries[@]}" -lukernels -o "$work/gpu_gemm"
for gpu in matmul_gpu:gfx906 matmul_gpu:gfx90a matmul_gfx90a:gfx90a; do
    expect "call uk_sgemm_s_8x" "$stage/bin/uk" compile "$examples/${gpu%:*}.uk" --target=amdgcn-${gpu#*:} --emit=loops
    for where in --device=interp --check; do
        expect 'check: equal' "$stage/bin/uk" run "$examples/${gpu%:*}.uk" --target=amdgcn-${gpu#*:} $where --check \
            --size M=129 --size N=65 --size K=19
    done
done

for where in interp sim; do
    expect 'check: equal' "$stage/bin/uk" run "$examples/vadd_gpu.uk" --target=amdgcn-gfx906 --device=$where --check
    expect 'check: equal' "$stage/bin/uk" run "$examples/mlp.uk" --target=amdgcn-gfx90a --device=$where --check
done

# The output of ./uk-setup demo fits on a screen; omitted parts are in its log.
UK=$stage/bin/uk UK_PEERS=$work/nowhere "$examples/demo.sh" --quick --log "$work/demo.log" >"$work/demo"
(($(wc -l <"$work/demo") <= 50)) || { echo "the demo prints $(wc -l <"$work/demo") lines, more than a screen" >&2; exit 1; }
if grep -nE '.{121}' "$work/demo"; then
    echo 'the demo prints these lines, which are wider than 120 columns' >&2
    exit 1
fi
# Long lines end with a whole word: one that a command printed, a title's, or the log's name.
awk 'length > 100 { print $NF }' "$work/demo" | while IFS= read -r word; do
    { cat "$work/demo.log"; tr '"' ' ' <"$examples/demo.sh"; echo "$work/demo.log"; } | tr -s ' ' '\n' | grep -xF -- "$word" >/dev/null ||
        { cat "$work/demo"; echo "the demo cuts a word: '$word'" >&2; exit 1; }
done
for what in 'Y\[m, n\] = sum\(k\)' 'for k in 0 \.\. 128' '^  taken +uk_sgemm_' '^  not +uk_[^ ]+ +[^ ]' 'call uk_sgemm_' \
    'The inner loop, [0-9]+ instructions, of which [1-9][0-9]* multiply-adds' 'vfmadd231ps .*mm' \
    '^784x256x128 +[0-9.]+ +[0-9]+ #+ +3x3 56x56x64>64 +[0-9.]+ +[0-9]+ #+$' '^49x512x2048 +- +-'; do
    grep -qE "$what" "$work/demo" || { cat "$work/demo"; echo "the demo does not print '$what'" >&2; exit 1; }
done
grep -q 'check: equal' "$work/demo.log" || { echo 'the log of the demo lacks the runs' >&2; exit 1; }
echo "all examples"
