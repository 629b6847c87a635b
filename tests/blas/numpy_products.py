# SPDX-License-Identifier: Apache-2.0
"""Computes products of NumPy arrays in every layout, exactly, on integers; prints the minimum number of calls
of GEMM functions."""

import os
import threading

import numpy as np

random = np.random.default_rng(1)
calls = {np.float32: 0, np.float64: 0}


def integers(*shape):
    return random.integers(-3, 4, shape)


def layouts(values, kind):
    """Views of the same matrices in every layout: name, array, True if a BLAS can read it in place."""
    rows, columns = values.shape[-2:]
    lead = values.shape[:-2]
    plain = values.astype(kind)
    yield "rows", plain, True
    yield "columns", np.swapaxes(np.swapaxes(plain, -1, -2).copy(), -1, -2), True
    wide = np.full((*lead, rows + 2, columns + 5), np.nan, kind)
    wide[..., 1:-1, 2:-3] = values
    yield "part", wide[..., 1:-1, 2:-3], True
    yield "part of columns", np.swapaxes(np.swapaxes(wide, -1, -2).copy(), -1, -2)[..., 1:-1, 2:-3], True
    yield "rows backwards", plain[..., ::-1, :].copy()[..., ::-1, :], False
    yield "both backwards", plain[..., ::-1, ::-1].copy()[..., ::-1, ::-1], False
    spread = np.full((*lead, 2 * rows, 3 * columns), np.nan, kind)
    spread[..., ::2, ::3] = values
    yield "every other", spread[..., ::2, ::3], False
    yield "by bytes", np.frombuffer(b"\0" + plain.tobytes(), np.uint8)[1:].view(kind).reshape(plain.shape), False


def check(what, found, wanted):
    if not np.array_equal(found, wanted):
        raise SystemExit(f"{what}: wrong")


def products(m, n, k, kind, *lead):
    a, b = integers(*lead, m, k), integers(*lead, k, n)
    wanted = a @ b  # NumPy computes products of integers itself
    for a_name, x, a_blas in layouts(a, kind):
        for b_name, y, b_blas in layouts(b, kind):
            what = f"{np.dtype(kind)} {lead} {m}x{n}x{k}, {a_name} by {b_name}"
            check(what, x @ y, wanted)
            out = np.full((*lead, m, 2 * n), np.nan, kind)
            np.matmul(x, y, out=out[..., :n])
            check(what + ", part of an array", out[..., :n], wanted)
            if not np.isnan(out[..., n:]).all():
                raise SystemExit(what + ": wrote past the result")
            if not lead:
                check(what + ", dot", np.dot(x, y), wanted)
            if a_blas and b_blas and min(m, n, k) > 1:
                calls[kind] += 2 * max(1, int(np.prod(lead))) + (not lead)


def large(kind, wrong):
    a, b = integers(310, 290), integers(290, 330)
    x, y, wanted = a.astype(kind), b.astype(kind), a @ b
    for _ in range(5):
        if not np.array_equal(x @ y, wanted) or not np.array_equal(y.T @ x.T, wanted.T):
            wrong.append(kind)


def main():
    for kind in (np.float32, np.float64):
        for m, n, k in ((5, 7, 6), (33, 65, 17), (64, 64, 64), (150, 131, 190), (2, 300, 2), (1, 9, 8), (9, 1, 8), (8, 9, 1)):
            products(m, n, k, kind)
        products(12, 13, 14, kind, 4)
        products(40, 30, 20, kind, 2, 3)
        for empty in ((0, 3, 4), (3, 0, 4), (3, 4, 0)):
            m, n, k = empty
            check(f"{empty}", np.empty((m, k), kind) @ np.empty((k, n), kind), np.zeros((m, n), kind))
        check("one operand for all of a batch", np.ones((5, 4, 6), kind) @ np.ones((6, 3), kind), np.full((5, 4, 3), 6))
    wrong = []
    threads = [threading.Thread(target=large, args=(kind, wrong)) for kind in 2 * list(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for kind in calls:
        calls[kind] += 20
    # After fork, the child's count begins with the parent's calls so far.
    child = os.fork()
    if child == 0:
        large(np.float64, wrong)
        raise SystemExit(1 if wrong else 0)
    _, status = os.waitpid(child, 0)
    if wrong or status:
        raise SystemExit("products in threads or after fork are wrong")
    print("called", calls[np.float32], calls[np.float64], "times at least, sgemm and dgemm")


main()
