/* SPDX-License-Identifier: Apache-2.0 */
/* Maps files, and reads and writes tensors in ONNX's and NumPy's formats. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "import/tensor.h"

enum uk_status uk_file_map(struct uk_graph *g, const char *path, struct uk_mapped *m) {
    struct stat st;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: opening a pipe must not wait */

    if (file < 0 || fstat(file, &st)) {
        enum uk_status s = uk_graph_fail(g, UK_IO, NULL, "%s: %s", path, strerror(errno));
        if (file >= 0)
            close(file);
        return s;
    }
    const bool is_file = S_ISREG(st.st_mode) && st.st_size > 0;
    void *bytes = is_file ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    const int reason = errno;
    close(file);
    if (bytes == MAP_FAILED)
        return uk_graph_fail(g, UK_REFUSED, NULL, "%s: %s", path,
                             is_file ? strerror(reason) : "not a regular file, or empty");
    *m = (struct uk_mapped){bytes, (size_t)st.st_size};
    return UK_OK;
}

void uk_file_unmap(struct uk_mapped *m) {
    munmap((void *)m->bytes, m->length);
}

/* ---- .pb ---- */

static enum uk_status read_pb(struct uk_graph *g, const char *path, const struct uk_mapped *m,
                              struct uk_graph_value *v) {
    struct uk_text what = {0};

    uk_put(&what, "%s is not a tensor of ONNX", path);
    Onnx__TensorProto *t = uk_import_unpack(g, &onnx__tensor_proto__descriptor, m->bytes, m->length,
                                            what.text ? what.text : "not a tensor");
    free(what.text);
    if (!t)
        return g->status;
    enum uk_status s = uk_import_tensor(g, t, &(struct uk_folders){.file = m}, v);
    onnx__tensor_proto__free_unpacked(t, NULL);
    return s;
}

/* ---- .npy: a magic number, the length of a header (a Python dictionary), the header, the elements ---- */

/* NumPy lacks bf16: packages that add it, such as ml_dtypes, store it as two bytes of no type. */
static const struct {
    enum uk_type type;
    bool is_boolean;
    const char *descr;
} descriptions[] = {{UK_F32, false, "<f4"},  {UK_F64, false, "<f8"}, {UK_F16, false, "<f2"},
                    {UK_I64, false, "<i8"},  {UK_I32, false, "<i4"}, {UK_I16, false, "<i2"},
                    {UK_I8, false, "|i1"},   {UK_U64, false, "<u8"}, {UK_U32, false, "<u4"},
                    {UK_U16, false, "<u2"},  {UK_U8, false, "|u1"},  {UK_U8, true, "|b1"},
                    {UK_BF16, false, "<V2"}, {UK_BF16, false, "|V2"}};

enum { DESCRIPTIONS = sizeof descriptions / sizeof descriptions[0], PREFIX = 10, LONGEST_HEADER = 4096 };

/* Copies the text between quotation marks that follows a key; "" if the key is absent. */
static void text_of(const char *header, const char *key, char *text, size_t room) {
    const char *at = strstr(header, key), *end = NULL;

    if (at && (at = strchr(at + strlen(key), ':')))
        at += 1 + strspn(at + 1, " ");
    if (at && *at == '\'')
        end = strchr(++at, '\'');
    snprintf(text, room, "%.*s", end && end - at < (ptrdiff_t)room ? (int)(end - at) : 0, end ? at : "");
}

static bool npy_shape(const char *header, struct uk_graph_value *v) {
    const char *shape = strstr(header, "'shape'");
    char *at;

    if (!shape || !(at = strchr(shape, '(')))
        return false;
    for (at++; *at && *at != ')';) {
        if (*at == ' ' || *at == ',') {
            at++;
            continue;
        }
        char *end;
        if (v->rank == UK_RANK || (v->extent[v->rank++] = strtoll(at, &end, 10)) < 0 || end == at)
            return false;
        at = end;
    }
    return *at == ')';
}

static enum uk_status npy_header(struct uk_graph *g, const char *path, const char *header,
                                 struct uk_graph_value *v) {
    const char *order = strstr(header, "'fortran_order'");
    char descr[16];

    text_of(header, "'descr'", descr, sizeof descr);
    v->type = UK_TYPES;
    for (int i = 0; i < DESCRIPTIONS; i++)
        if (!strcmp(descr, descriptions[i].descr)) {
            v->type = descriptions[i].type;
            v->is_boolean = descriptions[i].is_boolean;
        }
    if (v->type == UK_TYPES)
        return uk_graph_fail(g, UK_REFUSED, NULL,
                             "%s has the dtype %s%s%s, which is not supported; convert it, for instance by "
                             "numpy.ndarray.astype",
                             path, *descr ? "'" : "of a record", descr, *descr ? "'" : "");
    if (!order || !(order = strchr(order, ':')) ||
        strncmp(order + 1 + strspn(order + 1, " "), "False", 5) != 0)
        return uk_graph_fail(g, UK_REFUSED, NULL,
                             "%s is in Fortran's order; save a row-major array, for instance of "
                             "numpy.ascontiguousarray",
                             path);
    return npy_shape(header, v) ? UK_OK
                                : uk_graph_fail(g, UK_REFUSED, NULL,
                                                "%s has no shape, or more than %d dimensions", path, UK_RANK);
}

static enum uk_status read_npy(struct uk_graph *g, const char *path, const struct uk_mapped *m,
                               struct uk_graph_value *v) {
    const unsigned char *bytes = m->bytes;
    char header[LONGEST_HEADER];

    if (m->length < PREFIX || memcmp(bytes, "\x93NUMPY\x01", 7) != 0)
        return uk_graph_fail(g, UK_REFUSED, NULL, "%s is not a .npy file of version 1", path);
    const size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (length >= sizeof header || length + PREFIX > m->length)
        return uk_graph_fail(g, UK_REFUSED, NULL, "%s is cut off", path);
    memcpy(header, bytes + PREFIX, length);
    header[length] = 0;
    const enum uk_status s = npy_header(g, path, header, v);
    if (s)
        return s;
    v->has_shape = true;
    if (uk_value_elements(v) < 0)
        return uk_graph_fail(g, UK_REFUSED, NULL, "%s: its shape is too large for 64 bits", path);
    const size_t bytes_of_data = (size_t)uk_value_elements(v) * uk_type_bytes(v->type);
    if (m->length - PREFIX - length != bytes_of_data)
        return uk_graph_fail(g, UK_REFUSED, NULL,
                             "%s has %zu bytes of data, which is not the size of %s elements of %s", path,
                             m->length - PREFIX - length, uk_value_shape(v), uk_type_name(v->type));
    uk_allow_constant(g, (int64_t)bytes_of_data);
    void *data = uk_value_constant(g, v, v->type, v->rank, v->extent);
    if (!data)
        return uk_graph_no_memory(g);
    memcpy(data, bytes + PREFIX + length, bytes_of_data);
    for (size_t i = 0; v->is_boolean && i < bytes_of_data; i++)
        ((unsigned char *)data)[i] = ((unsigned char *)data)[i] != 0;
    return UK_OK;
}

enum uk_status uk_file_tensor(struct uk_graph *g, const char *path, struct uk_graph_value *v) {
    const size_t length = strlen(path);
    struct uk_mapped m;
    enum uk_status s = uk_file_map(g, path, &m);

    if (s)
        return s;
    if (length > 4 && !strcasecmp(path + length - 4, ".npy"))
        s = read_npy(g, path, &m, v);
    else if (length > 3 && !strcasecmp(path + length - 3, ".pb"))
        s = read_pb(g, path, &m, v);
    else
        s = uk_graph_fail(g, UK_REFUSED, NULL, "%s: unknown file type; use .npy or .pb", path);
    uk_file_unmap(&m);
    return s;
}

char *uk_network_npy(const struct uk_network_tensor *t, const void *data, size_t *length) {
    struct uk_text header = {0};
    const char *descr = NULL;

    for (int i = DESCRIPTIONS; i-- && t;)
        if (descriptions[i].type == t->type && descriptions[i].is_boolean == t->is_boolean)
            descr = descriptions[i].descr;
    if (!descr || !length || (!data && t->bytes) || t->rank < 0 || t->rank > UK_RANK)
        return NULL;
    uk_put(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < t->rank; i++)
        uk_put(&header, "%lld, ", (long long)t->shape[i]);
    uk_put(&header, "), }");
    while (header.text && (header.length + PREFIX + 1) % 64)
        uk_put(&header, " ");
    uk_put(&header, "\n");
    char *file = header.text ? malloc(PREFIX + header.length + t->bytes) : NULL;
    if (file) {
        memcpy(file, "\x93NUMPY\x01\x00", 8);
        file[8] = (char)(header.length & 0xff);
        file[9] = (char)(header.length >> 8);
        memcpy(file + PREFIX, header.text, header.length);
        if (t->bytes)
            memcpy(file + PREFIX + header.length, data, t->bytes);
        *length = PREFIX + header.length + t->bytes;
    }
    free(header.text);
    return file;
}
