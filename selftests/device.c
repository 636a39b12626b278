// SPDX-License-Identifier: GPL-2.0
/*
 * Linked into each test of the device: without one, nothing of it runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/bgdma.h>

static void __attribute__((constructor)) needs_the_device(void)
{
	if (!access(BGDMA_DEVICE, F_OK))
		return;
	printf("1..0 # SKIP no %s: the module is not there\n", BGDMA_DEVICE);
	exit(4);
}
