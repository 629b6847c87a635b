# SPDX-License-Identifier: Apache-2.0
"""Arrays of callers as memory of tensors: NumPy's, or what numpy.from_dlpack takes, never copied."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

import numpy as np

from .errors import ArgumentError, ArrayTypeError

# By enum uk_type. NumPy has no bf16: its bits are passed as uint16, or as an array of another package's `bfloat16`.
TYPES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8")
DTYPES = tuple(np.dtype(name) for name in
               ("float64", "float32", "float16", "uint16", "int64", "int32", "int16", "int8", "uint8"))
BF16 = TYPES.index("bf16")
RANGES = {TYPES.index(name): (np.iinfo(DTYPES[TYPES.index(name)]).min, np.iinfo(DTYPES[TYPES.index(name)]).max)
          for name in ("i64", "i32", "i16", "i8", "u8")}
# What comparing the elements of two strided arrays may take, in numpy.shares_memory's measure.
MOST_WORK = 100_000
TOO_HARD: Any = getattr(np, "exceptions", np).TooHardError


def as_array(value: Any, name: str) -> np.ndarray:
    """The array itself, or one on the memory of what has __dlpack__."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        try:
            array: np.ndarray = np.from_dlpack(value)
            return array
        except (BufferError, RuntimeError, TypeError, ValueError) as failure:
            raise ArrayTypeError(f"{name}: numpy.from_dlpack refuses this {type(value).__name__}: {failure}") from None
    raise ArrayTypeError(f"{name} is a {type(value).__name__}; a NumPy array, or an object with __dlpack__, is required")


def check_type(array: np.ndarray, kind: int, name: str) -> None:
    """Refuses other elements than those of enum uk_type `kind`."""
    wanted = DTYPES[kind]
    if array.dtype != wanted and not (kind == BF16 and array.dtype.name == "bfloat16"):
        how = "uint16 with the bits of bf16, or bfloat16, is required" if kind == BF16 else \
            f"{wanted} is required (use {name}.astype(numpy.{wanted}))"
        raise ArrayTypeError(f"{name} is {array.dtype}; {how}")


def address_of(array: np.ndarray) -> int:
    """Of the first element. Most arrays are contiguous and writable: for these it takes a third of the time that NumPy takes."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (BufferError, TypeError, ValueError):
        return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def element_strides(array: np.ndarray, name: str) -> tuple[int, ...]:
    """The strides in elements."""
    size = array.itemsize
    for stride in array.strides:
        if stride % size:
            raise ArgumentError(f"{name} has strides of {array.strides} bytes, which are not multiples of its element size, {size}; copy it")
    return tuple([stride // size for stride in array.strides])


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have an element in common. Where that takes too long to find out, they have."""
    try:
        return np.may_share_memory(a, b) and np.shares_memory(a, b, max_work=MOST_WORK)
    except TOO_HARD:
        return True


def aligned(count: int, dtype: np.dtype[Any], alignment: int) -> np.ndarray:
    """A vector of zeros at a multiple of so many bytes, a power of two."""
    memory = np.zeros(count * dtype.itemsize + alignment, np.uint8)
    at = -memory.ctypes.data % alignment
    vector: np.ndarray = memory[at:at + count * dtype.itemsize].view(dtype)
    return vector


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Those of a row-major array, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def new_array(shape: Sequence[int], strides: Sequence[int], span: int, dtype: np.dtype[Any], alignment: int) -> Any:
    """An array of zeros; strides in elements, span: bytes from the first to behind the last element."""
    if span == 0:
        return np.zeros(tuple(shape), dtype)
    flat = aligned(span // dtype.itemsize, dtype, max(alignment, 64))
    return np.ndarray(tuple(shape), dtype, flat, 0, tuple(stride * dtype.itemsize for stride in strides))
