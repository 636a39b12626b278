// SPDX-License-Identifier: GPL-2.0
/*
 * The rest of the engine, for targets that have one file of it. A target has its
 * own of those that matter to it; nobody calls the others, or for nothing.
 */
#include "../../kernel/bgdma.h"
#include "../../kernel/engine/copy.h"
#include "../../kernel/engine/group.h"
#include "../../kernel/fabric/remote.h"

#define STUB	__attribute__((weak))

STUB void bgdma_copy_long(void *to, const void *from, u32 n)
{
	memcpy(to, from, n);
}

STUB bool bgdma_record_set(struct bgdma_ctx *ctx, struct bgdma_record *rec,
			   u64 *words, u32 bit, const struct bgdma_record *why)
{
	abort();
}

STUB void bgdma_record_clear(struct bgdma_ctx *ctx, struct bgdma_record *rec,
			     u64 *words, u32 bit)
{
	abort();
}

STUB bool bgdma_record_show(struct bgdma_ctx *ctx, struct bgdma_record *rec,
			    u64 *words, u32 bit, const struct bgdma_record *why)
{
	abort();
}

STUB void bgdma_record_hide(struct bgdma_ctx *ctx, struct bgdma_record *rec,
			    u64 *words, u32 bit)
{
	abort();
}

STUB void bgdma_stream_error(struct bgdma_stream *s, bool error)
{
	abort();
}

STUB void bgdma_record_of(const struct bgdma_stream *s,
			  struct bgdma_record *out)
{
	abort();
}

STUB bool bgdma_is_remote(const struct bgdma_partition *part, u32 rank)
{
	return false;
}

STUB int bgdma_remote_line(struct bgdma_stream *s,
			   const struct bgdma_payload *p, u32 bytes)
{
	abort();
}

STUB void bgdma_event_post(struct bgdma_ctx *ctx,
			   const struct bgdma_event *event)
{
	abort();
}

STUB bool bgdma_grants_cover(const struct bgdma_grants *grants,
			     const struct bgdma_principal *who, u32 rights,
			     u64 off, u64 len, u64 *bound, u64 *memo)
{
	abort();
}

STUB bool bgdma_grants_cover_whole(const struct bgdma_grants *grants,
				   const struct bgdma_principal *who,
				   u32 rights, u64 *memo)
{
	abort();
}

STUB void bgdma_grants_drop(struct bgdma_grants **where)
{
}

STUB void bgdma_eventfd_drop(struct bgdma_eventfd **where)
{
	abort();
}

STUB int bgdma_shm_alloc(struct bgdma_shm *shm, u64 bytes, unsigned int flags)
{
	abort();
}

STUB void bgdma_shm_free(struct bgdma_shm *shm)
{
	abort();
}

STUB int bgdma_counter_find(struct bgdma_ctx *ctx, unsigned int kind,
			    u32 handle, const struct bgdma_principal *who,
			    u64 *memo)
{
	abort();
}

STUB void bgdma_counter_alert(struct bgdma_ctx *ctx, unsigned int kind,
			      u32 slot)
{
	abort();
}

STUB void bgdma_counter_low(struct bgdma_ctx *ctx, unsigned int kind, u32 slot,
			    s64 value)
{
	abort();
}

STUB void bgdma_counter_fail(struct bgdma_ctx *ctx, unsigned int kind,
			     u32 slot, u64 left,
			     const struct bgdma_record *why)
{
	abort();
}

STUB void bgdma_ctx_put(struct bgdma_ctx *ctx)
{
	abort();
}

STUB void bgdma_ctx_wake(struct bgdma_ctx *ctx, __poll_t mask)
{
}

STUB void bgdma_stream_wake(struct bgdma_stream *s)
{
}

STUB void bgdma_stream_wake_after(struct bgdma_stream *by,
				  struct bgdma_stream *s)
{
	bgdma_stream_wake(s);
}

STUB void bgdma_stream_unpark(struct bgdma_stream *s)
{
}

STUB void bgdma_waiters_init(struct bgdma_waiters *waiters)
{
	INIT_LIST_HEAD(&waiters->waiting);
}

STUB void bgdma_waiters_wake(struct bgdma_waiters *waiters)
{
}

STUB void bgdma_waiters_end(struct bgdma_waiters *waiters)
{
}

/* Nothing is on its way. */
STUB void bgdma_freeze_others(struct bgdma_ctx *ctx)
{
}

STUB void bgdma_gates_recheck(struct bgdma_ctx *ctx)
{
	abort();
}

STUB void bgdma_ctx_wake_waiters(struct bgdma_ctx *ctx)
{
}

/* Nobody is in a group. */
STUB bool bgdma_group_gives(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			    const struct bgdma_principal *who, u32 kind,
			    u32 object)
{
	return false;
}

STUB bool bgdma_groups_give(struct bgdma_ctx *ctx, u32 kind, u32 object)
{
	return false;
}
