// SPDX-License-Identifier: GPL-2.0
/*
 * What gates behind the links were asked and have not answered: their own kernel
 * tells of the end of a gate, but not of its own.
 *
 * A question is kept from the moment when it is sent, since its answer comes by another
 * flow than the acknowledgment. It is over when it was refused, when the answer comes, or
 * when its epoch was ended, after which nobody waits for one.
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "flow.h"

/* Of one context. */
#define BGDMA_ASKED_MAX		4096

/**
 * struct bgdma_asked - a question
 * @node: in parting.asked
 * @serial: of it among the questions and ends of epochs of its context
 * @id: transfer
 * @rank: node of the gate
 * @kernel: where that lived when it had the question; 0: its transfer is on its way, and
 *	tells of its own end
 * @ctx: owner of the gate there
 * @region: the gate's
 * @epoch: identifier
 * @counter: that waits for the answer
 */
struct bgdma_asked {
	struct hlist_node node;
	u64 serial;
	u32 id;
	u32 rank;
	u64 kernel;
	u16 ctx;
	u32 region;
	u32 epoch;
	u32 counter;
};

static struct hlist_head *bgdma_asked_bucket(struct bgdma_parting *parting,
					     const struct bgdma_desc *d)
{
	u32 hash = jhash_3words(le32_to_cpu(d->dst_rank),
				le32_to_cpu(d->epoch),
				le32_to_cpu(d->u.at.dst_region), parting->seed);

	return &parting->asked[hash % BGDMA_ASKED_BUCKETS];
}

static void bgdma_asked_over(struct bgdma_parting *parting,
			     struct bgdma_asked *asked)
{
	lockdep_assert_held(&parting->lock);
	hlist_del(&asked->node);
	WRITE_ONCE(parting->n_asked, parting->n_asked - 1);
	kfree(asked);
}

static int bgdma_asked_add(struct bgdma_parting *parting,
			   const struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;
	struct bgdma_asked *asked;

	lockdep_assert_held(&parting->lock);
	if (parting->n_asked >= BGDMA_ASKED_MAX)
		return BGDMA_E_EPOCH_BUSY;
	asked = kmalloc(sizeof(*asked), GFP_NOWAIT | __GFP_NOWARN);
	if (!asked)
		return BGDMA_STEP_AGAIN;
	*asked = (struct bgdma_asked) {
		.serial = parting->serial,
		.id = s->x.id,
		.rank = le32_to_cpu(d->dst_rank),
		.ctx = le16_to_cpu(d->dst_ctx),
		.region = le32_to_cpu(d->u.at.dst_region),
		.epoch = le32_to_cpu(d->epoch),
		.counter = le32_to_cpu(d->inj_ctr),
	};
	hlist_add_head(&asked->node, bgdma_asked_bucket(parting, d));
	WRITE_ONCE(parting->n_asked, parting->n_asked + 1);
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_asked_begin() - an operation on a gate is about to be sent
 * @s: owned, with a tx, at any transfer
 * @serial: out: for bgdma_asked_ended(); 0: it is none
 *
 * Context: tx.lock held.
 * Return: BGDMA_STEP_DONE, _AGAIN, or an enum bgdma_code, with s->x.fault.
 */
int bgdma_asked_begin(struct bgdma_stream *s, u64 *serial)
{
	struct bgdma_parting *parting = s->tx->parting;
	int ret = BGDMA_STEP_DONE;

	*serial = 0;
	if (likely(!bgdma_op_is_gate(s->x.desc.op)))
		return ret;
	spin_lock(&parting->lock);
	*serial = ++parting->serial;
	if (s->x.desc.op != BGDMA_OP_EPOCH_END)
		ret = bgdma_asked_add(parting, s);
	spin_unlock(&parting->lock);
	if (ret > 0)
		s->x.fault = (struct bgdma_fault) {
			.code = ret, .offset = le32_to_cpu(s->x.desc.epoch),
			.bound = BGDMA_ASKED_MAX,
		};
	return ret;
}

static bool bgdma_asked_is_of(const struct bgdma_asked *asked,
			      const struct bgdma_desc *d)
{
	return asked->rank == le32_to_cpu(d->dst_rank) &&
	       asked->ctx == le16_to_cpu(d->dst_ctx) &&
	       asked->region == le32_to_cpu(d->u.at.dst_region) &&
	       asked->epoch == le32_to_cpu(d->epoch);
}

/* All questions about its epoch before an end of it. */
static void bgdma_asked_ends(struct bgdma_parting *parting,
			     const struct bgdma_sent *sent)
{
	struct bgdma_asked *asked;
	struct hlist_node *next;

	lockdep_assert_held(&parting->lock);
	hlist_for_each_entry_safe(asked, next,
				  bgdma_asked_bucket(parting, &sent->desc),
				  node) {
		if (asked->serial < sent->asked &&
		    bgdma_asked_is_of(asked, &sent->desc))
			bgdma_asked_over(parting, asked);
	}
}

/**
 * bgdma_asked_ended() - the operation was dealt with, or failed
 * @tx: of the stream that sent it
 * @sent: with its serial
 *
 * Context: tx.lock held.
 */
void bgdma_asked_ended(struct bgdma_tx *tx, const struct bgdma_sent *sent)
{
	struct bgdma_parting *parting = tx->parting;
	struct bgdma_asked *asked;

	spin_lock(&parting->lock);
	if (sent->desc.op == BGDMA_OP_EPOCH_END) {
		if (!sent->code)
			bgdma_asked_ends(parting, sent);
		goto unlock;
	}
	hlist_for_each_entry(asked, bgdma_asked_bucket(parting, &sent->desc),
			     node) {
		if (asked->serial != sent->asked)
			continue;
		if (sent->code)
			bgdma_asked_over(parting, asked);
		else
			asked->kernel = tx->acker;
		break;
	}
unlock:
	spin_unlock(&parting->lock);
}

/**
 * bgdma_asked_answered() - the answer has come
 * @ctx: that asked, held busy
 * @from: owner of the gate
 * @answer: what it says
 * @kernel: that says so
 *
 * Context: inside a slice.
 * Return: false: nobody waits for it any more, or not from there.
 */
bool bgdma_asked_answered(struct bgdma_ctx *ctx,
			  const struct bgdma_principal *from,
			  const struct bgdma_answer *answer, u64 kernel)
{
	struct bgdma_parting *parting = READ_ONCE(ctx->parting);
	const struct bgdma_desc d = {
		.dst_rank = cpu_to_le32(from->rank),
		.dst_ctx = cpu_to_le16(from->ctx),
		.u.at.dst_region = cpu_to_le32(answer->region),
		.epoch = cpu_to_le32(answer->epoch),
	};
	struct bgdma_asked *asked;

	if (!parting)
		return false;
	spin_lock(&parting->lock);
	hlist_for_each_entry(asked, bgdma_asked_bucket(parting, &d), node) {
		if (asked->id != answer->id ||
		    asked->counter != answer->counter ||
		    (asked->kernel && asked->kernel != kernel) ||
		    !bgdma_asked_is_of(asked, &d))
			continue;
		bgdma_asked_over(parting, asked);
		spin_unlock(&parting->lock);
		return true;
	}
	spin_unlock(&parting->lock);
	return false;
}

/* One that a kernel which is gone was asked: true if there is one. */
static bool bgdma_asked_next(struct bgdma_parting *parting, u32 bucket,
			     u64 kernel, struct bgdma_asked *out)
{
	struct bgdma_asked *asked;

	spin_lock(&parting->lock);
	hlist_for_each_entry(asked, &parting->asked[bucket], node) {
		if (asked->kernel != kernel)
			continue;
		*out = *asked;
		bgdma_asked_over(parting, asked);
		spin_unlock(&parting->lock);
		return true;
	}
	spin_unlock(&parting->lock);
	return false;
}

/**
 * bgdma_asked_lost() - a kernel is gone: what it was asked it will never answer
 * @ctx: that may have asked, held busy
 * @kernel: its number
 * @bucket: 0 at first; where to go on
 *
 * Context: inside a slice, of which it takes enough.
 * Return: true if it has to be called again, in another slice.
 */
bool bgdma_asked_lost(struct bgdma_ctx *ctx, u64 kernel, u32 *bucket)
{
	struct bgdma_parting *parting = READ_ONCE(ctx->parting);
	struct bgdma_asked asked;

	if (!parting || !READ_ONCE(parting->n_asked))
		return false;
	if (bgdma_asked_next(parting, *bucket, kernel, &asked)) {
		const struct bgdma_principal from = {
			.rank = asked.rank, .ctx = asked.ctx,
		};
		const struct bgdma_answer answer = {
			.to = ctx->who,
			.counter = asked.counter,
			.region = asked.region,
			.epoch = asked.epoch,
			.code = BGDMA_E_PEER_DOWN,
		};

		bgdma_deliver_answer(ctx, &from, &answer);
	} else {
		++*bucket;
	}
	return *bucket < BGDMA_ASKED_BUCKETS;
}

/**
 * bgdma_asked_forget() - who asked is no more
 * @parting: of the context; nobody looks for its questions any more
 *
 * Context: may sleep.
 */
void bgdma_asked_forget(struct bgdma_parting *parting)
{
	struct bgdma_asked *asked;
	struct hlist_node *next;
	u32 i;

	for (i = 0; i < BGDMA_ASKED_BUCKETS; i++) {
		spin_lock(&parting->lock);
		hlist_for_each_entry_safe(asked, next, &parting->asked[i], node)
			bgdma_asked_over(parting, asked);
		spin_unlock(&parting->lock);
		cond_resched();
	}
}
