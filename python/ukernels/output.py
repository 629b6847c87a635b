# SPDX-License-Identifier: Apache-2.0
"""Writes files whole or not at all."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Callable, Optional, Union

from .errors import ArgumentError, FileError

# enum uk_emit
EMIT = {name: i for i, name in enumerate(
    ("schedule", "loops", "llvm", "linked", "optimized", "asm", "object", "header", "shared", "device", "host"))}
ENDINGS = {".o": "object", ".so": "shared", ".s": "asm", ".ll": "optimized", ".h": "header"}


Path = Union[str, os.PathLike[str]]


class Pieces:
    """A file that is written in pieces to a temporary file in the same folder, and renamed when it is complete, so that no reader sees a
    part. A context: leaving it without keep() removes the temporary file."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self.failure: Optional[OSError] = None
        try:
            self._handle, self._beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        except OSError as failure:
            raise self._error(failure) from None

    def __enter__(self) -> Pieces:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)
        if self._beside:
            os.unlink(self._beside)

    def _error(self, failure: OSError) -> FileError:
        return FileError(f"{self._path} cannot be written: {failure.strerror}")

    def put(self, offset: int, data: memoryview) -> bool:
        """Writes bytes at the offset; False: that failed, and check() raises the reason."""
        try:
            while data and not self.failure:
                written = os.pwrite(self._handle, data, offset)
                data, offset = data[written:], offset + written
        except OSError as failure:
            self.failure = failure
        return not self.failure

    def check(self) -> None:
        if self.failure:
            raise self._error(self.failure)

    def keep(self) -> None:
        self.check()
        try:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(self._beside, 0o666 & ~mask)
            os.replace(self._beside, self._path)
        except OSError as failure:
            raise self._error(failure) from None
        self._beside = ""


def write(path: pathlib.Path, data: bytes) -> None:
    with Pieces(path) as file:
        file.put(0, memoryview(data))
        file.keep()


def kind_of(path: pathlib.Path) -> str:
    """Returns the kind of file that the path's ending names."""
    if path.suffix not in ENDINGS:
        raise ArgumentError(f"{path}: unknown file type '{path.suffix}'; use {', '.join(list(ENDINGS)[:-1])} or {list(ENDINGS)[-1]}")
    return ENDINGS[path.suffix]


def save_all(emit: Callable[[str], bytes], path: Path, header: Optional[Path]) -> None:
    """Writes the kind of file that the path's ending names, and a header. Both are made before either is written."""
    place = pathlib.Path(path)
    made = [(place, emit(kind_of(place)))]
    if header is not None:
        made.append((pathlib.Path(header), emit("header")))
    for where, data in made:
        write(where, data)
