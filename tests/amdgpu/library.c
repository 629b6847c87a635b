/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the simulator's library: library FILE.hsaco SEED MUTANTS calls its functions, then loads and launches
 * MUTANTS damaged copies of the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu.h"
#include "random.h"

static int failures;
#define CHECK(condition)                                            \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            ++failures;                                             \
        }                                                           \
    } while (0)

static unsigned char *read_file(const char *name, size_t *bytes) {
    FILE *file = fopen(name, "rb");
    unsigned char *data = malloc(1 << 20);

    if (!file || !data)
        exit(1);
    *bytes = fread(data, 1, 1 << 20, file);
    fclose(file);
    return data;
}

/* True if there is a message, of one line. */
static bool said(const struct uk_amdgpu *gpu, const char *what) {
    const char *message = uk_amdgpu_message(gpu);

    return *message && !strchr(message, '\n') && strstr(message, what);
}

static void test_memory(struct uk_amdgpu *gpu) {
    uint64_t a, b = 0;
    char data[4] = "abc", back[4] = "";

    CHECK(uk_amdgpu_alloc(gpu, 4, &a) == UK_AMDGPU_OK && uk_amdgpu_alloc(gpu, 0, &b) == UK_AMDGPU_OK &&
          a != b);
    CHECK(uk_amdgpu_write(gpu, a, data, 4) == UK_AMDGPU_OK &&
          uk_amdgpu_read(gpu, back, a, 4) == UK_AMDGPU_OK);
    CHECK(memcmp(data, back, 4) == 0);
    CHECK(uk_amdgpu_write(gpu, a + 1, data, 4) == UK_AMDGPU_INVALID && said(gpu, "lie in no buffer"));
    CHECK(uk_amdgpu_read(gpu, back, a - 1, 1) == UK_AMDGPU_INVALID);
    CHECK(uk_amdgpu_read(gpu, back, b, 1) == UK_AMDGPU_INVALID &&
          uk_amdgpu_read(gpu, back, b, 0) == UK_AMDGPU_OK);
    CHECK(uk_amdgpu_read(gpu, back, 12, 1) == UK_AMDGPU_INVALID);
    CHECK(uk_amdgpu_alloc(gpu, (size_t)1 << 40, &b) == UK_AMDGPU_INVALID && said(gpu, "the limit is"));
    CHECK(uk_amdgpu_free(gpu, a + 1) == UK_AMDGPU_INVALID && uk_amdgpu_free(gpu, a) == UK_AMDGPU_OK);
    CHECK(uk_amdgpu_free(gpu, a) == UK_AMDGPU_INVALID &&
          uk_amdgpu_read(gpu, back, a, 1) == UK_AMDGPU_INVALID);
}

static void test_launch(struct uk_amdgpu *gpu, const void *image, size_t bytes) {
    const struct uk_amdgpu_launch launch = {.grid = {2, 1, 1}, .block = {64, 1, 1}};
    const int32_t n = 100;
    const struct uk_amdgpu_kernel *vadd;
    struct uk_amdgpu_object *object;
    struct uk_amdgpu_counts counts;
    uint64_t x, z;
    float data[100], back[100];

    for (int i = 0; i < n; ++i)
        data[i] = (float)i;
    CHECK(uk_amdgpu_load(gpu, image, bytes, &object) == UK_AMDGPU_OK);
    vadd = uk_amdgpu_find(object, "vadd");
    CHECK(vadd && vadd->object == object && vadd->n_arguments == 4 && !uk_amdgpu_find(object, "vad"));
    CHECK(uk_amdgpu_n_kernels(object) >= 4 && vadd->arguments[3].size == 4 &&
          vadd->arguments[0].kind == UK_AMDGPU_BUFFER);
    CHECK(!uk_amdgpu_alloc(gpu, sizeof data, &x) && !uk_amdgpu_alloc(gpu, sizeof data, &z));
    CHECK(!uk_amdgpu_write(gpu, x, data, sizeof data));
    const void *arguments[] = {&x, &x, &z, &n};
    for (int i = 0; i < 2; ++i) {
        memset(back, 0, sizeof back);
        CHECK(uk_amdgpu_launch(gpu, vadd, &launch, arguments, 4, &counts) == UK_AMDGPU_OK &&
              counts.flops == 100);
        CHECK(!uk_amdgpu_read(gpu, back, z, sizeof back) && back[0] == 0 && back[99] == 198);
    }
    /* In place: one thread reads and writes each element. */
    arguments[2] = &x;
    CHECK(uk_amdgpu_launch(gpu, vadd, &launch, arguments, 4, NULL) == UK_AMDGPU_OK);
    CHECK(uk_amdgpu_launch(gpu, vadd, &launch, arguments, 3, NULL) == UK_AMDGPU_INVALID &&
          said(gpu, "takes 4 arguments"));
    CHECK(uk_amdgpu_free(gpu, z) == UK_AMDGPU_OK);
    arguments[2] = &z;
    CHECK(uk_amdgpu_launch(gpu, vadd, &launch, arguments, 4, NULL) == UK_AMDGPU_REPORT &&
          said(gpu, "which lies in no buffer"));
    uk_amdgpu_unload(object);
    CHECK(uk_amdgpu_load(gpu, image, 100, &object) == UK_AMDGPU_BAD_OBJECT && !object);
}

/* Puts a newline into the name that metadata give a kernel, so that no symbol has it: the message must still
 * be one line. */
static void test_name(struct uk_amdgpu *gpu, const unsigned char *image, size_t bytes) {
    struct uk_amdgpu_object *object;
    unsigned char *copy = malloc(bytes), *name;
    bool found = false;

    if (!copy)
        exit(1);
    memcpy(copy, image, bytes);
    for (unsigned char *at = copy; (name = memmem(at, bytes - (size_t)(at - copy), "\xa4vadd", 5));
         at = name + 5) {
        name[3] = '\n';
        found = true;
    }
    CHECK(found && uk_amdgpu_load(gpu, copy, bytes, &object) == UK_AMDGPU_BAD_OBJECT && said(gpu, "va?d"));
    free(copy);
}

/* Damages the image in one of several ways, most often where headers, notes and symbols are. Returns its new
 * size. */
static size_t damage(unsigned char *image, size_t bytes, uint64_t *state) {
    const unsigned kind = random_below(state, 8);
    const unsigned n = 1 + random_below(state, 4);

    if (kind == 0)
        return random_next(state) % bytes;
    for (unsigned i = 0; i < n; ++i) {
        const size_t where = kind < 3 ? (size_t)random_below(state, 0x600) : random_next(state) % bytes;

        if (random_below(state, 2))
            image[where] ^= (unsigned char)(1u << random_below(state, 8));
        else
            image[where] = (unsigned char)(random_below(state, 4) ? random_below(state, 256) : 255);
    }
    return bytes;
}

static void run_all(struct uk_amdgpu *gpu, const struct uk_amdgpu_object *object, unsigned *outcomes) {
    const struct uk_amdgpu_launch launch = {.grid = {2, 1, 1}, .block = {64, 1, 1}, .max_steps = 5000};
    unsigned char value[64] = {65};
    const void *arguments[64];
    uint64_t buffer;

    CHECK(!uk_amdgpu_alloc(gpu, 4096, &buffer));
    for (uint32_t i = 0; i < uk_amdgpu_n_kernels(object); ++i) {
        const struct uk_amdgpu_kernel *k = uk_amdgpu_kernel(object, i);
        enum uk_amdgpu_status status;
        bool fits = k->n_arguments <= 64;

        for (uint32_t j = 0; j < k->n_arguments && fits; ++j) {
            arguments[j] = k->arguments[j].kind == UK_AMDGPU_BUFFER ? (const void *)&buffer : value;
            fits = k->arguments[j].size <= 64;
        }
        if (!fits)
            continue;
        status = uk_amdgpu_launch(gpu, k, &launch, arguments, k->n_arguments, NULL);
        CHECK(status <= UK_AMDGPU_NO_MEMORY && (status == UK_AMDGPU_OK || said(gpu, "")));
        ++outcomes[status];
    }
}

static void test_mutants(const char *gfx, const unsigned char *image, size_t bytes, unsigned seed,
                         unsigned n) {
    unsigned outcomes[8] = {0}, refused = 0;
    unsigned char *copy = malloc(bytes);

    for (unsigned i = 0; i < n && copy; ++i) {
        struct uk_amdgpu *gpu = uk_amdgpu_open(gfx);
        struct uk_amdgpu_object *object;
        uint64_t state = seed + i;
        size_t left;

        memcpy(copy, image, bytes);
        left = damage(copy, bytes, &state);
        if (uk_amdgpu_load(gpu, copy, left, &object)) {
            CHECK(said(gpu, "") && !object);
            ++refused;
        } else {
            run_all(gpu, object, outcomes);
        }
        uk_amdgpu_close(gpu);
    }
    free(copy);
    printf("%u mutants, seed %u: %u refused; launches: %u right, %u unsupported, %u reported, %u endless\n",
           n, seed, refused, outcomes[UK_AMDGPU_OK], outcomes[UK_AMDGPU_UNSUPPORTED],
           outcomes[UK_AMDGPU_REPORT], outcomes[UK_AMDGPU_LIMIT]);
    CHECK(n < 100 || (refused && outcomes[UK_AMDGPU_OK] && outcomes[UK_AMDGPU_REPORT]));
}

int main(int argc, char **argv) {
    const unsigned seed = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0,
                   n = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    size_t bytes;
    unsigned char *image = argc == 4 ? read_file(argv[1], &bytes) : NULL;
    const char *gfx = image ? uk_amdgpu_gfx(image, bytes) : NULL;
    struct uk_amdgpu *gpu = gfx ? uk_amdgpu_open(gfx) : NULL, *other = gfx ? uk_amdgpu_open(gfx) : NULL;

    if (!gpu || !other)
        return 1;
    CHECK(!uk_amdgpu_open("gfx1") && !uk_amdgpu_simulates("gfx1") && uk_amdgpu_simulates("gfx906"));
    test_memory(gpu);
    test_launch(gpu, image, bytes);
    test_launch(other, image, bytes);
    test_name(gpu, image, bytes);
    uk_amdgpu_close(gpu);
    uk_amdgpu_close(other);
    uk_amdgpu_close(NULL);
    test_mutants(gfx, image, bytes, seed, n);
    free(image);
    return failures != 0;
}
