#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Help, exit statuses, and what is said about a wrong command line.

. "$(dirname "$0")/../lib/cli.sh"

exits 0 "help" --help
says "simulate"
exits 0 "version" --version
says "ugm 0."
exits 2 "no verb"
refuses "unknown verb 'analyse'" analyse
refuses "unknown verb 'explian'" explian x
for verb in gen analyze plan simulate compare explain calibrate; do
	exits 0 "help of $verb" "$verb" --help
	says "usage: ugm $verb"
done
exits 0 "help with a long option" gen --help
cp .out help
check "which has a line of its own" grep -qx -- '  --mode train|prefill|decode' help
exits 0 "gen alone lists models" gen
says "gpt3-175b "
says "h100-80gb "
refuses "no model is given" gen --batch 2

"$ugm" gen bert-base --layers 2 --batch 2 -o t.trace 2>/dev/null
refuses "unknown option '--polcy'" simulate t.trace --polcy uvm
refuses "unknown option '--block'" simulate t.trace --policy uvm --block 4K
refuses "--policy needs an argument" simulate t.trace --policy
refuses "either --policy or --schedule" simulate t.trace
refuses "either --policy or --schedule" simulate t.trace --policy uvm --schedule s
refuses "too few operands" simulate --policy uvm
refuses "operand 'u.trace' is too much" simulate t.trace u.trace --policy uvm
refuses "policy 'nonsense' is not built in; available: ideal" simulate t.trace --policy nonsense
refuses "policy 'nonsense' is not built in" compare t.trace --policies uvm,nonsense
refuses "'uvm' is there twice" compare t.trace --policies uvm,uvm
refuses "policy '' is not built in" compare t.trace --policies uvm,
refuses "--csv takes no argument" compare t.trace --csv=f
refuses "'ideal' is a computed row" plan t.trace --policy ideal -o s
refuses "-o is missing" plan t.trace --policy uvm
refuses "--policy is missing" plan t.trace -o s
refuses "either --policy or --schedule" explain t.trace --kernel 0
refuses "either --policy or --schedule" explain t.trace --kernel 0 --policy uvm --schedule s.sched
refuses "none.sched: No such file" explain t.trace --kernel 0 --schedule none.sched
refuses "'bound' is computed" explain t.trace --policy bound --kernel 0
refuses "has no record of launches" explain t.trace --policy uvm --kernel 0 \
	--preset g10-artifact
refuses "cannot share the standard output" compare t.trace --html - --csv

# A machine file says what options say.
printf '# ugm-machine 1\n\npcie-bw 25e9 # PCIe 4\nflash-latency-ns 60000\ngpu-mem 8G\n' > my.machine
"$ugm" simulate t.trace --policy uvm --preset my.machine --json file.json >.out 2>.err
"$ugm" simulate t.trace --policy uvm --pcie-bw 25e9 --flash-latency-ns 60000 --gpu-mem 8G \
	--json options.json >.out 2>.err
check "a machine file is those options" python3 -c "
import json
a, b = (json.load(open(f)) for f in ('file.json', 'options.json'))
assert a['config'].pop('preset') == 'my.machine' and b['config'].pop('preset') == 'g10-paper'
assert a['config'] == b['config'] and a['config']['flash_latency_ns'] == 60000
assert a['results'][0]['iterations_ns'] == b['results'][0]['iterations_ns']"
exits 0 "an option overrides it" simulate t.trace --policy uvm --gpu-mem 4G --preset my.machine \
	--json over.json
check "whatever comes first" json over.json 'd["config"]["gpu_mem_bytes"] == 4 << 30'
bad_machine()
{
	printf 'gpu-mem 8G\n%s\n' "$1" > bad.machine
	refuses "bad.machine:2: $2" simulate t.trace --policy uvm --preset bad.machine
}
bad_machine "pcie-bw 16GB" "pcie-bw: '16GB' is not a bandwidth"
bad_machine "pcie 16e9" "'pcie' is nothing that a machine has"
bad_machine "preset g10-paper" "'preset' is nothing that a machine has"
bad_machine "scale 4" "'scale' is nothing that a machine has"
bad_machine "pcie-bw" "'pcie-bw' takes one value"
bad_machine "pcie-bw 1e9 2e9" "'pcie-bw' takes one value"
bad_machine "fault-ns -1" "fault-ns: '-1' is not a whole number"
refuses "Is a directory" simulate t.trace --policy uvm --preset .

# A format that is newer than the command is not guessed at.
for format in schedule trace machine; do
	echo "# ugm-$format 2" > new.$format
done
says_newer="of version 2: known are 1 to 1"
refuses "new.schedule:1: ugm-schedule $says_newer" simulate t.trace --schedule new.schedule
refuses "new.trace:1: ugm-trace $says_newer" simulate new.trace --policy uvm
refuses "new.machine:1: ugm-machine $says_newer" simulate t.trace --policy uvm --preset new.machine
check "what is written tells its version" grep -qx '# ugm-trace 1' t.trace

# No option is ignored.
echo "# ugm-schedule 1" > s.sched
refuses "--replan needs --noise" simulate t.trace --policy g10 --replan
refuses "replan: without noise" simulate t.trace --policy g10 --noise 0 --replan
refuses "--replan needs a policy" simulate t.trace --schedule s.sched --noise 0.1 --replan
refuses "--seed needs --noise" simulate t.trace --policy g10 --seed 0
refuses "--noise-per needs --noise" compare t.trace --policies g10 --noise-per call
exits 0 "a seed for no noise" simulate t.trace --policy g10 --noise 0 --seed 3
refuses "--noise is for predictions only" compare t.trace --device --noise 0.1
refuses "--seed is for predictions only" compare t.trace --device --seed 1
refuses "--clock needs --device" compare t.trace --clock virtual
refuses "--verify needs --device" compare t.trace --verify sample
refuses "--no-server needs --device" compare t.trace --no-server
for policy in ideal uvm deepum ugm bound; do
	refuses "--target-factor is for the policies flashneuron, g10" simulate t.trace \
		--policy $policy --target-factor 1
done
for policy in flashneuron g10 g10-gds g10-host; do
	exits 0 "a target for $policy" simulate t.trace --policy $policy --target-factor 0.9
done
refuses "--target-factor is for the policies" simulate t.trace --schedule s.sched --target-factor 1
refuses "--target-factor is for the policies" plan t.trace --policy ugm --target-factor 1 -o s
refuses "--target-factor is for the policies" explain t.trace --policy uvm --target-factor 1 --kernel 0
refuses "--target-factor is for the policies" compare t.trace --policies uvm,ugm --target-factor 1
exits 0 "one of several policies has a target" compare t.trace --policies uvm,g10 --target-factor 1
refuses "--overlap contradicts the policy" simulate t.trace --policy g10-host --overlap full
exits 0 "what the policy does anyway" simulate t.trace --policy g10-host --overlap none
refuses "--fault-ns means nothing to an analysis" analyze t.trace --fault-ns 1
refuses "unknown option '--iterations'" plan t.trace --policy uvm --iterations 3 -o s
for option in "overlap none" "scale 2" "block-size 4K" iterations\ 2 target-factor\ 1; do
	# shellcheck disable=SC2086
	refuses "unknown option '--${option% *}'" analyze t.trace --$option
done
for option in "overlap none" "scale 2" "block-size 4K" "fault-ns 1" "gpu-latency-ns 1"; do
	# shellcheck disable=SC2086
	refuses "--${option% *} means nothing to the simulators of" simulate t.trace \
		--policy uvm --preset g10-artifact --$option
done
for option in "pcie-bw 1e9" "flash-read-bw 1e9" "flash-write-bw 1e9" "flash-latency-ns 1"; do
	# shellcheck disable=SC2086
	refuses "--${option% *} means nothing under --clock real" run t.trace --policy uvm \
		--clock real --$option
done
refuses "--json and -o cannot share" calibrate --json -o -
for verb in bench calibrate; do
	refuses "--rounds: 0: allowed are 1 to 99" $verb --rounds 0
	refuses "--rounds: 100: allowed are 1 to 99" $verb --rounds 100
	refuses "--size: 0: allowed are 1 to" $verb --size 0
done
refuses "either FILE or --op" hint
refuses "--op needs --tag" hint --op pin
refuses "--op evict needs --tier" hint --op evict --tag 1
refuses "--op pin takes no --tier" hint --op pin --tag 1 --tier gpu
refuses "--tier gpu: evict goes to host or flash" hint --op evict --tag 1 --tier gpu
refuses "--tier flash: prefetch goes to gpu or host" hint --op prefetch --tag 1 --tier flash
for option in at need; do
	refuses "--$option: 18446744073709551615: allowed are 0 to 9223372036854775807" \
		hint --op evict --tag 1 --tier host --$option 18446744073709551615
done
refuses "--shift: 9223372036854775808: allowed" hint s.sched --shift 9223372036854775808
refuses "--tag needs --op" hint s.sched --tag 0
refuses "--offset needs --op" hint s.sched --offset 0
refuses "--at needs --op" hint s.sched --at 0
refuses "--shift needs a FILE" hint --op pin --tag 1 --shift 0
refuses "--need is for what moves" hint --op pin --tag 1 --need 3
refuses "--length: 0: allowed are 1 to" hint --op pin --tag 1 --length 0
refuses "--length: 0: allowed are 1 to" attach /dev/null --length 0
for verb in hint map serve; do
	refuses "--space: 0: allowed are 1 to" $verb --space 0
done

refuses "--gpu-mem: '40X' is not a size" simulate t.trace --policy uvm --gpu-mem 40X
refuses "--gpu-mem: '-1' is not a size" simulate t.trace --policy uvm --gpu-mem -1
refuses "--gpu-mem: '' is not a size" simulate t.trace --policy uvm --gpu-mem=
refuses "is not a number of bytes" simulate t.trace --policy uvm --gpu-mem 0.3
refuses "is not a number of bytes" simulate t.trace --policy uvm --gpu-mem 1.00000000000000000001G
refuses "--gpu-mem: 1152921504606846977: allowed are 0 to 1152921504606846976" simulate t.trace \
	--policy uvm --gpu-mem 1152921504606846977
refuses "--host-mem: 9999999T" simulate t.trace --policy uvm --host-mem 9999999T
refuses "--pcie-bw: '16GB' is not a bandwidth" simulate t.trace --policy uvm --pcie-bw 16GB
refuses "--flash-read-bw: 0: allowed are" simulate t.trace --policy uvm --flash-read-bw 0
for text in nan inf 0x1p-1 " 0.5" "" 0.5x -0.5 1e999; do
	refuses "--noise '$text': allowed" simulate t.trace --policy uvm "--noise=$text"
	refuses "--target-factor '$text': allowed" simulate t.trace --policy g10 "--target-factor=$text"
	refuses "drive '$text:1e15': allowed" simulate t.trace --policy uvm "--drive=$text:1e15"
done
refuses "--overlap: 'half' is not one of: full, none" simulate t.trace --policy uvm --overlap half
refuses "--scale: 99999999999999999999: allowed are 1 to" simulate t.trace --policy uvm \
	--scale 99999999999999999999
refuses "--depth: 0: allowed are 1 to 4096" serve --depth 0
refuses "--depth: 4097: allowed are 1 to 4096" serve --depth 4097
refuses "--lease-ms: 60001: allowed are 1 to 60000" serve --lease-ms 60001
refuses "--scale: 0: allowed" simulate t.trace --policy uvm --scale 0
refuses "--scale: '2.5' is not a whole number" simulate t.trace --policy uvm --scale 2.5
refuses "--iterations: 0: allowed" simulate t.trace --policy uvm --iterations 0
refuses "block size 5000" simulate t.trace --policy uvm --block-size 5000
refuses "--block-size: 4M: allowed are 4096 to" simulate t.trace --policy uvm --block-size 4M
refuses "--block-size: 0: allowed are 4096 to" simulate t.trace --policy uvm --block-size 0
refuses "at most 2^32" simulate t.trace --policy uvm --scale 4096 --block-size 2M
refuses "'other': no such file, and not one of: g10-paper" simulate t.trace --policy uvm --preset other
for model in gpt2-medium llama3-8b senet-154; do
	refuses "$model" gen bert -o x
done
refuses "-o is missing" gen gpt2
refuses "GPU 'mine' is not one of: a100-40gb" gen gpt2 --gpu mine -o x
refuses "--batch: 0: allowed" gen gpt2 --batch 0 -o x
refuses "hidden 768 is not a multiple of heads 5" gen gpt2 --heads 5 -o x
refuses "--optimizer: 'rms' is not one of: adam, sgd" gen gpt2 --optimizer rms -o x
refuses "image 224: gpt2 has none" gen gpt2 --image 224 -o x
refuses "seq 128: resnet-152 has none" gen resnet-152 --seq 128 -o x
refuses "image 20: too small for inception-v3" gen inception-v3 --image 20 -o x
refuses "lora 8: senet-154 has no attention to adapt" gen senet-154 --lora 8 -o x
refuses "attention: resnet-50 has none" gen resnet-50 --attention fused -o x
refuses "mode decode: bert-base is not a decoder" gen bert-base --mode decode -o x
refuses "optimizer: in mode train only" gen gpt2 --mode prefill --optimizer adam -o x
refuses "recompute: in mode train only" gen gpt2 --mode decode --recompute -o x
refuses "tokens 4: in mode decode only" gen gpt2 --tokens 4 -o x
refuses "--mode: 'test' is not one of: train, prefill, decode" gen gpt2 --mode test -o x
refuses "--type: 'int8' is not one of: fp32, half" gen gpt2 --type int8 -o x
check "nothing was written" test ! -e x

# What is empty has no name that could be told.
for verb in gen analyze info attach detach stat map check doctor bench calibrate serve hint; do
	refuses "operand '' is empty" $verb ""
done
refuses "operand '' is empty" simulate "" --policy uvm
refuses "operand '' is empty" compare t.trace ""
refuses "-o: '' is empty" plan t.trace --policy uvm -o ""
for option in policy schedule json launches perfetto; do
	refuses "--$option: '' is empty" simulate t.trace --$option=
done
refuses "--device: '' is empty" run t.trace --policy uvm --device ""
check "an empty UGM_DEVICE is none" test "$(UGM_DEVICE='' "$ugm" info 2>&1 | grep -c '/dev/ugm0')" = 1
refuses ".: not a ugm device" info .

# What is printed nowhere fails, also where all of it is an answer.
for verb in "--help" "--version" "gen" "gen --help" "analyze t.trace" "doctor" \
	"compare t.trace --policies uvm" "explain t.trace --policy uvm --kernel 0" \
	"simulate t.trace --policy uvm --json -" "plan t.trace --policy uvm -o -"; do
	# shellcheck disable=SC2086
	"$ugm" $verb 2>.err >/dev/full
	check "$verb to a full device" test $? = 1 -a "$(tail -n 1 .err | grep -c 'No space left')" = 1
	# shellcheck disable=SC2086
	"$ugm" $verb 2>.err >&-
	check "$verb to a closed output" test $? = 1 -a "$(tail -n 1 .err | grep -c 'Bad file desc')" = 1
done

refuses "no.trace: No such file" simulate no.trace --policy uvm
refuses "Is a directory" simulate . --policy uvm
refuses "no?.trace: No such file" simulate $'no\x01.trace' --policy uvm
echo "tensor 1 2 global" > bad.trace
refuses "bad.trace:1: 4 words" simulate bad.trace --policy uvm
refuses "bad.trace:1: 4 words" compare t.trace bad.trace
refuses "bad.trace:1: 4 words" plan bad.trace --policy uvm -o s
done_testing
