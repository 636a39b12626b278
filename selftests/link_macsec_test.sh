#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# X-1: MACsec under a link. Whoever has the wire but not MACsec's key is not heard, even
# if he has the key of the partition, and hears nothing: three namespaces on a bridge.
#
# Run as root. Needs iproute2, and the demonstration's sender and receiver on PATH.

cd "$(dirname "$0")" || exit 1
. ./spaces.sh
timeout=20000

command -v receiver >/dev/null || skip "needs the demonstration"
$IP link add bgdma-probe type veth peer name bgdma-prob2
$IP link add link bgdma-probe bgdma-probe3 type macsec 2>/dev/null ||
	{ $IP link del bgdma-probe; skip "needs MACsec"; }
$IP link del bgdma-probe
echo 00112233445566778899aabbccddeeff >"$tmp/key"
# Some hundred frames.
head -c 500000 /dev/urandom >"$tmp/file"

ours=0123456789abcdef0123456789abcdef
other=fedcba9876543210fedcba9876543210

port() {	# NS: device wire with address 02:...:NS, on the bridge
	$IP link add wire netns "bgdma-$1" address "02:00:00:00:00:0$1" type veth \
		peer name "p$1" netns bgdma-b &&
		$IP -n bgdma-b link set "p$1" master hub up &&
		$IP -n "bgdma-$1" link set wire up
}

secure() {	# NS KEY FROM...: device safe on wire, which takes frames of FROM
	to=$1 secret=$2
	shift 2
	$IP -n "bgdma-$to" link add link wire safe type macsec port 1 encrypt on &&
		$IP -n "bgdma-$to" macsec add safe tx sa 0 pn 1 on key 00 "$secret" ||
		return
	for from in "$@"; do
		$IP -n "bgdma-$to" macsec add safe rx port 1 \
			address "02:00:00:00:00:0$from" &&
			$IP -n "bgdma-$to" macsec add safe rx port 1 \
				address "02:00:00:00:00:0$from" sa 0 pn 1 on \
				key 00 "$secret" || return
	done
	$IP -n "bgdma-$to" link set safe up
}

counted() {	# NS WORD: a number of MACsec's: names, and numbers below them
	$IP -n "bgdma-$1" -s macsec show safe | awk -v word="$2" '
		{ for (i = 1; i <= n; i++) if (name[i] == word) sum += $i; n = 0 }
		sub(/.*stats: /, "") { n = split($0, name) }
		END { print sum + 0 }'
}

alone() {	# NS DEV: nobody is heard there, after some hellos
	sleep 1
	! on "$1" bgdma link show dev "$2" | grep -q "peer "
}

file_goes() {
	on 1 receiver put >"$tmp/there" &
	soon grep -q ready "$tmp/there" &&
		on 0 sender put "$tmp/file" >"$tmp/here" && wait $! &&
		grep -q '^sha256 ' "$tmp/here" &&
		[ "$(grep '^sha256 ' "$tmp/here")" = "$(grep '^sha256 ' "$tmp/there")" ]
}

spaces 0 1 2 b && $IP -n bgdma-b link add hub type bridge &&
	$IP -n bgdma-b link set hub up && port 0 && port 1 && port 2 &&
	secure 0 $ours 1 2 && secure 1 $ours 0 2
result "two with MACsec, and one without, are on a wire"
for node in 0 1 2; do
	partition $node demo dims 3x1x1 nodes $node key-file "$tmp/key"
done
link 0 safe demo && link 1 safe demo && link 2 wire demo
soon peer_is 0 safe up && soon peer_is 1 safe up
result "x1_they_find_each_other"
file_goes
result "x1_a_file_goes"
[ "$(counted 0 OutPktsEncrypted)" -gt 300 ] && [ "$(counted 1 InPktsOK)" -gt 300 ]
result "x1_what_goes_is_encrypted"
alone 2 wire && ! on 0 bgdma link show | grep -q 'nodes 2' &&
	! on 1 bgdma link show | grep -q 'nodes 2'
result "x2_who_is_on_the_wire_without_it_hears_nobody"
on 2 bgdma link del dev wire partition demo
secure 2 $other 0 1 && link 2 safe demo && alone 2 safe &&
	[ "$(counted 0 InPktsNotValid)" -gt 0 ] &&
	! on 0 bgdma link show | grep -q 'nodes 2'
result "x2_nor_who_has_another_key"
file_goes
result "x1_a_file_still_goes"
echo "1..$number"
[ $failed -eq 0 ]
