# SPDX-License-Identifier: Apache-2.0
"""Checks that every source file names its license and has the layout of .clang-format: sources.py SOURCE_TREE
CLANG_FORMAT."""

import pathlib
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
folders = (
    "ukernels", "asm", "intrinsics", "simulate", "tensorize", "networks", "uk", "bench", "tests", "examples", "python",
)
endings = (".c", ".h", ".S", ".ld", ".def", ".def.in", ".cmake.in", ".py", ".py.in", ".sh", ".ini", "meson.build")
files = [path for folder in folders for path in sorted((root / folder).rglob("*")) if path.name.endswith(endings)]
files += [root / name for name in ("meson.build", "meson_options.txt", "uk-setup", ".ci/run")]
wrong = 0
for path in files:
    lines = path.read_text(encoding="utf-8").split("\n")[:2]
    if not any(line.strip("/*# ") == "SPDX-License-Identifier: Apache-2.0" for line in lines):
        print(f"{path.relative_to(root)}: the first line, or the one after #!, has no SPDX-License-Identifier: Apache-2.0")
        wrong += 1
formatted = [str(path.relative_to(root)) for path in files if path.suffix in (".c", ".h")]
layout = subprocess.run([sys.argv[2], "--dry-run", "--Werror", *formatted], cwd=root, capture_output=True, text=True)
if layout.returncode:
    print(layout.stderr[:4000])
    print(f"the layout of these files is not that of .clang-format; run in the source tree: {sys.argv[2]} -i FILE...")
    wrong += 1
print(f"{len(files)} files, {len(formatted)} of them C")
sys.exit(1 if wrong or len(files) < 300 or len(formatted) < 300 else 0)
