#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every generated model runs under the policies; those of the paper are held
# against its traces, and models.rst tells how far they are apart.

. "$(dirname "$0")/../lib/cli.sh"

traces=${UGM_TRACES:-$top/../shared/traces}
page=$top/Documentation/models.rst

# What the command knows is what the page lists: name and parameters.
"$ugm" gen 2>&1 | awk '$4 == "M" { print $1, $2 $3 }
	$3 == "M" { print $1, $2 }' | sort > known
sed -n 's/^``\([a-z0-9.-]*\)``  *\([0-9,]*\)  .*/\1 \2/p' "$page" | tr -d , |
	awk '{ printf "%s %.2f\n", $1, $2 / 1e6 }' | sort > listed
check "models.rst lists the models and their parameters" cmp known listed
check "there are some" test "$(wc -l < known)" -gt 20

# A trace that needs more than the GPU has, under every policy. Usage:
# every_policy MODEL ARGUMENT...
every_policy()
{
	local text="policies run $*" memory

	"$ugm" gen "$@" -o t.trace >.out 2>.err &&
	"$ugm" analyze t.trace --json > a.json 2>>.err &&
	memory=$(python3 -c '
import json
a = json.load(open("a.json"))
print(max(a["peak_live_bytes"] * 3 // 5, a["largest_kernel_bytes"] * 5 // 4))') &&
	"$ugm" compare t.trace --policies ideal,uvm,deepum,g10,ugm,bound \
		--gpu-mem "$memory" --block-size 64K --json > r.json 2>>.err
	check "$text" json r.json '
		(lambda ns: ns["ideal"] <= ns["bound"] <= ns["ugm"] <= min(ns["uvm"],
			ns["deepum"], ns["g10"]))({r["policy"]: r["iteration_ns"]
			for r in d["results"]})'
}

every_policy vit-small-32 --batch 16
every_policy inception-v3-aux --batch 4
every_policy resnet-50 --batch 8 --recompute
every_policy senet-154 --batch 2 --type half
every_policy gpt3-125m --batch 1 --seq 256 --attention fused --optimizer sgd
every_policy llama3-8b --layers 4 --vocabulary 1000 --batch 1 --seq 256 --lora 8
every_policy gpt2 --mode prefill --batch 8 --seq 256 --type half
every_policy llama2-7b --layers 3 --vocabulary 1000 --mode decode --batch 4 --seq 512 --tokens 3

# Analyses of a published trace and of ours: published-BATCH.json, ours-BATCH.json.
# Usage: analyze_both TRACE-BATCH MODEL
analyze_both()
{
	"$ugm" analyze "$traces/$1.trace" --json > "published-${1##*-}.json" 2>.err &&
	"$ugm" gen "$2" --batch "${1##*-}" --optimizer sgd -o t.trace 2>.err &&
	"$ugm" analyze t.trace --json > "ours-${1##*-}.json" 2>.err
}

# Rows of models.rst for a batch, and for what one more sample of it costs. Usage:
# rows TRACE MODEL SMALL LARGE BATCH
rows()
{
	python3 - "$@" <<'END'
import json, sys
trace, model, small, large, batch = sys.argv[1:]
load = lambda who, batch: json.load(open(f"{who}-{batch}.json"))
def percent(want, have):
    return f"{100 * (have / want - 1):+.1f}"
want, have = (load(who, batch) for who in ("published", "ours"))
gib = [a["peak_live_bytes"] / 2**30 for a in (want, have)]
rest = [(a["peak_live_bytes"] - a["global_bytes"]) / 2**30 for a in (want, have)]
seconds = [a["ideal_ns"] / 1e9 for a in (want, have)]
print(f"{trace}-{batch} ``{model}``", *(f"{x:.1f}" for x in gib), percent(*gib),
      percent(*rest), *(f"{x:.3f}" for x in seconds), percent(*seconds))
more = [(load(who, large)["ideal_ns"] - load(who, small)["ideal_ns"]) / 1e6 /
        (int(large) - int(small)) for who in ("published", "ours")]
print(f"{trace}, {small} to {large}", *(f"{x:.2f}" for x in more), percent(*more))
END
}

# Usage: held TRACE MODEL SMALL LARGE BATCH
held()
{
	local text="models.rst tells how far $2 is from $1-$5"

	if [ ! -e "$traces/$1-$3.trace" ] || [ ! -e "$traces/$1-$5.trace" ]; then
		skip "$text" "no $1-$3.trace and $1-$5.trace in UGM_TRACES"
		return
	fi
	analyze_both "$1-$3" "$2" && analyze_both "$1-$4" "$2" && analyze_both "$1-$5" "$2" &&
		rows "$@" > have 2>.err
	sed "s/^/# /" have
	tr -s ' ' < "$page" | grep -e "^$1-$5 " -e "^$1, $3 " > .out
	[ "$(wc -l < have)" = 2 ] && cmp -s have .out
	verdict $? "$text"
}

held bert bert-base 128 1024 256
held vit vit-small-32 512 1280 1280
held inceptionv3 inception-v3 512 1536 1536
held resnet152 resnet-152 256 1280 1280
held senet154 senet-154 256 1024 1024

# A size that planners have to bear.
exits 0 "a trace of 100,000 kernels" gen gpt2 --layers 1910 --hidden 256 --heads 4 \
	--inner 1024 --batch 32 --seq 128 --type half -o long.trace
says " 114621 kernels, 200590 tensors"
exits 0 "which is a trace" analyze long.trace
says "long: 200592 tensors, 114621 kernels"
done_testing
