#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads archs.def and archs/ for Python: architectures and instruction sets as dictionaries, in the order of the rows.

As a command, for shell scripts, it prints a line for each architecture that an emulator runs:

    archs.py targets    its first target
    archs.py emulated   name, first target, emulator, clang's triple, the emulated CPU with all features
    archs.py libraries  first target, a file that linking needs, the Debian package of that file
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
    """Maps names to llvm, triple, flag, targets, cpus (of the targets), is_device, and emulator: its fields, the last element
    of a list; empty if there is no emulator."""
    found = {}
    for kind, row in [(kind, row) for kind in ("ARCH", "DEVICE") for row in rows(kind)]:
        name, llvm, triple, flag = re.match(r'(\w+), (\w+), "([^"]*)", "([^"]*)"', row).groups()
        emulator = re.search(r"\.emulator = \{(.*?)\}", row, re.S)
        fields = dict(re.findall(r'\.(\w+) = (?:UK_LIST\([^)]*)?"([^"]*)"', emulator[1] if emulator else ""))
        found[name] = {"llvm": llvm, "triple": triple, "flag": flag, "targets": [], "cpus": [], "emulator": fields,
                       "is_device": kind == "DEVICE"}
    for row in rows("TARGET"):
        target, arch, cpu = re.match(r'"([^"]*)", (\w+), "([^"]*)"', row).groups()
        found[arch]["targets"].append(target)
        found[arch]["cpus"].append(cpu)
    return found


def isas():
    """Maps names to arch, features, flags, private."""
    found = {}
    for row in rows("ISA"):
        name, arch, features, flags, private = re.fullmatch(r'(\w+), (\w+), "([^"]*)", "([^"]*)", "([^"]*)"', row).groups()
        found[name] = {"arch": arch, "features": [f for f in features.split(",") if f],
                       "flags": flags.split(), "private": [f for f in private.split(",") if f]}
    return found


def private_features():
    """The features of all architectures that LLVM does not know."""
    return {f for isa in isas().values() for f in isa["private"] if f}


def emulated():
    """The architectures that an emulator runs. The row of this machine's own has only the libraries for linking."""
    return {name: arch for name, arch in architectures().items() if arch["emulator"] and "program" in arch["emulator"]}


if __name__ == "__main__":
    if sys.argv[1:] not in (["targets"], ["emulated"], ["libraries"]):
        sys.exit(__doc__)
    for arch_name, arch in emulated().items():
        runs, target = arch["emulator"], arch["targets"][0]
        lines = {
            "targets": [target],
            "emulated": [f"{arch_name} {target} {runs['program']} {runs['triple']} {runs['cpus']}"],
            "libraries": [f"{target} {runs[library]} {runs[library + '_package']}" for library in ("libc", "libgcc")],
        }
        print("\n".join(lines[sys.argv[1]]))
