/* SPDX-License-Identifier: Apache-2.0 */
/* Generates main() for a network that runs in a separate program, under an emulator or on a board, and has
 * boards time it. */
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "network.h"
#include "remote/remote.h"

/* ---- the generated program ---- */

/* Generates code that fills the inputs again before each run, because runs may overwrite them. */
static void put_inputs(struct uk_text *t, const struct uk_net_job *j) {
    const struct uk_network_tensor *input;
    static char base[1];

    uk_put(t, "static char *base, *saved;\nstatic const struct {\n    size_t at, bytes;\n} inputs[] = {");
    for (int i = 0; (input = uk_network_value(j->network, UK_NETWORK_INPUT, i)); i++)
        uk_put(t, "{%zu, %zu}, ",
               (size_t)((uintptr_t)uk_network_input(j->network, base, i) - (uintptr_t)base), input->bytes);
    uk_put(t,
           "{0, 0}};\n"
           "static void exchange(int back) {\n"
           "    char *at = saved;\n"
           "    for (size_t i = 0; inputs[i].bytes; at += inputs[i++].bytes)\n"
           "        if (back)\n"
           "            memcpy(base + %d + inputs[i].at, at, inputs[i].bytes);\n"
           "        else\n"
           "            memcpy(at, base + %d + inputs[i].at, inputs[i].bytes);\n"
           "}\n",
           UK_NET_HEAD, UK_NET_HEAD);
}

/* Generates code that times the whole network, or each layer during runs of all layers. */
static void put_timing(struct uk_text *t, const struct uk_net_job *j, const char *name, const char *passed) {
    put_inputs(t, j);
    uk_put(t,
           "static int32_t call(void) {\n"
           "    exchange(1);\n"
           "    return %1$s_run(base + %2$d%3$s);\n"
           "}\n"
           "static double spent[%4$d], last;\n"
           "static void ran(int layer) {\n"
           "    spent[layer] += uk_seconds() - last;\n"
           "    last = uk_seconds();\n"
           "}\n"
           "static int each_layer(int rounds) {\n"
           "    int32_t status = 0;\n"
           "    for (int r = -1; r < rounds; r++) {\n"
           "        exchange(1);\n"
           "        memset(spent, 0, sizeof spent);\n"
           "        last = uk_seconds();\n"
           "        status |= %1$s_each(base + %2$d, ran%3$s);\n"
           "        for (int i = 0; i < %4$d && r >= 0; i++)\n"
           "            printf(\"%%.9g\\n\", spent[i]);\n"
           "    }\n"
           "    return status ? 3 : 0;\n"
           "}\n"
           "static int measure(char *block, size_t bytes, long layer, char **argv) {\n"
           "    base = block;\n"
           "    saved = malloc(bytes);\n"
           "    if (!saved)\n"
           "        return 2;\n"
           "    exchange(0);\n"
           "    return layer == %5$d ? each_layer(atoi(argv[0])) : uk_timing(call, argv);\n"
           "}\n",
           name, UK_NET_HEAD, passed, uk_net_layers(j), UK_NET_EACH);
}

/* Writes the sizes of this run as an array; returns the text that passes it. */
static const char *put_sizes(struct uk_text *t, const struct uk_net_job *j) {
    if (!uk_network_size(j->network, 0))
        return "";
    uk_put(t, "static const int64_t sizes[] = {");
    for (int i = 0; uk_network_size(j->network, i); i++)
        uk_put(t, "%lld, ", (long long)j->sizes[i]);
    uk_put(t, "};\n");
    return ", sizes";
}

/* Writes the function that maps the file of constants, if there is one, and gives it to the network. False:
 * that failed. */
static void put_constants(struct uk_text *t, const char *path, const char *name) {
    if (!path) {
        uk_put(t, "static int take_constants(void) {\n    return 1;\n}\n");
        return;
    }
    uk_put(t, "int %s_constants(const void *, size_t);\nstatic const char constants[] = {", name);
    for (const char *c = path; *c; c++)
        uk_put(t, "%d, ", (signed char)*c);
    uk_put(t,
           "0};\n"
           "static int take_constants(void) {\n"
           "    const int file = open(constants, O_RDONLY);\n"
           "    const off_t bytes = file < 0 ? 0 : lseek(file, 0, SEEK_END);\n"
           "    const void *at = bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, file, 0)\n"
           "                               : MAP_FAILED;\n"
           "    return at != MAP_FAILED && !%s_constants(at, (size_t)bytes);\n"
           "}\n",
           name);
}

char *uk_net_runner(const struct uk_net_job *j) {
    const char *name = uk_network_name(j->network);
    const bool is_timed = uk_board_in_use();
    const char *more = uk_network_size(j->network, 0) ? ", const int64_t *" : "";
    struct uk_text t = {0};

    uk_runner_put_runtime(&t, uk_runner_threads(&j->options));
    uk_put(&t,
           "#include <fcntl.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include "
           "<stdlib.h>\n"
           "#include <sys/mman.h>\n#include <unistd.h>\n"
           "size_t %1$s_memory(void);\nint %1$s_run(void *%2$s);\nint %1$s_step(void *, int%2$s);\n"
           "int %1$s_each(void *, void (*)(int)%2$s);\n",
           name, more);
    const char *passed = put_sizes(&t, j);
    put_constants(&t, j->arguments->constants, name);
    if (is_timed)
        put_timing(&t, j, name, passed);
    uk_put(
        &t,
        "int main(int argc, char **argv) {\n"
        "    char *path;\n"
        "    const long layer = argc >= 2 ? strtol(argv[1], &path, 10) : 0;\n"
        "    const int file = argc >= 2 ? open(path + 1, O_RDWR) : -1;\n"
        "    const size_t bytes = %d + %s_memory();\n"
        "    if (layer == %d)\n"
        "        return ftruncate(file, (off_t)bytes) != 0;\n"
        "    if (!take_constants()) {\n        perror(\"runner: the constants\");\n        return 1;\n    }\n"
        "    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);\n"
        "    if (base == MAP_FAILED) {\n        perror(\"runner: the memory\");\n        return 1;\n    }\n"
        "%s"
        "    *(int32_t *)(void *)base = layer < 0 ? %s_run(base + %d%s) : %s_step(base + %d, (int)layer%s);\n"
        "    return 0;\n}\n",
        UK_NET_HEAD, name, UK_NET_SIZE,
        is_timed ? "    if (argc > 2)\n        return measure(base, bytes, layer, argv + 2);\n" : "", name,
        UK_NET_HEAD, passed, name, UK_NET_HEAD, passed);
    return t.text;
}

/* ---- timing on a board ---- */

enum { ROUNDS = 9 };

static int64_t argument(const struct uk_net_job *j, int what, char *text, size_t size) {
    return snprintf(text, size, "%d@%s", what, uk_emulation_data(j->emulation));
}

int uk_net_time_all_on_board(struct uk_net_job *j) {
    const struct uk_timing how = {
        .rounds = 15, .cooldown = (int)j->arguments->cooldown, .flops = 2 * uk_net_multiply_adds(j)};
    struct uk_board_times times;
    char text[400];

    argument(j, UK_NET_ALL, text, sizeof text);
    const int status = uk_emulation_time(j->emulation, text, &how, &times);
    if (!status)
        uk_board_times_print(&times, &how, 0);
    return status;
}

int uk_net_time_layers_on_board(struct uk_net_job *j, int layers, double *seconds) {
    double *sample = calloc((size_t)layers * ROUNDS + 1, sizeof *sample);
    const struct uk_timing how = {.rounds = ROUNDS};
    char text[400];
    int n = 0;

    if (!sample)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    argument(j, UK_NET_EACH, text, sizeof text);
    FILE *f = NULL;
    int status = uk_emulation_measure(j->emulation, text, &how, &f);
    while (!status && n < layers * ROUNDS && fscanf(f, "%lf", &sample[n % layers * ROUNDS + n / layers]) == 1)
        n++;
    if (f)
        fclose(f);
    if (!status && n < layers * ROUNDS)
        status =
            uk_complain(UK_EXIT_WRONG, "measuring failed: %d of %d figures came back", n, layers * ROUNDS);
    for (int i = 0; i < layers && !status; i++)
        seconds[i] = bench_median(sample + (size_t)i * ROUNDS, ROUNDS);
    free(sample);
    return status;
}
