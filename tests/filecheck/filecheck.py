# SPDX-License-Identifier: Apache-2.0
"""Runs the RUN lines of the programs in a folder.

    filecheck.py UK LLVM_BIN FOLDER [NAME...]

A line `# RUN: COMMAND` is one command for bash, which continues on the next RUN line after a backslash. In it
%s is the file, %t a name for temporary files, %S the folder; %uk, %k_loops, %clang, %nm, %objdump and
%FileCheck are tools.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

uk, llvm, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
names = sys.argv[4:]


def commands(text):
    joined = ""
    for line in re.findall(r"^\s*# RUN:\s*(.*?)\s*$", text, re.M):
        joined += line
        if joined.endswith("\\"):
            joined = joined[:-1]
        else:
            yield joined
            joined = ""
    if joined:
        yield joined


def run(file, temporary):
    words = {
        "%uk": uk,
        "%k_loops": f"{shlex.quote(sys.executable)} {shlex.quote(str(folder / 'k_loops.py'))}",
        "%clang": llvm / "clang",
        "%nm": llvm / "llvm-nm",
        "%objdump": f"{shlex.quote(str(llvm / 'llvm-objdump'))} -d",
        "%FileCheck": f"{shlex.quote(str(llvm / 'FileCheck'))} {shlex.quote(str(file))}",
        "%s": file,
        "%S": folder,
        "%t": temporary,
    }
    words = {key: shlex.quote(str(value)) if isinstance(value, pathlib.Path) else value for key, value in words.items()}
    pattern = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    count = 0
    for command in commands(file.read_text(encoding="utf-8")):
        command = re.sub(pattern, lambda found: words[found[0]], command)
        done = subprocess.run(["bash", "-c", "set -euo pipefail\n" + command], capture_output=True, text=True,
                              cwd=temporary.parent)
        count += 1
        if done.returncode:
            print(f"{file.name}: exit status {done.returncode}: {command}\n{done.stdout}{done.stderr}")
            return False
    if not count:
        print(f"{file.name}: no RUN line")
    return count > 0


failed = []
files = [f for f in sorted(folder.glob("*.uk")) if not names or f.name in names]
with tempfile.TemporaryDirectory() as scratch:
    for file in files:
        if run(file, pathlib.Path(scratch) / file.stem):
            print(f"{file.name}: passed")
        else:
            failed.append(file.name)
print(f"{len(files) - len(failed)} of {len(files)} passed")
sys.exit(1 if failed or not files else 0)
