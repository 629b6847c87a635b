# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs trained networks of ONNX, by libuknetworks."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
import weakref
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import library, values
from .arrays import BF16, DTYPES, TYPES, aligned, as_array, check_type, overlap
from .errors import INVALID_ARGUMENT, OVERLAP, UNSUPPORTED, ArgumentError, ArrayTypeError, OutOfMemoryError, error_of
from .output import EMIT, Pieces, kind_of, save_all
from .program import OfThisProcess

INPUT, OUTPUT = 0, 1
MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class Value:
    """An input or an output of a network. Where a size is open, `shape` is that of the largest."""

    name: str
    type: str
    shape: tuple[int, ...]
    dtype: Any
    kind: int
    is_boolean: bool


@dataclass(frozen=True)
class State:
    """A tensor that stays in memory from call to call: the input `name` and the output `output`. `shape` is that of the largest, and of
    the array that Network.state() returns; calls write rows of the dimension `axis`, or of any if that is None."""

    name: str
    output: str
    type: str
    shape: tuple[int, ...]
    dtype: Any
    axis: Optional[int]


class Network(OfThisProcess):
    """A compiled network. Many threads may call it at once: each call uses a block of memory of its own, which later calls reuse. A network
    with states has one block, for one sequence, and one call at a time; sequence() makes another one."""

    def __init__(self, path: Union[str, os.PathLike[str]], *, shapes: Mapping[str, Sequence[int]], sizes: Mapping[str, Union[int, range]],
                 constants: Mapping[str, Any], states: Union[str, Mapping[str, str]], name: Optional[str], schedule: Optional[str], target: str,
                 threads: int) -> None:
        self._api = library.networks()
        self._path = os.fspath(path)
        if not isinstance(self._path, str):
            raise ArrayTypeError(f"the network is a {type(path).__name__}; the path of its file, a str or a Path, is required")
        handle = self._api.uk_network_create()
        if not handle:
            raise OutOfMemoryError("out of memory for a network")
        self._handle = handle
        weakref.finalize(self, self._api.uk_network_destroy, handle).atexit = False  # at exit other threads may still compute
        self._options = library.Options(target=values.text("target", target), threads=values.threads(threads))
        self._read(shapes, sizes, constants, states, None if name is None else values.text("name", name))
        if schedule is not None:
            text = values.text("schedule", schedule)
            self._check(self._api.uk_network_schedule(handle, b"schedule", text, len(text), None))
        self.sizes = self._open_sizes()
        self.inputs = self._values(INPUT)
        self.outputs = self._values(OUTPUT)
        self.states = self._list_states()
        self._free_sizes = self._find_free_sizes()
        self._unsupported = ""
        self._compile(target)
        self._emit_lock = threading.Lock()
        self._first = self
        self._begin_sequence()

    def _begin_sequence(self) -> None:
        self._blocks: list[np.ndarray] = []
        if self.states and not self._unsupported:
            self._blocks.append(aligned(self._memory, np.dtype(np.uint8), 64))
        self._sequence = self._blocks[0] if self._blocks else None
        self._sequence_lock = threading.Lock() if self.states else nullcontext()

    def sequence(self) -> Network:
        """Returns a network of the same code with states of its own, which are zeros at first: for another sequence at the same time."""
        other = object.__new__(Network)
        other.__dict__.update(self.__dict__)  # with _first, whose end is that of the code
        other._begin_sequence()
        return other

    def _check(self, status: int) -> None:
        if status:
            raise error_of(status, self._api.uk_network_message(self._handle).decode(errors="replace") or library.status_text(status))

    def _read(self, shapes: Mapping[str, Sequence[int]], sizes: Mapping[str, Union[int, range]], constants: Mapping[str, Any],
              states: Union[str, Mapping[str, str]], name: Optional[bytes]) -> None:
        for size, each in sizes.items():
            if isinstance(each, range):
                self._check(self._api.uk_network_range(self._handle, _range(size, each)))
            elif not hasattr(each, "__index__"):
                raise ArrayTypeError(f"size {size} is a {type(each).__name__}; an integer or a range is required")
        sizes = {size: each for size, each in sizes.items() if not isinstance(each, range)}
        data = {name: np.asarray(as_array(value, name), order="C") for name, value in constants.items()}
        given = [_tensor(name, shape) for name, shape in shapes.items()]
        fixed = [_tensor(name, a.shape, _kind(a, name), a.size, a.nbytes, a.dtype == np.bool_) for name, a in data.items()]
        names = (ctypes.c_char_p * max(len(sizes), 1))(*(name.encode() for name in sizes))
        pairs = {} if isinstance(states, str) else states
        options = library.NetworkOptions(
            state_inputs=(ctypes.c_char_p * max(len(pairs), 1))(*(values.text("the input of a state", each) for each in pairs)),
            state_outputs=(ctypes.c_char_p * max(len(pairs), 1))(*(values.text("the output of a state", each) for each in pairs.values())),
            state_count=len(pairs), find_states=isinstance(states, str),
            shapes=(library.NetworkTensor * max(len(given), 1))(*given), shape_count=len(given), size_names=names,
            size_values=(ctypes.c_int64 * max(len(sizes), 1))(*(values.size(name, value) for name, value in sizes.items())), size_count=len(sizes),
            constants=(library.NetworkTensor * max(len(fixed), 1))(*fixed), constant_count=len(fixed),
            constant_data=(ctypes.c_void_p * max(len(fixed), 1))(*(a.ctypes.data for a in data.values())), name=name)
        self._check(self._api.uk_network_read_file(self._handle, os.fsencode(self._path), options))

    def _compile(self, target: str) -> None:
        context = library.Context()
        try:
            status = context.api.uk_target_runs(context.handle, target.encode())
            message = context.api.uk_context_message(context.handle).decode(errors="replace")
        finally:
            context.close()
        if status == INVALID_ARGUMENT:
            raise error_of(status, message)
        self._unsupported = message if status else ""
        if not status:
            self._check(self._api.uk_network_compile(self._handle, self._options))
            self._memory = self._api.uk_network_memory(self._handle)

    def _open_sizes(self) -> dict[str, range]:
        """The ranges of the open sizes, in the order of the library's arrays."""
        found: dict[str, range] = {}
        while True:
            size = self._api.uk_network_size(self._handle, len(found))
            if not size:
                return found
            z = size.contents
            found[z.name.decode()] = range(z.lower, z.upper + 1, z.step)

    def _values(self, role: int) -> tuple[Value, ...]:
        found: list[Value] = []
        while True:
            tensor = self._api.uk_network_value(self._handle, role, len(found))
            if not tensor:
                return tuple(found)
            t = tensor.contents
            dtype = np.dtype(bool) if t.is_boolean else DTYPES[t.type]
            found.append(Value(t.name.decode(), "bool" if t.is_boolean else TYPES[t.type], tuple(t.shape[:t.rank]), dtype, t.type, t.is_boolean))

    def _list_states(self) -> tuple[State, ...]:
        found: list[State] = []
        while True:
            state = self._api.uk_network_state(self._handle, len(found))
            if not state:
                return tuple(found)
            s = state.contents
            t = s.input
            dtype = np.dtype(bool) if t.is_boolean else DTYPES[t.type]
            found.append(State(t.name.decode(), s.output.name.decode(), "bool" if t.is_boolean else TYPES[t.type], tuple(s.capacity[:t.rank]), dtype,
                               None if s.axis < 0 else s.axis))

    def _find_free_sizes(self) -> tuple[str, ...]:
        """Returns the open sizes that only states have: those that remain as they were when the others are found."""
        found = []
        for end in (0, -1):
            sizes = (ctypes.c_int64 * max(len(self.sizes), 1))(*(each[end] for each in self.sizes.values()))
            self._solve_into(sizes, [v.shape for v in self.inputs])
            found.append(sizes[:len(self.sizes)])
        return tuple(name for name, least, most in zip(self.sizes, *found) if least != most)

    def _solve_into(self, sizes: Any, shapes: Sequence[tuple[int, ...]]) -> int:
        rows = [(ctypes.c_int64 * max(len(shape), 1))(*shape) for shape in shapes]
        pointers = (ctypes.POINTER(ctypes.c_int64) * max(len(rows), 1))(*(ctypes.cast(row, ctypes.POINTER(ctypes.c_int64)) for row in rows))
        return self._api.uk_network_solve_sizes(self._handle, pointers, sizes)  # type: ignore[no-any-return]

    def state(self, name: str) -> np.ndarray:
        """Returns the memory of a state as an array of its shape, without a copy, by the name of its input or output. The past and the present
        are the first elements of it in each dimension. It is zeros at first."""
        values.text("the name of a state", name)
        known = [each for s in self.states for each in (s.name, s.output)]
        if name not in known:
            names = ", ".join(s.name for s in self.states) or "none"
            raise ArgumentError(f"the network has no state '{name}'{values.closest(name, known)}; its states are {names}")
        if self._sequence is None:
            raise error_of(UNSUPPORTED, self._unsupported)
        i = known.index(name) // 2
        s, base = self.states[i], self._sequence.ctypes.data
        first = self._api.uk_network_state_place(self._handle, base, i) - base
        return self._sequence[first:first + self._api.uk_network_state(self._handle, i).contents.bytes].view(s.dtype).reshape(s.shape)

    def _given_sizes(self, given: Mapping[str, int]) -> Any:
        """Returns the sizes that were given by name in the order of the library's arrays; the others are below all ranges."""
        for name, value in given.items():
            if name not in self.sizes:
                names = ", ".join(self.sizes) or "none"
                raise ArgumentError(f"the network has no open size '{name}'{values.closest(name, self.sizes)}; its open sizes are {names}")
            if values.size(name, value) not in self.sizes[name]:
                raise ArgumentError(f"{name} is {value}; it must be in {self.sizes[name]}")
        for name in self._free_sizes:
            if name not in given:
                raise ArgumentError(f"size {name} is missing, and no input has it; pass {name}=")
        return (ctypes.c_int64 * max(len(self.sizes), 1))(*(given.get(name, -each.step) for name, each in self.sizes.items()))

    def _check_value(self, value: Any, v: Value, shape: Optional[tuple[int, ...]] = None) -> np.ndarray:
        """Returns the value as an array of the shape. None: that of v, or with open sizes any of its rank."""
        a = as_array(value, v.name)
        if not v.is_boolean:
            check_type(a, v.kind, v.name)
        elif a.dtype != np.bool_:
            raise ArrayTypeError(f"{v.name} is {a.dtype}; bool is required (use {v.name}.astype(bool))")
        if shape is None and self.sizes:
            if a.ndim != len(v.shape):
                raise ArgumentError(f"{v.name} has {a.ndim} dimensions, but the network takes {len(v.shape)}; pass such an array")
        elif a.shape != (shape or v.shape):
            raise ArgumentError(f"{v.name} has the shape {a.shape}, but the network takes {shape or v.shape}; pass an array of that shape")
        return a

    def _solve(self, arrays: list[np.ndarray], given: Mapping[str, int]) -> tuple[Any, list[tuple[int, ...]]]:
        """Returns the sizes at which the inputs have the arrays' shapes, and the shapes of the outputs."""
        sizes = self._given_sizes(given)
        if not self.sizes:
            return sizes, [v.shape for v in self.outputs]
        if self._solve_into(sizes, [a.shape for a in arrays]):
            shapes = ", ".join(f"{v.name} {a.shape}" for v, a in zip(self.inputs, arrays))
            open_sizes = ", ".join(f"{name} in {values_of}" for name, values_of in self.sizes.items())
            raise ArgumentError(f"the network has no sizes for the shapes {shapes}; {open_sizes}")
        for name, size in zip(self.sizes, sizes):
            if given.get(name, size) != size:
                raise ArgumentError(f"{name} is {given[name]}, but {size} in the shapes of the inputs")
        found = []
        for i in range(len(self.outputs)):
            tensor = library.NetworkTensor()
            self._check(self._api.uk_network_value_at(self._handle, OUTPUT, i, sizes, tensor))
            found.append(tuple(tensor.shape[:tensor.rank]))
        return sizes, found

    def _arrange(self, inputs: Sequence[Any], named: Optional[Mapping[str, Any]]) -> list[np.ndarray]:
        given = dict(zip((v.name for v in self.inputs), inputs))
        if len(inputs) > len(self.inputs):
            raise ArgumentError(f"the network takes {len(self.inputs)} arrays, but {len(inputs)} were given")
        for name, value in (named or {}).items():
            names = [v.name for v in self.inputs]
            if name not in names:
                raise ArgumentError(f"the network has no input '{name}'{values.closest(name, names)}; its inputs are {', '.join(names)}")
            if name in given:
                raise ArgumentError(f"{name} is given twice")
            given[name] = value
        for v in self.inputs:
            if v.name not in given:
                raise ArgumentError(f"{v.name} is missing; pass an array")
        return [self._check_value(given[v.name], v) for v in self.inputs]

    def _results(self, out: Any, arrays: list[np.ndarray], shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
        if out is None:
            return [np.empty(shape, v.dtype) for shape, v in zip(shapes, self.outputs)]
        if len(self.outputs) == 1 and not isinstance(out, (tuple, list)):
            out = (out,)
        if not isinstance(out, (tuple, list)) or len(out) != len(self.outputs):
            raise ArgumentError(f"out must have an array for each of {', '.join(v.name for v in self.outputs)}, in this order")
        made = [np.empty(shape, v.dtype) if value is None else self._check_value(value, v, shape)
                for value, v, shape in zip(out, self.outputs, shapes)]
        for i, (a, v) in enumerate(zip(made, self.outputs)):
            if not a.flags.writeable:
                raise ArgumentError(f"{v.name} is written, but its array is read-only; pass another")
            for other, w in [*zip(arrays, self.inputs), *zip(made[:i], self.outputs)]:
                if overlap(a, other):
                    raise ArgumentError(f"{v.name} is written, but overlaps {w.name}; pass another array", OVERLAP)
        return made

    def __call__(self, *inputs: Any, out: Any = None, feed: Optional[Mapping[str, Any]] = None, **sizes: int) -> Any:
        """Runs the network on inputs in its order, or by name in `feed`. Returns the output, or a tuple of several. Arrays may have any
        strides, since they are copied into the network's memory and out of it. Open sizes that only states have are given by name: `past=7`."""
        if self._unsupported:
            raise error_of(UNSUPPORTED, self._unsupported)
        arrays = self._arrange(inputs, feed)
        at, shapes = self._solve(arrays, sizes)
        results = self._results(out, arrays, shapes)
        with self._sequence_lock:
            try:
                block = self._blocks.pop()
            except IndexError:
                block = aligned(self._memory, np.dtype(np.uint8), 64)
            try:
                self._run(block, arrays, at, results)
            finally:
                self._blocks.append(block)
        return results[0] if len(results) == 1 else tuple(results)

    def _run(self, block: np.ndarray, arrays: list[np.ndarray], sizes: Any, results: list[np.ndarray]) -> None:
        base = block.ctypes.data
        for i, (a, v) in enumerate(zip(arrays, self.inputs)):
            np.copyto(self._view(block, self._api.uk_network_input(self._handle, base, i), v, a.shape), a.view(v.dtype), casting="no")
        status = self._api.uk_network_run_sizes(self._handle, base, sizes)
        if status:
            raise error_of(status, f"{self._path}: {library.status_text(status)}")
        for i, (a, v) in enumerate(zip(results, self.outputs)):
            np.copyto(a.view(v.dtype), self._view(block, self._api.uk_network_output(self._handle, base, i), v, a.shape), casting="no")

    @staticmethod
    def _view(block: np.ndarray, address: int, v: Value, shape: tuple[int, ...]) -> np.ndarray:
        """Returns the value of that shape at an address as an array, without a copy. The address may be outside of the block, as that of a constant output."""
        dtype = np.dtype(np.uint8) if v.is_boolean else v.dtype
        count = int(np.prod(shape, dtype=np.int64))
        if count == 0:
            return np.empty(shape, v.dtype)
        memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
        return np.frombuffer(memory, dtype).reshape(shape).view(v.dtype)

    def _emit(self, what: str, constants: Optional[Pieces] = None) -> bytes:
        """constants: the file of constants that goes with an object or its header; None: it has none."""
        data, length = ctypes.c_void_p(), ctypes.c_size_t()
        given: tuple[Any, ...] = (self._handle, self._options, EMIT[what])
        if constants is None:
            emit = self._api.uk_network_emit
        else:
            emit = self._api.uk_network_emit_constants
            write = library.WRITE(lambda _, offset, at, n: constants.put(offset, memoryview((ctypes.c_ubyte * n).from_address(at)).cast("B")))
            given += ctypes.cast(write, ctypes.c_void_p), None
        with self._emit_lock:
            status = emit(*given, ctypes.byref(data), ctypes.byref(length))
            if constants:
                constants.check()
            self._check(status)
        return library.take_text(data, length.value)

    def save(self, path: Union[str, os.PathLike[str]], *, header: Union[None, str, os.PathLike[str]] = None,
             constants: Union[None, str, os.PathLike[str]] = None) -> None:
        """Writes an object (.o) or a shared object (.so), and the C header if a path for it is given.

        constants: path of a file for the network's constants. They are then not in the object, and may have more than 1 GiB: the program
            maps the file and passes it to NAME_constants, which the header declares.
        """
        if constants is None:
            save_all(self._emit, path, header)
            return
        if kind_of(pathlib.Path(path)) not in ("object", "shared"):
            raise ArgumentError(f"{os.fspath(path)}: constants are in a file of their own only for .o and .so")
        if os.path.realpath(constants) in [os.path.realpath(each) for each in (path, header) if each is not None]:
            raise ArgumentError(f"{os.fspath(constants)} is given for the constants and for the code; pass different files")
        with Pieces(pathlib.Path(constants)) as file:
            save_all(lambda what: self._emit(what, file), path, header)
            file.keep()

    def __repr__(self) -> str:
        return f"<ukernels network {self._path}({', '.join(v.name for v in self.inputs)})>"


def _tensor(name: str, shape: Sequence[int], kind: int = 0, elements: int = 0, size: int = 0, is_boolean: bool = False) -> library.NetworkTensor:
    if len(shape) > MOST_DIMENSIONS:
        raise ArgumentError(f"the shape of {name} has {len(shape)} dimensions; at most {MOST_DIMENSIONS} are supported")
    tensor = library.NetworkTensor(name=name.encode(), type=kind, rank=len(shape), elements=elements, bytes=size, is_boolean=is_boolean)
    tensor.shape[:len(shape)] = [values.integer(f"an extent of {name}", extent, 0, 2**63 - 1, "0 to 2^63 - 1") for extent in shape]
    return tensor


def _range(name: str, each: range) -> library.NetworkSize:
    if len(each) < 2 or each.step < 0 or each[0] < 0:
        raise ArgumentError(f"size {name} has the {each}; a range has two values or more, which increase from 0 or more")
    if each[0] % each.step:
        raise ArgumentError(f"size {name} has the {each}; it must begin at a multiple of its step {each.step}")
    return library.NetworkSize(name=name.encode(), lower=each[0], upper=each[-1], step=each.step)


def _kind(a: np.ndarray, name: str) -> int:
    """Returns the enum uk_type of a constant's elements: u16 for uint16, which an input of bf16 takes as well."""
    for kind, dtype in enumerate(DTYPES):
        if dtype == (np.uint8 if a.dtype == np.bool_ else a.dtype) and kind != BF16:
            return kind
    raise ArrayTypeError(f"{name} is {a.dtype}; one of bool, {', '.join(map(str, DTYPES))} is required (use {name}.astype())")


def network(path: Union[str, os.PathLike[str]], *, shapes: Optional[Mapping[str, Sequence[int]]] = None, sizes: Optional[Mapping[str, Union[int, range]]] = None,
            constants: Optional[Mapping[str, Any]] = None, states: Union[None, str, Mapping[str, str]] = None, name: Optional[str] = None,
            schedule: Optional[str] = None, target: str = "native", threads: int = 1) -> Network:
    """Reads and compiles a network.

    shapes, sizes: shapes of inputs and extents of named dimensions, by name, if the file leaves them open. A range, as
        range(1, 513), leaves a dimension open: the network then takes arrays of any shapes with such an extent.
    constants: arrays for inputs on which shapes depend, by name; these are no longer inputs.
    states: outputs that are inputs with rows appended or replaced, as {"past": "present"}, or "auto" for those whose names exporters pair.
        They stay in the network's memory, where state() finds them, and are no longer inputs and outputs.
    name: prefix of the names of the functions that save() writes; default: made of the file's name.
    schedule: schedules of layers, the text that tune() returns for a network.
    target, threads: as for compile().
    """
    return Network(path, shapes=values.mapping("shapes", shapes, "{'x': (1, 3)}"), sizes=values.mapping("sizes", sizes, "{'seq': range(1, 9)}"),
                   constants=values.mapping("constants", constants, "{'shape': array}"),
                   states="auto" if states == "auto" else values.mapping("states", states, "{'past': 'present'}, or 'auto'"),
                   name=name, schedule=schedule, target=target, threads=threads)
