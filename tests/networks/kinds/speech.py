# SPDX-License-Identifier: Apache-2.0
"""Networks of speech: Whisper's encoder and decoder, wav2vec 2.0, VITS."""

from graph import FLOAT, INT64, Graph
from language import cache
from onnx_writer import tensor

MIN = -3.4028234663852886e38


def whisper_encoder(width=24, heads=3, mels=10, frames=40, layers=2):
    """Two convolutions along time, positions as a constant."""
    g = Graph(11, 21)
    x = g.input("input_features", ["batch", mels, frames])
    x = g.gelu(g.same(x, mels, width, 3, 1))
    x = g.transpose(g.gelu(g.same(x, width, width, 3, 1, 2)), 0, 2, 1)
    x = g.op("Add", x, g.weight(frames // 2, width, fan=5))
    for _ in range(layers):
        x = g.op("Add", x, g.attention(g.layer_norm(x, width), width, heads))
        y = g.gelu(g.linear(g.layer_norm(x, width), width, 2 * width))
        x = g.op("Add", x, g.linear(y, 2 * width, width))
    g.output(g.layer_norm(x, width), "last_hidden_state")
    return g


def whisper_decoder(width=24, heads=3, words=40, layers=2):
    """With caches of its own keys and of the encoder's; batches and heads are merged for the products."""
    g, size = Graph(14, 22), width // heads
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    own = [cache(g, i, heads, size, names=("decoder.key", "decoder.value")) for i in range(layers)]
    far = [cache(g, i, heads, size, past="source", names=("encoder.key", "encoder.value")) for i in range(layers)]
    batch, seq, past = g.extent(ids, 0), g.extent(ids, 1), g.extent(own[0][0], 2)
    total = g.op("Add", seq, past)
    table = g.weight(words, width)
    x = g.op("Add", g.op("Gather", table, ids), g.slice(g.weight(64, width, fan=5), 0, g.list(past), g.list(total)))
    places = g.range(0, seq)
    mask = g.op("ConstantOfShape", g.list(seq, seq), value=tensor("", [1], [MIN]))
    mask = g.op("Where", g.op("Less", places, g.reshape(g.op("Add", places, g.integer(1)), seq, 1)), g.number(0.0), mask)
    before = g.op("ConstantOfShape", g.list(seq, past), value=tensor("", [1], [0.0]))
    mask = g.expand(g.unsqueeze(g.op("Concat", before, mask, axis=-1), 0, 1), batch, 1, seq, total)
    present = []

    def merged(x):
        return g.reshape(x, g.op("Mul", g.extent(x, 0), g.integer(heads)), -1, size)

    def attention(x, key, value, mask):
        """x: normalized; returns the sum of values, projected."""
        q = g.split_heads(g.op("Mul", g.linear(x, width, width), size ** -0.5), heads, size, batch, seq)
        scores = g.op("MatMul", merged(q), g.transpose(merged(key), 0, 2, 1))
        if mask:
            scores = g.op("Add", g.reshape(scores, batch, heads, seq, g.extent(key, 2)), mask)
            scores = g.reshape(scores, g.op("Mul", batch, g.integer(heads)), seq, g.extent(key, 2))
        y = g.reshape(g.op("MatMul", g.op("Softmax", scores, axis=-1), merged(value)), batch, heads, seq, size)
        return g.linear(g.join_heads(y, width, batch, seq), width, width)

    for (key, value), (far_key, far_value) in zip(own, far):
        y = g.layer_norm(x, width)
        k, v = (g.split_heads(g.linear(y, width, width, bias), heads, size, batch) for bias in (False, True))
        k, v = g.op("Concat", key, k, axis=2), g.op("Concat", value, v, axis=2)
        present += [k, v]
        x = g.op("Add", x, attention(y, k, v, mask))
        x = g.op("Add", x, attention(g.layer_norm(x, width), far_key, far_value, None))
        x = g.op("Add", x, g.linear(g.gelu(g.linear(g.layer_norm(x, width), width, 2 * width)), 2 * width, width))
    g.output(g.op("MatMul", g.layer_norm(x, width), g.transpose(table, 1, 0)), "logits")
    for i, t in enumerate(present):
        g.output(t, f"present.{i // 2}.decoder.{('key', 'value')[i % 2]}")
    return g


def wav2vec(width=24, heads=3, channels=16, words=12):
    """Convolutions of the waveform, normalized over time; positions by a convolution in groups; scores of letters."""
    g = Graph(15, 23)
    x = g.unsqueeze(g.input("input_values", ["batch", "samples"]), 1)
    x = g.conv(x, 1, channels, [10], False, strides=[5])
    shape = g.op("Shape", x)
    y = g.op("Reshape", x, g.ints(0, channels, -1))
    y = g.op("Reshape", g.op("InstanceNormalization", y, g.stored([channels], [1.0] * channels), g.stored([channels], [0.0] * channels), epsilon=1e-5), shape)
    y = g.op("Mul", y, g.weight(channels, 1, fan=30, around=1))
    x = g.gelu(g.op("Add", y, g.weight(channels, 1, fan=30)))
    for kernel in (3, 2):
        x = g.gelu(g.conv(x, channels, channels, [kernel], False, strides=[2]))
    x = g.layer_norm(g.transpose(x, 0, 2, 1), channels)
    x = g.linear(x, channels, width)
    direction, length = g.weight(width, width // 4, 16), g.weight(1, 1, 16, fan=30, around=1)
    norm = g.op("Sqrt", g.reduce("ReduceSum", g.op("Mul", direction, direction), 0, 1))
    y = g.op("Conv", g.transpose(x, 0, 2, 1), g.op("Mul", direction, g.op("Div", length, norm)), g.weight(width, fan=30), kernel_shape=[16], pads=[8, 8], group=4)
    y = g.gelu(g.slice(y, 2, 0, -1))
    x = g.layer_norm(g.op("Add", x, g.transpose(y, 0, 2, 1)), width)
    for _ in range(2):
        x = g.layer_norm(g.op("Add", x, g.attention(x, width, heads)), width)
        x = g.layer_norm(g.op("Add", x, g.linear(g.gelu(g.linear(x, width, 2 * width)), 2 * width, width)), width)
    logits = g.linear(x, width, words)
    g.output(logits, "logits")
    g.output(g.op("ArgMax", logits, axis=-1, keepdims=0), "letters", INT64)
    return g


def sequence_mask(g, lengths, longest):
    return g.unsqueeze(g.cast(g.op("Less", g.unsqueeze(g.range(0, longest), 0), g.unsqueeze(lengths, 1)), FLOAT), 1)


def skewed(g, x, heads, seq, to_absolute):
    """Relative places along the last axis to absolute ones or back, by padding and another shape."""
    batch = g.extent(x, 0)
    twice = g.op("Mul", seq, g.integer(2))
    if to_absolute:
        x = g.op("Pad", x, g.ints(0, 0, 0, 0, 0, 0, 0, 1))
        flat = g.reshape(x, batch, heads, g.op("Mul", seq, twice))
        flat = g.op("Pad", flat, g.op("Concat", g.ints(0, 0, 0, 0, 0), g.list(g.op("Sub", seq, g.integer(1))), axis=0))
        x = g.reshape(flat, batch, heads, g.op("Add", seq, g.integer(1)), g.op("Sub", twice, g.integer(1)))
        return g.slice(g.slice(x, 2, 0, g.list(seq)), 3, g.list(g.op("Sub", seq, g.integer(1))))
    x = g.op("Pad", x, g.op("Concat", g.ints(0, 0, 0, 0, 0, 0, 0), g.list(g.op("Sub", seq, g.integer(1))), axis=0))
    flat = g.reshape(x, batch, heads, g.op("Mul", seq, g.op("Sub", twice, g.integer(1))))
    flat = g.op("Pad", flat, g.op("Concat", g.ints(0, 0), g.list(seq), g.ints(0, 0, 0), axis=0))
    return g.slice(g.reshape(flat, batch, heads, seq, twice), 3, 1)


def relative_attention(g, x, mask, width, heads, window=4):
    """Keys and values of relative places within a window, as VITS has it. x: batch, width, seq."""
    size, batch, seq = width // heads, g.extent(x, 0), g.extent(x, 2)
    q, k, v = (g.transpose(g.reshape(g.conv(x, width, width, [1]), batch, heads, size, seq), 0, 1, 3, 2) for _ in "qkv")
    beyond = g.op("Sub", seq, g.integer(window + 1))
    pads = g.op("Concat", g.ints(0), g.list(g.op("Max", beyond, g.integer(0))), g.ints(0, 0), g.list(g.op("Max", beyond, g.integer(0))), g.ints(0), axis=0)
    start = g.op("Max", g.op("Neg", beyond), g.integer(0))
    end = g.list(g.op("Add", start, g.op("Sub", g.op("Mul", seq, g.integer(2)), g.integer(1))))
    of_keys, of_values = (g.unsqueeze(g.slice(g.op("Pad", g.weight(1, 2 * window + 1, size, fan=size), pads), 1, g.list(start), end), 0) for _ in "kv")
    q = g.op("Div", q, size ** 0.5)
    scores = g.op("Add", g.op("MatMul", q, g.transpose(k, 0, 1, 3, 2)), skewed(g, g.op("MatMul", q, g.transpose(of_keys, 0, 1, 3, 2)), heads, seq, True))
    visible = g.op("Mul", g.unsqueeze(mask, 2), g.unsqueeze(mask, -1))
    shares = g.op("Softmax", g.op("Where", g.op("Equal", visible, 0.0), g.number(-1e4), scores), axis=-1)
    y = g.op("Add", g.op("MatMul", shares, v), g.op("MatMul", skewed(g, shares, heads, seq, False), of_values))
    return g.conv(g.reshape(g.transpose(y, 0, 1, 3, 2), batch, width, seq), width, width, [1])


def vits_encoder(width=16, heads=2, words=30):
    """Text to means and deviations, masked after its end."""
    g = Graph(15, 24)
    ids = g.input("input_ids", ["batch", "seq"], INT64, 0, words - 1)
    lengths = g.input("lengths", ["batch"], INT64, 1, 9)
    x = g.transpose(g.op("Mul", g.op("Gather", g.weight(words, width, fan=1), ids), width ** 0.5), 0, 2, 1)
    mask = sequence_mask(g, lengths, g.extent(ids, 1))
    x = g.op("Mul", x, mask)
    norm = lambda x: g.transpose(g.layer_norm(g.transpose(x, 0, 2, 1), width), 0, 2, 1)
    for _ in range(2):
        x = norm(g.op("Add", x, relative_attention(g, x, mask, width, heads)))
        y = g.op("Relu", g.conv(g.op("Mul", x, mask), width, 2 * width, [3], pads=[1, 1]))
        x = norm(g.op("Add", x, g.op("Mul", g.conv(g.op("Mul", y, mask), 2 * width, width, [3], pads=[1, 1]), mask)))
    x = g.op("Mul", x, mask)
    stats = g.op("Mul", g.conv(x, width, 12, [1]), mask)
    for name, t in zip(("mean", "deviation"), g.split(stats, 1, 6, 6)):
        g.output(t, name)
    g.output(mask, "mask")
    return g


def wave_layers(g, x, mask, width, layers=2):
    """WaveNet's gated convolutions with residual and skipped parts."""
    total = None
    for i in range(layers):
        y = g.conv(x, width, 2 * width, [5], dilations=[2**i], pads=[2 * 2**i] * 2)
        y = g.op("Mul", g.op("Tanh", g.slice(y, 1, 0, width)), g.op("Sigmoid", g.slice(y, 1, width)))
        last = i == layers - 1
        y = g.conv(y, width, width if last else 2 * width, [1])
        if not last:
            x = g.op("Mul", g.op("Add", x, g.slice(y, 1, 0, width)), mask)
            y = g.slice(y, 1, width)
        total = g.op("Add", total, y) if total else y
    return g.op("Mul", total, mask)


def vits_decoder(channels=8, width=12):
    """Flows that are undone with flips between them, then upsampling by transposed convolutions."""
    g = Graph(16, 25)
    z = g.input("z", ["batch", channels, "frames"])
    lengths = g.input("lengths", ["batch"], INT64, 1, 9)
    mask = sequence_mask(g, lengths, g.extent(z, 2))
    for _ in range(2):
        z = g.op("Slice", z, g.ints(-1), g.ints(-(1 << 63)), g.ints(1), g.ints(-1))
        kept, moved = g.split(z, 1, channels // 2, channels // 2)
        y = wave_layers(g, g.op("Mul", g.conv(kept, channels // 2, width, [1]), mask), mask, width)
        moved = g.op("Mul", g.op("Sub", moved, g.op("Mul", g.conv(y, width, channels // 2, [1]), mask)), mask)
        z = g.op("Concat", kept, moved, axis=1)
    x = g.conv(g.op("Mul", z, mask), channels, 16, [7], pads=[3, 3])
    for i, (into, out) in enumerate(((16, 8), (8, 4))):
        w = [g.weight(into, out, 4, fan=2 * into), g.weight(out, fan=30)]
        x = g.op("ConvTranspose", g.op("LeakyRelu", x, alpha=0.1), *w, kernel_shape=[4], strides=[2], pads=[1, 1])
        sums = None
        for kernel, dilation in ((3, 1), (3, 3), (5, 2)):
            y = g.conv(g.op("LeakyRelu", x, alpha=0.1), out, out, [kernel], dilations=[dilation], pads=[dilation * (kernel // 2)] * 2)
            y = g.op("Add", g.conv(g.op("LeakyRelu", y, alpha=0.1), out, out, [kernel], pads=[kernel // 2] * 2), x)
            sums = g.op("Add", sums, y) if sums else y
        x = g.op("Div", sums, 3.0)
    x = g.conv(g.op("LeakyRelu", x, alpha=0.01), 4, 1, [7], False, pads=[3, 3])
    g.output(g.squeeze(g.op("Tanh", x), 1), "waveform")
    return g
