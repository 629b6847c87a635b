/* SPDX-License-Identifier: Apache-2.0 */
/* Begins public functions, which clears the message of the last failure, and returns that message. */
#include <stdlib.h>
#include "emit/emit.h"

const char *uk_network_message(const struct uk_network *n) {
    return n && n->graph.message ? n->graph.message : n && n->graph.status ? "out of memory" : "";
}

const char *uk_network_progress(const struct uk_network *n, int *layer) {
    static const char *const words[] = {[UK_PROGRESS_SCHEDULE] = "scheduling",
                                        [UK_PROGRESS_COMPILE] = "compiling",
                                        [UK_PROGRESS_JOIN] = "joining"};
    const int stage = n ? atomic_load(&n->context->progress.stage) : UK_PROGRESS_NONE;
    const int function = stage ? atomic_load(&n->context->progress.item) : 0;
    int i = 0;

    if (stage == UK_PROGRESS_NONE || stage == UK_PROGRESS_JOIN)
        i = -1;
    for (const struct uk_layer *l = n ? n->plan.layers : NULL; i >= 0 && l && l->function->number != function;
         l = l->next)
        i = l->next ? i + 1 : -1; /* a second program of some function */
    if (layer)
        *layer = i;
    return words[stage];
}

enum uk_status uk_network_enter(struct uk_network *n, bool needs_read) {
    if (!n)
        return UK_INVALID_ARGUMENT;
    n->graph.status = UK_OK;
    free(n->graph.message);
    n->graph.message = NULL;
    return needs_read && !n->is_read
               ? uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL,
                               "no network has been read; call uk_network_read_file() first")
               : UK_OK;
}
