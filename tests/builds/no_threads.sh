#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libukernels and libukblas alone, built by gcc, without threads and where no LLVM is to be found: no warnings, no
# pthreadpool is needed, kernels and products are right. In a build folder of its own inside the one that runs this.
# Arguments: the source tree, that build folder.
set -euo pipefail
source=$1
build=$2/no_threads

# A PATH that has all programs but LLVM's.
without=$2/no_threads_path
rm -rf "$without"
mkdir "$without"
ln -s /usr/bin/* "$without"
rm -f "$without"/{clang,llvm-,lld,ld.lld,ld64.lld,wasm-ld,opt-,llc-}*
export PATH=$without
if compgen -c | grep -E '^(clang|llvm|ld\.lld)'; then
    echo "these should not be found" >&2
    exit 1
fi

if [[ ! -f $build/build.ninja ]]; then
    CC=gcc meson setup "$build" "$source" --werror -Dthreads=disabled -Dtensorize=false >"$2/no_threads.log" ||
        { cat "$2/no_threads.log"; exit 1; }
fi
programs=(tests/registry/registry tests/kernels/kernels tests/blas/blas_test)
meson compile -C "$build" ukernels:shared_library ukblas:shared_library "${programs[@]##*/}" >"$2/no_threads.log" ||
    { tail -n 50 "$2/no_threads.log"; exit 1; }
library=$build/ukernels/libukernels.so
if { readelf -dW "$library"; nm -D --undefined-only "$library"; } | grep -E 'NEEDED.*(pthreadpool|LLVM)|pthreadpool_|pthread_create'; then
    echo "libukernels without threads should not need this" >&2
    exit 1
fi
for program in "${programs[@]}"; do
    "$build/$program"
done
