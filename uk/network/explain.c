/* SPDX-License-Identifier: Apache-2.0 */
/* uk explain of a network: for each layer its kernel, or why it has none, its layout, location and work. */
#include <inttypes.h>
#include <string.h>
#include "gpu_run.h"
#include "network.h"
#include "operands/shape.h"

/* ---- the explanation of a layer's program by uk_explain ---- */

/* True for lines about rejected candidates; --all prints them all. */
static bool is_candidate(const char *line) {
    return !strncmp(line, "  ", 2) && strncmp(line, "  taken", 7) != 0;
}

static void print_line(const char *line, size_t length) {
    printf("    %.*s\n", (int)length, line);
}

/* Prints a stage's first candidate, the closest one, only if the stage has no kernel; omits the others. */
static void print_brief(const char *text) {
    const char *nearest = NULL;
    bool settled = false;

    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        if (is_candidate(text)) {
            nearest = nearest || settled ? nearest : text;
            continue;
        }
        settled = !strncmp(text, "  taken", 7);
        if (nearest && !settled)
            print_line(nearest, strcspn(nearest, "\n"));
        nearest = NULL;
        print_line(text, n);
    }
    if (nearest)
        print_line(nearest, strcspn(nearest, "\n"));
}

static int explain(const struct uk_net_job *j, struct uk_context *c, const struct uk_network_layer *l) {
    struct uk_program *p = NULL;
    const char *program = uk_gpu_kind_of(j->arguments->target) ? l->plain_text : l->text;
    char file[300], *text = NULL;

    snprintf(file, sizeof file, "%s.uk", l->function);
    const bool failed =
        uk_program_parse(c, file, program, strlen(program), &p) ||
        (l->schedule && uk_program_schedule(p, j->arguments->schedule, l->schedule, strlen(l->schedule))) ||
        uk_explain(p, &j->options, &text);
    if (failed)
        fprintf(stderr, "%s\n", uk_context_message(c));
    else if (j->arguments->all)
        printf("%s", text);
    else
        print_brief(text);
    if (!failed && uk_gpu_core(j->arguments->target))
        uk_peak_explain(p, &uk_gpu_core(j->arguments->target)->device, "    ");
    uk_text_free(text);
    uk_program_destroy(p);
    return failed ? UK_EXIT_WRONG : UK_EXIT_OK;
}

/* ---- layers ---- */

static int same_function(const struct uk_net_job *j, int layer) {
    int i = 0;

    while (strcmp(uk_network_layer(j->network, i)->function, uk_network_layer(j->network, layer)->function) !=
           0)
        i++;
    return i;
}

static void print_layer(const struct uk_network_layer *l, int layer) {
    struct uk_network_tensor stored = l->output;

    for (int i = 0; i < stored.rank; i++)
        stored.shape[i] = l->output.shape[l->order[i]];
    printf("layer %d: %s %s\n    %s %s, in memory ", layer, l->operators, l->name,
           uk_type_name(l->output.type), uk_net_shape(&l->output));
    if (memcmp(stored.shape, l->output.shape, sizeof stored.shape) != 0)
        printf("as %s, ", uk_net_shape(&stored));
    printf("%zu bytes at %zu", l->output.bytes, l->offset);
    if (l->multiply_adds > 0)
        printf(", %.4g M multiply-adds", 1e-6 * l->multiply_adds);
    if (l->trips > 1)
        printf(", %" PRId64 " times", l->trips);
    else if (l->trips < 0)
        printf(", as often as data decide");
    printf("\n");
}

/* True for layers that only move elements. */
static bool is_copy(const struct uk_network_layer *l) {
    return !strcmp(l->operators, "Copy");
}

static int explain_layers(const struct uk_net_job *j, struct uk_context *c) {
    const struct uk_network_layer *l;
    int status = UK_EXIT_OK, copies = 0, functions = 0;
    size_t copied = 0;

    for (int i = 0; (l = uk_network_layer(j->network, i)) && !status; i++) {
        const int same = same_function(j, i);
        print_layer(l, i);
        if (is_copy(l)) {
            printf("    a copy into row-major order, which a later layer or the network's output needs\n");
            copies++;
            copied += l->output.bytes;
        }
        if (same < i) {
            printf("    the same function as layer %d\n", same);
            continue;
        }
        functions++;
        status = explain(j, c, l);
    }
    if (!status)
        printf("%s: %d layers in %d functions, %.4g M multiply-adds; %d cop%s of %zu bytes; activation "
               "memory: at least %zu bytes\n",
               uk_network_name(j->network), uk_net_layers(j), functions, 1e-6 * uk_net_multiply_adds(j),
               copies, copies == 1 ? "y" : "ies", copied, uk_network_memory_bound(j->network));
    return status;
}

int uk_explain_network(const struct uk_arguments *a) {
    struct uk_net_job j;
    int status = uk_net_begin(&j, a);
    struct uk_context *c = status ? NULL : uk_context_create();

    if (!status && !c)
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    if (!status)
        status = explain_layers(&j, c);
    uk_context_destroy(c);
    uk_net_end(&j);
    return status;
}
