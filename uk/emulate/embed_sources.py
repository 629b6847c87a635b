# SPDX-License-Identifier: Apache-2.0
"""embed_sources.py OUT.c NAME FILE...: generates C that defines a table NAME of the files (C sources and objects).

The files will be written into a single folder, so includes lose their folder's name."""

import json
import pathlib
import re
import sys


def literals(file):
    """Returns the file's bytes as C string literals, and their number."""
    if file.suffix == ".o":
        data = file.read_bytes()
        return ['"' + "".join(f"\\{byte:03o}" for byte in data[i : i + 32]) + '"' for i in range(0, len(data), 32)], len(data)
    text = re.sub(r'#include "\w+/', '#include "', file.read_text(encoding="ascii"))
    return [json.dumps(line) for line in text.splitlines(keepends=True)], len(text)


out, name, *files = sys.argv[1:]
lines = ['#include "emulate/emulate.h"', "", f"const struct uk_source_file {name}[] = {{"]
for file in map(pathlib.Path, files):
    strings, length = literals(file)
    lines += [f'    {{"{file.name}",', *("     " + string for string in strings), f"     , {length}}},"]
pathlib.Path(out).write_text("\n".join([*lines, "    {0},", "};", ""]), encoding="ascii")
