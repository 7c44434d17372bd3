#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Policy ugm where GPU and host overflow: how near it comes to the bound. The
# shares are what it reached, less about one in a hundred.

. "$(dirname "$0")/../lib/cli.sh"

"$ugm" gen bert-base --batch 16 --seq 512 --layers 6 -o t.trace >.out 2>.err

# GPU and host memory, share of the bound's speed
reaches()
{
	"$ugm" compare t.trace --policies g10,ugm,bound --gpu-mem "$1" --host-mem "$2" \
		--json >r.json 2>.err
	check "$1 of GPU, $2 of host memory: $3 of the bound, and not slower than g10" \
		python3 -c "
import json
ns = {r['policy']: r['iteration_ns'] for r in json.load(open('r.json'))['results']}
share = ns['bound'] / ns['ugm']
print('# %.4f' % share)
assert $3 <= share <= 1 and ns['ugm'] <= ns['g10']"
}

reaches 1G 512M 0.97
reaches 1G 2G 0.93
reaches 2G 512M 0.96
reaches 2G 3G 0.93
reaches 2G 4G 0.98

done_testing
