// SPDX-License-Identifier: GPL-2.0
/*
 * Atomics: integer operations on elements of a region, done by the engine. An
 * element is updated at once for everybody who uses atomic instructions on it,
 * cores included. They are naturally aligned, so none straddles a cache line:
 * such a locked access can kill a kernel.
 */
#include <linux/atomic.h>

#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "deliver.h"
#include "region.h"

#define BGDMA_ATOMIC_BITS	(BGDMA_ATOMIC_OP_COUNT * BGDMA_ATOMIC_TYPE_COUNT)

/* Bit per operation and type; reported by BGDMA_IOC_QUERY. */
const u64 bgdma_atomics_supported = (1ULL << BGDMA_ATOMIC_BITS) - 1;

/* What an element becomes, of those operations that have no instruction. */
static u64 bgdma_atomic_new(u32 op, u32 type, u64 old, u64 operand)
{
	bool less;

	switch (type) {
	case BGDMA_ATOMIC_S32:
		less = (s32)operand < (s32)old;
		break;
	case BGDMA_ATOMIC_U32:
		less = (u32)operand < (u32)old;
		break;
	case BGDMA_ATOMIC_S64:
		less = (s64)operand < (s64)old;
		break;
	default:
		less = operand < old;
	}
	switch (op) {
	case BGDMA_ATOMIC_MUL:
		return old * operand;
	case BGDMA_ATOMIC_MIN:
		return less ? operand : old;
	default:
		return less ? old : operand;
	}
}

/*
 * For elements of so many bits, by the kernel's @_prefix:
 *
 * bgdma_atomic_loopN(): an operation that has no instruction
 * bgdma_atomicN(): any, of one element; false: others are too busy with it
 *
 * @old becomes what was there before.
 */
#define BGDMA_ATOMICS(_bits, _prefix)					\
static bool bgdma_atomic_loop##_bits(typeof(_prefix##_t) *at, u32 op,	\
				     u32 type, u##_bits operand,	\
				     typeof(u##_bits) *old)		\
{									\
	s##_bits was = _prefix##_read(at);				\
	u32 tries;							\
									\
	for (tries = 0; tries < BGDMA_ATOMIC_TRIES; tries++) {		\
		if (_prefix##_try_cmpxchg(at, &was,			\
				bgdma_atomic_new(op, type, was,		\
						 operand))) {		\
			*old = was;					\
			return true;					\
		}							\
	}								\
	return false;							\
}									\
									\
static bool bgdma_atomic##_bits(typeof(_prefix##_t) *at, u32 op,	\
				u32 type, u##_bits operand,		\
				u##_bits compare,			\
				typeof(u##_bits) *old)			\
{									\
	switch (op) {							\
	case BGDMA_ATOMIC_READ:						\
		*old = _prefix##_read(at);				\
		return true;						\
	case BGDMA_ATOMIC_ADD:						\
		*old = _prefix##_fetch_add(operand, at);		\
		return true;						\
	case BGDMA_ATOMIC_AND:						\
		*old = _prefix##_fetch_and(operand, at);		\
		return true;						\
	case BGDMA_ATOMIC_OR:						\
		*old = _prefix##_fetch_or(operand, at);			\
		return true;						\
	case BGDMA_ATOMIC_XOR:						\
		*old = _prefix##_fetch_xor(operand, at);		\
		return true;						\
	case BGDMA_ATOMIC_SWAP:						\
		*old = _prefix##_xchg(at, operand);			\
		return true;						\
	case BGDMA_ATOMIC_CAS:						\
		*old = _prefix##_cmpxchg(at, compare, operand);		\
		return true;						\
	default:							\
		return bgdma_atomic_loop##_bits(at, op, type, operand,	\
						old);			\
	}								\
}

BGDMA_ATOMICS(32, atomic)
BGDMA_ATOMICS(64, atomic64)

/*
 * Update the elements at @off of a region, held busy, from *@operands, which
 * become what was there before. Returns the bytes that were updated.
 */
static u32 bgdma_atomic_apply(const struct bgdma_region *region, u64 off,
			      const struct bgdma_desc *d, void *operands, u32 n)
{
	u32 op = le16_to_cpu(d->dispatch) >> 8;
	u32 type = le16_to_cpu(d->dispatch) & 0xff;
	u64 compare = le64_to_cpu(d->cookie);
	u32 size = bgdma_atomic_size(type);
	u32 done;
	bool well;

	for (done = 0; done < n; done += size) {
		void *at = bgdma_region_page(region, off + done, size);
		u64 *o64 = operands + done;
		u32 *o32 = operands + done;

		if (size == sizeof(u64))
			well = bgdma_atomic64(at, op, type, *o64, compare, o64);
		else
			well = bgdma_atomic32(at, op, type, *o32, compare, o32);
		if (!well)
			break;
	}
	return done;
}

/**
 * bgdma_deliver_atomic() - update elements of a region of the target
 * @ctx: target, held busy
 * @s: stream that they come from; s->x.done is their offset in the transfer
 * @operands: of the elements; become what was there before
 * @n: in: bytes of them; out: bytes of those that were updated, which are fewer
 *	where somebody else keeps one busy
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE; BGDMA_STEP_WAIT when the stream was parked; an enum
 * bgdma_code, with s->x.fault.
 */
int bgdma_deliver_atomic(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 void *operands, u32 *n)
{
	struct bgdma_xfer *x = &s->x;
	u64 off = le64_to_cpu(x->desc.u.at.dst_off) + x->done;
	u32 size = bgdma_atomic_size(le16_to_cpu(x->desc.dispatch) & 0xff);
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s);
	u32 left = le32_to_cpu(x->desc.length) - x->done;
	int ret, slot = bgdma_rec_slot(ctx, s, who);
	struct bgdma_region_gate *gate = NULL;
	struct bgdma_region *region;

	if (slot < BGDMA_NO_SLOT)
		return x->fault.code;
	region = bgdma_region_for(ctx, s, who,
				  le32_to_cpu(x->desc.u.at.dst_region),
				  BGDMA_RIGHT_ATOMIC, off, left,
				  &s->memo.atomic);
	if (!region)
		return x->fault.code;
	if (!IS_ALIGNED(off + region->page_off, size)) {
		ret = bgdma_fault(s, BGDMA_E_ALIGN, off, size);
		goto put;
	}
	ret = bgdma_land_gated(s, region) ?
		bgdma_land_enter(ctx, s, region, who, &gate) : BGDMA_STEP_DONE;
	if (ret)
		goto put;
	*n = bgdma_atomic_apply(region, off, &x->desc, operands, *n);
	trace_bgdma_packet(ctx, s, *n);
	bgdma_land_leave(s, gate, who, *n == left);
	bgdma_rec_count_last(ctx, s, slot, *n);
put:
	bgdma_busy_put(&region->busy);
	return ret;
}
