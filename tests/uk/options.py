#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the command's table of options, as `uk help` prints it, with the manual page and bash's
completion. The page's section OPTIONS is generated: `options.py UK SOURCE --update` writes it. Arguments: uk,
the source tree, the completion file.
"""
import pathlib
import re
import subprocess
import sys

uk, source, completion = sys.argv[1:]
failures = []


def say(*arguments):
    done = subprocess.run([uk, *arguments], capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        failures.append(f"uk {' '.join(arguments)}: exit status {done.returncode}, on standard error: {done.stderr}")
    return done.stdout


def same(what, got, expected):
    if got != expected:
        failures.append(f"{what}: lacks {sorted(expected - got)}, has besides {sorted(got - expected)}")


# Options according to the command: (command, option) pairs.
overview = say("help")
commands = re.findall(r"^  ([a-z]+) ", overview, re.M)
table, rows = set(), {}  # (option, value, description): its commands
for command in commands:
    text = say("help", command)
    lines = re.findall(r"^  (--?[a-z][-a-z]*)( [A-Z]+(?= )|\S*) +(.*)$", text, re.M)
    for line in lines:
        rows.setdefault(line, []).append(command)
    options = [line[0] for line in lines]
    table |= {(command, option) for option in options}
    if not text.startswith(f"usage: uk {command}"):
        failures.append(f"uk help {command} begins with {text[:30]!r}")
    for way in ((command, "--help"), (command, "-h")):
        if say(*way) != text:
            failures.append(f"uk {' '.join(way)} is not uk help {command}")
for way in ("--help", "-h"):
    if say(way) != overview:
        failures.append(f"uk {way} is not uk help")

# The manual page: section OPTIONS, and a synopsis and an entry for each command.


def roff(text):
    return text.replace("\\", "\\e").replace("-", r"\-")


def entry(row):
    option, value, what = row
    value = re.sub(r"[A-Za-z][^\]]*", lambda m: rf"\fI{roff(m[0])}\fR", value)
    return f".TP\n\\fB{roff(option)}\\fR{value} ({', '.join(rows[row])})\n{roff(what[0].upper() + what[1:])}.\n"


section = "\n.SH OPTIONS\nWith each option the commands that take it. A value follows = or is the next word.\n" + "".join(
    entry(row) for row in sorted(rows, key=lambda row: (row[0].lstrip("-"), row[2])))
path = pathlib.Path(source, "uk/uk.1")
page = path.read_text(encoding="utf-8")
begin, end = page.index("\n.SH OPTIONS"), page.index("\n.SH EXIT STATUS") + 1
if completion == "--update":
    path.write_text(page[:begin] + section + page[end:], encoding="utf-8")
    sys.exit()
if page[begin:end] != section:
    failures.append("the section OPTIONS of uk.1 is not what the table says; tests/uk/options.py UK SOURCE --update writes it")
page = page.replace(r"\-", "-")
targets = set(re.search(r"the known ones are (.*)", subprocess.run(
    [uk, "kernels", "--target=none"], capture_output=True, text=True, check=False).stderr)[1].replace(" and ", ", ").split(", "))
targets = {target.split(" (")[0] for target in targets}
about = page[page.index("\n.SH TARGETS"):page.index("\n.SH OPTIONS")]
same("targets of uk.1", targets & set(re.findall(r"[-\w]+", about)), targets)
same("targets of uk help targets", set(re.findall(r"^(\S+)  +\S+  ", say("help", "targets"), re.M)) - {"target"}, targets)
same("commands in uk.1's synopsis", set(re.findall(r"^\\fBuk ([a-z]+)", page, re.M)), set(commands))
same("commands in uk.1's entries", set(commands), set(re.findall(r"^\.TP\n\.B ([a-z]+)$", page, re.M)) & set(commands))

# Completion, called as bash does.
SCRIPT = r"""
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_uk
printf '%s\n' "${COMPREPLY[@]}"
"""


def complete(*words):
    done = subprocess.run(["bash", "-c", SCRIPT, "bash", completion, *words], capture_output=True, text=True,
                          cwd=source + "/examples", check=False)
    if done.stderr or done.returncode:
        failures.append(f"completion of {words}: {done.stderr}")
    return set(done.stdout.split())


same("completed commands", complete("uk", ""), set(commands) | {"--help", "--version"})
for command in commands:
    same(f"completed options of {command}", {(command, word.rstrip("=")) for word in complete("uk", command, "-")},
         {(c, o) for c, o in table if c == command} | {(command, "--help")})
same("completed --emit", complete("uk", "compile", "--emit", "=", "o"), {"object", "optimized"})
same("completed --emit without =", complete("uk", "compile", "--emit", "o"), {"object", "optimized"})
same("completed targets", complete("uk", "run", "--target", "=", "neoverse-n"), {"neoverse-n1", "neoverse-n2"})
same("completed kernels", complete("uk", "show", "uk_sgemm_6x16_avx2_p"), {"uk_sgemm_6x16_avx2_peachpy"})
same("completed files", complete("uk", "run", "matmul_a"), {"matmul_acc.uk"})
same("completed files of an option", complete("uk", "run", "x.uk", "--schedule", "=", "matmul_a"), {"matmul_acc.uk"})

for failure in failures:
    print(failure)
print(f"{len(commands)} commands, {len(table)} options, {len(targets)} targets")
sys.exit(bool(failures) or len(table) < 40 or len(targets) < 20)
