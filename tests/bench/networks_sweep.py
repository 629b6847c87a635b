# SPDX-License-Identifier: Apache-2.0
"""Tests bench/networks_sweep.py: its random layers are as documented and the same for the same seed; the
floors of two layers equal values computed by hand.

networks_sweep.py SOURCE UK
"""

import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

source, uk = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(source / "bench"))
import networks_sweep  # pylint: disable=wrong-import-position


def draws():
    draw, again = random.Random(3), random.Random(3)
    layers = [networks_sweep.draw_layer(draw) for _ in range(300)]
    if layers != [networks_sweep.draw_layer(again) for _ in range(300)]:
        sys.exit("another layer by the same seed")
    for layer in layers:
        rows, columns = layer["window"]
        if not (1 <= rows <= 7 and 1 <= columns <= 7 and layer["stride"] in (1, 2) and 3 <= layer["channels"] <= 512 and
                8 <= layer["outputs"] + 5 * layer["depthwise"] <= 517 and 7 <= layer["image"] <= 112):  # fmt: skip
            sys.exit(f"out of bounds: {layer}")
    kinds = {(layer["depthwise"], layer["stride"], layer["window"][0] == layer["window"][1]) for layer in layers}
    if len(kinds) != 6:
        sys.exit(f"kinds that are drawn: {kinds}")
    # Expected values computed by hand. 3x3 window, 5 channels, K = 45 padded to 48, 4 outputs, 49 pixels; and a
    # depthwise layer of 3 channels, stride 2.
    dense = {"depthwise": False, "window": [3, 3], "stride": 1, "channels": 5, "outputs": 4, "image": 7, "out": 7}
    planes = {"depthwise": True, "window": [3, 3], "stride": 2, "channels": 3, "outputs": 3, "image": 8, "out": 4}
    for layer, floor in (dense, (0.1864 * 48 + 10) * 196), (planes, (0.33 * 9 + 7) * 48 + 192):
        if abs(networks_sweep.floor_of(layer) - floor) > 1e-6:
            sys.exit(f"{layer}: {networks_sweep.floor_of(layer)}, not {floor}")


def counts(folder):
    out = folder / "sweep.json"
    ran = subprocess.run([sys.executable, source / "bench/networks_sweep.py", uk, "--seed=1", "--layers=2", f"--json={out}"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)  # fmt: skip
    if ran.returncode:
        sys.exit(ran.stdout + ran.stderr)
    got = json.loads(out.read_text(encoding="ascii"))
    ratios = [layer["constant"] / layer["floor"] for layer in got["layers"]]
    if len(ratios) != 2 or not 0.8 <= min(ratios) or abs(got["constants"]["median"] - statistics.median(ratios)) > 1e-9:
        sys.exit(f"{got}")
    if f"constants by the floor: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f}" not in ran.stdout:
        sys.exit(ran.stdout)


if not shutil.which("qemu-riscv64"):
    print("networks_sweep skipped: qemu-riscv64 is not installed; package qemu-user")
    sys.exit(77)
draws()
with tempfile.TemporaryDirectory() as temporary:
    counts(pathlib.Path(temporary))
