#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# UGM-MODULE: block_size=4096 gpu_phys=$UGM_GPU_PHYS gpu_mem=192M host_mem=640M
# UGM-TIMEOUT: 600
#
# What generated models have that bert and gpt2 do not: layers computed again,
# tensors changed in place, a cache that outlives the iteration and that each
# token adds to. Replayed with every byte checked, and as simulated.

. "$(dirname "$0")/../lib/replay.sh"

generate lora llama3-8b --layers 3 --vocabulary 2000 --batch 4 --seq 512 --lora 8 \
	--recompute --type half
generate decode llama3-8b --layers 3 --vocabulary 2000 --batch 64 --seq 2048 \
	--mode decode --tokens 3 --type half
generate prefill gpt2 --layers 3 --batch 16 --seq 256 --mode prefill
generate images resnet-50 --batch 16 --recompute

while read -r trace policy memory scale; do
	replay_agrees "$trace $policy" "$tmp/$trace.trace" --policy "$policy" \
		--gpu-mem "$memory" --host-mem 1G --scale "$scale" --block-size 4096
done <<'END'
lora ugm 1G 512
decode ugm 2G 256
prefill ugm 224M 512
images ugm 448M 128
END
done_testing
