#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests libukernels built for another architecture, under qemu: its kernels, called and inlined, the library, programs
# that call its BLAS. Arguments: the architecture, the source tree, the build folder, this machine's kernels_inlined,
# clang, and `some` or `all`. `some`: kernels, called, from this machine's bitcode, a few convolutions, and a few products
# if addresses have 32 bits; `all` compiles the kernels' sources.
set -euo pipefail
arch=$1 source=$2 build=$3 kernels_inlined=$4 clang=$5 which=$6
folder=$build/cross-$arch
here=$source/tests/cross

constant() { sed -n "s/^$1 = '\(.*\)'/\1/p" "$here/$arch.ini"; }
qemu=$(constant qemu) triple=$(constant triple) clang_triple=$(constant clang_triple)
read -ra cpus <<<"$(constant cpus)"
sysroot=$build/sysroot/$arch
# The folder of the C library that programs run with: a release of Debian other than this system's has its own.
libc=/usr/$triple
[[ -z $(constant suite) ]] || libc=$sysroot
if ! command -v "$qemu" >/dev/null || [[ ! -e /usr/$triple/lib ]]; then
    echo "cross_$arch skipped: qemu-user or the $arch C library is not installed; ./uk-setup test installs them"
    exit 77
fi

"$here/build.sh" "$arch" "$source" "$build"
[[ $which == some ]] || meson configure "$folder" -Dbitcode=
programs=(machine/measure kernels/kernels registry/registry)
[[ $arch != riscv64 ]] || programs+=(registry/registry_cpu_has)
# State between calls is handled by the same C code everywhere, except for the size of addresses.
[[ $which != all && $arch != arm ]] || programs+=(gemm/gemm)
# Which tiles there are depends on the architecture.
programs+=(conv/conv)
targets=("${programs[@]/#/tests/}")
if [[ $which == all ]]; then
    programs+=(runtime/parallel kernels/broken_kernels blas/blas_test blas/blas_no_handler blas/blas_mkl_handler)
    targets=("${programs[@]/#/tests/}" tests/blas/libblas_calls.so)
fi
ninja -C "$folder" "${targets[@]}" >"$folder.log" || { tail -n 50 "$folder.log" >&2; exit 1; }

# Tells tests which parts qemu cannot run, or not in reasonable time.
export UK_UNDER_QEMU=$which UK_GEMM_PART=100

# run PROGRAM [ARGUMENT...]: runs it on the CPU in QEMU_CPU; shows its output if it fails.
run() {
    local log=$folder.${1##*/}.log
    echo "$1 on ${QEMU_CPU:-max}${UK_ISA:+, UK_ISA=$UK_ISA}"
    "$qemu" -L "$libc" "$folder/tests/$1" "${@:2}" >"$log" 2>&1 || { tail -n 50 "$log" >&2; exit 1; }
    grep ': skipped, ' "$log" || true
    grep -E 'PASSED' "$log"
}

for QEMU_CPU in "${cpus[@]}"; do
    export QEMU_CPU
    run registry/registry
done
run machine/measure
emulation=()
if [[ $arch == riscv64 ]]; then
    run registry/registry_cpu_has
    # Linux does not report P: its kernels run because UK_ISA names it, in programs that emulate it.
    export UK_ISA=rvp
    emulation=("$folder/simulate/librvp_emulate.a" -Wl,-u,uk_rvp_start)
fi
run kernels/kernels
run conv/conv
if [[ $arch == riscv64 ]]; then
    # Installed libraries run P in a program linked as the .pc file says, and only there. Lists the targets, because
    # `ninja install` would build all tests first.
    mapfile -t targets < <(meson introspect --targets "$folder" | /usr/bin/python3 -c 'import json, os, sys
for target in json.load(sys.stdin):
    if target["installed"]:
        print(*(os.path.relpath(name, sys.argv[1]) for name in target["filename"]), sep="\n")' "$folder")
    { ninja -C "$folder" "${targets[@]}" && DESTDIR=$folder/installed meson install -C "$folder" --no-rebuild; } >"$folder.log" ||
        { tail -n 50 "$folder.log" >&2; exit 1; }
    pc=$(find "$folder/installed" -name rvp_emulate.pc)
    for packages in 'ukernels rvp_emulate' ukernels; do
        read -ra flags < <(PKG_CONFIG_PATH=${pc%/*} pkg-config --cflags --libs $packages)
        "$clang" --target="$triple" -O1 -fuse-ld=lld -I "$(dirname "$(find "$folder/installed" -name ukernels.h)")" \
            -o "$folder/rvp_installed" "$source/tests/rvp/installed_program.c" "${flags[@]}" -Wl,-rpath-link,"$sysroot/usr/lib/$triple"
        status=0
        "$qemu" -L "$libc" -E LD_LIBRARY_PATH="${pc%/*}/..:$sysroot/usr/lib/$triple" "$folder/rvp_installed" || status=$?
        [[ $packages == *rvp* && $status == 0 || $packages != *rvp* && $status == $((128 + $(kill -l ILL))) ]] ||
            { echo "rvp_installed, linked to $packages: exit status $status" >&2; exit 1; }
    done
fi
if [[ $which == some ]]; then
    [[ $arch != arm ]] || UK_GEMM_PART=2000 run gemm/gemm '*' '*memory_is*'
    exit
fi

inlined=$folder/inlined
mkdir -p "$inlined"
rm -f "$inlined"/*
"$kernels_inlined" --objects "$arch" "$inlined"
"$clang" --target="${clang_triple:-$triple}" -fuse-ld=lld -std=c17 -Wall -Wextra -o "$folder/tests/inlined" "$here/inlined.c" \
    "$inlined"/*.o "$folder/tests/kernels/libcheck_kernel.a" "$folder/tests/libtest_arena.a" "$folder/ukernels/libuk_reference.a" -I "$inlined" -I "$source/tests/kernels" \
    -I "$source/ukernels" -isystem "$sysroot/usr/include" -L "$folder/ukernels" -lukernels -Wl,-rpath,"$folder/ukernels" \
    -L "$sysroot/usr/lib/$triple" -lcmocka -Wl,-rpath,"$sysroot/usr/lib/$triple" -lm "${emulation[@]}"
run inlined
run kernels/broken_kernels
run runtime/parallel
run gemm/gemm
UK_ISA=generic UK_GEMM_PART=200 run gemm/gemm
for program in blas_test blas_no_handler blas_mkl_handler; do
    run "blas/$program"
done
"$source/tests/blas/blas.sh" netlib "$folder/ukernels/libukblas.so" "$folder/tests/blas/libblas_calls.so" "$source/tests/blas" \
    "$build/sysroot/$arch" "$qemu" -L "$libc"
