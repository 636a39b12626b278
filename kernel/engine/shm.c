// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that the kernel and one process share. Each page is charged to the
 * memory cgroup of who asked; a mapping holds references of its own, so that
 * freeing here never waits for user space to unmap.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../bgdma.h"

static void *bgdma_shm_vmap(struct bgdma_shm *shm)
{
	struct page **twice;
	void *addr;

	if (!shm->twice)
		return vmap(shm->pages, shm->nr, VM_MAP, PAGE_KERNEL);

	twice = kvmalloc_array(2 * (size_t)shm->nr, sizeof(*twice), GFP_KERNEL);
	if (!twice)
		return NULL;
	memcpy(twice, shm->pages, shm->nr * sizeof(*twice));
	memcpy(twice + shm->nr, shm->pages, shm->nr * sizeof(*twice));
	addr = vmap(twice, 2 * shm->nr, VM_MAP, PAGE_KERNEL);
	kvfree(twice);
	return addr;
}

/**
 * bgdma_shm_alloc() - allocate zeroed pages to share with user space
 * @shm: filled in; all zero before
 * @bytes: rounded up to pages
 * @flags: BGDMA_SHM_*
 *
 * Context: may sleep; stops at a fatal signal.
 * Return: 0, -ENOMEM or -EINTR.
 */
int bgdma_shm_alloc(struct bgdma_shm *shm, u64 bytes, unsigned int flags)
{
	u64 nr = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	int err = -ENOMEM;

	/* The array of pages is one allocation. */
	if (!nr || nr > INT_MAX / (2 * sizeof(*shm->pages)))
		return -ENOMEM;
	shm->pages = kvcalloc(nr, sizeof(*shm->pages), GFP_KERNEL_ACCOUNT);
	if (!shm->pages)
		return -ENOMEM;
	shm->twice = flags & BGDMA_SHM_TWICE;
	shm->writable = flags & BGDMA_SHM_WRITABLE;

	for (shm->nr = 0; shm->nr < nr; shm->nr++) {
		struct page *page;

		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page)
			goto free;
		shm->pages[shm->nr] = page;
		if (!(shm->nr % 256)) {
			cond_resched();
			if (fatal_signal_pending(current)) {
				shm->nr++;
				err = -EINTR;
				goto free;
			}
		}
	}
	if (flags & BGDMA_SHM_PAGES_ONLY)
		return 0;

	shm->addr = nr == 1 && !shm->twice ? page_address(shm->pages[0]) :
					     bgdma_shm_vmap(shm);
	if (shm->addr)
		return 0;
free:
	bgdma_shm_free(shm);
	return err;
}

/**
 * bgdma_shm_free() - give up the kernel's references
 * @shm: may be all zero; is so afterwards
 *
 * Context: may sleep.
 */
void bgdma_shm_free(struct bgdma_shm *shm)
{
	unsigned int i;

	if (is_vmalloc_addr(shm->addr))
		vunmap(shm->addr);
	for (i = 0; i < shm->nr; i++) {
		__free_page(shm->pages[i]);
		cond_resched();
	}
	kvfree(shm->pages);
	memset(shm, 0, sizeof(*shm));
}

/**
 * bgdma_shm_mmap() - map all of it
 * @shm: what
 * @vma: where; must be exactly as long
 *
 * Context: mmap_lock is held for writing.
 * Return: 0; -EINVAL wrong length or a private mapping; -EPERM write access to
 * what only the kernel writes; -ENOMEM.
 */
int bgdma_shm_mmap(struct bgdma_shm *shm, struct vm_area_struct *vma)
{
	unsigned long addr = vma->vm_start;
	unsigned int round;

	if (vma_pages(vma) != bgdma_shm_span(shm))
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (!shm->writable && (vma->vm_flags & VM_WRITE))
		return -EPERM;

	/* VM_IO: nor can madvise() have a child inherit it after all. */
	bgdma_vm_flags(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		       VM_MAYEXEC | (shm->writable ? 0 : VM_MAYWRITE));

	for (round = 0; round <= shm->twice; round++) {
		unsigned long left = shm->nr;
		int err = vm_insert_pages(vma, addr, shm->pages, &left);

		if (err)
			return err;
		addr += (unsigned long)shm->nr << PAGE_SHIFT;
	}
	return 0;
}
