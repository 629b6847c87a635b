#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares operators with ONNX Runtime: those of the domain com.microsoft, whose definition it is, and forms of
ONNX's own that no definition in plain Python is written for. Needs onnx, onnxruntime, numpy.

    compared_operators.py UK [PATTERN]
"""

import fnmatch
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import helper

MICROSOFT = "com.microsoft"
rng = numpy.random.default_rng(47)
CASES = {}


def f32(*shape, least=-1.0, most=1.0):
    return rng.uniform(least, most, shape).astype(numpy.float32)


def whole(kind, least, most, *shape):
    return rng.integers(least, most + 1, shape).astype(kind)


def add(name, op, inputs, outputs=1, constants=(), bound=2e-5, domain=MICROSOFT, opset=21, refused=None, slack=0, **attributes):
    """A case of one node. inputs: arrays in order, or None; constants: numbers of those that are initializers;
    outputs: their number, or names ("" : left out); refused: a part of the message that refuses it; slack: how far
    apart integers may be."""
    outputs = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    names = [f"x{i}" if v is not None else "" for i, v in enumerate(inputs)]
    nodes = [helper.make_node(op, names, outputs, domain=domain, name=op.lower(), **attributes)]
    given = {f"x{i}": v for i, v in enumerate(inputs) if v is not None}
    CASES[name] = (nodes, given, {f"x{i}" for i in constants}, [o for o in outputs if o], opset, bound, refused, slack)


def model_of(nodes, given, constants, outputs, opset):
    value = lambda name, v: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
    graph = helper.make_graph(nodes, "g", [value(k, v) for k, v in given.items() if k not in constants], [onnx.ValueInfoProto(name=o) for o in outputs],
                              [onnx.numpy_helper.from_array(v, k) for k, v in given.items() if k in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])
    model.ir_version = 10
    return model


def difference(got, wanted, bound, slack):
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype} {got.shape}, not {wanted.dtype} {wanted.shape}"
    if wanted.dtype.kind != "f":
        wrong = numpy.abs(got.astype(numpy.int64) - wanted.astype(numpy.int64)) > slack
    else:
        with numpy.errstate(invalid="ignore"):
            wrong = ~((numpy.abs(got - wanted) <= bound * (1 + numpy.abs(wanted))) | (got == wanted) | (numpy.isnan(got) & numpy.isnan(wanted)))
    if not wrong.any():
        return None
    i = tuple(numpy.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} elements differ; {i} is {got[i]}, not {wanted[i]}"


def failure(uk, folder, case):
    nodes, given, constants, outputs, opset, bound, refused, slack = case
    model = model_of(nodes, given, constants, outputs, opset)
    path = folder / "m.onnx"
    onnx.save(model, str(path))
    words = [uk, "run", str(path)]
    for k, v in given.items():
        if k not in constants:
            numpy.save(folder / f"{k}.npy", v)
            words.append(f"--input={k}={folder}/{k}.npy")
    done = subprocess.run([*words, *(f"--output={folder}/{o}.npy" for o in outputs), "--check"], capture_output=True, text=True, check=False)
    if refused:
        return None if done.returncode == 1 and refused in done.stderr else f"not refused: {done.stderr[-300:]}"
    if done.returncode:
        return done.stderr[-400:].strip()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = session.run(outputs, {k: v for k, v in given.items() if k not in constants})
    wrong = [difference(numpy.load(folder / f"{o}.npy"), w, bound, slack) for o, w in zip(outputs, wanted, strict=True)]
    return next((f"{o}: {w}" for o, w in zip(outputs, wrong) if w), None)


def main():
    uk, pattern = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "*"
    chosen = {k: v for k, v in CASES.items() if fnmatch.fnmatch(k, pattern)}
    failures = 0
    for name, case in chosen.items():
        with tempfile.TemporaryDirectory() as folder:
            what = failure(uk, pathlib.Path(folder), case)
        if what:
            failures += 1
            print(f"{name}: {what}")
    print(f"{len(chosen) - failures} of {len(chosen)} operators as ONNX Runtime has them")
    sys.exit(bool(failures) or not chosen)


# ---- normalizations ----

X3 = f32(2, 5, 16)
for simplified in (False, True):
    op, own = ("SkipSimplifiedLayerNormalization", []) if simplified else ("SkipLayerNormalization", [f32(16)])
    add(f"{op}_sum", op, [X3, f32(2, 5, 16), f32(16), *own, f32(16)], ["y", "", "", "s"], epsilon=1e-3)
    add(f"{op}_plain", op, [X3, f32(2, 5, 16), f32(16), *own], 1, epsilon=1e-5)
    add(f"{op}_broadcast", op, [X3, f32(5, 16), f32(16), *own], 1)
add("SimplifiedLayerNormalization", "SimplifiedLayerNormalization", [X3, f32(16)], domain="", opset=17, axis=-1, epsilon=1e-6)
add("LayerNormalization_axis", "LayerNormalization", [X3, f32(5, 16), f32(5, 16)], ["y", "m", "i"], domain="", opset=17, axis=1)

# ---- elements ----

WIDE = f32(3, 7, least=-9, most=9)
for op, parts in {"BiasGelu": [WIDE, f32(7)], "FastGelu": [WIDE], "FastGelu_bias": [WIDE, f32(7)], "Gelu": [WIDE], "QuickGelu": [WIDE]}.items():
    add(op, op.split("_")[0], parts)
add("QuickGelu_alpha", "QuickGelu", [WIDE], alpha=-0.5)
add("CastLike", "CastLike", [WIDE, whole(numpy.int32, 0, 1, 1)], domain="")

# ---- products ----

IMAGE, FILTER = f32(2, 4, 9, 11), f32(6, 4, 3, 3)
for activation, parameters in {"Relu": None, "Sigmoid": None, "Tanh": None, "LeakyRelu": [0.2], "Clip": [-0.5, 0.75], "HardSigmoid": [0.3, 0.4]}.items():
    more = {"activation_params": parameters} if parameters else {}
    add(f"FusedConv_{activation}", "FusedConv", [IMAGE, FILTER, f32(6)], constants=(1, 2), activation=activation, pads=[1, 1, 1, 1], **more)
add("FusedConv_addend", "FusedConv", [IMAGE, FILTER, f32(6), f32(2, 6, 4, 5)], constants=(1, 2), activation="Relu", strides=[2, 2])
add("FusedConv_no_bias", "FusedConv", [IMAGE, f32(4, 2, 1, 1)], constants=(1,), group=2, activation="Tanh")
add("FusedConv_other", "FusedConv", [IMAGE, FILTER], constants=(1,), activation="Softplus", refused="activation 'Softplus' is not supported")
SQUARE, OTHER = f32(5, 3, 6, 7), f32(5, 3, 7, 8)
add("FusedMatMul", "FusedMatMul", [SQUARE, OTHER], alpha=0.5)
add("FusedMatMul_a", "FusedMatMul", [f32(5, 3, 7, 6), OTHER], transA=1)
add("FusedMatMul_b", "FusedMatMul", [SQUARE, f32(5, 3, 8, 7)], transB=1, alpha=2.0)
add("FusedMatMul_b_constant", "FusedMatMul", [SQUARE, f32(8, 7)], constants=(1,), transB=1)
add("FusedMatMul_batch_a", "FusedMatMul", [f32(6, 5, 3, 7), OTHER], transBatchA=1)
add("FusedMatMul_batch_b", "FusedMatMul", [SQUARE, f32(7, 5, 3, 8)], transBatchB=1, constants=(1,))
add("FusedMatMul_batch_ab", "FusedMatMul", [f32(7, 5, 3, 6), f32(8, 5, 3, 7)], transBatchA=1, transBatchB=1, transA=1, transB=1)

# ---- rotary embeddings: x, positions, cosines, sines ----


def tables(positions, half):
    angle = rng.uniform(0, 6, (positions, half))
    return numpy.cos(angle).astype(numpy.float32), numpy.sin(angle).astype(numpy.float32)


ROTARY = "RotaryEmbedding"
PLACES = whole(numpy.int64, 0, 19, 2, 5)
for interleaved in (0, 1):
    add(f"{ROTARY}_3d_{interleaved}", ROTARY, [f32(2, 5, 24), PLACES, *tables(20, 4)], interleaved=interleaved)
    add(f"{ROTARY}_4d_{interleaved}", ROTARY, [f32(2, 3, 5, 8), PLACES, *tables(20, 4)], constants=(2, 3), interleaved=interleaved)
    add(f"{ROTARY}_first_{interleaved}", ROTARY, [f32(2, 5, 24), numpy.array([7]), *tables(20, 4)], interleaved=interleaved)
    add(f"{ROTARY}_first_4d_{interleaved}", ROTARY, [f32(2, 3, 5, 8), numpy.array([0]), *tables(20, 4)], interleaved=interleaved, constants=(1, 2, 3))
    add(f"{ROTARY}_part_{interleaved}", ROTARY, [f32(2, 5, 24), PLACES, *tables(20, 2)], interleaved=interleaved, num_heads=3, rotary_embedding_dim=4)
    add(f"{ROTARY}_part_4d_{interleaved}", ROTARY, [f32(2, 3, 5, 8), PLACES, *tables(20, 3)], interleaved=interleaved, num_heads=3, rotary_embedding_dim=6)
add(f"{ROTARY}_packed", ROTARY, [f32(2, 5, 24), PLACES, *tables(20, 4)], is_packed_batching=1, refused="is_packed_batching=1 is not supported")
add(f"{ROTARY}_scale", ROTARY, [f32(2, 5, 24), PLACES, *tables(20, 4)], scale=0.5)

if __name__ == "__main__":
    main()
