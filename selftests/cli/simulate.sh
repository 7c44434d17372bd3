#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# From a generated trace to schedules, predictions and comparisons.

. "$(dirname "$0")/../lib/cli.sh"

machine=(--gpu-mem 160M --host-mem 256M --scale 4 --block-size 64K)

exits 0 "gen" gen bert-base --layers 3 --vocabulary 4000 --batch 8 -o t.trace
says "tensors of"
"$ugm" gen bert-base --layers 3 --vocabulary 4000 --batch 8 -o again.trace 2>/dev/null
check "gen writes the same every time" cmp t.trace again.trace
"$ugm" gen bert-base --layers 3 --vocabulary 4000 --batch 8 -o - 2>/dev/null > stdout.trace
check "gen to the standard output" cmp t.trace stdout.trace
check "the size is published in the head" \
	grep -q '^# ugm gen bert-base: parameters=' t.trace

# Predictions: the contract of the JSON.
exits 0 "simulate uvm" simulate t.trace --policy uvm "${machine[@]}" --json uvm.json
check "schema" json uvm.json 'd["schema"] == "ugm.result/1"'
check "trace and policy" json uvm.json '(r["trace"], r["policy"]) == ("t", "uvm")'
check "numbers are numbers" json uvm.json 'all(type(r[k]) is int for k in
	("iteration_ns", "ideal_ns", "stall_ns", "plan_ns", "peak_rss_bytes"))'
check "exact" json uvm.json 'r["exact"] is True'
check "three iterations, the second counts" json uvm.json \
	'len(r["iterations_ns"]) == 3 and r["iteration_ns"] == r["iterations_ns"][1]'
check "stall is what is not ideal" json uvm.json \
	'r["stall_ns"] == r["iteration_ns"] - r["ideal_ns"] > 0'
check "share of ideal" json uvm.json \
	'abs(r["fraction_of_ideal"] - r["ideal_ns"] / r["iteration_ns"]) < 1e-6'
exits 0 "simulate bound" simulate t.trace --policy bound "${machine[@]}" --json bound.json
check "a computed row takes time, too" json bound.json 'r["plan_ns"] > 0'
check "traffic by direction" json uvm.json 'all(type(r["traffic_bytes"][k]) is int for k in
	("flash_to_gpu", "gpu_to_flash", "host_to_gpu", "gpu_to_host"))'
check "there is traffic" json uvm.json 'r["traffic_bytes"]["host_to_gpu"] > 0'
check "the machine is told" json uvm.json '
	d["config"]["gpu_mem_bytes"] == 160 << 20 and
	d["config"]["host_mem_bytes"] == 256 << 20 and
	d["config"]["pcie_bytes_per_s"] == 15754000000 and
	d["config"]["block_size_bytes"] == 65536 and d["config"]["scale"] == 4 and
	d["config"]["overlap"] == "full" and d["config"]["preset"] == "g10-paper"'
"$ugm" simulate t.trace --policy uvm "${machine[@]}" --json - > stdout.json 2>/dev/null
check "--json - is nothing but JSON" json stdout.json \
	"r['iteration_ns'] == $(python3 -c 'import json; print(json.load(open("uvm.json"))["results"][0]["iteration_ns"])')"
exits 0 "simulate ideal" simulate t.trace --policy ideal --json ideal.json
check "ideal is the sum of the durations" json ideal.json \
	"r['iteration_ns'] == r['ideal_ns'] == $(awk '/^kernel/ { s += $3 } END { printf "%d", s }' t.trace)"
exits 0 "overlap none" simulate t.trace --policy uvm "${machine[@]}" --overlap none --json none.json
check "waits more" json none.json \
	"r['iteration_ns'] > $(python3 -c 'import json; print(json.load(open("uvm.json"))["results"][0]["iteration_ns"])')"
exits 0 "one iteration" simulate t.trace --policy uvm "${machine[@]}" --iterations 1 --json one.json
check "is its own result" json one.json 'r["iterations_ns"] == [r["iteration_ns"]]'

# Schedules: what plan writes gives what the policy gives.
exits 0 "plan" plan t.trace --policy deepum "${machine[@]}" -o s
exits 0 "simulate deepum" simulate t.trace --policy deepum "${machine[@]}" --json p.json --launches p.log
exits 0 "simulate its schedule" simulate t.trace --schedule s "${machine[@]}" --json s.json --launches s.log
check "launch by launch the same" cmp p.log s.log
check "with digests" grep -qE '^99 [0-9]+ [0-9]+ [0-9a-f]{16}$' p.log
check "three times all kernels" test "$(wc -l < p.log)" = "$((3 * $(grep -c ^kernel t.trace)))"
check "deepum beats uvm" json p.json \
	"r['iteration_ns'] < $(python3 -c 'import json; print(json.load(open("uvm.json"))["results"][0]["iteration_ns"])')"

# Edited by hand: a hint removed is fine, a wrong one is named.
grep -v '^at 3 ' s > removed
exits 0 "a hint removed" simulate t.trace --schedule removed "${machine[@]}"
{ cat s; echo "at 5 prefetch 999999 0 4096 gpu need=6"; } > wrong
refuses "wrong:$(wc -l < wrong): trace t has no tensor 999999" \
	simulate t.trace --schedule wrong "${machine[@]}"
gzip -k s
exits 0 "a compressed schedule" simulate t.trace --schedule s.gz "${machine[@]}"
gzip -k t.trace
exits 0 "a compressed trace" simulate t.trace.gz --policy uvm "${machine[@]}" --json gz.json
check "has the same name" json gz.json 'r["trace"] == "t"'
python3 - <<'END'
data = bytearray(open("t.trace.gz", "rb").read())
open("cut.gz", "wb").write(data[:len(data) // 2])
data[-6] ^= 1
open("sum.gz", "wb").write(data)
END
refuses "cut.gz: ends in the middle of its compressed data" simulate cut.gz --policy uvm
refuses "sum.gz: damaged compressed data: incorrect data check" simulate sum.gz --policy uvm
printf 'tensor 0 1 global a\nkernel 0 %u k in=0 out= workspace=0\n' $((1 << 60)) > ages.trace
exits 0 "iterations of 36 years" simulate ages.trace --policy uvm --iterations 4 --json ages.json
check "take that long" json ages.json 'set(r["iterations_ns"]) == {1 << 60}'
exits 1 "and one more is too much for clocks" simulate ages.trace --policy uvm --iterations 5
says "ages: 5 iterations of"
sed 's/^option demand on/option demand off/; /prefetch/d' s > off
exits 1 "demand off fails where it misses" simulate t.trace --schedule off "${machine[@]}" --json off.json
says "an operand is not in GPU memory"
check "with null times and a reason" json off.json \
	'"kernel" in r["error"] and r["iteration_ns"] is None and r["iterations_ns"] is None'

# flashneuron needs back what is still on its way out when the backward pass begins.
"$ugm" gen bert-base --layers 4 --batch 32 -o four.trace 2>/dev/null
for size in 1400M 1600M; do
	exits 0 "flashneuron with $size" simulate four.trace --policy flashneuron \
		--gpu-mem $size --host-mem 2G --json fn.json
	check "waits for flash alone" json fn.json \
		'r["traffic_bytes"]["flash_to_gpu"] > 0 == r["traffic_bytes"]["gpu_to_host"]'
done
exits 1 "and with too little" simulate four.trace --policy flashneuron --gpu-mem 1000M
says "finds no hole for kernel"

# A machine that is too small says what fits, and that fits.
exits 1 "too small a GPU" simulate t.trace --policy uvm --gpu-mem 8M --scale 1 --block-size 4096 --json small.json
fits=$(grep -oE 'a GPU memory of [0-9]+ bytes fits' .err | grep -oE '[0-9]+')
says "GPU memory"
check "with null times" json small.json 'r["error"] and r["iteration_ns"] is None'
exits 0 "what it names fits" simulate t.trace --policy uvm --gpu-mem "${fits:-0}" --scale 1 --block-size 4096
exits 1 "an arena that is too large" simulate t.trace --policy uvm --gpu-mem 160M --scale 64 --block-size 256K
says "fits"

# No number is rounded, and none overflows: a double has no 2^53 + 1.
odd=9007199254740993
printf 'kernel 0 %s a in= out= workspace=0\nkernel 1 1 b in= out= workspace=0\n' $odd > odd.trace
exits 0 "long kernels" simulate odd.trace --policy uvm --iterations 1 --json odd.json --perfetto odd.perfetto
check "their time as it is" grep -q '"ideal_ns": 9007199254740994,' odd.json
check "and in a timeline" grep -q '"ts":9007199254740.993,"dur":0.001,"name":"b"' odd.perfetto
exits 0 "a GPU with an odd number of bytes" simulate odd.trace --policy uvm --gpu-mem $odd --json odd.json
check "has that number" grep -q "\"gpu_mem_bytes\": $odd," odd.json
printf '%s\n' "tensor 0 $((1 << 60)) global w" "kernel 0 1 a in=0 out= workspace=0" \
	"kernel 1 100000 b in= out= workspace=0" "kernel 2 1 c in=0 out= workspace=0" > huge.trace
exits 0 "analyze a tensor of 2^60 bytes" analyze huge.trace --flash-read-bw 1e6 --flash-write-bw 1e6 --json
cp .out a.json
check "which takes long to come" json a.json \
	'sum(l["longer_than_flash_round_trip"] for l in d["periods_by_length"]) == 0'

# Comparisons.
exits 0 "compare" compare t.trace again.trace --policies ideal,uvm,deepum "${machine[@]}" --csv
check "a line each, and a head" test "$(wc -l < .out)" = 7
exits 0 "compare as JSON" compare t.trace --policies uvm,deepum "${machine[@]}" --json
cp .out c.json
check "is the same prediction" json c.json \
	"r['iteration_ns'] == $(python3 -c 'import json; print(json.load(open("uvm.json"))["results"][0]["iteration_ns"])')"
exits 0 "compare on a machine that is too small" compare t.trace --policies ideal,uvm --gpu-mem 8M --json
cp .out c.json
check "a row that says so" json c.json \
	'd["results"][0]["iteration_ns"] > 0 and d["results"][1]["error"] and d["results"][1]["iteration_ns"] is None'
done_testing
