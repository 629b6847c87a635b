# SPDX-License-Identifier: Apache-2.0
"""Compiles tensor programs to functions of arrays."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any, Mapping, NoReturn, Optional, Sequence, Union

import numpy as np

from . import errors, library, values
from .arrays import DTYPES, TYPES, address_of, aligned, as_array, check_type, dense_strides, element_strides, new_array
from .errors import ArgumentError, error_of
from .output import save_all
from .program import OfThisProcess, Program

Output = Union[None, np.ndarray, Sequence[Any]]
# Combinations of shapes for which results of checks are kept, at most; when the cache is full, it is cleared.
MOST_SHAPES = 256


@dataclass(frozen=True)
class Tensor:
    """A tensor argument: its declaration in the program, and its type and alignment (in bytes) in memory."""

    name: str
    type: str
    dims: int
    is_read: bool
    is_written: bool
    is_constant: bool
    alignment: int
    kind: int
    dtype: Any


@dataclass(frozen=True)
class Shapes:
    """Values that follow from the shapes of a call's arrays. Per-tensor tuples are in the program's order."""

    sizes: Any  # sizes that are not defined as constants, the function's arguments
    sizes_at: int
    all_sizes: Any
    shapes: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]  # in elements
    spans: tuple[int, ...]  # bytes from the first element to the end of the last
    is_dense: tuple[bool, ...]  # row-major, and NumPy's own alignment suffices


class Function(OfThisProcess):
    """A compiled program, which compile() returns. Many threads may call it at once.

    Arguments:
    - inputs: in the order of the program, or by name;
    - scalars, and sizes that no array's shape determines: by name;
    - out: an array, or for several outputs a sequence in the order of the program; None makes a new array. An output that the program
      also reads (`+=`) must be given.

    Arrays have the shape and strides of the memory that the program declares: those of the tensor's layout if it has one, with the elements
    that `over` adds.
    """

    def __init__(self, source: Union[str, os.PathLike[str]], *, name: Optional[str], target: str, threads: int,
                 require_kernels: bool, define: Mapping[str, int], schedule: Optional[str]) -> None:
        self._program = Program(source, name=name, target=target, threads=threads, require_kernels=require_kernels,
                                define=define, schedule=schedule)
        p = self._program
        self._context, self._api = p.context, p.context.api
        self._module = p.module
        self.tensors = tuple(self._tensor(i) for i in range(self._api.uk_program_tensors(p.handle)))
        self._inputs = tuple(i for i, t in enumerate(self.tensors) if not t.is_written)
        self._outputs = tuple(i for i, t in enumerate(self.tensors) if t.is_written)
        self._scalars = {name: self._api.uk_program_scalar_type(p.handle, i)
                         for i, name in enumerate(p.names("scalar"))}
        self._sizes = {name: i for i, name in enumerate(p.names("size"))}
        self._places = {t.name: i for i, t in enumerate(self.tensors)}
        self._known: dict[Any, Shapes] = {}
        self._pointers = ctypes.c_void_p * max(len(self.tensors), 1)
        self._has_constants = any(t.is_constant for t in self.tensors)
        self._rows = tuple(enumerate(self.tensors))
        self._is_shared = p.is_shared
        self._call = self._api.uk_module_call

    def _tensor(self, i: int) -> Tensor:
        api, p = self._api, self._program.handle
        kind = api.uk_program_tensor_type(p, i)
        return Tensor(api.uk_program_tensor_name(p, i).decode(), TYPES[kind], api.uk_program_tensor_dims(p, i),
                      api.uk_program_tensor_read(p, i), api.uk_program_tensor_written(p, i), api.uk_program_tensor_constant(p, i),
                      api.uk_program_tensor_alignment(p, i), kind, DTYPES[kind])

    # ---- calls ----

    def __call__(self, /, *inputs: Any, out: Output = None, **named: Any) -> Any:
        """Computes and returns the outputs: an array, or a tuple of several."""
        arrays, scalars, given = self._arrange(inputs, out, named)
        shapes, addresses = self._prepare(arrays, given)
        kept = self._pack(shapes, addresses) if self._has_constants else None
        pointers = self._pointers(*addresses)
        if self._is_shared:
            status = self._call(self._module, shapes.sizes_at, scalars, pointers)
        else:
            status = self._call_locked(self._module, shapes.sizes_at, scalars, pointers)
        del kept  # packed constants must live until the call is done
        if status:
            self._fail(status, shapes)
        return arrays[self._outputs[0]] if len(self._outputs) == 1 else self._results(arrays)

    def bind(self, /, *inputs: Any, out: Output = None, **named: Any) -> Bound:
        """Checks the arguments once and returns an object that makes the call without arguments. Each call reads and writes the same arrays;
        new outputs are made once. Constant tensors are packed here: later changes of their arrays have no effect."""
        arrays, scalars, given = self._arrange(inputs, out, named)
        shapes, addresses = self._prepare(arrays, given)
        kept = self._pack(shapes, addresses) if self._has_constants else []
        return Bound(self, shapes, scalars, self._pointers(*addresses), self._results(arrays), (arrays, kept))

    def _call_locked(self, *arguments: Any) -> int:
        """Calls an interpreted module, which one thread at a time may use. Raises an exception if there is no module."""
        if not self._module:
            self._program.refuse_to_run()
        with self._context.lock:
            return self._call(*arguments)  # type: ignore[no-any-return]

    def _results(self, arrays: list[Any]) -> Any:
        if len(self._outputs) == 1:
            return arrays[self._outputs[0]]
        return tuple(arrays[i] for i in self._outputs)

    def _fail(self, status: int, shapes: Shapes) -> NoReturn:
        """Raises an exception with the library's reason for the function's status."""
        p = self._program
        if status == errors.INVALID_SIZE:
            with self._context.lock:
                self._context.check(self._api.uk_program_check_sizes(p.handle, p.options, shapes.all_sizes))
        raise error_of(status, f"{p.name}: {library.status_text(status)}")

    # ---- arguments ----

    def _arrange(self, inputs: Sequence[Any], out: Output, named: dict[str, Any]) -> tuple[list[Any], Any, Optional[dict[str, int]]]:
        """Returns the arrays in the order of the tensors (None: to be made), the scalars, and the sizes given by name."""
        arrays: list[Any] = [None] * len(self.tensors)
        if len(inputs) > len(self._inputs):
            raise ArgumentError(f"{self._program.name} takes {self._list(self._inputs)}, but {len(inputs)} arrays were given")
        for i, value in zip(self._inputs, inputs):
            arrays[i] = value
        if out is not None:
            self._take_outputs(arrays, out)
        if named or self._scalars:
            scalars, given = self._take_named(arrays, named)
        else:
            scalars, given = None, None
        return arrays, scalars, given

    def _refuse_missing(self, t: Tensor) -> NoReturn:
        how = "is read as well as written; pass it as out" if t.is_written else "is missing; pass an array"
        raise ArgumentError(f"{self._program.name}: {t.name} {how}")

    def _take_outputs(self, arrays: list[Any], out: Any) -> None:
        if len(self._outputs) == 1 and not isinstance(out, (tuple, list)):
            out = (out,)
        if not isinstance(out, (tuple, list)) or len(out) != len(self._outputs):
            raise ArgumentError(f"out must have an array for each of {self._list(self._outputs)}, in this order")
        for i, value in zip(self._outputs, out):
            arrays[i] = value

    def _take_named(self, arrays: list[Any], named: dict[str, Any]) -> tuple[Any, dict[str, int]]:
        scalars = (ctypes.c_double * max(len(self._scalars), 1))()
        given: dict[str, int] = {}
        missing = [name for name in self._scalars if name not in named]
        if missing:
            raise ArgumentError(f"{self._program.name}: scalar {missing[0]} is missing; pass {missing[0]}=")
        for name, value in named.items():
            if name in self._scalars:
                scalars[list(self._scalars).index(name)] = values.scalar(name, self._scalars[name], value)
            elif name in self._sizes:
                given[name] = values.size(name, value)
            elif name not in self._places:
                known = [*self._places, *self._scalars, *self._sizes]
                raise ArgumentError(f"{self._program.name} has no tensor, scalar or size '{name}'{values.closest(name, known)}")
            elif arrays[self._places[name]] is not None:
                raise ArgumentError(f"{self._program.name}: {name} is given twice")
            else:
                arrays[self._places[name]] = value
        return scalars, given

    def _list(self, places: Sequence[int]) -> str:
        return ", ".join(self.tensors[i].name for i in places) or "no arrays"

    def _prepare(self, arrays: list[Any], given: Optional[dict[str, int]]) -> tuple[Shapes, list[int]]:
        """Checks all arrays and makes new outputs. Returns the sizes and the tensors' addresses."""
        parts: list[Any] = []
        addresses: list[int] = []
        for i, t in self._rows:
            a = arrays[i]
            if a is None:
                if t.is_read or not t.is_written:
                    self._refuse_missing(t)
                parts.append(None)
                addresses.append(0)
                continue
            if type(a) is not np.ndarray:
                a = arrays[i] = as_array(a, t.name)
            if a.dtype is not t.dtype:
                check_type(a, t.kind, t.name)
            parts += (a.shape, a.strides)
            if t.is_written and not a.flags.writeable:
                raise ArgumentError(f"{t.name} is written, but its array is read-only; copy it, or set its flag WRITEABLE")
            address = address_of(a)
            if address % t.alignment:
                raise ArgumentError(f"{t.name} is not aligned to {t.alignment} bytes, as the program requires; copy it")
            addresses.append(address)
        if given:
            parts += sorted(given.items())
        key = tuple(parts)
        shapes = self._known.get(key) or self._learn(key, arrays, given or {})
        self._make_outputs(arrays, addresses, shapes)
        return shapes, addresses

    def _make_outputs(self, arrays: list[Any], addresses: list[int], shapes: Shapes) -> None:
        """Makes outputs that are not given, and checks that given ones overlap no other tensor."""
        spans = shapes.spans
        for i in self._outputs:
            t = self.tensors[i]
            if arrays[i] is None:
                if shapes.is_dense[i]:
                    a = arrays[i] = np.zeros(shapes.shapes[i], t.dtype)
                else:
                    a = arrays[i] = new_array(shapes.shapes[i], shapes.strides[i], spans[i], t.dtype, t.alignment)
                addresses[i] = address_of(a)
                continue
            begin, end = addresses[i], addresses[i] + spans[i]
            for k, other in enumerate(addresses):
                if other < end and begin < other + spans[k] and k != i and spans[i] and spans[k]:
                    raise ArgumentError(f"{t.name} is written, but overlaps {self.tensors[k].name}; pass another array",
                                        errors.OVERLAP)

    def _learn(self, key: tuple[Any, ...], arrays: list[Any], given: dict[str, int]) -> Shapes:
        """Asks the library for the sizes that the arrays imply, and caches them. It refuses shapes and strides that contradict the program."""
        api, p, count = self._api, self._program.handle, max(len(self.tensors), 1)
        extents, strides = (ctypes.c_void_p * count)(), (ctypes.c_void_p * count)()
        kept = []
        for i, t in enumerate(self.tensors):
            a = arrays[i]
            if a is None:
                continue
            if a.ndim != t.dims:
                raise ArgumentError(f"{t.name} has {t.dims} dimensions, but its array has {a.ndim}", errors.INVALID_SIZE)
            of = ctypes.c_int64 * max(a.ndim, 1)
            kept += [of(*a.shape), of(*element_strides(a, t.name))]
            extents[i], strides[i] = (ctypes.addressof(list_of) for list_of in kept[-2:])
        sizes = (ctypes.c_int64 * max(len(self._sizes), 1))(*(given.get(name, -1) for name in self._sizes))
        with self._context.lock:
            self._context.check(api.uk_program_solve_sizes(p, extents, strides, sizes))
            rows = [[tuple(what(p, i, d, sizes) for d in range(t.dims)) for i, t in enumerate(self.tensors)]
                    for what in (api.uk_program_tensor_extent, api.uk_program_tensor_stride)]
            spans = tuple(api.uk_program_tensor_elements(p, i, sizes) * t.dtype.itemsize for i, t in enumerate(self.tensors))
        passed = [sizes[i] for name, i in self._sizes.items() if name not in self._program.define]
        arguments = (ctypes.c_int64 * max(len(passed), 1))(*passed)
        is_dense = tuple(strides == dense_strides(shape) and t.alignment <= t.dtype.itemsize
                         for t, shape, strides in zip(self.tensors, *rows))
        shapes = Shapes(arguments, ctypes.addressof(arguments), sizes, tuple(rows[0]), tuple(rows[1]), spans, is_dense)
        if len(self._known) >= MOST_SHAPES:
            self._known.clear()
        self._known[key] = shapes
        return shapes

    def _pack(self, shapes: Shapes, addresses: list[int]) -> list[np.ndarray]:
        """Packs constant tensors and replaces their addresses. Returns the packed arrays, which the caller keeps alive."""
        kept = []
        if not self._module:
            self._program.refuse_to_run()
        for i, t in enumerate(self.tensors):
            if not t.is_constant:
                continue
            with self._context.lock:
                count = self._api.uk_module_packed_bytes(self._module, shapes.sizes, i)
                if count < 0:
                    self._context.check(self._api.uk_program_check_sizes(self._program.handle, self._program.options, shapes.all_sizes))
                packed = aligned(max(count, 0), np.dtype(np.uint8), max(t.alignment, 64))
                self._context.check(self._api.uk_module_pack(self._module, shapes.sizes, i, addresses[i], packed.ctypes.data))
            kept.append(packed)
            addresses[i] = packed.ctypes.data
        return kept

    # ---- properties ----

    @property
    def name(self) -> str:
        """Name of the C function."""
        return self._program.name

    @property
    def schedule(self) -> str:
        """Steps of the schedule, with those chosen automatically, in the form that compile(schedule=) takes."""
        return self._program.emit("schedule").decode()

    @property
    def loops(self) -> str:
        """Loops and calls of kernels, as text."""
        return self._program.emit("loops").decode()

    @property
    def asm(self) -> str:
        """Assembly code."""
        return self._program.emit("asm").decode()

    @property
    def text(self) -> str:
        """Text of the program."""
        return self._program.text()

    @property
    def notes(self) -> str:
        """Remarks of the compiler, such as stages that run as plain loops."""
        return self._program.notes

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that are inlined."""
        found: list[str] = []
        while True:
            name = self._api.uk_module_kernel(self._module, len(found)) if self._module else None
            if name is None:
                return tuple(found)
            found.append(name.decode())

    def explain(self) -> str:
        """Returns, for each stage, the kernels that were considered, and why each was chosen or does not match."""
        return self._program.explain()

    def save(self, path: Union[str, os.PathLike[str]], *, header: Union[None, str, os.PathLike[str]] = None) -> None:
        """Writes the kind of file that the ending names: an object (.o), a shared object (.so), assembly (.s), LLVM IR (.ll) or the C header (.h).
        header: path of the C header, written as well."""
        save_all(self._program.emit, path, header)

    def __repr__(self) -> str:
        p = self._program
        return f"<ukernels function {p.name}({', '.join(t.name for t in self.tensors)}) for {p.target}>"


class Bound(OfThisProcess):
    """A call with checked arguments, which Function.bind() returns. `out`: its outputs, an array or a tuple of several."""

    def __init__(self, function: Function, shapes: Shapes, scalars: Any, pointers: Any, out: Any, kept: Any) -> None:
        self._function, self._shapes, self._kept = function, shapes, (scalars, pointers, kept)
        self.out = out
        if not function._module:
            function._program.refuse_to_run()
        self._arguments = (function._module, shapes.sizes_at, ctypes.addressof(scalars) if scalars is not None else None,
                           ctypes.addressof(pointers))
        self._call = function._call if function._is_shared else function._call_locked

    def __call__(self) -> Any:
        """Computes and returns the outputs."""
        status = self._call(*self._arguments)
        if status:
            self._function._fail(status, self._shapes)
        return self.out


def compile(source: Union[str, os.PathLike[str]], *, target: str = "native", threads: int = 1, name: Optional[str] = None,
            define: Optional[Mapping[str, int]] = None, schedule: Optional[str] = None, require_kernels: bool = False) -> Function:
    """Compiles a tensor program.

    source: its text, or the path of its file (a path object, or a str that ends in .uk).
    target: "native", or a name that `uk help targets` lists. A function for another CPU can be saved but not called.
    threads: if more than 1, automatic schedules may run a loop in parallel; set_num_threads() sets how many threads run.
    name: name of the C function.
    define: sizes that become constants, by name.
    schedule: steps that replace the program's.
    require_kernels: True makes stages that run as plain loops an error.
    """
    return Function(source, name=name, target=target, threads=threads, require_kernels=require_kernels,
                    define=dict(define or {}), schedule=schedule)
