# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of the command: source it. Each check is a line of TAP; a failed
# one shows what the command said. "done_testing" ends a test.

set -u

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
ugm=$top/build/ugm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
number=0 failures=0

# Print the verdict on the last command. Usage: verdict STATUS TEXT
verdict()
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		failures=$((failures + 1))
		sed 's/^/# /' "$work/.out" "$work/.err" 2>/dev/null | head -n 20
	fi
}

# Usage: check TEXT COMMAND...
check()
{
	local text=$1

	shift
	"$@" >"$work/.out" 2>"$work/.err"
	verdict $? "$text"
}

# Run ugm and see its exit status. Usage: exits STATUS TEXT ARGUMENT...
exits()
{
	local want=$1 text=$2 got=0

	shift 2
	"$ugm" "$@" >"$work/.out" 2>"$work/.err" || got=$?
	[ "$got" = "$want" ]
	verdict $? "$text (exit $want)"
}

# Bad input: exit status 2, nothing on standard output, one line on standard
# error that contains TEXT. Usage: refuses TEXT ARGUMENT...
refuses()
{
	local text=$1 got=0

	shift
	"$ugm" "$@" >"$work/.out" 2>"$work/.err" || got=$?
	[ "$got" = 2 ] && [ ! -s "$work/.out" ] &&
		[ "$(wc -l < "$work/.err")" = 1 ] && grep -qF -- "$text" "$work/.err"
	verdict $? "refused: ugm $* ($text)"
}

# What the last command wrote. Usage: says TEXT
says()
{
	cat "$work/.out" "$work/.err" > "$work/.both"
	grep -qF -- "$1" "$work/.both"
	verdict $? "it says: $1"
}

skip()
{
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# Evaluate a Python expression on JSON. Usage: json FILE EXPRESSION
json()
{
	python3 - "$@" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
r = d.get("results", [{}])[0] if isinstance(d, dict) else {}
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)
END
}

done_testing()
{
	echo "1..$number"
	[ "$failures" = 0 ]
	exit
}
