# SPDX-License-Identifier: Apache-2.0
"""The functions of tensorize.h: good arguments of each, and bad ones that are harmless."""

import ctypes
import re
from dataclasses import dataclass

from calls import INT64_MAX, INT_MAX, INT_MIN, is_named, label, left

TEXT = b"""tensor A f32 [M, K]
tensor B f32 [K, N]
temp T f32 [M, N]
tensor C f32 [M, N]
scalar alpha f32
T[m, n] = sum(k) A[m, k] * B[k, n]
C[m, n] = T[m, n] * alpha
"""
ADD = b"tensor X f32 [N]\ntensor Y f32 [N]\ntemp T f32 [N]\nT[i] = X[i] + X[i]\nY[i] = T[i] + X[i]\n"
PIPELINE = b"""tensor A f32 [M, K]
tensor C f32 [M]
C[m] = sum(k) A[m, k]
schedule
split m 32 -> by tx
split k 8 -> ko ki
bind by block.x
bind tx thread.x
cache_read A at ko in shared -> AS
"""
CONSTANT = TEXT.replace(b"tensor B f32 [K, N]", b"tensor B f32 [K, N] constant")
ONE_STAGE = b"tensor A f32 [M, N]\ntensor C f32 [M, N]\nC[m, n] = A[m, n]\n"
INTRINSIC = b"""intrinsic my_add
  tensor a f32 [4]
  tensor b f32 [4]
  b[i] = a[i] + a[i]
  compute void my_add(ptr a, ptr b)
end
"""
LLVM = b"define void @nothing() {\n  ret void\n}\n"
STEPS = b"split C.m 4 -> mo mi\n"
SOURCE = b"int run(const float *x, float *y) { return data[0] ? other(4, x, y) : 1; }\n"
OWN = INTRINSIC + b"pragma import c \"\"\"\nvoid my_add(const float *a, float *b) {\n  for (int i = 0; i < 4; i++) b[i] = a[i] + a[i];\n}\n\"\"\"\n" + ADD
UK_INTERNAL = 12


class Options(ctypes.Structure):
    _fields_ = [("target", ctypes.c_char_p), ("require_kernels", ctypes.c_bool), ("all_candidates", ctypes.c_bool),
                ("threads", ctypes.c_int), ("workspace_argument", ctypes.c_bool), ("interpret", ctypes.c_bool)]


class VerifyOptions(ctypes.Structure):
    _fields_ = [("target", ctypes.c_char_p), ("seed", ctypes.c_uint64), ("cases", ctypes.c_int), ("seconds", ctypes.c_int),
                ("runner", ctypes.c_void_p)]


class Reduction(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("scan", ctypes.c_bool), ("iterators", ctypes.c_int), ("iterator", ctypes.c_void_p * 8),
                ("where", ctypes.c_void_p)]


class Constant(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("bytes", ctypes.c_char_p), ("length", ctypes.c_size_t), ("alignment", ctypes.c_size_t)]


class Bundle(ctypes.Structure):
    _fields_ = [("programs", ctypes.c_void_p), ("count", ctypes.c_int), ("constants", ctypes.c_void_p), ("constant_count", ctypes.c_int),
                ("source", ctypes.c_char_p), ("exported", ctypes.c_void_p), ("exported_count", ctypes.c_int), ("source_is_llvm", ctypes.c_bool),
                ("make_constant", ctypes.c_void_p), ("user", ctypes.c_void_p)]


class World:
    """A program, another one, and the parts of both."""

    def __init__(self, api, text=TEXT, steps=()):
        self.api, self.kept = api, []
        self.c = api.uk_context_create()
        self.p, self.other = self.parse(text), self.parse(ADD, b"other.uk")
        for step in steps:
            api.uk_step(self.p, step)

    def parse(self, text, file=b"good.uk"):
        p = ctypes.c_void_p()
        if self.api.uk_program_parse(self.c, file, text, len(text), ctypes.byref(p)):
            raise SystemExit(self.message())
        return p.value

    def message(self):
        return self.api.uk_context_message(self.c).decode(errors="replace")

    def keep(self, value):
        self.kept.append(value)
        return ctypes.cast(ctypes.byref(value), ctypes.c_void_p).value

    def array(self, *values, of=ctypes.c_void_p):
        return self.keep((of * len(values))(*values))

    def names(self, *values):
        return self.array(*values, of=ctypes.c_char_p)

    def out(self, of=ctypes.c_void_p):
        return self.keep(of(1))

    def options(self, **fields):
        return self.keep(Options(**fields))

    def bundle(self, constant=(), **fields):
        constant = self.keep(Constant(**{"name": b"data", "bytes": b"1234", "length": 4, **dict(constant)}))
        given = {"programs": self.array(self.p, self.other), "count": 2, "constants": constant, "constant_count": 1, "source": SOURCE,
                 "exported": self.names(b"run"), "exported_count": 1}
        return self.keep(Bundle(**{**given, **fields}))

    def size(self, name=b"M", p=None):
        return self.api.uk_size(p or self.p, name)

    def iterator(self, name=b"m", p=None):
        return self.api.uk_iterator(p or self.p, name)

    def tensor(self, name=b"Z", p=None):
        return self.api.uk_tensor(p or self.p, name, 1, 1, self.array(self.size(p=p)), None)

    def indices(self, name=b"J", p=None):
        return self.api.uk_tensor(p or self.p, name, 4, 1, self.array(self.size(p=p)), None)

    def element(self, p=None):
        return self.api.uk_element(p or self.p, self.tensor(p=p), self.array(self.iterator(p=p)))

    def condition(self, p=None):
        return self.api.uk_compare(p or self.p, 0, self.element(p), self.api.uk_number(p or self.p, 1.0))

    def reduction(self, **fields):
        iterator = fields.pop("iterator", self.iterator(b"k"))
        return self.keep(Reduction(**{"kind": 1, "iterators": 1, "iterator": (ctypes.c_void_p * 8)(iterator), **fields}))

    def block(self, length):
        """Memory at a multiple of 64."""
        at = self.keep((ctypes.c_char * (length + 64))())
        return at + -at % 64

    def module(self):
        m = ctypes.c_void_p()
        if self.api.uk_compile(self.p, self.options(target=b"interp"), ctypes.byref(m)):
            raise SystemExit(self.message())
        return m.value

    def kernel(self):
        return self.api.kernels.uk_kernel_find(b"uk_sgemm_4x8_generic_c")

    def bad(self, kind):
        """Bad values for a pointer argument of that type: name, value, and the message's expected content."""
        foreign, null = "another program's", "NULL"
        if kind in ("struct uk_program *", "const struct uk_program *"):
            return [None, ("one that has failed", lambda: (self.api.uk_step(self.p, b""), self.p)[1], "the step is empty")]
        if kind == "struct uk_index *":
            return [None, ("another program's", self.size(p=self.other), foreign)]
        if kind == "struct uk_expr *":
            return [None, ("another program's", self.element(self.other), foreign)]
        if kind == "struct uk_tensor *":
            return [None, ("another program's", self.tensor(p=self.other), foreign)]
        if kind == "struct uk_index *const *":
            other = self.size(p=self.other)
            return [None, ("NULLs", self.array(*[None] * 8), null), ("another program's", self.array(*[other] * 8), foreign)]
        if kind == "struct uk_expr *const *":
            return [None, ("NULLs", self.array(*[None] * 8), null), ("another program's", self.array(*[self.element(self.other)] * 8), foreign)]
        if kind == "const char *const *":
            return [None, ("NULLs", self.names(*[None] * 8), null), ("empty", self.names(*[b""] * 8), '""|empty'),
                    ("unknown", self.names(*[b"unknown"] * 8), "unknown")]
        if kind == "struct uk_program *const *":
            return [None, ("NULL in front", self.array(None, self.p), ""), ("NULL behind", self.array(self.p, None), null),
                    ("one twice", self.array(self.p, self.p), "rename one of the files")]
        if kind == "const struct uk_reduction *":
            return [("kind -1", self.reduction(kind=-1), "-1"), ("kind 99", self.reduction(kind=99), "99"), ("no kind", self.reduction(kind=0), "there is no reduction 0"),
                    ("no iterator", self.reduction(iterators=0), "0"), ("-1 iterators", self.reduction(iterators=-1), "-1"),
                    ("many iterators", self.reduction(iterators=INT_MAX), str(INT_MAX)), ("NULL iterator", self.reduction(iterator=None), null),
                    ("a size", self.reduction(iterator=self.size()), "iterator"),
                    ("another program's", self.reduction(iterator=self.iterator(p=self.other)), foreign),
                    ("no relation", self.reduction(where=self.size()), "relation"),
                    ("another's where", self.reduction(where=self.size(p=self.other)), foreign)]
        if kind == "const struct uk_bundle *":
            names = self.names
            return [None, ("no programs", self.bundle(programs=None), ""), ("0 programs", self.bundle(count=0), ""),
                    ("-1 programs", self.bundle(count=-1), ""), ("NULL in front", self.bundle(programs=self.array(None, self.p)), ""),
                    ("NULL behind", self.bundle(programs=self.array(self.p, None)), null),
                    ("one twice", self.bundle(programs=self.array(self.p, self.p)), "rename one of the files"),
                    ("no constants", self.bundle(constants=None), null), ("-1 constants", self.bundle(constant_count=-1), "-1"),
                    ("most constants", self.bundle(constant_count=INT_MAX), str(INT_MAX)), ("no source", self.bundle(source=None), null),
                    ("a source that is none", self.bundle(source=b"no such thing"), "source:1:1"),
                    ("an empty source", self.bundle(source=b""), "function run"),
                    ("LLVM's IR that is none", self.bundle(source=b"no such thing", source_is_llvm=True), "source:1:1"), ("no names", self.bundle(exported=None), null),
                    ("NULL names", self.bundle(exported=names(None)), null), ("-1 names", self.bundle(exported_count=-1), "-1"),
                    ("most names", self.bundle(exported_count=INT_MAX), str(INT_MAX)), ("0 names", self.bundle(exported_count=0), "no function is exported"),
                    ("unknown", self.bundle(exported=names(b"unknown")), "unknown"), ("empty", self.bundle(exported=names(b"")), '""'),
                    *((f"a constant's {field}", self.bundle(constant={field: value}), expected) for field, value, expected in (
                        ("name", None, null), ("name", b"", '""'), ("name", b"good", "good"), ("name", b"int", "int"), ("bytes", None, null),
                        ("length", 2**64 - 1, str(2**64 - 1)), ("alignment", 3, "3"), ("alignment", 2**63, str(2**63))))]
        if kind == "const struct uk_options *":
            return [("no target", self.options(target=b""), "target"), ("unknown target", self.options(target=b"riscv46"), "riscv46"),
                    ("unknown feature", self.options(target=b"x86_64-avx2+none"), "none"), ("-1 threads", self.options(threads=-1), "-1"),
                    ("least threads", self.options(threads=INT_MIN), str(INT_MIN)), ("most threads", self.options(threads=INT_MAX), str(INT_MAX)),
                    ("-1 threads, interpreted", self.options(target=b"interp", threads=-1), "-1")]
        if kind == "const struct uk_verify_options *":
            return [("no target", self.keep(VerifyOptions(target=b"")), "target"), ("unknown target", self.keep(VerifyOptions(target=b"riscv46")), "riscv46"),
                    ("-1 cases", self.keep(VerifyOptions(cases=-1)), "-1"), ("-1 seconds", self.keep(VerifyOptions(seconds=-1)), "-1"),
                    ("another architecture", self.keep(VerifyOptions(target=b"riscv64")), "riscv64")]
        return [None]


@dataclass
class Good:
    """A good call: its arguments in a world, and the program and steps that this has."""
    arguments: object
    text: bytes = TEXT
    steps: tuple = ()
    target: bytes = b"x86_64-avx2"


SIZES = (ctypes.c_int64 * 3)(4, 3, 5)
N_IS_4 = (b"split C.n 4 -> no ni",)


def binary(w):
    return w.p, w.element(), w.api.uk_number(w.p, 1.0)


def logical(w):
    return w.p, w.condition(), w.api.uk_not(w.p, w.api.uk_compare(w.p, 1, w.api.uk_number(w.p, 1.0), w.api.uk_number(w.p, 2.0)))


def relation(w):
    return w.api.uk_index_compare(w.p, 5, w.size(), w.api.uk_integer(w.p, 1))


def sizes(w):
    return w.keep((ctypes.c_int64 * 3)(4, 3, 5))


def extents(w, *values):
    return w.array(w.array(*(values or (4, 3)), of=ctypes.c_int64), None, None)


def data(w):
    return w.array(*(w.keep((ctypes.c_float * 64)()) for _ in range(3)))


def scalars(w):
    return w.keep((ctypes.c_double * 1)(2.0))


def compiled(*rest):
    """The arguments p, options, and others: "out" for each output."""
    return lambda w: (w.p, w.options(target=b"x86_64-avx2"), *(w.out() if x == "out" else x for x in rest))


GOOD = {
    "uk_tensorize_version": Good(lambda w: ()),
    "uk_target_name": Good(lambda w: (0,)),
    "uk_type_name": Good(lambda w: (1,)),
    "uk_type_bytes": Good(lambda w: (1,)),
    "uk_context_create": Good(lambda w: ()),
    "uk_context_destroy": Good(lambda w: (w.api.uk_context_create(),)),
    "uk_context_message": Good(lambda w: (w.c,)),
    "uk_context_notes": Good(lambda w: (w.c,)),
    "uk_context_time": Good(lambda w: (w.c, 0, w.out(ctypes.c_double))),
    "uk_text_free": Good(lambda w: (None,)),
    "uk_program_parse": Good(lambda w: (w.c, b"x.uk", TEXT, len(TEXT), w.out())),
    "uk_program_create": Good(lambda w: (w.c, b"name", w.out())),
    "uk_program_schedule": Good(lambda w: (w.p, b"x.uk", STEPS, len(STEPS))),
    "uk_program_destroy": Good(lambda w: (w.parse(TEXT),)),
    "uk_program_print": Good(lambda w: (w.p, w.out())),
    "uk_program_define": Good(lambda w: (w.p, b"M", 4)),
    "uk_program_status": Good(lambda w: (w.p,)),
    "uk_program_check": Good(lambda w: (w.p,)),
    "uk_program_check_sizes": Good(lambda w: (w.p, w.options(target=b"x86_64-avx2"), sizes(w))),
    "uk_program_interpret": Good(lambda w: (w.p, sizes(w), scalars(w), data(w))),
    "uk_program_interpret_elements": Good(lambda w: (w.p, w.options(target=b"x86_64-avx2"), sizes(w), scalars(w), data(w), 2, 1, w.out(ctypes.c_int64), w.out(ctypes.c_float),
                                                     w.out(ctypes.c_double))),
    "uk_program_tensor_elements": Good(lambda w: (w.p, 0, sizes(w))),
    "uk_program_solve_sizes": Good(lambda w: (w.p, extents(w), extents(w, 3, 1), sizes(w))),
    **{f"uk_program_tensor_{what}": Good(lambda w: (w.p, 0, 1, sizes(w))) for what in ("extent", "stride")},
    **{f"uk_program_{what}": Good(lambda w: (w.p,)) for what in ("name", "sizes", "scalars", "tensors")},
    **{f"uk_program_{what}": Good(lambda w: (w.p, 0))
       for what in ("size_name", "size_default", "scalar_name", "scalar_type", "tensor_name", "tensor_type", "tensor_written", "tensor_read",
                    "tensor_constant", "tensor_alignment", "tensor_dims")},
    "uk_size": Good(lambda w: (w.p, b"M")),
    "uk_size_default": Good(lambda w: (w.p, b"M", 64)),
    "uk_iterator": Good(lambda w: (w.p, b"m")),
    "uk_integer": Good(lambda w: (w.p, 1)),
    **{f"uk_{op}": Good(lambda w: (w.p, w.size(), w.api.uk_integer(w.p, 2))) for op in ("index_add", "index_subtract", "index_multiply")},
    **{f"uk_{op}": Good(lambda w: (w.p, w.size(), 2)) for op in ("index_floordiv", "index_mod")},
    "uk_index_compare": Good(lambda w: (w.p, 5, w.size(), w.api.uk_integer(w.p, 1))),
    "uk_index_and": Good(lambda w: (w.p, relation(w), relation(w))),
    "uk_assume": Good(lambda w: (w.p, relation(w))),
    "uk_schedule_where": Good(lambda w: (w.p, None)),
    **{name: Good(lambda w: (w.p, b"Z", 1, 1, w.array(w.size()), w.array(w.api.uk_integer(w.p, 2)))) for name in ("uk_tensor", "uk_temp")},
    "uk_tensor_layout": Good(lambda w: (w.p, w.tensor(), b"(i) -> [i / 4, i % 4]", w.array(w.api.uk_integer(w.p, 8), w.api.uk_integer(w.p, 2)))),
    "uk_tensor_align": Good(lambda w: (w.p, w.tensor(), 16)),
    "uk_tensor_over": Good(lambda w: (w.p, w.tensor(), w.array(w.api.uk_index_add(w.p, w.size(), w.api.uk_integer(w.p, 1))))),
    "uk_tensor_constant": Good(lambda w: (w.p, w.tensor())),
    "uk_tensor_finite": Good(lambda w: (w.p, w.tensor())),
    "uk_tensor_scope": Good(lambda w: (w.p, w.api.uk_temp(w.p, b"Z", 1, 1, w.array(w.size()), None), 0)),
    "uk_scalar": Good(lambda w: (w.p, b"beta", 1)),
    "uk_element": Good(lambda w: (w.p, w.tensor(), w.array(w.iterator()))),
    "uk_pad": Good(binary),
    "uk_number": Good(lambda w: (w.p, 1.5)),
    "uk_integer_number": Good(lambda w: (w.p, 1)),
    "uk_real_number": Good(lambda w: (w.p, 2.0)),
    "uk_index_value": Good(lambda w: (w.p, w.iterator())),
    "uk_index_element": Good(lambda w: (w.p, w.indices(), w.array(w.iterator()))),
    "uk_index_wrap": Good(lambda w: (w.p, w.api.uk_index_element(w.p, w.indices(), w.array(w.iterator())))),
    **{f"uk_{op}": Good(binary) for op in ("add", "subtract", "multiply", "divide", "shift_left", "shift_right", "bit_and", "bit_or", "bit_xor")},
    "uk_negate": Good(lambda w: (w.p, w.element())),
    "uk_call": Good(lambda w: (w.p, b"max", 2, w.array(*binary(w)[1:]))),
    "uk_cast": Good(lambda w: (w.p, 0, w.element())),
    "uk_select": Good(lambda w: (w.p, w.condition(), w.api.uk_number(w.p, 1.0), w.api.uk_number(w.p, 2.0))),
    "uk_compare": Good(lambda w: (w.p, 0, w.element(), w.api.uk_number(w.p, 1.0))),
    **{f"uk_{op}": Good(logical) for op in ("and", "or")},
    "uk_not": Good(lambda w: (w.p, w.condition())),
    "uk_statement": Good(lambda w: (w.p, b"again", w.tensor(), w.array(w.iterator()), 0, w.reduction(),
                                    w.api.uk_element(w.p, w.api.uk_tensor(w.p, b"D", 1, 2, w.array(w.size(), w.size(b"K")), None),
                                                     w.array(w.iterator(), w.iterator(b"k"))))),
    "uk_statement_range": Good(lambda w: (w.p, w.iterator(), w.size())),
    "uk_intrinsic": Good(lambda w: (w.p, INTRINSIC)),
    "uk_import_file": Good(lambda w: (w.p, w.api.file)),
    "uk_import_llvm": Good(lambda w: (w.p, LLVM)),
    "uk_import_c": Good(lambda w: (w.p, b"void nothing(void);\nvoid nothing(void) {\n}\n")),
    "uk_step": Good(lambda w: (w.p, STEPS)),
    "uk_split": Good(lambda w: (w.p, b"C.m", 4, b"mo", b"mi")),
    "uk_split_parts": Good(lambda w: (w.p, b"C.ni", 2, b"no2", b"ni2"), steps=N_IS_4),
    "uk_tile": Good(lambda w: (w.p, b"C.m", b"C.n", 4, 8, w.names(b"mo", b"no", b"mi", b"ni"))),
    "uk_fuse": Good(lambda w: (w.p, b"C.m", b"C.n", b"mn")),
    "uk_reorder": Good(lambda w: (w.p, 2, w.names(b"C.n", b"C.m"))),
    "uk_unroll": Good(lambda w: (w.p, b"C.ni"), steps=N_IS_4),
    "uk_vectorize": Good(lambda w: (w.p, b"C.n")),
    "uk_parallel": Good(lambda w: (w.p, 1, w.names(b"C.m"))),
    "uk_bind": Good(lambda w: (w.p, b"C.m", b"block.x"), text=ONE_STAGE, target=b"interp"),
    "uk_pipeline": Good(lambda w: (w.p, b"C.ko", 2), text=PIPELINE, target=b"interp"),
    "uk_pack": Good(lambda w: (w.p, b"B", b"T.root", 8, 1, b"BP")),
    "uk_cache_read": Good(lambda w: (w.p, b"A", b"T.m", 0, b"AC")),
    "uk_cache_write": Good(lambda w: (w.p, b"T", b"T.m", 0, b"TC")),
    "uk_compute_at": Good(lambda w: (w.p, b"T", b"C.m")),
    "uk_reverse_compute_at": Good(lambda w: (w.p, b"C", b"T.m")),
    "uk_compute_inline": Good(lambda w: (w.p, b"T"), text=ADD),
    "uk_rfactor": Good(lambda w: (w.p, b"T.k", b"R")),
    "uk_tensorize": Good(lambda w: (w.p, b"T.mi", b"auto"), steps=(b"tile T.m T.n 6 16 -> mo no mi ni",)),
    "uk_compile": Good(compiled("out")),
    "uk_emit": Good(compiled(0, "out", "out")),
    "uk_explain": Good(compiled("out")),
    "uk_compile_programs": Good(lambda w: (w.array(w.p, w.other), 2, w.options(target=b"x86_64-avx2"), w.out())),
    "uk_emit_programs": Good(lambda w: (w.array(w.p, w.other), 2, w.options(target=b"x86_64-avx2"), 0, w.out(), w.out())),
    "uk_compile_bundle": Good(lambda w: (w.bundle(), w.options(target=b"x86_64-avx2"), w.out())),
    "uk_emit_bundle": Good(lambda w: (w.bundle(), w.options(target=b"x86_64-avx2"), 6, w.out(), w.out())),
    "uk_module_destroy": Good(lambda w: (w.module(),)),
    "uk_module_function": Good(lambda w: (w.module(),)),
    "uk_module_call": Good(lambda w: (w.module(), sizes(w), scalars(w), data(w))),
    "uk_module_packed_bytes": Good(lambda w: (w.module(), sizes(w), 1), text=CONSTANT),
    "uk_module_pack": Good(lambda w: (w.module(), sizes(w), 1, w.keep((ctypes.c_float * 64)()), w.block(512)), text=CONSTANT),
    "uk_module_time": Good(lambda w: (w.module(), 0, w.out(ctypes.c_double))),
    "uk_module_kernel": Good(lambda w: (w.module(), 0)),
    "uk_module_find": Good(lambda w: (w.module(), b"good")),
    "uk_target_runs": Good(lambda w: (w.c, b"interp")),
    "uk_kernel_fits": Good(lambda w: (w.c, w.kernel(), b"x86_64-avx2", w.keep(ctypes.create_string_buffer(16)), 16)),
    "uk_kernel_peak_share": Good(lambda w: (w.c, w.kernel(), b"x86_64-avx2", w.out(ctypes.c_double))),
    "uk_kernel_emit": Good(lambda w: (w.c, w.kernel(), b"x86_64-avx2", 2, w.out(), w.out())),
    "uk_verify": Good(lambda w: (w.p, w.keep(VerifyOptions(cases=1)), w.out()), text=OWN),
    "uk_verify_kernel": Good(lambda w: (w.c, w.kernel(), w.keep(VerifyOptions(cases=1)), w.out())),
    "uk_schedule_start": Good(compiled("out", "out")),
    "uk_schedule_change": Good(compiled(b"reorder C.n C.m\n", "out", "out")),
    "uk_schedule_bound": Good(compiled(b"reorder C.n C.m\n", "out")),
    "uk_schedule_cost": Good(compiled(b"reorder C.n C.m\n", "out")),
}

# Bad values in addition to those of the argument's type.
MORE = {("uk_step", 1): [(name, text, "the step is empty") for name, text in (("blanks", b"  "), ("a newline", b"\n"), ("a comment", b"# unroll C.m"))]}
# Harmless bad values, by function and argument.
ANY = "any"
NULL, EMPTY, MOST, A_LONG_NAME = ("NULL",), ("b''",), (str(INT64_MAX),), ("b'long'",)
HARMLESS = {
    ("uk_context_destroy", 0): ANY, ("uk_text_free", 0): ANY, ("uk_program_destroy", 0): ANY, ("uk_module_destroy", 0): ANY,
    ("uk_context_time", 2): ANY, ("uk_module_time", 2): ANY,
    # Any integer is allowed; one that is too large is refused where it is used.
    ("uk_integer", 1): ANY, ("uk_integer_number", 1): ("-1", *MOST), ("uk_index_floordiv", 2): MOST, ("uk_index_mod", 2): MOST, ("uk_size_default", 2): MOST,
    ("uk_program_define", 2): MOST, ("uk_split_parts", 2): MOST, ("uk_split", 2): MOST, ("uk_tile", 3): MOST, ("uk_tile", 4): MOST,
    # Defaults: row-major; the tensor's name; a name that the library chooses.
    ("uk_tensor", 5): NULL, ("uk_temp", 5): NULL, ("uk_tensor_layout", 3): NULL, ("uk_statement", 1): (*NULL, *A_LONG_NAME),
    ("uk_cache_read", 4): (*NULL, *A_LONG_NAME), ("uk_cache_write", 4): (*NULL, *A_LONG_NAME), ("uk_pack", 5): (*NULL, *A_LONG_NAME), ("uk_pack", 4): ("-1",),
    # Texts that only name a file in messages, and texts of steps, which may be empty.
    ("uk_program_parse", 1): ("b''", "b'no such thing'", "b'\\xff\\xfe'", "b'long'"), 
    ("uk_program_schedule", 1): ("b''", "b'no such thing'", "b'\\xff\\xfe'", "b'long'"), ("uk_program_schedule", 2): EMPTY,
    ("uk_schedule_change", 2): EMPTY, ("uk_schedule_bound", 2): EMPTY, ("uk_schedule_cost", 2): EMPTY,
    # Default: the sizes that the program has; all sizes that no earlier schedule takes.
    ("uk_program_solve_sizes", 2): NULL, ("uk_schedule_where", 1): NULL,
    # Defaults: this CPU; the kernel's own instruction set.
    ("uk_target_runs", 1): NULL, ("uk_kernel_fits", 2): NULL, ("uk_kernel_peak_share", 2): NULL, ("uk_kernel_emit", 2): NULL,
    **{(name, i): A_LONG_NAME for name, i in (("uk_size", 1), ("uk_size_default", 1), ("uk_iterator", 1), ("uk_scalar", 1), ("uk_tensor", 1), ("uk_temp", 1),
                                              ("uk_program_create", 1), ("uk_fuse", 3), ("uk_split", 3), ("uk_split", 4), ("uk_split_parts", 3),
                                              ("uk_split_parts", 4), ("uk_rfactor", 2))},
}
# Pattern in the message instead of the value: the message names the thing that the value belongs to.
CUES = {("uk_pack", 3): "panel", ("uk_pack", 4): "along", ("uk_pipeline", 2): "slots", ("uk_tensor_layout", 2): "map|such", ("uk_intrinsic", 1): "intrinsic",
        ("uk_program_parse", 2): "no statement|'no'"}
# Arguments without a context that could keep the message.
SILENT = {("uk_compile_programs", 0): ("NULL", "NULL in front"), ("uk_emit_programs", 0): ("NULL", "NULL in front"),
          ("uk_compile_programs", 1): ("-1", str(INT_MIN)), ("uk_emit_programs", 1): ("-1", str(INT_MIN)),
          **{(name, 0): ("NULL", "no programs", "0 programs", "-1 programs", "NULL in front") for name in ("uk_compile_bundle", "uk_emit_bundle")}}


def is_builder(interface, name):
    result, kinds = interface.functions[name]
    return kinds[:1] == ["struct uk_program *"] and not result.startswith("enum") and name != "uk_program_destroy"


def outcome(w, name, arguments, target):
    """The function's status; for building calls, the first status of the program that is not UK_OK, also when
    steps are applied."""
    result = getattr(w.api, name)(*arguments)
    if not is_builder(w.api, name):
        return result
    text, length = ctypes.c_void_p(), ctypes.c_size_t()
    return w.api.uk_program_check(w.p) or w.api.uk_emit(w.p, w.options(target=target), 0, ctypes.byref(text), ctypes.byref(length))


def is_refused(w, name, i, value, status):
    """Returns what is wrong with the refusal of the value; None: nothing."""
    kind = w.api.functions[name][1][i]
    if status == 0:
        return "is accepted"
    if status == UK_INTERNAL or "please report" in w.message():
        return f"is called a defect: {w.message()}"
    if kind in ("struct uk_context *", "struct uk_program *") and not value:
        return None  # no object to keep the message
    if label(value) in SILENT.get((name, i), ()) or re.search(CUES.get((name, i), "^$"), w.message()):
        return None
    return None if is_named(value, w.message()) else f"is not named: status {status}: {w.message()}"


# Results of functions that cannot fail, for a NULL program, module or context, or an argument that is out of range.
NOTHING = {"int": 0, "int64_t": -1, "const char *": None, "void *": None, "_Bool": False, "enum uk_type": 12, "struct uk_context *": None}
RETURNED = {"uk_type_name": b"no type", "uk_context_message": b"", "uk_context_notes": b"", "uk_module_call": 1, "uk_module_pack": 1}


def judge(w, name, i, arguments, value, result):
    kind = w.api.functions[name][0]
    allowed = HARMLESS.get((name, i), ())
    if value is None and is_builder(w.api, name) and i == 0:
        return None  # objects made in a NULL program are NULL
    if allowed == ANY or label(value) in allowed:
        if kind == "enum uk_status" or is_builder(w.api, name):
            return f"is listed as harmless: {w.message()}" if result else None
        return None
    if kind == "enum uk_status" or is_builder(w.api, name):
        return is_refused(w, name, i, value, result) or left(w.api.functions[name][1], arguments)
    expected = RETURNED.get(name, NOTHING.get(kind, 0))
    return None if kind == "void" or result == expected else f"returns {result}, not {expected}"


def bad_values(interface, name, i, w):
    return [*interface.bad(interface.functions[name][1][i], w), *MORE.get((name, i), ())]


def one_case(interface, name, i, number):
    good = GOOD[name]
    w = World(interface, good.text, good.steps)
    arguments = list(good.arguments(w))
    value = bad_values(interface, name, i, w)[number]
    arguments[i] = value[1] if isinstance(value, tuple) else value
    if callable(arguments[i]):
        arguments[i] = arguments[i]()
    if interface.functions[name][1][i + 1:i + 2] == ["size_t"] and isinstance(value, bytes):
        arguments[i + 1] = len(value)
    return judge(w, name, i, arguments, value, outcome(w, name, arguments, good.target))


def good_case(interface, name):
    good = GOOD[name]
    w = World(interface, good.text, good.steps)
    result = outcome(w, name, good.arguments(w), good.target)
    if (interface.functions[name][0] == "enum uk_status" or is_builder(interface, name)) and result:
        return f"status {result}: {w.message()}"
    return None


def cases(interface, name):
    """Texts and functions that make the calls: a good one, then one with each bad argument."""
    yield "good arguments", lambda: good_case(interface, name)
    w = World(interface)
    for i, kind in enumerate(interface.functions[name][1]):
        for number, value in enumerate(bad_values(interface, name, i, w)):
            yield f"argument {i + 1}, {kind}: {label(value)}", lambda i=i, number=number: one_case(interface, name, i, number)
