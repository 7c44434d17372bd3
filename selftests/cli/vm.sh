#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/vm: the status of what ran, and a clear end where a machine has none.

. "$(dirname "$0")/../lib/cli.sh"

# Usage: guest STATUS TEXT OPTION... -- COMMAND...
guest()
{
	local want=$1 text=$2 got=0

	shift 2
	"$top/scripts/vm" run --share "$work/share" "$@" >out 2>err || got=$?
	[ "$got" = "$want" ]
	verdict $? "$text (exit $want)"
}

guest 7 "the command's own status" -- sh -c 'echo out; echo err >&2; exit 7'
check "its output" grep -qx out out
check "and what it complains of" grep -qx err err

guest 125 "a panic" -- sh -c 'echo began; sleep 1; echo c > /proc/sysrq-trigger; sleep 60'
check "what was said before" grep -qx began out
check "it says: Kernel panic" grep -qF "Kernel panic" err
check "it says: the guest ended without a status" grep -qF "the guest ended without a status" err

guest 124 "a command that hangs" --timeout 3 -- sleep 600
check "it says: the command did not end within 3 s" grep -qF "the command did not end within 3 s" err

"$top/scripts/vm" run --share "$work/share" -- yes 2>err | head -n 1 > out
check "a reader that goes away (exit 141)" test "${PIPESTATUS[0]}" = 141

guest 2 "an unknown option" --fast -- true
check "it says: unknown option --fast" grep -qF "unknown option --fast" err
done_testing
