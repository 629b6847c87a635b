# SPDX-License-Identifier: Apache-2.0
"""Random small networks of many operators, compared with ONNX Runtime, which runs each node as it is drawn: what it refuses is
drawn again. A network is either right or refused with one of REFUSALS. Needs onnx, onnxruntime, numpy.

    random_compared.py UK COUNT [FIRST]
"""

import math
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
REFUSALS = ("must be known at compile time", "its result depends on data", "is not supported", "the window spans")
LIMIT = 4000  # elements of a value
# Elements of results may be apart by this part of the largest one for each node of the network.
BOUND = 1e-5
EXACT_LIMIT = 2**20  # integers as floats, whose products and sums are exact

onnxruntime.set_default_logger_severity(4)


def one_node(op, inputs, arrays, outputs, attributes):
    """ONNX Runtime's results, or None if it refuses the node."""
    kinds = [(k, v) for k, v in zip(inputs, arrays) if k]
    value = lambda name, v: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
    graph = helper.make_graph([helper.make_node(op, inputs, outputs, **attributes)], "g", [value(k, v) for k, v in dict(kinds).items()],
                              [onnx.ValueInfoProto(name=o) for o in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, dict(kinds))
    except Exception:  # its own classes have no common base
        return None


class Drawn:
    """A network under construction: names of values and what they are for the inputs that are drawn, too."""

    def __init__(self, seed):
        self.random, self.numbers = random.Random(seed), numpy.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.values, self.exact = [], {}, {}, {}, set()
        width = self.random.choice([3, 4, 6, 8])
        shapes = [[2, 3, width], [1, 4, 6, self.random.choice([5, 6, 7])], [width], [2, 1, width]]
        for i, shape in enumerate(self.random.sample(shapes, 3)):
            kind = self.random.choice(["f", "f", "whole", numpy.int64, numpy.int32])
            x = self.numbers.uniform(-2, 2, shape) if kind == "f" else self.numbers.integers(-5, 6, shape)
            self.inputs[f"x{i}"] = self.keep(f"x{i}", x.astype(numpy.float32 if kind in ("f", "whole") else kind), kind != "f")

    def keep(self, name, x, exact):
        self.values[name] = x
        if exact:
            self.exact.add(name)
        return x

    def constant(self, x, kind=numpy.int64):
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy.asarray(x, kind)
        return name

    def weight(self, *shape):
        """Integers, if the next result is to be exact."""
        x = self.numbers.uniform(-1, 1, shape) if self.random.random() < 0.7 else self.numbers.integers(-2, 3, shape)
        return self.constant(x, numpy.float32)

    def array(self, name):
        return self.values[name] if name in self.values else self.constants.get(name)

    def add(self, op, inputs, outputs=1, exact=None, **attributes):
        """Adds the node if ONNX Runtime takes it and its results are neither large nor infinite. exact: integers remain integers."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        found = one_node(op, inputs, [self.array(i) for i in inputs], names, attributes)
        if found is None or any(v.size > LIMIT or v.ndim > 6 for v in found):
            return
        with numpy.errstate(all="ignore"):
            if any(v.dtype.kind == "f" and not (numpy.abs(v) < 1e6).all() for v in found):
                return
        is_exact = lambda i: i in self.exact or not i or (i in self.constants and (self.array(i) == numpy.floor(self.array(i))).all())
        for name, v in zip(names, found):
            whole = v.dtype.kind != "f" or (bool(exact) and all(map(is_exact, inputs)) and (numpy.abs(v) < EXACT_LIMIT).all())
            self.keep(name, v, whole)
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))

    def pick(self, kinds="f", ranks=range(1, 7), exact=False):
        found = [k for k, v in self.values.items() if v.dtype.kind in kinds and v.ndim in ranks and v.size and (not exact or k in self.exact)]
        return self.random.choice(found[-8:]) if found else None

    def model(self):
        for _ in range(60):
            if len(self.nodes) < self.random.randint(4, 10):
                getattr(self, self.random.choice(STEPS))()
        made = [k for k in self.values if k not in self.inputs] or [*self.inputs]
        self.outputs = sorted({made[-1], *self.random.sample(made, min(3, len(made)))})
        value = lambda name, v: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        outputs = [helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(self.values[o].dtype), [None] * self.values[o].ndim) for o in self.outputs]
        graph = helper.make_graph(self.nodes, "g", [value(k, v) for k, v in self.inputs.items()], outputs, [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    # ---- steps: each tries to add a node ----

    def step_smooth(self):
        op = self.random.choice("Relu Tanh Sigmoid Neg Abs Erf Softplus Elu LeakyRelu HardSigmoid HardSwish Softsign Celu Gelu Mish Sin Cos Atan Exp Selu".split())
        if x := self.pick():
            self.add(op, [x], exact=op in ("Relu", "Neg", "Abs"))

    def step_whole(self):
        if x := self.pick("fi", exact=True):
            op = self.random.choice("Sign Floor Ceil Round Abs Neg Identity Relu".split())
            self.add(op, [x], exact=True)

    def step_binary(self):
        a = self.pick("fi")
        same = [k for k, v in self.values.items() if a and v.dtype == self.array(a).dtype]
        if same:
            pair = [a, self.random.choice(same)]
            self.random.shuffle(pair)
            self.add(self.random.choice(["Add", "Sub", "Mul", "Max", "Min"]), pair, exact=True)

    def step_divide(self):
        if a := self.pick("fi", exact=True):
            kind = self.array(a).dtype
            by = self.constant([-2, 5, 7, 2] if self.array(a).shape[-1] == 4 else [self.random.choice([2, -3, 7])], kind)
            if kind.kind == "i":
                op = self.random.choice(["Div", "Mod"])
                self.add(op, [a, by], **({"fmod": self.random.choice([0, 1])} if op == "Mod" else {}))
            else:
                self.add("Div", [a, by])

    def step_compare(self):
        a = self.pick("fi", exact=True)
        same = [k for k in self.exact if a and self.values[k].dtype == self.array(a).dtype]
        if same:
            self.add(self.random.choice(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]), [a, self.random.choice(sorted(same))])

    def step_logic(self):
        if a := self.pick("b"):
            op = self.random.choice(["And", "Or", "Xor", "Not"])
            self.add(op, [a] if op == "Not" else [a, self.pick("b")])

    def step_where(self):
        c, a = self.pick("b"), self.pick("fi")
        if c and a:
            others = [k for k, v in self.values.items() if v.dtype == self.array(a).dtype]
            self.add("Where", [c, a, self.random.choice(others)], exact=True)

    def step_cast(self):
        if a := self.pick("fib", exact=True):
            self.add("Cast", [a], to=self.random.choice([TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL]), exact=True)

    def step_product(self):
        if a := self.pick(ranks=range(1, 5)):
            n = self.array(a).shape[-1]
            others = [k for k, v in self.values.items() if v.dtype.kind == "f" and v.ndim and v.shape[-2 if v.ndim > 1 else -1] == n]
            b = self.random.choice(others) if others and self.random.random() < 0.5 else self.weight(*self.random.choice([[n, 5], [n], [2, 1, n, 3], [n, 17]]))
            self.add("MatMul", [a, b], exact=True)

    def step_gemm(self):
        if a := self.pick(ranks=[2]):
            ta, tb = self.random.choice([0, 1]), self.random.choice([0, 1])
            k = self.array(a).shape[0 if ta else 1]
            m, n = self.array(a).shape[1 if ta else 0], 7
            bias = self.random.choice([None, [n], [m, 1], [1], [m, n], []])
            self.add("Gemm", [a, self.weight(*([n, k] if tb else [k, n])), *([] if bias is None else [self.weight(*bias)])], transA=ta, transB=tb,
                     alpha=self.random.choice([1.0, 0.5, -2.0]), beta=self.random.choice([1.0, 0.0, 2.0]))

    def step_einsum(self):
        text, rank = self.random.choice([("ij->ji", 2), ("ij->i", 2), ("ijk->kj", 3), ("abc->", 3), ("abcd->bdac", 4), ("...i->...", 3), ("i,j->ij", 1), ("ij,kj->ik", 2),
                                         ("abc,adc->abd", 3), ("abc,abd->acd", 3), ("abcd,abed->abce", 4), ("abc,cd->abd", 3), ("ijk,k->ij", 3)])
        if a := self.pick(ranks=[rank]):
            inputs, shape = [a], dict(zip(text.split(",")[0].split("->")[0].replace("...", "XY"), self.array(a).shape))
            if "," in text:
                letters = text.split(",")[1].split("->")[0]
                inputs.append(self.weight(*(shape.get(c, 3) for c in letters)))
            self.add("Einsum", inputs, equation=text, exact=True)

    def step_convolution(self):
        if a := self.pick(ranks=[3, 4, 5]):
            shape = self.array(a).shape
            channels, n = shape[1], len(shape) - 2
            group = self.random.choice([g for g in (1, 2, 3, 4, 6, 8) if channels % g == 0])
            kernel = [self.random.choice([1, 2, 3]) for _ in range(n)]
            more = {"strides": [self.random.choice([1, 1, 2]) for _ in range(n)], "dilations": [self.random.choice([1, 1, 2]) for _ in range(n)], "group": group}
            pads = [self.random.choice([0, 0, 1, 2]) for _ in range(2 * n)]
            op = self.random.choice(["Conv", "Conv", "ConvTranspose"])
            if op == "ConvTranspose":
                if self.random.random() < 0.5:
                    more["output_padding"] = [self.random.choice([0, s - 1]) for s in more["strides"]]
                self.add(op, [a, self.weight(channels, 2, *kernel), *self.random.choice([[], [self.weight(2 * group)]])], pads=[min(p, 1) for p in pads], **more)
            else:
                auto = self.random.choice([None, None, "SAME_UPPER", "SAME_LOWER", "VALID"])
                place = {"pads": pads} if auto is None else {"auto_pad": auto}
                if auto and auto != "VALID":
                    more["dilations"] = [1] * n
                out = 2 * group
                self.add(op, [a, self.weight(out, channels // group, *kernel), *self.random.choice([[], [self.weight(out)]])], exact=True, **place, **more)

    def step_pool(self):
        if a := self.pick(ranks=[3, 4, 5]):
            n = self.array(a).ndim - 2
            op = self.random.choice(["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"])
            more = {}
            if not op.startswith("Global"):
                kernel = [self.random.choice([2, 3]) for _ in range(n)]
                more = {"kernel_shape": kernel, "strides": [self.random.choice([1, 2, 3]) for _ in range(n)], "pads": [self.random.choice([0, 0, 1]) for _ in range(2 * n)],
                        "ceil_mode": self.random.choice([0, 0, 1])}
            if op == "AveragePool":
                more["count_include_pad"] = self.random.choice([0, 1])
            if op == "MaxPool":
                more["dilations"] = [self.random.choice([1, 1, 2]) for _ in range(n)]
            self.add(op, [a], exact=op.endswith("MaxPool"), **more)

    def step_norm(self):
        op = self.random.choice("BatchNormalization InstanceNormalization LayerNormalization LRN LpNormalization Softmax LogSoftmax GroupNormalization".split())
        if a := self.pick(ranks=[3, 4] if op in ("BatchNormalization", "InstanceNormalization", "LRN", "GroupNormalization") else range(1, 6)):
            shape = self.array(a).shape
            c, axis = shape[1] if len(shape) > 1 else 1, self.random.randrange(-len(shape), len(shape))
            vector = lambda: self.constant(self.numbers.uniform(0.5, 1.5, c), numpy.float32)
            if op == "BatchNormalization":
                self.add(op, [a, vector(), vector(), vector(), vector()])
            elif op == "InstanceNormalization":
                self.add(op, [a, vector(), vector()], epsilon=1e-2)
            elif op == "GroupNormalization":
                self.add(op, [a, vector(), vector()], num_groups=self.random.choice([g for g in (1, 2, 3, 4) if c % g == 0]), epsilon=1e-2)
            elif op == "LayerNormalization":
                self.add(op, [a, self.weight(*shape[axis:])], axis=axis, epsilon=1e-2)
            elif op == "LRN":
                self.add(op, [a], size=self.random.choice([1, 3, 5]), alpha=0.1, beta=0.75, bias=1.0)
            elif op == "LpNormalization":
                self.add(op, [a], axis=axis, p=self.random.choice([1, 2]))
            else:
                self.add(op, [a], axis=axis)

    def step_reduce(self):
        op = self.random.choice("Sum Mean Max Min Prod L1 L2 LogSumExp SumSquare".split())
        if a := self.pick("f" if op in ("Mean", "L2", "LogSumExp", "Prod") else "fi"):
            n = self.array(a).ndim
            axes = self.random.sample(range(-n, 0), self.random.randint(0, n))
            self.add("Reduce" + op, [a, self.constant(axes)] if axes or self.random.random() < 0.5 else [a], exact=op in ("Sum", "Max", "Min", "SumSquare", "L1"),
                     keepdims=self.random.choice([0, 1]), noop_with_empty_axes=self.random.choice([0, 1]))

    def step_best(self):
        if a := self.pick("fi", exact=True):
            axis = self.random.randrange(-self.array(a).ndim, self.array(a).ndim)
            extent = self.array(a).shape[axis]
            if self.random.random() < 0.5:
                self.add("TopK", [a, self.constant([self.random.randint(1, extent)])], 2, exact=True, axis=axis, largest=self.random.choice([0, 1]))
            else:
                self.add(self.random.choice(["ArgMax", "ArgMin"]), [a], axis=axis, keepdims=self.random.choice([0, 1]), select_last_index=self.random.choice([0, 1]))

    def step_shape(self):
        if a := self.pick("fib"):
            shape = self.array(a).shape
            n, op = len(shape), self.random.choice("Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Tile Expand Identity".split())
            axis = self.random.randrange(-n, n)
            if op == "Reshape":
                parts = [*shape]
                i = self.random.randrange(n)
                to = self.random.choice([[-1], [0] * (n - 1) + [-1], [*parts[:i], -1, *parts[i + 1:], 1], [-1, parts[-1]], [1, -1], [*parts[:-1], *([2, -1] if parts[-1] % 2 == 0 else [-1])]])
                self.add(op, [a, self.constant(to)], exact=True)
            elif op == "Transpose":
                self.add(op, [a], perm=self.random.sample(range(n), n), exact=True)
            elif op == "Flatten":
                self.add(op, [a], axis=self.random.randint(-n, n), exact=True)
            elif op == "Squeeze":
                self.add(op, [a] if self.random.random() < 0.5 else [a, self.constant([axis])], exact=True)
            elif op == "Unsqueeze":
                self.add(op, [a, self.constant(self.random.sample([0, -1, 1], self.random.randint(1, 2)))], exact=True)
            elif op == "Concat":
                same = [k for k, v in self.values.items() if v.dtype == self.array(a).dtype and v.ndim == n]
                self.add(op, [a, self.random.choice(same), *self.random.sample(same, min(1, len(same)))], axis=axis, exact=True)
            elif op == "Split" and shape[axis] > 1:
                first = self.random.randint(0, shape[axis])
                self.add(op, [a, self.constant([first, shape[axis] - first])], 2, axis=axis, exact=True)
            elif op == "Tile":
                self.add(op, [a, self.constant([self.random.choice([1, 1, 2, 3]) for _ in shape])], exact=True)
            elif op == "Expand":
                self.add(op, [a, self.constant(self.random.choice([[2, *shape], [1], [self.random.choice([1, 3]), *[1] * n]]))], exact=True)

    def step_part(self):
        if a := self.pick("fi"):
            shape = self.array(a).shape
            n = len(shape)
            axis = self.random.randrange(-n, n)
            extent, op = shape[axis], self.random.choice("Slice Slice Gather GatherElements GatherND ScatterElements ScatterND Pad Pad Trilu CumSum ReverseSequence OneHot".split())
            if op == "Slice":
                axes = self.random.sample(range(n), self.random.randint(1, n))
                start, end = ([self.random.randint(-shape[i] - 1, shape[i] + 1) for i in axes] for _ in "ab")
                self.add(op, [a, *map(self.constant, (start, end, axes, [self.random.choice([1, 1, 2, -1, -2]) for _ in axes]))], exact=True)
            elif op == "Gather":
                indices = self.random.choice([[-1, 0], 0, [[0, extent - 1], [-extent, 0]], [*range(extent)][::-1]])
                self.add(op, [a, self.constant(indices)], axis=axis, exact=True)
            elif op in ("GatherElements", "ScatterElements"):
                to = [*shape]
                to[axis] = self.random.randint(1, extent)
                rows = numpy.argsort(self.numbers.uniform(size=shape), axis)
                rows = numpy.take(rows, range(to[axis]), axis) - extent * self.random.choice([0, 1])
                if op == "GatherElements":
                    self.add(op, [a, self.constant(rows)], axis=axis, exact=True)
                else:
                    self.add(op, [a, self.constant(rows), self.constant(self.numbers.integers(-4, 5, to), self.array(a).dtype)], axis=axis, exact=True,
                             reduction=self.random.choice(["none", "add", "mul", "max", "min"]))
            elif op in ("GatherND", "ScatterND"):
                depth = self.random.randint(1, n)
                rows = [[self.random.randrange(-e, e) for e in shape[:depth]] for _ in range(3 if op == "GatherND" else 1)]
                if op == "GatherND":
                    self.add(op, [a, self.constant(rows)], exact=True)
                else:
                    self.add(op, [a, self.constant(rows), self.constant(self.numbers.integers(-4, 5, [1, *shape[depth:]]), self.array(a).dtype)], exact=True,
                             reduction=self.random.choice(["none", "add", "mul", "max", "min"]))
            elif op == "Pad":
                pads = [self.random.choice([0, 0, 1, 2, -1]) for _ in range(2 * n)]
                mode = self.random.choice(["constant", "reflect", "edge", "wrap"])
                pads = pads if mode == "constant" else [max(p, 0) for p in pads]
                if mode != "reflect" or all(p < e for p, e in zip(pads, [*shape, *shape])):
                    self.add(op, [a, self.constant(pads)], mode=mode, exact=True)
            elif op == "Trilu" and n > 1:
                self.add(op, [a, self.constant(self.random.randint(-2, 2))], upper=self.random.choice([0, 1]), exact=True)
            elif op == "CumSum":
                self.add(op, [a, self.constant(axis)], exclusive=self.random.choice([0, 1]), reverse=self.random.choice([0, 1]), exact=True)
            elif op == "ReverseSequence" and n > 1:
                self.add(op, [a, self.constant([self.random.randint(1, shape[0]) for _ in range(shape[1])])], time_axis=0, batch_axis=1, exact=True)
            elif op == "OneHot" and self.array(a).dtype.kind == "i":
                self.add(op, [a, self.constant(4), self.constant([-1, 3], numpy.float32)], axis=self.random.choice([-1, 0]), exact=True)

    def step_image(self):
        if a := self.pick(ranks=[4]):
            op = self.random.choice(["Resize", "Resize", "DepthToSpace", "SpaceToDepth"])
            if op == "Resize":
                mode = self.random.choice(["nearest", "linear", "cubic"])
                # With align_corners and a length that the scale makes a fraction, ONNX Runtime differs from ONNX's definition.
                scales = [1, 1, *(self.random.choice([s for s in (0.5, 1, 2, 1.5) if n * s % 1 == 0]) for n in self.array(a).shape[2:])]
                self.add(op, [a, "", self.constant(scales, numpy.float32)], mode=mode, exact=mode == "nearest",
                         coordinate_transformation_mode=self.random.choice("half_pixel align_corners asymmetric pytorch_half_pixel".split()),
                         nearest_mode=self.random.choice("round_prefer_floor round_prefer_ceil floor ceil".split()))
            elif op == "DepthToSpace":
                self.add(op, [a], blocksize=2, mode=self.random.choice(["DCR", "CRD"]), exact=True)
            else:
                self.add(op, [a], blocksize=2, exact=True)

    def step_bytes(self):
        """Bytes and back: with a scale that is a power of two no element is on the border between two bytes unless exactly."""
        if a := self.pick(exact=True):
            kind = self.random.choice([numpy.uint8, numpy.int8])
            scale, zero = self.constant(self.random.choice([0.5, 1, 4]), numpy.float32), self.constant(self.random.choice([0, 3, 100]), kind)
            self.add("QuantizeLinear", [a, scale, zero], exact=True)
            name = self.nodes[-1].output[0] if self.nodes else ""
            if name in self.values and self.values[name].dtype == kind:
                self.add("DequantizeLinear", [name, scale, zero])


STEPS = [name for name in dir(Drawn) if name.startswith("step_")]


def difference(got, wanted, nodes):
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"is {got.dtype} {got.shape}, not {wanted.dtype} {wanted.shape}"
    if wanted.dtype.kind != "f":
        return f"{(got != wanted).sum()} of {got.size} elements differ" if (got != wanted).any() else None
    largest, apart = numpy.abs(wanted).max(initial=1), numpy.abs(got - wanted).max(initial=0)
    return None if apart <= BOUND * nodes * largest else f"apart by {apart:.3g} where the largest is {largest:.3g}"


def failure(uk, folder, drawn):
    """What is wrong, and whether that is a refusal."""
    path = folder / "m.onnx"
    onnx.save(drawn.model(), str(path))
    words = [uk, "run", path]
    for k, v in drawn.inputs.items():
        numpy.save(folder / f"{k}.npy", v)
        words.append(f"--input={k}={folder}/{k}.npy")
    done = subprocess.run([*words, *(f"--output={folder}/{o}.npy" for o in drawn.outputs)], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip()
        return said[-400:], done.returncode == 1 and any(w in said for w in REFUSALS)
    wrong = ((o, difference(numpy.load(folder / f"{o}.npy"), drawn.values[o], len(drawn.nodes))) for o in drawn.outputs)
    return next((f"{o} {w}" for o, w in wrong if w), None), False


def main():
    uk, count, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    right = refused = wrong = 0
    for seed in range(first, first + count):
        drawn = Drawn(seed)
        with tempfile.TemporaryDirectory() as folder:
            what, is_refusal = failure(uk, pathlib.Path(folder), drawn)
        if what and not is_refusal:
            wrong += 1
            print(f"network {seed} of {', '.join(n.op_type for n in drawn.nodes)}: {what}", flush=True)
        elif what:
            refused += 1
            print(f"refused: {seed}: {what}", flush=True)
        else:
            right += 1
    print(f"{right} right, {refused} refused, {wrong} wrong")
    sys.exit(bool(wrong) or right < math.ceil(count * 0.8))


if __name__ == "__main__":
    main()
