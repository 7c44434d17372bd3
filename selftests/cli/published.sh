#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Predictions for the published traces against the published results.

. "$(dirname "$0")/../lib/cli.sh"

traces=${UGM_TRACES:-$top/../shared/traces}

# Usage: near TRACE POLICY SECONDS PERCENT [ARGUMENT...]
near()
{
	local trace=$1 policy=$2 seconds=$3 percent=$4 text

	shift 4
	text="$policy on $trace is within $percent % of $seconds s $*"
	if [ ! -e "$traces/$trace.trace" ]; then
		skip "$text" "no $trace.trace in UGM_TRACES"
		return
	fi
	"$ugm" simulate "$traces/$trace.trace" --policy "$policy" "$@" --json r.json \
		>.out 2>.err
	check "$text" json r.json \
		"r['exact'] and abs(r['iteration_ns'] / 1e9 / $seconds - 1) <= $percent / 100"
}

# The sum of the durations is exact.
near bert-256 ideal 7.285466083 0
for size in "" "--scale 256 --block-size 4096"; do
	# shellcheck disable=SC2086
	near bert-256 uvm 19.650 15 $size
	# shellcheck disable=SC2086
	near bert-256 deepum 9.160 15 $size
done
near vit-1280 uvm 24.600 15
near vit-1280 deepum 7.558 15
near resnet152-1280 deepum 132.02 15
near senet154-1024 deepum 193.14 15
done_testing
