"""Writes a C source with the bytes of the bitcode files given, found by the kernel's symbol (the file's stem)."""

import pathlib
import sys

out = ['#include <string.h>', '#include "bitcode.h"', ""]
table = []
for path in map(pathlib.Path, sys.argv[2:]):
    data = path.read_bytes()
    out.append(f"static const unsigned char {path.stem}[] = {{")
    out += ["    " + "".join(f"{byte}," for byte in data[i : i + 32]) for i in range(0, len(data), 32)]
    out.append("};")
    table.append(f'    {{"{path.stem}", {path.stem}, sizeof {path.stem}}},')
out += ["", "static const struct uk_bitcode kernels[] = {", *table, "};", ""]
out += [
    "const struct uk_bitcode *uk_bitcode_find(const char *symbol)",
    "{",
    "    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)",
    "        if (!strcmp(kernels[i].symbol, symbol))",
    "            return &kernels[i];",
    "    return NULL;",
    "}",
]
pathlib.Path(sys.argv[1]).write_text("\n".join(out) + "\n", encoding="ascii")
