#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# X-1: long frames of a veth that a bridge passes on to a VLAN, whose device below has
# them cut: each part is still of that VLAN.
#
# Run as root, with nobody else using the device. Needs iproute2, and the examples.

cd "$(dirname "$0")" || exit 1
. ./spaces.sh
timeout=20000

[ -d "$examples" ] || skip "needs the examples"
$IP link add bgdma-probe type veth peer name bgdma-prob2 &&
	$IP link add link bgdma-probe name bgdma-vlan type vlan id 5 2>/dev/null
vlans=$?
$IP link del bgdma-probe
[ $vlans = 0 ] || skip "needs 8021q"

# Node 0 -- bridge -- VLAN 5 -- node 1.
wires() {
	spaces 0 1 2 && join 0 2 && join 2 1 &&
		$IP -n bgdma-2 link add link v21 name vlan type vlan id 5 &&
		$IP -n bgdma-1 link add link v12 name vlan type vlan id 5 &&
		$IP -n bgdma-2 link add bridge type bridge &&
		$IP -n bgdma-2 link set v20 master bridge up &&
		$IP -n bgdma-2 link set vlan master bridge up &&
		$IP -n bgdma-2 link set bridge up &&
		$IP -n bgdma-2 link set v21 gso_max_segs 1 &&
		$IP -n bgdma-1 link set vlan up
}

again() {	# NS DEV: how often a link has sent something again
	on "$1" bgdma link show -s dev "$2" | sed -n 's/.* again \([0-9]*\).*/\1/p'
}

wires
result "a VLAN behind a bridge"
partition 0 p dims 2x1x1 nodes 0 && partition 1 p dims 2x1x1 nodes 1
link 0 v02 && link 1 vlan
soon peer_is 0 v02 up && soon peer_is 1 vlan up
result "x1_the_other_end_is_heard"
job p portions 0 1
result "x1_long_frames_arrive"
# What is lost is sent again in parts that nobody has to cut.
[ "$(again 0 v02)" -lt 200 ]
result "x1_they_are_of_the_same_vlan"
echo "1..$number"
[ $failed -eq 0 ]
