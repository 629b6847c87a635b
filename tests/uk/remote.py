# SPDX-License-Identifier: Apache-2.0
"""Tests boards: programs and networks run on them natively and, with a prefix, under an emulator. Everything
that can go wrong is provoked, and afterwards nothing is left on either side, no file and no process.

    remote.py UK SOURCE some|all
"""

import fcntl
import os
import pathlib
import pwd
import re
import signal
import subprocess
import sys
import time

from boards import ENV, GUARD, NATIVE, PROGRAM, call, check_left, close_connections, daemons, expect, failures, processes, run_all, run_held, start_sshd, top, uk, wait_for, words, write

source, which = sys.argv[2:]
sys.path.append(source + "/tests/networks")
import onnx_writer  # pylint: disable=wrong-import-position
import small_networks  # pylint: disable=wrong-import-position

ARM = ["--target=aarch64-neon+dotprod", "--remote-prefix=qemu-aarch64 -cpu max"]


def test_runs():
    expect("native", call("run", *PROGRAM, *NATIVE, "--check", "--time"), 0, r"run on board \(", "check: equal", r"time: .*% of the peak", "measured on board")
    expect("threads", call("run", source + "/examples/matmul.uk", "--size=M=300", "--size=N=320", *NATIVE, "--threads=3", "--check", "--time"), 0, "check: equal", r"time: .*% of the peak .*, 3 threads")
    expect("emulated", call("run", *PROGRAM, *ARM, "--check"), 0, r"run on board \(", "check: equal")
    slow = call("run", *PROGRAM, *NATIVE, "--time", "--remote-prefix=slow")
    expect("slow", slow, 0, "CPU 3, governor performance, 600 to 2400 MHz", "fell in 15 of 15 samples, in the first of them from 2400 to 1800 MHz")
    expect("kernels", call("kernels"), 0, r"board: .*x86_64: --target=x86_64-", "uk_sgemm_4x8_generic_c .*yes")
    kernel = "uk_sgemm_4x8_generic_c"
    expect("bench", call("bench", *NATIVE, kernel), 0, rf"{kernel} +time: .* GFLOP/s, .*% of the peak", "measured on board")
    network = top / "net.onnx"
    network.write_bytes(onnx_writer.model([onnx_writer.node("Relu", ["x"], ["y"])], [onnx_writer.value("x", [1, 3])], [onnx_writer.value("y", [1, 3])]))
    expect("network", call("run", str(network), *NATIVE, "--check", "--time"), 0, "run on board", "check: 1 layer, 3 elements: 3 bit-identical", "slowest of 1 layers")
    expect("network, threads", call("run", str(network), *NATIVE, "--check", "--time", "--threads=2"), 0, "check: 1 layer, 3 elements: 3 bit-identical", "slowest of 1 layers")
    loops = top / "loops.onnx"
    loops.write_bytes(small_networks.branches())
    expect("loops", call("run", str(loops), *NATIVE, "--check", "--time"), 0, "check: .* bit-identical", "slowest of", ", 4 runs", ", as often as data decide")
    expect("constants on a board", call("run", str(network), *NATIVE, "--constants=none"), 2, "--constants: a board gets the code with its constants")
    expect("network, emulated", call("run", str(network), *ARM, "--check"), 0, "run on board", "check: 1 layer, 3 elements: 3 bit-identical")


def test_verify():
    """A kernel of the registry, and one that writes past its operand: the results on the board are those
    here."""
    for target in NATIVE, ARM:
        expect("verify", call("verify", "uk_sgemm_4x8_generic_c", *target), 0, "compute: ok, [0-9]+ cases", "update: ok, [0-9]+ cases")
    for statement, said in ("c[n] = 0;", r"add compute: .*\bc\b"), ("__builtin_trap();", "add compute: .*an instruction that this CPU does not have"):
        write("add.uk", f"""pragma import c \"\"\"
void add(long n, const float *a, float *c) {{
    for (long i = 0; i < n; i++)
        c[i] = a[i] + a[i];
    {statement}
}}
\"\"\"
intrinsic add
  tensor a f32 [I]
  tensor c f32 [I]
  assume 1 <= I <= 12
  c[i] = a[i] + a[i]
  compute void add(i64 I, ptr a, ptr c)
end
""")
        here = subprocess.run([uk, "verify", top / "add.uk", *NATIVE], capture_output=True, text=True, check=False)
        there = call("verify", str(top / "add.uk"), *NATIVE)
        if there.returncode != 1 or there.stdout != here.stdout or there.stderr or not re.search(said, there.stdout):
            failures.append(f"verify, {statement}: {there.returncode}, {there.stdout!r}, {there.stderr!r}; here {here.stdout!r}")
        check_left("verify")


def test_kept():
    kept, transfers = top / "board/home/.cache/ukernels", top / "transfers"

    def uploads():
        transfers.unlink(missing_ok=True)
        expect("kept", call("run", *PROGRAM, *NATIVE, "--remote-keep"), 0, "run on board")
        return transfers.read_text(encoding="utf-8").count("up")

    first, second = uploads(), uploads()
    files = list(kept.iterdir())
    if (first, second) != (2, 1) or len(files) != 1 or kept.stat().st_mode & 0o777 != 0o700:
        failures.append(f"kept: {first} and {second} uploads, {files}, mode {kept.stat().st_mode:o}")
    files[0].write_bytes(b"another program")
    if uploads() != 2:
        failures.append("kept: a program that has changed there is used")


def test_lock():
    """A program that measures while another does says so, and waits."""
    lock = os.open(top / "board", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with subprocess.Popen(words("run", *PROGRAM, *NATIVE, "--time"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV) as process:
        told = any("another timing runs there" in line for line in iter(process.stderr.readline, ""))
        os.close(lock)
        out, err = process.communicate(timeout=GUARD)
    if not told or process.returncode or "measured on board" not in out:
        failures.append(f"lock: told {told}, exit status {process.returncode}, {out!r}, {err!r}")
    check_left("lock")


def test_refused():
    run = ("run", *PROGRAM, *NATIVE)
    expect("no ssh", subprocess.run([uk, *run, "--remote=board", "--ssh=no-such-ssh"], capture_output=True, text=True, check=False, env=ENV), 1,
           "cannot start no-such-ssh: .*openssh-client")
    text = (top / "ssh_config").read_text(encoding="utf-8")
    write("unknown", text.replace(f"{top}/known", "/dev/null"))
    expect("unknown key", call(*run, ssh="unknown"), 1, "does not know the host's key")
    write("strange", text.replace(f"{top}/user\n", f"{top}/stranger\n"))
    expect("refused", call(*run, ssh="strange"), 1, r"Permission denied \(publickey")
    expect("no host", call(*run, board="none.invalid"), 1, "none.invalid: ssh: .*[Cc]ould not resolve")
    expect("no port", call(*run, board="[127.0.0.1]:1"), 1, "Connection refused")
    expect("architecture", call("run", *PROGRAM, ARM[0]), 1, "its CPU is x86_64, but target 'aarch64-neon.dotprod' is aarch64")
    expect("feature", call("run", *PROGRAM, "--target=aarch64-neon+i8mm", "--remote-prefix=qemu-aarch64 -cpu cortex-a53"), 1, "its CPU lacks i8mm")
    expect("its own failure", call(*run, "--remote-prefix=sh -c 'exit 125'"), 1, "failed there with exit status 125")
    expect("prefix", call(*run, "--remote-prefix=no-such-prefix -c 3"), 1, "cannot be started there after 'no-such-prefix -c 3'")
    expect("no folder", call(*run, "--remote-dir=/no/such/folder"), 1, "cannot make a folder there: .*No such file")
    expect("it dies", call(*run, "--remote-prefix=die"), 1, r"ended there by signal 11 \(Segmentation fault\)")
    start_sshd("full", 200000)
    expect("no space", call(*run, board="full"), 1, r"cannot be written to .*--remote-dir")
    test_noexec(run)


def test_noexec(run):
    """A folder in which programs cannot run, if there is one or it can be made."""
    folder = top / "noexec"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,size=300k", "none", folder], capture_output=True, check=False).returncode:
        print("remote: skipped, a full file system and one without programs: mount is not allowed here")
        return
    try:
        expect("noexec", call(*run, f"--remote-dir={folder}"), 1, "programs cannot run in .*noexec")
        subprocess.run(["mount", "-o", "remount,exec", folder], check=True)
        expect("no space in a file system", call(*run, f"--remote-dir={folder}"), 1, "cannot be written to .*No space left on device")
        if list(folder.iterdir()):
            failures.append(f"noexec: left {list(folder.iterdir())}")
    finally:
        subprocess.run(["umount", folder], check=True)


def test_words():
    """Options as words: invalid names are refused before ssh starts, and no character has a meaning for a
    shell."""
    for name in "-oProxyCommand=x", "user@-x", "a b", "a\tb", "a@", "@b", "a:", "a:0", "a:65536", "a:x", "::1", "[::1", "[::1]x", "a$(x)", "a'b", "a;b@c":
        done = subprocess.run([uk, "run", *PROGRAM, *NATIVE, f"--remote={name}", "--ssh=false"], capture_output=True, text=True, check=False)
        if done.returncode != 2 or not done.stderr.startswith("uk: error: --remote"):
            failures.append(f"--remote={name}: exit status {done.returncode}, {done.stderr!r}")
    for options, text in (([*NATIVE, "--remote=ssh://board"], "leave out the scheme, as ssh connects; expected"), ([], "--remote needs a --target"), ([*NATIVE, "--count"], "--count is for emulators"),
                          ([*NATIVE, "--device=interp"], "exclude each other"), ([*NATIVE, "--remote-dir=tmp"], "a folder from the root"),
                          ([*NATIVE, "--remote-dir=/" + "d" * 300], "at most 200 characters"), ([*NATIVE, "--remote-dir=/a\nb"], "no control character"),
                          ([*NATIVE, "--cooldown=1"], "--cooldown needs --time"), ([*NATIVE, "--ssh=a 'b"], "a quote is not closed")):
        done = subprocess.run([uk, "run", *PROGRAM, "--remote=board", *options], capture_output=True, text=True, check=False)
        if done.returncode != 2 or text not in done.stderr or done.stdout:
            failures.append(f"{options}: exit status {done.returncode}, {done.stderr!r}")
    port = re.search(r"Port (\d+)", (top / "ssh_config").read_text(encoding="utf-8"))[1]
    user = pwd.getpwuid(os.geteuid()).pw_name
    strange = top / "board" / "a 'folder' $(touch x); \"y\" \\"
    strange.mkdir()
    options = f"ssh -F /dev/null -i '{top}/user' -o \"UserKnownHostsFile {top}/known\" -o IdentitiesOnly=yes"
    done = subprocess.run([uk, "run", *PROGRAM, *NATIVE, f"--remote={user}@[127.0.0.1]:{port}", f"--remote-dir={strange}", "--check"], capture_output=True,
                          text=True, check=False, env={**ENV, "UK_SSH": options}, stdin=subprocess.DEVNULL)
    expect("a strange folder", done, 0, "check: equal")
    if list(strange.iterdir()) or list(pathlib.Path("/").glob("x")):
        failures.append(f"a strange folder: {list(strange.iterdir())}")


def test_stranger():
    """Another user of the board makes a folder next to that of a run, with contents that would end a
    stranger's process."""
    with subprocess.Popen(["sleep", "1000"]) as victim:
        def end(process):
            folder = next((top / "board/tmp").glob("uk-*"))
            folder.with_name(folder.name + ".end").mkdir()
            write(f"board/tmp/{folder.name}.end/group.1", f"{victim.pid}\n")
            process.terminate()
        done = run_held("running", end)
        ended = victim.poll()
        victim.kill()
    subprocess.run(["rm", "-rf", *(top / "board/tmp").glob("*.end")], check=True)
    if ended is not None or done.returncode != -signal.SIGTERM:
        failures.append(f"a stranger's folder: it ended a process: {ended}, exit status {done.returncode}")
    check_left("killed beside a stranger's folder")


def test_cuts():
    for phase, doing in ("uploading", "uploading ./program"), ("running", "the program ran"), ("downloading", "downloading data"):
        expect(f"cut while {phase}", run_held(phase, lambda _: close_connections(daemons[0])), 1, f"the connection was lost while {doing}")
    for phase in "uploading", "running", "downloading":
        for number in signal.SIGKILL, signal.SIGTERM:
            done = run_held(phase, lambda process, number=number: process.send_signal(number))
            if done.returncode != -number:
                failures.append(f"killed while {phase} by {number}: exit status {done.returncode}")
            check_left(f"killed while {phase} by {number}")


def test_tune():
    """Three boards, one of which never finishes, and one of which loses its connection after a
    measurement."""
    write("bin/lame", f"#!/bin/sh\ncase $PWD in */lame/*) [ $(/usr/bin/stat -Lc %s \"$1\") -gt 100000 ] && [ -e {top}/lame-now ] && exec /bin/sleep 1000;; esac\n"
          "exec \"$@\"\n", 0o755)
    start_sshd("lame")
    start_sshd("dying")
    best = top / "best.uk"
    program = [source + "/examples/matmul.uk", "--size=M=24", "--size=N=32", "--size=K=16", *NATIVE]
    with subprocess.Popen(words("tune", *program, "--trials=9", "--trial-limit=2", "-o", str(best), "--remote-prefix=lame", board="board,lame,none.invalid,dying"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV) as process:
        said, runs = "", []
        for line in iter(process.stderr.readline, ""):
            said += line
            if "lame leaves" in line:  # its trial was ended before, along with its files
                folder = next(re.search(r"-S (\S+)/s .*-- lame ", text)[1] for text in processes() if " -- lame " in text)
                runs = list(pathlib.Path(folder).glob("uk-run-*"))
            if "trial 1:" in line:
                (top / "lame-now").touch()
                close_connections(daemons[-1])
        process.wait(timeout=GUARD)
    (top / "lame-now").unlink(missing_ok=True)
    texts = ("board none.invalid is left out", "board dying is left out: .*connection was lost", "board lame is left out: .*exceeded the time limit", "[0-9]+ schedules measured")
    if process.returncode or runs or not best.exists() or not all(re.search(text, said) for text in texts):
        failures.append(f"tune: exit status {process.returncode}, {runs}, {said}")
    expect("the schedule", call("run", *program, f"--schedule={best}", "--check"), 0, "check: equal")
    check_left("tune, cut")
    best.unlink()
    done = call("tune", *program, "--trials=3", "-o", str(best), board="none.invalid,other.invalid")
    if done.returncode != 1 or best.exists() or "no board is left" not in done.stderr:
        failures.append(f"tune without a board: exit status {done.returncode}, {done.stderr!r}")


def test_connecting():
    """Ended while connecting to the first of two boards: the second one is not tried."""
    hang = write("hang", f"touch {top}/held\nexec tail -f {top}/held\n")
    (top / "held").unlink(missing_ok=True)
    with subprocess.Popen([uk, "tune", *PROGRAM, *NATIVE, "-o", str(top / "best.uk"), "--remote=one,two", f"--ssh=sh {hang}"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV) as process:
        wait_for(top / "held", process)
        process.terminate()
        try:
            out, err = process.communicate(timeout=GUARD)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
    if process.returncode != -signal.SIGTERM:
        failures.append(f"ended while connecting: exit status {process.returncode}, {out!r}, {err!r}")
    check_left("killed while connecting")


def test_tune_network():
    """Layers measured on one board, their schedules distributed to two."""
    start_sshd("second")
    network, best = top / "conv.onnx", top / "best.txt"
    network.write_bytes(small_networks.convolutions())
    done = call("tune", str(network), *NATIVE, "--trials=4", "-o", str(best), board="board,second")
    if done.returncode or not all(re.search(text, done.stderr, re.M) for text in (r"^8 layers in 8 tensor programs: [\d.e-]+ ms", "% of the network", "x as fast$")):
        failures.append(f"tune of a network: exit status {done.returncode}, {done.stderr}")
    expect("the schedules", call("run", str(network), *NATIVE, f"--schedule={best}", "--check"), 0, "check: 8 layers")
    check_left("tune of a network")


def test_moments():
    """Killed at ten moments of a run, from its first connection on."""
    start = time.monotonic()
    call("run", *PROGRAM, *NATIVE, "--check")
    whole = time.monotonic() - start
    for i in range(10):
        with subprocess.Popen(words("run", *PROGRAM, *NATIVE, "--check"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV) as process:
            time.sleep(whole * i / 10)
            process.kill()
        check_left(f"killed after {i} tenths")


if which == "some":
    sys.exit(run_all([test_words, test_runs, test_verify, test_refused, test_stranger, test_cuts]))
sys.exit(run_all([test_words, test_kept, test_lock, test_connecting, test_tune_network, test_tune, test_moments]))
