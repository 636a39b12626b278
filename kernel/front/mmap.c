// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping the shared areas. Only map_lock is taken here: ctx.lock is held over
 * copies to user space, which may take mmap_lock, which we hold.
 */
#include <linux/sched/signal.h>

#include "front.h"

/* Areas are mapped whole: a part of one would need its own bookkeeping. */
static int bgdma_vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

/*
 * Areas have no name. But before a process writes its core it looks which of its
 * mappings go in, asking for their names, and that is where peers need no longer
 * wait for it. Another process in the same memory says nothing about the one
 * that attached. Files tell nothing here: who dumps has a copy of their table.
 */
static const char *bgdma_vma_name(struct vm_area_struct *vma)
{
	struct bgdma_ctx *ctx = vma->vm_file->private_data;

	if (current->mm == vma->vm_mm && current->signal->core_state &&
	    current->tgid == ctx->tgid)
		bgdma_process_dies(ctx);
	return NULL;
}

static const struct vm_operations_struct bgdma_vm_ops = {
	.may_split = bgdma_vma_may_split,
	.name = bgdma_vma_name,
};

/* What an offset names; its memory stays while map_lock is held. */
static struct bgdma_shm *bgdma_map_find(struct bgdma_ctx *ctx, u64 offset)
{
	u32 index = offset >> BGDMA_MAP_INDEX_SHIFT & 0xffff;
	struct bgdma_inj_fifo *inj;
	struct bgdma_region *region;
	struct bgdma_rec_fifo *rec;

	lockdep_assert_held(&ctx->map_lock);
	if (offset & (BIT_ULL(BGDMA_MAP_INDEX_SHIFT) - 1))
		return NULL;
	switch (offset >> BGDMA_MAP_KIND_SHIFT) {
	case BGDMA_MAP_AREA:
		return index < BGDMA_AREA_COUNT ? &ctx->area[index] : NULL;
	case BGDMA_MAP_INJ:
		inj = index < ctx->n_inj ?
			rcu_dereference_protected(ctx->inj[index], true) : NULL;
		return inj ? &inj->shm : NULL;
	case BGDMA_MAP_REC:
		rec = index < ctx->n_rec ?
			rcu_dereference_protected(ctx->rec[index], true) : NULL;
		return rec ? &rec->shm : NULL;
	case BGDMA_MAP_REGION:
		region = xa_load(&ctx->regions, index);
		return region && region->mem.nr ? &region->mem : NULL;
	default:
		return NULL;
	}
}

/**
 * bgdma_mmap() - .mmap of the device
 * @file: attached
 * @vma: offset and length as the ioctls returned them
 *
 * Return: 0; -EINVAL no such area, wrong length, private mapping; -EPERM
 * another process, or write access to what only the kernel writes; -ENOTCONN,
 * -ENODEV.
 */
int bgdma_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct bgdma_ctx *ctx = file->private_data;
	struct bgdma_shm *shm;
	int err;

	err = bgdma_call_begin(ctx);
	if (err)
		return err;
	mutex_lock(&ctx->map_lock);
	shm = bgdma_map_find(ctx, (u64)vma->vm_pgoff << PAGE_SHIFT);
	err = shm ? bgdma_shm_mmap(shm, vma) : -EINVAL;
	if (!err)
		vma->vm_ops = &bgdma_vm_ops;
	mutex_unlock(&ctx->map_lock);
	bgdma_call_end(ctx);
	return err;
}
