# SPDX-License-Identifier: Apache-2.0
"""Tests RISC-V P: the table against the model, and the emulation under qemu.

    rvp.py table VECTORS FOLDER     runs the build's rvp_vectors, by the table's C or, on RISC-V, its instructions
    rvp.py names NAMES              runs the build's rvp_names, which prints words as in assembly
    rvp.py emulation SOURCES FOLDER CLANG PLUGIN
                                    programs for riscv64, built in FOLDER by gcc and clang, with both opcodes,
                                    static and dynamic; PLUGIN counts their instructions
    rvp.py bare SOURCES FOLDER CLANG
                                    a program without an operating system

The last two exit with 77 if a tool is missing.
"""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys

import model
import word_names

OPCODES = (0x77, 0x7F)
# Maximum number of words in a run of rvp_vectors: replace.c has space for the bodies of these.
WORDS_A_RUN = 1000
SYSROOT = "/usr/riscv64-linux-gnu"
failures = 0


def fail(message):
    global failures
    failures += 1
    print(message, file=sys.stderr)


def run(command, env=None, **options):
    return subprocess.run(
        [str(c) for c in command], env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, check=False, timeout=300, **options,
    )  # fmt: skip


def parts(cases):
    """Splits the cases into runs with a limited number of different words."""
    part, words = [], set()
    for case in cases:
        word = case[0].split()[0]
        if word not in words and len(words) == WORDS_A_RUN:
            yield part
            part, words = [], set()
        words.add(word)
        part.append(case)
    yield part


def compare(what, command, folder, cases, env=None):
    """Runs rvp_vectors on the cases."""
    path = pathlib.Path(folder) / "vectors"
    model.write(cases, str(path))
    ran = run([*command, path], env)
    results = ran.stdout.splitlines()
    if ran.returncode or len(results) != len(cases):
        fail(f"{what}: exit {ran.returncode} after {len(results)} of {len(cases)}: {ran.stderr}")
        return
    wrong = [(line, want, got) for (line, want), got in zip(cases, results) if want != got]
    for line, want, got in wrong[:10]:
        fail(f"{what}: {line}: {got}, not {want}")


def all_cases(opcode):
    """Cases of each instruction of the model, and of similar words that are none: another funct3, other
    values of constant fields, the opcodes of integer and of vector instructions, a compressed word, a jump,
    srli32.u."""
    known = [case for name in model.MODEL for case in model.cases(opcode, name)]
    unknown = [0x40B57500, 0xADF58500, 0xFFF5F500, 0x82B5A500]
    strange = [word + opcode for word in unknown] + [0x00B50533, 0x02B50557, 0x00000000, 0x0000006F, 0x00902573]
    for i, word in enumerate(strange):
        known.insert(i * len(known) // len(strange), (f"{word:08x} 1 2 3", "unknown"))
    return known


def table(vectors, folder):
    # A cross build runs the program in its emulator.
    vectors = [*shlex.split(os.environ.get("MESON_EXE_WRAPPER", "")), vectors]
    for opcode in OPCODES:
        for part in parts(all_cases(opcode)):
            compare(f"host, opcode {opcode:#x}", vectors, folder, part)
    # The table and the model have the same instructions.
    names = sorted(run([*vectors, "--names"]).stdout.split())
    if names != sorted(model.MODEL):
        fail(f"in the table or the model only: {set(names) ^ set(model.MODEL)}")


def names(program):
    """Compares both programs that print words by the table with the model's encodings."""
    expected = {}
    for opcode in OPCODES:
        for name, (form, _, funct7, field, _) in model.MODEL.items():
            for line, _ in model.cases(opcode, name):
                word = int(line.split()[0], 16)
                operands = [word_names.REGISTERS[word >> shift & 31] for shift in (7, 15, 20)]
                if form not in ("RR", "RRA"):
                    operands[2:] = [] if form == "R" else [str((word >> 20) - (funct7 << 5 | field))]
                expected[word] = f"{name} {', '.join(operands)}"
    # Fields as LLVM prints them: numbers, and the ABI's names of registers.
    text = ""
    for word in expected:
        registers = [word_names.REGISTERS[word >> shift & 31] for shift in (7, 15, 20)]
        text += f".insn r {word & 127}, {word >> 12 & 7}, {word >> 25}, {', '.join(registers)}\n\t.word\t{word}\n"
        immediate = (word >> 20) - (4096 if word >> 31 else 0)
        text += f"\t.insn i {word & 127}, {word >> 12 & 7}, {', '.join(registers[:2])}, {immediate}\n\t.insn 0x4, {word}\n"
    strange = [".insn r 119, 0, 1, a0, a0, a0", ".insn r 51, 0, 101, a0, a0, a0", ".insn r 119, 0, 101, a0, fa0, a0",
               ".insn i 119, 0, a0, a0, 32", ".insn r4 119, 0, 1, a0, a0, a0, a0", ".insn 0x2, 119", ".word .L0", ".word 0", "ld a0, 0(a1)", ""]  # fmt: skip
    printed = run([*shlex.split(os.environ.get("MESON_EXE_WRAPPER", "")), program], input=text + "\n".join([*strange, ""]))
    lines = printed.stdout.splitlines()
    for number, (word, name) in enumerate(expected.items()):
        printed = {*lines[4 * number : 4 * number + 4], word_names.print_word(word)}
        if printed != {name}:
            fail(f"{word:#010x}, {name}: {printed}")
    if lines[4 * len(expected) :] != ["-"] * len(strange):
        fail(f"what is none of P's: {lines[4 * len(expected) :]}")


class Compiler:
    def __init__(self, name, command, sources, folder):
        self.name = name
        self.command = command
        self.sources = sources
        self.folder = folder / name
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = ["-std=c17", "-O2", "-Wall", "-Wextra", "-Werror", "-I", sources / "simulate/rvp"]
        self.flags = [*flags, "-I", sources / "ukernels"]
        self.objects = [
            self.compile(sources / "simulate/rvp" / f"{part}.c") for part in ("emulate", "replace", "decode", "illegal", "signals", "copies")
        ]
        archive = self.folder / "librvp_emulate.a"
        archive.unlink(missing_ok=True)
        must(["riscv64-linux-gnu-ar", "rcs", archive, *self.objects])
        self.link = [archive, "-Wl,-u,uk_rvp_start"]

    def compile(self, source, *more):
        out = self.folder / (source.stem + "".join(more).replace("/", "_") + ".o")
        must([*self.command, *self.flags, *more, "-c", source, "-o", out])
        return out

    def program(self, name, *arguments):
        out = self.folder / name
        must([*self.command, *self.flags, *arguments, "-o", out])
        return out


def must(command):
    made = run(command)
    if made.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{made.stderr}")


def vectors_of(compiler):
    program = compiler.program("rvp_vectors", "-static", compiler.sources / "tests/rvp/vectors.c", *compiler.link)
    for opcode in OPCODES:
        cases = all_cases(opcode)
        # gcc runs all cases with opcode 0x77 and an eighth of them with 0x7f; clang the reverse.
        for patch in ("0", "1"):
            some = cases if (opcode == 0x77) == (compiler.name == "gcc") else cases[::8]
            for part in parts(some) if patch == "1" else [some]:
                what = f"{compiler.name}, opcode {opcode:#x}, UK_RVP_PATCH={patch}"
                compare(what, [*QEMU, program], compiler.folder, part, {"UK_RVP_PATCH": patch})


def functions_of(compiler):
    """Functions of rvp.h compile to the instructions of their names; without optimization those with an
    immediate are C."""
    source = compiler.sources / "tests/rvp/functions.c"
    for opcode in OPCODES:
        for optimized in ("-O2", "-O0"):
            flags = [f"-DUK_RVP_OPCODE={opcode:#x}", optimized, "-static"]
            ran = run([*QEMU, compiler.program("rvp_functions", *flags, source, *compiler.link)])
            if ran.returncode:
                fail(f"{compiler.name}, opcode {opcode:#x}, {optimized}: exit {ran.returncode}: {ran.stderr}")


def ends_by_sigill(what, command, env, *texts):
    ended = run(command, env)
    # qemu ends itself with the signal that ends the program.
    if ended.returncode != -signal.SIGILL:
        fail(f"{what}: exit {ended.returncode}, not by SIGILL: {ended.stderr}")
    if not all(text in ended.stderr for text in texts) or bool(texts) != bool(ended.stderr.count("simulate/rvp")):
        fail(f"{what}: says {ended.stderr!r}, not {texts}")


def cases_of(compiler, opcode, dynamic):
    flags = [f"-DUK_RVP_OPCODE={opcode:#x}", "-pthread"]
    tests = compiler.sources / "tests/rvp"
    qemu = QEMU
    if dynamic:
        shared = compiler.program("librvp_shared.so", *flags, "-shared", "-fPIC", tests / "shared.c")
        more = [shared, f"-Wl,-rpath,{compiler.folder}"]
        qemu = [*QEMU, "-L", SYSROOT]
    else:
        more = [tests / "shared.c", "-static"]
    program = compiler.program("rvp_cases", *flags, tests / "cases.c", *more, *compiler.link)
    system = compiler.program("rvp_system", *flags, tests / "system.c", *more, *compiler.link)
    printed = {}
    for patch in ("0", "1"):
        env = {"UK_RVP_PATCH": patch}
        what = f"{compiler.name}, opcode {opcode:#x}, {'dynamic' if dynamic else 'static'}, UK_RVP_PATCH={patch}"
        for case in ("replaced", "stack_pointer", "unreachable", "used_up", "many_words", "runs", "overflow", "threads",
                     "handlers", "nested", "counts"):  # fmt: skip
            ran = run([*qemu, program, case], env)
            if ran.returncode:
                fail(f"{what}: {case}: exit {ran.returncode}: {ran.stderr}")
            if printed.setdefault(case, ran.stdout) != ran.stdout:
                fail(f"{what}: {case}: {ran.stdout}, before {printed[case]}")
        for case in ("constructors", "waits", "masks", "stacks", "segv", "copies"):
            ran = run([*qemu, system, case], env)
            if ran.returncode or ran.stderr:
                fail(f"{what}: {case}: exit {ran.returncode}: {ran.stderr}")
        word = f"0x{0x40B57500 + opcode:08x}"
        ends_by_sigill(f"{what}: unknown", [*qemu, program, "unknown"], env, word, "unknown_word+0x0", "rvp.def")
        ends_by_sigill(f"{what}: illegal", [*qemu, program, "illegal"], env, "0x0000 ", "illegal_word+0x0")
        ends_by_sigill(f"{what}: sent", [*qemu, program, "sent"], env)
    return program


# Instructions of cases.c's `counts`, counted by hand: 20 calls of 1000 iterations.
COUNTED = {"add32": 40000, "addi": 20020, "bnez": 20000, "ret": 20}
WAITS = {"smaqa": 40000, "smalda": 20000, "mv": 20000, "addi": 20020, "sd": 20000, "bnez": 20000, "ret": 20}
# An iteration of `counted`: add32 twice, addi, bnez. One of `waits`: smaqa, 1 cycle of waiting, smaqa, 1 cycle, mv,
# smalda, addi, 1 cycle, sd, bnez.
CYCLES = {"counted": 20 * (2 + 4 * 1000), "waits": 20 * (2 + 10 * 1000)}


def counts_of(program, plugin, folder):
    """The counting plugin counts each instruction once, whether words are replaced or not."""
    out, programs = folder / "count", set()

    def count(patch, options):
        out.unlink(missing_ok=True)
        ran = run([*QEMU, "-plugin", f"{plugin},{options}out={out}", program, "counts"], {"UK_RVP_PATCH": patch})
        if ran.returncode or not out.exists():
            sys.exit(f"{options}: {ran.stderr}")
        text = out.read_text(encoding="ascii")
        functions = {}
        parts = int(text.split()[2])
        for line in text.splitlines()[1 + parts :]:
            n, function, mnemonic = line.split()
            functions.setdefault(function, {})[mnemonic] = int(n)
        return text, *map(int, text.split()[:2]), functions

    for patch in ("0", "1"):
        text, total, cycles, functions = count(patch, "")
        programs.add(text)
        if functions["counted"] != COUNTED or functions["waits"] != WAITS or cycles:
            fail(f"UK_RVP_PATCH={patch}: counted by function: {functions['counted']}, {functions['waits']}")
        if total != sum(sum(f.values()) for f in functions.values()) or any(f.startswith("uk_rvp") for f in functions):
            fail(f"UK_RVP_PATCH={patch}: the emulation counts: {total}, {functions}")
        for name, mnemonics in ("counted", COUNTED), ("waits", WAITS):
            _, total, cycles, functions = count(patch, f"symbol={name},cycles=on,")
            if (total, cycles, functions) != (sum(mnemonics.values()), CYCLES[name], {name: mnemonics}):
                fail(f"UK_RVP_PATCH={patch}: {name}: {total} instructions, {cycles} cycles, {functions}")
        # Counts the calls of `counted` from main only, which are all of this case.
        _, total, _, functions = count(patch, "call=counted,")
        if functions["counted"] != COUNTED:
            fail(f"UK_RVP_PATCH={patch}: {functions}")
    if len(programs) != 1:
        fail(f"whole programs, trapped and replaced: {programs}")
    for wrong in f"out={out},symbol=a,call=b", "symbol=a", f"out={out},cycle=on":
        if not run([*QEMU, "-plugin", f"{plugin},{wrong}", program, "counts"]).returncode:
            fail(f"the plugin takes {wrong}")


def functions_are_plain(compiler):
    """Functions that stubs call change only registers that the stubs save, so they use no floating point and
    call nothing."""
    decode = compiler.folder / "decode.o"
    if run(["riscv64-linux-gnu-nm", "-u", decode]).stdout:
        fail(f"{compiler.name}: decode.c calls another file's functions")
    floats = [f"f{kind}{i}" for kind in "ats" for i in range(12)]
    for line in run(["riscv64-linux-gnu-objdump", "-d", decode]).stdout.splitlines():
        # Fields of a line: address, bytes, mnemonic, operands; the address of a branch may look like fa0.
        operands = re.sub(r"[0-9a-f]+ <.*", "", "".join(line.split("\t")[3:]))
        if any(word in floats for word in re.split(r"[^a-z0-9]+", operands)):
            fail(f"{compiler.name}: decode.c uses floating-point registers: {line}")


QEMU = ["qemu-riscv64", "-cpu", "rv64"]
CROSS_GCC = ["riscv64-linux-gnu-gcc"]
PACKAGES = {
    "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu",
    "qemu-riscv64": "qemu-user",
    "qemu-system-riscv64": "qemu-system-misc",
    f"{SYSROOT}/include/stdio.h": "libc6-dev-riscv64-cross",
}


def need(test, *what):
    absent = [PACKAGES[w] for w in what if not (shutil.which(w) or os.path.isfile(w))]
    if absent:
        print(f"{test}: skipped, needs the packages {' '.join(absent)}")
        sys.exit(77)


def cross_clang(clang):
    return [clang, "--target=riscv64-linux-gnu", "-march=rv64gc"]


def emulation(sources, folder, clang, plugin):
    need("rvp_emulation", "riscv64-linux-gnu-gcc", "qemu-riscv64", f"{SYSROOT}/include/stdio.h")
    gcc = Compiler("gcc", CROSS_GCC, sources, folder)
    clang = Compiler("clang", cross_clang(clang), sources, folder)
    for compiler in gcc, clang:
        functions_are_plain(compiler)
        functions_of(compiler)
        vectors_of(compiler)
    cases_of(gcc, 0x7F, dynamic=True)
    cases_of(clang, 0x77, dynamic=True)
    cases_of(clang, 0x7F, dynamic=False)
    counts_of(cases_of(gcc, 0x77, dynamic=False), plugin, folder)


def bare(sources, folder, clang):
    need("rvp_bare", "riscv64-linux-gnu-gcc", "qemu-system-riscv64")
    qemu = "qemu-system-riscv64 -M virt -bios none -display none -monitor none -serial stdio -kernel".split()
    flags = "-std=c17 -O2 -Wall -Wextra -Werror -mcmodel=medany -ffreestanding -static -nostdlib -nostartfiles".split()
    own = sources / "simulate/rvp"
    flags += ["-I", own, "-I", sources / "ukernels", "-T", own / "bare.ld"]
    files = [own / "bare.S", own / "bare.c", own / "decode.c", sources / "tests/rvp/bare_program.c"]
    folder.mkdir(parents=True, exist_ok=True)
    for name, compiler in (("gcc", CROSS_GCC), ("clang", cross_clang(clang))):
        for opcode in OPCODES:
            program = folder / f"{name}_{opcode:x}"
            must([*compiler, *flags, f"-DUK_RVP_OPCODE={opcode:#x}", *files, "-o", program])
            ran = run([*qemu, program])
            if ran.returncode:
                fail(f"{name}, opcode {opcode:#x}: exit {ran.returncode}: {ran.stdout}{ran.stderr}")
        must([*compiler, *flags, "-DUNKNOWN", *files, "-o", folder / name])
        ran = run([*qemu, folder / name])
        if ran.returncode != 132 or "the word 0x40b57577 is no instruction of P" not in ran.stdout:
            fail(f"{name}, an unknown word: exit {ran.returncode}: {ran.stdout}{ran.stderr}")


if __name__ == "__main__":
    if sys.argv[1] == "table":
        table(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "names":
        names(sys.argv[2])
    else:
        {"emulation": emulation, "bare": bare}[sys.argv[1]](
            pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]).resolve(), *sys.argv[4:]
        )
    sys.exit(failures != 0)
