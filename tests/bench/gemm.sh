#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gemm.sh UK SOURCE PEER: tests uk bench gemm on tiny sets: the JSON, comparisons, missing and wrong peers,
# refusals.
set -u
uk=$1 source=$2 peer=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export UK_PEERS=$folder/none
mkdir none one
failures=0

fail() {
    echo "FAILED: $1"
    cat out err 2>/dev/null
    failures=$((failures + 1))
}

# expect STATUS OUTPUT ERROR ARGUMENTS...: patterns of grep -E, on all lines joined.
expect() {
    local status=$1 output=$2 error=$3
    shift 3
    "$uk" bench "$@" >out 2>err
    local got=$?
    ((got == status)) || fail "uk bench $*: status $got, expected $status"
    (tr '\n' ' ' <out; echo) | grep -E -- "$output" >/dev/null || fail "uk bench $*: no '$output' on standard output"
    (tr '\n' ' ' <err; echo) | grep -E -- "$error" >/dev/null || fail "uk bench $*: no '$error' on standard error"
}

cat >tiny.txt <<'END'
set one            # a comment
cubes 3 7..8
forms 5 6 7
add 4 5 6 NT on-top
set two resolved
gemm 16 17 18 TN
END

# A missing peer is named, all shapes are measured, and the summary is at the end.
expect 0 'MKL: not installed; ./uk-setup peers.*BLIS: .*libxsmm: not installed.*oneDNN: not installed.*3x3x3 NN .*8x8x8 NN .*5x6x7 TT .*4x5x6 NT\+ on-top .*two, f32.*resolved.*16x17x18 TN .*summary.*\| one \| 8 \|.*\| two \| 1 \|' \
    '1 of 9, one 3x3x3' \
    gemm --shapes tiny.txt --json=run.json
expect 0 'f64' '' gemm --shapes=tiny.txt --set=two --type=f64 --peers=none --json f64.json
expect 0 '^\{.*"benchmarks"' '16x17x18 TN' gemm --shapes tiny.txt --set two --json
expect 0 '2 threads' '' gemm --shapes tiny.txt --set two --threads 2 --peers none
/usr/bin/python3 - "$folder"/run.json <<'END' || fail "the JSON of a run"
import json, sys

run = json.load(open(sys.argv[1], encoding="utf-8"))
for key in ("date", "host_name", "executable", "num_cpus", "library_version", "cpu", "isa", "peers", "peak_flops"):
    assert key in run["context"], key
ours = [b for b in run["benchmarks"] if b["library"].startswith("ukernels")]
assert len(ours) == 9, len(ours)
for b in run["benchmarks"]:
    for key in ("name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations", "real_time", "cpu_time",
                "time_unit", "FLOPS", "percent_of_peak", "set", "label", "m", "n", "k"):
        assert key in b, key
    assert b["real_time"] > 0 and b["time_unit"] == "ns" and b["run_type"] == "iteration" and b["iterations"] >= 1
    assert 0 < b["percent_low"] <= b["percent_of_peak"] <= b["percent_high"]
    assert b["fastest"] <= b["real_time"] <= b["slowest"]
    assert abs(b["FLOPS"] - 2e9 * b["m"] * b["n"] * b["k"] / b["real_time"]) < 1e-6 * b["FLOPS"]
    if b["library"].startswith("ukernels"):
        assert b["ours_over_this"] == 1
# The peak of a run is the median of the peaks that were measured with the samples of its shapes.
peaks = sorted(b["peak_flops"] for b in ours)
assert run["context"]["peak_flops"] == peaks[4], (run["context"]["peak_flops"], peaks)
assert len({b["name"] for b in run["benchmarks"]}) == len(run["benchmarks"])

# Writes earlier results: three times as fast, three times as slow, and of a benchmark with another name.
for factor, name in (3, "faster_then.json"), (1 / 3, "slower_then.json"):
    for b in run["benchmarks"]:
        for key in ("percent_of_peak", "percent_low", "percent_high"):
            b[key] *= factor
    json.dump(run, open(name, "w", encoding="utf-8"))
    for b in run["benchmarks"]:
        for key in ("percent_of_peak", "percent_low", "percent_high"):
            b[key] /= factor
run["benchmarks"] = [dict(b, name="other") for b in run["benchmarks"]]
json.dump(run, open("others.json", "w", encoding="utf-8"))
END

# With one peer, which is thus the best: it is measured a second time, and left out where its result is wrong.
cp "$peer" one/libblis.so.4
export UK_PEERS=$folder/one
expect 0 '3x3x3 NN .*\| BLIS .*7x7x7 NN .*\| +- \| - .*\| one \| 8 \| .*, BLIS \|' 'BLIS: its result for 7x7x7 NN is wrong, so it is excluded' \
    gemm --shapes tiny.txt --set one --peers blis --json=peer.json
export UK_PEERS=$folder/none
/usr/bin/python3 - <<'END' || fail "the JSON of a run with a peer"
import json

peer = [b for b in json.load(open("peer.json", encoding="utf-8"))["benchmarks"] if b["library"] == "BLIS"]
assert len(peer) == 7, len(peer)
for b in peer:
    for key in ("ours_over_this", "ours_over_best"):
        assert b[key] > 0, (b["name"], key, b[key])
END

# Products whose B is packed beforehand: each type has ours as a program and as a function, with B packed and unpacked.
# Results are exact.
expect 0 'MKL: not installed.*ONNX Runtime: not installed.*one, u8i8, .*B unpacked.*3x3x3 NN .*5x6x7 TT .*4x5x6 NT\+ on-top .*\| one \| 8 \|' '' \
    gemm --shapes=tiny.txt --set=one --type=u8i8 --json=u8i8.json
for type in i8i8 bf16 f16; do
    expect 0 "two, $type, .*B unpacked.*16x17x18 TN .*\\| two \\| 1 \\|" '' gemm --shapes=tiny.txt --set=two --type=$type --json=$type.json
done
/usr/bin/python3 - <<'END' || fail "the JSON of packed products"
import json

for kind in "u8i8", "i8i8", "bf16", "f16":
    run = json.load(open(f"{kind}.json", encoding="utf-8"))["benchmarks"]
    count = {library: sum(b["library"] == library for b in run) for library in ("ukernels", "B unpacked", "called", "called, B unpacked")}
    assert list(count.values()) == [8 if kind == "u8i8" else 1] * 4, (kind, count)
    for b in run:
        assert 0 < b["percent_low"] <= b["percent_of_peak"] <= b["percent_high"] and b["fastest"] <= b["real_time"] <= b["slowest"], b
        assert f"/{kind}/" in b["name"] and b["wrong_elements"] == 0 < b["compared_elements"], b
        assert b["library"] != "ukernels" or (b["percent_of_bound"] > 0 and "kernels" in b), b
END

# The same seed draws the same shapes.
for seed in 3 3 4; do
    expect 0 'rows, i8i8.*lowest 5 %.*\| rows \| 1 \|' '' gemm --type=i8i8 --sweep=1 --seed=$seed --set=rows --peers=none --json=sweep.json
    /usr/bin/python3 -c 'import json; run = json.load(open("sweep.json")); print(run["context"]["seed"], *[b["name"] for b in run["benchmarks"]])' >>names
done
[[ $(sort -u names | wc -l) == 2 ]] || fail "the shapes of a sweep"

expect 1 'two/16x17x18/TN/.*: slower, .*compared with faster_then.json: 1 slower, 0 faster, 0 within noise, 0 not in both' '' \
    gemm --shapes tiny.txt --set two --peers none --compare faster_then.json
expect 0 ': faster, .*0 slower, 1 faster' '' gemm --shapes tiny.txt --set two --peers none --compare=slower_then.json
expect 0 '0 slower, 0 faster, 0 within noise, 1 not in both' '' gemm --shapes tiny.txt --set two --peers none --compare others.json
# Kernels are compared too, whatever the verdict.
kernel=$("$uk" kernels | grep -oE 'uk_sgemm_[0-9x]+_generic_c' | sed -n 1p)
expect 0 'GFLOP/s' '' "$kernel" --json kernel.json
"$uk" bench "$kernel" --compare kernel.json >out 2>err
grep -qE 'compared with kernel.json: .* 0 not in both' out || fail "the comparison of kernels"

# When the time limit is reached, a message says so, and the results so far are printed.
cat >long.txt <<'END'
set long
cubes 1..400
END
expect 0 '\| long \| ' 'time limit reached: [0-9]+ of 400 shapes were not measured' gemm --shapes long.txt --peers none --time-limit 1

# No product begins after the time limit, however long a round of a shape takes. The slow peer needs a third of the
# limit for one product on the fastest CPU; it is checked and called four times before a round is complete.
printf 'set large\ngemm 800 800 800\n' >large.txt
UK_PEERS=$folder/one
expect 0 'summary' 'time limit reached: 1 of 1 shapes were not measured' gemm --shapes large.txt --peers blis --time-limit 1
UK_PEERS=$folder/none
grep -q '800x800x800' out && fail "a shape is measured after the limit"

# --plot runs gnuplot, here one that keeps its script; without gnuplot nothing is measured.
mkdir tools
printf '#!/bin/sh\ncat >"%s/script"\nsed -n "s/^set output \\"\\(.*\\)\\"/\\1/p" "%s/script" | while read -r f; do echo "<svg/>" >"$f"; done\n' \
    "$folder" "$folder" >tools/gnuplot
chmod +x tools/gnuplot
PATH=$folder/tools:$PATH expect 0 'summary' '' gemm --shapes tiny.txt --set two --peers none --plot=drawn.svg --json=drawn.json
[[ $(<drawn.svg) == '<svg/>' && ! -e drawn.svg.part ]] || fail "no picture"
peak=$(/usr/bin/python3 -c 'import json; print("%.0f" % (json.load(open("drawn.json"))["context"]["peak_flops"] * 1e-9))')
for line in 'set terminal svg .*background rgb "white"' 'set multiplot layout 2,1' 'set title "two, f32, ' "peak $peak GFLOP/s" \
    'style histogram errorbars' '^"16x17x18 TN" [0-9.]+ [0-9.]+ [0-9.]+' 'title "L1 [0-9]+ GB/s"' 'title "L2 [0-9]+ GB/s"' 'title "memory [0-9]+ GB/s"'; do
    grep -qE "$line" script || fail "gnuplot is not told '$line'"
done
for file in nowhere.json script; do
    text=$(PATH=$folder/tools:$PATH /usr/bin/python3 "$source/bench/plot.py" "$file" drawn.svg 2>&1) && fail "plot.py draws $file"
    [[ $text =~ ^plot.py:\ \'$file\'\ (cannot be read:|has no results) && $text != *$'\n'* ]] || fail "plot.py of $file: $text"
done
rm tools/gnuplot drawn.svg
ln -s /usr/bin/python3 tools/python3
PATH=$folder/tools "$uk" bench gemm --shapes tiny.txt --peers none --plot=drawn.svg >out 2>err
(($? == 1)) && [[ ! -s out ]] && grep -q 'gnuplot is not installed; ./uk-setup plots' err || fail "a plot without gnuplot"
expect 2 '' 'a name that ends in .svg' gemm --shapes tiny.txt --plot=drawn.png
[[ ! -e drawn.svg && ! -e drawn.png ]] || fail "a picture of nothing"
if command -v gnuplot >/dev/null; then
    expect 0 'summary' '' gemm --shapes tiny.txt --set two --peers none --plot=drawn.svg
    grep -q 'fill="#ffffff"' drawn.svg || fail "gnuplot's picture has no background"
fi

# Invalid arguments and files are refused.
echo 'cubes 4' >bad.txt
expect 1 '' 'bad.txt: line 1: a shape outside of a set' gemm --shapes bad.txt
printf 'set a\ncubes 4..3\n' >bad.txt
expect 1 '' "line 2: '4..3' is no size" gemm --shapes bad.txt
printf 'set a\n\ngemm 4 0 3\n' >bad.txt
expect 1 '' 'line 3: gemm needs three sizes from 1' gemm --shapes bad.txt
printf 'set a\ngemm 4 4 4 NX label more\n' >bad.txt
expect 1 '' "line 2: 'label' is neither a form" gemm --shapes bad.txt
printf 'set a\ngem 4 4 4\n' >bad.txt
expect 1 '' "line 2: 'gem' is none of set, cubes" gemm --shapes bad.txt
expect 1 '' 'nothing.txt: cannot read' gemm --shapes nothing.txt
expect 1 '' 'not a file of uk bench --json' gemm --shapes tiny.txt --compare bad.txt
expect 1 '' 'old.json: cannot read' gemm --shapes tiny.txt --compare old.json
expect 2 '' "unknown set 'three'" gemm --shapes tiny.txt --set one,three
expect 2 '' "no library's name begins with 'netlib'" gemm --shapes tiny.txt --peers mkl,netlib
expect 2 '' 'type=w2 is unknown; did you mean w4; use one of f32, f64, u8i8, i8i8, bf16, f16, w4, w8' gemm --type w2
expect 2 '' 'seed is only for --sweep' gemm --seed=1
expect 2 '' 'sweep draws the shapes; leave out --shapes' gemm --sweep --shapes tiny.txt
expect 2 '' "unknown set 'dense'; the sets are general, rows" gemm --sweep=1 --set dense
expect 2 '' 'expected native, x86_64-avx2' gemm --target interp
expect 2 '' "takes no 'more'" gemm more
expect 2 '' 'are for uk bench gemm' "$kernel" --set small

# Every set of bench/shapes.txt can be used: the file is built into uk.
sets=$(sed -n 's/^set \([a-z0-9]*\).*/\1/p' "$source/bench/shapes.txt" | paste -sd,)
"$uk" bench gemm --set "$sets,none" >out 2>err
grep -q "unknown set 'none'" err || fail "the sets of bench/shapes.txt"

if ((failures)); then
    echo "$failures failures"
    exit 1
fi
