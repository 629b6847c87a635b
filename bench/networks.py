#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares networks with other programs that run ONNX: one thread each, alternating in one process.

    bench/networks.py UK MODEL.onnx... [--size=NAME=VALUE]... [--state=INPUT=OUTPUT]... [--peers=NAME,...] [--rounds=N] [--json=FILE]

--size gives a dimension that the models leave open a value, or as LOWER..UPPER a range, then a value besides is that of the runs.
--state keeps a cache in our network's memory; a peer gets it as an input, and returns it as an output.

The command UK compiles each model into a shared object, which is called through ctypes. The peers, by the beginnings of
their names: ONNX Runtime, with its defaults; OpenVINO, with its hint for latency and sums in f32; plain loops, which is
the same network compiled by --no-kernels, in no set of peers unless it is named. A peer that is not installed is left out
with a message. Prints a line per model and peer: median milliseconds of CPU time of both, and the median and quartiles of
the ratio of neighbouring runs (above 1: ours is faster); for several models also the geometric mean of the ratios.
Needs numpy and onnxruntime, as in the environment .venv-networks that ./uk-setup networks makes.
"""

import ctypes
import json
import math
import mmap
import pathlib
import re
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import onnxruntime
except ImportError as error:
    sys.exit(f"{error}: ./uk-setup networks installs numpy and onnxruntime into .venv-networks")

TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8,
         "tensor(int32)": numpy.int32}


class Ours:
    """A network's shared object and its block of memory."""

    def __init__(self, path, name, sizes, states, constants):
        self.sizes, self.states = (ctypes.c_int64 * len(sizes))(*sizes), states
        self.library = ctypes.CDLL(str(path))
        function = lambda suffix, result: self.function(f"{name}_{suffix}", result)
        self.run_function = function("run", ctypes.c_int)
        self.input, self.output = function("input", ctypes.c_void_p), function("output", ctypes.c_void_p)
        self.state = function("state", ctypes.c_void_p) if states else None
        with open(constants, "rb") as file:
            self.constants = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        given = function("constants", ctypes.c_int)(ctypes.c_void_p(numpy.frombuffer(self.constants, numpy.uint8).ctypes.data), ctypes.c_size_t(len(self.constants)))
        if given:
            sys.exit(f"the network refuses its constants with the status {given}")
        size = function("memory", ctypes.c_size_t)()
        self.block = ctypes.create_string_buffer(size + 64)
        self.memory = ctypes.c_void_p((ctypes.addressof(self.block) + 63) // 64 * 64)

    def function(self, name, result):
        f = getattr(self.library, name)
        f.restype = result
        return f

    def fill(self, feed):
        """Sets the states to the elements of the past. Returns the other inputs."""
        for i, (name, kind, capacity) in enumerate(self.states):
            count = math.prod(capacity)
            memory = (ctypes.c_char * (count * numpy.dtype(kind).itemsize)).from_address(self.state(self.memory, i))
            numpy.frombuffer(memory, kind).reshape(capacity)[tuple(slice(e) for e in feed[name].shape)] = feed[name]
        return [x for name, x in feed.items() if name not in {name for name, *_ in self.states}]

    def run(self, inputs):
        for i, x in enumerate(inputs):
            ctypes.memmove(self.input(self.memory, i), x.ctypes.data, x.nbytes)
        status = self.run_function(self.memory, *((self.sizes,) if len(self.sizes) else ()))
        if status:
            sys.exit(f"the network returned status {status}")


# Element types in headers.
KINDS = {"f32": numpy.float32, "f64": numpy.float64, "i64": numpy.int64, "i32": numpy.int32, "u8": numpy.uint8, "i8": numpy.int8}


class Sizes:
    """The options --size and --state: what the compiler gets, and the values of the runs by name."""

    def __init__(self, words, states):
        self.options, self.ranges, self.at = [f"--state={each}" for each in states], set(), {}
        for name, value in (word.rsplit("=", 1) for word in words):
            if name not in self.ranges:
                self.options.append(f"--size={name}={value}")
            if ".." in value:
                self.ranges.add(name)
            self.at[name] = int(value.split("..")[-1].split(":")[0])

    def described(self, uk, model):
        """Reads the network's header: the values of a run in the order of its array, and name, type and extents of states."""
        header = subprocess.run([uk, "compile", str(model), "--emit=header", *self.options], check=True, capture_output=True, text=True).stdout
        sizes = [self.at[name] for name in re.findall(r"^ \*   \d+: (.*), \d+ to \d+", header, re.M)]
        states = re.findall(r"^ \*   state \d+: (\w+) \[(.*)\] (.*)$", header, re.M)
        return sizes, [(name, KINDS[kind], [int(e) for e in extents.split(", ")]) for kind, extents, name in states]

    def extent(self, e):
        """The extent of a dimension of ONNX Runtime's: a number or a name, which may be a sum."""
        if isinstance(e, int) or e in self.at:
            return self.at.get(e, e)
        return sum(self.at[part.strip()] if part.strip() in self.at else int(part) for part in e.split("+"))


def compiled(uk, model, sizes, *options):
    """The network, and the seconds that its compilation took. Its constants are in a file, where they have any size."""
    with tempfile.TemporaryDirectory() as folder:
        path, constants = pathlib.Path(folder) / "net.so", pathlib.Path(folder) / "net.constants"
        since = time.perf_counter()
        subprocess.run([uk, "compile", str(model), "-o", str(path), f"--constants={constants}", "--name=net", *sizes.options, *options], check=True)
        seconds = time.perf_counter() - since
        return Ours(path, "net", *sizes.described(uk, model), constants), seconds


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


# ---- peers: each makes a function that runs the model on the inputs, by name ----


def begin_onnxruntime(uk, model, feed, sizes):
    del uk, sizes
    session = session_of(model)
    return lambda: session.run(None, feed)


def begin_openvino(uk, model, feed, sizes):
    del uk, sizes
    # uk-setup unpacks the wheel beside the environment's packages, without what it needs only to convert models.
    sys.path.append(str(pathlib.Path(sys.prefix) / "openvino"))
    import openvino  # pylint: disable=import-outside-toplevel
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
                "ENABLE_CPU_PINNING": False}
    request = openvino.Core().compile_model(str(model), "CPU", settings).create_infer_request()
    for name, value in feed.items():
        request.set_tensor(name, openvino.Tensor(value, shared_memory=True))
    return request.infer


def begin_plain(uk, model, feed, sizes):
    plain, _ = compiled(uk, model, sizes, "--no-kernels")
    inputs = plain.fill(feed)
    return lambda: plain.run(inputs)


PEERS = {"ONNX Runtime": begin_onnxruntime, "OpenVINO": begin_openvino, "plain loops": begin_plain}


def chosen(text):
    """The peers whose names begin with a word of the list."""
    if text is None:
        return ["ONNX Runtime", "OpenVINO"]
    words = [w.lower() for w in text.split(",")]
    for word in words:
        if word != "none" and not any(peer.lower().startswith(word) for peer in PEERS):
            sys.exit(f"--peers: no peer's name begins with '{word}'; use ONNX, OpenVINO, plain or none")
    return [peer for peer in PEERS if peer.lower().startswith(tuple(words))]


# ---- measuring ----


def timed(f):
    """Milliseconds of CPU time of the process, whose one thread computes: other processes on a busy machine do not count."""
    start = time.process_time()
    f()
    return (time.process_time() - start) * 1e3


def quantile(values, q):
    return float(numpy.quantile(values, q))


def random_inputs(model, sizes):
    random = numpy.random.default_rng(1)
    feed = {}
    for i in session_of(model).get_inputs():
        kind, shape = TYPES[i.type], [sizes.extent(e) for e in i.shape]
        feed[i.name] = (random.uniform(-1, 1, shape) if kind == numpy.float32 else random.integers(0, 2, shape)).astype(kind)
    return feed


def pairs_of(ours, peer, rounds):
    """Milliseconds of both in alternation, without the first round."""
    pairs = []
    until = time.perf_counter() + 20
    while len(pairs) < 3 or (len(pairs) < rounds and time.perf_counter() < until):
        pairs.append((timed(ours), timed(peer)))
    return numpy.array(pairs[1:])


def measure(uk, model, peers, rounds, sizes):
    """A row per peer."""
    feed = random_inputs(model, sizes)
    ours, seconds = compiled(uk, model, sizes)
    inputs = ours.fill(feed)
    for peer in peers:
        try:
            run = PEERS[peer](uk, model, feed, sizes)
        except ImportError as absent:
            print(f"{peer} is left out: {absent}; ./uk-setup networks installs it", file=sys.stderr)
            continue
        pairs = pairs_of(lambda: ours.run(inputs), run, rounds)
        ratios = pairs[:, 1] / pairs[:, 0]
        yield {"model": model.stem, "peer": peer, "ours_ms": quantile(pairs[:, 0], 0.5), "peer_ms": quantile(pairs[:, 1], 0.5),
               "ratio": quantile(ratios, 0.5), "quartiles": [quantile(ratios, 0.25), quantile(ratios, 0.75)], "pairs": len(pairs),
               "compile_s": seconds}


def main():
    rounds, out, peers, words, sizes, states = 200, None, None, [], [], []
    for word in sys.argv[1:]:
        if word.startswith("--rounds="):
            rounds = int(word.split("=", 1)[1])
        elif word.startswith("--json="):
            out = word.split("=", 1)[1]
        elif word.startswith("--size="):
            sizes.append(word.split("=", 1)[1])
        elif word.startswith("--state="):
            states.append(word.split("=", 1)[1])
        elif word.startswith("--peers="):
            peers = word.split("=", 1)[1]
        else:
            words.append(word)
    if len(words) < 2:
        sys.exit(__doc__)
    peers = chosen(peers)
    rows = []
    for model in words[1:]:
        for row in measure(words[0], pathlib.Path(model), peers, rounds, Sizes(sizes, states)):
            rows.append(row)
            print("{model}: {ours_ms:.3f} ms, {peer} {peer_ms:.3f} ms, ratio {ratio:.2f}".format(**row),
                  "({:.2f}..{:.2f}), {} pairs; compiled in {:.1f} s".format(*row["quartiles"], row["pairs"], row["compile_s"]), flush=True)
    for peer in peers if len(words) > 2 else ():
        ratios = [row["ratio"] for row in rows if row["peer"] == peer]
        if ratios:
            print(f"{peer}: geometric mean of {len(ratios)} ratios {math.prod(ratios) ** (1 / len(ratios)):.3f}")
    if out:
        pathlib.Path(out).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


main()
