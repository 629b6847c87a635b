#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plot.py RUN.json FOLDER: draws what `uk bench gemm --json` measured, as SVG by gnuplot.

FOLDER/<set>.svg has the rate of every library over the size (cubes) or over the shapes of the set, below the peak that was
measured beside; FOLDER/roofline.svg has ours over operations per byte, below the peak and the bandwidth of memory.
"""

import json
import pathlib
import subprocess
import sys

HEAD = """set terminal svg size 900,500 noenhanced font "sans,12"
set output {output}
set title {title}
set key outside right
set grid
set ylabel "GFLOP/s"
"""


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def gnuplot(script):
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def data_block(name, rows):
    return f"${name} << EOD\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "EOD\n"


def is_ours(b):
    return b["library"].startswith("ukernels")


def plot_set(name, benchmarks, context, folder):
    libraries = list(dict.fromkeys(b["library"] for b in benchmarks))
    shapes = list(dict.fromkeys(b["name"].split("/")[2] + " " + b["name"].split("/")[3] for b in benchmarks))
    cubes = all(b["m"] == b["n"] == b["k"] for b in benchmarks) and len(shapes) > 1
    script = HEAD.format(
        output=quoted(folder / f"{name}.svg"), title=quoted(f"{name}, {context['isa']}, {context['threads']} thread(s), {context['cpu']}")
    )
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
        rows = [
            (b["m"] if cubes else shapes.index(b["name"].split("/")[2] + " " + b["name"].split("/")[3]), b["FLOPS"] * 1e-9)
            for b in mine
        ]
        script += data_block(f"d{i}", rows)
        style = "linespoints lw 3 pt 7 ps 0.5" if is_ours(mine[0]) else "linespoints lw 1 pt 6 ps 0.4"
        plots.append(f"$d{i} using 1:2 with {style} title {quoted(library)}")
    ours = [b for b in benchmarks if is_ours(b)]
    script += data_block("peak", [(r["m"] if cubes else i, r["peak_beside"] * 1e-9) for i, r in enumerate(ours)])
    plots.append('$peak using 1:2 with lines dt 2 lc "black" title "peak beside"')
    gnuplot(script + "set yrange [0:*]\nplot " + ", ".join(plots) + "\n")


def plot_roofline(benchmarks, context, folder):
    bandwidth, peak = context["bandwidth_bytes_per_second"], context["peak_flops"]
    rows = [(b["m"] * b["n"] * b["k"] * 2 / b["bytes"], b["FLOPS"] * 1e-9) for b in benchmarks]
    script = HEAD.format(
        output=quoted(folder / "roofline.svg"), title=quoted(f"ukernels, {context['isa']}, {context['threads']} thread(s), {context['cpu']}")
    )
    script += 'set logscale xy\nset xrange [0.1:*]\nset xlabel "operations per byte that must move"\n' + data_block("d", rows)
    script += f"roof(x) = x * {bandwidth * 1e-9} < {peak * 1e-9} ? x * {bandwidth * 1e-9} : {peak * 1e-9}\n"
    script += (
        'plot $d using 1:2 with points pt 7 ps 0.5 title "ukernels", '
        f'roof(x) with lines lw 2 title "memory {bandwidth * 1e-9:.0f} GB/s, peak {peak * 1e-9:.0f} GFLOP/s"\n'
    )
    gnuplot(script)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py RUN.json FOLDER")
    run = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = pathlib.Path(sys.argv[2])
    benchmarks = [b for b in run["benchmarks"] if "library" in b]
    if not benchmarks:
        sys.exit(f"plot.py: {sys.argv[1]} has no results of uk bench gemm; write them with uk bench gemm --json={sys.argv[1]}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(b["set"] for b in benchmarks):
        plot_set(name, [b for b in benchmarks if b["set"] == name], run["context"], folder)
    plot_roofline([b for b in benchmarks if is_ours(b)], run["context"], folder)


if __name__ == "__main__":
    try:
        main()
    except FileNotFoundError as e:
        sys.exit(f"plot.py: {e.filename}: not found; package gnuplot-nox")
