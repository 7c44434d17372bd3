# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Runs test programs that speak TAP and counts. Used on the host by
# scripts/check and in the guest by selftests/run: source it.

# Print "PASSED FAILED SKIPPED" of a TAP log and the status of its program. A
# program that dies, times out, says nothing, or runs fewer tests than it
# planned counts as one failure more: silence is never a pass.
tap_count()
{
	awk -v status="$2" '
	/^[ \t]*ok [0-9]/ || /^[ \t]*ok -/ {
		seen++
		if (toupper($0) ~ /# *SKIP/) skip++; else pass++
	}
	/^[ \t]*not ok/ {
		seen++
		# cmocka 1.1 reports a skipped test as "not ok N # SKIP".
		if (toupper($0) ~ /# *(TODO|SKIP)/) skip++; else fail++
	}
	/^[ \t]*1\.\.[0-9]+/ {
		sub(/^[ \t]*1\.\./, ""); plan += $0 + 0; planned = 1
	}
	END {
		# 4 is what kselftests return when all of it was skipped.
		if (status == 4 && !pass && !fail) {
			if (!skip) skip = 1
			seen = plan
		} else if (status && !fail) {
			fail++
		} else if (!status && (!planned && !seen || planned && plan != seen)) {
			if (plan == 0 && /SKIP/) skip++
			else fail++
		}
		printf "%d %d %d\n", pass, fail, skip
	}' "$1"
}

# Run one test: output into a log, a line on the terminal, counts into a file.
# Usage: tap_run NAME SECONDS LOG RESULTS COMMAND...
tap_run()
{
	local name=$1 limit=$2 log=$3 results=$4 status=0 pass fail skip
	local began=$SECONDS word=ok

	shift 4
	echo "start $name" >> "$results"
	timeout -k 5 "$limit" "$@" </dev/null >"$log" 2>&1 || status=$?
	[ $status != 124 ] || echo "# time limit of $limit s" >> "$log"
	[ $status -lt 128 ] || echo "# killed by signal $((status - 128))" >> "$log"
	read -r pass fail skip < <(tap_count "$log" $status)
	# After the program itself: what it left behind.
	if declare -F tap_after >/dev/null && ! tap_after >>"$log" 2>&1; then
		fail=$((fail + 1))
	fi
	[ "$fail" = 0 ] || word=FAIL
	printf '%-4s %-28s %4d passed' "$word" "$name" "$pass"
	[ "$fail" = 0 ] || printf ', %d failed' "$fail"
	[ "$skip" = 0 ] || printf ', %d skipped' "$skip"
	printf '  (%d s)\n' $((SECONDS - began))
	if [ "$fail" != 0 ]; then
		grep -E '^[ \t]*not ok' "$log" | grep -v '# SKIP' | sed 's/^[ \t]*/       /'
		grep -vE '^[ \t]*ok ' "$log" | tail -n 30 | sed 's/^/       | /'
	fi
	echo "end $name $pass $fail $skip" >> "$results"
}
