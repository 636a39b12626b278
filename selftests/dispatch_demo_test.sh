#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# DP-1, DP-5: the demonstration of two modules in one process, and of a process
# that registered something else. Needs root and tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-dispatch >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
bgdma partition del demo 2>/dev/null
told=$(demo-dispatch 2>&1)
code=$?
echo "1..1"
[ $code -eq 0 ] && echo "ok 1 dp1 dp5 dispatch" ||
	echo "not ok 1 dp1 dp5 dispatch"
echo "$told" | sed 's/^/# /'
exit $code
