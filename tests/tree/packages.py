# SPDX-License-Identifier: Apache-2.0
"""Checks that debian/ agrees with the rest of the tree: packages.py SOURCE LLVM VERSION SOVERSION [--update].

Build-Depends of debian/control consists of the groups `library` and `build` of dependencies.txt and
debhelper's packages: --update writes it. There is a package for each shared library, named after its soname;
the version is that of the build.
"""

import pathlib
import re
import sys

source, llvm, version, soversion = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
HELPERS = ["debhelper-compat (= 13)", "dh-sequence-python3", "chrpath"]
LIBRARIES = ("ukernels", "ukblas", "uktensorize", "uknetworks", "ukgpusim")
failures = []

path = source / "debian/control"
control = path.read_text(encoding="utf-8")
needed = [word.replace("$LLVM", llvm) for line in (source / "dependencies.txt").read_text(encoding="utf-8").splitlines()
          if line.startswith(("library debian ", "build debian ")) for word in line.split()[2:]]
field = "Build-Depends:\n" + "".join(f" {package},\n" for package in HELPERS + list(dict.fromkeys(needed)))
stated = re.search(r"^Build-Depends:\n(?: .*\n)+", control, re.M)[0]
if sys.argv[5:] == ["--update"]:
    path.write_text(control.replace(stated, field), encoding="utf-8")
    sys.exit()
if stated != field:
    failures.append("Build-Depends of debian/control is not what dependencies.txt says; tests/tree/packages.py ... --update writes it")
for name in sorted(set(re.findall(r"\b(?:clang|lld|llvm)-(\d+)\b", control)) - {llvm}):
    failures.append(f"debian/control names LLVM {name}, and the option llvm is {llvm}")
packages = set(re.findall(r"^Package: (lib\S+)", control, re.M))
for name in sorted(packages ^ {f"lib{library}{soversion}" for library in LIBRARIES}):
    failures.append(f"{name} is {'no library of ours' if name in packages else 'missing'} in debian/control")
for library in LIBRARIES:
    listed = source / f"debian/lib{library}{soversion}.install"
    if not listed.is_file() or listed.read_text(encoding="utf-8") != f"usr/lib/*/lib{library}.so.{soversion}*\n":
        failures.append(f"{listed.name} does not name lib{library}.so.{soversion}")
written = re.match(r"ukernels \((.*)-\d+\)", (source / "debian/changelog").read_text(encoding="utf-8"))
if not written or written[1] != version:
    failures.append(f"debian/changelog is of another version than {version}")

print("\n".join(failures) or f"{len(needed)} packages to build with, {len(packages)} libraries")
sys.exit(bool(failures))
