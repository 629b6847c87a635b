# SPDX-License-Identifier: Apache-2.0
"""Checks that a room uses only the rooms before it.

    rooms.py NM SOURCE BUILD [--print]

- Every source is in a room; the files that it includes and the symbols that its object refers to are in the
  same room or in an earlier one.
- Another room is included by the header of its name, which says what the room does and, after `uses`, which
  rooms it needs.
- Kernels include only their contract, templates and the compiler's headers. Folders of tests are rooms.
- A tag that begins with uk_ or is in a header, and an enumerator of a header, has one meaning in all of them; a
  function that objects export, or whose name begins with uk_, is defined once.
- At most four files of a room depend on one another in a cycle.

--print prints the order, with files and lines.
"""

import functools
import json
import pathlib
import re
import subprocess
import sys

ROOMS = (
    ("ukernels", "machine registry view cost gpu runtime gemm conv blas"),
    ("simulate", "rvp"),
    ("bench", ""),
    ("tensorize", "base target language stages polyhedra interpret schedule match auto lower codegen link verify"),
    ("simulate", ""),
    ("simulate", "amdgpu"),
    ("networks", "graph import rewrite layers ranges plan emit"),
    ("uk", ""),
)
TOPS = tuple(dict.fromkeys(top for top, _ in ROOMS))
# Rooms whose header, which says what the room does, has another name.
HEADS = {"simulate": "simt.h", "simulate/rvp": "decode.h"}
# Other headers of rooms that later ones include: the simulator as a device of libukernels; names of RISC-V P's words.
ALSO = {"simulate/amdgpu": ("driver.h",), "simulate/rvp": ("names.h",)}
# Rooms without objects in this machine's build: programs for RISC-V are linked with them.
ELSEWHERE = {"simulate/rvp"}
MOST_IN_A_CIRCLE = 4
# Programs that use internals to measure, as tests do; they are no room.
MEASURE = pathlib.Path("bench/programs")
# Folders of tests/ that are not rooms: shared data, kernels, and tests across rooms.
OTHER_TESTS = {"amdgpu", "builds", "cross", "data", "filecheck", "fuzz", "golden", "kernels", "networks", "python", "rvp", "tree"}
# Other headers that rooms may include: public ones, tables, and those shared by kernels and their references.
SHARED = re.compile(r"(ukernels|tensorize(_calls|_verify)?|networks|kernel|kernels|minmax)\.h|.*\.def|registry/(half|rvp|kernel_contract|small_call|gpu_kernel|operation)\.h|machine/arch\.h")
# The modules of python/ukernels, in the order in which they use one another; __init__ exports the public names.
# tests/python checks that the package calls only functions of public headers.
PYTHON = ("about", "errors", "library", "arrays", "values", "output", "program", "function", "gemm", "registry", "tuning", "networks", "command", "__init__")
# Headers of libraries, and the only rooms that include them.
ONLY = {"isl/": ("polyhedra", "lower"), "llvm-c/": ("target", "codegen", "link", "verify", "amdgpu")}

nm, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
order = []
for top, names in ROOMS:
    order += [f"{top}/{name}" for name in names.split()] or [top]
rank = {room: i for i, room in enumerate(order)}
failures = []
used = {}  # by room: the rooms whose headers it includes or whose symbols it refers to


def room_of(path):
    """The room of a file, by its path from the root of the sources."""
    parts = path.parts
    room = "/".join(parts[:2])
    return parts[0] if room not in rank and parts[0] in rank else room


def head_of(room):
    return HEADS.get(room, room.split("/")[-1] + ".h")


def files(*tops):
    for top in tops:
        for path in sorted((source / top).rglob("*")):
            if path.suffix in (".c", ".h") and not path.is_relative_to(source / MEASURE):
                yield path.relative_to(source)


def included(path):
    text = (source / path).read_text(encoding="utf-8")
    return re.findall(r'^\s*#\s*include "([^"]+)"', text, re.M)


def find(path, name):
    """The file that an #include refers to; None: the build generates it."""
    for folder in (path.parent, *map(pathlib.Path, ("ukernels", "tensorize", "bench", "uk", "simulate/amdgpu", "simulate/rvp"))):
        if (source / folder / name).is_file():
            return pathlib.Path((source / folder / name).resolve().relative_to(source.resolve()))
    return None


def check_includes():
    for path in files(*TOPS):
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
            if other != room and not header.suffix == ".def":
                used.setdefault(room, set()).add(other)
            if rank[other] > rank[room]:
                failures.append(f"{path} includes {name}: {other} stands after {room}")
            elif other != room and header.name not in (head_of(other), *ALSO.get(other, ())) and not SHARED.fullmatch(name):
                failures.append(f"{path} includes {name}: of another room only the header of its name")


def check_headers():
    for room in order:
        header = source / room / head_of(room)
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


def check_python():
    folder = source / "python/ukernels"
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.stem not in PYTHON:
            failures.append(f"python/ukernels/{path.name} is no module of PYTHON; add it there")
            continue
        names = re.findall(r"^\s*from \.(\w+) import", text, re.M)
        for line in re.findall(r"^\s*from \. import (.*)", text, re.M):
            names += re.findall(r"(\w+)(?: as \w+)?", line.split("#")[0])
        for name in names:
            if name in PYTHON and PYTHON.index(name) >= PYTHON.index(path.stem):
                failures.append(f"python/ukernels/{path.name} imports {name}, which stands after it")


def objects():
    """For each source in a room, its objects in a library or in uk."""
    for unit in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = (build / unit["file"]).resolve()
        output = pathlib.Path(unit["output"])
        if not path.is_relative_to(source.resolve()) or output.parts[0] not in TOPS or output.is_relative_to(MEASURE):
            continue
        room = room_of(path.relative_to(source.resolve()))
        if room in rank and (build / output).is_file():
            yield room, path, output


def check_names():
    """Checks that tags of headers and of the whole project (uk_...), and enumerators of headers, are defined
    in one file each."""
    tags, enumerators = {}, {}
    for path in files(*TOPS):
        text = re.sub(r"/\*.*?\*/", " ", (source / path).read_text(encoding="utf-8"), flags=re.S)
        for tag in re.findall(r"\b(?:struct|union|enum) (\w+) \{", text):
            tags.setdefault(tag, set()).add(path)
        for body in re.findall(r"\benum(?: \w+)? \{([^}]*)\}", text) if path.suffix == ".h" else []:
            for name in re.findall(r"(?:^|,)\s*(\w+)", body):
                enumerators.setdefault(name, set()).add(path)
    for name, where in sorted(tags.items()) + sorted(enumerators.items()):
        if len(where) > 1 and (name in enumerators or name.startswith("uk_") or any(path.suffix == ".h" for path in where)):
            failures.append(f"{name} is defined in {', '.join(sorted(map(str, where)))}: two things, one name")


@functools.cache
def symbols():
    """Yields (room, source, symbol, True if defined, object) for the rooms' objects."""
    of = {str(output): (room, path) for room, path, output in objects()}
    missing = set(order) - {room for room, _ in of.values()} - ELSEWHERE
    if missing:
        failures.append("there are no objects of " + ", ".join(sorted(missing)))
    out = subprocess.run([nm, "--print-file-name", "--format=posix", *of], cwd=build, check=True, capture_output=True, text=True)
    lines = (re.match(r"([^:]+): (\S+) (\S)", line).groups() for line in out.stdout.splitlines())
    return [(*of[output], symbol, kind != "U", output) for output, symbol, kind in lines if kind in "TDRBCVWU"]


def check_symbols():
    first, own, references = {}, {}, set()
    for room, path, symbol, defined, output in symbols():
        if defined:
            own.setdefault((room, symbol), path)
            if symbol not in first or rank[room] < rank[first[symbol]]:
                first[symbol] = room
        else:
            references.add((room, symbol, path, output))
    needs = {}
    for room, symbol, path, output in sorted(references):
        if (room, symbol) in own:
            if own[room, symbol] != path:
                needs.setdefault(room, {}).setdefault(path, set()).add(own[room, symbol])
        elif symbol in first:
            used.setdefault(room, set()).add(first[symbol])
            if rank[first[symbol]] > rank[room]:
                failures.append(f"{output} uses {symbol}: {first[symbol]} stands after {room}")
    for room, graph in sorted(needs.items()):
        check_circles(room, graph)


# A static function with a name of the project's, as headers have.
HIDDEN = re.compile(r"^static (?:inline )?(?:const )?(?:struct |enum |unsigned )?\w+ \**(uk_\w+)\([^;{}]*\)\s*\{", re.M)


def check_functions():
    """Checks that names that objects export, or that begin with uk_, are defined in one file of this
    build."""
    defined = {}
    for _, path, symbol, is_defined, _ in symbols():
        if is_defined and symbol != "main" and not symbol.startswith(("_", ".")):
            defined.setdefault(symbol, set()).add(path.relative_to(source.resolve()))
    for path in files(*TOPS):
        text = re.sub(r"/\*.*?\*/", " ", (source / path).read_text(encoding="utf-8"), flags=re.S)
        for name in HIDDEN.findall(text):
            defined.setdefault(name, set()).add(path)
    for name, where in sorted(defined.items()):
        if len(where) > 1:
            failures.append(f"{name} is defined in {', '.join(sorted(map(str, where)))}: two functions, one name; rename one, or share it")


def reached(graph, start):
    """Everything reachable from there in one or more steps."""
    seen, todo = set(), list(graph.get(start, ()))
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += graph.get(node, ())
    return seen


def check_circles(room, graph):
    """Finds files that depend on one another: each is reachable from each."""
    reach = {path: reached(graph, path) for path in graph}
    for path in sorted(graph):
        circle = sorted(other for other in reach[path] if path in reach.get(other, ()))
        if len(circle) > MOST_IN_A_CIRCLE and path == circle[0]:
            names = ", ".join(other.name for other in circle)
            failures.append(f"{room}: {names} need one another; move what they share into a file of its own, below them")


def check_heads():
    """Checks that `uses` names only rooms that the room needs, and that these need all others it needs."""
    for room in order:
        comment = re.match(r"/\*.*?\*/\s*/\*(.*?)\*/", (source / room / head_of(room)).read_text(encoding="utf-8"), re.S)
        text = " ".join(re.findall(r"\b[Uu]ses (.*?)[.:](?:\s|$)", re.sub(r"\s*\n \*\s*", " ", comment[1] if comment else "")))
        words = set(re.findall(r"[a-z]+(?:/[a-z]+)?", text))
        named = {other for other in order if other != room and (other in words or ("/" in other and other.split("/")[1] in words))}
        needed = used.get(room, set())
        known = named.union(*(reached(used, other) for other in named))
        for other in sorted(named - needed):
            failures.append(f"{room}/{head_of(room)} says that it uses {other}, and it does not")
        for other in sorted(needed - known):
            failures.append(f"{room}/{head_of(room)} does not say that it uses {other}")


def check_tests():
    names = {room.split("/")[-1] for room in order} | OTHER_TESTS
    for path in sorted((source / "tests").iterdir()):
        if path.is_dir() and path.name not in names:
            failures.append(f"tests/{path.name} is named after no room")


def print_order():
    for room in order:
        sources = [path for path in files(*TOPS) if room_of(path) == room]
        lines = sum((source / path).read_text(encoding="utf-8").count("\n") for path in sources)
        print(f"{room:22} {len(sources):3} files {lines:6} lines")


check_includes()
check_headers()
check_kernels()
check_names()
check_symbols()
check_functions()
check_heads()
check_tests()
check_python()
if "--print" in sys.argv:
    print_order()
for failure in failures:
    print(failure)
sys.exit(bool(failures))
