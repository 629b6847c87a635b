# SPDX-License-Identifier: Apache-2.0
"""Names that a C program sees through a public header: they begin with uk_ or UK_, and the header itself
declares each, so that they are described there. kernels.h, which is made of tables, shows the kernels and
their function types, but no macro of a table.

    names.py SOURCE CLANG
"""

import json
import pathlib
import re
import subprocess
import sys

source, clang = pathlib.Path(sys.argv[1]), sys.argv[2]
COMPILER = ("tensorize/tensorize.h", "tensorize/tensorize_calls.h", "tensorize/tensorize_verify.h")
KERNELS = ("ukernels/ukernels.h", "ukernels/convolutions.h", "ukernels/low_precision.h", "ukernels/weights.h")
HEADERS = {**{header: KERNELS for header in (*KERNELS, "ukernels/kernels.h", "ukernels/gpu/gpu.h")},
           **{header: (*COMPILER, *KERNELS) for header in COMPILER}, "networks/networks.h": (*COMPILER, *KERNELS)}
# A type of pthreadpool, whose header is included by programs that use a pool of their own.
FOREIGN = {"pthreadpool"}
# kernels.h: kernels and their function types, by the patterns that its comments state.
OF_TABLES = re.compile(r"uk_[a-z0-9_]+_function|uk_[a-z0-9_]+_\d+x\d+_[a-z0-9_]+")
failures = []


def run(text, *flags):
    return subprocess.run([clang, "-std=c17", "-xc", f"-I{source}/ukernels", f"-I{source}/tensorize", *flags, "-"], input=text, capture_output=True, text=True, check=True).stdout


def macros(text):
    return set(re.findall(r"^#define (\w+)", run(text, "-E", "-dM"), re.M))


def declared(text):
    """Functions, variables, types and tags at file scope, and constants of enums."""
    names = set()
    for node in json.loads(run(text, "-fsyntax-only", "-Xclang", "-ast-dump=json"))["inner"]:
        for item in [node, *node.get("inner", [])]:
            if item is node or item["kind"] == "EnumConstantDecl":
                names.add(item.get("name", ""))
    return names - {""}


standard = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
known_macros, known = macros(standard), declared(standard)
count = 0
for header, included in HEADERS.items():
    text = f'#include "{source}/{header}"\n'
    itself = "".join((source / name).read_text(encoding="utf-8") for name in (header, *included))
    said = set(re.findall(r"\w+", re.sub(r"^#undef.*$", "", itself, flags=re.M)))
    guards = set(re.findall(r"^#ifndef (\w+_H)$", itself, re.M))
    for name in sorted(macros(text) - known_macros - guards):
        if not name.startswith("UK_") or not re.search(rf"^#define {name}\b", itself, re.M) or re.search(rf"^#undef {name}$", itself, re.M):
            failures.append(f"{header} shows the macro {name}; undefine it where it was used, or define and describe it in the header")
    names = declared(text) - known - FOREIGN
    for name in sorted(names):
        of_table = header.endswith("kernels.h") and not header.endswith("ukernels.h") and OF_TABLES.fullmatch(name)
        if not name.startswith(("uk_", "UK_")) or not (name in said or of_table):
            failures.append(f"{header} shows {name}, which does not begin with uk_ or UK_, or is not written in it")
    count += len(names)
print("\n".join(failures) or f"{count} names")
sys.exit(bool(failures))
