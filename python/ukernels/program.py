# SPDX-License-Identifier: Apache-2.0
"""A tensor program and its module: handles of the C API and their lifetime."""

from __future__ import annotations

import ctypes
import os
import pathlib
import weakref
from typing import Mapping, NoReturn, Optional, TypeVar, Union

from . import library, values
from .errors import ArgumentError, FileError, UnsupportedError
from .output import EMIT

Source = Union[str, "os.PathLike[str]"]
Own = TypeVar("Own")


def path_of(source: Source) -> Optional[pathlib.Path]:
    """Returns the path that the source is, or None if it is a text."""
    if not isinstance(source, str):
        return pathlib.Path(source)
    return pathlib.Path(source) if source.endswith(".uk") and "\n" not in source else None


class OfThisProcess:
    """Base of owners of compiled code in this process: a copy is the object itself, and pickling is refused."""

    def __copy__(self: Own) -> Own:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} has code in the memory of this process, which cannot be pickled; "
                        "compile it where it is called, of the same text or file")


def text_of(source: Source, name: Optional[str] = None) -> tuple[bytes, bytes]:
    """Returns the text of a program and its file's name, which serves messages, imports and the function's name."""
    path = path_of(source)
    if str(source).lower().endswith(".onnx") and "\n" not in str(source):
        raise ArgumentError(f"{source} is a network; use network()")
    if name is not None:
        values.text("name", name)
    if path is None:
        return str(source).encode(), f"{name or 'program'}.uk".encode()
    try:
        return path.read_bytes(), os.fsencode(path if name is None else path.with_name(f"{name}.uk"))
    except OSError as failure:
        raise FileError(f"{path} cannot be read: {failure.strerror}") from None


def parse(context: library.Context, source: Source, name: Optional[str] = None) -> ctypes.c_void_p:
    """Parses a program in the context. The caller holds the context's lock."""
    text, file = text_of(source, name)
    handle = ctypes.c_void_p()
    context.check(context.api.uk_program_parse(context.handle, file, text, len(text), ctypes.byref(handle)))
    return handle


def _free(context: library.Context, program: Optional[int], module: Optional[int]) -> None:
    context.api.uk_module_destroy(module)
    context.api.uk_program_destroy(program)
    context.close()


class Program:
    """A program, its options, and its module if this CPU can run it. They are freed with this object, but not at the end of the process, when
    other threads may still compute."""

    def __init__(self, source: Source, *, name: Optional[str], target: str, threads: int, require_kernels: bool,
                 define: Mapping[str, int], schedule: Optional[str]) -> None:
        options = library.Options(target=values.text("target", target), threads=values.threads(threads), require_kernels=require_kernels)
        self.target, self.options = target, options
        self.define = {size: values.size(size, value) for size, value in define.items()}
        self.context = library.Context()
        self.handle: Optional[int] = None
        self.module: Optional[int] = None
        self.unsupported = self.notes = self.name = ""
        try:
            with self.context.lock:
                self._make(source, name, schedule)
        except BaseException:
            _free(self.context, self.handle, self.module)
            raise
        weakref.finalize(self, _free, self.context, self.handle, self.module).atexit = False
        # Calls of an interpreted module use its program, so one thread at a time may call it.
        self.is_shared = bool(self.module) and target != "interp"

    def _make(self, source: Source, name: Optional[str], schedule: Optional[str]) -> None:
        context, api = self.context, self.context.api
        self.handle = parse(context, source, name).value
        for size, value in self.define.items():
            context.check(api.uk_program_define(self.handle, size.encode(), value))
        if schedule is not None:
            steps = values.text("schedule", schedule)
            context.check(api.uk_program_schedule(self.handle, b"schedule", steps, len(steps)))
        try:
            context.check(api.uk_target_runs(context.handle, self.options.target))
        except UnsupportedError as failure:
            self.unsupported = str(failure)
        if self.unsupported:
            self._emit("header")  # reports errors of the program now
        else:
            module = ctypes.c_void_p()
            context.check(api.uk_compile(self.handle, self.options, ctypes.byref(module)))
            self.module = module.value
            self.notes = api.uk_context_notes(context.handle).decode(errors="replace")
        self.name = api.uk_program_name(self.handle).decode()

    def _emit(self, what: str) -> bytes:
        data, length = ctypes.c_void_p(), ctypes.c_size_t()
        self.context.check(self.context.api.uk_emit(self.handle, self.options, EMIT[what], ctypes.byref(data), ctypes.byref(length)))
        return library.take_text(data, length.value)

    def emit(self, what: str) -> bytes:
        """Returns the output of a stage of the compilation."""
        with self.context.lock:
            return self._emit(what)

    def text(self) -> str:
        """Returns the program as text."""
        text = ctypes.c_void_p()
        with self.context.lock:
            self.context.check(self.context.api.uk_program_print(self.handle, ctypes.byref(text)))
            return library.take_text(text).decode()

    def explain(self) -> str:
        """Returns the report of uk_explain()."""
        text = ctypes.c_void_p()
        with self.context.lock:
            self.context.check(self.context.api.uk_explain(self.handle, self.options, ctypes.byref(text)))
            return library.take_text(text).decode()

    def names(self, what: str) -> list[str]:
        """Returns the names of the sizes (what = "size") or the scalars ("scalar")."""
        api = self.context.api
        count = getattr(api, f"uk_program_{what}s")(self.handle)
        return [getattr(api, f"uk_program_{what}_name")(self.handle, i).decode() for i in range(count)]

    def refuse_to_run(self) -> NoReturn:
        """Raises UnsupportedError with the reason why there is no code in this process."""
        raise UnsupportedError(f"{self.name}: {self.unsupported}")
