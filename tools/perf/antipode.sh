#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In the guest of "bench antipode": a torus of 4 by 4 by 4 network namespaces, of one
# node each, with a pair of veth for each of its 192 edges; what all nodes get when
# they send to their antipodes, by links without a limit, limited, and limited with
# windows fixed.
#
#	antipode.sh RATE QUEUE RUNS	bytes a second, frames before each link, how often
IP=/usr/bin/ip
NODES=$(seq 0 63)
DEVICES="up1 down1 up4 down4 up16 down16"

# A command, of which the last word is the node, in each namespace.
all() {
	for n in $NODES; do
		nsenter --net="/run/netns/perf$n" "$@" "$n" || return
	done
}

spaces() {
	for n in $NODES; do
		echo "netns add perf$n"
	done
}

pairs() {
	for n in $NODES; do
		for axis in 1 4 16; do
			next=$((n - n / axis % 4 * axis + (n / axis + 1) % 4 * axis))
			echo "link add up$axis mtu 9000 netns perf$n type veth" \
				"peer name down$axis mtu 9000 netns perf$next"
		done
	done
}

# So many bytes a second by each link, or as many as it can.
rate() {
	for dev in $DEVICES; do
		echo "qdisc replace dev $dev root netem limit $QUEUE rate $1"
	done | /usr/bin/tc -batch -
}

# HELLO is behind all others: late, not lost.
join() {
	rate 0 && bgdma partition add perf dims 4x4x4 nodes "$1" poll-ns 0 || return
	for dev in $DEVICES; do
		bgdma link add dev "$dev" partition perf hello 5000 timeout 60000 ||
			return
	done
}

# Frames of the wire, not longer ones. All links at once, or each that comes up is told
# of to all by itself.
up() {
	for dev in $DEVICES; do
		echo "link set $dev gso_max_segs 1 up"
	done | $IP -batch -
}

joined() {
	until [ "$(bgdma link show | grep -c "peer .* state up ")" = 6 ]; do
		sleep 1
	done
}

limit() {
	rate "$((RATE * 8))"
}

fix() {
	for dev in $DEVICES; do
		bgdma link set dev "$dev" partition perf fixed on || return
	done
}

measure() {
	bgdma-perf --netns perf "$@" antipode
}

case $1 in
join | up | joined | limit | fix)
	"$@"
	exit
	;;
esac
export RATE="$1" QUEUE="$2"
mkdir -p /run/netns
spaces | $IP -batch - >&2 && pairs | $IP -batch - >&2 && all "$0" join &&
	all "$0" up && all "$0" joined || exit
echo '{"links":"unlimited"}'
measure --runs 1 --only put || exit
all "$0" limit || exit
echo '{"links":"limited"}'
measure --runs "$3" || exit
all "$0" fix || exit
echo '{"links":"limited, window fixed"}'
measure --runs "$3"
