# SPDX-License-Identifier: Apache-2.0
"""Reads archs.def and the files of archs/ for who is not C: architectures and instruction sets as dictionaries, in the
order of the rows.

    archs.py emulated: for shell scripts, a line for each architecture that an emulator runs: name, a plain target, the
    emulator, clang's triple, the C library to link with.
"""

import pathlib
import re
import sys

folder = pathlib.Path(__file__).resolve().parent
archs_def = folder / "archs.def"
FILES = [archs_def] + [folder / name for name in re.findall(r'^#include "(.*)"$', archs_def.read_text(encoding="utf-8"), re.M)]


def rows(kind):
    """The text between the parentheses of each row of a kind."""
    for path in FILES:
        yield from re.findall(rf"^UK_{kind}_ROW\((.*?)\)$", path.read_text(encoding="utf-8"), re.M | re.S)


def architectures():
    """name: llvm, triple, flag, targets, and the emulator's fields, each '' where there is none."""
    found = {}
    for row in rows("ARCH"):
        name, llvm, triple, flag = re.match(r'(\w+), (\w+), "([^"]*)", "([^"]*)"', row).groups()
        emulator = re.search(r"\.emulator = \{(.*?)\}", row, re.S)
        fields = dict(re.findall(r'\.(\w+) = "([^"]*)"', emulator[1] if emulator else ""))
        found[name] = {"llvm": llvm, "triple": triple, "flag": flag, "targets": [], "emulator": fields}
    for row in rows("TARGET"):
        target, arch = re.match(r'"([^"]*)", (\w+)', row).groups()
        found[arch]["targets"].append(target)
    return found


def isas():
    """name: arch, features, flags, private."""
    found = {}
    for row in rows("ISA"):
        name, arch, features, flags, private = re.fullmatch(r'(\w+), (\w+), "([^"]*)", "([^"]*)", "([^"]*)"', row).groups()
        found[name] = {"arch": arch, "features": [f for f in features.split(",") if f],
                       "flags": flags.split(), "private": [f for f in private.split(",") if f]}
    return found


def private_features():
    """Those that LLVM does not know, of all architectures."""
    return {f for isa in isas().values() for f in isa["private"] if f}


if __name__ == "__main__":
    if sys.argv[1:] != ["emulated"]:
        sys.exit(__doc__)
    for name, arch in architectures().items():
        if arch["emulator"]:
            e = arch["emulator"]
            print(name, arch["targets"][0], e["program"], e["triple"], e["libc"])
