# SPDX-License-Identifier: Apache-2.0
"""Random networks of Concat, Split and Slice between operators that write or read their parts, with right
outputs: values may be parts of parts, in one input twice, or outputs of the network."""

import itertools
import math
import random

from onnx_writer import INT64, node, tensor


class Tensor:
    def __init__(self, shape, values):
        self.shape, self.values = list(shape), list(values)

    def places(self):
        return itertools.product(*map(range, self.shape))

    def at(self, place):
        index = 0
        for i, extent in zip(place, self.shape):
            index = index * extent + i
        return self.values[index]


def moved(place, axis, to):
    return (*place[:axis], to, *place[axis + 1 :])


def part(t, axis, begin, end):
    shape = moved(t.shape, axis, end - begin)
    return Tensor(shape, [t.at(moved(i, axis, i[axis] + begin)) for i in itertools.product(*map(range, shape))])


def union(parts, axis):
    shape = moved(parts[0].shape, axis, sum(t.shape[axis] for t in parts))
    owner = [(t, k) for t in parts for k in range(t.shape[axis])]
    return Tensor(shape, [owner[i[axis]][0].at(moved(i, axis, owner[i[axis]][1])) for i in itertools.product(*map(range, shape))])


class Graph:
    MOST = 2000  # elements of a value

    def __init__(self, seed):
        self.draw = random.Random(seed)
        rank = self.draw.choice([2, 4])
        shape = [2, 4] if rank == 2 else [1, self.draw.choice([2, 4]), 2, 3]
        self.value = {"x": Tensor(shape, [float(self.draw.randint(-9, 9)) for _ in range(math.prod(shape))])}
        self.nodes, self.constants = [], []
        for step in range(self.draw.randint(4, 14)):
            name = self.draw.choice(list(self.value))
            self.draw.choice([self.concat] * 4 + [self.split, self.slice, self.relu, self.relu, self.negate, self.add, self.convolve])(f"t{step}", name)
        names = [name for name in self.value if name != "x"]
        self.outputs = sorted({*self.draw.sample(names, min(len(names), self.draw.randint(1, 3))), *names[-1:]})

    def some(self, fits):
        return self.draw.choice([name for name, t in self.value.items() if fits(t)])

    def axis_of(self, t):
        return self.draw.randrange(len(t.shape))

    def append(self, op, inputs, result, t, **attributes):
        self.nodes.append(node(op, inputs, [result], **attributes))
        self.value[result] = t

    def integers(self, name, values):
        self.constants.append(tensor(name, [len(values)], values, INT64))
        return name

    def concat(self, result, name):
        t = self.value[name]
        axis = self.axis_of(t)
        inputs = [name] + [self.some(lambda u: moved(u.shape, axis, 0) == moved(t.shape, axis, 0)) for _ in range(self.draw.randint(0, 3))]
        self.draw.shuffle(inputs)
        if sum(len(self.value[i].values) for i in inputs) <= self.MOST:
            self.append("Concat", inputs, result, union([self.value[i] for i in inputs], axis), axis=axis)

    def split(self, result, name):
        t = self.value[name]
        axis = self.axis_of(t)
        if t.shape[axis] > 1:
            at = self.draw.randint(1, t.shape[axis] - 1)
            parts = [f"{result}a", f"{result}b"]
            self.nodes.append(node("Split", [name, self.integers("at" + result, [at, t.shape[axis] - at])], parts, axis=axis))
            self.value.update(zip(parts, (part(t, axis, 0, at), part(t, axis, at, t.shape[axis]))))

    def slice(self, result, name):
        t = self.value[name]
        axis = self.axis_of(t)
        begin = self.draw.randint(0, t.shape[axis] - 1)
        end = self.draw.randint(begin + 1, t.shape[axis])
        bounds = [self.integers(word + result, [v]) for word, v in (("from", begin), ("to", end), ("axis", axis))]
        self.append("Slice", [name, *bounds], result, part(t, axis, begin, end))

    def relu(self, result, name):
        self.append("Relu", [name], result, Tensor(self.value[name].shape, [max(v, 0.0) for v in self.value[name].values]))

    def negate(self, result, name):
        self.append("Neg", [name], result, Tensor(self.value[name].shape, [-v for v in self.value[name].values]))

    def add(self, result, name):
        t = self.value[name]
        other = self.some(lambda u: u.shape == t.shape)
        self.append("Add", [name, other], result, Tensor(t.shape, map(sum, zip(t.values, self.value[other].values))))

    def convolve(self, result, name):
        t = self.value[name]
        if len(t.shape) != 4:
            return
        outputs, inputs = self.draw.choice([1, 2, 3, 8]), t.shape[1]
        weights = [float(self.draw.randint(-2, 2)) for _ in range(outputs * inputs)]
        self.constants.append(tensor("w" + result, [outputs, inputs, 1, 1], weights))
        y = Tensor(moved(t.shape, 1, outputs), [])
        y.values = [sum(weights[i[1] * inputs + c] * t.at(moved(i, 1, c)) for c in range(inputs)) for i in y.places()]
        self.append("Conv", [name, "w" + result], result, y, kernel_shape=[1, 1])
