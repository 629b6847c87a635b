/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include "state.h"

/* Writes the message "vadd+0x74 `v_add_f32_e32 v2, v6, v7`, block 0,0,0 wave 0 lane 3: ...". */
static enum uk_amdgpu_step uk_stop(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, int lane,
                                   enum uk_amdgpu_status status, const char *format, va_list list) {
    struct uk_amdgpu_run_state *run = w->block->run;
    const uint32_t *id = w->block->id;
    char what[700], at[24] = "";

    vsnprintf(what, sizeof what, format, list);
    if (lane >= 0)
        snprintf(at, sizeof at, " lane %d", lane);
    run->status = uk_amdgpu_fail(run->gpu, status, "%.100s+0x%x `%.150s`, block %u,%u,%u wave %u%s: %s",
                                 run->kernel->name, i->offset, i->text ? i->text : "", id[0], id[1], id[2],
                                 w->number, at, what);
    return UK_AMDGPU_STEP_STOPPED;
}

enum uk_amdgpu_step uk_report(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, int lane,
                              const char *format, ...) {
    va_list list;
    enum uk_amdgpu_step step;

    va_start(list, format);
    step = uk_stop(w, i, lane, UK_AMDGPU_REPORT, format, list);
    va_end(list);
    return step;
}

enum uk_amdgpu_step uk_unsupported(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                   const char *format, ...) {
    va_list list;
    enum uk_amdgpu_step step;

    va_start(list, format);
    step = uk_stop(w, i, -1, UK_AMDGPU_UNSUPPORTED, format, list);
    va_end(list);
    return step;
}

enum uk_amdgpu_step uk_no_memory(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    (void)i;
    w->block->run->status =
        uk_amdgpu_fail(w->block->run->gpu, UK_AMDGPU_NO_MEMORY, "no memory for the simulator");
    return UK_AMDGPU_STEP_STOPPED;
}

struct uk_amdgpu_name uk_name(const struct uk_amdgpu_inst *i) {
    struct uk_amdgpu_name name;

    snprintf(name.text, sizeof name.text, "+0x%x `%.200s`", i->offset, i->text ? i->text : "");
    return name;
}

struct uk_amdgpu_name uk_register_name(bool vector, unsigned index) {
    struct uk_amdgpu_name name;

    if (vector)
        snprintf(name.text, sizeof name.text, "%c%u", index >= AGPR ? 'a' : 'v', index % AGPR);
    else if (index >= EXEC || index == VCC || index == VCC + 1)
        snprintf(name.text, sizeof name.text, "%s_%s", index >= EXEC ? "exec" : "vcc",
                 index % 2 ? "hi" : "lo");
    else if (index == M0)
        snprintf(name.text, sizeof name.text, "m0");
    else
        snprintf(name.text, sizeof name.text, "s%u", index);
    return name;
}
