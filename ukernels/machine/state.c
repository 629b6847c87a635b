/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the core that kernels need: x86's matrix tiles (Intel's manual, volume 1, chapter 18). Linux
 * grants them to a process that asks for the permission by arch_prctl (Documentation/arch/x86/xstate.rst),
 * and only then do instructions on tiles not end in a signal.
 */
#define _GNU_SOURCE /* syscall */
#include <stdatomic.h>
#include "machine.h"
#include "ukernels.h"
#if defined __x86_64__
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool ask(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

    return uk_cpu_has("amx-tile") && !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
}

__attribute__((target("amx-tile"))) static void load(void) {
    _tile_loadconfig(&uk_tile_configuration);
}

__attribute__((target("amx-tile"))) static void release(void) {
    _tile_release();
}
#else
static bool ask(void) {
    return false;
}

static void load(void) {
}

static void release(void) {
}
#endif

static bool is_granted(enum uk_state state) {
    enum { UNKNOWN, GRANTED, REFUSED };
    static _Atomic int answer = UNKNOWN; /* several threads may ask: each gets the same answer */

    if (state == UK_STATE_NONE)
        return true;
    if (state != UK_STATE_TILES)
        return false;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == UNKNOWN) {
        known = ask() ? GRANTED : REFUSED;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == GRANTED;
}

enum uk_status uk_state_load(enum uk_state state) {
    if (state != UK_STATE_NONE && state != UK_STATE_TILES)
        return UK_INVALID_ARGUMENT;
    if (!is_granted(state))
        return UK_UNSUPPORTED;
    if (state == UK_STATE_TILES)
        load();
    return UK_OK;
}

void uk_state_release(enum uk_state state) {
    if (state == UK_STATE_TILES && is_granted(state))
        release();
}
