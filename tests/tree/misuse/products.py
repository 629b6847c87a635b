# SPDX-License-Identifier: Apache-2.0
"""The functions of ukernels.h: good arguments of each, and bad ones that are harmless."""

import ctypes

from calls import INT64_MAX, INT_MIN, label

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
nothing = TASK(lambda context, index, thread: None)


class GemmOptions(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int), ("pool", ctypes.c_void_p), ("a_packed", ctypes.c_bool), ("b_packed", ctypes.c_bool), ("machine", ctypes.c_char_p), ("c_element", ctypes.c_int), ("f16_sums", ctypes.c_bool)]


class Conv2d(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("n h w c o r s stride_h stride_w dilation_h dilation_w pad_top pad_bottom pad_left pad_right groups").split()]
    _fields_ += [("layout", ctypes.c_int), ("filter", ctypes.c_int), ("strides", ctypes.c_int64 * 8)]


class Conv2dOptions(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int), ("pool", ctypes.c_void_p), ("weights_packed", ctypes.c_bool), ("machine", ctypes.c_char_p)]


class WeightsOptions(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int), ("pool", ctypes.c_void_p), ("sums", ctypes.c_int), ("scale", ctypes.c_int), ("has_zeros", ctypes.c_bool), ("is_bf16", ctypes.c_bool)]


class Weights(ctypes.Structure):
    _fields_ = [("weight", ctypes.c_void_p), ("scale", ctypes.c_void_p), ("zero", ctypes.c_void_p), ("steps", ctypes.c_int64 * 6), ("nibbles", ctypes.c_int), ("zero_nibbles", ctypes.c_bool)]


# The letters of a function of products, "s" of uk_sgemm_run, and the elements of its C.
ELEMENTS = {"s": ctypes.c_float, "d": ctypes.c_double, "i": ctypes.c_int32, "i8": ctypes.c_int32, "u8": ctypes.c_int32, "b": ctypes.c_float, "h": ctypes.c_uint16}
BYTES, FLOATS = ("i", "i8", "u8"), ("s", "d", "b", "h")


def letters_of(name):
    """Returns the letters of a function of products; "s" for all others."""
    letters = name.removeprefix("uk_").split("gemm")[0]
    return letters if letters in ELEMENTS else "s"


class World:
    """Matrices of 4 x 4, and plans for their product."""

    def __init__(self, api, letter):
        self.api, self.kept, self.letter, self.element = api, [], letter, ELEMENTS[letter]

    def keep(self, value):
        self.kept.append(value)
        return ctypes.cast(ctypes.byref(value), ctypes.c_void_p).value

    def matrix(self):
        return self.keep((self.element * 64)())

    def matrices(self):
        return self.keep((ctypes.c_void_p * 2)(self.matrix(), self.matrix()))

    def text(self):
        return self.keep(ctypes.create_string_buffer(64))

    def numbers(self, count=256):
        return self.keep((ctypes.c_float * count)())

    def weights(self):
        return self.keep(Weights(weight=self.numbers(), scale=self.numbers()))

    def weights_plan(self, bits, packed=None):
        """A plan for 4 x 32 times 32 x 4; packs weights if asked."""
        plan = self.keep((ctypes.c_char * (512 + 64))()) + 63 & ~63
        status = getattr(self.api, f"uk_w{bits}gemm_plan")(plan, 4, 4, 32, 32, 32, 4, None)
        if not status and packed:
            status = getattr(self.api, f"uk_w{bits}gemm_pack")(plan, self.weights(), packed)
        if status:
            raise SystemExit(f"no plan of weights: status {status}")
        return plan

    def weights_run(self, bits):
        packed = self.numbers(1024)
        return self.weights_plan(bits, packed), self.numbers(), packed, 1, self.numbers(), self.keep((ctypes.c_double * 6)()), None

    def plan(self, letter=None, **options):
        plan = self.keep((ctypes.c_char * (1280 + 64))()) + 63 & ~63
        made = getattr(self.api, f"uk_{letter or self.letter}gemm_plan")(plan, 0, 0, 0, 4, 4, 4, 4, 4, 4, self.keep(GemmOptions(**options)))
        if made:
            raise SystemExit(f"no plan: status {made}")
        return plan

    def shape(self, **fields):
        good = {"n": 1, "h": 2, "w": 2, "c": 2, "o": 2, "r": 1, "s": 1, "stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1, "groups": 1}
        return self.keep(Conv2d(**{**good, **fields}))

    def convolution(self, packed=False):
        plan = self.keep((ctypes.c_char * (1024 + 64))()) + 63 & ~63
        made = self.api.uk_sconv2d_plan(plan, self.shape(), self.keep(Conv2dOptions(weights_packed=packed)))
        if made:
            raise SystemExit(f"no plan of a convolution: status {made}")
        return plan

    def bad(self, kind):
        if kind == "const struct uk_conv2d_plan *":
            return [None, ("one that is not made", self.keep((ctypes.c_char * (1024 + 64))()) + 63 & ~63)]
        if kind == "const struct uk_conv2d *":
            return [None] + [(f"{name} = {n}", self.shape(**{name: n})) for name, _ in Conv2d._fields_[:18] for n in (-1, INT_MIN if name in ("layout", "filter") else INT64_MAX)]
        if kind == "const struct uk_conv2d_options *":
            return [(str(n) + " threads", self.keep(Conv2dOptions(threads=n))) for n in (-1, INT_MIN)] + [("a CPU of no core", self.keep(Conv2dOptions(machine=b"none")))]
        if kind == "const struct uk_gemm_plan *":
            zero = self.keep((ctypes.c_char * (1280 + 64))()) + 63 & ~63
            return [None, ("one that is not made", zero), ("one of the other type", self.plan("d" if self.letter == "s" else "s"))]
        if kind == "const struct uk_gemm_options *":
            return [(str(n) + " threads", self.keep(GemmOptions(threads=n))) for n in (-1, INT_MIN)] + [("C of no type", self.keep(GemmOptions(c_element=99)))]
        if kind.endswith("gemm_epilogue *"):
            return [None, ("an unknown flag", self.keep((ctypes.c_uint * 24)(4))), ("a bias beside an unknown flag", self.keep((ctypes.c_uint * 24)(8, *[1] * 23)))]
        if kind.endswith("*const *"):
            return [None, ("NULLs", self.keep((ctypes.c_void_p * 2)()))]
        return [None]


def product(w):
    return 0, 0, 0, 4, 4, 4, 1, w.matrix(), 4, w.matrix(), 4, 1, w.matrix(), 4


def batch(w):
    return 0, 0, 0, 4, 4, 4, 1, w.matrices(), 4, w.matrices(), 4, 1, w.matrices(), 4, 2


def strided(w):
    return 0, 0, 0, 4, 4, 4, 1, w.matrix(), 4, 16, w.matrix(), 4, 16, 1, w.matrix(), 4, 16, 2


# Products of bytes have no alpha.
def bytes_product(w):
    return 0, 0, 0, 4, 4, 4, w.matrix(), 4, w.matrix(), 4, 1, w.matrix(), 4


def bytes_batch(w):
    return 0, 0, 0, 4, 4, 4, w.matrices(), 4, w.matrices(), 4, 1, w.matrices(), 4, 2


def bytes_strided(w):
    return 0, 0, 0, 4, 4, 4, w.matrix(), 4, 16, w.matrix(), 4, 16, 1, w.matrix(), 4, 16, 2


def bytes_run(w):
    return w.plan(), w.matrix(), w.matrix(), 1, w.matrix(), w.keep((ctypes.c_double * 12)()), None


def planned(w):
    return w.keep((ctypes.c_char * 1280)()), 0, 0, 0, 4, 4, 4, 4, 4, 4, w.keep(GemmOptions())


def run(w):
    return w.plan(), 1, w.matrix(), w.matrix(), 1, w.matrix(), w.keep((ctypes.c_double * 6)()), None


OF_TYPES = {"": product, "_batch": batch, "_batch_strided": strided, "_plan": planned, "_run": run,
            "_pack_a": lambda w: (w.plan(a_packed=True), w.matrix(), w.matrix()), "_pack_b": lambda w: (w.plan(b_packed=True), w.matrix(), w.matrix())}
FIELDS = {"symbol": None, "op": None, "isa": None, "impl": None, "arch": None, "features": None, "cores": None, "parameters": None, "function": None,
          "mr": 0, "nr": 0, "kr": 0, "row_step": 0, "column_step": 0, "fma": 0, "loads": 0, "other": 0, "scope": 0, "state": 0}
GOOD = {
    **{f"uk_{letter}gemm{rest}": arguments for letter in FLOATS for rest, arguments in OF_TYPES.items()},
    **{f"uk_{letter}gemm{rest}": {"": bytes_product, "_batch": bytes_batch, "_batch_strided": bytes_strided, "_run": bytes_run}.get(rest, arguments)
       for letter in BYTES for rest, arguments in OF_TYPES.items()},
    "uk_status_text": lambda w: (0,),
    "uk_last_message": lambda w: (),
    "uk_version": lambda w: (),
    "uk_kernel_count": lambda w: (),
    "uk_kernel_at": lambda w: (0,),
    **{f"uk_kernel_{field}": lambda w: (w.api.uk_kernel_find(b"uk_sgemm_4x8_generic_c"),) for field in FIELDS},
    "uk_kernel_space": lambda w: (w.api.uk_kernel_find(b"uk_sgemm_4x8_generic_c"), 0),
    "uk_kernel_find": lambda w: (b"uk_sgemm_4x8_generic_c",),
    "uk_kernel_runs_here": lambda w: (w.api.uk_kernel_find(b"uk_sgemm_4x8_generic_c"),),
    "uk_kernel_declaration": lambda w: (w.api.uk_kernel_find(b"uk_sgemm_4x8_generic_c"), w.text(), 64),
    "uk_cpu_has": lambda w: (b"sse2",),
    "uk_cpu_lacks": lambda w: (b"none,", w.text(), 64),
    "uk_cpu_status": lambda w: (w.keep(ctypes.c_char_p()),),
    "uk_state_load": lambda w: (0,),
    "uk_state_release": lambda w: (0,),
    "uk_num_threads": lambda w: (),
    "uk_set_num_threads": lambda w: (1,),
    "uk_parallel_for": lambda w: (ctypes.cast(nothing, ctypes.c_void_p), None, 2),
    "uk_release_memory": lambda w: (),
    **{f"uk_gemm_{what}": lambda w: (w.plan(),) for what in ("workspace", "packed_a_size", "packed_b_size")},
    "uk_gemm_explain": lambda w: (w.plan(), w.text(), 64),
    "uk_sconv2d_plan": lambda w: (w.keep((ctypes.c_char * 1024)()), w.shape(), w.keep(Conv2dOptions())),
    "uk_sconv2d_pack_weights": lambda w: (w.convolution(True), w.matrix(), w.keep((ctypes.c_float * 256)())),
    "uk_sconv2d_run": lambda w: (w.convolution(), w.matrix(), w.matrix(), w.matrix(), w.keep((ctypes.c_double * 6)()), None, 0),
    **{f"uk_conv2d_{what}": lambda w: (w.convolution(),) for what in ("workspace", "packed_weights_size")},
    "uk_conv2d_explain": lambda w: (w.convolution(), w.text(), 64),
    **{f"uk_w{bits}gemm_plan": lambda w: (w.keep((ctypes.c_char * 512)()), 4, 4, 32, 32, 32, 4, w.keep(WeightsOptions())) for bits in (4, 8)},
    **{f"uk_w{bits}gemm_pack": lambda w, bits=bits: (w.weights_plan(bits), w.weights(), w.numbers(1024)) for bits in (4, 8)},
    **{f"uk_w{bits}gemm_run": lambda w, bits=bits: w.weights_run(bits) for bits in (4, 8)},
    **{f"uk_weights_{what}": lambda w: (w.weights_plan(4),) for what in ("workspace", "packed_size")},
    "uk_weights_explain": lambda w: (w.weights_plan(4), w.text(), 64),
}

# Harmless bad values, by function and argument.
HARMLESS = {("uk_cpu_status", 0): ("NULL",), ("uk_kernel_declaration", 1): ("NULL",), ("uk_gemm_explain", 1): ("NULL",)}
HARMLESS.update({(f"uk_gemm_{what}", 0): ("one of the other type",) for what in ("workspace", "packed_a_size", "packed_b_size", "explain")})
HARMLESS.update({(f"uk_{letter}gemm_plan", 10): ("NULL",) for letter in ELEMENTS})
HARMLESS.update({(f"uk_{letter}gemm_run", i): ("NULL",) for letter in FLOATS for i in (6, 7)})
# Strides of A and B may be any number that stays within addresses.
HARMLESS.update({(f"uk_{letter}gemm_batch_strided", i): ("-1",) for letter in FLOATS for i in (9, 12)})
HARMLESS.update({(f"uk_{letter}gemm_batch_strided", i): ("-1",) for letter in BYTES for i in (8, 11)} | {(f"uk_{letter}gemm_run", i): ("NULL",) for letter in BYTES for i in (5, 6)})
HARMLESS[("uk_conv2d_explain", 1)] = HARMLESS[("uk_sconv2d_plan", 2)] = HARMLESS[("uk_sconv2d_run", 4)] = HARMLESS[("uk_sconv2d_run", 5)] = ("NULL",)
HARMLESS[("uk_weights_explain", 1)] = ("NULL",)
HARMLESS.update({(f"uk_w{bits}gemm_{what}", i): ("NULL",) for bits in (4, 8) for what, i in (("plan", 7), ("run", 5), ("run", 6))})
# A window of one element may be moved, or spread, by any number.
HARMLESS[("uk_sconv2d_plan", 1)] = tuple(f"{field}_{way} = {INT64_MAX}" for field in ("stride", "dilation") for way in "hw")
# Values that the header says are not checked; and one that is right, but would run forever.
NOT_CALLED = {("uk_sgemm_run", 0): "NULL", ("uk_dgemm_run", 0): "NULL", ("uk_parallel_for", 2): str(INT64_MAX)}
# Results for things that do not exist, of functions that return a number or a text.
RETURNED = {"uk_kernel_find": None, "uk_kernel_at": None, "uk_kernel_space": 0, **{f"uk_kernel_{field}": none for field, none in FIELDS.items()}, "uk_kernel_runs_here": False, "uk_kernel_declaration": 0, "uk_cpu_has": False,
            "uk_gemm_workspace": 0, "uk_gemm_packed_a_size": 0, "uk_gemm_packed_b_size": 0, "uk_gemm_explain": 0,
            "uk_weights_workspace": 0, "uk_weights_packed_size": 0, "uk_weights_explain": 0}


def judge(name, i, kind, value, result):
    if label(value) in HARMLESS.get((name, i), ()):
        return f"is listed as harmless, and has status {result}" if kind == "enum uk_status" and result else None
    if kind == "enum uk_status":
        return None if result in (1, 2) else f"status {result}"
    if name in RETURNED and result != RETURNED[name]:
        return f"returns {result}, not {RETURNED[name]}"
    return None


def call(interface, name, i=None, number=None):
    w = World(interface, letters_of(name))
    arguments = list(GOOD[name](w))
    result, kinds = interface.functions[name]
    if i is None:
        status = getattr(interface, name)(*arguments)
        return f"status {status}" if result == "enum uk_status" and status else None
    value = list(interface.bad(kinds[i], w))[number]
    arguments[i] = value[1] if isinstance(value, tuple) else value
    return judge(name, i, result, value, getattr(interface, name)(*arguments))


def cases(interface, name):
    yield "good arguments", lambda: call(interface, name)
    w = World(interface, letters_of(name))
    for i, kind in enumerate(interface.functions[name][1]):
        for number, value in enumerate(interface.bad(kind, w)):
            if NOT_CALLED.get((name, i)) == label(value):
                continue
            yield f"argument {i + 1}, {kind}: {label(value)}", lambda i=i, number=number: call(interface, name, i, number)
