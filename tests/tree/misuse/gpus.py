# SPDX-License-Identifier: Apache-2.0
"""The functions of gpu.h on the simulator: good arguments of each, and bad ones that are harmless."""

import ctypes

from calls import label
import programs

ADD = b"tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = X[i] + X[i]\n"
FUNCTIONS = ("open", "close", "name", "alloc", "free", "upload", "download", "fill", "load", "unload", "find", "launch", "wait", "event_make", "event_free",
             "record", "seconds")
UK_EMIT_LOOPS, UK_EMIT_DEVICE = 1, 9


class Driver(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p)] + [(name, ctypes.c_void_p) for name in FUNCTIONS]


class World:
    image = None  # image of a program, shared by all cases

    def __init__(self, api):
        self.api, self.kept = api, []
        gpu, why = ctypes.c_void_p(), ctypes.create_string_buffer(512)
        if api.uk_gpu_open(b"sim", 0, ctypes.byref(gpu), why):
            raise SystemExit(why.value.decode())
        self.gpu = gpu.value
        if not World.image:
            World.image = self.emit()

    def emit(self):
        made = programs.World(self.api.tensorize, ADD)
        text, length = ctypes.c_void_p(), ctypes.c_size_t()
        if self.api.tensorize.uk_emit(made.p, made.options(target=b"amdgcn-gfx906"), UK_EMIT_DEVICE, ctypes.byref(text), ctypes.byref(length)):
            raise SystemExit(made.message())
        return ctypes.string_at(text.value, length.value)

    def message(self):
        return self.api.uk_gpu_message(self.gpu).decode(errors="replace")

    def keep(self, value):
        self.kept.append(value)
        return ctypes.cast(ctypes.byref(value), ctypes.c_void_p).value

    def out(self):
        return self.keep(ctypes.c_uint64())

    def made(self, function, *arguments):
        """Returns the result that the function stores through its last argument."""
        made = ctypes.c_uint64()
        if function(self.gpu, *arguments, ctypes.byref(made)):
            raise SystemExit(self.message())
        return made.value

    def address(self):
        return self.made(self.api.uk_gpu_alloc, 256)

    def bytes(self):
        return self.keep(ctypes.create_string_buffer(256))

    def code(self):
        return self.keep(ctypes.create_string_buffer(self.image, len(self.image)))

    def module(self):
        return self.made(self.api.uk_gpu_load, self.code(), len(self.image))

    def kernel(self):
        return self.made(self.api.uk_gpu_find, self.module(), b"good_Y_0")

    def event(self):
        event = self.made(self.api.uk_gpu_event_make)
        self.api.uk_gpu_record(self.gpu, event)
        return event

    def shape(self, *numbers):
        return self.keep((ctypes.c_int64 * 3)(*numbers))

    def driver(self, kind=b"another", lacks=None):
        return self.keep(Driver(kind, *(0 if name == lacks else 4096 for name in FUNCTIONS)))

    def bad(self, kind):
        if kind == "const int64_t *":
            return [None] + [(str(n), self.shape(n, 1, 1)) for n in (-1, -2**63, 2**63 - 1)]
        if kind == "const struct uk_gpu_driver *":
            return ([None, ("no kind", self.driver(kind=None)), ("an empty kind", self.driver(kind=b"")), ("hip", self.driver(kind=b"hip"))]
                    + [(f"no {name}", self.driver(lacks=name)) for name in FUNCTIONS])
        return [None]


GOOD = {
    "uk_gpu_open": lambda w: (b"sim", 0, w.out(), w.keep(ctypes.create_string_buffer(512))),
    "uk_gpu_close": lambda w: (w.gpu,),
    "uk_gpu_kind": lambda w: (w.gpu,),
    "uk_gpu_name": lambda w: (w.gpu,),
    "uk_gpu_message": lambda w: (w.gpu,),
    "uk_gpu_alloc": lambda w: (w.gpu, 256, w.out()),
    "uk_gpu_free": lambda w: (w.gpu, w.address()),
    "uk_gpu_upload": lambda w: (w.gpu, w.address(), w.bytes(), 256),
    "uk_gpu_download": lambda w: (w.gpu, w.bytes(), w.address(), 256),
    "uk_gpu_fill": lambda w: (w.gpu, w.address(), 1, 256),
    "uk_gpu_load": lambda w: (w.gpu, w.code(), len(w.image), w.out()),
    "uk_gpu_unload": lambda w: (w.gpu, w.module()),
    "uk_gpu_find": lambda w: (w.gpu, w.module(), b"good_Y_0", w.out()),
    "uk_gpu_launch": lambda w: (w.gpu, w.kernel(), w.shape(0, 1, 1), w.shape(1, 1, 1), 0, w.bytes(), 8),
    "uk_gpu_wait": lambda w: (w.gpu,),
    "uk_gpu_event_make": lambda w: (w.gpu, w.out()),
    "uk_gpu_event_free": lambda w: (w.gpu, w.event()),
    "uk_gpu_record": lambda w: (w.gpu, w.event()),
    "uk_gpu_use": lambda w: (w.gpu, w.code(), len(w.image), b"good_Y_0", w.out()),
    "uk_gpu_workspace": lambda w: (w.gpu, 256, w.out()),
    "uk_gpu_seconds": lambda w: (w.gpu, w.event(), w.event(), w.keep(ctypes.c_double())),
    "uk_gpu_register": lambda w: (w.driver(),),
}
UNSUPPORTED = {"uk_gpu_seconds": 8}  # the simulator measures no time

# Harmless bad arguments, by function and position.
HARMLESS = {("uk_gpu_close", 0), ("uk_gpu_unload", 1), ("uk_gpu_event_free", 1), ("uk_gpu_open", 3)}
RETURNED = {"uk_gpu_kind": b"", "uk_gpu_name": b"", "uk_gpu_message": b"no device is open"}


def judge(w, name, i, value, result):
    kind = w.api.functions[name][1][i]
    if (name, i) in HARMLESS:
        return f"is listed as harmless, and has status {result}" if result else None
    if w.api.functions[name][0] != "enum uk_status":
        return None if result == RETURNED.get(name) else f"returns {result}"
    if not 1 <= result <= 11:
        return f"status {result}"
    if kind == "struct uk_gpu *" or name in ("uk_gpu_register", "uk_gpu_open"):
        return None
    text = value[0] if isinstance(value, tuple) else "null|no " if value is None else value.decode(errors="replace")[:20].strip("\ufffd")
    return None if any(word in w.message() for word in text.split("|")) else f"is not named: {w.message()}"


def call(interface, name, i=None, number=None):
    w = World(interface)
    arguments = list(GOOD[name](w))
    result, kinds = interface.functions[name]
    if i is None:
        status = getattr(interface, name)(*arguments)
        return f"status {status}: {w.message()}" if result == "enum uk_status" and status != UNSUPPORTED.get(name, 0) else None
    value = list(interface.bad(kinds[i], w))[number]
    arguments[i] = value[1] if isinstance(value, tuple) else value
    return judge(w, name, i, value, getattr(interface, name)(*arguments))


def cases(interface, name):
    yield "good arguments", lambda: call(interface, name)
    w = World(interface)
    for i, kind in enumerate(interface.functions[name][1]):
        for number, value in enumerate(interface.bad(kind, w)):
            yield f"argument {i + 1}, {kind}: {label(value)}", lambda i=i, number=number: call(interface, name, i, number)
