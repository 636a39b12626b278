#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# X-1: frames that are longer than the MTU go by a veth as they are, are cut where a
# device wants them to be, and are not made where it takes none.
#
# Run as root, with nobody else using the device. Needs iproute2, and bgdma-perf.

cd "$(dirname "$0")" || exit 1
. ./spaces.sh

command -v bgdma-perf >/dev/null || skip "needs bgdma-perf"
command -v tc >/dev/null || skip "needs tc"

frames() {	# NS TX|RX: so many, by its only link
	on "$1" bgdma link show -s | sed -n "s/^ *$2: frames \([0-9]*\) .*/\1/p"
}

# At least 8 MiB in puts of 64 KiB, of which each byte is compared. More than 5,000
# frames of the MTU, or less than 1,000 long ones, or some of each.
puts() {	# frames that go out: "few", "some" or "many"; that come in
	out=$(frames 0 TX)
	in=$(frames 1 RX)
	bgdma-perf --runs 1 --netns bgdma- --only "64 KiB: direct put" links \
		>"$tmp/puts" 2>&1 || { sed 's/^/# /' "$tmp/puts"; return 1; }
	out=$(($(frames 0 TX) - out))
	in=$(($(frames 1 RX) - in))
	echo "# $out frames went out, $in came in"
	is "$1" "$out" && is "$2" "$in"
}

# 10 Gbit/s, of 5,000 bytes at a time: whatever is longer has to be cut.
narrow() {
	on 0 tc qdisc add dev v01 root tbf rate 10gbit burst 5000 latency 1s
}

is() {
	case $1 in
	few)	[ "$2" -lt 1000 ] ;;
	some)	[ "$2" -lt 5000 ] ;;
	many)	[ "$2" -gt 5000 ] ;;
	esac
}

spaces 0 1 && join 0 1
result "two namespaces are joined"
for n in 0 1; do
	partition $n perf dims 2x1x1 nodes $n
done
# What bgdma-perf compares with goes by TCP.
on 0 "$IP" addr add 10.0.0.0/31 dev v01 && on 1 "$IP" addr add 10.0.0.1/31 dev v10
link 0 v01 perf && link 1 v10 perf && soon peer_is 0 v01 up &&
	on 0 bgdma link set dev v01 partition perf timeout 60000 hello 5000 &&
	on 1 bgdma link set dev v10 partition perf timeout 60000 hello 5000
result "their links are up"

puts few few
result "x1_long_frames_go_by_a_veth_as_they_are"

if narrow 2>/dev/null; then
	puts few many
	result "x1_long_frames_are_cut_where_a_queue_wants_it"
	on 0 bgdma link set dev v01 partition perf sum off && puts few many
	result "x1_long_frames_without_a_checksum_are_cut"
	on 0 tc qdisc del dev v01 root
else
	true
	result "x1_long_frames_are_cut_where_a_queue_wants_it # SKIP no tbf"
	true
	result "x1_long_frames_without_a_checksum_are_cut # SKIP no tbf"
fi

on 0 bgdma link set dev v01 partition perf sum on
on 0 tc qdisc add dev v01 root netem loss 2% duplicate 2% reorder 10% \
	delay 1ms corrupt 1% && puts some some
result "x1_long_frames_that_are_lost_come_again_in_parts"
on 0 tc qdisc del dev v01 root

on 0 bgdma link set dev v01 partition perf copy on && puts few few
result "x1_long_frames_that_are_copies"

on 0 "$IP" link set v01 gso_max_segs 1 && puts many many
result "x1_no_long_frames_where_the_device_takes_none"

on 0 bgdma link set dev v01 partition perf copy off window 2 && puts many many
result "x1_a_window_of_two_frames"

echo "1..$number"
[ $failed -eq 0 ]
