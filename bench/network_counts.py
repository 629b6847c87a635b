#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of quantized networks on RISC-V P, beside the RFC's and beside code without P, by kind of layer.

    bench/network_counts.py UK [NETWORK...] [--folder=DIR] [--programs=NAME,...] [--json=FILE] [--without-outputs]

Networks are those of examples/networks/make.py: mobilenet_v1, mobilenet_v2, inception_v3, inception_v4 (default: all four), or such a
name with a width and a size, which the RFC has not. FOLDER (default: build/networks) keeps the models, which are made where they are
missing. Each is compiled and run by UK under qemu-riscv64, with every instruction of the call counted: requantize, copies, borders and
transposes among them. Programs:

    p        bytes, for riscv64-p
    scalar   bytes, for riscv64
    tiled    FP32, for riscv64, by its kernels
    plain    FP32, for riscv64, in the loops of the statements

Outputs of bytes are equal to ONNX Runtime's in every element (its sums are NumPy's, as it saturates on CPUs that have no instruction
for them); those of floats as near as tests/networks/oracle.py wants them. The exit status is 1 where one is not. FLOOR is what
products take on P at least (uk/network/network_count.c). It needs ./uk-setup networks.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests/networks"))
try:
    import numpy
    import onnx
    import models
    import oracle
except ImportError as error:
    sys.exit(f"{error}: ./uk-setup networks installs numpy, onnx and onnxruntime into .venv-networks")

NETWORKS = ("mobilenet_v1", "mobilenet_v2", "inception_v3", "inception_v4")
# Millions of instructions, on P and in FP32: discuss.tvm.apache.org/t/7967, 2020.
RFC = {"mobilenet_v1": (805, 3764), "mobilenet_v2": (687, 2384), "inception_v3": (4909, 39934), "inception_v4": (10435, 92224)}
# A title, what the model's name ends in, options.
PROGRAMS = {"p": ("int8 on P", "-int8", ["--target=riscv64-p"]), "scalar": ("int8 on RV64", "-int8", ["--target=riscv64"]),
            "tiled": ("FP32 tiled", "", ["--target=riscv64"]), "plain": ("FP32 in plain loops", "", ["--target=riscv64", "--no-kernels"])}
COLUMNS = ("kind", "window", "output", "multiply_adds", "instructions", "each", "floor", "ratio", "name")


def make(folder, name):
    if not all((folder / f"{name}{suffix}.onnx").exists() for suffix in ("", "-int8")):
        subprocess.run([sys.executable, SOURCE / "examples/networks/make.py", name, "--int8", f"--folder={folder}"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def number(text):
    return None if text == "-" else float(text)


def read_table(said):
    """The layers that uk run --count=layers prints."""
    layers = []
    for line in said[said.index("layer kind") :].splitlines()[1:]:
        words = line.split(None, len(COLUMNS))
        if len(words) <= len(COLUMNS) or not words[0].isdigit() or words[2] == "all":
            continue
        row = dict(zip(COLUMNS, words[1:]))
        layers.append({**row, **{c: number(row[c]) for c in COLUMNS[3:8]}, "layer": int(words[0])})
    return layers


def run(uk, model, options, feeds, work):
    words = [uk, "run", str(model), *options, "--count=layers"]
    for name, value in feeds.items():
        numpy.save(work / f"{name}.npy", value)
        words.append(f"--input={name}={work / name}.npy")
    ran = subprocess.run([*words, f"--output={work}/output.npy"], stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(words)}: exit status {ran.returncode}")
    return read_table(ran.stdout), numpy.load(work / "output.npy")


def expected(model, feeds, work):
    """What ONNX Runtime makes of it, and how far another result may be apart."""
    o = oracle.Oracle(model, feeds, work)
    return o.outputs[0], 0 if o.is_quantized else oracle.OUTPUT * float(numpy.abs(o.outputs[0]).max())


def sums_by_kind(layers):
    sums = collections.defaultdict(lambda: dict.fromkeys(("layers", "multiply_adds", "instructions", "floor"), 0))
    for row in layers:
        s = sums[row["kind"]]
        s["layers"] += 1
        for column in ("multiply_adds", "instructions", "floor"):
            s[column] += row[column] or 0
    return dict(sums)


def measure(uk, name, programs, folder, compares):
    """What is in the JSON of one network; its outputs are equal where nothing is said."""
    make(folder, name)
    result = {"network": name, "rfc": RFC.get(name), "programs": {}, "wrong": []}
    wanted = {}
    for program in programs:
        _, suffix, options = PROGRAMS[program]
        path = folder / f"{name}{suffix}.onnx"
        model = onnx.load(str(path))
        feeds = models.inputs_of(model, models.random_of(name))
        with tempfile.TemporaryDirectory() as work:
            if compares and suffix not in wanted:
                wanted[suffix] = expected(model, feeds, pathlib.Path(work))
            layers, output = run(uk, path, options, feeds, pathlib.Path(work))
        if compares:
            value, far = wanted[suffix]
            apart = float(numpy.abs(output.astype(float) - value).max()) if output.shape == value.shape else float("inf")
            if not apart <= far:
                result["wrong"].append(f"{name}, {program}: an output is {apart:.3g} apart from ONNX Runtime's, {far:.3g} may be")
        result["programs"][program] = {"instructions": sum(r["instructions"] for r in layers), "kinds": sums_by_kind(layers), "layers": layers}
        result["multiply_adds"] = sum(r["multiply_adds"] for r in layers)
    return result


def millions(n):
    return f"{n / 1e6:,.1f}"


def print_table(results, programs):
    titles = [f"{PROGRAMS[p][0]}, M" for p in programs]
    print("| network | kind | multiply-adds, M | " + " | ".join(titles) + " | per multiply-add | floor, M |")
    print("|---|---|" + "---:|" * (len(programs) + 3))
    for r in results:
        first = r["programs"][programs[0]]
        kinds = sorted({k for p in programs for k in r["programs"][p]["kinds"]}, key=lambda k: -first["kinds"].get(k, {"instructions": 0})["instructions"])
        floor = sum(k["floor"] for k in first["kinds"].values())
        counts = [millions(r["programs"][p]["instructions"]) for p in programs]
        print(f"| **{r['network']}** | all | {millions(r['multiply_adds'])} | {' | '.join(counts)} | {first['instructions'] / r['multiply_adds']:.3f} | {millions(floor)} |")
        if r["rfc"]:
            beside = [{"p": f"{r['rfc'][0]:,}", "plain": f"{r['rfc'][1]:,}"}.get(p, "") for p in programs]
            print(f"| | the RFC's | | {' | '.join(beside)} | | |")
        for kind in kinds:
            rows = [r["programs"][p]["kinds"].get(kind) for p in programs]
            some = next(row for row in rows if row)
            each = f"{rows[0]['instructions'] / some['multiply_adds']:.3f}" if rows[0] and some["multiply_adds"] else ""
            counts = [millions(row["instructions"]) if row else "" for row in rows]
            floors = millions(rows[0]["floor"]) if rows[0] and rows[0]["floor"] else ""
            print(f"| | {kind} | {millions(some['multiply_adds'])} | {' | '.join(counts)} | {each} | {floors} |")


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    options = dict(w.partition("=")[::2] for w in sys.argv[1:] if w.startswith("--"))
    programs = options.pop("--programs", ",".join(PROGRAMS)).split(",")
    folder, out = pathlib.Path(options.pop("--folder", SOURCE / "build/networks")), options.pop("--json", None)
    compares = options.pop("--without-outputs", None) is None
    if not words or options or set(programs) - set(PROGRAMS):
        sys.exit(__doc__)
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for name in words[1:] or NETWORKS:
        results.append(measure(words[0], name, programs, folder, compares))
        print_table(results[-1:], programs)
        sys.stdout.flush()
        if out:
            pathlib.Path(f"{out}.part").write_text(json.dumps(results, indent=1) + "\n")
            os.replace(f"{out}.part", out)
    wrong = [text for r in results for text in r["wrong"]]
    print("\n".join(wrong) if wrong else "outputs: equal to ONNX Runtime's" if compares else "outputs: not compared")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
