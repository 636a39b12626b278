#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# X-1, DMA-7: partitions that are too large for tables of all nodes, or for the
# distances to all; and nodes of one kernel among those of others.
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
echo "1..$number"
[ $failed -eq 0 ]
