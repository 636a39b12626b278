#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What bgdma-perf says of its command line, and leaves behind where it fails. Not what
# it measures. Needs root, the module and bgdma-perf.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] || ! command -v bgdma-perf >/dev/null
then
	echo "1..0 # SKIP needs root, the module and bgdma-perf"
	exit 4
fi
# A namespace of its own: there is no partition to measure in.
[ -n "$BGDMA_TEST_OWN" ] || BGDMA_TEST_OWN=yes exec unshare -n "$0"
cd "$(dirname "$0")" || exit 1
. ./result.sh

refused() {	# WORD...
	bgdma-perf "$@" 2>&1 >/dev/null | grep -q "^bgdma-perf: .*?$" || return
	bgdma-perf "$@" >/dev/null 2>&1
	[ $? -eq 2 ]
}

folders() {
	ls -d /tmp/bgdma-perf-* 2>/dev/null
}

echo "TAP version 13"
refused --runs abc peers && refused --runs 3x peers && refused --runs -1 peers &&
	refused --runs 0 peers && refused --runs '' peers &&
	refused --runs 4294967296 peers
result "runs are a number"
bgdma-perf --runs 1 peers | grep -q '^{"region":'
result "a run"

before=$(folders)
bgdma-perf sys 2>&1 | sed 's/^/# /'
bgdma-perf barrier 2>&1 | sed 's/^/# /'
[ "$(folders)" = "$before" ]
result "a job that cannot begin leaves nothing behind"
echo "1..$number"
[ $failed -eq 0 ]
