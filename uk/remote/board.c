/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to a board. A master process of ssh shares its connection with later sessions; its own
 * session is the shell that watches over uk's files and programs. */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "child.h"
#include "remote.h"

static struct uk_board *in_use;

struct uk_board *uk_board_in_use(void) {
    return in_use;
}

void uk_board_use(struct uk_board *b) {
    in_use = b;
    /* Programs run here leave temporary files there, and they are removed with it. */
    setenv("TMPDIR", b->guard.folder, 1);
}

/* ---- the board's shell ---- */

/*
 * The shell script that watches. uk holds its standard input open; at end of file it first renames the run's
 * folder, then ends what runs. So a command that has not yet recorded its process group (session.c) finds no
 * folder and ends by itself. The folder lies inside one that only this user can write to; in /tmp another
 * user could create a folder with the new name.
 */
static const char watch[] =
    "umask 077; trap \"\" HUP INT TERM PIPE\n"
    "t=$1; [ -n \"$t\" ] || t=${TMPDIR:-/tmp}\n"
    "p=$(mktemp -d \"$t/uk-XXXXXXXX\") && d=$p/run && mkdir \"$d\" || { rm -rf \"$p\"; exit 1; }\n"
    "echo \"uk:folder $d\"\n"
    "echo \"uk:system $(uname -s)\"; echo \"uk:machine $(uname -m)\"\n"
    "echo \"#!/bin/sh\" >\"$d/t\" && chmod 700 \"$d/t\" && { \"$d/t\" 2>/dev/null || echo uk:no-exec; }; rm "
    "-f \"$d/t\"\n"
    "for w in sha256sum flock; do command -v $w >/dev/null && echo \"uk:has $w\"; done\n"
    "echo \"uk:libc $(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>/dev/null | sed -n \"1s/.* "
    "/glibc "
    "/p\")\"\n"
    "f= m=; while read -r k v; do case $k in Features|flags|isa) [ -n \"$f\" ] || { f=1; echo \"uk:features "
    "$v\"; };;\n"
    "model) case $v in name*) [ -n \"$m\" ] || { m=1; echo \"uk:cpu ${v#*: }\"; };; esac;;\n"
    "uarch) [ -n \"$m\" ] || { m=1; echo \"uk:cpu ${v#*: }\"; };; esac; done </proc/cpuinfo\n"
    "[ -n \"$m\" ] || echo \"uk:cpu $(tr -d \"\\000\" </proc/device-tree/model 2>/dev/null)\"\n"
    "echo uk:ready\n"
    "cat >/dev/null\n"
    "mv \"$d\" \"$p/end\"\n"
    "for g in \"$p\"/*/group.*; do read -r k <\"$g\" && kill -KILL \"$k\"; done 2>/dev/null\n"
    "rm -rf \"$p\" || { sleep 1; rm -rf \"$p\"; }\n"
    "echo uk:gone\n";

/* ---- ssh ---- */

/* Adds options that make ssh never prompt if there is no terminal, time out, and ignore the user's
 * configuration except host names and keys. */
static int put_options(const struct uk_board *b, const char **argv, bool is_master) {
    static const char *const options[] = {
        "ControlPersist=no",       "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3",
        "ClearAllForwardings=yes", "ForwardAgent=no",   "ForwardX11=no",         "RemoteCommand=none",
        "PermitLocalCommand=no",   "LogLevel=ERROR"};
    const bool asks = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    int n = 0;

    for (int i = 0; i < b->ssh.count; i++)
        argv[n++] = b->ssh.word[i];
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        argv[n++] = "-o";
        argv[n++] = options[i];
    }
    argv[n++] = "-o";
    argv[n++] = is_master && asks ? "BatchMode=no" : "BatchMode=yes";
    argv[n++] = "-o";
    argv[n++] = is_master ? "ControlMaster=yes" : "ControlMaster=no";
    if (!is_master) { /* without the shared connection, fail instead of opening another */
        argv[n++] = "-o";
        argv[n++] = "ProxyCommand=false";
    }
    argv[n++] = "-S";
    argv[n++] = b->control;
    argv[n++] = "-T";
    return n;
}

void uk_board_command(const struct uk_board *b, const char *argv[UK_BOARD_ARGUMENTS], bool is_master,
                      const char *command) {
    int n = put_options(b, argv, is_master);

    if (*b->host.user) {
        argv[n++] = "-l";
        argv[n++] = b->host.user;
    }
    if (b->host.port) {
        argv[n++] = "-p";
        argv[n++] = b->port;
    }
    argv[n++] = "--";
    argv[n++] = b->host.name;
    argv[n++] = command;
    argv[n] = NULL;
}

static void be_master(char *const *argv, pid_t parent, int in, int out, int said) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0)
        execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "uk:errno %d\n", errno);
    _exit(127);
}

static int start_master(struct uk_board *b) {
    const char *argv[UK_BOARD_ARGUMENTS];
    struct uk_text command = {0};
    char path[96];
    int in[2] = {-1, -1}, out[2], said;
    const pid_t parent = getpid();

    uk_put(&command, "exec sh -c");
    uk_put_quoted(&command, watch);
    uk_put_quoted(&command, "uk");
    uk_put_quoted(&command, b->arguments->remote_dir ? b->arguments->remote_dir : "");
    if (command.failed)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    uk_board_command(b, argv, true, command.text);
    snprintf(path, sizeof path, "%s/said", b->guard.folder);
    said = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (said < 0 || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
        uk_complain(0, "%s: %s", path, strerror(errno));
        free(command.text);
        for (int i = 0; i < 2; i++)
            if (in[i] >= 0)
                close(in[i]);
        if (said >= 0)
            close(said);
        return UK_EXIT_WRONG;
    }
    fflush(NULL);
    b->master = fork();
    if (!b->master)
        be_master((char *const *)argv, parent, in[0], out[1], said);
    free(command.text);
    close(in[0]);
    close(out[1]);
    close(said);
    b->to = in[1];
    b->from = out[0];
    return b->master > 0 ? UK_EXIT_OK
                         : uk_complain(UK_EXIT_WRONG, "cannot start a process: %s", strerror(errno));
}

/* ---- what the shell reports ---- */

/* Reads a line without its newline; false: end of file. */
static bool next_line(const struct uk_board *b, char *line, size_t size) {
    size_t n = 0;
    char c;
    ssize_t got;

    while ((got = read(b->from, &c, 1)) == 1 || (got < 0 && errno == EINTR && !uk_is_interrupted()))
        if (got == 1 && c == '\n')
            break;
        else if (got == 1 && n + 1 < size)
            line[n++] = c;
    line[n] = 0;
    return got == 1;
}

/* Copies without control characters, which must not reach the user's terminal. */
static void keep(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from);
    for (; *to; to++)
        if ((unsigned char)*to < ' ' || *to == 127)
            *to = '?';
}

static void learn(struct uk_board *b, char *line) {
    const struct {
        const char *key;
        char *to;
        size_t size;
    } texts[] = {{"folder", b->folder, sizeof b->folder},    {"system", b->system, sizeof b->system},
                 {"machine", b->machine, sizeof b->machine}, {"cpu", b->cpu, sizeof b->cpu},
                 {"libc", b->libc, sizeof b->libc},          {"features", b->features, sizeof b->features}};
    char *value = line + strcspn(line, " ");

    value += *value == ' ';
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strncmp(line, texts[i].key, strlen(texts[i].key)) && line[strlen(texts[i].key)] == ' ')
            keep(texts[i].to, texts[i].size, value);
    b->no_exec |= !strcmp(line, "no-exec");
    b->has_sha256 |= !strcmp(line, "has sha256sum");
    b->has_flock |= !strcmp(line, "has flock");
}

/* Reports why ssh or the board's shell ended. */
static int report_ending(struct uk_board *b) {
    char said[256], path[96];
    int error = 0, result = 0;

    close(b->to);
    b->to = -1;
    while (waitpid(b->master, &result, 0) < 0 && errno == EINTR)
        ;
    b->master = -1;
    snprintf(path, sizeof path, "%s/said", b->guard.folder);
    uk_last_line(path, said, sizeof said);
    if (!strncmp(said, "ssh: ", 5))
        memmove(said, said + 5, strlen(said + 5) + 1);
    if (sscanf(said, "uk:errno %d", &error) == 1)
        return uk_complain(UK_EXIT_WRONG,
                           "cannot start %s: %s; install Debian's openssh-client, or name one with --ssh",
                           b->ssh.word[0], strerror(error));
    if (strstr(said, "Host key verification failed"))
        return uk_complain(
            UK_EXIT_WRONG,
            "--remote=%s: ssh does not know the host's key, or knows another one; log in once by hand: %s %s",
            b->text, b->ssh.word[0], b->host.name);
    if (strstr(said, "Permission denied ("))
        return uk_complain(UK_EXIT_WRONG,
                           "--remote=%s: %s; install your key there, or load it into the agent", b->text,
                           said);
    if (!WIFEXITED(result) || WEXITSTATUS(result) == 255)
        return uk_complain(UK_EXIT_WRONG, "--remote=%s: ssh: %s", b->text,
                           *said ? said : "the connection was closed");
    return uk_complain(
        UK_EXIT_WRONG,
        "--remote=%s: cannot make a folder there: %s; choose another place by --remote-dir=DIR", b->text,
        *said ? said : "no reason was given");
}

static int learn_all(struct uk_board *b) {
    char line[8192];

    while (next_line(b, line, sizeof line)) {
        if (!strcmp(line, "uk:ready"))
            return UK_EXIT_OK;
        if (!strncmp(line, "uk:", 3))
            learn(b, line + 3);
    }
    return uk_is_interrupted() ? UK_EXIT_WRONG : report_ending(b);
}

/* ---- opening and closing ---- */

static int check_board(const struct uk_board *b) {
    if (strcmp(b->system, "Linux"))
        return uk_complain(UK_EXIT_WRONG, "--remote=%s: the board runs %s; only Linux is supported", b->text,
                           b->system);
    if (b->no_exec)
        return uk_complain(UK_EXIT_WRONG,
                           "--remote=%s: programs cannot run in %s, which may be mounted noexec; choose "
                           "another place by --remote-dir=DIR",
                           b->text, b->folder);
    if (b->arguments->remote_keep && !b->has_sha256)
        return uk_complain(UK_EXIT_WRONG,
                           "--remote-keep: %s has no sha256sum to check kept programs by; leave it out",
                           b->text);
    return UK_EXIT_OK;
}

int uk_board_open(struct uk_board *b, const struct uk_arguments *a, const char *host) {
    const char *ssh = a->ssh ? a->ssh : getenv("UK_SSH");
    int status;

    *b = (struct uk_board){
        .text = host, .arguments = a, .to = -1, .from = -1, .master = -1, .gpu_link = -1, .gpu_ssh = -1};
    if ((status = uk_host_parse(&b->host, host)) ||
        (status = uk_words_split(&b->ssh, a->ssh ? "--ssh" : "UK_SSH", ssh ? ssh : "ssh")) ||
        (a->remote_prefix && (status = uk_words_split(&b->prefix, "--remote-prefix", a->remote_prefix))))
        return status;
    snprintf(b->port, sizeof b->port, "%d", b->host.port);
    uk_hold_signals();
    b->holds_signals = true;
    if ((status = uk_guard_begin(&b->guard)))
        return status;
    snprintf(b->control, sizeof b->control, "%s/s", b->guard.folder);
    status = start_master(b);
    if (!status)
        status = learn_all(b);
    return status ? status : check_board(b);
}

void uk_board_close(struct uk_board *b) {
    char line[256];

    if (b->to >= 0)
        close(b->to);
    if (b->master > 0 && !*b->folder) /* still connecting */
        kill(b->master, SIGTERM);
    while (b->master > 0 && next_line(b, line, sizeof line) && strcmp(line, "uk:gone"))
        ;
    if (b->from >= 0)
        close(b->from);
    while (b->master > 0 && waitpid(b->master, NULL, 0) < 0 && errno == EINTR)
        ;
    uk_guard_end(&b->guard);
    if (in_use == b)
        in_use = NULL;
    if (b->holds_signals)
        uk_release_signals();
    b->to = b->from = b->master = -1;
    b->holds_signals = false;
}
