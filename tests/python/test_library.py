# SPDX-License-Identifier: Apache-2.0
"""Products, kernels, verification, tuning, files; and the prototypes by which the package calls the
libraries."""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import MATMUL, numbers

import ukernels as uk
from ukernels import library

SOURCE = Path(__file__).parents[2]
PLAIN = {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double,
         "float": ctypes.c_float, "_Bool": ctypes.c_bool, "const char *": ctypes.c_char_p, "void": None, "int32_t": ctypes.c_int32}


def listed():
    """The prototypes in abi.txt."""
    text = (SOURCE / "tests/tree/abi.txt").read_text(encoding="utf-8")
    return text, dict(re.findall(r"^  (uk_\w+): (.*\))$", text, re.M))


def test_prototypes():
    _, prototypes = listed()
    for functions in library.PROTOTYPES.values():
        for name, (result, arguments) in functions.items():
            wanted, rest = re.fullmatch(r"(.*?) ?\((.*)\)", prototypes[name]).groups()
            wanted_arguments = [kind.strip() for kind in rest.split(",") if kind.strip() != "void"]
            assert len(wanted_arguments) == len(arguments), name
            for given, kind in ((result, wanted), *zip(arguments, wanted_arguments)):
                if kind.startswith("enum "):
                    assert given is ctypes.c_int, (name, kind)
                elif kind in PLAIN and kind != "const char *":
                    assert given is PLAIN[kind], (name, kind)
                else:
                    assert given in (ctypes.c_void_p, ctypes.c_char_p) or issubclass(given, ctypes._Pointer), (name, kind)


@pytest.mark.parametrize("name, structure", [
    ("uk_options", library.Options), ("uk_verify_options", library.VerifyOptions), ("uk_gemm_plan", library.GemmPlan),
    ("uk_network_tensor", library.NetworkTensor), ("uk_network_options", library.NetworkOptions), ("uk_network_size", library.NetworkSize),
    ("uk_sgemm_epilogue", library.EPILOGUES["s"]), ("uk_dgemm_epilogue", library.EPILOGUES["d"]),
])
def test_structures(name, structure):
    text, _ = listed()
    size, fields = re.search(rf"^struct {name}: (\d+) bytes.*\n((?:  at .*\n)+)", text, re.M).groups()
    assert ctypes.sizeof(structure) == int(size)
    for at, length, field in re.findall(r"  at (\d+), (\d+) bytes: (\w+)", fields):
        member = getattr(structure, field)
        assert (member.offset, member.size) == (int(at), int(length)), field


def test_enums():
    text, _ = listed()
    from ukernels import arrays, errors, output
    names = re.findall(r"^  UK_(\w+) = (\d+)", re.search(r"^enum uk_type:.*\n((?:  .*\n)+)", text, re.M)[1], re.M)
    assert {name.lower(): int(value) for name, value in names if name != "TYPES"} == {name: i for i, name in enumerate(arrays.TYPES)}
    for name, value in re.findall(r"^  UK_EMIT_(\w+) = (\d+)", text, re.M):
        assert output.EMIT[name.lower()] == int(value)
    for name, value in re.findall(r"^  UK_(\w+) = (\d+)", re.search(r"^enum uk_status:.*\n((?:  .*\n)+)", text, re.M)[1], re.M):
        assert getattr(errors, name, int(value)) == int(value)


@pytest.mark.parametrize("product, dtypes", [
    (uk.sgemm, (np.float32,) * 3), (uk.dgemm, (np.float64,) * 3), (uk.igemm, (np.uint8, np.int8, np.int32)),
    (uk.i8gemm, (np.int8, np.int8, np.int32)), (uk.u8gemm, (np.uint8, np.uint8, np.int32)),
    (uk.hgemm, (np.float16,) * 3),
])
def test_products(product, dtypes):
    a, b = numbers(7, 5, dtype=dtypes[0]), numbers(5, 9, dtype=dtypes[1], seed=2)
    wanted = a.astype(np.int64) @ b.astype(np.int64)
    wide = numbers(14, 20, dtype=dtypes[0], seed=3)
    assert np.array_equal(product(a, b), wanted)
    for x in (np.asfortranarray(a), wide[:7, 3:8], wide[::2, :5], wide.T[:7, 2:7], a[:1], a[:, :1], a[:0], a[:, :0], a[::-1, :0]):
        for y in (b, np.asfortranarray(b)):
            y = y[:x.shape[1]]
            expected = x.astype(np.int64) @ y.astype(np.int64)
            for out in (None, np.ones(expected.shape, dtypes[2]), np.ones(expected.shape, dtypes[2], order="F")):
                assert np.array_equal(product(x, y, out=out), expected)
    out = np.full((7, 9), 2, dtypes[2])
    assert product(a, b, beta=3, out=out) is out and np.array_equal(out, wanted + 6)


def test_bf16():
    a, b = numbers(7, 5), numbers(5, 9, seed=2)
    x, y = ((m.view(np.uint32) >> 16).astype(np.uint16) for m in (a, b))
    assert np.array_equal(uk.bgemm(x, y, epilogue=uk.Epilogue(low=0)), np.maximum(a @ b, 0))


def test_epilogue():
    a, b = numbers(7, 5), numbers(5, 9, seed=2)
    rows, columns = numbers(7, seed=3), numbers(9, seed=4)
    for order in "CF":
        out = np.empty((7, 9), np.float32, order=order)
        uk.sgemm(a, b, alpha=2, out=out, epilogue=uk.Epilogue(scale=0.5, low=0, row_bias=rows, column_bias=columns))
        assert np.array_equal(out, np.maximum(a @ b + rows[:, None] + columns, 0))
    assert np.array_equal(uk.dgemm(a.astype(float), b.astype(float), epilogue=uk.Epilogue(high=6)), np.minimum(a @ b, 6))


@pytest.mark.parametrize("product, left, right", [(uk.igemm, np.uint8, np.int8), (uk.i8gemm, np.int8, np.int8), (uk.u8gemm, np.uint8, np.uint8)])
@pytest.mark.parametrize("dtype", ["i32", "i8", "u8", "f32"])
def test_requantization(product, left, right, dtype):
    a, b = numbers(7, 5, dtype=left), numbers(5, 9, dtype=right, seed=2)
    rows, columns, zeros = (numbers(n, dtype=np.int32, seed=n) for n in (7, 9, 10))
    zeros, scales = np.abs(zeros[:9]), np.float32(0.25) * np.arange(1, 10, dtype=np.float32)
    sums = (a.astype(np.int64) - 3) @ (b.astype(np.int64) - zeros) + rows[:, None] + columns
    c_zero, limits = 0 if dtype == "f32" else 4, (-20.0, 90.0)
    wanted = sums.astype(np.float32) * scales
    wanted = np.clip(wanted if dtype == "f32" else np.rint(wanted) + c_zero, *limits)
    if dtype == "u8":
        wanted = np.maximum(wanted, 0)
    for order in "CF":
        out = np.empty((7, 9), {"i32": np.int32, "i8": np.int8, "u8": np.uint8, "f32": np.float32}[dtype], order=order)
        e = uk.Requantization(dtype, scales, 3, zeros, c_zero, *limits, rows, columns)
        assert product(a, b, out=out, epilogue=e) is out and np.array_equal(out, wanted)
    assert np.array_equal(product(a, b, epilogue=uk.Requantization(a_zero=1, b_zero=2)), (a.astype(np.int64) - 1) @ (b.astype(np.int64) - 2))
    assert np.array_equal(product(a, b, epilogue=uk.Requantization("f32", 0.5)), (a.astype(np.int64) @ b.astype(np.int64)) * np.float32(0.5))


@pytest.mark.parametrize("arguments, message", [
    ({"epilogue": uk.Epilogue(low=0)}, "a Requantization is required"),
    ({"epilogue": uk.Requantization("f64")}, "dtype is 'f64'; it must be one of i32, i8, u8, f32"),
    ({"epilogue": uk.Requantization(a_zero=-1)}, "a_zero is -1; it must be from 0 to 255"),
    ({"epilogue": uk.Requantization(b_zero=128)}, "b_zero is 128; it must be from -128 to 127"),
    ({"epilogue": uk.Requantization(b_zero=np.zeros(8, np.int32))}, "b_zero has the shape"),
    ({"epilogue": uk.Requantization("u8", c_zero=256)}, "c_zero is 256; it must be from 0 to 255"),
    ({"epilogue": uk.Requantization("f32", c_zero=1)}, "c_zero is 1; it must be from 0 to 0"),
    ({"epilogue": uk.Requantization("u8", -1)}, "scale"),
    ({"epilogue": uk.Requantization("u8", np.zeros(9))}, "scale is float64; float32 is required"),
    ({"epilogue": uk.Requantization(row_bias=np.zeros(7, np.float32))}, "row_bias is float32; int32 is required"),
])
def test_refused_requantization(arguments, message):
    with pytest.raises(uk.Error, match=message):
        uk.igemm(numbers(7, 5, dtype=np.uint8), numbers(5, 9, dtype=np.int8), **arguments)


@pytest.mark.parametrize("arguments, message", [
    ({"A": numbers(7, 4)}, "A has 4 columns, but B has 5 rows"),
    ({"A": numbers(7)}, "A has 1 dimensions"),
    ({"A": numbers(14, 10)[::2, ::2]}, "A has strides of 20 and 2 elements"),
    ({"A": numbers(7, 5, dtype=np.float64)}, "A is float64; float32 is required"),
    ({"B": numbers(5, 9)[::-1]}, "B has strides of -9 and 1 elements"),
    ({"B": np.broadcast_to(numbers(9), (5, 9))}, "B has strides of 0 and 1 elements"),
    ({"out": numbers(9, 7)}, "out is 9 x 7, but the product is 7 x 9"),
    ({"beta": 1}, "there is no out"),
    ({"epilogue": uk.Epilogue(row_bias=numbers(9))}, "row_bias has the shape"),
    ({"epilogue": uk.Epilogue(column_bias=numbers(9, dtype=np.float64))}, "column_bias is float64; float32 is required"),
    ({"epilogue": uk.Epilogue(column_bias=numbers(18)[::2])}, "column_bias has a stride of 8 bytes"),
    ({"A": np.ndarray((7, 5), np.float32, bytes(1000), 2)}, "A is not aligned to 4"),
    ({"epilogue": uk.Epilogue(column_bias=np.ndarray(9, np.float32, bytes(1000), 2))}, "column_bias is not aligned to 4"),
])
def test_refused_products(arguments, message):
    with pytest.raises(uk.ArgumentError, match=message):
        uk.sgemm(**{"A": numbers(7, 5), "B": numbers(5, 9), **arguments})


def test_overlapping_products():
    a = numbers(5, 5)
    read_only = numbers(5, 5)
    read_only.flags.writeable = False
    with pytest.raises(uk.ArgumentError, match="out is read-only"):
        uk.sgemm(a, a, out=read_only)
    with pytest.raises(uk.ArgumentError, match="out overlaps A"):
        uk.sgemm(a, numbers(5, 5), out=a)
    with pytest.raises(uk.ArgumentError, match="out overlaps B"):
        uk.sgemm(numbers(5, 5), a, out=a.T)
    out = numbers(5, 5)
    with pytest.raises(uk.ArgumentError, match="out overlaps column_bias"):
        uk.sgemm(a, a, out=out, epilogue=uk.Epilogue(column_bias=out[0]))


def test_threads():
    uk.set_num_threads(3)
    assert uk.num_threads() == 3
    for threads in (-1, 1025, 2**32 + 1):
        with pytest.raises(uk.ArgumentError, match=f"threads is {threads}"):
            uk.set_num_threads(threads)
    uk.set_num_threads(0)


def test_kernels():
    found = uk.kernels(isa="avx2", op="sgemm")
    assert found and all(k.isa == "avx2" and k.op == "sgemm" and k.arch == "x86_64" for k in found)
    kernel = next(k for k in found if k.name == "uk_sgemm_6x16_avx2_asm")
    assert (kernel.mr, kernel.nr, kernel.impl) == (6, 16, "asm") and "avx2" in kernel.features
    assert kernel.declaration.startswith("intrinsic uk_sgemm_6x16_avx2_asm") and "int64_t k" in kernel.parameters
    assert len(uk.kernels(runs_here=True)) < len(uk.kernels())
    with pytest.raises(uk.ArgumentError, match="unknown isa 'avx3'; use one of .*avx2"):
        uk.kernels(isa="avx3")


OWN = """intrinsic add_4
  tensor a f32 [4]
  tensor b f32 [4]
  b[i] = a[i] + 1
  compute void add_4(ptr a, ptr b)
end
pragma import c \"\"\"
void add_4(const float *a, float *b) { for (int i = 0; i < 4; i++) b[i] = a[i] + 1; }
\"\"\"
tensor X f32 [N]
tensor Y f32 [N]
Y[i] = X[i] + 1
"""


def test_verify(tmp_path):
    assert "uk_sgemm_4x8_generic_c" in uk.verify("uk_sgemm_4x8_generic_c", cases=5)
    path = tmp_path / "mine.uk"
    path.write_text(OWN)
    assert "add_4" in uk.verify(path, cases=5) and "add_4" in uk.verify(str(path), cases=5) and "add_4" in uk.verify(OWN, cases=5)
    with pytest.raises(uk.WrongResultError, match="add_4"):
        uk.verify(OWN.replace("b[i] = a[i] + 1; }", "b[i] = a[i] + 2; }"), cases=5)
    with pytest.raises(uk.ArgumentError, match="cases is -1"):
        uk.verify(OWN, cases=-1)
    with pytest.raises(uk.ArgumentError, match="unknown kernel 'nothing'"):
        uk.verify("nothing")
    with pytest.raises(uk.ProgramError, match="program.uk:1"):
        uk.verify("no program")


def test_tune(tmp_path):
    steps = uk.tune(MATMUL, sizes={"M": 16, "K": 16, "N": 16}, threads=1, trials=1, seed=1, schedule="split C.n 4 -> no ni\n", log=tmp_path / "log")
    assert "schedule\n" in steps and (tmp_path / "log").stat().st_size
    a = numbers(20, 20)
    assert np.array_equal(uk.compile(MATMUL, schedule=steps)(a, a), a @ a)
    path = tmp_path / "matmul.uk"
    path.write_text(MATMUL)
    with pytest.raises(uk.Error, match="Q"):
        uk.tune(path, sizes={"Q": 1})
    with pytest.raises(uk.ArgumentError, match="is not a file"):
        uk.tune(tmp_path / "other.uk")


def test_texts(matmul):
    assert "tensorize" in matmul.schedule and "taken" in matmul.explain() and "matmul" in matmul.loops
    assert "matmul:" in matmul.asm and matmul.text.startswith("tensor A") and matmul.name == "matmul"
    assert any(name.startswith("uk_sgemm") for name in matmul.kernels)
    assert all(name.startswith(("uk_sgemm", "uk_spack")) for name in matmul.kernels)
    assert [t.name for t in matmul.tensors] == ["A", "B", "C"] and matmul.tensors[2].is_written
    assert "matmul(A, B, C)" in repr(matmul)


def test_save(matmul, tmp_path):
    matmul.save(tmp_path / "matmul.o", header=tmp_path / "matmul.h")
    program = tmp_path / "program.c"
    program.write_text('#include "matmul.h"\nint main(void) {\n    float a = 2, b = 3, c = 0;\n'
                       "    return matmul(1, 1, 1, 1, &a, &b, &c) || c != 6;\n}\n")
    subprocess.run([os.environ.get("CC", "cc"), program, tmp_path / "matmul.o", "-lm", "-o", tmp_path / "program"], check=True)
    subprocess.run([tmp_path / "program"], check=True)
    matmul.save(tmp_path / "matmul.s")
    with pytest.raises(uk.ArgumentError, match=r"unknown file type '.*'; use .o, .so, .s, .ll or .h"):
        matmul.save(tmp_path / "matmul.obj")
    with pytest.raises(OSError, match="cannot be written") as failure:
        matmul.save(tmp_path / "none" / "matmul.o")
    assert isinstance(failure.value, uk.FileError) and isinstance(failure.value, RuntimeError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["matmul.h", "matmul.o", "matmul.s", "program", "program.c"]


def test_command_never_becomes_itself(tmp_path):
    """If the program of the environment is missing, the command is the first uk on the PATH."""
    (tmp_path / "uk").write_text("#!/bin/sh\necho another\n")
    (tmp_path / "uk").chmod(0o755)
    done = subprocess.run([sys.executable, "-c", "from ukernels import library, command\nlibrary.installed_program = lambda: None\ncommand.main()"],
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and "the program was not found" in done.stderr


def test_prefix_that_has_no_library():
    done = subprocess.run([sys.executable, "-c", "import ukernels"], env={**os.environ, "UK_PREFIX": "/nowhere"}, capture_output=True, text=True)
    assert done.returncode and "UK_PREFIX is /nowhere, which has no lib/libukernels.so" in done.stderr
