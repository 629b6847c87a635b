/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boards: other machines, which run what is compiled here. uk reaches one by the system's ssh, over one
 * connection; a shell there watches the standard input that uk holds open, and when that ends, for whatever
 * reason, ends what runs there and removes the folder that all files of uk are in. What the board needs is
 * sshd and a POSIX shell with the usual small programs.
 */
#ifndef UK_REMOTE_H
#define UK_REMOTE_H

#include "uk.h"

/* ---- host.c: what the options say, as lists of words that no local shell sees ---- */

struct uk_host {
    char user[128], name[256]; /* user: may be empty */
    int port;                  /* 0: ssh's */
};

/* [USER@]HOST[:PORT], or [USER@][ADDRESS]:PORT with the brackets written. Exit status. */
int uk_host_parse(struct uk_host *h, const char *text);

enum { UK_WORDS = 32 };
struct uk_words {
    int count;
    char *word[UK_WORDS + 1]; /* ended by NULL */
    char text[1024];
};
/* Splits at blanks; ' and " and \ quote, as in a shell. Exit status; `option` is named in complaints. */
int uk_words_split(struct uk_words *w, const char *option, const char *text);
/* Adds a word quoted for a shell there, after a blank if it is not the first. */
void uk_put_quoted(struct uk_text *t, const char *word);

/* ---- guard.c: the local folder of a board's connection ---- */

struct uk_guard {
    char folder[64];
    int pipe;  /* held open as long as the folder is needed */
    int child; /* a process that removes the folder when the pipe closes: also when uk is killed */
};
/* Makes the folder. Exit status. */
int uk_guard_begin(struct uk_guard *g);
void uk_guard_end(struct uk_guard *g);

/* ---- sha256.c ---- */

enum { UK_SHA256_TEXT = 65 };
/* In hexadecimal. */
void uk_sha256(const void *bytes, size_t length, char text[UK_SHA256_TEXT]);

/* ---- board.c: the connection ---- */

enum { UK_BOARD_PROGRAMS = 64, UK_BOARD_ARGUMENTS = UK_WORDS + 48 };

struct uk_board {
    const char *text; /* as the user wrote it */
    const struct uk_arguments *arguments;
    struct uk_host host;
    struct uk_words ssh, prefix;
    struct uk_guard guard;
    char control[90 + 1], port[8];
    int to, from, master; /* the connection's own session, and its process; -1 */
    /* What the shell there says of the board. */
    char folder[256], system[32], machine[32], cpu[128], libc[32], features[4096];
    bool no_exec, has_sha256, has_flock;
    bool probed; /* features are named as archs.def has them, not as /proc/cpuinfo */
    bool holds;  /* signals */
    /* The program that has its GPU, while it runs: the ends of what goes to it and comes from it, its ssh;
     * -1. */
    int gpu_link, gpu_ssh;
    char gpu_program[64];
    /* Programs that are there already, by their hashes. */
    char uploaded[UK_BOARD_PROGRAMS][UK_SHA256_TEXT];
    int uploads;
};

/* Connects, and learns what the board is. Exit status; close it in any case. */
int uk_board_open(struct uk_board *b, const struct uk_arguments *a, const char *host);
void uk_board_close(struct uk_board *b);
/* That of the command, which runs there what else would run under an emulator; NULL: there is none. */
struct uk_board *uk_board_in_use(void);
void uk_board_use(struct uk_board *b);

/* The words of ssh for a command there: over the connection, or the one that makes it. */
void uk_board_command(const struct uk_board *b, const char *argv[UK_BOARD_ARGUMENTS], bool is_master,
                      const char *command);

/* ---- session.c: a command there; exit statuses, and what went wrong has been said ---- */

/* Runs `body` of a shell in the board's folder, with those words as $1, $2, ...; `in` and `out` are files, -1
 * for none. The exit status there, or -1 if it did not end there; `doing` names it in what is said then. */
int uk_board_shell(struct uk_board *b, const char *doing, const char *body, char *const words[], int in,
                   int out);
/* The words of such a command as the shell there takes them; free it. NULL: no memory. */
char *uk_board_script(const struct uk_board *b, const char *body, char *const words[]);
/* The last line of a file of what programs said, cut to size, without control characters. */
void uk_last_line(const char *path, char *text, size_t size);
/* Files to the folder and back. */
int uk_board_upload(struct uk_board *b, const char *path, const char *name);
int uk_board_download(struct uk_board *b, const char *name, const char *path);
/* Has the program there, once within a command; `name` is how it is called there. */
int uk_board_program(struct uk_board *b, const char *path, char *name, size_t size);
/* Runs a program that is there, after the words of --remote-prefix, with its standard output in a file, or
 * nowhere if that is NULL. `locked`: alone among those of all users who time there. */
int uk_board_run(struct uk_board *b, const char *name, char *const words[], const char *out, bool locked);
/* The command of a shell there that runs the words of a program; locked: as above, and who has to wait is
 * told. Exit status. */
int uk_board_body(struct uk_board *b, bool locked, const char **body);
/* How a program there has ended, in words, by the exit status of its ssh (-1: none), and what it said last.
 * */
void uk_board_ended(const struct uk_board *b, const char *name, int result, const char *said, char *text,
                    size_t size);
/* Removes the programs and operands that are in the folder. */
void uk_board_forget(struct uk_board *b);
/* Ends all that runs there. */
void uk_board_stop(struct uk_board *b);

/* ---- fits.c: which target's code the board runs ---- */

/* Whether it has what the target needs. With a prefix a probe of a few kilobytes, run after it, says what
 * there is. Exit status. */
int uk_board_fits(struct uk_board *b, const char *target);
/* The strongest target whose code it runs, with the features that the board has besides; NULL: none is known
 * for it. */
const char *uk_board_target(const struct uk_board *b, char *text, size_t size);
/* Sets what there is to what the probe says. Exit status. */
int uk_board_probe(struct uk_board *b, const char *target);
struct uk_arch;
/* Whether `uname -m` there says that architecture. */
bool uk_board_is(const struct uk_board *b, const struct uk_arch *arch);

/* ---- times.c: what a program that times itself there writes (timing_program.c) ---- */

struct uk_timing {
    int rounds, cooldown; /* seconds of rest before each */
    double flops;         /* of one call; 0: nothing to compare with the peak */
};
struct uk_board_times {
    double seconds, fastest, slowest, percent, peak; /* medians of the rounds, but fastest and slowest */
    double cost,
        interval; /* seconds by operations of the peak beside them, and how far that may be off, of 1 */
    int threads, rounds, cpu, fell; /* in so many rounds the frequency fell */
    long before, after;             /* kHz, of the first such round; else of the last round */
    char governor[32];              /* "": unknown */
    long least, most;               /* kHz; 0: unknown */
    char gpu[256]; /* a GPU's name, where that measured; "": a CPU, with its peak beside it */
};
/* Exit status. */
int uk_board_times_read(struct uk_board_times *t, FILE *f, const struct uk_timing *how);
void uk_board_times_print(const struct uk_board_times *t, const struct uk_timing *how, double bytes);

/* Of n samples of a GPU, which are sorted. */
void uk_board_times_of_gpu(struct uk_board_times *t, double *seconds, int n, const char *name);

/* ---- gpu_build.c: the program that has a board's GPU ---- */

/* Links it for the CPU there; its path. Exit status. */
int uk_board_gpu_build(const struct uk_board *b, char *program, size_t size);
/* The newest version of GLIBC whose functions the program calls, as 1000 * major + minor; 0: it says none. */
int uk_glibc_needed(const char *elf, size_t length);

/* ---- gpu_board.c: the GPU of a board, as one of this process ---- */

/* Starts that program, which looks whether there is a GPU. Exit status. */
int uk_board_gpu_begin(struct uk_board *b, const char *target);
void uk_board_gpu_end(struct uk_board *b);
/* What launches is kept there from now on, and what uploads if `what` is UK_RECORD_ALL; the replay times
 * that, again and again: how->rounds seconds. On failure there is a message. */
enum { UK_RECORD_LAUNCHES = 1, UK_RECORD_ALL = 2 };
enum uk_status uk_board_gpu_record(int what, char *message);
enum uk_status uk_board_gpu_replay(const struct uk_timing *how, double *seconds, char *message);

/* ---- relay.c: a guest of uk verify on a board ---- */

/* Its source, with what receives cases there; free it. NULL: no memory. */
char *uk_relay_guest(const char *source);
/* The command that has the file's cases run by the program there; it stays until the next call. NULL: what is
 * wrong has been said. */
char *const *uk_relay_command(struct uk_board *b, const char *program);
/* Whether uk has been started as that command, and what it then does. */
bool uk_is_relay(int argc, char **argv);
int uk_relay(char **argv);

/* ---- remote.c ---- */

/* Checks the options that are about boards; a command that has --remote runs with a board in use. Exit
 * status. */
int uk_run_on_board(const struct uk_arguments *a, int (*run)(const struct uk_arguments *));

#endif
