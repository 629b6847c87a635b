#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests on a copy of the table that counts.py --write corrects rows with wrong counts and rows that state only their multiply-adds.
#
#     counts_written.sh SOURCE UK LLVM_BINDIR
set -euo pipefail
table=$1/ukernels/registry/kernels.def
kernels='uk_sgemm_4x24_avx2_asm uk_dgemm_rab_14x16_avx512_asm uk_igemm_4x4_rvp_asm uk_sgemm_6x16_neon_asm uk_sgemm_6x16_neon_intrin'
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT

sed -E '/^UK_KERNEL\((sgemm, 4, 24, avx2|dgemm_rab, 14, 16, avx512), /s/\.loads = [0-9.]*/.loads = 99/
/^UK_KERNEL\((igemm, 4, 4, rvp|sgemm, 6, 16, neon), /s/, \.(loads|other) = [0-9.]*//g' "$table" >"$copy"
! cmp -s "$table" "$copy"
# shellcheck disable=SC2086
/usr/bin/env python3 "$1/tests/kernels/counts.py" "$2" "$3" --write --table="$copy" $kernels
diff "$table" "$copy"
