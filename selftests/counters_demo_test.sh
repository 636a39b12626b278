#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# LC-6: the demonstration of ten thousand messages over few counters. Needs root
# and tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-counters >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
bgdma partition del demo 2>/dev/null
head -c 300000 /dev/urandom >/tmp/counters.$$
told=$(demo-counters /tmp/counters.$$ 2>&1)
code=$?
rm -f /tmp/counters.$$
# Over 64 counters and over one.
all=$(echo "$told" | grep -c ': .* waited .* 10000 of 10000 as they were sent')
less=$(echo "$told" | grep -c 'one-never: .* waited .* 9999 of 9999 as they')
[ "$all $less" = "8 2" ] || code=1
echo "1..1"
echo "$told" | sed 's/^/# /'
[ $code -eq 0 ] && echo "ok 1 lc6 counters" ||
	echo "not ok 1 lc6 counters"
exit $code
