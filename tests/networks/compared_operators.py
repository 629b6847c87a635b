#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares operators with ONNX Runtime: those of the domain com.microsoft, whose definition it is, and forms of
ONNX's own that no definition in plain Python is written for. Products of bytes are compared with NumPy, too. Needs onnx,
onnxruntime, numpy.

    compared_operators.py UK [PATTERN]
"""

import fnmatch
import pathlib
import subprocess
import sys
import tempfile

import byte_products
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


def add(name, op, inputs, outputs=1, constants=(), bound=2e-5, domain=MICROSOFT, opset=21, refused=None, slack=0, saturates=False, **attributes):
    """A case of one node. inputs: arrays in order, or None; constants: numbers of those that are initializers;
    outputs: their number, or names ("" : left out); refused: a part of the message that refuses it; slack: how far
    apart integers may be; saturates: ONNX Runtime saturates sums within the product, so NumPy alone decides."""
    outputs = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    names = [f"x{i}" if v is not None else "" for i, v in enumerate(inputs)]
    nodes = [helper.make_node(op, names, outputs, domain=domain, name=op.lower(), **attributes)]
    given = {f"x{i}": v for i, v in enumerate(inputs) if v is not None}
    CASES[name] = (nodes, given, {f"x{i}" for i in constants}, [o for o in outputs if o], opset, bound, refused, slack, saturates)


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


def runtime_outputs(model, outputs, given):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(outputs, given)


def failure(uk, folder, case):
    nodes, given, constants, outputs, opset, bound, refused, slack, saturates = case
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
    references = {}
    if nodes[0].op_type in byte_products.DEFINED:
        references["NumPy"] = [byte_products.DEFINED[nodes[0].op_type]([given.get(k) for k in nodes[0].input])]
    try:
        if not saturates:
            references["ONNX Runtime"] = runtime_outputs(model, outputs, {k: v for k, v in given.items() if k not in constants})
    except Exception as e:  # its own classes have no common base
        return f"ONNX Runtime: {e}"[:300]
    got = [numpy.load(folder / f"{o}.npy") for o in outputs]
    wrong = [(by, o, difference(y, w, bound, slack)) for by, wanted in references.items() for o, y, w in zip(outputs, got, wanted, strict=True)]
    return next((f"{o}: {w} by {by}" for by, o, w in wrong if w), None)


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

# ---- images: x, roi, scales, sizes ----

PHOTO = f32(1, 2, 13, 9)
for transformation in "half_pixel pytorch_half_pixel align_corners asymmetric half_pixel_symmetric".split():
    for excludes in (0, 1):
        for name, size in {"larger": [1, 2, 20, 23], "smaller": [1, 2, 5, 4], "one": [1, 2, 1, 6]}.items():
            more = {"domain": "", "opset": 19, "exclude_outside": excludes, "coordinate_transformation_mode": transformation}
            inputs = [PHOTO, None, None, numpy.array(size)]
            add(f"Resize_cubic_{transformation}_{excludes}_{name}", "Resize", inputs, constants=(3,), mode="cubic", cubic_coeff_a=-0.5 - excludes / 4, **more)
            if excludes and name == "smaller" and transformation == "half_pixel":  # ONNX Runtime always excludes
                for mode in ("linear", "cubic"):
                    add(f"Resize_{mode}_antialias", "Resize", inputs, constants=(3,), mode=mode, antialias=1, **more)

for columns in (0, 1):
    for name, more in {"plain": {}, "strides": {"strides": [2, 3]}, "pads": {"pads": [1, 0, 1, 2], "strides": [2, 2]}, "dilated": {"dilations": [2, 2]}, "ceil": {"strides": [2, 2], "ceil_mode": 1}}.items():
        add(f"MaxPool_places_{name}_{columns}", "MaxPool", [PHOTO], 2, domain="", kernel_shape=[3, 3], storage_order=columns, **more)
add("MaxUnpool", "MaxUnpool", [f32(2, 3, 4, 5), rng.permutation(480)[:120].reshape(2, 3, 4, 5)], domain="", kernel_shape=[2, 2], strides=[2, 2])
add("Col2Im", "Col2Im", [f32(2, 12, 9), numpy.array([5, 6]), numpy.array([2, 2])], domain="", constants=(1, 2), strides=[1, 2], dilations=[2, 1])
add("Col2Im_pads", "Col2Im", [f32(2, 12, 12), numpy.array([5, 6]), numpy.array([3, 2])], domain="", constants=(1, 2), strides=[2, 2], pads=[1, 1, 2, 1])

REGIONS = numpy.array([[0.5, 1, 7, 12], [-3, -2, 4, 5], [2, 2, 2, 2], [6, 9, 14, 13], [5, 8, 2, 3]], numpy.float32)
for half in ("half_pixel", "output_half_pixel"):
    for mode in ("avg", "max"):
        for samples in (1, 3):
            add(f"RoiAlign_{half}_{mode}_{samples}", "RoiAlign", [f32(2, 3, 13, 9), REGIONS, numpy.array([0, 1, 1, 0, 1])], domain="", coordinate_transformation_mode=half, mode=mode,
                sampling_ratio=samples, output_height=3, output_width=2, spatial_scale=0.75)
for name, more in {"": {}, "_window": {"strides": [2, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2]}, "_groups": {"group": 2, "offset_group": 4}}.items():
    rows, columns = (5, 7) if name == "_window" else (7, 7)
    groups = more.get("offset_group", 1)
    add(f"DeformConv{name}", "DeformConv", [f32(2, 4, 9, 8), f32(6, 4 // more.get("group", 1), 3, 2), f32(2, 12 * groups, rows, columns, least=-2, most=2), f32(6), f32(2, 6 * groups, rows, columns)],
        domain="", opset=19, **more)
add("Det", "Det", [f32(3, 2, 6, 6)], domain="", opset=17)
add("MeanVarianceNormalization", "MeanVarianceNormalization", [f32(2, 3, 5, 4)], domain="", opset=13)

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

# ---- attention: x, weights, bias, mask, past, attention_bias ----

X, W, B = f32(2, 5, 12), f32(12, 36), f32(36)
MASK = whole(numpy.int32, 0, 1, 2, 5)
LENGTHS = numpy.array([3, 5], numpy.int32)
HEADS = {"num_heads": 3}
add("Attention", "Attention", [X, W, B], constants=(1, 2), **HEADS)
add("Attention_no_bias", "Attention", [X, W, None], constants=(1,), **HEADS, scale=0.25)
add("Attention_mask", "Attention", [X, W, B, MASK], constants=(1, 2), **HEADS)
add("Attention_masked", "Attention", [X, W, B, numpy.zeros((2, 5), numpy.int32)], constants=(1, 2), **HEADS)
add("Attention_lengths", "Attention", [X, W, B, LENGTHS], constants=(1, 2), **HEADS, mask_filter_value=-3.0)
add("Attention_rows", "Attention", [X, W, B, whole(numpy.int32, 0, 1, 2, 5, 5)], constants=(1, 2), **HEADS, unidirectional=1)
add("Attention_causal", "Attention", [X, W, B, MASK], constants=(1, 2), **HEADS, unidirectional=1)
add("Attention_weights", "Attention", [X, W, B], **HEADS)
add("Attention_sizes", "Attention", [X, f32(12, 6 + 6 + 9), f32(21)], constants=(1, 2), **HEADS, qkv_hidden_sizes=[6, 6, 9])
add("Attention_bias", "Attention", [X, W, B, None, None, f32(1, 3, 5, 5)], constants=(1, 2), **HEADS)
add("Attention_past", "Attention", [X, W, B, whole(numpy.int32, 0, 1, 2, 9), f32(2, 2, 3, 4, 4)], 2, constants=(1, 2), **HEADS, unidirectional=1)
add("Attention_present", "Attention", [X, W, B], 2, constants=(1, 2), **HEADS)
add("Attention_step", "Attention", [f32(2, 1, 12), W, B, None, f32(2, 2, 3, 4, 4)], 2, constants=(1, 2), **HEADS, unidirectional=1)
add("Attention_rotary", "Attention", [X, W, B], constants=(1, 2), **HEADS, do_rotary=1, refused="do_rotary=1 is not supported")
add("Attention_ends", "Attention", [X, W, B, numpy.array([3, 5, 0, 1], numpy.int32)], constants=(1, 2), **HEADS, refused="a mask of shape 4 is not supported")

# ---- q, k, v, bias, mask, attention_bias, past key, past value ----

MHA = "MultiHeadAttention"
Q, K, V = f32(2, 5, 12), f32(2, 7, 12), f32(2, 7, 15)
add(MHA, MHA, [Q, K, V], **HEADS)
add(f"{MHA}_bias", MHA, [Q, K, V, f32(39)], **HEADS, scale=0.7)
add(f"{MHA}_mask", MHA, [Q, K, V, f32(39), whole(numpy.int32, 0, 1, 2, 7)], constants=(3,), **HEADS)
add(f"{MHA}_lengths", MHA, [Q, K, V, None, numpy.array([4, 7], numpy.int32)], **HEADS)
add(f"{MHA}_rows", MHA, [Q, K, V, None, whole(numpy.int32, 0, 1, 2, 5, 7)], **HEADS)
add(f"{MHA}_added", MHA, [Q, K, V, None, None, f32(2, 1, 5, 7)], **HEADS)
add(f"{MHA}_causal", MHA, [Q, K[:, :5].copy(), V[:, :5].copy()], **HEADS, unidirectional=1)
add(f"{MHA}_past", MHA, [Q, Q + 1, Q - 1, None, None, None, f32(2, 3, 4, 4), f32(2, 3, 4, 4)], 3, **HEADS, unidirectional=1)
add(f"{MHA}_past_lengths", MHA, [Q, Q + 1, Q - 1, None, numpy.array([9, 7], numpy.int32), None, f32(2, 3, 4, 4), f32(2, 3, 4, 4)], 3, **HEADS, unidirectional=1)
add(f"{MHA}_past_mask", MHA, [Q, Q + 1, Q - 1, f32(36), whole(numpy.int32, 0, 1, 2, 9), None, f32(2, 3, 4, 4), f32(2, 3, 4, 4)], 3, **HEADS)
add(f"{MHA}_present", MHA, [Q, Q + 1, Q - 1, f32(36)], 3, **HEADS)
add(f"{MHA}_heads", MHA, [Q, f32(2, 3, 7, 4), f32(2, 3, 7, 4)], **HEADS)
add(f"{MHA}_packed", MHA, [f32(2, 5, 3, 3, 4)], **HEADS, refused="packed inputs")
add(f"{MHA}_packed_keys", MHA, [Q, f32(2, 7, 3, 2, 4)], **HEADS, refused="packed inputs")
add(f"{MHA}_shape", MHA, [Q, K, V[:, :6].copy()], **HEADS, refused="query, key, value and bias do not fit num_heads=3")

# ---- q, k, v, past key, past value, lengths, all keys, cosines, sines, positions, attention_bias ----

GQA = "GroupQueryAttention"


def groups(name, batch=1, rows=5, past=0, room=None, packed=False, rotary=None, bias=None, positions=None, heads=4, kv=2, size=8, outputs=3, lengths=None, **more):
    room = past if room is None else room
    parts = [f32(batch, rows, (heads + 2 * kv) * size), None, None] if packed else [f32(batch, rows, n * size) for n in (heads, kv, kv)]
    pasts = [f32(batch, kv, room, size) for _ in range(2)] if room else [None, None]
    lengths = numpy.array(lengths or [past + rows - 1] * batch, numpy.int32)
    caches = tables(32, rotary // 2) if rotary else [None, None]
    all_keys = numpy.array(past + rows, numpy.int32)
    inputs = [*parts, *pasts, lengths, all_keys, *caches, positions, bias]
    while inputs[-1] is None:
        inputs.pop()
    constants = tuple(i for i in (6, 7, 8) if i < len(inputs) and inputs[i] is not None)
    add(f"{GQA}_{name}", GQA, inputs, outputs, constants=constants, num_heads=heads, kv_num_heads=kv, **({"do_rotary": 1} if rotary else {}), **more)


groups("prompt")
groups("prompt_batch", batch=2)
groups("past", past=6)
groups("step", rows=1, past=9)
groups("step_packed", rows=1, past=9, packed=True)
groups("packed", packed=True, kv=4)
groups("rotary", rotary=16, size=16)
groups("rotary_batch", rotary=16, size=16, batch=2, rotary_interleaved=1)
groups("rotary_step", rotary=16, size=16, rows=1, past=9)
groups("rotary_packed", rotary=16, size=16, packed=True, rows=1, past=4, rotary_interleaved=1)
groups("rotary_part", rotary=16, size=32)
groups("softcap", past=6, rows=1, softcap=1.5, scale=0.5)
groups("bias", past=3, bias=f32(1, 4, 5, 8))
for width in (1, 3, 20):
    groups(f"window_{width}", local_window_size=width)
    groups(f"window_{width}_step", rows=1, past=9, local_window_size=width)
groups("past_batch", rows=1, batch=2, past=3)
groups("smooth", smooth_softmax=1)

# ---- products of bytes ----

U8, I8 = numpy.uint8, numpy.int8


def byte(kind, *shape):
    return whole(kind, *((0, 255) if kind is U8 else (-128, 127)), *shape)


def seven_bits(kind, *shape):
    """On CPUs without VNNI, ONNX Runtime saturates sums of two products of unsigned and signed bytes: with signed weights of 7 bits it
    needs not."""
    return whole(I8, -64, 63, *shape) if kind is I8 else byte(kind, *shape)


def byte_products_of(weights, suffix, **more):
    """weights: draws them from a type and a shape."""
    scale = lambda *shape: f32(*shape, least=0.01, most=0.1)
    for a in (U8, I8):
        for b in (U8, I8):
            for constants in ((), (1,), (1, 3)):
                name = f"MatMulInteger_{a.__name__}_{b.__name__}_{len(constants)}"
                add(name + suffix, "MatMulInteger", [byte(a, 2, 7, 13), weights(b, 13, 11), byte(a), byte(b)], domain="", constants=constants, **more)
    for name, inputs, constants in (
        ("plain", [byte(U8, 7, 13), weights(I8, 13, 11)], ()),
        ("columns", [byte(U8, 7, 13), weights(I8, 13, 11), byte(U8), byte(I8, 11)], (1, 3)),
        ("columns_computed", [byte(U8, 7, 13), weights(U8, 13, 11), byte(U8), byte(U8, 11)], ()),
        ("batches", [byte(U8, 3, 1, 7, 13), weights(I8, 2, 13, 11), byte(U8), byte(I8)], ()),
        ("zero", [byte(U8, 7, 13), weights(I8, 13, 11), byte(U8), numpy.zeros((), I8)], (1, 3)),
    ):
        add(f"MatMulInteger_{name}{suffix}", "MatMulInteger", inputs, domain="", constants=constants, **more)
    for kind in (U8, I8):
        for name, op, inputs, constants in (
            ("", "MatMulIntegerToFloat", [byte(U8, 2, 7, 13), weights(kind, 13, 11), scale(), scale(11), byte(U8), byte(kind, 11), f32(11)], (1, 3, 5, 6)),
            ("_plain", "MatMulIntegerToFloat", [byte(U8, 7, 13), weights(kind, 13, 11), scale(), scale(1)], ()),
            ("", "DynamicQuantizeMatMul", [f32(7, 13), weights(kind, 13, 11), scale(11), byte(kind, 11), f32(11)], (1, 2, 3, 4)),
            ("_plain", "DynamicQuantizeMatMul", [f32(7, 13), weights(kind, 13, 11), scale()], (1,)),
        ):
            add(f"{op}_{kind.__name__}{name}{suffix}", op, inputs, constants=constants, bound=1e-4, **more)
        for name, columns, constants in (("computed", (), ()), ("columns", (11,), (3, 4, 5))):
            low = lambda *shape: f32(*shape, least=0.01, most=0.02)
            inputs = [byte(U8, 7, 13), low(), byte(U8), weights(kind, 13, 11), low(*columns), byte(kind, *columns), f32(least=0.1, most=0.2), byte(U8)]
            add(f"QLinearMatMul_{kind.__name__}_{name}{suffix}", "QLinearMatMul", inputs, domain="", constants=constants, slack=1, **more)


byte_products_of(seven_bits, "")
byte_products_of(byte, "_eight_bits", saturates=True)
BYTES, KERNEL = byte(U8, 2, 4, 6, 7), byte(U8, 6, 4, 3, 3)
add("ConvInteger", "ConvInteger", [BYTES, KERNEL, byte(U8), byte(U8)], domain="", pads=[1, 1, 1, 1])
add("ConvInteger_constant", "ConvInteger", [BYTES, KERNEL, byte(U8), byte(U8)], domain="", constants=(1, 3), pads=[1, 0, 2, 1], strides=[2, 1])
add("ConvInteger_zero", "ConvInteger", [BYTES, byte(U8, 8, 2, 2, 2), byte(U8)], domain="", constants=(1,), group=2)
for name, x in {"": f32(3, 4), "_above": f32(5, least=2, most=3), "_below": f32(5, least=-3, most=-2), "_none": numpy.zeros((4, 2), numpy.float32)}.items():
    add(f"DynamicQuantizeLinear{name}", "DynamicQuantizeLinear", [x], 3, domain="")

# ---- weights of four and eight bits: x, weights, scales, zero points, g_idx, bias ----


def few_bits(name, bits=4, rows=3, k=70, n=9, block=32, zeros=None, bias=False, batch=(), index=None, refused=None, constants=(1, 2, 3, 5)):
    blocks, op = -(-k // block), "MatMulNBits"
    packed = (byte(U8, n, (blocks * bits + 7) // 8) if zeros == "packed" else f32(n, blocks, least=0, most=15) if zeros == "floats" else None)
    inputs = [f32(*batch, rows, k), byte(U8, n, blocks, block * bits // 8), f32(n, blocks, least=0.01, most=0.1), packed, index, f32(n) if bias else None]
    while inputs[-1] is None:
        inputs.pop()
    add(f"{op}_{name}", op, inputs, K=k, N=n, bits=bits, block_size=block, bound=2e-4, refused=refused,
        constants=tuple(i for i in constants if i < len(inputs) and inputs[i] is not None))


for bits in (4, 8):
    few_bits(f"{bits}", bits)
    few_bits(f"{bits}_zeros", bits, zeros="packed")
    few_bits(f"{bits}_one_row", bits, rows=1, k=64, bias=True)
    few_bits(f"{bits}_batch", bits, batch=(2,), block=16, zeros="packed", bias=True)
few_bits("floats", zeros="floats")
few_bits("index", index=numpy.zeros(70, numpy.int32), constants=(1, 2, 4), refused="g_idx (input 4) is not supported")
few_bits("computed", constants=(2,), refused="its weights, scales or zero points are not constants")
for axis, shape in ((0, (3, 5)), (1, (6, 3)), (-1, (6, 3))):
    more = {"domain": "", "axis": axis, "block_size": 2}
    scales, points = f32(*shape, least=0.05, most=0.1), byte(U8, *shape)
    add(f"DequantizeLinear_blocks_{axis}", "DequantizeLinear", [byte(U8, 6, 5), scales, points], **more)
    add(f"DequantizeLinear_blocks_constant_{axis}", "DequantizeLinear", [byte(I8, 6, 5), scales], constants=(1,), **more)
    add(f"QuantizeLinear_blocks_{axis}", "QuantizeLinear", [f32(6, 5, least=-9, most=9), scales, points], **more)

# ---- recurrent operators with drawn attributes; ONNX Runtime has no layout 1, and states of empty sequences are 0 there ----

FUNCTIONS = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "Affine": 2, "LeakyRelu": 1, "ThresholdedRelu": 1, "ScaledTanh": 2, "HardSigmoid": 2, "Elu": 1, "Softsign": 0, "Softplus": 0}
# Gates that are not bounded make states grow until they overflow, and then the order of a sum decides its sign.
BOUNDED = ["Tanh", "Sigmoid", "ScaledTanh", "HardSigmoid", "Softsign"]


def drawn_recurrence(op):
    """Inputs, the number of outputs, and attributes."""
    some = lambda chance=0.5: rng.uniform() < chance
    gates, each = {"RNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 3)}[op]
    steps, batch, inputs, hidden = (int(rng.integers(1, most)) for most in (20, 6, 40, 70))
    direction = ("forward", "reverse", "bidirectional")[rng.integers(3)]
    ways = 2 if direction == "bidirectional" else 1
    most = hidden**-0.5
    attributes = {"hidden_size": hidden, "direction": direction}
    if some():
        names = [str(rng.choice(BOUNDED if op != "RNN" and i % each == 0 else list(FUNCTIONS))) for i in range(each * ways)]
        counts = [sum(FUNCTIONS[n] > i for n in names) for i in (0, 1)]
        attributes |= {"activations": names} | {f"activation_{k}": rng.uniform(0.1, 0.9, c).tolist() for k, c in zip(("alpha", "beta"), counts) if c}
    if some(0.3):
        attributes["clip"] = float(rng.uniform(0.2, 1))
    if some() and op != "RNN":
        attributes["linear_before_reset" if op == "GRU" else "input_forget"] = 1
    shapes = {3: (ways, 2 * gates * hidden), 5: (ways, batch, hidden), 6: (ways, batch, hidden), 7: (ways, 3 * hidden)}
    given = [f32(steps, batch, inputs), *(f32(ways, gates * hidden, n, least=-most, most=most) for n in (inputs, hidden)), *[None] * (5 if op == "LSTM" else 3)]
    for i, shape in shapes.items():
        if i < len(given) and some():
            given[i] = f32(*shape)
    if some():
        given[4] = whole(numpy.int32, 1, steps, batch)
    while given[-1] is None:
        given.pop()
    return given, 3 if op == "LSTM" else 2, attributes


for i in range(12):
    for op in ("RNN", "GRU", "LSTM"):
        inputs, outputs, attributes = drawn_recurrence(op)
        fixed = tuple(k for k in (1, 2, 3, 7) if k < len(inputs) and inputs[k] is not None and i % 3)
        add(f"{op}_{i}", op, inputs, outputs, fixed, bound=2e-5, domain="", **attributes)

# An input or a state that is rounded to another byte changes results by about 1e-3. ONNX Runtime needs zero points of gates to be 0.
for i in range(6):
    kind, ways, steps, hidden, inputs = (I8, U8)[i % 2], 1 + i // 4, int(rng.integers(1, 12)), int(rng.integers(1, 70)), int(rng.integers(1, 40))
    of_gates = (ways, 4 * hidden) if i % 3 == 2 else (ways,)
    zero = lambda of_gates=of_gates, kind=kind: whole(kind, 0, 9 if len(of_gates) == 1 else 0, *of_gates)
    of_bytes = lambda n, ways=ways, kind=kind, hidden=hidden: seven_bits(kind, ways, n, 4 * hidden)
    scale = lambda of_gates=of_gates, hidden=hidden: f32(*of_gates, least=0.01 / hidden**0.5, most=0.02 / hidden**0.5)
    state = lambda ways=ways, hidden=hidden: f32(ways, 1, hidden) if i % 2 else None
    given = [f32(steps, 1, inputs), of_bytes(inputs), of_bytes(hidden), f32(ways, 8 * hidden), None, state(), state(), None, scale(), zero(), scale(), zero()]
    add(f"DynamicQuantizeLSTM_{i}", "DynamicQuantizeLSTM", given, 3, (1, 2, 3, 8, 9, 10, 11), bound=5e-3, hidden_size=hidden,
        direction=("forward", "reverse", "bidirectional")[i % 2 if ways == 1 else 2])

# ---- decoders in the manner of Llama: two blocks with a cache, by ONNX's operators and by ONNX Runtime's ----


class Decoder:
    """Collects nodes, arrays by name, and outputs. is_microsoft: the operators are of com.microsoft."""

    HEADS, GROUPS, SIZE, HIDDEN, INNER, WORDS = 4, 2, 16, 64, 96, 50

    def __init__(self, is_microsoft, rows, past):
        self.is_microsoft, self.rows, self.past = is_microsoft, rows, past
        self.nodes, self.given, self.constants, self.outputs = [], {}, set(), []

    def add(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, name=f"{op}_{len(self.nodes)}", **attributes))
        return outputs[0]

    def constant(self, name, value):
        self.given[name] = value
        self.constants.add(name)
        return name

    def weights(self, name, *shape):
        return self.constant(name, f32(*shape, least=-0.2, most=0.2) + numpy.float32(len(shape) == 1))

    def normalized(self, name, h, skip):
        """Returns the normalized sum of h and skip, and the sum."""
        scale = self.weights(name + "_scale", self.HIDDEN)
        if self.is_microsoft and skip:
            self.add("SkipSimplifiedLayerNormalization", [h, skip, scale], [name, "", "", name + "_sum"], MICROSOFT, epsilon=1e-6)
            return name, name + "_sum"
        h = self.add("Add", [h, skip], [name + "_sum"]) if skip else h
        return self.add("SimplifiedLayerNormalization" if self.is_microsoft else "RMSNormalization", [h, scale], [name], axis=-1, epsilon=1e-6), h

    def attention(self, p, x):
        width = {"q": self.HEADS, "k": self.GROUPS, "v": self.GROUPS}
        q, k, v = (self.add("MatMul", [x, self.weights(f"{p}w{n}", self.HIDDEN, width[n] * self.SIZE)], [p + n]) for n in "qkv")
        pasts = [f"{p}past_{n}" for n in "kv"]
        for name in pasts:
            self.given[name] = f32(1, self.GROUPS, self.past, self.SIZE)
        results = [p + "a", p + "new_k", p + "new_v"]
        self.outputs += results[1:]
        if self.is_microsoft:
            self.add("GroupQueryAttention", [q, k, v, *pasts, "lengths", "total", "cos", "sin"], results, MICROSOFT, num_heads=self.HEADS, kv_num_heads=self.GROUPS, do_rotary=1)
        else:
            q, k = (self.add("RotaryEmbedding", [t, "cos", "sin", "positions"], [t + "r"], num_heads=width[t[-1]]) for t in (q, k))
            self.add("Attention", [q, k, v, "", *pasts], results, q_num_heads=self.HEADS, kv_num_heads=self.GROUPS, is_causal=1)
        return self.add("MatMul", [p + "a", self.weights(p + "wo", self.HEADS * self.SIZE, self.HIDDEN)], [p + "o"])

    def case(self):
        for name, table in zip(("cos", "sin"), tables(32, self.SIZE // 2)):
            self.constant(name, table)
        if self.is_microsoft:
            self.constant("lengths", numpy.array([self.past + self.rows - 1], numpy.int32))
            self.constant("total", numpy.array(self.past + self.rows, numpy.int32))
        else:
            self.constant("positions", numpy.arange(self.past, self.past + self.rows)[None])
        self.given["words"] = whole(numpy.int64, 0, self.WORDS - 1, 1, self.rows)
        h, skip = self.add("Gather", [self.weights("embedding", self.WORDS, self.HIDDEN), "words"], ["h"]), None
        for p in ("a_", "b_"):
            x, h = self.normalized(p + "before", h, skip)
            x, h = self.normalized(p + "after", h, self.attention(p, x))
            gate, up = (self.add("MatMul", [x, self.weights(p + "w" + n, self.HIDDEN, self.INNER)], [p + n]) for n in ("gate", "up"))
            self.add("Sigmoid", [gate], [p + "s"])
            self.add("Mul", [gate, p + "s"], [p + "t"])
            self.add("Mul", [p + "t", up], [p + "m"])
            skip = self.add("MatMul", [p + "m", self.weights(p + "wd", self.INNER, self.HIDDEN)], [p + "d"])
        self.add("MatMul", [self.normalized("last", h, skip)[0], self.weights("head", self.HIDDEN, self.WORDS)], ["scores"])
        return self.nodes, self.given, self.constants, ["scores", *self.outputs], 23, 2e-5, None, 0, False


for rows, past in ((6, 3), (1, 7)):
    for is_microsoft in (False, True):
        CASES[f"decoder_{rows}_{past}_{'microsoft' if is_microsoft else 'onnx'}"] = Decoder(is_microsoft, rows, past).case()

if __name__ == "__main__":
    main()
