#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# UGM-MODULE: block_size=4096 gpu_phys=$UGM_GPU_PHYS gpu_mem=192M host_mem=640M
# UGM-TIMEOUT: 600
#
# --verify full catches what goes wrong with the data: a move that did not
# happen, an old version, two blocks exchanged. It names what it found.

. "$(dirname "$0")/../lib/replay.sh"

options="--policy deepum --gpu-mem 1536M --scale $(scaled 64) --block-size 4096"
generate bert bert-base --batch 32 --seq 128 --layers 3
inject=/sys/kernel/debug/ugm/ugm0/inject

# Set-up moves about 2,100 blocks, an iteration about 6,600, most of them read
# again: dead data, which nobody would miss, is not moved under this policy.
# With a larger scale there are as many fewer.
nth=$((5000 * 64 / $(scaled 64)))
for fault in lost stale swap; do
	status=0
	if ! echo "$fault $nth" > $inject; then
		not_ok "$fault: armed"
		continue
	fi
	# shellcheck disable=SC2086  # options are words
	replay run "$tmp/bert.trace" $options || status=$?
	said=$(grep -iE 'tensor [0-9]+.*offset.*version' "$tmp/run.log" | head -n 1)
	if [ $status = 1 ] && [ -n "$said" ]; then
		ok "$fault: $said"
	else
		tail -n 5 "$tmp/run.log" | sed 's/^/# /'
		not_ok "$fault: status $status, named: ${said:-nothing}"
	fi
	echo "$fault 0" > $inject
done

# And nothing is found where nothing is wrong.
# shellcheck disable=SC2086
if replay run "$tmp/bert.trace" $options; then
	ok "afterwards a run is clean"
else
	tail -n 5 "$tmp/run.log" | sed 's/^/# /'
	not_ok "afterwards a run is clean"
fi

done_testing
