# SPDX-License-Identifier: Apache-2.0
"""Matrix products of libukernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from . import errors, library, values
from .arrays import DTYPES, RANGES, TYPES, address_of, as_array, check_type, element_strides, overlap
from .errors import ArgumentError, error_of

F64, F32, F16, BF16, I32, I8, U8 = (TYPES.index(name) for name in ("f64", "f32", "f16", "bf16", "i32", "i8", "u8"))
FLOATS = ("s", "d", "b", "h")  # letters of products that have alpha
ROW_MAJOR, COLUMN_MAJOR = 0, 1
SCALE, CLAMP = 1, 2  # enum uk_epilogue_flag
C_ELEMENTS = {"i32": 1, "i8": 2, "u8": 3, "f32": 4}  # enum uk_c_element


@dataclass(frozen=True)
class Epilogue:
    """Operations on each element of C at the end: min(max(scale * c + row_bias[i] + column_bias[j], low), high). None leaves a part out.

    Epilogue(low=0) is relu. The biases are vectors of C's type, or of float32 if C is of float16; row_bias has an element per row of C, column_bias one per column.
    """

    scale: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    row_bias: Any = None
    column_bias: Any = None


@dataclass(frozen=True)
class Requantization:
    """Operations on each sum of bytes at the end; the sums are those of (A - a_zero) (B - b_zero).

    C is of `dtype`: "i8" or "u8", round(scale * (sum + row_bias[i] + column_bias[j])) + c_zero, ties to even, clamped to [low, high] and to the type's range;
    "i32", the same, or without a scale not rounded; or "f32", not rounded, without c_zero. scale is a number, or a vector of float32 with an element per column of
    C; b_zero an integer, or a vector of int32 with one per column. The biases are vectors of int32. None leaves a part out.
    """

    dtype: str = "i32"
    scale: Any = None
    a_zero: int = 0
    b_zero: Any = 0
    c_zero: int = 0
    low: Optional[float] = None
    high: Optional[float] = None
    row_bias: Any = None
    column_bias: Any = None


class _Matrix:
    """A matrix, with the layouts that its strides allow: by rows (row-major), by columns (column-major), or both."""

    __slots__ = ("address", "array", "by_columns", "by_rows")

    def __init__(self, value: Any, kind: int, name: str) -> None:
        a = value if type(value) is np.ndarray else as_array(value, name)
        check_type(a, kind, name)
        if a.ndim != 2:
            raise ArgumentError(f"{name} has {a.ndim} dimensions; a matrix is required")
        (rows, columns), (down, along) = a.shape, element_strides(a, name)
        is_empty = rows == 0 or columns == 0
        self.by_rows = is_empty or ((columns == 1 or along == 1) and (rows == 1 or down >= columns))
        self.by_columns = is_empty or ((rows == 1 or down == 1) and (columns == 1 or along >= rows))
        if not self.by_rows and not self.by_columns:
            raise ArgumentError(f"{name} has strides of {down} and {along} elements; its rows or its columns must be contiguous: copy it")
        self.array, self.address = a, address_of(a)
        if self.address % a.itemsize:
            raise ArgumentError(f"{name} is not aligned to {a.itemsize} bytes; copy it")

    def leading(self, layout: int) -> int:
        """Returns the leading dimension in this layout, in elements."""
        a = self.array
        return a.strides[layout] // a.itemsize if a.shape[layout] > 1 and a.size else max(a.shape[1 - layout], 1)


def _output(out: Any, a: _Matrix, b: _Matrix, kind: int, beta: float) -> _Matrix:
    """Returns C: a checked `out`, or a new array."""
    shape = a.array.shape[0], b.array.shape[1]
    if a.array.shape[1] != b.array.shape[0]:
        raise ArgumentError(f"A has {a.array.shape[1]} columns, but B has {b.array.shape[0]} rows; they must be equal")
    if out is None:
        if beta:
            raise ArgumentError("beta is not 0, but there is no out to multiply; pass out")
        return _Matrix(np.empty(shape, DTYPES[kind]), kind, "out")
    c = _Matrix(out, kind, "out")
    if c.array.shape != shape:
        raise ArgumentError(f"out is {c.array.shape[0]} x {c.array.shape[1]}, but the product is {shape[0]} x {shape[1]}; pass a matrix of that shape")
    if not c.array.flags.writeable:
        raise ArgumentError("out is read-only; pass another array")
    for name, other in (("A", a), ("B", b)):
        if overlap(c.array, other.array):
            raise ArgumentError(f"out overlaps {name}; pass another array", errors.OVERLAP)
    return c


def _vector(value: Any, kind: int, length: int, name: str, c: _Matrix) -> Any:
    v = as_array(value, name)
    check_type(v, kind, name)
    if v.shape != (length,):
        raise ArgumentError(f"{name} has the shape {v.shape}; a vector of {length} elements is required")
    if length > 1 and v.strides[0] != v.itemsize:
        raise ArgumentError(f"{name} has a stride of {v.strides[0]} bytes; its elements must be contiguous: copy it")
    if not v.flags.aligned:
        raise ArgumentError(f"{name} is not aligned to {v.itemsize} bytes; copy it")
    if overlap(c.array, v):
        raise ArgumentError(f"out overlaps {name}; pass another array", errors.OVERLAP)
    return v


def _is_number(value: Any) -> bool:
    return np.ndim(value) == 0


def _epilogue(e: Any, made: Any, kind: int, c: _Matrix) -> list[Any]:
    """Fills in the C structure `made`; returns the arrays that it points to, which the caller keeps alive."""
    kept: list[Any] = []
    if e.scale is not None and _is_number(e.scale):
        made.flags, made.scale = SCALE, values.number("scale", e.scale)
    if e.low is not None or e.high is not None:
        made.flags |= CLAMP
        made.low = -math.inf if e.low is None else values.number("low", e.low)
        made.high = math.inf if e.high is None else values.number("high", e.high)
    for field, length in (("row_bias", c.array.shape[0]), ("column_bias", c.array.shape[1])):
        if getattr(e, field) is not None:
            kept.append(_vector(getattr(e, field), kind, length, field, c))
            setattr(made, field, kept[-1].ctypes.data)
    return kept


def _requantization(e: Requantization, kinds: tuple[int, int, int], c: _Matrix) -> tuple[Any, list[Any]]:
    """Does the same for products of bytes, and returns the structure too."""
    made = library.ByteEpilogue()
    kept = _epilogue(e, made, I32, c)
    for name, kind in (("a_zero", kinds[0]), ("c_zero", kinds[2])):
        low, high = (0, 0) if kind == F32 else RANGES[kind]
        setattr(made, name, values.integer(name, getattr(e, name), low, high))
    if _is_number(e.b_zero):
        made.b_zero = values.integer("b_zero", e.b_zero, *RANGES[kinds[1]])
    else:
        kept.append(_vector(e.b_zero, I32, c.array.shape[1], "b_zero", c))
        made.column_zero = kept[-1].ctypes.data
    if e.scale is not None and not _is_number(e.scale):
        kept.append(_vector(e.scale, F32, c.array.shape[1], "scale", c))
        made.flags |= SCALE
        made.column_scale = kept[-1].ctypes.data
    return made, kept


def _gemm(letter: str, kinds: tuple[int, int, int], A: Any, B: Any, alpha: float, beta: float, out: Any, epilogue: Any) -> Any:
    a, b = _Matrix(A, kinds[0], "A"), _Matrix(B, kinds[1], "B")
    if letter in FLOATS:
        alpha, beta = values.number("alpha", alpha), values.number("beta", beta)
    c = _output(out, a, b, kinds[2], beta)
    api = library.kernels()
    layout = ROW_MAJOR if c.by_rows else COLUMN_MAJOR
    shape, operands = [layout], []
    for x in (a, b):
        is_same = x.by_rows if layout == ROW_MAJOR else x.by_columns
        shape.append(0 if is_same else 1)
        operands.append((x.address, x.leading(layout if is_same else 1 - layout)))
    shape += [c.array.shape[0], c.array.shape[1], a.array.shape[1]]
    ldc = c.leading(layout)
    if epilogue is not None:
        plan = library.GemmPlan()
        if letter in FLOATS:
            options, made = None, library.EPILOGUES[letter]()
            kept, before = _epilogue(epilogue, made, F64 if letter == "d" else F32, c), (alpha,)
        else:
            options, before = library.GemmOptions(c_element=C_ELEMENTS[epilogue.dtype]), ()
            made, kept = _requantization(epilogue, kinds, c)
        status = getattr(api, f"uk_{letter}gemm_plan")(plan, *shape, operands[0][1], operands[1][1], ldc, options)
        if not status:
            run = getattr(api, f"uk_{letter}gemm_run")
            status = run(plan, *before, operands[0][0], operands[1][0], beta, c.address, made, None)
        del kept  # the biases must live until the product is done
    elif letter in FLOATS:
        status = getattr(api, f"uk_{letter}gemm")(*shape, alpha, *operands[0], *operands[1], beta, c.address, ldc)
    else:
        status = getattr(api, f"uk_{letter}gemm")(*shape, *operands[0], *operands[1], beta, c.address, ldc)
    if status:
        raise error_of(status, f"{letter}gemm: {library.last_message(status)}")
    return c.array


def sgemm(A: Any, B: Any, *, alpha: float = 1.0, beta: float = 0.0, out: Any = None, epilogue: Optional[Epilogue] = None) -> np.ndarray:
    """Returns alpha A B + beta out in float32, with the epilogue applied. Pass A.T for a transposed A. Rows or columns must be contiguous."""
    return _gemm("s", (F32, F32, F32), A, B, alpha, beta, out, epilogue)  # type: ignore[no-any-return]


def dgemm(A: Any, B: Any, *, alpha: float = 1.0, beta: float = 0.0, out: Any = None, epilogue: Optional[Epilogue] = None) -> np.ndarray:
    """Does the same as sgemm() in float64."""
    return _gemm("d", (F64, F64, F64), A, B, alpha, beta, out, epilogue)  # type: ignore[no-any-return]


def bgemm(A: Any, B: Any, *, alpha: float = 1.0, beta: float = 0.0, out: Any = None, epilogue: Optional[Epilogue] = None) -> np.ndarray:
    """Does the same as sgemm() for A and B of bfloat16, or of uint16 with its bits. C is float32."""
    return _gemm("b", (BF16, BF16, F32), A, B, alpha, beta, out, epilogue)  # type: ignore[no-any-return]


def hgemm(A: Any, B: Any, *, alpha: float = 1.0, beta: float = 0.0, out: Any = None, epilogue: Optional[Epilogue] = None) -> np.ndarray:
    """Does the same as sgemm() for matrices of float16, with sums in float32."""
    return _gemm("h", (F16, F16, F16), A, B, alpha, beta, out, epilogue)  # type: ignore[no-any-return]


def _byte_gemm(letter: str, left: int, right: int, A: Any, B: Any, beta: int, out: Any, epilogue: Optional[Requantization]) -> np.ndarray:
    kind = I32
    if epilogue is not None:
        if not isinstance(epilogue, Requantization):
            raise errors.ArrayTypeError(f"epilogue is a {type(epilogue).__name__}; a Requantization is required")
        if epilogue.dtype not in C_ELEMENTS:
            raise ArgumentError(f"dtype is {epilogue.dtype!r}; it must be one of {', '.join(C_ELEMENTS)}")
        kind = TYPES.index(epilogue.dtype)
    beta = values.integer("beta", beta, -2**31, 2**31 - 1)
    return _gemm(letter, (left, right, kind), A, B, 1, beta, out, epilogue)  # type: ignore[no-any-return]


def igemm(A: Any, B: Any, *, beta: int = 0, out: Any = None, epilogue: Optional[Requantization] = None) -> np.ndarray:
    """Returns A B + beta out, exact in int32, for A of uint8 and B of int8; with an epilogue, what it makes of these sums (beta is 0 unless C is of int32)."""
    return _byte_gemm("i", U8, I8, A, B, beta, out, epilogue)


def i8gemm(A: Any, B: Any, *, beta: int = 0, out: Any = None, epilogue: Optional[Requantization] = None) -> np.ndarray:
    """Does the same as igemm() for A and B of int8."""
    return _byte_gemm("i8", I8, I8, A, B, beta, out, epilogue)


def u8gemm(A: Any, B: Any, *, beta: int = 0, out: Any = None, epilogue: Optional[Requantization] = None) -> np.ndarray:
    """Does the same as igemm() for A and B of uint8."""
    return _byte_gemm("u8", U8, U8, A, B, beta, out, epilogue)


def num_threads() -> int:
    """Returns the number of threads that products and parallel loops use."""
    return int(library.kernels().uk_num_threads())


def set_num_threads(threads: int) -> None:
    """Sets the number of threads, 1 to 1024, for the process; 0: the default (UK_NUM_THREADS, else the CPUs and CPU quota of the process)."""
    status = library.kernels().uk_set_num_threads(values.threads(threads))
    if status:
        raise error_of(status, library.status_text(status))
