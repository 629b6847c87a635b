#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds libukernels and libukblas alone, by gcc, without threads and without LLVM on the PATH: there are no warnings,
# pthreadpool is not needed, products are right, and setup names what is missing. Uses a build folder inside the calling
# one and its kernels, named by UK_OBJECTS; or compiles the kernels by gcc and tests them, too. Arguments: the source
# tree, that build folder, and `kernels` for the latter.
set -euo pipefail
source=$1
build=$2/no_threads${3:+_$3}
log=$build.log

# A PATH with all programs except LLVM's.
without=$build.path
rm -rf "$without"
mkdir "$without"
ln -s /usr/bin/* "$without"
rm -f "$without"/{clang,llvm-,lld,ld.lld,ld64.lld,wasm-ld,opt-,llc-}*
export PATH=$without
if compgen -c | grep -E '^(clang|llvm|ld\.lld)'; then
    echo "these should not be found" >&2
    exit 1
fi

# Without PeachPy, meson setup fails, not ninja.
mkdir -p "$build.none/peachpy"
echo 'raise ImportError' >"$build.none/peachpy/__init__.py"
rm -rf "$build.refused"
if PYTHONPATH=$build.none CC=gcc meson setup "$build.refused" "$source" -Dthreads=disabled -Dtensorize=false >"$log" ||
    ! grep 'install python3-peachpy' "$log"; then
    tail -n 5 "$log"
    echo "meson setup should say that PeachPy is missing" >&2
    exit 1
fi

if [[ ! -f $build/build.ninja ]]; then
    CC=gcc meson setup "$build" "$source" --werror -Dthreads=disabled -Dtensorize=false \
        -Dobjects="$([[ $# -gt 2 ]] || echo "$UK_OBJECTS")" >"$log" || { cat "$log"; exit 1; }
fi
programs=(tests/registry/registry tests/blas/blas_test)
if [[ $# -gt 2 ]]; then
    programs+=(tests/kernels/kernels)
fi
meson compile -C "$build" ukernels:shared_library ukblas:shared_library "${programs[@]##*/}" >"$log" ||
    { tail -n 50 "$log"; exit 1; }
library=$build/ukernels/libukernels.so
if { readelf -dW "$library"; nm -D --undefined-only "$library"; } | grep -E 'NEEDED.*(pthreadpool|LLVM)|pthreadpool_|pthread_create'; then
    echo "libukernels without threads should not need this" >&2
    exit 1
fi
for program in "${programs[@]}"; do
    "$build/$program"
done
