#!/usr/bin/env bash
# libukernels and libukblas alone, built by gcc and without threads: no warnings, no pthreadpool is asked for, kernels and
# products are right. In a build folder of its own inside the one that runs this. Arguments: the source tree, that build
# folder, llvm-readelf, llvm-nm.
set -euo pipefail
source=$1
build=$2/no_threads
readelf=$3
nm=$4

if [[ ! -f $build/build.ninja ]]; then
    CC=gcc meson setup "$build" "$source" --werror -Dthreads=disabled -Dtensorize=false >"$2/no_threads.log" ||
        { cat "$2/no_threads.log"; exit 1; }
fi
programs=(tests/registry tests/kernels tests/blas_test)
meson compile -C "$build" ukernels:shared_library ukblas:shared_library "${programs[@]#tests/}" >"$2/no_threads.log" ||
    { tail -n 50 "$2/no_threads.log"; exit 1; }
library=$build/ukernels/libukernels.so
if { "$readelf" -dW "$library"; "$nm" -D --undefined-only "$library"; } | grep -E 'NEEDED.*(pthreadpool|LLVM)|pthreadpool_|pthread_create'; then
    echo "libukernels without threads should not need this" >&2
    exit 1
fi
for program in "${programs[@]}"; do
    "$build/$program"
done
