# SPDX-License-Identifier: Apache-2.0
"""The command uk of a wheel: starts the program that is inside this package."""

from __future__ import annotations

import os
import sys

from . import library


def main() -> None:
    """Replaces this process by the program. It is not looked up on the PATH, where it may be this command itself."""
    program = library.installed_program()
    if not program:
        sys.exit("uk: the program was not found; install ukernels anew")
    os.execv(program, ["uk", *sys.argv[1:]])
