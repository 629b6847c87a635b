# SPDX-License-Identifier: Apache-2.0
"""The command uk of a wheel, whose program lies in this package."""

from __future__ import annotations

import os
import sys

from . import library


def main() -> None:
    """Becomes the program."""
    os.execv(library.program(), ["uk", *sys.argv[1:]])
