#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A table in the window of one process, and three others who share it; one of
# them is killed in an epoch. Works with busybox, too.
#
#	demo-epoch [TABLE]
#
# TABLE has a key and a number in each line; else that of BGDMA_TABLE in the
# environment, or /proc/meminfo.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
scene_begin
export BGDMA_SIZE=4 BGDMA_PARTITION=demo BGDMA_JOB_DIR="$dir/job"
mkdir "$dir/job"
cat "${1:-${BGDMA_TABLE:-/proc/meminfo}}" >"$dir/table" || leave 1
first=$(awk 'NR == 1 && $2 ~ /^[0-9]+$/ { print $2 }' "$dir/table")
if [ -z "$first" ]; then
	echo "demo-epoch: the table does not begin with a key and a number" >&2
	leave 1
fi
nodes_new 4x1x1 || leave 1

echo "epoch: one target, three origins, and $(wc -l <"$dir/table") keys"
for rank in 0 1 2 3; do
	on "$rank" "$here/epoch" "$dir/table" >>"$dir/out" 2>&1 &
done
wait
sed 's/^/  /' "$dir/out"

result=0
# said TEXT: some process has said it.
said() {
	grep -q "$1" "$dir/out" && return
	echo "  FAILED: nobody says \"$1\""
	result=1
}
said "asks, and would not wait: Device or resource busy"
said "closing stage: Cannot send after transport endpoint shutdown"
said "put counter 100, get counter 0"
for rank in 1 2 3; do
	said "target: epoch 100 of process $rank is open: got: 100, put: 0"
	said "process $rank: put counter 100, the target got: 100"
done
said "is $((first + 300)) after 300 changes"
said "epoch 102 of process 2 broke: peer died or left"
said "process 1: has the table next"
leave $result
