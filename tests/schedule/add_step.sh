#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that a new step needs only a row, a file, its page and two golden texts: adds a step `exchange` to a copy of
# the tree, where everything else must follow.
#
#     add_step.sh SOURCE
#
# UK_OBJECTS and UK_BITCODE name the folders with the kernels.
set -euo pipefail
source=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

tar -C "$source" --exclude='./.?*' --exclude='./build*' -cf - . | tar -C "$copy" -xf -
cd "$copy"

sed -i 's|^UK_STEP_ROW(REORDER, .*|&\nUK_STEP_ROW(EXCHANGE, "exchange", OTHER, uk_apply_exchange, 0, loop, loop)|' tensorize/language/steps.def
sed -i "s|^  'schedule/reorder.c',|&\n  'schedule/exchange.c',|" tensorize/meson.build
cat >tensorize/schedule/exchange.c <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
/* exchange: two loops of a stage, each in the other's place. */
#include "schedule.h"

enum uk_status uk_apply_exchange(struct uk_schedule *s, struct uk_step *step) {
    struct uk_stage *a, *b;
    int pa, pb;
    enum uk_status status;

    if ((status = uk_find_loop(s, &step->loop[0], &a, &pa)) || (status = uk_find_loop(s, &step->loop[1], &b, &pb)))
        return status;
    if (a != b)
        return uk_fail(s->context, UK_REFUSED, step->at, "exchange: the loops are of two stages; name two of one stage");
    struct uk_loop *want[UK_MAX_LOOPS];
    for (int i = 0; i < a->loops; i++)
        want[i] = a->loop[i == pa ? pb : i == pb ? pa : i];
    return uk_reorder_loops(s, a, want, a->loops, step->at);
}
END
cat >section <<'END'
.SS exchange
.BI exchange " LOOP LOOP"
.br
Puts each of two loops of a stage in the place of the other one.
.sp
.RS 4
.nf
tensor X f32 [8, 4]
tensor Y f32 [8, 4]
Y[m, n] = 2 * X[m, n]
\&
schedule
  exchange m n
.fi
.RE
.sp
.RS 4
.nf
f(X, Y)
  for n in 0 .. 4
    for m in 0 .. 8
      Y[m, n] = 2 * X[m, n]
.fi
.RE
END
awk '/^\.SS fuse$/ { while ((getline line <"section") > 0) print line }
    { print } /^ *\| "reorder" loop/ { print "     | \"exchange\" loop loop" }' tensorize/uk.5 >page
mv page tensorize/uk.5
cat >tests/golden/exchange.uk <<'END'
tensor X f32 [M, N, K]
tensor Y f32 [M, N, K]
Y[m, n, k] = 2 * X[m, n, k]

schedule
  exchange Y.m Y.k
  split Y.m 4 -> mo mi
END
sed 's/exchange Y.m Y.k/exchange Y.m Y.j/' tests/golden/exchange.uk >tests/golden/refuse_exchange.uk

step() {
    echo "# $*"
}

step built
CC_LD=lld meson setup build --buildtype=debug -Dbitcode="$UK_BITCODE" -Dobjects="$UK_OBJECTS" \
    >setup.log || { cat setup.log; exit 1; }
ninja -C build tests/language/grammar tests/language/page tests/language/dictionary uk/uk >build.log || { tail -n 30 build.log; exit 1; }

uk=build/uk/uk sizes='--define M=5 --define N=6 --define K=7'
step listed, in the dictionary, the grammar and the golden texts
python3 tests/tree/steps.py . build/tests/language/dictionary
build/tests/language/grammar tensorize/uk.5
build/tests/language/page tensorize/uk.5

step parsed, printed, applied
$uk compile tests/golden/exchange.uk $sizes --emit=schedule >schedule
diff <(sed -n '/^schedule/,$p' tests/golden/exchange.uk | tail -n +2) schedule
$uk compile tests/golden/exchange.uk $sizes --emit=loops >loops
test "$(grep -o 'for [a-z]*' loops | tr '\n' ' ')" = 'for k for n for mo for mi ' || { cat loops; exit 1; }
$uk run tests/golden/exchange.uk $sizes --check

step refused, and named among the steps
if $uk compile tests/golden/refuse_exchange.uk --emit=loops 2>error; then exit 1; fi
grep 'exchange.uk:6:16: error: .*loop' error
sed 's/exchange Y/exchnge Y/' tests/golden/exchange.uk >misspelt.uk
if $uk compile misspelt.uk --emit=loops 2>error; then exit 1; fi
grep "did you mean 'exchange'? steps are .*reorder, exchange, " error

step made by a call, and changed by the search
printf '%s\n' '#include "tensorize.h"' '#include <stdio.h>' 'int main(void) {' \
    '    struct uk_context *c = uk_context_create(); struct uk_program *p; char *text; uint64_t random = 1;' \
    '    const char program[] = "tensor X f32 [64, 64]\ntensor Y f32 [64, 64]\nY[m, n] = X[n, m]\n";' \
    '    if (uk_program_parse(c, "f.uk", program, sizeof program - 1, &p)) return 1;' \
    '    uk_step(p, "exchange Y.m Y.n");' \
    '    if (uk_program_print(p, &text)) return 2;' \
    '    puts(text);' \
    '    for (int i = 0; i < 50; i++)' \
    '        if (uk_schedule_change(p, &(struct uk_options){.target = "x86_64-avx2"}, "exchange Y.m Y.n\n", &random, &text))' \
    '            return 3;' '    return 0;' '}' >call.c
${CC:-cc} -Itensorize -Iukernels call.c -o call build/tensorize/libuktensorize.so -Wl,-rpath,"$PWD/build/tensorize:$PWD/build/ukernels"
./call | grep '^  exchange Y.m Y.n'
