# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each thing that a caller may want to tell apart, with the library's message."""

from __future__ import annotations


class Error(Exception):
    """What a function of the library refused; `status` is its enum uk_status, 0 where this package refused it before the call."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ArgumentError(Error, ValueError):
    """An array, a size or an option that is not as the program, or the function, needs it."""


class ArrayTypeError(ArgumentError, TypeError):
    """No array, or an array of other elements than the program declares."""


class ProgramError(Error, ValueError):
    """A program, a schedule or a network that is refused, or that no kernel computes where one is required."""


class UnsupportedError(Error, RuntimeError):
    """This CPU, target or build cannot do it."""


class WrongResultError(Error, ArithmeticError):
    """A kernel's machine code does not compute what its declaration says; the message is the report."""


class OutOfMemoryError(Error, MemoryError):
    """The library found no memory."""


class FileError(Error, RuntimeError, OSError):
    """A file cannot be read or written. `errno` and `filename` are None: the message has the reason and the file."""


INVALID_ARGUMENT, INVALID_SIZE, OVERLAP, OUT_OF_MEMORY, SYNTAX, REFUSED, NO_MATCH, UNSUPPORTED = range(1, 9)
IO, WRONG_RESULT, INVALID_INDEX = 10, 11, 14

_CLASSES: dict[int, type[Error]] = {
    INVALID_ARGUMENT: ArgumentError,
    INVALID_SIZE: ArgumentError,
    OVERLAP: ArgumentError,
    INVALID_INDEX: ArgumentError,
    OUT_OF_MEMORY: OutOfMemoryError,
    SYNTAX: ProgramError,
    REFUSED: ProgramError,
    NO_MATCH: ProgramError,
    UNSUPPORTED: UnsupportedError,
    IO: FileError,
    WRONG_RESULT: WrongResultError,
}


def error_of(status: int, message: str) -> Error:
    """The exception for a status that is not UK_OK."""
    return _CLASSES.get(status, Error)(message, status)
