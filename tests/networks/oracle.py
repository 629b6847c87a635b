#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares networks with ONNX Runtime, layer by layer and by their outputs.

    oracle.py LAYERWISE NETWORK... [--folder=DIR]

Each layer computes on ONNX Runtime's values of its inputs. Networks are those of models.py. Bytes must be
equal in every element (sigmoids: may differ by 1 in 1 % of them); floats within bounds.py. The largest
element of an output must be the same one.
"""

import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import bounds
import models
import quantized

# The share of elements that may differ, by 1: ONNX Runtime computes the sigmoid by a table of a rational function.
APART = {"QLinearSigmoid": 0.01}
OUTPUT = 2e-3  # tolerance relative to the largest output


def session(model, level, **options):
    o = onnxruntime.SessionOptions()
    o.graph_optimization_level = level
    o.log_severity_level = 3
    for key, value in options.items():
        setattr(o, key, value)
    return onnxruntime.InferenceSession(model, o, providers=["CPUExecutionProvider"])


def saved(model, folder, name):
    path = str(folder / name)
    onnx.save(model, path)
    return path


class Oracle:
    """ONNX Runtime's values between nodes, and the outputs of a usual run."""

    def __init__(self, model, feeds, folder):
        levels = onnxruntime.GraphOptimizationLevel
        path = saved(model, folder, "model.onnx")
        self.is_quantized = any(n.op_type == "DequantizeLinear" or n.op_type.startswith("Q") for n in model.graph.node)
        self.values, self.saturated, self.tied, self.opset = dict(feeds), {}, {}, model.opset_import
        whole = onnx.load(path)
        if self.is_quantized:  # nodes as in ONNX Runtime, which replaces groups of QDQ by one node
            optimized = str(folder / "optimized.onnx")
            session(path, levels.ORT_ENABLE_EXTENDED, optimized_model_filepath=optimized)
            whole = onnx.load(optimized)
        self.constants = {w.name: numpy_helper.to_array(w) for w in [*model.graph.initializer, *whole.graph.initializer]}
        self.producer = {o: n for n in [*model.graph.node, *whole.graph.node] for o in n.output}
        if self.is_quantized:
            for node in whole.graph.node:
                self.step(whole, node)
            for node in model.graph.node:
                if node.op_type == "DequantizeLinear" and node.input[0] in self.values and node.output[0] not in self.values:
                    self.step(model, node)
            self.outputs = [self.values[o.name] for o in model.graph.output]
        else:
            self.outputs = session(path, levels.ORT_ENABLE_ALL).run(None, feeds)
            wanted = [o for n in whole.graph.node for o in n.output if o]
            del whole.graph.output[:]
            whole.graph.output.extend(onnx.ValueInfoProto(name=o) for o in wanted)
            every = session(saved(whole, folder, "every.onnx"), levels.ORT_DISABLE_ALL)
            self.values.update(zip(wanted, every.run(None, feeds)))

    def step(self, model, node):
        """Computes one node alone; by NumPy if it is a sum of products."""
        inputs = [self.value(i) for i in node.input]
        names = [f"i{k}" if i else "" for k, i in enumerate(node.input)]
        alone = onnx.NodeProto()
        alone.CopyFrom(node)
        del alone.input[:]
        alone.input.extend(names)
        feeds = {n: v for n, v in zip(names, inputs) if n and node.input[int(n[1:])] in self.values}
        graph = helper.make_graph(
            [alone], "node", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()],
            [onnx.ValueInfoProto(name=o) for o in node.output],
            [numpy_helper.from_array(v, n) for n, v in zip(names, inputs) if n and n not in feeds])
        one = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
        got = session(one.SerializeToString(), onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL).run(None, feeds)
        exact = quantized.computed(node, inputs)
        if exact is not None:
            self.saturated[node.output[0]] = int((exact != got[0]).sum())
            got[0] = exact
        self.values.update(zip(node.output, got))
        self.tied[node.output[0]] = quantized.is_tied(node, inputs)

    def value(self, name):
        return self.constants[name] if name in self.constants else self.values[name] if name else None


def given(model, feeds, oracle, folder):
    """Writes the files that layerwise reads, including the oracle's values."""
    for i, name in enumerate(feeds):
        numpy.save(folder / f"input_{i}.npy", feeds[name])
    lines = []
    for i, (name, value) in enumerate(oracle.values.items()):
        if name in oracle.producer and oracle.producer[name].op_type in bounds.CONSTANTS:
            continue
        if value.dtype == bool:
            value = value.astype(numpy.uint8)
        numpy.save(folder / f"value_{i}.npy", value)
        lines.append(f"{name}\t{i}\n")
    (folder / "values.txt").write_text("".join(lines))


def compare_bytes(operators, got, expected, tied):
    apart = numpy.abs(got.astype(int) - expected.astype(int))
    if tied is not None:
        apart[tied & (apart == 1)] = 0
    share = max((APART.get(o, 0) for o in operators), default=0)
    differ = int((apart > 0).sum())
    return differ, differ == 0 or (apart.max() <= 1 and differ <= share * apart.size)


def between(oracle, name, inputs):
    """The values that a layer computes; it stores the one with this name."""
    found, left = set(), [name]
    while left:
        value = left.pop()
        if value in oracle.producer and value not in {*inputs, *found}:
            found.add(value)
            left += oracle.producer[value].input
    return found


def compare_layers(oracle, folder):
    """Returns counts by operator, and what is wrong."""
    table, wrong, left_out = collections.defaultdict(lambda: [0, 0, 0, 0.0]), [], []
    for line in (folder / "layers.txt").read_text().splitlines():
        number, operators, name, *inputs = line.split("\t")
        if operators == "Border":  # writes around the oracle's tensor; its readers show whether it is right
            continue
        if inputs[-1:] == ["?"] or name not in oracle.values:
            left_out.append(f"{operators} {name}")
            continue
        got = numpy.load(folder / f"layer_{number}.npy")
        expected = oracle.values[name]
        kinds = operators.split("+")
        row = table[kinds[0]]
        row[0] += 1
        row[2] += sum(oracle.saturated.get(o, 0) for o in between(oracle, name, inputs) if oracle.producer[o].op_type in kinds)
        if kinds == ["PadChannels"]:  # additional channels, all with one value
            got, more = numpy.split(got, [expected.shape[1]], axis=1)
            if got.shape != expected.shape or more.min() != more.max():
                wrong.append(f"{operators} {name}: channels behind the last one")
        if got.shape != expected.shape:
            wrong.append(f"{operators} {name}: shape {got.shape} instead of {expected.shape}")
        elif got.dtype.kind == "f" and oracle.is_quantized:  # bytes times a scale: must be equal
            row[1] += int((got != expected).sum())
            if (got != expected).any():
                wrong.append(f"{operators} {name}: {row[1]} of {got.size} elements differ")
        elif got.dtype.kind == "f":
            part = bounds.part_of_bound(oracle, name, inputs, got)
            row[3] = max(row[3], part)
            if not part <= 1:
                wrong.append(f"{operators} {name}: {part:.3g} times as far apart as the bound allows")
        else:
            differ, good = compare_bytes(kinds, got, expected, oracle.tied.get(name))
            row[1] += differ
            if not good:
                wrong.append(f"{operators} {name}: {differ} of {got.size} elements differ")
    return table, wrong, left_out


def is_certain(oracle, name):
    """False if numbers are so large that their last digit determines the result of Softmax; layers are
    compared in any case."""
    producer = oracle.producer.get(name)
    return producer is None or producer.op_type != "Softmax" or numpy.abs(oracle.value(producer.input[0])).max() < 2.0**12


def compare_outputs(oracle, outputs, expected, folder):
    wrong, farthest = [], 0.0
    for i, e in enumerate(expected):
        got = numpy.load(folder / f"result_{i}.npy")
        if got.shape != e.shape:
            wrong.append(f"output {i}: shape {got.shape} instead of {e.shape}")
            continue
        largest = float(numpy.abs(e.astype(float)).max()) or 1.0
        far = float(numpy.abs(got.astype(float) - e).max()) / largest
        if far > OUTPUT and not is_certain(oracle, outputs[i].name):
            print(f"output {i}, {far:.2g} apart, does not count: a Softmax of numbers from 4096 on")
            continue
        farthest = max(far, farthest)
        if not far <= (OUTPUT if e.dtype.kind == "f" else 1 / largest):
            wrong.append(f"output {i}: {far:.3g} of the largest element apart")
        chosen = numpy.take_along_axis(e, got.argmax(axis=-1, keepdims=True), axis=-1)
        if not (chosen >= e.max(axis=-1, keepdims=True) - far * largest).all():
            wrong.append(f"output {i}: another element is the largest")
    return farthest, wrong


def compare(layerwise, name, folder):
    model, feeds, shipped = models.network(name)
    oracle = Oracle(model, feeds, folder)
    given(model, feeds, oracle, folder)
    ran = subprocess.run([layerwise, folder], capture_output=True, text=True)
    if ran.returncode:
        print(f"{name}: layerwise: {ran.stderr.strip() or ran.returncode}")
        return False
    table, wrong, left_out = compare_layers(oracle, folder)
    far, wrong_outputs = compare_outputs(oracle, model.graph.output, shipped or oracle.outputs, folder)
    layers = sum(row[0] for row in table.values())
    print(f"{name}: {layers} layers compared, {len(left_out)} not; outputs {far:.2g} of the largest element apart")
    for operator, (count, differ, inexact, part) in sorted(table.items()):
        note = f"{differ} elements differ" if oracle.is_quantized else f"at most {part:.2g} of the bound"
        print(f"  {operator:28} {count:4}  {note}" + (f"; of ONNX Runtime's {inexact} saturate" if inexact else ""))
    for text in [*(f"not compared: {t}" for t in left_out), *wrong, *wrong_outputs]:
        print(f"  {text}")
    return not wrong and not wrong_outputs and layers > 0


def main():
    names = [w for w in sys.argv[2:] if not w.startswith("--")]
    folders = [w.removeprefix("--folder=") for w in sys.argv[2:] if w.startswith("--folder=")]
    good = bool(names) or sys.exit(__doc__)
    for name in names:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(folders[0] if folders else temporary)
            folder.mkdir(parents=True, exist_ok=True)
            good = compare(sys.argv[1], name, folder) and good
            sys.stdout.flush()
    sys.exit(not good)


if __name__ == "__main__":
    main()
