#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Names may be any bytes: what is written for other programs is UTF-8 all the same.

. "$(dirname "$0")/../lib/cli.sh"

# Latin-1, a cut character, an overlong slash, a surrogate; quotes and a good one.
name=$'caf\xe9-\xe2\x82-\xc0\xaf-\xed\xa0\x80-"<\\-\xc3\xa9'
trace=$name.trace
{
	printf 'tensor 0 1048576 global %s\n' "$name"
	printf 'tensor 1 4194304 intermediate %s\n' "$name"
	printf 'kernel 0 1000 %s in=0 out=1 workspace=0\n' "$name"
	printf 'kernel 1 1000 %s in=1 out= workspace=0\n' "$name"
} > "$trace"
machine=(--gpu-mem 8M --host-mem 16M --block-size 64K)

# The name as JSON must give it, in FILE at least once. Usage: names FILE
names()
{
	python3 - "$1" <<'END'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8", errors="strict").read()
page = re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.S)
found = []
json.loads(page.group(1) if page else text,
           object_hook=lambda o: found.extend(v for v in o.values() if isinstance(v, str)))
r = "\ufffd"
name = f'caf{r}-{r}{r}-{r}{r}-{r}{r}{r}-"<\\-\u00e9'
sys.exit(0 if any(name in f for f in found) else f"no {name!r} in {found!r}")
END
}

exits 0 "simulate" simulate "$trace" --policy uvm "${machine[@]}" --json r.json --perfetto p.json
check "the result is UTF-8" names r.json
check "the timeline too" names p.json
"$ugm" analyze "$trace" --json > a.json 2>.err
check "the analysis too" names a.json
exits 0 "compare" compare "$trace" --policies ideal,uvm "${machine[@]}" --html p.html
check "the page too" names p.html
"$ugm" compare "$trace" --policies ideal,uvm "${machine[@]}" --json > c.json 2>.err
check "the comparison too" names c.json
"$ugm" compare "$trace" --policies ideal,uvm "${machine[@]}" --csv > c.csv 2>.err
check "the table of values too" python3 -c "
import csv
rows = list(csv.DictReader(open('c.csv', encoding='utf-8', newline='')))
assert [r['policy'] for r in rows] == ['ideal', 'uvm']
assert rows[0]['trace'].startswith('caf\ufffd-') and '\"<' in rows[0]['trace']"
exits 1 "an error that quotes it" simulate "$trace" --policy uvm --gpu-mem 64K \
	--block-size 64K --json e.json
check "is UTF-8 too" names e.json

# Files of our own keep names as they are.
exits 0 "plan" plan "$trace" --policy deepum "${machine[@]}" -o s
exits 0 "its schedule" simulate "$trace" --schedule s "${machine[@]}"
# A terminal obeys control characters: it gets none, and a pipe what there is.
on_terminal()
{
	python3 - "$ugm" "$@" <<'END' > .terminal
import pty, sys
sys.exit(pty.spawn(sys.argv[1:], lambda fd: __import__("os").read(fd, 1024), lambda fd: b""))
END
}
evil=$'e\x1b[31m\nvil.trace'
printf 'tensor 0 1048576 global a\033]0;title\007\302\233b\303\251\n' > "$evil"
printf 'kernel 0 1000 k\033c in=0 out= workspace=0\n' >> "$evil"
harmless()
{
	[ -s .terminal ] && ! tr -d '\r\n\t' < .terminal | LC_ALL=C grep -q '[[:cntrl:]]' &&
		grep -qF -- "$1" .terminal
}
on_terminal analyze "$evil"
check "an analysis on a terminal" harmless 'k?c'
on_terminal explain "$evil" --policy uvm --tensor 0 "${machine[@]}"
check "an explanation" harmless $'a?]0;title???b\u00e9'
on_terminal simulate "$evil" --policy uvm "${machine[@]}"
check "a table" harmless 'e?[31m'
"$ugm" explain "$evil" --policy uvm --tensor 0 "${machine[@]}" > piped
check "a pipe has the name as it is" grep -qF $'\033]0;title' piped
done_testing
