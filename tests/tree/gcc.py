# SPDX-License-Identifier: Apache-2.0
"""Compiles every source of the build outside the kernels, which `no_threads_all` compiles with gcc, with
gcc's front end and warnings as errors: gcc.py GCC BUILD_FOLDER [FOLDER]. Sources in FOLDER are left out."""

import json
import pathlib
import shlex
import subprocess
import sys

gcc, build = sys.argv[1:3]
left_out = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
seen = set()
# Left out: flags of clang's, and those by which the build's files of dependencies would be written.
left_out_flags = ("-fsanitize=", "-fno-sanitize", "-g", "-fcolor-diagnostics", "-MD", "-MQ", "-MF")
checked = 0
failed = False
for unit in json.loads((pathlib.Path(build) / "compile_commands.json").read_text(encoding="utf-8")):
    words = shlex.split(unit["command"])
    if "/asm/" in unit["file"] or "/intrinsics/" in unit["file"] or not unit["file"].endswith(".c"):
        continue
    source = (pathlib.Path(unit["directory"]) / unit["file"]).resolve()
    # A program's copy of a library source is compiled as in the library.
    known = (source, *sorted(word for word in words if word.startswith("-D")))
    if known in seen or left_out in source.parents:
        continue
    seen.add(known)
    # The compiler may be preceded by a wrapper.
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    flags = [word for word, before in zip(words[first:], words[first - 1:])
             if not word.startswith(left_out_flags) and before not in ("-MQ", "-MF")]
    run = subprocess.run(
        [gcc, "-fsyntax-only", "-Werror", *flags], cwd=unit["directory"], stderr=subprocess.PIPE, text=True, check=False
    )
    checked += 1
    if run.returncode:
        failed = True
        print(run.stderr, file=sys.stderr)
if checked < 100:
    sys.exit(f"only {checked} sources were found")
print(f"{checked} sources checked")
sys.exit(failed)
