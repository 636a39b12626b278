#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Two modules in each of three processes, which send the lines of a text, mixed; then
# one process that registered something else, which all are told by name. Works with
# busybox, too.
#
#	demo-dispatch [FILE]
#
# FILE: a text; else the GNU General Public License, where Debian has it, or one that
# is made.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/demos/nodes.sh
. "$here/nodes.sh"
scene_begin
file=$(text_find "$dir" "$1")
nodes_new 3x1x1 || leave 1
export BGDMA_SIZE=3 BGDMA_PARTITION=demo

# job NAME ODD: three processes; the third registers ODD, if that is not empty.
job() {
	mkdir "$dir/$1"
	export BGDMA_JOB_DIR="$dir/$1"
	on 0 "$here/dispatch" "$file" >"$dir/out.0" 2>&1 &
	on 1 "$here/dispatch" "$file" >"$dir/out.1" 2>&1 &
	on 2 "$here/dispatch" "$file" ${2:+"$2"} >"$dir/out.2" 2>&1 &
	wait
	cat "$dir"/out.* |
		grep -v '^registered$\|^agreed$\|^sent$\|^received$' |
		sed 's/^/  /'
}

result=0
echo "dispatch: a two-sided and a one-sided module in each of 3 processes, with the" \
	"lines of ${file##*/}"
job good ""
[ "$(cat "$dir"/out.* | grep -c ' 0 misdelivered$')" = 3 ] || result=1
echo "dispatch: process 2 has \"accumulate\" in place of \"store\""
job odd accumulate
[ "$(cat "$dir"/out.* | grep -c 'process 2 on node 2 .*accumulate of module one-sided')" = 3 ] ||
	result=1
[ $result -eq 0 ] || echo "  FAILED"
leave $result
