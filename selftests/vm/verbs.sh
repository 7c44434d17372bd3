#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# UGM-MODULE: block_size=4096 gpu_phys=$UGM_GPU_PHYS gpu_mem=192M host_mem=640M
# UGM-TIMEOUT: 300
#
# The verbs that look at a device, and those that speak to a space of another
# process, while a replay runs in it; who may do what; the example program.

. "$(dirname "$0")/../lib/replay.sh"

options="--gpu-mem 1536M --scale 64 --block-size 4096 --host-mem 512M"
generate bert bert-base --batch 32 --seq 128 --layers 3
trace=$tmp/bert.trace

# says TEXT PATTERN STATUS COMMAND...: the exit status and the words
says()
{
	local text=$1 pattern=$2 want=$3 got=0

	shift 3
	"$@" > "$tmp/out" 2>&1 || got=$?
	if [ $got = "$want" ] && { [ -z "$pattern" ] || grep -q -- "$pattern" "$tmp/out"; }; then
		ok "$text"
	else
		head -n 10 "$tmp/out" | sed 's/^/# /'
		not_ok "$text: status $got"
	fi
}

device=/dev/ugm0
namespace=$(ugm info --json | sed -n 's/.*"namespace_path": *"\(.*\)".*/\1/p')
says "info" '"gpu_pool": "reserved"' 0 ugm info --json
says "info lists namespaces" "$namespace" 0 ugm info --namespaces
says "check" '"violations": 0' 0 ugm check --json
says "doctor" "all is well" 0 ugm doctor
says "stat" '"leases_outstanding": 0' 0 ugm stat --json
says "map without a space" "no space is open" 2 ugm map
says "no such device" "no such device" 1 ugm info /dev/ugm99
says "not a device of ours" "not a ugm device" 2 ugm info /dev/null
says "attached twice" "is attached already" 1 ugm attach "$namespace"
says "block size" "has blocks of 4096 bytes" 2 \
	ugm run "$trace" --policy uvm --block-size 8192
says "a scale that fits is named" "scale [0-9]* fits" 1 ugm run "$trace" --policy uvm --scale 8

# The links of this machine, and a prediction and a replay with them.
machine()
{
	ugm info --json | sed -n '/"machine"/,/}/p'
}
machine > "$tmp/before"
says "calibrate" '"fault_ns": ' 0 ugm calibrate --rounds 1 --size 2M --json -o "$tmp/here.machine"
machine > "$tmp/after"
says "leaves the machine as it was" '"clock"' 0 cat "$tmp/after"
says "in every number" "" 0 cmp "$tmp/before" "$tmp/after"
says "tells bandwidths" '^pcie-bw [1-9][0-9]\{6,\}$' 0 cat "$tmp/here.machine"
# shellcheck disable=SC2086
says "predicts with them" "here.machine: GPU" 0 \
	ugm simulate "$trace" --policy uvm --preset "$tmp/here.machine" $options --json "$tmp/s.json"
# shellcheck disable=SC2086
says "replays with them" "here.machine: GPU" 0 \
	ugm run "$trace" --policy uvm --preset "$tmp/here.machine" $options --json "$tmp/r.json"
says "to the same result" "" 0 test "$(json_value "$tmp/s.json" iteration_ns)" = \
	"$(json_value "$tmp/r.json" iteration_ns)"
# shellcheck disable=SC2086
says "says how much was verified" "[1-9][0-9]* bytes of operands read and found as written" 0 \
	ugm run "$trace" --policy uvm $options --verify full
# shellcheck disable=SC2086
says "of which samples are less" "" 0 test \
	"$(ugm run "$trace" --policy uvm $options 2>&1 | sed -n 's/.* \([0-9]*\) bytes of operands.*/\1/p')" -lt \
	"$(ugm run "$trace" --policy uvm $options --verify full 2>&1 |
		sed -n 's/.* \([0-9]*\) bytes of operands.*/\1/p')"
says "calibrate with too much" "allowed are multiples of 4096" 2 ugm calibrate --size 1G
says "bench with too much" "allowed are multiples of 2097152 up to" 2 ugm bench --size 1G
says "bench with an odd size" "--size 4096: allowed are multiples of 2097152" 2 ugm bench --size 4096

# A replay to look at, stopped in the middle.
# shellcheck disable=SC2086  # options are words
ugm run "$trace" --policy deepum $options --verify full --json "$tmp/bg.json" \
	> "$tmp/bg.log" 2>&1 &
runner=$!
launches=0
for _ in $(seq 200); do
	ugm stat --json > "$tmp/stat.json"
	launches=$(json_value "$tmp/stat.json" launches)
	[ "${launches:-0}" -gt 10 ] && break
	sleep 0.05
done
kill -STOP $runner
space=$(json_value "$tmp/stat.json" id)
says "the server's pid" '"lane_pid": [1-9]' 0 ugm stat --json
says "map" "GGG" 0 ugm map
says "map as JSON" '"tier": "gpu"' 0 ugm map --space "$space" --json
says "a space has one server" "has a flash server" 1 ugm serve --space "$space"
mknod "$tmp/loop" b 7 0
echo data > "$tmp/file"
for other in "$tmp/loop" "$tmp/file" /dev/null; do
	mount --bind "$other" "$namespace"
	says "${other##*/} in the namespace's place" "$namespace: not the namespace that is attached" 1 \
		ugm serve --space "$space"
	umount "$namespace"
done
says "detach in use" "hold data" 1 ugm detach
says "calibrate in use" "another space holds memory" 1 ugm calibrate
says "hint to no such space" "no such space" 2 ugm hint --space 999999 --op evict --tag 5 --tier host
tag=$(ugm map --space "$space" | awk 'NR == 3 { print $1 }')
says "hint of a wrong tag" "no such range" 2 ugm hint --op prefetch --tag 77777777 --tier gpu
says "hint without its tier" "needs --tier" 2 ugm hint --op evict --tag "$tag"
says "a single hint" '"taken": 1' 0 ugm hint --op evict --tag "$tag" --tier host --json
# shellcheck disable=SC2086
ugm plan "$trace" --policy deepum $options -o "$tmp/s.plan"
# The run is somewhere in the middle: a discard that is late takes live data.
grep -v ' discard ' "$tmp/s.plan" > "$tmp/s.sched"
says "a schedule of another process" " 0 refused" 0 \
	ugm hint --trace "$trace" --space "$space" "$tmp/s.sched"
sed '0,/^at 1 /s/^at 1 [a-z]* [0-9]*/at 1 prefetch 88888888/' "$tmp/s.sched" > "$tmp/bad.sched"
says "a schedule with a wrong tensor" "bad.sched:[0-9]*: .*88888888" 2 \
	ugm hint --trace "$trace" "$tmp/bad.sched"
chmod 666 $device
says "another user's space" "Operation not permitted" 1 \
	setpriv --reuid 1000 --clear-groups ugm map --space "$space"
kill -CONT $runner
if wait $runner && [ "$(json_value "$tmp/bg.json" exact)" = false ]; then
	ok "the replay ends well, and is not exact any more"
else
	sed 's/^/# /' "$tmp/bg.log" | tail -n 5
	not_ok "the replay ends well, and is not exact any more"
fi

# Without CAP_SYS_ADMIN: the machine must fit, and the kernel lane serves.
chmod 755 "$tmp"
# shellcheck disable=SC2086
says "without CAP_SYS_ADMIN" "no planner lane" 0 setpriv --reuid 1000 --clear-groups \
	ugm run "$trace" --policy deepum $options
says "another machine needs CAP_SYS_ADMIN" "needs CAP_SYS_ADMIN" 1 \
	setpriv --reuid 1000 --clear-groups ugm run "$trace" --policy deepum --gpu-mem 1G \
	--scale 64 --host-mem 512M
chmod 600 $device
says "who may not open it" "ugm info: $device: Permission denied" 1 \
	setpriv --reuid 1000 --clear-groups ugm info
says "doctor of who may not open it" "namespace *not known" 1 \
	setpriv --reuid 1000 --clear-groups ugm doctor

# A namespace with somebody's data.
says "detach" "" 0 ugm detach
chmod 666 $device
says "doctor of who sees no namespace" "sudo ugm doctor" 1 \
	setpriv --reuid 1000 --clear-groups ugm doctor
mkfs.ext4 -q "$namespace" > /dev/null 2>&1
says "a file system" "holds a file system" 1 ugm attach "$namespace"
mkdir -p "$tmp/mnt" && mount "$namespace" "$tmp/mnt"
says "a mounted one, forced" "is mounted on" 1 ugm attach --force "$namespace"
umount "$tmp/mnt"
says "forced" "" 0 ugm attach --force "$namespace"
says "not a block device" "not a block device" 2 ugm attach /dev/null

# The example, as a user builds it.
prefix=$tmp/usr
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include/linux"
cp "$here/build/libugm.so.1" "$prefix/lib/" && ln -s libugm.so.1 "$prefix/lib/libugm.so"
cp "$here/userlib/ugm.h" "$prefix/include/"
cp "$here/uapi/linux/ugm.h" "$prefix/include/linux/"
sed -e "s,@PREFIX@,$prefix,; s,@LIBDIR@,$prefix/lib,; s,@VERSION@,0.1.0," \
	"$here/userlib/libugm.pc.in" > "$prefix/lib/pkgconfig/libugm.pc"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2046  # flags are words
if cc -Wall -Werror "$here/selftests/examples/hello.c" -o "$tmp/hello" \
	$(pkg-config --cflags --libs libugm) > "$tmp/out" 2>&1; then
	says "the example" "hello from flash" 0 env LD_LIBRARY_PATH="$prefix/lib" "$tmp/hello"
	says "detach, to see it fail" "" 0 ugm detach
	says "the example without flash" "is a namespace attached?" 1 env LD_LIBRARY_PATH="$prefix/lib" "$tmp/hello"
else
	sed 's/^/# /' "$tmp/out"
	not_ok "the example builds"
fi
says "check afterwards" '"violations": 0' 0 ugm check --json

done_testing
