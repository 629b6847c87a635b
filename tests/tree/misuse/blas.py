# SPDX-License-Identifier: Apache-2.0
"""Calls the functions of libukblas with illegal arguments: each is reported, by its position, on standard
error, and nothing is written. NULL operands are not checked, as in every BLAS."""

import ctypes
import os
import re
import tempfile

INTS = {False: ctypes.c_int32, True: ctypes.c_int64}
# Parameters before the sizes, and after them: x is an operand, + a leading dimension, s a stride, a a factor, # the
# batch's size.
FORTRAN = {False: "tt" "iii" "a" "x+" "x+" "a" "x+", True: "tt" "iii" "a" "x+s" "x+s" "a" "x+s" "#"}


class Functions:
    """The exported functions, by name; the name determines how each is called."""

    def __init__(self, path, nm):
        self.library = ctypes.CDLL(path)
        shown = [line.split()[-1].split("@")[0] for line in nm.splitlines() if " A " not in line]  # those are versions
        self.functions = {name: re.fullmatch(r"(cblas_)?([sd])gemm(_batch_strided)?(_64_|_64|64_|_)?", name) for name in shown}


def good(form, wide, element, fortran):
    """Arguments for products of 4 x 4, and the operands, which are kept alive."""
    operands = [(element * 64)() for _ in range(3)]
    values, number = [], 0
    for kind in form:
        if kind == "x":
            values.append(ctypes.cast(operands[number], ctypes.c_void_p))
            number += 1
        elif kind == "t":
            values.append(ctypes.c_char(b"N") if fortran else ctypes.c_int(111))
        elif kind == "l":
            values.append(ctypes.c_int(101))
        elif kind == "a":
            values.append(element(1))
        else:
            values.append(INTS[wide]({"s": 16, "#": 2}.get(kind, 4)))
    return values, operands


def said(function, arguments):
    """Returns the call's output on standard error."""
    with tempfile.TemporaryFile() as out:
        before = os.dup(2)
        os.dup2(out.fileno(), 2)
        function(*arguments)
        os.dup2(before, 2)
        os.close(before)
        out.seek(0)
        return out.read().decode()


def call(interface, name, place=None, value=None):
    cblas, letter, batch, width = interface.functions[name].groups()
    wide, element = "64" in (width or ""), ctypes.c_float if letter == "s" else ctypes.c_double
    form = ("l" if cblas else "") + FORTRAN[bool(batch)]
    values, operands = good(form, wide, element, not cblas)
    for operand in operands:
        operand[0] = 1
    if place is not None:
        values[place] = type(values[place])(value)
    arguments = values if cblas else [v if k == "x" else ctypes.byref(v) for k, v in zip(form, values)]
    text = said(getattr(interface.library, name), arguments)
    if place is None:
        return f"says {text!r}" if text or operands[2][0] == 1 else None
    expected = f"Parameter {place + 1} to routine {name.split('_64')[0].split('64_')[0]}" if cblas else f"number {place + 1:2} had an illegal value"
    if operands[2][0] != 1:
        return "writes its result"
    return None if expected in text else f"says {text!r}, not {expected!r}"


def cases(interface, name):
    cblas, _, batch, _ = interface.functions[name].groups()
    yield "good arguments", lambda: call(interface, name)
    for place, kind in enumerate(("l" if cblas else "") + FORTRAN[bool(batch)]):
        bad = {"l": (0, -1, 103), "t": (0, -1, 114) if cblas else (b"X", b"\0", b" "), "i": (-1, -2**31), "+": (3, 0, -1, -2**31), "#": (-1, -2**31)}
        for value in bad.get(kind, ()):
            yield f"argument {place + 1}: {value}", lambda place=place, value=value: call(interface, name, place, value)
