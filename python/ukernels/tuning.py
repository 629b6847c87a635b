# SPDX-License-Identifier: Apache-2.0
"""Searches for schedules by the command `uk tune`, which runs trials in processes of their own."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Mapping, Optional, Union

from . import library
from .errors import ArgumentError, Error
from .program import Source, path_of


def tune(source: Source, *, target: str = "native", threads: Optional[int] = None, define: Optional[Mapping[str, int]] = None,
         sizes: Optional[Mapping[str, Union[int, range]]] = None, schedule: Optional[str] = None, time_limit: Optional[float] = None,
         trials: Optional[int] = None, seed: Optional[int] = None, log: Union[None, str, os.PathLike[str]] = None,
         require_kernels: bool = False) -> str:
    """Searches for a schedule that is faster than the automatic one, as `uk tune` does, and returns it:
    compile(source, schedule=tune(source)).

    source: a text or a path, as for compile(), or the path of a network, which ends in .onnx; the result is then for network(schedule=).
    sizes: sizes of the calls that are timed, by name; of a network a range leaves a size open, and layers are timed in its middle.
    define: sizes that become constants, by name.
    schedule: steps to begin with.
    time_limit: seconds; default: 60, for a network 300.
    trials: number of schedules to measure, at most.
    log: file of measurements; a later call with the same file resumes.
    """
    options = [f"--target={target}"]
    for option, values in (("define", define or {}), ("size", sizes or {})):
        options += [f"--{option}={name}={_size(value)}" for name, value in values.items()]
    for option, value in (("threads", threads), ("time-limit", time_limit), ("trials", trials), ("seed", seed), ("log", log)):
        if value is not None:
            options.append(f"--{option}={os.fspath(value) if option == 'log' else value}")  # type: ignore[arg-type]
    if require_kernels:
        options.append("--require-kernels")
    path = pathlib.Path(source) if str(source).lower().endswith(".onnx") else path_of(source)
    if path is not None and not pathlib.Path(path).is_file():
        raise ArgumentError(f"'{path}' is not a file")
    return _run(options, "-" if path is None else os.path.abspath(path), str(source) if path is None else None, schedule)


def _size(value: Union[int, range]) -> str:
    return f"{value[0]}..{value[-1]}:{value.step}" if isinstance(value, range) else str(value)


def _run(options: list[str], file: str, text: Optional[str], schedule: Optional[str]) -> str:
    """Runs the command and returns its output. The schedule is passed in anonymous memory, so that no file is left behind."""
    command = [library.program(), "tune", file, *options]
    passed: list[int] = []
    if schedule is not None:
        reading = _pipe(schedule)
        command.append(f"--schedule=/proc/self/fd/{reading}")
        passed.append(reading)
    try:
        done = subprocess.run(command, input=text if text is not None else "", capture_output=True, text=True, check=False,
                              pass_fds=passed)
    finally:
        for handle in passed:
            os.close(handle)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"uk tune ended with {done.returncode}"]
        raise Error("\n".join(said))
    return done.stdout


def _pipe(text: str) -> int:
    """Returns the descriptor of an anonymous file in memory that holds the text, at its beginning."""
    handle = os.memfd_create("schedule")
    os.write(handle, text.encode())
    os.lseek(handle, 0, os.SEEK_SET)
    return handle
