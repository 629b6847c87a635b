# SPDX-License-Identifier: Apache-2.0
"""Checks that compiled programs continue to work: sizes and offsets in public structs, values of enums,
prototypes, and the functions that libraries export are compared with the list in abi.txt.

    abi.py SOURCE BUILD CLANG NM [--update]

The list is made from ukernels.h, gpu.h, tensorize.h and networks.h as CLANG reads them for a machine with
64-bit pointers, and from the libraries in BUILD. Kernels are left out, since rows come and go. --update
writes the list again.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

source, build, clang, nm = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
LIST = source / "tests/tree/abi.txt"
HEADERS = '#include "gpu/gpu.h"\n#include "networks.h"\n'
FLAGS = ["-std=c17", f"-I{source}/ukernels", f"-I{source}/tensorize", f"-I{source}/networks"]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def declared():
    """The last declaration of each public name; the one with a body, if there is one."""
    tree = json.loads(run(clang, *FLAGS, "-xc", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-", input=HEADERS))
    nodes = {}
    for node in tree["inner"]:
        name = node.get("name", "")
        if name.startswith("uk_") and (node["kind"] != "RecordDecl" or node.get("completeDefinition")):
            nodes[node["kind"], name] = node
    return [node for _, node in sorted(nodes.items())]


def layouts(nodes):
    """Output of a program that prints the numbers, by the compiler."""
    lines = []
    for node in nodes:
        name, inner = node["name"], node.get("inner", [])
        if node["kind"] == "EnumDecl":
            lines.append(f'printf("enum {name}: %zu bytes\\n", sizeof(enum {name}));')
            lines += [f'printf("  {item["name"]} = %lld\\n", (long long){item["name"]});'
                      for item in inner if item["kind"] == "EnumConstantDecl"]
        elif node["kind"] == "RecordDecl":
            of = f"struct {name}"
            lines.append(f'printf("{of}: %zu bytes, aligned to %zu\\n", sizeof({of}), _Alignof({of}));')
            for field in inner:
                if field["kind"] == "FieldDecl":
                    member = field["name"]
                    lines.append(f'printf("  at %zu, %zu bytes: {member}, {field["type"]["qualType"]}\\n", '
                                 f"offsetof({of}, {member}), sizeof((({of} *)0)->{member}));")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "layouts")
        text = HEADERS + "#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n"
        run(clang, *FLAGS, "-xc", "-", "-o", program, input=text)
        return run(program).splitlines()


def shown(library):
    """The functions that a library exports, except kernels."""
    names = [line.split()[-1].split("@")[0] for line in run(nm, "-D", "--defined-only", library).splitlines() if " A " not in line]
    return sorted(name for name in names if not re.fullmatch(r"uk_\w+_\d+x\d+_\w+", name))


nodes = declared()
lines = layouts(nodes)
prototypes = {node["name"]: node["type"]["qualType"] for node in nodes if node["kind"] == "FunctionDecl"}
unseen = dict(prototypes)
for library in ("ukernels/libukernels.so", "tensorize/libuktensorize.so", "networks/libuknetworks.so"):
    lines.append(f"{pathlib.Path(library).name}:")
    for name in shown(build / library):
        lines.append(f"  {name}: {prototypes.get(name, 'not declared in a public header')}")
        unseen.pop(name, None)
if unseen:
    sys.exit(f"public headers declare what no library shows: {', '.join(unseen)}; define it, or take it out")

if "--update" in sys.argv:
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.exit()
known = LIST.read_text(encoding="utf-8").splitlines()
gone, new = [line for line in known if line not in lines], [line for line in lines if line not in known]
for sign, changed in (("-", gone), ("+", new)):
    for line in changed:
        print(sign, line.strip())
if lines != known:
    print("The public interface is not the one of tests/tree/abi.txt. What is only added may be listed: abi.py with --update. A line that\n"
          "is gone or changed breaks programs that were compiled before.")
    sys.exit(1)
print(f"{len(lines)} lines as listed")
