/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of vendor.c's libraries that tests call, by dlsym. */
#ifndef UK_TESTS_GPU_VENDOR_H
#define UK_TESTS_GPU_VENDOR_H

/* Makes the n-th call from now fail, 0: none; forgets faults of launches. */
void fake_fail_at(long call);
/* True if that call was reached. */
int fake_has_failed(void);
/* Number of contexts, allocations, modules and events not yet freed. */
long fake_alive(void);

#endif
