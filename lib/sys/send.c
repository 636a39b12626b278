// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Messages out: one memory FIFO descriptor for each target, of which the engine
 * makes packets (DP-6).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define COPY_ALIGN	64

int channel_create(struct bgdma_endpoint *ep, struct channel *ch,
		   uint32_t index)
{
	const struct bgdma_inj_attr attr = { .entries = ep->attr.entries };
	int ret;

	ret = bgdma_inj_create(ep->ctx, &attr, &ch->fifo);
	if (ret)
		return ret;
	ch->sent = calloc(ep->attr.entries, sizeof(*ch->sent));
	if (!ch->sent)
		return -ENOMEM;
	queue_init(&ch->unanswered);
	ch->mask = ep->attr.entries - 1;
	ch->copy_at = (uint64_t)index * ep->attr.copy_bytes;
	ch->copy = (char *)bgdma_region_addr(ep->copies) + ch->copy_at;
	return 0;
}

/* The FIFO ends with the context. */
void channel_destroy(struct channel *ch)
{
	free(ch->sent);
}

/*
 * Events of failures were lost while several failed together, of which the FIFO
 * shows one: each of those that have ended since @from may be one of the others. Who
 * would have got it cannot know that something is missing.
 */
static void channel_doubt(struct bgdma_endpoint *ep, struct channel *ch,
			  uint64_t from)
{
	uint64_t end = ch->done < ch->doubt ? ch->done : ch->doubt;
	const struct sent *sent;

	if (events_crammed(ep) == ch->doubt_lost)
		return;
	for (; from < end; from++) {
		sent = &ch->sent[from & ch->mask];
		if (!sent->told)
			peer_break(ep, sent->rank, ch->doubt_code);
	}
	/* Another thread may sleep for all. */
	sleeper_wake(ep);
}

/*
 * See how many have ended. Over links others go on behind one that failed: what that
 * was for is needed until somebody has looked at why, by the error or by its event,
 * which was there before it was seen to have ended.
 */
static void channel_look(struct bgdma_endpoint *ep, struct channel *ch)
{
	const struct bgdma_ctx_view *view = bgdma_ctx_view(ep->ctx);
	uint64_t read = bgdma_load_relaxed(&view->user->events_head);
	uint64_t done = bgdma_inj_done(ch->fifo), from = ch->done;

	if (bgdma_inj_state(ch->fifo) == BGDMA_FIFO_ERROR)
		return;
	if (read >= ch->events) {
		ch->done = ch->ended;
		ch->ended = done;
		ch->events = bgdma_load_relaxed(&view->kern->events_tail);
	}
	/* Mostly there are none; others make some without end, perhaps. */
	if (read >= ch->events)
		ch->done = ch->ended;
	if (bgdma_unlikely(from < ch->doubt))
		channel_doubt(ep, ch, from);
}

/*
 * Whether another descriptor can be written, and what the one that had its
 * slot was for is no longer needed: so it must have ended.
 */
static bool channel_room(struct bgdma_endpoint *ep, struct channel *ch)
{
	uint64_t next = bgdma_inj_next(ch->fifo);

	/* One slot is kept for room_ask(). */
	if (bgdma_likely(next - ch->done < ch->mask))
		return true;
	channel_look(ep, ch);
	return next - ch->done < ch->mask;
}

/*
 * No room: have a packet to ourselves tell, when all that is in the channel now
 * has ended (over links beginning is not enough, hence the fence), so that nobody
 * has to look again and again.
 */
static void room_ask(struct bgdma_endpoint *ep, struct channel *ch)
{
	struct bgdma_transfer t = bgdma__no_transfer();
	uint64_t next = bgdma_inj_next(ch->fifo);
	struct bgdma_desc *desc;

	again_note(ep);
	ep->asks++;
	if (ch->asked)
		return;
	channel_look(ep, ch);
	desc = next - ch->done <= ch->mask ? bgdma_inj_reserve(ch->fifo) : NULL;
	/* The engine has yet to say that the last of these has ended. */
	if (!desc) {
		nap_ask(ep);
		return;
	}
	ch->sent[next & ch->mask] = (struct sent){
		.op = operation_find(&ep->table[BGDMA_POINT_TO_POINT],
				     ep->room_id),
		.rank = ep->rank, .copied = ch->copy_head,
	};
	t.flags = BGDMA_DESC_FENCE;
	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->room_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->room_id,
			       (uint64_t)(ch - ep->channel));
	bgdma_desc_local_memfifo(desc, &t);
	bgdma_desc_inline(desc, NULL, 0);
	ch->asked = true;
	ep->asking++;
	(void)bgdma_inj_submit(ch->fifo);
}

int on_room(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	uint64_t index = bgdma_packet_word(packet);

	if (rank != ep->rank || index >= channels_count(ep) ||
	    !ep->channel[index].asked)
		return -EBADMSG;
	ep->channel[index].asked = false;
	ep->asking--;
	return 0;
}

/* Where a copy in one piece would begin, if there were room. */
static uint64_t copy_place(const struct bgdma_endpoint *ep,
			   const struct channel *ch, uint64_t bytes)
{
	uint64_t at = ch->copy_head & (ep->attr.copy_bytes - 1);

	return at + bytes > ep->attr.copy_bytes ?
	       ch->copy_head + ep->attr.copy_bytes - at : ch->copy_head;
}

static bool copy_room(struct bgdma_endpoint *ep, struct channel *ch,
		      uint64_t bytes)
{
	uint64_t end = copy_place(ep, ch, bytes) + bytes;

	if (end - ch->copy_tail <= ep->attr.copy_bytes)
		return true;
	channel_look(ep, ch);
	if (ch->done)
		ch->copy_tail = ch->sent[(ch->done - 1) & ch->mask].copied;
	return end - ch->copy_tail <= ep->attr.copy_bytes;
}

static char *copy_take(struct bgdma_endpoint *ep, struct channel *ch,
		       uint64_t bytes)
{
	uint64_t place = copy_place(ep, ch, bytes);

	ch->copy_head = place + ((bytes + COPY_ALIGN - 1) &
				 ~(uint64_t)(COPY_ALIGN - 1));
	return ch->copy + (place & (ep->attr.copy_bytes - 1));
}

static inline bool ready(struct bgdma_endpoint *ep, struct channel *ch,
			 uint64_t bytes)
{
	return channel_room(ep, ch) && (!bytes || copy_room(ep, ch, bytes));
}

bool channel_ready(struct bgdma_endpoint *ep, struct channel *ch,
		   uint64_t bytes)
{
	if (bgdma_likely(ready(ep, ch, bytes)))
		return true;
	room_ask(ep, ch);
	return false;
}

struct bgdma_desc *channel_take(struct bgdma_endpoint *ep, struct channel *ch,
				uint64_t bytes, const struct sent *what,
				struct bgdma_transfer *t, char **copy)
{
	struct bgdma_desc *desc;
	struct sent *sent;

	if (bgdma_unlikely(!channel_ready(ep, ch, bytes)))
		return NULL;
	if (bytes) {
		*copy = copy_take(ep, ch, bytes);
		t->from.region = bgdma_region_handle(ep->copies);
		t->from.offset = ch->copy_at + (uint64_t)(*copy - ch->copy);
	}
	sent = &ch->sent[bgdma_inj_next(ch->fifo) & ch->mask];
	desc = bgdma_inj_reserve(ch->fifo);
	if (bgdma_likely(desc)) {
		*sent = *what;
		sent->copied = ch->copy_head;
	}
	return desc;
}

/* In line: these are on the way of every message. */
BGDMA_INLINE void message_write(const struct bgdma_endpoint *ep,
				const struct operation *op,
				const struct bgdma_send_attr *a, uint32_t rank,
				struct bgdma_at from, struct bgdma_desc *desc)
{
	const struct bgdma_peer *to = &ep->peer[rank].at;
	struct bgdma_transfer t = bgdma__no_transfer();

	t.from = from;
	t.dest = to->node;
	t.dest_ctx = to->ctx;
	t.dest_fifo = op->flags & BGDMA_OPERATION_CONTROL ? WAY_CONTROL :
							    WAY_DATA;
	t.dispatch = (uint16_t)op->id;
	t.length = (uint32_t)a->length;
	t.counter = bgdma__counter_ref(a->counter);
	t.flags = a->flags;
	t.route = a->route;
	t.cookie = cookie_make(op->type, op->id, a->word);
	bgdma_desc_memfifo(desc, &t);
	if (!from.region)
		bgdma_desc_inline(desc, a->data, a->length);
}

BGDMA_INLINE int send_to(struct bgdma_endpoint *ep, const struct operation *op,
			 const struct bgdma_send_attr *a, uint32_t rank,
			 uint32_t token)
{
	unsigned int way = op->flags & BGDMA_OPERATION_CONTROL ? WAY_CONTROL :
								 WAY_DATA;
	struct channel *ch = channel_of(ep, way, rank);
	bool copied = a->data && a->length > BGDMA_INLINE_MAX;
	struct bgdma_at from = { 0 };
	struct bgdma_desc *desc;
	struct sent *sent;
	char *copy;

	if (bgdma_unlikely(ep->peer[rank].down))
		return -EHOSTDOWN;
	/* As channel_take(). */
	if (bgdma_unlikely(!ready(ep, ch, copied ? a->length : 0))) {
		room_ask(ep, ch);
		return -EAGAIN;
	}
	if (copied) {
		copy = copy_take(ep, ch, a->length);
		memcpy(copy, a->data, a->length);
		from.region = bgdma_region_handle(ep->copies);
		from.offset = ch->copy_at + (uint64_t)(copy - ch->copy);
	} else if (!a->data) {
		from = bgdma__place_at(&a->from);
	}
	sent = &ch->sent[bgdma_inj_next(ch->fifo) & ch->mask];
	desc = bgdma_inj_reserve(ch->fifo);
	if (bgdma_unlikely(!desc))
		return -EAGAIN;
	sent->op = op;
	sent->rank = rank;
	sent->token = token;
	sent->told = false;
	sent->copied = ch->copy_head;

	message_write(ep, op, a, rank, from, desc);
	ep->stats.sent++;
	return a->more ? 0 : channel_submit(ep, ch);
}

int send_one(struct bgdma_endpoint *ep, const struct operation *op,
	     const struct bgdma_send_attr *a, uint32_t rank, uint32_t token)
{
	return send_to(ep, op, a, rank, token);
}

#define SEND_FLAGS	(BGDMA_DESC_INTERRUPT | BGDMA_DESC_FENCE)

static int send_check(const struct bgdma_endpoint *ep,
		      const struct bgdma_send_attr *a)
{
	if (bgdma_unlikely(ep->state != STATE_COMMITTED))
		return -ENOTCONN;
	if (bgdma_unlikely(a->type > BGDMA_COLLECTIVE ||
			   a->flags & ~SEND_FLAGS ||
			   a->route & BGDMA_ROUTE_DEPOSIT ||
			   a->word & ~BGDMA_WORD_MASK ||
			   (a->length && !a->data && !a->from.region) ||
			   (!a->dests && a->dest >= ep->size)))
		return -EINVAL;
	if (bgdma_unlikely(a->length > (a->data ? ep->attr.copy_bytes / 2 :
						  BGDMA_LENGTH_MAX)))
		return -EMSGSIZE;
	return 0;
}

static int send_many(struct bgdma_endpoint *ep, const struct operation *op,
		     const struct bgdma_send_attr *a)
{
	uint32_t i;
	int ret;

	for (i = 0; i < a->dest_count; i++)
		if (a->dests[i] >= ep->size)
			return -EINVAL;
	for (i = 0; i < a->dest_count; i++) {
		ret = send_one(ep, op, a, a->dests[i], 0);
		if (ret)
			return i ? (int)i : ret;
	}
	return (int)i;
}

/* Most often that of the message before. */
static inline const struct operation *
send_operation(struct bgdma_endpoint *ep, const struct bgdma_send_attr *a)
{
	const struct operation *op = ep->sent_op;

	if (bgdma_likely(op && op->id == a->operation && op->type == a->type))
		return op;
	op = operation_find(&ep->table[a->type], a->operation);
	ep->sent_op = op;
	return op;
}

int bgdma_endpoint_send_sized(struct bgdma_endpoint *ep,
			      const struct bgdma_send_attr *attr, size_t size)
{
	const struct bgdma_send_attr *a = attr;
	struct bgdma_send_attr copy;
	const struct operation *op;
	int ret;

	if (bgdma_unlikely(size != sizeof(*a))) {
		ret = attr_copy(&copy, sizeof(copy), attr, size);
		if (ret)
			return ret;
		a = &copy;
	}
	endpoint_lock(ep);
	ret = send_check(ep, a);
	if (bgdma_likely(!ret)) {
		op = send_operation(ep, a);
		if (bgdma_unlikely(!op))
			ret = -EINVAL;
		else if (a->dests)
			ret = send_many(ep, op, a);
		else
			ret = send_to(ep, op, a, a->dest, 0);
	}
	endpoint_unlock(ep);
	return ret;
}

int bgdma_endpoint_describe_sized(struct bgdma_endpoint *ep,
				  const struct bgdma_send_attr *attr,
				  size_t size, struct bgdma_desc *desc)
{
	const struct bgdma_at nowhere = { 0 };
	const struct operation *op;
	struct bgdma_send_attr a;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (!ret)
		ret = send_check(ep, &a);
	if (ret)
		return ret;
	if (a.length > BGDMA_INLINE_MAX)
		return -EMSGSIZE;
	/* What is ours, the engine of another would not find. */
	if (a.dests || (a.length && !a.data) || a.counter)
		return -EINVAL;
	endpoint_lock(ep);
	op = operation_find(&ep->table[a.type], a.operation);
	if (op)
		message_write(ep, op, &a, a.dest, nowhere, desc);
	endpoint_unlock(ep);
	return op ? 0 : -EINVAL;
}

/* What there was in the channels when somebody began to wait for it. */
struct flush {
	struct bgdma_endpoint *ep;
	bool begun;
	uint64_t end[WAYS * CHANNELS_MAX];
};

static void flush_begin(struct flush *f)
{
	struct channel *ch;
	uint32_t i;

	f->begun = true;
	for (i = 0; i < channels_count(f->ep); i++) {
		ch = &f->ep->channel[i];
		(void)bgdma_inj_submit(ch->fifo);
		f->end[i] = bgdma_inj_next(ch->fifo);
	}
}

static bool flushed(void *arg)
{
	struct flush *f = arg;
	struct channel *ch;
	uint32_t i;

	if (!f->begun)
		flush_begin(f);
	for (i = 0; i < channels_count(f->ep); i++) {
		ch = &f->ep->channel[i];
		/* One that failed has ended, but nobody has been told of it yet. */
		channel_look(f->ep, ch);
		if (ch->done >= f->end[i])
			continue;
		/* No packet tells of it. */
		nap_ask(f->ep);
		return false;
	}
	return true;
}

int bgdma_endpoint_flush(struct bgdma_endpoint *ep, int64_t timeout_ns)
{
	struct flush f = { .ep = ep };

	return bgdma_endpoint_wait_until(ep, flushed, &f, BGDMA_SPIN_THEN_SLEEP,
					 timeout_ns);
}

static void descriptor_failed(struct bgdma_endpoint *ep,
			      const struct sent *sent, uint32_t code)
{
	const struct bgdma_peer *peer = &ep->peer[sent->rank].at;
	const struct bgdma_trouble_info info = {
		.trouble = BGDMA_TROUBLE_LOST,
		.rank = sent->rank,
		.node = peer->node,
		.ctx = peer->ctx,
		.type = sent->op ? sent->op->type : 0,
		.operation = sent->op ? sent->op->id : 0,
		.code = code,
	};
	bool gone = code_is_death(code);
	struct request *r;

	/* A message's own function tells of it, or has, if it is over. */
	r = sent->token ? request_find(ep, sent->token & TOKEN_MASK, sent->rank,
				       sent->token & SENT_TARGET) : NULL;
	/*
	 * Nor is anybody missing what we wanted to ask the dead, whose messages may have
	 * given back the memory that it would have been about.
	 */
	if (!sent->token &&
	    (sent->op || !(gone || ep->peer[sent->rank].down)))
		endpoint_trouble(ep, &info);
	if (gone)
		endpoint_peer_down(ep, sent->rank);
	else
		peer_break(ep, sent->rank, code);
	if (!gone && r)
		request_fail(ep, r, code, 0);
}

void channel_event(struct bgdma_endpoint *ep, const struct bgdma_event *event)
{
	struct sent *slot, sent;
	struct channel *ch;

	if (event->object == bgdma_inj_id(ep->words.fifo))
		word_failed(ep, event->desc_seq, event->code);
	/* Others are of modules. */
	if (event->object >= channels_count(ep))
		return;
	ch = &ep->channel[event->object];
	slot = &ch->sent[event->desc_seq & ch->mask];
	if (slot->told)
		return;
	slot->told = true;
	sent = *slot;
	descriptor_failed(ep, &sent, event->code);
}

/*
 * Others may have failed together with the one on record, or until that was cleared:
 * when all have ended it is known whether there was room for their events.
 */
static void channel_suspect(struct bgdma_endpoint *ep, struct channel *ch,
			    const struct bgdma_record *record, uint64_t lost)
{
	bool outage = code_is_outage(record->code);

	if (!outage && !record->lost)
		return;
	if (ch->done >= ch->doubt)
		ch->doubt_lost = lost;
	ch->doubt = bgdma_inj_next(ch->fifo);
	ch->doubt_code = outage ? record->code : BGDMA_E_TIMEOUT;
	ep->doubts = true;
}

/*
 * Nothing tells when those that are under way have ended; but as long as no event was
 * lost none of them is in doubt, and one that is lost wakes us.
 */
static void channels_suspected(struct bgdma_endpoint *ep)
{
	struct channel *ch;
	bool lost = false;
	uint32_t i;

	ep->doubts = false;
	for (i = 0; i < channels_count(ep); i++) {
		ch = &ep->channel[i];
		if (ch->done < ch->doubt)
			channel_look(ep, ch);
		if (ch->done >= ch->doubt)
			continue;
		ep->doubts = true;
		lost |= events_crammed(ep) != ch->doubt_lost;
	}
	if (lost)
		nap_ask(ep);
}

/*
 * One after the other: clearing lets the FIFO run into the next, or show the next of
 * several that failed over links. There may have been no room for its event.
 */
static unsigned int channel_repair(struct bgdma_endpoint *ep,
				   struct channel *ch, uint64_t lost)
{
	struct bgdma_record record;
	struct sent *slot, sent;
	unsigned int n = 0;

	while (bgdma_inj_state(ch->fifo) == BGDMA_FIFO_ERROR &&
	       bgdma_inj_error(ch->fifo, &record)) {
		slot = &ch->sent[record.desc_seq & ch->mask];
		sent = *slot;
		slot->told = true;
		if (bgdma_inj_clear_error(ch->fifo, 0))
			break;
		channel_suspect(ep, ch, &record, lost);
		if (!sent.told)
			descriptor_failed(ep, &sent, record.code);
		n++;
	}
	return n;
}

unsigned int channels_repair(struct bgdma_endpoint *ep, uint64_t lost)
{
	const __u64 *errors = bgdma_ctx_view(ep->ctx)->kern->inj_error;
	uint32_t count = channels_count(ep), i;
	unsigned int n = 0;
	__u64 any = 0;

	/* They are the first of the context. */
	for (i = 0; i < count; i += 64)
		any |= bgdma_load_relaxed(&errors[i / 64]);
	for (i = 0; bgdma_unlikely(any) && i < count; i++)
		n += channel_repair(ep, &ep->channel[i], lost);
	if (bgdma_unlikely(ep->doubts))
		channels_suspected(ep);
	return n;
}
