# SPDX-License-Identifier: Apache-2.0
"""Compares each load and store of opcodes.def (buffers, LDS, scratch, scalars) with the bytes that the
manuals say it moves.

    memory.py FOLDER SIMULATOR LLVM_BIN SOURCE
"""

import pathlib
import random
import re
import struct
import subprocess
import sys

from assembly import assembly

folder, simulator, llvm, source = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
folder.mkdir(parents=True, exist_ok=True)
INPUT = 64 * 32  # bytes: eight words per lane; also the initial contents of LDS
AREA = 64 * 32   # bytes of results per test
PATTERN = 0x01010101  # register i of lane l is initialized to (16 l + i + 1) times this


def rows():
    text = (source / "simulate/amdgpu/opcodes.def").read_text(encoding="utf-8")
    for kind, name, numbers, flags in re.findall(r"^(MG|ML|MS)\((\w+), ([\d, ]+?)(?:, ([F_\w |]*[F_\w]|0))?\)$", text, re.M):
        yield kind, name, [int(n) for n in numbers.split(",")], flags or ""


def register(at, n, file="v"):
    return f"{file}{at}" if n == 1 else f"{file}[{at}:{at + n - 1}]"


def pattern(lane, i):
    return (16 * lane + i + 1) * PATTERN & 0xffffffff


SET = "v_lshlrev_b32 v3, 4, v0\n" + "".join(
    f"v_add_u32 v4, {i + 1}, v3\nv_mul_lo_u32 v{20 + i}, v4, s30\n" for i in range(8))
STORE = "v_lshlrev_b32 v5, 5, v0\nv_add_u32 v5, s31, v5\nglobal_store_dwordx4 v5, v[20:23], s[4:5]\nglobal_store_dwordx4 v5, v[24:27], s[4:5] offset:16\n"
FILL = "v_lshlrev_b32 v5, 5, v0\nds_write_b128 v5, v[30:33]\nds_write_b128 v5, v[34:37] offset:16\ns_waitcnt lgkmcnt(0)\n"
DRAIN = "v_lshlrev_b32 v5, 5, v0\nds_read_b128 v[20:23], v5\nds_read_b128 v[24:27], v5 offset:16\ns_waitcnt lgkmcnt(0)\n"


def loaded(data, size, before, flags):
    """Value of a register loaded from up to four bytes of memory."""
    value = int.from_bytes(data, "little", signed="F_SIGNED" in flags) & 0xffffffff
    if size >= 4:
        return value
    if "F_HIGH" in flags:
        return (value & 0xffff) << 16 | before & 0xffff
    return value & 0xffff | before & 0xffff0000 if "F_LOW" in flags else value


class Global:
    """With and without saddr, with an offset; loads from the input, stores to the test's area."""

    def __init__(self, name, size, n, flags, prefix, file, form):
        self.size, self.n, self.flags, self.write, self.offset = size, n, flags, "F_WRITE" in flags, 0 if prefix == "flat_" and form else form
        at = f" offset:{self.offset}" if self.offset else ""
        data, self.file = register(0 if file == "a" else 20, n, file), file
        self.text = "v_mul_u32_u24 v2, 20, v0\n" + ("v_add_u32 v2, s31, v2\n" if self.write else "")
        if form == 4 and prefix == "global_":
            address, base = "v2", ", s[4:5]"
        else:
            self.text += "v_mov_b32 v9, s5\nv_add_co_u32 v8, vcc, s4, v2\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n"
            address, base = "v[8:9]", ", off" if prefix == "global_" else ""
        moves = "".join(f"v_accvgpr_write_b32 a{i}, v{20 + i}\n" for i in range(n)) + "s_nop 4\n"
        back = "".join(f"v_accvgpr_read_b32 v{20 + i}, a{i}\n" for i in range(n))
        self.text += moves if file == "a" else ""
        self.text += f"{prefix}{name} " + (f"{address}, {data}" if self.write else f"{data}, {address}") + base + at + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
        self.text += back if file == "a" else ""
        self.text = SET + self.text + ("" if self.write else STORE)

    def wanted(self, data):
        out = bytearray(AREA)
        for lane in range(64):
            words = [pattern(lane, i) for i in range(8)]
            at = 20 * lane + self.offset
            if self.write:
                moved = b"".join(struct.pack("<I", word >> (16 if "F_HIGH" in self.flags else 0)) for word in words[:self.n])[:self.size]
                out[at:at + self.size] = moved
                continue
            for i in range(self.n):
                words[i] = loaded(data[at + 4 * i:at + min(4 * i + 4, self.size)], self.size, words[i], self.flags)
            out[32 * lane:32 * lane + 32] = struct.pack("<8I", *words)
        return bytes(out)


class Lds:
    """LDS initially holds the input; the results are the registers that reads set, or the LDS that writes
    change."""

    def __init__(self, name, size, n, flags, file):
        self.size, self.n, self.flags = size, n, flags
        self.write, self.two, self.factor = "F_WRITE" in flags, "F_TWO" in flags, size if "F_ST64" in flags else 16
        unit = size * (64 if "F_ST64" in flags else 1)
        self.offsets = ([0, unit] if "F_ST64" in flags else [unit, 0] if size == 8 else [0, 2 * unit]) if self.two else [0 if size > 8 else 4]
        modifiers = f" offset0:{self.offsets[0] // unit} offset1:{self.offsets[1] // unit}" if self.two else f" offset:{self.offsets[0]}"
        registers = n * (2 if self.two and not self.write else 1)
        at = 0 if file == "a" else 20
        data = register(at, registers, file) if not self.write else ", ".join(register(at + n * i, n, file) for i in range(len(self.offsets)))
        text = f"{name} v2, {data}" if self.write else f"{name} {data}, v2"
        moves = "".join(f"v_accvgpr_write_b32 a{i}, v{20 + i}\n" for i in range(8)) + "s_nop 4\n"
        back = "".join(f"v_accvgpr_read_b32 v{20 + i}, a{i}\n" for i in range(8))
        self.text = FILL + SET + f"v_mul_u32_u24 v2, {self.factor}, v0\n" + (moves if file == "a" else "")
        self.text += text + modifiers + "\ns_waitcnt lgkmcnt(0)\n" + (back if file == "a" else "") + (DRAIN if self.write else "") + STORE

    def wanted(self, data):
        lds, out = bytearray(data[:INPUT]), bytearray(AREA)
        for lane in range(64):
            words = [pattern(lane, i) for i in range(8)]
            for part, offset in enumerate(self.offsets):
                at = self.factor * lane + offset
                if self.write:
                    moved = b"".join(struct.pack("<I", word >> (16 if "F_HIGH" in self.flags else 0)) for word in words[part * self.n:(part + 1) * self.n])
                    lds[at:at + self.size] = moved[:self.size]
                else:
                    for i in range(self.n):
                        k = part * self.n + i
                        words[k] = loaded(data[at + 4 * i:at + min(4 * i + 4, self.size)], self.size, words[k], self.flags)
            out[32 * lane:32 * lane + 32] = struct.pack("<8I", *words)
        return bytes(lds if self.write else out)


class Scratch:
    """A lane's scratch initially holds its eight words of the input; results as in Lds. Lane l's address is 4
    * (l % 4) plus the offset of the form."""

    def __init__(self, name, size, n, flags, form, file):
        self.size, self.n, self.flags, self.write = size, n, flags, "F_WRITE" in flags
        self.each = 4 if form in ("offen", "soffset", "vaddr", "flat") else 0
        self.offset = {1: 7, 2: 6}.get(size, 4)
        data = register(0 if file == "a" else 20, n, file)
        two = lambda prefix, address: f"{prefix}{name} {address}, {data}" if self.write else f"{prefix}{name} {data}, {address}"
        by_flat = "s_mov_b64 s[8:9], src_private_base\n" + f"v_add_u32 v8, {self.offset}, v2\nv_mov_b32 v9, s9\n"
        line = {"off": f"buffer_{name} {data}, off, s[36:39], 0 offset:{self.offset}",
                "offen": f"buffer_{name} {data}, v2, s[36:39], 0 offen offset:{self.offset}",
                "soffset": f"buffer_{name} {data}, v2, s[36:39], s29 offen offset:{self.offset - 4}",
                "vaddr": two("scratch_", "v2") + f", off offset:{self.offset}",
                "saddr": two("scratch_", "off") + f", s28 offset:{self.offset + 4}",
                "flat": two("flat_", "v[8:9]")}[form]
        self.text = "".join(f"buffer_store_dword v{30 + i}, off, s[36:39], 0 offset:{4 * i}\n" for i in range(8)) + SET
        self.text += "s_mov_b32 s28, -4\ns_movk_i32 s29, 0x100\nv_and_b32 v2, 3, v0\nv_lshlrev_b32 v2, 2, v2\n" + (by_flat if form == "flat" else "")
        moves = "".join(f"v_accvgpr_write_b32 a{i}, v{20 + i}\n" for i in range(n)) + "s_nop 4\n"
        self.text += moves if file == "a" else ""
        self.text += line + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
        self.text += "".join(f"v_accvgpr_read_b32 v{20 + i}, a{i}\n" for i in range(n)) if file == "a" else ""
        drain = "".join(f"buffer_load_dword v{20 + i}, off, s[36:39], 0 offset:{4 * i}\n" for i in range(8)) + "s_waitcnt vmcnt(0)\n"
        self.text += (drain if self.write else "") + STORE

    def wanted(self, data):
        out = bytearray(AREA)
        for lane in range(64):
            words, own = [pattern(lane, i) for i in range(8)], bytearray(data[32 * lane:32 * lane + 32])
            at = self.each * (lane % 4) + self.offset
            if self.write:
                moved = b"".join(struct.pack("<I", word >> (16 if "F_HIGH" in self.flags else 0)) for word in words[:self.n])
                own[at:at + self.size] = moved[:self.size]
            else:
                for i in range(self.n):
                    words[i] = loaded(own[at + 4 * i:at + min(4 * i + 4, self.size)], self.size, words[i], self.flags)
            out[32 * lane:32 * lane + 32] = own if self.write else struct.pack("<8I", *words)
        return bytes(out)


class Scalar:
    """With a constant offset, and with one in a register."""

    def __init__(self, name, n, offset):
        self.n = n
        self.text = f"s_mov_b32 s29, 52\n{name} {register(12, n, 's')}, s[4:5], {offset}\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v5, 5, v0\nv_add_u32 v5, s31, v5\n"
        self.text += "".join(f"v_mov_b32 v20, s{12 + i}\nglobal_store_dword v5, v20, s[4:5] offset:{4 * i}\n" for i in range(min(n, 8)))
        self.text += f"v_mov_b32 v20, s{11 + n}\nglobal_store_dword v5, v20, s[4:5] offset:28\n"
        # Restores s30, the pattern, which a load of sixteen registers may overwrite.
        self.text += f"s_mov_b32 s30, {PATTERN}\n"

    def wanted(self, data):
        words = list(struct.unpack("<16I", data[52:116]))
        out = words[:min(self.n, 8)] + [0] * (8 - min(self.n, 8))
        out[7] = words[self.n - 1]
        return struct.pack("<8I", *out) * 64


def tests(gpu):
    files = ("v", "a") if gpu == "gfx90a" else ("v",)
    for kind, name, numbers, flags in rows():
        if kind == "MG":
            for file in files if "d16" not in name else ("v",):
                yield name, Global(name, *numbers, flags, "global_", file, 4)
            yield name, Global(name, *numbers, flags, "global_", "v", 3 if numbers[0] < 4 else 8)
            yield name, Global(name, *numbers, flags, "flat_", "v", 0)
            for form in ("off", "offen", "soffset", "vaddr", "saddr", "flat"):
                if numbers[0] <= 4 or form in ("vaddr", "saddr", "flat"):
                    for file in files if "d16" not in name else ("v",):
                        yield name, Scratch(name, *numbers, flags, form, file)
        elif kind == "ML":
            for file in files if "d16" not in name else ("v",):
                yield name, Lds(name, *numbers, flags, file)
        else:
            for offset in ("0x34", "s29"):
                yield name, Scalar(name, numbers[0], offset)


def check(gpu):
    data = bytes(random.Random(1).randrange(256) for _ in range(INPUT))
    all_tests = list(tests(gpu))
    text = "v_lshlrev_b32 v5, 5, v0\nglobal_load_dwordx4 v[30:33], v5, s[4:5]\nglobal_load_dwordx4 v[34:37], v5, s[4:5] offset:16\ns_waitcnt vmcnt(0)\n"
    text += f"s_mov_b32 s30, {PATTERN}\ns_mov_b32 s31, {INPUT}\n"
    for _, test in all_tests:
        text += test.text + f"s_add_u32 s31, s31, {AREA}\n"
    (folder / f"{gpu}.s").write_text(assembly(gpu, text, INPUT, 32))
    for command in ([llvm / "llvm-mc", "-triple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-filetype=obj", "-o", f"{gpu}.o", f"{gpu}.s"],
                    [llvm / "ld.lld", "-shared", "-o", f"{gpu}.hsaco", f"{gpu}.o"]):
        subprocess.run(command, cwd=folder, check=True)
    (folder / "in").write_bytes(data + bytes(AREA * len(all_tests)))
    subprocess.run([simulator, f"{gpu}.hsaco", "test", "--block=64", "@in=out"], cwd=folder, check=True)
    out = (folder / "out").read_bytes()[INPUT:]
    wrong = 0
    for i, (name, test) in enumerate(all_tests):
        if out[i * AREA:(i + 1) * AREA] != test.wanted(data):
            at = next(k for k in range(AREA) if out[i * AREA + k] != test.wanted(data)[k])
            line = next(text for text in test.text.split("\n") if name in text)
            print(f"{gpu}: {line}: byte {at} is {out[i * AREA + at]}, not {test.wanted(data)[at]}")
            wrong += 1
    print(f"{gpu}: {len(all_tests)} forms")
    return wrong or len(all_tests) < 100


sys.exit(bool(check("gfx906") + check("gfx90a")))
