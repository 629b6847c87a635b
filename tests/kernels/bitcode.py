# SPDX-License-Identifier: Apache-2.0
"""Checks what importers of the bitcode rely on: kernels.json, and each file that it names.

    bitcode.py LLVM_BIN FOLDER some|all|CHECKED: FOLDER holds kernels.json and the files, under the paths it gives or flat.

`some` compiles callers of the first kernel of each declaration, instruction set and implementation, `all` of every
kernel. With CHECKED, a folder that was checked before, FOLDER is a copy whose files are only compared with it.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "ukernels" / "machine"))
import archs  # noqa: E402

llvm, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
which = sys.argv[3]
checked = None if which in ("some", "all") else pathlib.Path(which)
failures = []

C_TYPES = {"int64_t": "i64", "int32_t": "i32", "float": "float", "double": "double"}
BLOCKS_INLINING = {"noinline", "optnone", "naked", "optsize", "minsize", "returns_twice", "strictfp"}
TYPES = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"}
# Per architecture: the CPU of its last target.
OTHER_CPU = {name: arch["cpus"][-1] for name, arch in archs.architectures().items()}
# AMD's numbers of address spaces.
LLVM_SPACES = {"global": 1, "shared": 3, "private": 5}
FIELDS = {
    "symbol": str, "op": str, "mr": int, "nr": int, "kr": int, "arch": str, "isa": str, "impl": str, "features": list, "cores": str, "edges": str,
    "prototype": str, "arguments": list, "operands": list, "bitcode": str, "llvm": str, "declaration": str,
}


def run(tool, *arguments, **options):
    return subprocess.run([llvm / tool, *arguments], check=True, capture_output=True, **options).stdout


def find(row, path, folder=folder):
    """The file's path in an installation, else in a build; None: it is in neither."""
    places = [folder / path, folder / f"{row['arch']}.{pathlib.Path(path).name}"]
    return next((place for place in places if place.is_file()), None)


def llvm_types(row):
    """Yields the LLVM types of the arguments; pointers are the operands, in order."""
    spaces = iter(operand.get("space") for operand in row["operands"])
    for argument in row["arguments"]:
        if "*" in argument:
            space = next(spaces, None)
            yield f"ptr addrspace({LLVM_SPACES[space]})" if space else "ptr"
        else:
            yield C_TYPES.get(re.sub(r"\bconst\b", "", argument).split()[0])


def check_row(row):
    """Checks the row by itself; yields errors."""
    for field, kind in FIELDS.items():
        if not isinstance(row.get(field), kind):
            yield f"{field} is missing or of another type"
            return
    name = f"uk_{row['op']}_{row['mr']}x{row['nr']}_{row['isa']}_{row['impl']}"
    if row["bitcode"] != f"{row['arch']}-{row['isa']}/{name}.bc":
        yield f"its bitcode is {row['bitcode']}"
    if row["symbol"] != name:
        yield f"its name would be {name}"
    if row["prototype"] != f"void {name}({', '.join(row['arguments'])})":
        yield f"the prototype {row['prototype']} is not made of its arguments"
    requires = f" requires {', '.join(row['features'])}" if row["features"] else ""
    scope = "" if row.get("scope", "thread") == "thread" else f" scope {row['scope']}"
    state = f" state {row['state']}" if "state" in row else ""
    if not row["declaration"].startswith(f"intrinsic {name}{requires}{state}{scope}\n"):
        yield f"the declaration begins with {row['declaration'].splitlines()[0]}"
    if row["edges"] not in ("any", "rows", "columns", "none"):
        yield f"edges are {row['edges']}"
    pointers = [re.sub(r".*\*", "", a) for a in row["arguments"] if "*" in a]
    if [o.get("name") for o in row["operands"]] != pointers:
        yield f"operands {row['operands']} are not the prototype's pointers {pointers}"
    for o in row["operands"]:
        if o.get("align", 0) < 1 or o["align"] & (o["align"] - 1) or "shape" not in o or o.get("type") not in TYPES:
            yield f"operand {o} is incomplete"


def check_text(row, text):
    """Checks a module's text; yields what would prevent an importer from linking or inlining it."""
    symbol = row["symbol"]
    defines = re.findall(r"^define (.*)$", text, re.M)
    attributes = dict(re.findall(r"^attributes #(\d+) = { (.*) }$", text, re.M))
    if len(defines) != 1:
        yield f"{len(defines)} functions are defined"
        return
    head = re.match(r"(.*?)void @(\w+)\((.*)\) .*#(\d+) \{$", defines[0])
    if not head or head[1] or head[2] != symbol:
        yield f"the definition is not external, void and {symbol}: {defines[0]}"
        return
    types = re.findall(r"(?:^|, )(ptr addrspace\(\d\)|\w+)", head[3])
    if types != list(llvm_types(row)):
        yield f"the types {types} are not those of {row['prototype']}"
    if "alwaysinline" not in (*defines[0].split(), *attributes[head[4]].split()):
        yield "it is not alwaysinline"
    for line in text.splitlines():
        if line.startswith("declare") and "@llvm." not in line:
            yield f"it needs {line}"
        if re.match(r"@", line) and not re.match(r"@\S+ = (private|internal) .*\bconstant\b", line):
            yield f"global data that is not constant: {line}"
        if re.match(r"@\S+ = .*\b(alias|ifunc)\b|\$|module asm|!llvm\.(ident|dbg)", line):
            yield f"not for other compilers: {line}"
        if " asm " in line and "call " in line:
            group = re.search(r"#(\d+)$", line)
            if not group or "noduplicate" not in attributes[group[1]].split():
                yield "an asm statement without noduplicate"
            constraints = re.search(r'", "([^"]*)"\(', line)[1].split(",")
            # LLVM may give an input the register of an output without early clobber. That is safe only in a single instruction.
            statement = re.search(r'asm [^"]*"([^"]*)"', line)[1]
            instructions = [t for t in re.split(r"(?:\\0A|\\09|;)+", statement) if not re.match(r"\s*(\.(balign|equ|option)\b|$)", t)]
            if "=r" in constraints and "r" in constraints and len(instructions) > 1:
                yield f"an asm statement changes a register that an input may share: {','.join(constraints)}"
    for group in attributes.values():
        if '"' in group or BLOCKS_INLINING & set(group.split()) or "vscale_range" in group:
            yield f"attributes that depend on the target or prevent inlining: {group}"
    if re.search(r'^source_filename = ".*/', text, re.M) or "srcloc" in text or "!DI" in text or str(pathlib.Path(__file__).resolve().parents[2]) in text:
        yield "it names places of the build"


def check_inlined(rows, work):
    """Inlines kernels of one CPU with the same features into callers for another CPU, which call each twice; yields
    kernels of which a call is left."""
    features, cpu = ",".join("+" + f for f in rows[0]["features"] if f not in archs.private_features()), OTHER_CPU[rows[0]["arch"]]
    paths = [find(row, row["bitcode"]) for row in rows]
    target = "\n".join(re.findall(r"^target .*$", run("llvm-dis", "-o", "-", paths[0], text=True), re.M))
    functions = []
    for row in rows:
        types = list(llvm_types(row))
        parameters = ", ".join(f"{t} %{i}" for i, t in enumerate(types))
        call = f"  call void @{row['symbol']}({parameters})\n"
        functions += [
            f"declare void @{row['symbol']}({', '.join(types)})",
            f"define void @calls_{row['symbol']}({parameters}) #0 {{\n{call}{call}  ret void\n}}",
        ]
    attributes = f'attributes #0 = {{ "target-cpu"="{cpu}" "target-features"="{features}" }}'
    caller = work / "caller.ll"
    caller.write_text("\n".join([target, *functions, attributes, ""]), encoding="utf-8")
    run("llvm-link", caller, *paths, "-o", work / "linked.bc")
    optimized = run("opt", "-S", "-passes=default<O2>", work / "linked.bc", "-o", "-", text=True)
    defined = set(re.findall(r"^define .*@(\w+)\(", optimized, re.M))
    called = {name for line in optimized.splitlines() if "call " in line for name in re.findall(r"@(\w+)\(", line)}
    for row in rows:
        if f"calls_{row['symbol']}" not in defined:
            yield row, "its caller is not there after inlining"
        if row["symbol"] in called:
            yield row, "a call is left after inlining"
    undefined = run("llvm-nm", "--undefined-only", "--format=posix", *paths, text=True)
    path = None
    for line in undefined.splitlines():
        if line.endswith(":"):
            path = line[:-1]
        elif line.strip():
            row = next((r for r, p in zip(rows, paths) if str(p) == path), rows[0])
            yield row, f"it has the undefined symbol {line.split()[0]}"


def check_files(row):
    bitcode, text = find(row, row["bitcode"]), find(row, row["llvm"])
    if not bitcode or not text:
        yield f"{row['bitcode'] if not bitcode else row['llvm']} is not there"
        return
    if checked:
        for path, field in ((bitcode, "bitcode"), (text, "llvm")):
            if path.read_bytes() != find(row, row[field], checked).read_bytes():
                yield f"{path} is not {find(row, row[field], checked)}"
        return
    if run("llvm-as", "-o", "-", text) != bitcode.read_bytes():
        yield "the .ll is not the .bc as text"
    yield from check_text(row, text.read_text(encoding="utf-8"))


def main():
    rows = json.loads((folder / "kernels.json").read_text(encoding="utf-8"))
    listed = [row["bitcode"] for row in rows]
    files = {find(row, row["bitcode"]) for row in rows}
    found = {path for path in folder.rglob("*uk_*.bc") if ".p" not in path.parts[-2]}
    if not rows or len(set(listed)) != len(listed) or files != found:
        failures.append(f"kernels.json lists {len(listed)} kernels, and there are {len(found)} files: "
                        f"{sorted(map(str, files ^ found))}")
    good, callers = {}, set()
    for row in rows:
        wrong = list(check_row(row)) or list(check_files(row))
        failures.extend(f"{row.get('arch')} {row.get('symbol')}: {w}" for w in wrong)
        # The declaration without the kernel's name, sizes and element types.
        declaration = re.sub(r"uk_\w+|\b[fiub]*\d+", "", row.get("declaration", ""))
        form = (row.get("arch"), row.get("isa"), row.get("impl"), declaration)
        if not wrong and not checked and (which == "all" or form not in callers):
            callers.add(form)
            good.setdefault((row["arch"], *row["features"]), []).append(row)
    with tempfile.TemporaryDirectory() as work:
        for alike in good.values():
            failures.extend(f"{row['arch']} {row['symbol']}: {w}" for row, w in check_inlined(alike, pathlib.Path(work)))
    print("\n".join(failures) or f"{len(rows)} kernels, each {'as it was built' if checked else 'a module that links and inlines'}")
    return 1 if failures else 0


sys.exit(main())
