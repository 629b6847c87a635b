#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plot.py RUN.json FOLDER|FILE.svg: draws what `uk bench gemm --json` measured, as SVG by gnuplot.

FOLDER/<set>.svg has the rate of every library over the size (cubes) or over the shapes of the set, below the peak that was
measured beside; FOLDER/roofline.svg has ours over operations per byte, below the median of the peaks and the bandwidth of
memory. FILE.svg has all of them, one below the other. `uk bench gemm --plot=FILE.svg` runs this, and before it measures
plot.py --check, which only looks for gnuplot.
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
set key outside right
set grid
set ylabel "GFLOP/s"
"""


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def data_block(name, rows):
    return f"${name} << EOD\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "EOD\n"


def is_ours(b):
    return b["library"].startswith("ukernels")


def shape_of(b):
    return " ".join(b["name"].split("/")[2:4])


def machine(context):
    return f"{context['isa']}, {context['threads']} thread(s), {context['cpu']}"


def set_panel(name, benchmarks, context):
    """The script of a set's picture; its data blocks have the set's name in theirs."""
    libraries = list(dict.fromkeys(b["library"] for b in benchmarks))
    shapes = list(dict.fromkeys(shape_of(b) for b in benchmarks))
    cubes = all(b["m"] == b["n"] == b["k"] for b in benchmarks) and len(shapes) > 1
    script = PANEL.format(title=quoted(f"{name}, {machine(context)}"))
    if cubes:
        script += 'set xlabel "m = n = k"\n'
        largest, least = max(b["m"] for b in benchmarks), min(b["m"] for b in benchmarks)
        script += "set logscale x 2\n" if largest > 16 * least and largest > 128 else ""
    else:
        script += "set xtics rotate by -45 font ',9'\n"
        script += "set xtics (" + ", ".join(f"{quoted(s)} {i}" for i, s in enumerate(shapes)) + ")\n"
    plots = []
    for i, library in enumerate(libraries):
        mine = [b for b in benchmarks if b["library"] == library]
        script += data_block(f"d{i}", [(b["m"] if cubes else shapes.index(shape_of(b)), b["FLOPS"] * 1e-9) for b in mine])
        style = "linespoints lw 3 pt 7 ps 0.5" if is_ours(mine[0]) else "linespoints lw 1 pt 6 ps 0.4"
        plots.append(f"$d{i} using 1:2 with {style} title {quoted(library)}")
    peaks = {b["m"] if cubes else shapes.index(shape_of(b)): b["peak_beside"] * 1e-9 for b in benchmarks if is_ours(b)}
    script += data_block("peak", peaks.items())
    plots.append('$peak using 1:2 with lines dt 2 lc "black" title "peak beside"')
    return script + "set yrange [0:*]\nplot " + ", ".join(plots) + "\n"


def roofline_panel(benchmarks, context):
    bandwidth, peak = context["bandwidth_bytes_per_second"] * 1e-9, context["peak_flops"] * 1e-9
    rows = [(b["m"] * b["n"] * b["k"] * 2 / b["bytes"], b["FLOPS"] * 1e-9) for b in benchmarks if is_ours(b)]
    script = PANEL.format(title=quoted(f"ukernels, {machine(context)}"))
    script += 'set logscale xy\nset xrange [0.1:*]\nset xlabel "operations per byte that must move"\n' + data_block("d", rows)
    script += f"roof(x) = x * {bandwidth} < {peak} ? x * {bandwidth} : {peak}\n"
    return script + (
        'plot $d using 1:2 with points pt 7 ps 0.5 title "ukernels", '
        f'roof(x) with lines lw 2 title "memory {bandwidth:.0f} GB/s, peak {peak:.0f} GFLOP/s"\n'
    )


def draw(path, panels):
    """Into a file beside, which takes the place of path when it is whole."""
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
    run = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    benchmarks = [b for b in run["benchmarks"] if "library" in b]
    if not benchmarks:
        sys.exit(f"plot.py: {sys.argv[1]} has no results of uk bench gemm; write them with uk bench gemm --json={sys.argv[1]}")
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
