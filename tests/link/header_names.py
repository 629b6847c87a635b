# SPDX-License-Identifier: Apache-2.0
"""Headers of programs with names that have a meaning in C, in C++ or in the header itself: each header
compiles as C and as C++ without warnings, and declares the object's functions.

    header_names.py UK SOURCE CLANG CLANG++ GCC G++
"""

import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

uk, source, *compilers = sys.argv[1:]
C, CPLUSPLUS = ["-std=c17", "-xc"], ["-std=c++17", "-xc++"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]

# Names of sizes, scalars and tensors: anything that the language allows.
NAMES = """int double class if while for new delete this template operator typename namespace virtual bool true false nullptr and_eq bitand xor compl
not_eq or_eq alignas static_assert thread_local constexpr char8_t concept co_await asm typeof restrict inline signed unsigned long _Bool __func__
errno NULL EOF I linux unix int8_t int64_t uint16_t uint8_t int32_t INT64_MAX INT32_C size_t UK_OK UK_STATUS uk_status work gpu main printf
exp2 memcpy stdin assert N export union goto default case switch struct static""".split()
# Files, and the functions' names that are made from them.
STEMS = {"3x3": "_3x3", "a-b": "a_b", "if": "if_", "int": "int_", "class": "class_", "exp": "exp_", "expf": "expf_", "log": "log_", "erf": "erf_", "pow": "pow_", "floor": "floor_", "memcpy": "memcpy_", "free": "free_",
         "main": "main_", "index": "index_", "y0": "y0_", "UK_OK": "program_UK_OK", "int64_t": "int64_t_", "uk_parallel_for": "uk_parallel_for_", "static": "static_",
         "a.b": "a", "naïve": "na_ve", "work": "work", "uk_status": "uk_status", "X": "X", "i": "i", "_Bool": "program_Bool", "__x": "program__x", "сеть": "program____", "printf": "printf_", "xor": "xor_"}
REFUSED = ("if", "class", "exp", "free", "main", "UK_OK", "int64_t", "_Bool", "3x3", "a-b")
# A function with a defined size, and the name of its constant in the header.
CONSTANTS = {("a", "b_c"): "a_b_c_", ("a_b", "c"): "a_b_c__", ("thread", "local"): "thread_local_", ("int64", "t"): "int64_t_", ("UK", "OK"): "of_UK_OK",
             ("ADD", "H"): "ADD_H", ("reinterpret", "cast"): "reinterpret_cast_", ("a_b_c_d", "N"): "a_b_c_d_N", ("a_b_c", "d"): "a_b_c_d_",
             ("w", "workspace"): "w_workspace_", ("large", "L"): "large_L", ("_", "N"): "program__N"}
failures = []


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=100, **options)
    if done.returncode:
        failures.append(f"{' '.join(str(word) for word in command[:12])} ...: {done.stdout}{done.stderr}")
    return done.stdout


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def program(size, scalar, read, written):
    return f"tensor {read} f32 [{size}]\nscalar {scalar} f32\ntensor {written} f32 [{size}]\n{written}[j] = {read}[j] * {scalar}\n"


def compiled(folder, header, objects, body, flags=()):
    """Compiles a program with this body with each compiler, in its language, links it with the objects, and
    runs it."""
    text = f'#include "{header.name}"\n#include <stdio.h>\nint main(void) {{\n{body}    return 0;\n}}\n'
    # Headers that define keywords of the language as names, before and after the header under test.
    around = "#include <complex.h>\n#include <errno.h>\n#include <stdbool.h>\n#include <iso646.h>\n#include <string.h>\n#include <math.h>\n"
    for number, compiler in enumerate(compilers):
        language = C if number % 2 == 0 else CPLUSPLUS
        for before in ("", around if language is C else around.replace("complex.h", "cmath")):
            unit = write(folder / "user.c", before + text)
            run(compiler, *WARNINGS, *language, *flags, "-I", folder, "-c", unit, "-o", folder / "user.o")
            if objects and not failures:
                run(compiler, folder / "user.o", *objects, "-lm", "-o", folder / "user")
                run(folder / "user")


def names(folder):
    """Uses all names as parameters, and all stems as functions."""
    words = itertools.cycle(NAMES)
    files = []
    for stem in list(STEMS) + [f"f{i}" for i in range(len(NAMES) // 2)]:
        four = [next(words) for _ in range(4)]
        files.append(write(folder / f"{stem}.uk", program(*four)))
    header = folder / "names.h"
    run(uk, "compile", *files, "--target=x86_64-avx2", "--emit=header", "-o", header)
    run(uk, "compile", *files, "--target=x86_64-avx2", "-o", folder / "names.o")
    if failures:
        return
    made = re.findall(r"^int (\w+)\(", header.read_text(encoding="utf-8"), re.M)
    if made[:len(STEMS)] != list(STEMS.values()):
        failures.append(f"the functions are {made[:len(STEMS)]}, not {list(STEMS.values())}")
    body = "    float from[2] = {1, 2}, to[2];\n" + "".join(
        f'    if (::{name}(2, 3, from, to) || to[1] < 6) {{\n        puts("{name}");\n        return 1;\n    }}\n' for name in made)
    compiled(folder, header, [folder / "names.o"], body.replace("::", ""))


def constants(folder):
    """Constants by --define, under names that nothing else in the header has."""
    for function, size in CONSTANTS:
        write(folder / f"{function}.uk", program(size, "s", "from", "to"))
    value = {size: 3000000000 if size == "L" else 5 for _, size in CONSTANTS}
    text = run(uk, "compile", *[folder / f"{function}.uk" for function, _ in CONSTANTS], *[f"--define={size}={n}" for size, n in sorted(value.items())],
               "--workspace=argument", "--target=x86_64-avx2", "--emit=header")
    body = "".join(f"    (void)sizeof(char[{constant} == {value[size]} ? 1 : -1]);\n" for (_, size), constant in CONSTANTS.items())
    compiled(folder, write(folder / "constants.h", text), [], body)


def integers(folder):
    """Scalars and elements of each integer type, as the C types of the header; the largest ones wrap."""
    body, files = "", []
    for kind, bits in {f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)}.items():
        c = ("uint" if kind[0] == "u" else "int") + f"{bits}_t"
        most = 2 ** (bits - (kind[0] == "i")) - 1
        files.append(write(folder / f"sum_{kind}.uk", f"scalar s {kind}\ntensor X {kind} [N]\ntensor Y {kind} [N]\nY[i] = X[i] + s\n"))
        body += (f"    {{\n        const {c} x[2] = {{1, ({c})-1}};\n        {c} y[2];\n        if (sum_{kind}(2, {most}u, x, y) || "
                 f"y[0] != ({c})({most}u + 1u) || y[1] != ({c})({most}u - 1u)) {{\n            puts(\"{kind}\");\n            return 1;\n        }}\n    }}\n")
    header = folder / "integers.h"
    run(uk, "compile", *files, "--target=x86_64-avx2", "--emit=header", "-o", header)
    run(uk, "compile", *files, "--target=x86_64-avx2", "-o", folder / "integers.o")
    if not failures:
        compiled(folder, header, [folder / "integers.o"], body)


def on_device(folder):
    """A size with the name of the device parameter."""
    text = run(uk, "compile", write(folder / "device.uk", program("gpu", "gpu_", "work", "work_")), "--workspace=argument", "--target=amdgcn-gfx906",
               "--emit=header")
    (folder / "ukernels").mkdir()
    write(folder / "ukernels/gpu.h", f'#include "{source}/ukernels/gpu/gpu.h"\n')
    compiled(folder, write(folder / "device.h", text), [], "    (void)device;\n", ["-I", f"{source}/ukernels"])


with tempfile.TemporaryDirectory() as made:
    for case in (names, constants, integers, on_device):
        (pathlib.Path(made) / case.__name__).mkdir()
        case(pathlib.Path(made) / case.__name__)
    file = write(pathlib.Path(made) / "add.uk", program("N", "s", "X", "Y"))
    for name in REFUSED:
        done = subprocess.run([uk, "compile", file, f"--name={name}", "--emit=header"], capture_output=True, text=True, check=False)
        if done.returncode != 2 or done.stdout or f"'{name}'" not in done.stderr:
            failures.append(f"--name={name}: exit status {done.returncode}: {done.stdout}{done.stderr}")
for failure in failures:
    print(failure)
print(f"{len(NAMES)} names, {len(STEMS)} files, {len(CONSTANTS)} constants")
sys.exit(bool(failures))
