# SPDX-License-Identifier: Apache-2.0
"""Functions whose results are small differences of larger numbers, in the way that they are
usually written."""

import math
from dataclasses import replace

from onnx_writer import INT64
from value_cases import array, case, constant, f32, row

POINTS = [f32(v) for v in (-85, -60, -50, -20.25, -16.75, -9.3, -5, -3.34, -2.04, -1, -0.6, -0.1, -1e-3, -1e-7, -1e-20, 1e-20, 1e-6, 0.03, 0.7, 1, 3, 8.5, 20, 90, 1e30)]
EDGE = [f32(v) for v in (-3.5, -2.99999, -2.9, -2, -1e-5, 0.0308, 2.5, 2.99999, 3.1, 40)]  # of HardSwish
ALPHA, GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


def sigmoid(v):
    return math.exp(v) / (1 + math.exp(v)) if v < 0 else 1 / (1 + math.exp(-v))


def softplus(v):
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


def digits():
    x = array(POINTS)
    logits = [[0.0, -20.0, -30.0], [-1.0, -19.0, -25.5], [5.0, 5.0, -15.0], [0.25, 0.5, 0.75], [-80.0, 3.0, 4.0], [0.37, -27.11, -85.3], [-33.3, 0.61, -90.7]]
    logits = [list(map(f32, line)) for line in logits]
    flat = [v for line in logits for v in line]
    rest = lambda line: math.log1p(sum(math.exp(v - max(line)) for v in line if v < max(line)) + (line.count(max(line)) - 1))
    of = lambda function, values=POINTS: array(list(map(function, values)))
    return case([
        row("Softplus", [x], of(softplus)), row("Mish", [x], of(lambda v: v * math.tanh(softplus(v)))), row("Sigmoid", [x], of(sigmoid)),
        row("Elu", [x], of(lambda v: v if v >= 0 else 2 * math.expm1(v)), alpha=2.0), row("Selu", [x], of(lambda v: GAMMA * (v if v > 0 else ALPHA * math.expm1(v)))),
        row("Celu", [x], of(lambda v: v if v >= 0 else 2 * math.expm1(v / 2)), alpha=2.0), row("HardSwish", [array(EDGE)], of(lambda v: v * min(max(v + 3, 0), 6) / 6, EDGE)),
        row("LogSoftmax", [array(flat, len(logits), 3)], array([v - max(line) - rest(line) for line in logits for v in line], len(logits), 3), axis=1),
        row("ReduceLogSumExp", [array(flat, len(logits), 3), constant([1], kind=INT64)], array([max(line) + rest(line) for line in logits], len(logits), 1)),
    ], ulps=4, opset=22)


def subnormal_digits():
    """Results that are subnormal, or computed from such: NEON of ARMv7 has none."""
    tail = [f32(v) for v in (-100, -95.5, -89, -88)]
    return case([
        row("Sigmoid", [array(tail)], array(list(map(sigmoid, tail)))), row("Softplus", [array(tail)], array(list(map(softplus, tail)))),
        row("Mish", [array(tail)], array([v * math.exp(v) for v in tail])),
    ], ulps=4, opset=22)


def gelu_tail():
    """Exponentials whose arguments are rounded would lose digits here. The last results are next to the smallest normal number."""
    x = [f32(v) for v in (-12.7, -9.4, -7, -5, -3, -1, -0.3, 2, 20)]
    by_tanh = [v * sigmoid(2 * math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)) for v in x[1:]]
    by_erf = [0.5 * v * math.erfc(-v / math.sqrt(2)) for v in x]
    wide = [f32(v) for v in (-89.5, -88, -50.3, -20.1, -5, -1, 0.5, 3, 60)]
    quick = [v * sigmoid(f32(1.702) * v) for v in wide[2:]]
    plain = [v * sigmoid(v) for v in wide]
    return case([row("Gelu", [array(x[1:])], array(by_tanh), approximate="tanh"), row("Gelu", [array(x)], array(by_erf)),
                 row("QuickGelu", [array(wide[2:])], array(quick), domain="com.microsoft"), row("Swish", [array(wide)], array(plain))], ulps=3, opset=24)


CASES = {"digits": digits(), "subnormal_digits": replace(subnormal_digits(), is_everywhere=False), "gelu_tail": gelu_tail()}
