/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks messages by protobuf-c. Since that recurses, a message is checked first: tags and lengths of the
 * wire format are walked, and the nesting of messages is bounded. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
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

/* Reason of walk(): a field does not end where its message does, or has a type that no field has. */
static const char cut[] = ", or is cut off";

/* Returns the reason if messages are nested too deep or do not end where the bytes do; else NULL. */
static const char *walk(const ProtobufCMessageDescriptor *d, struct reader r, int depth) {
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

/* ---- unpacking ----
 *
 * protobuf-c copies what it unpacks. Raw data of tensors, most of a file, is left where it is: protobuf-c
 * gets a copy of the message in which its address and length are in the place of it.
 */

struct writer {
    uint8_t *bytes;
    size_t length, room;
    bool failed;
};

static void put(struct writer *w, const void *bytes, size_t length) {
    if (w->room - w->length < length) {
        const size_t room = 2 * (w->length + length) + 64;
        uint8_t *more = w->failed ? NULL : realloc(w->bytes, room);
        w->failed |= !more;
        if (!more)
            return;
        w->bytes = more;
        w->room = room;
    }
    if (length)
        memcpy(w->bytes + w->length, bytes, length);
    w->length += length;
}

/* A length takes five bytes, so that it can be set once the message after it is written. */
enum { LENGTH_BYTES = 5 };

static void set_length(struct writer *w, size_t at) {
    uint64_t length = w->length - at - LENGTH_BYTES;

    for (int i = 0; i < LENGTH_BYTES && !w->failed; i++, length >>= 7)
        w->bytes[at + (size_t)i] = (uint8_t)((length & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

/* Copies a message that walk() has found to be whole. */
static void reduce(struct writer *w, const ProtobufCMessageDescriptor *d, struct reader r) {
    while (r.at < r.end) {
        const uint8_t *begin = r.at;
        uint64_t tag, length = 0;
        varint(&r, &tag);
        const ProtobufCFieldDescriptor *f =
            tag >> 3 <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(d, (unsigned)(tag >> 3)) : NULL;
        const uint8_t *after_tag = r.at;
        if ((tag & 7) == 0 || (tag & 7) == 2)
            varint(&r, &length);
        const struct uk_raw_data raw = {r.at, (size_t)length};
        skip(&r, (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : (tag & 7) == 2 ? length : 0);
        const bool is_message = f && f->type == PROTOBUF_C_TYPE_MESSAGE && (tag & 7) == 2,
                   is_raw = f && f->offset == offsetof(Onnx__TensorProto, raw_data) && (tag & 7) == 2 &&
                            d == &onnx__tensor_proto__descriptor;
        if (!is_message && !is_raw) {
            put(w, begin, (size_t)(r.at - begin));
            continue;
        }
        put(w, begin, (size_t)(after_tag - begin));
        const size_t at = w->length;
        put(w, (const uint8_t[LENGTH_BYTES]){0}, LENGTH_BYTES);
        if (is_raw)
            put(w, &raw, sizeof raw);
        else
            reduce(w, f->descriptor, (struct reader){raw.bytes, r.at});
        set_length(w, at);
    }
}

static void *allocate(void *user, size_t bytes) {
    bool *failed = user;
    void *p = malloc(bytes);

    *failed |= !p;
    return p;
}

static void release(void *user, void *p) {
    (void)user;
    free(p);
}

struct uk_raw_data uk_import_raw(const Onnx__TensorProto *t) {
    struct uk_raw_data raw = {NULL, 0};

    if (t->has_raw_data && t->raw_data.len == sizeof raw)
        memcpy(&raw, t->raw_data.data, sizeof raw);
    return raw;
}

void *uk_import_unpack(struct uk_graph *g, const ProtobufCMessageDescriptor *d, const void *bytes,
                       size_t length, const char *what) {
    const struct reader whole = {bytes, (const uint8_t *)bytes + length};
    const char *reason = walk(d, whole, 0);
    struct writer w = {.failed = false};
    bool failed = false;
    ProtobufCAllocator allocator = {allocate, release, &failed};

    if (reason) {
        uk_graph_fail(g, UK_REFUSED, NULL, "%s%s", reason == cut ? what : "", reason);
        return NULL;
    }
    reduce(&w, d, whole);
    ProtobufCMessage *m = w.failed ? NULL : protobuf_c_message_unpack(d, &allocator, w.length, w.bytes);
    free(w.bytes);
    if (!m && (w.failed || failed))
        uk_graph_no_memory(g);
    else if (!m)
        uk_graph_fail(g, UK_REFUSED, NULL, "%s", what);
    return m;
}
