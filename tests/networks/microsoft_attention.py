# SPDX-License-Identifier: Apache-2.0
"""Attention, MultiHeadAttention and GroupQueryAttention of com.microsoft."""

import math
import random

from attention import attended, flat, joined
from defined import Array, Case, drawn, made, whole
from onnx_writer import INT32, model, node, tensor, value

draw = random.Random(51)
HEADS, SIZE, ROWS, BATCH = 2, 4, 3, 2
HIDDEN = HEADS * SIZE


def heads(a, count, size):
    """[batch, heads, rows, size] of [batch, rows, heads * size]."""
    return made((a.shape[0], count, a.shape[1], size), lambda b, h, s, d: a[b, s, h * size + d])


def columns(x, weights, bias, start, count):
    return made((*x.shape[:2], count), lambda b, s, i: math.fsum(x[b, s, k] * weights[k, start + i] for k in range(x.shape[2])) + bias[(start + i,)])


def case(op, inputs, outputs, constants=(), bound=5e-6, refused="", **attributes):
    """inputs: arrays by name in order, or None."""
    names = [k if v else "" for k, v in inputs.items()]
    while not names[-1]:
        names.pop()
    given = {k: v for k, v in inputs.items() if v and k not in constants}
    fixed = [tensor(k, inputs[k].shape, inputs[k].values, inputs[k].kind) for k in constants if inputs[k]]
    made_of = model([node(op, names, list(outputs), domain="com.microsoft", **attributes)], [value(k, v.shape, v.kind) for k, v in given.items()],
                    [value(k, v.shape) for k, v in outputs.items()], fixed, domains=["com.microsoft"])
    return Case(made_of, given, list(outputs.values()), bound, refused)


def masking(mask, fill):
    """What a mask of integers adds: lengths, [batch, keys] or [batch, rows, keys]."""
    def added(b, h, i, j):
        if not mask:
            return 0.0
        kept = j < mask[(b,)] if len(mask.shape) == 1 else mask[b, j] if len(mask.shape) == 2 else mask[b, i, j]
        return 0.0 if kept else fill

    return added


def projected(mask=None, past=0, causal=0, fill=-10000.0, present=False, bound=5e-6, **more):
    x, weights, bias = drawn(draw, [BATCH, ROWS, 5]), drawn(draw, [5, 3 * HIDDEN]), drawn(draw, [3 * HIDDEN])
    q, k, v = (heads(columns(x, weights, bias, i * HIDDEN, HIDDEN), HEADS, SIZE) for i in range(3))
    before = drawn(draw, [2, BATCH, HEADS, past, SIZE]) if past else None
    if past:
        k, v = (joined(made([BATCH, HEADS, past, SIZE], lambda *i, n=n: before[(n, *i)]), a) for n, a in ((0, k), (1, v)))
    y, _ = attended(q, k, v, seen=lambda b, h, i, j: not causal or j <= i + past, added=masking(mask, fill))
    outputs = {"y": flat(y)}
    if past or present:
        outputs["present"] = made((2, *k.shape), lambda n, *i: (v if n else k)[i])
    return case("Attention", {"x": x, "w": weights, "b": bias, "mask": mask, "past": before}, outputs, ("w", "b"), bound, num_heads=HEADS, unidirectional=causal,
                **({"mask_filter_value": fill} if fill != -10000.0 else {}), **more)


def several(bias=None, mask=None, extra=None, past=0, causal=0, keys=5, value_size=SIZE, apart=False):
    q, k, v = drawn(draw, [BATCH, ROWS, HIDDEN]), drawn(draw, [BATCH, keys, HIDDEN]), drawn(draw, [BATCH, keys, HEADS * value_size])
    shifted = [made(a.shape, lambda b, s, i, a=a, start=start: a[b, s, i] + (bias[(start + i,)] if bias else 0)) for start, a in ((0, q), (HIDDEN, k), (2 * HIDDEN, v))]
    hq, hk, hv = heads(shifted[0], HEADS, SIZE), heads(shifted[1], HEADS, SIZE), heads(shifted[2], HEADS, value_size)
    inputs = {"q": q, "k": hk if apart else k, "v": hv if apart else v, "b": bias, "mask": mask, "extra": extra}
    outputs = {}
    if past:
        inputs.update(pk=drawn(draw, [BATCH, HEADS, past, SIZE]), pv=drawn(draw, [BATCH, HEADS, past, value_size]))
        hk, hv = joined(inputs["pk"], hk), joined(inputs["pv"], hv)
        outputs = {"nk": hk, "nv": hv}
    add = masking(mask, -10000.0)
    y, _ = attended(hq, hk, hv, seen=lambda b, h, i, j: not causal or j <= i + past,
                    added=lambda b, h, i, j: add(b, h, i, j) + (extra[b % extra.shape[0], h % extra.shape[1], i, j] if extra else 0))
    return case("MultiHeadAttention", inputs, {"y": flat(y), **outputs}, ("b",), num_heads=HEADS, unidirectional=causal)


def rotated(a, cos, sin, start, interleaved):
    """Pairs of [batch, heads, rows, size] turned by the angles of rows from start[batch] on."""
    half = cos.shape[1]

    def element(b, h, s, d):
        k, second = (d // 2, d % 2) if interleaved else (d % half, d // half)
        other = d + 1 - 2 * second if interleaved else k + half * (1 - second)
        c, t = cos[start[b] + s, k], sin[start[b] + s, k]
        return a[b, h, s, d] * c + (a[b, h, s, other] * t if second else -a[b, h, s, other] * t)

    return made(a.shape, element)


def groups(rows=ROWS, past=0, room=0, packed=False, rotary=None, window=-1, softcap=0.0, batch=1, count=4, shared=2, refused="", known=True, sinks=None, wrong_lengths=False, **more):
    """past: keys before the first row, or a list of those of each batch; known: the number of all keys is a constant."""
    each = past if isinstance(past, list) else [past] * batch
    batch, room = len(each), room or max(each)
    total = max(each) + rows
    q, k, v = drawn(draw, [batch, rows, count * SIZE]), drawn(draw, [batch, rows, shared * SIZE]), drawn(draw, [batch, rows, shared * SIZE])
    one = made([batch, rows, (count + 2 * shared) * SIZE], lambda b, s, i: q[b, s, i] if i < count * SIZE else k[b, s, i - count * SIZE] if i < (count + shared) * SIZE
               else v[b, s, i - (count + shared) * SIZE])
    pasts = [drawn(draw, [batch, shared, room, SIZE]) if room else None for _ in range(2)]
    inputs = {"q": one if packed else q, "k": None if packed else k, "v": None if packed else v, "pk": pasts[0], "pv": pasts[1],
              "lengths": Array((batch,), [p + rows - 1 for p in each], INT32), "all": Array((), [total], INT32)}
    if wrong_lengths:
        inputs["lengths"] = Array((batch + 1,), [0] * (batch + 1), INT32)
    hq, hk, hv = heads(q, count, SIZE), heads(k, shared, SIZE), heads(v, shared, SIZE)
    constants = ["all"] if known else []
    if rotary is not None:
        angle = drawn(draw, [16, SIZE // 2], 0, 6)
        inputs.update(cos=made(angle.shape, lambda *i: math.cos(angle[i])), sin=made(angle.shape, lambda *i: math.sin(angle[i])))
        hq, hk = (rotated(a, inputs["cos"], inputs["sin"], each, rotary) for a in (hq, hk))
        more.update(do_rotary=1, rotary_interleaved=rotary)
        constants += ["cos", "sin"]
    if sinks:
        inputs.update({name: inputs.get(name) for name in ("cos", "sin")}, at=None, extra=None, sinks=Array((len(sinks),), sinks))
    if room:
        hk, hv = (made((batch, shared, max(room, total), SIZE), lambda b, h, s, d, a=a, p=p: a[b, h, s - each[b], d] if 0 <= s - each[b] < rows else p[b, h, s, d] if s < room else 0.0)
                  for a, p in ((hk, pasts[0]), (hv, pasts[1])))
    y, _ = attended(hq, hk, hv, softcap=softcap, seen=lambda b, h, i, j: j <= i + each[b] and (window < 0 or j > i + each[b] - window),
                    sinks=sinks if sinks and len(sinks) == count else ([0.0] * count if more.get("smooth_softmax") else None))
    return case("GroupQueryAttention", inputs, {"y": flat(y), "nk": hk, "nv": hv}, constants, refused=refused, num_heads=count, kv_num_heads=shared,
                local_window_size=window, softcap=softcap, **more)


# Where no key is left, -10000 is added to all: that rounds scores to 2^-10.
FULL = whole(draw, [BATCH, ROWS, ROWS + 2], 0, 1, INT32)
CASES = {
    "projected": projected(), "projected_mask": projected(Array((2, 3), [1, 0, 1, 0, 1, 1], INT32)), "projected_lengths": projected(Array((2,), [1, 3], INT32), fill=-4.0),
    "projected_none": projected(Array((2, 3), [0] * 6, INT32), bound=1e-3), "projected_past": projected(FULL, past=2, bound=1e-3), "projected_causal": projected(past=2, causal=1),
    "projected_present": projected(present=True), "several": several(), "several_bias": several(drawn(draw, [2 * HIDDEN + 6]), value_size=3),
    "several_mask": several(mask=whole(draw, [BATCH, 5], 0, 1, INT32), extra=drawn(draw, [1, HEADS, ROWS, 5])), "several_apart": several(apart=True),
    "several_past": several(past=2, causal=1, keys=ROWS, mask=Array((2,), [5, 4], INT32)), "groups": groups(batch=2), "groups_step": groups(1, 5), "groups_packed": groups(2, 3, packed=True),
    "groups_rotary": groups(2, 3, rotary=0), "groups_interleaved": groups(1, 6, rotary=1, packed=True), "groups_window": groups(4, 3, window=2), "groups_softcap": groups(softcap=1.5),
    "groups_room": groups(1, 3, room=7, rotary=0), "groups_fill": groups(2, 0, room=4),
    "groups_batch": groups(1, 3, batch=2), "groups_lengths": groups(2, [4, 1, 0], rotary=0), "groups_lengths_room": groups(1, [3, 5], room=7, rotary=1, packed=True, window=3),
    "groups_computed": groups(2, [3], room=8, rotary=0, known=False), "groups_computed_lengths": groups(3, [2, 0], room=5, known=False), "groups_prompt": groups(3, 0, batch=2, known=False),
    "groups_smooth": groups(smooth_softmax=1), "groups_sinks": groups(2, 3, sinks=[0.5, -3.0, 4.0, -math.inf]), "groups_sinks_step": groups(1, [2, 4], sinks=[0.5, -3.0, 4.0, 90.0]),
    "groups_no_lengths": groups(1, [3, 5], refused="seqlens_k of shape", wrong_lengths=True), "groups_few_sinks": groups(sinks=[0.5, 1.0], refused="head_sink of shape"),
}
