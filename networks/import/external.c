/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors in files beside the model: large ones are mapped, others copied. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "import/tensor.h"

struct external {
    const char *location;
    int64_t offset, length; /* length: -1 if it is not stated */
};

static bool number(const char *text, int64_t *n) {
    char *end;

    errno = 0;
    *n = strtoll(text, &end, 10);
    return !errno && end != text && !*end && *n >= 0;
}

static enum uk_status entries_of(struct uk_graph *g, const Onnx__TensorProto *t,
                                 const struct uk_graph_value *v, struct external *e) {
    *e = (struct external){NULL, 0, -1};
    for (size_t i = 0; i < t->n_external_data; i++) {
        const char *key = t->external_data[i]->key, *value = t->external_data[i]->value;
        if (!key || !value)
            continue;
        if (!strcmp(key, "location"))
            e->location = value;
        else if ((!strcmp(key, "offset") && !number(value, &e->offset)) ||
                 (!strcmp(key, "length") && !number(value, &e->length)))
            return uk_graph_fail(g, UK_REFUSED, NULL,
                                 "tensor '%s': the %s of its external data is '%s'; it must be 0 to 2^63 - 1",
                                 v->name, key, value);
    }
    return e->location && *e->location
               ? UK_OK
               : uk_graph_fail(g, UK_REFUSED, NULL, "tensor '%s': its external data names no file", v->name);
}

/* True if the path has no step out of the folder. */
static bool has_no_step_out(const char *path) {
    if (*path == '/')
        return false;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

/* True if the file is in or below the folder. Both are real paths, or NULL. */
static bool is_below(const char *file, const char *folder) {
    const size_t n = folder ? strlen(folder) : 0;

    return folder && file && !strncmp(file, folder, n) && (file[n] == '/' || !strcmp(folder, "/"));
}

static enum uk_status refuse_link(struct uk_graph *g, const struct uk_graph_value *v,
                                  const struct external *e, const struct uk_folders *folders,
                                  const char *file, const char *given) {
    const bool one = !folders->real || (given && !strcmp(given, folders->real));

    return uk_graph_fail(
        g, UK_REFUSED, NULL,
        "tensor '%s': its external data '%s' is a link to '%s', which is not in or below the "
        "folder '%s'%s%s%s; put a copy there",
        v->name, e->location, file, folders->given, one ? "" : " or '", one ? "" : folders->real,
        one ? "" : "'");
}

/* Opens the file, which must lie in or below the model's folder as given, or that of the model's real path:
 * in a cache on disk the model and its data are often links into one folder of files. */
static enum uk_status open_file(struct uk_graph *g, const struct uk_graph_value *v, const struct external *e,
                                const struct uk_folders *folders, int *file) {
    struct uk_text path = {0};

    uk_put(&path, "%s/%s", folders->given, e->location);
    if (path.failed) {
        free(path.text);
        return uk_graph_no_memory(g);
    }
    char *real = realpath(path.text, NULL), *given = realpath(folders->given, NULL);
    const bool inside = is_below(real, given) || is_below(real, folders->real);
    /* O_NONBLOCK: opening a pipe must not wait */
    *file = inside ? open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
    enum uk_status s = UK_OK;
    if (real && !inside)
        s = refuse_link(g, v, e, folders, real, given);
    else if (*file < 0)
        s = uk_graph_fail(g, UK_IO, NULL, "tensor '%s': its external data '%s' in the folder '%s': %s",
                          v->name, e->location, folders->given, strerror(errno));
    free(path.text);
    free(real);
    free(given);
    return s;
}

static enum uk_status check_extent(struct uk_graph *g, const struct uk_graph_value *v,
                                   const struct external *e, const struct stat *st, int64_t bytes) {
    if (!S_ISREG(st->st_mode))
        return uk_graph_fail(g, UK_REFUSED, NULL, "tensor '%s': its external data '%s' is not a regular file",
                             v->name, e->location);
    if (e->length >= 0 && e->length != bytes)
        return uk_graph_fail(g, UK_REFUSED, NULL,
                             "tensor '%s' of %s elements of %s needs %" PRId64
                             " bytes, but its external data in '%s' has %" PRId64,
                             v->name, uk_value_shape(v), uk_type_name(v->type), bytes, e->location,
                             e->length);
    if (e->offset > st->st_size || bytes > st->st_size - e->offset)
        return uk_graph_fail(g, UK_REFUSED, NULL,
                             "tensor '%s' needs %" PRId64 " bytes from byte %" PRId64
                             " of its external data '%s', which has only %lld bytes",
                             v->name, bytes, e->offset, e->location, (long long)st->st_size);
    return UK_OK;
}

/* Smaller data is copied: a mapping has whole pages. */
enum { LEAST_MAPPED = 1 << 16 };

/* Maps the elements if they are aligned in the file and used as they are. False: it cannot. */
static bool map_elements(struct uk_graph *g, struct uk_graph_value *v, const struct external *e, int file) {
    const int64_t bytes = uk_import_bytes(v);

    return bytes >= LEAST_MAPPED && !v->is_nibble && !v->is_boolean &&
           e->offset % (int64_t)uk_type_bytes(v->type) == 0 && uk_value_map(g, v, file, e->offset, bytes);
}

static enum uk_status copy_file(struct uk_graph *g, struct uk_graph_value *v, const struct external *e,
                                int file) {
    const int64_t bytes = uk_import_bytes(v);
    char *data = uk_import_elements(g, v);

    if (!data)
        return uk_graph_no_memory(g);
    for (int64_t done = 0; done < bytes;) {
        ssize_t n = pread(file, data + done, (size_t)(bytes - done), e->offset + done);
        if (n <= 0)
            return uk_graph_fail(g, UK_IO, NULL, "tensor '%s': its external data '%s': %s", v->name,
                                 e->location, n ? strerror(errno) : "cut off");
        done += n;
    }
    return UK_OK;
}

static enum uk_status read_file(struct uk_graph *g, struct uk_graph_value *v, const struct external *e,
                                int file) {
    struct stat st;

    if (fstat(file, &st))
        return uk_graph_fail(g, UK_IO, NULL, "tensor '%s': its external data '%s': %s", v->name, e->location,
                             strerror(errno));
    enum uk_status s = check_extent(g, v, e, &st, uk_import_bytes(v));

    return s || map_elements(g, v, e, file) ? s : copy_file(g, v, e, file);
}

enum uk_status uk_import_external(struct uk_graph *g, const Onnx__TensorProto *t,
                                  const struct uk_folders *folders, struct uk_graph_value *v) {
    struct external e;
    enum uk_status s = entries_of(g, t, v, &e);
    int file;

    if (s)
        return s;
    if (!folders->given)
        return uk_graph_fail(g, UK_REFUSED, NULL,
                             "tensor '%s': its data is in the file '%s', but there is no folder of a model",
                             v->name, e.location);
    if (!has_no_step_out(e.location))
        return uk_graph_fail(
            g, UK_REFUSED, NULL,
            "tensor '%s': its external data '%s' is not in the model's folder; only files in or "
            "below it are read",
            v->name, e.location);
    if ((s = open_file(g, v, &e, folders, &file)))
        return s;
    s = read_file(g, v, &e, file);
    close(file);
    return s;
}
