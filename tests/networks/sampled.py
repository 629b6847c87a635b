# SPDX-License-Identifier: Apache-2.0
"""GridSample and AffineGrid, from ONNX's definitions."""

import itertools
import math
import random

from arranged import refused
from defined import Array, Case, drawn, made
from onnx_writer import INT64, model, node, tensor, value

DRAW = random.Random(20)


def reflected(i, least, most):
    """Mirrored at the bounds until it is between them; they may be the same."""
    if least == most:
        return int(least)
    while not least <= i <= most:
        i = 2 * least - i if i < least else 2 * most - i
    return int(i)


def place(i, n, padding, aligned):
    """The element that stands for number i of n; None: zero."""
    if padding == "zeros":
        return i if 0 <= i < n else None
    if padding == "border":
        return min(max(i, 0), n - 1)
    return reflected(i, 0, n - 1) if aligned else reflected(i, -0.5, n - 0.5)


def weights(x, mode):
    """Numbers of elements and their weights."""
    low, t = math.floor(x), x - math.floor(x)
    if mode == "nearest":
        return [(round(x), 1)]
    if mode == "linear":
        return [(low, 1 - t), (low + 1, t)]
    a = -0.75
    near = lambda d: (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = lambda d: a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return [(low - 1, far(1 + t)), (low, near(t)), (low + 1, near(1 - t)), (low + 2, far(2 - t))]


def sampled(x, grid, mode, padding, aligned):
    sizes = x.shape[2:]

    def rule(n, c, *at):
        choices = []
        for d, size in enumerate(sizes):
            g = grid[(n, *at, len(sizes) - 1 - d)]
            choices.append(weights((g + 1) / 2 * (size - 1) if aligned else ((g + 1) * size - 1) / 2, mode))
        total = 0
        for chosen in itertools.product(*choices):
            where = [place(i, size, padding, aligned) for (i, _), size in zip(chosen, sizes)]
            total += 0 if None in where else x[(n, c, *where)] * math.prod(w for _, w in chosen)
        return total
    right = made((x.shape[0], x.shape[1], *grid.shape[1:-1]), rule)
    made_node = node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding, align_corners=int(aligned))
    return Case(model([made_node], [value("x", x.shape), value("g", grid.shape)], [value("y", right.shape)], opset=20), {"x": x, "g": grid}, [right], 1e-5)


def affine(theta, size, aligned):
    def base(i, n):
        return (-1 + 2 * i / (n - 1) if n > 1 else -1) if aligned else (2 * i + 1) / n - 1

    def rule(n, *at):
        point = [base(i, k) for i, k in zip(at[:-1], size[2:])][::-1] + [1]
        return sum(theta[n, at[-1], k] * p for k, p in enumerate(point))
    right = made((size[0], *size[2:], len(size) - 2), rule)
    made_node = node("AffineGrid", ["t", "size"], ["y"], align_corners=int(aligned))
    return Case(model([made_node], [value("t", theta.shape)], [value("y", right.shape)], [tensor("size", [len(size)], size, INT64)], opset=20), {"t": theta}, [right], 1e-5)


X, GRID = drawn(DRAW, (2, 3, 4, 5)), drawn(DRAW, (2, 3, 6, 2), -2.5, 2.5)
VOLUME, PLACES = drawn(DRAW, (1, 2, 3, 1, 4)), drawn(DRAW, (1, 2, 2, 3, 3), -1.5, 1.5)
CASES = {f"{mode}_{padding}_{aligned}": sampled(X, GRID, mode, padding, aligned)
         for mode in ("nearest", "linear", "cubic") for padding in ("zeros", "border", "reflection") for aligned in (False, True)}
CASES.update({f"volume_{mode}_{aligned}": sampled(VOLUME, PLACES, mode, "reflection" if aligned else "zeros", aligned)
              for mode in ("nearest", "linear") for aligned in (False, True)})
CASES.update({f"affine_{len(size)}_{aligned}": affine(drawn(DRAW, (size[0], len(size) - 2, len(size) - 1)), size, aligned)
              for size in ([2, 3, 4, 5], [1, 1, 2, 1, 3]) for aligned in (False, True)})
CASES["infinity_outside"] = sampled(Array((1, 1, 2, 2), [math.inf, 1.0, 1.0, 1.0]), Array((1, 1, 1, 2), [-4.0, 0.5]), "nearest", "zeros", False)
CASES["unknown_mode"] = refused("GridSample", {"x": X, "g": GRID}, "mode=area with padding_mode=zeros", opset=20, mode="area")
