# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Replays of traces on the device, held against their simulation. Source it in
# a script of selftests/vm: it speaks TAP, and tells bash to go on after a
# failure so that the others are seen too.

set -uo pipefail

# shellcheck disable=SC2034  # of use to those who source this
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
tests=0

ok()
{
	tests=$((tests + 1))
	echo "ok $tests - $*"
}

not_ok()
{
	tests=$((tests + 1))
	echo "not ok $tests - $*"
}

skip()
{
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

done_testing()
{
	echo "1..$tests"
}

# The number (or true, false) behind a key of a result: json_value FILE KEY
json_value()
{
	sed -n "s/.*\"$2\": *\([a-z0-9.]*\).*/\1/p" "$1" | head -n 1
}

# scaled N: a --scale of N, or more where the kernel is slow: fewer blocks then
scaled()
{
	echo $(($1 * ${UGM_SLOWNESS:-1}))
}

# generate NAME MODEL OPTIONS...: a trace at $tmp/NAME.trace
generate()
{
	local name=$1

	shift
	ugm gen "$@" -o "$tmp/$name.trace" > "$tmp/gen.log" 2>&1 || {
		cat "$tmp/gen.log"
		echo "Bail out! ugm gen $*"
		exit 1
	}
}

# replay NAME TRACE OPTIONS...: run it; result $tmp/NAME.json and .launches.
# Options that simulate does not have are in $run_options.
run_options=
replay()
{
	local name=$1 trace=$2

	shift 2
	# shellcheck disable=SC2086  # options are words
	ugm run "$trace" "$@" $run_options --verify full --json "$tmp/$name.json" \
		--launches "$tmp/$name.launches" > "$tmp/$name.log" 2>&1
}

# predict NAME TRACE OPTIONS...: the same without a device
predict()
{
	local name=$1 trace=$2

	shift 2
	ugm simulate "$trace" "$@" --json "$tmp/$name.json" \
		--launches "$tmp/$name.launches" > "$tmp/$name.log" 2>&1
}

# Do the replay $1 and the prediction $2 agree, launch by launch? Says what not.
agree()
{
	local run=$tmp/$1 sim=$tmp/$2 a b

	if [ "$(json_value "$run.json" exact)" != true ]; then
		echo "# not exact"
		return 1
	fi
	a=$(json_value "$run.json" iteration_ns)
	b=$(json_value "$sim.json" iteration_ns)
	if [ -z "$a" ] || [ "$a" != "$b" ]; then
		echo "# iteration_ns: replay $a, simulation $b"
		return 1
	fi
	if [ ! -s "$run.launches" ] ||
	   ! cmp "$run.launches" "$sim.launches" > "$tmp/cmp" 2>&1; then
		echo "# launches differ: $(cat "$tmp/cmp")"
		diff "$sim.launches" "$run.launches" | head -n 6 | sed 's/^/# /'
		return 1
	fi
}

# replay_agrees TITLE TRACE OPTIONS...: one test
replay_agrees()
{
	local title=$1 trace=$2

	shift 2
	if ! predict sim "$trace" "$@"; then
		sed 's/^/# /' "$tmp/sim.log"
		not_ok "$title: simulate"
	elif ! replay run "$trace" "$@"; then
		sed 's/^/# /' "$tmp/run.log" | tail -n 20
		not_ok "$title: run"
	elif agree run sim; then
		ok "$title: $(json_value "$tmp/run.json" iteration_ns) ns, launch by launch"
	else
		not_ok "$title: replay and simulation agree"
	fi
}
