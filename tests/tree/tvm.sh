#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs examples/tvm with every sgemm kernel for panels that runs on this CPU, at sizes with edges. Arguments: the folder
# where ukernels is staged, the source tree.
set -euo pipefail
stage=$1 source=$2
python=$source/.venv-tvm/bin/python3
if [[ ! -x $python ]]; then
    echo "tvm skipped: no TVM in .venv-tvm; ./uk-setup tvm installs it"
    exit 77
fi
kernels=(uk_sgemm_4x8_generic_c)
! grep -qw avx2 /proc/cpuinfo || kernels+=(uk_sgemm_6x16_avx2_asm uk_sgemm_6x16_avx2_intrin uk_sgemm_6x16_avx2_peachpy)
! grep -qw avx512dq /proc/cpuinfo || kernels+=(uk_sgemm_14x32_avx512_asm uk_sgemm_14x32_avx512_intrin)
for kernel in "${kernels[@]}"; do
    out=$("$python" "$source/examples/tvm/matmul.py" --stage "$stage" --kernel "$kernel" --size 45x100x33 --no-time)
    printf '%s\n' "$out"
    grep -q "^calls of $kernel left in the assembly: 0;" <<<"$out"
    [[ $(grep -c ': equal to numpy$' <<<"$out") == 3 ]]
done
out=$("$python" "$source/examples/tvm/matmul.py" --stage "$stage" --size 128x128x128)
printf '%s\n' "$out"
[[ $(grep -c '^time: .* GFLOP/s' <<<"$out") == 3 ]]
if "$python" "$source/examples/tvm/matmul.py" --stage "$stage" --kernel no_such_kernel 2>/dev/null; then
    echo "a kernel that does not exist is taken"
    exit 1
fi
