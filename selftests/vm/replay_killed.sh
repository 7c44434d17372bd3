#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# UGM-MODULE: block_size=4096 gpu_phys=$UGM_GPU_PHYS gpu_mem=192M host_mem=640M
# UGM-TIMEOUT: 1800
# UGM-LONG
#
# A replay is killed at random moments, UGM_KILLS times (200), every second time
# with a lease outstanding, and its server with it or a moment later: all that
# it had comes back, no invariant breaks, and the next replay is exact. SEED=
# repeats the moments.

. "$(dirname "$0")/../lib/replay.sh"

options="--policy deepum --gpu-mem 1536M --scale $(scaled 64) --block-size 4096 --host-mem 256M"
generate bert bert-base --batch 32 --seq 128 --layers 3
trace=$tmp/bert.trace
kills=${UGM_KILLS:-200}
seed=${SEED:-$(($(date +%s) % 32768))}
RANDOM=$seed
echo "# SEED=$seed"

stat_of()
{
	ugm stat --json > "$tmp/stat.json" 2>/dev/null || return 1
	json_value "$tmp/stat.json" "$1"
}

# Is all memory of the device free? What is still under way has a moment.
all_is_free()
{
	for _ in $(seq $((20 * ${UGM_SLOWNESS:-1}))); do
		ugm info --json > "$tmp/info.json" || return 1
		[ "$(json_value "$tmp/info.json" gpu_free_frames)" = \
			"$(json_value "$tmp/info.json" gpu_frames)" ] &&
			[ "$(json_value "$tmp/info.json" host_used_blocks)" = 0 ] &&
			[ "$(json_value "$tmp/info.json" flash_used_slots)" = 0 ] &&
			return 0
		sleep 0.1
	done
	grep -E '_(frames|blocks|slots)"' "$tmp/info.json" | sed 's/^/# /'
	return 1
}

# The server of the replay $1 that has just been started, or nothing.
server_of()
{
	local pid

	while kill -0 "$1" 2>/dev/null; do
		pid=$(stat_of lane_pid)
		if [ "${pid:-0}" != 0 ]; then
			echo "$pid"
			return
		fi
		sleep 0.02
	done
}

# Stop the server $1 with a lease in its hands.
stop_with_lease()
{
	local had

	while kill -STOP "$1" 2>/dev/null; do
		had=$(stat_of leases_outstanding)
		[ "${had:-0}" = 0 ] || return 0
		kill -CONT "$1" 2>/dev/null
		sleep 0.01
	done
	return 1
}

# shellcheck disable=SC2086  # options are words
predict sim "$trace" $options || echo "# simulate failed"
# shellcheck disable=SC2086
if replay run "$trace" $options && agree run sim; then
	ok "a replay"
else
	sed 's/^/# /' "$tmp/run.log" | tail -n 5
	not_ok "a replay"
fi
killed=0 outstanding=0 wrong=0
while [ $killed -lt "$kills" ] && [ $wrong = 0 ]; do
	# shellcheck disable=SC2086
	ugm run "$trace" $options --iterations 1000 > "$tmp/kill.log" 2>&1 &
	runner=$!
	server=$(server_of $runner)
	moment=$((RANDOM % 1000))
	sleep "0.$(printf %03d $moment)"
	lease=0
	if [ $((killed % 2)) = 0 ] && [ -n "$server" ] && stop_with_lease "$server"; then
		lease=1
	fi
	kill -KILL $runner 2>/dev/null
	status=0
	wait $runner 2>/dev/null || status=$?
	# Its server dies with it, or has what it was given a little longer.
	[ $((RANDOM % 2)) = 0 ] || sleep 0.3
	[ -z "$server" ] || kill -KILL "$server" 2>/dev/null
	killed=$((killed + 1))
	outstanding=$((outstanding + lease))
	if [ $status != 137 ] || ! all_is_free || ! ugm check > "$tmp/check.log"; then
		sed 's/^/# /' "$tmp/kill.log" "$tmp/check.log" | tail -n 5
		echo "# at $moment ms, lease outstanding: $lease, status $status"
		wrong=1
	fi
done
echo "# $killed killed, $outstanding with a lease outstanding"
if [ $wrong = 0 ] && [ $outstanding -ge $((kills / 4)) ]; then
	ok "nothing is left of $killed replays"
else
	not_ok "nothing is left of $killed replays"
fi

# shellcheck disable=SC2086
if replay again "$trace" $options && agree again sim; then
	ok "a replay after all that"
else
	sed 's/^/# /' "$tmp/again.log" | tail -n 5
	not_ok "a replay after all that"
fi

done_testing
