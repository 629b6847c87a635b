"""Writes a C source with the bytes of the bitcode files given, found by the architecture and the kernel's symbol that
their names consist of: <arch>.SYMBOL.bc."""

import pathlib
import sys

out = ['#include <string.h>', '#include "bitcode.h"', ""]
table = []
for path in map(pathlib.Path, sys.argv[2:]):
    data = path.read_bytes()
    arch, symbol = path.stem.split(".")
    out.append(f"static const unsigned char {arch}_{symbol}[] = {{")
    out += ["    " + "".join(f"{byte}," for byte in data[i : i + 32]) for i in range(0, len(data), 32)]
    out.append("};")
    table.append(f'    {{"{arch}", "{symbol}", {arch}_{symbol}, sizeof {arch}_{symbol}}},')
out += ["", "static const struct uk_bitcode kernels[] = {", *table, "};", ""]
out += [
    "const struct uk_bitcode *uk_bitcode_find(const char *arch, const char *symbol)",
    "{",
    "    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)",
    "        if (!strcmp(kernels[i].symbol, symbol) && !strcmp(kernels[i].arch, arch))",
    "            return &kernels[i];",
    "    return NULL;",
    "}",
]
pathlib.Path(sys.argv[1]).write_text("\n".join(out) + "\n", encoding="ascii")
