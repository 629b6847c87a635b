#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that a new kernel needs only a file and a row: adds those of docs/kernels.md to a copy of the tree, from which
# everything else must follow. Does the same for Arm, with a row that differs in the isa. A new operation needs a row, a
# reference and the name of its form: adds one with a kernel.
#
#     add_kernel.sh SOURCE
#
# UK_OBJECTS and UK_BITCODE name the folders of the other kernels' objects and bitcode.
set -euo pipefail
source=$1
kernel=uk_sgemm_5x4_generic_c
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

tar -C "$source" --exclude='./.?*' --exclude='./build*' -cf - . | tar -C "$copy" -xf -
cd "$copy"

# block PATTERN: prints the first block of docs/kernels.md with a line that matches.
block() {
    awk -v pattern="$1" '/^```/ { if (inside && found) { printf "%s", text; exit } inside = !inside; text = ""; found = 0; next }
        inside { text = text $0 "\n"; if ($0 ~ pattern) found = 1 }' docs/kernels.md
}
block "^void $kernel[(]" >"intrinsics/any/$kernel.c"
block '^UK_KERNEL[(]' >>ukernels/registry/kernels.def
arm=${kernel/generic/neon}
sed "s/$kernel/$arm/" "intrinsics/any/$kernel.c" >"intrinsics/aarch64/$arm.c"
sed -n '$s/generic/neon/p' ukernels/registry/kernels.def >>ukernels/registry/kernels.def
# y[j] = the sum over i of a[i*lda + j] * x[j], in f64: no other operation has this form, these operands and this size.
sed -i 's/^    UK_OP_WINDOW,$/&\n    UK_OP_COLUMN_SUMS,/' ukernels/registry/operation.h
added=uk_dscale_sums_1x4_generic_c
parameters='int64_t m, const double *a, int64_t lda, const double *x, double *y, int64_t n'
sums='    for (int64_t j = 0; j < n; j++) {
        double sum = 0;

        for (int64_t i = 0; i < m; i++)
            sum += a[i * lda + j] * x[j];
        y[j] = sum;
    }
}'
cat >>ukernels/registry/ops.def <<END
UK_OP_ROW(dscale_sums, ($parameters),
          "intrinsic SYMBOLREQUIRES\n"
          "  tensor a f64 [Q, J] stride [lda, 1]\n"
          "  tensor x f64 [J]\n"
          "  tensor y f64 [J]\n"
          "  y[j] = sum(q) a[q, j] * x[j]\n"
          "  compute void SYMBOL(i64 Q, ptr a, i64 lda, ptr x, ptr y, i64 J)\n"
          "end\n",
          .element = UK_ELEMENT_F64, .form = UK_OP_COLUMN_SUMS)
END
printf 'void uk_reference_dscale_sums(int64_t MR, int64_t NR, int64_t KR, %s) {\n    (void)MR, (void)NR, (void)KR;\n%s\n' \
    "$parameters" "$sums" >>ukernels/registry/reference.c
printf '/* Column by column. */\n#include "registry/kernel_contract.h"\nvoid %s(%s)\n{\n%s\n' "$added" "$parameters" "$sums" >"intrinsics/any/$added.c"
echo 'UK_KERNEL(dscale_sums, 1, 4, generic, c, .fma = 1, .loads = 2)' >>ukernels/registry/kernels.def
cat >matmul.uk <<'END'
size M = 23, N = 17, K = 9
tensor A f32 [M, K]
tensor B f32 [K, N]
tensor C f32 [M, N]
C[m, n] = sum(k) A[m, k] * B[k, n]

schedule
  split C.m 5 -> mo mi
  split C.n 4 -> no ni
  reorder mo no mi ni k
  pack A at root panel 5 -> AP
  pack B at root panel 4 -> BP
  tensorize mi uk_sgemm_5x4_generic_c
END

step() {
    echo "# $*"
}
has() {
    grep -- "$kernel" >/dev/null || { echo "$1 does not have $kernel" >&2; exit 1; }
}

step built
# -O0 in c_args also holds for what is optimized in any build: most of the time is that of the compiler.
CC_LD=lld meson setup build --buildtype=plain -Dc_args=-O0 -Dwarning_level=0 -Dnetworks=false -Dbitcode="$UK_BITCODE" -Dobjects="$UK_OBJECTS" \
    >setup.log || { cat setup.log; exit 1; }
ninja -C build tests/kernels/kernels tests/kernels/kernels_inlined uk/uk ukernels/kernels.json "ukernels/aarch64.$kernel.ll" \
    "ukernels/aarch64.$arm.ll" >build.log ||
    { tail -n 30 build.log; exit 1; }
has kernels.json <build/ukernels/kernels.json
has "its LLVM IR" <"build/ukernels/aarch64.$kernel.ll"

uk=build/uk/uk
step tested, called and inlined
for name in "$kernel" "$added"; do
    for program in kernels kernels_inlined; do
        build/tests/kernels/$program "$name" 2>&1 | tee test.log
        grep -q '1 test(s) run' test.log && grep -q 'OK.*'"$name" test.log
    done
done
$uk verify "$added"

step listed
$uk kernels | has "uk kernels"
$uk show "$kernel" --declaration | has "its declaration"
$uk show "$kernel" --doc >doc
grep -q '5 rows x 4 columns' doc

step benchmarked
$uk bench "$kernel" | has "uk bench"
$uk bench "$added" | grep "$added.*GB/s"

# There are no packing kernels for panels of its widths, so packing is done by plain loops.
step tensorized
$uk compile matmul.uk --emit=loops | has "the loops"
$uk run matmul.uk --check

step the same for Arm
kernel=$arm
has kernels.json <build/ukernels/kernels.json
has "its LLVM IR" <"build/ukernels/aarch64.$kernel.ll"
build/tests/kernels/kernels_inlined "$kernel" 2>&1 | tee test.log
grep -q '1 test(s) run' test.log && grep -q 'OK.*'"$kernel" test.log
$uk kernels --target=aarch64-neon | has "uk kernels"
$uk show "$kernel" --asm --target=cortex-a76 | has "its assembly"
sed -i "s/ uk_sgemm_5x4_generic_c/ $kernel/" matmul.uk
$uk compile matmul.uk --target=aarch64-neon --emit=linked | has "the linked module"
$uk compile matmul.uk --target=aarch64-neon --emit=object -o matmul.o
