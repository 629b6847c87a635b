/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of vendor.c's libraries that tests call, by dlsym. */
#ifndef UK_TESTS_GPU_VENDOR_H
#define UK_TESTS_GPU_VENDOR_H

/* The n-th call from now fails, and faults of launches are forgotten; 0: none does. */
void fake_fail_at(long call);
/* Whether that call was reached. */
int fake_has_failed(void);
/* Contexts, allocations, modules and events that were made and not freed. */
long fake_alive(void);

#endif
