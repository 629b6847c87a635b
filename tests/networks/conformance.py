#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of ONNX's own conformance suite as files for tests/networks/conform.

    conformance.py FOLDER [--only=PATTERN] [--every=N]

FOLDER/list.txt has a line a case. Cases are the converted and operator models of the package onnx, and its node cases of operators
and types that the order of networks names. Inputs of node cases that decide a shape are listed as constants. onnx is needed.
"""

import fnmatch
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

OPERATORS = set("""Conv ConvTranspose Gemm MatMul BatchNormalization InstanceNormalization LRN LayerNormalization Add Sub Mul Div Pow Sum Min
Max Mean Neg Abs Relu LeakyRelu PRelu Elu Selu Softplus Clip Sigmoid HardSigmoid HardSwish Tanh Erf Gelu Exp Log Sqrt Floor Ceil Equal Less
Greater Not And Or Where MaxPool AveragePool GlobalAveragePool GlobalMaxPool ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1
ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare Softmax LogSoftmax ArgMax Concat Split Slice Pad Transpose Reshape Flatten Squeeze
Unsqueeze Expand Tile Gather Resize Upsample DepthToSpace Cast Dropout Identity Constant ConstantOfShape Shape Size Range
QuantizeLinear DequantizeLinear QLinearConv QLinearMatMul Reciprocal Round Sign Softsign ThresholdedRelu Celu Mish Xor
LessOrEqual GreaterOrEqual IsNaN SpaceToDepth""".split())
TYPES = {TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL}
# Inputs, by operator, whose values are shapes, axes, starts, numbers of pads or repeats; and parameters of quantized operators.
DECIDING = {"Reshape": (1,), "Squeeze": (1,), "Unsqueeze": (1,), "Expand": (1,), "Tile": (1,), "Slice": (1, 2, 3, 4), "Pad": (1, 3),
            "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8), "QLinearMatMul": (1, 2, 4, 5, 6, 7), "Split": (1,), "ConstantOfShape": (0,), "Range": (0, 1, 2), "Resize": (1, 2, 3), "Upsample": (1,),
            **{f"Reduce{r}": (1,) for r in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()}}


def deciding(model):
    """The numbers of the graph's inputs that a node takes as a shape or the like."""
    graph = model.graph
    names = [i.name for i in graph.input if i.name not in {w.name for w in graph.initializer}]
    found = set()
    for node in graph.node:
        for i in DECIDING.get(node.op_type, ()):
            if i < len(node.input) and node.input[i] in names:
                found.add(names.index(node.input[i]))
    return sorted(found), names


def wanted(model):
    kinds = {v.type.tensor_type.elem_type for v in [*model.graph.input, *model.graph.output] if v.type.HasField("tensor_type")}
    return all(n.op_type in OPERATORS and n.domain in ("", "ai.onnx") for n in model.graph.node) and kinds <= TYPES and all(
        v.type.HasField("tensor_type") for v in [*model.graph.input, *model.graph.output])


def tensor(value):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(numpy.asarray(value))


def write(folder, name, model, inputs, outputs, rtol, atol):
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    if isinstance(model, (str, pathlib.Path)):
        loaded = onnx.load(str(model))
    else:
        loaded = model
    onnx.save(loaded, str(place / "model.onnx"))
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, v in enumerate(values):
            (place / f"{kind}_{i}.pb").write_bytes(tensor(v).SerializeToString())
    constants, names = deciding(loaded)
    (place / "inputs.txt").write_text("\n".join(names) + "\n")
    return f"{name} {rtol} {atol} {place} {','.join(map(str, constants)) or '-'}\n"


def main():
    folder, only, every = pathlib.Path(sys.argv[1]), "*", 1
    for word in sys.argv[2:]:
        key, value = word.split("=")
        if key == "--only":
            only = value
        elif key == "--every":
            every = int(value)
        else:
            sys.exit(__doc__)
    lines = []
    cases = [c for c in collect_testcases(None) if fnmatch.fnmatch(c.name, only) and wanted(c.model)]
    for case in cases[::every]:
        for inputs, outputs in case.data_sets:
            if any(isinstance(v, (list, dict)) or v is None for v in [*inputs, *outputs]):
                continue
            lines.append(write(folder, case.name, case.model, inputs, outputs, case.rtol, case.atol))
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    for kind in ("pytorch-converted", "pytorch-operator"):
        for place in sorted((data / kind).iterdir())[::every]:
            if not fnmatch.fnmatch(place.name, only):
                continue
            sets = place / "test_data_set_0"
            read = lambda what: [onnx.load_tensor(str(p)) for p in sorted(sets.glob(f"{what}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))]
            lines.append(write(folder, place.name, place / "model.onnx", read("input"), read("output"), 1e-3, 1e-7))
    (folder / "list.txt").write_text("".join(lines))
    print(f"{len(lines)} cases")


main()
