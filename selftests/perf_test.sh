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

timeout 60 bgdma-perf senders 2>&1 | sed 's/^/# /'
timeout 60 bgdma-perf senders >/dev/null 2>&1
[ $? -eq 1 ]
result "senders that cannot begin end it"

contexts() {
	bgdma partition show perf | sed -n 's/.* contexts \([0-9]*\) .*/\1/p'
}

# until_contexts TEST NUMBER
until_contexts() {
	left=600
	until test "$(contexts)" "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}

ended_by() {	# SIGNAL CODE MEASUREMENT
	bgdma-perf --runs 1000000 "$3" >/dev/null 2>&1 &
	until_contexts -ge 2 || return
	kill "-$1" $!
	# Once more, as timeout and a shell that ends do.
	kill "-$1" $! 2>/dev/null
	wait $!
	[ $? -eq "$2" ] && until_contexts -eq 0
}

bgdma partition add perf dims 4x1x1
ended_by TERM 143 sys && ended_by HUP 129 barrier && [ "$(folders)" = "$before" ]
result "one that is ended leaves nothing behind"
ended_by KILL 137 barrier
result "nothing of one that is killed goes on"
bgdma partition del perf
# Nobody was left to remove it.
for folder in $(folders); do
	case " $before " in
	*"$folder"*) ;;
	*) rm -rf "$folder" ;;
	esac
done
echo "1..$number"
[ $failed -eq 0 ]
