#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints one screen about the compiler: a program, the kernel that was proven to compute its loops, the machine code,
# and the speed of the convolutions of ResNet-50. The complete output goes to build/demo.txt.
#
#     examples/demo.sh [--quick] [--log FILE]
#
# --quick measures only the first layer of each list. Uses the files that `meson install` staged in build/stage/, or the
# uk that UK names.
set -euo pipefail
cd "$(dirname "$0")/.."
uk=${UK:-build/stage/bin/uk}
export UK_PEERS=${UK_PEERS:-$PWD/.peers}
log=build/demo.txt
quick=
while (($#)); do
    case $1 in
    --quick) quick=yes ;;
    --log) log=$2 && shift ;;
    *) echo "usage: examples/demo.sh [--quick] [--log FILE]" >&2 && exit 2 ;;
    esac
    shift
done
if [[ ! -x $uk ]]; then
    echo "demo: $uk is not there; run ./uk-setup demo, which builds it" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
columns=120
: >"$log"

title() {
    printf '\n%s\n' "$1"
}

# run FILE ARGUMENT...: standard output of uk in the file, and all of it in the log.
run() {
    local out=$1
    shift
    printf '\n$ uk %s\n' "$*" >>"$log"
    if ! "$uk" "$@" >"$out" 2>"$work/notes"; then
        cat "$out" "$work/notes" >&2
        echo "demo: uk $* failed" >&2
        exit 1
    fi
    cat "$work/notes" "$out" >>"$log"
}

# shown LINES: at most so many lines of standard input, indented; what is wider than the screen goes on in the next line, at a
# blank.
shown() {
    awk -v most="$1" -v columns=$columns '
        {
            line = "  " $0
            match(line, /^ */)
            margin = substr(line, 1, RLENGTH) "    "
            while (length(line) > columns) {
                for (at = columns + 1; at > columns / 2 && substr(line, at, 1) != " "; at--)
                    ;
                out[++n] = substr(line, 1, at - 1)
                line = margin substr(line, at + 1)
            }
            out[++n] = line
        }
        END {
            for (i = 1; i <= n && i <= most; i++) { sub(/ +$/, "", out[i]); print out[i] }
            if (n > most) print "  ... " n - most " more lines"
        }'
}

# in_columns LINES: standard input side by side, in so many lines, of as many columns as the screen is wide.
in_columns() {
    awk -v lines="$1" -v columns=$columns '
        { text[n++] = $0; if (length($0) > widest) widest = length($0) }
        END {
            each = int(columns / (widest + 2))
            if (each < 1) each = 1
            for (i = 0; i < n && i < lines * each; i++)
                printf "%-" widest "s%s", text[i], (i % each == each - 1 || i == n - 1) ? "\n" : "  "
        }'
}

# field REGEX FILE: the first group of the first line that matches, or -.
field() {
    sed -nE "s/$1/\\1/p" "$2" | head -n 1 | grep . || echo -
}

# inner_loop FILE: of all loops of the assembly the one in which most instructions are multiply-adds: how many there are,
# how many that is, and then the instructions.
inner_loop() {
    awk '
        /^[.A-Za-z0-9_$]+:/ { sub(/:.*/, ""); at[$0] = n; next }
        /^\t[a-z]/ {
            line[n++] = $0
            if ($1 ~ /^j/ && $2 in at) {
                fma = 0
                for (i = at[$2]; i < n; i++)
                    fma += line[i] ~ /fmadd|\tmulps/
                if (fma / (n - at[$2]) > share) {
                    share = fma / (n - at[$2]); adds = fma; first = at[$2]; last = n
                }
            }
        }
        END {
            print last - first, adds + 0
            for (i = first; i < last; i++) {
                sub(/^\t/, "", line[i]); sub(/\t/, " ", line[i]); print line[i]
            }
        }' "$1"
}

# ---- the story of the first layer ----

program=examples/resnet50_1x1.uk
read -r M N K < <(grep -v '^#' examples/resnet50_1x1.txt)
sizes=(--define M="$M" --define N="$N" --define K="$K")
printf 'schedule\n  reorder Y.m Y.n\n' >"$work/plain"
run "$work/before" compile "$program" "${sizes[@]}" --schedule="$work/plain" --emit=loops
run "$work/schedule" compile "$program" "${sizes[@]}" --emit=schedule
run "$work/after" compile "$program" "${sizes[@]}" --emit=loops
run "$work/explain" explain "$program" "${sizes[@]}" --all
run "$work/asm" compile "$program" "${sizes[@]}" --emit=asm
kernel=$(field '^  taken: ([^ ,]*).*' "$work/explain")
inner_loop "$work/asm" >"$work/loop"
read -r instructions multiply_adds <"$work/loop"

echo "tensorize: from a formula to machine code around a hand-written kernel. In full: $log"
title "1. The program, $program: a 1x1 convolution of ResNet-50 is a product of matrices."
grep -v '^#' "$program" | shown 5
title "2. The loops that it means, for the layer M=$M, N=$N, K=$K:"
sed 1d "$work/before" | shown 6
title "3. Hand-written kernels declare what they compute: one is proven to compute tiles of these loops, a near one does not:"
echo "taken  $kernel" | shown 1
awk '
    !/^  uk_/ || / fits|computes this nest/ { next }
    !/sum here|has the type|copies / && !near { near = $0 } # it differs in more than its kind
    !any { any = $0 }
    END { line = near ? near : any; gsub(/ +/, " ", line); sub(/^ /, "not    ", line); print line }' "$work/explain" | shown 2
title "4. The loops with that kernel in the place of the inner ones:"
sed 1d "$work/after" | shown 6
title "5. No call is left: the kernel is inlined. The inner loop, $instructions instructions, of which $multiply_adds multiply-adds of vectors:"
sed 1d "$work/loop" | head -n 9 | in_columns 3 | shown 3

# ---- the table ----

rows() {
    grep -v '^#' "$1"
}

layers=$(cat <(rows examples/resnet50_1x1.txt) <(rows examples/resnet50_conv.txt) | wc -l)
measured=0

# measure OUT PROGRAM NAME=VALUE...: checks and times one layer on one thread.
measure() {
    local out=$1 program=$2 sizes=()
    shift 2
    for size; do
        sizes+=(--size "$size")
    done
    measured=$((measured + 1))
    [[ ! -t 2 ]] || printf '\r\033[Kmeasuring layer %d of %d ' "$measured" "$layers" >&2
    run "$out" run "$program" "${sizes[@]}" --threads=1 --check --time
}

# entry NAME WIDTH FILE: a layer's name, GFLOP/s, share of the peak as number and bar.
entry() {
    local speed share bar=
    speed=$(field '^time: .* ([0-9.]+) GFLOP\/s,.*' "$3")
    share=$(field '^time: .* ([0-9]+)(\.[0-9]+)? % of .*' "$3")
    [[ $share == - ]] || printf -v bar '%*s' $(((share + 4) / 5)) ''
    printf "%-$2s %6s %3s %-20.20s" "$1" "$speed" "$share" "${bar// /#}"
}

peers=()
: >"$work/nothing"
while read -r M N K; do
    out=$work/nothing
    if ((measured == 0)) || [[ -z $quick ]]; then
        out=$work/run
        measure "$out" "$program" M="$M" N="$N" K="$K"
        ((measured > 1)) || for peer in OpenBLAS MKL; do
            ! grep -q "^$peer: .* x its speed" "$out" || peers+=("$peer")
        done
    fi
    entry "${M}x${N}x$K" 12 "$out"
    for peer in "${peers[@]}"; do
        printf ' %5.5s' "$(field "^$peer: ([0-9.]+) x its speed.*" "$out")"
    done
    echo
done < <(rows examples/resnet50_1x1.txt) >"$work/left"
while read -r name H W C O; do
    out=$work/nothing
    if [[ -z $quick || $name-$H == conv2d_3x3-56 ]]; then
        out=$work/run
        measure "$out" "examples/$name.uk" H="$H" W="$W" C="$C" O="$O"
    fi
    short=${name#conv2d_}
    entry "${short/_s2//2} ${H}x${W}x$C>$O" 20 "$out"
    echo
done < <(rows examples/resnet50_conv.txt) >"$work/right"
[[ ! -t 2 ]] || printf '\r\033[K' >&2
versus=
for peer in "${peers[@]}"; do
    versus+=$(printf ' %5.5s' "${peer/OpenBLAS/OBLAS}")
done
width=$((44 + ${#versus}))
{
    title "6. All layers, on one thread and checked: GFLOP/s, % of the peak measured next to it${versus:+, speed over that of others}"
    printf "%-${width}s  %-20s %7s %2s\n" "$(printf '%-12s %7s %2s %-20s%s' 'M x N x K' GFLOP/s % '' "$versus")" \
        'convolution HxWxC>O' GFLOP/s %
    paste -d '\t' "$work/left" "$work/right" | while IFS=$'\t' read -r left right; do
        printf "%-${width}s  %s\n" "$left" "$right"
    done | sed 's/ *$//'
    [[ -n $versus ]] || echo "Beside OpenBLAS and MKL: ./uk-setup peers installs them, then run this again."
} >"$work/table"
cat "$work/table" >>"$log"
cat "$work/table"
