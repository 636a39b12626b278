#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Send a file from a process on node 0 to a process on node 1 in three ways, and
# then by self-pacing chains (demo-chain); ten thousand messages over few
# counters (demo-counters); modules that share a process (demo-dispatch);
# a table that processes share in epochs (demo-epoch); sums that are the same on any
# number of nodes (demo-reproducible); a sum that the engines make
# (demo-allreduce); and barriers (demo-barrier).
#
#	demo [-o OUTPUT] FILE [SCENE]...
#
# SCENE is one of file, chain, counters, dispatch, epoch, reproducible, allreduce and
# barrier; default: all, in this order, but for an empty FILE the first alone.
# -o keeps what came out of node 1. Exits with 0 if every hash is right. The
# module must be there, and bgdma and strace on PATH. Works with busybox, too.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
output=
while getopts o: option; do
	case $option in
	o) output=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
if [ $# -eq 0 ]; then
	echo "usage: demo [-o OUTPUT] FILE [SCENE]..." >&2
	exit 2
fi
file=$1
shift
if ! [ -f "$file" ] || ! [ -r "$file" ]; then
	echo "demo: $file is not a file that can be read" >&2
	exit 2
fi

dir=$(mktemp -d) || exit 1
pids=""

# Without their partition the sides end by themselves.
leave() {
	trap - HUP INT TERM
	stop_bar
	nodes_end
	# shellcheck disable=SC2086 # these are words
	[ -z "$pids" ] || wait $pids
	rm -rf "$dir"
	exit "$1"
}
trap 'leave 130' HUP INT TERM

# side NAME RANK COMMAND...: in the background, its system calls written down.
side() {
	name=$1
	rank=$2
	shift 2
	if command -v strace >/dev/null; then
		set -- strace -f -o "$dir/$name.strace" "$@"
	fi
	on "$rank" "$@" >"$dir/$name" 2>"$dir/$name.err" &
	pid=$!
	pids="$pids $pid"
}

# The receiver keeps the percentage in a mapped file: no system call of its.
bar=
start_bar() {
	[ -t 1 ] || return 0
	while sleep 0.1; do
		read -r percent <"$dir/progress" || continue
		filled=$(printf '%*s' $((percent * 40 / 100)) '' | tr ' ' '=')
		printf '\r  [%-40s] %3d%%' "$filled" "$percent"
	done 2>/dev/null &
	bar=$!
}

stop_bar() {
	[ -n "$bar" ] || return 0
	kill $bar
	wait $bar
	bar=
	printf '\r%50s\r' ''
} 2>/dev/null

value() {
	sed -n "s/^$2 //p" "$dir/$1"
}

# System calls before, between and after the lines "moving" and "moved".
calls() {
	[ -f "$dir/$1.strace" ] || { echo "not counted, no strace"; return; }
	awk '/^([0-9]+ +)?[a-z_0-9]+\(/ {
		if (/write\(1, "moved/) part = 2
		n[part + 0]++
		if (/write\(1, "moving/) part = 1
	}
	END { printf "%d to move, %d to set up, %d to leave\n",
	      n[1], n[0], n[2] }' "$dir/$1.strace"
}

# run METHOD: both sides, from end to end. Return: whether they succeeded.
run() {
	rm -f "$dir"/*
	echo 0 >"$dir/progress"
	pids=""
	nodes_new 2x1x1 poll-ns 1000000000 || return 1
	side receiver 1 "$here/receiver" -p "$dir/progress" \
		${output:+-o "$output"} "$1"
	receiver=$pid
	until grep -q ready "$dir/receiver" || ! kill -0 $receiver; do
		sleep 0.05
	done 2>/dev/null
	start_bar
	side sender 0 "$here/sender" "$1" "$file"
	sender=$pid
	wait $sender
	sent=$?
	# Who never met its peer does not hear of its end.
	[ $sent -eq 0 ] || nodes_end
	wait $receiver
	received=$?
	pids=""
	stop_bar
	nodes_end
	cat "$dir/sender.err" "$dir/receiver.err" >&2
	[ $sent -eq 0 ] && [ $received -eq 0 ]
}

# What moved, by METHOD.
units() {
	packets=$(value receiver packets)
	descriptors=$(value sender descriptors)
	case $1 in
	memfifo) echo "$packets packets, $descriptors descriptors" ;;
	put) echo "$descriptors descriptors" ;;
	rget) echo "$(value receiver rgets) remote gets of" \
		"$(value receiver puts) put descriptors" ;;
	esac
}

# report METHOD: Return: whether the hashes are the same.
report() {
	bytes=$(value receiver bytes)
	there=$(value receiver sha256)
	here_hash=$(value sender sha256)
	echo "  sha256  node 0  $here_hash"
	echo "          node 1  $there"
	echo "  moved   $bytes bytes, $(units "$1")"
	awk -v bytes="$bytes" -v ns="$(value receiver ns)" 'BEGIN {
		printf "  rate    %.1f MB/s (%.3f ms)\n",
		       bytes * 1000 / ns, ns / 1e6 }'
	echo "  calls   node 0  $(calls sender)"
	echo "          node 1  $(calls receiver)"
	[ -n "$there" ] && [ "$there" = "$here_hash" ] &&
		[ "$bytes" = "$(value sender bytes)" ] && return 0
	echo "  FAILED: the hashes differ"
	return 1
}

# The file in three ways. Return: whether each hash is right.
file_scene() {
	right=0
	for method in memfifo put rget; do
		case $method in
		memfifo) echo "memory FIFO packets" ;;
		put) echo "direct put" ;;
		rget) echo "remote get (node 1 asks, node 0's engine puts)" ;;
		esac
		if ! run $method; then
			echo "  FAILED"
			right=1
		elif ! report $method; then
			right=1
		fi
	done
	[ $right -eq 0 ] || return 1
	echo "calls: system calls, counted by strace in this very run;" \
		"it costs time only at a call."
	echo "rate: while both sides are ready; without reading and hashing."
}

scene() {
	case $1 in
	file) file_scene ;;
	chain | counters) "$here/demo-$1" "$file" ;;
	dispatch | epoch | reproducible | allreduce | barrier) "$here/demo-$1" ;;
	*)
		echo "demo: no scene $1" >&2
		false
		;;
	esac
}

if [ $# -eq 0 ]; then
	set -- file
	[ ! -s "$file" ] || set -- file chain counters dispatch epoch \
		reproducible allreduce barrier
fi
echo "$file: $(wc -c <"$file") bytes, Linux $(uname -r)," \
	"$(nproc) processors"
for scene; do
	scene "$scene" || leave 1
done
leave 0
