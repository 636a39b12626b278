# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What tests of links between network namespaces share, which are joined by veth: to
# be sourced.
#
#	skip WORDS...			end: why nothing was tested
#	on NS COMMAND...		there
#	spaces NS..., no_spaces		make them; unmake all
#	join A B			devices vAB in A and vBA in B, up
#	partition NS NAME [SETTING]...	a partition there
#	link NS DEV [PARTITION]		it uses a device
#	soon COMMAND...			until it succeeds; three seconds, or more
#	peer_is NS DEV STATE		what a link says of who is at its other end
#	job PARTITION EXAMPLE NS...	a job of as many processes, each in one of these;
#					examples is the folder that has them
#
# And what result.sh has. IP is iproute2's ip, tmp a folder. Whoever sources it ends
# with a plan: "1..$number".

skip() {
	echo "1..0 # SKIP $*"
	exit 4
}

# A shell that is busybox takes its own.
for IP in /usr/bin/ip /usr/sbin/ip /sbin/ip /bin/ip; do
	[ -x "$IP" ] && "$IP" -V 2>/dev/null | grep -q iproute2 && break
	IP=
done
[ "$(id -u)" = 0 ] || skip "needs root"
[ -d /sys/module/bgdma ] || skip "needs the module"
[ "$IP" ] || skip "needs iproute2"
command -v bgdma >/dev/null || skip "needs bgdma, the tool"
$IP link add bgdma-probe type veth peer name bgdma-prob2 2>/dev/null ||
	skip "needs veth"
$IP link del bgdma-probe

. ./result.sh
examples=$(dirname "$(command -v first)" 2>/dev/null)/examples
tmp=$(mktemp -d)

failure() {
	for ns in $($IP netns list | sed -n 's/^\(bgdma-[^ ]*\).*/\1/p'); do
		echo "# $ns"
		$IP netns exec "$ns" bgdma link show -s | sed 's/^/# /'
	done
}

on() {
	ns=bgdma-$1
	shift
	$IP netns exec "$ns" "$@"
}

spaces() {
	for ns in "$@"; do
		$IP netns add "bgdma-$ns" || return
	done
}

no_spaces() {
	for ns in $($IP netns list | sed -n 's/^\(bgdma-[^ ]*\).*/\1/p'); do
		$IP netns del "$ns"
	done
}

join() {
	$IP link add "v$1$2" netns "bgdma-$1" type veth peer name "v$2$1" netns "bgdma-$2" &&
		$IP -n "bgdma-$1" link set "v$1$2" up &&
		$IP -n "bgdma-$2" link set "v$2$1" up
}

partition() {
	ns=$1 name=$2
	shift 2
	on "$ns" bgdma partition add "$name" "$@"
}

# A test in which nobody is to be given up, however busy the machine is, has more.
timeout=1000

link() {
	on "$1" bgdma link add dev "$2" partition "${3:-p}" hello 100 \
		timeout "$timeout"
}

soon() {
	for _ in $(seq $((30 * ${BGDMA_TEST_SLOW:-1}))); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

peer_is() {
	on "$1" bgdma link show dev "$2" | grep -q "peer .* state $3 "
}

job() {
	part=$1 program=$examples/$2
	shift 2
	rm -rf "$tmp/job" "$tmp"/out.*
	mkdir "$tmp/job"
	pids='' rank=0
	for where in "$@"; do
		BGDMA_RANK=$rank BGDMA_SIZE=$# BGDMA_PARTITION=$part \
			BGDMA_JOB_DIR=$tmp/job on "$where" "$program" \
			>"$tmp/out.$rank" 2>&1 &
		pids="$pids $!"
		rank=$((rank + 1))
	done
	code=0
	for pid in $pids; do
		wait "$pid" || code=1
	done
	[ $code = 0 ] || sed 's/^/# /' "$tmp"/out.*
	return $code
}

trap 'no_spaces; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
echo "TAP version 13"
