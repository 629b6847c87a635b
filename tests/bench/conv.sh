#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conv.sh UK SOURCE: tests uk bench conv on tiny sets, without peers but ONNX Runtime if that is installed: the table, the JSON,
# comparisons, drawn shapes, refusals.
set -u
uk=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export UK_PEERS=$folder/none
mkdir none
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
    "$uk" bench conv "$@" >out 2>err
    local got=$?
    ((got == status)) || fail "uk bench conv $*: status $got, expected $status"
    (tr '\n' ' ' <out; echo) | grep -E -- "$output" >/dev/null || fail "uk bench conv $*: no '$output' on standard output"
    (tr '\n' ' ' <err; echo) | grep -E -- "$error" >/dev/null || fail "uk bench conv $*: no '$error' on standard error"
}

cat >tiny.txt <<'END_OF_SHAPES'
set one            # a comment
conv 9 8 3 16 3x3 s2
conv 6 5 16 24 1x1
conv 6 5 16 24 3x3 d2 n2
conv 6 5 16 32 1x7 g4
conv 6 5 8 8 7x1 tall
set two
depthwise 9 9 24 5x5 s2
END_OF_SHAPES

# Missing peers are named; all shapes are measured, compared with plain loops, and summed up.
expect 0 'oneDNN .*: not installed; ./uk-setup peers.*ONNX Runtime: not installed; ./uk-setup networks.*one, f32, .*9x8 3>16 3x3 s2 .*6x5 16>24 1x1 .*6x5 16>24 3x3 d2 n2 .*1x7 g4 .*7x1 tall .*two, f32.*9x9 24 depthwise 5x5 s2 .*summary.*\| one \| called \| 5 \|.*\| one \| plain loops \| 5 \|.*\| two \| plain loops \| 1 \|.*one: 5 shapes' \
    '1 of 6, one 9x8 3>16 3x3 s2' --shapes tiny.txt --json=run.json
expect 0 'weights packed in each call.*two, f32' '' --shapes tiny.txt --weights=argument --peers=called --set=two --json=argument.json
expect 0 'one, u8i8.*% of f32 peak.*two, u8i8.*9x9 24 depthwise 5x5' '' --shapes tiny.txt --type=u8i8 --peers=none --json=bytes.json
# Depthwise shapes larger than L2 are compared with a copy of as many bytes.
printf 'set large\ndepthwise 80 80 512 3x3 s2\n' >large.txt
expect 0 'copy: memcpy of as many bytes.*\| large \| copy \| 1 \|' '' --shapes large.txt --peers=copy
if (($(nproc) > 1)); then
    expect 0 '2 threads, weights packed.*copy: one thread only.*two, f32, .*2 threads.*\| two \| called \| 1 \|' '' \
        --shapes tiny.txt --set two --peers=called,copy --threads=2 --json=threads.json
    grep -q '/t2/ukernels"' threads.json || fail "names of benchmarks with two threads"
fi
expect 0 'not chosen by --peers.*- plain loops: the same programs without kernels' '' --shapes tiny.txt --set two --peers plain
expect 0 '^\{.*"benchmarks"' 'depthwise 5x5' --shapes tiny.txt --set two --peers none --json
/usr/bin/python3 - <<'END_OF_PYTHON' || fail "the JSON of a run"
import json

run = json.load(open("run.json", encoding="utf-8"))
for key in ("date", "host_name", "cpu", "isa", "peers", "peak_flops"):
    assert key in run["context"], key
ours = [b for b in run["benchmarks"] if b["library"] == "ukernels"]
plain = [b for b in run["benchmarks"] if b["library"] == "plain loops"]
called = [b for b in run["benchmarks"] if b["library"] == "called"]
assert len(ours) == len(plain) == len(called) == 6 and len(run["benchmarks"]) == 18
assert len({b["name"] for b in run["benchmarks"]}) == 18
for b in run["benchmarks"]:
    for key in ("n", "h", "w", "c", "r", "s", "o", "stride", "dilation", "groups", "set", "label", "call_cost", "FLOPS", "bytes", "real_time"):
        assert key in b, key
    assert 0 < b["fastest"] <= b["real_time"] <= b["slowest"]
    assert b["ours_over_this"] > 0 and (b["library"] != "ukernels" or b["ours_over_this"] == 1)
assert all("kernels" in b for b in ours)
weights = {name: json.load(open(name, encoding="utf-8"))["context"]["weights"] for name in ("run.json", "argument.json")}
assert weights == {"run.json": "constant", "argument.json": "argument"}
bytes_run = json.load(open("bytes.json", encoding="utf-8"))
assert all("/u8i8/" in b["name"] for b in bytes_run["benchmarks"]) and len(bytes_run["benchmarks"]) == 6

# Writes earlier results: ten times as fast, and ten times as slow.
for factor, name in (10, "faster_then.json"), (1 / 10, "slower_then.json"):
    old = json.loads(json.dumps(run))
    for b in old["benchmarks"]:
        for key in ("percent_of_peak", "percent_low", "percent_high"):
            b[key] *= factor
    json.dump(old, open(name, "w", encoding="utf-8"))
END_OF_PYTHON
expect 1 'conv/two/.*: slower, .*compared with faster_then.json: 1 slower, 0 faster, 0 within noise' '' \
    --shapes tiny.txt --set two --peers none --compare faster_then.json
expect 0 ': faster, .*0 slower, 1 faster' '' --shapes tiny.txt --set two --peers none --compare=slower_then.json

# --plot and plot.py draw the results; gnuplot is here a command that keeps its script.
mkdir tools
printf '#!/bin/sh\ncat >"%s/script"\nsed -n "s/^set output \\"\\(.*\\)\\"/\\1/p" "%s/script" | while read -r f; do echo "<svg/>" >"$f"; done\n' \
    "$folder" "$folder" >tools/gnuplot
chmod +x tools/gnuplot
PATH=$folder/tools:$PATH expect 0 'summary' '' --shapes tiny.txt --set two --peers none --plot=drawn.svg
for line in 'set title "two, f32, .* 1 thread, ' '^"9x9 24 depthwise 5x5 s2" [0-9.]+ ' 'set xlabel "operations per byte'; do
    grep -qE "$line" script || fail "gnuplot is not told '$line'"
done
[[ -e drawn.svg ]] || fail "--plot writes no file"

# ONNX Runtime has the same results.
if [[ -d $source/.venv-networks ]]; then
    for type in f32 u8i8; do
        UK_PEERS=$source/.venv-networks expect 0 '\| ONNX Runtime \|.*tall .*\| one \| best peer \| 5 \|' '' \
            --shapes tiny.txt --type=$type --peers=ONNX
        grep -q 'is wrong\|no kernel' err && fail "results of ONNX Runtime"
    done
fi

# The same seed draws the same shapes; a set of them can be chosen.
for seed in 3 3 4; do
    expect 0 'depthwise, f32' '' --sweep=2 --seed=$seed --set=depthwise --peers=none --json=sweep.json
    /usr/bin/python3 -c 'import json; run = json.load(open("sweep.json")); print(run["context"]["seed"], *[b["name"] for b in run["benchmarks"]])' >>names
done
[[ $(sort names | uniq -c | sed 's/^ *\([0-9]*\) .*/\1/' | paste -sd,) == 2,1 && $(wc -l <names) == 3 ]] || fail "drawn shapes: $(<names)"

# No shape begins after the time limit.
printf 'set long\n' >long.txt
for i in {1..400}; do printf 'conv 14 14 %d 64 3x3\n' "$i"; done >>long.txt
expect 0 'long, f32' 'time limit reached: [0-9]+ of 400 shapes were not measured' --shapes long.txt --peers none --time-limit 2

# Invalid arguments and files are refused.
echo 'conv 4 4 4 4 1x1' >bad.txt
expect 1 '' 'bad.txt: line 1: a shape outside of a set' --shapes bad.txt
printf 'set a\nconv 4 4 4 4 2x2\n' >bad.txt
expect 1 '' 'line 2: conv needs sizes' --shapes bad.txt
: >empty.txt
expect 2 '' 'the file of shapes is empty' --shapes empty.txt
expect 1 '' 'nothing.txt: cannot read' --shapes nothing.txt
expect 1 '' 'not a file of uk bench --json' --shapes tiny.txt --compare bad.txt
expect 2 '' "unknown set 'three'; the sets are resnet50, mobilenet" --set resnet50,three
expect 2 '' "unknown set 'three'; the sets are dense and depthwise" --sweep=1 --set three
expect 2 '' "no library's name begins with 'mkl'; use oneDNN, ONNX, called, copy, plain or none" --shapes tiny.txt --peers mkl
expect 2 '' 'type=f64 is not for uk bench conv' --type f64
expect 2 '' 'weights=none is unknown; use one of constant, argument' --weights none
expect 2 '' 'sweep 0: expected a number from 1 to' --sweep=0
expect 2 '' 'sweep draws the shapes; leave out --shapes' --sweep=1 --shapes tiny.txt
expect 2 '' 'seed is only for --sweep' --seed=3
expect 2 '' 'threads=1024: the process may use only [0-9]+ CPU' --shapes tiny.txt --threads 1024
expect 2 '' 'a name that ends in .svg' --shapes tiny.txt --plot=x.png
expect 2 '' 'uk bench conv runs here; expected native, x86_64-avx2' --target interp
expect 2 '' "takes no 'more'" more

if ((failures)); then
    echo "$failures failures"
    exit 1
fi
