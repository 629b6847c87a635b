#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Continues texts by examples/networks/generate.c, and compares each token with ONNX Runtime's.

    generated.py UK CC FOLDER TOKENS NAME...    networks of examples/networks/make.py

ONNX Runtime gets the tokens before. Where its two largest logits differ by more than twice the bound on the distance of
logits, the largest must be the token that followed. The other steps are counted: at most 1 %. The prompt is read at once and
token by token.
"""

import pathlib
import subprocess
import sys

import numpy
import onnxruntime

# The bound on the distance of logits, in multiples of the largest: sums of some thousand products of f32, in some tens of
# layers one after the other, each rounded to 2^-24.
BOUND = 2e-5
CHUNK, PROMPT = 32, 45


def run(*words):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout


def build(uk, cc, folder, name, rows):
    """Returns the path of the network and of the program."""
    source = pathlib.Path(__file__).resolve().parents[2] / "examples/networks"
    run(sys.executable, source / "make.py", name, f"--folder={folder}")
    path, words = folder / f"{name}.onnx", name.split("-")[-1] if "-" in name else "13568"
    options = [path, "--name=llama", f"--size=seq=1..{CHUNK}", f"--size=past=0..{rows - 1}", "--state=auto"]
    run(uk, "compile", *options, "-o", folder / "llama.o")
    run(uk, "compile", *options, "--emit=header", "-o", folder / "llama.h")
    run(cc, "-O1", f"-DWORDS={words}", f"-DCHUNK={CHUNK}", f"-DROWS={rows}", f"-I{folder}", source / "generate.c", folder / "llama.o", "-lm", "-o", folder / "generate")
    return path, folder / "generate", int(words)


def logits_of(path, tokens, prompt):
    """Logits after each token from the prompt's last one on, by a session that gets its own presents back."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    pasts = session.get_inputs()[1:]
    feed = {i.name: numpy.zeros((1, i.shape[1], 0, i.shape[3]), numpy.float32) for i in pasts}
    steps = [tokens[:prompt], *([t] for t in tokens[prompt:-1])]
    for step in steps:
        logits, *presents = session.run(None, {"input_ids": numpy.array([step], numpy.int64), **feed})
        feed = dict(zip((i.name for i in pasts), presents))
        yield logits[0, -1]


def compare(name, path, tokens, prompt):
    close = 0
    for at, (logits, token) in enumerate(zip(logits_of(path, tokens, prompt), tokens[prompt:])):
        second, first = numpy.sort(logits)[-2:]
        if first - second <= 2 * BOUND * numpy.abs(logits).max():
            close += 1
        elif token != logits.argmax():
            sys.exit(f"{name}: token {at} is {token}, {logits.argmax()} with ONNX Runtime, whose logits differ by {first - second}")
    steps = len(tokens) - prompt
    print(f"{name}: {steps} tokens are ONNX Runtime's; {close} where two logits are too close to tell")
    return close * 100 <= steps


def main():
    uk, cc, folder, count, *names = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    for name in names:
        path, program, words = build(uk, cc, folder, name, PROMPT + int(count))
        prompt = [int(t) for t in numpy.random.default_rng(3).integers(0, words, PROMPT)]
        found = [run(program, count, chunk, *prompt).split() for chunk in (CHUNK, 1)]
        if found[0] != found[1] or len(found[0]) != int(count):
            sys.exit(f"{name}: other tokens, if the prompt is read token by token")
        if not compare(name, path, prompt + [int(t) for t in found[0]], PROMPT):
            sys.exit(f"{name}: more than 1 % of the tokens cannot be compared")


main()
