#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a guest where a veth joins our nodes of two namespaces, perf0 and perf1: measure
# these, TCP by the same veth, and Soft-RoCE, in turn. tools/perf/rdma.py reads it.
#
#	rdma.sh MTU TURNS
#
# rxe hears nothing in a namespace other than the first one. So both ends of its veth
# are in that one: it is another veth, of the same kind.
mtu=$1 turns=$2

ip=/usr/bin/ip
conf=/proc/sys/net/ipv4/conf

# Both addresses are the same kernel's, which else takes neither for a stranger's.
roce_setup() {
	$ip link add roce0 mtu "$mtu" type veth peer name roce1 mtu "$mtu" ||
		return
	echo 0 >$conf/all/rp_filter
	for n in 0 1; do
		echo 0 >$conf/roce$n/rp_filter
		echo 1 >$conf/roce$n/accept_local
		peer=$(cat /sys/class/net/roce$((1 - n))/address)
		$ip addr add 10.1.0.$n/31 dev roce$n &&
			$ip link set roce$n up &&
			$ip neigh replace 10.1.0.$((1 - n)) dev roce$n \
				lladdr "$peer" &&
			rdma link add rxe$n type rxe netdev roce$n || return
	done
}

# One of perftest's programs: from one device to the other, by the address of IPv4. On
# a busy host it may not find out how fast the processor's clock is, and then says
# that nothing was moved: once more.
perftest() {
	for try in 1 2 3 4 5; do
		taskset 2 "$@" -F -x 1 -d rxe1 >/dev/null &
		until netstat -ltn | grep -q :18515; do sleep 0.1; done
		timeout 60 taskset 1 "$@" -F -x 1 -d rxe0 10.1.0.1 \
			>/tmp/perftest && wait $! || return
		grep -q -w -e inf -e 0.000000 /tmp/perftest || break
	done
	cat /tmp/perftest
}

roce_turn() {
	echo "beside ib_write_lat: typical latency of 8 B"
	perftest ib_write_lat -s 8 -n 1000 || return
	echo "beside ib_write_bw: rate of 8 B"
	perftest ib_write_bw -s 8 -n 4096 || return
	echo "beside ib_write_bw -l 32: rate of 8 B"
	perftest ib_write_bw -s 8 -n 4096 -l 32 || return
	echo "beside ib_write_bw: bandwidth of 64 KiB"
	perftest ib_write_bw -s 65536 -n 256 || return
	echo "beside ib_write_bw: bandwidth of 1 MiB"
	perftest ib_write_bw -s 1048576 -n 16
}

# The servers stay: while they wait they cost nothing. But the guest waits for all that
# have its output.
tcp_setup() {
	trap 'kill $(jobs -p)' EXIT
	$ip netns exec perf1 taskset 2 qperf &
	$ip netns exec perf1 taskset 2 iperf3 -s >/dev/null &
	sleep 2
}

# NAME BYTES
tcp_bandwidth() {
	echo "beside qperf: bandwidth of $1"
	$in qperf -uu -t 1 -m "$2" 10.0.0.1 tcp_bw || return
	echo "beside iperf3: bandwidth of $1"
	$in iperf3 -f K -t 1 -l "$2" -c 10.0.0.1
}

tcp_turn() {
	in="$ip netns exec perf0 taskset 1"
	echo "beside qperf: typical latency of 8 B"
	$in qperf -uu -t 1 -m 8 10.0.0.1 tcp_lat &&
		tcp_bandwidth "64 KiB" 65536 && tcp_bandwidth "1 MiB" 1048576
}

our_turn() {
	echo "beside ours"
	for way in "direct put" "8 B: memory FIFO"; do
		bgdma-perf --runs 5 --netns perf --only "$way" links || return
	done
}

roce_setup && tcp_setup || exit
for turn in $(seq "$turns"); do
	echo turn
	our_turn && tcp_turn && roce_turn || exit
done
