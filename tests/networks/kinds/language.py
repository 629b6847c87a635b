# SPDX-License-Identifier: Apache-2.0
"""Networks of language: as torch's exporter writes decoders with a cache, encoders, mixtures of experts, a sampler."""

import math

from graph import FLOAT, INT64, Graph
from onnx_writer import BOOL, tensor

MIN = -3.4028234663852886e38


def cache(g, layer, heads, size, batch="batch", past="past", names=("key", "value")):
    return [g.input(f"past_key_values.{layer}.{n}", [batch, heads, past, size]) for n in names]


def assign_columns(g, whole, columns, values):
    """whole[:, :, :, :columns] = values, by lists of places of each axis and ScatterND."""
    lists = []
    for axis in range(4):
        places = g.range(0, g.extent(whole, axis))
        places = g.slice(places, 0, 0, columns) if axis == 3 else places
        lists.append(g.reshape(places, *(-1 if a == axis else 1 for a in range(4))))
    total = lists[0]
    for places in lists[1:]:
        total = g.op("Add", total, places)
    shape = g.op("Shape", total)
    places = g.op("Concat", *(g.unsqueeze(g.op("Expand", p, shape), -1) for p in lists), axis=-1)
    return g.op("ScatterND", whole, places, g.op("Reshape", values, shape))


def causal_mask(g, x, mask, past):
    """transformers' update_causal_mask: a triangle of the lowest number, and the columns of masked tokens."""
    batch, seq = g.extent(x, 0), g.extent(x, 1)
    total = g.op("Add", past, seq)
    places = g.range(past, total)
    full = g.op("ConstantOfShape", g.list(seq, g.extent(mask, 1)), value=tensor("", [1], [MIN]))
    full = g.op("Trilu", full, g.integer(1), upper=1)
    later = g.op("Greater", g.range(0, g.extent(mask, 1)), g.reshape(places, -1, 1))
    full = g.expand(g.unsqueeze(g.op("Mul", full, g.cast(later, FLOAT)), 0, 1), batch, 1, -1, -1)
    columns = g.list(g.extent(mask, 1))
    part = g.slice(full, 3, 0, columns)
    hidden = g.op("Equal", g.op("Add", part, g.cast(g.unsqueeze(mask, 1, 2), FLOAT)), 0.0)
    return assign_columns(g, full, columns, g.op("Where", hidden, g.number(MIN), part))


def rotary(g, positions, size):
    """Cosines and sines, [batch, 1, seq, size]."""
    batch = g.extent(positions, 0)
    inverse = g.stored([size // 2], [1e4 ** (-2 * i / size) for i in range(size // 2)])
    inverse = g.expand(g.unsqueeze(inverse, 0, 2), batch, -1, 1)
    angles = g.transpose(g.op("MatMul", g.cast(inverse, FLOAT), g.cast(g.unsqueeze(positions, 1), FLOAT)), 0, 2, 1)
    both = g.op("Concat", angles, angles, axis=-1)
    return [g.unsqueeze(g.cast(g.op("Mul", g.op(f, both), 1.0), FLOAT), 1) for f in ("Cos", "Sin")]


def rotated(g, x, cos, sin, size):
    low, high = g.halves(x, size)
    return g.op("Add", g.op("Mul", x, cos), g.op("Mul", g.op("Concat", g.op("Neg", high), low, axis=-1), sin))


def repeated(g, x, groups, size, times):
    """Each group of keys or values for several heads."""
    batch, seq = g.extent(x, 0), g.extent(x, 2)
    return g.reshape(g.expand(g.unsqueeze(x, 2), batch, groups, times, seq, size), batch, groups * times, seq, size)


def llama(width=32, heads=4, groups=2, inner=48, words=40, layers=2):
    """Grouped queries, rotary positions, RMS norms."""
    g, size = Graph(17, 3), width // heads
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    mask = g.input("attention_mask", ["batch", "past + seq"], INT64, 0, 1)
    positions = g.input("position_ids", ["batch", "seq"], INT64, 0, 30)
    caches = [cache(g, i, groups, size) for i in range(layers)]
    embedding = g.weight(words, width)
    x = g.op("Gather", embedding, ids)
    hidden = causal_mask(g, x, mask, g.extent(caches[0][0], 2))
    cos, sin = rotary(g, positions, size)
    batch, seq, present = g.extent(ids, 0), g.extent(ids, 1), []
    for past in caches:
        y = g.rms_norm(x, width)
        q, k, v = (g.split_heads(g.linear(y, width, n * size, False), n, size, batch, seq) for n in (heads, groups, groups))
        q, k = rotated(g, q, cos, sin, size), rotated(g, k, cos, sin, size)
        k, v = (g.op("Concat", *pair, axis=2) for pair in zip(past, (k, v)))
        present += [k, v]
        k, v = (repeated(g, t, groups, size, heads // groups) for t in (k, v))
        visible = g.slice(hidden, 3, 0, g.list(g.extent(k, 2)))
        x = g.op("Add", x, g.linear(g.join_heads(g.attend(q, k, v, size, visible), -1, batch, seq), width, width, False))
        y = g.rms_norm(x, width)
        gate = g.silu(g.linear(y, width, inner, False))
        x = g.op("Add", x, g.linear(g.op("Mul", gate, g.linear(y, width, inner, False)), inner, width, False))
    g.output(g.op("MatMul", g.rms_norm(x, width), g.transpose(embedding, 1, 0)), "logits")
    for i, t in enumerate(present):
        g.output(t, f"present.{i // 2}.{('key', 'value')[i % 2]}")
    return g


def llama_23(width=32, heads=4, groups=2, inner=48, words=40, layers=2):
    """The same by operators of set 23."""
    g, size = Graph(23, 4), width // heads
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    positions = g.input("position_ids", ["batch", "seq"], INT64, 0, 30)
    caches = [cache(g, i, groups, size) for i in range(layers)]
    tables = [g.stored([40, size // 2], [f(p * 1e4 ** (-2 * i / size)) for p in range(40) for i in range(size // 2)]) for f in (math.cos, math.sin)]
    norm = lambda x: g.op("RMSNormalization", x, g.weight(width, fan=30, around=1), axis=-1, epsilon=1e-6)
    x, present = g.op("Gather", g.weight(words, width, fan=1), ids), []
    for past in caches:
        y = norm(x)
        q, k, v = (g.linear(y, width, n * size, False) for n in (heads, groups, groups))
        q, k = (g.op("RotaryEmbedding", t, *tables, positions, num_heads=n) for t, n in ((q, heads), (k, groups)))
        y, k, v = g.op("Attention", q, k, v, "", *past, outputs=3, q_num_heads=heads, kv_num_heads=groups, is_causal=1)
        present += [k, v]
        x = g.op("Add", x, g.linear(y, width, width, False))
        y = norm(x)
        gate = g.silu(g.linear(y, width, inner, False))
        x = g.op("Add", x, g.linear(g.op("Mul", gate, g.linear(y, width, inner, False)), inner, width, False))
    g.output(g.linear(norm(x), width, words, False), "logits")
    for i, t in enumerate(present):
        g.output(t, f"present.{i // 2}.{('key', 'value')[i % 2]}")
    return g


def gpt2(width=24, heads=3, words=40, layers=2, context=64):
    """Products as Gemm on flattened rows, the triangle as a constant of booleans."""
    g, size = Graph(13, 5), width // heads
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    caches = [cache(g, i, heads, size) for i in range(layers)]
    ids = g.reshape(ids, -1, g.extent(ids, 1))
    past = g.extent(caches[0][0], 2)
    places = g.unsqueeze(g.range(past, g.op("Add", g.extent(ids, 1), past)), 0)
    x = g.op("Add", g.op("Gather", g.weight(words, width, fan=1), ids), g.op("Gather", g.weight(context, width, fan=1), g.reshape(places, -1, g.extent(ids, 1))))
    triangle = g.stored([1, 1, context, context], [int(c <= r) for r in range(context) for c in range(context)], BOOL)
    present = []

    def product(x, into, out):
        rows = g.op("Gemm", g.reshape(x, -1, into), g.weight(into, out, fan=into), g.weight(out, fan=30))
        return g.reshape(rows, g.extent(x, 0), g.extent(x, 1), out)

    for key, value in caches:
        q, k, v = g.split(product(g.layer_norm(x, width), width, 3 * width), 2, width, width, width)
        q, k, v = (g.transpose(g.reshape(t, g.extent(t, 0), g.extent(t, 1), heads, size), 0, 2, 1, 3) for t in (q, k, v))
        k, v = g.op("Concat", key, k, axis=2), g.op("Concat", value, v, axis=2)
        present += [k, v]
        scores = g.op("Div", g.op("MatMul", q, g.transpose(k, 0, 1, 3, 2)), size ** 0.5)
        rows, columns = g.extent(q, 2), g.extent(k, 2)
        begin = g.list(g.op("Sub", columns, rows))
        visible = g.slice(g.slice(triangle, 2, begin, g.list(columns)), 3, 0, g.list(columns))
        scores = g.op("Softmax", g.op("Where", visible, scores, g.number(MIN)), axis=-1)
        y = g.transpose(g.op("MatMul", scores, v), 0, 2, 1, 3)
        x = g.op("Add", x, product(g.reshape(y, g.extent(y, 0), g.extent(y, 1), width), width, width))
        x = g.op("Add", x, product(g.gelu_tanh(product(g.layer_norm(x, width), width, 4 * width)), 4 * width, width))
    x = g.reshape(g.layer_norm(x, width), g.extent(ids, 0), g.extent(ids, 1), width)
    g.output(g.linear(x, width, words, False), "logits")
    for i, t in enumerate(present):
        g.output(t, f"present.{i // 2}.{('key', 'value')[i % 2]}")
    return g


def buckets(g, distance, count, farthest, is_causal):
    """T5's numbers of buckets of relative positions: exact when near, logarithmic when far."""
    if is_causal:
        base, distance = g.integer(0), g.op("Neg", g.op("Min", distance, g.op("ConstantOfShape", g.op("Shape", distance), value=tensor("", [1], [0], INT64))))
    else:
        count //= 2
        base = g.op("Add", g.op("Mul", g.cast(g.op("Greater", distance, g.integer(0)), INT64), g.integer(count)), g.integer(0))
        distance = g.op("Abs", distance)
    exact = count // 2
    far = g.op("Div", g.op("Log", g.op("Div", g.cast(distance, FLOAT), float(exact))), math.log(farthest / exact))
    far = g.op("Add", g.cast(g.op("Mul", far, float(count - exact)), INT64), g.integer(exact))
    far = g.op("Min", far, g.op("ConstantOfShape", g.op("Shape", far), value=tensor("", [1], [count - 1], INT64)))
    return g.op("Add", base, g.op("Where", g.op("Less", distance, g.integer(exact)), distance, far))


def position_bias(g, rows, columns, heads, first=None, is_causal=False):
    """[1, heads, rows, columns]. first: number of the first row, if that is not 0."""
    of_rows = g.unsqueeze(g.range(first, g.op("Add", first, rows)) if first else g.range(0, rows), 1)
    distance = g.op("Sub", g.unsqueeze(g.range(0, columns), 0), of_rows)
    numbers = buckets(g, distance, 16, 32, is_causal)
    return g.unsqueeze(g.transpose(g.op("Gather", g.weight(16, heads, fan=1), numbers), 2, 0, 1), 0)


def t5_encoder(width=24, heads=3, words=40, layers=2):
    """Relative positions; scores are not scaled."""
    g, size = Graph(14, 6), width // heads
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    mask = g.input("attention_mask", ["batch", "seq"], INT64, 0, 1)
    x, batch, seq = g.op("Gather", g.weight(words, width, fan=1), ids), g.extent(ids, 0), g.extent(ids, 1)
    hidden = g.op("Mul", g.op("Sub", 1.0, g.cast(g.unsqueeze(mask, 1, 2), FLOAT)), MIN)
    bias = g.op("Add", position_bias(g, seq, seq, heads), hidden)
    for _ in range(layers):
        y = g.rms_norm(x, width)
        q, k, v = (g.split_heads(g.linear(y, width, width, False), heads, size, batch) for _ in "qkv")
        y = g.join_heads(g.attend(q, k, v, 1, bias), width, batch, -1)
        x = g.op("Add", x, g.linear(y, width, width, False))
        y = g.linear(g.op("Relu", g.linear(g.rms_norm(x, width), width, 2 * width, False)), 2 * width, width, False)
        x = g.op("Add", x, y)
    g.output(g.rms_norm(x, width), "last_hidden_state")
    return g


def t5_decoder(width=24, heads=3, words=40):
    """A step with a cache of its own keys and of the encoder's."""
    g, size = Graph(14, 7), width // heads
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    mask = g.input("encoder_attention_mask", ["batch", "source"], INT64, 0, 1)
    key, value = cache(g, 0, heads, size, names=("decoder.key", "decoder.value"))
    far_key, far_value = cache(g, 0, heads, size, past="source", names=("encoder.key", "encoder.value"))
    x, batch, seq = g.op("Gather", g.weight(words, width, fan=1), ids), g.extent(ids, 0), g.extent(ids, 1)
    past = g.extent(key, 2)
    total = g.op("Add", past, seq)
    later = g.op("LessOrEqual", g.unsqueeze(g.range(0, total), 0), g.unsqueeze(g.range(past, total), 1))
    triangle = g.unsqueeze(g.op("Mul", g.op("Sub", 1.0, g.cast(later, FLOAT)), MIN), 0, 1)
    bias = g.op("Add", position_bias(g, seq, total, heads, past, True), triangle)
    y = g.rms_norm(x, width)
    q, k, v = (g.split_heads(g.linear(y, width, width, False), heads, size, batch) for _ in "qkv")
    k, v = g.op("Concat", key, k, axis=2), g.op("Concat", value, v, axis=2)
    x = g.op("Add", x, g.linear(g.join_heads(g.attend(q, k, v, 1, bias), width, batch, -1), width, width, False))
    hidden = g.op("Mul", g.op("Sub", 1.0, g.cast(g.unsqueeze(mask, 1, 2), FLOAT)), MIN)
    q = g.split_heads(g.linear(g.rms_norm(x, width), width, width, False), heads, size, batch)
    x = g.op("Add", x, g.linear(g.join_heads(g.attend(q, far_key, far_value, 1, hidden), width, batch, -1), width, width, False))
    y = g.rms_norm(x, width)
    y = g.op("Mul", g.gelu_tanh(g.linear(y, width, 40, False)), g.linear(y, width, 40, False))
    x = g.op("Mul", g.rms_norm(g.op("Add", x, g.linear(y, 40, width, False)), width), width ** -0.5)
    for t, name in ((g.linear(x, width, words, False), "logits"), (k, "present.0.decoder.key"), (v, "present.0.decoder.value")):
        g.output(t, name)
    return g
