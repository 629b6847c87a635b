# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of boards: sshd on 127.0.0.1 with keys, a home and a folder for temporary files of its own;
commands with --remote; and checks that nothing is left of them on either side, no file and no process.
Arguments of a test: UK SOURCE ..."""

import os
import pathlib
import pwd
import re
import resource
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

uk, source = sys.argv[1:3]

SSHD = "/usr/sbin/sshd"
if not os.access(SSHD, os.X_OK):
    print(f"remote skipped: {SSHD} is not installed; ./uk-setup test installs it")
    sys.exit(77)
PROGRAM = [source + "/examples/matmul.uk", "--define", "M=13", "--define", "N=32", "--define", "K=7"]
NATIVE = ["--target=x86_64-avx2" if " avx2 " in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8") else "--target=x86_64-generic"]

GUARD = 300  # seconds after which a test gives up; no outcome depends on it

top = pathlib.Path(tempfile.mkdtemp(prefix="uk-boards-"))
failures = []
daemons = []


def write(name, text, mode=0o600):
    path = top / name
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_sshd(name, limit=None):
    """Starts a board; returns its port and the folder for its temporary files."""
    port, folder = free_port(), top / name
    (folder / "tmp").mkdir(parents=True)
    (folder / "home").mkdir()
    config = write(name + "/config", f"""Port {port}
ListenAddress 127.0.0.1
HostKey {top}/host
AuthorizedKeysFile {top}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
MaxSessions 50
MaxStartups 50
SetEnv HOME={folder}/home TMPDIR={folder}/tmp UK_REMOTE_LOCK={folder} PATH={top}/bin:{os.environ["PATH"]}
""")
    preexec = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
    with open(folder / "log", "w", encoding="utf-8") as log:
        daemons.append(subprocess.Popen([SSHD, "-D", "-e", "-f", config], stderr=log, preexec_fn=preexec))  # pylint: disable=subprocess-popen-preexec-fn
    end = time.monotonic() + GUARD
    while True:
        with socket.socket() as s:
            if not s.connect_ex(("127.0.0.1", port)):
                break
        if time.monotonic() > end or daemons[-1].poll() is not None:
            failures.append(f"sshd does not start: {(folder / 'log').read_text(encoding='utf-8')}")
            raise SystemExit
        time.sleep(0.1)
    with open(top / "known", "a", encoding="utf-8") as known:
        known.write(f"[127.0.0.1]:{port} " + " ".join((top / "host.pub").read_text(encoding="utf-8").split()[:2]) + "\n")
    with open(top / "ssh_config", "a", encoding="utf-8") as config:
        config.write(f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  User {pwd.getpwuid(os.geteuid()).pw_name}\n  IdentityFile {top}/user\n"
                     f"  IdentitiesOnly yes\n  UserKnownHostsFile {top}/known\n  GlobalKnownHostsFile /dev/null\n")
    return port


def start_all():
    for key in "host", "user", "stranger":
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", top / key], check=True)
    if not os.geteuid():
        os.makedirs("/run/sshd", exist_ok=True)
    for folder in "bin", "local":
        (top / folder).mkdir()
    # Copies of the system's cat that stop where a test wants them to: in a session's folder, without arguments for
    # uploads, with one for downloads.
    write("bin/cat", f"""#!/bin/sh
case $PWD in
*/uk-*)
    [ $# = 0 ] && what=up || what=down
    [ $what = down ] || echo up >>{top}/transfers
    if [ -e {top}/hold-$what ]; then touch {top}/held; exec /bin/sleep 1000; fi ;;
esac
exec /bin/cat "$@"
""", 0o755)
    # Prefixes: programs that hang, die, or are ended by a time limit. The probe, which runs first, is small and passes.
    is_program = '[ $(/usr/bin/stat -Lc %s "$1") -gt 100000 ]'
    write("bin/hold", f"#!/bin/sh\n{is_program} && touch {top}/held && exec /bin/sleep 1000\nexec \"$@\"\n", 0o755)
    write("bin/die", f"#!/bin/sh\n{is_program} && kill -SEGV $$\nexec \"$@\"\n", 0o755)
    write("bin/slow", "#!/bin/sh\n\"$@\" | sed 's/^cpu .*/cpu 3 performance 600000 2400000 1/; /^round/s/ [0-9]* [0-9]*$/ 2400000 1800000/'\n", 0o755)
    start_sshd("board")


def words(*options, board="board", ssh="ssh_config"):
    return [uk, *options, f"--remote={board}", f"--ssh=ssh -F {top}/{ssh}"]


ENV = {**os.environ, "TMPDIR": str(top / "local")}


def call(*options, **more):
    return subprocess.run(words(*options, **more), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=ENV, timeout=GUARD)


def processes():
    """Processes whose command names this test's folder, except the test's own."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            folder = os.readlink(path / "cwd")
        except OSError:
            continue
        if (str(top) in line + folder or f"{top}/" in line) and int(path.name) not in (os.getpid(), *(d.pid for d in daemons)):
            found.append(line)
    return found


def find_leftovers():
    """Files and processes that commands have left, here and on the boards."""
    files = [path for place in (top / "local", *top.glob("*/tmp")) for path in place.iterdir()]
    return [str(path) for path in files] + processes()


def check_left(what):
    """Checks that each command has cleaned up when it ends. If it was killed or cut off, waits: sshd may
    still begin what was requested."""
    late = "killed" in what or "cut" in what
    end, remains, quiet = time.monotonic() + GUARD, find_leftovers(), 0
    while (remains or quiet < (10 if late else 1)) and time.monotonic() < end:
        time.sleep(0.05)
        remains = find_leftovers()
        quiet = 0 if remains else quiet + 1
    if remains:
        failures.append(f"{what}: left {remains}")
        raise SystemExit


def expect(what, done, status, *texts, said=""):
    out = done.stdout if not status else said or done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("uk: error:")]
    if done.returncode != status or (status and len(lines) != 1) or not all(re.search(text, out) for text in texts):
        failures.append(f"{what}: exit status {done.returncode}, {done.stdout!r}, {done.stderr!r}")
    check_left(what)


def wait_for(path, process):
    while not path.exists() and process.poll() is None:
        time.sleep(0.02)


def children_of(pid):
    return [int(p.parent.name) for p in pathlib.Path("/proc").glob("[0-9]*/stat") if p.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1] == str(pid)]


def run_held(phase, end, command=(*PROGRAM, *NATIVE)):
    """Stops a run in one of its phases (waiting: it stops by itself), then calls `end` with uk's process; the
    run must fail and leave nothing."""
    (top / "held").unlink(missing_ok=True)
    prefix = ["--remote-prefix=hold"] if phase == "running" else []
    flag = top / {"uploading": "hold-up", "downloading": "hold-down", "running": "no-flag", "waiting": "no-flag"}[phase]
    flag.touch()
    with subprocess.Popen(words("run", *command, *prefix), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV,
                          stdin=subprocess.DEVNULL) as process:
        wait_for(top / "held", process)
        end(process)
        out, err = process.communicate(timeout=GUARD)
    flag.unlink()
    return subprocess.CompletedProcess([], process.returncode, out, err)


def close_connections(daemon):
    """Ends all connections on the board's side at once, as after a power failure."""
    for pid in children_of(daemon.pid):
        for each in (*children_of(pid), pid):
            if pathlib.Path(f"/proc/{each}/comm").read_text(encoding="utf-8").startswith("sshd"):
                os.kill(each, signal.SIGKILL)


def run_all(tests):
    """Runs all tests; leftovers end the program, since all later tests would find them. Exit status."""
    try:
        start_all()
        for test in tests:
            test()
    except SystemExit:
        pass
    except subprocess.TimeoutExpired as late:
        failures.append(str(late))
    finally:
        for daemon in daemons:
            daemon.kill()
        if not failures:
            subprocess.run(["rm", "-rf", top], check=True)
    for failure in failures:
        print(failure)
    if failures:
        print("files are in", shlex.quote(str(top)))
    print(f"{len(failures)} failures")
    return bool(failures)
