#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# BA-5, BA-6: the demonstration of the timeline of a barrier, and of many back to
# back. Needs root and tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-barrier >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
bgdma partition del demo 2>/dev/null
told=$(demo-barrier 1000 2>&1)
code=$?
echo "1..1"
[ $code -eq 0 ] && echo "ok 1 ba5 ba6 barrier" ||
	echo "not ok 1 ba5 ba6 barrier"
echo "$told" | sed 's/^/# /'
exit $code
