# SPDX-License-Identifier: Apache-2.0
"""Attention of ONNX: three and four dimensions, groups of heads, masks, a past, lengths, windows, scores."""

import math
import random

from defined import Array, Case, drawn, made, whole
from onnx_writer import BOOL, FLOAT, INT64, model, node, value

draw = random.Random(50)
NONE = -math.inf


def softmax(row):
    """A row of -inf becomes 0."""
    top = max(row)
    powers = [0.0 if top == NONE else math.exp(v - top) for v in row]
    total = math.fsum(powers) or 1.0
    return [p / total for p in powers]


def attended(q, k, v, scale=None, softcap=0.0, seen=lambda *_: True, added=lambda *_: 0.0, sinks=None):
    """Result and scores by stage of q [b, h, rows, size], k and v [b, groups, keys, ..]. sinks: by head, the score of a key without a value."""
    scale = scale or 1 / math.sqrt(q.shape[3])
    each = q.shape[1] // k.shape[1]
    shape = (*q.shape[:3], k.shape[2])
    products = made(shape, lambda b, h, i, j: scale * math.fsum(q[b, h, i, d] * k[b, h // each, j, d] for d in range(q.shape[3])))
    capped = made(shape, lambda *i: softcap * math.tanh(products[i] / softcap) if softcap else products[i])
    masked = made(shape, lambda *i: capped[i] + added(*i) if seen(*i) else NONE)
    rows = {(b, h, i): softmax([masked[b, h, i, j] for j in range(shape[3])] + ([sinks[h]] if sinks else [])) for b in range(shape[0]) for h in range(shape[1]) for i in range(shape[2])}
    powers = made(shape, lambda b, h, i, j: rows[b, h, i][j])
    y = made((*shape[:3], v.shape[3]), lambda b, h, i, d: math.fsum(powers[b, h, i, j] * v[b, h // each, j, d] for j in range(shape[3])))
    return y, [products, capped, masked, powers]


def flat(a):
    """[batch, rows, heads * size] of [batch, heads, rows, size]."""
    size = a.shape[3]
    return made((a.shape[0], a.shape[2], a.shape[1] * size), lambda b, s, i: a[b, i // size, s, i % size])


def joined(past, a):
    return made((*a.shape[:2], past.shape[2] + a.shape[2], a.shape[3]), lambda b, h, s, d: past[b, h, s, d] if s < past.shape[2] else a[b, h, s - past.shape[2], d])


def broadcast(mask, index):
    return mask[tuple(i if n > 1 else 0 for i, n in zip(index[4 - len(mask.shape):], mask.shape))]


def case(rows=4, keys=5, heads=4, groups=2, size=6, value_size=7, past=0, mask=None, lengths=None, stage=None, three=True, opset=24, batch=2, is_open=False, refused="", **attributes):
    """mask: an array of FLOAT or BOOL; lengths: keys that count per batch; stage: of the scores that are an
    output. is_open: the number of rows is an open size."""
    q, k, v = drawn(draw, [batch, heads, rows, size], -2, 2), drawn(draw, [batch, groups, keys, size], -2, 2), drawn(draw, [batch, groups, keys, value_size])
    form = flat if three else lambda a: a
    inputs = {"q": form(q), "k": form(k), "v": form(v)}
    names = ["q", "k", "v", "", "", "", ""]
    if mask:
        inputs["mask"], names[3] = mask, "mask"
    outputs = {"y": None}
    if past:
        inputs["pk"], inputs["pv"] = drawn(draw, [batch, groups, past, size]), drawn(draw, [batch, groups, past, value_size])
        names[4:6] = "pk", "pv"
        k, v = joined(inputs["pk"], k), joined(inputs["pv"], v)
        outputs.update(nk=k, nv=v)
    if lengths:
        inputs["lengths"], names[6] = Array((batch,), lengths, INT64), "lengths"

    def seen(b, h, i, j):
        at = i + (lengths[b] - rows if lengths else past)
        ok = j < (lengths[b] if lengths else keys + past) and (not attributes.get("is_causal") or j <= at)
        left, right = attributes.get("left_window_size", -1), attributes.get("right_window_size", -1)
        ok = ok and (left < 0 or j >= at - left) and (right < 0 or j <= at + right)
        return ok and (not mask or j < mask.shape[-1] and (mask.kind == FLOAT or broadcast(mask, (b, h, i, j))))

    added = (lambda *i: broadcast(mask, i)) if mask and mask.kind == FLOAT else lambda *_: 0.0
    y, stages = attended(q, k, v, attributes.get("scale"), attributes.get("softcap", 0.0), seen, added) if not refused else (q, [q] * 4)
    outputs["y"] = form(y)
    if stage is not None:
        outputs["scores"] = stages[stage]
        attributes["qk_matmul_output_mode"] = stage
    if three:
        attributes.update(q_num_heads=heads, kv_num_heads=groups)
    while not names[-1]:
        names.pop()
    results = ["y", "nk" if past else "", "nv" if past else "", "scores" if stage is not None else ""]
    row = lambda n, shape: [*shape[:1 if three else 2], "seq", *shape[2 if three else 3:]] if is_open and n in ("q", "y") else shape
    made_of = model([node("Attention", names, results, **attributes)], [value(n, row(n, a.shape), a.kind) for n, a in inputs.items()],
                    [value(n, row(n, a.shape)) for n, a in outputs.items()], opset=opset)
    return Case(made_of, inputs, list(outputs.values()), 5e-6, refused=refused, options=("--size=seq=1..9", f"--size=seq={rows}") if is_open else ())


def floats(*shape):
    return drawn(draw, shape)


def bits(*shape):
    return whole(draw, shape, 0, 1, BOOL)


# The second row of a batch's first matrix sees no key.
EMPTY = made([2, 1, 4, 5], lambda b, h, i, j: int((b, i) != (0, 1)), BOOL)
HOLES = made([4, 5], lambda i, j: NONE if j == i else 0.25 * j)
CASES = {
    "three": case(), "four": case(three=False), "same_heads": case(groups=4), "one_group": case(groups=1, three=False), "scale": case(scale=0.75),
    "softcap": case(softcap=1.5), "causal": case(is_causal=1), "causal_square": case(rows=5, is_causal=1, three=False),
    **{f"mask_{len(shape)}": case(mask=floats(*shape)) for shape in ((4, 5), (4, 4, 5), (2, 1, 4, 5))}, "mask_batch": case(mask=bits(2, 1, 1, 5)),
    "mask_bits": case(mask=bits(2, 4, 4, 5), three=False), "mask_holes": case(mask=HOLES, softcap=2.0), "mask_empty": case(mask=EMPTY, stage=3),
    "mask_short": case(mask=floats(4, 3)), "mask_short_bits": case(mask=bits(4, 4), is_causal=1, past=2), "mask_causal": case(mask=bits(4, 5), is_causal=1, stage=2),
    "past": case(past=3), "past_causal": case(past=3, is_causal=1, three=False, keys=4), "past_one": case(rows=1, keys=1, past=6, is_causal=1),
    "past_one_mask": case(rows=1, keys=1, past=6, mask=floats(2, 4, 1, 7), stage=1, softcap=1.0), "past_one_four": case(rows=1, keys=1, past=6, three=False, mask=bits(4, 1, 7)),
    "lengths": case(lengths=[5, 3]), "lengths_causal": case(lengths=[4, 5], is_causal=1, three=False), "lengths_few": case(lengths=[2, 5], is_causal=1),
    "lengths_one": case(rows=1, lengths=[5, 2], is_causal=1), **{f"scores_{i}": case(stage=i, softcap=0.75, mask=floats(4, 5)) for i in range(4)},
    "open": case(is_open=True, past=3, is_causal=1), "open_four": case(is_open=True, three=False, past=2, is_causal=1, softcap=1.5), "open_one": case(is_open=True, rows=1, past=4),
    "open_lengths": case(is_open=True, lengths=[5, 3], three=False), "open_mask": case(is_open=True, mask=bits(2, 1, 1, 5)), "open_window": case(is_open=True, left_window_size=1, past=3, opset=25),
    "window": case(left_window_size=1, right_window_size=1, opset=25), "window_past": case(left_window_size=2, is_causal=1, past=3, opset=25),
    "window_one": case(rows=1, keys=1, past=6, left_window_size=2, right_window_size=0, opset=25), "double": case(softmax_precision=11),
    "heads": case(heads=3, groups=2, refused="q_num_heads=3 and kv_num_heads=2 do not fit"),
    "mask_type": case(mask=whole(draw, [4, 5], 0, 1, INT64), refused="a mask of type i64 is not supported"),
    "mask_shape": case(mask=floats(3, 5), refused="3x5|broadcast|does not fit"),
    "mode": Case(model([node("Attention", ["x", "x", "x"], ["y"], qk_matmul_output_mode=4)], [value("x", [1, 2, 3, 4])], [value("y", [1, 2, 3, 4])], opset=23),
                 refused="qk_matmul_output_mode=4 is not supported"),
}
