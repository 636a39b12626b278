#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A file in 10,000 messages that are all outstanding at the same time, over 64
# counters and over one, received in every order, one of them never, and all with
# the same tag (LC-6). Works with busybox, too.
#
#	demo-counters FILE

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
file=$1
if ! [ -s "$file" ]; then
	echo "usage: demo-counters FILE" >&2
	exit 2
fi
scene_begin
nodes_new 2x1x1 || leave 1
export BGDMA_SIZE=2 BGDMA_PARTITION=demo BGDMA_JOB_DIR="$dir/job"

result=0
echo "counters: $(wc -c <"$file") bytes in 10000 messages, all outstanding"
counts="64 1"
orders="in-order reversed at-random one-never same-tag"
# What is lost is sent again after milliseconds.
if [ "$BGDMA_TORUS" = lossy ]; then
	counts=64
	orders="at-random one-never"
fi
for counters in $counts; do
	for order in $orders; do
		rm -rf "$BGDMA_JOB_DIR"
		mkdir "$BGDMA_JOB_DIR"
		on 0 "$here/counters" "$counters" "$order" "$file" \
			>"$dir/out.0" 2>&1 &
		(on 1 "$here/counters" "$counters" "$order" "$file") \
			>"$dir/out.1" 2>&1
		code=$?
		wait $! && [ $code -eq 0 ] || result=1
		printf '  %-2s counters, %-10s ' "$counters" "$order:"
		cat "$dir"/out.* | grep -v '^begin$\|^outstanding$\|^received$'
	done
done
[ $result -eq 0 ] || echo "  FAILED"
leave $result
