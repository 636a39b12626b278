#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# EP-1, EP-4, EP-8: the demonstration of a table that origins share in epochs, and of
# one that is killed. Needs root and tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-epoch >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
bgdma partition del demo 2>/dev/null
told=$(demo-epoch 2>&1)
code=$?
echo "1..1"
[ $code -eq 0 ] && echo "ok 1 ep1 ep4 ep8 epoch" ||
	echo "not ok 1 ep1 ep4 ep8 epoch"
echo "$told" | sed 's/^/# /'
exit $code
