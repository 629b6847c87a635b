#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ops.sh UK SOURCE PEER: tests uk bench ops on tiny shapes: the table, the JSON, comparisons, drawn shapes, peers that are missing,
# a peer with other results, refusals.
set -u
uk=$1 source=$2 peer=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export UK_PEERS=$folder/none
mkdir none wrong
ln -s "$peer" wrong/libonnxruntime.so.1
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
    "$uk" bench ops "$@" >out 2>err
    local got=$?
    ((got == status)) || fail "uk bench ops $*: status $got, expected $status"
    (tr '\n' ' ' <out; echo) | grep -E -- "$output" >/dev/null || fail "uk bench ops $*: no '$output' on standard output"
    (tr '\n' ' ' <err; echo) | grep -E -- "$error" >/dev/null || fail "uk bench ops $*: no '$error' on standard error"
}

cat >tiny.txt <<'END'
operator transpose     # a comment
types f32 u8
case f32 M=12 N=7
case u8 M=5 N=9
draw M 8 64
draw N 8 4096
node Transpose X > Y perm=1,0
numpy numpy.copyto(Y, X.T)
operator mean
program averagepool_nhwc.uk
case f32 H=9 W=7 C=3
draw C 16 2048
order X 0 3 1 2
order Y 0 3 1 2
node AveragePool X > Y kernel_shape=3,3 strides=2,2
operator pick
program gather.uk
case f32 V=20 W=8 S=5
values I 0 V
touches E S*W
node Gather E I > Y axis=0
operator twice
program twice.uk
case f32 N=40
END
cat >twice.uk <<'END'
tensor X f32 [N]
tensor Y f32 [N]
Y[i] = X[i] + X[i]
END

# A missing peer is named, all shapes are measured, and the summary is at the end.
expect 0 'ONNX Runtime: not installed; ./uk-setup networks.*copy: memcpy.*\| transpose +\| f32 +\| M=12 N=7 +\| L1 .*\| transpose +\| u8 +\| M=5 N=9 .*\| mean .*\| pick .*\| twice .*summary.*\| all \| copy \| 5 ' \
    '1 of 5, transpose f32 M=12 N=7' --shapes tiny.txt --json=run.json
expect 0 'ONNX Runtime: not chosen by --peers.*NumPy: not chosen' '' --shapes tiny.txt --set=mean,twice --peers=none
grep -q 'transpose\|pick' out && fail "--set measures other operators"

# The JSON has sizes, bytes and times; gather counts the rows that it reads.
/usr/bin/python3 - <<'PYTHON' || fail "the JSON"
import json
run = json.load(open("run.json"))
ours = [b for b in run["benchmarks"] if b["library"] == "ukernels"]
assert [b["operator"] for b in ours] == ["transpose", "transpose", "mean", "pick", "twice"], ours
assert [b["bytes"] for b in ours] == [2 * 4 * 84, 2 * 45, 4 * 3 * (63 + 12), 2 * 4 * 40 + 8 * 5, 2 * 4 * 40], ours
assert ours[0]["M"] == 12 and ours[0]["N"] == 7 and all(b["real_time"] > 0 and b["level"] == "L1" for b in ours)
assert sum(b["library"] == "copy" for b in run["benchmarks"]) == 5
for b in ours:
    for field in "real_time", "fastest", "slowest":
        b[field] /= 100
json.dump(run, open("faster_then.json", "w"))
PYTHON
expect 1 'ops/twice/.*: slower, .*compared with faster_then.json: 1 slower, 0 faster, 0 within noise' '' \
    --shapes tiny.txt --set twice --peers none --compare faster_then.json

# --type chooses operators, and all of their shapes.
expect 0 'u8 +\| M=12 N=7 .*u8 +\| M=5 N=9 ' '' --shapes tiny.txt --type u8 --peers none
grep -q '| mean' out && fail "--type measures operators that do not have the type"

# The same seed draws the same shapes, in the range of bytes; half of the sizes are odd, half multiples of 16.
for seed in 3 3 4; do
    expect 0 'summary.*\| transpose \| copy \| 6 ' '' --shapes tiny.txt --sweep=6 --seed=$seed --set=transpose,mean --peers=copy --json=sweep.json
    /usr/bin/python3 - >>names <<'PYTHON' || fail "drawn shapes"
import json
run = json.load(open("sweep.json"))
ours = [b for b in run["benchmarks"] if b["library"] == "ukernels"]
print(run["context"]["seed"], *[b["name"] for b in ours])
drawn = [b for b in ours if b["operator"] == "transpose"]
assert len(drawn) == 6 and all(8192 / 2 <= b["bytes"] for b in ours), drawn
assert all(b["N"] % 2 or b["N"] % 16 == 0 for b in drawn), drawn
PYTHON
done
[[ $(sort names | uniq -c | sed 's/^ *\([0-9]*\) .*/\1/' | paste -sd,) == 2,1 && $(wc -l <names) == 3 ]] || fail "drawn shapes: $(<names)"

# All built-in programs have the interpreter's results, and where it is installed those of ONNX Runtime.
if [[ ! -d $source/.venv-networks ]]; then
    expect 0 '\| attention_causal ' '' --sweep=1 --seed=2 --peers=none
else
    UK_PEERS=$source/.venv-networks expect 0 'attention_causal \| ONNX Runtime \| 1 \|' '' --sweep=1 --seed=2 --peers=ONNX
    grep -q 'does not compute' err && fail "operators of ONNX Runtime"
    UK_PEERS=$source/.venv-networks expect 0 '\| all \| ONNX Runtime \| 4 ' '' --shapes tiny.txt --peers=ONNX
    sed 's/node AveragePool/node MaxPool/' tiny.txt >bad.txt
    UK_PEERS=$source/.venv-networks expect 1 '' 'operator mean, .*: element 0 of Y is .*, but ONNX Runtime has' --shapes bad.txt --peers=ONNX
    sed 's/node AveragePool/node NoPool/' tiny.txt >bad.txt
    UK_PEERS=$source/.venv-networks expect 0 '\| mean .*\| +- \| +- \|' 'ONNX Runtime: does not compute mean of f32' --shapes bad.txt --peers=ONNX
fi

# A wrong result is an error that names operator and element; so is one of NumPy's statements.
UK_PEERS=$folder/wrong expect 1 '' 'operator transpose, M=12 N=7: element 0 of Y is [-0-9.]+, but ONNX Runtime has 0' --shapes tiny.txt --peers=ONNX
sed 's/X.T/X/' tiny.txt >bad.txt
if python3 -c 'import numpy' 2>/dev/null; then
    expect 0 'NumPy: NumPy [0-9].*\| transpose .*\| +- \|' 'NumPy: transpose: ValueError' --shapes bad.txt --set transpose --peers=NumPy
else
    expect 0 'NumPy: not installed; ./uk-setup networks' '' --shapes bad.txt --set transpose --peers=NumPy
fi

# No operator begins after the time limit.
for i in {1..400}; do printf 'operator long%d\nprogram relu.uk\ncase f32 N=%d\n' "$i" $((1000 + i)); done >long.txt
expect 0 '\| long1 ' 'time limit reached: [0-9]+ of 400 shapes were not measured' --shapes long.txt --peers none --time-limit 2

# Invalid arguments and files are refused.
refuse() {
    printf '%b\n' "$1" >bad.txt
    expect 1 '' "$2" --shapes bad.txt --peers none
}
refuse 'case f32' 'bad.txt: line 1: case before any operator'
refuse 'operator a\ncase f64 N=3' 'line 2: f64 is not among the types of a'
refuse 'operator a\ncase f32 N' "line 2: 'N' is no size"
refuse 'operator a\ncase f32 N=0' "line 2: 'N=0' is no size"
refuse 'operator a\ndraw N 5 4' 'line 2: draw needs'
refuse 'operator a\nnode X' 'line 2: node needs 4 to'
refuse 'operator a\nwhatever X' "line 2: 'whatever' is unknown"
refuse 'operator a\noperator a' 'line 2: there is another operator a'
refuse 'operator a\ncase f32 N=3' 'a.uk: cannot read'
refuse 'operator exp\ncase f32 M=3' 'operator exp: its program has no size M'
refuse 'operator exp\ncase f32 N=3\nvalues X 4 3' 'operator exp: values X: expected a number'
refuse 'operator gather\ncase f32 V=20\nvalues I 0 V\ntouches E Q' 'touches E: expected a product'
UK_PEERS=$folder/wrong
export UK_PEERS
sed 's/order Y 0 3 1 2/order Y 0 3 1/' tiny.txt >bad.txt
expect 1 '' 'operator mean: order Y: give each of its dimensions, 0 to 3, once' --shapes bad.txt --set mean
printf 'operator exp\ncase f32 N=8\nshape X N 2\nnode Exp X > Y\n' >bad.txt
expect 1 '' "operator exp: shape X: it has 16 elements, but the program's tensor 8" --shapes bad.txt
printf 'operator exp\ndraw N 5 6\n' >bad.txt
expect 1 '' 'operator exp: no sizes within its lines' --shapes bad.txt --sweep
: >empty.txt
expect 2 '' 'the file has no operator' --shapes empty.txt
expect 1 '' 'nothing.txt: cannot read' --shapes nothing.txt
expect 2 '' "unknown operator 'sofmax'; did you mean 'softmax'" --set exp,sofmax
expect 2 '' 'none of these operators has the type u8i8' --type u8i8
expect 2 '' "no library's name begins with 'mkl'; use ONNX, NumPy, copy or none" --peers mkl
expect 2 '' 'seed is only for --sweep' --seed=3
expect 2 '' 'plot is for uk bench gemm and conv' --plot=x.svg
expect 2 '' 'uk bench ops runs here; expected native, x86_64-avx2' --target interp
expect 2 '' "takes no 'more'" more

if ((failures)); then
    echo "$failures failures"
    exit 1
fi
