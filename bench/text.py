# SPDX-License-Identifier: Apache-2.0
"""text.py INPUT OUTPUT NAME: writes a C source with the text of a file as the array NAME."""

import pathlib
import sys

source, target, name = sys.argv[1:]
lines = [f"extern const char {name}[];", f"const char {name}[] ="]
for line in pathlib.Path(source).read_text(encoding="ascii").splitlines():
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    lines.append(f'    "{escaped}\\n"')
pathlib.Path(target).write_text("\n".join(lines) + ";\n", encoding="ascii")
