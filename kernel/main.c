// SPDX-License-Identifier: GPL-2.0
/*
 * bgdma - a virtual DMA messaging device: the DMA engine of a Blue Gene/P
 * compute node as a kernel module. See Documentation/overview.rst.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "bgdma.h"
#include "engine/process.h"

static int __init bgdma_init(void)
{
	int err;

	err = bgdma_wake_init();
	if (err)
		return err;
	err = bgdma_process_init();
	if (err)
		goto wake;
	err = bgdma_engine_init();
	if (err)
		goto process;
	err = bgdma_fabric_init();
	if (err)
		goto engine;
	err = bgdma_control_init();
	if (err)
		goto fabric;
	err = bgdma_front_init();
	if (err)
		goto control;
	return 0;
control:
	bgdma_control_exit();
fabric:
	bgdma_fabric_exit();
engine:
	bgdma_engine_exit();
process:
	bgdma_process_exit();
wake:
	bgdma_wake_exit();
	return err;
}

static void __exit bgdma_exit(void)
{
	/* No file is open, so no context is left: only empty partitions. */
	bgdma_front_exit();
	bgdma_control_exit();
	bgdma_fabric_exit();
	bgdma_engine_exit();
	bgdma_process_exit();
	bgdma_wake_exit();
	/* Callbacks of ours that still wait for their grace period. */
	rcu_barrier();
}

module_init(bgdma_init);
module_exit(bgdma_exit);

MODULE_DESCRIPTION("Virtual DMA messaging device");
MODULE_LICENSE("GPL");
