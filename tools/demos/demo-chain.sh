#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Send a file by self-pacing chains (SP-9): while both processes are stopped,
# and with the same system calls for few portions as for many.
#
#	demo-chain FILE
#
# The module must be there, and bgdma on PATH; strace, if calls are to be
# counted. Works with busybox, too.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
file=$1
if ! [ -s "$file" ]; then
	echo "usage: demo-chain FILE" >&2
	exit 2
fi
scene_begin

# start TRACE ARGS...: both processes, as a job by variables.
start() {
	trace=$1
	shift
	rm -rf "${dir:?}"/*
	mkdir "$dir/job"
	for rank in 0 1; do
		if [ "$trace" = yes ]; then
			strace=$dir/strace.$rank
			set -- strace -f -o "$strace" "$here/chain" "$@"
		else
			set -- "$here/chain" "$@"
		fi
		on $rank "$@" >"$dir/out.$rank" 2>&1 &
		eval "pid$rank=$!"
		load="$load $!"
		[ "$trace" = yes ] && shift 5 || shift
	done
}

finish() {
	wait "$pid0" && wait "$pid1" && load= && return
	cat "$dir"/out.*
	return 1
}

stopped() {
	[ "$(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null)" = T ]
}

# until_true SECONDS COMMAND...
until_true() {
	left=$(($1 * 20))
	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.05
	done
}

there() {
	cmp -s "$file" "/proc/$pid1/fd/$(sed -n 's/^memory //p' "$dir/out.1")"
}

# stop PORTIONS: both stop after the set-up; the file comes all the same.
stop() {
	start no -s "$1" "$file"
	until_true 60 stopped "$pid0" && until_true 60 stopped "$pid1" ||
		return 1
	until_true 120 there || return 1
	stopped "$pid0" && stopped "$pid1" || return 1
	echo "  $1 portions: all there while both processes are stopped"
	kill -CONT "$pid0" "$pid1"
	finish
}

# System calls from the line "begin" to the line "moved", of both.
calls() {
	for rank in 0 1; do
		awk '/^([0-9]+ +)?[a-z_0-9]+\(/ {
			if (/write\(1, "moved/) on = 0
			n += on
			if (/write\(1, "begin/) on = 1
		}
		END { printf "%d ", n }' "$dir/strace.$rank"
	done
}

# count PORTIONS: prints the calls of process 0 and 1.
count() {
	start yes "$1" "$file"
	finish >&2 && calls
}

export BGDMA_SIZE=2 BGDMA_PARTITION=demo BGDMA_JOB_DIR="$dir/job"
nodes_new 2x1x1 poll-ns 1000000000 || leave 1
few=2
many=20000
# A portion that is lost is sent again after milliseconds.
[ "$BGDMA_TORUS" != lossy ] || many=1000
bytes=$(wc -c <"$file")
# Portions of some 64 bytes at least.
[ "$many" -le $((bytes / 64 + 2)) ] || many=$((bytes / 64 + 2))
echo "self-pacing chain: $bytes bytes"
for portions in $few $many; do
	if ! stop "$portions"; then
		echo "  FAILED: $portions portions"
		leave 1
	fi
done
if command -v strace >/dev/null; then
	# An engine that had nothing to do for a second, on a machine that has no
	# time for us, sleeps and takes a doorbell more: then once more.
	for _ in 1 2 3; do
		one=$(count $few) && two=$(count $many) || leave 1
		[ "$one" != "$two" ] || break
	done
	echo "  calls   $few portions: ${one% }; $many portions: ${two% }" \
		"(node 0, node 1)"
	if [ "$one" != "$two" ]; then
		echo "  FAILED: more portions, more calls"
		leave 1
	fi
else
	echo "  system calls: not counted, strace is not installed"
fi
leave 0
