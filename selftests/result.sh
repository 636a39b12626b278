# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What all tests share that are shell scripts: to be sourced.
#
#	result WORDS...		of what $? says
#	failure			more about what failed: whoever has more to say defines it
#
# number and failed count.

number=0
failed=0

failure() {
	:
}

result() {
	if [ $? -eq 0 ]; then
		status=ok
	else
		status="not ok"
		failed=$((failed + 1))
		failure
	fi
	number=$((number + 1))
	echo "$status $number $*"
}
