#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# SP-9: a file crosses by self-pacing chains while both processes are stopped,
# with as many system calls for 20,000 portions as for 2. Needs root and the
# programs of tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] ||
		! command -v demo-chain >/dev/null; then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
dir=$(mktemp -d) || exit 1
bgdma partition del demo 2>/dev/null
head -c 4000001 /dev/urandom >"$dir/file"
demo-chain "$dir/file" >"$dir/log" 2>&1
code=$?
stopped=$(grep -c "all there while both processes are stopped" "$dir/log")
calls=$(grep -c "calls   2 portions" "$dir/log")

# The same without strace: all programs but that one.
mkdir "$dir/bin"
IFS=:
for folder in $PATH; do
	ln -s "$folder"/* "$dir/bin" 2>/dev/null
done
unset IFS
rm -f "$dir/bin/strace"
PATH=$dir/bin demo-chain "$dir/file" >"$dir/log.without" 2>&1
without=$?

echo "1..3"
sed 's/^/# /' "$dir/log" "$dir/log.without"
[ "$stopped" = 2 ] && echo "ok 1 sp9 both stopped" ||
	echo "not ok 1 sp9 both stopped"
if ! command -v strace >/dev/null; then
	echo "ok 2 sp9 the same calls # SKIP no strace"
elif [ $code -eq 0 ] && [ "$calls" = 1 ]; then
	echo "ok 2 sp9 the same calls"
else
	echo "not ok 2 sp9 the same calls"
fi
if [ $without -eq 0 ] &&
		grep -q "not counted, strace is not installed" "$dir/log.without"
then
	echo "ok 3 sp9 says that no calls are counted"
else
	echo "not ok 3 sp9 says that no calls are counted"
	code=1
fi
rm -rf "$dir"
[ $code -eq 0 ]
