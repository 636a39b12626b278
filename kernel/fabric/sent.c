// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers that were sent: what they take off their injection counters as the
 * other side deals with them, and how they end. They end in any order, but a FIFO
 * shows that a descriptor has ended only when all before it have.
 */
#include "../engine/busy.h"
#include "../engine/counter.h"
#include "../engine/ring.h"
#include "../engine/train.h"
#include "flow.h"

static struct bgdma_sent *bgdma_sent_at(struct bgdma_tx *tx, u32 i)
{
	return &tx->sent[i % BGDMA_SENT_MAX];
}

/* The context that a descriptor names. */
static u64 bgdma_sent_whom(const struct bgdma_desc *d)
{
	return ((u64)le32_to_cpu(d->dst_rank) << 16 |
		le16_to_cpu(d->dst_ctx)) + 1;
}

/**
 * bgdma_sent_code() - why a transfer failed
 * @tx: of the stream that sent it
 * @sent: transfer
 *
 * Who finds nobody there cannot know that the stream has met somebody before, maybe by
 * another flow; on one kernel it is the stream that remembers, too.
 *
 * Context: tx.lock held.
 */
u32 bgdma_sent_code(const struct bgdma_tx *tx, const struct bgdma_sent *sent)
{
	lockdep_assert_held(&tx->lock);
	if (sent->code == BGDMA_E_NO_PEER &&
	    tx->met == bgdma_sent_whom(&sent->desc))
		return BGDMA_E_PEER_DOWN;
	return sent->code;
}

/* What stands for the stream is at this transfer now. */
static struct bgdma_stream *bgdma_sent_late(struct bgdma_tx *tx,
					    const struct bgdma_sent *sent)
{
	struct bgdma_stream *late = &tx->late;

	lockdep_assert_held(&tx->lock);
	late->who = sent->who;
	late->remote = sent->remote;
	late->own = sent->own;
	late->group = sent->group;
	late->x.desc = sent->desc;
	late->x.seq = sent->seq;
	late->x.id = sent->id;
	late->x.active = true;
	late->x.fault = (struct bgdma_fault) {
		.code = bgdma_sent_code(tx, sent), .offset = sent->offset,
		.bound = sent->bound,
	};
	return late;
}

/**
 * bgdma_sent_publish() - show how many descriptors of a FIFO have ended
 * @tx: of its stream
 *
 * Context: tx.lock held.
 */
void bgdma_sent_publish(struct bgdma_tx *tx)
{
	u64 done;

	lockdep_assert_held(&tx->lock);
	while (tx->tail != tx->head && bgdma_sent_at(tx, tx->tail)->ended)
		WRITE_ONCE(tx->tail, tx->tail + 1);
	if (tx->s->kind != BGDMA_KIND_INJ_FIFO) {
		if (tx->tail == tx->head &&
		    tx->s->kind == BGDMA_KIND_RGET_QUEUE)
			bgdma_rgq_quiet(tx->s);
		return;
	}
	done = tx->tail == tx->head ? tx->issued :
				      bgdma_sent_at(tx, tx->tail)->seq;
	bgdma_inj_publish(container_of(tx->s, struct bgdma_inj_fifo, s), done);
}

/*
 * A FIFO shows one failure at a time, and none has ended that nobody can have seen:
 * the next ends when that was cleared, and what fails just then stands behind it.
 */
static bool bgdma_sent_has_to_wait(struct bgdma_tx *tx,
				   const struct bgdma_sent *sent)
{
	if (!sent->code || sent->told || sent->given_up ||
	    tx->s->kind != BGDMA_KIND_INJ_FIFO ||
	    (!tx->failing && !test_bit(BGDMA_STREAM_ERROR, &tx->s->flags)))
		return false;
	tx->failing = true;
	return true;
}

/* What does not wait for its FIFO: its counter, which others may share. */
static void bgdma_sent_mark(struct bgdma_tx *tx, struct bgdma_sent *sent)
{
	if (sent->marked)
		return;
	sent->marked = true;
	if (sent->asked)
		bgdma_asked_ended(tx, sent);
	if (sent->code && !sent->told)
		bgdma_inj_fail_counter(bgdma_sent_late(tx, sent), sent->left);
}

/* A transfer that is over ends; its stream does not show it yet. */
static void bgdma_sent_end(struct bgdma_tx *tx, struct bgdma_sent *sent)
{
	if (!sent->whole || sent->packets || sent->ended ||
	    (sent->fetched && !sent->code))
		return;
	bgdma_sent_mark(tx, sent);
	if (bgdma_sent_has_to_wait(tx, sent))
		return;
	sent->ended = true;
	if (sent->told || (sent->code && sent->given_up))
		;	/* the stream has seen to it */
	else if (sent->code)
		bgdma_late_fail(tx->s, bgdma_sent_late(tx, sent));
	else if (sent->desc.route & BGDMA_ROUTE_DEPOSIT)
		/* What goes to many has left, once, when the last has it. */
		bgdma_inj_count(bgdma_sent_late(tx, sent), sent->left);
	else if (trace_bgdma_done_enabled())
		trace_bgdma_done(bgdma_sent_late(tx, sent));
}

/**
 * bgdma_sent_check() - is a transfer over?
 * @tx: of its stream
 * @sent: transfer
 *
 * Context: tx.lock held.
 */
void bgdma_sent_check(struct bgdma_tx *tx, struct bgdma_sent *sent)
{
	bgdma_sent_end(tx, sent);
	bgdma_sent_publish(tx);
}

/**
 * bgdma_sent_cleared() - a FIFO may show no failure any more: the next one
 * @tx: of its stream
 *
 * Context: tx.lock held.
 */
void bgdma_sent_cleared(struct bgdma_tx *tx)
{
	u32 i;

	lockdep_assert_held(&tx->lock);
	if (likely(!tx->failing))
		return;
	tx->failing = false;
	for (i = tx->tail; i != tx->head; i++)
		bgdma_sent_end(tx, bgdma_sent_at(tx, i));
}

/* So many bytes of it have come. */
static void bgdma_sent_count(struct bgdma_tx *tx, struct bgdma_sent *sent, u32 n)
{
	sent->left -= n;
	if (sent->desc.inj_ctr != cpu_to_le32(BGDMA_NONE))
		bgdma_inj_count(bgdma_sent_late(tx, sent), n);
}

/**
 * bgdma_sent_given_up() - the transfer that a stream was at may end, if it gave it up
 * @tx: of the stream, which has shown why
 *
 * Context: tx.lock held.
 */
void bgdma_sent_given_up(struct bgdma_tx *tx)
{
	struct bgdma_sent *sent = bgdma_sent_at(tx, tx->head - 1);

	lockdep_assert_held(&tx->lock);
	if (tx->head == tx->tail || !sent->given_up)
		return;
	sent->whole = true;
	bgdma_sent_check(tx, sent);
}

/* The transfer of a packet, that of the one before or a later one. */
static struct bgdma_sent *bgdma_sent_of(struct bgdma_tx *tx, u32 *at,
					const struct bgdma_wire_packet *p)
{
	while (bgdma_sent_at(tx, *at)->id != le32_to_cpu(p->id))
		(*at)++;
	return bgdma_sent_at(tx, *at);
}

/* Something has come to a context behind a link: its sender hears of its end. */
static void bgdma_sent_arrived(struct bgdma_tx *tx,
			       struct bgdma_wire_packet *p)
{
	u32 rank = le32_to_cpu(p->desc.dst_rank) % 1024;

	if (bgdma_is_greeting(&p->desc))
		return;
	if (tx->s && !test_bit(rank, tx->s->ctx->talked))
		set_bit(rank, tx->s->ctx->talked);
	if (!(p->desc.route & BGDMA_ROUTE_DEPOSIT))
		tx->met = bgdma_sent_whom(&p->desc);
}

/**
 * bgdma_sent_dealt() - the other side has dealt with a frame
 * @tx: of the stream that sent it
 * @skb: the frame
 *
 * Context: tx.lock held.
 */
void bgdma_sent_dealt(struct bgdma_tx *tx, const struct sk_buff *skb)
{
	struct bgdma_frame *f = (void *)skb->data;
	struct bgdma_wire_packet *p = (void *)(f + 1);
	const struct bgdma_frame_cb *cb = (const void *)skb->cb;
	u32 i, at = cb->first;

	lockdep_assert_held(&tx->lock);
	for (i = 0; i < cb->packets; i++, p++) {
		struct bgdma_sent *sent = bgdma_sent_of(tx, &at, p);
		u32 n;

		n = p->desc.flags & BGDMA_DESC_INLINE ?
			le32_to_cpu(p->desc.length) : le32_to_cpu(p->bytes);
		sent->packets--;
		if (p->kind == BGDMA_WIRE_PIECE && !sent->code)
			bgdma_sent_arrived(tx, p);
		/* What is fetched counts when it comes back, also if before this. */
		if (p->kind == BGDMA_WIRE_PIECE && !sent->code &&
		    !(sent->desc.flags & BGDMA_DESC_FETCH) &&
		    !(sent->desc.route & BGDMA_ROUTE_DEPOSIT))
			bgdma_sent_count(tx, sent, n);
		bgdma_sent_end(tx, sent);
	}
	bgdma_sent_publish(tx);
}

/**
 * bgdma_sent_lost() - nobody will ever deal with a frame
 * @tx: of the stream that sent it
 * @skb: the frame
 * @code: why
 * @offset: of the fault
 * @bound: of the fault
 *
 * Context: tx.lock held.
 */
void bgdma_sent_lost(struct bgdma_tx *tx, const struct sk_buff *skb, u32 code,
		     u64 offset, u64 bound)
{
	const struct bgdma_frame *f = (const void *)skb->data;
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	const struct bgdma_frame_cb *cb = (const void *)skb->cb;
	u32 i, at = cb->first;

	lockdep_assert_held(&tx->lock);
	for (i = 0; i < cb->packets; i++, p++) {
		struct bgdma_sent *sent = bgdma_sent_of(tx, &at, p);

		sent->packets--;
		/* Of a deposit, who is gone with his kernel is passed by. */
		if (!sent->code && (code != BGDMA_E_PEER_DOWN ||
				    !(sent->desc.route & BGDMA_ROUTE_DEPOSIT))) {
			sent->code = code;
			sent->offset = offset;
			sent->bound = bound;
		}
		bgdma_sent_check(tx, sent);
	}
}

/**
 * bgdma_sent_none() - what a stream may send later would be lost, too
 * @tx: of the stream
 * @code: why
 *
 * An edge of a tree is told: its neighbour is waited for where nothing is on its way.
 *
 * Context: tx.lock held.
 */
void bgdma_sent_none(struct bgdma_tx *tx, u32 code)
{
	lockdep_assert_held(&tx->lock);
	if (!tx->s || tx->s->kind != BGDMA_KIND_EDGE)
		return;
	tx->late.x.fault.code = code;
	bgdma_tree.failed(tx->s, &tx->late);
}

/**
 * bgdma_sent_passed() - is the node whose copy a deposit is at gone with its kernel?
 * @tx: of its stream
 * @sent: the deposit
 *
 * Context: tx.lock held.
 * Return: true, once: it has to go on with the next.
 */
bool bgdma_sent_passed(struct bgdma_tx *tx, struct bgdma_sent *sent)
{
	bool passed = sent->passed;

	lockdep_assert_held(&tx->lock);
	sent->passed = false;
	if (passed)
		sent->copy = 0;
	return passed;
}

/**
 * bgdma_sent_unanswered() - what a node was asked for it will never tell
 * @tx: of the stream that asked
 * @rank: node
 * @code: why
 *
 * What it never dealt with is bgdma_sent_lost()'s. A deposit that is at its copy passes
 * it by.
 *
 * Context: tx.lock held.
 */
void bgdma_sent_unanswered(struct bgdma_tx *tx, u32 rank, u32 code)
{
	struct bgdma_sent *sent;
	u32 i;

	lockdep_assert_held(&tx->lock);
	/* Nobody asks any more. */
	if (!tx->s)
		return;
	for (i = tx->tail; i != tx->head; i++) {
		sent = bgdma_sent_at(tx, i);
		sent->passed |= code == BGDMA_E_PEER_DOWN &&
				sent->copy == rank + 1;
		if (sent->ended || sent->code || !sent->fetched ||
		    le32_to_cpu(sent->desc.dst_rank) != rank)
			continue;
		sent->code = code;
		sent->offset = rank;
		sent->bound = 0;
		bgdma_sent_check(tx, sent);
	}
}

/* Nobody knows what becomes of it. */
static void bgdma_sent_cancel(struct bgdma_sent *sent)
{
	u32 all = bgdma_desc_counts(&sent->desc);

	sent->code = BGDMA_E_CANCELLED;
	sent->offset = all - min(all, sent->left);
	sent->bound = le32_to_cpu(sent->desc.length);
}

/**
 * bgdma_sent_orphan() - nobody sees any more how transfers end
 * @tx: of a stream that ends
 *
 * Their counters show that. What gates were asked they may have all the same, and
 * answer.
 *
 * Context: tx.lock held.
 */
void bgdma_sent_orphan(struct bgdma_tx *tx)
{
	struct bgdma_sent *sent;
	u32 i;

	lockdep_assert_held(&tx->lock);
	for (i = tx->tail; i != tx->head; i++) {
		sent = bgdma_sent_at(tx, i);
		if (sent->ended || sent->marked)
			continue;
		if (sent->asked && !sent->code) {
			tx->acker = bgdma_way_kernel(tx->ether,
						     le32_to_cpu(sent->desc.dst_rank));
			bgdma_asked_ended(tx, sent);
			sent->asked = 0;
		}
		if (!sent->code)
			bgdma_sent_cancel(sent);
		bgdma_sent_mark(tx, sent);
	}
}

/**
 * bgdma_sent_asked() - is a node to hear more, or was it asked for something?
 * @tx: of the stream that sends to it
 * @rank: node
 *
 * Context: tx.lock held.
 */
bool bgdma_sent_asked(struct bgdma_tx *tx, u32 rank)
{
	const struct bgdma_sent *sent;
	u32 i;

	lockdep_assert_held(&tx->lock);
	for (i = tx->tail; i != tx->head; i++) {
		sent = bgdma_sent_at(tx, i);
		if (!sent->ended && (le32_to_cpu(sent->desc.dst_rank) == rank ||
				     sent->copy == rank + 1))
			return true;
	}
	return false;
}

/**
 * bgdma_sent_failed() - the other side refused a transfer
 * @tx: of the stream that sent it
 * @skb: the frame that brought some of it, and was not dealt with
 * @id: transfer, if it is one of those
 * @code: why
 * @offset: of the fault
 * @bound: of the fault
 *
 * It ends when the last of its frames was dealt with, or its stream, if it is at
 * it, comes to its next piece.
 *
 * Context: tx.lock held.
 */
void bgdma_sent_failed(struct bgdma_tx *tx, const struct sk_buff *skb, u32 id,
		       u32 code, u64 offset, u64 bound)
{
	const struct bgdma_frame *f = (const void *)skb->data;
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	const struct bgdma_frame_cb *cb = (const void *)skb->cb;
	u32 i, at = cb->first;

	lockdep_assert_held(&tx->lock);
	for (i = 0; i < cb->packets; i++, p++) {
		struct bgdma_sent *sent = bgdma_sent_of(tx, &at, p);

		if (sent->id != id || sent->ended || sent->code)
			continue;
		sent->code = code ?: BGDMA_E_ABORTED;
		sent->offset = offset;
		sent->bound = bound;
		bgdma_sent_check(tx, sent);
		return;
	}
}

/**
 * bgdma_sent_fetched() - what was there before has come back
 * @tx: of the stream that sent the atomic
 * @rank: of the node that it went to
 * @id: transfer
 * @offset: of the elements in the transfer
 * @old: what was there
 * @n: bytes
 *
 * Context: tx.lock held.
 */
void bgdma_sent_fetched(struct bgdma_tx *tx, u32 rank, u32 id, u32 offset,
			const void *old, u32 n)
{
	struct bgdma_region *region;
	struct bgdma_sent *sent;
	struct bgdma_fault fault;
	u64 off;
	u32 i;

	lockdep_assert_held(&tx->lock);
	for (i = tx->tail; i != tx->head; i++) {
		sent = bgdma_sent_at(tx, i);
		if (sent->id == id && !sent->ended && n <= sent->fetched &&
		    le32_to_cpu(sent->desc.dst_rank) == rank)
			break;
	}
	if (i == tx->head || sent->code ||
	    offset > le32_to_cpu(sent->desc.length) ||
	    n > le32_to_cpu(sent->desc.length) - offset)
		return;
	off = le64_to_cpu(sent->desc.u.at.src_off) + offset;
	bgdma_slice_begin();
	region = bgdma_region_get(tx->s->ctx,
				  le32_to_cpu(sent->desc.u.at.src_region),
				  &sent->who, BGDMA_RIGHT_WRITE, off, n,
				  &fault, NULL);
	if (region) {
		bgdma_region_write_bytes(region, off, old, n);
		bgdma_busy_put(&region->busy);
	} else {
		sent->code = fault.code;
		sent->offset = fault.offset;
		sent->bound = fault.bound;
	}
	bgdma_slice_end();
	if (!sent->code) {
		sent->fetched -= n;
		bgdma_sent_count(tx, sent, n);
	}
	bgdma_sent_check(tx, sent);
}
