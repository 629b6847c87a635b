# SPDX-License-Identifier: Apache-2.0
"""Lists the registry of kernels, and verifies kernels against their declarations."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Optional

from . import library, values
from .errors import UNSUPPORTED, WRONG_RESULT, ArgumentError, WrongResultError
from .program import Source, parse


@dataclass(frozen=True)
class Kernel:
    """A row of the registry: a kernel that computes a tile of mr x nr elements of an operation, for an instruction set."""

    name: str
    op: str
    isa: str
    impl: str
    arch: str
    features: tuple[str, ...]
    parameters: str
    mr: int
    nr: int
    kr: int
    runs_here: bool

    @property
    def declaration(self) -> str:
        """Declaration of what the kernel computes: an `intrinsic ... end` of the language."""
        api = library.kernels()
        row = api.uk_kernel_find(self.name.encode())
        text = ctypes.create_string_buffer(api.uk_kernel_declaration(row, None, 0) + 1)
        api.uk_kernel_declaration(row, text, len(text))
        return text.value.decode()


def _row(i: int) -> Kernel:
    api = library.kernels()
    row = api.uk_kernel_at(i)
    name, op, isa, impl, arch, features, parameters = (
        getattr(api, f"uk_kernel_{what}")(row).decode() for what in ("symbol", "op", "isa", "impl", "arch", "features", "parameters"))
    mr, nr, kr = (getattr(api, f"uk_kernel_{what}")(row) for what in ("mr", "nr", "kr"))
    return Kernel(name, op, isa, impl, arch, tuple(filter(None, features.split(","))), parameters, mr, nr, kr, api.uk_kernel_runs_here(row))


def kernels(*, isa: Optional[str] = None, op: Optional[str] = None, arch: Optional[str] = None, runs_here: Optional[bool] = None) -> list[Kernel]:
    """Returns the kernels of an instruction set ("avx2"), an operation ("sgemm"), an architecture ("x86_64"), or those that this CPU runs."""
    found = [_row(i) for i in range(library.kernels().uk_kernel_count())]
    for field, value in (("isa", isa), ("op", op), ("arch", arch)):
        known = sorted({getattr(kernel, field) for kernel in found})
        if value is not None and value not in known:
            raise ArgumentError(f"unknown {field} '{value}'; use one of {', '.join(known)}")
    wanted = {"isa": isa, "op": op, "arch": arch, "runs_here": runs_here}
    return [kernel for kernel in found if all(value is None or getattr(kernel, field) == value for field, value in wanted.items())]


def verify(source: Source, *, target: Optional[str] = None, seed: int = 0, cases: int = 0, seconds: int = 0) -> str:
    """Compares the machine code of kernels with the interpreter's results of their declarations. Returns a report with a line for each form;
    raises WrongResultError if they differ.

    source: the name of a kernel, or a program (a text or a path, as for compile()), whose intrinsics are verified.
    seed, cases: random seed and number of random sizes, strides and values; 0: the defaults.
    seconds: limit of CPU time for one call of a kernel; 0: the default.
    """
    seed, cases, seconds = (values.integer(name, value, 0, most) for name, value, most in
                            (("seed", seed, 2**64 - 1), ("cases", cases, 2**31 - 1), ("seconds", seconds, 2**31 - 1)))
    row = None
    if isinstance(source, str) and source.isidentifier():
        row = library.kernels().uk_kernel_find(source.encode())
        if not row:
            raise ArgumentError(f"unknown kernel '{source}'; kernels() lists them")
    context, program, report = library.Context(), ctypes.c_void_p(), ctypes.c_void_p()
    options = library.VerifyOptions(target=values.text("target", target) if target else None, seed=seed, cases=cases, seconds=seconds)
    try:
        with context.lock:
            if row:
                status = context.api.uk_verify_kernel(context.handle, row, options, ctypes.byref(report))
            else:
                program = parse(context, source)
                status = context.api.uk_verify(program, options, ctypes.byref(report))
            if not report:
                context.check(status or UNSUPPORTED)
            text = library.take_text(report).decode(errors="replace")
        if status == WRONG_RESULT:
            raise WrongResultError(text, status)
        return text
    finally:
        context.api.uk_program_destroy(program)
        context.close()
