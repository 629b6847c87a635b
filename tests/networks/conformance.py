#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs cases of ONNX's own conformance suite with tests/networks/conform, or writes them to a folder for it.

    conformance.py CONFORM [--only=PATTERN] [--every=N] [--folder=DIR]

Cases are the converted and operator models of the package onnx, and its node cases for the operators and
types that networks supports. Inputs of node cases that determine a shape are given as constants. Prints a
table: for each operator, the numbers of cases that passed, were refused and failed. None may fail, and only
the cases listed here may be refused, for the reason given; in a run of all cases each of these must be
refused.
"""

import fnmatch
import pathlib
import subprocess
import sys
import tempfile
import warnings

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
# Inputs, by operator, that are shapes, axes, starts, numbers of pads or repeats, or parameters of quantized operators:
# their values must be constants.
DECIDING = {"Reshape": (1,), "Squeeze": (1,), "Unsqueeze": (1,), "Expand": (1,), "Tile": (1,), "Slice": (1, 2, 3, 4), "Pad": (1, 3),
            "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8), "QLinearMatMul": (1, 2, 4, 5, 6, 7), "Split": (1,), "ConstantOfShape": (0,), "Range": (0, 1, 2), "Resize": (1, 2, 3), "Upsample": (1,),
            **{f"Reduce{r}": (1,) for r in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()}}


# Cases that may be refused, by a part of the message.
REFUSED = {
    "training mode": """batchnorm_example_training_mode batchnorm_epsilon_training_mode training_dropout_default training_dropout_default_mask
        training_dropout training_dropout_mask training_dropout_zero_ratio training_dropout_zero_ratio_mask""",
    "mode=cubic": """resize_upsample_scales_cubic resize_upsample_scales_cubic_align_corners resize_downsample_scales_cubic
        resize_downsample_scales_cubic_align_corners resize_upsample_sizes_cubic resize_downsample_sizes_cubic
        resize_upsample_scales_cubic_A_n0p5_exclude_outside resize_downsample_scales_cubic_A_n0p5_exclude_outside
        resize_upsample_scales_cubic_asymmetric resize_downsample_scales_cubic_antialias resize_downsample_sizes_cubic_antialias""",
    "mode=linear with antialias": "resize_downsample_scales_linear_antialias resize_downsample_sizes_linear_antialias",
    "blocks of scales": "dequantizelinear_blocked quantizelinear_blocked_asymmetric",
    "its output 'z' is not supported": "maxpool_with_argmax_2d_precomputed_pads maxpool_with_argmax_2d_precomputed_strides",
}


def deciding(model):
    """Numbers of the graph's inputs that determine shapes or other parameters of a node."""
    graph = model.graph
    names = [i.name for i in graph.input if i.name not in {w.name for w in graph.initializer}]
    found = set()
    for node in reversed(graph.node):
        computed = found.intersection(node.output) and node.op_type != "Shape"
        found.update(v for i, v in enumerate(node.input) if computed or i in DECIDING.get(node.op_type, ()))
    return sorted(names.index(v) for v in found.intersection(names)), names


def wanted(model):
    kinds = {v.type.tensor_type.elem_type for v in [*model.graph.input, *model.graph.output] if v.type.HasField("tensor_type")}
    return all(n.op_type in OPERATORS and n.domain in ("", "ai.onnx") for n in model.graph.node) and kinds <= TYPES and all(
        v.type.HasField("tensor_type") for v in [*model.graph.input, *model.graph.output])


def tensor(value):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(numpy.asarray(value))


class Cases:
    """Files in a folder, with a line for each case; `operators` lists the operators of each model."""

    def __init__(self, folder):
        self.folder, self.lines, self.operators = folder, [], {}

    def add(self, name, model, inputs, outputs, rtol, atol):
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        onnx.save(model, str(place / "model.onnx"))
        for kind, values in (("input", inputs), ("output", outputs)):
            for i, v in enumerate(values):
                (place / f"{kind}_{i}.pb").write_bytes(tensor(v).SerializeToString())
        constants, names = deciding(model)
        (place / "inputs.txt").write_text("\n".join(names) + "\n")
        self.operators[name] = {n.op_type for n in model.graph.node}
        self.lines.append(f"{name} {rtol} {atol} {place} {','.join(map(str, constants)) or '-'}\n")

    def add_nodes(self, only, every):
        cases = [c for c in collect_testcases(None) if fnmatch.fnmatch(c.name, only) and wanted(c.model)]
        for case in cases[::every]:
            for i, (inputs, outputs) in enumerate(case.data_sets):
                if not any(isinstance(v, (list, dict)) or v is None for v in [*inputs, *outputs]):
                    self.add(f"{case.name}_{i}" if i else case.name, case.model, inputs, outputs, case.rtol, case.atol)

    def add_models(self, only, every):
        data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
        number = lambda path: int(path.stem.split("_")[1])
        for kind in ("pytorch-converted", "pytorch-operator"):
            for place in sorted((data / kind).iterdir())[::every]:
                if not fnmatch.fnmatch(place.name, only):
                    continue
                values = [[onnx.load_tensor(str(p)) for p in sorted(place.glob(f"test_data_set_0/{what}_*.pb"), key=number)]
                          for what in ("input", "output")]
                self.add(place.name, onnx.load(str(place / "model.onnx")), *values, 1e-3, 1e-7)

    def run(self, conform):
        """Returns name, "passed", "refused" or "failed", and reason, for each case."""
        (self.folder / "list.txt").write_text("".join(self.lines))
        ran = subprocess.run([conform, self.folder / "list.txt"], stdout=subprocess.PIPE, text=True)
        found = {}
        for line in ran.stdout.splitlines():
            what, _, rest = line.partition(" ")
            name, _, reason = rest.partition(": ")
            found[name] = (what, reason)
        for name in self.operators:
            found.setdefault(name, ("failed", f"conform ended with status {ran.returncode} before"))
        return found


def print_table(cases, found):
    kinds = ("passed", "refused", "failed")
    table = {o: dict.fromkeys(kinds, 0) for o in sorted(set().union(*cases.operators.values()))}
    for name, (what, _) in found.items():
        for operator in cases.operators[name]:
            table[operator][what] += 1
    print(f"{'operator':24}" + "".join(f"{k:>9}" for k in kinds))
    for operator, row in table.items():
        print(f"{operator:24}" + "".join(f"{row[k]:9}" for k in kinds))
    print(f"{'cases':24}" + "".join(f"{sum(w == k for w, _ in found.values()):9}" for k in kinds))


def unexpected(found, is_all):
    """Returns what is wrong, one line each."""
    wrong = [f"failed: {name}: {reason}" for name, (what, reason) in found.items() if what == "failed"]
    listed = {f"test_{name}": said for said, names in REFUSED.items() for name in names.split()}
    for name, (what, reason) in found.items():
        if what == "refused" and (name not in listed or listed[name] not in reason):
            wrong.append(f"refused, and not listed: {name}: {reason}")
        elif what == "passed" and name in listed:
            wrong.append(f"listed as refused, and passed: {name}")
    return wrong + [f"listed as refused, and no case: {name}" for name in listed if is_all and name not in found]


def main():
    options = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[2:])
    if len(sys.argv) < 2 or not options.keys() <= {"only", "every", "folder"}:
        sys.exit(__doc__)
    only, every = options.get("only", "*"), int(options.get("every", 1))
    warnings.simplefilter("ignore")  # onnx divides by 0 intentionally
    with tempfile.TemporaryDirectory() as temporary:
        cases = Cases(pathlib.Path(options.get("folder", temporary)))
        cases.add_nodes(only, every)
        cases.add_models(only, every)
        found = cases.run(sys.argv[1])
    print_table(cases, found)
    wrong = unexpected(found, only == "*" and every == 1)
    print("\n".join(wrong))
    sys.exit(bool(wrong) or not found)


if __name__ == "__main__":
    main()
