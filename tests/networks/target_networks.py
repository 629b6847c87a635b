#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares recurrent networks with ONNX Runtime, here and under emulators: outputs up to BOUND of the largest element.

    target_networks.py UK [TARGET...]
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

import models

BOUND = 1e-5
# Networks of examples/networks/make.py, the values of their open sizes, and bounds of these.
NETWORKS = [("speech-2-24-0", {"frames": frames, "batch": batch}, {"frames": 40, "batch": 3}) for frames, batch in ((1, 1), (17, 1), (40, 3))] + [("speech-1-40-9", {}, {})]


def failure(uk, target, folder, name, sizes, limits):
    """Returns what is wrong; None: nothing."""
    path = folder / f"{name}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, models.SOURCE / "examples/networks/make.py", name, f"--folder={folder}"], check=True, stdout=subprocess.DEVNULL)
    shape = [d.dim_value or sizes[d.dim_param] for d in onnx.load(path).graph.input[0].type.tensor_type.shape.dim]
    x = numpy.random.default_rng(7).uniform(-2, 2, shape).astype(numpy.float32)
    numpy.save(folder / "x.npy", x)
    words = [word for k, v in sizes.items() for word in (f"--size={k}=1..{limits[k]}", f"--size={k}={v}")]
    done = subprocess.run([uk, "run", path, *words, *target, f"--input={folder}/x.npy", f"--output={folder}/y.npy"], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr[-400:].strip()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (wanted,), got = session.run(None, {"features": x}), numpy.load(folder / "y.npy")
    if got.shape != wanted.shape:
        return f"shape {got.shape}, not {wanted.shape}"
    apart = numpy.abs(got - wanted).max() / numpy.abs(wanted).max()
    return None if apart <= BOUND else f"{apart:.2g} of the largest element apart"


def main():
    uk, *targets = sys.argv[1:]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for target in [[], *([f"--target={t}"] for t in targets)]:
            for network in NETWORKS:
                what = failure(uk, target, pathlib.Path(folder), *network)
                wrong += what is not None
                print(*target, *network[:2], what or "as ONNX Runtime has it")
    sys.exit(bool(wrong))


main()
