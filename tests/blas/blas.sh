#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs programs that call a BLAS: netlib's testers, NumPy, Octave, ScaLAPACK's testers under MPI. libukblas is
# preloaded; all other functions are those of Debian's reference BLAS. Each program must pass, and libukernels must
# be called at least as often as the program calls GEMM functions. Arguments: the program; libukblas.so; the object that
# counts calls (calls.c); this file's folder; for netlib's testers of another architecture also its sysroot, and
# the emulator with its arguments.
set -euo pipefail
program=$1
here=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

if [[ $# -gt 4 ]]; then
    libraries=$(echo "$5"/usr/lib/*-linux-gnu*)
else
    libraries=/usr/lib/$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_config_var("MULTIARCH"))')
fi
emulator=("${@:6}")
reference=$libraries/blas
export UK_BLAS_CALLS=$work/calls
preload=$3:$2

skip() {
    echo "$program skipped: $1 is not installed (Debian's $2); ./uk-setup $3 installs it"
    exit 77
}

# on_ours COMMAND...: runs it with libukblas preloaded; starts a new count of the calls.
on_ours() {
    rm -f "$UK_BLAS_CALLS"
    if ((${#emulator[@]})); then
        "${emulator[@]}" -E "LD_LIBRARY_PATH=$reference:$libraries" -E "LD_PRELOAD=$preload" "$@"
    else
        LD_LIBRARY_PATH=$reference LD_PRELOAD=$preload "$@"
    fi
}

# called SGEMM DGEMM PROCESSES: PROCESSES processes of the last run called libukernels, each at least SGEMM and DGEMM
# times.
called() {
    local sgemm dgemm processes=0
    while read -r _ sgemm dgemm; do
        sgemm=${sgemm#sgemm=} dgemm=${dgemm#dgemm=}
        if ((sgemm + dgemm > 0)); then
            ((sgemm >= $1 && dgemm >= $2)) || { echo "only $sgemm sgemm and $dgemm dgemm reached libukernels" >&2; exit 1; }
            processes=$((processes + 1))
        fi
    done <"$UK_BLAS_CALLS"
    echo "reached libukernels from $processes processes"
    ((processes == $3)) || { echo "$processes processes called libukernels instead of $3" >&2; exit 1; }
}

# says FILE LINE: FILE has this line; spaces are not compared.
says() {
    sed 's/^ *//; s/ *$//; s/  */ /g' "$1" | grep -xF -- "$2" || { echo "missing: $2; there is:" >&2; cat "$1" >&2; exit 1; }
}

none_failed() {
    if grep FAIL "$1"; then exit 1; fi
}

netlib() {
    local letter upper
    [[ -x $reference/xblat3s && -x $reference/xscblat3 ]] || skip "netlib's BLAS tester" libblas-test test
    for letter in s d; do
        upper=${letter^^}
        on_ours "$reference/xblat3$letter" <"$reference/${letter}blat3.in"
        says "${letter}blat3.out" "${upper}GEMM PASSED THE TESTS OF ERROR-EXITS"
        says "${letter}blat3.out" "${upper}GEMM PASSED THE COMPUTATIONAL TESTS ( 17496 CALLS)"
        none_failed "${letter}blat3.out"
        called_by "$letter" 17496
        on_ours "$reference/x${letter}cblat3" <"$reference/${letter}in3" >out
        says out "cblas_${letter}gemm PASSED THE TESTS OF ERROR-EXITS"
        says out "cblas_${letter}gemm PASSED THE COLUMN-MAJOR COMPUTATIONAL TESTS ( 17496 CALLS)"
        says out "cblas_${letter}gemm PASSED THE ROW-MAJOR COMPUTATIONAL TESTS ( 17496 CALLS)"
        none_failed out
        called_by "$letter" $((2 * 17496))
    done
}

# called_by LETTER COUNT [PROCESSES]: `called` for this type only.
called_by() {
    if [[ $1 == s ]]; then
        called "$2" 0 "${3:-1}"
    else
        called 0 "$2" "${3:-1}"
    fi
}

numpy() {
    /usr/bin/python3 -c 'import numpy' 2>/dev/null || skip NumPy python3-numpy test
    on_ours /usr/bin/python3 "$here/numpy_products.py" | tee out
    read -r _ sgemm dgemm _ < <(grep '^called' out)
    # Its last part runs in a child process.
    called "$sgemm" "$dgemm" 2
}

octave() {
    command -v octave-cli >/dev/null || skip Octave octave octave
    on_ours octave-cli --norc --no-history "$here/octave_products.m" | tee out
    read -r _ sgemm dgemm _ < <(grep '^called' out)
    called "$sgemm" "$dgemm" 1
}

# pblas_input LETTER PS QS: writes the testers' input, for process grids of PS by QS. Blocks and offsets are such that
# every process multiplies matrices of many sizes, in all four transposes.
pblas_input() {
    local letter=$1 grids
    grids=$(wc -w <<<"$2")
    cat <<END
'PBLAS'
'PBLAS'
'out'
6  device
F  stop on failures
T  error exits
0  verbosity
10 gap
16.0 threshold
64 computational block size
$grids grids
$2
$3
2.0E0 alpha
3.0E0 beta
8 tests
'N' 'N' 'N' 'N' 'N' 'N' 'N' 'N'
'L' 'L' 'L' 'L' 'L' 'L' 'L' 'L'
'N' 'N' 'T' 'T' 'N' 'N' 'T' 'T'
'N' 'T' 'N' 'T' 'N' 'T' 'N' 'T'
'U' 'L' 'U' 'L' 'U' 'L' 'U' 'L'
97 130 64 20 3 151 11 150
101 29 121 21 14 150 11 149
111 28 97 22 9 149 150 151
END
    local rows
    for rows in A B C; do
        echo "170 170 170 170 170 170 170 170 M_$rows"
        echo "170 170 170 170 170 170 170 170 N_$rows"
        for _ in 1 2 3 4; do
            echo "32 17 64 3 1 40 5 23"
        done
        echo "0 0 0 0 0 0 0 0"
        echo "0 0 0 0 0 0 0 0"
        echo "5 1 7 7 1 12 1 11"
        echo "5 1 7 7 1 12 1 11"
    done
    local routine
    echo "P${letter}GEMM T"
    for routine in SYMM SYRK SYR2K TRMM TRSM GEADD TRADD; do
        echo "P$letter$routine F"
    done
}

# pblas LETTER RANKS PS QS: runs ScaLAPACK's testers of this type in RANKS processes.
pblas() {
    local letter=$1 ranks=$2 upper=${1^^} tests
    tests=$((8 * $(wc -w <<<"$3")))
    pblas_input "$upper" "$3" "$4" >"P${upper}BLAS3TST.dat"
    rm -f "$UK_BLAS_CALLS"
    mpiexec.openmpi --oversubscribe -n "$ranks" -x LD_PRELOAD="$preload" -x LD_LIBRARY_PATH="$reference" \
        -x UK_BLAS_CALLS "$testers/${letter}pb3tst" >out 2>err || { cat out err; exit 1; }
    says out "| P${upper}GEMM $tests $tests 0 0"
    called_by "$letter" 1 "$ranks"
}

scalapack() {
    testers=$libraries/scalapack/openmpi-tests/PBLAS
    [[ -x $testers/spb3tst ]] || skip "ScaLAPACK's tester" scalapack-mpi-test test
    command -v mpiexec.openmpi >/dev/null || skip OpenMPI openmpi-bin test
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    local letter
    for letter in s d; do
        pblas "$letter" 2 "2 1" "1 2"
        pblas "$letter" 4 "2 1 4" "2 4 1"
    done
}

"$program"
