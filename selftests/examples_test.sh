#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The examples, as jobs of three processes: each looks at its own result. Needs
# root and tools/demos on PATH.

examples=$(dirname "$(command -v first)" 2>/dev/null)/examples
if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] || [ ! -d "$examples" ]; then
	echo "1..0 # SKIP needs root, the module and the examples"
	exit 4
fi
dir=$(mktemp -d)
bgdma partition del demo 2>/dev/null
bgdma partition add demo dims 3x1x1
export BGDMA_SIZE=3 BGDMA_PARTITION=demo BGDMA_JOB_DIR="$dir/job"

number=0
for example in "$examples"/*; do
	rm -rf "$dir/job"
	mkdir "$dir/job"
	number=$((number + 1))
	codes=
	pids=
	for BGDMA_RANK in 0 1 2; do
		export BGDMA_RANK
		"$example" >"$dir/$BGDMA_RANK" 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid"
		codes="$codes $?"
	done
	sed 's/^/# /' "$dir"/[012]
	[ "$codes" = " 0 0 0" ] && [ -s "$dir/0" -o -s "$dir/1" ] &&
		echo "ok $number ${example##*/}" ||
		echo "not ok $number ${example##*/}:$codes"
done
echo "1..$number"
bgdma partition del demo
rm -rf "$dir"
