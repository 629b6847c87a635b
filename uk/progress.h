/* SPDX-License-Identifier: Apache-2.0 */
/* The current activity and the elapsed time on standard error. */
#ifndef UK_PROGRESS_H
#define UK_PROGRESS_H

/* The current activity, such as "compiling layer", 37 of 101. what = NULL: the text of
 * uk_progress_begin_items(); of = 0: without numbers. */
struct uk_progress_item {
    const char *what;
    int number, of;
};
/* Shows `text` on standard error, with the elapsed time, until uk_progress_end(). Calls do not nest. */
void uk_progress_begin(const char *text);
/* Like uk_progress_begin(), with the activity that items() returns; a signal handler calls it. */
void uk_progress_begin_items(const char *text, struct uk_progress_item items(const void *), const void *user);
void uk_progress_end(void);

#endif
