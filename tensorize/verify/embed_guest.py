# SPDX-License-Identifier: Apache-2.0
"""embed_guest.py OUT.c NAME FILE...: C source with a string NAME: the files one after the other, each without its includes
of the others."""

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
