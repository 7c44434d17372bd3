#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# UGM-MODULE: block_size=4096 gpu_phys=$UGM_GPU_PHYS gpu_mem=192M host_mem=640M
# UGM-TIMEOUT: 600
#
# simulate and run are one model: the same nanoseconds for every launch, the
# same residency every 100 launches, with every byte that moved checked.

. "$(dirname "$0")/../lib/replay.sh"

scale=$(scaled 64)
small="--gpu-mem 1536M --scale $scale --block-size 4096"
generate bert bert-base --batch 32 --seq 128 --layers 3
generate gpt2 gpt2 --batch 4 --seq 256 --layers 3

for policy in uvm deepum; do
	# shellcheck disable=SC2086  # options are words
	replay_agrees "bert $policy" "$tmp/bert.trace" --policy $policy $small
	# Little host memory: flash, and the planner lane, take part.
	# shellcheck disable=SC2086
	replay_agrees "bert $policy, little host memory" "$tmp/bert.trace" \
		--policy $policy $small --host-mem 512M
done
# shellcheck disable=SC2086
replay_agrees "gpt2 deepum, no overlap, no host" "$tmp/gpt2.trace" \
	--policy deepum $small --host-mem 0 --overlap none
# The planned policies, all with moves of every kind: parts of tensors,
# write-backs, clean drops. FlashNeuron needs room for its largest tensor.
tight="--gpu-mem 768M --scale $scale --block-size 4096 --host-mem 512M"
# shellcheck disable=SC2086
replay_agrees "bert flashneuron" "$tmp/bert.trace" --policy flashneuron $small
for policy in g10-gds g10-host g10 ugm; do
	# shellcheck disable=SC2086
	replay_agrees "bert $policy" "$tmp/bert.trace" --policy $policy $tight
done
# A schedule that came from a file is the same schedule.
# shellcheck disable=SC2086
if ugm plan "$tmp/bert.trace" --policy ugm $tight \
		-o "$tmp/ugm.schedule" > "$tmp/plan.log" 2>&1; then
	replay_agrees "bert ugm, schedule from a file" "$tmp/bert.trace" \
		--schedule "$tmp/ugm.schedule" $tight
else
	sed 's/^/# /' "$tmp/plan.log"
	not_ok "bert ugm, schedule from a file: plan"
fi
run_options=--no-server
# shellcheck disable=SC2086
replay_agrees "gpt2 deepum, no server" "$tmp/gpt2.trace" \
	--policy deepum $small --host-mem 512M
run_options=

# It is the same on the next run, and a comparison that cannot fail is none:
# one nanosecond of latency more on one side must be seen.
# shellcheck disable=SC2086
options="--policy deepum $small --host-mem 512M"
# shellcheck disable=SC2086
if replay again "$tmp/bert.trace" $options &&
   predict first "$tmp/bert.trace" $options && agree again first; then
	ok "a second run gives the same"
else
	not_ok "a second run gives the same"
fi
# shellcheck disable=SC2086
if predict other "$tmp/bert.trace" $options --flash-read-bw 3.1999e9 &&
   ! agree again other > /dev/null; then
	ok "another machine gives something else"
else
	not_ok "another machine gives something else"
fi

traces=$here/../shared/traces
for policy in uvm deepum; do
	if [ ! -e "$traces/bert-256.trace" ]; then
		skip "bert-256 $policy" "no published traces here"
		continue
	fi
	replay_agrees "bert-256 $policy" "$traces/bert-256.trace" \
		--policy $policy --scale "$(scaled 256)" --block-size 4096
done

done_testing
