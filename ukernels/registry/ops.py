# SPDX-License-Identifier: Apache-2.0
"""Reads ops.def for Python scripts."""

import pathlib
import re
import sys

FILE = pathlib.Path(__file__).resolve().parent / "ops.def"


def operations():
    """Maps names of operations to parameters, element and form. In the file parameters are a list in parentheses, or a macro of the
    file, NAME_PARAMETERS(types), that expands to one."""
    text = FILE.read_text(encoding="utf-8").replace("\\\n", "")
    macros = dict(re.findall(r"^#define (\w+_PARAMETERS\([^)]*\)) *(\(.*\))$", text, re.M))
    macros = {name.split("(")[0]: (re.findall(r"\w+", name.split("(")[1]), " ".join(body.split())) for name, body in macros.items()}
    found = {}
    for row in re.findall(r"^UK_OP_ROW\((.*?)\)$", text, re.M | re.S):
        begin = re.match(r"(\w+),\s*(\w*)(\([^)]*\)),", row)
        attributes = dict(re.findall(r"\.(element|form) = UK_(?:ELEMENT|OP)_(\w+)", row))
        if not begin or len(attributes) != 2:
            sys.exit(f"{FILE}: expected UK_OP_ROW(name, parameters, declaration, .element = .., .form = .., ..), found: {row.split(',')[0]}")
        op, macro, types = begin.groups()
        if macro:
            names, body = macros[macro]
            given = dict(zip(names, re.findall(r"\w+", types)))
            types = re.sub(r"\w+", lambda word: given.get(word[0], word[0]), body)
        found[op] = {"parameters": " ".join(types.split()), **attributes}
    return found
