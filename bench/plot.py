#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plot.py RUN.json FOLDER|FILE.svg: draws results of `uk bench gemm --json` and `uk bench conv --json` as SVG, by gnuplot.

FOLDER/<set>.svg has the rate of every library, median and quartiles, as lines over the size (cubes) or as
bars for each shape, and the peak measured next to them. FOLDER/roofline.svg has our rates over operations per
byte, below the median of the peaks and the bandwidths of L1, L2 and memory. FILE.svg has all of them, one
below the other. `uk bench gemm --plot=FILE.svg` and `uk bench conv` run this script; before measuring
they run plot.py --check, which only looks for gnuplot.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

WIDTH, HEIGHT = 900, 500
PANEL = """reset
set title {title}
set key outside right top
set grid
set ylabel "GFLOP/s"
"""


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def data_block(name, rows):
    return f"${name} << EOD\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "EOD\n"


def is_ours(b):
    return b["library"].startswith("ukernels")


def shape_and_type(b):
    """Name of the shape, for a product with its form, since a set may have a shape in several forms; and the element type."""
    kind, _, *words = b["name"].split("/")
    return (words[0], words[1]) if kind == "conv" else (" ".join(words[:2]), words[2])


def shape_of(b):
    return shape_and_type(b)[0]


def rates(b):
    """Median and quartiles in GFLOP/s, computed from shares of the peak, which do not depend on the clock."""
    middle, percent = b["FLOPS"] * 1e-9, b.get("percent_of_peak", 0)
    low, high = (b.get(f"percent_{end}", percent) for end in ("low", "high"))
    return (middle, middle * low / percent, middle * high / percent) if percent > 0 else (middle, middle, middle)


def described(what, benchmarks, context):
    types = "/".join(dict.fromkeys(shape_and_type(b)[1] for b in benchmarks))
    threads = context["threads"]
    return quoted(f"{what}, {types}, {context['isa']}, {threads} thread{'s' if threads != 1 else ''}, {context['cpu']}")


def lines_over_size(benchmarks, libraries):
    """Cubes: the axis is the size; a band shows the quartiles."""
    largest, least = max(b["m"] for b in benchmarks), min(b["m"] for b in benchmarks)
    script = 'set xlabel "m = n = k"\n'
    script += "set logscale x 2\n" if largest > 16 * least and largest > 128 else ""
    plots = []
    for i, library in enumerate(libraries):
        mine = [b for b in benchmarks if b["library"] == library]
        script += data_block(f"d{i}", sorted((b["m"], *rates(b)) for b in mine))
        width = 3 if is_ours(mine[0]) else 1
        plots.append(f"$d{i} using 1:3:4 with filledcurves fs transparent solid 0.2 noborder lt {i + 1} notitle")
        plots.append(f"$d{i} using 1:2 with linespoints lt {i + 1} lw {width} pt 7 ps 0.4 title {quoted(library)}")
    script += data_block("peak", sorted({b["m"]: b["peak_flops"] * 1e-9 for b in benchmarks if is_ours(b)}.items()))
    return script, [*plots, '$peak using 1:2 with lines dt 2 lc "black" title "peak"']


def bars_by_shape(benchmarks, libraries):
    """Other shapes: a group of bars each, with the quartiles as whiskers."""
    shapes = list(dict.fromkeys(shape_of(b) for b in benchmarks))
    script = ("set style data histograms\nset style histogram errorbars gap 1 lw 1\nset style fill solid 0.8 noborder\n"
              "set bars small\nset grid noxtics\nset xtics rotate by -45 font ',9'\nset datafile missing '?'\n")
    plots = []
    for i, library in enumerate(libraries):
        rows = {shape_of(b): rates(b) for b in benchmarks if b["library"] == library}
        script += data_block(f"d{i}", [(quoted(s), *rows.get(s, "???")) for s in shapes])
        plots.append(f"$d{i} using 2:3:4:xtic(1) lt {i + 1} title {quoted(library)}")
    peaks = {shape_of(b): b["peak_flops"] * 1e-9 for b in benchmarks if is_ours(b)}
    script += data_block("peak", [(n, peaks.get(s, "?")) for n, s in enumerate(shapes)])
    return script, [*plots, '$peak using 1:2:(0.4) with xerrorbars pt 0 lw 2 lc "black" title "peak"']


def set_panel(name, benchmarks, context):
    """The gnuplot script for a set."""
    libraries = list(dict.fromkeys(b["library"] for b in benchmarks))
    is_cubes = all("m" in b and b["m"] == b["n"] == b["k"] for b in benchmarks) and len({shape_of(b) for b in benchmarks}) > 1
    script, plots = (lines_over_size if is_cubes else bars_by_shape)(benchmarks, libraries)
    title = described(name, benchmarks, context)
    return PANEL.format(title=title) + script + "set yrange [0:*]\nplot " + ", ".join(plots) + "\n"


def roofline_panel(benchmarks, context):
    ours = [b for b in benchmarks if is_ours(b)]
    peak = context["peak_flops"] * 1e-9
    rows = [(b["FLOPS"] * b["real_time"] * 1e-9 / b["bytes"], b["FLOPS"] * 1e-9) for b in ours]
    script = PANEL.format(title=described("ukernels", ours, context))
    script += 'set logscale xy\nset xrange [0.1:*]\nset xlabel "operations per byte of the operands"\n'
    script += data_block("d", rows)
    plots = ['$d using 1:2 with points pt 7 ps 0.5 title "ukernels"',
             f'{peak} with lines lw 2 lc "black" title "peak {peak:.0f} GFLOP/s"']
    for name, key, count, color in (("L1", "l1_bytes_per_second", context["threads"], "#56b4e9"),
                                    ("L2", "l2_bytes_per_second", context["threads"], "#e69f00"),
                                    ("memory", "bandwidth_bytes_per_second", 1, "#d55e00")):
        rate = context.get(key, 0) * 1e-9 * count
        if rate > 0:
            line = f"lines lw 2 lc {quoted(color)} title {quoted(f'{name} {rate:.0f} GB/s')}"
            plots.append(f"{rate} * x < {peak} ? {rate} * x : 1/0 with {line}")
    return script + "set samples 2000\nplot " + ", ".join(plots) + "\n"


def draw(path, panels):
    """Draws into a temporary file, which replaces `path` when it is complete."""
    part = path.with_name(path.name + ".part")
    script = f'set terminal svg size {WIDTH},{HEIGHT * len(panels)} noenhanced background rgb "white" font "sans,12"\n'
    script += f"set output {quoted(part)}\n"
    if len(panels) > 1:
        script += f"set multiplot layout {len(panels)},1\n" + "".join(panels) + "unset multiplot\n"
    else:
        script += panels[0]
    try:
        subprocess.run(["gnuplot"], input=script, text=True, check=True)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def main():
    if not shutil.which("gnuplot"):
        sys.exit("plot.py: gnuplot is not installed; ./uk-setup plots installs it (Debian's gnuplot-nox)")
    if sys.argv[1:] == ["--check"]:
        return
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py RUN.json FOLDER|FILE.svg")
    file = sys.argv[1]
    try:
        run = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        benchmarks = [b for b in run["benchmarks"] if "library" in b]
    except OSError as failure:
        sys.exit(f"plot.py: '{file}' cannot be read: {failure.strerror}")
    except (KeyError, TypeError, ValueError):
        benchmarks = []
    if not benchmarks:
        sys.exit(f"plot.py: '{file}' has no results; write them by uk bench gemm or conv --json=FILE.json")
    panels = {
        name: set_panel(name, [b for b in benchmarks if b["set"] == name], run["context"])
        for name in dict.fromkeys(b["set"] for b in benchmarks)
    }
    panels["roofline"] = roofline_panel(benchmarks, run["context"])
    out = pathlib.Path(sys.argv[2])
    if out.suffix == ".svg":
        draw(out, list(panels.values()))
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, panel in panels.items():
        draw(out / f"{name}.svg", [panel])


if __name__ == "__main__":
    main()
