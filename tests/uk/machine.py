# SPDX-License-Identifier: Apache-2.0
"""Tests uk machine: it prints each field of struct uk_core and struct uk_uncore for the row that UK_MACHINE
names; --measure prints a line for each of them. Arguments: uk, the source tree."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys

uk, source = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []

# Fields describe a machine: none is named after a path, an operand or a product. A new field is added here and in
# fields.c.
VECTORS = "bytes registers fma shuffle load store merge split bf16"
CACHE = "size ways latency bytes lines"
FIELDS = {
    "": "name arch cpus isa uncore issue reorder fma_latency l2_cores split serial_transfers alias store_miss hint_hides",
    "vectors.0.": VECTORS,
    "vectors.1.": VECTORS,
    "tiles.": "product load latency stored",
    "l1.": CACHE,
    "l2.": CACHE,
    "prefetch.": "streams ahead past_page",
    "tlb.": "first second latency walk page",
    "device.": "threads shared_bytes register_bytes lanes registers granule waves simds units shared_rate line memory_rate launch code f64_cycles matrix_flush",
    "device.latency.": "shared l2 memory",
    "device.fma.": "f32 f64 f16 i8",
    "device.matrix.": "f32 f64 f16 i8",
    "uncore.": "name cores latency bytes",
    "uncore.cache.": CACHE,
}
fields = {prefix + name for prefix, names in FIELDS.items() for name in names.split()}


def run(*arguments, status=0, error="", **environment):
    done = subprocess.run([uk, *arguments], capture_output=True, text=True, check=False, env={**os.environ, **environment})
    if done.returncode != status or not re.search(error, done.stderr) or bool(error) != bool(done.stderr):
        failures.append(f"uk {' '.join(arguments)}, {environment}: exit status {done.returncode}, {done.stderr!r}, not {status}, {error!r}")
    return done.stdout


def same(what, got, expected):
    if got != expected:
        failures.append(f"{what}: lacks {sorted(expected - got)}, has besides {sorted(got - expected)}")


# ---- fields in machine.h ----

header = re.sub(r"/\*.*?\*/", "", (source / "ukernels/machine/machine.h").read_text(encoding="utf-8"), flags=re.S)
widths = int(re.search(r"UK_WIDTHS = (\d+)", header)[1])


def members(body):
    """Type, or the body of an unnamed struct, and declarators of each member."""
    for inner, typename, names in re.findall(r"(?:struct \{(.*?)\}|((?:const )?\w+(?: uk_\w+)?[\s*]+?))\s*([\w\s,\[\]*]+);", body, re.S):
        for name in names.split(","):
            yield inner, typename.strip(" *"), name.strip(" *\n")


def leaves(body, prefix):
    for inner, typename, name in members(body):
        array = re.fullmatch(r"(\w+)\[UK_WIDTHS\]", name)
        for name in [f"{array[1]}.{i}" for i in range(widths)] if array else [name]:
            if inner or typename.startswith("struct ") and typename != "struct uk_ports":
                yield from leaves(inner or struct(typename[7:]), prefix + name + ".")
            else:
                yield prefix + name


def struct(name):
    return re.search(rf"^struct {name} \{{\n(.*?)^\}};", header, re.M | re.S)[1]


# The instruction sets that a core lacks are not measured.
declared = (set(leaves(struct("uk_core"), "")) - {"lacks"}) | set(leaves(struct("uk_uncore"), "uncore."))
same("fields of machine.h", declared, fields)

# ---- printed fields ----


def as_text(fact):
    value = fact["row"]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if "ports" in fact:
        return f"{value:.4g} a cycle" if fact["ports"] else "no unit"
    return value if isinstance(value, str) else f"{value:.10g}"


def check_row(name, **environment):
    facts = json.loads(run("machine", "--json", **environment))
    if facts["machine"] != name:
        failures.append(f"{environment}: the machine is {facts['machine']}, not {name}")
    same(f"fields of {name}", {fact["field"] for fact in facts["facts"]}, fields | {"cores"})
    lines = dict(re.findall(r"^(\S+) +(.*)$", run("machine", **environment), re.M))
    values = {fact["field"]: fact for fact in facts["facts"]}
    for field, fact in values.items():
        group = field.rpartition(".")[0]
        line = lines.get(field) or lines.get(group) or lines.get({"l2_cores": "l2", "reorder": "issue"}.get(field, "core"), "")
        absent = field.startswith("device.") or group.startswith("vectors.") and not values[group + ".bytes"]["row"]
        absent |= field.startswith("tiles.") and not values["tiles.product"]["ports"] or field.endswith(".bf16") and not fact["ports"]
        if ("none" if absent else as_text(fact)) not in line:
            failures.append(f"{name}: {field}, {as_text(fact)}, is not on the line {line!r}")
    return values


rows = dict(re.findall(r"^(\S+) +(.*)$", run("machine", "--list"), re.M))
own = [name for name, cpus in rows.items() if cpus.endswith("(in use)")]
arch = check_row(own[0])["arch"]["row"]
table = (source / "ukernels/machine/cores.def").read_text(encoding="utf-8")
known = re.findall(r'^UK_CORE_ROW\("([^"]+)", (\w+),', table, re.M)
same("listed rows", {(name, text.split()[0]) for name, text in rows.items()},
     {(name, of) for name, of in known if of in ("x86_64", "aarch64", "arm", "riscv64")})
for name in (name for name, of in known if of == arch):
    check_row(name, UK_MACHINE=name)
for name in ["nonsense", *(name for name, of in known if of not in (arch, "any"))]:
    run("machine", UK_MACHINE=name, status=1, error=f"^uk: error: UK_MACHINE={name} names no core of .*use one of {', '.join(row for row, of in known if of == arch)}$")
    run("machine", "--measure", UK_MACHINE=name, status=1, error=f"UK_MACHINE={name} names no core")

# ---- measured fields ----

text = run("machine", "--measure", "--seconds", "1")
same("measured lines", set(re.findall(r"^([a-z]\S*) {2}", text, re.M)) & fields, fields)
measured = json.loads(run("machine", "--measure", "--seconds=1", "--json"))
same("measured fields", {fact["field"] for fact in measured["facts"]}, fields | {"cores"})
for fact in measured["facts"]:
    if "measured" not in fact:
        if not fact.get("reason"):
            failures.append(f"{fact['field']}: neither measured nor a reason")
        continue
    if not 0 <= (math.nan if fact["measured"] is None else fact["measured"]) < math.inf:
        failures.append(f"{fact['field']} is {fact['measured']}")
for field in "l1.latency l2.latency l1.bytes l2.bytes l1.lines uncore.cache.latency uncore.cache.bytes".split():
    if not any(fact["field"] == field and fact.get("measured", 0) > 0 for fact in measured["facts"]):
        failures.append(f"{field} is not measured")
for extra in measured["extra"]:
    if not 0 <= (math.nan if extra["measured"] is None else extra["measured"]) < math.inf:
        failures.append(f"{beside['name']} is {beside['measured']}")

run("machine", "--list", "--measure", status=2, error="leave out --measure")
run("machine", "--list", "--json", status=2, error="leave out --json")
run("machine", "--seconds=3", status=2, error="--seconds needs --measure; give that, or leave it out")
run("machine", "--measure", "--seconds=61", status=2, error="from 1 to 60")

for failure in failures:
    print(failure)
print(f"{len(fields)} fields, {len(rows)} rows")
sys.exit(bool(failures) or len(fields) < 50 or not own)
