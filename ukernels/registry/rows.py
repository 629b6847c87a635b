# SPDX-License-Identifier: Apache-2.0
"""Prints the rows of kernels.def for the build: a line for each row and each architecture that has it, of fields separated by tabs.

    symbol, isa, impl
    source         path of the source
    flags          of the compiler, separated by spaces
    architecture, its triple
    parameters     of the operation's C prototype
    variants       separated by spaces; may be empty
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "machine"))
import archs as machine  # noqa: E402
import ops  # noqa: E402

rooms = sys.argv[1]
archs, isas, private = machine.architectures(), machine.isas(), machine.private_features()


def flags_of(isa, own):
    """The compiler's flags for the isa, and for the features that the row names itself."""
    flag = archs.get(isas[isa]["arch"], {"flag": ""})["flag"]
    more = [f for f in own if f not in isas[isa]["features"] and f not in private]
    if more and not flag:
        sys.exit(f"{rooms}/registry/kernels.def:{number}: no compiler's flag is known for {more[0]}; take an isa of archs.def that has it")
    return isas[isa]["flags"] + [flag + f for f in more]


operations = ops.operations()

for number, line in enumerate(open(rooms + "/registry/kernels.def", encoding="utf-8"), 1):
    if not line.startswith("UK_KERNEL("):
        continue
    row = re.fullmatch(r"UK_KERNEL\((\w+), *(\d+), *(\d+), *(\w+), *(\w+)(,.*)?\)", line.rstrip())
    if not row or row[4] not in isas or row[1] not in operations:
        sys.exit(f"{rooms}/registry/kernels.def:{number}: expected UK_KERNEL(op of ops.def, mr, nr, isa of archs.def, impl, attributes)")
    op, mr, nr, isa, impl, attributes = row.groups(default="")
    arch = isas[isa]["arch"]
    symbol = f"uk_{op}_{mr}x{nr}_{isa}_{impl}"
    features = re.search(r'\.features = "([^"]*)"', attributes)
    own = [f for f in features[1].split(",") if f] if features else []
    kr = re.search(r"\.kr = (\d+)", attributes)
    variants = re.search(r"\.variants = (UK_\w+(?: \| UK_\w+)*)", attributes)
    shared = re.search(r'\.file = "([^"]*)"', attributes)
    if shared:
        source = shared[1]
        sizes = {"MR": mr, "NR": nr, "KR": kr[1] if kr else 1}
        names = [f"-DUK_OP_{op}", f"-DUK_ISA_{isa}"]
        names += [f"-DUK_{size}={n}" for size, n in sizes.items()]
        names += ["-DUK_DOUBLE"] if operations[op]["element"] == "F64" else []
    else:
        folder = "asm" if impl.startswith("asm") else "intrinsics"
        source = "asm/peachpy/" + symbol + ".py" if impl == "peachpy" else f"{folder}/{arch}/{symbol}.c"
        names = []
    if impl.startswith("asm_"):
        names += [f"-DUK_IMPL_{impl}"]
    flags = " ".join([*flags_of(isa, own), f"-DUK_SYMBOL={symbol}", *names])
    for name in [a for a in archs if not archs[a]["is_device"]] if arch == "any" else [arch]:
        print(symbol, isa, impl, source, flags, name, archs[name]["triple"], operations[op]["parameters"],
              variants[1].replace(" | ", " ") if variants else "", sep="\t")
