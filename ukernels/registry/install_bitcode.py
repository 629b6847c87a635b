# SPDX-License-Identifier: Apache-2.0
"""Installs the bitcode as PREFIX/DIR/<arch>-<isa>/SYMBOL.{ll,bc}, where importers look for it.

    install_bitcode.py BUILD OTHER DIR <arch>-<isa>/SYMBOL...

The folder BUILD has each file as <arch>.SYMBOL.{ll,bc}; OTHER has those that were taken from another build. This is a script because
meson installs files only under the names that they were built with.
"""

import os
import pathlib
import shutil
import sys

build, other, folder = *map(pathlib.Path, sys.argv[1:3]), pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], sys.argv[3])
for name in sys.argv[4:]:
    group, symbol = name.split("/")
    (folder / group).mkdir(parents=True, exist_ok=True)
    for suffix in ("ll", "bc"):
        file = f"{group.split('-')[0]}.{symbol}.{suffix}"
        shutil.copyfile((build if (build / file).exists() else other) / file, folder / group / f"{symbol}.{suffix}")
