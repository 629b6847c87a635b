# SPDX-License-Identifier: Apache-2.0
"""Generates a C table of kernels' documentation: the opening comment of each source, after the license line, or the
docstring of a Python source.

Arguments: the file to write, then SYMBOL=SOURCE for each kernel."""

import ast
import pathlib
import re
import sys


def opening(path):
    text = re.sub(r"\A.*SPDX-License-Identifier.*\n", "", path.read_text(encoding="utf-8"))
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or comment_lines(text, "#")).strip()
    block = re.match(r"\s*/\*(.*?)\*/", text, re.DOTALL)
    if not block:
        return comment_lines(text, "//")
    lines = [re.sub(r"^ ?\*", "", line) for line in block[1].split("\n")]
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    return "\n".join(line[min(indents, default=0) :].rstrip() for line in lines).strip("\n")


def comment_lines(text, mark):
    lines = []
    for line in text.splitlines():
        if not line.startswith(mark):
            break
        if not line.startswith("#!"):
            lines.append(line[len(mark) :].strip())
    return "\n".join(lines)


def literal(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return "\n     ".join(f'"{line}\\n"' for line in escaped.split("\n"))


rows = []
for argument in sys.argv[2:]:
    symbol, source = argument.split("=", 1)
    doc = opening(pathlib.Path(source))
    if not doc.strip():
        sys.exit(f"{source}: begins with no comment; say what tile, which registers, and the bound")
    rows.append(f'    {{"{symbol}",\n     {literal(doc)}}},')
pathlib.Path(sys.argv[1]).write_text(
    '#include "show.h"\n\nconst struct uk_kernel_doc uk_kernel_docs[] = {\n' + "\n".join(rows) + "\n    {0},\n};\n",
    encoding="utf-8",
)
