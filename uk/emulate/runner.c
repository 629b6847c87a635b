/* SPDX-License-Identifier: Apache-2.0 */
/* Generates main() for a compiled program, and exchanges operands with it through a file. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "operands/data.h"
#include "emulate.h"
#include "file.h"
#include "program.h"
#include "remote/remote.h"

/* ---- operands ---- */

enum { HEAD = 64 }; /* the file's head holds the function's status */

static size_t data_size(const struct uk_data *d) {
    size_t n = HEAD;

    for (int i = 0; i < d->count; i++)
        n += uk_data_room(&d->array[i]);
    return n;
}

/* Writes or reads all operands, guard bytes included; when reading, also the status. */
int uk_runner_exchange(const char *path, const struct uk_data *d, bool back, int32_t *status) {
    FILE *f = fopen(path, back ? "rb" : "wb");
    char head[HEAD] = {0};
    bool good = f && (back ? fread(head, HEAD, 1, f) : fwrite(head, HEAD, 1, f)) == 1;

    for (int i = 0; i < d->count && good; i++) {
        char *memory = d->array[i].memory;
        const size_t n = uk_data_room(&d->array[i]);

        good = (back ? fread(memory, 1, n, f) : fwrite(memory, 1, n, f)) == n;
    }
    if (f && fclose(f))
        good = false;
    if (back)
        memcpy(status, head, sizeof *status);
    return good ? UK_EXIT_OK
                : uk_complain(UK_EXIT_WRONG, "%s: cannot %s: %s", path, back ? "read" : "write",
                              strerror(errno));
}

/* ---- the runner ---- */

int uk_runner_threads(const struct uk_options *options) {
    return uk_board_in_use() && options->threads > 1 ? options->threads : 1;
}

void uk_runner_put_runtime(struct uk_text *t, int threads) {
    uk_put(t, "#define UK_THREADS %d\n%s%s", threads, uk_remote_threads[0].text,
           uk_board_in_use() ? uk_remote_timing[0].text : "");
}

static const char runner_main[] = "int main(int argc, char **argv) {\n"
                                  "    int file = argc >= 2 ? open(argv[1], O_RDWR) : -1;\n";

static void put_scalar(struct uk_text *t, enum uk_type type, double value) {
    if (type == UK_F16 || type == UK_BF16)
        uk_put(t, "0x%04x", uk_half_bits(type, value));
    else
        uk_put(t, "%a", value);
}

/* Writes the sizes as arguments; returns the separator for the next argument. */
static const char *put_sizes(struct uk_text *t, const struct uk_program *p, const int64_t *sizes) {
    const char *between = "";

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined) {
            uk_put(t, "%sINT64_C(%" PRId64 ")", between, sizes[v->number]);
            between = ", ";
        }
    return between;
}

/* Generates code that packs constant tensors into packed0 and so on. If packing fails, its status becomes
 * that of the call. */
static void put_packing(struct uk_text *t, const struct uk_program *p, const int64_t *sizes,
                        const struct uk_data *d) {
    size_t at = HEAD;

    for (int i = 0; i < d->count; at += uk_data_room(&d->array[i++])) {
        const struct uk_array *a = &d->array[i];
        const char *name = a->tensor->name;
        const int align = a->tensor->align > 64 ? a->tensor->align : 64;

        if (!a->tensor->is_constant)
            continue;
        uk_put(t, "    int64_t bytes%d = %s_packed_%s(", i, p->name, name);
        put_sizes(t, p, sizes);
        uk_put(t,
               ");\n    packed[%d] = bytes%d < 0 ? 0 : aligned_alloc(%d, ((size_t)bytes%d + %d) / %d * "
               "%d);\n"
               "    if ((*(int32_t *)(void *)base = packed[%d] ? %s_pack_%s(",
               i, i, align, i, align, align, align, i, p->name, name);
        uk_put(t, "%s(void *)(base + %zu), packed[%d]) : %d))\n        return 0;\n", put_sizes(t, p, sizes),
               at + (size_t)((char *)a->origin - a->memory), i, UK_INVALID_SIZE);
    }
}

/* Generates the call as a function, which a board can repeat. */
static void put_call(struct uk_text *t, const struct uk_program *p, const int64_t *sizes,
                     const double *scalars, const struct uk_data *d) {
    size_t at = HEAD;
    int k = 0;

    uk_put(t, "static char *base;\nstatic void *packed[%d];\nstatic int32_t call(void) {\n    return %s(",
           d->count + 1, p->name);
    const char *between = put_sizes(t, p, sizes);
    for (const struct uk_scalar *s = p->scalars; s; s = s->next, between = ", ") {
        uk_put(t, "%s", between);
        put_scalar(t, s->type, scalars[k++]);
    }
    for (int i = 0; i < d->count; i++, between = ", ") {
        const struct uk_array *a = &d->array[i];

        if (a->tensor->is_constant)
            uk_put(t, "%spacked[%d]", between, i);
        else
            uk_put(t, "%s(void *)(base + %zu)", between, at + (size_t)((char *)a->origin - a->memory));
        at += uk_data_room(a);
    }
    uk_put(t, ");\n}\n");
}

int uk_runner_write(const char *path, struct uk_job *job, const int64_t *sizes, const double *scalars,
                    const struct uk_data *d) {
    struct uk_text t = {0};
    char *header;
    size_t length;
    const enum uk_status s = uk_emit(job->program, &job->options, UK_EMIT_HEADER, &header, &length);

    if (s)
        return uk_job_failed(job, s);
    uk_runner_put_runtime(&t, uk_runner_threads(&job->options));
    uk_put(&t, "%s\n#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n",
           header);
    put_call(&t, job->program, sizes, scalars, d);
    uk_put(&t,
           "%s    base = mmap(NULL, %zuu, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);\n"
           "    if (base == MAP_FAILED) {\n        perror(\"runner: the operands\");\n        return 1;\n    "
           "}\n",
           runner_main, data_size(d));
    put_packing(&t, job->program, sizes, d);
    uk_put(&t, "    int32_t status = *(int32_t *)(void *)base = call();\n    return %s;\n}\n",
           uk_board_in_use() ? "argc > 2 && !status ? uk_timing(call, argv + 2) : 0" : "(void)status, 0");
    uk_text_free(header);
    const int status =
        t.failed ? uk_complain(UK_EXIT_WRONG, "out of memory") : uk_write_output(path, t.text, t.length);

    free(t.text);
    return status;
}
