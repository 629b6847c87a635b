# SPDX-License-Identifier: Apache-2.0
"""Checks that the tests of matrix products detect errors in the driver: each mutant is one error in a copy of a source of
ukernels/, compiled and linked before the archive, and the named test must fail.

    gemm_mutants.py SOURCE_TREE BUILD_FOLDER [WORD]: all, or those whose description has the word
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ELEMENT = ["gemm/f32.c", "gemm/f64.c"]
# Per mutant: description; file; text and its replacement; sources to compile; program, test and environment.
MUTANTS = [
    ("inner products: a later block of k overwrites C", "gemm/element.h", "p || (direct && o->beta != 0), m, n",
     "direct && o->beta != 0, m, n", ELEMENT, "gemm", "same_bits"),
    ("inner products: the blocks of k are cut one element short", "gemm/element.h",
     "f(d->k - p < d->k_block ? d->k - p : d->k_block, a + p", "f(d->k - p < d->k_block ? d->k - p : d->k_block - 1, a + p",
     ELEMENT, "gemm", "same_bits"),
    ("tiles pack the next panel: as many rows as a full one has", "gemm/tiles_run.c",
     ".parts = uk_min(plan->way.rows, w->i0 + w->m - after)", ".parts = plan->way.rows", ["gemm/tiles_run.c"], "gemm_places",
     "tiles_pack_the_next_panel"),
    ("tiles pack the next panel: a last row has another beside it", "gemm/element.h",
     "next->parts > 1 ? next->stride : 0", "next->stride", ELEMENT, "gemm_places", "tiles_pack_the_next_panel"),
    ("alpha = 0: a transposed C is scaled as if it were not", "gemm/paths.c",
     "p->type->scale(p->n, p->m, o->c", "p->type->scale(p->m, p->n, o->c",
     ["gemm/paths.c"], "gemm", "nothing_outside_is_touched"),
    ("batches: a stride that goes down goes up", "gemm/batch.c", "(const char *)base + i * stride * size",
     "(const char *)base + i * (stride < 0 ? -stride : stride) * size", ["gemm/batch.c"], "gemm_places",
     "batches_go_down_and_far"),
    ("batches: strides of 32 bits", "gemm/batch.c", "(const char *)base + i * stride * size",
     "(const char *)base + (int32_t)(i * stride * size)", ["gemm/batch.c"], "gemm_places", "batches_go_down_and_far"),
    ("batches: the workspaces of two threads overlap", "gemm/batch.c", "t->slice = lines * GEMM_LINE",
     "t->slice = lines * (GEMM_LINE / 2)", ["gemm/batch.c"], "gemm_places", "batches_go_down_and_far"),
    ("vectors: each thread takes the first columns' bias", "gemm/element.h", "o->epilogue, 0, i);",
     "o->epilogue, 0, 0);", ELEMENT, "gemm", "epilogues"),
    ("vectors: each thread takes the first rows' bias", "gemm/element.h", "o->epilogue, i, 0);",
     "o->epilogue, 0, 0);", ELEMENT, "gemm", "epilogues"),
    ("packed B of a vector: rows are apart as in B", "gemm/vector.c", "v.stride = uk_gemm_leading(is_along ? v.k : v.count, t->size);",
     "v.stride = is_along ? v.k : v.count;", ["gemm/vector.c"], "gemm", "same_bits"),
    ("packed panels of A: as long as a block of k", "gemm/tiles_run.c", "x->copy = uk_gemm_packed(plan, side);",
     "x->copy = uk_gemm_block(plan, side);", ["gemm/tiles_run.c"], "gemm", "same_bits"),
    ("tiles: offsets of 32 bits", "view/view.h", "uk_lattice_at(m, line, k) * uk_element_bytes(m->element);",
     "(int32_t)(uk_lattice_at(m, line, k) * uk_element_bytes(m->element));", ["gemm/tiles_run.c"], "gemm_places",
     "offsets_need_more_than_32_bits"),
    ("vectors: offsets of 32 bits", "gemm/element.h", "o->b : o->a) + i * (v->is_along ? v->stride : 1);",
     "o->b : o->a) + (int32_t)((uint64_t)i * sizeof(ELEMENT) * (uint64_t)(v->is_along ? v->stride : 1)) / (int)sizeof(ELEMENT);",
     ELEMENT, "gemm_places", "offsets_need_more_than_32_bits"),
    ("vectors: offsets of results of 32 bits", "gemm/element.h", "return (ELEMENT *)o->c + i * v->y_step;",
     "return (ELEMENT *)o->c + (int32_t)((uint64_t)i * sizeof(ELEMENT) * (uint64_t)v->y_step) / (int)sizeof(ELEMENT);",
     ELEMENT, "gemm_places", "offsets_need_more_than_32_bits"),
    ("tiles that pack B: panels are as long as the last block of k", "gemm/tiles_run.c", "gemm_padded(plan->way.kc, plan->way.tile->kr)",
     "gemm_padded(w->k, plan->way.tile->kr)", ["gemm/tiles_run.c"], "gemm", "large"),
    ("the first rows' copy: in the place of the other panels", "gemm/tiles_run.c", "a ? a + plan->a_padding * size : NULL", "a",
     ["gemm/tiles_run.c"], "gemm_places", "tiles_pack_the_next_panel"),
    ("C: offsets of 32 bits", "gemm/types.h", "return (char *)c + index * gemm_c_bytes(p);",
     "return (char *)c + (int32_t)(index * gemm_c_bytes(p));", ["gemm/tiles_run.c"], "gemm_places",
     "offsets_need_more_than_32_bits"),
    ("kept memory: a block is given that is 64 bytes short", "runtime/memory.c", "b->size >= size", "b->size + 64 >= size",
     ["runtime/memory.c"], "gemm_places", "blocks_are_large_enough"),
    ("inner products: the bias of the first column for all", "gemm/element.h", "o->epilogue, i, j);",
     "o->epilogue, i, 0);", ELEMENT, "gemm", "epilogues"),
    ("tiles: the epilogue in every block of k", "gemm/tiles_run.c", "w->p + w->k == plan->product.k ? o->epilogue : NULL",
     "o->epilogue", ["gemm/tiles_run.c"], "gemm", "epilogues"),
    ("tiles: beta in every block of k", "gemm/tiles_run.c", ".beta = w->p ? 1 : o->beta,", ".beta = o->beta,", ["gemm/tiles_run.c"],
     "gemm", "large"),
    ("low precision: a group of terms is read past the end of a row", "gemm/low/plan.c",
     "t->kernel[GEMM_RA]->any_k || p->k % t->kr == 0", "true", ["gemm/low/plan.c"], "bytes", "sizes_around_tiles", ("UK_ISA", "generic")),
    ("low precision: the last group of a panel is as long as others", "gemm/low/pack.c", "uk_min(k - p, kr)", "kr", ["gemm/low/pack.c"],
     "bytes", "sizes_around_tiles"),
    ("low precision: rows are not filled up with 0", "gemm/low/pack.c", "memset(d + k * t->size, 0,", "memset(d + k * t->size, 255,",
     ["gemm/low/pack.c"], "halves", "exact_on_integers", ("UK_ISA", "generic")),
    ("zero points: k times both is left out", "gemm/low/quantize.c", "at(s->row_sums, i) - k * left", "at(s->row_sums, i)",
     ["gemm/low/quantize.c"], "quantized", "small_products"),
    ("zero points: sums of columns leave 16 bits", "gemm/low/sums.c", "INT16_MAX / UINT8_MAX", "INT16_MAX", ["gemm/low/sums.c"], "quantized",
     "large_products"),
    ("zero points: packed sums begin with the task's row", "gemm/tiles_run.c", "*from = 0;", "*from = begin;", ["gemm/tiles_run.c"],
     "quantized", "large_products"),
    ("zero points: those of a column-major C stay with the operand", "gemm/product.h", ".left_step = q->right_step,",
     ".left_step = q->left_step,", ["gemm/gemm.c"], "quantized", "small_products"),
    ("low precision: k in blocks, whose sums C cannot hold", "gemm/plan.c", ".whole = !gemm_sums_in_c(p) || p->type->sum == UK_C_F16",
     ".whole = false", ["gemm/plan.c"], "quantized", "large_products"),
    ("bf16 and f16: the first columns' bias for all", "gemm/low/types.c", "columns ? columns + column : NULL", "columns", ["gemm/low/types.c"],
     "halves", "exact_on_integers"),
]


def compile_command(build, source):
    """The library's compile command for the source, from meson, without its output files."""
    for unit in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if unit["file"].endswith("/ukernels/" + source) and "ukernels/libukernels" in unit["output"]:
            words = shlex.split(unit["command"])
            for option in ("-MF", "-MQ", "-o"):
                at = words.index(option)
                del words[at : at + 2]
            return [word for word in words if word not in ("-MD", "-c", unit["file"])]
    sys.exit(f"no command compiles ukernels/{source} in {build}")


def mutate(source, build, folder, mutant):
    """Builds the program with the mutant; exits if that fails."""
    what, file, old, new, units, program = mutant[:6]
    text = (source / "ukernels" / file).read_text(encoding="utf-8")
    if text.count(old) != 1:
        sys.exit(f"{what}: ukernels/{file} has {text.count(old)} times '{old}', not once; bring the mutant up to date")
    for name in [file, *units]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for header in (source / "ukernels" / file).parent.glob("*.h"):  # a header finds others in its own folder first
        shutil.copy(header, (folder / file).parent)
    for unit in units:
        (folder / unit).write_text((source / "ukernels" / unit).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    objects = []
    for unit in units:
        objects.append(str(folder / unit) + ".o")
        command = compile_command(build, unit)
        first = next(i for i, word in enumerate(command) if word.startswith("-I"))
        command.insert(first, f"-I{folder}")
        subprocess.run([*command, "-w", f"-I{(source / 'ukernels' / unit).parent}", "-c", str(folder / unit), "-o", objects[-1]], cwd=build, check=True)
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", f"tests/gemm/{program}"], check=True, capture_output=True,
                              text=True).stdout
    link = shlex.split(commands.strip().split("\n")[-1])
    at = link.index("-o")
    mutated = folder / (program + ".mutated")
    link[at + 1] = str(mutated)
    subprocess.run(link[: at + 2] + objects + link[at + 2 :], cwd=build, check=True)
    return mutated


source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
word = sys.argv[3] if len(sys.argv) > 3 else ""
missed = 0
for mutant in MUTANTS:
    if word not in mutant[0]:
        continue
    with tempfile.TemporaryDirectory() as folder:
        program = mutate(source, build, pathlib.Path(folder), mutant)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "ukernels"), **dict([mutant[7]] if len(mutant) > 7 else [])}
        run = subprocess.run([program, mutant[6]], env=environment, capture_output=True, text=True, check=False)
    if "Running 1 test(s)" not in run.stdout + run.stderr:
        sys.exit(f"{mutant[5]} has no test {mutant[6]}")
    if "SKIPPED" in run.stdout + run.stderr:
        print(f"gemm_mutants: skipped, {mutant[0]}: {mutant[6]} tests nothing on this CPU", flush=True)
        continue
    caught = run.returncode != 0
    missed += not caught
    print(f"{'caught' if caught else 'MISSED'}: {mutant[0]} ({mutant[5]} {mutant[6]})", flush=True)
print(f"{missed} missed")
sys.exit(missed != 0)
