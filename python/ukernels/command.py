# SPDX-License-Identifier: Apache-2.0
"""The command uk of a wheel, whose program lies in this package."""

from __future__ import annotations

import os
import sys

from . import library


def main() -> None:
    """Becomes the program. One on the PATH may be this command itself."""
    program = library.installed_program()
    if not program:
        sys.exit("uk: the program was not found; install ukernels anew")
    os.execv(program, ["uk", *sys.argv[1:]])
