# SPDX-License-Identifier: Apache-2.0
"""Tests uk tune of networks: each tensor program is searched with its share of the trials, equal ones once;
other commands accept the result; logs and signals. Searches are limited by numbers of trials, and most count
instructions: other load on the machine changes no outcome.

    tune_network.py UK SOURCE some|all
"""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

uk, source, which = sys.argv[1:]
sys.path.append(source + "/tests/networks")
import small_networks  # pylint: disable=wrong-import-position
from onnx_writer import model, node, value  # pylint: disable=wrong-import-position

failures = []
COUNTED = ["--target=aarch64-neon"]


def call(*words, status=0, **more):
    done = subprocess.run([uk, *words], capture_output=True, text=True, check=False, timeout=280, **more)
    if done.returncode != status:
        failures.append(f"uk {' '.join(words)}: exit status {done.returncode}, not {status}: {done.stderr[-800:]}")
    return done


def expect(what, holds, shown=""):
    if not holds:
        failures.append(f"{what}: {shown}")


def write(name, data):
    with open(name, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def read(name):
    with open(name, encoding="utf-8") as f:
        return f.read()


def key_of(text):
    """The key as networks.h defines it: 16 digits of FNV-1a."""
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & 2**64 - 1
    return f"{h:016x}"


def programs(name):
    """The texts of the network's programs, by function name."""
    said = call("compile", name, "--emit=program").stdout
    return {found[1]: found[2].rstrip("\n") + "\n" for found in re.finditer(r"^# (\w+)\.uk, of layer.*\n((?:(?!# ).*\n)*)", said, re.M)}


def twice():
    """Four convolutions; the two in the middle have the same text."""
    weights = [small_networks.weights(seed, f"w{seed}", [4, 4 if seed else 3, 3, 3]) for seed in range(4)]
    nodes = [node("Conv", [f"v{i}", f"w{i}"], [f"v{i + 1}"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]) for i in range(4)]
    return model(nodes, [value("v0", [1, 3, 5, 5])], [value("v4", [1, 4, 5, 5])], weights)


def counts(name, *words):
    """Instructions of layers, and the whole output."""
    said = call("run", name, *COUNTED, "--check", "--count=layers", "--output=o.bin", *words).stdout
    expect(f"uk run {name} --check {words}", re.search(r"^check: \d+ layers, ", said, re.M), said)
    with open("o.bin", "rb") as f:
        output = f.read()
    return [int(row[5]) for row in map(str.split, said.splitlines()) if len(row) == 10 and row[0].isdigit()], struct.unpack(f"<{len(output) // 4}f", output)


def trials(name):
    return [json.loads(line) for line in read(name).splitlines()]


def check_search():
    """Programs with the largest weights are searched, by their shares of ten trials; the result applies to
    the network."""
    done = call("tune", "convolutions.onnx", *COUNTED, "--trials=10", "--log=log", "-o", "best")
    shares = re.findall(r"^(\w+), ([\w+]+): ([\d.]+) % of the network$", done.stderr, re.M)
    measured = [int(n) for n in re.findall(r"^(\d+) schedules measured in", done.stderr, re.M)]
    by_auto, output = counts("convolutions.onnx")
    expect("shares", [float(share[2]) for share in shares] == [round(100 * n / sum(by_auto), 1) for n in sorted(by_auto, reverse=True)[:len(shares)]],
           f"{done.stderr} {by_auto}")
    expect("trials", 2 <= len(measured) <= 4 and sum(measured) == 10 and min(measured) >= 2 and measured == sorted(measured, reverse=True), done.stderr)
    expect("-o", not done.stdout and read("best").startswith("# uk tune: convolutions for aarch64-neon, 1 thread: layers one by one "), read("best"))
    tuned, again = counts("convolutions.onnx", "--schedule=best")
    told = re.search(r"the sum over the layers is (\d+) instructions instead of (\d+) instructions, ([\d.]+) x as fast", done.stderr)
    expect("the sum", told and int(told[2]) == sum(by_auto) and sum(tuned) < sum(by_auto) and abs(int(told[1]) - sum(tuned)) < 0.02 * sum(by_auto), f"{told} {tuned}")
    expect("outputs", all(abs(x - y) < 1e-5 for x, y in zip(output, again)), f"{output} {again}")
    texts = programs("convolutions.onnx")
    keys = {key_of(text): name for name, text in texts.items()}
    found = dict(re.findall(r"^layer (\w+) # (\w+), ", read("best"), re.M))
    expect("keys", found and all(keys.get(key) == name for key, name in found.items()), f"{found} {keys}")
    expect("other verbs", read("best").split("\n")[2] in call("compile", "convolutions.onnx", "--emit=program", "--schedule=best").stdout)
    for words in (["explain", *COUNTED], ["compile", *COUNTED, "-o", "net.o"]):
        call(words[0], "convolutions.onnx", *words[1:], "--schedule=best")


def check_log():
    """Known trials are not measured again, and given schedules of layers that are not searched are kept."""
    before = len(trials("log"))
    key = key_of(programs("convolutions.onnx")["convolutions_layer_1"])
    write("given", read("best") + ("" if key in read("best") else f"layer {key} # convolutions_layer_1, Conv+Relu: 1.100 x the speed of auto\n"))
    done = call("tune", "convolutions.onnx", *COUNTED, "--trials=2", "--log=log", "--schedule=given", "-o", "more")
    expect("going on", re.search(r"^log has \d+ trials of this program and these sizes, and \d+ of others$", done.stderr, re.M), done.stderr)
    schedules = [(t["key"], t["schedule"]) for t in trials("log")]
    expect("measured twice", len(schedules) > before and len(set(schedules)) == len(schedules), schedules)
    sections = [re.findall(r"^layer .*\n(?:(?!layer).*\n)*", read(name), re.M) for name in ("given", "more")]
    expect("the best of the log", float(re.search(r": ([\d.]+) x", sections[1][0])[1]) >= float(re.search(r": ([\d.]+) x", sections[0][0])[1]), sections)
    expect("as given", len(sections[0]) > 1 and sections[1][1:] == [re.sub(r": [\d.]+ x the speed of auto", ": as given", section) for section in sections[0][1:]], sections)


def check_equal():
    """Layers with equal text are one program, with the weight of both."""
    done = call("tune", "twice.onnx", *COUNTED, "--trials=2", "--name=for", "-o", "two")  # a prefix, but no name of a program
    expect("calls", re.search(r"^4 layers in 3 tensor programs: \d+ instructions, .*\nfor_layer_1, Conv: [\d.]+ % of the network in 2 calls$", done.stderr, re.M), done.stderr)


def check_refused():
    texts = programs("convolutions.onnx")
    key = key_of(texts["convolutions_layer_0"])
    files = {"garbage": ("# a comment\nsplit a 3 -> b c\n", r"garbage:2: expected 'layer'"), "twice": (f"layer {key}\nlayer {key}\n", r"twice:2: layer '\w+' already has a schedule"),
             "others": ("layer 0123456789abcdef\n", "others: none of its 1 schedules"), "word": (f"\n\nlayer {key} # one\n  foo\n", "word:4:3: .*foo")}
    for name, (text, message) in files.items():
        write(name, text)
        done = call("compile", "convolutions.onnx", "--emit=layers", f"--schedule={name}", status=1)
        expect(name, not done.stdout and done.stderr.count("\n") == 1 and re.search(message, done.stderr), done.stderr)
    write("some", f"layer {key}\n  unroll t0.r1\nlayer 0123456789abcdef\n  foo\n")
    done = call("compile", "convolutions.onnx", "--emit=layers", "--schedule=some")
    expect("a note", done.stderr.startswith("note: 1 schedule of some matches no layer of convolutions.onnx\n"), done.stderr)
    done = call("tune", "convolutions.onnx", "--threads=1", "--trials=1", "-o", "none", status=1)
    expect("too little", "the first run leaves too little time for a search" in done.stderr and not os.path.exists("none"), done.stderr)
    write("empty", "# nothing\n")
    expect("empty", call("compile", "convolutions.onnx", "--emit=layers", "--schedule=empty").stderr == "")
    for step in ("parallel t0.r0", "unroll t0.none"):
        write("refused", f"# one\n\nlayer {key}\n  {step}\n")
        done = call("compile", "convolutions.onnx", "-o", "net.o", "--schedule=refused", status=1)
        expect(step, re.search(r"refused:4:\d+: .*t0", done.stderr) and not os.path.exists("net.o"), done.stderr)


def wait_until(happened, process):
    for _ in range(5000):  # a guard against hangs
        if happened() or process.poll() is not None:
            return
        time.sleep(0.05)


def check_signals():
    """After the first trials, the best schedules so far are written."""
    with subprocess.Popen([uk, "tune", "convolutions.onnx", "--threads=1", "--trials=100000", "--log=stop", "-o", "stopped"], stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: os.path.exists("stop") and len(read("stop").splitlines()) >= 3, process)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    expect("SIGINT", process.returncode == 1 and "interrupted: stopped has the best schedules so far; the same command resumes from the log" in said, said)
    done = call("run", "convolutions.onnx", "--threads=1", "--schedule=stopped", "--check")
    expect("the best so far", re.search("^check: ", done.stdout, re.M), done.stdout)


def check_early_signal():
    """Before the first search nothing is written, and nothing is left."""
    os.mkdir("runs")
    with subprocess.Popen([uk, "tune", "convolutions.onnx", *COUNTED, "-o", "early"], stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": os.getcwd() + "/runs"}) as process:
        wait_until(lambda: any(os.path.exists(f"runs/{folder}/runner.c") for folder in os.listdir("runs")), process)
        process.send_signal(signal.SIGTERM)
        said = process.communicate()[1]
    expect("SIGTERM", process.returncode == 1 and "interrupted before the search began: nothing is written" in said and not os.path.exists("early"), said)
    expect("left", not os.listdir("runs"), os.listdir("runs"))


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    write("convolutions.onnx", small_networks.convolutions())
    write("twice.onnx", twice())
    check_refused()
    if shutil.which("qemu-aarch64"):
        check_search()
        check_signals()
        if which == "all":
            check_log()
            check_equal()
            check_early_signal()
    else:
        print("tuning of networks: skipped, qemu-aarch64 is not installed; ./uk-setup test installs it")
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(bool(failures))
