#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests uk run for other architectures, under qemu: programs of examples/, edges, parallel loops, refusals, missing
# tools; and an object whose workspace is an argument, called from C. Arguments: uk, the source tree, clang, and `some`
# or `all`: the number of targets.
. "${0%/*}/run_checks.sh"

# What takes long says so: an emulator that takes more than 5 seconds, beside all that follows.
mkdir "$work/slow" "$work/slow_runs"
printf '#!/bin/sh\nsleep 6\nexec %s "$@"\n' "$(command -v qemu-aarch64)" >"$work/slow/qemu-aarch64"
chmod +x "$work/slow/qemu-aarch64"
TMPDIR=$work/slow_runs PATH=$work/slow:$PATH "$uk" run matmul.uk "${odd[@]}" --target=aarch64-neon --check >"$work/slow/out" 2>&1 &
slow=$!

says 'uk_sgemm_.*_neon.*qemu-aarch64 -cpu cortex-a53' matmul.uk "${odd[@]}" --target=aarch64-neon
says '_armv7neon.*qemu-arm -cpu cortex-a7' matmul.uk "${odd[@]}" --target=armv7-neon
# The emulated CPU is the target's core, or the first one with its features.
says 'run by qemu-aarch64 -cpu neoverse-n1$' matmul.uk "${odd[@]}" --target=neoverse-n1
says 'run by qemu-aarch64 -cpu cortex-a76$' matmul.uk "${odd[@]}" --target=aarch64-neon+f16
says 'run by qemu-aarch64 -cpu max$' matmul.uk "${odd[@]}" --target=cortex-a76+i8mm
says 'run by qemu-arm -cpu cortex-a15$' matmul.uk "${odd[@]}" --target=cortex-a15
for target in aarch64-neon+dotprod+i8mm+bf16 $([[ $which != all ]] || echo "${targets[@]}" riscv64-p); do
    says 'check: equal.*C \(1517\)' matmul.uk "${odd[@]}" --target=$target --check
    says 'check: equal' matmul.uk "${odd[@]}" --size lda=23 --size ldc=50 --target=$target --check
    says 'C f32, 0 elements' matmul.uk --size M=0 --size N=7 --size K=3 --target=$target --check
    says 'check: equal' matmul.uk --size M=9 --size N=5 --size K=0 --target=$target --check
    for program in matmul_tn matmul_nt matmul_tt matmul_acc matmul_i8 matmul_bf16 matmul_f16; do
        says 'check: equal' $program.uk "${odd[@]}" --target=$target --check
    done
    says 'check: equal' conv2d_3x3.uk --size H=13 --size W=11 --size C=20 --size O=33 --target=$target --check
    says 'check: (equal|within)' conv2d_1x1_u8i8.uk --size H=13 --size C=21 --size O=35 --target=$target --check
    says 'check: (equal|within)' conv2d_3x3_u8i8.uk --size H=13 --size W=11 --size C=24 --size O=35 --target=$target --check
    says 'check: (equal|within)' conv2d_3x3_zero_point.uk --size H=13 --size W=11 --size C=24 --size O=35 --target=$target --check
    for rule in float upward doubling; do
        says 'check: equal' conv2d_requantize_$rule.uk --size H=7 --size W=11 --size C=24 --size O=21 --target=$target --check
    done
    computes 'check: equal' conv2d_depthwise.uk --size H=13 --size W=11 --size C=20 --target=$target --check
    for program in u8i8 u8i8_nchw; do
        computes 'check: equal' conv2d_depthwise_$program.uk --size H=13 --size W=11 --size C=20 --target=$target --check
    done
    computes 'check: equal' conv2d_depthwise_u8i8_nchw_s2.uk --size H=13 --size W=11 --size P=7 --size Q=6 --target=$target --check
    computes 'check: equal' conv2d_depthwise_u8i8_nhwc.uk --size H=6 --size W=7 --size C=21 --target=$target --check
    computes 'check: equal' conv2d_depthwise_u8i8_nhwc_s2.uk --size P=3 --size Q=5 --size C=10 --target=$target --check
    computes 'check: equal' maxpool_u8.uk --size H=9 --size W=13 --size P=4 --size Q=6 --size C=20 --target=$target --check
    computes 'check: equal' averagepool_u8.uk --size H=9 --size W=7 --size C=21 --target=$target --check
    for program in conv2d_3x3 conv2d_3x3_u8i8 conv2d_3x3_zero_point matmul; do
        sed -E '/^tensor (F|B|bias) /s/$/ constant/' $program.uk >"$work/constant_$program.uk"
        computes 'check: (equal|within)' "$work/constant_$program.uk" $([[ $program == matmul ]] && echo "${odd[@]}" ||
            echo --define H=13 --define W=11 --define C=24 --define O=35) --target=$target --check
    done
    computes 'check: within' attention.uk --size L=13 --target=$target --check
    computes 'check: equal' mlp.uk --target=$target --check
    refuses 1 'refused its arguments: invalid size' matmul.uk "${odd[@]}" --size lda=3 --target=$target
    refuses 2 '^uk: error: --time: target .* runs under an emulator' matmul.uk "${odd[@]}" --target=$target --time
    path=$work refuses 1 "qemu-.*, which is not installed; install Debian's qemu-user" matmul.uk --target=$target
done

# Conversions to fewer bits, in forms for which RISC-V has instructions and in similar ones: NaN, infinities, limits of
# types, shifts by any amount. With infinities the check only covers rounding, so sums are compared too.
cat >"$work/narrow.uk" <<'END'
scalar z u8
tensor X f32 [N]
tensor S i8 [N]
tensor A i32 [N]
tensor B i32 [N]
tensor U u8 [N]
tensor V i8 [N]
tensor W i8 [N]
tensor R u8 [N]
tensor P i64 [N]
tensor Q i64 [N]
tensor D i64 [N]
tensor K i32 [N]
tensor L u8 [N]
U[i] = u8(round(select(X[i] > 0, X[i] * 1e38 * 100 * 0, X[i] * 100.5)) + f32(z))
V[i] = i8(f32(S[i]) + round(select(X[i] > 0, X[i] * 1e38 * 100 * 0, X[i] * 100.5)))
W[i] = i8(round(X[i] * 1e38 * 100))
R[i] = u8(round(X[i] * 40.5) + 3)
P[i] = i64(A[i] * 1000000007) * i64(B[i] * 1999999973) + (1 << i64(S[i]) - 1) >> i64(S[i])
Q[i] = i64(A[i] * 1000000007) * i64(B[i] * 1999999973) + (1 << min(max(i64(S[i]), 0), 62) - 1) >> min(max(i64(S[i]), 0), 62)
D[i] = min(i64(A[i] * 1000000007) * i64(B[i] * 1999999973) + (1 << 30) >> 31, 2147483647)
K[i] = min(A[i], max(B[i], i32(S[i])))
L[i] = min(u8(A[i]), max(u8(B[i]), 7))
END
for size in "--size N=999" "--define N=14" "--define N=27"; do
    compared=("${targets[@]}" riscv64-p)
    [[ $which == all || $size == --size* ]] || compared=("${targets[0]}" riscv64-p)
    for target in "${compared[@]}"; do
        computes 'check: ' "$work/narrow.uk" $size --target=$target --check
        grep elements "$work/out" >"$work/narrow.$target"
        cmp "$work/narrow.$target" "$work/narrow.${targets[0]}" ||
            { cat "$work/narrow.$target" "$work/narrow.${targets[0]}"; exit 1; }
    done
done
"$uk" explain "$work/narrow.uk" --target=riscv64-p >"$work/out"
for form in U:fcvt.w.s V:fcvt.w.s W:fcvt.w.s R:fcvt.w.s P:written 'Q:sra.u$' 'D:kwmmul.u$' 'K:min$' 'L:min$'; do
    grep -A1 "^stage ${form%:*} is compiled" "$work/out" | grep "${form#*:}" >/dev/null || { echo "$form"; cat "$work/out"; exit 1; }
done
# With 63 the sum may wrap, and the instruction computes something else.
sed -i 's/62/63/g' "$work/narrow.uk"
"$uk" explain "$work/narrow.uk" --target=riscv64-p 2>/dev/null | grep -A1 '^stage Q is compiled' | grep written >/dev/null || exit 1
# Unsigned types: wrapping, comparisons, shifts, and conversions that saturate or round.
cat >"$work/unsigned.uk" <<'END'
tensor X f32 [N]
tensor A i64 [N]
END
for type in u16 u32 u64; do
    sed "s/TYPE/$type/g" <<'END' >>"$work/unsigned.uk"
tensor TYPE_B TYPE [N]
tensor TYPE_sum TYPE [N]
tensor TYPE_bits TYPE [N]
tensor TYPE_to TYPE [N]
tensor TYPE_wide TYPE [N]
tensor TYPE_f32 f32 [N]
tensor TYPE_f64 f64 [N]
tensor TYPE_bf16 bf16 [N]
tensor TYPE_less i8 [N]
TYPE_sum[i] = TYPE(A[i]) * 40503 - TYPE_B[i] * TYPE_B[i]
TYPE_bits[i] = (TYPE_sum[i] >> TYPE_B[i] ^ TYPE_sum[i] << 3 & 4095) | TYPE(index(i))
TYPE_to[i] = TYPE(X[i] * 1e9) + TYPE(X[i] * 3e18) + TYPE(X[i] * 1e38 * 100)
TYPE_wide[i] = TYPE(f64(X[i]) * 5e18) + TYPE(f64(X[i]) / 7 * 30000)
TYPE_f32[i] = f32(TYPE_sum[i])
TYPE_f64[i] = f64(TYPE_sum[i] | 1)
TYPE_bf16[i] = bf16(TYPE_sum[i])
TYPE_less[i] = select(TYPE_sum[i] < TYPE_bits[i], 1, select(max(TYPE_sum[i], TYPE_B[i]) == TYPE_B[i], 2, 3))
END
done
for target in "${targets[@]}" riscv64-p; do
    computes 'check: ' "$work/unsigned.uk" --size N=999 --target=$target --check
    grep elements "$work/out" >"$work/unsigned.$target"
    cmp "$work/unsigned.$target" "$work/unsigned.${targets[0]}" || { cat "$work/unsigned.$target" "$work/unsigned.${targets[0]}"; exit 1; }
done
# Functions, also in vectors, which ARMv7 uses only if steps request them.
{
    cat "$source/tests/cross/functions.uk"
    echo schedule
    for name in exp log tanh erf pow cube log1p expm1 sin cos tan asin acos atan sinh cosh asinh acosh atanh gelu gelutanh swish; do printf '  split F%s.i 8 -> %so %si\n  vectorize %si\n' $name $name $name $name; done
} >"$work/functions_in_vectors.uk"
for program in "$source/tests/cross/functions.uk" "$work/functions_in_vectors.uk"; do
    for target in "${targets[@]}" riscv64-p; do
        computes 'check: ' "$program" --size N=999 --target=$target --check
        [[ $(grep -c 'sum 999$' "$work/out") == 22 ]] || { echo "$program for $target:"; cat "$work/out"; exit 1; }
    done
done
for option in --count --histogram; do
    refuses 2 "^uk: error: $option needs a --target that an emulator or a simulator runs" matmul.uk "${odd[@]}" $option
done

wait $slow && grep -q '^uk: running under an emulator, .* 5 s' "$work/slow/out" || { cat "$work/slow/out"; exit 1; }
says 'check: equal' matmul.uk "${odd[@]}" --target=aarch64-neon --check
grep -q '^uk: ' "$work/out" && { echo 'what takes no time says that it does'; exit 1; }

# A missing library is reported by its package: the preloaded library below hides the file from uk.
cat >"$work/hide.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int access(const char *path, int mode) {
    const char *hidden = getenv("HIDDEN");
    if (hidden && strstr(path, hidden)) {
        errno = ENOENT;
        return -1;
    }
    return faccessat(AT_FDCWD, path, mode, 0);
}
END
"$clang" -shared -fPIC -o "$work/hide.so" "$work/hide.c"
{ "$source/ukernels/machine/archs.py" libraries && printf '%s ld.lld lld-%s\n' aarch64-neon "${UK_LLVM:?}" riscv64-p "${UK_LLVM:?}"; } >"$work/libraries"
while read -r target file package; do
    HIDDEN=$file LD_PRELOAD=$work/hide.so refuses 1 \
        "^uk: error: target $target: .* is missing .*$file.*; install Debian's $package$" matmul.uk --target="$target"
done <"$work/libraries"

# uk kernels shows the library's message about instructions that the system does not report.
cat >"$work/status.c" <<'END'
int uk_cpu_status(const char **message);
int uk_cpu_status(const char **message) {
    *message = "rvp is used because of this test";
    return 0;
}
END
"$clang" -shared -fPIC -o "$work/status.so" "$work/status.c"
LD_PRELOAD=$work/status.so "$uk" kernels 2>&1 >"$work/out" | grep -x 'uk: rvp is used because of this test' >/dev/null ||
    { echo 'uk kernels does not say what the library says'; exit 1; }

# True if an emulator started here is running.
emulates() { grep -qsa "^qemu-aarch64.*$TMPDIR" /proc/[0-9]*/cmdline; }

# interrupted SIGNAL COMMAND...: sends the signal once the command succeeds; the run must end and leave neither a folder
# nor an emulator.
interrupted() {
    local status=0 pid
    env --default-signal="$1" "$uk" run matmul.uk --size M=400 --size N=400 --size K=20000 --target=aarch64-neon >"$work/out" 2>&1 &
    pid=$!
    while kill -0 $pid && ! "${@:2}"; do
        sleep 0.05
    done
    kill -"$1" $pid
    wait $pid || status=$?
    [[ $status == $((128 + $(kill -l "$1"))) ]] || { echo "uk run, sent SIG$1: exit status $status"; cat "$work/out"; exit 1; }
    [[ -z $(ls "$TMPDIR") ]] || { echo "left behind by SIG$1: $(ls "$TMPDIR"/*)"; exit 1; }
    ! emulates || { echo "SIG$1: the emulator runs on"; exit 1; }
}
linking() { [[ -n $(compgen -G "$TMPDIR/*/runner.c") ]]; }
interrupted TERM linking
interrupted INT emulates

# Bytes, bf16 and f16 use kernels of the target's features.
for chosen in matmul_i8:aarch64-neon:uk_i8gemm_4x4_neon_intrin matmul_i8:cortex-a76:uk_i8gemm_8x12_dotprod_asm \
    matmul_i8:neoverse-v1:uk_i8gemm_8x12_i8mm_asm matmul_i8:armv7-neon:uk_i8gemm_2x4_armv7neon_intrin \
    matmul_bf16:aarch64-neon+bf16:uk_bgemm_8x12_bf16_asm matmul_f16:aarch64-neon+f16:uk_hgemm_8x24_f16_asm; do
    IFS=: read -r program target kernel <<<"$chosen"
    says "$kernel" $program.uk "${odd[@]}" --target=$target --check
    grep -q 'check: equal' "$work/out" || { cat "$work/out"; exit 1; }
done

# A parallel loop whose threads allocate buffers of their own.
cat >"$work/parallel.uk" <<'END'
tensor A f32 [M, K]
tensor B f32 [K, N]
tensor C f32 [M, N]
C[m, n] = sum(k) A[m, k] * B[k, n]
schedule
  split C.m 24 -> mo mi
  parallel mo
END
for target in "${targets[@]}"; do
    "$uk" compile "$work/parallel.uk" --target=$target --emit=loops | grep parallel >/dev/null
    computes 'check: equal' "$work/parallel.uk" --size M=100 --size N=9 --size K=7 --target=$target --check
    says 'check: equal' matmul.uk --size M=200 --size N=150 --size K=130 --threads=2 --target=$target --check
done

# With the caller's workspace the function needs no other object.
cat >"$work/main.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "matmul_tn.h"
enum { M = 61, N = 50, K = 33 };
static float a[K * M], b[K * N], c[M * N];
int main(void) {
    const int64_t bytes = matmul_tn_workspace(M, N, K, M, N, N);
    char *work = bytes < 0 ? NULL : aligned_alloc(64, (size_t)bytes / 64 * 64 + 64);
    for (int i = 0; i < K * M; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    if (!work || matmul_tn(M, N, K, M, N, N, a, b, c, work))
        return 1;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[k * M + i] * b[k * N + j];
            if (c[i * N + j] != sum)
                return 2;
        }
    printf("%d bytes\n", (int)bytes);
    return matmul_tn_workspace(-1, N, K, M, N, N) != -1;
}
END
while read -r _ target qemu triple _; do
    "$uk" compile matmul_tn.uk --require-kernels --workspace=argument --target="$target" -o "$work/work.o"
    "$uk" compile matmul_tn.uk --require-kernels --workspace=argument --target="$target" --emit=header -o "$work/matmul_tn.h"
    "$clang" --target="$triple" -static -fuse-ld=lld -o "$work/work" "$work/main.c" "$work/work.o"
    "$qemu" "$work/work"
done <"$work/emulated"

# On 32 bits, calls that cannot be addressed are refused at entry: operands or a workspace of 2^31 bytes, an operand
# that ends beyond the last address. Sizes and strides are not cut to 32 bits.
cat >"$work/packs.uk" <<'END'
tensor A f32 [M, K]
tensor B f32 [K, N]
tensor C f32 [M, N]
C[m, n] = sum(k) A[m, k] * B[k, n]
schedule
  split C.m 4 -> mo mi
  split C.n 8 -> no ni
  pack A at root panel 4
  pack B at root panel 8
  reorder mo no mi ni k
  tensorize mi uk_sgemm_4x8_generic_c
END
cat >"$work/rows.uk" <<'END'
tensor X f32 [M, N] stride [ldx, 1]
tensor Y f32 [M, N]
Y[m, n] = X[m, n] + X[m, n]
END
cat >"$work/limits.c" <<'END'
#include <stdio.h>
#include <sys/mman.h>
#include "packs.h"
#include "rows.h"
static const int64_t limit = (int64_t)1 << 29; /* elements in 2^31 bytes */
static int failures;
static void expect(const char *what, int64_t got, int64_t wanted) {
    if (got != wanted) {
        printf("%s: %lld, not %lld\n", what, (long long)got, (long long)wanted);
        failures++;
    }
}
int main(void) {
    static float x[2048], y[1024];
    const int64_t packs = 2 * 4 * 1024 * 262144LL;
    /* two elements in a block of 2^31 - 4 bytes */
    float *far = mmap(NULL, (size_t)(limit - 1) * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED) {
        perror("a block of 2^31 - 4 bytes");
        return 1;
    }
    far[limit - 2] = 3;
    expect("rows 2^31 - 8 bytes apart", rows(2, 1, limit - 2, far, y, NULL), UK_OK);
    expect("their second element", (int64_t)y[1], 6);
    expect("packs below 2^31 bytes", packs_workspace(1024, 262143, 1024), packs - 8192);
    expect("packs of 2^31 bytes", packs_workspace(1024, 262144, 1024), sizeof(void *) == 4 ? -1 : packs);
    expect("packs of 2^32 bytes", packs_workspace(1024, 524288, 1024), sizeof(void *) == 4 ? -1 : 2 * packs);
    expect("no rows, far apart", rows(0, 1, (int64_t)1 << 40, x, y, NULL), UK_OK);
    y[0] = 7;
    if (sizeof(void *) == 4) {
        expect("rows 2^31 - 4 bytes apart", rows(2, 1, limit - 1, x, y, NULL), UK_INVALID_SIZE);
        expect("rows 2^32 elements and some apart", rows(2, 512, 1024 + ((int64_t)1 << 32), x, y, NULL), UK_INVALID_SIZE);
        expect("a row of 2^31 bytes", rows(1, limit, limit, x, y, NULL), UK_INVALID_SIZE);
        expect("2^32 rows of an element", rows((int64_t)1 << 32, 1, 1, x, y, NULL), UK_INVALID_SIZE);
        expect("an operand behind the last address", rows(2, 512, 1024, (float *)0xfffff800u, y, NULL), UK_INVALID_SIZE);
        expect("an output behind the last address", rows(2, 512, 1024, x, (float *)0xfffff800u, NULL), UK_INVALID_SIZE);
        expect("an output that is not written", (int64_t)y[0], 7);
    }
    return failures;
}
END
while read -r _ target qemu triple _; do
    for program in packs rows; do
        "$uk" compile "$work/$program.uk" --workspace=argument --target="$target" -o "$work/$program.o"
        "$uk" compile "$work/$program.uk" --workspace=argument --target="$target" --emit=header -o "$work/$program.h"
    done
    "$clang" --target="$triple" -static -fuse-ld=lld -o "$work/limits" "$work/limits.c" "$work/packs.o" "$work/rows.o"
    "$qemu" "$work/limits" || { echo "limits of $target"; exit 1; }
done <"$work/emulated"

[[ -z $(ls "$TMPDIR") ]] || { echo "left behind: $(ls "$TMPDIR")"; exit 1; }
