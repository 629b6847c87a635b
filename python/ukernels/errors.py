# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each kind of failure that callers may handle differently, with the library's message."""

from __future__ import annotations


class Error(Exception):
    """Base of all exceptions. `status` is the library's enum uk_status; 0 if this package failed before it called the library."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ArgumentError(Error, ValueError):
    """An array, a size or an option that the program or the function does not accept."""


class ArrayTypeError(ArgumentError, TypeError):
    """An argument that is no array, or an array whose element type is not the declared one."""


class ProgramError(Error, ValueError):
    """A program, a schedule or a network is wrong or not supported, or no kernel matches where require_kernels asks for one."""


class UnsupportedError(Error, RuntimeError):
    """This CPU, target or build lacks a feature that the call needs."""


class WrongResultError(Error, ArithmeticError):
    """A kernel's machine code does not compute what its declaration says; the message is the report."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed in the library."""


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
    """Returns the exception for a status other than UK_OK."""
    return _CLASSES.get(status, Error)(message, status)
