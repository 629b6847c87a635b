# SPDX-License-Identifier: Apache-2.0
"""Checks numbers and texts of callers before ctypes converts them, which truncates silently."""

from __future__ import annotations

import difflib
import operator
from typing import Any, Iterable, Mapping

from .arrays import RANGES, TYPES
from .errors import ArgumentError, ArrayTypeError


def mapping(name: str, value: Any, example: str) -> Mapping[str, Any]:
    """Returns a mapping by names, such as a dict; None: an empty one. example: one for the message."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ArrayTypeError(f"{name} is a {type(value).__name__}; a dict by names is required, as {example}")
    return value


def integer(name: str, value: Any, low: int, high: int, told: str = "") -> int:
    """Returns an integer, Python's or NumPy's, within a range. told: the range in words for the message; default: its ends."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArrayTypeError(f"{name} is a {type(value).__name__}; an integer is required") from None
    if not low <= number <= high:
        raise ArgumentError(f"{name} is {number}; it must be from {told or f'{low} to {high}'}")
    return number


def size(name: str, value: Any) -> int:
    """Returns a size of a program or a network."""
    return integer(f"size {name}", value, 0, 2**63 - 1, "0 to 2^63 - 1")


def threads(value: Any) -> int:
    """Returns a number of threads; 0: the default."""
    return integer("threads", value, 0, 1024, "1 to 1024, or 0 for the default")


def text(name: str, value: Any) -> bytes:
    """Returns a text as bytes for C."""
    if not isinstance(value, str):
        raise ArrayTypeError(f"{name} is a {type(value).__name__}; a str is required")
    return value.encode()


def number(name: str, value: Any) -> float:
    """Returns a number as a double."""
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ArrayTypeError(f"{name} is a {type(value).__name__}; a number is required") from None
    except OverflowError:
        raise ArgumentError(f"{name} is {value}, which is out of the range of a double; pass another number") from None


def scalar(name: str, kind: int, value: Any) -> float:
    """Returns a scalar of enum uk_type `kind` as a double, in which generated functions take it; refuses a loss of precision of integers."""
    found = number(f"scalar {name}", value)
    if kind in RANGES:
        low, high = RANGES[kind]
        if not low <= value <= high or int(value) != value or int(found) != int(value):
            raise ArgumentError(f"scalar {name} is {value}, which {TYPES[kind]} cannot represent, or a double not exactly; pass another number")
    return found


def closest(name: str, names: Iterable[str]) -> str:
    """Returns the part of a message that suggests one of the names for a misspelt one, or an empty text."""
    found = difflib.get_close_matches(name, names, 1)
    return f"; did you mean '{found[0]}'" if found else ""
