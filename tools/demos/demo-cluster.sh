#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A torus of 4x2x1 nodes in two machines, four in each: those with an even rank in the
# first, so that each hop along X crosses the wire. Processes are started by
# mpiexec.hydra. In the end the second machine's module goes and comes again, and
# then the machine dies, each time in the middle of a transfer.
#
#	demo-cluster FILE [SCENE]...	on the first machine
#	demo-cluster second		on the second, before or after
#
# SCENE is one of file, chain, counters, dispatch, epoch, eight, leaves and dies;
# default: all, in this order.
#
# Both have the module, an Ethernet device eth0 between them, and bgdma,
# iproute2 and mpiexec.hydra; the second one has FILE, too.

here=$(cd "$(dirname "$0")" && pwd)
net=10.77.0
# A busybox would take its own.
for ip in /usr/sbin/ip /usr/bin/ip /sbin/ip ip; do
	[ ! -x "$ip" ] || break
done

# device HOST...: an address for each node. A launcher that believes that each is a
# machine does not end the others of a machine with one that is killed.
device() {
	for host; do
		"$ip" address add "$net.$host/24" dev eth0 || return
	done
	"$ip" link set eth0 up
}

if [ "$1" = second ]; then
	device 2 4 6 8 && exec "$here/far" serve
	exit 1
fi
file=$1
if ! [ -s "$file" ]; then
	echo "usage: demo-cluster FILE [SCENE]..." >&2
	exit 2
fi
shift
[ $# -gt 0 ] ||
	set -- file chain counters dispatch epoch eight leaves dies
dir=$(mktemp -d) || exit 1
result=0

# As a word for the shell there.
file_there=\'$(printf %s "$file" | sed "s/'/'\\\\''/g")\'

second() {
	"$here/far" $net.2 "$@"
}

fail() {
	echo "  FAILED: $*"
	result=1
	return 1
}

# until_true SECONDS COMMAND...
until_true() {
	left=$(($1 * 10))
	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}

# said TEXT: somebody has said it.
said() {
	grep -q "$1" "$dir/out"
}

answers() {
	[ "$(second echo there 2>/dev/null)" = there ]
}

# --- the torus -------------------------------------------------------------

is_up() {
	bgdma link show | grep -q ' state up nodes 1,3,5,7'
}

# half NODES: what makes a machine's part of the torus.
half() {
	echo "bgdma partition add demo dims 4x2x1 torus xy nodes $1 &&" \
		"bgdma link add dev eth0 partition demo hello 100 timeout 2000"
}

torus_new() {
	sh -c "$(half 0,2,4,6)" && second "$(half 1,3,5,7)" &&
		until_true 30 is_up
}

# job N COMMAND...: so many processes, by turns on the first and the second machine.
# Of one that is killed hydra tells the others by a signal.
job() {
	n=$1
	hosts=$net.1
	for host in $(seq 2 "$n"); do
		hosts=$hosts,$net.$host
	done
	shift
	BGDMA_PARTITION=demo mpiexec.hydra -disable-auto-cleanup -launcher ssh \
		-launcher-exec "$here/far" -iface eth0 \
		-hosts "$hosts" -ppn 1 -n "$n" \
		sh -c 'trap "" USR1 && exec "$@"' job "$@" </dev/null
}

show() {
	sed 's/^/  /' "$dir/out"
}

# --- scenes ----------------------------------------------------------------

# transfer METHOD
transfer() {
	"$here/far" $net.2 "$here/receiver $1" >"$dir/there" &
	until_true 30 grep -q ready "$dir/there" || return
	"$here/sender" "$1" "$file" >"$dir/here" 2>&1 || return
	wait $!
	sum=$(sed -n 's/^sha256 //p' "$dir/here")
	[ -n "$sum" ] && grep -q "^sha256 $sum\$" "$dir/there" &&
		echo "  $1: $(sed -n 's/^bytes //p' "$dir/there") bytes, sha256 $sum on both"
}

stopped() {
	[ "$(awk '{ print $3 }' "/proc/$(pidof chain)/stat")" = T ] &&
		[ "$(second awk "'{ print \$3 }'" '/proc/$(pidof chain)/stat')" = T ]
} 2>/dev/null

# The memory of the process on the second machine, which is stopped.
there() {
	[ "$(second "cmp -s $file_there /proc/\$(pidof chain)/fd/$(sed -n \
		's/^memory //p' "$dir/out") && echo same")" = same ]
}

# chain PORTIONS: it keeps itself going between two machines, too.
chain() {
	job 2 "$here/chain" -s "$1" "$file" >"$dir/out" 2>&1 &
	until_true 60 stopped && until_true 60 there && stopped || return
	echo "  $1 portions: all there while both processes are stopped"
	kill -CONT "$(pidof chain)"
	second 'kill -CONT $(pidof chain)'
	wait $!
}

counters() {
	job 2 "$here/counters" 64 at-random "$file" >"$dir/out" 2>&1
	said '10000 of 10000 as they' && grep ' of ' "$dir/out" | sed 's/^/  /'
}

dispatch() {
	job 3 "$here/dispatch" "$file" >"$dir/out" 2>&1
	grep -v '^registered$\|^agreed$\|^sent$\|^received$' "$dir/out" |
		sed 's/^/  /'
	[ "$(grep -c ' 0 misdelivered$' "$dir/out")" = 3 ]
}

epoch() {
	awk '{ print $1, $2 }' /proc/meminfo >"$dir/table"
	job 4 "$here/epoch" "$dir/table" >"$dir/out" 2>&1
	grep '^process\|^target.* \(after\|broke\)' "$dir/out" | sed 's/^/  /'
	said "closing stage: Cannot send after transport endpoint shutdown" &&
		said "put counter 100, get counter 0" && said "after 300 changes" &&
		said "epoch 102 of process 2 broke: peer died or left" &&
		said "process 1: has the table next"
}

# Eight processes, four on each machine.
eight() {
	for program in lockstep ring halo; do
		job 8 "$here/examples/$program" >"$dir/out" 2>&1 || return
		show
	done
}

# What the origin has to know, from the second machine.
target() {
	second cat /tmp/cut/target >"$dir/target"
	grep -qx '[0-9]* [0-9]*' "$dir/target"
}

# Process 0 and, on the second machine, process 1 of cut, under way.
flow() {
	rm -rf "$dir/cut"
	mkdir "$dir/cut"
	# What the scene before left there is not to be taken for this one's.
	second 'rm -rf /tmp/cut && mkdir /tmp/cut' || return
	"$here/far" $net.2 "exec $here/cut 1 $file_there /tmp/cut" >"$dir/there" &
	remote=$!
	until_true 30 target || return
	mv "$dir/target" "$dir/cut/target"
	"$here/cut" 0 "$file" "$dir/cut" >"$dir/out" 2>&1 &
	until_true 60 said '^round 2$'
}

failed_by() {
	until_true 30 said '^failed' && sed -n 's/^failed:/   /p' "$dir/out" &&
		said "$1"
}

# leaves: the module goes and comes again.
leaves() {
	flow || return
	second 'kill -9 $(pidof cut); until rmmod bgdma; do sleep 0.1; done' \
		>/dev/null
	# In the middle of a put, or just before one began.
	failed_by 'PEER_DOWN\|NO_PEER' || return
	wait
	second insmod /lib/modules/bgdma.ko
	second "$(half 1,3,5,7)"
	until_true 30 is_up && transfer put
}

dies() {
	flow || return
	"$here/far" $net.2 'echo b >/proc/sysrq-trigger' >/dev/null &
	reset=$!
	# Whichever is seen first: that its kernel is silent, or that a put is, which had
	# no way any more.
	failed_by 'PEER_DOWN\|LINK_DOWN'
	code=$?
	# Nobody closes their connections.
	kill $reset $remote
	return $code
}

# scene WORDS COMMAND...
scene() {
	echo "$1"
	shift
	"$@" && return
	fail "$*"
	cat "$dir"/out "$dir"/here "$dir"/there 2>/dev/null
}

device 1 3 5 7 && until_true 120 answers && torus_new || {
	fail "the two machines do not meet"
	bgdma link show
	exit 1
}
echo "4x2x1 nodes in two machines, four in each: $(bgdma link show | grep -o 'nodes.*')"
for part; do
	case $part in
	file) for method in memfifo put rget; do
			scene "a file from node 0 to node 1, by $method" \
				transfer $method
		done ;;
	chain) for portions in 2 20000; do
			scene "a self-pacing chain" chain $portions
		done ;;
	counters) scene "10,000 messages over 64 counters" counters ;;
	dispatch) scene "three processes with two modules each" dispatch ;;
	epoch) scene "a table, and three who share it in epochs" epoch ;;
	eight) scene "eight processes, four on each machine" eight ;;
	leaves) scene "the second machine's module goes and comes again" \
			leaves ;;
	dies) scene "the second machine dies" dies ;;
	*) fail "$part: no such scene" ;;
	esac
done
bgdma link show -s | sed -n 's/^ *TX:/the wire:/p'
bgdma partition del demo
rm -rf "$dir"
exit $result
