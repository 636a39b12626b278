#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# EP-1, EP-4, EP-8: the demonstration of a table that origins share in epochs, and of
# one that is killed. Needs root and tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-epoch >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi

result=0
n=0
# shows NAME [TABLE]
shows() {
	name=$1
	shift
	n=$((n + 1))
	bgdma partition del demo 2>/dev/null
	told=$(demo-epoch "$@" 2>&1)
	code=$?
	echo "$told" | sed 's/^/# /'
	[ $code -eq 0 ] && echo "ok $n ep1 ep4 ep8 $name" ||
		echo "not ok $n ep1 ep4 ep8 $name"
	[ $code -eq 0 ] || result=1
}

table=$(mktemp) || exit 1
printf 'apples 5\npears 70 of them\n' >"$table"
echo "1..3"
shows epoch
shows "epoch with an own table" "$table"

echo "no number" >"$table"
if demo-epoch "$table" >/dev/null 2>&1 ||
		bgdma partition show demo >/dev/null 2>&1; then
	echo "not ok 3 no table, and no partition is left"
	result=1
else
	echo "ok 3 no table, and no partition is left"
fi
rm "$table"
exit $result
