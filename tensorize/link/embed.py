# SPDX-License-Identifier: Apache-2.0
"""Embeds bitcode files, called <arch>.SYMBOL.bc. OUT.bin has their bytes, one after the other; OUT.c has a table of their
positions and finds a file by architecture and symbol.

    embed.py OUT.c OUT.bin FILE...
"""

import pathlib
import sys

out_c, out_bin = map(pathlib.Path, sys.argv[1:3])
table = []
with out_bin.open("wb") as blob:
    for path in map(pathlib.Path, sys.argv[3:]):
        data = path.read_bytes()
        arch, symbol = path.stem.split(".")
        table.append(f'    {{"{arch}", "{symbol}", uk_bitcode_bytes + {blob.tell()}, {len(data)}}},')
        blob.write(data)
# .incbin: compiling ten million bytes as an array of numbers would take many seconds.
out_c.write_text(
    "\n".join([
        "#include <string.h>",
        '#include "link/bitcode.h"',
        "",
        "extern const unsigned char uk_bitcode_bytes[] __attribute__((visibility(\"hidden\")));",
        '__asm__(".pushsection .rodata\\n"',
        '        ".globl uk_bitcode_bytes\\n"',
        '        ".hidden uk_bitcode_bytes\\n"',
        '        ".balign 16\\n"',
        '        "uk_bitcode_bytes:\\n"',
        f'        ".incbin \\"{out_bin.resolve()}\\"\\n"',
        '        ".popsection");',
        "",
        "static const struct uk_bitcode kernels[] = {",
        *table,
        "};",
        "",
        "const struct uk_bitcode *uk_bitcode_find(const char *arch, const char *symbol)",
        "{",
        "    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)",
        "        if (!strcmp(kernels[i].symbol, symbol) && !strcmp(kernels[i].arch, arch))",
        "            return &kernels[i];",
        "    return NULL;",
        "}",
    ]) + "\n",
    encoding="ascii",
)
