# SPDX-License-Identifier: Apache-2.0
"""Writes the files as a string NAME to the C source OUT.c, concatenated and without their includes of each other.

    embed_guest.py OUT.c NAME FILE...
"""

import json
import pathlib
import re
import sys

out, name, *sources = sys.argv[1:]
lines = ['#include "verify/verify.h"', "", f"const char {name}[] ="]
for source in map(pathlib.Path, sources):
    text = re.sub(r'^#include "[^"]*"\n', "", source.read_text(encoding="ascii"), flags=re.M)
    lines += ["    " + json.dumps(line) for line in text.splitlines(keepends=True)]
pathlib.Path(out).write_text("\n".join([*lines, "    ;", ""]), encoding="ascii")
