/* SPDX-License-Identifier: Apache-2.0 */
/* Layout maps, which the C API takes as text. */
#include "language.h"

void uk_tensor_layout(struct uk_program *p, struct uk_tensor *t, const char *map,
                      struct uk_index *const strides[]) {
    if (!uk_may_build(p))
        return;
    if (!uk_is_own_tensor(p, "uk_tensor_layout", t))
        return;
    if (!map) {
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                        "the map of %s is NULL; give its text, as in (i) -> [i / 4, i %% 4]", t->name);
        return;
    }
    struct uk_position before = uk_begin_item(p, UK_ITEM_TENSOR, uk_tensor_position(p, t));

    if ((t->layout = uk_parse_map(p, map))) {
        t->stored_dims = t->layout->to_count;
        t->has_strides = strides != NULL;
        if (strides)
            uk_set_dims(p, "stride", t->stored_dims, strides, t->stride);
    }
    p->at = before;
    p->is_checked = false;
}
