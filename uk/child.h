/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes, and signals that come while one runs. */
#ifndef UK_CHILD_H
#define UK_CHILD_H

#include <stdbool.h>

/* Defers signals that would end uk: they end the program that uk_run_child() waits for, with its descendants,
 * so that uk can remove its files. Calls nest; each needs a uk_release_signals(). */
void uk_hold_signals(void);
/* Ends a uk_hold_signals(). The outermost one restores the handlers; if a signal came meanwhile, uk ends
 * here. */
void uk_release_signals(void);
/* In a process that was forked while signals were held: forgets the parent's holds. */
void uk_begin_signals(void);
/* True if a signal came since signals were held. */
bool uk_is_interrupted(void);
/* Runs a program found on PATH and waits for it. Returns its status as waitpid() does, or -1 and errno; the
 * value is undefined if uk_is_interrupted(). */
int uk_run_child(char *const argv[]);
/* Like uk_run_child(), with these as standard input, output and error; -1: uk's own. files = NULL: uk's own
 * for all three. */
int uk_run_child_on(char *const argv[], const int files[3]);
/* Starts a program in a process group of its own. *open_end is the read end of a pipe that the program and
 * its descendants hold open, so end of file means that all have ended. Returns 0 or an errno value. */
int uk_start_child(char *const argv[], const int files[3], int *open_end, int *pid);

#endif
