# SPDX-License-Identifier: Apache-2.0
"""Operators that write or read at indices, compared exactly with their definitions, written here as loops.

Each operator is a node of a network with many: with indices that are inputs or constants, negative ones, equal
ones, none, along each axis. Then wrong indices: a constant one is refused, a computed one ends the run with a message.
"""

import itertools
import math
import random

from defined import Array, Case
from onnx_writer import FLOAT, INT8, INT32, INT64, UINT8, model, node, tensor, value

RANGES = {FLOAT: (-4, 4), INT32: (-9, 9), INT64: (-9, 9), INT8: (-9, 9), UINT8: (0, 9)}
BITS = {INT8: 8, UINT8: 8, INT32: 32, INT64: 64}


def cells(shape):
    return itertools.product(*map(range, shape))


def place(shape, at):
    """The position in row-major order."""
    n = 0
    for extent, i in zip(shape, at):
        n = n * extent + i
    return n


def wrapped(kind, v):
    """The value as an element of the type: integers wrap."""
    if kind == FLOAT:
        return float(v)
    v &= (1 << BITS[kind]) - 1
    return v - (1 << BITS[kind]) if kind != UINT8 and v >> (BITS[kind] - 1) else v


def or_nan(choose):
    """As numpy.maximum and numpy.minimum: a NaN stays."""
    return lambda a, b: a if a != a else b if b != b else choose(a, b)


COMBINE = {"none": lambda a, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": or_nan(max), "min": or_nan(min)}


# ---- definitions: values are flat lists in row-major order ----


def scatter_elements(kind, shape, data, at_shape, at, updates, axis, reduction):
    out, axis = list(data), axis % len(shape)
    for n, cell in enumerate(cells(at_shape)):
        to = place(shape, [at[n] % shape[axis] if d == axis else i for d, i in enumerate(cell)])
        out[to] = wrapped(kind, COMBINE[reduction](out[to], updates[n]))
    return out


def scatter_nd(kind, shape, data, at_shape, at, updates, reduction):
    out, depth = list(data), at_shape[-1]
    rest = shape[depth:]
    for n in range(math.prod(at_shape[:-1])):
        head = [at[n * depth + d] % shape[d] for d in range(depth)]
        for k, tail in enumerate(cells(rest)):
            to = place(shape, [*head, *tail])
            out[to] = wrapped(kind, COMBINE[reduction](out[to], updates[n * math.prod(rest) + k]))
    return out


def tensor_scatter(shape, data, update_shape, updates, starts, axis, circular):
    out, axis = list(data), axis % len(shape)
    for n, cell in enumerate(cells(update_shape)):
        row = cell[axis] + (starts[cell[0]] if starts else 0)
        out[place(shape, [(row % shape[axis] if circular else row) if d == axis else i for d, i in enumerate(cell)])] = updates[n]
    return out


def gather_elements(shape, data, at_shape, at, axis):
    axis %= len(shape)
    return [data[place(shape, [at[n] % shape[axis] if d == axis else i for d, i in enumerate(cell)])] for n, cell in enumerate(cells(at_shape))]


def gather_nd(shape, data, at_shape, at, batch):
    out, depth = [], at_shape[-1]
    for n, cell in enumerate(cells(at_shape[:-1])):
        head = [*cell[:batch], *(at[n * depth + d] % shape[batch + d] for d in range(depth))]
        out += [data[place(shape, [*head, *tail])] for tail in cells(shape[batch + depth:])]
    return out


def one_hot(at_shape, at, depth, off, on, axis, wraps):
    shape = list(at_shape)
    axis %= len(shape) + 1
    shape.insert(axis, depth)
    out = []
    for cell in cells(shape):
        index = at[place(at_shape, [i for d, i in enumerate(cell) if d != axis])]
        out.append(on if index in ([cell[axis], cell[axis] - depth] if wraps else [cell[axis]]) else off)
    return shape, out


def top_k(shape, data, k, axis, largest):
    """Equal elements in the order of their indices; a NaN is larger than all numbers."""
    axis %= len(shape)
    out_shape = [k if d == axis else n for d, n in enumerate(shape)]
    values, indices = [0] * math.prod(out_shape), [0] * math.prod(out_shape)
    for cell in cells([1 if d == axis else n for d, n in enumerate(shape)]):
        row = [data[place(shape, [i if d == axis else c for d, c in enumerate(cell)])] for i in range(shape[axis])]
        keys = [(v != v, 0 if v != v else v) for v in row]
        order = sorted(range(len(row)), key=lambda i: keys[i])  # stable
        if largest:
            order = sorted(range(len(row)), key=lambda i: keys[i], reverse=True)  # stable, too
        for n, i in enumerate(order[:k]):
            to = place(out_shape, [n if d == axis else c for d, c in enumerate(cell)])
            values[to], indices[to] = row[i], i
    return out_shape, values, indices


# ---- networks of many nodes ----


class Network:
    """Nodes, their operands, and the results by definition."""

    def __init__(self, seed, opset):
        self.draw, self.opset = random.Random(seed), opset
        self.nodes, self.inputs, self.constants, self.given, self.wanted = [], [], [], {}, []

    def values(self, shape, kind, special=()):
        """Small integers and, of floats, some of the special values."""
        drawn = [wrapped(kind, self.draw.randint(*RANGES[kind])) for _ in range(math.prod(shape))]
        return [self.draw.choice(special) if special and kind == FLOAT and self.draw.random() < 0.3 else v for v in drawn]

    def operand(self, shape, values, kind, constant=False):
        """Adds a constant or an input; returns its name."""
        name = f"v{len(self.inputs) + len(self.constants)}"
        if constant:
            self.constants.append(tensor(name, shape, values, kind))
        else:
            self.inputs.append(value(name, shape, kind))
            self.given[name] = Array(tuple(shape), values, kind)
        return name

    def add(self, op, operands, shape, values, kind, **attributes):
        name = f"y{len(self.nodes)}"
        self.nodes.append(node(op, operands, [name], **attributes))
        self.wanted.append((name, op, attributes, shape, kind, values))

    def case(self, is_everywhere=False):
        outputs = [value(n, shape, kind) for n, _, _, shape, kind, _ in self.wanted]
        return Case(model(self.nodes, self.inputs, outputs, self.constants, self.opset), self.given,
                    [Array(tuple(shape), values, kind) for _, _, _, shape, kind, values in self.wanted], ulps=0,
                    labels=[f"{op} {attributes} of type {kind}" for _, op, attributes, _, kind, _ in self.wanted], is_everywhere=is_everywhere,
                    has_gpus=False)


def add_elements(net, op, reductions):
    draw = net.draw
    shape = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
    axis = draw.randrange(-len(shape), len(shape))
    kind, reduction = draw.choice(list(RANGES)), draw.choice(reductions)
    at_shape = [draw.randint(0 if draw.random() < 0.1 else 1, n) for n in shape]
    at_shape[axis] = draw.randint(0 if draw.random() < 0.1 else 1, 7)
    at = [draw.randrange(-shape[axis], shape[axis]) for _ in range(math.prod(at_shape))]
    special = [math.nan, math.inf, -math.inf] if reduction in ("none", "max", "min") else []
    data, updates = net.values(shape, kind, special), net.values(at_shape, kind, special)
    operands = [net.operand(shape, data, kind), net.operand(at_shape, at, draw.choice([INT32, INT64]), draw.random() < 0.3),
                net.operand(at_shape, updates, kind, draw.random() < 0.3)]
    attributes = {"axis": axis} if reduction == "none" else {"axis": axis, "reduction": reduction}
    net.add(op, operands, shape, scatter_elements(kind, shape, data, at_shape, at, updates, axis, reduction), kind, **attributes)


def add_nd(net, reductions):
    draw = net.draw
    shape = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
    depth = draw.randint(1, len(shape))
    at_shape = [draw.randint(0 if draw.random() < 0.1 else 1, 5) for _ in range(draw.randint(0, 2))] + [depth]
    kind, reduction = draw.choice(list(RANGES)), draw.choice(reductions)
    at = [draw.randrange(-shape[n % depth], shape[n % depth]) for n in range(math.prod(at_shape))]
    update_shape = at_shape[:-1] + shape[depth:]
    special = [math.nan, math.inf, -math.inf] if reduction in ("none", "max", "min") else []
    data, updates = net.values(shape, kind, special), net.values(update_shape, kind, special)
    operands = [net.operand(shape, data, kind), net.operand(at_shape, at, INT64, draw.random() < 0.3),
                net.operand(update_shape, updates, kind, draw.random() < 0.3)]
    net.add("ScatterND", operands, shape, scatter_nd(kind, shape, data, at_shape, at, updates, reduction), kind,
            **({} if reduction == "none" else {"reduction": reduction}))


def add_cache(net):
    draw = net.draw
    shape = [draw.randint(1, 4) for _ in range(draw.randint(2, 4))]
    axis = draw.randrange(1, len(shape))
    shape[axis] = draw.randint(1, 7)
    update_shape = list(shape)
    update_shape[axis] = draw.randint(0 if draw.random() < 0.1 else 1, shape[axis])
    kind, circular = draw.choice(list(RANGES)), draw.random() < 0.5
    last = 1000 if circular else shape[axis] - update_shape[axis]
    starts = [draw.randint(0, last) for _ in range(shape[0])] if draw.random() < 0.8 else None
    data, updates = net.values(shape, kind), net.values(update_shape, kind)
    operands = [net.operand(shape, data, kind), net.operand(update_shape, updates, kind, draw.random() < 0.3)]
    operands += [net.operand([shape[0]], starts, INT64, draw.random() < 0.3)] if starts else []
    net.add("TensorScatter", operands, shape, tensor_scatter(shape, data, update_shape, updates, starts, axis, circular), kind,
            mode="circular" if circular else "linear", axis=draw.choice([axis, axis - len(shape)]))


def add_gather_elements(net):
    draw = net.draw
    shape = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
    axis, kind = draw.randrange(-len(shape), len(shape)), draw.choice(list(RANGES))
    at_shape = [draw.randint(0 if draw.random() < 0.1 else 1, n) for n in shape]
    at_shape[axis] = draw.randint(0 if draw.random() < 0.1 else 1, 7)
    at = [draw.randrange(-shape[axis], shape[axis]) for _ in range(math.prod(at_shape))]
    data = net.values(shape, kind)
    operands = [net.operand(shape, data, kind), net.operand(at_shape, at, draw.choice([INT32, INT64]), draw.random() < 0.3)]
    net.add("GatherElements", operands, at_shape, gather_elements(shape, data, at_shape, at, axis), kind, axis=axis)


def add_gather_nd(net, batches):
    draw = net.draw
    shape = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
    batch = draw.randrange(len(shape)) if batches else 0
    depth = draw.randint(1, len(shape) - batch)
    at_shape = shape[:batch] + [draw.randint(0 if draw.random() < 0.1 else 1, 5) for _ in range(draw.randint(0, 2))] + [depth]
    at = [draw.randrange(-shape[batch + n % depth], shape[batch + n % depth]) for n in range(math.prod(at_shape))]
    kind = draw.choice(list(RANGES))
    data = net.values(shape, kind)
    operands = [net.operand(shape, data, kind), net.operand(at_shape, at, INT64, draw.random() < 0.3)]
    net.add("GatherND", operands, at_shape[:-1] + shape[batch + depth:], gather_nd(shape, data, at_shape, at, batch), kind,
            **({"batch_dims": batch} if batches else {}))


def add_one_hot(net):
    draw = net.draw
    at_shape = [draw.randint(0 if draw.random() < 0.1 else 1, 5) for _ in range(draw.randint(0, 3))]
    depth, at_kind, kind = draw.randint(0 if draw.random() < 0.1 else 1, 5), draw.choice([INT32, INT64, FLOAT, INT8]), draw.choice(list(RANGES))
    axis = draw.randrange(-len(at_shape) - 1, len(at_shape) + 1)
    at = [wrapped(at_kind, draw.randint(-depth - 2, depth + 1)) for _ in range(math.prod(at_shape))]
    off, on = net.values([2], kind)
    shape, wanted = one_hot(at_shape, at, depth, off, on, axis, net.opset >= 11)
    operands = [net.operand(at_shape, at, at_kind), net.operand([1] if draw.random() < 0.5 else [], [depth], draw.choice([INT64, FLOAT]), True),
                net.operand([2], [off, on], kind, draw.random() < 0.5)]
    net.add("OneHot", operands, shape, wanted, kind, axis=axis)


def add_top_k(net):
    draw = net.draw
    shape = [draw.randint(1, 7) for _ in range(draw.randint(1, 3))]
    axis, kind, largest = draw.randrange(-len(shape), len(shape)), draw.choice(list(RANGES)), draw.random() < 0.5 or net.opset < 11
    if net.opset < 10:
        axis %= len(shape)
    k = draw.randint(0, shape[axis])
    data = net.values(shape, kind, [math.nan, math.inf, -math.inf, 0.0])
    out_shape, values, indices = top_k(shape, data, k, axis, largest)
    operands = [net.operand(shape, data, kind)] + ([net.operand([1], [k], INT64, True)] if net.opset >= 10 else [])
    attributes = {"axis": axis} | ({"k": k} if net.opset < 10 else {}) | ({"largest": int(largest)} if net.opset >= 11 else {})
    names = [f"y{len(net.nodes)}", f"at{len(net.nodes)}"]
    net.nodes.append(node("TopK", operands, names, **attributes))
    net.wanted += [(names[0], "TopK", attributes, out_shape, kind, values), (names[1], "TopK", attributes, out_shape, INT64, indices)]


def gathers():
    for opset in 9, 11, 13:
        net = Network(100 + opset, opset)
        for _ in range(8):
            add_top_k(net)
            add_one_hot(net)
            if opset >= 11:
                add_gather_elements(net)
                add_gather_nd(net, opset >= 13)
        yield f"gathers_{opset}", net.case()


def scatters():
    for opset, reductions in ((9, ["none"]), (11, ["none"]), (13, ["none"]), (16, ["none", "add", "mul"]), (24, list(COMBINE))):
        net = Network(opset, opset)
        for _ in range(24 if opset == 24 else 6):
            add_elements(net, "Scatter" if opset < 11 else "ScatterElements", reductions)
            if opset >= 11:
                add_nd(net, reductions)
            if opset >= 24:
                add_cache(net)
        yield f"scatters_{opset}", net.case(opset == 16)


# ---- what is refused ----


def refused(words, data, operands, opset=24, constants=(), given=None, **attributes):
    """A network of one node, and what its message contains."""
    return Case(model([node(data[0], data[1], ["y"], **attributes)], operands, [value("y", data[2])], constants, opset), given or {}, refused=words)


def refusals():
    """What is wrong, by its name."""
    zeros = lambda *shape: Array(shape, [0.0] * math.prod(shape))
    x, at, u = value("x", [3, 4]), value("at", [2, 4], INT64), value("u", [2, 4])
    wrong = tensor("at", [2, 4], [0, 1, 2, -3, 0, 0, 0, -4], INT64)
    yield "constant_outside", refused("index -4 is outside of dimension 0 of 3x4", ("ScatterElements", ["x", "at", "u"], [3, 4]), [x, u], constants=[wrong])
    yield "outside", refused("an index is outside of its tensor", ("ScatterElements", ["x", "at", "u"], [3, 4]), [x, at, u],
            given={"x": zeros(3, 4), "u": zeros(2, 4), "at": Array((2, 4), [0, 1, 2, -3, 0, 0, 0, 3], INT64)})
    yield "no_reduction", refused("reduction=mean", ("ScatterElements", ["x", "at", "u"], [3, 4]), [x, at, u], reduction="mean")
    yield "shapes", refused("do not fit a tensor of shape 3x4", ("ScatterElements", ["x", "at", "u"], [3, 4]), [x, at, value("u", [2, 3])])
    yield "type", refused("cannot be written", ("ScatterElements", ["x", "at", "u"], [3, 4]), [x, at, value("u", [2, 4], INT32)])
    yield "points_outside", refused("index 4 is outside of dimension 1 of 3x4", ("ScatterND", ["x", "at", "u"], [3, 4]), [x, value("u", [2])],
            constants=[tensor("at", [2, 2], [2, 3, -3, 4], INT64)])
    yield "depth", refused("do not fit a tensor of shape 3x4", ("ScatterND", ["x", "at", "u"], [3, 4]), [x, value("at", [2, 3], INT64), value("u", [2])])
    yield "cache_outside", refused("an index is outside of its tensor", ("TensorScatter", ["x", "u", "at"], [3, 4]), [x, value("u", [3, 2]), value("at", [3], INT64)],
            given={"x": zeros(3, 4), "u": zeros(3, 2), "at": Array((3,), [0, 2, 3], INT64)}, axis=1)
    yield "cache_constant", refused("position 3 is outside of 0 to 2", ("TensorScatter", ["x", "u", "at"], [3, 4]), [x, value("u", [3, 2])],
            constants=[tensor("at", [3], [0, 2, 3], INT64)], axis=1)
    yield "elements_outside", refused("index 3 is outside of dimension 0 of 3x4", ("GatherElements", ["x", "at"], [2, 4]), [x],
            constants=[tensor("at", [2, 4], [0, 1, 2, 3, 0, 0, 0, 0], INT64)])
    yield "gather_outside", refused("an index is outside of its tensor", ("GatherND", ["x", "at"], [2]), [x, value("at", [2, 2], INT64)],
            given={"x": zeros(3, 4), "at": Array((2, 2), [0, 1, 2, -5], INT64)})
    yield "batches", refused("do not fit a tensor of shape 3x4", ("GatherND", ["x", "at"], [2]), [x, value("at", [2, 1], INT64)], batch_dims=1)
    yield "depth_of_input", refused("depth 'd' is not a constant(?s:.*)--constant d=FILE", ("OneHot", ["x", "d", "v"], [3, 4, 5]), [x, value("d", [], INT64), value("v", [2])])
    yield "three_values", refused("its values have shape 3, not 2", ("OneHot", ["x", "d", "v"], [3, 4, 5]), [x, value("v", [3])], constants=[tensor("d", [], [5], INT64)])
    yield "too_many", refused("k is 5, and dimension 1 of its input has extent 4", ("TopK", ["x", "k"], [3, 5]), [x], constants=[tensor("k", [1], [5], INT64)])
    yield "too_old", refused("TensorScatter of operator set 23", ("TensorScatter", ["x", "u"], [3, 4]), [x, value("u", [3, 2])], opset=23, axis=1)


CASES = {**dict(scatters()), **dict(gathers()), **dict(refusals())}
