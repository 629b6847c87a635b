# SPDX-License-Identifier: Apache-2.0
"""A room uses only the rooms before it.

    rooms.py NM SOURCE BUILD [--print]: every source lies in a room; what it includes and what its object refers to lies
    in the same room or in one before it; another room is included by the header of its name, which says what the room
    does; kernels include their contract, templates and the compiler's own headers; folders of tests are rooms. A tag that
    begins with uk_ or stands in a header, and an enumerator of a header, means one thing in all of them.
    --print: the order, with files and lines.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOMS = {
    "ukernels": "machine registry cost gpu runtime gemm blas",
    "bench": "",
    "tensorize": "base target language stages polyhedra interpret schedule match auto lower codegen link verify",
    "uk": "",
}
# Beside rooms in tests/: data for several of them, kernels, and what is not one room's.
OTHER_TESTS = {"amdgpu", "builds", "cross", "data", "filecheck", "fuzz", "golden", "kernels", "rvp", "tree"}
# Other headers that rooms take: the public ones, tables, and what kernels share with their references.
SHARED = re.compile(r"(ukernels|tensorize|kernel|kernels)\.h|.*\.def|registry/(half|rvp|kernel_contract|gpu_kernel)\.h|machine/arch\.h")
# Libraries that only these rooms of tensorize include.
ONLY = {"isl/": ("polyhedra", "lower"), "llvm-c/": ("target", "codegen", "link", "verify")}

nm, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
order = []
for top, names in ROOMS.items():
    order += [f"{top}/{name}" for name in names.split()] or [top]
rank = {room: i for i, room in enumerate(order)}
failures = []


def room_of(path):
    """The room of a file, by its path from the root of the sources."""
    parts = path.parts
    return parts[0] if parts[0] in rank else "/".join(parts[:2])


def files(*tops):
    for top in tops:
        for path in sorted((source / top).rglob("*")):
            if path.suffix in (".c", ".h"):
                yield path.relative_to(source)


def included(path):
    text = (source / path).read_text(encoding="utf-8")
    return re.findall(r'^\s*#\s*include "([^"]+)"', text, re.M)


def find(path, name):
    """The file that an #include means; None: one that the build makes."""
    for folder in (path.parent, pathlib.Path("ukernels"), pathlib.Path("tensorize"), pathlib.Path("bench"), pathlib.Path("uk")):
        if (source / folder / name).is_file():
            return pathlib.Path((source / folder / name).resolve().relative_to(source.resolve()))
    return None


def check_includes():
    for path in files(*ROOMS):
        room = room_of(path)
        if len(path.parts) == 2 and room not in rank:  # a public header
            continue
        if room not in rank:
            failures.append(f"{path}: {room} is no room; add it to ROOMS, or move the file")
            continue
        for library, rooms in ONLY.items():
            if path.parts[1] not in rooms and f"#include <{library}" in (source / path).read_text(encoding="utf-8"):
                failures.append(f"{path} includes <{library}...>, which {', '.join(rooms)} alone do")
        for name in included(path):
            header = find(path, name)
            if header is None or header.parent == path.parent or room_of(header) not in rank:
                continue
            other = room_of(header)
            if rank[other] > rank[room]:
                failures.append(f"{path} includes {name}: {other} stands after {room}")
            elif other != room and header.stem != other.split("/")[-1] and not SHARED.fullmatch(name):
                failures.append(f"{path} includes {name}: of another room only the header of its name")


def check_headers():
    for room in order:
        header = source / room / (room.split("/")[-1] + ".h")
        if not header.is_file():
            failures.append(f"{room} has no {header.name}")
        elif not re.match(r"/\* SPDX[^\n]*\n/\*", header.read_text(encoding="utf-8")):
            failures.append(f"{room}/{header.name} does not open with what the room does")


def check_kernels():
    for path in files("asm", "intrinsics"):
        for name in included(path):
            header = find(path, name)
            if header and header.parts[0] not in ("asm", "intrinsics") and not SHARED.fullmatch(name):
                failures.append(f"{path} includes {name}: a kernel takes its contract, and templates beside it")


def objects():
    """Of each source in a room, the objects that a library or uk is made of."""
    for unit in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = (build / unit["file"]).resolve()
        output = pathlib.Path(unit["output"])
        if not path.is_relative_to(source.resolve()) or output.parts[0] not in ROOMS:
            continue
        room = room_of(path.relative_to(source.resolve()))
        if room in rank and (build / output).is_file():
            yield room, output


def check_names():
    """Tags of headers and of the whole project (uk_...), and enumerators of headers, are defined in one file each."""
    tags, enumerators = {}, {}
    for path in files(*ROOMS, "simulate"):
        text = re.sub(r"/\*.*?\*/", " ", (source / path).read_text(encoding="utf-8"), flags=re.S)
        for tag in re.findall(r"\b(?:struct|union|enum) (\w+) \{", text):
            tags.setdefault(tag, set()).add(path)
        for body in re.findall(r"\benum\b[^;{(]*\{([^}]*)\}", text) if path.suffix == ".h" else []:
            for name in re.findall(r"(?:^|,)\s*(\w+)", body):
                enumerators.setdefault(name, set()).add(path)
    for name, where in sorted(tags.items()) + sorted(enumerators.items()):
        if len(where) > 1 and (name in enumerators or name.startswith("uk_") or any(path.suffix == ".h" for path in where)):
            failures.append(f"{name} is defined in {', '.join(sorted(map(str, where)))}: two things, one name")


def check_symbols():
    room_at = {str(output): room for room, output in objects()}
    if len(set(room_at.values())) != len(order):
        failures.append("there are no objects of " + ", ".join(set(order) - set(room_at.values())))
    out = subprocess.run([nm, "--print-file-name", "--format=posix", *room_at], cwd=build, check=True, capture_output=True,
                         text=True).stdout
    first, uses = {}, set()
    for line in out.splitlines():
        output, symbol, kind = re.match(r"([^:]+): (\S+) (\S)", line).groups()
        room = room_at[output]
        if kind in "TDRBCVW":
            if symbol not in first or rank[room] < rank[first[symbol]]:
                first[symbol] = room
        elif kind == "U":
            uses.add((room, symbol, output))
    for room, symbol, output in sorted(uses):
        if symbol in first and rank[first[symbol]] > rank[room]:
            failures.append(f"{output} uses {symbol}: {first[symbol]} stands after {room}")


def check_tests():
    names = {room.split("/")[-1] for room in order} | OTHER_TESTS
    for path in sorted((source / "tests").iterdir()):
        if path.is_dir() and path.name not in names:
            failures.append(f"tests/{path.name} is named after no room")


def print_order():
    for room in order:
        sources = [path for path in files(*ROOMS) if room_of(path) == room]
        lines = sum((source / path).read_text(encoding="utf-8").count("\n") for path in sources)
        print(f"{room:22} {len(sources):3} files {lines:6} lines")


check_includes()
check_headers()
check_kernels()
check_names()
check_symbols()
check_tests()
if "--print" in sys.argv:
    print_order()
for failure in failures:
    print(failure)
sys.exit(bool(failures))
