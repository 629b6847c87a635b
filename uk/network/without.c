/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the commands on networks in a build without libuknetworks. */
#include "uk.h"

static int refuse_network_command(const struct uk_arguments *a) {
    return uk_complain(UK_EXIT_WRONG, "%s: this uk was built without networks; build it with -Dnetworks=true",
                       a->positional[0]);
}

int uk_run_network(const struct uk_arguments *a) {
    return refuse_network_command(a);
}

int uk_compile_network(const struct uk_arguments *a) {
    return refuse_network_command(a);
}

int uk_explain_network(const struct uk_arguments *a) {
    return refuse_network_command(a);
}

int uk_tune_network(const struct uk_arguments *a) {
    return refuse_network_command(a);
}
