# SPDX-License-Identifier: Apache-2.0
"""Refusals, which name the argument and come before anything is written."""

import copy
import pickle

import numpy as np
import pytest
from conftest import MATMUL, numbers

import ukernels as uk

A, B = numbers(7, 5), numbers(5, 9, seed=2)
READ_ONLY = np.zeros((7, 9), np.float32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize("arrays, message", [
    ((A.astype(np.float64), B), r"A is float64; float32 is required \(use A.astype\(numpy.float32\)\)"),
    ((A, B.astype(">f4")), "B is >f4; float32 is required"),
    ((A, B.astype(object)), "B is object; float32 is required"),
    ((A.tolist(), B), "A is a list; a NumPy array, or an object with __dlpack__, is required"),
    ((A, None), "B is missing; pass an array"),
    ((A,), "B is missing; pass an array"),
    ((A, B, B), "takes A, B, but 3 arrays were given"),
    ((A[0], B), "A has 2 dimensions, but its array has 1"),
    ((A, B[:4]), "dimension 0 of B has 4 elements, but the program says K = 5; give an array of that shape"),
    ((A[:, ::2], B[:3]), "elements along dimension 1 of A are 2 apart, but the program says 1"),
    ((A, B[:, ::2]), "elements along dimension 0 of B are 9 apart, but the program says N = 5"),
    ((A[::-1], B), "elements along dimension 0 of A are -5 apart, but the program says lda = 5"),
    ((np.broadcast_to(A[0], (7, 5)), B), "the stride lda of dimension 0 of A is 0"),
    ((np.ndarray((7, 5), np.float32, bytes(1000), 0, (22, 4)), B), "A has strides of .* bytes, which are not multiples"),
    ((np.ndarray((7, 5), np.float32, bytes(1000), 2), B), "A is not aligned to 4 bytes"),
])
def test_inputs(matmul, arrays, message):
    out = np.full((7, 9), 3, np.float32)
    with pytest.raises(uk.ArgumentError, match=message):
        matmul(*arrays, out=out)
    with pytest.raises(uk.ArgumentError, match=message):
        matmul.bind(*arrays, out=out)
    assert (out == 3).all()


@pytest.mark.parametrize("out, message", [
    (READ_ONLY, "C is written, but its array is read-only"),
    (np.zeros((7, 8), np.float32), "dimension 1 of C has 8 elements, but the program says N = 9"),
    (np.zeros((7, 9)), "C is float64; float32 is required"),
    (np.zeros((9, 7), np.float32).T, "elements along dimension 0 of C are 1 apart"),
    (np.broadcast_to(np.zeros(9, np.float32), (7, 9)), "C is written, but its array is read-only|0 apart"),
    ([], "out must have an array for each of C"),
])
def test_outputs(matmul, out, message):
    with pytest.raises(uk.ArgumentError, match=message):
        matmul(A, B, out=out)


def test_overlap(matmul):
    memory = numbers(200)
    a, b = memory[:35].reshape(7, 5), memory[35:80].reshape(5, 9)
    before = memory.copy()
    for at, name in ((0, "A"), (34, "A|B"), (79, "B")):
        with pytest.raises(uk.ArgumentError, match=f"C is written, but overlaps ({name})"):
            matmul(a, b, out=memory[at:at + 63].reshape(7, 9))
    assert np.array_equal(memory, before)
    assert np.array_equal(matmul(a, b, out=memory[80:143].reshape(7, 9)), a @ b)


def test_interleaved_arrays_overlap():
    """The generated function compares address ranges."""
    f = uk.compile("tensor X f32 [M, N] stride [ldx, 1]\ntensor Y f32 [M, N] stride [ldy, 1]\nY[m, n] = X[m, n] + 1")
    both = numbers(5, 8)
    with pytest.raises(uk.ArgumentError, match="Y is written, but overlaps X"):
        f(both[:, :4], out=both[:, 4:])
    f(both[:2], out=both[2:4])
    assert np.array_equal(both[2:4], both[:2] + 1)


@pytest.mark.parametrize("named, message", [
    ({"D": A}, "has no tensor, scalar or size 'D'"),
    ({"A": A}, "A is given twice"),
    ({"M": 8}, "dimension 0 of A has 7 elements, but the program says M = 8"),
    ({"M": -1}, "size M is -1"),
    ({"M": 7.0}, "size M is a float"),
    ({"M": np.array([7])}, "size M is a ndarray"),
    ({"M": 2**64 + 7}, "size M is 18446744073709551623"),
])
def test_names(matmul, named, message):
    with pytest.raises(uk.ArgumentError, match=message):
        matmul(A, B, **named)


def test_scalars():
    f = uk.compile("tensor X i32 [N]\ntensor Y i32 [N]\nscalar s i32\nY[i] = X[i] * s")
    x = np.arange(4, dtype=np.int32)
    assert np.array_equal(f(x, s=-3), x * -3) and np.array_equal(f(x, s=np.int8(2)), x * 2)
    for value, message in ((2**31, "which i32 cannot represent"), (0.5, "which i32 cannot represent"), (np.nan, "which i32 cannot represent"), (np.inf, "which i32 cannot represent"), ("2x", "s is a str"), ("2", "s is a str")):
        with pytest.raises(uk.ArgumentError, match=message):
            f(x, s=value)
    f = uk.compile("tensor X f32 [N]\ntensor Y f32 [N]\nscalar s f32\nY[i] = X[i] * s", target="interp")
    x = np.ones(3, np.float32)
    assert np.array_equal(f(x, s=np.inf), x * np.inf)
    for value, message in ((10**400, "out of the range of a double"), ("2", "s is a str")):
        with pytest.raises(uk.ArgumentError, match=message):
            f(x, s=value)


def test_bad_index():
    f = uk.compile("tensor X f32 [N]\ntensor I i32 [M]\ntensor Y f32 [M]\nY[i] = X[I[i]]")
    x = numbers(5)
    assert np.array_equal(f(x, np.array([4, 0], np.int32)), x[[4, 0]])
    with pytest.raises(uk.ArgumentError, match="an index is outside of its tensor") as caught:
        f(x, np.array([5], np.int32))
    assert caught.value.status == 14


def test_condition_that_the_function_alone_tests():
    f = uk.compile("size N, M\ntensor X f32 [N]\ntensor Y f32 [M]\nY[i] = X[i + 2]")
    x, y = numbers(5), np.zeros(4, np.float32)
    with pytest.raises(uk.ArgumentError, match="dimension 0 of X is indexed by 5 and its extent is 5"):
        f(x, out=y)
    with pytest.raises(uk.ArgumentError, match="dimension 0 of X is indexed by 5"):
        f.bind(x, out=y)()


@pytest.mark.parametrize("options, kind, message", [
    ({"source": "tensor A f32 [N"}, uk.ProgramError, "program.uk:1:.*error"),
    ({"source": "A[i] = 1"}, uk.ProgramError, "program.uk:1:1: error"),
    ({"source": ""}, uk.ProgramError, "no statement"),
    ({"source": MATMUL, "name": "while"}, uk.ProgramError, ".*"),
    ({"target": "riscv46"}, uk.ArgumentError, "riscv46"),
    ({"threads": -1}, uk.ArgumentError, "threads is -1"),
    ({"threads": 1025}, uk.ArgumentError, "threads is 1025"),
    ({"threads": 2.5}, uk.ArrayTypeError, "threads is a float"),
    ({"define": {"Q": 3}}, uk.ArgumentError, "Q is not a size"),
    ({"define": {"M": 2**64 + 4}}, uk.ArgumentError, "size M is 18446744073709551620"),
    ({"define": {"M": 1.5}}, uk.ArgumentError, "size M is a float"),
    ({"schedule": "split C.q 4 -> a b"}, uk.ProgramError, "schedule:1"),
    ({"schedule": "tensorize C.m uk_sgemm_6x16_avx2_asm"}, uk.ProgramError, "schedule:1"),
    ({"source": "no_such.uk"}, uk.FileError, "no_such.uk cannot be read"),
])
def test_compile(options, kind, message):
    if options.get("name") == "while":  # no error: the library chooses another name
        assert uk.compile(**options).name == "while_"
        return
    with pytest.raises(kind, match=message):
        uk.compile(**{"source": MATMUL, **options})


def test_other_targets():
    f = uk.compile(MATMUL, target="aarch64-neon")
    assert "fmla" in f.asm and f.kernels == ()
    for call in (lambda: f(A, B), lambda: f.bind(A, B)):
        with pytest.raises(uk.UnsupportedError, match="aarch64"):
            call()
    gpu = uk.compile(MATMUL, target="amdgcn-gfx90a")
    with pytest.raises(uk.UnsupportedError, match="GPU|gfx90a"):
        gpu(A, B)


@pytest.mark.parametrize("call, error, message", [
    (lambda: uk.sgemm(A, B, alpha="x"), uk.ArrayTypeError, "^alpha is a str; a number is required"),
    (lambda: uk.dgemm(A.astype(float), B.astype(float), beta=[1]), uk.ArrayTypeError, "^beta is a list; a number is required"),
    (lambda: uk.sgemm(A, B, epilogue=uk.Epilogue(low="x")), uk.ArrayTypeError, "^low is a str; a number is required"),
    (lambda: uk.compile(MATMUL, target=3), uk.ArrayTypeError, "^target is a int; a str is required"),
    (lambda: uk.compile(MATMUL, schedule=b"x"), uk.ArrayTypeError, "^schedule is a bytes; a str is required"),
    (lambda: uk.compile(MATMUL, name=3), uk.ArrayTypeError, "^name is a int; a str is required"),
    (lambda: uk.compile("net.onnx"), uk.ArgumentError, r"net.onnx is a network; use network"),
    (lambda: uk.network(b"model"), uk.ArrayTypeError, "^the network is a bytes; the path of its file"),
    (lambda: uk.network("/no/such.onnx"), uk.FileError, "/no/such.onnx: No such file"),
])
def test_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_message_of_library(monkeypatch):
    monkeypatch.setattr("ukernels.gemm._Matrix.leading", lambda *_: 1)
    with pytest.raises(uk.ArgumentError, match="^sgemm: lda = 1 is less than 5, the elements of a row of A"):
        uk.sgemm(A, B)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_code_stays_in_its_process(matmul, copied):
    for made in (matmul, matmul.bind(A, B)):
        with pytest.raises(TypeError, match=f"a {type(made).__name__} has code in the memory of this process"):
            copied(made)
