# SPDX-License-Identifier: Apache-2.0
"""The simulator of AMD's GPUs: amdgpu.py PART FOLDER SIMULATOR LLVM_BIN SOURCE.

    programs   kernels compiled from programs.c compute what they should, and what is refused is refused in one line
"""

import pathlib
import random
import struct
import subprocess
import sys

GPUS = ("gfx906", "gfx90a")


class Bench:
    def __init__(self, folder, simulator, llvm, source):
        self.folder, self.simulator = pathlib.Path(folder), pathlib.Path(simulator).resolve()
        self.llvm, self.source = pathlib.Path(llvm), source
        self.folder.mkdir(parents=True, exist_ok=True)
        self.checks = 0

    def tool(self, *command):
        result = subprocess.run([str(self.llvm / command[0]), *map(str, command[1:])], capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")
        return result.stdout

    def compile(self, gpu, source="programs.c", *options):
        out = self.folder / f"{pathlib.Path(source).stem}.{gpu}.hsaco"
        self.tool("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-O3", "-std=c17", "-Wall", "-Werror",
                  *options, "-o", out, pathlib.Path(self.source) / source)
        return out

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def run(self, *arguments):
        """Status, standard output, standard error."""
        result = subprocess.run([self.simulator, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=self.folder)
        self.checks += 1
        return result.returncode, result.stdout, result.stderr

    def passes(self, *arguments):
        status, out, err = self.run(*arguments)
        if status or err:
            sys.exit(f"{' '.join(map(str, arguments))}: status {status}, {err}")
        return out

    def refused(self, why, *arguments, status=1):
        """One line that says why."""
        found, out, err = self.run(*arguments)
        if found != status or out or why not in err or (status == 1 and err.count("\n") != 1):
            sys.exit(f"{' '.join(map(str, arguments))}: status {found}, not {status} with {why!r}: {out}{err}")

    def read(self, name, kind):
        data = (self.folder / name).read_bytes()
        return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def test_vadd(bench, gpu, image):
    rng = random.Random(1)
    for n in (0, 1, 63, 64, 65, 1000):
        x, y = ([rng.randrange(-1000, 1000) / 8 for _ in range(n)] for _ in range(2))
        bench.file("x", floats(x))
        bench.file("y", floats(y))
        for seed in range(3):
            bench.passes(image, "vadd", f"--grid={n // 64 + 1}", "--block=64", f"--seed={seed}", "@x", "@y", f"zero:{4 * n}=z", n)
            if bench.read("z", "f") != tuple(a + b for a, b in zip(x, y)):
                sys.exit(f"{gpu}: vadd of {n} elements is wrong")
    counts = dict(line.split() for line in bench.passes(
        image, "vadd", "--grid=16", "--block=64", "@x", "@y", "zero:4000", 1000, "--count").splitlines())
    wanted = {"load": 32, "store": 16, "flops": 1000, "load_bytes": 8000, "store_bytes": 4000, "other": 16}
    for name, count in wanted.items():
        if int(counts[name]) != count:
            sys.exit(f"{gpu}: vadd has {counts[name]} {name}, not {count}")


def test_places(bench, gpu, image):
    bench.passes(image, "places", "--grid=3,2,2", "--block=4,6,5", f"zero:{4 * 12 * 12 * 10}=z")
    if bench.read("z", "i") != tuple(10000 * w + 100 * y + x for w in range(10) for y in range(12) for x in range(12)):
        sys.exit(f"{gpu}: threads are in wrong places")


def test_refused(bench, gpu, image):
    vadd = (image, "vadd", "--grid=16", "--block=64", "@x", "@y")
    bench.refused("vadd takes 4 arguments, not 3", *vadd, "zero:4000")
    bench.refused("argument 3, f64:2: the kernel takes 4 bytes", *vadd, "zero:4000", "f64:2")
    bench.refused("argument 3, zero:8: the kernel takes a value", *vadd, "zero:4000", "zero:8")
    bench.refused("argument 2, 7: the kernel takes a buffer", *vadd, 7, 1000)
    bench.refused("argument 3, many: not a number", *vadd, "zero:4000", "many")
    bench.refused("nothing.bin: No such file", image, "vadd", "@nothing.bin", "@y", "zero:4", 1)
    bench.refused("has no kernel vsub", image, "vsub", "@x")
    bench.refused("a block of 1,1,0 threads", image, "vadd", "--block=1,1,0", "@x", "@y", "zero:4", 1)
    bench.refused("a block of 1024,2,1 threads", image, "vadd", "--block=1024,2,1", "@x", "@y", "zero:4", 1)
    bench.refused("a grid of 1,65536,1 blocks", image, "vadd", "--grid=1,65536,1", "@x", "@y", "zero:4", 1)
    bench.refused("after 100 instructions of waves, the limit", *vadd, "zero:4000", 1000, "--max-steps=100")
    bench.refused("not an option", image, "vadd", "--blocks=1", status=2)
    bench.refused("usage", status=2)
    bench.refused("is no ELF file", "x")
    bench.refused("not for amdgcn", sys.executable)
    other = bench.compile("gfx1100")
    bench.refused("for another GPU (ELF flags 0x41)", other)
    bench.tool("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-O3", "-c", "-o", bench.folder / "p.o",
               pathlib.Path(bench.source) / "programs.c")
    bench.refused("is not linked", "p.o")
    out = bench.passes(image)
    if "vadd: " not in out or "3: 4 bytes at 24, by_value" not in out:
        sys.exit(f"the list of kernels is {out}")
    # By one byte, at both ends.
    bench.refused("a store of 4 bytes", *vadd, "zero:3999", 1000)
    bench.refused("at its byte 3996", *vadd, "zero:3999", 1000)
    bench.refused("a load of 4 bytes", *vadd, "zero:8000", 1001)


def programs(bench):
    for gpu in GPUS:
        image = bench.compile(gpu)
        test_vadd(bench, gpu, image)
        test_places(bench, gpu, image)
        test_refused(bench, gpu, image)


PARTS = {"programs": programs}
part = Bench(*sys.argv[2:])
PARTS[sys.argv[1]](part)
print(f"{part.checks} runs of the simulator")
