# SPDX-License-Identifier: Apache-2.0
"""The functions of networks.h: good arguments of each, and bad ones that are harmless."""

import ctypes
import os
import pathlib
import re
import sys
import tempfile

from calls import INT64_MIN, INT_MAX, INT_MIN, TEXTS, is_named, label, left
from programs import Options

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "networks"))
from onnx_writer import model, node, npy, value  # pylint: disable=wrong-import-position

STATEFUL = model([node("Concat", ["past", "x"], ["present"], axis=0)], [value("past", ["N", 4]), value("x", [1, 4])], [value("present", ["M", 4])])
MODEL = model([node("Exp", ["x"], ["y"]), node("Relu", ["y"], ["z"])], [value("x", ["N", 4])], [value("z", ["N", 4])], properties={"key": "value"})
WRONG = model([node("Relu", ["none"], ["y"])])
UK_F32, UK_EMIT_OBJECT = 1, 6
WRITE = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t)
AGAIN = "a network has been read already; create another one"


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("rank", ctypes.c_int), ("shape", ctypes.c_int64 * 8), ("elements", ctypes.c_size_t),
                ("bytes", ctypes.c_size_t), ("is_boolean", ctypes.c_bool)]


class NetworkOptions(ctypes.Structure):
    _fields_ = [("shapes", ctypes.c_void_p), ("shape_count", ctypes.c_int), ("size_names", ctypes.c_void_p), ("size_values", ctypes.c_void_p),
                ("size_count", ctypes.c_int), ("constants", ctypes.c_void_p), ("constant_data", ctypes.c_void_p), ("constant_count", ctypes.c_int),
                ("name", ctypes.c_char_p), ("state_inputs", ctypes.c_void_p), ("state_outputs", ctypes.c_void_p), ("state_count", ctypes.c_int),
                ("find_states", ctypes.c_bool)]


class NetworkSize(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("lower", ctypes.c_int64), ("upper", ctypes.c_int64), ("step", ctypes.c_int64)]


class World:
    """Networks of two layers, in the state that a function needs, and a block of memory."""
    made = {}  # by state; the processes of all cases inherit copies

    def __init__(self, api):
        self.api, self.kept = api, []

    def keep(self, value):
        self.kept.append(value)
        return ctypes.cast(ctypes.byref(value), ctypes.c_void_p).value

    def keep_function(self, function):
        self.kept.append(function)
        return ctypes.cast(function, ctypes.c_void_p).value

    def out(self, of=ctypes.c_void_p):
        return self.keep(of(1))

    def options(self, **fields):
        sizes = {"size_names": self.keep((ctypes.c_char_p * 1)(b"N")), "size_values": self.keep(ctypes.c_int64(2)), "size_count": 1}
        return self.keep(NetworkOptions(**{**sizes, **fields}))

    def tensor(self, **fields):
        shape = fields.pop("shape", (2, 4))
        return self.keep(Tensor(**{"name": b"x", "type": UK_F32, "rank": 2, "shape": (ctypes.c_int64 * 8)(*shape), "elements": 8, "bytes": 32, **fields}))

    def size(self, **fields):
        return self.keep(NetworkSize(**{"name": b"N", "lower": 1, "upper": 4, "step": 1, **fields}))

    def sizes(self, *values):
        return self.keep((ctypes.c_int64 * 1)(*(values or (2,))))

    def shapes(self):
        return self.keep((ctypes.c_void_p * 1)(self.keep((ctypes.c_int64 * 2)(2, 4))))

    def memory(self):
        at = self.keep((ctypes.c_char * (4096 + 64))())
        return at + -at % 64

    def message(self, n):
        return self.api.uk_network_message(n).decode(errors="replace")

    def expect(self, n, status):
        if status:
            raise SystemExit(self.message(n))

    def new(self, *steps):
        """A network that no other case uses."""
        n = self.api.uk_network_create()
        if "open" in steps:
            self.expect(n, self.api.uk_network_range(n, self.size()))
        if "states" in steps:
            self.expect(n, self.api.uk_network_read(n, b"good", STATEFUL, len(STATEFUL), None, self.options(find_states=True)))
        elif steps:
            self.expect(n, self.api.uk_network_read(n, b"good", MODEL, len(MODEL), None, None if "open" in steps else self.options()))
        if "compiled" in steps:
            self.expect(n, self.api.uk_network_compile(n, None))
        if "for a GPU" in steps:
            self.expect(n, self.api.uk_network_compile_device(n, self.keep(Options(target=b"amdgcn-gfx906"))))
        return n

    def network(self, *steps):
        if steps not in World.made:
            World.made[steps] = self.new(*steps)
        return World.made[steps]

    def failed(self):
        n = self.new()
        self.api.uk_network_read(n, b"wrong", WRONG, len(WRONG), None, None)
        return n

    def gpu(self):
        gpu = ctypes.c_void_p()
        if self.api.kernels.uk_gpu_open(b"sim", 0, ctypes.byref(gpu), None):
            raise SystemExit("no simulator")
        return gpu.value

    def device(self):
        n, d = self.network("read", "for a GPU"), ctypes.c_void_p()
        self.expect(n, self.api.uk_network_device_create(n, self.gpu(), ctypes.byref(d)))
        return d.value

    def file(self, bytes):
        handle, name = tempfile.mkstemp(suffix=".npy" if bytes[:1] == b"\x93" else ".onnx")
        os.write(handle, bytes)
        os.close(handle)
        self.kept.append(name)
        return name.encode()

    def forget(self):
        for name in self.kept:
            if isinstance(name, str):
                os.unlink(name)

    def bad(self, kind):
        """Bad values for an argument of that type: name, value, and the message's expected content."""
        if kind == "const struct uk_network_options *":
            null, x = "NULL", self.tensor()
            data, no_names, below = self.keep((ctypes.c_void_p * 1)()), self.keep((ctypes.c_char_p * 1)()), self.keep(ctypes.c_int64(-1))
            twice, two = self.keep((ctypes.c_char_p * 2)(b"N", b"N")), self.keep((ctypes.c_int64 * 2)(2, 2))
            names = self.keep((ctypes.c_char_p * 1)(b"x")), self.keep((ctypes.c_char_p * 1)(b"z"))
            pair = lambda input, output: self.options(state_inputs=input, state_outputs=output, state_count=1)
            shape = lambda **fields: self.options(shapes=self.tensor(**fields), shape_count=1)
            return [("1 shape, NULL", self.options(shape_count=1), "1 shapes are given, or their array is NULL"),
                    ("-1 shapes", self.options(shape_count=-1, shapes=x), "-1 shapes"),
                    ("1 constant, NULL", self.options(constant_count=1), "1 constants"),
                    ("-1 constants", self.options(constant_count=-1), "-1 constants"),
                    ("1 size, NULL", self.options(size_names=None, size_values=None), null),
                    ("-1 sizes", self.options(size_count=-1), null),
                    ("a size without a name", self.options(size_names=no_names), "size 0 has no name"),
                    ("a size below 0", self.options(size_values=below), "is -1"),
                    ("a constant without data", self.options(constants=x, constant_count=1), null),
                    ("a constant at NULL", self.options(constants=x, constant_count=1, constant_data=data), "the constant given for 'x' is NULL"),
                    ("a constant without a name", self.options(constants=self.tensor(name=None), constant_count=1, constant_data=data), "constant 0 has no name"),
                    ("a shape without a name", shape(name=None), "shape 0 has no name"), ("-1 dimensions", shape(rank=-1), "-1 dimensions"),
                    ("9 dimensions", shape(rank=9), "9 dimensions"),
                    ("a name of no function", self.options(name=b"a-b"), "'a-b' is not a C identifier"), ("a reserved name", self.options(name=b"__x"), "__x_run"),
                    ("an unknown input", shape(name=b"y"), "no input 'y'"), ("a size twice", self.options(size_names=twice, size_values=two, size_count=2), "two sizes"),
                    ("1 state, NULL", self.options(state_count=1), "1 states are given, or the arrays of their names are NULL"), ("-1 states", self.options(state_count=-1), "-1 states"),
                    ("a state without a name", pair(no_names, names[1]), "a state has no name"), ("an unknown output", pair(*names[:1] * 2), "no output 'x'"),
                    ("a computed output", pair(*names), "'x' and 'z' are no state"), ("no states", self.options(find_states=True), "no output has the name"),
                    ("an extent below 0", shape(shape=(2, INT64_MIN)), f"dimension 1 = {INT64_MIN}")]
        if kind == "const struct uk_network_size *":
            return [None, *((f"{field} {number}", self.size(**{field: number}), "'N'") for field, number in
                            (("lower", -1), ("lower", 5), ("upper", 0), ("upper", INT64_MIN), ("step", 0), ("step", -1), ("step", 3))),
                    ("no name", self.size(name=None), "no name")]
        if kind == "const struct uk_options *":
            return [("unknown target", self.keep(Options(target=b"none")), "none"), ("-1 threads", self.keep(Options(threads=-1)), "-1")]
        if kind == "const struct uk_network_tensor *":
            return [None, *((f"{name} {number}", self.tensor(**{name: number}), "") for name, number in
                            (("rank", 9), ("rank", -1), ("type", -1), ("type", INT_MAX)))]
        if kind in ("const void *const *", "void *const *"):
            return [None, ("NULLs", self.keep((ctypes.c_void_p * 2)()), "null pointer")]
        if kind == "int":
            return [-1, 2, INT_MIN, INT_MAX]
        return [None] if kind.endswith("*") else []

    def networks(self, name):
        """Networks in states that the function must refuse."""
        if name in ("uk_network_read", "uk_network_read_file"):
            return [None, ("one that was read", self.network("read"), AGAIN), ("one that failed", self.failed(), AGAIN)]
        if name == "uk_network_range":
            return [None, ("one that was read", self.network("read"), "has been read already")]
        if name in ("uk_network_destroy", "uk_network_message", "uk_network_read_tensor"):
            return [None]
        bad = [None, ("one that was not read", self.new(), "no network has been read")]
        if name in COMPILED:
            bad.append(("one that was not compiled", self.new("read"), "not compiled"))
        return bad


def elements(w):
    return w.network("read"), None, w.memory(), 0, 1, w.keep(ctypes.c_int64()), w.keep(ctypes.c_float()), w.keep(ctypes.c_double())


def buffers(w):
    return w.keep((ctypes.c_void_p * 1)(w.memory()))


COMPILED = ("uk_network_run", "uk_network_run_sizes", "uk_network_run_layer", "uk_network_memory", "uk_network_device_create")
GOOD = {
    "uk_network_create": lambda w: (),
    "uk_network_destroy": lambda w: (w.new(),),
    "uk_network_message": lambda w: (w.network("read"),),
    "uk_network_progress": lambda w: (w.network("read"), w.out(ctypes.c_int)),
    "uk_network_range": lambda w: (w.new(), w.size()),
    "uk_network_size": lambda w: (w.network("read", "open"), 0),
    "uk_network_choose": lambda w: (w.new("read", "open"), w.sizes()),
    "uk_network_value_at": lambda w: (w.network("read", "open"), 0, 0, w.sizes(), w.tensor()),
    "uk_network_solve_sizes": lambda w: (w.network("read", "open"), w.shapes(), w.sizes()),
    "uk_network_run_sizes": lambda w: (w.network("read", "open", "compiled"), w.memory(), w.sizes()),
    "uk_network_read": lambda w: (w.new(), b"good", MODEL, len(MODEL), None, w.options()),
    "uk_network_read_file": lambda w: (w.new(), w.file(MODEL), w.options()),
    "uk_network_read_tensor": lambda w: (w.new(), w.file(npy([2], [1, 2])), w.tensor(), w.out()),
    "uk_network_npy": lambda w: (w.tensor(), w.memory(), w.out(ctypes.c_size_t)),
    "uk_network_value": lambda w: (w.network("read"), 0, 0),
    "uk_network_state": lambda w: (w.network("states"), 0),
    "uk_network_state_place": lambda w: (w.network("states", "compiled"), w.memory(), 0),
    "uk_network_layer": lambda w: (w.network("read"), 0),
    "uk_network_metadata": lambda w: (w.network("read"), b"key"),
    **{f"uk_network_{what}": lambda w: (w.network("read"),) for what in ("name", "memory_bound")},
    "uk_network_schedule": lambda w: (w.new("read"), b"text", b"# none\n", 7, w.out(ctypes.c_int)),
    "uk_network_compile": lambda w: (w.new("read"), None),
    "uk_network_compile_device": lambda w: (w.new("read"), w.keep(Options(target=b"amdgcn-gfx906"))),
    "uk_network_emit": lambda w: (w.network("read"), None, UK_EMIT_OBJECT, w.out(), w.out(ctypes.c_size_t)),
    "uk_network_emit_constants": lambda w: (w.network("read"), None, UK_EMIT_OBJECT, w.keep_function(WRITE(lambda *_: True)), w.memory(), w.out(), w.out(ctypes.c_size_t)),
    "uk_network_emit_steps": lambda w: (w.network("read"), None, w.keep_function(WRITE(lambda *_: True)), w.memory(), w.out(), w.out(ctypes.c_size_t)),
    "uk_network_memory": lambda w: (w.network("read", "compiled"),),
    **{f"uk_network_{what}": lambda w: (w.network("read", "compiled"), w.memory(), 0) for what in ("input", "output", "run_layer", "next_layer")},
    "uk_network_run": lambda w: (w.network("read", "compiled"), w.memory()),
    "uk_network_interpret_layer": lambda w: (w.network("read"), w.memory(), 0, w.memory()),
    "uk_network_interpret_elements": elements,
    "uk_network_layer_give": lambda w: (w.network("read"), w.memory(), 0, 0, w.memory()),
    "uk_network_layer_output": lambda w: (w.network("read"), w.memory(), 0),
    "uk_network_layer_copy": lambda w: (w.network("read"), w.memory(), 0, w.memory()),
    "uk_network_device_create": lambda w: (w.network("read", "for a GPU"), w.gpu(), w.out()),
    "uk_network_device_run": lambda w: (w.device(), buffers(w), buffers(w)),
    "uk_network_device_run_layer": lambda w: (w.device(), w.memory(), 0),
    "uk_network_device_destroy": lambda w: (w.device(),),
}

# Harmless bad values, by function and argument: names of networks and of files in messages, folders from which nothing
# is read, a text without schedules, a count that the caller does not want.
TEXT_LABELS = tuple(label(value) for value in TEXTS if value is not None)
HARMLESS = {("uk_network_destroy", 0): ("NULL",), ("uk_network_device_destroy", 0): ("NULL",), ("uk_network_read", 1): TEXT_LABELS,
            ("uk_network_read", 4): ("NULL", *TEXT_LABELS), ("uk_network_schedule", 1): TEXT_LABELS, ("uk_network_schedule", 2): ("b''",),
            ("uk_network_schedule", 4): ("NULL",), ("uk_network_next_layer", 2): ("-1",), ("uk_network_emit_constants", 4): ("NULL",),
            ("uk_network_emit_steps", 2): ("NULL",), ("uk_network_emit_steps", 3): ("NULL",)}
# Pattern in the message instead of the value.
CUES = {("uk_network_schedule", 2): "expected 'layer'", ("uk_network_read_file", 1): "No such file|NULL|too long", ("uk_network_read_tensor", 1): "No such file|NULL|too long"}
RETURNED = {"uk_network_message": b"", "uk_network_name": b"", "uk_network_next_layer": -1}


def judge(w, name, i, arguments, value, result):
    returned, kinds = w.api.functions[name]
    if label(value) in HARMLESS.get((name, i), ()):
        return f"is listed as harmless, and has status {result}" if returned == "enum uk_status" and result else None
    if returned != "enum uk_status":
        expected = RETURNED.get(name, 0 if returned == "size_t" else None)
        return None if returned == "void" or result == expected else f"returns {result}"
    if not 1 <= result <= 11:
        return f"status {result}"
    message = w.message(arguments[0] if "device *" not in kinds[0] else w.network("read", "for a GPU"))
    if kinds[0].startswith("const") or arguments[0] is None:  # no object to keep the message
        return None
    is_said = is_named(value, message) or re.search(CUES.get((name, i), "no memory" if value is None else "^$"), message)
    return left(kinds, arguments) if is_said else f"is not named: status {result}: {message}"


def bad_values(w, interface, name, i):
    kinds = interface.functions[name][1]
    if kinds[i] in ("struct uk_network *", "const struct uk_network *"):
        return w.networks(name)
    return interface.bad(kinds[i], w) if kinds[i] != "int" else w.bad("int")


def call(interface, name, i=None, number=None):
    w = World(interface)
    arguments = list(GOOD[name](w))
    returned, kinds = interface.functions[name]
    value = None
    if i is not None:
        value = list(bad_values(w, interface, name, i))[number]
        arguments[i] = value[1] if isinstance(value, tuple) else value
        if kinds[i + 1:i + 2] == ["size_t"] and isinstance(value, bytes):
            arguments[i + 1] = len(value)
    result = getattr(interface, name)(*arguments)
    w.forget()
    if i is not None:
        return judge(w, name, i, arguments, value, result)
    return f"status {result}: {w.message(arguments[0])}" if returned == "enum uk_status" and result else None


def cases(interface, name):
    for steps in (("read",), ("read", "compiled"), ("read", "for a GPU")):
        World(interface).network(*steps)
    yield "good arguments", lambda: call(interface, name)
    w = World(interface)
    for i, kind in enumerate(interface.functions[name][1]):
        for number, value in enumerate(bad_values(w, interface, name, i)):
            yield f"argument {i + 1}, {kind}: {label(value)}", lambda i=i, number=number: call(interface, name, i, number)
