# SPDX-License-Identifier: Apache-2.0
"""Compiles a kernel to the bitcode that compilers import: SYMBOL.ll and, of the same text, SYMBOL.bc.

    bitcode.py CLANG LLVM_AS DEPFILE SOURCE OUT.ll OUT.bc [FLAG...]

SOURCE is C or LLVM IR. DEPFILE receives the files that were read, as a rule for make. Clang's output is changed:

    removed     the functions' string attributes (CPU, features, builtins), which would keep an importer from inlining: it checks
                the features of kernels.json instead
    removed     the source's path and the places of inline assembly in it, which depend on the machine that builds
    added       alwaysinline, to definitions
    added       noduplicate, to asm statements: optimizers take one for a cheap instruction, and would unroll the loops around it
"""

import pathlib
import re
import subprocess
import sys

clang, llvm_as, depfile, source, out_ll, out_bc = sys.argv[1:7]
flags = sys.argv[7:]
if source.endswith(".ll"):
    language = []
    with open(depfile, "w", encoding="utf-8") as out:
        out.write(f"{out_ll}: {source}\n")
else:
    language = ["-std=c17", "-ffreestanding", "-fPIC", "-Wall", "-Wextra", "-fdiscard-value-names", "-MD", "-MF", depfile, "-MQ", out_ll]
text = subprocess.run(
    [clang, *language, "-O2", "-fno-ident", *flags, "-S", "-emit-llvm", "-o", "-", source],
    check=True, stdout=subprocess.PIPE, text=True,
).stdout

lines = [f'source_filename = "{pathlib.Path(source).name}"']
asm_groups = set()
# Metadata nodes with the places of inline assembly: offsets into all files that were read.
places = tuple(f"!{node} = " for node in re.findall(r"!srcloc !(\d+)", text))
for line in text.splitlines():
    if line.startswith((";", "source_filename", "!llvm.ident", *places)):
        continue
    line = re.sub(r", !srcloc !\d+", "", line)
    if line.startswith("define "):
        line = line.replace("define dso_local ", "define ")
        group = re.search(r" #(\d+)", line)
        if not group:
            sys.exit(f"{source}: a definition without attributes: {line}")
        line = line.replace(group[0], " alwaysinline" + group[0], 1)
    asm = re.search(r"call .* asm .*\) #(\d+)$", line)
    if asm:
        asm_groups.add(asm[1])
    elif re.search(r"call .* asm ", line):
        sys.exit(f"{source}: an asm statement without attributes: {line}")
    lines.append(line)


def attributes(line):
    found = re.fullmatch(r"attributes #(\d+) = \{ (.*) \}", line)
    if not found:
        return line
    kept = re.sub(r'\s*"[^"]*"(="[^"]*")?', "", found[2])
    if found[1] in asm_groups and "noduplicate" not in kept:
        kept = "noduplicate " + kept
    return f"attributes #{found[1]} = {{ {kept.strip()} }}"


with open(out_ll, "w", encoding="utf-8") as out:
    out.write("\n".join(map(attributes, lines)).strip("\n") + "\n")
subprocess.run([llvm_as, "-o", out_bc, out_ll], check=True)
