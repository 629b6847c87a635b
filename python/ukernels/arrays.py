# SPDX-License-Identifier: Apache-2.0
"""Uses callers' arrays as memory of tensors without copies: NumPy's arrays, and objects that numpy.from_dlpack takes."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

import numpy as np

from .errors import ArgumentError, ArrayTypeError

# Indexed by enum uk_type. NumPy lacks bf16: its bits are passed as uint16, or as an array of another package's `bfloat16`.
TYPES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "u16", "u32", "u64")
DTYPES = tuple(np.dtype(name) for name in
               ("float64", "float32", "float16", "uint16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"))
BF16 = TYPES.index("bf16")
RANGES = {TYPES.index(name): (np.iinfo(DTYPES[TYPES.index(name)]).min, np.iinfo(DTYPES[TYPES.index(name)]).max)
          for name in TYPES if name[0] in "iu"}
# Limit of the search for an overlap of two strided arrays: max_work of numpy.shares_memory, candidate solutions.
MOST_WORK = 100_000
TOO_HARD: Any = getattr(np, "exceptions", np).TooHardError


def as_array(value: Any, name: str) -> np.ndarray:
    """Returns the array itself, or an array that shares the memory of an object with __dlpack__."""
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
    """Raises ArrayTypeError unless the elements are of enum uk_type `kind`."""
    wanted = DTYPES[kind]
    if array.dtype != wanted and not (kind == BF16 and array.dtype.name == "bfloat16"):
        how = "uint16 with the bits of bf16, or bfloat16, is required" if kind == BF16 else \
            f"{wanted} is required (use {name}.astype(numpy.{wanted}))"
        raise ArrayTypeError(f"{name} is {array.dtype}; {how}")


def address_of(array: np.ndarray) -> int:
    """Returns the address of the first element. The fast way, for contiguous writable arrays, takes a third of the time of NumPy's."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (BufferError, TypeError, ValueError):
        return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def element_strides(array: np.ndarray, name: str) -> tuple[int, ...]:
    """Returns the strides in elements."""
    size = array.itemsize
    for stride in array.strides:
        if stride % size:
            raise ArgumentError(f"{name} has strides of {array.strides} bytes, which are not multiples of its element size, {size}; copy it")
    return tuple([stride // size for stride in array.strides])


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays have an element in common, or if it takes too long to find out."""
    try:
        return np.may_share_memory(a, b) and np.shares_memory(a, b, max_work=MOST_WORK)
    except TOO_HARD:
        return True


def aligned(count: int, dtype: np.dtype[Any], alignment: int) -> np.ndarray:
    """Returns a vector of zeros whose address is a multiple of `alignment` bytes, a power of two."""
    memory = np.zeros(count * dtype.itemsize + alignment, np.uint8)
    at = -memory.ctypes.data % alignment
    vector: np.ndarray = memory[at:at + count * dtype.itemsize].view(dtype)
    return vector


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a row-major array, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def new_array(shape: Sequence[int], strides: Sequence[int], span: int, dtype: np.dtype[Any], alignment: int) -> Any:
    """Returns an array of zeros. strides: in elements; span: bytes from the first element to the end of the last."""
    if span == 0:
        return np.zeros(tuple(shape), dtype)
    flat = aligned(span // dtype.itemsize, dtype, max(alignment, 64))
    return np.ndarray(tuple(shape), dtype, flat, 0, tuple(stride * dtype.itemsize for stride in strides))
