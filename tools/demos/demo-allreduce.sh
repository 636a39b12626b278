#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The words of a text, counted by eight nodes and summed by the engines while the
# processes count something else; beside what wc says. Works with busybox, too.
#
#	demo-allreduce [FILE]
#
# FILE: a text; else the GNU General Public License, where Debian has it, or one that
# is made.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
scene_begin
file=$(text_find "$dir" "$1")
size=8
# A torus of namespaces has four nodes.
[ -z "$BGDMA_TORUS" ] || size=4
nodes_new 4x2x1 || leave 1
mkdir "$dir/job"
export BGDMA_PARTITION=demo BGDMA_JOB_DIR="$dir/job"

result=0
echo "allreduce: the words of ${file##*/}, $(wc -c <"$file") bytes, counted by $size nodes, summed" \
	"by their engines"
job_run $size "$dir" "$here/allreduce" "$file" || result=1
sed -n 's/^node/  node/p' "$dir"/out*
told=$(sed -n 's/^sum: //p' "$dir/out0")
# shellcheck disable=SC2046 # the three numbers
should=$(echo $(wc -l <"$file") $(wc -w <"$file") $(wc -c <"$file"))
echo "  lines, words, bytes: $told; wc says: $should"
[ "$told" = "$should" ] || result=1
[ $result -eq 0 ] || { echo "  FAILED"; cat "$dir"/out*; }
leave $result
