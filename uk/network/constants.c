/* SPDX-License-Identifier: Apache-2.0 */
/* --constants: the file of a network's constants, which is written with its code. */
#include <string.h>
#include "gpu_run.h"
#include "network.h"

int uk_net_check_constants(const struct uk_arguments *a) {
    if (!a->constants)
        return UK_EXIT_OK;
    if (uk_gpu_kind_of(a->target))
        return uk_complain(UK_EXIT_USAGE,
                           "target %s is a GPU, which gets constants when it runs; leave --constants out",
                           a->target);
    if (a->remote)
        return uk_complain(UK_EXIT_USAGE, "--constants: a board gets the code with its constants, at most "
                                          "1 GiB; leave it out, or use the object there");
    if (!uk_is_emulated(a->target))
        return uk_complain(UK_EXIT_USAGE, "--constants: this process keeps constants of any size itself; "
                                          "leave it out");
    return strcmp(a->constants, "-") ? uk_check_output(a->constants)
                                     : uk_complain(UK_EXIT_USAGE, "--constants -: give the name of a file");
}

bool uk_net_put_constants(void *user, uint64_t offset, const void *bytes, size_t length) {
    struct uk_net_constants *c = user;

    if (!c->is_begun)
        uk_begin_pieces(&c->pieces, c->path);
    c->is_begun = true;
    return uk_put_piece(&c->pieces, offset, bytes, length);
}

int uk_net_not_emitted(const struct uk_net_job *j, const struct uk_net_constants *c) {
    return c->is_begun && c->pieces.error ? UK_EXIT_WRONG : uk_net_failed(j);
}

int uk_net_end_constants(struct uk_net_constants *c, int status) {
    return c->is_begun && uk_end_pieces(&c->pieces, !status) ? UK_EXIT_WRONG : status;
}
