#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Remove the module after each kind of history, and insert it again (X-3).
#
# Run as root, with nobody else using the device, beside the other tests.
# BGDMA_KO names the file of the module; by default where tools/vm put it, or
# what modprobe finds.

cd "$(dirname "$0")" || exit 1

if [ "$(id -u)" != 0 ] || [ ! -d /sys/module/bgdma ]; then
	echo "1..0 # SKIP needs root, and the module"
	exit 4
fi
# Tests that run below bring a small machine to its knees anyway.
histories="attach_test cancel_test memfifo_test rget_test counter_test wait_test
group_test uring_test"
. ./result.sh

insert() {
	for ko in "$BGDMA_KO" /lib/modules/bgdma.ko; do
		[ -f "$ko" ] && insmod "$ko" && return
	done
	modprobe bgdma
}

# A file that is released late (by io_uring, say) holds the module a moment.
remove() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		rmmod bgdma 2>/dev/null && return
		sleep 1
	done
	rmmod bgdma
}

remove_and_insert() {
	remove && [ ! -e /sys/module/bgdma ] && [ ! -e /dev/bgdma ] &&
		insert && [ -c /dev/bgdma ]
}

# Whatever ends this.
trap '[ -d /sys/module/bgdma ] || insert' EXIT
trap 'exit 1' HUP INT TERM

echo "TAP version 13"
remove_and_insert
result "after nothing"

exec 3<>/dev/bgdma
! rmmod bgdma 2>/dev/null
result "not while a file is open"
exec 3>&-
remove_and_insert
result "after a file was opened and closed"

# A wrong command line is one without the module, too.
tool_says() {
	wanted=$1
	shift
	bgdma "$@" >/dev/null 2>&1
	[ $? -eq "$wanted" ]
}

remove && tool_says 1 partition add x dims 2x && tool_says 1 ctx show demo/1x &&
	tool_says 1 tree show x class && tool_says 1 link add dev &&
	tool_says 2 partition add x dims 2 && tool_says 2 stat && insert
result "what the tool says when it is not there"

# Nobody would tell it any more. It listens when it has told of something.
log=$(mktemp) || exit 1
timeout 60 bgdma monitor >"$log" 2>&1 &
monitor=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
	bgdma partition add told dims 1
	bgdma partition del told
	[ -s "$log" ] && break
	sleep 1
done
remove
wait $monitor
[ $? -eq 2 ] && grep -q '^\[[a-z]*\] told:' "$log" &&
	[ "$(tail -n 1 "$log")" = "Error: the bgdma module has gone." ]
result "a monitor ends with it"
rm -f "$log"
insert

bgdma partition add left dims 8x8x8
remove_and_insert
result "with a partition left"
bgdma partition show left >/dev/null 2>&1
[ $? -ne 0 ]
result "which is gone then"

for test in $histories; do
	[ -x "./$test" ] || continue
	# Passed or not: that is its own business. Without the longest.
	"./$test" -T four_thousand_nodes_in_one_process \
		-T dma1_region_of_five_gibibytes >/dev/null 2>&1
	remove_and_insert
	result "after $test"
done

# Killed at no point in particular.
for test in put_test fifo_test rget_test counter_test; do
	[ -x "./$test" ] || continue
	"./$test" >/dev/null 2>&1 &
	pid=$!
	sleep 1
	# The harness gives each test a group and a child of its own.
	for child in $(ps -o pid,args | awk -v t="./$test" '$2 == t { print $1 }')
	do
		kill -9 "$child" 2>/dev/null
	done
	wait "$pid" 2>/dev/null
	remove_and_insert
	result "after a killed $test"
done

i=0
while [ $i -lt 20 ] && remove_and_insert; do
	i=$((i + 1))
done
[ $i -eq 20 ]
result "twenty times in a row"

echo "1..$number"
[ $failed -eq 0 ]
