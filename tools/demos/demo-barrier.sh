#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Four processes on a ring: the timeline of a barrier with the counters after each
# entry, then barriers back to back while all processors are busy with something
# else. Works with busybox, too.
#
#	demo-barrier [COUNT]
#
# COUNT barriers: a million, or what BGDMA_BARRIERS says; of a torus that loses frames
# at most ten thousand, which take as long.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
count=${1:-${BGDMA_BARRIERS:-1000000}}
[ "$BGDMA_TORUS" != lossy ] || [ "$count" -le 10000 ] || count=10000
scene_begin
nodes_new 4x1x1 || leave 1
export BGDMA_SIZE=4 BGDMA_PARTITION=demo BGDMA_JOB_DIR="$dir/job"
mkdir "$dir/job"
: >"$dir/board"

cpus=$(nproc)
while [ "$cpus" -gt 0 ]; do
	sh -c 'while :; do :; done' &
	load="$load $!"
	cpus=$((cpus - 1))
done

echo "barrier: four processes, $count back to back, and $(nproc) that are busy"
# Seen as it comes: a million take minutes where the processors are emulated.
{
	for rank in 0 1 2 3; do
		on "$rank" "$here/barrier" "$dir/board" "$count" 2>&1 &
	done
	wait
} | tee "$dir/out" | while IFS= read -r line; do
	echo "  $line"
done
# shellcheck disable=SC2086 # these are words
kill $load
load=

result=0
# said TEXT: some process has said it.
said() {
	grep -q "$1" "$dir/out" && return
	echo "  FAILED: nobody says \"$1\""
	result=1
}
said "process 2 enters: counters -1 -1  3 -1\$"
said "process 0 enters: counters  2 -2  2 -2\$"
said "process 1 enters: counters  1  1  1 -3\$"
said "process 3 enters: counters  0  0  0  0\$"
said "^$count barriers, .* the counter is 0\$"
for rank in 0 1 2 3; do
	said "^process $rank has left 0 barriers early\$"
done
leave $result
