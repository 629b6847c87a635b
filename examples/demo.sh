#!/usr/bin/env bash
# The convolutions of ResNet-50, from the program's text to the speed of the code: first the 1x1 ones as matrix products,
# then all with what follows them.
# Uses what `meson install` staged in build/stage/, or the uk that UK names.
set -euo pipefail
cd "$(dirname "$0")/.."
uk=${UK:-build/stage/bin/uk}
export UK_PEERS=${UK_PEERS:-$PWD/.peers}
program=examples/resnet50_1x1.uk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ ! -x $uk ]]; then
    echo "demo: $uk is not there; run ./uk-setup demo, which builds it" >&2
    exit 1
fi

title() {
    printf '\n== %s\n' "$1"
}

# show WHAT FILE: prints the file if it is not what was printed last for WHAT.
show() {
    if cmp -s "$2" "$work/last-$1"; then
        return
    fi
    title "$1"
    cat "$2"
    cp "$2" "$work/last-$1"
}

# field REGEX FILE: the first group of the first line that matches, or -.
field() {
    sed -nE "s/$1/\\1/p" "$2" | head -n 1 | grep . || echo -
}

printf '%-20s %9s %7s %9s %9s\n' 'M x N x K' GFLOP/s '% peak' OpenBLAS MKL >"$work/table"
while read -r M N K; do
    title "M=$M N=$N K=$K"
    sizes=(--size M="$M" --size N="$N" --size K="$K")
    show program "$program"
    for what in schedule loops; do
        "$uk" compile "$program" "${sizes[@]}" --emit=$what >"$work/$what"
        show $what "$work/$what"
    done
    # All candidates once, then those that fit.
    "$uk" explain "$program" "${sizes[@]}" >"$work/explain"
    if [[ -e $work/last-candidates ]]; then
        title "candidates that fit"
        grep -E '^[^ ]|fits|computes|taken' "$work/explain"
    else
        show candidates "$work/explain"
    fi
    title "run, one thread"
    "$uk" run "$program" "${sizes[@]}" --threads=1 --check --time | tee "$work/run"
    printf '%-20s %9s %7s %9s %9s\n' "$M x $N x $K" \
        "$(field '^time: .* ([0-9.]+) GFLOP\/s,.*' "$work/run")" \
        "$(field '^time: .* ([0-9.]+) % of .*' "$work/run")" \
        "$(field '^OpenBLAS: ([0-9.]+) x its speed.*' "$work/run")" \
        "$(field '^MKL: ([0-9.]+) x its speed.*' "$work/run")" >>"$work/table"
done < <(grep -v '^#' examples/resnet50_1x1.txt)

title "all layers: speed, share of the peak measured beside it, ratio of our speed to each peer's (- : not installed)"
cat "$work/table"

printf '%-20s %28s %9s %7s\n' program 'H x W x C x O' GFLOP/s '% peak' >"$work/table"
while read -r name H W C O; do
    program=examples/$name.uk
    title "$name H=$H W=$W C=$C O=$O"
    sizes=(--size H="$H" --size W="$W" --size C="$C" --size O="$O")
    show program "$program"
    for what in schedule loops; do
        "$uk" compile "$program" "${sizes[@]}" --emit=$what >"$work/$what"
        show $what "$work/$what"
    done
    title "run, one thread"
    "$uk" run "$program" "${sizes[@]}" --threads=1 --check --time | tee "$work/run"
    printf '%-20s %28s %9s %7s\n' "$name" "$H x $W x $C x $O" \
        "$(field '^time: .* ([0-9.]+) GFLOP\/s,.*' "$work/run")" \
        "$(field '^time: .* ([0-9.]+) % of .*' "$work/run")" >>"$work/table"
done < <(grep -v '^#' examples/resnet50_conv.txt)

title "convolutions: all operations of the program, those on padding too, and the share of the peak measured beside it"
cat "$work/table"
