#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# DP-1, DP-5: the demonstration of two modules in one process, and of a process
# that registered something else. Needs root and tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-dispatch >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
dispatch=$(dirname "$(command -v demo-dispatch)")/dispatch
dir=$(mktemp -d) || exit 1
. "$(dirname "$0")/result.sh"

failure() {
	sed 's/^/# /' "$dir"/log*
}

# two TEXT: a job of two processes, the second with another TEXT to compare.
two() {
	rm -rf "$dir/job" "$dir"/log*
	mkdir "$dir/job"
	export BGDMA_SIZE=2 BGDMA_PARTITION=demo BGDMA_JOB_DIR="$dir/job"
	bgdma partition add demo dims 2x1x1 || return
	BGDMA_RANK=0 "$dispatch" "$dir/text" >"$dir/log0" 2>&1 &
	BGDMA_RANK=1 "$dispatch" "$1" >"$dir/log1" 2>&1
	second=$?
	wait $!
	first=$?
	bgdma partition del demo
}

echo "1..5"
bgdma partition del demo 2>/dev/null
demo-dispatch >"$dir/log" 2>&1
result "dp1 dp5 dispatch"

seq 1 20000 >"$dir/text"
two "$dir/text"
phases=$(grep -v '^rank' "$dir/log0" | xargs)
[ "$first$second" = 00 ] && [ "$phases" = "registered agreed sent received" ] &&
	grep -q '13333 lines two-sided, 6667 one-sided, 0 mis' "$dir/log1"
result "dp5 every line is there, and each phase is a line"

# Lines 7,000 and 7,002, counted from 0: a message, and a place in the memory.
sed '7001s/.$/x/' "$dir/text" >"$dir/message"
two "$dir/message"
[ "$second" = 1 ] && grep -q ' 1 misdelivered$' "$dir/log1"
result "dp5 a message is compared"
sed '7003s/.$/x/' "$dir/text" >"$dir/store"
two "$dir/store"
[ "$second" = 1 ] && grep -q ' 1 misdelivered$' "$dir/log1"
result "dp5 memory is compared"

: >"$dir/empty"
"$dispatch" "$dir/empty" >"$dir/log" 2>&1
[ $? -eq 1 ] && grep -q "No data" "$dir/log"
result "a file without lines"
rm -rf "$dir"
[ $failed -eq 0 ]
