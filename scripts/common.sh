# SPDX-License-Identifier: GPL-2.0 OR MIT
# shellcheck shell=bash
#
# What every script of this directory needs. Source it; it runs nothing.

set -euo pipefail

SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck disable=SC2034  # used by the scripts that source this file
REPO=$(dirname "$SCRIPTS")
# Everything that is expensive to make and the same for every clone: kernels,
# boot images, the answer of the KVM probe.
CACHE=${UGM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ugm}

say()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die()
{
	say "$@"
	exit 1
}

# Print the release of a kernel. Usage: kernel_release NAME|FOLDER
# NAME is one that scripts/kernel knows, FOLDER has the headers of another.
kernel_release()
{
	if [[ $1 != */* && ! -d $1 ]]; then
		"$SCRIPTS/kernel" release "$1"
	elif [ -e "$1/Makefile" ]; then
		make -s -C "$1" kernelrelease
	else
		die "$1: no kernel headers are there (package linux-headers-RELEASE)"
	fi
}

# Run a command as root: directly, or through sudo.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "needs root for: $*"
	fi
}

# Serialise what fills one cache entry: two VMs may start at the same time.
# Usage: locked NAME COMMAND...
locked()
{
	local name=$1 fd rc=0

	shift
	mkdir -p "$CACHE"
	exec {fd}>"$CACHE/.lock-$name"
	flock "$fd"
	"$@" || rc=$?
	exec {fd}>&-
	return $rc
}

# Print by how much to multiply time limits in the guest: those of the tests are
# for a stock kernel on an idle machine. UGM_SLOWNESS is for machines that are
# slower than that. Usage: slowness KERNEL
slowness()
{
	local factor=${UGM_SLOWNESS:-1}

	[[ $factor =~ ^[1-9][0-9]?$ ]] || {
		say "UGM_SLOWNESS=$factor: a number from 1 to 99 is allowed"
		exit 2
	}
	[ "$1" != debug ] || factor=$((factor * 4))
	echo "$factor"
}

# Print a size such as 512M or 4G in MiB; a bare number is MiB already.
to_mib()
{
	case $1 in
	*[!0-9]*)
		local bytes

		bytes=$(numfmt --from=iec "${1%[bB]}" 2>/dev/null) ||
			die "'$1' is not a size (use for example 512M or 4G)"
		echo $(((bytes + (1 << 20) - 1) >> 20))
		;;
	'')
		die "a size is missing"
		;;
	*)
		echo "$1"
		;;
	esac
}
