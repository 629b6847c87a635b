# SPDX-License-Identifier: Apache-2.0
"""Prints what the build needs of every row of kernels.def, once for each architecture that has it: symbol, isa, impl,
source, compiler flags (separated by spaces), architecture, its triple, the operation's C parameters, separated by tabs."""

import re
import sys

rooms = sys.argv[1]
# -march spells these otherwise than LLVM's features.
MARCH = {"neon": "simd", "fullfp16": "fp16"}


def flags_of(arch, isa, features):
    if isa == "generic":
        return []
    if arch == "aarch64":
        # gcc has the intrinsics of what came later in armv8.2-a and above; so have all CPUs with it.
        base = "armv8-a" if features == ["neon"] else "armv8.2-a"
        return [f"-march={base}" + "".join("+" + MARCH.get(f, f) for f in features)]
    if arch == "arm":
        return ["-march=armv7-a", "-mfpu=neon-vfpv4", "-mfloat-abi=hard"]
    return ["-m" + f for f in features]


def parameters_of():
    """The C parameters of each row of ops.def: a list in parentheses, or a macro of the file, NAME_PARAMETERS(types), that is one."""
    text = open(f"{rooms}/registry/ops.def", encoding="utf-8").read().replace("\\\n", "")
    macros = dict(re.findall(r"^#define (\w+_PARAMETERS\([^)]*\)) *(\(.*\))$", text, re.M))
    macros = {name.split("(")[0]: (re.findall(r"\w+", name.split("(")[1]), " ".join(body.split())) for name, body in macros.items()}
    for op, macro, types in re.findall(r"^UK_OP_ROW\((\w+),\s*(\w*)(\([^)]*\)),", text, re.M):
        if macro:
            names, body = macros[macro]
            given = dict(zip(names, re.findall(r"\w+", types)))
            types = re.sub(r"\w+", lambda word: given.get(word[0], word[0]), body)
        yield op, " ".join(types.split())


def table(name, pattern):
    for line in open(f"{rooms}/{name}", encoding="utf-8"):
        row = re.fullmatch(pattern, line.rstrip())
        if row:
            yield row.groups()


triples = dict(table("machine/archs.def", r'UK_ARCH_ROW\((\w+), "([^"]*)"\)'))
parameters = dict(parameters_of())
isas = {name: rest for name, *rest in table("machine/isas.def", r'UK_ISA_ROW\((\w+), (\w+), "([^"]*)"\)')}

for number, line in enumerate(open(rooms + "/registry/kernels.def", encoding="utf-8"), 1):
    if not line.startswith("UK_KERNEL("):
        continue
    row = re.fullmatch(r"UK_KERNEL\((\w+), *(\d+), *(\d+), *(\w+), *(\w+)(,.*)?\)", line.rstrip())
    if not row or row[4] not in isas or row[1] not in parameters:
        sys.exit(f"{rooms}/registry/kernels.def:{number}: expected UK_KERNEL(op of ops.def, mr, nr, isa of isas.def, impl, attributes)")
    op, mr, nr, isa, impl, attributes = row.groups(default="")
    symbol = f"uk_{op}_{mr}x{nr}_{isa}_{impl}"
    features = re.search(r'\.features = "([^"]*)"', attributes)
    features = [f for f in (features[1] if features else isas[isa][1]).split(",") if f]
    kr = re.search(r"\.kr = (\d+)", attributes)
    shared = re.search(r'\.file = "([^"]*)"', attributes)
    if shared:
        source = shared[1]
        sizes = {"MR": mr, "NR": nr, "KR": kr[1] if kr else 1}
        names = [f"-DUK_OP_{op}", f"-DUK_ISA_{isa}"]
        names += [f"-DUK_{size}={n}" for size, n in sizes.items()]
        names += ["-DUK_DOUBLE"] if op.startswith("d") else []
    else:
        folder = "asm" if impl.startswith("asm") else "intrinsics"
        source = "asm/peachpy/" + symbol + ".py" if impl == "peachpy" else f"{folder}/{isas[isa][0]}/{symbol}.c"
        names = []
    if impl.startswith("asm_"):
        names += [f"-DUK_IMPL_{impl}"]
    for arch in triples if isas[isa][0] == "any" else [isas[isa][0]]:
        flags = flags_of(arch, isa, features) + [f"-DUK_SYMBOL={symbol}", *names]
        print(symbol, isa, impl, source, " ".join(flags), arch, triples[arch], parameters[op], sep="\t")
