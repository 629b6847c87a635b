# SPDX-License-Identifier: Apache-2.0
"""Networks of images: Stable Diffusion's U-Net, classifiers with convolutions and with windows of attention, CLIP's encoder."""

from graph import FLOAT, INT64, Graph


# ---- Stable Diffusion ----


def group_norm(g, x, channels, groups=4):
    scale, bias = g.weight(channels, fan=30, around=1), g.weight(channels, fan=30)
    if g.opset >= 21:
        return g.op("GroupNormalization", x, scale, bias, num_groups=groups, epsilon=1e-5)
    y = g.op("Reshape", x, g.ints(0, groups, -1))
    y = g.op("InstanceNormalization", y, g.constant([groups], [1.0] * groups), g.constant([groups], [0.0] * groups), epsilon=1e-5)
    y = g.op("Reshape", y, g.op("Shape", x))
    return g.op("Add", g.op("Mul", y, g.unsqueeze(scale, 1, 2)), g.unsqueeze(bias, 1, 2))


def time_embedding(g, sample, steps, width, out):
    half = width // 2
    angles = g.op("Mul", g.cast(g.unsqueeze(g.expand(steps, g.extent(sample, 0)), 1), FLOAT), g.constant([1, half], [1e4 ** (-i / half) for i in range(half)]))
    y = g.op("Concat", g.op("Sin", angles), g.op("Cos", angles), axis=-1)
    y = g.op("Concat", g.slice(y, -1, half), g.slice(y, -1, 0, half), axis=-1)
    y = g.silu(g.op("Gemm", y, g.weight(out, width), g.weight(out, fan=30), transB=1))
    return g.op("Gemm", y, g.weight(out, out), g.weight(out, fan=30), transB=1)


def residual(g, x, time, into, out, time_width):
    y = g.same(g.silu(group_norm(g, x, into)), into, out, 3)
    shift = g.op("Gemm", g.silu(time), g.weight(out, time_width), g.weight(out, fan=30), transB=1)
    y = g.op("Add", y, g.unsqueeze(g.unsqueeze(shift, 2), 3))
    y = g.same(g.silu(group_norm(g, y, out)), out, out, 3)
    return g.op("Div", g.op("Add", x if into == out else g.same(x, into, out, 1), y), 1.0)


def transformer(g, x, text, channels, text_width, heads=2):
    """Attention of places to each other and to the text, and a gated product."""
    size, batch, height, width = channels // heads, *(g.extent(x, i) for i in (0, 2, 3))
    y = g.same(group_norm(g, x, channels), channels, channels, 1)
    y = g.reshape(g.transpose(y, 0, 2, 3, 1), batch, g.op("Mul", height, width), channels)
    for other in (None, text):
        z = g.layer_norm(y, channels)
        q, k, v = (g.split_heads(g.linear(s, into, channels, False), heads, size, batch)
                   for s, into in ((z, channels), *[(other or z, text_width if other else channels)] * 2))
        y = g.op("Add", g.linear(g.join_heads(g.attend(q, k, v, size), channels, batch, -1), channels, channels), y)
    low, high = g.halves(g.linear(g.layer_norm(y, channels), channels, 4 * channels), 4 * channels)
    y = g.op("Add", g.linear(g.op("Mul", low, g.gelu(high)), 2 * channels, channels), y)
    y = g.transpose(g.reshape(y, batch, height, width, channels), 0, 3, 1, 2)
    return g.op("Add", g.same(y, channels, channels, 1), x)


def unet(opset=14, channels=8, text_width=12):
    """Two levels, with skipped results joined by channels."""
    g, time_width = Graph(opset, 31), 4 * channels
    sample = g.input("sample", ["batch", 4, "height", "width"])
    steps = g.input("timestep", [1], INT64, 0, 999)
    text = g.input("encoder_hidden_states", ["batch", "sequence", text_width])
    time = time_embedding(g, sample, steps, channels, time_width)
    x = g.same(sample, 4, channels, 3)
    skips = [x]
    x = transformer(g, residual(g, x, time, channels, channels, time_width), text, channels, text_width)
    skips.append(x)
    x = g.same(x, channels, channels, 3, stride=2)
    skips.append(x)
    x = residual(g, x, time, channels, 2 * channels, time_width)
    x = transformer(g, x, text, 2 * channels, text_width)
    x = residual(g, x, time, 2 * channels, 2 * channels, time_width)
    x = residual(g, g.op("Concat", x, skips.pop(), axis=1), time, 3 * channels, 2 * channels, time_width)
    if opset < 21:
        x = g.op("Resize", x, "", g.constant([4], [1.0, 1.0, 2.0, 2.0]), coordinate_transformation_mode="asymmetric", mode="nearest", nearest_mode="floor")
    else:  # to the extents of what it is joined with
        sizes = g.op("Concat", g.op("Slice", g.op("Shape", x), g.ints(0), g.ints(2), g.ints(0)), g.list(g.extent(skips[-1], 2), g.extent(skips[-1], 3)), axis=0)
        x = g.op("Resize", x, "", "", sizes, coordinate_transformation_mode="asymmetric", mode="nearest", nearest_mode="floor")
    x = g.same(x, 2 * channels, 2 * channels, 3)
    x = transformer(g, residual(g, g.op("Concat", x, skips.pop(), axis=1), time, 3 * channels, channels, time_width), text, channels, text_width)
    x = residual(g, g.op("Concat", x, skips.pop(), axis=1), time, 2 * channels, channels, time_width)
    g.output(g.same(g.silu(group_norm(g, x, channels)), channels, 4, 3), "out_sample")
    return g


# ---- classifiers ----


def classify(g, x, channels, classes=10):
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.output(g.op("Gemm", x, g.weight(classes, channels), g.weight(classes, fan=30), transB=1), "logits")
    return g


def efficientnet(opset=11):
    """Inverted bottlenecks with squeeze and excitation; MobileNet V3's activations in one of them."""
    g = Graph(opset, 32)
    x = g.silu(g.same(g.input("image", ["batch", 3, "height", "width"]), 3, 8, 3, stride=2))
    for into, out, stride, is_hard in ((8, 8, 1, False), (8, 12, 2, False), (12, 12, 1, True)):
        act = (lambda v: g.op("HardSwish", v) if opset >= 14 else g.op("Mul", v, g.op("Div", g.op("Clip", g.op("Add", v, 3.0), g.number(0.0), g.number(6.0)), 6.0))) if is_hard else g.silu
        y = act(g.same(x, into, 3 * into, 1))
        y = act(g.same(y, 3 * into, 3 * into, 3 if stride == 1 else 5, stride=stride, group=3 * into))
        scale = g.mean(y, 2, 3) if is_hard else g.op("GlobalAveragePool", y)
        scale = g.same(g.op("Relu" if is_hard else "Sigmoid", g.same(scale, 3 * into, 4, 1)), 4, 3 * into, 1)
        y = g.op("Mul", y, g.op("HardSigmoid", scale, alpha=1 / 6) if is_hard else g.op("Sigmoid", scale))
        y = g.same(y, 3 * into, out, 1)
        x = g.op("Add", y, x) if into == out else y
    return classify(g, g.silu(g.same(x, 12, 24, 1)), 24)


def convnext(channels=8):
    """Layer norms over channels, in both orders of dimensions."""
    g = Graph(18, 33)
    x = g.conv(g.input("image", ["batch", 3, "height", "width"]), 3, channels, [4, 4], strides=[4, 4])
    first = lambda x, c: g.transpose(g.layer_norm(g.transpose(x, 0, 2, 3, 1), c, 1e-6), 0, 3, 1, 2)
    x = first(x, channels)
    for c in (channels, 2 * channels):
        if c > channels:
            x = g.conv(first(x, c // 2), c // 2, c, [2, 2], strides=[2, 2])
        for _ in range(2):
            y = g.transpose(g.same(x, c, c, 7, group=c), 0, 2, 3, 1)
            y = g.linear(g.gelu(g.linear(g.layer_norm(y, c, 1e-6), c, 4 * c)), 4 * c, c)
            x = g.op("Add", x, g.transpose(g.op("Mul", y, g.weight(c, fan=10)), 0, 3, 1, 2))
    x = g.layer_norm(g.mean(x, -2, -1, keep=0), 2 * channels, 1e-6)
    g.output(g.op("Gemm", x, g.weight(10, 2 * channels), g.weight(10, fan=30), transB=1), "logits")
    return g


def rolled(g, x, shift):
    """torch.roll of both axes of an image."""
    for axis in (1, 2):
        x = g.op("Concat", g.slice(x, axis, shift if shift > 0 else shift), g.slice(x, axis, 0, shift), axis=axis)
    return x


def windows(g, x, window, height, width, channels, back=False):
    """An image to windows of rows or back; batch is computed."""
    if back:
        x = g.reshape(x, -1, height // window, width // window, window, window, channels)
        return g.reshape(g.transpose(x, 0, 1, 3, 2, 4, 5), -1, height, width, channels)
    x = g.reshape(x, g.extent(x, 0), height // window, window, width // window, window, channels)
    return g.reshape(g.transpose(x, 0, 1, 3, 2, 4, 5), -1, window * window, channels)


def window_attention(g, x, window, heads, channels, mask, count):
    """Scores have a bias of relative places, and a mask where a window has parts of both edges."""
    rows, size = window * window, channels // heads
    qkv = g.transpose(g.reshape(g.linear(x, channels, 3 * channels), g.extent(x, 0), rows, 3, heads, size), 2, 0, 3, 1, 4)
    q, k, v = (g.op("Gather", qkv, g.integer(i), axis=0) for i in range(3))
    scores = g.op("MatMul", g.op("Mul", q, size ** -0.5), g.transpose(k, 0, 1, 3, 2))
    places = [(a // window - b // window + window - 1) * (2 * window - 1) + a % window - b % window + window - 1 for a in range(rows) for b in range(rows)]
    bias = g.op("Gather", g.weight((2 * window - 1) ** 2, heads, fan=3), g.stored([rows * rows], places, INT64), axis=0)
    scores = g.op("Add", scores, g.unsqueeze(g.transpose(g.reshape(bias, rows, rows, -1), 2, 0, 1), 0))
    if mask:
        split = g.op("Div", g.extent(x, 0), g.integer(count))
        scores = g.op("Add", g.reshape(scores, split, count, heads, rows, rows), g.unsqueeze(g.unsqueeze(mask, 1), 0))
        scores = g.reshape(scores, -1, heads, rows, rows)
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    return g.linear(g.reshape(g.transpose(y, 0, 2, 1, 3), g.extent(x, 0), rows, channels), channels, channels)


def shifted_mask(size, window, shift):
    """-100 between places of a window that come from different edges."""
    part = lambda i: 0 if i < size - window else 1 if i < size - shift else 2
    at = lambda w, p: ((w // (size // window)) * window + p // window, (w % (size // window)) * window + p % window)
    label = lambda w, p: 3 * part(at(w, p)[0]) + part(at(w, p)[1])
    count, rows = (size // window) ** 2, window * window
    return [count, rows, rows], [0.0 if label(w, a) == label(w, b) else -100.0 for w in range(count) for a in range(rows) for b in range(rows)]


def swin(size=32, channels=8, heads=2, window=4):
    """Attention in windows, every second time shifted; neighbours are merged between two stages."""
    g = Graph(12, 34)
    x = g.conv(g.input("pixel_values", ["batch", 3, size, size]), 3, channels, [4, 4], strides=[4, 4])
    side = size // 4
    x = g.layer_norm(g.transpose(g.reshape(x, g.extent(x, 0), channels, -1), 0, 2, 1), channels)
    for stage in range(2):
        for shift in (0, window // 2) if side > window else (0,):
            y = g.reshape(g.layer_norm(x, channels), g.extent(x, 0), side, side, channels)
            y = rolled(g, y, shift) if shift else y
            count = (side // window) ** 2
            mask = g.stored(*shifted_mask(side, window, shift)) if shift else None
            y = window_attention(g, windows(g, y, window, side, side, channels), window, heads, channels, mask, count)
            y = windows(g, y, window, side, side, channels, back=True)
            y = rolled(g, y, -shift) if shift else y
            x = g.op("Add", x, g.reshape(y, g.extent(x, 0), side * side, channels))
            x = g.op("Add", x, g.linear(g.gelu(g.linear(g.layer_norm(x, channels), channels, 2 * channels)), 2 * channels, channels))
        if stage == 0:
            y = g.reshape(x, g.extent(x, 0), side, side, channels)
            parts = [g.slice(g.slice(y, 1, i, step=2), 2, j, step=2) for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))]
            y = g.reshape(g.op("Concat", *parts, axis=-1), g.extent(x, 0), -1, 4 * channels)
            x = g.linear(g.layer_norm(y, 4 * channels), 4 * channels, 2 * channels, False)
            side, channels = side // 2, 2 * channels
    x = g.transpose(g.layer_norm(x, channels), 0, 2, 1)
    return classify(g, x, channels)


def mobilevit(channels=8, width=12, patch=2):
    """Convolutions around attention between the same places of all patches."""
    g = Graph(13, 35)
    image = g.silu(g.same(g.input("image", ["batch", 3, 24, 32]), 3, channels, 3, stride=2))
    x = g.same(g.silu(g.same(image, channels, channels, 3)), channels, width, 1, bias=False)
    batch, rows, columns = g.extent(x, 0), 12 // patch, 16 // patch
    y = g.reshape(x, g.op("Mul", g.op("Mul", batch, g.integer(width)), g.integer(rows)), patch, columns, patch)
    y = g.reshape(g.transpose(y, 0, 2, 1, 3), batch, width, rows * columns, patch * patch)
    y = g.reshape(g.transpose(y, 0, 3, 2, 1), g.op("Mul", batch, g.integer(patch * patch)), rows * columns, width)
    for _ in range(2):
        y = g.op("Add", y, g.attention(g.layer_norm(y, width), width, 2))
        y = g.op("Add", y, g.linear(g.silu(g.linear(g.layer_norm(y, width), width, 2 * width)), 2 * width, width))
    y = g.reshape(g.layer_norm(y, width), batch, patch * patch, rows * columns, width)
    y = g.reshape(g.transpose(y, 0, 3, 2, 1), g.op("Mul", g.op("Mul", batch, g.integer(width)), g.integer(rows)), columns, patch, patch)
    y = g.reshape(g.transpose(y, 0, 2, 1, 3), batch, width, rows * patch, columns * patch)
    y = g.op("Concat", image, g.silu(g.same(y, width, channels, 1)), axis=1)
    return classify(g, g.silu(g.same(y, 2 * channels, channels, 3)), channels)


def clip(width=24, heads=3, patch=4, image=16, out=16):
    """An image, and embeddings of texts that it is compared with."""
    g, places = Graph(16, 36), (image // patch) ** 2 + 1
    pixels = g.input("pixel_values", ["batch", 3, image, image])
    texts = g.input("text_embeds", ["texts", out])
    x = g.conv(pixels, 3, width, [patch, patch], False, strides=[patch, patch])
    shape = g.op("Slice", g.op("Shape", x), g.ints(0), g.ints(2), g.ints(0))
    x = g.transpose(g.op("Reshape", x, g.op("Concat", shape, g.ints(-1), axis=0)), 0, 2, 1)
    start = g.expand(g.weight(width, fan=5), g.extent(pixels, 0), 1, -1)
    x = g.op("Concat", start, x, axis=1)
    x = g.op("Add", x, g.op("Gather", g.weight(places, width, fan=5), g.stored([1, places], list(range(places)), INT64)))
    x = g.layer_norm(x, width)
    for _ in range(2):
        x = g.op("Add", x, g.attention(g.layer_norm(x, width), width, heads))
        y = g.linear(g.layer_norm(x, width), width, 2 * width)
        x = g.op("Add", x, g.linear(g.op("Mul", y, g.op("Sigmoid", g.op("Mul", y, 1.702))), 2 * width, width))
    y = g.linear(g.layer_norm(g.op("Gather", x, g.integer(0), axis=1), width), width, out, False)

    def unit(x):
        length = g.op("Clip", g.reduce("ReduceL2", x, -1), g.number(1e-12))
        return g.op("Div", x, g.op("Expand", length, g.op("Shape", x)))

    embeds = unit(y)
    logits = g.op("Mul", g.op("MatMul", unit(texts), g.op("Transpose", embeds)), g.op("Exp", g.stored([], [2.65])))
    g.output(embeds, "image_embeds")
    g.output(logits, "logits_per_text")
    g.output(g.op("Softmax", g.transpose(logits, 1, 0), axis=-1), "shares")
    return g
