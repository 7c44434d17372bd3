#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What ugm doctor tells where there is no device: lines that mend it, for the
# kernel that runs.

. "$(dirname "$0")/../lib/cli.sh"

release=$(uname -r)
if [ -e /sys/module/ugm ]; then
	skip "doctor without a module" "the module is loaded"
	done_testing
fi

exits 1 "doctor without a module" doctor
says "ugm is not loaded"
says "/dev/ugm0 is not there"
says "things are wrong"
if [ -n "$(find "/lib/modules/$release/" -name 'ugm.ko' 2>/dev/null)" ]; then
	says "modprobe ugm"
else
	says "make KDIR=/lib/modules/$release/build && insmod build/$release/ugm.ko"
fi

mkdir -p "build/$release"
: > "build/$release/ugm.ko"
exits 1 "doctor with a module that was built" doctor
cp .out advice
check "which is to be loaded" grep -qx " *insmod build/$release/ugm.ko" advice
if [ -e "/lib/modules/$release/build" ]; then
	skip "headers are not needed any more" "they are there"
else
	check "headers are not needed any more" grep -q "^note  *headers " advice
fi

# What follows when its advice is not followed.
"$top/scripts/build-module" "$work/none/build" > build.out 2>&1
check "no module without headers" grep -qF "$work/none/build: no kernel headers are there" build.out
check "which is one line" test "$(wc -l < build.out)" = 1

exits 1 "doctor of another device" doctor /dev/ugm9
says "/dev/ugm9 is not there"
done_testing
