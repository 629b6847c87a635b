# SPDX-License-Identifier: Apache-2.0
"""Calls a public function with one bad argument after the other. Its prototype is that of tests/tree/abi.txt,
its good arguments are in a table, and bad values follow from the type of each argument."""

import copy
import ctypes
import os
import re
import signal

INT_MIN, INT_MAX, INT64_MIN, INT64_MAX = -2**31, 2**31 - 1, -2**63, 2**63 - 1
PLAIN = {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double,
         "float": ctypes.c_float, "_Bool": ctypes.c_bool, "unsigned char": ctypes.c_ubyte, "uk_gpu_address": ctypes.c_uint64,
         "const char *": ctypes.c_char_p, "void": None}
LONG = b"x" * 10000
TEXTS = (None, b"", b"no such thing", b"\xff\xfe", LONG)


def to_ctypes(kind):
    return ctypes.c_int if kind.startswith("enum ") else PLAIN.get(kind, ctypes.c_void_p)


def parameters(text):
    """The types between the parentheses of a prototype."""
    depth, found = 0, [""]
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [kind.strip() for kind in found if kind.strip() not in ("void", "")]


class Interface:
    """The functions of a library, as abi.txt lists them, and the number of values of each enum."""

    def __init__(self, listed, library, path):
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self.enums = {name: max(int(value) for value in re.findall(r" = (\d+)", body))
                      for name, body in re.findall(r"^(enum \w+):[^\n]*\n((?:  .*\n)+)", listed, re.M)}
        self.functions = {}
        for name, result, arguments in re.findall(r"^  (\w+): (.*?) ?\((.*)\)$", listed.split(f"\n{library}:\n")[1].split("\nlib")[0], re.M):
            self.functions[name] = result, parameters(arguments)
            function = getattr(self.library, name)
            function.restype, function.argtypes = to_ctypes(result), [to_ctypes(kind) for kind in self.functions[name][1]]

    def part(self, takes):
        """The same, with some of its functions."""
        part = copy.copy(self)
        part.functions = {name: of for name, of in self.functions.items() if takes(name)}
        return part

    def __getattr__(self, name):
        if name == "library":
            raise AttributeError(name)
        return getattr(self.library, name)

    def bad(self, kind, world):
        """Values that an argument of the type must not have."""
        if kind.startswith("enum "):
            return [-1, self.enums[kind] + 1, INT_MAX]
        if kind == "const char *":
            return TEXTS
        if kind == "int":
            return [-1, INT_MIN, INT_MAX]
        if kind == "int64_t":
            return [-1, INT64_MIN, INT64_MAX]
        return world.bad(kind) if kind.endswith("*") or "(*)" in kind else []


def label(value):
    if isinstance(value, tuple):
        return value[0]
    return "NULL" if value is None else repr(value if value != LONG else b"long")


def is_named(value, message):
    """True if the message names the wrong value: the number, the text, NULL, or empty."""
    if isinstance(value, tuple):
        return re.search(value[2], message)
    if value is None:
        return re.search(r"NULL|empty", message)
    if isinstance(value, int):
        return str(value) in message
    if value == b"":
        return re.search(r"""""|''|empty|found the end""", message)
    text = value.decode(errors="replace").strip("\ufffd")
    return text[:20] in message or f"'{text.split(' ')[0]}'" in message


def left(kinds, arguments):
    """Returns what a refused call stored through pointers to results; None: NULL everywhere."""
    for i, (kind, at) in enumerate(zip(kinds, arguments)):
        if re.fullmatch(r"(char|void|struct \w+) \*\*", kind) and at and ctypes.c_void_p.from_address(at).value:
            return f"leaves a pointer in argument {i + 1}"
    return None


def run_apart(name, cases):
    """Runs the cases in a child process, so that a crash is a result. Each case returns what is wrong, or
    None."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(60)
        with os.fdopen(write, "w", errors="replace") as out:
            for text, case in cases:
                print(f"> {text}", file=out, flush=True)
                wrong = case()
                if wrong:
                    print(f"{name}: {text}: {wrong}", file=out, flush=True)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, errors="replace") as said:
        lines = said.read().splitlines()
    status = os.waitpid(child, 0)[1]
    failures = [line for line in lines if not line.startswith("> ")]
    begun = [line[2:] for line in lines if line.startswith("> ")]
    if status:
        how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
        failures.append(f"{name}: {begun[-1] if begun else 'before the first case'}: ends the process ({how})")
    return failures, len(begun)


def covered(table, interface, where):
    """Returns functions without an entry, and entries without a function."""
    missing, gone = sorted(set(interface.functions) - set(table)), sorted(set(table) - set(interface.functions))
    return ([f"{name} has no entry in {where}: add its good arguments" for name in missing]
            + [f"{name} is in {where}, and in no public header: take it out" for name in gone])
