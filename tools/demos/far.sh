#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A remote shell for two virtual machines on a wire of their own, which needs nothing
# but busybox: anybody on that wire is let in.
#
#	far serve			let others in, and end never
#	far [-x] ADDRESS COMMAND...	as ssh: the words make a line for the shell there
#
# What the command prints comes out here, in order; its exit code is not told.

port=7000
if [ "$1" = serve ]; then
	exec nc -ll -p $port -e sh
fi
[ "$1" != -x ] || shift
address=$1
shift
exec nc "$address" $port <<END
exec 2>&1
$*
END
