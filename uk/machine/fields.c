/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the fields of struct uk_machine: names, units, printing. */
#include "measure.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* kind: suffix of a UK_FIELD_ constant; member: of struct uk_machine. */
#define FIELD(name, line, words, unit, kind, member) \
    {name, line, words, unit, UK_FIELD_##kind, offsetof(struct uk_machine, member)}
#define PORTS(i, of, words) \
    FIELD("vectors." #i "." #of, "vectors." #i "." #of, words, "a cycle", PORTS, core.vectors[i].of)
#define VECTORS(i)                                                                                 \
    FIELD("vectors." #i ".bytes", "vectors." #i, "%s bytes", "bytes", INT, core.vectors[i].bytes), \
        FIELD("vectors." #i ".registers", "vectors." #i, "%s registers", "registers", INT,         \
              core.vectors[i].registers),                                                          \
        FIELD("vectors." #i ".split", "vectors." #i,                                               \
              "a load across two lines delays busy multiply-adds by %s cycles", "cycles", DOUBLE,  \
              core.vectors[i].split),                                                              \
        PORTS(i, fma, "%s"), PORTS(i, shuffle, "%s"), PORTS(i, load, "%s"), PORTS(i, store, "%s"), \
        PORTS(i, merge, "in addition to a load into a part of a register, %s"),                    \
        PORTS(i, bf16, "vdpbf16ps %s")
#define CACHE(name, member)                                                                \
    FIELD(name ".size", name, "%s bytes", "bytes", INT64, member.size),                    \
        FIELD(name ".ways", name, "%s ways", "ways", INT, member.ways),                    \
        FIELD(name ".latency", name, "%s cycles", "cycles", DOUBLE, member.latency),       \
        FIELD(name ".bytes", name, "%s bytes/cycle", "bytes/cycle", DOUBLE, member.bytes), \
        FIELD(name ".lines", name, "%s lines in flight", "lines", INT, member.lines)
#define DEVICE(of, words, kind) FIELD("device." #of, "device", words, "", kind, core.device.of)
#define PART(part, of, words) \
    FIELD("device." #part "." #of, "device." #part, words, "", INT, core.device.part.of)

const struct uk_field uk_fields[] = {
    FIELD("name", "core", "%s (UK_MACHINE takes another)", "", TEXT, core.name),
    FIELD("arch", "core", "%s", "", ARCH, core.arch),
    FIELD("cpus", "core", "CPUs %s", "", TEXT, core.cpus),
    FIELD("isa", "core", "with %s", "", TEXT, core.isa),
    FIELD("uncore", "core", "usually before %s", "", TEXT, core.uncore),
    FIELD("issue", "issue", "%s instructions a cycle", "a cycle", DOUBLE, core.issue),
    FIELD("reorder", "issue", "%s instructions in flight", "instructions", INT, core.reorder),
    FIELD("fma_latency", "fma_latency", "%s cycles", "cycles", INT, core.fma_latency),
    VECTORS(0),
    VECTORS(1),
    FIELD("tiles.product", "tiles", "%s products", "a cycle", PORTS, core.tiles.product),
    FIELD("tiles.load", "tiles", "%s loads", "a cycle", PORTS, core.tiles.load),
    FIELD("tiles.latency", "tiles", "%s cycles between products in one sum", "cycles", INT,
          core.tiles.latency),
    FIELD("tiles.stored", "tiles", "%s cycles to load a tile that was just stored", "cycles", INT,
          core.tiles.stored),
    CACHE("l1", core.l1),
    CACHE("l2", core.l2),
    FIELD("l2_cores", "l2", "of %s cores", "cores", INT, core.l2_cores),
    FIELD("prefetch.streams", "prefetch", "%s streams", "streams", INT, core.prefetch.streams),
    FIELD("prefetch.ahead", "prefetch", "%s bytes ahead", "bytes", INT64, core.prefetch.ahead),
    FIELD("prefetch.past_page", "prefetch", "past the page's end: %s", "", BOOL, core.prefetch.past_page),
    FIELD("serial_transfers", "serial_transfers",
          "transfers between caches one at a time, and none while loads read L1: %s", "", BOOL,
          core.serial_transfers),
    FIELD("split", "split", "%s cycles more for a load across two lines", "cycles", DOUBLE, core.split),
    FIELD("alias", "alias", "%s cycles for a load after a store a multiple of 4 KB away", "cycles", DOUBLE,
          core.alias),
    FIELD("store_miss", "store_miss", "%s cycles for a store to a line from the last cache", "cycles", DOUBLE,
          core.store_miss),
    FIELD("hint_hides", "hint_hides", "%s of transfers from beyond L2 hidden by prefetching the next panel",
          "", DOUBLE, core.hint_hides),
    FIELD("tlb.first", "tlb", "%s entries", "entries", INT, core.tlb.first),
    FIELD("tlb.second", "tlb", "%s in the second level", "entries", INT, core.tlb.second),
    FIELD("tlb.latency", "tlb", "%s cycles from there", "cycles", DOUBLE, core.tlb.latency),
    FIELD("tlb.walk", "tlb", "a walk %s cycles", "cycles", DOUBLE, core.tlb.walk),
    FIELD("tlb.page", "tlb", "pages of %s bytes", "bytes", INT64, core.tlb.page),
    DEVICE(threads, "%s threads of a block", INT),
    DEVICE(shared_bytes, "%s bytes shared", INT64),
    DEVICE(register_bytes, "%s bytes of a thread's buffers", INT64),
    DEVICE(lanes, "%s lanes", INT),
    DEVICE(registers, "%s registers", INT),
    DEVICE(granule, "in units of %s", INT),
    DEVICE(waves, "%s waves", INT),
    DEVICE(simds, "%s SIMDs", INT),
    DEVICE(units, "%s compute units", INT),
    DEVICE(shared_rate, "shared memory %s bytes a cycle", DOUBLE),
    DEVICE(line, "lines of %s bytes", INT),
    DEVICE(memory_rate, "memory %s bytes a cycle", DOUBLE),
    DEVICE(launch, "%s cycles between launches", INT),
    DEVICE(code, "%s bytes of instruction cache", INT),
    DEVICE(f64_cycles, "%s cycles of an f64 instruction", INT),
    DEVICE(matrix_flush, "matrix instructions of f16 take subnormal numbers as 0: %s", BOOL),
    PART(latency, shared, "%s cycles from shared memory"),
    PART(latency, l2, "%s from L2"),
    PART(latency, memory, "%s from memory"),
    PART(fma, f32, "%s multiply-adds of f32 a cycle"),
    PART(fma, f64, "%s of f64"),
    PART(fma, f16, "%s of f16"),
    PART(fma, i8, "%s of i8"),
    PART(matrix, f32, "of matrix units %s of f32"),
    PART(matrix, f64, "%s of f64"),
    PART(matrix, f16, "%s of f16"),
    PART(matrix, i8, "%s of i8"),
    FIELD("uncore.name", "uncore", "%s", "", TEXT, uncore.name),
    FIELD("uncore.cores", "uncore", "of %s cores", "cores", INT, uncore.cores),
    FIELD("uncore.latency", "uncore", "memory %s cycles away", "cycles", DOUBLE, uncore.latency),
    FIELD("uncore.bytes", "uncore", "%s bytes/cycle from there", "bytes/cycle", DOUBLE, uncore.bytes),
    CACHE("uncore.cache", uncore.cache),
    FIELD("cores", "cores", "%s cores", "cores", INT, cores),
    {0},
};

static const void *place(const struct uk_machine *m, const struct uk_field *f) {
    return (const char *)m + f->offset;
}

double uk_field_value(const struct uk_machine *m, const struct uk_field *f) {
    const void *p = place(m, f);

    switch (f->kind) {
    case UK_FIELD_INT:
        return *(const int *)p;
    case UK_FIELD_INT64:
        return (double)*(const int64_t *)p;
    case UK_FIELD_DOUBLE:
        return *(const double *)p;
    case UK_FIELD_BOOL:
        return *(const bool *)p;
    case UK_FIELD_PORTS:
        return uk_ports_rate(p);
    case UK_FIELD_TEXT:
    case UK_FIELD_ARCH:
        break;
    }
    return 0;
}

static void print_ports(const struct uk_ports *p, char *text, size_t size) {
    int n = 0;

    if (!p->ports) {
        snprintf(text, size, "no unit");
        return;
    }
    n = snprintf(text, size, "%.4g a cycle, on", uk_ports_rate(p));
    for (int i = 0; i < 32; i++)
        if (p->ports >> i & 1 && n < (int)size)
            n += snprintf(text + n, size - (size_t)n, " p%d", i);
}

const char *uk_arch_name(int arch) {
    static const char *const names[] = {
#define UK_ARCH_ROW(name, ...) #name,
#include "machine/archs.def"
    };
    return arch >= 0 && arch < (int)(sizeof names / sizeof *names) ? names[arch] : "any";
}

const char *uk_field_text(const struct uk_machine *m, const struct uk_field *f, char *text, size_t size) {
    const void *p = place(m, f);
    const char *word = f->kind == UK_FIELD_TEXT ? *(const char *const *)p : NULL;

    switch (f->kind) {
    case UK_FIELD_TEXT:
        snprintf(text, size, "%s", word && *word ? word : "none");
        break;
    case UK_FIELD_ARCH:
        snprintf(text, size, "%s", uk_arch_name(*(const int *)p));
        break;
    case UK_FIELD_BOOL:
        snprintf(text, size, "%s", *(const bool *)p ? "yes" : "no");
        break;
    case UK_FIELD_PORTS:
        print_ports(p, text, size);
        break;
    case UK_FIELD_INT64:
        snprintf(text, size, "%" PRId64, *(const int64_t *)p);
        break;
    case UK_FIELD_INT:
    case UK_FIELD_DOUBLE:
        snprintf(text, size, "%.10g", uk_field_value(m, f));
        break;
    }
    return text;
}

bool uk_field_is_absent(const struct uk_machine *m, const struct uk_field *f) {
    if (!strncmp(f->name, "vectors.", 8))
        return !m->core.vectors[f->name[8] - '0'].bytes ||
               (!strcmp(f->name + 10, "bf16") && !m->core.vectors[f->name[8] - '0'].bf16.ports);
    if (!strncmp(f->name, "tiles.", 6))
        return !m->core.tiles.product.ports;
    if (!strncmp(f->name, "device.", 7))
        return !m->core.device.threads;
    if (!strncmp(f->name, "uncore.cache.", 13))
        return !m->uncore.cache.size;
    return false;
}
