# SPDX-License-Identifier: Apache-2.0
"""Properties of runs: nothing leaks, other threads run meanwhile, a call is cheap."""

import gc
import resource
import threading
import time

import numpy as np
import pytest
from conftest import MATMUL, numbers

import ukernels as uk
from ukernels.function import MOST_SHAPES

CALLS = 1_000_000


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_calls_do_not_leak(matmul):
    a = numbers(4, 4)
    out = np.zeros((4, 4), np.float32)
    wrong = numbers(4, 5)
    bound = matmul.bind(a, a, out=out)

    def calls(count):
        for i in range(count):
            bound()
            if i % 4 == 0:
                matmul(a, a)
            if i % 256 == 0:
                matmul(a[:1].repeat(1 + i // 256 % 300, 0), a)  # more shapes than the cache holds
                with pytest.raises(uk.ArgumentError):
                    matmul(wrong, a)

    calls(100_000)
    gc.collect()
    before = resident()
    calls(CALLS)
    gc.collect()
    assert resident() - before < 2 << 20


def test_functions_do_not_leak():
    def make():
        f = uk.compile(MATMUL, target="interp")
        f(numbers(3, 3), numbers(3, 3))
        with pytest.raises(uk.ProgramError):
            uk.compile(MATMUL + "C[m] = 1\n")

    for _ in range(10):
        make()
    gc.collect()
    before = resident()
    for _ in range(60):
        make()
    gc.collect()
    assert resident() - before < 2 << 20


def test_texts_do_not_leak(matmul):
    for _ in range(100):
        matmul.text  # noqa: B018
    before = resident()
    for _ in range(30_000):
        matmul.text  # noqa: B018
    assert resident() - before < 2 << 20


def test_shapes_are_forgotten():
    f = uk.compile(MATMUL, target="interp")
    for rows in range(MOST_SHAPES + 10):
        f(np.zeros((rows, 1), np.float32), np.zeros((1, 1), np.float32))
    assert len(f._known) == 10


def test_threads(matmul):
    operands = [(numbers(20 + i, 30, seed=i), numbers(30, 40, seed=i)) for i in range(8)]
    failures = []

    def work(a, b):
        for i in range(200):
            rows = 1 + i % len(a)
            if not np.array_equal(matmul(a[:rows], b), a[:rows] @ b):
                failures.append(rows)

    threads = [threading.Thread(target=work, args=pair) for pair in operands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# Signals that it runs, then waits until the element is nonzero, or almost a minute, if nobody can change it.
WAITING = """intrinsic wait_1
  tensor a f32 [1]
  tensor b f32 [1]
  b[i] = a[i]
  compute void wait_1(ptr a, ptr b)
end
pragma import c \"\"\"
void wait_1(const float *a, float *b) {
    *(volatile float *)b = -1;
    for (long i = 0; i < 1L << 36 && !*(const volatile float *)a; i++)
        ;
    *b = *a;
}
\"\"\"
tensor X f32 [1]
tensor Y f32 [1]
Y[i] = X[i]
schedule
  tensorize i wait_1
"""


def test_other_threads_run_while_it_computes():
    x = np.zeros(1, np.float32)
    bound = uk.compile(WAITING).bind(x)
    has_returned = threading.Event()

    def change():
        while bound.out[0] != -1 and not has_returned.is_set():
            time.sleep(0.001)
        x[0] = 3

    thread = threading.Thread(target=change)
    thread.start()
    y = bound()
    has_returned.set()
    thread.join()
    assert y[0] == 3


def best(call, count=2000, rounds=30):
    """Minimum CPU time of a call over many rounds, in microseconds."""
    times = []
    for _ in range(rounds):
        begun = time.thread_time()
        for _ in range(count):
            call()
        times.append((time.thread_time() - begun) / count)
    return min(times) * 1e6


def test_costs_are_shown(matmul, capsys):
    """Prints the times of calls on 4 x 4, which depend on the machine."""
    a = numbers(4, 4)
    out = np.zeros((4, 4), np.float32)
    bound = matmul.bind(a, a, out=out)
    rows = {"f(A, B, out=C)": lambda: matmul(a, a, out=out), "f(A, B)": lambda: matmul(a, a), "bound": bound,
            "sgemm(A, B, out=C)": lambda: uk.sgemm(a, a, out=out), "numpy.matmul(A, B, out=C)": lambda: np.matmul(a, a, out=out)}
    with capsys.disabled():
        print()
        for name, call in rows.items():
            print(f"{name} on 4 x 4: {best(call, 200, 20):.2f} us")
