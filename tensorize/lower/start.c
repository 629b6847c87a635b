/* SPDX-License-Identifier: Apache-2.0 */
/* Starting points of a search for schedules. The first is the automatic schedule as it is compiled, without
 * drafts that lowering refuses. */
#include "lower.h"

static enum uk_status automatic(struct uk_program *p, const struct uk_options *o, char **steps) {
    const struct uk_target *target;
    struct uk_text text = {0};
    struct uk_function *f;
    enum uk_status status = uk_target_chosen(p->context, o, &target);

    uk_put(&text, "%s", "");
    if (!status)
        status = uk_lower(p, target, o, NULL, &text, &f);
    if (!status && text.failed)
        status = uk_out_of_memory(p->context);
    if (status)
        uk_text_free(text.text);
    else
        *steps = text.text;
    return status;
}

enum uk_status uk_schedule_start(struct uk_program *p, const struct uk_options *options, int *cursor,
                                 char **steps) {
    static const struct uk_options none;
    enum uk_status status;

    if (steps)
        *steps = NULL;
    if ((status = uk_program_check(p)) || (status = uk_require(p->context, cursor, "the cursor")) ||
        (status = uk_require(p->context, steps, "the place for the steps")) ||
        (status = uk_refuse_versions(p)))
        return status;
    if (*cursor < 0)
        return uk_fail(
            p->context, UK_INVALID_ARGUMENT, (struct uk_position){0},
            "the cursor is %d; set it to 0 before the first call, and do not change it between calls",
            *cursor);
    if (*cursor) {
        int next = *cursor - 1;

        status = uk_start_with_kernel(p, options, &next, steps);
        *cursor = next + 1;
        return status;
    }
    ++*cursor;
    struct uk_step *own = p->steps;
    struct uk_version all_sizes = {.condition = NULL};
    struct uk_mark before = uk_arena_mark(&p->arena);

    p->steps = NULL;
    p->versions = &all_sizes;
    status = automatic(p, options ? options : &none, steps);
    p->steps = own;
    p->versions = NULL;
    uk_arena_release(&p->arena, before);
    return status;
}
