#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The commands that the documentation shows run, and write what it shows.

. "$(dirname "$0")/../lib/cli.sh"

ln -s "$top/build" build

# Literal blocks of a chapter that are commands for this machine alone; make, which
# built what is tested, is left out. Usage: commands_of CHAPTER
commands_of()
{
	awk '
	function flush() {
		if (block ~ /build\/ugm/ && block !~ /scripts\/vm|sudo|cc -I/)
			printf "%s", block
		block = ""
	}
	/^[^ ]/ { flush(); on = /::$/ && !/^\.\. / }
	on && /^  / && !/^  make / { block = block substr($0, 3) "\n" }
	END { flush() }' "$1"
}

commands_of "$top/Documentation/quickstart.rst" > quickstart
check "the quick start has commands" test "$(grep -c '^build/ugm' quickstart)" -ge 15
check "they run" bash -euo pipefail quickstart
check "the trace that is shown has something to gain" python3 -c '
import subprocess, json
out = subprocess.run(["build/ugm", "compare", "mine.trace", "--gpu-mem", "1536M", "--json"],
		     check=True, capture_output=True).stdout
ns = {r["policy"]: r["iteration_ns"] for r in json.loads(out)["results"]}
assert ns["ideal"] < ns["ugm"] < ns["uvm"], ns'

# Those of ugm(1) that need no device: "$ ugm".
mkdir man
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/s/^\$ //p' "$top/Documentation/man/ugm.1" > manual
check "ugm(1) has commands" test "$(grep -c '^ugm' manual)" -ge 5
check "they run" env -C man PATH="$top/build:$PATH" bash -euo pipefail "$work/manual"

# The table of README.md, whose trace and options scripts/demo has.
sed -n 's/^ugm gen \(.*\) -o .*/\1/p' "$top/scripts/demo" > arguments
sed -n 's,^ *build/ugm compare build/demo/bert-base-640.trace ,,p' "$top/README.md" > options
# shellcheck disable=SC2046
"$ugm" gen $(cat arguments) -o bert-base-640.trace 2>.err &&
	"$ugm" compare bert-base-640.trace $(cat options) 2>>.err |
	awk '$1 == "bert-base-640" { print $1, $2, $3, $4, $5, $8, $9 }' > table
awk '$1 == "bert-base-640" { print $1, $2, $3, $4, $5, $7, $8 }' "$top/README.md" > shown
check "README.md has the table of the demo" diff shown table
check "which is of all policies" test "$(wc -l < table)" -ge 9
done_testing
