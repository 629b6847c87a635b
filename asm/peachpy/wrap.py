#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a PeachPy kernel into an LLVM function whose body is one inline-asm statement.

    wrap.py KERNEL.py KERNEL.ll

KERNEL.py defines one PeachPy function named KERNEL. Its Arguments are those of the C prototype (64-bit integers and
pointers), and it returns nothing. The LLVM IR can be compiled to a native object or inlined into generated code; the
statement binds the arguments' registers and declares the clobbers.

Calling convention: that of the asm statement, not C's. The compiler moves the arguments into ARGUMENT_REGISTERS, in
order; nothing is on the stack. rsp, rbp and rbx belong to the surrounding code (stack, frame and base pointer); every
other register is free. The script loads its arguments first, by LOAD.ARGUMENT into virtual registers, and ends with
RETURN().

Constructs that PeachPy's text form would lose, or that are unsafe inside a caller, are refused with their line. The
statement must name every register that it changes, so only instructions without implicit operands pass.
"""
import copy
import os
import re
import runpy
import sys

from peachpy.x86_64.abi import system_v_x86_64_abi
from peachpy.x86_64.function import ABIFunction, Function
from peachpy.x86_64.pseudo import LABEL, LOAD
from peachpy.x86_64.registers import r8, r9, r10, r11, r12, r13, r14, r15, rax, rcx, rdi, rdx, rsi

TRIPLE = "x86_64-pc-linux-gnu"
DATA_LAYOUT = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

ARGUMENT_REGISTERS = (rdi, rsi, rdx, rcx, r8, r9, r10, r11, r12, r13, r14, r15)
SCRATCH_REGISTERS = (rax,)

# PeachPy's instruction set extensions as LLVM's features; None: every x86-64 CPU has it. Only sets with instructions
# that parse() lets pass are here. AVX-512 is not: PeachPy's text drops the masks and broadcasts of memory operands.
FEATURES = {
    "MMX+": None, "SSE": None, "SSE2": None, "CMOV": None, "PREFETCH": None,
    "AVX": "avx", "AVX2": "avx2", "FMA3": "fma", "F16C": "f16c",
}


class Refused(Exception):
    """The kernel cannot become an asm statement; `line` is the offending line of its text, if there is one."""

    def __init__(self, what, line=None):
        super().__init__(what if line is None else "%s: `%s`" % (what, line))


def _register_names():
    """Every name of a register or of a part of one, and the name of the whole."""
    names = {}
    for letter in "abcd":
        for form in ("r%sx", "e%sx", "%sx", "%sl", "%sh"):
            names[form % letter] = "r%sx" % letter
    for name in ("si", "di", "sp", "bp"):
        for form in ("r%s", "e%s", "%s", "%sl"):
            names[form % name] = "r" + name
    for number in range(8, 16):
        for suffix in ("", "d", "w", "b", "l"):
            names["r%d%s" % (number, suffix)] = "r%d" % number
    # A write to the lower half of a vector register clears the rest of it.
    for number in range(16):
        names["xmm%d" % number] = names["ymm%d" % number] = "ymm%d" % number
    return names


REGISTER_NAMES = _register_names()
RESERVED = {
    "rsp": "the stack is not the kernel's own once it is inlined; keep values in registers",
    "rbp": "rbp may be the caller's frame pointer; use another register",
    "rbx": "rbx may be the caller's base pointer; use another register",
}


def _registers(line):
    found = set()
    for name in re.findall(r"%(\w+)", line):
        if name == "rip":
            raise Refused("rip-relative operand, whose constant cannot be inlined; build the constant from immediates", line)
        if name not in REGISTER_NAMES:
            raise Refused("register %%%s cannot be declared by an asm statement; use general registers, xmm0..15 or ymm0..15" % name, line)
        register = REGISTER_NAMES[name]
        if register in RESERVED:
            raise Refused("%%%s is reserved: %s" % (name, RESERVED[register]), line)
        found.add(register)
    return found


# Instructions that change only the operands they name, memory and flags.

CONDITION = r"n?(?:[abglcsop]|[abgl]e|[ez]|p[eo])"
EXPLICIT = re.compile(
    r"(?:add|and|cmp|dec|inc|lea|mov|neg|not|or|sar|shl|shr|sub|test|xor)[bwlq]?"
    r"|mov(?:[sz][bwl][wlq]|[sz]x|sxd)|cmov%s[wlq]?|set%s" % (CONDITION, CONDITION) +
    r"|imul[wlq]?|prefetch(?:t[012]|nta|w)|nop"
    r"|v[a-z][a-z0-9]+")
IMPLICIT = re.compile(r"vzero.*|v(?:ld|st)mxcsr|vmaskmovdqu|vpcmp[ei]str[im]")
STACK = re.compile(r"(?:push|pop)f?[wlq]?|(?:call|enter|leave)[wlq]?")
JUMP = re.compile(r"j(?:mp|%s)" % CONDITION)

NUMBER = r"-?(?:0x[0-9a-fA-F]+|\d+)"
ADDRESS = r"(?:%s)?\((?:%%\w+|(?:%%\w+)?,%%\w+(?:,[1248])?)\)" % NUMBER
OPERAND = re.compile(r"\$%s|%%\w+|%s" % (NUMBER, ADDRESS))
LABEL_LINE = re.compile(r"\.?([A-Za-z_][\w.]*)::?")


def _operands(text):
    """Splits at the commas that are not inside parentheses."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)] if text else []


def _check_instruction(mnemonic, operands, line):
    if STACK.fullmatch(mnemonic):
        raise Refused("%s uses the stack, which is not the kernel's own once it is inlined; "
                      "keep values in registers" % mnemonic, line)
    if mnemonic in ("ret", "retq"):
        raise Refused("ret before the end would leave the caller; jump to one RETURN() at the end", line)
    if mnemonic.startswith(".") or mnemonic in ("align", "int", "hlt"):
        raise Refused("directive or instruction is not allowed in a kernel; remove it", line)
    if IMPLICIT.fullmatch(mnemonic) or not EXPLICIT.fullmatch(mnemonic) or \
            mnemonic.startswith("imul") and len(operands) < 2:
        raise Refused("%s may change registers other than its operands; use an instruction without implicit operands" % mnemonic, line)
    for operand in operands:
        if not OPERAND.fullmatch(operand):
            raise Refused("operand %s is neither register, number nor address by registers; "
                          "symbols and absolute addresses cannot be inlined" % operand, line)


def parse(text):
    """Checks PeachPy's gas text; returns its lines as (kind, mnemonic or label, rest) and the registers it names."""
    lines = [line.split("#", 1)[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    if not lines or lines[-1] not in ("ret", "retq"):
        after = [line for line in lines if line in ("ret", "retq")]
        raise Refused("instructions after ret; place RETURN() last" if after else
                      "no ret at the end; close the function with RETURN()", lines[-1] if lines else None)
    lines.pop()
    # LLVM adds its own where the caller needs one; this one would cut the caller's vectors in half.
    if lines and lines[-1] == "vzeroupper":
        lines.pop()

    parsed, labels, jumps, registers = [], set(), [], set()
    for line in lines:
        label = LABEL_LINE.fullmatch(line)
        if label:
            if label.group(1) in labels:
                raise Refused("label %s is defined twice" % label.group(1), line)
            labels.add(label.group(1))
            parsed.append(("label", label.group(1), ""))
            continue
        mnemonic, _, rest = line.partition(" ")
        rest = rest.strip()
        if JUMP.fullmatch(mnemonic):
            jumps.append((rest.lstrip("."), line))
            parsed.append(("jump", mnemonic, rest.lstrip(".")))
            continue
        registers |= _registers(line)
        _check_instruction(mnemonic, _operands(rest), line)
        parsed.append(("instruction", mnemonic, rest))
    for target, line in jumps:
        if target not in labels:
            raise Refused("jump to %s, which is not a label of the function" % target, line)
    return parsed, registers


def _asm_string(parsed):
    """The template of the asm statement: `$` doubled, labels private and unique to each copy of the statement."""
    lines = []
    for kind, word, rest in parsed:
        if kind == "label":
            lines.append(".Luk_%s_${:uid}:" % word)
        elif kind == "jump":
            lines.append("\t%s .Luk_%s_${:uid}" % (word, rest))
        else:
            lines.append(("\t%s %s" % (word, rest)).rstrip().replace("$", "$$"))
    escaped = "\n".join(lines).replace("\\", "\\5C").replace('"', "\\22")
    return escaped.replace("\n", "\\0A").replace("\t", "\\09")


def _clobbers(registers, arguments):
    def order(name):
        return (re.sub(r"\d+", "", name), int(re.sub(r"\D+", "", name) or 0))

    return ["~{%s}" % name for name in sorted(registers - set(arguments), key=order)] + \
        ["~{memory}", "~{dirflag}", "~{fpsr}", "~{flags}"]


def module(name, arguments, features, text, origin):
    """The LLVM module. `arguments`: (name, LLVM type) as in the C prototype; `text`: PeachPy's gas text."""
    parsed, registers = parse(text)
    if not 1 <= len(arguments) <= len(ARGUMENT_REGISTERS):
        raise Refused("%d arguments; a kernel has 1 to %d, each in a register"
                      % (len(arguments), len(ARGUMENT_REGISTERS)))
    bound = [str(register) for register in ARGUMENT_REGISTERS[:len(arguments)]]
    types = [type_ for _, type_ in arguments]
    # Every argument is an output tied to its input, so that the body may change all of them.
    constraints = ["={%s}" % register for register in bound] + [str(i) for i in range(len(bound))] + \
        _clobbers(registers, bound)
    results = types[0] if len(types) == 1 else "{ %s }" % ", ".join(types)
    parameters = ", ".join("%s %%%s" % (type_, argument) for argument, type_ in arguments)
    return "\n".join([
        "; Written by wrap.py from %s." % origin,
        'source_filename = "%s"' % origin,
        'target datalayout = "%s"' % DATA_LAYOUT,
        'target triple = "%s"' % TRIPLE,
        "",
        "define void @%s(%s) #0 {" % (name, parameters),
        '  %%changed = call %s asm sideeffect "%s", "%s"(%s) #1'
        % (results, _asm_string(parsed), ",".join(constraints), parameters),
        "  ret void",
        "}",
        "",
        'attributes #0 = { nounwind "target-cpu"="x86-64" "target-features"="%s" }'
        % ",".join("+" + feature for feature in features),
        "attributes #1 = { noduplicate nounwind }",
        "",
    ])


class AsmStatement(ABIFunction):
    """A PeachPy function with its registers allocated for the asm statement's calling convention."""

    CONVENTION = copy.copy(system_v_x86_64_abi)
    CONVENTION.argument_registers = list(ARGUMENT_REGISTERS) + \
        [register for register in system_v_x86_64_abi.argument_registers if register.kind != rdi.kind]
    CONVENTION.volatile_registers = list(SCRATCH_REGISTERS) + \
        [register for register in system_v_x86_64_abi.volatile_registers if register.kind != rdi.kind]
    CONVENTION.callee_save_registers = []

    def __init__(self, function):
        super().__init__(function, self.CONVENTION)

    def _setup_unix_arguments(self):
        if len(self.arguments) > len(ARGUMENT_REGISTERS):
            raise Refused("%d arguments; a kernel has 1 to %d, each in a register"
                          % (len(self.arguments), len(ARGUMENT_REGISTERS)))
        for argument, register in zip(self.arguments, ARGUMENT_REGISTERS):
            if argument.size != 8 or not (argument.is_pointer or argument.is_integer):
                raise Refused("argument %s is neither a 64-bit integer nor a pointer" % argument.name)
            argument.register = register

    def _lower_argument_loads(self):
        # A register is only reserved for its argument from the load on, so nothing may come between the loads.
        body = [instruction for instruction in self._instructions if not isinstance(instruction, LABEL)]
        loads = [instruction for instruction in body if isinstance(instruction, LOAD.ARGUMENT)]
        for position, load in enumerate(loads):
            register, argument = load.operands
            if body[position] is not load or isinstance(self._instructions[position], LABEL):
                raise Refused("argument %s is loaded late; load every argument before any label or instruction"
                              % argument.name)
            if register != argument.register:
                raise Refused("argument %s is loaded into %s, but arrives in %s; load each argument once, into a "
                              "virtual 64-bit register" % (argument.name, register, argument.register))
        super()._lower_argument_loads()


def required_features(function):
    features = set()
    for extension in map(str, function.isa_extensions):
        if extension not in FEATURES:
            raise Refused("instruction set %s is not one of %s; use instructions of these"
                          % (extension, ", ".join(FEATURES)))
        features.add(FEATURES[extension])
    if features & {"avx2", "fma", "f16c"}:
        features.add("avx")
    return sorted(features - {None})


def wrap(script):
    """Runs a kernel script; returns the LLVM module of its function."""
    name = os.path.splitext(os.path.basename(script))[0]
    functions = [value for value in runpy.run_path(script).values() if isinstance(value, Function)]
    functions = [function for function in functions if function.name == name]
    if len(functions) != 1:
        raise Refused("the script defines %d functions named %s; it must define one, as a global"
                      % (len(functions), name))
    function = functions[0]
    if function.result_type is not None:
        raise Refused("%s returns a value; a kernel returns nothing" % name)
    features = required_features(function)
    lowered = AsmStatement(function)
    arguments = [(argument.name, "ptr" if argument.is_pointer else "i64") for argument in lowered.arguments]
    text = lowered.encode().format("gas")
    return module(name, arguments, features, text, os.path.basename(script))


def main(arguments):
    if len(arguments) != 3:
        print("usage: wrap.py KERNEL.py KERNEL.ll", file=sys.stderr)
        return 2
    _, script, output = arguments
    try:
        text = wrap(script)
    except Refused as reason:
        print("%s: error: %s" % (script, reason), file=sys.stderr)
        return 1
    if os.path.exists(output) and not os.path.isfile(output):
        print("%s: error: not a regular file, which the result would replace; name another" % output, file=sys.stderr)
        return 1
    partial = output + ".part"
    with open(partial, "w", encoding="ascii") as file:
        file.write(text)
    os.replace(partial, output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
