# SPDX-License-Identifier: Apache-2.0
"""Copies the bitcode to where importers look for it, PREFIX/DIR/<arch>-<isa>/SYMBOL.{ll,bc}.

    install_bitcode.py BUILD OTHER DIR <arch>-<isa>/SYMBOL...

BUILD has each file as <arch>.SYMBOL.{ll,bc}, or OTHER, where it was taken from another build: meson installs no file under another name
than it was built with.
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
