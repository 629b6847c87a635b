# SPDX-License-Identifier: Apache-2.0
"""Networks in ONNX's format."""

import copy
import ctypes
import gc
import resource
import signal

import numpy as np
import pytest
from conftest import Foreign, numbers
from onnx_writer import BFLOAT16, BOOL, FLOAT, INT64, UINT16, UINT32, UINT64, model, node, tensor, value

import ukernels as uk


@pytest.fixture
def product(tmp_path):
    """y = relu(x w), for any number of rows."""
    path = tmp_path / "product.onnx"
    w = numbers(5, 9, seed=2)
    path.write_bytes(model([node("MatMul", ["x", "w"], ["p"]), node("Relu", ["p"], ["y"])], [value("x", ["rows", 5])], [value("y", ["rows", 9])],
                           [tensor("w", [5, 9], w.ravel().tolist())]))
    return path, w


def test_network(product, tmp_path):
    path, w = product
    x = numbers(4, 5)
    wanted = np.maximum(x @ w, 0)
    for net in (uk.network(path, shapes={"x": (4, 5)}), uk.network(str(path), sizes={"rows": 4})):
        assert np.array_equal(net(x), wanted) and np.array_equal(net(feed={"x": x}), wanted)
        assert net.inputs[0].shape == (4, 5) and net.outputs[0].name == "y"
        out = np.empty((9, 4), np.float32).T
        assert net(Foreign(numbers(8, 10)[::2, ::2]), out=out) is out
        assert np.array_equal(out, np.maximum(numbers(8, 10)[::2, ::2] @ w, 0))
    net.save(tmp_path / "product.o", header=tmp_path / "product.h")
    assert "int product_run(" in (tmp_path / "product.h").read_text()
    path = path.rename(tmp_path / "сеть.ONNX")
    for name, prefix in ((None, "net____"), ("given", "given")):
        uk.network(path, sizes={"rows": 4}, name=name).save(tmp_path / "product.o", header=tmp_path / "product.h")
        assert f"int {prefix}_run(" in (tmp_path / "product.h").read_text()
    with pytest.raises(uk.ArgumentError, match="'a-b' is not a C identifier"):
        uk.network(path, sizes={"rows": 4}, name="a-b")


@pytest.fixture
def appended(tmp_path):
    """y = the products of x with all rows so far, which present adds x to."""
    path = tmp_path / "appended.onnx"
    path.write_bytes(model([node("Concat", ["past", "x"], ["present"], axis=0), node("Transpose", ["present"], ["t"]), node("MatMul", ["x", "t"], ["y"])],
                           [value("x", ["seq", 4]), value("past", ["rows", 4])], [value("y", ["seq", "all"]), value("present", ["all", 4])]))
    return path


def test_state(appended, tmp_path):
    open_sizes = {"seq": range(1, 4), "rows": range(9)}
    plain = uk.network(appended, sizes=open_sizes)
    assert plain.states == ()
    for states in ("auto", {"past": "present"}):
        net = uk.network(appended, sizes=open_sizes, states=states)
        assert [v.name for v in net.inputs] == ["x"] and [v.name for v in net.outputs] == ["y"]
        (state,) = net.states
        assert (state.name, state.output, state.type, state.shape, state.axis) == ("past", "present", "f32", (11, 4), 0)
        memory = net.state("past")
        assert memory.shape == (11, 4) and np.shares_memory(memory, net.state("present")) and not memory.any()
        past = np.empty((0, 4), np.float32)
        for seq in (3, 1, 2, 1):
            x = numbers(seq, 4, seed=seq + len(past))
            y, present = plain(x, past)
            assert np.array_equal(net(x, rows=len(past)), y) and np.array_equal(memory[:len(present)], present)
            past = present
        assert not memory[len(past):].any()
        assert np.array_equal(net(x, rows=0), x @ x.T)  # another sequence
        memory[:2] = numbers(2, 4)
        assert np.array_equal(net(x, rows=2), plain(x, numbers(2, 4))[0])
    net.save(tmp_path / "appended.o", header=tmp_path / "appended.h")
    assert "appended_state(" in (tmp_path / "appended.h").read_text()
    del net
    gc.collect()
    memory[:] = 1  # lives on its own
    assert np.array_equal(plain(x, rows=0, feed={"past": past[:0]})[1], x)


def test_sequences(appended):
    """Sequences of one network have states of their own, and outlive each other."""
    net = uk.network(appended, sizes={"seq": range(1, 4), "rows": range(9)}, states="auto")
    a, b, past = numbers(3, 4), numbers(2, 4, seed=2), net.state("past")
    other = net.sequence()
    net(a, rows=0)
    other(b, rows=0)
    assert np.array_equal(past[:3], a) and np.array_equal(other.state("past")[:2], b)
    last = other.sequence()
    assert not last.state("past").any()
    del net, other
    gc.collect()
    last(b, rows=3)
    assert np.array_equal(past[:3], a) and np.array_equal(last.state("present")[3:5], b)


def test_refused_state(appended, product):
    x = numbers(1, 4)
    net = uk.network(appended, sizes={"seq": range(1, 4), "rows": range(9)}, states="auto")
    for sizes, words in (({}, "size rows is missing, and no input has it; pass rows="), ({"row": 1}, "no open size 'row'; did you mean 'rows'; its open sizes are seq, rows"),
                         ({"rows": 9}, r"rows is 9; it must be in range\(0, 9\)"), ({"rows": 1, "seq": 2}, "seq is 2, but 1 in the shapes of the inputs")):
        with pytest.raises(uk.ArgumentError, match=words):
            net(x, **sizes)
    with pytest.raises(uk.ArgumentError, match="no state 'pastt'; did you mean 'past'; its states are past"):
        net.state("pastt")
    with pytest.raises(uk.ArrayTypeError, match="the name of a state is a int; a str is required"):
        net.state(0)
    for options, words in (({"states": ["past"]}, "states is a list; a dict by names is required"), ({"sizes": [4]}, "sizes is a list; a dict"),
                           ({"sizes": {"rows": "1..8"}}, "size rows is a str; an integer or a range is required"), ({"constants": "net.weights"}, "constants is a str; a dict"),
                           ({"shapes": {1: (4, 5)}}, "shapes is a dict; a dict by names"), ({"target": "x86"}, "unknown target 'x86'")):
        with pytest.raises(uk.ArgumentError, match=words):
            uk.network(appended, **{"sizes": {"seq": 1, "rows": 8}, **options})
    for states, words in (({"pas": "present"}, "did you mean 'past'"), ({"past": "y"}, "'past' and 'y' are no state"), ("all", "states is a str; a dict by names is required, as .*, or 'auto'")):
        with pytest.raises(uk.Error, match=words):
            uk.network(appended, sizes={"seq": range(1, 4), "rows": range(9)}, states=states)
    with pytest.raises(uk.ArgumentError, match="no state 'x'; its states are none"):
        uk.network(product[0], sizes={"rows": 4}).state("x")


def test_open_size(product, tmp_path):
    path, w = product
    net = uk.network(path, sizes={"rows": range(2, 34)})
    assert net.sizes == {"rows": range(2, 34)} and net.inputs[0].shape == (33, 5)
    for rows in (2, 33, 7, 20):
        assert np.array_equal(net(numbers(rows, 5)), np.maximum(numbers(rows, 5) @ w, 0))
    out = np.empty((7, 9), np.float32)
    assert net(numbers(7, 5), out=out) is out and np.array_equal(out, np.maximum(numbers(7, 5) @ w, 0))
    for shape in ((1, 5), (34, 5), (7, 6)):
        with pytest.raises(uk.ArgumentError, match=r"no sizes for the shapes x .*; rows in range\(2, 34\)"):
            net(numbers(*shape))
    with pytest.raises(uk.ArgumentError, match="y has the shape"):
        net(numbers(7, 5), out=np.empty((8, 9), np.float32))
    with pytest.raises(uk.ArgumentError, match="x has 1 dimensions"):
        net(numbers(5))
    even = uk.network(path, sizes={"rows": range(2, 9, 2)})
    assert even(numbers(4, 5)).shape == (4, 9)
    with pytest.raises(uk.ArgumentError, match="no sizes for the shapes"):
        even(numbers(5, 5))
    for sizes, words in ((range(4, 5), "has two values or more"), (range(1, 8, 2), "must begin at a multiple of its step 2"), (range(-1, 8), "which increase from 0 or more")):
        with pytest.raises(uk.ArgumentError, match=words):
            uk.network(path, sizes={"rows": sizes})
    net.save(tmp_path / "product.o", header=tmp_path / "product.h")
    assert "rows, 2 to 33" in (tmp_path / "product.h").read_text()


def test_constants_file(product, tmp_path):
    """The object with a file of constants computes what the network does. What fails leaves nothing."""
    path, w = product
    net = uk.network(path, sizes={"rows": 4})
    net.save(tmp_path / "net.so", header=tmp_path / "net.h", constants=tmp_path / "net.weights")
    assert "int product_constants(" in (tmp_path / "net.h").read_text()
    data = np.fromfile(tmp_path / "net.weights", np.uint8)
    assert data.tobytes()[:8] == b"ukconst\0" and data.size >= 64 + w.nbytes
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    for name in ("memory", "input", "output"):
        getattr(library, f"product_{name}").restype = ctypes.c_size_t
    room = np.zeros(data.size + library.product_memory() + 192, np.uint8)
    file = room.ctypes.data + -room.ctypes.data % 64
    memory = file + data.size + -data.size % 64
    run = lambda: library.product_run(ctypes.c_void_p(memory))
    ctypes.memmove(file, data.ctypes.data, data.size)
    give = lambda at, n: library.product_constants(ctypes.c_void_p(at), ctypes.c_size_t(n))
    assert run() == 1 and give(file + 1, data.size) == 1 and give(file, data.size - 1) == 2 and give(memory, data.size) == 6
    assert give(file, data.size) == 0
    x = numbers(4, 5)
    ctypes.memmove(library.product_input(ctypes.c_void_p(memory), 0), x.ctypes.data, x.nbytes)
    assert run() == 0
    y = np.empty((4, 9), np.float32)
    ctypes.memmove(y.ctypes.data, library.product_output(ctypes.c_void_p(memory), 0), y.nbytes)
    assert np.array_equal(y, np.maximum(x @ w, 0)) and np.array_equal(y, net(x))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(uk.ArgumentError, match="only for .o and .so"):
        net.save(tmp_path / "bad.s", constants=tmp_path / "bad.weights")
    with pytest.raises(uk.FileError, match="none.*cannot be written: No such file"):
        net.save(tmp_path / "bad.o", constants=tmp_path / "none" / "bad.weights")
    with pytest.raises(uk.FileError, match="none.*cannot be written: No such file"):
        net.save(tmp_path / "none" / "bad.o", constants=tmp_path / "bad.weights")
    for same in ({"constants": tmp_path / "bad.o"}, {"header": tmp_path / "bad.h", "constants": tmp_path / "." / "bad.h"}):
        with pytest.raises(uk.ArgumentError, match="bad.. is given for the constants and for the code"):
            net.save(tmp_path / "bad.o", **same)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before_signal = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        with pytest.raises(uk.FileError, match="bad.weights cannot be written: File too large"):
            net.save(tmp_path / "bad.o", constants=tmp_path / "bad.weights")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before_signal)
    assert sorted(tmp_path.iterdir()) == before


def test_schedule(product):
    path, w = product
    found = uk.tune(str(path), sizes={"rows": 4}, threads=1, trials=2)
    assert found.startswith("# uk tune: product for native, 1 thread")
    for schedule in (found, "# none\n", None):
        assert np.array_equal(uk.network(path, sizes={"rows": 4}, schedule=schedule)(numbers(4, 5)), np.maximum(numbers(4, 5) @ w, 0))
    with pytest.raises(uk.ProgramError, match="schedule:2: expected 'layer'"):
        uk.network(path, sizes={"rows": 4}, schedule="# a line\nsplit a 3 -> b c\n")


def test_copy_outlives_its_network(product):
    path, w = product
    net = copy.copy(uk.network(path, sizes={"rows": np.int64(4)}))
    gc.collect()
    assert np.array_equal(net(numbers(4, 5)), np.maximum(numbers(4, 5) @ w, 0))


def test_several_outputs(tmp_path):
    path = tmp_path / "less.onnx"
    path.write_bytes(model([node("Less", ["x", "y"], ["less"]), node("Add", ["x", "y"], ["sum"])], [value("x", [2, 3]), value("y", [2, 3])],
                           [value("less", [2, 3], BOOL), value("sum", [2, 3])]))
    x, y = numbers(2, 3), numbers(2, 3, seed=2)
    less, total = uk.network(path)(x, y)
    assert less.dtype == np.bool_ and np.array_equal(less, x < y) and np.array_equal(total, x + y)


def test_booleans_as_constants(tmp_path):
    path = tmp_path / "and.onnx"
    path.write_bytes(model([node("And", ["p", "q"], ["y"])], [value("p", [2, 2], BOOL), value("q", [2, 2], BOOL)], [value("y", [2, 2], BOOL)]))
    p, q = np.array([[True, True], [False, False]]), np.array([[True, False], [True, False]])
    y = uk.network(path, constants={"q": q})(p)
    assert y.dtype == np.bool_ and np.array_equal(y, p & q)
    with pytest.raises(uk.ProgramError, match="input 'q' has type bool, but the constant given for it has type u8"):
        uk.network(path, constants={"q": q.astype(np.uint8)})


def test_constants(tmp_path):
    path = tmp_path / "reshape.onnx"
    path.write_bytes(model([node("Reshape", ["x", "shape"], ["r"]), node("Relu", ["r"], ["y"])], [value("x", [2, 6]), value("shape", [2], INT64)],
                           [value("y", ["a", "b"])]))
    x = numbers(2, 6)
    net = uk.network(path, constants={"shape": np.array([4, 3])})
    assert [v.name for v in net.inputs] == ["x"] and np.array_equal(net(x), np.maximum(x.reshape(4, 3), 0))
    with pytest.raises(uk.ProgramError, match="shape"):
        uk.network(path)
    with pytest.raises(uk.ArrayTypeError, match="shape is complex128"):
        uk.network(path, constants={"shape": np.array([4, 3], complex)})


@pytest.mark.parametrize("kind, dtype", [(UINT16, np.uint16), (UINT32, np.uint32), (UINT64, np.uint64), (BFLOAT16, np.uint16)])
def test_unsigned(kind, dtype, tmp_path):
    """An input of each unsigned type, also as a constant; uint16 is the bits of bf16 where the input is that."""
    path = tmp_path / "cast.onnx"
    path.write_bytes(model([node("Cast", ["k"], ["f"], to=FLOAT), node("Add", ["f", "x"], ["y"])], [value("x", [3]), value("k", [3], kind)],
                           [value("y", [3])]))
    k, zero = np.array([0x3f80, 0x4000, 0xc040], dtype), np.zeros(3, np.float32)
    wanted = np.array([1, 2, -3] if kind == BFLOAT16 else k, np.float32)
    assert np.array_equal(uk.network(path)(zero, k), wanted)
    assert np.array_equal(uk.network(path, constants={"k": k})(zero), wanted)
    if kind != BFLOAT16:
        with pytest.raises(uk.ArrayTypeError, match=f"k is int64; {np.dtype(dtype)} is required"):
            uk.network(path)(zero, k.astype(np.int64))


def test_constant_without_dimensions(tmp_path):
    path = tmp_path / "scaled.onnx"
    path.write_bytes(model([node("Mul", ["x", "k"], ["y"])], [value("x", [2, 3]), value("k", [])], [value("y", [2, 3])]))
    assert np.array_equal(uk.network(path, constants={"k": np.array(3, np.float32)})(numbers(2, 3)), numbers(2, 3) * 3)


def test_refused(product):
    path, _ = product
    x = numbers(4, 5)
    net = uk.network(path, sizes={"rows": 4})
    read_only = np.zeros((4, 9), np.float32)
    read_only.flags.writeable = False
    memory = np.zeros(60, np.float32)
    for arguments, message in (
        (((),), "x is a tuple"), ((), "x is missing"), ((x, x), "takes 1 arrays, but 2 were given"), ((x[:3],), r"x has the shape \(3, 5\)"),
        ((x.astype(float),), "x is float64; float32 is required"),
    ):
        with pytest.raises(uk.ArgumentError, match=message):
            net(*arguments)
    for given, out, message in ((x, read_only, "y is written, but its array is read-only"), (x, np.zeros((4, 8), np.float32), "y has the shape"),
                                (memory[:20].reshape(4, 5), memory[10:46].reshape(4, 9), "y is written, but overlaps x")):
        with pytest.raises(uk.ArgumentError, match=message):
            net(given, out=out)
    with pytest.raises(uk.ArgumentError, match="no input 'z'"):
        net(feed={"z": x})
    with pytest.raises(uk.ArgumentError, match="no input 'xs'; did you mean 'x'; its inputs are x"):
        net(feed={"xs": x})
    for options, message in (({"sizes": {"row": 4}}, "no size 'row'; did you mean 'rows'; its sizes are rows"),
                             ({"shapes": {"xx": (4, 5)}}, "no input 'xx'; did you mean 'x'"), ({"sizes": {"rows": 4}, "constants": {"y": x}}, "no input 'y'"),
                             ({"sizes": {"rows": 2**64 + 4}}, "size rows is 18446744073709551620"), ({"sizes": {"rows": 4.0}}, "size rows is a float"),
                             ({"shapes": {"x": (4.5, 5)}}, "an extent of x is a float"), ({"threads": -1}, "threads is -1")):
        with pytest.raises(uk.ArgumentError, match=message):
            uk.network(path, **options)
    with pytest.raises(uk.Error, match="rows|x"):
        uk.network(path)
    with pytest.raises(uk.Error, match="none.onnx"):
        uk.network(path.with_name("none.onnx"))
    other = uk.network(path, sizes={"rows": 4}, target="aarch64-neon")
    with pytest.raises(uk.UnsupportedError, match="aarch64"):
        other(x)
