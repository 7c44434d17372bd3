#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What lets one see why: analyze, explain, timelines, pages, noise and wear.

. "$(dirname "$0")/../lib/cli.sh"

"$ugm" gen bert-base --batch 64 --layers 4 -o t.trace >.out 2>.err
machine="--gpu-mem 1G --host-mem 2G"

exits 0 "analyze" analyze t.trace $machine
says "inactive"
"$ugm" analyze t.trace $machine --json >a.json 2>.err
check "analyze: the curve's peak is the peak" python3 -c "
import json
a = json.load(open('a.json'))
live = [p['live_bytes'] for p in a['curve']]
assert max(live) == a['peak_live_bytes'] == live[a['peak_kernel']]
assert all(p['active_bytes'] <= p['live_bytes'] for p in a['curve'])
assert sum(l['periods'] for l in a['periods_by_length']) == a['periods'] > 0
assert 0 < a['inactive_fraction'] < 1"

for policy in uvm deepum g10 g10-gds g10-host; do
	# shellcheck disable=SC2086
	"$ugm" simulate t.trace $machine --policy $policy --json r.json --perfetto p.json \
		>.out 2>.err
	check "$policy: the timeline has the result's time and traffic" python3 -c "
import json
r = json.load(open('r.json'))['results'][0]
e = json.load(open('p.json'))['traceEvents']
tracks = {(x['pid'], x['tid']): x['args']['name'] for x in e
          if x['ph'] == 'M' and x['name'] == 'thread_name'}
moved, end, stall = {}, 0, 0
for x in e:
    if x['ph'] != 'X':
        continue
    where = tracks[x['pid'], x['tid']]
    if where == 'kernels':
        end = max(end, x['ts'] + x['dur'])
    elif where == 'stalls':
        stall += x['args']['stall_ns']
    else:
        key = where.replace(' ', '_')
        moved[key] = moved.get(key, 0) + x['args']['bytes']
assert abs(end * 1000 - r['iteration_ns']) < 2, (end, r['iteration_ns'])
assert stall == r['stall_ns'], (stall, r['stall_ns'])
assert moved == {k: v for k, v in r['traffic_bytes'].items() if v}, moved"
done
# shellcheck disable=SC2086
"$ugm" simulate t.trace $machine --policy g10 --json r.json --perfetto p.json >.out 2>.err
check "figure 12: execution and stall are the result's, and data move during part of both" \
	python3 -B -c "
import importlib.machinery, importlib.util, json
loader = importlib.machinery.SourceFileLoader('figures', '$top/scripts/figures')
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader('figures', loader))
loader.exec_module(figures)
r = json.load(open('r.json'))['results'][0]
parts = figures.split_time(*figures.read_timeline(json.load(open('p.json'))['traceEvents']))
assert abs(parts['compute'] + parts['overlap'] - r['ideal_ns'] / 1e9) < 1e-6, parts
assert abs(parts['stall'] - r['stall_ns'] / 1e9) < 1e-6, parts
assert parts['overlap'] > 0 and parts['compute'] > 0, parts
assert figures.merge([(5, 6), (0, 2), (1, 3)]) == [[0, 3], [5, 6]]
# Two kernels of 10 s; data move from 4 to 13 s; the second waits for 2 s.
parts = figures.split_time([(0, 10e9, 10e9), (10e9, 22e9, 10e9)], [[4e9, 13e9]])
assert parts == {'compute': 4 + 0 + 9 + 0, 'overlap': 6 + 1, 'stall': 2}, parts"
refuses "computed" simulate t.trace --policy ideal --perfetto p.json

exits 0 "explain a tensor" explain t.trace $machine --policy uvm --tensor 1
says "moved:"
exits 0 "explain a kernel" explain t.trace $machine --policy uvm --kernel 3
says "has its operands"
# shellcheck disable=SC2086
"$ugm" explain t.trace $machine --policy deepum --kernel 300 >planned 2>.err
# shellcheck disable=SC2086
exits 0 "a schedule to explain" plan t.trace $machine --policy deepum -o d.sched
# shellcheck disable=SC2086
"$ugm" explain t.trace $machine --schedule d.sched --kernel 300 >read 2>.err
check "explain tells of a schedule what it tells of its policy" \
	test -s planned -a "$(cat planned)" = "$(cat read)"
refuses "either --tensor or --kernel" explain t.trace --policy uvm
refuses "no such tensor" explain t.trace --policy uvm --tensor 99999999
refuses "--kernel" explain t.trace --policy uvm --kernel 99999999

exits 0 "compare writes a page" compare t.trace $machine --policies ideal,uvm,g10 --html p.html
check "the page's data are JSON and name no other host" python3 -c "
import json, re
s = open('p.html').read()
d = json.loads(re.search(r'<script id=\"data\"[^>]*>(.*?)</script>', s, re.S).group(1))
assert [r['policy'] for r in d['rows']] == ['ideal', 'uvm', 'g10']
assert len(d['rows'][1]['curves']['gpu']) == 400
for r in d['rows'][1:]:
    for k in ('gpu_in', 'gpu_out', 'flash_read', 'flash_write'):
        # No link moves more in an iteration than it can.
        assert 0 <= sum(r['curves'][k]) / 400 <= 1.001, (r['policy'], k)
assert not re.search(r'(src|href)=', s)"

# What is printed beside a table is on its page too.
# shellcheck disable=SC2086
exits 0 "compare writes a page with noise" compare t.trace $machine --policies ideal,g10 \
	--noise 0.1 --seed 7 --html noisy.html
check "the page has all that its machine line and its table are made of" python3 -c "
import json, re
s = open('noisy.html').read()
d = json.loads(re.search(r'<script id=\"data\"[^>]*>(.*?)</script>', s, re.S).group(1))
used = set(re.findall(r'\bC\.([a-z_0-9]+)', s))
assert {'noise', 'seed', 'scale', 'block_size_bytes', 'fault_ns'} <= used <= set(d['config']), used
assert d['config']['noise'] and d['config']['seed'] == 7
ways = re.search(r'const K=\[(.*?)\]', s).group(1).replace('\'', '').split(',')
assert set(ways) == set(d['rows'][1]['traffic_bytes']), ways"
# A kernel that runs longer does not wait.
# shellcheck disable=SC2086
"$ugm" simulate t.trace $machine --policy g10 --noise 0.1 --seed 7 --json r.json --perfetto p.json \
	>.out 2>.err
check "noise is no stall, in a timeline and on a page" python3 -c "
import json, re
r = json.load(open('r.json'))['results'][0]
e = json.load(open('p.json'))['traceEvents']
assert sum(x['args'].get('stall_ns', 0) for x in e if x['ph'] == 'X') == r['stall_ns']
assert abs(sum(x['args'].get('duration_ns', 0) for x in e if x['ph'] == 'X')
           - r['ideal_ns']) == 0
s = open('noisy.html').read()
d = json.loads(re.search(r'<script id=\"data\"[^>]*>(.*?)</script>', s, re.S).group(1))
stalls = {x['args']['kernel']: x['args']['stall_ns'] for x in e
          if x['ph'] == 'X' and 'stall_ns' in x['args']}
assert d['rows'][1]['worst']
for k in d['rows'][1]['worst']:
    assert stalls[k['kernel']] == k['stall_ns'], k"

# Noise: the same seed gives the same answer, another seed another one.
for seed in 1 1 2; do
	# shellcheck disable=SC2086
	"$ugm" simulate t.trace $machine --policy g10 --noise 0.25 --seed $seed \
		--noise-per name --json - 2>.err |
		python3 -c "import json, sys; print(json.load(sys.stdin)['results'][0]['iteration_ns'])"
done >noisy
check "noise follows its seed" awk 'NR == 1 { a = $1 } NR == 2 && $1 != a { exit 1 }
	NR == 3 && $1 == a { exit 1 } END { if (NR != 3) exit 1 }' noisy
refuses "--noise" simulate t.trace --policy g10 --noise 1
refuses "--noise-per" simulate t.trace --policy g10 --noise-per day
refuses "drive" simulate t.trace --policy g10 --drive floppy

# shellcheck disable=SC2086
"$ugm" simulate t.trace $machine --policy g10-gds --drive 1e12:1e15 --json r.json >.out 2>.err
check "wear is what was written to flash" json r.json \
	"r['flash_wear']['written_bytes'] == r['traffic_bytes']['gpu_to_flash'] > 0 and
	 abs(r['flash_wear']['drive_writes_per_day'] * r['flash_wear']['lifetime_years'] *
	     365 * 1e12 / 1e15 - 1) < 1e-6"
"$ugm" simulate t.trace $machine --policy g10-gds --drive 1e12:1e15 >table 2>.err
check "and in the table if it is asked for" python3 -c "
import json
w = json.load(open('r.json'))['results'][0]['flash_wear']
head, row = open('table').read().splitlines()[-2:]
assert head.split()[-8:-6] == ['drive/day', 'years'], head
assert [float(x) for x in row.split()[-2:]] == [round(w['drive_writes_per_day'], 3),
                                                round(w['lifetime_years'], 2)], row"
"$ugm" compare t.trace $machine --policies ideal,g10-gds --drive 1e12:1e15 --csv >c.csv 2>.err
check "and as values" python3 -c "
import csv, json
w = json.load(open('r.json'))['results'][0]['flash_wear']
rows = list(csv.DictReader(open('c.csv')))
assert abs(float(rows[1]['drive_writes_per_day']) / w['drive_writes_per_day'] - 1) < 1e-5
assert abs(float(rows[1]['lifetime_years']) / w['lifetime_years'] - 1) < 1e-5
assert float(rows[0]['drive_writes_per_day']) == 0 and rows[0]['lifetime_years'] == ''"
done_testing
