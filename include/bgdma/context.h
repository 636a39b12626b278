/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Contexts: attach to a node, ask what the kernel can do, ring the doorbell,
 * and let peers use objects of ours.
 */
#ifndef BGDMA_CONTEXT_H
#define BGDMA_CONTEXT_H

#include <bgdma/atomic.h>
#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * struct bgdma_attach_attr - how to attach
 * @partition: name of the partition; required
 * @rank: node
 * @fixed_ctx: take context number @ctx or fail; else the lowest that is free
 * @ctx: context number wanted
 * @inj_fifos: room for so many injection FIFOs; 0: 16
 * @rec_fifos: reception FIFOs; 0: 8
 * @rget_queues: remote-get queues; 0: 4
 * @inj_counters: injection counters; 0: 64
 * @rec_counters: reception counters; 0: 64
 * @events: entries of the events ring, a power of two; 0: 64
 * @spin_ns: nanoseconds that BGDMA_SPIN_THEN_SLEEP spins for; 0: 20,000
 * @watch: hear of the end of every context of the same user in the partition,
 *	not only of those that something was exchanged with
 */
struct bgdma_attach_attr {
	const char *partition;
	uint32_t rank;
	bool fixed_ctx;
	uint16_t ctx;
	uint32_t inj_fifos;
	uint32_t rec_fifos;
	uint32_t rget_queues;
	uint32_t inj_counters;
	uint32_t rec_counters;
	uint32_t events;
	uint32_t spin_ns;
	bool watch;
};

/**
 * struct bgdma_ctx_info - what an attach got
 * @partition: name of the partition
 * @rank: node
 * @ctx: context number at that node
 * @incarnation: names this attach among all of this node's
 * @dims: nodes along X, Y and Z
 * @torus: bit per axis: 1 torus, 0 mesh
 */
struct bgdma_ctx_info {
	char partition[BGDMA_NAME_MAX];
	uint32_t rank;
	uint16_t ctx;
	uint32_t incarnation;
	uint32_t dims[3];
	uint32_t torus;
};

/* bgdma_attach() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_attach_sized(struct bgdma_ctx **ctx,
				 const struct bgdma_attach_attr *attr,
				 size_t size);

/**
 * bgdma_attach() - open /dev/bgdma and become a context of a node
 * @ctx: out: the context, to be ended by bgdma_detach()
 * @attr: what to attach to
 *
 * The file is opened with O_CLOEXEC and its control pages are mapped.
 *
 * Thread safety: any thread.
 * Return: 0; -ENOENT no device, no such partition in this network namespace
 * or no such rank; -EREMOTE the node lives in another kernel, or network namespace;
 * -EACCES the partition's mode, or the node belongs to
 * another user; -EADDRINUSE the context number is taken; -EMFILE too many
 * files, or contexts of this user; -ENOSPC the node is full; -EINVAL a value
 * is out of range; -ENAMETOOLONG the partition's name; -E2BIG the program asks for
 * what this library does not know; -ENOMEM.
 */
static inline int bgdma_attach(struct bgdma_ctx **ctx,
			       const struct bgdma_attach_attr *attr)
{
	return bgdma_attach_sized(ctx, attr, sizeof(*attr));
}

/**
 * bgdma_detach() - leave the node and free all that belongs to the context
 * @ctx: context, or NULL
 *
 * When it returns its regions are no longer pinned and its ids can be used
 * again. Peers get BGDMA_E_PEER_DOWN.
 *
 * Thread safety: no other call on the context may run or follow.
 */
BGDMA_API void bgdma_detach(struct bgdma_ctx *ctx);

/**
 * bgdma_ctx_info() - what the attach got
 * @ctx: context
 *
 * Return: valid until bgdma_detach().
 */
BGDMA_API const struct bgdma_ctx_info *
bgdma_ctx_info(const struct bgdma_ctx *ctx);

/**
 * bgdma_ctx_rank() - rank of the context's node
 * @ctx: context
 */
BGDMA_API uint32_t bgdma_ctx_rank(const struct bgdma_ctx *ctx);

/**
 * bgdma_ctx_fd() - the file, for poll(), epoll or io_uring
 * @ctx: context
 *
 * Readable while an enabled counter has its hit bit set, a reception FIFO has
 * what it is armed for, or an event is unread. Level-triggered. The library
 * owns it: do not close it.
 */
static inline int bgdma_ctx_fd(const struct bgdma_ctx *ctx)
{
	return bgdma_ctx_view(ctx)->fd;
}

/**
 * bgdma_ctx_dead() - whether the partition is gone
 * @ctx: context
 *
 * Every call then fails with -ENODEV; only bgdma_detach() is left to do.
 */
static inline bool bgdma_ctx_dead(const struct bgdma_ctx *ctx)
{
	return bgdma_load_relaxed(&bgdma_ctx_view(ctx)->kern->state) ==
	       BGDMA_STATE_DEAD;
}

/* bgdma_query() without the size. */
BGDMA_API int bgdma_query_sized(struct bgdma_query *query, size_t size);

/**
 * bgdma_query() - what the kernel module can do
 * @query: out
 *
 * Needs no context.
 *
 * Thread safety: any thread.
 * Return: 0; -ENOENT or -EACCES from opening the device.
 */
static inline int bgdma_query(struct bgdma_query *query)
{
	return bgdma_query_sized(query, sizeof(*query));
}

/**
 * bgdma_doorbell() - make the engine look at the doorbells now
 * @ctx: context
 * @flags: 0, or BGDMA_DOORBELL_POOL to leave all work to the engine's threads
 *
 * One system call. Without the flag the caller runs a small budget of its own
 * context's descriptors before the engine's threads take over.
 *
 * What could not be rung is rung again by the next call that waits.
 *
 * Thread safety: any thread.
 * Return: 0; -ENODEV the partition is gone; -EPERM after fork().
 */
BGDMA_API int bgdma_doorbell(struct bgdma_ctx *ctx, unsigned int flags);

/**
 * bgdma_kick() - bgdma_doorbell(), but only if the engine sleeps
 * @ctx: context
 *
 * For after bgdma_inj_publish(). No system call while the engine polls
 * (DMA-9).
 *
 * Thread safety: any thread.
 * Return: as bgdma_doorbell().
 */
static inline int bgdma_kick(struct bgdma_ctx *ctx)
{
	const struct bgdma_kern_ctl *kern = bgdma_ctx_view(ctx)->kern;

	bgdma_full_barrier();
	if (bgdma_load_relaxed(&kern->wake) & BGDMA_NEED_WAKEUP)
		return bgdma_doorbell(ctx, 0);
	return 0;
}

/**
 * struct bgdma_grant_attr - who may do what with an object
 * @rank: to whom, or BGDMA_RANK_ANY
 * @ctx: which context of that rank, or BGDMA_CTX_ANY
 * @incarnation: which attach of that context; 0: any
 * @rights: BGDMA_RIGHT_* of the object's kind; 0: all of them for a reception
 *	FIFO, a remote-get queue or a counter, which have only one
 * @lo: regions: first byte that the grant covers
 * @hi: regions: byte after the last; 0: the end of the region
 */
struct bgdma_grant_attr {
	uint32_t rank;
	uint16_t ctx;
	uint32_t incarnation;
	uint32_t rights;
	uint64_t lo;
	uint64_t hi;
};

/* The bgdma_*_grant() calls of a program whose attr has @size bytes. */
BGDMA_API int bgdma_grant_sized(struct bgdma_ctx *ctx, uint32_t kind,
				uint32_t object, uint32_t count,
				const struct bgdma_grant_attr *attr,
				size_t size, uint32_t *id);

/**
 * bgdma_revoke() - take a grant back
 * @ctx: context
 * @id: from one of the bgdma_*_grant() calls
 *
 * When it returns no transfer uses the grant any more.
 *
 * Thread safety: any thread.
 * Return: 0; -ENOENT no such grant; -ENODEV.
 */
BGDMA_API int bgdma_revoke(struct bgdma_ctx *ctx, uint32_t id);

BGDMA_END_DECLS

#endif /* BGDMA_CONTEXT_H */
