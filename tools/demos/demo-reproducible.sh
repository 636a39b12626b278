#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The sum of ten million doubles of mixed size on 1, 2, 3 and 8 nodes, along each tree
# and ring, the engines' too: the same 64 bits, fast and exact, beside what plain
# summation gives. Works with busybox, too.
#
#	demo-reproducible [COUNT]
#
# COUNT doubles: ten million, or what BGDMA_DOUBLES says.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
count=${1:-${BGDMA_DOUBLES:-10000000}}
# A torus of namespaces has four nodes.
sizes="1 2 3 8"
[ -z "$BGDMA_TORUS" ] || sizes="1 2 3 4"
scene_begin
nodes_new 4x2x1 || leave 1
export BGDMA_PARTITION=demo BGDMA_JOB_DIR="$dir/job"

result=0
echo "reproducible: the sum of $count doubles of mixed size"
for size in $sizes; do
	mkdir "$dir/job"
	job_run "$size" "$dir" "$here/reproducible" "$count" || result=1
	cat "$dir"/out[0-9]* >>"$dir/out"
	rm -rf "$dir/job" "$dir"/out[0-9]*
	sed -n "s/^\([a-z]* *[0-9a-f]*\) $size by/  \1  $size nodes,/p" "$dir/out"
done

# sums WAY: how many different ones came out, of how many.
sums() {
	awk -v way="$1" '$1 == way { n++; if (!seen[$2]++) kinds++ }
		END { printf "%d of %d", kinds, n }' "$dir/out"
}
echo "  different sums: plain $(sums plain), fast $(sums fast), exact $(sums exact)"
for way in fast exact; do
	[ "$(sums $way)" = "1 of 16" ] && continue
	echo "  FAILED: not the same bits, $way"
	result=1
done
[ $result -eq 0 ] || cat "$dir/out"
leave $result
