# SPDX-License-Identifier: Apache-2.0
"""Tests the GPU of a board, which is this machine: the tests' HIP and CUDA replace a vendor's, and AMD's
simulator is the GPU. Results are right; every failure is reported in one line and leaves nothing.

    remote_gpu.py UK SOURCE FOLDER_OF_THOSE_LIBRARIES some|all
"""

import re
import shlex
import signal
import sys

from boards import call, check_left, close_connections, daemons, expect, failures, run_all, run_held, source, top, write

libraries, which = sys.argv[3:]
sys.path.append(source + "/tests/networks")
import onnx_writer  # pylint: disable=wrong-import-position
import small_networks  # pylint: disable=wrong-import-position

GPU = "--target=amdgcn-gfx90a"
PROGRAM = [source + "/examples/mlp.uk", GPU]
SMALL = ["--size", "M=3", "--size", "N=4", "--size", "K=2"]


def prefix(*more, where=libraries):
    return "--remote-prefix=env " + " ".join(shlex.quote(word) for word in (f"LD_LIBRARY_PATH={where}", *more))


def run(*options, **more):
    return call("run", *options, **more)


def test_runs():
    expect("a program", run(*PROGRAM, prefix(), "--check"), 0, "device: a simulated device on board\n", "check: equal to the interpreter's")
    # An operand that is copied in several pieces.
    large = run(source + "/examples/matmul.uk", *SMALL, "--size", "lda=3000000", GPU, prefix(), "--check", "--time")
    expect("a large operand", large, 0, "check: equal to the interpreter's", r"time: [\d.]+ ms .* GFLOP/s\n", "measured by events of a simulated device on board")
    network = top / "net.onnx"
    network.write_bytes(onnx_writer.model([onnx_writer.node("Relu", ["x"], ["y"])], [onnx_writer.value("x", [1, 3])], [onnx_writer.value("y", [1, 3])]))
    expect("a network", run(str(network), GPU, prefix(), "--check", "--time"), 0, "on a simulated device on board", "check: 1 layer, 3 elements: 3 bit-identical to the interpreter",
           r"time: [\d.]+ ms", "measured by events", "slowest of 1 layers")


def test_more():
    network = top / "convolutions.onnx"
    network.write_bytes(small_networks.convolutions())
    expect("a larger network", run(str(network), GPU, prefix(), "--check"), 0, "check: 8 layers")
    expect("kept", run(*PROGRAM, prefix(), "--remote-keep"), 0, "device: a simulated device on board\n")
    command = run(*PROGRAM, prefix(), "--remote-keep", "--time")
    expect("kept, again", command, 0, "device: a simulated device on board\n", "measured by events")


def test_refused():
    nowhere = top / "nowhere"
    nowhere.mkdir()
    for name in "amdhip64.so", "amdhip64.so.5", "amdhip64.so.6", "amdhip64.so.7", "cuda.so", "cuda.so.1":
        (nowhere / f"lib{name}").touch()
    expect("no driver", run(*PROGRAM, prefix(where=nowhere)), 1, "--remote=board: no GPU for target 'amdgcn-gfx90a' was found: HIP is not installed: .*libamdhip64")
    expect("no driver of CUDA", run(PROGRAM[0], "--target=nvptx-sm80", prefix(where=nowhere)), 1, "CUDA's driver is not installed: .*libcuda")
    expect("no GPU", run(*PROGRAM, prefix("UK_FAKE_FAIL_AT=1")), 1, "no GPU for target 'amdgcn-gfx90a' was found: HIP finds no device: asked to fail")
    expect("another GPU", run(PROGRAM[0], "--target=amdgcn-gfx906", prefix()), 1, "no GPU for target 'amdgcn-gfx906' was found: loading an image: .*209")
    network = top / "net.onnx"
    expect("another GPU, a network", run(str(network), "--target=amdgcn-gfx906", prefix()), 1, "--remote=board: no GPU for target 'amdgcn-gfx906' was found: ")
    expect("PTX", run(PROGRAM[0], "--target=nvptx-sm80", prefix()), 1, "--remote=board: a simulated device on board: loading an image: .*error 200")
    expect("a launch", run(*PROGRAM, prefix("UK_FAKE_FAIL_AT=40")), 1, "--remote=board: a simulated device on board: .*asked to fail")
    expect("it dies", run(*PROGRAM, "--remote-prefix=sh -c 'kill -SEGV $$'"), 1, r"--remote=board: the program was ended there by signal 11 \(Segmentation fault\)")
    expect("its own failure", run(*PROGRAM, "--remote-prefix=sh -c 'echo why >&2; exit 125'"), 1, "--remote=board: the program failed there with exit status 125: why")
    expect("prefix", run(*PROGRAM, "--remote-prefix=no-such-prefix -c 3"), 1, "cannot be started there after 'no-such-prefix -c 3'")
    for command in ["tune", *PROGRAM, "-o", str(top / "best")], ["verify", GPU], ["bench", GPU]:
        done = call(*command)
        if done.returncode != 2 or "only uk run works on boards" not in done.stderr:
            failures.append(f"{command}: {done.returncode}, {done.stderr!r}")


def fake(name, text):
    """Writes a shell script with this text as a program of the board."""
    return write("bin/" + name, f"#!/bin/sh\n{text}\n", 0o755)


def test_libc():
    """The program is refused if the board's C library is too old, and only then."""
    fakes = [fake("getconf", "exit 1"), fake("ldd", "echo 'ldd (Debian GLIBC 2.17-1) 2.17'")]
    done = run(*PROGRAM, prefix())
    expect("an old ldd", done, 1, r"it has GLIBC 2.17, but programs linked here need 2.\d+; ")
    needed = re.search(r"need 2.(\d+)", done.stderr)
    minor = int(needed[1]) if needed else 0
    fake("getconf", f"echo glibc 2.{minor}")
    expect("just new enough", run(*PROGRAM, prefix()), 0, "device: ")
    fake("getconf", f"echo glibc 2.{minor - 1}")
    expect("just too old", run(*PROGRAM, prefix()), 1, f"it has GLIBC 2.{minor - 1}, but programs linked here need 2.{minor}; ")
    fake("getconf", "echo undefined")
    expect("no GLIBC", run(*PROGRAM, prefix()), 1, "its GLIBC is missing or unknown")
    for path in fakes:
        path.unlink()


def test_machines():
    """An Arm board gets a program for Arm, which runs under an emulator here and finds no driver; other
    machines get none."""
    uname = fake("uname", '[ "$1" = -m ] && echo aarch64 || /bin/uname "$@"')
    emulator = "--remote-prefix=qemu-aarch64 -L /usr/aarch64-linux-gnu"
    expect("aarch64", run(*PROGRAM, emulator), 1, "no GPU for target 'amdgcn-gfx90a' was found: HIP is not installed: ")
    fake("uname", '[ "$1" = -m ] && echo ppc64le || /bin/uname "$@"')
    expect("ppc64le", run(*PROGRAM), 1, "GPUs are not supported on boards with a CPU of ppc64le")
    uname.unlink()


def test_cuts():
    """Connections cut, and runs ended by signals, in each phase."""
    def lose(_):
        close_connections(daemons[0])

    expect("cut while uploading", run_held("uploading", lose, PROGRAM), 1, "connection was lost while uploading .*bytes")
    # A driver that never becomes ready.
    slow = "--remote-prefix=sh -c 'touch {0}/held; exec sleep 1000'".format(top)
    expect("cut while running", run_held("waiting", lose, [*PROGRAM, slow]), 1, "--remote=board: the connection was lost while the program ran")
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
        done = run_held("waiting", lambda process, number=number: process.send_signal(number), [*PROGRAM, slow])
        if done.returncode != -number or done.stderr:
            failures.append(f"signal {number}: {done.returncode}, {done.stderr!r}")
        check_left("killed while running")


sys.exit(run_all([test_runs, test_refused, test_libc] if which == "some" else [test_runs, test_more, test_machines, test_cuts]))
