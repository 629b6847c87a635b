/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boards: other machines that run what is compiled here. uk reaches a board by the system's ssh, over one
 * connection. A shell on the board watches its standard input, which uk holds open. When that input ends, for
 * whatever reason, the shell ends all of uk's programs on the board and removes the folder with uk's files.
 * The board needs sshd and a POSIX shell with the usual utilities.
 */
#ifndef UK_REMOTE_H
#define UK_REMOTE_H

#include "uk.h"

/* ---- host.c: parses the options; commands are lists of words, so no local shell interprets them ---- */

struct uk_host {
    char user[128], name[256]; /* user: may be empty */
    int port;                  /* 0: ssh's default */
};

/* Parses [USER@]HOST[:PORT], or [USER@][ADDRESS]:PORT with literal brackets. Exit status. */
int uk_host_parse(struct uk_host *h, const char *text);

enum { UK_WORDS = 32 };
struct uk_words {
    int count;
    char *word[UK_WORDS + 1]; /* ends with NULL */
    char text[1024];
};
/* Splits at blanks; ' and " and \ quote as in a shell. `option` is named in errors. Exit status. */
int uk_words_split(struct uk_words *w, const char *option, const char *text);
/* Appends a word, quoted for the board's shell, with a blank before it unless it is the first. */
void uk_put_quoted(struct uk_text *t, const char *word);

/* ---- guard.c: temporary local folder of a board's connection ---- */

struct uk_guard {
    char folder[64];
    int pipe;  /* open as long as the folder is needed */
    int child; /* process that removes the folder when the pipe closes, even if uk is killed */
};
/* Creates the folder. Exit status. */
int uk_guard_begin(struct uk_guard *g);
void uk_guard_end(struct uk_guard *g);

/* ---- sha256.c ---- */

enum { UK_SHA256_TEXT = 65 };
/* The hash in hexadecimal. */
void uk_sha256(const void *bytes, size_t length, char text[UK_SHA256_TEXT]);

/* ---- board.c: the connection ---- */

enum { UK_BOARD_PROGRAMS = 64, UK_BOARD_ARGUMENTS = UK_WORDS + 48 };

struct uk_board {
    const char *text; /* as given by the user */
    const struct uk_arguments *arguments;
    struct uk_host host;
    struct uk_words ssh, prefix;
    struct uk_guard guard;
    char control[90 + 1], port[8];
    int to, from, master; /* pipes to the session's shell, and the process of the connection; -1: none */
    /* Facts that the board's shell reports. */
    char folder[256], system[32], machine[32], cpu[128], libc[32], features[4096];
    bool no_exec, has_sha256, has_flock;
    bool probed;        /* names of `features` are those of archs.def, not of /proc/cpuinfo */
    bool holds_signals; /* holds signals, see uk_hold_signals() */
    /* Socket to the program that drives the board's GPU, and the process of its ssh; -1: it does not run. */
    int gpu_link, gpu_ssh;
    char gpu_program[64];
    /* Hashes of the programs already uploaded. */
    char uploaded[UK_BOARD_PROGRAMS][UK_SHA256_TEXT];
    int uploads;
};

/* Connects and queries the board. Exit status; call uk_board_close() in any case. */
int uk_board_open(struct uk_board *b, const struct uk_arguments *a, const char *host);
void uk_board_close(struct uk_board *b);
/* The board of the current command, which takes the emulator's place; NULL: none. */
struct uk_board *uk_board_in_use(void);
void uk_board_use(struct uk_board *b);

/* Fills argv with the ssh command line for a command on the board, over the existing connection or, if
 * is_master, one that creates it. */
void uk_board_command(const struct uk_board *b, const char *argv[UK_BOARD_ARGUMENTS], bool is_master,
                      const char *command);

/* ---- session.c: commands on the board; functions have printed what went wrong ---- */

/* Runs `body` in a shell in the board's folder, with `words` as $1, $2, ...; `in` and `out` are file
 * descriptors, -1 for none. Returns the command's exit status, or -1 if the connection failed; `doing` names
 * the action in that error. */
int uk_board_shell(struct uk_board *b, const char *doing, const char *body, char *const words[], int in,
                   int out);
/* Quotes such a command for the board's shell; the caller frees it. NULL: out of memory. */
char *uk_board_script(const struct uk_board *b, const char *body, char *const words[]);
/* Copies the last line of a file of error output, cut to `size`, without control characters. */
void uk_last_line(const char *path, char *text, size_t size);
/* Copies a file to the board's folder, or back. Exit status. */
int uk_board_upload(struct uk_board *b, const char *path, const char *name);
int uk_board_download(struct uk_board *b, const char *name, const char *path);
/* Ensures that the program is on the board; uploads it at most once per command. `name` receives its name
 * there. Exit status. */
int uk_board_program(struct uk_board *b, const char *path, char *name, size_t size);
/* Runs an uploaded program with --remote-prefix before it. Its standard output goes to the file `out`; NULL:
 * it is discarded. `locked`: takes the board's lock for timing, which all users share. Exit status. */
int uk_board_run(struct uk_board *b, const char *name, char *const words[], const char *out, bool locked);
/* Sets *body to the shell command that runs a program's words; `locked` as in uk_board_run(), and tells the
 * user if it has to wait. Exit status. */
int uk_board_body(struct uk_board *b, bool locked, const char **body);
/* Describes how a program ended, from the exit status of its ssh (-1: none) and its last error output
 * `said`. */
void uk_board_ended(const struct uk_board *b, const char *name, int result, const char *said, char *text,
                    size_t size);
/* Removes programs and operands from the board's folder. */
void uk_board_forget(struct uk_board *b);
/* Ends all of uk's programs on the board. */
void uk_board_stop(struct uk_board *b);

/* ---- fits.c: which targets' code the board runs ---- */

/* Checks that the board has the target's features. With --remote-prefix, a small probe program run under the
 * prefix reports them. Exit status. */
int uk_board_fits(struct uk_board *b, const char *target);
/* The strongest target whose code the board runs, plus the board's further features; NULL: no target is known
 * for it. */
const char *uk_board_target(const struct uk_board *b, char *text, size_t size);
/* Replaces the features by those that the probe reports. Exit status. */
int uk_board_probe(struct uk_board *b, const char *target);
struct uk_arch;
/* True if the board's `uname -m` names that architecture. */
bool uk_board_is(const struct uk_board *b, const struct uk_arch *arch);

/* ---- times.c: results of a program that times itself on the board (timing_program.c) ---- */

struct uk_timing {
    int rounds, cooldown; /* cooldown: seconds of rest before each round */
    double flops;         /* operations per call; 0: no comparison with the peak */
};
struct uk_board_times {
    /* medians over the rounds, except fastest and slowest; peak in operations per second */
    double seconds, fastest, slowest, percent, peak;
    /* cost: seconds x operations per second of the peak loop run next to them, which cancels changes of
     * frequency. interval: relative uncertainty of cost. */
    double cost, interval;
    int threads, rounds, cpu, slow_rounds; /* slow_rounds: those in which the frequency fell */
    long frequency_before,
        frequency_after; /* kHz, in the first round in which the frequency fell, else in the last round */
    char governor[32];   /* "": unknown */
    long min_frequency, max_frequency; /* limits of the frequency in kHz; 0: unknown */
    char gpu[256];                     /* name of the GPU that was timed; "": a CPU, compared with its peak */
};
/* Reads the times. Exit status. */
int uk_board_times_read(struct uk_board_times *t, FILE *f, const struct uk_timing *how);
void uk_board_times_print(const struct uk_board_times *t, const struct uk_timing *how, double bytes);

/* Sets the times from n samples in seconds measured on a GPU; sorts them. */
void uk_board_times_of_gpu(struct uk_board_times *t, double *seconds, int n, const char *name);

/* ---- gpu_build.c: the program that drives a board's GPU ---- */

/* Links the program for the board's CPU and sets `program` to its path. Exit status. */
int uk_board_gpu_build(const struct uk_board *b, char *program, size_t size);
/* The newest GLIBC version that the program needs, as 1000 * major + minor; 0: it names none. */
int uk_glibc_needed(const char *elf, size_t length);

/* ---- gpu_board.c: the board's GPU as a device of this process ---- */

/* Starts the program, which checks for a GPU, and registers the device. Exit status. */
int uk_board_gpu_begin(struct uk_board *b, const char *target);
void uk_board_gpu_end(struct uk_board *b);
/* Starts recording launches on the board, and uploads too if `what` is UK_RECORD_ALL. The replay times them
 * how->rounds times, in seconds. On failure `message` says why. */
enum { UK_RECORD_LAUNCHES = 1, UK_RECORD_ALL = 2 };
enum uk_status uk_board_gpu_record(int what, char *message);
enum uk_status uk_board_gpu_replay(const struct uk_timing *how, double *seconds, char *message);

/* ---- relay.c: a guest of uk verify on a board ---- */

/* Adds to the guest's source the code that receives cases on the board; the caller frees the result. NULL:
 * out of memory. */
char *uk_relay_guest(const char *source);
/* The command that makes `program` run the cases of a file on the board; valid until the next call. NULL: the
 * error has been printed. */
char *const *uk_relay_command(struct uk_board *b, const char *program);
/* uk_is_relay() is true if uk was started as that command; uk_relay() then does its work. */
bool uk_is_relay(int argc, char **argv);
int uk_relay(char **argv);

/* ---- remote.c ---- */

/* Checks the options about boards and calls `run`, with --remote's board in use. Exit status. */
int uk_run_on_board(const struct uk_arguments *a, int (*run)(const struct uk_arguments *));

#endif
