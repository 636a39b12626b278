// SPDX-License-Identifier: GPL-2.0
/*
 * Remote-get queues (kernel/engine/rget_queue.c): senders deliver descriptors,
 * cut anywhere, owners of the sub-queues fetch, refuse and flush them, against
 * a plain list for each sender. What is executed must be what was sent, in its
 * order, and as whom it came from.
 */
#include "../../kernel/engine/rget_queue.c"

#include "fuzz.h"

#define SENDERS		4	/* one of them is the owner of the queue */
#define SENT_MAX	4096
#define STEPS		1000

static struct bgdma_ctx ctx;
static struct bgdma_kern_ctl kctl;
static struct bgdma_record records[1];
static struct bgdma_rget_queue *queue;
static struct bgdma_stream from;	/* whose descriptors arrive */
/* At times there is no memory for what a sender may have to be told. */
static bool promised;

static bool promise(struct bgdma_stream *s)
{
	return promised;
}

static const struct bgdma_fabric_ops fabric = { .promise = promise };
static struct bgdma_partition partition = { .fabric = &fabric };

/* What a sender sent: numbers, which fill whole descriptors. */
static struct {
	u32 sent, fetched;
	u16 group[SENT_MAX];	/* that each came under, by a line */
	u32 first[SENT_MAX];	/* number of the first of its remote get */
	u64 seq[SENT_MAX];	/* its number where it is executed */
} senders[SENDERS];

/* Whom a sub-queue is executed for. */
static int bound[SENDERS + 1];

static struct bgdma_principal who_is(int n)
{
	return (struct bgdma_principal){ .rank = n, .incarnation = n + 1 };
}

static u8 byte_at(int sender, u32 number, u32 i)
{
	return (u8)(sender * 101 + number * 7 + i * 13);
}

static bool begin(struct input *in)
{
	u8 how = take(in, 1);
	struct bgdma_rgq_create arg = {
		.quota = how & 1 ? take(in, 2) : 16 << (how >> 1 & 1),
		.senders = how & 8 ? take(in, 2) : 1 + (how >> 4) % SENDERS,
		.timeout_ms = take(in, 4),
	};
	bool good = arg.quota >= 16 && arg.quota <= 4096 &&
		    !(arg.quota & (arg.quota - 1)) && arg.senders &&
		    arg.senders <= 1024 && arg.timeout_ms <= 3600000;
	int i;

	if (good && arg.senders > SENDERS)
		return false;
	memset(&ctx, 0, sizeof(ctx));
	memset(senders, 0, sizeof(senders));
	ctx.kctl = &kctl;
	ctx.partition = &partition;
	ctx.rgq_rec = records;
	ctx.who = who_is(0);
	for (i = 0; i <= SENDERS; i++)
		bound[i] = -1;
	must(bgdma_rgq_create(&ctx, &arg, &queue) == (good ? 0 : -EINVAL));
	return good;
}

static u32 held(const struct bgdma_rget_sub *sub)
{
	return sub->tail - sub->head;
}

/* The sub-queue that a sender has, or could have; -1: none. */
static int sub_for(int sender)
{
	const struct bgdma_principal who = who_is(sender);
	u32 at = bgdma_sub_first(queue, &who), i;
	int idle = -1;

	for (i = 0; i < queue->nsubs; i++)
		if (bound[i] == sender)
			return (int)i;
	for (i = 0; i < queue->nsubs; i++, at = (at + 1) % queue->nsubs) {
		const struct bgdma_stream *s = &queue->subs[at].s;

		if (held(&queue->subs[at]) || s->x.active ||
		    test_bit(BGDMA_STREAM_OWNED, &s->flags))
			continue;
		if (idle < 0 || (bound[idle] >= 0 && bound[at] < 0))
			idle = (int)at;
	}
	return idle;
}

/* Cut @bytes into pieces, as page ends would. */
static void cut(struct input *in, const u8 *from, u32 bytes,
		struct bgdma_payload *out)
{
	memset(out, 0, sizeof(*out));
	while (bytes) {
		u32 n = (u32)take(in, 2) % bytes + 1;

		if (out->pieces == BGDMA_PIECES_MAX - 1)
			n = bytes;
		out->p[out->pieces] = from;
		out->n[out->pieces++] = n;
		from += n;
		bytes -= n;
	}
}

static void deliver(struct input *in)
{
	static u8 descs[BGDMA_RGET_DESC_MAX * sizeof(struct bgdma_desc)];
	int sender = (int)take(in, 1) % SENDERS, at;
	u32 n = take(in, 1) % BGDMA_RGET_DESC_MAX + 1, i;
	struct bgdma_principal who = who_is(sender);
	struct bgdma_payload payload;
	bool fits;

	if (senders[sender].sent + n > SENT_MAX)
		return;
	for (i = 0; i < n * 64; i++)
		descs[i] = byte_at(sender, senders[sender].sent + i / 64, i % 64);
	cut(in, descs, n * 64, &payload);
	from.x.desc.route = take(in, 1) & BGDMA_ROUTE_DEPOSIT;
	from.group = (u16)(take(in, 1) + 1);
	for (i = 0; i < n; i++) {
		u32 number = senders[sender].sent + i;

		senders[sender].group[number] = from.x.desc.route ? from.group :
								    0;
		senders[sender].first[number] = senders[sender].sent;
	}
	at = sub_for(sender);
	fits = at >= 0 && queue->quota - held(&queue->subs[at]) >= n;
	must(bgdma_rgq_room(queue, &who, n) == fits);
	must(bgdma_rgq_deliver(queue, &from, &who, &payload, n) ==
	     (fits ? BGDMA_STEP_DONE : BGDMA_STEP_WAIT));
	if (at >= 0)
		bound[at] = sender;
	if (fits)
		senders[sender].sent += n;
}

static void own(struct input *in)
{
	struct bgdma_rget_sub *sub = &queue->subs[take(in, 1) % queue->nsubs];
	int sender = bound[sub - queue->subs];
	struct bgdma_stream *s = &sub->s;
	const u8 *desc = (const u8 *)&s->x.desc;
	bool ready;
	u32 i;

	if (!test_bit(BGDMA_STREAM_OWNED, &s->flags)) {
		set_bit(BGDMA_STREAM_OWNED, &s->flags);
		return;
	}
	if (s->x.active)
		return;
	ready = sender >= 0 && senders[sender].fetched < senders[sender].sent;
	promised = take(in, 1) % 8;
	must(s->fetch(s) == (ready && promised));
	if (!ready || !promised)
		return;
	must(s->who.incarnation == who_is(sender).incarnation);
	must(s->remote == (sender != 0));
	for (i = 0; i < 64; i++)
		must(desc[i] == byte_at(sender, senders[sender].fetched, i));
	must(s->group == (s->x.desc.flags & BGDMA_DESC_GROUP ?
			  senders[sender].group[senders[sender].fetched] : 0));
	senders[sender].seq[senders[sender].fetched] = s->x.seq;
	senders[sender].fetched++;
	must(held(sub) == senders[sender].sent - senders[sender].fetched);
	s->x.active = true;
}

/*
 * A descriptor is refused, so many before the last: that takes the rest with it, but for
 * that of a later remote get that has begun. What is dropped may be sent again.
 */
static void refuse(struct bgdma_stream *s, int sender, u32 before)
{
	struct bgdma_stream late = { .x.seq = s->x.seq };
	u32 keep = senders[sender].fetched, last = keep - 1;
	const u32 *first = senders[sender].first;

	if (before > last)
		before = last;
	late.x.seq = senders[sender].seq[last - before];
	if (late.x.seq < senders[sender].seq[first[last]]) {
		while (keep < senders[sender].sent && first[keep] == first[last])
			keep++;
	}
	bgdma_rgq_refuse(s, before ? &late : s);
	senders[sender].sent = keep;
}

/* The transfer under way is over; a bad one takes the rest with it. */
static void leave(struct input *in)
{
	u8 how = take(in, 1);
	struct bgdma_rget_sub *sub = &queue->subs[how % queue->nsubs];
	int sender = bound[sub - queue->subs];

	if (!test_bit(BGDMA_STREAM_OWNED, &sub->s.flags))
		return;
	if (sub->s.x.active && how & 0x80) {
		refuse(&sub->s, sender, take(in, 1) % 32);
		must(held(sub) == senders[sender].sent -
				  senders[sender].fetched);
	}
	sub->s.x.active = false;
	clear_bit(BGDMA_STREAM_OWNED, &sub->s.flags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u32 steps, i;

	if (!begin(&in))
		return 0;
	for (steps = 0; in.left && steps < STEPS; steps++) {
		switch (take(&in, 1) % 16) {
		case 0:
			bgdma_rgq_clear(queue, true);
			for (i = 0; i < SENDERS; i++)
				senders[i].fetched = senders[i].sent;
			break;
		case 1 ... 6:
			own(&in);
			break;
		case 7 ... 9:
			leave(&in);
			break;
		default:
			deliver(&in);
		}
	}
	bgdma_rgq_free(queue);
	return 0;
}

/* ---- What it calls ---------------------------------------------------- */

void bgdma_stream_init(struct bgdma_stream *s, struct bgdma_ctx *c, u16 kind,
		       u32 id, int (*fetch)(struct bgdma_stream *s))
{
	s->ctx = c;
	s->fetch = fetch;
}

void bgdma_record_of(const struct bgdma_stream *s, struct bgdma_record *out)
{
	memset(out, 0, sizeof(*out));
}

bool bgdma_record_set(struct bgdma_ctx *c, struct bgdma_record *rec, u64 *words,
		      u32 bit, const struct bgdma_record *why)
{
	return true;
}

void bgdma_record_clear(struct bgdma_ctx *c, struct bgdma_record *rec,
			u64 *words, u32 bit)
{
}

void bgdma_event_post(struct bgdma_ctx *c, const struct bgdma_event *event)
{
}

void bgdma_stream_kill(struct bgdma_stream *s)
{
}
