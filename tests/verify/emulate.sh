#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests uk verify for another architecture, whose kernels run under an emulator: correct ones, and one of each kind of
# mistake. Arguments: uk, the source tree, and true if uk has the address sanitizer, which reserves terabytes: memory is
# then not limited.
set -euo pipefail
uk=$1 source=$2 sanitized=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export TMPDIR=$work/runs
mkdir "$TMPDIR"
for emulator in qemu-riscv64 qemu-aarch64; do
    command -v $emulator >/dev/null || { echo "verify_emulated skipped: $emulator is not installed; ./uk-setup test installs it"; exit 77; }
done

# expect STATUS TEXT ARGUMENT...: checks that uk verify prints TEXT.
expect() {
    local status=0
    "$uk" verify "${@:3}" >out 2>&1 || status=$?
    [[ $status == "$1" ]] && grep -qE -- "$2" out || { echo "uk verify ${*:3}: exit status $status, expected $1 and '$2', but:"; cat out; exit 1; }
    [[ -z $(ls "$TMPDIR") ]] || { echo "uk verify ${*:3} left behind: $(ls "$TMPDIR"/*)"; exit 1; }
}

# add STATEMENT...: prints a kernel that adds two vectors and also contains the statement.
add() {
    cat <<END
pragma import c """
typedef unsigned long uint64_t;
void add(long n, const float *a, const float *b, float *c) {
    for (long i = 0; i < n; i++)
        c[i] = a[i] + b[i];
    $*
}
"""
intrinsic add
  tensor a f32 [I]
  tensor b f32 [I]
  tensor c f32 [I]
  assume 1 <= I <= 12
  c[i] = a[i] + b[i]
  compute void add(i64 I, ptr a, ptr b, ptr c)
end
END
}

expect 0 '^uk_igemm_4x5_rvp_asm compute: ok, [0-9]+ cases$' uk_igemm_4x5_rvp_asm --target=riscv64-p
[[ $(wc -l <out) == 2 ]] || { cat out; exit 1; }
expect 0 '^uk_i32kadd_1x8_rvp_intrin compute: ok, [0-9]+ cases$' uk_i32kadd_1x8_rvp_intrin --target=riscv64+rvp

# No memory is reserved between rows that are far apart, neither in this process nor in the emulator.
transpose=$("$uk" kernels --target=riscv64-p | grep -oE '^uk_u8t[a-z]+_8x8_rvp_intrin')
cat >far.uk <<'END'
pragma import c """
void far(long n, long m, const double *a, long ld, double *c) {
    for (long i = 0; i < n; i++)
        for (long j = 0; j < m; j++)
            c[i * 3 * ld + j * ld * ld] = a[i * 1000000000 + j];
}
"""
intrinsic far
  tensor a f64 [N, M] stride [1000000000, 1]
  tensor c f64 [N, M] stride [3 * ld, ld * ld]
  c[i, j] = a[i, j]
  compute void far(i64 N, i64 M, ptr a, i64 ld, ptr c)
end
END
(
    $sanitized || ulimit -v 3000000
    expect 0 "^$transpose compute: ok, [0-9]+ cases\$" "$transpose" --target=riscv64-p
    expect 0 '^far compute: ok, [0-9]+ cases$' far.uk --target=riscv64
    expect 0 '^far compute: ok, [0-9]+ cases$' far.uk --target=aarch64-neon
    expect 0 '^far compute: ok, [0-9]+ cases$' far.uk
)
expect 1 'requires rvp, which target riscv64 does not have' uk_igemm_4x5_rvp_asm --target=riscv64
expect 1 "its code is for arm, and this CPU is" uk_sgemm_4x8_generic_c --target=armv7-neon

# Arguments of each kind: more than there are registers, floats between integers and after them.
cat >many.uk <<'END'
pragma import c """
void many(float s, double t, int n, float u, double v, long m, double w, float x, const double *a, float y, float z,
          double p, float q, double *c, long e, signed char f, unsigned char g, int h, float r) {
    for (long i = 0; i < n; i++)
        c[i] = a[i] + s + t + u + v + w + x + y + z + p + q + r + (double)(m + e + f + g + h);
}
"""
intrinsic many
  scalar s f32
  scalar t f64
  scalar u f32
  scalar v f64
  scalar w f64
  scalar x f32
  scalar y f32
  scalar z f32
  scalar p f64
  scalar q f32
  scalar r f32
  tensor a f64 [I]
  tensor c f64 [I]
  assume 1 <= I <= 100
  c[i] = a[i] + f64(s) + t + f64(u) + v + w + f64(x) + f64(y) + f64(z) + p + f64(q) + f64(r) + 5 * f64(index(I))
  compute void many(f32 s, f64 t, i32 I, f32 u, f64 v, i64 I, f64 w, f32 x, ptr a, f32 y, f32 z,
                    f64 p, f32 q, ptr c, i64 I, i8 I, u8 I, i32 I, f32 r)
end
END
add '' >good.uk
# Wrong kernels: a value, memory that does not exist or must not be written, an instruction, an endless loop, and the
# calling convention.
add 'c[n / 2] += 1;' >value.uk
add 'c[n] = 0;' >past.uk
add 'c[0] = *(volatile const float *)(a - 1) + b[0], c[0] = a[0] + b[0];' >before.uk
add '((float *)b)[n - 1] = 0;' >input.uk
add '*(volatile float *)4096 = 0;' >far.uk
add '__asm__ volatile(".4byte 0");' >illegal.uk
add 'for (;;) __asm__ volatile("");' >endless.uk
add '__asm__ volatile("fsrmi 2");' >riscv64.uk
add '__asm__ volatile("mrs x9, fpcr\n\torr x9, x9, #0x400000\n\tmsr fpcr, x9" : : : "x9");' >aarch64-neon.uk
for target in riscv64:fcsr aarch64-neon:FPCR; do
    kept=${target#*:} target=${target%:*}
    expect 0 '^add compute: ok, [0-9]+ cases$' good.uk --target="$target"
    expect 0 '^many compute: ok, [0-9]+ cases$' many.uk --target="$target"
    expect 1 '^add compute: WRONG in case 1: c.[0-9]+. is .*, not .*; with I=[0-9]+, a .*, b .*, c ' value.uk --target="$target"
    expect 1 '^add compute: WRONG in case [0-9]+: writes (past the end of c|outside of c)' past.uk --target="$target"
    expect 1 '^add compute: WRONG in case [0-9]+: reads 4 bytes before the start of a' before.uk --target="$target"
    expect 1 '^add compute: WRONG in case 1: writes b.[0-9]+., which is only read' input.uk --target="$target"
    expect 1 '^add compute: WRONG in case 1: writes at address 0x1000, which is not near any of its operands' far.uk --target="$target"
    expect 1 "^add compute: WRONG in case 1: does not preserve $kept" "$target.uk" --target="$target"
    expect 1 '^add compute: WRONG in case 1: executes an instruction that this CPU does not have' illegal.uk --target="$target"
done
expect 1 '^add compute: WRONG in case 1: executes an instruction that this CPU does not have' illegal.uk --target=riscv64-p
expect 1 '^add compute: WRONG in case 1: does not return within 2 seconds of CPU time' endless.uk --target=riscv64 --seconds=2
for process in /proc/[0-9]*/cmdline; do
    ! { tr '\0' ' ' <"$process"; } 2>/dev/null | grep "^qemu-riscv64 .*$TMPDIR" >/dev/null || { echo 'the emulator runs on'; exit 1; }
done

status=0
PATH=$work "$uk" verify good.uk --target=riscv64 >out 2>&1 || status=$?
[[ $status == 1 ]] && [[ $(<out) == *"qemu-riscv64, which is not installed; install Debian's qemu-user"* ]] || { cat out; exit 1; }
