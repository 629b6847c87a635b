# SPDX-License-Identifier: Apache-2.0
"""Finds and loads the C libraries, and declares the prototypes of the functions that are called. Calls release the GIL.

The libraries are taken from the first of these places:

- the installation that the environment variable UK_PREFIX names (a folder with `bin` and `lib`, such as build/stage);
- the folder where they were installed with this package;
- the loader's paths, unless UK_PREFIX is set.

Each is loaded at its first use, so that matrix products need no LLVM.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import pathlib
import shutil
import threading
from ctypes import POINTER, c_bool, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Iterator, Optional

from .errors import OutOfMemoryError, UnsupportedError, error_of

try:
    about: Any = importlib.import_module(f"{__package__}.about")  # the build writes it
except ImportError:
    about = None

SOVERSION: str = about.SOVERSION if about else ""
HERE = pathlib.Path(__file__).resolve().parent
# Types of pointers to results.
VOID_OUT, TEXT_OUT, LENGTH_OUT = POINTER(c_void_p), POINTER(c_void_p), POINTER(c_size_t)
# uk_network_write: takes bytes of a file, by offset, address and length.
WRITE = ctypes.CFUNCTYPE(c_bool, c_void_p, c_uint64, c_void_p, c_size_t)


class Options(ctypes.Structure):
    """struct uk_options"""

    _fields_ = [("target", c_char_p), ("require_kernels", c_bool), ("all_candidates", c_bool), ("threads", c_int),
                ("workspace_argument", c_bool), ("interpret", c_bool), ("plain_loops", c_bool)]


class VerifyOptions(ctypes.Structure):
    """struct uk_verify_options"""

    _fields_ = [("target", c_char_p), ("seed", c_uint64), ("cases", c_int), ("seconds", c_int), ("runner", c_void_p)]


class GemmPlan(ctypes.Structure):
    """struct uk_gemm_plan. It needs an address that is a multiple of 16, which every large ctypes object has."""

    _fields_ = [("opaque", ctypes.c_ubyte * 1280)]


class GemmOptions(ctypes.Structure):
    """struct uk_gemm_options"""

    _fields_ = [("threads", c_int), ("pool", c_void_p), ("a_packed", c_bool), ("b_packed", c_bool), ("machine", c_char_p), ("c_element", c_int),
                ("f16_sums", c_bool)]


class ByteEpilogue(ctypes.Structure):
    """struct uk_igemm_epilogue"""

    _fields_ = [("flags", ctypes.c_uint), ("scale", c_float), ("low", c_double), ("high", c_double), ("row_bias", c_void_p), ("column_bias", c_void_p),
                ("column_scale", c_void_p), ("column_zero", c_void_p), ("a_zero", c_int32), ("b_zero", c_int32), ("c_zero", c_int32)]


class NetworkTensor(ctypes.Structure):
    """struct uk_network_tensor"""

    _fields_ = [("name", c_char_p), ("type", c_int), ("rank", c_int), ("shape", c_int64 * 8), ("elements", c_size_t),
                ("bytes", c_size_t), ("is_boolean", c_bool)]


class NetworkOptions(ctypes.Structure):
    """struct uk_network_options"""

    _fields_ = [("shapes", POINTER(NetworkTensor)), ("shape_count", c_int), ("size_names", POINTER(c_char_p)),
                ("size_values", POINTER(c_int64)), ("size_count", c_int), ("constants", POINTER(NetworkTensor)),
                ("constant_data", POINTER(c_void_p)), ("constant_count", c_int), ("name", c_char_p),
                ("state_inputs", POINTER(c_char_p)), ("state_outputs", POINTER(c_char_p)), ("state_count", c_int), ("find_states", c_bool)]


class NetworkSize(ctypes.Structure):
    """struct uk_network_size"""

    _fields_ = [("name", c_char_p), ("lower", c_int64), ("upper", c_int64), ("step", c_int64)]


class NetworkState(ctypes.Structure):
    """struct uk_network_state"""

    _fields_ = [("input", NetworkTensor), ("output", NetworkTensor), ("capacity", c_int64 * 8), ("bytes", c_size_t), ("axis", c_int)]


def epilogue_type(real: Any, *more: str) -> Any:
    """Returns struct uk_sgemm_epilogue or uk_dgemm_epilogue."""
    fields = [("flags", ctypes.c_uint), ("scale", real), ("low", real), ("high", real)]
    fields += [(name, c_void_p) for name in ("row_bias", "column_bias", *more)]
    return type("Epilogue", (ctypes.Structure,), {"_fields_": fields})


EPILOGUES = {"s": epilogue_type(c_float, "residual"), "d": epilogue_type(c_double)}
EPILOGUES["b"] = EPILOGUES["h"] = EPILOGUES["s"]
_SHAPE = [c_int, c_int, c_int, c_int64, c_int64, c_int64]


def _byte_products(letter: str) -> dict[str, tuple[Any, list[Any]]]:
    return {
        f"uk_{letter}gemm": (c_int, [*_SHAPE, c_void_p, c_int64, c_void_p, c_int64, c_int32, c_void_p, c_int64]),
        f"uk_{letter}gemm_plan": (c_int, [POINTER(GemmPlan), *_SHAPE, c_int64, c_int64, c_int64, POINTER(GemmOptions)]),
        f"uk_{letter}gemm_run": (c_int, [POINTER(GemmPlan), c_void_p, c_void_p, c_int32, c_void_p, POINTER(ByteEpilogue), c_void_p]),
    }


def _products(letter: str, real: Any) -> dict[str, tuple[Any, list[Any]]]:
    operands = [real, c_void_p, c_int64, c_void_p, c_int64, real, c_void_p, c_int64]
    return {
        f"uk_{letter}gemm": (c_int, [*_SHAPE, *operands]),
        f"uk_{letter}gemm_plan": (c_int, [POINTER(GemmPlan), *_SHAPE, c_int64, c_int64, c_int64, POINTER(GemmOptions)]),
        f"uk_{letter}gemm_run": (c_int, [POINTER(GemmPlan), real, c_void_p, c_void_p, real, c_void_p, POINTER(EPILOGUES[letter]), c_void_p]),
    }


_KERNEL = [c_void_p]
PROTOTYPES: dict[str, dict[str, tuple[Any, list[Any]]]] = {
    "ukernels": {
        "uk_status_text": (c_char_p, [c_int]),
        "uk_last_message": (c_char_p, []),
        "uk_version": (c_char_p, []),
        "uk_num_threads": (c_int, []),
        "uk_set_num_threads": (c_int, [c_int]),
        "uk_cpu_status": (c_int, [POINTER(c_char_p)]),
        "uk_kernel_count": (c_int, []),
        "uk_kernel_at": (c_void_p, [c_int]),
        "uk_kernel_find": (c_void_p, [c_char_p]),
        **{f"uk_kernel_{what}": (c_char_p, _KERNEL) for what in ("symbol", "op", "isa", "impl", "arch", "features", "parameters")},
        **{f"uk_kernel_{what}": (c_int, _KERNEL) for what in ("mr", "nr", "kr")},
        "uk_kernel_runs_here": (c_bool, _KERNEL),
        "uk_kernel_declaration": (c_size_t, [c_void_p, c_char_p, c_size_t]),
        **_products("s", c_float),
        **_products("d", c_double),
        **_products("b", c_float),
        **_products("h", c_float),
        **_byte_products("i"),
        **_byte_products("i8"),
        **_byte_products("u8"),
    },
    "uktensorize": {
        "uk_tensorize_version": (c_char_p, []),
        "uk_context_create": (c_void_p, []),
        "uk_context_destroy": (None, [c_void_p]),
        "uk_context_message": (c_char_p, [c_void_p]),
        "uk_context_notes": (c_char_p, [c_void_p]),
        "uk_text_free": (None, [c_void_p]),
        "uk_program_parse": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t, VOID_OUT]),
        "uk_program_schedule": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t]),
        "uk_program_destroy": (None, [c_void_p]),
        "uk_program_print": (c_int, [c_void_p, TEXT_OUT]),
        "uk_program_name": (c_char_p, [c_void_p]),
        "uk_program_define": (c_int, [c_void_p, c_char_p, c_int64]),
        **{f"uk_program_{what}": (c_int, [c_void_p]) for what in ("sizes", "scalars", "tensors")},
        **{f"uk_program_{what}_name": (c_char_p, [c_void_p, c_int]) for what in ("size", "scalar", "tensor")},
        **{f"uk_program_{what}": (c_int, [c_void_p, c_int])
           for what in ("scalar_type", "tensor_type", "tensor_dims", "tensor_alignment")},
        **{f"uk_program_tensor_{what}": (c_bool, [c_void_p, c_int]) for what in ("written", "read", "constant")},
        "uk_program_tensor_elements": (c_int64, [c_void_p, c_int, c_void_p]),
        **{f"uk_program_tensor_{what}": (c_int64, [c_void_p, c_int, c_int, c_void_p]) for what in ("extent", "stride")},
        "uk_program_solve_sizes": (c_int, [c_void_p, VOID_OUT, VOID_OUT, c_void_p]),
        "uk_program_check_sizes": (c_int, [c_void_p, POINTER(Options), c_void_p]),
        "uk_compile": (c_int, [c_void_p, POINTER(Options), VOID_OUT]),
        "uk_module_destroy": (None, [c_void_p]),
        "uk_module_call": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
        "uk_module_kernel": (c_char_p, [c_void_p, c_int]),
        "uk_module_packed_bytes": (c_int64, [c_void_p, c_void_p, c_int]),
        "uk_module_pack": (c_int, [c_void_p, c_void_p, c_int, c_void_p, c_void_p]),
        "uk_emit": (c_int, [c_void_p, POINTER(Options), c_int, TEXT_OUT, LENGTH_OUT]),
        "uk_explain": (c_int, [c_void_p, POINTER(Options), TEXT_OUT]),
        "uk_target_runs": (c_int, [c_void_p, c_char_p]),
        "uk_verify": (c_int, [c_void_p, POINTER(VerifyOptions), TEXT_OUT]),
        "uk_verify_kernel": (c_int, [c_void_p, c_void_p, POINTER(VerifyOptions), TEXT_OUT]),
    },
    "uknetworks": {
        "uk_network_create": (c_void_p, []),
        "uk_network_destroy": (None, [c_void_p]),
        "uk_network_message": (c_char_p, [c_void_p]),
        "uk_network_read_file": (c_int, [c_void_p, c_char_p, POINTER(NetworkOptions)]),
        "uk_network_value": (POINTER(NetworkTensor), [c_void_p, c_int, c_int]),
        "uk_network_name": (c_char_p, [c_void_p]),
        "uk_network_schedule": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_int)]),
        "uk_network_compile": (c_int, [c_void_p, POINTER(Options)]),
        "uk_network_emit": (c_int, [c_void_p, POINTER(Options), c_int, TEXT_OUT, LENGTH_OUT]),
        "uk_network_emit_constants": (c_int, [c_void_p, POINTER(Options), c_int, c_void_p, c_void_p, TEXT_OUT, LENGTH_OUT]),
        "uk_network_memory": (c_size_t, [c_void_p]),
        **{f"uk_network_{what}": (c_void_p, [c_void_p, c_void_p, c_int]) for what in ("input", "output", "state_place")},
        "uk_network_state": (POINTER(NetworkState), [c_void_p, c_int]),
        "uk_network_range": (c_int, [c_void_p, POINTER(NetworkSize)]),
        "uk_network_size": (POINTER(NetworkSize), [c_void_p, c_int]),
        "uk_network_solve_sizes": (c_int, [c_void_p, POINTER(POINTER(c_int64)), POINTER(c_int64)]),
        "uk_network_value_at": (c_int, [c_void_p, c_int, c_int, POINTER(c_int64), POINTER(NetworkTensor)]),
        "uk_network_run_sizes": (c_int, [c_void_p, c_void_p, POINTER(c_int64)]),
    },
}
# Each library needs those before it.
ORDER = ("ukernels", "uktensorize", "uknetworks")


def prefix() -> Optional[pathlib.Path]:
    """Returns the installation that UK_PREFIX names, or None."""
    given = os.environ.get("UK_PREFIX")
    return pathlib.Path(given) if given else None


def folders() -> Iterator[pathlib.Path]:
    """Yields the folders where the libraries may be, in order of preference."""
    given = prefix()
    if given:
        yield given / "lib"
        yield from sorted((given / "lib").glob("*-linux-gnu*"))
        return
    if about:
        yield HERE / about.LIBRARIES
    yield HERE.parent / ".ukernels.mesonpy.libs"


def path_of(name: str) -> str:
    """Returns the path of the library's file, or its name alone, for the loader to find, if no folder has it."""
    file = f"lib{name}.so" + (f".{SOVERSION}" if SOVERSION else "")
    for folder in folders():
        if (folder / file).exists():
            return str(folder / file)
    if prefix():
        raise UnsupportedError(f"UK_PREFIX is {prefix()}, which has no lib/{file}; set it to an installation, or to build/stage")
    return file


def installed_program() -> Optional[str]:
    """Returns the path of the program uk of the same installation, or None."""
    given = prefix()
    place = given / "bin" / "uk" if given else HERE / about.PROGRAM if about else None
    return str(place) if place and place.exists() else None


def program() -> str:
    """Returns the path of the program uk: of the same installation, else, unless UK_PREFIX is set, on the PATH."""
    found = installed_program() or (None if prefix() else shutil.which("uk"))
    if not found:
        raise UnsupportedError("the command uk was not found; install it, or set UK_PREFIX to its installation")
    return found


_lock = threading.RLock()


@functools.lru_cache(maxsize=None)
def load(name: str) -> Any:
    """Loads a library after those that it needs, and sets the prototypes of its functions."""
    with _lock:
        before = ORDER.index(name)
        if before:
            load(ORDER[before - 1])
        path = path_of(name)
        try:
            library = ctypes.CDLL(path)
        except OSError as failure:
            raise UnsupportedError(f"lib{name} cannot be loaded: {failure}; install it, or set UK_PREFIX to its installation") from None
        for function, (result, arguments) in PROTOTYPES[name].items():
            try:
                found = getattr(library, function)
            except AttributeError:
                raise UnsupportedError(f"{path} has no {function}, as it is older than this package; reinstall both") from None
            found.restype, found.argtypes = result, arguments
        return library


def kernels() -> Any:
    """Returns libukernels."""
    return load("ukernels")


def tensorize() -> Any:
    """Returns libuktensorize."""
    return load("uktensorize")


def networks() -> Any:
    """Returns libuknetworks."""
    return load("uknetworks")


def status_text(status: int) -> str:
    """Returns the library's text for a status."""
    text: bytes = kernels().uk_status_text(status)
    return text.decode()


def last_message(status: int) -> str:
    """Returns what was wrong with this thread's last product, which returned the status; the status's text if it was no argument."""
    text: bytes = kernels().uk_last_message()
    return text.decode() or status_text(status)


def take_text(pointer: c_void_p, length: Optional[int] = None) -> bytes:
    """Returns a text of the library as bytes, and frees the library's copy. length: None if it is terminated by 0."""
    try:
        return ctypes.string_at(pointer.value or 0, -1 if length is None else length)
    finally:
        tensorize().uk_text_free(pointer)


class Context:
    """A context of libuktensorize. One thread at a time may use it: the one that holds `lock`."""

    def __init__(self) -> None:
        self.api = tensorize()
        self.lock = threading.Lock()
        self.handle = self.api.uk_context_create()
        if not self.handle:
            raise OutOfMemoryError("out of memory for a context")

    def check(self, status: int) -> None:
        """Raises an exception with the context's message unless the status is UK_OK. The caller holds the lock."""
        if status:
            message: bytes = self.api.uk_context_message(self.handle)
            raise error_of(status, message.decode(errors="replace") or status_text(status))

    def close(self) -> None:
        """Frees the context."""
        self.api.uk_context_destroy(self.handle)
