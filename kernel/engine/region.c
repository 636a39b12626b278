// SPDX-License-Identifier: GPL-2.0
/*
 * Registered memory: user pages pinned for as long as the region lives, or
 * pages of the driver that the user maps. The engine finds a region by its
 * handle for every piece that it copies and holds a busy reference meanwhile.
 */
#include <linux/hugetlb.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "busy.h"
#include "engine.h"
#include "region.h"

#define BGDMA_PIN_CHUNK		512UL	/* pages between looks at signals */
#define BGDMA_LOCAL_RIGHTS	(BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE)

/*
 * A page is charged once per region, whatever it is part of. The limit is the user's,
 * as with io_uring and AF_XDP, so that many processes do not get many limits.
 */
static int bgdma_charge(struct bgdma_region *region)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long nr = region->nr_pages;
	atomic_long_t *locked;
	long old;

	region->user = get_uid(current_user());
	locked = &region->user->locked_vm;
	if (capable(CAP_IPC_LOCK)) {
		atomic_long_add(nr, locked);
		return 0;
	}
	old = atomic_long_read(locked);
	do {
		if (old + nr > limit) {
			free_uid(region->user);
			region->user = NULL;
			return -ENOMEM;
		}
	} while (!atomic_long_try_cmpxchg(locked, &old, old + nr));
	return 0;
}

static void bgdma_uncharge(struct bgdma_region *region)
{
	if (!region->user)
		return;
	atomic_long_sub(region->nr_pages, &region->user->locked_vm);
	free_uid(region->user);
	region->user = NULL;
}

/*
 * Only memory whose pages stay in place under a long-term pin on both kernels:
 * 6.1 would also pin the page cache of a file system and corrupt it. A private
 * mapping is the process's own whatever it maps, since a pin for writing is a
 * write: it leaves copies there, of which the file knows nothing.
 */
static bool bgdma_vma_fits(struct vm_area_struct *vma)
{
	if (is_cow_mapping(vma->vm_flags))
		return !(vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP)) &&
		       !vma_is_fsdax(vma);
	return is_vm_hugetlb_page(vma) ||
	       (vma->vm_file && shmem_mapping(vma->vm_file->f_mapping));
}

static bool bgdma_vmas_fit(unsigned long addr, unsigned long end)
{
	struct vm_area_struct *vma;

	mmap_assert_locked(current->mm);
	while (addr < end) {
		vma = find_vma(current->mm, addr);
		if (!vma || vma->vm_start > addr || !bgdma_vma_fits(vma))
			return false;
		addr = vma->vm_end;
	}
	return true;
}

/* What @at is of pinned memory while its pages are pinned, or given back. */
static struct page **bgdma_region_pages(const struct bgdma_region *region)
{
	BUILD_BUG_ON(sizeof(struct page *) != sizeof(*region->at));
	return (struct page **)region->at;
}

/* Now the engine may look. */
static void bgdma_region_set_at(struct bgdma_region *region,
				struct page *const *pages)
{
	unsigned long i;

	for (i = 0; i < region->nr_pages; i++) {
		region->at[i] = page_address(pages[i]);
		if (i % BGDMA_PIN_CHUNK == 0)
			cond_resched();
	}
}

static void bgdma_region_unpin(struct bgdma_region *region)
{
	struct page **pages = bgdma_region_pages(region);
	unsigned long i;

	for (i = 0; i < region->nr_pages; i++) {
		pages[i] = virt_to_page(region->at[i]);
		if (i % BGDMA_PIN_CHUNK == 0)
			cond_resched();
	}
	unpin_user_pages_dirty_lock(pages, region->nr_pages, true);
}

/*
 * Always for writing: a read-only pin of a page that was never written goes
 * stale on 6.1 when the owner writes it later.
 */
static int bgdma_pin_pages(struct bgdma_region *region, unsigned long start)
{
	struct page **pages = bgdma_region_pages(region);
	unsigned long done = 0;
	long n;

	while (done < region->nr_pages) {
		unsigned long addr = start + (done << PAGE_SHIFT);
		unsigned long nr = min(region->nr_pages - done, BGDMA_PIN_CHUNK);

		n = -EFAULT;
		mmap_read_lock(current->mm);
		if (bgdma_vmas_fit(addr, addr + (nr << PAGE_SHIFT)))
			n = bgdma_pin_user_pages(addr, nr,
						 FOLL_WRITE | FOLL_LONGTERM,
						 pages + done);
		mmap_read_unlock(current->mm);
		if (n <= 0) {
			n = n ?: -EFAULT;
			goto unpin;
		}
		done += n;
		cond_resched();
		n = -EINTR;
		if (fatal_signal_pending(current))
			goto unpin;
	}
	return 0;
unpin:
	unpin_user_pages(pages, done);
	return n;
}

/*
 * Slots go round, and so do generations: a handle comes back only after 65,535 others
 * for each slot that was free meanwhile, and no grant of before is with it then.
 */
static int bgdma_region_slot(struct bgdma_ctx *ctx,
			     struct bgdma_region *region)
{
	u32 slot;
	int err;

	lockdep_assert_held(&ctx->lock);
	err = xa_alloc_cyclic(&ctx->regions, &slot, NULL,
			      XA_LIMIT(0, BGDMA_REGIONS_MAX - 1),
			      &ctx->region_next, GFP_KERNEL_ACCOUNT);
	if (err < 0)
		return err == -EBUSY ? -ENOSPC : err;
	if (err == 1 && ++ctx->region_gen > U16_MAX)
		ctx->region_gen = 1;
	region->handle = BGDMA_HANDLE(slot, ctx->region_gen);
	return 0;
}

static struct bgdma_region *bgdma_region_new(u64 length, u32 rights)
{
	struct bgdma_region *region;

	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return NULL;
	bgdma_busy_init(&region->busy);
	region->length = length;
	region->rights = rights;
	return region;
}

/**
 * bgdma_region_pin() - pin user memory as a region
 * @ctx: owner
 * @arg: BGDMA_IOC_REGION_PIN's; @arg->handle is filled in
 * @out: the region, with a slot, not yet published
 *
 * Context: ctx.lock held; by the process that attached.
 * Return: 0 or the negative errno that the ioctl documents.
 */
int bgdma_region_pin(struct bgdma_ctx *ctx, struct bgdma_region_pin *arg,
		     struct bgdma_region **out)
{
	unsigned long start = arg->addr & PAGE_MASK;
	struct bgdma_region *region;
	unsigned long end;
	int err;

	if (!arg->length || (arg->rights & ~BGDMA_LOCAL_RIGHTS) || arg->resv)
		return -EINVAL;
	if (arg->length > TASK_SIZE || arg->addr > TASK_SIZE - arg->length)
		return -EFAULT;
	end = PAGE_ALIGN(arg->addr + arg->length);

	region = bgdma_region_new(arg->length, arg->rights);
	if (!region)
		return -ENOMEM;
	region->page_off = offset_in_page(arg->addr);
	region->nr_pages = (end - start) >> PAGE_SHIFT;
	/* The array of pages is one allocation. */
	err = -ENOMEM;
	if (region->nr_pages > INT_MAX / sizeof(*region->at))
		goto free;
	err = bgdma_charge(region);
	if (err)
		goto free;
	err = -ENOMEM;
	region->at = kvcalloc(region->nr_pages, sizeof(*region->at),
			      GFP_KERNEL_ACCOUNT);
	if (!region->at)
		goto uncharge;
	err = bgdma_pin_pages(region, start);
	if (err)
		goto free_pages;
	err = bgdma_region_slot(ctx, region);
	if (err)
		goto unpin;
	bgdma_region_set_at(region, bgdma_region_pages(region));
	arg->handle = region->handle;
	*out = region;
	return 0;
unpin:
	unpin_user_pages(bgdma_region_pages(region), region->nr_pages);
free_pages:
	kvfree(region->at);
uncharge:
	bgdma_uncharge(region);
free:
	kfree(region);
	return err;
}

/**
 * bgdma_region_alloc() - memory of the driver as a region
 * @ctx: owner
 * @arg: BGDMA_IOC_REGION_ALLOC's; @arg->handle and @arg->mem are filled in
 * @out: the region, with a slot, not yet published
 *
 * Context: ctx.lock held.
 * Return: 0 or the negative errno that the ioctl documents.
 */
int bgdma_region_alloc(struct bgdma_ctx *ctx, struct bgdma_region_alloc *arg,
		       struct bgdma_region **out)
{
	struct bgdma_region *region;
	int err;

	if (!arg->length || (arg->rights & ~BGDMA_LOCAL_RIGHTS) || arg->resv)
		return -EINVAL;
	region = bgdma_region_new(arg->length, arg->rights);
	if (!region)
		return -ENOMEM;
	err = bgdma_shm_alloc(&region->mem, arg->length,
			      BGDMA_SHM_WRITABLE | BGDMA_SHM_PAGES_ONLY);
	if (err)
		goto free;
	region->nr_pages = region->mem.nr;
	err = -ENOMEM;
	region->at = kvcalloc(region->nr_pages, sizeof(*region->at),
			      GFP_KERNEL_ACCOUNT);
	if (!region->at)
		goto free_mem;
	bgdma_region_set_at(region, region->mem.pages);
	err = bgdma_region_slot(ctx, region);
	if (err)
		goto free_at;
	arg->handle = region->handle;
	arg->mem.offset = bgdma_map_offset(BGDMA_MAP_REGION,
					   BGDMA_HANDLE_SLOT(region->handle));
	arg->mem.bytes = (u64)region->nr_pages << PAGE_SHIFT;
	*out = region;
	return 0;
free_at:
	kvfree(region->at);
free_mem:
	bgdma_shm_free(&region->mem);
free:
	kfree(region);
	return err;
}

/* So that who asks how many there are need not go through them. */
static void bgdma_region_count(struct bgdma_ctx *ctx,
			       const struct bgdma_region *region, int more)
{
	lockdep_assert_held(&ctx->map_lock);
	WRITE_ONCE(ctx->n_regions, ctx->n_regions + more);
	WRITE_ONCE(ctx->region_bytes,
		   ctx->region_bytes + more * (s64)region->length);
}

/**
 * bgdma_region_publish() - let the engine find a region; cannot fail
 * @ctx: owner
 * @region: from bgdma_region_pin() or bgdma_region_alloc()
 */
void bgdma_region_publish(struct bgdma_ctx *ctx, struct bgdma_region *region)
{
	mutex_lock(&ctx->map_lock);
	/* The slot is reserved, so its node is there. */
	xa_store(&ctx->regions, BGDMA_HANDLE_SLOT(region->handle), region,
		 GFP_KERNEL_ACCOUNT);
	bgdma_region_count(ctx, region, 1);
	mutex_unlock(&ctx->map_lock);
}

/* Nobody uses it. */
static void bgdma_region_destroy(struct bgdma_region *region)
{
	bgdma_gate_free(region);
	if (region->mem.nr) {
		bgdma_shm_free(&region->mem);
	} else {
		bgdma_region_unpin(region);
		bgdma_uncharge(region);
	}
	kvfree(region->at);
	bgdma_grants_drop(&region->grants);
	kfree_rcu(region, rcu);
}

/* Nobody finds it any more; those that did have ended when this returns. */
static void bgdma_region_quiesce(struct bgdma_region *region)
{
	bgdma_busy_put(&region->busy);
	bgdma_busy_wait(&region->busy);
}

/**
 * bgdma_region_abandon() - undo the creation of a region
 * @ctx: owner
 * @region: not published
 */
void bgdma_region_abandon(struct bgdma_ctx *ctx, struct bgdma_region *region)
{
	xa_erase(&ctx->regions, BGDMA_HANDLE_SLOT(region->handle));
	bgdma_region_quiesce(region);
	bgdma_region_destroy(region);
}

/* 0 is nobody's: memos start with it. */
static u64 bgdma_regions_serial(void)
{
	static atomic64_t last;

	return atomic64_inc_return(&last);
}

/**
 * bgdma_regions_init() - no regions yet
 * @ctx: their owner, new
 */
void bgdma_regions_init(struct bgdma_ctx *ctx)
{
	xa_init_flags(&ctx->regions, XA_FLAGS_ALLOC);
	ctx->region_gen = 1;
	ctx->regions_serial = bgdma_regions_serial();
}

/**
 * bgdma_region_free() - end a region
 * @ctx: owner
 * @handle: of it
 *
 * Context: ctx.lock held; waits for pieces that are being copied.
 * Return: 0 or -ENOENT.
 */
int bgdma_region_free(struct bgdma_ctx *ctx, u32 handle)
{
	struct bgdma_region *region;

	lockdep_assert_held(&ctx->lock);
	mutex_lock(&ctx->map_lock);
	region = xa_load(&ctx->regions, BGDMA_HANDLE_SLOT(handle));
	if (region && region->handle == handle) {
		xa_erase(&ctx->regions, BGDMA_HANDLE_SLOT(handle));
		bgdma_region_count(ctx, region, -1);
	} else {
		region = NULL;
	}
	mutex_unlock(&ctx->map_lock);
	if (!region)
		return -ENOENT;
	/* After the erasure, before the grace period: bgdma_region_find(). */
	smp_store_release(&ctx->regions_serial, bgdma_regions_serial());
	bgdma_region_quiesce(region);
	bgdma_freeze_region(ctx, handle);
	bgdma_region_destroy(region);
	return 0;
}

/**
 * bgdma_regions_free() - end all regions of a context that goes away
 * @ctx: owner
 */
void bgdma_regions_free(struct bgdma_ctx *ctx)
{
	struct bgdma_region *region;
	unsigned long index;

	xa_for_each(&ctx->regions, index, region) {
		xa_erase(&ctx->regions, index);
		bgdma_region_quiesce(region);
		bgdma_region_destroy(region);
		cond_resched();
	}
	xa_destroy(&ctx->regions);
}

static bool bgdma_region_may(const struct bgdma_region *region,
			     const struct bgdma_ctx *ctx,
			     const struct bgdma_principal *who, u32 rights,
			     u64 off, u64 len, struct bgdma_fault *fault,
			     struct bgdma_region_memo *memo)
{
	u64 bound = 0;	/* where no grant ends */

	if (bgdma_same(who, &ctx->who)) {
		if (region->rights & bgdma_local_right(rights))
			return true;
	} else if (bgdma_granted(&region->grants, who, rights, off, len,
				 &bound, memo ? &memo->granted : NULL)) {
		return true;
	}
	*fault = (struct bgdma_fault) {
		.code = bound ? BGDMA_E_BOUNDS : BGDMA_E_RIGHTS,
		.offset = off,
		.bound = bound ? min(bound, region->length) : rights,
	};
	return false;
}

static struct bgdma_region *bgdma_region_look(struct bgdma_ctx *ctx, u32 handle,
					      struct bgdma_region_memo *memo)
{
	/* Before the look: a region that goes meanwhile is not remembered. */
	u64 serial = smp_load_acquire(&ctx->regions_serial);
	struct bgdma_region *region;

	region = xa_load(&ctx->regions, BGDMA_HANDLE_SLOT(handle));
	if (memo && region && region->handle == handle) {
		memo->region = region;
		memo->handle = handle;
		memo->serial = serial;
	}
	return region;
}

static struct bgdma_region *bgdma_region_find(struct bgdma_ctx *ctx, u32 handle,
					      struct bgdma_region_memo *memo)
{
	if (memo && bgdma_region_known(ctx, handle, memo))
		return memo->region;
	return bgdma_region_look(ctx, handle, memo);
}

static struct bgdma_region *bgdma_region_none(struct bgdma_fault *fault,
					      u32 code, u64 off, u64 bound)
{
	*fault = (struct bgdma_fault) {
		.code = code, .offset = off, .bound = bound,
	};
	return NULL;
}

/**
 * bgdma_region_get() - find memory for a piece of a transfer
 * @ctx: owner
 * @handle: region
 * @who: wants it
 * @rights: BGDMA_RIGHT_*
 * @off: first byte of all that is left of the transfer
 * @len: bytes of it
 * @fault: filled in on failure
 * @memo: of whoever asks again and again; or NULL
 *
 * Context: inside a slice.
 * Return: the region with a busy reference, or NULL.
 */
struct bgdma_region *bgdma_region_get(struct bgdma_ctx *ctx, u32 handle,
				      const struct bgdma_principal *who,
				      u32 rights, u64 off, u64 len,
				      struct bgdma_fault *fault,
				      struct bgdma_region_memo *memo)
{
	struct bgdma_region *region;

	region = bgdma_region_find(ctx, handle, memo);
	if (unlikely(!region))
		return bgdma_region_none(fault, BGDMA_E_REGION, off, 0);
	if (unlikely(region->handle != handle))
		return bgdma_region_none(fault, BGDMA_E_STALE, off, 0);
	/* Before the length, which is nobody's business who has no right. */
	if (!bgdma_region_may(region, ctx, who, rights, off, len, fault, memo))
		return NULL;
	if (unlikely(off > region->length || len > region->length - off))
		return bgdma_region_none(fault, BGDMA_E_BOUNDS, off,
					 region->length);
	if (unlikely(!bgdma_busy_get(&region->busy)))
		return bgdma_region_none(fault, BGDMA_E_REGION, off, 0);
	return region;
}

/**
 * bgdma_region_span() - where bytes are, page by page
 * @region: held busy
 * @off: first byte
 * @n: bytes, at most BGDMA_SLICE_MAX
 * @out: filled in
 */
void bgdma_region_span(const struct bgdma_region *region, u64 off, u32 n,
		       struct bgdma_payload *out)
{
	u32 i;

	for (i = 0; n; i++) {
		out->p[i] = bgdma_region_at(region, off, n, &out->n[i]);
		off += out->n[i];
		n -= out->n[i];
	}
	out->pieces = i;
}

static __always_inline void bgdma_write(const struct bgdma_region *region,
					u64 off, const void *from, u32 n,
					bool in_short)
{
	while (n) {
		u32 now;
		void *to = bgdma_region_at(region, off, n, &now);

		bgdma_copy(to, from, now, in_short);
		from += now;
		off += now;
		n -= now;
	}
}

/**
 * bgdma_region_write_bytes() - copy bytes of one page into a region
 * @region: held busy
 * @off: first byte
 * @from: the bytes
 * @n: so many
 */
void bgdma_region_write_bytes(const struct bgdma_region *region, u64 off,
			      const void *from, u32 n)
{
	bgdma_write(region, off, from, n, true);
}

/**
 * bgdma_region_write_pages() - copy bytes of several pages into a region
 * @region: held busy
 * @off: first byte
 * @in: the bytes
 */
void bgdma_region_write_pages(const struct bgdma_region *region, u64 off,
			      const struct bgdma_payload *in)
{
	u32 i;

	for (i = 0; i < in->pieces; i++) {
		if (in->pieces <= 2)
			bgdma_write(region, off, in->p[i], in->n[i], true);
		else
			bgdma_write(region, off, in->p[i], in->n[i], false);
		off += in->n[i];
	}
}
