# SPDX-License-Identifier: Apache-2.0
"""Mutation test: how many small mistakes in given sources do given tests find? Run it before and after tests
are shortened.

    slips.py BUILD_FOLDER --sources GLOB... --tests NAME... [--seed N] [--count N]

Draws --count (20) places in the C sources that match (paths in the source tree: 'tensorize/schedule/*.c'),
each kind equally often: an operator, a constant, a condition. Writes each mistake into the source, builds
what the tests need, runs the tests, and restores the source. A mistake that does not compile, or does not
change the object, is replaced by another. The same seed and sources give the same mistakes. Processes that a test leaves
behind are killed. BUILD_FOLDER is that of the tree, and nothing else may build in it meanwhile. Test programs that
read staged files do not see the mistakes.
"""

import argparse
import ctypes
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

OPERATORS = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " && ": " || ",
    " || ": " && ", " + ": " - ", " - ": " + ", " * ": " + ", " / ": " * ", " % ": " / ", " += ": " -= ", " -= ": " += ",
    "++": "--", " << ": " >> ", " >> ": " << ", " & ": " | ", " | ": " & ",
}
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE)
OPERATOR = re.compile("|".join(re.escape(o) for o in sorted(OPERATORS, key=len, reverse=True)))
CONSTANT = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
CONDITION = re.compile(r"\b(?:if|while) \(")


def condition_end(code, begin):
    """The index after the parenthesis that closes the one before `begin`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(code[begin], 0)
        begin += 1
    return begin


def places(text):
    """Possible mistakes in the text, by kind: (begin, end, replacement)."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    found = {"operator": [], "constant": [], "condition": []}
    for match in OPERATOR.finditer(code):
        found["operator"].append((match.start(), match.end(), OPERATORS[match[0]]))
    for match in CONSTANT.finditer(code):
        found["constant"].append((match.start(), match.end(), str(int(match[1]) + 1)))
    for match in CONDITION.finditer(code):
        end = condition_end(code, match.end())
        found["condition"].append((match.end(), end - 1, "!(" + text[match.end() : end - 1] + ")"))
    return found


def adopt_orphans():
    """Makes this process the parent of descendants whose parent has ended (PR_SET_CHILD_SUBREAPER)."""
    if ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def children():
    """The process IDs of this process's children."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            # The fields after the name, which is in parentheses: state, parent.
            fields = pathlib.Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == os.getpid():
            found.append(int(name))
    return found


def kill_children():
    """Kills all descendants: those of a child that is killed become children."""
    while left := children():
        for child in left:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def run_tests(build, tests):
    """Returns the names of the tests that failed, usually one; None: the source does not compile."""
    # A mutant may not terminate; the first test that fails has caught it. Meson starts each test in a session of its own,
    # and kills a test that exceeds its time, but no process that left the test's session. The output goes to a file: a
    # pipe would stay open as long as such a process runs.
    command = ["meson", "test", "-C", str(build), "--timeout-multiplier=3", "--maxfail=1", *tests]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False).returncode
        finally:
            kill_children()
        output.seek(0)
        text = output.read()
    failed = re.findall(r"^ *\d+/\d+ (?:.* / |\S+:)?(\S+) +(?:FAIL|TIMEOUT|ERROR)", text, re.MULTILINE)
    if status and not failed:
        return None
    return failed


def objects(build, source):
    """Contents of the objects made from the source."""
    name = "_".join(source.parts[-2:]) + ".o"
    return [path.read_bytes() for path in sorted(build.rglob("*.o")) if path.name.endswith(name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--sources", nargs="+", required=True)
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    sources = sorted({path for glob in arguments.sources for path in root.glob(glob) if path.suffix in (".c", ".h")})
    if not sources:
        parser.error("no C source matches " + " ".join(arguments.sources))
    adopt_orphans()
    # As an interrupt from a terminal does, the signal restores the source and kills what runs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if run_tests(arguments.build, arguments.tests) != []:
        parser.error("the tests fail, or do not build, without a slip")
    print(f"seed {arguments.seed}, {len(sources)} sources, tests: {' '.join(arguments.tests)}", flush=True)
    draw = random.Random(arguments.seed)
    slips = {kind: [(path, *place) for path in sources for place in places(path.read_text(encoding="utf-8"))[kind]]
             for kind in ("operator", "constant", "condition")}
    for kind in slips:
        draw.shuffle(slips[kind])
    caught = drawn = 0
    while drawn < arguments.count:
        kind = [k for k in slips if slips[k]][drawn % sum(bool(s) for s in slips.values())]
        path, begin, end, new = slips[kind].pop()
        text = path.read_text(encoding="utf-8")
        before = objects(arguments.build, path)
        try:
            path.write_text(text[:begin] + new + text[end:], encoding="utf-8")
            failed = run_tests(arguments.build, arguments.tests)
            changed = objects(arguments.build, path) != before
        finally:
            path.write_text(text, encoding="utf-8")
        if failed is None or (not failed and path.suffix == ".c" and not changed):
            continue
        drawn += 1
        caught += bool(failed)
        line = text.count("\n", 0, begin) + 1
        change = f"{text[begin:end].strip()} -> {new.strip()}".replace("\n", " ")
        print(f"{path.relative_to(root)}:{line}: {change}: {'caught by ' + ' '.join(failed) if failed else 'NOT CAUGHT'}", flush=True)
    run_tests(arguments.build, arguments.tests)
    print(f"{caught} of {drawn} caught")


if __name__ == "__main__":
    sys.exit(main())
