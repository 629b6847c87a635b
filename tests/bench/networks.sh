#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# networks.sh UK SOURCE: tests uk bench networks on a small network beside those of ONNX Runtime, OpenVINO and plain loops that
# .venv-networks/ has.
set -u
uk=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$source" || exit 1
python=.venv-networks/bin/python3
"$python" -c 'import onnxruntime' 2>/dev/null || { echo "no ONNX Runtime: ./uk-setup networks installs it"; exit 77; }

fail() {
    echo "FAILED: $1"
    cat "$folder/out" "$folder/err" 2>/dev/null
    exit 1
}

python3 tests/networks/small_networks.py convolutions >"$folder/small.onnx" || fail "small_networks.py"
cp "$folder/small.onnx" "$folder/_Малая.onnx" # functions' names do not depend on the file's
"$uk" bench networks "$folder/small.onnx" "$folder/_Малая.onnx" --peers=ONNX,OpenVINO,plain --json="$folder/run.json" >"$folder/out" 2>"$folder/err" ||
    fail "uk bench networks"
"$python" - "$folder/run.json" <<'END' || fail "the JSON of a run"
import importlib.util
import json
import pathlib
import sys

has_openvino = (pathlib.Path(sys.prefix) / "openvino").exists() or importlib.util.find_spec("openvino")
rows = json.load(open(sys.argv[1], encoding="utf-8"))
assert [r["peer"] for r in rows] == 2 * ["ONNX Runtime", *(["OpenVINO"] if has_openvino else []), "plain loops"], rows
for r in rows:
    assert r["model"] in ("small", "_Малая") and r["pairs"] >= 2 and min(r["ours_ms"], r["peer_ms"], r["ratio"]) > 0, r
    assert r["quartiles"][0] <= r["ratio"] <= r["quartiles"][1], r
END
grep -q '^plain loops: geometric mean of 2 ratios ' "$folder/out" || fail "no geometric mean"
grep -q '^small: [0-9.]* ms, ONNX Runtime [0-9.]* ms, ratio ' "$folder/out" || fail "no line of ONNX Runtime"
python3 tests/networks/open_networks.py --write decoder >"$folder/decoder.onnx" || fail "open_networks.py"
"$uk" bench networks "$folder/decoder.onnx" --size batch=1 --size seq=1 --size past=0..32 --size past=9 --state auto --peers=ONNX,plain >"$folder/out" \
    2>"$folder/err" || fail "a network with states"
(($(grep -c '^decoder: [0-9.]* ms, ' "$folder/out") == 2)) || fail "no lines of a network with states"
"$uk" bench networks "$folder/small.onnx" --peers=other >"$folder/out" 2>"$folder/err"
(($? == 1)) && grep -q "no peer's name begins with 'other'; use ONNX, OpenVINO, plain" "$folder/err" || fail "an unknown peer"
