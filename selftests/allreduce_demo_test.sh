#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# DP-7, DP-8: the demonstration of a sum that the engines make. Needs root and
# tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-allreduce >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
bgdma partition del demo 2>/dev/null
told=$(demo-allreduce 2>&1)
code=$?
# Each of eight tells what it did meanwhile.
[ "$(echo "$told" | grep -c 'letters meanwhile')" = 8 ] || code=1
echo "1..1"
echo "$told" | sed 's/^/# /'
[ $code -eq 0 ] && echo "ok 1 dp7 dp8 allreduce" ||
	echo "not ok 1 dp7 dp8 allreduce"
exit $code
