#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# UGM-LONG
# UGM-MODULE: block_size=4096 gpu_phys=$UGM_GPU_PHYS gpu_mem=64M host_mem=256M
# UGM-TIMEOUT: 7200
#
# The published traces, where they are, under every policy: simulate and run
# give the same nanoseconds launch by launch, with every byte checked.

. "$(dirname "$0")/../lib/replay.sh"

# Small enough for a guest without KVM: 112 replays take about half an hour.
options="--scale 4096 --block-size 4096"
traces=$here/../shared/traces
policies="uvm deepum flashneuron g10-gds g10-host g10 ugm"

# A policy that cannot hold a trace says why when it plans, and so does run.
cannot_run()
{
	local why

	# shellcheck disable=SC2086  # options are words
	if replay run "$1" --policy "$2" $options; then
		not_ok "$3: plan fails, run does not"
		return
	fi
	why=$(tail -n 1 "$tmp/plan.log")
	if [ "$why" = "$(tail -n 1 "$tmp/run.log" | sed 's/^ugm run/ugm plan/')" ]; then
		ok "$3: cannot run, both say: $why"
	else
		sed 's/^/# /' "$tmp/plan.log" "$tmp/run.log"
		not_ok "$3: plan and run give the same reason"
	fi
}

if ! ls "$traces"/*.trace > /dev/null 2>&1; then
	skip "published traces under every policy" "no published traces here"
	done_testing
	exit
fi
for trace in "$traces"/*.trace; do
	name=$(basename "$trace" .trace)
	for policy in $policies; do
		# Planned once, so that the planner does not run twice.
		# shellcheck disable=SC2086
		case $policy in
		uvm|deepum)
			replay_agrees "$name $policy" "$trace" --policy $policy $options
			continue
			;;
		esac
		# shellcheck disable=SC2086
		if ugm plan "$trace" --policy $policy $options \
				-o "$tmp/schedule" > "$tmp/plan.log" 2>&1; then
			replay_agrees "$name $policy" "$trace" \
				--schedule "$tmp/schedule" $options
		else
			cannot_run "$trace" $policy "$name $policy"
		fi
	done
done

done_testing
