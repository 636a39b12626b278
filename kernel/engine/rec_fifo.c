// SPDX-License-Identifier: GPL-2.0
/*
 * Reception FIFOs: rings of packets that engines fill and one process reads in
 * place. The lock is a leaf, held for one packet that is copied and published
 * inside. A full ring is back-pressure: the sender parks on it until the
 * reader moves its head and rings.
 */
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "busy.h"
#include "ring.h"

/* The largest record: what every waiting sender can use. */
#define BGDMA_RECORD_MAX	(sizeof(struct bgdma_packet) + BGDMA_PACKET_MAX)

/**
 * bgdma_rec_create() - make a reception FIFO
 * @ctx: owner
 * @arg: BGDMA_IOC_REC_CREATE's, with an id chosen; @arg->ring is filled in
 * @out: the FIFO, not yet published
 *
 * Context: ctx.lock held.
 * Return: 0, -EINVAL, -ENOMEM or -EINTR.
 */
int bgdma_rec_create(struct bgdma_ctx *ctx, struct bgdma_rec_create *arg,
		     struct bgdma_rec_fifo **out)
{
	struct bgdma_rec_fifo *fifo;
	int err;

	if (arg->bytes < BGDMA_REC_BYTES_MIN ||
	    arg->bytes > BGDMA_REC_BYTES_MAX || !is_power_of_2(arg->bytes))
		return -EINVAL;
	fifo = kzalloc(sizeof(*fifo), GFP_KERNEL_ACCOUNT);
	if (!fifo)
		return -ENOMEM;
	err = bgdma_shm_alloc(&fifo->shm, arg->bytes, BGDMA_SHM_TWICE);
	if (err) {
		kfree(fifo);
		return err;
	}
	spin_lock_init(&fifo->lock);
	bgdma_waiters_init(&fifo->waiters);
	fifo->ctx = ctx;
	fifo->id = arg->id;
	fifo->size = arg->bytes;
	fifo->user = &ctx->rec_user[arg->id];
	fifo->kern = &ctx->rec_kern[arg->id];
	fifo->rec = &ctx->rec_rec[arg->id];
	memset(fifo->user, 0, sizeof(*fifo->user));
	memset(fifo->kern, 0, sizeof(*fifo->kern));
	bgdma_rec_clear(fifo, false);
	arg->ring.offset = bgdma_map_offset(BGDMA_MAP_REC, arg->id);
	arg->ring.bytes = 2 * (u64)arg->bytes;
	*out = fifo;
	return 0;
}

/**
 * bgdma_rec_free() - end a reception FIFO
 * @fifo: no longer published, and no delivery can still have found it
 *
 * Senders that wait for it try again and see that it is gone.
 */
void bgdma_rec_free(struct bgdma_rec_fifo *fifo)
{
	bgdma_waiters_end(&fifo->waiters);
	bgdma_rec_clear(fifo, false);
	bgdma_grants_drop(&fifo->grants);
	bgdma_eventfd_drop(&fifo->eventfd);
	bgdma_shm_free(&fifo->shm);
	kfree_rcu(fifo, rcu);
}

/**
 * bgdma_rec_used() - bytes that wait to be read
 * @fifo: which
 *
 * The head first: an honest one is never beyond a tail that is read after it.
 * While packets come and go the difference may still be more than the ring
 * holds: who needs to know better holds the lock.
 *
 * Return: the bytes; of a FIFO whose head is impossible, more than its size.
 */
u64 bgdma_rec_used(struct bgdma_rec_fifo *fifo)
{
	u64 head = bgdma_ring_rec_head(fifo->user);

	return READ_ONCE(fifo->tail) - head;
}

/* The same while no packet comes: more than the size is the reader's fault. */
static u64 bgdma_rec_used_now(struct bgdma_rec_fifo *fifo)
{
	u64 used;

	spin_lock(&fifo->lock);
	used = bgdma_rec_used(fifo);
	spin_unlock(&fifo->lock);
	return used;
}

/**
 * bgdma_rec_room() - is there room for a packet?
 * @fifo: which
 * @bytes: payload
 */
bool bgdma_rec_room(struct bgdma_rec_fifo *fifo, u32 bytes)
{
	u64 used = bgdma_rec_used_now(fifo);

	return used <= fifo->size &&
	       fifo->size - used >= bgdma_record_bytes(bytes);
}

/**
 * bgdma_rec_armed() - does it hold what a sleeper waits for?
 * @fifo: which
 */
bool bgdma_rec_armed(struct bgdma_rec_fifo *fifo)
{
	switch (READ_ONCE(fifo->user->arm)) {
	case BGDMA_ARM_ANY:
		return bgdma_rec_used(fifo);
	case BGDMA_ARM_MARKED:
		return READ_ONCE(fifo->marked) !=
		       READ_ONCE(fifo->user->marked_seen);
	case BGDMA_ARM_OCCUPANCY:
		return bgdma_rec_used(fifo) >= READ_ONCE(fifo->user->arm_bytes);
	default:
		return false;
	}
}

/**
 * bgdma_rec_bad_head() - the reader claims to have read what was never written
 * @fifo: which
 */
void bgdma_rec_bad_head(struct bgdma_rec_fifo *fifo)
{
	struct bgdma_record why = {
		.code = BGDMA_E_INDEX,
		.fifo = fifo->id,
		.fifo_kind = BGDMA_KIND_REC_FIFO,
		.peer_rank = BGDMA_RANK_ANY,
		.peer_ctx = BGDMA_CTX_ANY,
		.offset = bgdma_ring_rec_head(fifo->user),
		.bound = READ_ONCE(fifo->tail),
	};
	struct bgdma_event event = {
		.type = BGDMA_EVENT_FIFO_ERROR,
		.code = BGDMA_E_INDEX,
		.peer_rank = BGDMA_RANK_ANY,
		.peer_ctx = BGDMA_CTX_ANY,
		.kind = BGDMA_KIND_REC_FIFO,
		.object = fifo->id,
		.offset = why.offset,
		.bound = why.bound,
	};

	if (bgdma_record_set(fifo->ctx, fifo->rec, &fifo->ctx->kctl->rec_error,
			     fifo->id, &why)) {
		bgdma_event_post(fifo->ctx, &event);
		rcu_read_lock();
		bgdma_eventfd_signal(&fifo->eventfd);
		rcu_read_unlock();
	}
}

/**
 * bgdma_rec_kick() - the reader says that it moved its head
 * @fifo: which
 *
 * All senders that wait are woken, in the order in which they came, once any
 * of them can go on. Those that find it full again come behind the others.
 */
void bgdma_rec_kick(struct bgdma_rec_fifo *fifo)
{
	u64 used = bgdma_rec_used_now(fifo);

	if (used > fifo->size)
		bgdma_rec_bad_head(fifo);
	if (used > fifo->size || fifo->size - used < BGDMA_RECORD_MAX)
		return;
	WRITE_ONCE(fifo->kern->starved, 0);
	bgdma_waiters_wake(&fifo->waiters);
}

/**
 * bgdma_rec_clear() - clear the error of a reception FIFO
 * @fifo: which
 * @flush: drop what is in it: the reader goes on at the tail
 */
void bgdma_rec_clear(struct bgdma_rec_fifo *fifo, bool flush)
{
	if (flush)
		WRITE_ONCE(fifo->user->head, READ_ONCE(fifo->tail));
	bgdma_record_clear(fifo->ctx, fifo->rec, &fifo->ctx->kctl->rec_error,
			   fifo->id);
	bgdma_rec_kick(fifo);
}
