/* SPDX-License-Identifier: Apache-2.0 */
/* What each public function begins with, and what it leaves behind where it fails. */
#include <stdlib.h>
#include "emit/emit.h"

const char *uk_network_message(const struct uk_network *n) {
    return n && n->graph.message ? n->graph.message : n && n->graph.status ? "out of memory" : "";
}

enum uk_status uk_network_enter(struct uk_network *n, bool needs_read) {
    if (!n)
        return UK_INVALID_ARGUMENT;
    n->graph.status = UK_OK;
    free(n->graph.message);
    n->graph.message = NULL;
    return needs_read && !n->is_read
               ? uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "no network has been read")
               : UK_OK;
}
