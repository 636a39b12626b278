#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# BA-5, BA-6: the demonstration of the timeline of a barrier, and of many back to
# back. Needs root and tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-barrier >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
# shellcheck source=selftests/result.sh
. "$(dirname "$0")/result.sh"
dir=$(mktemp -d) || exit 1

bgdma partition del demo 2>/dev/null
demo-barrier 1000 >"$dir/log" 2>&1
good=$?
sed 's/^/# /' "$dir/log"
[ $good -eq 0 ]
result "ba5 ba6 barrier"

failure() {
	sed 's/^/# /' "$dir/log"
}

# As from a keyboard, but that this shell's children would not hear of SIGINT.
mkdir "$dir/tmp"
TMPDIR="$dir/tmp" setsid demo-barrier 1000000000 >"$dir/log" 2>&1 &
left=600
until grep -q "process 3 enters" "$dir/log"; do
	left=$((left - 1))
	[ $left -gt 0 ] || break
	sleep 0.1
done
kill -TERM -- -$!
wait $!
[ $? -eq 130 ] && ! pgrep -f 'while :; do :' >>"$dir/log" &&
	! bgdma partition show demo >>"$dir/log" 2>&1 &&
	[ -z "$(ls "$dir/tmp")" ]
result "ba6 what is interrupted leaves nothing behind"

echo "1..$number"
rm -rf "$dir"
[ $failed -eq 0 ]
