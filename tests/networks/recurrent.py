# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN by their definitions in ONNX."""

import math
import random

from defined import Array, Case, drawn, made
from integer import quantized
from onnx_writer import FLOAT, FLOAT16, INT8, INT32, INT64, UINT8, Floats, Texts, model, node, tensor, value

draw = random.Random(62)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def logistic(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


# By name: the function of alpha, beta and x; the defaults of alpha and beta, None: it has none.
FUNCTIONS = {
    "Affine": (lambda a, b, x: a * x + b, 1, 0), "Elu": (lambda a, b, x: x if x >= 0 else a * math.expm1(x), 1, None),
    "HardSigmoid": (lambda a, b, x: max(0, min(1, a * x + b)), 0.2, 0.5), "LeakyRelu": (lambda a, b, x: x if x >= 0 else a * x, 0.01, None),
    "Relu": (lambda a, b, x: max(0, x), None, None), "ScaledTanh": (lambda a, b, x: a * math.tanh(b * x), 1, 1), "Sigmoid": (lambda a, b, x: logistic(x), None, None),
    "Softplus": (lambda a, b, x: max(x, 0) + math.log1p(math.exp(-abs(x))), None, None), "Softsign": (lambda a, b, x: x / (1 + abs(x)), None, None),
    "Tanh": (lambda a, b, x: math.tanh(x), None, None), "ThresholdedRelu": (lambda a, b, x: x if x > a else 0, 1, None),
}


def functions(names, alphas, betas):
    """Functions of x. Those that have alpha or beta take the next of the list, then the default."""
    alphas, betas, found = list(alphas), list(betas), []
    for name in names:
        f, a, b = FUNCTIONS[name]
        a = alphas.pop(0) if a is not None and alphas else a
        b = betas.pop(0) if b is not None and betas else b
        found.append(lambda x, f=f, a=a, b=b: f(a, b, x))
    return found


def product(row, matrix, d, gate, size):
    """Rows gate * size to (gate + 1) * size of matrix [directions, rows, columns] times the row."""
    return [math.fsum(matrix[d, gate * size + i, k] * row[k] for k in range(len(row))) for i in range(size)]


class Cell:
    """One direction of an operator: f as in ONNX, weights, the clip."""

    def __init__(self, op, d, size, w, r, bias, peephole, f, clip, coupled, linear):
        self.op, self.d, self.size, self.w, self.r, self.bias, self.peephole = op, d, size, w, r, bias, peephole
        self.f, self.clip, self.coupled, self.linear = f, clip, coupled, linear

    def applied(self, f, xs):
        return [f(max(-self.clip, min(self.clip, x)) if self.clip else x) for x in xs]

    def of_bias(self, gate):
        return [self.bias[self.d, gate * self.size + i] if self.bias else 0 for i in range(self.size)]

    def inner(self, x, gate):
        return [a + b for a, b in zip(product(x, self.w, self.d, gate, self.size), self.of_bias(gate))]

    def outer(self, h, gate):
        return [a + b for a, b in zip(product(h, self.r, self.d, gate, self.size), self.of_bias(GATES[self.op] + gate))]

    def sums(self, x, h, gate):
        return [a + b for a, b in zip(self.inner(x, gate), self.outer(h, gate))]

    def peeped(self, sums, gate, c):
        return [s + self.peephole[self.d, gate * self.size + i] * c[i] for i, s in enumerate(sums)] if self.peephole else sums

    def step(self, x, h, c):
        if self.op == "RNN":
            return self.applied(self.f[0], self.sums(x, h, 0)), c
        if self.op == "GRU":
            z, r = (self.applied(self.f[0], self.sums(x, h, gate)) for gate in (0, 1))
            if self.linear:
                last = [a * b for a, b in zip(r, self.outer(h, 2))]
            else:
                last = self.outer([a * b for a, b in zip(r, h)], 2)
            n = self.applied(self.f[1], [a + b for a, b in zip(self.inner(x, 2), last)])
            return [(1 - z[i]) * n[i] + z[i] * h[i] for i in range(self.size)], c
        i = self.applied(self.f[0], self.peeped(self.sums(x, h, 0), 0, c))
        f = [1 - v for v in i] if self.coupled else self.applied(self.f[0], self.peeped(self.sums(x, h, 2), 2, c))
        g = self.applied(self.f[1], self.sums(x, h, 3))
        c = [f[k] * c[k] + i[k] * g[k] for k in range(self.size)]
        o = self.applied(self.f[0], self.peeped(self.sums(x, h, 1), 1, c))
        return [o[k] * self.f[2](c[k]) for k in range(self.size)], c


def computed(op, x, w, r, bias=None, lengths=None, h0=None, c0=None, peephole=None, activations=None, activation_alpha=(), activation_beta=(), clip=0.0,
             direction="forward", input_forget=0, linear_before_reset=0):
    """Y, Y_h and Y_c for x [steps, batch, inputs]."""
    (steps, batch, inputs), size, ways = x.shape, r.shape[2], w.shape[0]
    names = activations or {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[op] * ways
    f = functions(names, activation_alpha, activation_beta)
    each, y, last = len(names) // ways, {}, {}
    for d in range(ways):
        cell = Cell(op, d, size, w, r, bias, peephole, f[d * each:(d + 1) * each], clip, input_forget, linear_before_reset)
        for b in range(batch):
            h, c = ([a[d, b, i] if a else 0.0 for i in range(size)] for a in (h0, c0))
            count = lengths[(b,)] if lengths else steps
            places = range(count)
            for t in reversed(places) if direction == "reverse" or d else places:
                h, c = cell.step([x[t, b, k] for k in range(inputs)], h, c)
                y[t, d, b] = h
            last[d, b] = h, c
    return (made((steps, ways, batch, size), lambda t, d, b, i: y[t, d, b][i] if (t, d, b) in y else 0.0),
            *(made((ways, batch, size), lambda d, b, i, k=k: last[d, b][k][i]) for k in (0, 1)))


def turned(a, *order):
    """Dimensions in that order."""
    shape = tuple(a.shape[i] for i in order)
    return made(shape, lambda *at: a[tuple(at[order.index(i)] for i in range(len(order)))], a.kind)


def case(op, steps=3, batch=2, inputs=3, size=5, bias=False, lengths=None, states=False, peepholes=False, outputs=3, left_out=(), layout=0, weights=True, opset=22, kind=FLOAT,
         bound=2e-6, stated=True, **attributes):
    """outputs: how many, without those left out; weights: they are constants; stated: hidden_size is."""
    ways = 2 if attributes.get("direction") == "bidirectional" else 1
    gates, outputs = GATES[op], min(outputs, 3 if op == "LSTM" else 2)
    most = size ** -0.5  # so that errors of one step do not grow over the next
    arrays = {"x": drawn(draw, [steps, batch, inputs], -2, 2), "w": drawn(draw, [ways, gates * size, inputs]), "r": drawn(draw, [ways, gates * size, size], -most, most),
              "b": drawn(draw, [ways, 2 * gates * size]) if bias else None, "lengths": Array((batch,), list(lengths), INT32) if lengths else None,
              "h0": drawn(draw, [ways, batch, size]) if states else None, "c0": drawn(draw, [ways, batch, size]) if states and op == "LSTM" else None,
              "p": drawn(draw, [ways, 3 * size]) if peepholes else None}
    if kind == FLOAT16:
        arrays = {k: made(a.shape, lambda *i, a=a: round(a[i] * 64) / 64, kind) if a and a.kind == FLOAT else a for k, a in arrays.items()}
    right = list(computed(op, *arrays.values(), **attributes))
    if layout:
        right = [turned(right[0], 2, 0, 1, 3), *(turned(a, 1, 0, 2) for a in right[1:])]
        arrays.update({k: turned(arrays[k], 1, 0, 2) for k in ("x", "h0", "c0") if arrays[k]})
    names = [k if a else "" for k, a in arrays.items()]
    while not names[-1]:
        names.pop()
    results = ["" if i in left_out else f"y{i}" for i in range(outputs)]
    kept = [i for i in range(outputs) if i not in left_out]
    fixed = {k for k in ("w", "r", "b", "p") if weights and arrays[k]}
    given = {k: a for k, a in arrays.items() if a and k not in fixed}
    written = {**attributes, **({"hidden_size": size} if stated else {}), **({"layout": 1} if layout else {})}
    for k in ("activation_alpha", "activation_beta"):
        if k in written:
            written[k] = Floats(written[k])
    if "activations" in written:
        written["activations"] = Texts(written["activations"])
    nodes, last = [node(op, names, results, **written)], "y"
    if kind == FLOAT16:
        nodes, last = nodes + [node("Cast", [f"y{i}"], [f"z{i}"], to=FLOAT) for i in kept], "z"
    made_of = model(nodes, [value(k, a.shape, a.kind) for k, a in given.items()], [value(f"{last}{i}", right[i].shape) for i in kept],
                    [tensor(k, arrays[k].shape, arrays[k].values, arrays[k].kind) for k in sorted(fixed)], opset)
    return Case(made_of, given, [right[i] for i in kept], bound)


def real_of(x):
    """x as DynamicQuantizeLinear's bytes stand for it."""
    q, scale, zero = quantized(x)
    return made(x.shape, lambda *i: (q[i] - zero.values[0]) * scale.values[0])


def in_bytes(steps=3, batch=1, inputs=3, size=5, kind=INT8, by_gate=False, zeros=True, weights=True, bias=True, direction="forward", peepholes=False, coupled=0):
    """DynamicQuantizeLSTM: inputs are quantized over all steps, states over the batch."""
    ways, each = 2 if direction == "bidirectional" else 1, 4 * size
    low, high = (-127, 127) if kind == INT8 else (0, 255)
    bytes_of = lambda *shape: made(shape, lambda *i: draw.randint(low, high), kind)
    of_gates = [ways, each] if by_gate else [ways]
    zero = lambda: made(of_gates, lambda *i: draw.randint(-9, 9) if kind == INT8 else draw.randint(120, 136), kind) if zeros else None
    arrays = {"x": drawn(draw, [steps, batch, inputs], -2, 2), "w": bytes_of(ways, inputs, each), "r": bytes_of(ways, size, each), "b": drawn(draw, [ways, 2 * each]) if bias else None,
              "lengths": None, "h0": drawn(draw, [ways, batch, size]), "c0": drawn(draw, [ways, batch, size]), "p": drawn(draw, [ways, 3 * size]) if peepholes else None,
              "ws": drawn(draw, of_gates, 0.002, 0.004), "wz": zero(), "rs": drawn(draw, of_gates, 0.002, 0.004), "rz": zero()}
    at = lambda k, d, g: (arrays[k][d, g] if by_gate else arrays[k][(d,)]) if arrays[k] else 0
    real = lambda m: made([ways, each, arrays[m].shape[1]], lambda d, g, k: (arrays[m][d, k, g] - at(m + "z", d, g)) * at(m + "s", d, g))
    f, x, y, last = functions(["Sigmoid", "Tanh", "Tanh"], (), ()), real_of(arrays["x"]), {}, []
    for d in range(ways):
        cell = Cell("LSTM", d, size, real("w"), real("r"), arrays["b"], arrays["p"], f, 0.0, coupled, 0)
        states = [([arrays["h0"][d, b, i] for i in range(size)], [arrays["c0"][d, b, i] for i in range(size)]) for b in range(batch)]
        for t in reversed(range(steps)) if direction == "reverse" or d else range(steps):
            h = real_of(Array((batch, size), [v for state in states for v in state[0]]))
            states = [cell.step([x[t, b, k] for k in range(inputs)], [h[b, i] for i in range(size)], states[b][1]) for b in range(batch)]
            y.update({(t, d, b): states[b][0] for b in range(batch)})
        last.append(states)
    right = [made((steps, ways, batch, size), lambda t, d, b, i: y[t, d, b][i]), *(made((ways, batch, size), lambda d, b, i, k=k: last[d][b][k][i]) for k in (0, 1))]
    fixed = {k for k in ("w", "r", "b", "p", "ws", "wz", "rs", "rz") if weights and arrays[k]}
    names = [k if a else "" for k, a in arrays.items()]
    while not names[-1]:
        names.pop()
    given = {k: a for k, a in arrays.items() if a and k not in fixed}
    written = {"hidden_size": size, "direction": direction, **({"input_forget": 1} if coupled else {})}
    nodes = [node("DynamicQuantizeLSTM", names, ["y0", "y1", "y2"], domain="com.microsoft", **written)]
    return Case(model(nodes, [value(k, a.shape, a.kind) for k, a in given.items()], [value(f"y{i}", a.shape) for i, a in enumerate(right)],
                      [tensor(k, arrays[k].shape, arrays[k].values, arrays[k].kind) for k in sorted(fixed)], 21, domains=["com.microsoft"]), given, right, 2e-5)


def bytes_refused(message, **shapes):
    every = {"x": [4, 2, 3], "w": [1, 3, 20], "r": [1, 5, 20], "ws": [1], "wz": [1], "rs": [1], "rz": [1], **shapes}
    names = ["x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"]
    kinds = {"w": INT8, "r": INT8, "wz": INT8, "rz": UINT8 if "rz" in shapes else INT8}
    return Case(model([node("DynamicQuantizeLSTM", [k if every.get(k) else "" for k in names], ["y"], domain="com.microsoft")],
                      [value(k, every[k], kinds.get(k, FLOAT)) for k in names if every.get(k)], [value("y", [4, 1, 2, 5])], opset=21, domains=["com.microsoft"]), refused=message)


def refused(message, op="LSTM", shapes=(), kinds=(), inputs=("x", "w", "r"), outputs=1, **attributes):
    """An LSTM of 3 inputs and 5 hidden elements, a batch of 2 and 4 steps, with some shapes replaced."""
    gates = GATES[op]
    every = {"x": [4, 2, 3], "w": [1, gates * 5, 3], "r": [1, gates * 5, 5], "b": [1, 2 * gates * 5], "lengths": [2], "h0": [1, 2, 5], "c0": [1, 2, 5], "p": [1, 15], "more": [1], **dict(shapes)}
    types = {"lengths": INT32, **dict(kinds)}
    written = {k: Floats(v) if k.startswith("activation_") else Texts(v) if k == "activations" else v for k, v in attributes.items()}
    results = [f"y{i}" for i in range(outputs)]
    names = [k for k in inputs if k]
    return Case(model([node(op, list(inputs), results, **written)], [value(k, every[k], types.get(k, FLOAT)) for k in names], [value("y0", [4, 1, 2, 5])], opset=22), refused=message)


LISTED = {"activations": ["HardSigmoid", "Affine", "ScaledTanh", "Sigmoid", "LeakyRelu", "Elu"], "activation_alpha": [0.25, 0.5, 1.5, 0.125], "activation_beta": [0.5, 0.0625, 0.75]}
FORWARD = ("HardSigmoid", "Softsign", "Softplus")
# Where one operator's cases do what another's would, MORE has the others.
CASES = {
    # Sizes: one step, one sequence, hidden elements that fill no vector; what may be left out.
    "lstm_one": case("LSTM", 1, 1, 1, 1), "lstm_long": case("LSTM", 17, 1, 4, 19, bias=True), "lstm_wide": case("LSTM", 2, 3, 8, 32, bias=True, states=True),
    "rnn_long": case("RNN", 17, 3, 4, 19, bias=True), "gru_linear_bias": case("GRU", 4, 1, 3, 17, bias=True, states=True, linear_before_reset=1),
    "lstm_y": case("LSTM", outputs=1, states=True), "lstm_c": case("LSTM", left_out=(0, 1)), "unstated": case("LSTM", stated=False, left_out=(1,)), "no_steps": case("LSTM", 0, 2, states=True),
    # Directions, lengths, layouts.
    "lstm_reverse": case("LSTM", 4, direction="reverse", bias=True), "gru_reverse": case("GRU", direction="reverse", states=True),
    "lstm_both": case("LSTM", 4, 3, bias=True, states=True, peepholes=True, direction="bidirectional"), "lengths_gru": case("GRU", 3, 3, lengths=(0, 1, 3), states=True),
    "lengths_both": case("LSTM", 5, 4, lengths=(5, 1, 0, 3), states=True, direction="bidirectional"),
    "batch_first_both": case("GRU", 3, 2, layout=1, states=True, direction="bidirectional", lengths=(1, 3)),
    # Attributes.
    "coupled": case("LSTM", input_forget=1, peepholes=True, states=True, activations=["Sigmoid", "ThresholdedRelu", "Tanh"]),
    "clip": case("LSTM", 5, 2, size=7, clip=0.25, bias=True, peepholes=True), "clip_gru": case("GRU", 4, clip=0.125, linear_before_reset=1),
    "listed": case("LSTM", direction="bidirectional", **LISTED), "names": case("LSTM", activations=list(FORWARD)),
    "gru_names": case("GRU", activations=["Relu", "ThresholdedRelu"], activation_alpha=[0.125]), "gru_linear": case("GRU", 3, 3, linear_before_reset=1, activations=["HardSigmoid", "LeakyRelu"]),
    # Weights that are inputs; versions; f16, whose states are f32.
    "computed": case("LSTM", bias=True, peepholes=True, weights=False), "f16": case("LSTM", kind=FLOAT16, bias=True, states=True), "first_version": case("LSTM", opset=6, stated=True),
    # Bytes as weights.
    "bytes": in_bytes(), "bytes_wide": in_bytes(4, 3, 9, 17, UINT8, by_gate=True), "bytes_both": in_bytes(3, 2, by_gate=True, direction="bidirectional", peepholes=True),
    "bytes_refused": bytes_refused(r"its input R is i8 of shape 1x5x24; .* must be i8 of shape 1x5x20", r=[1, 5, 24]), "bytes_x": bytes_refused(r"W is i8 of shape 1x4x20; .* of shape 1x3x20", w=[1, 4, 20]),
    "bytes_scale": bytes_refused(r"R_scale is f32 of shape 2; .* of shape 1$", rs=[2]), "bytes_zero": bytes_refused(r"R_zero_point is u8 of shape 1; .* i8 of shape 1$", rz=[1]),
    "bytes_no_scale": bytes_refused(r"input 8 is missing", ws=None),
    # What is refused.
    "missing": refused(r"input 2 is missing", inputs=("x", "w", "")),
    "r_shape": refused(r"its input R is f32 of shape 1x20x6; .* must be f32 of shape 1x20x5", shapes={"r": [1, 20, 6]}, hidden_size=5),
    "hidden_size": refused(r"its input R is f32 of shape 1x20x5; .* must be f32 of shape 1x24x6", hidden_size=6), "hidden_zero": refused(r"hidden_size=0 is not a size", hidden_size=0),
    "w_shape": refused(r"its input W is f32 of shape 1x20x4; .* must be f32 of shape 1x20x3", shapes={"w": [1, 20, 4]}),
    "b_shape": refused(r"its input B is f32 of shape 1x20; .* must be f32 of shape 1x40", shapes={"b": [1, 20]}, inputs=("x", "w", "r", "b")),
    "ways": refused(r"its input R is f32 of shape 1x20x5; .* must be f32 of shape 2x20x5", direction="bidirectional"),
    "lengths_kind": refused(r"its input sequence_lens is i64 of shape 2; .* must be i32 of shape 2", kinds={"lengths": INT64}, inputs=("x", "w", "r", "", "lengths")),
    "state_shape": refused(r"its input initial_h is f32 of shape 1x2x5; .* must be f32 of shape 4x1x5", inputs=("x", "w", "r", "", "", "h0"), layout=1),
    "p_shape": refused(r"its input P is f32 of shape 1x10; .* of shape 1x15", shapes={"p": [1, 10]}, inputs=("x", "w", "r", "", "", "", "", "p")),
    "x_rank": refused(r"its inputs X and R of shapes 4x6 and 1x20x5 must have three dimensions", shapes={"x": [4, 6]}), "type": refused(r"element type i32 is not supported", kinds={"x": INT32}),
    "sideways": refused(r"direction 'sideways' is none of", direction="sideways"), "layout": refused(r"layout=2 is neither", layout=2), "clip_zero": refused(r"clip=0 is not above 0", clip=0.0),
    "activation": refused(r"activation 'Swish' is not supported", activations=["Swish", "Tanh", "Tanh"]), "activations": refused(r"it has 2 activations; 3 are needed", activations=["Tanh", "Tanh"]),
    "affine": refused(r"activation Affine needs a number each", op="RNN", activations=["Affine"], activation_alpha=[1.0]),
    "inputs": refused(r"it has 7 inputs; at most 6 are known", op="GRU", inputs=("x", "w", "r", "", "", "", "more")),
}
MORE = {
    "lstm": case("LSTM"), "gru": case("GRU"), "gru_one": case("GRU", 1, 1, 1, 1), "gru_long": case("GRU", 17, 1, 4, 19, bias=True), "rnn": case("RNN"), "no_steps_gru": case("GRU", 0, 1),
    "lstm_h": case("LSTM", outputs=2, left_out=(0,), bias=True), "gru_h": case("GRU", left_out=(0,)),
    "rnn_both": case("RNN", 3, 3, direction="bidirectional"), "gru_both": case("GRU", 2, 1, bias=True, states=True, direction="bidirectional"),
    "lengths": case("LSTM", 4, 3, lengths=(2, 4, 0), states=True, bias=True), "lengths_rnn": case("RNN", 2, 1, lengths=(1,)),
    "lengths_reverse": case("GRU", 4, 3, lengths=(2, 4, 0), states=True, direction="reverse"),
    "batch_first": case("LSTM", 4, 3, layout=1, states=True), "batch_first_h": case("RNN", 3, 2, layout=1, left_out=(0,)),
    "peepholes": case("LSTM", peepholes=True, states=True, bias=True), "clip_rnn": case("RNN", 4, clip=0.25),
    "gru_both_names": case("GRU", direction="bidirectional", activations=["Sigmoid", "Tanh", "HardSigmoid", "LeakyRelu"], activation_alpha=[0.3]),
    **{f"rnn_{name.lower()}": case("RNN", 3, activations=[name], **({"activation_alpha": [0.75], "activation_beta": [0.5]} if name in ("Affine", "ScaledTanh") else {})) for name in FUNCTIONS},
    "computed_gru": case("GRU", bias=True, weights=False, direction="bidirectional"), "f16_gru": case("GRU", kind=FLOAT16, direction="bidirectional"),
    "bytes_plain": in_bytes(zeros=False, bias=False), "bytes_reverse": in_bytes(5, 1, 4, 8, UINT8, direction="reverse"), "bytes_computed": in_bytes(2, 2, weights=False),
    "bytes_coupled": in_bytes(2, 1, 4, 6, coupled=1), "bytes_one": in_bytes(1, 1, 1, 1),
    "version_7": case("GRU", opset=7, linear_before_reset=1),
}
