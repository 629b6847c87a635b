# SPDX-License-Identifier: Apache-2.0
"""programs.py OUTPUT FILE...: writes a C source with the table bench_op_programs of the files' names and texts."""

import json
import pathlib
import sys

output, *files = sys.argv[1:]
lines = ['#include "bench.h"', "", "const struct bench_op_program bench_op_programs[] = {"]
for file in map(pathlib.Path, files):
    text = [f"     {json.dumps(line)}" for line in file.read_text(encoding="ascii").splitlines(keepends=True)]
    lines += [f'    {{"{file.name}",', *text, "    },"]
pathlib.Path(output).write_text("\n".join([*lines, "    {0},", "};", ""]), encoding="ascii")
