# SPDX-License-Identifier: Apache-2.0
"""Tests bench/network_counts.py on networks written by scripts: sums by kind are those of the layers, P takes
less than half of the instructions, and outputs are those of this CPU.

    counts.py SOURCE UK
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import byte_mobilenet
import small_networks

source, uk = sys.argv[1:]
NETWORKS = {
    "mobilenet": ("-int8", lambda: byte_mobilenet.network(byte_mobilenet.PAIRS[:4]), ("p", "scalar")),
    "convolutions": ("", small_networks.convolutions, ("tiled", "plain")),
    "branches": ("", small_networks.branches, ("tiled",)),
}

if not shutil.which("qemu-riscv64"):
    print("network_counts skipped: needs the package qemu-user")
    sys.exit(77)
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    for name, (suffix, make, programs) in NETWORKS.items():
        (folder / f"{name}{suffix}.onnx").write_bytes(make())
        subprocess.run([sys.executable, f"{source}/bench/network_counts.py", uk, name, f"--programs={','.join(programs)}", f"--folder={folder}",
                        f"--json={folder}/counts.json", "--against=here"], check=True, timeout=500)
        (result,) = json.loads((folder / "counts.json").read_text())
        counts = [result["programs"][p]["instructions"] for p in programs]
        if result["wrong"] or ("p" in programs and not 2 * counts[0] < counts[1]):
            sys.exit(f"{name}: {counts} instructions, {result['wrong']}")
        for p in result["programs"].values():
            kinds = p["kinds"].values()
            if sum(k["instructions"] for k in kinds) != p["instructions"] or sum(k["layers"] for k in kinds) != len(p["layers"]):
                sys.exit(f"{name}: {p}")
            if any((k["floor"] or 0) > k["instructions"] for k in kinds):
                sys.exit(f"{name}: fewer instructions than the floor: {p['kinds']}")
