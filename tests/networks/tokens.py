# SPDX-License-Identifier: Apache-2.0
"""LinearAttention, a loop over tokens, and CausalConvWithState."""

import math
import random

from defined import Array, Case, drawn, indices, made
from onnx_writer import DOUBLE, model, node, value

draw = random.Random(61)
RULES = ("linear", "gated", "delta", "gated_delta")


def recurrence(x, heads, all_heads, rule, scale):
    """Outputs and the last state of arrays by name: q, k, v [batch, rows, heads * size], past, decay, beta."""
    (batch, rows, _), group = x["q"].shape, all_heads // heads
    size, value_size = x["q"].shape[2] // all_heads, x["v"].shape[2] // heads
    scale = scale or 1 / math.sqrt(size)
    y, last = {}, {}
    for b, h in indices((batch, heads)):
        state = [[x["past"][b, h, d, m] if x.get("past") else 0.0 for m in range(value_size)] for d in range(size)]
        for t in range(rows):
            k = [x["k"][b, t, h * size + d] for d in range(size)]
            v = [x["v"][b, t, h * value_size + m] for m in range(value_size)]
            if rule.startswith("gated"):
                each = x["decay"].shape[2] > heads
                state = [[s * math.exp(x["decay"][b, t, h * size + d if each else h]) for s in row] for d, row in enumerate(state)]
            if rule.endswith("delta"):
                seen = [math.fsum(state[d][m] * k[d] for d in range(size)) for m in range(value_size)]
                v = [x["beta"][b, t, h if x["beta"].shape[2] > 1 else 0] * (a - s) for a, s in zip(v, seen)]
            state = [[s + k[d] * a for s, a in zip(row, v)] for d, row in enumerate(state)]
            for g, m in indices((group, value_size)):
                y[b, t, (h * group + g) * value_size + m] = scale * math.fsum(x["q"][b, t, (h * group + g) * size + d] * state[d][m] for d in range(size))
        last[b, h] = state
    return made((batch, rows, all_heads * value_size), lambda *i: y[i]), made((batch, heads, size, value_size), lambda b, h, d, m: last[b, h][d][m])


def attention(rule, batch=2, rows=3, heads=2, all_heads=2, size=4, value_size=5, past=False, each=False, one=False, scale=0.0, change=None, refused="", **more):
    """each: a decay per element of the state's rows; one: a beta for all heads; change: arrays to replace, or None to leave out."""
    x = {"q": drawn(draw, [batch, rows, all_heads * size]), "k": drawn(draw, [batch, rows, heads * size]), "v": drawn(draw, [batch, rows, heads * value_size])}
    x["past"] = drawn(draw, [batch, heads, size, value_size]) if past else None
    x["decay"] = drawn(draw, [batch, rows, heads * size if each else heads], -1.5, 0) if rule.startswith("gated") else None
    x["beta"] = drawn(draw, [batch, rows, 1 if one else heads], 0, 1) if rule.endswith("delta") else None
    outputs = [] if refused else recurrence(x, heads, all_heads, rule, scale)
    x.update(change or {})
    given = {k: a for k, a in x.items() if a}
    made_node = node("LinearAttention", [k if a else "" for k, a in x.items()], ["y", "present"], update_rule=rule, q_num_heads=all_heads, kv_num_heads=heads, **more,
                     **({"scale": scale} if scale else {}))
    return Case(model([made_node], [value(k, a.shape, a.kind) for k, a in given.items()], [value("y", [batch, rows, all_heads * value_size]), value("present", [batch, heads, size, value_size])],
                      opset=27), given, list(outputs), 5e-6, refused)


def convolution(rows=6, k=4, batch=2, channels=3, bias=False, past=False, activation="none", filters=None, refused=""):
    x, w = drawn(draw, [batch, channels, rows]), drawn(draw, filters or [channels, 1, k])
    b = drawn(draw, [channels]) if bias else None
    before = drawn(draw, [batch, channels, k - 1]) if past else made((batch, channels, k - 1), lambda *_: 0.0)
    long = made((batch, channels, rows + k - 1), lambda n, c, i: before[n, c, i] if i < k - 1 else x[n, c, i - k + 1])
    act = (lambda v: v / (1 + math.exp(-v))) if activation != "none" else lambda v: v
    y = made(x.shape, lambda n, c, i: act(math.fsum(long[n, c, i + j] * w[c, 0, j] for j in range(k)) + (b[(c,)] if bias else 0)))
    inputs = {"x": x, "w": w, "b": b, "past": before if past else None}
    given = {name: a for name, a in inputs.items() if a}
    return Case(model([node("CausalConvWithState", [name if a else "" for name, a in inputs.items()], ["y", "present"], activation=activation)],
                      [value(name, a.shape) for name, a in given.items()], [value("y", x.shape), value("present", [batch, channels, k - 1])], opset=27), given,
                [] if refused else [y, made((batch, channels, k - 1), lambda n, c, i: long[n, c, rows + i])], 5e-6, refused)


def conv_refused(pattern, **more):
    return convolution(refused=pattern, **more)


CASES = {
    **{rule: attention(rule) for rule in RULES},
    **{rule + "_past": attention(rule, past=True, each=True, one=True) for rule in RULES},
    "groups": attention("gated_delta", heads=2, all_heads=6, past=True), "one_head": attention("delta", heads=1, all_heads=3, scale=0.3),
    "token": attention("gated_delta", rows=1, past=True, each=True), "no_tokens": attention("gated", rows=0, past=True), "chunks": attention("linear", batch=1, rows=7, chunk_size=2),
    "narrow": attention("gated", size=1, value_size=1, past=True),
    "refused_rule": attention("other", refused="update_rule 'other' is not supported"),
    "refused_no_decay": attention("gated", change={"decay": None}, refused="update_rule 'gated' needs decay"),
    "refused_beta": attention("linear", change={"beta": drawn(draw, [2, 3, 2])}, refused="update_rule 'linear' has no beta"),
    "refused_heads": attention("linear", all_heads=3, refused="do not fit q_num_heads=3 and kv_num_heads=2"),
    "refused_keys": attention("linear", change={"k": drawn(draw, [2, 3, 7])}, refused=r"input 'k' has type f32 and shape 2x3x7; it needs f32 and \[2, 3, 8\]"),
    "refused_past": attention("delta", change={"past": drawn(draw, [2, 2, 5, 4])}, refused="past_state of type f32 and shape 2x2x5x4 does not fit"),
    "convolution": convolution(), "convolution_past": convolution(past=True, bias=True), "convolution_silu": convolution(past=True, activation="silu"),
    "convolution_swish": convolution(bias=True, activation="swish"), "convolution_step": convolution(rows=1, past=True), "convolution_points": convolution(k=1, bias=True),
    "convolution_two": convolution(rows=2, k=6, past=True),
    "refused_activation": conv_refused("activation 'relu' is not supported", activation="relu"),
    "refused_filter": conv_refused("a filter of shape 4x1x4 does not fit an input of shape 2x3x6", filters=[4, 1, 4]),
    "refused_state": Case(model([node("CausalConvWithState", ["x", "w", "", "p"], ["y"])], [value("x", [1, 2, 5]), value("w", [2, 1, 3]), value("p", [1, 2, 3])], [value("y", [1, 2, 5])],
                                opset=27), refused=r"past_state has type f32 and shape 1x2x3; it needs f32 and \[1, 2, 2\]"),
    "refused_type": attention("linear", change={"v": Array((2, 3, 10), [0.0] * 60, DOUBLE)}, refused="input 'v' has type f64"),
}
