#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the command uk: exit statuses, messages, and files that it leaves. Arguments: uk, the source tree.
set -uo pipefail
uk=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cases=0

# expect STATUS STDOUT-REGEX STDERR-REGEX ARGUMENT...: checks a command; "" expects no output on that stream.
expect() {
    local status=$1 out=$2 err=$3 got stream text pattern
    shift 3
    cases=$((cases + 1))
    "$uk" "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [[ $got != "$status" ]]; then
        echo "uk $*: exit status $got, expected $status"
        cat "$work/err"
        failures=$((failures + 1))
        return
    fi
    for stream in out err; do
        text=$(tr '\0' ' ' <"$work/$stream")
        [[ $stream == out ]] && pattern=$out || pattern=$err
        if [[ -z $pattern && -n $text ]] || [[ -n $pattern && ! $text =~ $pattern ]]; then
            echo "uk $*: std$stream is:"
            printf '%s\n' "$text"
            echo "expected: ${pattern:-nothing}"
            failures=$((failures + 1))
        fi
    done
}

fail() {
    echo "$1"
    failures=$((failures + 1))
}

cp "$source"/examples/*.uk "$source"/examples/*.c "$work"
cd "$work" || exit 1
printf 'tensor A f32 [M\nA[i] = ?\n' >bad.uk
printf 'tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = exp(X[i])\n' >softly.uk
printf 'schedule\n  split C.m 4 -> mo mi\n  tensorize mi no_such_kernel\n' >steps.uk
kernel=uk_sgemm_6x16_avx2_asm

cat >wrong.uk <<'END'
intrinsic twice_4
  tensor a f32 [4]
  tensor b f32 [4]
  b[i] = a[i] + a[i]
  compute void twice_4(ptr a, ptr b)
end
pragma import c """
void twice_4(const float *a, float *b);
void twice_4(const float *a, float *b) {
  for (int i = 0; i < 4; i++)
    b[i] = a[i] + 1;
}
"""
tensor X f32 [N]
tensor Y f32 [N]
Y[i] = X[i] + X[i]
schedule
  split Y.i 4 -> io ii
  tensorize ii twice_4
END

# Usage and options.
expect 1 'sum' '^uk: error: Y\[0\] is -1, but the interpreter.s is -4; the program has kernels of its own: .uk verify. compares them with their declarations.?$' \
    run wrong.uk --size=N=8 --check
expect 0 '^usage: uk COMMAND' '' --help
expect 0 '^usage: uk run FILE' '' run --help
expect 0 '^usage: uk run FILE' '' run matmul.uk -h
expect 0 '^usage: uk run FILE' '' help run
expect 2 '' "unknown command 'rnu'; did you mean 'run'. 'uk help' lists them" help rnu
expect 2 '' "unknown option '--verison'" --verison
commit=
! git --git-dir="$source/.git" rev-parse HEAD >/dev/null 2>&1 || commit=' \(commit [0-9a-f]{12}(-dirty)?\)'
expect 0 "^uk [0-9.]+$commit\$" '' --version
expect 2 '' '^usage: uk COMMAND'
expect 2 '' "unknown command 'kernls'; did you mean 'kernels'" kernls
expect 2 '' "unknown command 'zzzzzzzz'; 'uk help' lists them" zzzzzzzz
expect 0 'product: sgemm, 30 x 20 x 40' '' gemm 20 30 40 --layout=column
expect 0 'product: dgemm, 20 x 30 x 40' '' gemm 20 30 40 --type=f64 --ta=t
expect 2 '' "unknown option '--explain'" gemm 20 30 40 --explain
expect 2 '' 'layout=x is unknown; use one of row, column' gemm 20 30 40 --layout=x
expect 2 '' 'expected a size' gemm 20 30 -- -4
# A kernel with more columns than the matrix.
expect 0 'GB/s' '' bench uk_sgemv_t_4x8192_generic_c
# --plan selects a plan; the help does not list it.
widest=$("$uk" gemm 200 300 400 --plan=tiles | sed -n 's/^kernel: //p')
expect 0 "kernel: $widest" '' gemm 200 300 400 "--plan=tiles,$widest,100"
expect 0 'kc 100' '' gemm 200 300 400 "--plan=tiles,$widest,100"
expect 0 'path: tiles' '' gemm 4 4 4 --plan=tiles
expect 0 'path: small' '' gemm 4 4 4 --plan=small --type=f64
expect 0 'inner products' '' gemm 40 40 4 --tb=t --plan=dots --machine=zen3
expect 1 '' 'this path, kernel and blocks cannot compute the product' gemm 40 40 40 --plan=vector
expect 1 '' 'this path, kernel and blocks cannot compute the product' gemm 40 40 40 --plan=tiles,uk_sgemm
expect 2 '' 'a plan is PATH\[,KERNEL\[,KC\]\], and a path scale, small, vector, dots or tiles' gemm 4 4 4 --plan=fast
expect 2 '' 'expected a size' gemm 4 4 4 --plan=tiles,,x
! "$uk" gemm --help | grep -e --plan
UK_ISA=sse9 expect 1 '' 'UK_ISA=sse9 is not an instruction set; use one of generic' gemm 20 30 40
# Environment variables that the libraries ignore silently.
expect 0 '^symbol' '' kernels
UK_ISA=sse9 expect 0 '^symbol' '^uk: warning: UK_ISA=sse9 is not an instruction set; use one of generic.*; only generic kernels run' kernels
for text in 0 1025 -1 two 2x ''; do
    UK_NUM_THREADS=$text expect 0 '^symbol' "^uk: warning: UK_NUM_THREADS=$text is not a number from 1 to 1024; .* threads, the default, are used" kernels
done
UK_NUM_THREADS=3 expect 0 '^symbol' '' kernels
expect 2 '' "unknown option '--chek'; did you mean '--check'" run matmul.uk --chek
expect 2 '' "unknown option '--json'" run matmul.uk --json
expect 2 '' 'uk run needs a FILE' run
expect 2 '' "'two' is one argument too many" run one two
expect 2 '' 'target needs a value' run matmul.uk --target
expect 2 '' 'check=yes is unknown; use one of all' run matmul.uk --check=yes
expect 2 '' 'time takes no value' run matmul.uk --time=yes
expect 2 '' 'count=layers: a program has no layers' run matmul.uk --count=layers --target=riscv64
expect 2 '' 'require-kernels and --no-kernels exclude each other' run matmul.uk --require-kernels --no-kernels
expect 2 '' 'sweep is for uk bench gemm, conv, ops and networks' bench --sweep
expect 2 '' 'weights is for uk bench conv' bench gemm --weights=constant
expect 2 '' 'type=bf16 is not for uk bench conv; use f32 or u8i8' bench conv --type=bf16
expect 2 '' 'type=u8 is not for uk bench gemm; use f32' bench gemm --type=u8
expect 2 '' 'seed is only for --sweep' bench networks x.onnx --seed=3
expect 2 '' 'sweep: uk bench networks draws the layers; leave out x.onnx' bench networks x.onnx --sweep
expect 2 '' 'json: uk bench networks needs a file' bench networks --sweep --json
expect 2 '' 'expected NAME=INTEGER' run matmul.uk --define M
expect 2 '' 'expected NAME=INTEGER' run matmul.uk --define M=12x
expect 2 '' 'give it once' run matmul.uk --define M=12 --size M=13
expect 2 '' "matmul.uk has no size 'Q'; its sizes are M, N, K, lda, ldb, ldc" run matmul.uk --define Q=12
expect 2 '' "has no size 'ldd'; did you mean 'lda'" compile matmul.uk --size ldd=12 --emit=loops
expect 1 '' "unknown target 'cortex-a67.f16'; did you mean 'cortex-a76'" compile matmul.uk --target=cortex-a67+f16 --emit=asm
expect 2 '' "size 'M' is -1; give 0 or more" run matmul.uk --size M=-1
expect 2 '' 'expected a number from 1 to 1024' run matmul.uk --threads 0
expect 2 '' "size 'N' of .* has no value; give --size N=" run softly.uk
printf 'tensor X f32 [H]\ntensor F f32 [R]\ntensor Y f32 [P]\nassume P == H + 2 - R + 1\nY[p] = sum(r) pad(X[p + r - 1], 0) * F[r]\n' > window.uk
expect 2 '' "size 'P' of window.uk is -4 by the .assume. in line 4; give other sizes" run window.uk --size H=3 --size R=10
expect 2 '' "size 'R' of window.uk has no value; give --size R=" run window.uk --size H=3
expect 0 "equal to the interpreter's, every element of Y .0." '' run window.uk --size H=3 --size R=6 --check
expect 2 '' 'did you mean optimized' compile matmul.uk --emit=optimised
expect 2 '' 'refusing to write an object to standard output; use -o FILE' compile matmul.uk

# Refusals with a position.
expect 1 '' 'no.uk: cannot read: No such file' run no.uk
expect 1 '' 'not a regular file' run .
expect 1 '' '^bad.uk:[0-9]+:[0-9]+: error: ' run bad.uk
expect 1 '' 'error: .*no_such_kernel' compile matmul.uk --schedule=steps.uk --emit=schedule
expect 1 '' '^softly.uk:3:1: error: no kernel matches stage .Y.' run softly.uk --size N=4 --require-kernels
plain="softly.uk:3:1: note: stage 'Y' is compiled as plain loops: no kernel matches it; the closest is uk_"
expect 0 'check: within [0-9]+ roundings' "^$plain" run softly.uk --size N=4 --check
expect 1 '' 'error: .*no-such-target' compile matmul.uk --target=no-such-target --emit=asm

# Standard input in place of a file.
input() {
    local text=$1
    shift
    cat "$text" >"$work/input"
    expect "$@" <"$work/input"
}
input matmul.uk 0 '^program for native.*check: equal' '' run - --size M=5 --size N=7 --size K=3 --check
UK_PEERS=$work input matmul.uk 0 'again in the same process' '' run - --size M=8 --size N=8 --size K=8 --time
input matmul.uk 0 'int product\(' '' compile - --name=product --emit=header
input matmul.uk 0 'int program\(.*int softly\(' "^$plain" compile - softly.uk --emit=header -o -
input bad.uk 1 '' '^<stdin>:[0-9]+:[0-9]+: error: ' explain -
input vadd.uk 0 '^vadd_16 compute: ok' '' verify -
input matmul.uk 2 '' "^uk: error: <stdin> has no size 'Q'" run - --size Q=1
input softly.uk 2 '' "size 'N' of <stdin> has no value" run -
printf 'schedule\n  unroll C.k\n' >plain.uk
input plain.uk 1 '' '<stdin>:2:' run matmul.uk --schedule=- --size M=5 --size N=7 --size K=3
input matmul.uk 2 '' 'are both standard input; give one as a file' run - --schedule=-
input matmul.uk 2 '' 'standard input can be only one program' compile - - --emit=loops
input matmul.uk 2 '' '--log is read and written; give a file' tune - --log=- --size M=9
[[ ! -e ./- ]] || fail 'a file of the name - was made'

# Kernels compared with their declarations.
expect 0 '^vadd_16 compute: ok, [0-9]+ cases$' '' verify vadd.uk
expect 0 "^$kernel compute: ok, .*$kernel update: ok, " '' verify $kernel --seed=5
sed 's/a + 8/a + 7/' vadd_16.c >vadd_off.c
sed 's/vadd_16.c/vadd_off.c/' vadd.uk >vadd_off.uk
expect 1 '^vadd_16 compute: WRONG in case 1: c.8. is .*, not .*; with a .*, b .*, c ' '' verify vadd_off.uk
expect 1 '' 'declares no intrinsic' verify matmul.uk
expect 1 '' 'no_such.uk: cannot read' verify no_such.uk
expect 2 '' "unknown kernel '${kernel}m'; did you mean '$kernel'" verify ${kernel}m
expect 2 '' "unknown kernel '${kernel#uk_}'; did you mean '$kernel'" verify ${kernel#uk_}
expect 2 '' "expected an integer" verify vadd.uk --seed=x
expect 2 '' "--seconds 0: expected a number from 1" verify vadd.uk --seconds=0
cat >endless.uk <<'END'
pragma import c """
void f(float *c) { for (;;) __asm__ volatile(""); }
"""
intrinsic f
  tensor c f32 [4]
  c[i] = 1
  compute void f(ptr c)
end
END
expect 1 '^f compute: WRONG in case 1: does not return within 1 seconds' '' verify endless.uk --seconds=1
expect 1 '' 'interp has no machine code' verify vadd.uk --target=interp

# Running and checking: sizes that are not multiples of a tile, empty ones, and padded rows.
small=(--size M=37 --size N=41 --size K=19)
expect 0 'sizes: M=37 N=41 K=19 lda=19 ldb=41 ldc=41.*C f32, 1517 elements:.*check: equal.*C \(1517\)' '' \
    run matmul.uk "${small[@]}" --check
expect 0 'M \(constant\)=37.*check: equal' '' run matmul.uk --define M=37 --size N=41 --size K=19 --check
expect 0 'ldc=50.*check: equal' '' run matmul.uk "${small[@]}" --size ldc=50 --size lda=23 --check
expect 0 'check: equal' '' run matmul.uk "${small[@]}" --target=interp --check
# Copied loops: those that initialize sums with the bias share variables with those that read the sums.
expect 0 'check: equal' '' run "$source/examples/conv2d_depthwise_u8i8_nchw.uk" --target=riscv64-p --device=interp --threads=1 \
    --define N=1 --define H=4 --define W=4 --define C=1 --check
expect 0 'check: equal' '' run matmul.uk "${small[@]}" --threads=2 --check
expect 0 'check: equal' '' run matmul.uk --size M=5 --size N=7 --size K=0 --check
expect 0 'C f32, 0 elements' '' run matmul.uk --size M=0 --size N=7 --size K=3 --check
expect 0 'C f32, 0 elements.*check: equal' '' run matmul.uk --define M=0 --check
expect 0 'check: equal' '' run matmul.uk --define K=0 --size M=9 --size N=5 --check
# Several schedules: the one that is taken is printed; --check also calls the others, one of which has a wrong kernel.
sed '/^schedule/s/$/ where N < 6/' wrong.uk >one_wrong.uk
printf 'schedule\n  split Y.i 8 -> io ii\n' >>one_wrong.uk
printf '%s\n' 'tensor X f32 [M, N]' 'tensor Y f32 [M, N]' 'Y[i, j] = X[i, j] + X[i, j]' \
    'schedule where N >= 8 and M < 4' 'schedule where M == N' schedule >versions.uk
expect 0 'sizes: N=8.schedule 2 of 2: no condition holds.Y f32' 'compiled as plain loops' run one_wrong.uk --size N=8
expect 1 'check: equal to' 'Y\[[0-9]\].*that was another call, on one side of a condition; sizes: N=5' \
    run one_wrong.uk --size N=8 --check
expect 0 'sizes: M=2 N=8.schedule 1 of 3: where N >= 8 and M < 4.*check: equal.*sizes on both sides of the conditions; .*: [1-9][0-9]*, [1-9][0-9]*, [1-9]' '' \
    run versions.uk --size M=2 --size N=8 --check --threads=1
expect 2 '' 'several schedules, and uk tune changes one; leave one' tune versions.uk --size M=2 --size N=8
refused='uk: error: matmul: the function refused its arguments: invalid size'
expect 1 'sizes:' "matmul.uk:[0-9]+:8: error: the stride lda of dimension 0 of A is 3, and .* 19 elements; make it 19.*
$refused" run matmul.uk "${small[@]}" --size lda=3
expect 1 'sizes:' 'conv2d_3x3_s2.uk:[0-9:]+ error: assume P == \(H \+ 1\) / 2 .*does not hold for H = 9, .*P = 4' \
    run conv2d_3x3_s2.uk --size H=9 --size P=4
printf 'tensor X f32 [N, 4]\ntensor Y f32 [M - 2]\nY[i] = X[i + 1, 0] + X[i + 3, 0]\n' >ahead.uk
expect 1 'sizes:' 'ahead.uk:3:22: error: X\[i \+ 3, 0\]: dimension 0 of X is indexed by 8 and its extent is 8' \
    run ahead.uk --size N=8 --size M=8
expect 1 '' 'ahead.uk:2:8: error: the extent M - 2 of dimension 0 of Y is -1, which is negative' run ahead.uk --size N=8 --size M=1
: >empty.uk
expect 1 '' '^empty.uk:1:1: error: the program has no statement; write' run empty.uk
for program in matmul_tn matmul_nt matmul_tt matmul_acc matmul_i8 matmul_bf16 matmul_f16; do
    expect 0 'check: equal' '' run $program.uk "${small[@]}" --check
done
expect 0 'check: equal' '' run conv2d_1x1_u8i8.uk --size H=13 --size C=21 --size O=35 --check
expect 0 'check: equal' '' run conv2d_3x3_u8i8.uk --size H=13 --size W=11 --size C=24 --size O=35 --check
expect 0 'check: equal' '' run conv2d_3x3_zero_point.uk --size H=13 --size W=11 --size C=24 --size O=35 --check
expect 0 'check: equal' 'is compiled as plain loops' run maxpool_u8.uk --size H=9 --size W=13 --size P=4 --size Q=6 --size C=20 --check
expect 0 'check: equal' 'is compiled as plain loops' run averagepool_u8.uk --size H=9 --size W=7 --size C=21 --check
for c in '0 5 9' '8 16 4' '33 0 0'; do
    read -r c1 c2 c3 <<<"$c"
    expect 0 'check: equal' 'is compiled as plain loops' run concat.uk --size H=7 --size C1=$c1 --size C2=$c2 --size C3=$c3 --check
done
for h in 0 1 6; do
    expect 0 'check: equal' 'is compiled as plain loops' run pad_tensorflow.uk --size H=$h --size W=5 --size C=3 --check
done
for program in u8i8 u8i8_nchw u8i8_nhwc; do
    expect 0 'check: equal' 'is compiled as plain loops' run conv2d_depthwise_$program.uk --size H=13 --size W=11 --size C=20 --check
done
expect 0 'check: equal' 'is compiled as plain loops' run conv2d_depthwise_u8i8_nchw_s2.uk --size H=13 --size W=11 --size P=7 --size Q=6 --check
expect 0 'check: equal' '' run conv2d_depthwise_u8i8_nhwc_s2.uk --size P=7 --size Q=6 --size C=37 --check
for rule in float upward doubling; do
    expect 0 'check: equal' '' run conv2d_requantize_$rule.uk --size H=13 --size W=11 --size C=24 --size O=35 --check
done
export UK_PEERS=$work/nowhere
expect 0 'compiled in .* ms; again .*OpenBLAS: not inst.*MKL: not inst.*time: .* GFLOP/s, .* % of the .* peak' '' \
    run matmul.uk --size M=64 --size N=64 --size K=64 --threads=1 --time

# Every stage; -o is written only after success and leaves no other file.
for what in schedule loops llvm linked optimized asm header; do
    expect 0 . '' compile matmul.uk --emit=$what
done
expect 0 'tensorize' '' compile matmul.uk --emit=schedule
expect 0 '' '' compile matmul.uk --name=product --emit=header -o product.h
grep -q 'int product(' product.h || fail 'product.h lacks int product('
expect 2 '' 'not a C identifier' compile matmul.uk --name='not a name' --emit=header
expect 0 '' '' compile matmul.uk -o matmul.o
[[ -s matmul.o ]] || fail 'matmul.o was not written'
echo precious >kept
# Kernel arguments that are the same constant, K = 4 * ldc, one of which is counted down.
for tile in '14 32 avx512' '6 16 avx2'; do
    read -r mr nr isa <<<"$tile"
    grep -qw "${isa/%512/512dq}" /proc/cpuinfo || continue
    cat >constants.uk <<END
tensor A f32 [20, $((4 * nr))]
tensor B f32 [$((4 * nr)), $nr]
tensor C f32 [20, $nr]
C[m, n] = sum(k) A[m, k] * B[k, n]
schedule
  split C.m $mr -> mo mi
  pack A at root panel $mr
  pack B at root panel $nr
  tensorize mi uk_sgemm_${mr}x${nr}_${isa}_asm
END
    expect 0 'check: equal' '' run constants.uk --check
done

# The file's extension determines the stage.
for kind in o:relocatable so:shared s:vfmadd\|text ll:define h:'int matmul'; do
    expect 0 '' '' compile matmul.uk --target=x86_64-avx2 -o kind.${kind%%:*}
    { "$LLVM_BIN/llvm-readelf" -h kind.${kind%%:*} 2>/dev/null; cat kind.${kind%%:*}; } | tr '\0' ' ' | grep -aiE "type: .*${kind#*:}|${kind#*:}" >/dev/null ||
        fail "kind.${kind%%:*} is not what its ending says"
done
expect 2 '' "-o x.txt: unknown file type '.txt'; use .o, .so, .s, .ll or .h, or say what by --emit" compile matmul.uk -o x.txt
[[ ! -e x.txt ]] || fail 'x.txt was written'
expect 0 '' '' compile matmul.uk --emit=loops -o loops.txt
expect 0 '' '' compile matmul.uk -o none
cmp -s none matmul.o || fail 'a name without an ending is not an object'

# Several programs as one piece of code.
expect 0 '' "^$plain" compile matmul.uk softly.uk --emit=shared -o both.so
[[ $(nm -D --defined-only both.so | cut -d' ' -f3 | sort | tr '\n' ' ') == 'matmul softly ' ]] || fail 'both.so: functions'
nm -D --undefined-only both.so | grep -vE '@GLIBC' && fail 'both.so needs more than libc'
"$LLVM_BIN/llvm-readelf" --needed-libs both.so | grep libm && fail 'both.so needs libm, which no kernel calls'
expect 0 '' "^$plain" compile matmul.uk softly.uk -o both.o
cp both.o again.o
expect 0 '' 'compiled in parse [0-9.]+, .*link .*assemble [0-9.]+: [0-9.]+ ms' \
    compile matmul.uk softly.uk --size M=8 --time -o both.o
expect 0 '' "^$plain" compile matmul.uk softly.uk -o both.o
cmp -s both.o again.o || fail 'the same programs give another object'
expect 0 '' '' compile matmul.uk --threads=2 --emit=shared -o threads.so
[[ $(nm -D --undefined-only threads.so | grep -o 'uk_.*' | sort | tr '\n' ' ') == 'uk_num_threads uk_parallel_for ' ]] ||
    fail 'threads.so: what it needs'
expect 0 'int matmul\(.*int softly\(' "^$plain" compile matmul.uk softly.uk --emit=header
expect 0 '# matmul.*# softly' "^$plain" compile matmul.uk softly.uk --emit=loops
expect 1 '' 'function matmul is also made from matmul.uk; rename one' compile matmul.uk matmul.uk -o both.o
expect 2 '' 'name is for one program, but 2 are given' compile matmul.uk softly.uk --name=f -o both.o
expect 2 '' "no program has a size 'Q'" compile matmul.uk softly.uk --size Q=1 -o both.o
expect 2 '' "no program has a size 'ldd'; did you mean 'lda'" compile matmul.uk softly.uk --size ldd=1 -o both.o
expect 0 '' '' compile matmul.uk --workspace=argument -o work.o
[[ $(nm work.o | grep -c ' U ') == 0 ]] || fail 'work.o needs other functions'
expect 0 'int64_t matmul_workspace\(' '' compile matmul.uk --workspace=argument --emit=header
expect 2 '' 'workspace=stack is unknown; use one of allocate, argument' compile matmul.uk --workspace=stack -o work.o
expect 2 '' 'refusing to write a shared object to standard output; use -o FILE' compile matmul.uk --emit=shared
expect 1 '' 'error' compile bad.uk -o kept
[[ $(cat kept) == precious ]] || fail 'a refused program overwrote its output'
expect 1 '' 'cannot write' compile matmul.uk --emit=asm -o no/such/folder
[[ -z $(find . -name '*.??????' -newer kept) ]] || fail "temporary files were left: $(ls)"
expect 0 '' '' compile matmul.uk --emit=asm -o /dev/null
[[ -c /dev/null ]] || fail '/dev/null was replaced'
expect 0 'uk_sgemm' '' explain matmul.uk
# The ten closest candidates of each statement, once each; all candidates if requested.
lines() { { "$uk" "${@:2}" 2>&1 || true; } | awk -v most="$1" 'END { if (NR > most || NR < 5) { print NR " lines"; exit 1 } }' || fail "uk ${*:2}: more than $1 lines"; }
lines 15 explain softly.uk
lines 60 explain matmul.uk
lines 20 compile softly.uk --require-kernels --emit=loops
expect 0 'candidates.*and [0-9]+ more, which --all lists.*is compiled as plain loops' '' explain softly.uk
expect 1 '' 'no kernel matches stage .Y.; do not require kernels.*and [0-9]+ more, which uk explain --all lists' \
    compile softly.uk --require-kernels --emit=loops
"$uk" explain softly.uk --all >all
[[ $(wc -l <all) -gt 50 && $(grep -c ' more, which' all) == 0 ]] || fail 'uk explain --all does not list all'
[[ -z $(awk '/^  uk_/ { print $1 }' all | sort | uniq -d) ]] || fail 'uk explain names a candidate twice'
[[ $(sed -n 2p all) == '  uk_vadd'* ]] || fail 'uk explain does not begin with the nearest candidate'

# The registry.
expect 0 "symbol .*$kernel" '' kernels
expect 0 "^symbol .*$kernel.*uk_sgemm_ra_6x16_avx2" '' kernels sgemm --isa=avx2
[[ $("$uk" kernels sgemm --isa=avx2 | grep -c '^uk_') == $("$uk" kernels | grep -cE '^uk_[^ ]+ +sgemm(_[^ ]*)? .* avx2 ') ]] || fail 'kernels sgemm --isa=avx2'
expect 2 '' "unknown operation 'sgem'; did you mean 'sgemm'" kernels sgem
expect 2 '' "unknown instruction set 'avx3'; did you mean 'avx" kernels sgemm --isa=avx3
expect 2 '' "no kernel of 'sgemm' has the instruction set 'rvp'" kernels sgemm --isa=rvp
expect 0 'native +x86_64 .*x86_64-avx2 +x86_64 +haswell, zen3.*cortex-a76 +aarch64 +cortex-a76.*amdgcn-gfx906 ' '' help targets
expect 0 '[Bb]ound' '' show $kernel
expect 0 "^intrinsic $kernel" '' show $kernel --declaration
expect 0 'vfmadd231ps' '' show $kernel --asm
expect 0 "define .*@$kernel" '' show $kernel --llvm
expect 0 '' '' show $kernel --bitcode -o kernel.bc
[[ $(head -c 2 kernel.bc) == BC ]] || fail 'kernel.bc is no bitcode'
expect 2 '' 'refusing to write bitcode to standard output; use -o FILE, or --llvm for text' show $kernel --bitcode
expect 2 '' 'exclude each other' show $kernel --asm --llvm
expect 2 '' "did you mean '$kernel'" show uk_sgemm_6x16_avx2_asn
generic=uk_sgemm_4x8_generic_c
expect 0 "$generic .* % of the SSE2 peak" '' bench $generic
expect 0 '"benchmarks":.*"real_time":.*"percent_of_peak"' '' bench $generic --json
expect 2 '' 'unknown kernel' bench nothing
expect 2 '' 'unknown kernel' bench nothing --target=aarch64-neon
expect 1 '' "^error: kernel $kernel is for x86_64, which target aarch64-neon is not" bench $kernel --target=aarch64-neon
expect 1 '' 'uk_hpack_t_8x1_generic_c is neither a product nor a vector operation' bench uk_hpack_t_8x1_generic_c --target=aarch64-neon
expect 2 '' 'are for uk bench gemm' bench $kernel --target=x86_64-avx2
for option in --histogram --cycles; do
    for what in $kernel gemm "--static $kernel --target=riscv64-p"; do
        expect 2 '' "$option needs kernels and a --target of another architecture" bench $what $option
    done
done
expect 2 '' "^uk: error: --cycles: latencies are known of RISC-V P only" bench --cycles --target=riscv64
expect 1 '' '^error: kernel uk_igemm_4x5_rvp_asm is for rvp, which target riscv64 lacks' bench uk_igemm_4x5_rvp_asm --target=riscv64
for static in uk_sgemm_{8x12,6x16}_neon_{asm,intrin}; do
    expect 0 "$static +cortex-a76 +[.0-9]+ +[.0-9]+ +(9[5-9]|100) % +8[89][.0-9]* %" '' bench --static $static
    expect 0 "$static +neoverse-n1 +12[.0-9]* +12[.0-9]* +(9[5-9]|100) % +8[89][.0-9]* %" '' bench --static $static
done
expect 0 'uk_sgemm_8x12_neon_asm +neoverse-v1 +6[.0-9]* +6[.0-9]* ' '' bench --static uk_sgemm_8x12_neon_asm --target=neoverse-v1
expect 0 'uk_sgemm_14x32_avx512_asm +skylake-avx512 +1[45][.0-9]* +14[.0-9]* .* 59.6 %' '' bench --static uk_sgemm_14x32_avx512_asm
expect 0 'uk_sgemm_4x8_armv7neon_asm +cortex-a9 +8[.0-9]* +8[.0-9]* +(9[5-9]|100) % +8[2-9]' '' bench --static uk_sgemm_4x8_armv7neon_asm
UK_LLVM_MCA=/no/where expect 1 'kernel' '/no/where: No such file.*package llvm-[0-9]+ .*UK_LLVM_MCA' bench --static uk_sgemm_8x12_neon_asm
expect 2 '' 'nothing is measured' bench --static --json uk_sgemm_8x12_neon_asm
expect 2 '' 'unknown kernel' bench --static nothing
expect 1 'kernel' 'its code has no loop' bench --static uk_vadd_1x8_neon_intrin
expect 1 'kernel' "uk_igemm_4x5_rvp_asm: LLVM has no model of the instructions of rvp; use uk bench --target to count" \
    bench --static uk_igemm_4x5_rvp_asm

expect 0 'on cortex-a53.*uk_vadd_1x8_armv7neon_intrin [^
]* no: arm.*uk_sgemm_8x12_neon_asm [^
]* yes' '' kernels --target=cortex-a53
expect 0 'uk_sgemm_8x12_neon_asm [^
]* - +no: aarch64' '' kernels
# Rows for one core: instructions that issue next to FMAs are not counted as loads.
expect 0 'uk_sgemm_8x12_neon_asm_a53 [^
]* 80 % +yes.*uk_sgemm_8x12_neon_asm [^
]* 69 % +yes' '' kernels --target=cortex-a53
# The target determines the bound: bytes on plain NEON are limited by nothing, by loads that cannot issue with
# multiply-adds, by the issue width.
for bound in 'aarch64-neon:100' 'cortex-a53:50' 'neoverse-v1:50'; do
    expect 0 "uk_i8gemm_4x4_neon_intrin [^
]* 16/8/16 +${bound#*:} % +yes" '' kernels --target=${bound%:*}
done
expect 1 '' 'unknown target .vax.' kernels --target=vax
expect 0 'fmla' '' show uk_sgemm_8x12_neon_asm --asm
expect 0 'fmla' '' show uk_sgemm_8x12_neon_asm --asm --target=neoverse-n1
expect 0 'target triple = "armv7' '' show $generic --llvm --target=armv7-neon
expect 1 '' 'kernel uk_sgemm_8x12_neon_asm is for aarch64, which target armv7-neon is not' \
    show uk_sgemm_8x12_neon_asm --asm --target=armv7-neon
expect 1 '' "kernel $kernel is for avx2, which target x86_64-generic lacks" show $kernel --asm --target=x86_64-generic
expect 2 '' 'target is for --asm, --llvm and --bitcode' show $kernel --target=native

# A feature that LLVM does not know is not passed to it or to clang, which would report it. The calling convention for
# floats is Linux's.
expect 0 '' '' compile "$source/tests/golden/kernel_of_private_feature.uk" --target=riscv64+rvp -o other.o
"$LLVM_BIN/llvm-readelf" -h other.o | grep 'double-float ABI' >/dev/null || fail 'other.o: calling convention'

# If the word begins like no architecture, all targets are listed, and the closest is found among all.
for near in armv8-neon:armv7-neon cortex-m4:cortex-a7 avx2:x86_64-avx2 zen3:x86_64-avx2 neon:aarch64-neon; do
    expect 1 '' "unknown target '${near%:*}'; did you mean '${near#*:}'; the known ones are native, x86_64-avx512, .*${near#*:}.* interp" \
        compile matmul.uk --target=${near%:*} --emit=loops
done

# The same programs for every architecture, half of the targets each; they may refer only to the C library's symbols
# and, on 32 bits, to the compiler's division and conversions.
turn=0
for target in $("$source/ukernels/machine/archs.py" targets) neoverse-v1; do
    turn=$((turn + 1))
    for program in attention conv2d_1x1 conv2d_1x1_u8i8 conv2d_3x3 conv2d_3x3_s2 conv2d_3x3_u8i8 conv2d_depthwise encoder \
        conv2d_nchw matmul matmul_acc matmul_bf16 matmul_f16 matmul_i8 matmul_nt matmul_tn matmul_tt mlp \
        resnet50_1x1 vadd; do
        ((turn++ % 2 == 0)) || continue
        expect 0 '' '.*' compile $program.uk --target=$target -o other.o
        "$LLVM_BIN/llvm-nm" -u other.o >needed || fail "$program for $target cannot be read"
        grep -vE ' (aligned_alloc|free|memcpy|memset|__aeabi_u?ldivmod|__aeabi_u?l2f)$' needed &&
            fail "$program for $target needs more than it should"
    done
done
for target in $("$source/ukernels/machine/archs.py" targets); do
    for what in schedule loops llvm linked optimized asm header; do
        expect 0 . '' compile matmul.uk --target=$target --emit=$what
    done
done
# A shared object needs that architecture's C library (Debian: libc6-dev-arm64-cross).
if [[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ]]; then
    expect 0 '' "^$plain" compile matmul.uk softly.uk --target=aarch64-neon --emit=shared -o other.so
    [[ $("$LLVM_BIN/llvm-nm" -D --defined-only other.so | cut -d' ' -f3 | sort | tr '\n' ' ') == 'matmul softly ' ]] ||
        fail 'other.so: functions'
else
    expect 1 '' 'does not link \(it needs the C library for aarch64\)' \
        compile matmul.uk --target=aarch64-neon --emit=shared -o other.so
fi
expect 0 'uk_sgemm_6x16_neon_asm .*fits' '' explain matmul.uk --target=cortex-a76
expect 1 '' 'uk_vadd_1x8_neon_intrin is a kernel for aarch64' bench uk_vadd_1x8_neon_intrin
expect 1 '' 'target armv7-neon: its code is for arm' verify vadd.uk --target=armv7-neon

if ((failures)); then
    echo "$failures failures in $cases cases"
    exit 1
fi
echo "$cases cases"
