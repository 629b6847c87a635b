#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests uk tune: when and what it writes, its log, and candidates that crash, hang or are interrupted. Searches are
# limited by numbers of trials, and trials by CPU time: other load on the machine changes no outcome. Arguments: uk, the
# source tree, and `some` or `all`: the number of searches.
set -uo pipefail
uk=$1
source=$2
all=$([[ $3 != all ]] || echo all)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cp "$source"/examples/*.uk "$source"/examples/*.c "$work"
cd "$work" || exit 1
small=(--size M=120 --size N=130 --size K=110 --threads=1)

fail() {
    echo "$1"
    failures=$((failures + 1))
}

# expect STATUS STDERR-REGEX ARGUMENT...: checks a command; standard output is left in the file out.
expect() {
    local status=$1 err=$2 got
    shift 2
    "$uk" "$@" >out 2>err
    got=$?
    [[ $got == "$status" ]] || { cat err; fail "uk $*: exit status $got, expected $status"; }
    [[ $(<err) =~ $err ]] || { cat err; fail "uk $*: expected on standard error: $err"; }
}

# log FILE EXPRESSION: checks that every line is a trial, and that the expression holds for the list `trials`.
log() {
    python3 - "$1" "$2" <<'END' || fail "$1: not $2"
import json, sys
trials = [json.loads(line) for line in open(sys.argv[1])]
fields = {"key": str, "program": str, "target": str, "threads": int, "sizes": dict, "trial": int, "status": str,
          "seconds": (int, float), "speed": (int, float), "rounds": int, "start": bool, "schedule": str, "message": str}
for t in trials:
    assert set(t) == set(fields), t
    for name, kind in fields.items():
        assert isinstance(t[name], kind), (name, t)
    assert (t["status"] == "ok") == (t["seconds"] > 0), t
if not eval(sys.argv[2]):
    print(*trials, sep="\n")
    sys.exit(1)
END
}

# Usage and options.
expect 2 'uk tune needs a FILE' tune
expect 2 'time-limit 0: expected a number from 1 to 86400' tune matmul.uk --time-limit=0
expect 2 'trials x: expected a number' tune matmul.uk --trials=x
expect 2 'target interp cannot be tuned' tune matmul.uk --target=interp
expect 1 'no.uk: cannot read' tune no.uk
expect 1 'cannot write' tune matmul.uk "${small[@]}" --log=no/such/folder

# A search: the result applies and is right; every trial is logged, auto first. In `some` the next search covers this.
product=$([[ $all ]] && echo matmul.uk || echo matmul_nt.uk)
expect 0 'schedules measured in' tune $product "${small[@]}" --trials=48 --log=one.jsonl -o one.uk
cp err one.err
[[ -s out ]] && fail 'with -o something was printed on standard output'
expect 0 '^$' run $product "${small[@]}" --schedule=one.uk --check
grep -q 'check: equal' out || fail 'the result of uk tune is not right'
log one.jsonl 'len(trials) >= 5 and trials[0]["status"] == "ok" and trials[0]["speed"] == 1 and trials[0]["start"]'
log one.jsonl 'any(not t["start"] for t in trials) and trials[0]["sizes"]["M"] == 120'
"$uk" compile $product "${small[@]}" --emit=schedule >auto.uk
python3 - <<'END' || fail 'the first trial is not the automatic schedule'
import json
assert json.loads(open("one.jsonl").readline())["schedule"] == open("auto.uk").read()
END

# Plain loops along a sum, in which each addition waits for the previous one, are not run: the cost estimate rules them
# out. With this number of trials all starts are among them, however many kernels are excluded, which depends on
# measurements.
if [[ $all ]]; then
    expect 0 'schedules measured in' tune matmul_nt.uk "${small[@]}" --trials=48 --log=expensive.jsonl -o expensive.uk
else
    cp one.jsonl expensive.jsonl
    cp one.err err
fi
log expensive.jsonl 'any(t["status"] == "expensive" and t["rounds"] == 0 for t in trials)'
grep -qE '[1-9][0-9]* not run, as they cost more than 30 x the best by estimate' err || { cat err; fail 'the output lacks the number of schedules that were not run'; }

# Without -o the schedule is printed; the order of starts does not depend on measurements.
if [[ $all ]]; then
    expect 0 'schedules measured' tune matmul.uk "${small[@]}" --trials=4 --seed=3 --log=two.jsonl
    grep -q '^schedule$' out || fail 'the schedule was not printed'
    expect 0 'schedules measured' tune matmul.uk "${small[@]}" --trials=4 --seed=3 --log=three.jsonl
    python3 - <<'END' || fail 'the same seed gave other candidates'
import json  # schedules that were measured again occur twice
one, two = (list(dict.fromkeys(t["schedule"] for t in map(json.loads, open(f)) if t["start"]))
            for f in ("two.jsonl", "three.jsonl"))
n = min(len(one), len(two))
assert n >= 2 and one[:n] == two[:n], (one, two)
END
fi

# Resuming: known trials are not measured again, a torn line is dropped, another program's lines are kept. Of the log only
# a few lines are left, since the decision measures up to eight of the known schedules again.
sed -i '5,$d' one.jsonl
lines=$(wc -l <one.jsonl)
printf '{"key":"torn' >>one.jsonl
expect 0 "one.jsonl has [0-9]* trials of this program and these sizes, and 0 of others" \
    tune $product "${small[@]}" --trials=2 --log=one.jsonl
log one.jsonl "len(trials) > $lines and sum(t['start'] and t['speed'] == 1 for t in trials) >= 1"
python3 - <<'END' || fail 'a known schedule was measured again by the search'
import json, collections
first = collections.Counter(t["schedule"] for t in map(json.loads, open("one.jsonl")) if 0 < t["rounds"] <= 3)
assert max(first.values()) == 1, first.most_common(1)
END
expect 0 'has 0 trials of this program and these sizes, and [1-9]' \
    tune $product --size M=64 --size N=64 --size K=64 --threads=1 --trials=2 --log=one.jsonl
printf 'a text of mine\n' >precious
expect 1 'precious:1: not a trial of uk tune' tune matmul.uk "${small[@]}" --log=precious
[[ $(<precious) == 'a text of mine' ]] || fail 'a file that is no log was changed'

# Nothing is written unless it worked.
printf 'tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = exp(X[i])\n' >softly.uk
expect 1 'error: .*do not require kernels' tune softly.uk --size N=1000 --require-kernels -o precious
[[ $(<precious) == 'a text of mine' ]] || fail 'a refused program overwrote -o'
expect 0 'schedules measured' tune softly.uk --size N=1000 --threads=1 --trials=2 -o soft.uk
expect 0 'note: stage .Y. is compiled as plain loops: no (step|kernel) ' run softly.uk --size N=1000 --schedule=soft.uk --check

# A candidate that crashes, one that never ends, one that is wrong: the search continues. The automatic schedule prefers
# the user's kernel.
own_kernel() {
    cat >"with_$1.uk" <<END
pragma import "$1.c"
intrinsic $1 requires avx2
  tensor a f32 [16]
  tensor b f32 [16]
  tensor c f32 [16]
  c[i] = a[i] + b[i]
  compute void $1(ptr a, ptr b, ptr c)
end
tensor X f32 [N]
tensor Y f32 [N]
tensor Z f32 [N]
Z[i] = X[i] + Y[i]
END
    printf 'void %s(const float *a, const float *b, float *c) {\n    for (int i = 0; i < 16; i++)\n        %s\n}\n' \
        "$1" "$2" >"$1.c"
}
own_kernel crashes '*(volatile float *)0 = c[i] = a[i] + b[i];'
expect 0 'crash: .*does not work here' tune with_crashes.uk --size N=4000 --threads=1 --trials=2 --require-kernels \
    --log=crash.jsonl -o crash.steps
log crash.jsonl 'trials[0]["status"] == "crash" and any(t["status"] == "ok" for t in trials)'
grep -q 'uk_vadd' crash.steps || fail 'the result does not call the kernel that works'
own_kernel hangs 'while (*(volatile const float *)a == *a) c[i] = a[i] + b[i];'
# Trials that take seconds show progress.
[[ ! $all ]] || expect 0 's, trial 0 of 3, best.*timeout: not finished after' tune with_hangs.uk --size N=4000 --threads=1 \
    --trials=3 --trial-limit=7 --log=hang.jsonl -o hang.steps
[[ ! $all ]] || log hang.jsonl 'trials[0]["status"] == "timeout" and any(t["status"] == "ok" for t in trials)'
# The time limit also ends a trial.
expect 1 'no schedule worked' tune with_hangs.uk --size N=4000 --threads=1 --time-limit=2 --trial-limit=10000 -o precious
[[ $(<precious) == 'a text of mine' ]] || fail 'without a schedule that works -o was written'
own_kernel lies 'c[i] = a[i] + b[i] + 1;'
cat >>with_lies.uk <<'END'
schedule
  split Z.i 16 -> io ii
  tensorize ii lies
END
expect 0 'schedules measured' tune with_lies.uk --size N=4000 --threads=1 --trials=3 --log=lie.jsonl
log lie.jsonl 'any(t["status"] == "wrong" and "offset" in t["message"] for t in trials)'

# After a signal: whole lines in the log, the best so far in -o, and no process left. Under nohup, uk tune ignores HUP,
# too.
for signal in INT ${all:+TERM HUP}; do
    rm -f stop.jsonl stop.steps
    env --default-signal=HUP "$uk" tune matmul.uk "${small[@]}" --trials=100000 --log=stop.jsonl -o stop.steps >out 2>err &
    pid=$!
    for ((i = 0; i < 3000; i++)); do # a guard against hangs
        [[ -f stop.jsonl && $(wc -l <stop.jsonl) -ge 3 ]] && break
        sleep 0.1
    done
    kill -$signal $pid
    wait $pid
    status=$?
    [[ $status == 1 ]] || fail "SIG$signal: exit status $status"
    grep -q 'interrupted: stop.steps has the best schedule so far, [0-9.]* x .*; the same command resumes from the log' err ||
        { cat err; fail "SIG$signal: no message"; }
    log stop.jsonl 'len(trials) >= 3'
    expect 0 '^$' run matmul.uk "${small[@]}" --schedule=stop.steps --check
    # The best is the fastest in the log, or the first one unless another is faster by half a percent.
    python3 - <<'END' || fail "SIG$signal: -o is not the best so far"
import json
trials = {t["schedule"]: t for t in map(json.loads, open("stop.jsonl"))}
first = next(iter(trials.values()))
best = max((t for t in trials.values() if t["status"] == "ok"), key=lambda t: t["speed"])
text = open("stop.steps").read()
assert text.split("schedule\n", 1)[1] == (best if best["speed"] > 1.005 else first)["schedule"], text
END
done

# Code of another architecture: counted instructions are the same each time, and those of uk run.
counted=(--size M=24 --size N=33 --size K=50 --target=riscv64-p)
if ! command -v qemu-riscv64 >/dev/null; then
    echo 'instructions: skipped, qemu-riscv64 is not installed; ./uk-setup test installs it'
else
    expect 0 'trial 1: [0-9]+ instructions, the start.*(the best takes [0-9]+ instructions, the automatic schedule [0-9]+ instructions: [0-9.]+ x as fast by|no schedule takes fewer) instructions' tune matmul_i8.uk "${counted[@]}" --trials=4 \
        --log=count.jsonl -o count.uk
    expect 0 'count.jsonl has 4 trials of this program and these sizes, and 0 of others' tune matmul_i8.uk "${counted[@]}" \
        --trials=1 --log=count.jsonl -o again.uk
    expect 0 '^$' run matmul_i8.uk "${counted[@]}" --schedule=count.uk --count --check
    python3 - <<'END' || { cat count.jsonl out; fail 'the result is not that with the fewest instructions'; }
import json, re
trials = [json.loads(line) for line in open("count.jsonl")]
good = [t for t in trials if t["status"] == "ok"]
text = open("out").read()
counted = int(re.search(r"count: (\d+) instructions", text)[1])
assert "check: equal" in text and len(good) >= 3 and all("seconds" not in t and t["rounds"] == 1 for t in good)
best = min(t["instructions"] for t in good[:4])
assert counted == best and good[0]["speed"] == 1 and abs(good[1]["speed"] * good[1]["instructions"] - good[0]["instructions"]) < 1
assert open("count.uk").read().split("schedule\n", 1)[1] in [t["schedule"] for t in good if t["instructions"] == best]
again = [t for t in trials if t["schedule"] == good[0]["schedule"]]
assert len({t["instructions"] for t in again}) == 1, again
END
    # On a terminal only messages remain: each progress line is cleared before a message, and at the end.
    python3 - "$uk" "${counted[@]}" <<'END' || fail 'the lines of progress on a terminal'
import os, pty, re, sys
pid, terminal = pty.fork()
if not pid:
    os.execv(sys.argv[1], [sys.argv[1], "tune", "matmul_i8.uk", *sys.argv[2:], "--trials=2", "-o", "terminal.uk"])
said = b""
try:
    while more := os.read(terminal, 4096):
        said += more
except OSError:  # the process has ended
    pass
assert os.waitpid(pid, 0)[1] == 0, said
assert b"best 1.000 x" in said, said
left = [line.rsplit("\r\x1b[K", 1)[-1] for line in said.decode().replace("\r\n", "\n").split("\n")]
assert not left[-1] and len(left) >= 4 and not any(re.search(r" s, trial \d+ of|best [\d.]+ x", line) for line in left), (left, said)
END
    sed 's/requires avx2/requires d/' with_crashes.uk >riscv_crashes.uk
    expect 0 'crash: .*by signal 11' tune riscv_crashes.uk --size N=400 --target=riscv64 --trials=3 -o crash.uk
    status=0
    PATH=$work "$uk" tune matmul_i8.uk "${counted[@]}" -o precious >out 2>err || status=$?
    [[ $status == 1 && $(<err) == *"install Debian's qemu-user"* ]] || { cat err; fail 'without an emulator'; }
    [[ $(<precious) == 'a text of mine' ]] || fail 'without an emulator -o was written'
    # A signal also ends the processes that a trial has started.
    mkdir runs
    TMPDIR=$work/runs "$uk" tune matmul_i8.uk --size M=300 --size N=300 --size K=3000 --target=riscv64-p --trials=9 >out 2>err &
    pid=$!
    while kill -0 $pid && [[ -z $(compgen -G "$work/runs/*/runner.c") ]]; do
        sleep 0.05
    done
    kill -TERM $pid
    wait $pid
    status=$?
    [[ $status == 1 && -z $(ls runs) ]] || { cat err; ls runs/*; fail "a signal while instructions are counted: exit status $status"; }
fi

if ((failures)); then
    echo "$failures failures"
    exit 1
fi
