/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other libraries: found below a directory, loaded at run time, each set to use its best kernels.
 *
 * OpenBLAS reads OPENBLAS_CORETYPE when it is loaded; without it, it may select kernels of an older CPU. MKL
 * uses its AVX2 and AVX-512 kernels only if mkl_serv_get_cpu_true() returns a function that says the CPU is
 * Intel's; otherwise it uses kernels at 40 % of the AVX-512 peak, and no variable changes that
 * (MKL_DEBUG_CPU_TYPE is gone). It looks that function up through the dynamic linker, which finds the one
 * below first; MKL still reads the CPU's features from CPUID. Both libraries spin while they wait for work,
 * which would slow down the next contender: their waits are set short.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <dlfcn.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *bench_peers_directory(void) {
    const char *directory = getenv("UK_PEERS");
    return directory && *directory ? directory : ".peers";
}

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Debuggers' scripts have libraries' names, too. */
static bool is_library(const char *path) {
    char head[4];
    FILE *f = fopen(path, "rb");
    const bool is =
        f && fread(head, 1, sizeof head, f) == sizeof head && !memcmp(head, "\177ELF", sizeof head);
    if (f)
        fclose(f);
    return is;
}

bool bench_find_nth_library(const char *directory, const char *prefix, int n, char *path, size_t size) {
    char root[4096];
    snprintf(root, sizeof root, "%s", directory);
    char *const roots[] = {root, NULL};
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (!walk)
        return false;
    bool found = false;
    for (FTSENT *entry; !found && (entry = fts_read(walk));)
        if (entry->fts_info == FTS_F && !strncmp(entry->fts_name, prefix, strlen(prefix)) &&
            is_library(entry->fts_path) && !n--)
            found = (size_t)snprintf(path, size, "%s", entry->fts_path) < size;
    fts_close(walk);
    return found;
}

bool bench_find_library(const char *directory, const char *prefix, char *path, size_t size) {
    return bench_find_nth_library(directory, prefix, 0, path, size);
}

static void mark_missing(struct bench_peer *peer, const char *why) {
    peer->sgemm = NULL;
    peer->dgemm = NULL;
    peer->library = NULL;
    snprintf(peer->detail, sizeof peer->detail, "%s", why);
}

static bool take_cblas(struct bench_peer *peer, void *library, const char *prefix) {
    char name[64];
    snprintf(name, sizeof name, "%scblas_sgemm", prefix);
    BENCH_FUNCTION(library, name, peer->sgemm);
    snprintf(name, sizeof name, "%scblas_dgemm", prefix);
    BENCH_FUNCTION(library, name, peer->dgemm);
    peer->library = library;
    return peer->sgemm && peer->dgemm;
}

static void open_openblas(struct bench_peer *peer, const char *path, const char *prefix, int threads) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        mark_missing(peer, dlerror());
        return;
    }
    char name[64];
    void (*set_threads)(int);
    char *(*config)(void), *(*core)(void);
    snprintf(name, sizeof name, "%sopenblas_set_num_threads", prefix);
    BENCH_FUNCTION(library, name, set_threads);
    snprintf(name, sizeof name, "%sopenblas_get_config", prefix);
    BENCH_FUNCTION(library, name, config);
    snprintf(name, sizeof name, "%sopenblas_get_corename", prefix);
    BENCH_FUNCTION(library, name, core);
    if (!take_cblas(peer, library, prefix) || !set_threads || !config || !core) {
        mark_missing(peer, "the library lacks cblas_sgemm or openblas_get_config; install scipy-openblas32");
        return;
    }
    set_threads(threads);
    const char *text = config(); /* "OpenBLAS 0.3.34  NO_AFFINITY ..." */
    int length = (int)strcspn(text, " ");
    length += (int)strspn(text + length, " ");
    length += (int)strcspn(text + length, " ");
    snprintf(peer->detail, sizeof peer->detail, "%.*s, %s kernels", length, text, core());
}

/* The branches of mkl_types.h, MKL_CBWR_*. */
static const char *mkl_kernels(int branch) {
    enum { SSE4_2 = 8, AVX2 = 10, AVX512 = 12 };
    return branch >= AVX512 ? "AVX-512" : branch >= AVX2 ? "AVX2" : branch >= SSE4_2 ? "SSE4.2" : "default";
}

static void open_mkl(struct bench_peer *peer, const char *directory, int threads) {
    enum { INTEL = 0, SEQUENTIAL = 1, GNU = 3 }; /* mkl_service.h, mkl_set_threading_layer */
    char path[4096], runtime[4096];
    if (!bench_find_library(directory, "libmkl_rt.so", path, sizeof path)) {
        mark_missing(peer, "not installed; ./uk-setup peers installs it");
        return;
    }
    int layer = SEQUENTIAL;
    if (threads > 1) {
        /* Intel's OpenMP runtime is a package of its own; GNU's is on every system with gcc. */
        bool intel = bench_find_library(directory, "libiomp5.so", runtime, sizeof runtime) &&
                     dlopen(runtime, RTLD_NOW | RTLD_GLOBAL);
        layer = intel ? INTEL : GNU;
        if (!intel && !dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL)) {
            mark_missing(peer, "neither libiomp5 nor libgomp is there for its threads; install libgomp1");
            return;
        }
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        mark_missing(peer, dlerror());
        return;
    }
    int (*set_layer)(int);
    void (*set_threads)(int), (*version)(char *, int);
    int (*branch)(void);
    BENCH_FUNCTION(library, "MKL_Set_Threading_Layer", set_layer);
    BENCH_FUNCTION(library, "MKL_CBWR_Get_Auto_Branch", branch);
    BENCH_FUNCTION(library, "MKL_Set_Num_Threads", set_threads);
    BENCH_FUNCTION(library, "MKL_Get_Version_String", version);
    if (!take_cblas(peer, library, "") || !set_layer || !set_threads || !version || !branch) {
        mark_missing(peer, "libmkl_rt lacks cblas_sgemm or MKL_Set_Threading_Layer; install mkl from PyPI");
        return;
    }
    set_layer(layer);
    set_threads(threads);
    char text[200] = "";
    version(text, sizeof text - 1);
    text[strcspn(text, "\n")] = 0;
    for (size_t n = strlen(text); n && text[n - 1] == ' ';)
        text[--n] = 0;
    snprintf(peer->detail, sizeof peer->detail, "%s, %s kernels, %s", text, mkl_kernels(branch()),
             layer == SEQUENTIAL ? "sequential"
             : layer == INTEL    ? "Intel OpenMP"
                                 : "GNU OpenMP");
}

/* Debian's build includes CBLAS; BLIS_ARCH_TYPE selects the kernels. */
static void open_blis(struct bench_peer *peer, const char *path, int threads) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        mark_missing(peer, dlerror());
        return;
    }
    void (*set_threads)(int64_t);
    int (*architecture)(void);
    char *(*text)(int), *(*version)(void);
    BENCH_FUNCTION(library, "bli_thread_set_num_threads", set_threads);
    BENCH_FUNCTION(library, "bli_arch_query_id", architecture);
    BENCH_FUNCTION(library, "bli_arch_string", text);
    BENCH_FUNCTION(library, "bli_info_get_version_str", version);
    if (!take_cblas(peer, library, "") || !set_threads || !architecture || !text || !version) {
        mark_missing(peer, "the library lacks cblas_sgemm or bli_arch_query_id; package libblis4-pthread");
        return;
    }
    set_threads(threads);
    snprintf(peer->detail, sizeof peer->detail, "BLIS %s, %s kernels", version(), text(architecture()));
}

/* UK_PEERS_KEEP_ENV=1: the libraries follow the user's settings and their own choices. */
static bool keeps_environment(void) {
    const char *keep = getenv("UK_PEERS_KEEP_ENV");
    return keep && !strcmp(keep, "1");
}

static int takes_fast_path(void) {
    __builtin_cpu_init();
    return !keeps_environment() || __builtin_cpu_is("intel");
}

/* Called by MKL, under MKL's name and type. */
int (*mkl_serv_get_cpu_true(void))(void);
__attribute__((visibility("default"))) int (*mkl_serv_get_cpu_true(void))(void) {
    return takes_fast_path;
}

void bench_peers_set_variable(const char *name, const char *value) {
    if (keeps_environment())
        return;
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Settings that the libraries read when they are loaded; NULL: unset. */
void bench_peers_set_environment(int isa, int threads, bool bytes) {
    char count[16];
    snprintf(count, sizeof count, "%d", threads);
    const struct bench_peer_settings *p = &bench_isas[isa].peers;
    const struct {
        const char *name, *value;
    } settings[] = {
        {"OPENBLAS_CORETYPE", p->openblas},
        {"OPENBLAS_L2_SIZE", NULL},
        {"OPENBLAS_BLOCK_FACTOR", NULL},
        {"MKL_ENABLE_INSTRUCTIONS", p->mkl},
        {"BLIS_ARCH_TYPE", p->blis},
        {"LIBXSMM_TARGET", p->xsmm},
        {"ONEDNN_MAX_CPU_ISA", bytes ? p->onednn_bytes : p->onednn},
        {"MKL_CBWR", NULL}, /* reproducible results, at a cost */
        {"OMP_NUM_THREADS", count},
        {"OMP_WAIT_POLICY", "passive"},
        {"KMP_BLOCKTIME", "5"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        bench_peers_set_variable(settings[i].name, settings[i].value);
}

/* Debian's packages are unpacked below the directory, or installed. */
static bool find_debian(const char *directory, const char *prefix, const char *installed, char *path,
                        size_t size) {
    if (bench_find_library(directory, prefix, path, size))
        return true;
    snprintf(path, size, "%s", installed);
    return !access(path, R_OK);
}

/* Loads the libraries of Debian's OpenBLAS from the directory, if they are there; else the system's are used.
 */
static void load_before(const char *directory, const char *name) {
    char path[4096];
    if (bench_find_library(directory, name, path, sizeof path))
        dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

void bench_peers_open(struct bench_peers *peers, const char *directory, int isa, int threads) {
    static const char missing_text[] = "not installed; ./uk-setup peers installs it";
    struct bench_peer *openblas = &peers->peer[0], *mkl = &peers->peer[1], *system = &peers->peer[2],
                      *blis = &peers->peer[3];
    char path[4096];
    *openblas = (struct bench_peer){.name = "OpenBLAS"};
    *mkl = (struct bench_peer){.name = "MKL"};
    *system = (struct bench_peer){.name = "OpenBLAS of Debian"};
    *blis = (struct bench_peer){.name = "BLIS"};
    bench_peers_set_environment(isa, threads, false);
    load_before(directory, "libquadmath.so.0");
    load_before(directory, "libgfortran.so.5");
    if (bench_find_library(directory, "libscipy_openblas", path, sizeof path))
        open_openblas(openblas, path, "scipy_", threads);
    else
        mark_missing(openblas, missing_text);
    if (find_debian(directory, "libopenblasp-r",
                    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0", path, sizeof path))
        open_openblas(system, path, "", threads);
    else
        mark_missing(system, missing_text);
    if (find_debian(directory, "libblis.so.4", "/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4", path,
                    sizeof path))
        open_blis(blis, path, threads);
    else
        mark_missing(blis, missing_text);
    /* Last: libmkl_rt loads its parts into the global scope, where BLIS's cblas_sgemm would find MKL's
     * sgemm_. */
    open_mkl(mkl, directory, threads);
}

void bench_peer_run(const struct bench_peer *peer, const struct bench_gemm *g) {
    enum { COLUMN_MAJOR = 102, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* cblas.h */
    /* A row-major product is the column-major product of the swapped operands. */
    peer->sgemm(COLUMN_MAJOR, g->b_transposed ? TRANSPOSE : NO_TRANSPOSE,
                g->a_transposed ? TRANSPOSE : NO_TRANSPOSE, (int)g->n, (int)g->m, (int)g->k, 1.0f, g->b,
                (int)g->ldb, g->a, (int)g->lda, g->accumulate ? 1.0f : 0.0f, g->c, (int)g->ldc);
}
