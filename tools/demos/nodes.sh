# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Where the nodes of the partition demo are: all in this namespace; or, with
# BGDMA_TORUS, each in one of its own, at the corners of a square that demo-torus
# has made. For the scenes, which are the same on both.
#
#	nodes_new DIMS [OPTION...]	let there be the partition
#	on RANK COMMAND...		become process RANK of a job, where its node is
#	job_run SIZE DIR COMMAND...	run a job; what process RANK says: DIR/outRANK
#	nodes_end			no partition any more, if it was ours
#	scene_begin			let there be a folder, $dir, until the end
#	leave CODE			end, by a signal as well: partition, folder, $load
#	text_find DIR [FILE]		name a text: FILE, or another, which DIR is for

# A busybox would take its own.
for ip in /usr/sbin/ip /usr/bin/ip /sbin/ip ip; do
	[ ! -x "$ip" ] || break
done

# A line of four is a ring round the square; all else has room on it.
corner() {
	case $nodes_dims,$1 in
	4x1x1,2) echo corner3 ;;
	4x1x1,3) echo corner2 ;;
	*) echo "corner$1" ;;
	esac
}

on() {
	export BGDMA_RANK="$1"
	shift
	if [ -n "$BGDMA_TORUS" ]; then
		exec "$ip" netns exec "$(corner "$BGDMA_RANK")" "$@"
	fi
	exec "$@"
}

# Where node $1 is, with its links: all have somebody at their other end.
node_new() {
	node=$1
	shift
	(on "$node" bgdma partition add demo "$@" nodes "$node") || return
	for device in across along; do
		(on "$node" bgdma link add dev $device partition demo \
			hello 100) || return
	done
}

node_is_linked() {
	[ "$(on "$1" bgdma link show | grep -c ' state up')" = 4 ]
}

nodes_new() {
	nodes_dims=$1
	shift
	if [ -z "$BGDMA_TORUS" ]; then
		bgdma partition add demo dims "$nodes_dims" "$@" || return
		nodes_ours=yes
		return
	fi
	nodes_ours=yes
	if [ "$nodes_dims" = 4x1x1 ]; then
		set -- dims 4x1x1 torus x "$@"
	else
		set -- dims 2x2x1 torus xy "$@"
	fi
	for rank in 0 1 2 3; do
		node_new $rank "$@" || return
	done
	for rank in 0 1 2 3; do
		left=100
		until node_is_linked $rank; do
			left=$((left - 1))
			[ $left -gt 0 ] || return
			sleep 0.1
		done
	done
}

# Fails if a process does.
job_run() {
	export BGDMA_SIZE="$1"
	job_dir=$2
	shift 2
	job_pids=
	job_rank=0
	while [ $job_rank -lt "$BGDMA_SIZE" ]; do
		on $job_rank "$@" >"$job_dir/out$job_rank" 2>&1 &
		job_pids="$job_pids $!"
		job_rank=$((job_rank + 1))
	done
	job_result=0
	for pid in $job_pids; do
		wait "$pid" || job_result=1
	done
	return $job_result
}

nodes_ours=no
nodes_end() {
	[ $nodes_ours = yes ] || return 0
	nodes_ours=no
	if [ -z "$BGDMA_TORUS" ]; then
		bgdma partition del demo
		return
	fi
	for rank in 0 1 2 3; do
		(on $rank bgdma partition del demo)
	done
}

load=
dir=
# Who is in the background hears no interrupt: without their partition processes of a
# job end by themselves, others are killed, and those that are stopped.
leave() {
	trap - HUP INT TERM
	# shellcheck disable=SC2086 # these are words
	[ -z "$load" ] || kill -9 $load 2>/dev/null
	nodes_end
	wait
	[ -z "$dir" ] || rm -rf "$dir"
	exit "$1"
}

scene_begin() {
	trap 'leave 130' HUP INT TERM
	dir=$(mktemp -d) || exit 1
}

# The GNU General Public License, where Debian has it.
text_find() {
	text=${2:-/usr/share/common-licenses/GPL-3}
	if [ -z "$2" ] && [ ! -f "$text" ]; then
		text=$1/text
		seq 1 50000 |
			sed 's/\(.*\)/the \1th line has words and\tmore/' >"$text"
	fi
	echo "$text"
}
