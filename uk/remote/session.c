/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands on a board, each in its own session over the board's connection. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "child.h"
#include "file.h"
#include "remote.h"

void uk_last_line(const char *path, char *text, size_t size) {
    FILE *f = fopen(path, "r");
    char line[1024];

    *text = 0;
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line)
            snprintf(text, size, "%s", line);
    }
    if (f)
        fclose(f);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
}

/* ---- a session ---- */

/*
 * Script around each command. sshd makes a session the leader of a process group; the script records the
 * group's number for the shell that watches (board.c) before it does anything else. If that shell has begun
 * to end everything, it has renamed the folder: either it finds the number, or the second look at the folder
 * below fails.
 */
static const char before[] = "cd \"$1\" && umask 077 || exit 254\n"
                             "read -r a b c e g z </proc/$$/stat\n"
                             "case $g in $$) k=-$$;; *) k=$$;; esac\n"
                             "echo $k >.t$$ && mv .t$$ group.$$ && cd \"$1\" || exit 254\n"
                             "shift\n";
static const char after[] = "\ns=$?; rm -f group.$$; exit $s\n";
/* 125 is the failure status of env, timeout and other programs that may be a prefix. */
enum { FOLDER_GONE = 254, CANNOT_RUN = 126, NOT_FOUND = 127, SIGNALLED = 128, LOST = 255 };

/* The file with a session's standard error; named by this process, because other processes may use the board
 * too. */
static void error_output_path(const struct uk_board *b, char *path, size_t size) {
    snprintf(path, size, "%s/said.%d", b->guard.folder, (int)getpid());
}

static void last_error_line(const struct uk_board *b, char *text, size_t size) {
    char path[96];

    error_output_path(b, path, sizeof path);
    uk_last_line(path, text, size);
}

static int report_lost_connection(const struct uk_board *b, const char *doing) {
    char said[256];

    last_error_line(b, said, sizeof said);
    uk_complain(0, "--remote=%s: the connection was lost while %s%s%s", b->text, doing, *said ? ": " : "",
                said);
    return -1;
}

static int run_ssh(struct uk_board *b, const char *command, int in, int out) {
    const char *argv[UK_BOARD_ARGUMENTS];
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    char path[96];

    error_output_path(b, path, sizeof path);
    const int said = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uk_board_command(b, argv, false, command);
    const int files[3] = {in >= 0 ? in : nowhere, out >= 0 ? out : nowhere, said};
    const int result = said < 0 || nowhere < 0 ? -1 : uk_run_child_on((char *const *)argv, files);
    const int error = errno;
    close(said);
    close(nowhere);
    errno = error;
    return result;
}

char *uk_board_script(const struct uk_board *b, const char *body, char *const words[]) {
    struct uk_text command = {0}, script = {0};

    uk_put(&script, "%s%s%s", before, body, after);
    uk_put(&command, "exec sh -c");
    uk_put_quoted(&command, script.text ? script.text : "");
    uk_put_quoted(&command, "uk");
    uk_put_quoted(&command, b->folder);
    for (; words && *words; words++)
        uk_put_quoted(&command, *words);
    const bool failed = script.failed || command.failed;
    free(script.text);
    if (!failed)
        return command.text;
    free(command.text);
    return NULL;
}

int uk_board_shell(struct uk_board *b, const char *doing, const char *body, char *const words[], int in,
                   int out) {
    char *command = uk_board_script(b, body, words);
    const int result = command ? run_ssh(b, command, in, out) : -1;
    const int error = command ? errno : ENOMEM;

    free(command);
    if (uk_is_interrupted())
        return -1;
    if (result < 0) {
        uk_complain(0, "cannot start %s: %s", b->ssh.word[0], strerror(error));
        return -1;
    }
    if (WIFSIGNALED(result) || WEXITSTATUS(result) == LOST || WEXITSTATUS(result) == FOLDER_GONE)
        return report_lost_connection(b, doing);
    return WEXITSTATUS(result);
}

/* ---- files ---- */

/* Describes a transfer and its size, for error messages. */
static void name_transfer(char *text, size_t size, const char *verb, const char *name, off_t bytes) {
    snprintf(text, size, "%s %s (%lld bytes)", verb, name, (long long)bytes);
}

int uk_board_upload(struct uk_board *b, const char *path, const char *name) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    char *const words[] = {(char *)name, NULL};
    char doing[128], said[256];
    struct stat st;

    if (file < 0 || fstat(file, &st)) {
        uk_complain(0, "%s: %s", path, strerror(errno));
        if (file >= 0)
            close(file);
        return UK_EXIT_WRONG;
    }
    name_transfer(doing, sizeof doing, "uploading", name, st.st_size);
    const int result = uk_board_shell(b, doing, "cat >\"$1\" && chmod 700 \"$1\"", words, file, -1);
    close(file);
    if (result <= 0)
        return result ? UK_EXIT_WRONG : UK_EXIT_OK;
    last_error_line(b, said, sizeof said);
    return uk_complain(
        UK_EXIT_WRONG,
        "--remote=%s: %s (%lld bytes) cannot be written to %s: %s; choose another place by --remote-dir=DIR",
        b->text, name, (long long)st.st_size, b->folder, *said ? said : "no reason was given");
}

int uk_board_download(struct uk_board *b, const char *name, const char *path) {
    /* No O_TRUNC: the file may be mapped and must never become shorter. */
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char *const words[] = {(char *)name, NULL};
    char doing[128], said[256];

    if (file < 0)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", path, strerror(errno));
    snprintf(doing, sizeof doing, "downloading %s", name);
    const int result = uk_board_shell(b, doing, "cat \"$1\"", words, -1, file);
    const off_t length = lseek(file, 0, result ? SEEK_END : SEEK_CUR);
    if ((close(file) || truncate(path, length)) && !result)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", path, strerror(errno));
    if (result <= 0)
        return result ? UK_EXIT_WRONG : UK_EXIT_OK;
    last_error_line(b, said, sizeof said);
    return uk_complain(UK_EXIT_WRONG, "--remote=%s: %s cannot be read there: %s", b->text, name, said);
}

/* ---- programs ---- */

/*
 * Script of --remote-keep: $1 is the program's SHA-256, $2 its name in the folder. It copies the kept program
 * into the folder and hashes the copy, which nobody else can change. A mismatch, such as an interrupted
 * upload, is replaced.
 */
static const char find_kept[] = "c=$HOME/.cache/ukernels; [ -f \"$c/$1\" ] || exit 1\n"
                                "chmod 700 \"$c\" && cp \"$c/$1\" \"$2\" && chmod 700 \"$2\" && echo \"$1  "
                                "$2\" | sha256sum -c >/dev/null 2>&1";
static const char keep[] =
    "c=$HOME/.cache/ukernels; echo \"$1  $2\" | sha256sum -c >/dev/null || exit 1\n"
    "mkdir -p \"$c\" && chmod 700 \"$c\" && { cp \"$2\" \"$c/$1\" || { rm -f \"$c/$1\"; false; }; }";

static int keep_program(struct uk_board *b, const char *hash, const char *name) {
    char *const words[] = {(char *)hash, (char *)name, NULL};
    char said[256];
    const int result = uk_board_shell(b, "keeping the program", keep, words, -1, -1);

    if (result <= 0)
        return result ? UK_EXIT_WRONG : UK_EXIT_OK;
    last_error_line(b, said, sizeof said);
    return uk_complain(UK_EXIT_WRONG,
                       "--remote-keep: the program cannot be kept in ~/.cache/ukernels of %s: %s", b->text,
                       said);
}

int uk_board_program(struct uk_board *b, const char *path, char *name, size_t size) {
    char hash[UK_SHA256_TEXT];
    size_t length;
    char *bytes = uk_read_file(path, &length);

    if (!bytes)
        return UK_EXIT_WRONG;
    uk_sha256(bytes, length, hash);
    free(bytes);
    snprintf(name, size, "./program-%.16s", hash);
    for (int i = 0; i < b->uploads; i++)
        if (!strcmp(b->uploaded[i], hash))
            return UK_EXIT_OK;
    char *const words[] = {hash, name, NULL};
    const int kept = b->arguments->remote_keep
                         ? uk_board_shell(b, "looking for the program", find_kept, words, -1, -1)
                         : 1;
    int status = kept < 0 ? UK_EXIT_WRONG : kept ? uk_board_upload(b, path, name) : UK_EXIT_OK;
    if (!status && kept && b->arguments->remote_keep)
        status = keep_program(b, hash, name);
    if (!status && b->uploads < UK_BOARD_PROGRAMS)
        memcpy(b->uploaded[b->uploads++], hash, sizeof hash);
    return status;
}

void uk_board_ended(const struct uk_board *b, const char *name, int result, const char *said, char *text,
                    size_t size) {
    if (result > SIGNALLED && result != LOST && strsignal(result - SIGNALLED))
        snprintf(text, size, "the program was ended there by signal %d (%s)", result - SIGNALLED,
                 strsignal(result - SIGNALLED));
    else if (result == CANNOT_RUN || result == NOT_FOUND)
        snprintf(text, size, "%s cannot be started there%s%s%s: %s", name, b->prefix.count ? " after '" : "",
                 b->prefix.count ? b->arguments->remote_prefix : "", b->prefix.count ? "'" : "", said);
    else if (result < 0 || result == LOST || result == FOLDER_GONE)
        snprintf(text, size, "the connection was lost while the program ran%s%s", *said ? ": " : "", said);
    else
        snprintf(text, size, "the program failed there with exit status %d: %s", result, said);
}

static int report_failure(const struct uk_board *b, const char *name, int result) {
    char said[256], text[1024];

    last_error_line(b, said, sizeof said);
    uk_board_ended(b, name, result, said, text, sizeof text);
    return uk_complain(UK_EXIT_WRONG, "--remote=%s: %s", b->text, text);
}

/* Locks /tmp, which any user may lock, or another folder agreed on (UK_REMOTE_LOCK); tells the user if it has
 * to wait. */
int uk_board_body(struct uk_board *b, bool locked, const char **body) {
    *body = locked && b->has_flock ? "exec 9<\"${UK_REMOTE_LOCK:-/tmp}\"; flock 9; \"$@\"" : "\"$@\"";
    if (!locked)
        return UK_EXIT_OK;
    if (!b->has_flock)
        fprintf(stderr, "uk: %s has no flock: other timings there at the same time may disturb this one\n",
                b->text);
    const int result = b->has_flock ? uk_board_shell(b, "looking at the lock",
                                                     "flock -n 9 9<\"${UK_REMOTE_LOCK:-/tmp}\"", NULL, -1, -1)
                                    : 0;

    if (result > 0)
        fprintf(stderr, "uk: %s: another timing runs there; waiting for it to end\n", b->text);
    return result < 0 ? UK_EXIT_WRONG : UK_EXIT_OK;
}

int uk_board_run(struct uk_board *b, const char *name, char *const words[], const char *out, bool locked) {
    char *argv[2 * UK_WORDS + 2];
    const char *body;
    int n = 0, file = -1, status = uk_board_body(b, locked, &body);

    for (int i = 0; i < b->prefix.count; i++)
        argv[n++] = b->prefix.word[i];
    argv[n++] = (char *)name;
    for (; words && *words && n < 2 * UK_WORDS; words++)
        argv[n++] = *words;
    argv[n] = NULL;
    if (status)
        return status;
    if (out && (file = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", out, strerror(errno));
    const int result = uk_board_shell(b, "the program ran", body, argv, -1, file);
    if (file >= 0)
        close(file);
    return result > 0 ? report_failure(b, name, result) : result ? UK_EXIT_WRONG : UK_EXIT_OK;
}

void uk_board_forget(struct uk_board *b) {
    b->uploads = 0;
    uk_board_shell(b, "removing files", "rm -f program-* data", NULL, -1, -1);
}

void uk_board_stop(struct uk_board *b) {
    uk_board_shell(b, "ending the program",
                   "for f in group.*; do [ $f = group.$$ ] || { read -r k <$f && kill -KILL $k; }; rm -f $f; "
                   "done 2>/dev/null; true",
                   NULL, -1, -1);
}
