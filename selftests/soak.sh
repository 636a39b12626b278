#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Tests of what crosses links, one after the other for SECONDS, each over links that
# are bad in another way, while one node or another is cut off for a moment. Each test
# is a result; in the end nothing is left, and the module goes.
#
#	sh soak.sh [SECONDS]	default: 600

cd "$(dirname "$0")" || exit 1
seconds=${1:-600}
output=$(mktemp)
flaps=$(mktemp)
. ./result.sh

failure() {
	sed 's/^/# /' "$output"
}

# over MTU NETEM...: the next test. Seven of them meet six kinds of links, in time.
over() {
	mtu=$1
	shift
	case $((number % 7)) in
	0) test=put_test ;;
	1) test=memfifo_test ;;
	2) test=counter_test ;;
	3) test=sys_chain_test ;;
	4) test=msg_test ;;
	5) test=rma_window_test ;;
	6) test=rma_epoch_test ;;
	esac
	BGDMA_TEST_LINKS=1 BGDMA_TEST_SLOW=5 BGDMA_TEST_MTU=$mtu \
		BGDMA_TEST_FLAP="$flaps" BGDMA_TEST_NETEM="$*" \
		./run "$test" >"$output" 2>&1
	code=$?
	told=$(sed -n '$s/^# //p' "$output")
	[ $code -eq 0 ]
	result "$test, an MTU of $mtu, $*: $told"
}

nothing_left() {
	[ -z "$(bgdma partition show)" ] && rmmod bgdma
}

cut_off() {
	echo "# cut off $(wc -l <"$flaps") times"
	[ -s "$flaps" ]
}

trap 'rm -f "$output" "$flaps"' EXIT
trap 'exit 1' HUP INT TERM
echo "TAP version 13"
end=$(($(date +%s) + seconds))
while [ "$(date +%s)" -lt $end ]; do
	case $((number % 6)) in
	0) over 1500 delay 100us ;;
	1) over 1500 loss 5% ;;
	2) over 9000 delay 1ms reorder 25% ;;
	3) over 65535 loss 2% duplicate 5% ;;
	4) over 1500 corrupt 2% ;;
	5) over 9000 loss 10% 25% delay 500us duplicate 1% corrupt 1% ;;
	esac
done
: >"$output"
cut_off
result "nodes were cut off meanwhile"
nothing_left
result "nothing is left"
echo "1..$number"
[ $failed -eq 0 ]
