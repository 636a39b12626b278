#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# DMA-7, SP-9, LC-6, EP-8, BA-5 over links: the scenes of the demonstration between
# four network namespaces; and a link that is cut in the middle of a transfer. Needs
# root, iproute2 and the programs of tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-torus >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
if [ -z "$BGDMA_TEST_LINKS" ]; then
	echo "1..0 # SKIP runs with those that BGDMA_TEST_LINKS sends over links"
	exit 4
fi
if [ ! -x /usr/sbin/ip ] && [ ! -x /usr/bin/ip ] && [ ! -x /sbin/ip ]; then
	echo "1..0 # SKIP no iproute2"
	exit 4
fi
dir=$(mktemp -d) || exit 1
head -c 1000001 /dev/urandom >"$dir/file"
export BGDMA_BARRIERS=100 BGDMA_DOUBLES=10000
. "$(dirname "$0")/result.sh"

failure() {
	sed 's/^/# /' "$dir"/log*
}

echo "1..2"
demo-torus "$dir/file" clean >"$dir/log" 2>&1 &&
	[ "$(grep -c 'node [01]  *[0-9a-f]\{64\}$' "$dir/log")" = 6 ] &&
	[ "$(grep -c 'all there while both' "$dir/log")" = 2 ] &&
	[ "$(grep -c '10000 of 10000 as they' "$dir/log")" = 8 ] &&
	grep -q '100 barriers' "$dir/log"
result "all scenes between four namespaces"
demo-torus "$dir/file" cut >"$dir/log" 2>&1 &&
	grep -q 'it goes round' "$dir/log" && grep -q LINK_DOWN "$dir/log"
result "dma7 round a link that is cut, and the error names it"
rm -rf "$dir"
[ $failed -eq 0 ]
