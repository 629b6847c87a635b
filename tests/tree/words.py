# SPDX-License-Identifier: Apache-2.0
"""Names of the core and of its kernels are the field's own, and those of files too: words.py SOURCE_TREE.

Each rule has the folders and files that it holds for, what no identifier there may have between its underscores, what to write
instead, and names that are meant otherwise.
"""

import pathlib
import re
import sys

CORE = r"(ukernels|asm|intrinsics|tensorize/auto)/"
KERNELS = r"(asm|intrinsics|ukernels/gemm|ukernels/registry/kernel_contract)"
USERS = r"(tests/(gemm|kernels|registry|blas)|uk|bench)/"
RULES = [
    (CORE, r"ask|asks|asking|asked", "prefetch", ()),
    (CORE, r"turn|turns", "unrolled, iteration", ()),
    (CORE, r"turned|\w*8turn|[sdhb]turn", "transpose", ()),
    (CORE, r"piece|pieces", "column_split", ()),
    (CORE, r"strip|strips", "tile_row, micro_panel", ()),
    (CORE, r"afar", "from_llc_or_memory", ()),
    (CORE, r"told", "hint, returned", ()),
    (CORE, r"as_read", "fused_packing", ()),
    (CORE, r"is_odd|is_wrong", "is_invalid", ()),
    (KERNELS, r"steps", "iterations", ()),
    (r"(asm|intrinsics)/", r"step|steps", "k_iteration, UNROLL, STRIDE", ("step", "STEP_OF_ROWS", "row_step", "a_step", "b_step")),
    (r"ukernels/gemm", r"step_cost|step_cycles", "iteration_cost, iteration_cycles", ()),
    (USERS, r"asking|\w*8turn|[sdhb]turn|afar|told|as_read|leading_is_odd", "the core's word for it", ()),
]
SOURCES = (".c", ".h", ".def", ".def.in", ".S")
NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def names(path, name):
    """Identifiers with their lines; of a file's name, line 0."""
    yield 0, path.name.removesuffix(path.suffix)
    if path.name.endswith(SOURCES):
        code = NO_CODE.sub(lambda found: "\n" * found[0].count("\n"), path.read_text(encoding="utf-8"))
        for number, line in enumerate(code.split("\n"), 1):
            for word in re.findall(r"[A-Za-z_]\w*", line):
                yield number, word


def main(root):
    files = [path for folder in ("ukernels", "asm", "intrinsics", "tensorize/auto", "tests", "uk", "bench")
             for path in sorted((root / folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    rules = [(folder, re.compile(rf"(?:.*_)?(?:{words})(?:_.*)?", re.IGNORECASE), instead, allowed)
             for folder, words, instead, allowed in RULES]
    wrong = read = 0
    for path in files:
        name = str(path.relative_to(root))
        of_path = [rule for rule in rules if re.match(rule[0], name)]
        read += bool(of_path)
        for number, word in names(path, name) if of_path else ():
            for _, words, instead, allowed in of_path:
                if words.fullmatch(word) and word not in allowed:
                    print(f"{name}:{number}: {word}: name it by {instead}")
                    wrong += 1
    print(f"{read} files, {wrong} names to change")
    return 1 if wrong or read < 300 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
