#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# DP-8: the demonstration of sums that are the same on any number of nodes. That plain
# ones are not shows that the others have something to do. Needs root and tools/demos
# on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-reproducible >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
bgdma partition del demo 2>/dev/null
told=$(demo-reproducible 100000 2>&1)
code=$?
if echo "$told" | grep -q 'different sums: plain 1 of'; then
	echo "# plain sums do not differ"
	code=1
fi
echo "1..1"
echo "$told" | sed 's/^/# /'
[ $code -eq 0 ] && echo "ok 1 dp8 reproducible" ||
	echo "not ok 1 dp8 reproducible"
exit $code
