#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# All scenes of demo between four network namespaces, at the corners of a square of
# veth pairs: a torus of 2x2x1 nodes. Then the same where links lose, reorder and
# double what they carry; then a link is cut in the middle of a transfer, which
# goes round, and another, after which there is no way.
#
#	demo-torus FILE [clean|lossy|cut|chain|epoch]...
#
# chain and epoch are scenes of the first of these. With BGDMA_CAPTURE, a folder,
# what crosses the links goes to capture files there, if Wireshark's dumpcap is there.
#
# The module must be there, and bgdma, iproute2 (ip, tc) and strace. Works with
# busybox, too.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
file=$1
if ! [ -s "$file" ]; then
	echo "usage: demo-torus FILE [clean|lossy|cut|chain|epoch]..." >&2
	exit 2
fi
shift
[ $# -gt 0 ] || set -- clean lossy cut
for tc in /usr/sbin/tc /usr/bin/tc /sbin/tc tc; do
	[ ! -x "$tc" ] || break
done
export BGDMA_TORUS=yes
dir=$(mktemp -d) || exit 1
captures=

leave() {
	trap - HUP INT TERM
	# shellcheck disable=SC2086 # these are words
	[ -z "$captures" ] || { kill $captures; wait $captures; }
	# Of a transfer that was to be cut: they live as long as they can.
	# shellcheck disable=SC2086
	[ -z "$load" ] || kill -9 $load
	nodes_end
	for rank in 0 1 2 3; do
		"$ip" netns del corner$rank
	done 2>/dev/null
	rm -rf "$dir"
	exit "$1"
}
trap 'leave 130' HUP INT TERM

# edge A B DEVICE: a link between two corners.
edge() {
	"$ip" link add "$3" netns "corner$1" type veth \
		peer name "$3" netns "corner$2" || return
	for end in "$1" "$2"; do
		"$ip" -n "corner$end" link set "$3" up || return
	done
}

square() {
	mkdir -p /run/netns
	for rank in 0 1 2 3; do
		"$ip" netns add corner$rank || return
	done
	edge 0 1 across && edge 2 3 across && edge 0 2 along && edge 1 3 along
}

# Each edge has an end at one of two corners. A dumpcap for each: one of several devices
# has threads, and may abort when it is to stop, with packets that it has not written.
capture() {
	for rank in 0 3; do
		for device in across along; do
			to=$BGDMA_CAPTURE/corner$rank-$device.pcapng
			on $rank dumpcap -q -B 32 -i $device \
				-f "ether proto 0x88b5" -w "$to" 2>"$dir/dumpcap" &
			captures="$captures $!"
			until [ -s "$to" ]; do
				kill -0 $! || { cat "$dir/dumpcap"; return 1; }
				sleep 0.1
			done
		done
	done
}

spoil() {
	for rank in 0 1 2 3; do
		for device in across along; do
			(on $rank "$tc" qdisc add dev $device root netem \
				loss 5% duplicate 1% delay 200us reorder 25%) ||
				return
		done
	done
}

clean() {
	for rank in 0 1 2 3; do
		for device in across along; do
			(on $rank "$tc" qdisc del dev $device root)
		done
	done
}

frames() {
	for rank in 0 1 2 3; do
		(on $rank bgdma link show -s)
	done | awk '/TX:/ { sent += $3; again += $9 }
		/forwarded/ { passed += $2 }
		END { printf "%d frames sent, %d of them again, %d passed on\n",
			sent, again, passed }'
}

# A file from node 0 to node 1, again and again.
flow() {
	for rank in 0 1; do
		on $rank "$here/cut" $rank "$file" "$dir" \
			>"$dir/out.$rank" 2>&1 &
		load="$load $!"
	done
}

# until_said TEXT RANK
until_said() {
	left=600
	until grep -q "$1" "$dir/out.$2"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}

cut() {
	nodes_new 2x1x1 || return
	flow
	until_said '^round 2$' 0 || return
	"$ip" -n corner0 link set across down
	: >"$dir/look"
	until_said ', all there' 0 || return
	echo "  between nodes 0 and 1, in the middle: it goes round, $(frames)"
	"$ip" -n corner0 link set along down
	until_said '^failed' 0 || return
	echo "  the other link of node 0, too:"
	sed -n 's/^failed:/   /p' "$dir/out.0"
	wait
	load=
	grep -q 'LINK_DOWN.* offset 0, bound 0' "$dir/out.0"
}

scenes() {
	"$here/demo" "$file"
}

square || leave 1
[ -z "$BGDMA_CAPTURE" ] || capture || leave 1
for part in "$@"; do
	case $part in
	clean)
		echo "2x2x1 nodes in four namespaces, a veth pair for each edge"
		scenes || leave 1
		;;
	lossy)
		echo "the same, and each link loses 5 %, doubles 1 % and reorders"
		spoil || leave 1
		BGDMA_TORUS=lossy
		scenes || leave 1
		BGDMA_TORUS=yes
		clean
		;;
	cut)
		echo "a link is cut in the middle of a transfer"
		if ! cut; then
			echo "  FAILED"
			cat "$dir"/out.*
			leave 1
		fi
		;;
	chain)
		"$here/demo-chain" "$file" || leave 1
		;;
	epoch)
		"$here/demo-epoch" || leave 1
		;;
	*)
		echo "demo-torus: $part?" >&2
		leave 2
		;;
	esac
done
leave 0
