/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of tensors for the API. */
#include <string.h>
#include "emit/emit.h"

void uk_tensor_show(struct uk_network_tensor *t, const struct uk_graph_value *v, const char *name) {
    *t = (struct uk_network_tensor){
        .name = name, .type = v->type, .rank = v->rank, .is_boolean = v->is_boolean};
    memcpy(t->shape, v->extent, sizeof t->shape);
    t->elements = (size_t)uk_value_elements(v);
    t->bytes = t->elements * uk_type_bytes(v->type);
}
