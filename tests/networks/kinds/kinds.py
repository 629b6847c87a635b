#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of the kinds that people export, small and seeded: what they compute is compared in one of these ways.

    kinds.py check UK [NAME...]               each layer with the interpreter, here; all networks are read with open sizes
    kinds.py compare UK TARGETS [NAME...]     outputs with ONNX Runtime's, here at three drawn sizes, and for targets (commas
                                              between them, or none) at one; for those of BYTES also with RISC-V P
    kinds.py open RANGES DRAWS [NAME...]      with open sizes, by ranges.c
    kinds.py write NAME                       the network itself
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import detection
import experts
import images
import language
import speech
from onnx_writer import FLOAT, npy

CACHED = ["batch=1..2", "seq=1..9", "past=0..17"]
# Functions that make the networks, and their open sizes.
NETWORKS = {
    "llama": (language.llama, CACHED),
    "llama_23": (language.llama_23, CACHED),
    "gpt2": (language.gpt2, CACHED),
    "t5_encoder": (language.t5_encoder, ["batch=1..3", "seq=1..40"]),
    "t5_decoder": (language.t5_decoder, [*CACHED, "source=1..20"]),
    "experts_by_one_hot": (experts.experts_by_one_hot, ["batch=1..2", "seq=1..9"]),
    "experts_by_gather": (experts.experts_by_gather, ["batch=1..2", "seq=1..9"]),
    "experts_by_scatter": (experts.experts_by_scatter, ["batch=1..2", "seq=1..9"]),
    "sampler": (experts.sampler, ["batch=1..3", "seq=1..9"]),
    "bert_bytes": (experts.bert_bytes, ["batch=1..3", "seq=1..20"]),
    "clip_text": (experts.clip_text, ["batch=1..3", "seq=1..20"]),
    "unet": (images.unet, ["batch=1..2", "height=8..24:2", "width=8..16:2", "sequence=1..12"]),
    "unet_21": (lambda: images.unet(21), ["batch=1..2", "height=8..24:2", "width=8..16:2", "sequence=1..12"]),
    "efficientnet": (images.efficientnet, ["batch=1..2", "height=16..48:4", "width=16..32:4"]),
    "efficientnet_14": (lambda: images.efficientnet(14), ["batch=1..2", "height=16..48:4", "width=16..32:4"]),
    "convnext": (images.convnext, ["batch=1..2", "height=16..48:8", "width=16..32:8"]),
    "swin": (images.swin, ["batch=1..3"]),
    "mobilevit": (images.mobilevit, ["batch=1..3"]),
    "clip": (images.clip, ["batch=1..3", "texts=1..5"]),
    "yolo_5": (detection.yolo_5, ["batch=1..2", "height=16..64:8", "width=16..48:8"]),
    "yolo_8": (detection.yolo_8, ["batch=1..2", "height=16..64:8", "width=16..48:8"]),
    "yolo_suppressed": (detection.yolo_suppressed, ["batch=1..2", "height=16..64:8", "width=16..48:8"]),
    "proposals": (detection.proposals, ["batch=1..3"]),
    "mask_decoder": (detection.mask_decoder, ["batch=1..3", "points=1..5"]),
    "whisper_encoder": (speech.whisper_encoder, ["batch=1..3"]),
    "whisper_decoder": (speech.whisper_decoder, [*CACHED, "source=1..20"]),
    "wav2vec": (speech.wav2vec, ["batch=1..2", "samples=200..800:20"]),
    "vits_encoder": (speech.vits_encoder, ["batch=1..2", "seq=5..12"]),
    "vits_decoder": (speech.vits_decoder, ["batch=1..2", "frames=3..12"]),
}
# The greatest distance from ONNX Runtime's values in parts of the largest one, if it is not that of f32.
BOUND = 5e-5
BOUNDS = {"bert_bytes": 0.02}  # a byte may be another one
BYTES = {"bert_bytes"}
# As many rows as data decide: here there are as many as may be, with -1 instead of indices in the others.
SUPPRESSED = {"yolo_suppressed"}


def drawn_sizes(ranges, draw):
    """One value of each open size: NAME=LOWER..UPPER or NAME=LOWER..UPPER:STEP."""
    sizes = {}
    for size in ranges:
        name, bounds = size.split("=")
        low, high = bounds.split(":")[0].split("..")
        step = int(bounds.split(":")[1]) if ":" in bounds else 1
        sizes[name] = draw.randrange(int(low), int(high) + 1, step)
    return sizes


def extents(shape, sizes):
    """An extent is a number or a sum of names."""
    return [n if isinstance(n, int) else sum(sizes[part] for part in n.split(" + ")) for n in shape]


def write_inputs(graph, sizes, folder, draw):
    """Files of drawn values; returns their options."""
    words = []
    for i, (name, shape, kind, least, most) in enumerate(graph.inputs):
        shape = extents(shape, sizes)
        count = 1
        for n in shape:
            count *= n
        values = [draw.uniform(least, most) if kind == FLOAT else draw.randint(least, most) for _ in range(count)]
        (folder / f"input_{i}.npy").write_bytes(npy(shape, values, kind))
        words.append(f"--input={name}={folder}/input_{i}.npy")
    return words


def run(words):
    """What went wrong, or nothing."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    return done.stderr.strip()[-600:] or f"exit status {done.returncode}" if done.returncode else None


def runs_of(name, folder, count=1):
    """Sizes, and the words of uk that run the network at these sizes with drawn inputs."""
    make, ranges = NETWORKS[name]
    graph, path = make(), folder / f"{name}.onnx"
    path.write_bytes(graph.model())
    for seed in range(count):
        draw = random.Random(seed + len(name))
        sizes = drawn_sizes(ranges, draw)
        yield sizes, ["run", path, *(f"--size={k}={v}" for k, v in sizes.items()), *write_inputs(graph, sizes, folder, draw)]


def read(name, folder, uk):
    """A header needs no code, so this is quick."""
    make, ranges = NETWORKS[name]
    path = folder / f"{name}.onnx"
    path.write_bytes(make().model())
    return run([uk, "compile", path, "-o", folder / f"{name}.h", *(f"--size={size}" for size in ranges)])


def check(name, folder, uk, checked):
    what = read(name, folder, uk)
    if not what and name in checked:
        what = next((what for _, words in runs_of(name, folder) if (what := run([uk, *words, "--check"]))), None)
    return what


def difference(got, wanted, bound):
    import numpy

    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype} {got.shape}, not {wanted.dtype} {wanted.shape}"
    if wanted.dtype.kind != "f":
        return f"{(got != wanted).sum()} of {got.size} elements differ" if (got != wanted).any() else None
    largest = numpy.abs(wanted).max(initial=0)
    apart = numpy.abs(got - wanted).max(initial=0)
    return None if apart <= bound * largest else f"apart by {apart:.3g} where the largest is {largest:.3g}"


def expected(path, folder):
    """ONNX Runtime's outputs."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    feeds = {v.name: numpy.load(folder / f"input_{i}.npy") for i, v in enumerate(session.get_inputs())}
    return names, session.run(names, feeds)


def filled(got, wanted):
    """ONNX Runtime's rows, and those that follow them here: -1 where they are indices."""
    import numpy

    rest = got[len(wanted):]
    return numpy.concatenate([wanted, numpy.full_like(rest, -1) if got.dtype.kind == "i" else rest])


def compare(name, folder, uk, targets):
    import numpy

    others = [t for t in targets.split(",") if t != "none"]
    if others and name in BYTES:
        others.append("riscv64-p")
    for draw, (sizes, words) in enumerate(runs_of(name, folder, 3)):
        names, wanted = expected(words[1], folder)
        for target in ["native", *(others if draw == 0 else [])]:
            what = run([uk, *words, f"--target={target}", *(f"--output={folder}/output_{i}.npy" for i in range(len(names)))])
            for i, o in enumerate(names if not what else []):
                got = numpy.load(folder / f"output_{i}.npy")
                apart = difference(got, filled(got, wanted[i]) if name in SUPPRESSED else wanted[i], BOUNDS.get(name, BOUND))
                what = what or (apart and f"{o}: {apart}")
            if what:
                return f"{sizes} for {target}: {what}"
    return None


def compare_open(name, folder, ranges, draws):
    make, sizes = NETWORKS[name]
    path = folder / f"{name}.onnx"
    path.write_bytes(make().model())
    return run([ranges, path, draws, *sizes])


def main():
    mode, *words = sys.argv[1:]
    if mode == "write":
        sys.stdout.buffer.write(NETWORKS[words[0]][0]().model())
        return
    test = {"check": check, "compare": compare, "open": compare_open}[mode]
    arguments, names = ([words[0], words[1:] or NETWORKS], []) if mode == "check" else (words[:2], words[2:])
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or NETWORKS:
            what = test(name, pathlib.Path(folder), *arguments)
            if what:
                wrong += 1
                print(f"{name}: {what}", flush=True)
    print(f"{len(names or NETWORKS) - wrong} of {len(names or NETWORKS)} networks are right")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
