#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts instructions of random quantized layers on RISC-V P, and compares them with a lower bound for their
products.

    bench/networks_sweep.py UK [--seed=N] [--layers=N] [--json=FILE]

A layer is a convolution of u8 by i8 with windows of 1 to 7, strides 1 and 2, 3 to 512 channels and images of
7 to 112, in one of four cases a depthwise one; NHWC, with TensorFlow's padding and a requantization per
channel, as in networks. It is compiled twice, and both results must be equal: with constant sizes, where few
channels are gathered as in networks (networks/layers/gather_windows.c), and with sizes as arguments. Lower
bounds: uk/network/count.c. The same seed (default 0) draws the same layers (default 40).
"""

import json
import math
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

LEAST, MOST = 200_000, 20_000_000  # multiply-adds: the emulator takes seconds for the largest


def draw_channels(draw, least):
    c = round(math.exp(draw.uniform(math.log(least), math.log(512))))
    return c if c < 8 or draw.random() < 0.25 else c // 8 * 8


def draw_layer(draw):
    while True:
        depthwise = draw.random() < 0.25
        rows = columns = draw.randint(2 if depthwise else 1, 7)
        if not depthwise and draw.random() < 0.25:
            rows, columns = draw.choice([(1, columns), (rows, 1)])
        stride, c, size = draw.choice([1, 1, 2]), draw_channels(draw, 3), draw.randint(7, 112)
        o, out = c if depthwise else draw_channels(draw, 8), -(-size // stride)
        layer = {"depthwise": depthwise, "window": [rows, columns], "stride": stride, "channels": c, "outputs": o, "image": size, "out": out}
        if LEAST <= multiply_adds(layer) <= MOST:
            return layer


def terms(layer):
    return math.prod(layer["window"]) * (1 if layer["depthwise"] else layer["channels"])


def multiply_adds(layer):
    return terms(layer) * layer["out"] ** 2 * layer["outputs"]


def floor_of(layer):
    results = layer["out"] ** 2 * layer["outputs"]
    if layer["depthwise"]:
        return 0.33 * multiply_adds(layer) + 7 * results + layer["image"] ** 2 * layer["channels"]
    return (0.1864 * 8 * math.ceil(terms(layer) / 8) + 10) * results


def pads_of(layer):
    """Total padding, before and after, of each dimension."""
    return [max((layer["out"] - 1) * layer["stride"] + extent - layer["image"], 0) for extent in layer["window"]]


def subscripts(layer):
    """Subscripts of the image and of the filter, and the iterators of the sum."""
    image, weights, over, pads = [], [], [], pads_of(layer)
    for d, extent in enumerate(layer["window"]):
        text = f"2*i{d + 2}" if layer["stride"] == 2 else f"i{d + 2}"
        if extent > 1:
            text += f" + r{d}"
            over.append(f"r{d}")
        weights.append(f"r{d}" if extent > 1 else "0")
        image.append(f"{text} - {pads[d] // 2}" if pads[d] // 2 else text)
    return ", ".join(image), ", ".join(weights), over, any(pads)


def sizes_of(layer):
    """Sizes by name; with stride 1 the result has the image's."""
    names = {"H": layer["image"], "O": layer["outputs"]}
    return names | ({"P": layer["out"]} if layer["stride"] > 1 else {}) | ({} if layer["depthwise"] else {"C": layer["channels"]})


def is_gathered(layer):
    return not layer["depthwise"] and math.prod(layer["window"]) > 1 and layer["channels"] % 4 > 0 and terms(layer) <= layer["outputs"]


def requantized(out, outputs):
    return f"""tensor x2 i32 [{outputs}]
tensor x3 f32 [{outputs}]
tensor y u8 [1, {out}, {out}, {outputs}]
temp t0 i32 [1, {out}, {out}, {outputs}]
"""


LAST = "y[i0, i2, i3, i1] = u8(round(f32(t0[i0, i2, i3, i1] + x2[i1]) * x3[i1]) + 7)\n"


def gathered(layer):
    """A program that first gathers the windows into a temp with contiguous rows."""
    rows, columns, c, out, stride = *layer["window"], layer["channels"], layer["out"], layer["stride"]
    pads = pads_of(layer)
    read = f"x0[i0, {stride}*i2 + r0 - {pads[0] // 2}, {stride * c}*i3 + q - {pads[1] // 2 * c}]"
    return f"""tensor x0 u8 [1, {layer["image"]}, {layer["image"] * c}]
tensor x1 i8 [{rows}, {columns * c}, {layer["outputs"]}] constant
{requantized(out, layer["outputs"])}temp p u8 [1, {out}, {out}, {rows}, {columns * c}]
p[i0, i2, i3, r0, q] = {f"pad({read}, 128)" if any(pads) else read}
t0[i0, i2, i3, i1] = sum(r0, q) i32(p[i0, i2, i3, r0, q]) * i32(x1[r0, q, i1])
{LAST}"""


def program(layer):
    image, weights, over, pads = subscripts(layer)
    rows, columns = layer["window"]
    c = "i1" if layer["depthwise"] else "c"
    inner, outer, size, out = *(("0", "O", "1, O") if layer["depthwise"] else ("c", "C", "C, O")), "P" if layer["stride"] > 1 else "H"
    read = f"x0[i0, {image}, {c}]"
    read = f"pad({read}, 128)" if pads else read
    over = ", ".join(over if layer["depthwise"] else [*over, "c"])
    return f"""size {", ".join(f"{name} = {value}" for name, value in sizes_of(layer).items())}
tensor x0 u8 [1, H, H, {outer}]
tensor x1 i8 [{rows}, {columns}, {size}] constant
{requantized(out, "O")}t0[i0, i2, i3, i1] = sum({over}) i32({read}) * i32(x1[{weights}, {inner}, i1])
{LAST}"""


def count(uk, path, text, sizes):
    """Returns the instructions, and the line about the result."""
    path.write_text(text)
    words = [uk, "run", str(path), "--target=riscv64-p", "--count", *sizes]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{path.read_text()}{' '.join(words)}: exit status {ran.returncode}\n{ran.stderr}")
    return int(re.search(r"^count: (\d+)", ran.stdout, re.M).group(1)), re.search(r"^y u8, .*", ran.stdout, re.M).group(0)


def measure(uk, folder, number, layer):
    path = folder / f"layer_{number}.uk"
    floor = floor_of(layer)
    define, size = ([f"{option}={n}={v}" for n, v in sizes_of(layer).items()] for option in ("--define", "--size"))
    constant, first = count(uk, path, gathered(layer), []) if is_gathered(layer) else count(uk, path, program(layer), define)
    sizes, second = count(uk, path, program(layer), size)
    if first != second:
        sys.exit(f"{path.read_text()}with constant sizes {first}, with others {second}")
    row = {**layer, "multiply_adds": multiply_adds(layer), "floor": floor, "constant": constant, "sizes": sizes}
    kind = "depthwise" if layer["depthwise"] else "dense"
    print(f"{number:3} {kind:9} {layer['window'][0]}x{layer['window'][1]}/{layer['stride']} {layer['image']:3} x {layer['image']:<3} {layer['channels']:3} -> "
          f"{layer['outputs']:3} {1e-6 * row['multiply_adds']:7.2f} M: constants {constant / row['multiply_adds']:7.3f} a multiply-add, "
          f"{constant / floor:6.2f} of the floor; sizes {sizes / floor:6.2f}, {sizes / constant:5.2f} of constants", flush=True)
    return row


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    options = dict(w.partition("=")[::2] for w in sys.argv[1:] if w.startswith("--"))
    seed, layers, out = int(options.pop("--seed", 0)), int(options.pop("--layers", 40)), options.pop("--json", None)
    if len(words) != 1 or options:
        sys.exit(__doc__)
    draw, rows = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(layers):
            rows.append(measure(words[0], pathlib.Path(folder), i, draw_layer(draw)))
    summary = {"seed": seed}
    for name, ratios in (("constants", [r["constant"] / r["floor"] for r in rows]), ("sizes", [r["sizes"] / r["floor"] for r in rows]),
                         ("sizes_by_constants", [r["sizes"] / r["constant"] for r in rows])):
        summary[name] = {"median": statistics.median(ratios), "worst": max(ratios)}
        what = "run-time sizes by constants" if "by" in name else f"{name} by the floor"
        print(f"{what}: median {summary[name]['median']:.2f}, worst {summary[name]['worst']:.2f}")
    if out:
        pathlib.Path(out).write_text(json.dumps({**summary, "layers": rows}, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
