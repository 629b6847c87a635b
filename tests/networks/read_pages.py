#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads drawn pages with PP-OCRv4: lines, angles and texts must be the same as with ONNX Runtime.

    read_pages.py LIBUKNETWORKS

The three networks find lines, tell whether a line is upside down, and read it. The code between them is the
same for both programs, each of which continues from its own results.
"""

import ctypes
import pathlib
import sys
import tempfile

import cv2
import numpy
import onnx
import onnxruntime
import pyclipper

import models

PAGES, LINES = 10, 3
WORDS = "tile kernel packed vector layout matrix 2048 gather fused panel 4096 stride inlined scalar 768 border".split()


# ---- two programs ----


class Theirs:
    def __init__(self, path):
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0].name

    def run(self, x):
        return self.session.run(None, {self.input: x})[0]


class Ours:
    def __init__(self, library, path, shape):
        self.library, self.shape = library, shape
        for name, result in (("create", ctypes.c_void_p), ("message", ctypes.c_char_p), ("memory", ctypes.c_size_t),
                             ("input", ctypes.c_void_p), ("output", ctypes.c_void_p)):
            getattr(library, f"uk_network_{name}").restype = result
        self.network = ctypes.c_void_p(library.uk_network_create())
        if library.uk_network_read_file(self.network, path.encode(), None) or library.uk_network_compile(self.network, None):
            raise SystemExit(library.uk_network_message(self.network).decode())
        self.block = numpy.zeros(library.uk_network_memory(self.network) + 64, numpy.uint8)
        self.memory = ctypes.c_void_p(self.block.ctypes.data + -self.block.ctypes.data % 64)

    def run(self, x):
        result = numpy.empty(self.shape, numpy.float32)
        x = numpy.ascontiguousarray(x)
        ctypes.memmove(self.library.uk_network_input(self.network, self.memory, 0), x.ctypes.data, x.nbytes)
        if self.library.uk_network_run(self.network, self.memory):
            raise SystemExit("a run failed")
        ctypes.memmove(result.ctypes.data, self.library.uk_network_output(self.network, self.memory, 0), result.nbytes)
        return result


# ---- between the networks ----


def draw(random):
    """Draws a page of lines, two of three upright and some upside down; returns it with their words."""
    page = numpy.full((320, 320, 3), 255, numpy.uint8)
    words = []
    for i in range(LINES):
        word = " ".join(random.choice(WORDS, 2))
        font, scale = int(random.choice([cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX])), random.uniform(0.8, 1.1)
        line = numpy.full((60, 320, 3), 255, numpy.uint8)
        cv2.putText(line, word, (12, 40), font, scale, (0, 0, 0), 2, cv2.LINE_AA)
        page[30 + 95 * i : 90 + 95 * i] = line[::-1, ::-1] if random.random() < 0.3 else line
        words.append(word)
    noise = random.normal(0, 4, page.shape)
    return numpy.clip(page + noise, 0, 255).astype(numpy.uint8), words


def normal(image, mean, deviation):
    x = (image.astype(numpy.float32) / 255 - numpy.float32(mean)) / numpy.float32(deviation)
    return x.transpose(2, 0, 1)[None]


def lines_of(likely):
    """Slightly enlarged boxes around probable text, from top to bottom."""
    outlines, _ = cv2.findContours((likely > 0.3).astype(numpy.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    boxes = []
    for outline in outlines:
        box = cv2.boxPoints(cv2.minAreaRect(outline))
        area, around = cv2.contourArea(box), cv2.arcLength(box, True)
        mask = cv2.fillPoly(numpy.zeros(likely.shape, numpy.uint8), [outline], 1)
        if area < 100 or likely[mask > 0].mean() < 0.5:
            continue
        grow = pyclipper.PyclipperOffset()
        grow.AddPath(numpy.rint(box).astype(int).tolist(), pyclipper.JT_ROUND, pyclipper.ET_CLOSEDPOLYGON)
        x, y, w, h = cv2.boundingRect(numpy.array(grow.Execute(area * 1.6 / around)[0]))
        boxes.append((max(y, 0), max(x, 0), y + h, x + w))
    return sorted(boxes)


def resized(image, height, width):
    """Scales into the upper left of an image of that size, whose rest is 0 after normal()."""
    wide = min(width, max(1, round(image.shape[1] * height / image.shape[0])))
    out = numpy.zeros((1, 3, height, width), numpy.float32)
    out[:, :, :, :wide] = normal(cv2.resize(image, (wide, height)), 0.5, 0.5)
    return out


def text_of(likely, characters):
    best = likely[0].argmax(axis=-1)
    return "".join(characters[b] for i, b in enumerate(best) if b and (i == 0 or best[i - 1] != b))


def read(page, programs, characters):
    """Returns box, True if upside down, and text of each line."""
    found = []
    for top, left, bottom, right in lines_of(programs["ocr_det"].run(normal(page, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))[0, 0]):
        line = page[top:bottom, left:right]
        rotated = bool(programs["ocr_cls"].run(resized(line, 48, 192))[0].argmax())
        line = line[::-1, ::-1] if rotated else line
        found.append(((top, left, bottom, right), rotated, text_of(programs["ocr_rec"].run(resized(line, 48, 320)), characters)))
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    library, theirs, ours = ctypes.CDLL(sys.argv[1]), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in models.OCR:
            model, feeds, _ = models.network(name)
            path = str(pathlib.Path(folder) / f"{name}.onnx")
            onnx.save(model, path)
            theirs[name] = Theirs(path)
            ours[name] = Ours(library, path, theirs[name].run(*feeds.values()).shape)
            if name == "ocr_rec":
                properties = {p.key: p.value for p in model.metadata_props}
                characters = ["", *properties["character"].splitlines(), " "]
    random, different, right, drawn = numpy.random.default_rng(4), 0, 0, 0
    for number in range(PAGES):
        page, words = draw(random)
        got, expected = (read(page, programs, characters) for programs in (ours, theirs))
        different += got != expected
        right += sum(w.replace(" ", "") == t.replace(" ", "") for w, (_, _, t) in zip(words, expected))
        drawn += len(words)
        print(f"page {number}: {', '.join(t for _, _, t in got)}")
        if got != expected:
            print(f"  ONNX Runtime: {expected}\n  here:         {got}")
    print(f"{right} of {drawn} lines are read as they were drawn; {different} of {PAGES} pages differ")
    sys.exit(bool(different) or 2 * right < drawn)


main()
