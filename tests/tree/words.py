# SPDX-License-Identifier: Apache-2.0
"""The core and its kernels are named and described in the field's own terms, files too: words.py SOURCE_TREE.

A rule of RULES has the folders and files that it holds for, what no identifier there may have between its underscores, what to
write instead, and names that are meant otherwise. One of COMMENTS has a pattern that no comment there may have.
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
COMMENTS = [
    (CORE, r"\bask(s|ed|ing)?\b", "prefetch"),
    (r"(asm|intrinsics)/", r"\bturns?\b|\bby turns\b", "unrolled, alternating"),
    (CORE, r"\b(a|each|first|last|odd|per|in|by) turns?\b", "unrolled, alternating"),
    (CORE, r"\bsteps? of k\b|\bk steps?\b", "k iteration"),
    (r"(asm|intrinsics)/", r"\bsteps?\b", "k iteration, stride"),
    (CORE, r"\bpieces?\b", "column split, part"),
    (CORE, r"\bstrips?\b", "micro-panel"),
    (CORE, r"\bafar\b", "from the LLC or memory"),
    (CORE, r"\btold\b", "hint"),
]
SOURCES = (".c", ".h", ".def", ".def.in", ".S")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def names(path):
    """Identifiers with their lines; of a file's name, line 0. Texts are read too: they may be assembly."""
    yield 0, path.name.removesuffix(path.suffix)
    if path.name.endswith(SOURCES):
        text = path.read_text(encoding="utf-8")
        code = COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else "\n" * found[0].count("\n"), text)
        for number, line in enumerate(code.split("\n"), 1):
            for word in re.findall(r"[A-Za-z_]\w*", line):
                yield number, word


def comments(path):
    """Comments with the line that they begin in."""
    if path.name.endswith(SOURCES):
        text = path.read_text(encoding="utf-8")
        for found in COMMENT.finditer(text):
            if found[0][0] == "/":
                yield 1 + text.count("\n", 0, found.start()), re.sub(r"\n\s*\*?\s*", " ", found[0])


def check(path, name, rules, patterns):
    """Prints what is wrong; how many it is."""
    wrong = 0
    for number, word in names(path) if rules else ():
        for words, instead, allowed in rules:
            if words.fullmatch(word) and word not in allowed:
                print(f"{name}:{number}: {word}: name it by {instead}")
                wrong += 1
    for number, comment in comments(path) if patterns else ():
        for pattern, instead in patterns:
            for found in pattern.finditer(comment):
                print(f"{name}:{number}: \"{comment[max(found.start() - 20, 0):found.end() + 20]}\": say {instead}")
                wrong += 1
    return wrong


def main(root):
    files = [path for folder in ("ukernels", "asm", "intrinsics", "tensorize/auto", "tests", "uk", "bench")
             for path in sorted((root / folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    rules = [(folder, (re.compile(rf"(?:.*_)?(?:{words})(?:_.*)?", re.IGNORECASE), instead, allowed))
             for folder, words, instead, allowed in RULES]
    patterns = [(folder, (re.compile(pattern, re.IGNORECASE), instead)) for folder, pattern, instead in COMMENTS]
    wrong = read = 0
    for path in files:
        name = str(path.relative_to(root))
        of_path = [[rule for folder, rule in all_rules if re.match(folder, name)] for all_rules in (rules, patterns)]
        read += bool(of_path[0])
        wrong += check(path, name, *of_path)
    print(f"{read} files, {wrong} words to change")
    return 1 if wrong or read < 300 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
