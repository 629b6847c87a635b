# SPDX-License-Identifier: Apache-2.0
"""Tests tests/run.py on a small project of its own: resumed.py RUN. Checks which tests run, which results are
kept, and the output."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

run_py = sys.argv[1]
# Each test appends its name to the file `ran` and runs the shell commands in the file of its own name, if it exists.
TEST = """#!/bin/sh
cd "$(dirname "$0")/build" || exit 9
echo $1 >>ran
[ ! -e $1 ] || . ./$1
"""
PROJECT = """project('fake')
script = files('test.sh')
test('first', script, args: 'first', suite: 'quick', priority: 3)
test('second', script, args: 'second', suite: ['all', 'other'], priority: 2)
test('third', script, args: 'third', suite: 'change', priority: 1)
test('fourth', script, args: 'fourth', suite: 'other')
"""
# Shell commands that stop run.py, the parent of meson, as a user or the system would. KILL ends run.py first: it would
# see that meson has ended.
RUNNER = "meson=$PPID; runner=$(awk '/^PPid:/ { print $2 }' /proc/$meson/status); "
SIGNALLED = {
    "KILL": RUNNER + "kill -KILL $runner $meson; exit 0",
    "TERM": RUNNER + "kill -TERM $runner; exec sleep 1000",
    "INT": RUNNER + "kill -INT $meson $runner; exec sleep 1000",
}
os.environ.update(MESON_TESTTHREADS="1", GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@a",
                  GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@a")


class Tree:
    def __init__(self, folder):
        self.folder, self.build = folder, folder / "build"
        (folder / "tests").mkdir()
        shutil.copy(run_py, folder / "tests/run.py")
        (folder / "meson.build").write_text(PROJECT, encoding="utf-8")
        (folder / "test.sh").write_text(TEST, encoding="utf-8")
        (folder / "test.sh").chmod(0o755)
        (folder / ".gitignore").write_text("/build\n", encoding="utf-8")
        self.call("git", "init", "-q")
        self.commit()
        self.call("meson", "setup", "build")

    def call(self, *words):
        subprocess.run(words, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def commit(self):
        self.call("git", "add", "-A")
        self.call("git", "commit", "-q", "--allow-empty", "-m", "a commit")

    def does(self, name, text):
        (self.build / name).write_text(text, encoding="utf-8")

    def run(self, status, ran, *said, words=("--resume", "build", "quick", "change", "all")):
        """Runs the suites; checks the exit status, the tests that ran, and the lines printed (the last one at
        the end)."""
        (self.build / "ran").write_text("", encoding="utf-8")
        done = subprocess.run(["tests/run.py", *words], cwd=self.folder, capture_output=True, text=True, check=False)
        got = (self.build / "ran").read_text(encoding="utf-8").split()
        lines = done.stdout.splitlines() or [""]
        missing = [text for text in said if not any(re.fullmatch(text, line) for line in lines)]
        if done.returncode != status or got != ran.split() or missing or said and not re.fullmatch(said[-1], lines[-1]):
            sys.exit(f"exit status {done.returncode}, expected {status}; ran {got}, expected {ran}; no {missing} in\n"
                     f"{done.stdout}{done.stderr}")


with tempfile.TemporaryDirectory() as name:
    tree = Tree(pathlib.Path(name))
    longest = r"longest: (\w+ \d+ s, ){2}\w+ \d+ s"
    # After each signal, --resume continues with the test that was stopped. Meson does not report a test whose process
    # it was still starting when the signal came: it counts as left, not as failed.
    tree.does("second", SIGNALLED["KILL"])
    tree.run(-9, "first second")
    tree.does("second", SIGNALLED["TERM"])
    tree.run(1, "second", "1 tests passed before on commit .*", "left: second, third", "1 passed, [01] failed, 0 skipped")
    tree.does("second", SIGNALLED["INT"])
    tree.run(1, "second", "left: second, third", "1 passed, [01] failed, 0 skipped")
    # Only tests that failed or were skipped run again. The times of all runs are added.
    tree.does("second", "echo 1/1 fake:all / second OK 0.5s; echo 'a part: skipped, no reason'; exit 1")
    tree.does("third", "exit 77")
    tree.run(1, "second third", "fake:all.* / second: FAIL", "a part: skipped, no reason", longest, "left: second",
             "1 passed, 1 failed, 2 skipped")
    (tree.build / "second").unlink()
    tree.run(0, "second third", "2 passed, 0 failed, 1 skipped")
    (tree.build / "third").unlink()
    kept = tree.build / "passed_tests.json"
    kept.write_text(re.sub(r'"(cpu|clock)": [\d.]+', r'"\1": 36000', kept.read_text(encoding="utf-8")), encoding="utf-8")
    tree.run(0, "third", "CPU time: 3600[0-9] s, .* on commit [0-9a-f]{12}; tests took 600 minutes", longest,
             "3 passed, 0 failed, 0 skipped")
    tree.run(0, "", longest, "3 passed, 0 failed, 0 skipped")
    # Runs only tests of the suites named; without --resume all of them.
    tree.run(0, "fourth", "2 passed, 0 failed, 0 skipped", words=("--resume", "build", "other"))
    tree.run(0, "first second third", longest, "CPU time: [0-9] s, .*", "3 passed, 0 failed, 0 skipped",
             words=("build", "quick", "change", "all"))
    # With an uncommitted file nothing is kept; a new commit starts from nothing.
    (tree.folder / "new.c").write_text("", encoding="utf-8")
    tree.run(0, "first second third", "this is no clean checkout: .*", "3 passed, 0 failed, 0 skipped")
    (tree.folder / "new.c").unlink()
    tree.run(0, "", "3 passed, 0 failed, 0 skipped")
    tree.commit()
    tree.does("third", "exit 1")
    tree.run(1, "first second third", "left: third", "2 passed, 1 failed, 0 skipped")
    tree.does("first", "exit 1")
    tree.run(2, "first second third", "1 passed, 2 failed, 0 skipped", words=("build", "quick", "change", "all"))
