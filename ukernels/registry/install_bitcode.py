# SPDX-License-Identifier: Apache-2.0
"""Copies the bitcode to where importers look for it, PREFIX/DIR/<arch>-<isa>/SYMBOL.{ll,bc}.

    install_bitcode.py BUILD DIR <arch>-<isa>/SYMBOL...

BUILD has each file as <arch>.SYMBOL.{ll,bc}: meson installs no file under another name than it was built with.
"""

import os
import pathlib
import shutil
import sys

build, folder = pathlib.Path(sys.argv[1]), pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], sys.argv[2])
for name in sys.argv[3:]:
    group, symbol = name.split("/")
    (folder / group).mkdir(parents=True, exist_ok=True)
    for suffix in ("ll", "bc"):
        shutil.copyfile(build / f"{group.split('-')[0]}.{symbol}.{suffix}", folder / group / f"{symbol}.{suffix}")
