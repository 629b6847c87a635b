# SPDX-License-Identifier: Apache-2.0
"""embed_file.py OUT.c NAME FILE: generates C that defines the file's bytes as NAME[] and their number as NAME_size."""

import pathlib
import sys

out, name, source = sys.argv[1:]
data = pathlib.Path(source).read_bytes()
lines = ["    " + "".join(f"{byte}," for byte in data[i : i + 32]) for i in range(0, len(data), 32)]
text = ['#include "emulate/emulate.h"', "", f"const unsigned char {name}[] = {{", *lines, "};"]
text.append(f"const size_t {name}_size = sizeof {name};")
pathlib.Path(out).write_text("\n".join(text) + "\n", encoding="ascii")
