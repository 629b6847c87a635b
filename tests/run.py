#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of some suites by `meson test`; prints at the end which parts they skipped, the ten longest tests and
the CPU time.

    run.py [--resume] BUILD SUITE...

The CPU time (user + system) includes every child process that this process has waited for, before exec too: a shell
that builds and then execs this script has the build in it. The last line is `N passed, N failed, N skipped`.

--resume keeps in BUILD/passed_tests.json which tests passed, the commit, and the sums of CPU time and elapsed time.
While the commit is the same, tests that passed are not run again; on another commit all tests run. In a tree with
uncommitted changes or files nothing is kept and all tests run. Exits with 1 if a test has failed or has not run.
"""

import json
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

PASSED = ("OK", "EXPECTEDFAIL")
# A line that meson prints when a test has ended: number, suites, name, result, seconds.
ENDED = re.compile(r"\s*\d+/\d+ (?:.* / )?(\S+)\s+([A-Z]+)\s+([\d.]+)s")


def cpu_seconds():
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def clean_commit(source):
    """The commit of the source tree; None if something is not committed, or git does not know the tree."""
    def git(*words):
        return subprocess.run(["git", "-C", source, *words], capture_output=True, text=True, check=False)
    status, head = git("status", "--porcelain"), git("rev-parse", "HEAD")
    return None if status.returncode or status.stdout or head.returncode else head.stdout.strip()


class Kept:
    """Results of one commit, in a file that is written after each test."""

    def __init__(self, build, commit):
        self.path, self.commit = build / "passed_tests.json", commit
        self.passed, self.cpu, self.clock = {}, 0, 0
        if self.path.exists():
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            if stored["commit"] == commit:
                self.passed, self.cpu, self.clock = stored["passed"], stored["cpu"], stored["clock"]

    def write(self, cpu=0, clock=0):
        stored = {"commit": self.commit, "cpu": self.cpu + cpu, "clock": self.clock + clock, "passed": self.passed}
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(stored), encoding="utf-8")
        new.replace(self.path)  # atomic: whenever this process is killed, the file is whole


def meson_test(build, arguments, ended):
    """Runs tests; calls ended(name, result, seconds), unless it is None, after each. Returns the exit status."""
    command = ["meson", "test", "-C", build, "--no-rebuild", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE if ended else None, text=True, errors="replace") as meson:
        # On either signal meson ends its tests and itself; this process goes on and reports.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: meson.terminate())
        for line in meson.stdout if ended else ():
            print(line, end="", flush=True)
            if match := ENDED.match(line):
                ended(match[1], match[2], float(match[3]))
    return meson.returncode


def logged(build):
    """The log of the last run, a dictionary for each test."""
    return list(map(json.loads, (build / "meson-logs/testlog.json").read_text(encoding="utf-8").splitlines()))


def left_out_by(log):
    """The lines in which tests say which parts they skipped."""
    return [text for test in log for text in test.get("stdout", "").splitlines() if ": skipped, " in text]


def report(results, left_out):
    """Prints the ten longest of the results (name, result, seconds); returns the closing line."""
    for text in left_out:
        print(text)
    longest = sorted(results, key=lambda result: -result[2])[:10]
    print("longest:", ", ".join(f"{name} {seconds:.0f} s" for name, _, seconds in longest))
    passed = sum(result in PASSED for _, result, _ in results)
    skipped = sum(result == "SKIP" for _, result, _ in results)
    return f"{passed} passed, {len(results) - passed - skipped} failed, {skipped + len(left_out)} skipped"


def run(build, suites):
    status = meson_test(build, ["--print-errorlogs", *(f"--suite={suite}" for suite in suites)], None)
    log = logged(build)
    results = [(test["name"].rpartition(" / ")[2], test["result"], test["duration"]) for test in log]
    closing = report(results, left_out_by(log))
    print(f"CPU time: {cpu_seconds():.0f} s, user and system, of all that ran")
    print(closing)
    return status


def resume(build, suites, commit):
    kept, begin = Kept(build, commit), time.time()
    tests = json.loads((build / "meson-info/intro-tests.json").read_text(encoding="utf-8"))
    # Suites are named PROJECT:SUITE.
    wanted = [test["name"] for test in tests if {suite.rpartition(":")[2] for suite in test["suite"]} & set(suites)]
    results = {name: ("OK", kept.passed[name]) for name in wanted if name in kept.passed}
    left, left_out = [name for name in wanted if name not in results], []
    if results:
        print(f"{len(results)} tests passed before on commit {commit[:12]}; {len(left)} are run now", flush=True)

    def ended(name, result, seconds):
        results[name] = (result, seconds)
        if result in PASSED:
            kept.passed[name] = seconds
        kept.write(cpu_seconds(), time.time() - begin)

    if left:
        # Meson must not print logs of failures: a line of another meson test in one would count as a result.
        meson_test(build, left, ended)
        log = logged(build)
        left_out = left_out_by(log)
        for test in log:
            if test["result"] not in (*PASSED, "SKIP"):
                text = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
                print(f"{test['name']}: {test['result']}", *text[-100:], sep="\n")
    kept.write(cpu_seconds(), time.time() - begin)
    closing = report([(name, *result) for name, result in results.items()], left_out)
    left = [name for name in wanted if name not in results or results[name][0] not in (*PASSED, "SKIP")]
    if left:
        print("left:", ", ".join(left))
    cpu, minutes = kept.cpu + cpu_seconds(), (kept.clock + time.time() - begin) / 60
    print(f"CPU time: {cpu:.0f} s, user and system, of all runs on commit {commit[:12]}; "
          f"tests took {minutes:.0f} minutes")
    print(closing)
    return bool(left)


def main():
    resumes = sys.argv[1] == "--resume"
    build, *suites = sys.argv[1 + resumes:]
    build = pathlib.Path(build).resolve()
    commit = clean_commit(pathlib.Path(__file__).resolve().parent) if resumes else None
    if resumes and not commit:
        print("this is no clean checkout: no results are kept", flush=True)
    sys.exit(resume(build, suites, commit) if commit else run(build, suites))


if __name__ == "__main__":
    main()
