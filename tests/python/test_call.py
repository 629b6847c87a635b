# SPDX-License-Identifier: Apache-2.0
"""Calls of compiled programs: results, and the arrays that they accept."""

import copy
import gc
import weakref

import numpy as np
import pytest
from conftest import MATMUL, Foreign, numbers

import ukernels as uk


def test_product(matmul):
    a, b = numbers(7, 5), numbers(5, 9, seed=2)
    c = matmul(a, b)
    assert c.dtype == np.float32 and np.array_equal(c, a @ b)
    out = np.full((7, 9), np.nan, np.float32)
    assert matmul(a, b, out=out) is out and np.array_equal(out, a @ b)
    assert np.array_equal(matmul(B=b, A=a), a @ b)
    assert np.array_equal(matmul(a, b, M=7, N=9), a @ b)


@pytest.mark.parametrize("shape", [(0, 5, 9), (7, 0, 9), (7, 5, 0), (1, 1, 1), (1, 300, 1), (97, 33, 65)])
def test_extents(matmul, shape):
    m, k, n = shape
    a, b = numbers(m, k), numbers(k, n, seed=2)
    assert np.array_equal(matmul(a, b), a @ b)


def test_strides(matmul):
    wide, b = numbers(14, 10), numbers(5, 9, seed=2)
    for a in (wide[:7, :5], wide[::2, 3:8], wide[3:4, :5], wide[6:6, :5]):
        assert np.array_equal(matmul(a, b), a @ b)
    f = uk.compile(MATMUL.replace("B f32 [K, N]", "B f32 [K, N] stride [1, ldb]"))
    b = numbers(9, 12, seed=2)[:, 2:7].T
    assert np.array_equal(f(wide[:7, :5], b), wide[:7, :5] @ b)


def test_same_array_twice(matmul):
    a = numbers(6, 6)
    assert np.array_equal(matmul(a, a), a @ a)


def test_outputs_of_other_strides():
    f = uk.compile("tensor X f64 [N]\ntensor Y f64 [N, 3] stride [1, ld] align 64\nscalar s f64\nY[i, j] = X[i] * s")
    x = numbers(5, dtype=np.float64)
    y = f(x, s=0.5)
    assert y.strides == (8, 40) and y.ctypes.data % 64 == 0 and np.array_equal(y, np.repeat(x[:, None] * 0.5, 3, 1))
    columns = np.zeros((3, 8))[:, :5].T
    with pytest.raises(uk.ArgumentError, match="Y is not aligned to 64 bytes"):
        f(x, out=columns[1:], s=1, N=4)


def test_dlpack(matmul):
    a, b = numbers(7, 5), numbers(5, 9, seed=2)
    assert np.array_equal(matmul(Foreign(a), Foreign(b)), a @ b)
    out = np.zeros((7, 9), np.float32)
    if np.from_dlpack(Foreign(out)).flags.writeable:
        matmul(a, b, out=Foreign(out))
        assert np.array_equal(out, a @ b)
    else:
        with pytest.raises(uk.ArgumentError, match="C is written, but its array is read-only"):
            matmul(a, b, out=Foreign(out))
    g = matmul.bind(Foreign(a), b)
    a[:] = numbers(7, 5, seed=3)  # must be visible: it was not copied
    assert np.array_equal(g(), a @ b)


def test_bind(matmul):
    a, b = numbers(4, 4), numbers(4, 4, seed=2)
    c = np.zeros((4, 4), np.float32)
    g = matmul.bind(a, b, out=c)
    assert g() is c and np.array_equal(c, a @ b)
    a[:] = 2
    assert np.array_equal(g(), a @ b)
    kept = weakref.ref(a)
    del a
    gc.collect()
    assert kept() is not None and g() is c


def test_bound_call_outlives_its_function():
    g = uk.compile(MATMUL).bind(numbers(4, 4), numbers(4, 4))
    gc.collect()
    assert np.array_equal(g(), numbers(4, 4) @ numbers(4, 4))


def test_copy_outlives_its_function():
    f = copy.copy(uk.compile(MATMUL))
    gc.collect()
    assert np.array_equal(f(numbers(4, 4), numbers(4, 4)), numbers(4, 4) @ numbers(4, 4))


def test_size_with_the_name_of_a_parameter():
    f = uk.compile("tensor X f32 [self]\ntensor Y f32 [self]\nY[i] = X[i]")
    assert np.array_equal(f(numbers(5), self=5), numbers(5)) and np.array_equal(f.bind(numbers(5), self=5)(), numbers(5))


def test_empty_array_overlaps_nothing(matmul):
    a = numbers(7, 5)
    out = a[3:3, :4]
    assert matmul(a[:0], np.zeros((5, 4), np.float32), out=np.ndarray((0, 4), np.float32, a, 40)).shape == (0, 4)
    assert matmul(np.ndarray((3, 0), np.float32, out.base, 40), np.zeros((0, 5), np.float32), out=a[:3]).tolist() == [[0] * 5] * 3


def test_update_takes_its_output():
    f = uk.compile("tensor X f32 [N]\ntensor Y f32 [N]\nscalar alpha f32\nY[i] += alpha * X[i]")
    y = np.ones(5, np.float32)
    f(np.arange(5, dtype=np.float32), out=y, alpha=2)
    assert y.tolist() == [1, 3, 5, 7, 9]
    f(np.ones(5, np.float32), Y=y, alpha=np.float32(-1))
    assert y.tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(uk.ArgumentError, match="Y is read as well as written; pass it as out"):
        f(np.ones(5, np.float32), alpha=2)
    with pytest.raises(uk.ArgumentError, match="scalar alpha is missing"):
        f(np.ones(5, np.float32), out=y)


def test_several_outputs():
    f = uk.compile("tensor X f32 [N]\ntensor Y f32 [N]\ntensor Z i32 [N]\nY[i] = X[i] + 1\nZ[i] = i32(X[i])")
    x = numbers(6)
    y, z = f(x)
    assert np.array_equal(y, x + 1) and np.array_equal(z, x.astype(np.int32))
    mine = np.zeros(6, np.int32)
    y, z = f(x, out=(None, mine))
    assert z is mine and np.array_equal(mine, x.astype(np.int32))
    with pytest.raises(uk.ArgumentError, match="out must have an array for each of Y, Z"):
        f(x, out=mine)


TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
         "i8": np.int8, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}


@pytest.mark.parametrize("kind", TYPES)
def test_types(kind):
    f = uk.compile(f"tensor X {kind} [N]\ntensor Y {kind} [N]\nY[i] = X[i]", target="interp")
    x = numbers(5, dtype=TYPES[kind])
    y = f(x)
    assert y.dtype == TYPES[kind] and np.array_equal(y, x)
    for dtype in TYPES.values():
        if dtype != TYPES[kind]:
            with pytest.raises(uk.ArrayTypeError, match=f"X is {np.dtype(dtype)}; .* is required"):
                f(np.zeros(5, dtype))


def test_constant_tensors():
    f = uk.compile(MATMUL.replace("[K, N]", "[K, N] constant"))
    a, b = numbers(70, 50), numbers(50, 90, seed=2)
    assert np.array_equal(f(a, b), a @ b)
    g = f.bind(a, b)
    a[:] = numbers(70, 50, seed=3)
    assert np.array_equal(g(), a @ b)


def test_memory_as_it_lies():
    f = uk.compile("tensor A f32 [M, N] layout (m, n) -> [m / 4, n, m % 4]\ntensor B f32 [M, N]\nB[m, n] = A[m, n]")
    panels = numbers(2, 5, 4)
    assert np.array_equal(f(panels, M=7), panels.transpose(0, 2, 1).reshape(8, 5)[:7])
    with pytest.raises(uk.ArgumentError, match="no array gives the size M"):
        f(panels)


def test_sizes_from_assumptions():
    f = uk.compile("tensor X f32 [H]\ntensor Y f32 [P]\nassume P == (H + 1) / 2\nY[p] = X[2 * p]")
    x = numbers(9)
    assert np.array_equal(f(x), x[::2])
    with pytest.raises(uk.ArgumentError, match=r"assume P == \(H \+ 1\) / 2 does not hold for"):
        f(x, P=3)


def test_no_dimensions():
    f = uk.compile("tensor X f32 [N]\ntensor s f32 []\ns[] = sum(i) X[i]")
    x = numbers(9)
    assert f(x).shape == () and f(x) == x.sum()


def test_define_and_schedule():
    f = uk.compile(MATMUL, define={"M": 4, "K": 4, "N": 4}, schedule="split C.n 2 -> no ni\n")
    a = numbers(4, 4)
    assert np.array_equal(f(a, a), a @ a) and "split C.n 2 -> no ni" in f.schedule
    with pytest.raises(uk.ArgumentError, match="dimension 0 of A has 5 elements, but the program says M = 4"):
        f(numbers(5, 4), a)
