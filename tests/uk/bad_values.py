# SPDX-License-Identifier: Apache-2.0
"""Gives bad values to every option of every command of uk, as listed in its help: the command ends with
status 1 or 2 and a message that names the option or the value, and prints nothing else. An option whose kind
of value is not in the tables below is a failure.

    bad_values.py UK SOURCE
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

uk, source = sys.argv[1:]
sys.path.append(source + "/tests/networks")
import onnx_writer  # pylint: disable=wrong-import-position
PROGRAM, KERNEL = source + "/examples/vadd.uk", "uk_sgemm_4x8_generic_c"
# Arguments that each command needs besides the option.
GIVEN = {"run": [PROGRAM], "compile": [PROGRAM, "--emit=schedule"], "explain": [PROGRAM], "tune": [PROGRAM, "--trials=1"], "verify": [KERNEL],
         "kernels": [], "show": [KERNEL], "gemm": ["4", "4", "4"], "bench": ["gemm", "--peers=none", "--set=small", "--time-limit=1"], "help": []}
NUMBERS = ["", "0", "-1", "1.5", "many", "0x10", "99999999999999999999", "1 2"]
FILES = ["", "no/such/file", "/", "/dev/null/x"]
WORDS = ["", "none-such", "=", "interp,gpu"]
# Bad values, by the word for the value in the help.
VALUES = {"NAME=VALUE": ["", "=", "N", "N=", "=4", "N=-1", "N=1x", "N=1.5", "N=99999999999999999999", "NONE=4", "n=4=5"],
          "TARGET": ["", "+", "riscv46", "x86_64-avx2+none", "x86_64-avx2+", "+avx2", "native,interp"],
          "N": NUMBERS, "SECONDS": NUMBERS, "WHERE": WORDS, "WHAT": WORDS, "TYPE": WORDS, "LAYOUT": WORDS, "T": WORDS, "ROW": WORDS,
          "FILE": FILES, "OUT": ["", "no/such/file", "/", "/dev/null/x"], "NAME": ["", "not a name", "9a", "a-b", "int", "free", "\xe9"],
          "INPUT=N,N,...": ["", "=", "x", "x=", "=1,3", "x=1,", "x=1,,3", "x=1x3", "x=-1,3", "x=99999999999999999999", "x=1,1,1,1,1,1,1,1,1", "none=1", "x=2"],
          "INPUT=FILE": ["", "=", "x", "x=", "=f", "x=no/such/file", "x=/", "x=/dev/null"], "DIR": ["", "no/such/folder", "/dev/null/x"],
          "INPUT=OUTPUT": ["", "=", "x", "x=", "=y", "auto=", "none=y", "x=none", "x=y"],
          "ISA": WORDS, "HOST": ["", "-x", "a b", "@", "a@", ":22", "a:", "a:0", "a:65536", "::1", "a;b"], "COMMAND": ["", " ", "'a"],
          "NAME,...": ["", "none-such", ","], "FILE.json": FILES, "FILE.svg": FILES, "OLD.json": FILES}
# Options for networks, which are refused for a program whatever their values are.
OF_NETWORKS = {"--shape", "--constant", "--input", "--output", "--layers", "--state"}
# Values that are not bad for these options.
GOOD = {("verify", "--seed"): ["0", "-1", "0x10"], ("tune", "--seed"): ["0", "-1", "0x10"]}


def options_of(command):
    """Each option, with the help's word for its value, or None."""
    text = subprocess.run([uk, "help", command], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (--?[a-z][-a-z]*)(?:[ =]([A-Z][\w.,=]*))?", text, re.M)


def wrong(command, option, value, folder):
    """Returns what is wrong with the command's refusal; None: nothing."""
    word = f"{option}={value}" if value is not None else f"{option}=1"
    given = [folder + "/net.onnx" if x == PROGRAM and option in OF_NETWORKS else x for x in GIVEN[command]]
    words = [uk, command, *(x for x in given if not x.startswith(option + "=")), word]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, timeout=60, stdin=subprocess.DEVNULL, errors="replace")
    except subprocess.TimeoutExpired:
        return f"uk {command} {word}: does not end"
    said = done.stderr.replace("\ufffd", "")
    names = [option, f"'{value}'", *filter(None, [value, *re.split("[=+]", value or "")])]
    named = any(name in said for name in names) or "built without networks" in said
    if done.returncode not in (1, 2) or done.stdout or not named or "please report" in said or not re.match(r"(.*: )?(error|usage): ", said):
        return f"uk {command} {word}: exit status {done.returncode}, {done.stdout[:80]!r}, {said[:200]!r}"
    return None


with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    failures, cases = [], []
    network = pathlib.Path(made, "net.onnx")
    network.write_bytes(onnx_writer.model([onnx_writer.node("Relu", ["x"], ["y"])], [onnx_writer.value("x", [1, 3])], [onnx_writer.value("y", [1, 3])]))
    for command in GIVEN:
        for option, value in options_of(command):
            if value and value not in VALUES:
                failures.append(f"uk {command} {option} {value}: tests/uk/bad_values.py knows no such value; add its bad ones")
            good = GOOD.get((command, option), ())
            cases += [(command, option, bad, made) for bad in (VALUES.get(value, ()) if value else [None]) if bad not in good]
    failures += filter(None, pool.map(lambda case: wrong(*case), cases))
    network.unlink()
    failures += [f"the command left {name}" for name in os.listdir(made)]
for failure in failures:
    print(failure)
print(f"{len(cases)} values, {len(failures)} failures")
sys.exit(bool(failures) or len(cases) < 200)
