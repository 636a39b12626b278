#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The demonstration: files of several sizes, a death on each side, and a hash
# that is wrong. Needs root and the programs of tools/demos on PATH.

if [ "$(id -u)" != 0 ] || [ ! -c /dev/bgdma ] || ! command -v demo >/dev/null
then
	echo "1..0 # SKIP needs root, the module and the demonstration"
	exit 4
fi
# A namespace of its own: what goes by the same name elsewhere is not touched.
[ -n "$BGDMA_TEST_OWN" ] || BGDMA_TEST_OWN=yes exec unshare -n "$0"
demos=$(dirname "$(command -v demo)")
dir=$(mktemp -d) || exit 1
. "$(dirname "$0")/result.sh"

failure() {
	sed 's/^/# /' "$dir"/log*
}

# send FILE [SCENE]...: through the demonstration; the same must come out.
send() {
	rm -f "$dir/out"
	demo -o "$dir/out" "$@" >"$dir/log" 2>&1 && cmp "$1" "$dir/out" &&
		[ "$(grep -c 'node [01]  *[0-9a-f]\{64\}$' "$dir/log")" = 6 ]
}

# dies VICTIM WITNESS METHOD: kill one side in the middle; the other must say
# so and fail.
dies() {
	rm -f "$dir"/log*
	bgdma partition add demo dims 2x1x1 || return
	"$demos/receiver" "$3" >"$dir/log.receiver" 2>&1 &
	receiver=$!
	until grep -q ready "$dir/log.receiver"; do
		sleep 0.05
	done
	"$demos/sender" "$3" "$dir/large" >"$dir/log.sender" 2>&1 &
	sender=$!
	until grep -q moving "$dir/log.receiver"; do
		kill -0 $receiver $sender || break
		sleep 0.05
	done
	eval "kill -9 \$$1; wait \$$1; wait \$$2"
	code=$?
	bgdma partition del demo
	[ $code -eq 1 ] && grep -q "the other side died" "$dir/log.$2"
} 2>/dev/null

echo "TAP version 13"

: >"$dir/empty"
send "$dir/empty"
result "an empty file"
printf x >"$dir/one"
send "$dir/one" file
result "1 byte"
head -c 100001 /dev/urandom >"$dir/small"
send "$dir/small" file
result "100,001 bytes"
head -c 17000000 /dev/urandom >"$dir/windows"
send "$dir/windows" file
result "more than two windows"

demo "$dir/nothing" >"$dir/log" 2>&1
[ $? -eq 2 ]
result "no such file"
demo "$dir/one" nothing >"$dir/log" 2>&1
[ $? -eq 1 ] && grep -q "no scene nothing" "$dir/log"
result "no such scene"

truncate -s 512M "$dir/large"
for method in memfifo put rget; do
	dies sender receiver $method
	result "$method: the sender is killed"
	dies receiver sender $method
	result "$method: the receiver is killed"
done
rm "$dir/large"

# All scenes: those after the file have tests of their own.
mkdir "$dir/demos"
cp "$demos/demo" "$demos/nodes.sh" "$demos/receiver" "$demos/sender" "$dir/demos"
scenes="chain counters dispatch epoch reproducible allreduce barrier"
for scene in $scenes; do
	printf '#!/bin/sh\n: >"$0.$#"\necho "scene %s"\n' "$scene" \
		>"$dir/demos/demo-$scene"
	chmod +x "$dir/demos/demo-$scene"
done
"$dir/demos/demo" "$dir/small" >"$dir/log" 2>&1 &&
	[ "$(sed -n 's/^scene //p' "$dir/log" | xargs)" = "$scenes" ] &&
	[ -f "$dir/demos/demo-chain.1" ] && [ -f "$dir/demos/demo-barrier.0" ]
result "all scenes"
printf '#!/bin/sh\nexit 1\n' >"$dir/demos/demo-epoch"
"$dir/demos/demo" "$dir/empty" dispatch epoch barrier >"$dir/log" 2>&1
[ $? -eq 1 ] && grep -q "scene dispatch" "$dir/log" &&
	! grep -q "scene barrier" "$dir/log"
result "it ends at the scene that fails"

# A sender that tells another hash than it has.
rm "$dir/demos/sender"
cat >"$dir/demos/sender" <<END
#!/bin/sh
"$demos/sender" "\$@" | sed 's/^sha256 .*/sha256 0123/'
END
chmod +x "$dir/demos/sender"
"$dir/demos/demo" "$dir/one" file >"$dir/log" 2>&1
[ $? -eq 1 ] && [ "$(grep -c FAILED "$dir/log")" = 3 ]
result "a wrong hash"

bgdma partition add demo dims 2x1x1 &&
	"$demos/first" >"$dir/log" 2>&1 &&
	grep -q "node 0 says: hello" "$dir/log"
result "the first program of the README"
bgdma partition del demo

echo "1..$number"
rm -rf "$dir"
[ $failed -eq 0 ]
