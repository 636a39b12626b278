#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Kernels find each other over links (X-1), disagree clearly, follow their devices,
# and are told of who is gone (X-3): network namespaces joined by veth.
#
# Run as root, with nobody else using the device. Needs iproute2, not busybox' ip.
# BGDMA_KO names the file of the module, as in module_test.sh.

cd "$(dirname "$0")" || exit 1

. ./spaces.sh

key=00112233445566778899aabbccddeeff
echo $key >"$tmp/key"
echo ffeeddccbbaa99887766554433221100 >"$tmp/other"

peer_says() {	# NS DEV TEXT
	on "$1" bgdma link show dev "$2" | grep -qx "  *$3"
}

not_up() {	# NS DEV: lost, and some time later forgotten
	! peer_is "$1" "$2" up && ! peer_is "$1" "$2" heard
}

no_peer() {	# NS DEV
	! on "$1" bgdma link show dev "$2" | grep -q "peer "
}

no_link() {	# NS
	[ -z "$(on "$1" bgdma link show)" ]
}

both_up() {	# A B
	peer_is "$1" "v$1$2" up && peer_is "$2" "v$2$1" up
}

route() {	# NS FROM TO [adaptive]: the nodes on the way, in a line
	# shellcheck disable=SC2086 # a word, or none
	on "$1" bgdma route get p from "$2" to "$3" $4 2>"$tmp/error" |
		sed 's/.* to \([0-9]*\).*/\1/' | tr '\n' ' '
}

route_is() {	# NS FROM TO NODES
	[ "$(route "$1" "$2" "$3")" = "$4 " ]
}

no_route() {	# NS FROM TO WAY: there is none, and this way is why
	! on "$1" bgdma route get p from "$2" to "$3" >/dev/null 2>"$tmp/error" &&
		grep -q "from $4 no link is up" "$tmp/error"
}

insert() {
	for ko in "$BGDMA_KO" /lib/modules/bgdma.ko; do
		[ -f "$ko" ] && insmod "$ko" && return
	done
	modprobe bgdma
}

# monitor_hears SPACE: somebody there is in a group of generic netlink
monitor_hears() {
	on "$1" awk '$2 == 16 && $4 !~ /^0+$/ { found = 1 } END { exit !found }' \
		/proc/net/netlink
}

trap 'no_spaces; [ -d /sys/module/bgdma ] || insert; rm -rf "$tmp"' EXIT

# ---- A torus of four: 0-1, 2-3 along X, 0-2, 1-3 along Y ----
spaces 0 1 2 3 && join 0 1 && join 2 3 && join 0 2 && join 1 3
result "four namespaces are joined"
on 0 bgdma monitor >"$tmp/monitor" &
monitor=$!
soon monitor_hears 0
for node in 0 1 2 3; do
	partition $node p dims 2x2x1 nodes $node key-file "$tmp/key"
done
for pair in "0 1" "1 0" "2 3" "3 2" "0 2" "2 0" "1 3" "3 1"; do
	# shellcheck disable=SC2086 # words
	set -- $pair
	link "$1" "v$1$2"
done
soon both_up 0 1 && soon both_up 2 3 && soon both_up 0 2 && soon both_up 1 3
result "x1_four_kernels_find_each_other"
soon route_is 0 0 3 "1 3" && route_is 0 0 1 "1" && route_is 0 0 2 "2" &&
	route_is 3 3 0 "2 0" && [ -z "$(route 1 1 1)" ]
result "x1_dimension_order_is_the_way"
case $(route 0 0 3 adaptive) in "1 3 " | "2 3 ") ;; *) false ;; esac
result "x1_an_adaptive_way_is_minimal"
soon grep -q '^\[peer\] v01: partition p peer .* state up' "$tmp/monitor" &&
	grep -q '^\[link-new\] v01: partition p' "$tmp/monitor"
result "x1_monitor_tells_of_links_and_peers"

$IP -n bgdma-0 link set v01 down
soon not_up 1 v10 && soon not_up 0 v01 &&
	soon route_is 0 0 1 "2 3 1" && soon route_is 1 1 0 "3 2 0" &&
	soon route_is 2 2 1 "3 1"
result "dma7_with_a_link_down_ways_go_round"
$IP -n bgdma-0 link set v02 down
soon no_route 0 0 1 "0 x+" && soon no_route 1 1 0 "1 x+" &&
	soon no_route 2 2 0 "2 y+"
result "x3_without_a_way_the_dead_link_is_named"
# Longer than the timeout: they are dead for each other, and live again.
sleep 1.5
soon no_peer 1 v10
result "x3_who_is_not_heard_is_forgotten"
$IP -n bgdma-0 link set v01 up
$IP -n bgdma-0 link set v02 up
soon both_up 0 1 && soon both_up 0 2 && soon route_is 0 0 3 "1 3" &&
	soon route_is 1 1 2 "0 2"
result "x1_who_comes_back_is_heard_again"
for _ in 1 2 3 4 5 6 7 8; do
	$IP -n bgdma-3 link set v31 down
	$IP -n bgdma-3 link set v31 up
done
soon both_up 1 3 && soon route_is 1 1 3 "3"
result "x1_a_link_that_flaps_ends_up"
on 2 bgdma partition del p
soon not_up 0 v02 && soon not_up 3 v32 &&
	soon no_route 0 0 2 "0 y+"
result "x3_a_partition_that_is_deleted_is_missed_at_once"
kill $monitor
wait $monitor 2>/dev/null
no_spaces
result "x3_namespaces_go_with_links_up"

# ---- Two that disagree ----
# disagree WHAT STATE TEXT-A TEXT-B: settings of the two come from $a and $b
disagree() {
	spaces a b && join a b &&
		eval "partition a $a" && eval "partition b $b" &&
		link a vab "${a%% *}" && link b vba "${b%% *}" &&
		soon peer_is a vab "$2" && soon peer_is b vba "$2" &&
		peer_says a vab "$3" && peer_says b vba "$4"
	result "x1_$1_is_told_at_both_ends"
	no_spaces
}

a='p dims 2 nodes 0' b='q dims 2 nodes 1'
disagree another_name partition "has partition q, not p" "has partition p, not q"
a="p dims 2 nodes 0 key-file $tmp/key" b="p dims 2 nodes 1 key-file $tmp/other"
disagree another_key key "has another key" "has another key"
b="p dims 2 nodes 1"
disagree no_key key "has another key" "has another key"
a='p dims 2 nodes 0' b='p dims 4x2 nodes 1'
disagree another_shape dims "its partition is 4x2x1 torus xyz, ours 2x1x1 torus xyz" \
	"its partition is 2x1x1 torus xyz, ours 4x2x1 torus xyz"
b='p dims 2 mesh x nodes 1'
disagree a_mesh dims "its partition is 2x1x1 torus yz, ours 2x1x1 torus xyz" \
	"its partition is 2x1x1 torus xyz, ours 2x1x1 torus yz"
a='p dims 4 nodes 0-2' b='p dims 4 nodes 2,3'
text="says that node 2 lives there, but it lives here"
disagree a_node_of_two nodes "$text" "$text"
a='p dims 4' b='p dims 4 nodes 3'
text="says that node 3 lives there, but it lives here"
disagree nodes_that_are_not_given nodes "$text" "$text"

# ---- One link, and what happens to its device ----
two() {		# two namespaces, up
	spaces a b && join a b && partition a p dims 2 nodes 0 &&
		partition b p dims 2 nodes 1 && link a vab && link b vba &&
		soon both_up a b
}

two && $IP -n bgdma-a link set vab mtu 1000 && $IP -n bgdma-b link set vba mtu 1400 &&
	soon peer_says a vab "takes 1400 bytes, we take 1000, and 1280 are needed" &&
	soon peer_says b vba "takes 1000 bytes, we take 1400, and 1280 are needed" &&
	on a bgdma link show | grep -q "state mtu mtu 1000"
result "x1_an_mtu_that_is_too_small_is_told_at_both_ends"
$IP -n bgdma-a link set vab mtu 9000 && soon both_up a b &&
	on b bgdma link show | grep -q "peer .* mtu 9000"
result "x1_links_follow_the_mtu"
partition a q dims 2 nodes 0 && partition b q dims 2 nodes 1 && link a vab q &&
	link b vba q && sleep 0.5 && both_up a b &&
	! on a bgdma link show | grep -q "state partition"
result "x1_two_partitions_share_a_device"
on b bgdma link del dev vba partition q && sleep 0.5 &&
	! on a bgdma link show | grep -q "state partition" &&
	[ "$(on a bgdma link show | grep -c "state up nodes")" = 1 ] && both_up a b
result "x1_one_partition_leaves_a_device"
$IP -n bgdma-b link set vba address 02:00:00:00:00:99 &&
	soon eval 'on a bgdma link show | grep -q "peer 02:00:00:00:00:99 state up"'
result "x1_a_new_address_is_learned"
spaces c && $IP -n bgdma-a link set vab netns bgdma-c && no_link a && no_link c &&
	soon not_up b vba
result "x1_a_device_that_moves_leaves_its_link"
$IP -n bgdma-c link del vab && no_link b
result "x1_a_device_that_is_removed_takes_its_link"
no_spaces
two && $IP netns del bgdma-b && soon no_link a
result "x3_a_namespace_that_is_deleted_takes_its_links"
no_spaces

# ---- The key is a secret ----
spaces a b && join a b && partition a p dims 2 nodes 0 key-file "$tmp/key" &&
	partition b p dims 2 nodes 1 key-file "$tmp/key" && link a vab && link b vba &&
	soon both_up a b &&
	! { on a bgdma -j partition show; on a bgdma -j link show; dmesg; } |
	grep -qiE "$key|0011223344556677|7766554433221100"
result "a_key_is_never_shown"
! on a bgdma partition add r dims 2 key-file /nowhere 2>/dev/null &&
	echo 0011 >"$tmp/short" &&
	! on a bgdma partition add r dims 2 key-file "$tmp/short" 2>/dev/null
result "a_bad_key_file_is_refused"

# ---- The module goes while links are up ----
rmmod bgdma && insert && no_link a && partition a p dims 2 nodes 0
result "x3_the_module_goes_with_links_up"
no_spaces

echo "1..$number"
[ $failed -eq 0 ]
