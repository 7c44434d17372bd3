#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The documentation knows every verb, option, parameter, statistic and call, and
# names none that is not there.

. "$(dirname "$0")/../lib/cli.sh"

man=$top/Documentation/man

# Two sorted lists are the same and not empty. Usage: same TEXT EXPECTED FOUND
same()
{
	sort -u "$2" > "$work/.want"
	sort -u "$3" > "$work/.have"
	: > "$work/.err"
	comm -23 "$work/.want" "$work/.have" | sed 's/^/not documented: /' > "$work/.out"
	comm -13 "$work/.want" "$work/.have" | sed 's/^/not there: /' >> "$work/.out"
	[ -s "$work/.want" ] && [ ! -s "$work/.out" ]
	verdict $? "$1"
}

# Options as ugm(1) marks them, in the part that starts with a line that matches
# and ends with the next verb or section. Usage: options_of PATTERN
options_of()
{
	awk -v begin="$1" '
	$0 ~ begin { on = 1; next }
	on && (/^\.S[hs]/ || (depth == 0 && /^\.It Cm/)) { exit }
	on && /^\.Bl/ { depth++ }
	on && /^\.El/ { depth-- }
	on && /^\.It Fl/ { print $3 }' "$man/ugm.1"
}

# Options as --help lists them, without their dashes. Usage: help_of VERB
help_of()
{
	"$ugm" "$1" --help | sed -n 's/^  --\{0,1\}\([a-z][a-z-]*\).*/\1/p' | grep -vx help
}

"$ugm" --help | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' > verbs
check "ugm lists its verbs" test -s verbs
awk '/^\.It Cm/ { print $3 }' "$man/ugm.1" | grep -xFf verbs > known
same "ugm(1) has every verb" verbs known

options_of '^\.Ss Machine options' | sed 's/^-//' > machine
options_of '^\.Ss Model options' | sed 's/^-//' > model
grep -vx iterations model > planning
options_of '^\.Ss Prediction options' | sed 's/^-//' > prediction
# What run shares with simulate is told there.
options_of '^\.It Cm simulate' | sed 's/^-//' | grep -vx perfetto > cost
printf '%s\n' clock verify no-server > replay
while read -r verb; do
	options_of "^\\.It Cm $verb" | sed 's/^-//' > documented
	case $verb in
	analyze)  cat machine >> documented ;;
	plan)     cat machine planning >> documented ;;
	explain)  cat machine model >> documented ;;
	simulate) cat machine model prediction >> documented ;;
	run)      cat machine model cost >> documented ;;
	compare)  cat machine model prediction replay >> documented ;;
	esac
	help_of "$verb" > options
	if [ -s options ] || [ -s documented ]; then
		same "ugm(1) has the options of $verb" options documented
	fi
done < verbs

# What a message lists after a colon is what the page explains.
"$ugm" gen bert-base --layers 1 --batch 1 -o t.trace 2>/dev/null
"$ugm" simulate t.trace --policy nonsense 2>&1 | sed 's/.*: //' | tr -s ', ' '\n' > policies
awk '/^\.Sh POLICIES/ { on = 1; next } /^\.Sh/ { on = 0 }
	on && /^\.It Cm/ { print $3 }' "$man/ugm.1" > documented
same "ugm(1) has every policy" policies documented
"$ugm" simulate t.trace --policy uvm --preset nonsense 2>&1 | sed 's/.*: //' |
	tr -s ', ' '\n' > presets
awk '/^\.It Fl -preset/ { on = 1; next } /^\.It Fl/ { on = 0 }
	on && /^\.It Cm/ { print $3 }' "$man/ugm.1" > documented
same "ugm(1) has every preset" presets documented

"$ugm" simulate t.trace --policy uvm --drive nonsense 2>&1 |
	sed 's/.*allowed are //; s/, or .*//' | tr -s ', ' '\n' > drives
awk '/^\.It Fl -drive/ { on = 1; next } /^\.It Fl/ { on = 0 }
	on && /^\.It Cm/ { print $3 }' "$man/ugm.1" > documented
same "ugm(1) has every drive" drives documented

sed -n 's/^module_param(\([a-z_]*\),.*/\1/p' "$top/kmod/main.c" > params
awk '/^\.Sh MODULE PARAMETERS/ { on = 1; next } /^\.Sh/ { on = 0 }
	on && /^\.It Cm/ { print $3 }' "$man/ugm.4" > documented
same "ugm(4) has every module parameter" params documented
sed -n 's,^What:.*/sys/module/ugm/parameters/,,p' \
	"$top/Documentation/ABI/testing/sysfs-module-ugm" > documented
same "the ABI has every module parameter" params documented

sed -n 's/^static DEVICE_ATTR_RO(\([a-z_]*\));/\1/p' "$top/kmod/device.c" > attrs
awk '/^\.Sh SYSFS/ { on = 1; next } /^\.Sh/ { on = 0 }
	on && /^\.It Pa/ { print $3 }' "$man/ugm.4" > documented
same "ugm(4) has every sysfs attribute" attrs documented
sed -n 's,^What:.*/sys/class/misc/ugm<N>/,,p' \
	"$top/Documentation/ABI/testing/sysfs-class-misc-ugm" > documented
same "the ABI has every sysfs attribute" attrs documented

grep -oh 'debugfs_create_file("[a-z]*"' "$top"/kmod/*.c | sed 's/.*"\(.*\)"/\1/' > files
sed -n 's,^What:.*/debug/ugm/ugm<N>/,,p' \
	"$top/Documentation/ABI/testing/debugfs-ugm" > documented
same "the ABI has every file of debugfs" files documented

grep -oh 'UGM_IOC_[A-Z_]*' "$top/uapi/linux/ugm.h" | sort -u > ioctls
grep '^\.It Dv UGM_IOC' "$man/ugm.4" | grep -o 'UGM_IOC_[A-Z_]*' > documented
same "ugm(4) has every ioctl" ioctls documented

# Names with a part that varies: %s in the module, <word> in the document.
{
	sed -n 's/.*X([A-Z0-9_]*, *"\([a-z0-9_.]*\)").*/\1/p' "$top/kmod/ugm.h"
	grep -o '"[a-z_]*\.[a-z0-9_.%]*"' "$top/kmod/stats.c" | tr -d '"' | grep -v '\.h$'
} > names
# A line of the document may begin with several names.
grep '^``[a-z_]*\.' "$top/Documentation/statistics.rst" |
	grep -o '``[a-z_]*\.[a-z0-9_.<>]*``' | tr -d '`' | sed 's/<[a-z]*>/%s/g' > documented
same "statistics.rst has every statistic" names documented
sed -n '/refusal_names\[/,/^};/s/.*= "\(.*\)",/\1/p' "$top/kmod/stats.c" > reasons
sed -n '/^``hint.refused/,/^``lane/s/^  \([a-z_][a-z_]*\)  .*/\1/p' \
	"$top/Documentation/statistics.rst" > documented
same "statistics.rst has every reason" reasons documented

# The words of the JSON that tools write, from a real one.
"$ugm" simulate t.trace --policy uvm --json r.json >.out 2>.err
grep -o '"[a-z_]*":' r.json | tr -d '":' > members
sed -n '/^\.Sh DESCRIPTION/,/^\.Ss Exactness/p' "$man/ugm-result.5" | grep '^\.\(It \)\{0,1\}Va' |
	sed 's/^\.\(It \)*Va//' | grep -o '[a-z_][a-z_]*' | grep -vx error > documented
same "ugm-result(5) has every member" members documented

sed -n 's/^\t\t\(ugm_[a-z_]*\);/\1/p' "$top/userlib/libugm.map" > calls
(cd "$man" && ls ugm_*.3) | sed 's/\.3$//' > documented
same "every call of libugm has its page" calls documented
while read -r call; do
	grep -q "^\\.Nm $call\\( ,\\)\\{0,1\\}\$" "$man/$call.3" || echo "$call"
done < calls > .out 2>.err
check "and is named there" test ! -s .out

# Chapters point to comments of the code.
grep -rhA1 '^\.\. kernel-doc::' "$top/Documentation" | awk '
	/kernel-doc::/ { file = $3 }
	/:doc:/ { sub(/.*:doc: */, ""); print file "\t" $0 }' > pointers
while IFS=$'\t' read -r file doc; do
	grep -qx " \* DOC: $doc" "$top/$file" || echo "$file has no DOC: $doc"
done < pointers > .out 2>.err
[ -s pointers ] && [ ! -s .out ]
verdict $? "every chapter that is pointed to is there"

check "the chapters are put together" "$top/scripts/doc"
cat "$top"/build/doc/*.rst > whole
check "with all that they point to" test "$(wc -l < whole)" -gt "$((
	$(cat "$top"/Documentation/*.rst | wc -l) + $(wc -l < pointers)))"
check "and no pointer is left" test "$(grep -c '^\.\. kernel-doc::' whole)" = 0

# What an index lists is there, and what is there it lists.
(cd "$top/Documentation" && ls ./*.rst) | sed 's,^\./,,; s/\.rst$//' | grep -vx index > chapters
sed -n 's/^   \([a-z-][a-z-]*\)$/\1/p' "$top/Documentation/index.rst" > documented
same "index.rst has every chapter" chapters documented
if command -v mandoc >/dev/null; then
	check "man pages are well formed" mandoc -T lint -W warning "$man"/*.[0-9]
else
	skip "man pages are well formed" "no mandoc"
fi

# What Debian is told of licences is what the files say.
cat > copyright.py <<'END'
import fnmatch, re, subprocess, sys
top = sys.argv[1]
rules = re.findall(r"^Files: (.*)\nCopyright: .*\nLicense: (.*)$",
                   open(top + "/Documentation/licenses/copyright").read(), re.M)
short = {"GPL-2.0 or MIT": "GPL-2.0 OR MIT",
         "GPL-2.0 with Linux-syscall-note or MIT": "(GPL-2.0 WITH Linux-syscall-note) OR MIT"}
wrong = []
for name in subprocess.check_output(["git", "-C", top, "ls-files"], text=True).split():
    with open(f"{top}/{name}", errors="replace") as f:
        said = re.search(r"SPDX-License-Identifier: (.*?)(?: \*/| -->)?$", "".join(f.readlines()[:3]), re.M)
    told = [l for files, l in rules if any(fnmatch.fnmatch(name, p) for p in files.split())][-1]
    if said and said[1] != short.get(told, told):
        wrong.append(f"{name}: {said[1]}, not {told}")
sys.exit("\n".join(wrong) or 0)
END
if git -C "$top" ls-files >/dev/null 2>&1; then
	check "the copyright file tells each file's licence" python3 copyright.py "$top"
else
	skip "the copyright file tells each file's licence" "not a git checkout"
fi
done_testing
