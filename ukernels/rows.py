"""Prints what the build needs of every row of kernels.def that the given architecture has:
symbol, isa, impl, source, compiler flags (separated by spaces), separated by tabs."""

import re
import sys

folder, arch = sys.argv[1], sys.argv[2]
isas = {}
for line in open(folder + "/isas.def", encoding="utf-8"):
    row = re.fullmatch(r'UK_ISA_ROW\((\w+), (\w+), "([^"]*)"\)', line.rstrip())
    if row:
        isas[row[1]] = row[2], row[3]

for number, line in enumerate(open(folder + "/kernels.def", encoding="utf-8"), 1):
    if not line.startswith("UK_KERNEL("):
        continue
    row = re.fullmatch(r"UK_KERNEL\((\w+), *(\d+), *(\d+), *(\w+), *(\w+)(,.*)?\)", line.rstrip())
    if not row or row[4] not in isas:
        sys.exit(f"{folder}/kernels.def:{number}: expected UK_KERNEL(op, mr, nr, isa of isas.def, impl, attributes)")
    op, mr, nr, isa, impl, attributes = row.groups(default="")
    if isas[isa][0] not in ("any", arch):
        continue
    symbol = f"uk_{op}_{mr}x{nr}_{isa}_{impl}"
    features = re.search(r'\.features = "([^"]*)"', attributes)
    flags = ["-m" + f for f in (features[1] if features else isas[isa][1]).split(",") if f]
    shared = re.search(r'\.file = "([^"]*)"', attributes)
    if shared:
        source = shared[1]
        flags += [f"-DUK_SYMBOL={symbol}", f"-DUK_OP_{op}", f"-DUK_MR={mr}", f"-DUK_NR={nr}"]
    elif impl == "peachpy":
        source = f"asm/peachpy/{symbol}.py"
    else:
        source = f"{'asm' if impl.startswith('asm') else 'intrinsics'}/{symbol}.c"
    print(symbol, isa, impl, source, " ".join(flags), sep="\t")
