# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts, a sampler, an encoder on bytes whose scales are computed, CLIP's encoder of text."""

from graph import FLOAT, INT64, Graph
from onnx_writer import INT8, UINT8, tensor

MIN = -3.4028234663852886e38


def router(g, x, width, experts, chosen):
    """Rows, and for each the weights and numbers of its experts."""
    rows = g.reshape(x, -1, width)
    shares = g.op("Softmax", g.linear(rows, width, experts, False), axis=-1)
    best, numbers = g.op("TopK", shares, g.ints(chosen), outputs=2, axis=-1, largest=1, sorted=1)
    return rows, g.op("Div", best, g.reduce("ReduceSum", best, -1)), numbers


def experts_by_one_hot(width=16, inner=24, experts=4, chosen=2):
    """All experts compute all rows; a row's weights are 0 for those that it does not choose."""
    g = Graph(17, 11)
    x = g.input("hidden_states", ["batch", "seq", width])
    rows, weights, numbers = router(g, x, width, experts, chosen)
    hot = g.op("OneHot", numbers, g.ints(experts), g.constant([2], [0.0, 1.0]), axis=-1)
    combined = g.op("Einsum", weights, hot, equation="nk,nke->ne")
    gate, up, down = g.weight(experts, width, inner, fan=width), g.weight(experts, width, inner, fan=width), g.weight(experts, inner, width, fan=inner)
    gated = g.silu(g.op("Einsum", rows, gate, equation="nd,edf->enf"))
    y = g.op("MatMul", g.op("Mul", gated, g.op("MatMul", g.unsqueeze(rows, 0), up)), down)
    y = g.op("Einsum", combined, y, equation="ne,end->nd")
    g.output(g.op("Add", x, g.op("Reshape", y, g.op("Shape", x))), "output")
    return g


def experts_by_gather(width=16, inner=24, experts=4, chosen=2):
    """Each row's experts are gathered from the weights."""
    g = Graph(18, 12)
    x = g.input("hidden_states", ["batch", "seq", width])
    rows, weights, numbers = router(g, x, width, experts, chosen)
    first = g.op("Gather", g.weight(experts, 2 * inner, width, fan=width), numbers, axis=0)
    second = g.op("Gather", g.weight(experts, width, inner, fan=inner), numbers, axis=0)
    bias = g.op("Gather", g.weight(experts, 2 * inner, fan=30), numbers, axis=0)
    y = g.op("Add", g.op("Einsum", first, rows, equation="bekc,bc->bek"), bias)
    gate, up = g.slice(y, -1, 0, step=2), g.slice(y, -1, 1, step=2)
    gate, up = g.op("Clip", gate, "", g.number(7.0)), g.op("Clip", up, g.number(-7.0), g.number(7.0))
    gate = g.op("Mul", gate, g.op("Sigmoid", g.op("Mul", gate, 1.702)))
    y = g.op("Einsum", second, g.op("Mul", gate, g.op("Add", up, 1.0)), equation="beck,bek->bec")
    y = g.op("Einsum", y, weights, equation="bec,be->bc")
    g.output(g.op("Add", x, g.op("Reshape", y, g.op("Shape", x))), "output")
    return g


def scattered(g, shape_of, numbers, values):
    """A table of zeros of a shape with values at numbers of the last axis."""
    zeros = g.op("ConstantOfShape", g.op("Shape", shape_of), value=tensor("", [1], [0.0]))
    return g.op("ScatterElements", zeros, numbers, values, axis=-1)


def experts_by_scatter(width=16, inner=24, experts=6, chosen=2):
    """As experts_by_one_hot with groups of experts, sigmoids and a bias of the choice, as DeepSeek has it."""
    g = Graph(20, 13)
    x = g.input("hidden_states", ["batch", "seq", width])
    rows = g.reshape(x, -1, width)
    scores = g.op("Sigmoid", g.linear(rows, width, experts, False))
    chosen_by = g.op("Add", scores, g.unsqueeze(g.weight(experts, fan=30), 0))
    pairs, _ = g.op("TopK", g.reshape(chosen_by, -1, 3, experts // 3), g.ints(2), outputs=2, axis=-1)
    _, group = g.op("TopK", g.reduce("ReduceSum", pairs, -1, keep=0), g.ints(2), outputs=2, axis=-1, sorted=0)
    mask = scattered(g, g.reshape(g.slice(chosen_by, 1, 0, 3), -1, 3), group, g.op("Expand", g.number(1.0), g.op("Shape", group)))
    mask = g.reshape(g.expand(g.unsqueeze(mask, -1), -1, 3, experts // 3), -1, experts)
    masked = g.op("Where", g.op("Not", g.cast(mask, 9)), g.number(0.0), chosen_by)
    _, numbers = g.op("TopK", masked, g.ints(chosen), outputs=2, axis=-1, sorted=0)
    weights = g.op("GatherElements", scores, numbers, axis=1)
    weights = g.op("Mul", g.op("Div", weights, g.op("Add", g.reduce("ReduceSum", weights, -1), 1e-20)), 2.5)
    combined = g.unsqueeze(g.transpose(scattered(g, scores, numbers, weights), 1, 0), -1)
    y = g.silu(g.op("MatMul", rows, g.weight(experts, width, inner, fan=width)))
    y = g.reduce("ReduceSum", g.op("Mul", g.op("MatMul", y, g.weight(experts, inner, width, fan=inner)), combined), 0, keep=0)
    g.output(g.op("Add", x, g.op("Reshape", y, g.op("Shape", x))), "output")
    return g


def sampler(words=50, kept=12):
    """Penalty of repetitions, temperature, the most probable tokens, their smallest set of probability p, a draw."""
    g = Graph(17, 14)
    logits = g.input("logits", ["batch", "seq", words], FLOAT, -6, 6)
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    temperature = g.input("temperature", [1], FLOAT, 0.5, 1.5)
    limit = g.input("top_p", [1], FLOAT, 0.3, 0.95)
    drawn = g.input("uniform", ["batch", 1], FLOAT, 0, 1)
    last = g.op("Gather", logits, g.integer(-1), axis=1)
    seen = g.op("GatherElements", last, ids, axis=1)
    seen = g.op("Where", g.op("Less", seen, 0.0), g.op("Mul", seen, 1.3), g.op("Div", seen, 1.3))
    last = g.op("Div", g.op("ScatterElements", last, ids, seen, axis=1), temperature)
    best, numbers = g.op("TopK", last, g.ints(kept), outputs=2, axis=-1, largest=1, sorted=1)
    shares = g.op("Softmax", best, axis=-1)
    before = g.op("Sub", g.op("CumSum", shares, g.integer(-1)), shares)
    best = g.op("Where", g.op("Greater", before, limit), g.number(-float("inf")), best)
    ladder = g.op("CumSum", g.op("Softmax", best, axis=-1), g.integer(1))
    place = g.op("ArgMax", g.cast(g.op("GreaterOrEqual", ladder, drawn), 6), axis=-1, keepdims=1)
    g.output(g.op("GatherElements", numbers, place, axis=-1), "token", INT64)
    g.output(g.op("ArgMax", last, axis=-1, keepdims=0), "greedy", INT64)
    whole = g.op("ScatterElements", g.op("Expand", g.number(-float("inf")), g.op("Shape", last)), numbers, best, axis=1)
    g.output(g.op("Softmax", whole, axis=-1), "probabilities")
    return g


def whole_weight(g, shape, kind, per_column):
    """Weights of bytes, their zero point and scale."""
    low, high = (64, 191) if kind == UINT8 else (-64, 63)  # 7 bits, as for CPUs that saturate sums of two products
    count = shape[1] if per_column else 1
    values = g.stored(shape, [g.random.randint(low, high) for _ in range(shape[0] * shape[1])], kind)
    zero = g.stored([count] if per_column else [], [g.random.randint(120, 136) if kind == UINT8 else 0 for _ in range(count)], kind)
    scale = g.stored([count] if per_column else [], [g.random.uniform(0.7, 1.3) / 37 / shape[0] ** 0.5 for _ in range(count)])
    return values, zero, scale


def bert_bytes(width=24, heads=3, words=40, layers=2):
    """As ONNX Runtime's quantize_dynamic writes it: scales of activations computed, products of bytes, tables of bytes."""
    g, size = Graph(13, 15), width // heads
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    mask = g.input("attention_mask", ["batch", "seq"], INT64, 0, 1)
    table = [*whole_weight(g, [words, width], UINT8, False)]
    x = g.op("Gather", g.op("DequantizeLinear", table[0], table[2], table[1]), ids)
    x = g.layer_norm(g.op("Mul", x, 30.0), width, 1e-12)
    batch = g.extent(ids, 0)
    hidden = g.op("Mul", g.op("Sub", 1.0, g.cast(g.unsqueeze(mask, 1, 2), FLOAT)), -10000.0)

    def product(quantized, scale, zero, into, out, per_column):
        w, w_zero, w_scale = whole_weight(g, [into, out], INT8 if per_column else UINT8, per_column)
        y = g.cast(g.op("MatMulInteger", quantized, w, zero, w_zero), FLOAT)
        return g.op("Add", g.op("Mul", y, g.op("Mul", scale, w_scale)), g.weight(out, fan=30))

    def products(x, into, *outs, per_column=True):
        quantized = g.op("DynamicQuantizeLinear", x, outputs=3)
        return [product(*quantized, into, out, per_column) for out in outs]

    for i in range(layers):
        q, k, v = (g.split_heads(t, heads, size, batch) for t in products(x, width, width, width, width, per_column=i == 0))
        y = g.join_heads(g.attend(q, k, v, size, hidden), width, batch, -1)
        x = g.layer_norm(g.op("Add", products(y, width, width)[0], x), width, 1e-12)
        y = products(g.gelu(products(x, width, 2 * width)[0]), 2 * width, width, per_column=i == 1)[0]
        x = g.layer_norm(g.op("Add", y, x), width, 1e-12)
    g.output(x, "last_hidden_state")
    return g


def clip_text(width=24, heads=3, words=60, layers=2, opset=14):
    """Causal; the place of the text's end is the one of the highest token."""
    g = Graph(opset, 16)
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    batch, seq = g.extent(ids, 0), g.extent(ids, 1)
    places = g.slice(g.stored([1, 77], list(range(77)), INT64), 1, 0, g.list(seq))
    x = g.op("Add", g.op("Gather", g.weight(words, width, fan=1), ids), g.op("Gather", g.weight(77, width, fan=1), places))
    full = g.op("ConstantOfShape", g.list(seq, seq), value=tensor("", [1], [MIN]))
    places = g.range(0, seq)
    full = g.op("Where", g.op("Less", places, g.reshape(g.op("Add", places, g.integer(1)), seq, 1)), g.number(0.0), full)
    mask = g.expand(g.unsqueeze(full, 0, 1), batch, 1, seq, seq)
    for _ in range(layers):
        x = g.op("Add", x, g.attention(g.layer_norm(x, width), width, heads, mask=mask))
        y = g.linear(g.layer_norm(x, width), width, 2 * width)
        y = g.op("Mul", y, g.op("Sigmoid", g.op("Mul", y, 1.702)))
        x = g.op("Add", x, g.linear(y, 2 * width, width))
    x = g.layer_norm(x, width)
    end = g.op("ArgMax", g.cast(ids, 6), axis=-1, keepdims=0)
    rows = g.range(0, g.extent(x, 0))
    shape = g.op("Shape", g.op("Add", rows, end))
    places = g.op("Concat", g.unsqueeze(g.op("Expand", rows, shape), -1), g.unsqueeze(g.op("Expand", end, shape), -1), axis=-1)
    y = g.linear(g.op("GatherND", x, places), width, 16, False)
    g.output(x, "last_hidden_state")
    g.output(g.op("Div", y, g.reduce("ReduceL2", y, -1)), "text_embeds")
    return g
