#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libukernels, built for another architecture, under qemu: its kernels, called and inlined, the library, what calls its
# BLAS. Arguments: the architecture, the source tree, the build folder, this machine's kernels_inlined, clang; and how much:
# `some` is the kernels, called, and few products.
set -euo pipefail
arch=$1 source=$2 build=$3 kernels_inlined=$4 clang=$5 which=$6
folder=$build/cross-$arch
here=$source/tests/cross

constant() { sed -n "s/^$1 = '\(.*\)'/\1/p" "$here/$arch.ini"; }
qemu=$(constant qemu) triple=$(constant triple) clang_triple=$(constant clang_triple)
read -ra cpus <<<"$(constant cpus)"
if ! command -v "$qemu" >/dev/null || [[ ! -e /usr/$triple/lib ]]; then
    echo "cross_$arch skipped: qemu-user or the $arch C library is not installed; ./uk-setup test installs them"
    exit 77
fi

"$here/build.sh" "$arch" "$source" "$build"
programs=(kernels/kernels registry/registry runtime/parallel gemm/gemm)
targets=("${programs[@]/#/tests/}")
if [[ $which == all ]]; then
    programs+=(kernels/broken_kernels blas/blas_test blas/blas_no_handler blas/blas_mkl_handler)
    targets=("${programs[@]/#/tests/}" tests/blas/libblas_calls.so)
fi
ninja -C "$folder" "${targets[@]}" >"$folder.log" || { tail -n 50 "$folder.log" >&2; exit 1; }

# What qemu cannot do, or not in the time that there is; the tests leave it out.
export UK_UNDER_QEMU=1 UK_GEMM_PART=100

# run PROGRAM [ARGUMENT...], on the CPU that QEMU_CPU names; what it prints is shown where it fails.
run() {
    local log=$folder.${1##*/}.log
    echo "$1 on ${QEMU_CPU:-max}${UK_ISA:+, UK_ISA=$UK_ISA}"
    "$qemu" -L "/usr/$triple" "$folder/tests/$1" "${@:2}" >"$log" 2>&1 || { tail -n 50 "$log" >&2; exit 1; }
    grep ': skipped, ' "$log" || true
    grep -E 'PASSED' "$log"
}

for QEMU_CPU in "${cpus[@]}"; do
    export QEMU_CPU
    run registry/registry
done
run kernels/kernels
if [[ $which == some ]]; then
    UK_GEMM_PART=2000 run gemm/gemm
    run runtime/parallel
    exit
fi

inlined=$folder/inlined
mkdir -p "$inlined"
rm -f "$inlined"/*
"$kernels_inlined" --objects "$arch" "$inlined"
sysroot=$build/sysroot/$arch
"$clang" --target="${clang_triple:-$triple}" -fuse-ld=lld -std=c17 -Wall -Wextra -o "$folder/tests/inlined" "$here/inlined.c" \
    "$inlined"/*.o "$folder/tests/kernels/libcheck_kernel.a" "$folder/ukernels/libuk_reference.a" -I "$inlined" -I "$source/tests/kernels" \
    -I "$source/ukernels" -isystem "$sysroot/usr/include" -L "$folder/ukernels" -lukernels -Wl,-rpath,"$folder/ukernels" \
    -L "$sysroot/usr/lib/$triple" -lcmocka -Wl,-rpath,"$sysroot/usr/lib/$triple" -lm
run inlined
run kernels/broken_kernels
run runtime/parallel
run gemm/gemm
UK_ISA=generic UK_GEMM_PART=200 run gemm/gemm
for program in blas_test blas_no_handler blas_mkl_handler; do
    run "blas/$program"
done
"$source/tests/blas/blas.sh" netlib "$folder/ukernels/libukblas.so" "$folder/tests/blas/libblas_calls.so" "$source/tests/blas" \
    "$build/sysroot/$arch" "$qemu" -L "/usr/$triple"
