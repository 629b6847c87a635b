/* SPDX-License-Identifier: Apache-2.0 */
/* uk machine --json: the same facts as JSON. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include "output.h"

static void add_value(cJSON *o, const char *key, const struct uk_field *f, double value) {
    if (f->kind == UK_FIELD_BOOL)
        cJSON_AddBoolToObject(o, key, value > 0);
    else
        cJSON_AddNumberToObject(o, key, value);
}

static cJSON *field_json(const struct uk_machine *m, const struct uk_field *f) {
    cJSON *o = cJSON_CreateObject();
    char text[96];

    cJSON_AddStringToObject(o, "field", f->name);
    cJSON_AddStringToObject(o, "unit", f->unit);
    if (f->kind == UK_FIELD_TEXT || f->kind == UK_FIELD_ARCH)
        cJSON_AddStringToObject(o, "row", uk_field_text(m, f, text, sizeof text));
    else
        add_value(o, "row", f, uk_field_value(m, f));
    if (f->kind == UK_FIELD_PORTS) {
        const struct uk_ports *p = (const void *)((const char *)m + f->offset);
        cJSON_AddNumberToObject(o, "ports", p->ports);
        cJSON_AddNumberToObject(o, "cycles", p->cycles);
    }
    return o;
}

static void add_measured(cJSON *o, const struct uk_lab *lab, const struct uk_field *f) {
    const struct uk_answer *a = uk_lab_answer(lab, f->name);
    const double row = uk_field_value(&lab->machine, f);

    if (!a || a->reason) {
        cJSON_AddStringToObject(o, "reason", uk_reason(&lab->machine, f, a));
        return;
    }
    add_value(o, "measured", f, a->value);
    if (row > 0 && f->kind != UK_FIELD_BOOL)
        cJSON_AddNumberToObject(o, "difference", a->value / row - 1);
}

static cJSON *level_json(const struct uk_level *l) {
    cJSON *o = cJSON_CreateObject();

    cJSON_AddStringToObject(o, "field", l->name);
    cJSON_AddStringToObject(o, "use", uk_level_fate(l));
    if (l->found) {
        cJSON_AddNumberToObject(o, "size", l->found->size);
        cJSON_AddNumberToObject(o, "ways", l->found->associativity);
        cJSON_AddNumberToObject(o, "processors", l->found->processor_count);
    }
    return o;
}

static cJSON *extra_json(const struct uk_answer *a) {
    cJSON *o = cJSON_CreateObject();

    cJSON_AddStringToObject(o, "name", a->field);
    cJSON_AddStringToObject(o, "unit", a->unit);
    if (!isnan(a->row))
        cJSON_AddNumberToObject(o, "row", a->row);
    cJSON_AddNumberToObject(o, "measured", a->value);
    return o;
}

int uk_print_machine_json(const struct uk_machine *m, const struct uk_level *level,
                          const struct uk_lab *lab) {
    cJSON *all = cJSON_CreateObject(), *facts, *list;
    char *text;

    cJSON_AddStringToObject(all, "machine", m->core.name);
    list = cJSON_AddArrayToObject(all, "cpuinfo");
    for (int i = 0; i < UK_LEVELS; i++)
        cJSON_AddItemToArray(list, level_json(&level[i]));
    if (lab)
        cJSON_AddNumberToObject(all, "samples", lab->rounds);
    facts = cJSON_AddArrayToObject(all, "facts");
    for (const struct uk_field *f = uk_fields; f->name; f++) {
        cJSON *o = field_json(m, f);
        if (lab)
            add_measured(o, lab, f);
        cJSON_AddItemToArray(facts, o);
    }
    if (lab) {
        list = cJSON_AddArrayToObject(all, "extra");
        for (int i = 0; i < lab->answers; i++)
            if (lab->answer[i].unit)
                cJSON_AddItemToArray(list, extra_json(&lab->answer[i]));
    }
    text = cJSON_Print(all);
    cJSON_Delete(all);
    if (!text)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    puts(text);
    cJSON_free(text);
    return UK_EXIT_OK;
}
