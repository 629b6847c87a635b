# SPDX-License-Identifier: Apache-2.0
"""Writes files whole or not at all."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Callable, Union

from .errors import ArgumentError, FileError

# enum uk_emit
EMIT = {name: i for i, name in enumerate(
    ("schedule", "loops", "llvm", "linked", "optimized", "asm", "object", "header", "shared", "device", "host"))}
ENDINGS = {".o": "object", ".so": "shared", ".s": "asm", ".ll": "optimized", ".h": "header"}


def write(path: pathlib.Path, data: bytes) -> None:
    """Writes a temporary file in the same folder, then renames it, so that no reader sees a part."""
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(beside, 0o666 & ~mask)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as failure:
        raise FileError(f"{path} cannot be written: {failure.strerror}") from None


def save_all(emit: Callable[[str], bytes], path: Union[str, os.PathLike[str]], header: Union[None, str, os.PathLike[str]]) -> None:
    """Writes the kind of file that the path's ending names, and a header. Both are made before either is written."""
    place = pathlib.Path(path)
    if place.suffix not in ENDINGS:
        raise ArgumentError(f"{place}: unknown file type '{place.suffix}'; use {', '.join(list(ENDINGS)[:-1])} or {list(ENDINGS)[-1]}")
    made = [(place, emit(ENDINGS[place.suffix]))]
    if header is not None:
        made.append((pathlib.Path(header), emit("header")))
    for where, data in made:
        write(where, data)
