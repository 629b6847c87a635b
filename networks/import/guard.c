/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a file before protobuf-c, which recurses, reads it: walks tags and lengths of the wire format and
 * bounds the nesting of messages. Also protobuf-c's allocator. */
#include <stdlib.h>
#include "import/tensor.h"

enum { DEEPEST = 32 };

struct reader {
    const uint8_t *at, *end;
};

static bool varint(struct reader *r, uint64_t *v) {
    *v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (r->at == r->end)
            return false;
        uint8_t byte = *r->at++;
        if (shift < 64)
            *v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool skip(struct reader *r, uint64_t bytes) {
    if ((uint64_t)(r->end - r->at) < bytes)
        return false;
    r->at += bytes;
    return true;
}

static const char *walk(const ProtobufCMessageDescriptor *d, struct reader r, int depth) {
    static const char cut[] = "the file is not an ONNX model, or is cut off";

    if (depth > DEEPEST)
        return "messages are nested more than 32 deep";
    while (r.at < r.end) {
        uint64_t tag, length;
        if (!varint(&r, &tag))
            return cut;
        const ProtobufCFieldDescriptor *f =
            tag >> 3 <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(d, (unsigned)(tag >> 3)) : NULL;
        switch (tag & 7) {
        case 0:
            if (!varint(&r, &length))
                return cut;
            break;
        case 1:
            if (!skip(&r, 8))
                return cut;
            break;
        case 5:
            if (!skip(&r, 4))
                return cut;
            break;
        case 2: {
            const uint8_t *from;
            const char *reason = NULL;
            if (!varint(&r, &length))
                return cut;
            from = r.at;
            if (!skip(&r, length))
                return cut;
            if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
                reason = walk(f->descriptor, (struct reader){from, r.at}, depth + 1);
            if (reason)
                return reason;
            break;
        }
        default: /* groups: the schema has none */
            return cut;
        }
    }
    return NULL;
}

static void *allocate(void *user, size_t bytes) {
    struct uk_unpacking *u = user;
    void *p = malloc(bytes);

    u->failed |= !p;
    return p;
}

static void release(void *user, void *p) {
    (void)user;
    free(p);
}

void uk_unpacking_begin(struct uk_unpacking *u) {
    *u = (struct uk_unpacking){.allocator = {allocate, release, u}};
}

const char *uk_import_check(const struct ProtobufCMessageDescriptor *d, const void *bytes, size_t length) {
    return walk(d, (struct reader){bytes, (const uint8_t *)bytes + length}, 0);
}
