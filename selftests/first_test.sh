#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The README's first program does what it says. Needs root and tools/demos.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] || ! command -v first >/dev/null
then
	echo "1..0 # SKIP needs root, the module and the first program"
	exit 4
fi
# A namespace of its own: what goes by the same name elsewhere is not touched.
[ -n "$BGDMA_TEST_OWN" ] || BGDMA_TEST_OWN=yes exec unshare -n "$0"
bgdma partition add demo dims 2x1x1
told=$(first)
code=$?
bgdma partition del demo

echo "1..2"
[ "$told" = "node 0 says: hello" ] || echo "# it says: $told"
[ "$told" = "node 0 says: hello" ] && echo "ok 1 says hello" ||
	echo "not ok 1 says hello"
[ $code -eq 0 ] && echo "ok 2 exit code" || echo "not ok 2 exit code $code"
