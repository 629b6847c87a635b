#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hyperfine.sh [FOLDER]: compares whole commands by hyperfine: the same C program linked to one BLAS after the other,
# with loading, first touch of memory, and one thread. FOLDER (default build/hyperfine) gets hyperfine's JSON and table
# for each shape. Run ./uk-setup peers and ./uk-setup test (or meson install) first.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/hyperfine}
peers=${UK_PEERS:-.peers}
stage=${UK_STAGE:-build/stage}
command -v hyperfine >/dev/null || { echo "hyperfine.sh: hyperfine: not found; package hyperfine" >&2; exit 1; }
mkdir -p "$out/bin"

names=() commands=()

# add NAME LIBRARY [FLAGS...]: builds the program linked to that library; leaves it out if the library does not exist.
add() {
    local name=$1 library=$2 program=$out/bin/gemm-$1
    shift 2
    if [[ ! -e $library ]]; then
        echo "hyperfine.sh: $name: ${library:-no library}: not there; left out" >&2
        return
    fi
    library=$(realpath "$library")
    "${CC:-cc}" -O2 -o "$program" bench/hyperfine_gemm.c "$library" -Wl,--export-dynamic-symbol=mkl_serv_get_cpu_true \
        -Wl,-rpath,"$(dirname "$library")" -Wl,--allow-shlib-undefined "$@"
    names+=("$name")
    commands+=("$program")
}

library() {
    find -L "$peers" -name "$1" -type f 2>/dev/null | sort | head -1
}

# Forces each library to its best kernels, as bench/peers.c does.
avx512=$(grep -cwm1 avx512f /proc/cpuinfo || true)
export OPENBLAS_CORETYPE=HASWELL BLIS_ARCH_TYPE=3
[[ $avx512 != 1 ]] || export OPENBLAS_CORETYPE=SKYLAKEX BLIS_ARCH_TYPE=0
export MKL_THREADING_LAYER=SEQUENTIAL OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 BLIS_NUM_THREADS=1 \
    UK_NUM_THREADS=1
add ukernels "$stage/lib/libukblas.so"
add openblas "$(library libscipy_openblas.so)" -Dcblas_sgemm=scipy_cblas_sgemm
add openblas-debian "$(library 'libopenblasp-r*.so')"
add mkl "$(library 'libmkl_rt.so*')"
add blis "$(library libblis.so.4)"
((${#commands[@]})) || { echo "hyperfine.sh: no library at all" >&2; exit 1; }

# shellcheck disable=SC2086 # a shape is four words
for shape in "16 16 16 200000" "64 64 64 20000" "1000 1000 1000 10" "2048 2048 2048 2" "6 2000 2000 200"; do
    expected=$("${commands[0]}" $shape)
    arguments=()
    for i in "${!commands[@]}"; do
        if [[ $("${commands[i]}" $shape) != "$expected" ]]; then
            echo "hyperfine.sh: ${names[i]}: its result for $shape differs from that of ${names[0]}; left out" >&2
            continue
        fi
        arguments+=(-n "${names[i]}" "${commands[i]} $shape")
    done
    file=$out/gemm-${shape// /-}
    hyperfine -N --warmup 1 --runs "${RUNS:-10}" --export-json "$file.json" --export-markdown "$file.md" "${arguments[@]}"
done
