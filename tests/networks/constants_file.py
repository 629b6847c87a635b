# SPDX-License-Identifier: Apache-2.0
"""Constants in a file of their own (uk compile --constants).

    constants_file.py SOURCE UK CC [--all] [TARGET...]       --all: all networks instead of a few

The object with the file computes what the object without it does, here, from a shared object, and for the targets under
qemu; the whole block of memory is compared after a run. The file is refused if it is cut off, damaged, misplaced, or another
network's or target's; runs before it is given, and failures to write, have a status or a message, and leave no file.
"""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import every_operator
import open_networks
import small_networks
from onnx_writer import FLOAT, elements, external, model, node, value

source, uk, cc, *targets = [word for word in sys.argv[1:] if word != "--all"]
is_whole = "--all" in sys.argv
OK, INVALID_ARGUMENT, INVALID_SIZE, REFUSED = 0, 1, 2, 6
FEW = ["byte_rows", "broadcasts"]
STATES = ["--state=past_k=present_k", "--state=past_v=present_v"]
failures = []

# Without a file: runs. With a file: runs before and after it is given, and gives it in wrong ways. Prints statuses, then
# writes the block of memory; its first contents are floats and bytes that are small as integers, too.
MAIN = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "net.h"
#ifndef SIZES
#define SIZES
#endif
static int run(void *memory) {
    const int64_t sizes[] = {0 SIZES};
    (void)sizes;
#ifdef IS_OPEN
    return net_run(memory, sizes + 1);
#else
    return net_run(memory);
#endif
}
#ifdef WITH_FILE
static int run_without_sizes(void *memory) {
#ifdef IS_OPEN
    return net_run(memory, NULL);
#else
    return (void)memory, 1;
#endif
}
static int all_are_pattern(const unsigned char *memory, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (memory[i] != (unsigned char)"\0\0\x80\x3f\0\0\0\0"[i % 8])
            return 0;
    return 1;
}
static int give(void *memory, const char *path, const char *other) {
    FILE *f = fopen(path, "rb"), *g = fopen(other, "rb");
    if (!f || !g)
        return 1;
    fseek(f, 0, SEEK_END);
    fseek(g, 0, SEEK_END);
    const size_t n = (size_t)ftell(f), m = (size_t)ftell(g);
    unsigned char *file = aligned_alloc(64, (n + 127) / 64 * 64), *wrong = aligned_alloc(64, (m + 127) / 64 * 64);
    rewind(f);
    rewind(g);
    if (!file || !wrong || fread(file, 1, n, f) != n || fread(wrong, 1, m, g) != m)
        return 1;
    fprintf(stderr, "%d %d ", run(memory), all_are_pattern(memory, net_memory()));
    fprintf(stderr, "%d %d ", net_constants(NULL, n), net_constants(file + 4, n));
    fprintf(stderr, "%d %d %d ", net_constants(file, n - 1), net_constants(file, 63), net_constants(file, 0));
    const size_t words[] = {0, 8, 16, 31, 32};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        file[words[i]] ^= 64;
        fprintf(stderr, "%d ", net_constants(file, n + 64));
        file[words[i]] ^= 64;
    }
    fprintf(stderr, "%d %d ", net_constants(wrong, m), run(memory));
    fprintf(stderr, "%d ", net_constants(file, n));
    fprintf(stderr, "%d %d %d ", run(memory + 32), run(NULL), run_without_sizes(memory));
    fprintf(stderr, "%d\n", all_are_pattern(memory, net_memory()));
    return 0;
}
#endif
int main(int count, char **argument) {
    const size_t bytes = net_memory();
    unsigned char *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory)
        return 1;
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)"\0\0\x80\x3f\0\0\0\0"[i % 8];
#ifdef WITH_FILE
    if (count < 3 || give(memory, argument[1], argument[2]))
        return 1;
#else
    (void)count, (void)argument;
#endif
    const int status = run(memory);
    fprintf(stderr, "%d\n", status);
    return fwrite(memory, 1, bytes, stdout) != bytes;
}
"""
# Maps a file of any size; inputs are 0, 1, 2, .., outputs multiples of that by a factor.
LARGE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "net.h"
int main(int count, char **argument) {
    struct stat st;
    int file = count == 3 ? open(argument[1], O_RDONLY) : -1, wrong = file < 0 || fstat(file, &st);
    void *at = wrong ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, file, 0), *memory = aligned_alloc(64, (net_memory() + 63) / 64 * 64);
    if (at == MAP_FAILED || !memory || net_constants(at, (size_t)st.st_size))
        return 1;
    for (int i = 0; i < 4096; i++)
        ((float *)net_input(memory, 0))[i] = (float)i;
    wrong = net_run(memory);
    for (int i = 0; i < 4096; i++)
        wrong |= ((float *)net_output(memory, 0))[i] != (float)i * strtof(argument[2], NULL);
    return wrong;
}
"""
# Of a run before the file is given, and whether it wrote nothing; of NULL, an odd place, three cut files, five damaged headers, another
# file, a run after these; of the file; of runs in a block at an odd place, at NULL, and without sizes, and whether they wrote nothing.
STATUSES = [INVALID_ARGUMENT, 1, INVALID_ARGUMENT, INVALID_ARGUMENT, INVALID_SIZE, INVALID_SIZE, INVALID_SIZE, *[REFUSED] * 6, INVALID_ARGUMENT, OK,
            *[INVALID_ARGUMENT] * 3, 1]


def fail(what):
    failures.append(what)


def run(*words, status=0):
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode != status:
        fail(f"{' '.join(map(str, words))[-400:]}: exit status {done.returncode}: {done.stderr[-500:]!r}")
    return done


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def emulators():
    """By target: the triple, the command that runs programs, and what is linked with them."""
    listed = subprocess.run([f"{source}/ukernels/machine/archs.py", "emulated"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {"x86_64-avx2": (None, [], [])}
    for _, target, qemu, triple, cpu in (line.split() for line in listed.splitlines()):
        found[target] = triple, [qemu, "-cpu", cpu], []
    names = ("emulate", "replace", "decode", "illegal", "signals", "copies")
    rvp = [*(f"{source}/simulate/rvp/{name}.c" for name in names), f"-I{source}/simulate/rvp", f"-I{source}/ukernels"]
    found["riscv64-p"] = *found["riscv64"][:2], rvp
    return found


EMULATORS = emulators()


def build(target, code, out, *more):
    triple, _, linked = EMULATORS[target]
    words = [f"--target={triple}", "-static", "-fuse-ld=lld"] if triple else ["-Wl,-rpath,$ORIGIN"]
    run(*cc.split(), *words, "-std=gnu17", "-O1", "-Wall", "-Werror", "-I.", *more, "main.c", code, *linked, "-lm", "-o", out)


def compile_both(name, target, options, ending):
    """Objects with the constants and without."""
    compiled = [uk, "compile", f"{name}.onnx", "--name=net", f"--target={target}", *options]
    for made, words in ("whole", []), ("apart", ["--constants=net.weights"]):
        run(*compiled, "-o", f"{made}.h", *words)
        run(*compiled, "-o", f"{made}.{ending}", *words)


def compare(name, target, ending="o", bounds=(), sizes=((),), more=()):
    """Runs both objects of NAME.onnx for the target, at each of the sizes. Returns the statuses."""
    compile_both(name, target, [*(f"--size={size}" for size in bounds), *more], ending)
    found = []
    for drawn in sizes:
        defined = [f"-DSIZES={''.join(f', {size}' for size in drawn)}", "-DIS_OPEN"] if drawn else []
        for made, words in ("whole", []), ("apart", ["-DWITH_FILE"]):
            shutil.copy(f"{made}.h", "net.h")
            build(target, f"{made}.{ending}", made, *words, *defined)
        emulator = EMULATORS[target][1]
        whole, apart = run(*emulator, "./whole"), run(*emulator, "./apart", "net.weights", "other.weights")
        what = f"{name} for {target}"
        said = [int(word) for word in apart.stderr.split()]
        if said[:-1] != STATUSES:
            fail(f"{what}: statuses {said[:-1]}, not {STATUSES}")
        if not whole.stdout or (whole.stdout, whole.stderr.split()[-1:]) != (apart.stdout, apart.stderr.split()[-1:]):
            fail(f"{what}: other results with the file of constants: {whole.stderr} {apart.stderr}")
        found += said[-1:]
    return found


def check_equal():
    """Some networks refuse the pattern as an input."""
    makes = {**small_networks.ALL, **every_operator.ALL}
    for name, make in makes.items():
        write(f"{name}.onnx", make())
    names = list(makes) if is_whole else FEW[:1]
    refused = [name for name in names if compare(name, "x86_64-avx2") != [OK]]
    if len(refused) > len(names) / 4:
        fail(f"{' '.join(refused)} of {len(names)} networks do not run on the pattern")
    for target in targets:
        for name in FEW if is_whole else FEW[:1]:
            if compare(name, target) != [OK]:
                fail(f"{name} for {target} does not run")
    compare("broadcasts", "x86_64-avx2", ending="so")


def check_open():
    """Open sizes, also with keys and values that stay in memory; one that is out of its range is refused."""
    write("decoder.onnx", open_networks.decoder())
    for states in ([], STATES):
        found = compare("decoder", "x86_64-avx2", bounds=["batch=1", "seq=1..8", "past=0..32"], sizes=[(1, 5) if states else (3, 5), (3, 33)], more=states)
        if found != [OK, INVALID_SIZE]:
            fail(f"decoder {' '.join(states)} has the statuses {found}")


def check_files():
    """The file depends on the constants and on the target; the same input gives the same bytes."""
    made = {}
    for key, words in {"one": [], "again": [], "other name": ["--name=x"], "other target": ["--target=x86_64-generic"]}.items():
        run(uk, "compile", "broadcasts.onnx", "--target=x86_64-avx2", *words, "-o", "net.o", "--constants=net.weights")
        made[key] = pathlib.Path("net.weights").read_bytes(), pathlib.Path("net.o").read_bytes()
    if made["one"] != made["again"] or made["one"][0] != made["other name"][0]:
        fail("the same network has other files")
    if made["one"][0][16:32] == made["other target"][0][16:32]:
        fail("another target has the same stamp")


def check_emulated():
    """uk run under an emulator, with sizes of the run, and layer by layer."""
    for target in targets[:1]:
        for words in ["convolutions.onnx", "--check"], ["decoder.onnx", "--size=batch=1", "--size=seq=1..8", "--size=past=0..32", "--size=past=5", "--state=auto"]:
            plain = run(uk, "run", *words, f"--target={target}")
            apart = run(uk, "run", *words, f"--target={target}", "--constants=of run.weights")
            if not plain.stdout or plain.stdout != apart.stdout or not pathlib.Path("of run.weights").stat().st_size:
                fail(f"uk run {words[0]} for {target} prints something else with a file of constants: {apart.stdout[-300:]}")


def check_messages():
    """Nothing is left after a failure; what was there stays."""
    write("kept.weights", b"kept")
    before = sorted(os.listdir("."))
    for words, status, pattern in (
            (["compile", "-o", "bad.o", "--constants=/dev/full"], 1, "/dev/full: cannot write: No space left on device"),
            (["compile", "-o", "/dev/full", "--constants=bad.weights"], 1, "/dev/full: cannot write: No space left on device"),
            (["compile", "-o", "/dev/full", "--constants=kept.weights"], 1, "/dev/full: cannot write"),
            (["compile", "-o", "bad.o", "--constants=none/bad.weights"], 1, "none/bad.weights: cannot write: No such file or directory"),
            (["compile", "-o", "bad.o", "--constants=-"], 2, "--constants -: .*give another file"),
            (["compile", "-o", "bad.o", "--constants=bad.o"], 2, "--constants bad.o: .*give another file"),
            (["compile", "-o", "bad.s", "--constants=bad.weights"], 2, "--constants goes with an object, a shared object or a header"),
            (["compile", "-o", "bad.o", "--constants=bad.weights", "--target=amdgcn-gfx90a"], 1, "amdgcn-gfx90a is a GPU, for which there are no objects"),
            (["run", "--constants=bad.weights", "--target=amdgcn-gfx90a"], 2, "amdgcn-gfx90a is a GPU.*leave --constants out"),
            (["run", "--constants=bad.weights"], 2, "--constants: this process keeps constants of any size itself; leave it out"),
            (["tune", "--constants=bad.weights", "--trials=2"], 2, "--constants: this process keeps"),
            *(([command, "--constants=none/bad.weights", f"--target={target}"], 1, "none/bad.weights: cannot write") for command in ("run", "tune") for target in targets[:1]),
            *((["run", "--constants=/dev/full", f"--target={target}"], 1, "/dev/full: cannot write") for target in targets[:1])):
        said = run(uk, words[0], "broadcasts.onnx", *words[1:], status=status).stderr.decode()
        if not re.search(pattern, said) or len(said.splitlines()) != 1:
            fail(f"{' '.join(words)}: {said}")
    if sorted(os.listdir(".")) != before or pathlib.Path("kept.weights").read_bytes() != b"kept":
        fail(f"files are left: {sorted(set(os.listdir('.')) - set(before))}")


def check_large():
    """More than 1 GiB, in external data with holes: each matrix is 2 I, so that results are exact. They are mapped and packed one by one."""
    size, count = 4096, 17
    with open("large.data", "wb") as f:
        f.truncate(count * size * size * 4)
        for i in range(count):
            for k in range(size):
                f.seek(4 * ((i * size + k) * size + k))
                f.write(elements(FLOAT, [2.0]))
    nodes = [node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(count)]
    tensors = [external(f"w{i}", [size, size], "large.data", offset=4 * i * size * size, length=4 * size * size) for i in range(count)]
    write("large.onnx", model(nodes, [value("x0", [1, size])], [value(f"x{count}", [1, size])], tensors))
    said = run(uk, "compile", "large.onnx", "-o", "large.o", status=1).stderr.decode()
    if not re.search(r"its constants take 11\d{8} bytes, but code with them has at most 1073741824; put them into a file .*--constants=FILE", said):
        fail(f"more than 1 GiB in an object: {said}")
    run(uk, "compile", "large.onnx", "--name=net", "-o", "net.h", "--constants=large.weights")
    run(uk, "compile", "large.onnx", "--name=net", "-o", "large.o", "--constants=large.weights")
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    if memory > 1 << 20:
        fail(f"a program took {memory} KiB for 1.1 GB of constants")
    write("large.c", LARGE.encode())
    run(*cc.split(), "-std=gnu17", "-O1", "-Wall", "-Werror", "-I.", "large.c", "large.o", "-o", "large")
    run("./large", "large.weights", str(2**count))


with tempfile.TemporaryDirectory() as work:
    absent = [EMULATORS[target][1][0] for target in targets if not shutil.which(EMULATORS[target][1][0])]
    if absent:
        print(f"constants_file skipped: {' '.join(absent)} is not installed; ./uk-setup test installs it")
        sys.exit(77)
    os.chdir(work)
    write("main.c", MAIN.encode())
    write("other.onnx", model([node("Add", ["x", "c"], ["y"])], [value("x", [2])], [value("y", [2])], [external("c", [2], "other.data", length=8)]))
    write("other.data", elements(FLOAT, [1.0, 2.0]))
    run(uk, "compile", "other.onnx", "-o", "other.o", "--constants=other.weights")
    check_equal()
    check_open()
    check_files()
    check_emulated()
    check_messages()
    if is_whole:
        check_large()
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(bool(failures))
