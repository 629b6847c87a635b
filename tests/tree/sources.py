# SPDX-License-Identifier: Apache-2.0
"""The first lines of every source file name its license: sources.py SOURCE_TREE."""

import pathlib
import sys

root = pathlib.Path(sys.argv[1])
folders = ("ukernels", "asm", "intrinsics", "simulate", "tensorize", "uk", "bench", "tests", "examples", "python")
endings = (".c", ".h", ".S", ".ld", ".def", ".def.in", ".cmake.in", ".py", ".py.in", ".sh", ".ini", "meson.build")
files = [path for folder in folders for path in sorted((root / folder).rglob("*")) if path.name.endswith(endings)]
files += [root / name for name in ("meson.build", "meson_options.txt", "uk-setup", ".ci/run")]
wrong = 0
for path in files:
    lines = path.read_text(encoding="utf-8").split("\n")[:2]
    if not any(line.strip("/*# ") == "SPDX-License-Identifier: Apache-2.0" for line in lines):
        print(f"{path.relative_to(root)}: the first line, or the one after #!, has no SPDX-License-Identifier: Apache-2.0")
        wrong += 1
print(f"{len(files)} files")
sys.exit(1 if wrong or len(files) < 300 else 0)
