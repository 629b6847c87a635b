#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts instructions of quantized networks on RISC-V P by kind of layer, and compares them with the RFC's
figures and with code without P.

    bench/network_counts.py UK [NETWORK...] [--folder=DIR] [--programs=NAME,...] [--json=FILE]
        [--against=onnxruntime|here|nothing]

Networks are those of examples/networks/make.py: mobilenet_v1, mobilenet_v2, inception_v3, inception_v4
(default: all four), or one of these names with a width and a size, which the RFC does not have. FOLDER
(default: build/networks) keeps the models, NETWORK.onnx and the quantized NETWORK-int8.onnx; missing ones are
made. UK compiles each and runs it under qemu-riscv64. All instructions of the call count, those of
requantization, copies, borders and transposes included. Programs:

    p        bytes, for riscv64-p
    scalar   bytes, for riscv64
    tiled    FP32, for riscv64, by its kernels
    plain    FP32, for riscv64, in the loops of the statements

Outputs are compared with ONNX Runtime's (needs ./uk-setup networks): bytes must be equal, with sums by NumPy,
because ONNX Runtime saturates on CPUs without an instruction for them; floats must be within the bounds of
tests/networks/oracle.py. `here` compares with the same network compiled for this CPU. Exits with 1 after a
difference. FLOOR is a lower bound of the products' instructions on P (uk/network/count.c).
"""

import array
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
NETWORKS = ("mobilenet_v1", "mobilenet_v2", "inception_v3", "inception_v4")
# Millions of instructions, on P and in FP32; source: discuss.tvm.apache.org/t/7967, 2020.
RFC = {"mobilenet_v1": (805, 3764), "mobilenet_v2": (687, 2384), "inception_v3": (4909, 39934), "inception_v4": (10435, 92224)}
# For each: title, suffix of the model's name, options of uk.
PROGRAMS = {"p": ("int8 on P", "-int8", ["--target=riscv64-p"]), "scalar": ("int8 on RV64", "-int8", ["--target=riscv64"]),
            "tiled": ("FP32 tiled", "", ["--target=riscv64"]), "plain": ("FP32 in plain loops", "", ["--target=riscv64", "--no-kernels"])}
COLUMNS = ("kind", "window", "output", "multiply_adds", "instructions", "each", "floor", "ratio", "name")


def make(folder, name, programs):
    if not all((folder / f"{name}{PROGRAMS[p][1]}.onnx").exists() for p in programs):
        subprocess.run([sys.executable, SOURCE / "examples/networks/make.py", name, "--int8", f"--folder={folder}"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def number(text):
    return None if text == "-" else float(text)


def read_table(said):
    """Returns the layers that uk run --count=layers prints."""
    layers = []
    for line in said[said.index("layer kind") :].splitlines()[1:]:
        words = line.split(None, len(COLUMNS))
        if len(words) <= len(COLUMNS) or not words[0].isdigit() or words[2] == "all":
            continue
        row = dict(zip(COLUMNS, words[1:]))
        layers.append({**row, **{c: number(row[c]) for c in COLUMNS[3:8]}, "layer": int(words[0])})
    return layers


def run(words, output):
    """Returns standard output, and the elements of the network's output."""
    ran = subprocess.run([*words, f"--output={output}"], stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit status {ran.returncode}")
    return ran.stdout, array.array("f", output.read_bytes())


# Each class prepares, for a model, the inputs of uk run, the expected outputs, and their tolerance.


class OnnxRuntime:
    """Compares on random inputs, the same in every run."""

    def __init__(self):
        sys.path.insert(0, str(SOURCE / "tests/networks"))
        try:
            import numpy
            import onnx
            import models
            import oracle
        except ImportError as error:
            sys.exit(f"{error}: ./uk-setup networks installs numpy, onnx and onnxruntime into .venv-networks")
        self.numpy, self.onnx, self.models, self.oracle = numpy, onnx, models, oracle

    def prepare(self, _uk, name, path, work):
        model = self.onnx.load(str(path))
        feeds = self.models.inputs_of(model, self.models.random_of(name))
        for key, value in feeds.items():
            self.numpy.save(work / f"{key}.npy", value)
        o = self.oracle.Oracle(model, feeds, work)
        wanted = array.array("f", o.outputs[0].astype("float32").tobytes())
        return [f"--input={key}={work / key}.npy" for key in feeds], wanted, 0 if o.is_quantized else self.oracle.OUTPUT * max(map(abs, wanted))


class Here:
    """Compares on uk's own inputs with the results on this CPU, which adds floats in another order."""

    def prepare(self, uk, _name, path, work):
        _, wanted = run([uk, "run", path], work / "here.bin")
        return [], wanted, 0 if path.stem.endswith("-int8") else 1e-4 * max(map(abs, wanted))


class Nothing:
    def prepare(self, _uk, _name, _path, _work):
        return [], None, 0


AGAINST = {"onnxruntime": OnnxRuntime, "here": Here, "nothing": Nothing}


def sums_by_kind(layers):
    sums = collections.defaultdict(lambda: dict.fromkeys(("layers", "multiply_adds", "instructions", "floor"), 0))
    for row in layers:
        s = sums[row["kind"]]
        s["layers"] += 1
        for column in ("multiply_adds", "instructions", "floor"):
            s[column] += row[column] or 0
    return dict(sums)


def measure(uk, name, programs, folder, against):
    """Returns the JSON object of a network; outputs are equal unless it says otherwise."""
    make(folder, name, programs)
    result = {"network": name, "rfc": RFC.get(name), "programs": {}, "wrong": []}
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        prepared = {suffix: against.prepare(uk, name, folder / f"{name}{suffix}.onnx", work) for suffix in {PROGRAMS[p][1] for p in programs}}
        for program in programs:
            _, suffix, options = PROGRAMS[program]
            inputs, wanted, far = prepared[suffix]
            said, output = run([uk, "run", folder / f"{name}{suffix}.onnx", *options, "--count=layers", *inputs], work / "output.bin")
            layers = read_table(said)
            if wanted is not None and not (len(output) == len(wanted) and all(abs(x - y) <= far for x, y in zip(output, wanted))):
                apart = max(abs(x - y) for x, y in zip(output, wanted))
                result["wrong"].append(f"{name}, {program}: {len(output)} elements, and {len(wanted)} are wanted; one is {apart:.3g} apart, {far:.3g} may be")
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
    against = options.pop("--against", "onnxruntime")
    if not words or options or set(programs) - set(PROGRAMS) or against not in AGAINST:
        sys.exit(__doc__)
    compared = AGAINST[against]()
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for name in words[1:] or NETWORKS:
        results.append(measure(words[0], name, programs, folder, compared))
        print_table(results[-1:], programs)
        sys.stdout.flush()
        if out:
            pathlib.Path(f"{out}.part").write_text(json.dumps(results, indent=1) + "\n")
            os.replace(f"{out}.part", out)
    wrong = [text for r in results for text in r["wrong"]]
    equal = {"onnxruntime": "equal to ONNX Runtime's", "here": "equal to those of this CPU", "nothing": "not compared"}
    print("\n".join(wrong) if wrong else f"outputs: {equal[against]}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
