# SPDX-License-Identifier: Apache-2.0
"""Random small networks with two open sizes: each either equals what is compiled for drawn sizes (ranges.c), or is
refused because it cannot stay open.

    random_open.py RANGES FILE COUNT [FIRST]
"""

import pathlib
import random
import subprocess
import sys

from onnx_writer import INT64, model, node, tensor, value
from small_networks import weights

REFUSALS = ("cannot stay open", "another form", "depends on an open size", "give one value to", "it can stay open with")


class Drawn:
    """A network under construction. Values have nominal shapes: integers, names of open sizes, and * for other extents."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes, self.tensors, self.made = [], [], 0
        self.width = self.random.choice([4, 6, 8])
        self.values = [("x", ["a", "b", self.width]), ("z", ["b", self.width])]
        bounds = [[(1, 4), (1, 2), (2, 9), (1, 17), (0, 5), (4, 16)], [(1, 4), (1, 40), (3, 6), (0, 8), (1, 6)]]
        self.sizes = [f"{name}={low}..{high}" for name, (low, high) in zip("ab", map(self.random.choice, bounds))]

    def name(self):
        self.made += 1
        return f"v{self.made}"

    def integers(self, *numbers, scalar=False):
        name = self.name()
        self.tensors.append(tensor(name, [] if scalar else [len(numbers)], list(numbers), INT64))
        return name

    def weight(self, *shape):
        name = self.name()
        self.tensors.append(weights(self.made, name, list(shape), 3))
        return name

    def helper(self, op, inputs, **attributes):
        out = self.name()
        self.nodes.append(node(op, inputs, [out], **attributes))
        return out

    def add(self, op, inputs, shape, **attributes):
        out = self.helper(op, inputs, **attributes)
        self.values.append((out, shape))
        return out

    def extent_of_input(self, i):
        """A scalar: extent i of x."""
        return self.helper("Gather", [self.helper("Shape", ["x"]), self.integers(i, scalar=True)], axis=0)

    def step(self):
        choose = self.random.choice
        v, s = choose(self.values)
        n, last, axis = len(s), s[-1] if s else None, self.random.randrange(max(len(s), 1))
        put = lambda e: [e if i == axis else old for i, old in enumerate(s)]
        alike = [name for name, shape in self.values if shape == s]
        op = choose(["unary", "binary", "scale", "product", "square", "softmax", "norm", "transpose", "split_last", "join", "flat", "concat", "slice", "reverse", "reduce",
                     "gather", "expand", "tile", "unsqueeze", "pad", "broadcast", "positions", "range"])
        if op == "unary":
            self.add(choose(["Relu", "Tanh", "Neg", "Identity"]), [v], s)
        elif op == "binary":
            self.add(choose(["Add", "Mul", "Sub", "Max"]), [v, choose(alike)], s)
        elif op == "positions":
            end = self.helper("Unsqueeze", [self.extent_of_input(1), self.integers(0)])
            self.add("Slice", [self.weight(50, self.width), self.integers(0), end, self.integers(0)], ["b", self.width])
        elif op == "range":
            start, delta = (self.integers(choose(numbers), scalar=True) for numbers in ([0, 1, -2], [1, 2]))
            self.add("Cast", [self.helper("Range", [start, self.extent_of_input(choose([0, 1])), delta])], ["*"], to=1)
        elif op == "expand" and s in (["a", "b", self.width], ["b", self.width]):
            self.add("Expand", [v, self.helper("Shape", ["x"])], ["a", "b", self.width])
        elif n == 0:
            return
        elif op == "scale" and isinstance(last, int):
            self.add("Mul", [v, self.weight(last)], s)
        elif op == "product" and n >= 2 and isinstance(last, int):
            columns = choose([4, 5, 8])
            self.add("MatMul", [v, self.weight(last, columns)], s[:-1] + [columns])
        elif op == "square" and n >= 2:
            order = [*range(n - 2), n - 1, n - 2]
            self.add("MatMul", [v, self.add("Transpose", [v], [s[i] for i in order], perm=order)], s[:-1] + [s[-2]])
        elif op == "softmax":
            self.add("Softmax", [v], s, axis=axis)
        elif op == "norm" and isinstance(last, int):
            self.add("LayerNormalization", [v, self.weight(last)], s, axis=-1)
        elif op == "transpose":
            order = self.random.sample(range(n), n)
            self.add("Transpose", [v], [s[i] for i in order], perm=order)
        elif op == "split_last" and isinstance(last, int) and last % 2 == 0 and n < 5:
            self.add("Reshape", [v, self.integers(*[0] * (n - 1), 2, last // 2)], s[:-1] + [2, last // 2])
        elif op == "join" and n >= 2 and isinstance(last, int):
            self.add("Reshape", [v, self.integers(-1, last)], ["*", last])
        elif op == "flat":
            self.add("Flatten", [v], ["*", "*"], axis=axis)
        elif op == "concat":
            self.add("Concat", [v, choose(alike)], put(2 * s[axis] if isinstance(s[axis], int) else "*"), axis=axis)
        elif op == "slice":
            low, high = choose([(0, -1), (1, 99), (0, 2), (-2, 99), (0, 99), (1, 3), (-3, -1)])
            self.add("Slice", [v, self.integers(low), self.integers(high), self.integers(axis)], put("*"))
        elif op == "reverse":
            self.add("Slice", [v, self.integers(-1), self.integers(-99), self.integers(axis), self.integers(-1)], s)
        elif op == "reduce":
            keep = choose([0, 1])
            self.add(choose(["ReduceMean", "ReduceMax"]), [v], put(1) if keep else s[:axis] + s[axis + 1:], keepdims=keep,
                     axes=[axis])
        elif op == "gather":
            indices = choose([[0], [-1], [0, 0, 0]])
            self.add("Gather", [v, self.integers(*indices)], put(len(indices)), axis=axis)
        elif op == "tile" and n < 5:
            self.add("Tile", [v, self.integers(*(choose([1, 2]) for _ in s))], ["*"] * n)
        elif op == "unsqueeze" and n < 5:
            self.add("Unsqueeze", [v, self.integers(axis)], s[:axis] + [1] + s[axis:])
        elif op == "pad":
            pads = [choose([0, 0, 1, 2]) for _ in range(2 * n)]
            self.add("Pad", [v, self.integers(*pads)], ["*" if pads[i] or pads[i + n] else s[i] for i in range(n)], mode=choose(["constant", "edge"]))
        elif op == "broadcast":
            u, t = choose(self.values)
            if len(t) <= n and all(e in (1, old) and e != "*" for e, old in zip(t, s[n - len(t):])):
                self.add("Add", [v, u], s)

    def model(self):
        for _ in range(self.random.randint(3, 9)):
            self.step()
        made = self.values[2:] or [(self.add("Relu", ["x"], self.values[0][1]), self.values[0][1])]
        outputs = dict([made[-1], *self.random.sample(made, min(2, len(made)))])
        inputs = [value(name, shape) for name, shape in self.values[:2]]
        return model(self.nodes, inputs, [value(o, [e if isinstance(e, int) else f"{o}_{i}" for i, e in enumerate(s)]) for o, s in outputs.items()], self.tensors, opset=17)


program, path, count, first = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0
right = refused = 0
wrong = []
for seed in range(first, first + count):
    drawn = Drawn(seed)
    path.write_bytes(drawn.model())
    done = subprocess.run([program, str(path), "2", *drawn.sizes], capture_output=True, text=True, check=False)
    said = done.stderr.strip()
    if not done.returncode:
        right += 1
    elif done.returncode == 1 and any(words in said for words in REFUSALS):
        refused += 1
    else:
        wrong.append(f"network {seed}, {' '.join(drawn.sizes)}: exit status {done.returncode}: {said[:500]}")
print(*wrong, f"{right} right, {refused} refused, {len(wrong)} wrong", sep="\n")
sys.exit(bool(wrong) or right < count // 3)
