#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Files are written whole or not at all; pipes and devices directly.

. "$(dirname "$0")/../lib/cli.sh"

"$ugm" gen bert-base --layers 1 --vocabulary 1000 --batch 1 -o t.trace 2>/dev/null

alone()
{
	[ "$(find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -cvxE "$2")" = 0 ]
}

mkdir d
echo old > d/s
exits 0 "a file is replaced" plan t.trace --policy deepum -o d/s
check "by a schedule" grep -q '^# ugm-schedule 1' d/s
check "and nothing else is left" alone d s

echo old > d/s
chmod 640 d/s
"$ugm" plan t.trace --policy deepum -o d/s
check "its mode stays" test "$(stat -c %a d/s)" = 640
ln -s s d/link
exits 0 "through a symbolic link" plan t.trace --policy uvm -o d/link
check "the link stays" test -L d/link
check "what it points to is new" test "$(grep -c '^at' d/s)" = 0

ln -s ../far/there d/dangling
ln -s dangling d/twice
mkdir far
exits 0 "through links to nothing" plan t.trace --policy uvm -o d/twice
check "the links stay" test -L d/twice -a -L d/dangling
check "what they point to is there" grep -q '^# ugm-schedule 1' far/there
ln -s "$PWD/far/absolute" d/absolute
exits 0 "through an absolute one" plan t.trace --policy uvm -o d/absolute
check "which is there" test -f far/absolute
ln -s nowhere/s d/lost
exits 1 "a link into no folder" plan t.trace --policy uvm -o d/lost
says "No such file"
ln -s loop d/loop
exits 1 "a link to itself" plan t.trace --policy uvm -o d/loop
says "Too many levels"
rm d/twice d/dangling d/absolute d/lost d/loop
check "and nothing else is left there" alone d 's|link'

(umask 027; "$ugm" plan t.trace --policy uvm -o d/new)
check "a new file has the usual mode" test "$(stat -c %a d/new)" = 640

exits 1 "a folder that does not exist" plan t.trace --policy uvm -o no/s
says "no/s: cannot write: No such file"
exits 1 "a folder as a file" plan t.trace --policy uvm -o d
# Whether the first write fails or the last: the reason is told.
for policy in uvm deepum; do
	exits 1 "a full device" plan t.trace --policy $policy -o /dev/full
	says "/dev/full: cannot write: No space left"
done
exits 1 "a full device for a trace" gen bert-base --layers 1 -o /dev/full
says "/dev/full: cannot write: No space left"
exits 1 "for a timeline" simulate t.trace --policy uvm --perfetto /dev/full
says "/dev/full: cannot write: No space left"
exits 1 "for a log of launches" simulate t.trace --policy uvm --launches /dev/full
says "/dev/full: cannot write: No space left"
(ulimit -f 1 && exec "$ugm" gen bert-base --layers 2 -o limited 2>.err)
check "a file size limit is a failure" test $? = 1
check "which leaves no file" test -z "$(ls -d limited* 2>/dev/null)"

# Usage: full TEXT ARGUMENT...
full()
{
	local text=$1 got=0

	shift
	: > .out
	"$ugm" "$@" > /dev/full 2>.err || got=$?
	[ $got = 1 ] && [ "$(wc -l < .err)" = 1 ] && grep -q ': cannot write: No space left' .err
	verdict $? "a full standard output: $text"
}

full "a schedule" plan t.trace --policy deepum -o -
full "a table" simulate t.trace --policy uvm
full "help" --help
full "help of a verb" simulate --help
full "JSON" simulate t.trace --policy uvm --json -
full "much JSON" analyze t.trace --json
full "an analysis" analyze t.trace
full "CSV" compare t.trace --policies uvm --csv
full "a page" compare t.trace --policies uvm --html -

"$ugm" plan t.trace --policy deepum -o a
"$ugm" plan t.trace --policy deepum -o - > b
check "the standard output has the same" cmp a b
mkfifo fifo
cat fifo > c & reader=$!
"$ugm" plan t.trace --policy deepum -o fifo
wait $reader
check "a pipe has the same" cmp a c
"$ugm" plan t.trace --policy deepum -o /dev/stdout | cat > g
check "a link to a pipe too" cmp a g
"$ugm" plan t.trace --policy deepum -o >(cat > h; echo > h.done)
until [ -e h.done ]; do sleep 0.05; done
check "and one of the shell" cmp a h

# No file is written twice, or over what is read.
refuses "--launches r: the same file as --json" simulate t.trace --policy uvm --json r --launches r
check "neither is written" test ! -e r
ln -s t.trace t.link
for trace in t.trace ./t.trace t.link; do
	refuses "-o $trace: the same file as the trace" plan t.trace --policy uvm -o $trace
done
refuses "--perfetto t.trace: the same file as the trace" simulate t.trace --policy uvm \
	--perfetto t.trace
refuses "--json a: the same file as --schedule" simulate t.trace --schedule a --json a
refuses "--html t.trace: the same file as a trace" compare t.trace --html t.trace
exits 0 "two outputs to nowhere" simulate t.trace --policy uvm --json /dev/null \
	--launches /dev/null

# A signal ends it as ever, but nothing is left behind: not even by one that
# cannot be caught, where the filesystem has files without a name.
mkdir i
signals=(HUP INT TERM)
if python3 -c 'import os; os.open("i", os.O_TMPFILE | os.O_WRONLY)' 2>/dev/null; then
	signals+=(KILL)
else
	skip "SIGKILL leaves nothing behind" "no O_TMPFILE here"
fi
for signal in "${signals[@]}"; do
	python3 - "$ugm" $signal <<'END'
import os, signal, subprocess, sys, time
sig = getattr(signal, "SIG" + sys.argv[2])
def begin():
    # Ignored by what runs in the background; not here.
    if sig != signal.SIGKILL:
        signal.signal(sig, signal.SIG_DFL)
def written(pid):
    fds = f"/proc/{pid}/fd/"
    try:
        return any(os.readlink(fds + fd).startswith(os.getcwd() + "/i/") for fd in os.listdir(fds))
    except FileNotFoundError: # closed between the two
        return False
command = [sys.argv[1], "simulate", "t.trace", "--policy", "uvm", "--iterations", "1000000",
           "--launches", "i/log"]
p = subprocess.Popen(command, preexec_fn=begin)
while not written(p.pid):
    time.sleep(0.01)
p.send_signal(sig)
sys.exit(0 if p.wait() == -sig else f"status {p.returncode}")
END
	verdict $? "SIG$signal in the middle"
	check "leaves nothing behind" alone i nothing
done

# A failed run keeps what was there, and leaves nothing behind.
mkdir e
echo old > e/r.json
echo old > e/log
echo "at 0 prefetch 0 0 0 gpu need=0" > bad
"$ugm" simulate t.trace --schedule bad --json e/r.json --launches e/log --gpu-mem 1 2>/dev/null
check "a refused machine keeps the log" test "$(cat e/log)" = old
echo "at 0 nonsense" > bad
"$ugm" simulate t.trace --schedule bad --json e/r.json --launches e/log 2>/dev/null
check "a bad schedule keeps the log" test "$(cat e/log)" = old
check "and nothing else is left behind" alone e 'r.json|log'
done_testing
