# SPDX-License-Identifier: Apache-2.0
"""embed_sources.py OUT.c NAME FILE...: C source with a table NAME of the files' names and texts, which are to lie in one folder:
what one of them includes from a room it then includes by its name alone."""

import json
import pathlib
import re
import sys

out, name, *sources = sys.argv[1:]
lines = ['#include "emulate/emulate.h"', "", f"const struct uk_source_file {name}[] = {{"]
for source in map(pathlib.Path, sources):
    text = re.sub(r'#include "\w+/', '#include "', source.read_text(encoding="ascii"))
    lines.append(f'    {{"{source.name}",')
    lines += ["     " + json.dumps(line) for line in text.splitlines(keepends=True)]
    lines.append("    },")
pathlib.Path(out).write_text("\n".join([*lines, "    {0},", "};", ""]), encoding="ascii")
