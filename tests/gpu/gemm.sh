#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests uk run, and examples/gpu_gemm.c, built as its comment says, also with a product for another GPU: on the tests'
# HIP, for which the simulator computes, and without a GPU. Arguments: uk, the source tree, the folders of libukernels
# and of that HIP, a folder to work in.
set -euo pipefail
uk=$1 source=$2 library=$3 hip=$4 work=$5
rm -rf "$work"
mkdir -p "$work/include/ukernels"
ln -s "$source/ukernels/ukernels.h" "$source/ukernels/convolutions.h" "$source/ukernels/low_precision.h" "$source/ukernels/weights.h" "$source/ukernels/gpu/gpu.h" "$source/ukernels/registry" "$work/include/ukernels/"
export LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# build GPU: builds $work/GPU
build() {
    mkdir -p "$work/for_$1"
    for part in object:o header:h; do
        "$uk" compile "$source/examples/matmul.uk" --target="amdgcn-$1" --emit="${part%:*}" -o "$work/for_$1/matmul.${part#*:}"
    done
    ${CC:-cc} -std=c17 -Wall -Wextra -Werror "-I$work/include" "-I$work/for_$1" "$source/examples/gpu_gemm.c" "$work/for_$1/matmul.o" \
        "-L$library" -lukernels -o "$work/$1"
}

# expect STATUS WHAT COMMAND...: checks the exit status, and that a line with WHAT is printed.
expect() {
    local status=0
    "${@:3}" >"$work/out" 2>&1 || status=$?
    if ((status != $1)) || ! grep -qF -- "$2" "$work/out"; then
        echo "${*:3}: status $status, not $1 with '$2': $(<"$work/out")" >&2
        exit 1
    fi
}

build gfx90a
build gfx906
for size in 100 1 0; do
    LD_LIBRARY_PATH=$hip:$LD_LIBRARY_PATH expect 0 "0 of $size elements are wrong; 0.001 seconds" "$work/gfx90a" hip "$size"
done
LD_LIBRARY_PATH=$hip:$LD_LIBRARY_PATH expect 1 "loading an image: an error (HIP's error 209)" "$work/gfx906" hip 100
expect 1 'no GPU: there is no kind of GPU "none"; there are hip, cuda and sim' "$work/gfx90a" none

# Hides the vendors' libraries, which this machine may have, by files that are no libraries.
mkdir "$work/nowhere"
touch "$work"/nowhere/lib{amdhip64.so{,.5,.6,.7},cuda.so{,.1}}
for where in '' --device=gpu; do
    LD_LIBRARY_PATH=$hip:$LD_LIBRARY_PATH expect 0 'device: a simulated device' \
        "$uk" run --check $where --target=amdgcn-gfx90a "$source/examples/vadd_gpu.uk"
done
LD_LIBRARY_PATH=$work/nowhere:$LD_LIBRARY_PATH expect 1 'was found: HIP is not installed: ' \
    "$uk" run --device=gpu --target=amdgcn-gfx90a "$source/examples/vadd_gpu.uk"
grep -qF libamdhip64.so "$work/out"
LD_LIBRARY_PATH=$work/nowhere:$LD_LIBRARY_PATH expect 0 'it is simulated' \
    "$uk" run --check --target=amdgcn-gfx90a "$source/examples/vadd_gpu.uk"
