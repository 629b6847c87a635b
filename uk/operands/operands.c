/* SPDX-License-Identifier: Apache-2.0 */
/* Operands as a module's function takes them: constant tensors in packed form. */
#include <stdlib.h>
#include "data.h"
#include "uk.h"

int uk_operands_pack(const struct uk_operands *o, enum uk_status *status) {
    *status = UK_OK;
    for (int i = 0; i < o->data->count && !*status; i++)
        if (o->origins[i] != o->data->array[i].origin)
            *status = (enum uk_status)uk_module_pack(o->module, o->sizes, i, o->data->array[i].origin,
                                                     o->origins[i]);
    return *status == UK_OUT_OF_MEMORY ? uk_complain(UK_EXIT_WRONG, "out of memory") : UK_EXIT_OK;
}

int uk_operands_create(struct uk_operands *o, const struct uk_data *data, struct uk_module *m,
                       const int64_t *sizes, enum uk_status *status) {
    *status = UK_OK;
    *o = (struct uk_operands){data, m, sizes, calloc((size_t)data->count + 1, sizeof *o->origins)};
    if (!o->origins)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; i < data->count; i++)
        o->origins[i] = data->array[i].origin;
    for (int i = 0; i < data->count; i++) {
        if (!data->array[i].tensor->is_constant)
            continue;
        const int64_t bytes = uk_module_packed_bytes(m, sizes, i);
        const size_t align = data->array[i].tensor->align > 64 ? (size_t)data->array[i].tensor->align : 64;
        const size_t room = bytes < 0 ? align : ((size_t)bytes + align) / align * align;

        if (bytes < 0)
            *status = UK_INVALID_SIZE;
        else if (!(o->origins[i] = aligned_alloc(align, room)))
            return uk_complain(UK_EXIT_WRONG,
                               "tensor '%s': out of memory for the %zu bytes of its packed form",
                               data->array[i].tensor->name, room);
    }
    return *status ? UK_EXIT_OK : uk_operands_pack(o, status);
}

void uk_operands_free(struct uk_operands *o) {
    for (int i = 0; o->origins && i < o->data->count; i++)
        if (o->origins[i] != o->data->array[i].origin)
            free(o->origins[i]);
    free(o->origins);
    o->origins = NULL;
}
