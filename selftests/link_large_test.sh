#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# X-1, DMA-7: partitions that are too large for tables of all nodes, or for the
# distances to all; nodes of one kernel among those of others; and ways that are too
# long for a packet.
#
# Run as root, with nobody else using the device. Needs iproute2, and the examples.

cd "$(dirname "$0")" || exit 1
. ./spaces.sh
timeout=20000

[ -d "$examples" ] || skip "needs the examples"

way() {		# NS PARTITION FROM TO: how many hops, or nothing
	on "$1" bgdma route get "$2" from "$3" to "$4" 2>/dev/null | grep -c " to "
}

hops_are() {	# NS PARTITION FROM TO HOPS
	[ "$(way "$1" "$2" "$3" "$4")" = "$5" ]
}

spaces 0 1 && join 0 1
result "two namespaces are joined"
partition 0 large dims 64x64x32 torus xyz nodes 0-1,4-131071
partition 1 large dims 64x64x32 torus xyz nodes 2-3
link 0 v01 large && link 1 v10 large
soon peer_is 0 v01 up && soon hops_are 0 large 0 3 3 &&
	hops_are 0 large 0 131071 3 && hops_are 1 large 3 0 3
result "dma7_ways_among_131072_nodes"
job large bag 0 0 1 1
result "x1_tasks_from_a_counter_of_one_node"
job large lockstep 0 0 1 1
result "x1_barriers_and_atomics_in_one_kernel_and_between_two"

partition 0 line dims 600x1x1 nodes 0-299
partition 1 line dims 600x1x1 nodes 300-598
link 0 v01 line && link 1 v10 line
soon hops_are 1 line 300 299 1 && soon hops_are 0 line 150 400 250
result "dma7_ways_to_others_where_a_node_is_nowhere"
on 1 sh -c 'for to in $(seq 151 299) $(seq 301 450); do
	echo "# $to"
	bgdma route get line from 300 to $to
done' | awk '
function right() { n += hops == (to < 300 ? 300 - to : to - 300) }
$1 == "#" { if (to) right(); to = $2; hops = 0 }
/ to / { hops++ }
END { right(); exit n != 299 }' && hops_are 1 line 300 151 149
result "dma7_more_distances_than_are_kept"
on 0 bgdma route get line from 299 to 599 2>&1 | grep -q "no link is up"
result "dma7_no_way_to_a_node_that_is_nowhere"

# Each next node lives in the next kernel: a packet crosses a link at each hop.
striped() {
	$IP netns add bgdma-2 && $IP netns add bgdma-3 && $IP netns add bgdma-4 &&
		join 1 2 && join 2 3 && join 3 4 && join 4 0 || return
	for k in 0 1 2 3 4; do
		partition $k striped dims 320x1x1 torus none \
			nodes "$(seq -s , $k 5 319)" &&
			link $k v$k$(((k + 1) % 5)) striped &&
			link $k v$k$(((k + 4) % 5)) striped || return
	done
}

striped && soon hops_are 0 striped 0 255 255 && soon hops_are 0 striped 64 319 255
result "dma7_a_way_over_as_many_links_as_a_packet_crosses"
on 0 bgdma route get striped from 0 to 256 2>&1 |
	grep -q "no way over at most 255 links" &&
	on 0 bgdma route get striped from 0 to 319 2>&1 |
	grep -q "no way over at most 255 links"
result "dma7_no_way_over_more_links"
echo "1..$number"
[ $failed -eq 0 ]
