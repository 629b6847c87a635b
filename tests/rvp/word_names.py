# SPDX-License-Identifier: Apache-2.0
"""Prints words of RISC-V P 0.9.11 as assembly, by ukernels/registry/rvp.def; disassemblers show them as
unknown."""

import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parents[2] / "ukernels/registry/rvp.def"
REGISTERS = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split()
# Mask of the bits of funct7 and rs2 that are an operand in this form.
FREE = {"RR": 31, "RRA": 31, "R": 0, "I3": 7, "I4": 15, "I5": 31, "I6": 63, "I3A": 7}


def rows():
    text = re.sub(r"/\*.*?\*/", "", TABLE.read_text(encoding="utf-8"), flags=re.S)
    for name, form, funct3, funct7, field in re.findall(r"UK_RVP\((\w+), (\w+), (\w+), (\w+), (\d+),", text):
        yield name.replace("_", "."), form, int(funct3, 0), int(funct7, 0) << 5 | int(field)


ROWS = list(rows())


def print_word(word):
    """The instruction, such as "smaqa.su t5, t4, t0"; None: the word is not one of P."""
    if word & 0x7F not in (0x77, 0x7F):
        return None
    for name, form, funct3, code in ROWS:
        if word >> 12 & 7 == funct3 and (word >> 20) & ~FREE[form] == code:
            last = word >> 20 & FREE[form]
            operands = [REGISTERS[word >> 7 & 31], REGISTERS[word >> 15 & 31]]
            if form != "R":
                operands.append(REGISTERS[last] if form.startswith("RR") else str(last))
            return f"{name} {', '.join(operands)}"
    return None
