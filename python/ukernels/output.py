# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all."""

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
    """Writes beside the place, then renames into it."""
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
    """Emits what the ending of the path says, and a header, before either is written."""
    place = pathlib.Path(path)
    if place.suffix not in ENDINGS:
        raise ArgumentError(f"{place}: unknown file type '{place.suffix}'; use {', '.join(list(ENDINGS)[:-1])} or {list(ENDINGS)[-1]}")
    made = [(place, emit(ENDINGS[place.suffix]))]
    if header is not None:
        made.append((pathlib.Path(header), emit("header")))
    for where, data in made:
        write(where, data)
