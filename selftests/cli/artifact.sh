#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The preset g10-artifact against the published times: deviations, and limits that
# no change may pass.

. "$(dirname "$0")/../lib/cli.sh"

traces=${UGM_TRACES:-$top/../shared/traces}
reference=${UGM_REFERENCE:-$top/../shared/reference}

# The published seconds. Usage: published TRACE COLUMN
published()
{
	awk -F, -v model="${1%-*}" -v batch="${1##*-}" -v column="$2" '
		FNR == 1 { at = 0; for (i = 1; i <= NF; i++) if ($i == column) at = i }
		at && $1 == model && $2 == batch { print $at; exit }' \
		"$reference"/fig15_batchsize.csv "$reference"/fig11_overall.csv
}

# Usage: near PERCENT POLICY COLUMN TRACE [ARGUMENT...]
near()
{
	local percent=$1 policy=$2 column=$3 trace=$4 want text

	shift 4
	text="$policy on $trace $*"
	want=$(published "$trace" "$column" 2>/dev/null)
	if [ ! -e "$traces/$trace.trace" ] || [ -z "$want" ]; then
		skip "$text" "no published trace or result"
		return
	fi
	"$ugm" simulate "$traces/$trace.trace" --preset g10-artifact --policy "$policy" \
		--json r.json "$@" >.out 2>.err
	python3 -c "
import json
r = json.load(open('r.json'))['results'][0]['iteration_ns'] / 1e9
print(f'# $policy $trace: {r:.3f} s, published $want s: {100 * (r / $want - 1):+.2f} %')" \
		2>>.err
	check "$text: within $percent %" json r.json \
		"abs(r['iteration_ns'] / 1e9 / $want - 1) <= $percent / 100"
}

# What does not run as published does not run here.
# Usage: fails POLICY TRACE TEXT
fails()
{
	local text="$1 on $2 fails"

	if [ ! -e "$traces/$2.trace" ]; then
		skip "$text" "no published trace"
		return
	fi
	exits 1 "$text" simulate "$traces/$2.trace" --preset g10-artifact --policy "$1"
	says "$3"
}

main="bert-256 vit-1280 inceptionv3-1536 resnet152-1280 senet154-1024"
for t in $main; do
	near 1 uvm base_uvm_s "$t"
	near 1 deepum deepum_s "$t"
	near 1 g10 g10_s "$t"
	near 1 g10-gds g10_gds_s "$t"
	case $t in vit*) near 17 g10-host g10_host_s "$t" ;; *) near 1 g10-host g10_host_s "$t" ;; esac
done
near 1 g10-host g10_host_s vit-1280 --target-factor 1.269366
near 3 flashneuron flashneuron_s bert-256
near 1 flashneuron flashneuron_s resnet152-1280
near 1 flashneuron flashneuron_s senet154-1024
fails flashneuron vit-1280 "finds no hole"
fails flashneuron inceptionv3-1536 "finds no hole"
fails flashneuron bert-1024 "leave 0 bytes"
for t in bert-128 bert-512 bert-1024 vit-512 vit-1024 inceptionv3-512 inceptionv3-1024 \
		resnet152-256 resnet152-1024 senet154-256 senet154-512; do
	near 1 deepum deepum_s "$t"
	case $t in bert-512) near 13 g10 g10_s "$t" ;; *) near 1 g10 g10_s "$t" ;; esac
	case $t in bert-1024 | vit-1024) ;; *) near 1 flashneuron flashneuron_s "$t" ;; esac
	# The longest predictions there are.
	case $t in resnet152-1024 | senet154-512) ;; *) near 1 uvm base_uvm_s "$t" ;; esac
done
near 1 g10 g10_s bert-512 --target-factor 1.394
near 1 flashneuron flashneuron_s vit-1024 --target-factor 0.993

# Figure 18: flash as fast as the link.
if [ -e "$traces/bert-512.trace" ]; then
	"$ugm" simulate "$traces/bert-512.trace" --preset g10-artifact --policy uvm --json r.json \
		--pcie-bw 32e9 --flash-read-bw 32e9 --flash-write-bw 32e9 >.out 2>.err
	check "uvm on bert-512 with flash as fast as the link: within 1 %" json r.json \
		"abs(r['iteration_ns'] / 1e9 / 22.8056 - 1) <= 0.01"
else
	skip "flash as fast as the link" "no published trace"
fi

# Usage: moves TRACE FLASH HOST: evictions that the published planner decided on
moves()
{
	local text="g10 on $1: $2 evictions to flash and $3 to the host"

	if [ ! -e "$traces/$1.trace" ]; then
		skip "$text" "no published trace"
		return
	fi
	"$ugm" plan "$traces/$1.trace" --preset g10-artifact --policy g10 -o s.sched >.out 2>.err
	check "$text" awk -v flash="$2" -v host="$3" '
		$3 == "evict" { n[$7]++ }
		END { exit n["flash"] != flash || n["host"] != host }' s.sched
}

moves bert-256 6 18
moves vit-1280 44 135
moves inceptionv3-1536 385 59

# A profile beside the trace is read, and must be one.
"$ugm" gen bert-base --batch 8 --layers 2 -o profiled.trace >.out 2>.err
exits 0 "no profile" simulate profiled.trace --policy uvm --preset g10-artifact
says "pages of 4 KiB or whole tensors"
echo "0 1 2" >profiled.pf
exits 1 "a bad profile" simulate profiled.trace --policy uvm --preset g10-artifact
says "profiled.pf:1: 3 words"

# Only predictions know the preset.
"$ugm" gen bert-base --batch 8 --layers 2 -o small.trace >.out 2>.err
refuses "predictions only" run small.trace --policy uvm --preset g10-artifact
refuses "--launches" simulate small.trace --policy uvm --preset g10-artifact --launches l
refuses "--target-factor" simulate small.trace --policy g10 --target-factor 0
exits 1 "what the published simulators do not know" \
	simulate small.trace --policy ugm --preset g10-artifact --gpu-mem 1G
says "know no"
done_testing
