#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# UGM-MODULE: block_size=4096 gpu_phys=$UGM_GPU_PHYS gpu_mem=192M host_mem=640M
# UGM-TIMEOUT: 600
#
# The flash server moves what was planned; if it is killed, the kernel lane
# takes over, and neither the data nor the model's time notices.

. "$(dirname "$0")/../lib/replay.sh"

options="--policy deepum --gpu-mem 1536M --scale $(scaled 64) --block-size 4096 --host-mem 256M"
generate bert bert-base --batch 32 --seq 128 --layers 3
trace=$tmp/bert.trace

stat_of()
{
	ugm stat --json > "$tmp/stat.json" 2>/dev/null || return 1
	json_value "$tmp/stat.json" "$1"
}

# Bytes by lane and cause of a finished run: lane_bytes LANE CAUSE
lane_bytes()
{
	sed -n "s/.*\"transfer\.[a-z]*\.[a-z]*\.$1\.$2\.bytes\": *\([0-9]*\).*/\1/p" \
		"$tmp/stat.json" | awk '{ n += $1 } END { print n + 0 }'
}

# shellcheck disable=SC2086  # options are words
predict sim "$trace" $options || echo "# simulate failed"

began=$(date +%s%N)
# shellcheck disable=SC2086
if replay run "$trace" $options && agree run sim; then
	ok "a run with its server"
else
	sed 's/^/# /' "$tmp/run.log" | tail -n 5
	not_ok "a run with its server"
fi
took=$(($(date +%s%N) - began))
ugm stat --json > "$tmp/stat.json"
planner=$(lane_bytes planner planned)
kernel=$(lane_bytes kernel planned | awk '{ print $1 }')
flash_kernel=$(sed -n 's/.*"transfer\.\(flash\.[a-z]*\|[a-z]*\.flash\)\.kernel\.planned\.bytes": *\([0-9]*\).*/\2/p' \
	"$tmp/stat.json" | awk '{ n += $1 } END { print n + 0 }')
echo "# planned: planner lane $planner bytes, kernel lane $kernel, of these flash $flash_kernel"
if [ "$planner" -gt 0 ] && [ "$flash_kernel" = 0 ]; then
	ok "what was planned from and to flash took the planner lane"
else
	not_ok "what was planned from and to flash took the planner lane"
fi

# Kill the server at ten moments, five of them with a lease outstanding.
killed=0 outstanding=0 tries=0
while [ $killed -lt 10 ] && [ $tries -lt 30 ]; do
	tries=$((tries + 1))
	rm -f "$tmp/kill.json"
	# shellcheck disable=SC2086
	replay kill "$trace" $options &
	runner=$!
	# Wait for its server, then a moment that is another one each time.
	pid=0
	for _ in $(seq 200); do
		pid=$(stat_of lane_pid)
		[ "${pid:-0}" != 0 ] && break
		sleep 0.05
		kill -0 $runner 2>/dev/null || break
	done
	if [ "${pid:-0}" = 0 ]; then
		wait $runner
		continue
	fi
	sleep "$(awk "BEGIN { print $took / 1e9 * ($tries % 10) * 0.07 }")"
	had=0
	if [ $outstanding -lt 5 ]; then
		# Stop it, so that a lease it has taken is seen.
		for _ in $(seq 50); do
			kill -STOP "$pid" 2>/dev/null || break
			had=$(stat_of leases_outstanding)
			[ "${had:-0}" -gt 0 ] && break
			kill -CONT "$pid" 2>/dev/null
			sleep 0.01
		done
	fi
	kill -KILL "$pid" 2>/dev/null || { wait $runner; continue; }
	status=0
	wait $runner || status=$?
	ugm stat --json > "$tmp/stat.json"
	kernel=$(lane_bytes kernel planned)
	if [ $status = 0 ] && agree kill sim && [ "$kernel" -gt 0 ]; then
		killed=$((killed + 1))
		[ "${had:-0}" = 0 ] || outstanding=$((outstanding + 1))
		ok "server killed, lease outstanding: ${had:-0}, then the kernel lane: $kernel bytes"
	else
		sed 's/^/# /' "$tmp/kill.log" | tail -n 5
		not_ok "server killed: status $status, kernel lane: $kernel bytes"
		killed=$((killed + 1))
	fi
done
if [ $killed = 10 ] && [ $outstanding -ge 5 ]; then
	ok "ten servers killed, $outstanding with a lease outstanding"
else
	not_ok "ten servers killed: $killed, $outstanding with a lease outstanding"
fi

done_testing
