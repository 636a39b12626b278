/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the target "tree" knows of the member and of those around it, and what should
 * come of what they bring, and whether it did. Behind the files of the module.
 */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include "fuzz.h"

#define PACKET		512
#define COLLECTIVES	8
#define PACKETS_MAX	(COLLECTIVES * 5)
#define PLACE		4096U	/* of a collective, in the region */
#define STEPS		600
#define NUMBER		5
#define INSTANCE	9
#define HANDLE		77U
#define COUNTER		3U
#define FIFO		2U
#define COOKIE(tag)	(0x123456789ULL * (tag))

enum who { OWN, CHILD, CHILD2, PARENT, STRANGER, WHOS };

struct collective {
	struct bgdma_ask ask;
	u32 first;
	bool nowhere;		/* its result has no region to land in */
	bool packets;		/* it comes as packets */
	bool failed;		/* these found no FIFO */
};

static struct {
	struct bgdma_partition partition;
	struct bgdma_ctx ctx, other[WHOS];
	struct bgdma_user_ctl uctl;
	struct bgdma_counter_cell cell[8];
	struct bgdma_region region;
	void **pages;
	struct bgdma_stream core, flow[WHOS];
	struct bgdma_class *cls;
	struct collective c[COLLECTIVES];
	u32 collectives, packets, window;
	u32 of[PACKETS_MAX];	/* collective of a packet */
	u32 gave[WHOS];		/* packets of each; of the parent: results */
	bool taken[PACKETS_MAX];	/* by the reception FIFO */
	u32 cuts;
	u32 sent[BGDMA_EDGES];
	bool greeted[BGDMA_EDGES];
	bool told[BGDMA_EDGES];	/* that it is over, since the neighbour could hear */
	bool lied, differs, dead;
	bool over;		/* the packet that is sent says so */
	u32 who, events, code;
	int answer;
} f;

static bool there(enum who who)
{
	switch (who) {
	case PARENT:
		return f.cls->edge[BGDMA_EDGE_UP].there;
	case CHILD:
	case CHILD2:
		return f.cls->edge[BGDMA_EDGE_DOWN + who - CHILD].there;
	default:
		return who == OWN;
	}
}

static bool root(void)
{
	return !f.cls->rank;
}

/* ---- What should be ----------------------------------------------------- */

static u32 size_of(const struct bgdma_ask *ask)
{
	u32 size = ask->op == BGDMA_OP_TREE_BCAST ? 1 :
		bgdma_combine_size(ask->dispatch);

	return PACKET - PACKET % size;
}

static u32 offset_of(u32 number)
{
	const struct collective *c = &f.c[f.of[number]];

	return (number - c->first) * size_of(&c->ask);
}

static u32 bytes_of(u32 number)
{
	const struct collective *c = &f.c[f.of[number]];

	return min(size_of(&c->ask), c->ask.total - offset_of(number));
}

/* What somebody brings in a packet. */
static u32 brings(enum who who, u32 number, u8 *to)
{
	u8 op = f.c[f.of[number]].ask.op;
	u32 n = bytes_of(number), i;

	if (op == (who == PARENT ? BGDMA_OP_TREE_REDUCE : BGDMA_OP_TREE_BCAST) &&
	    !(who == OWN && root()))
		return 0;
	for (i = 0; i < n; i++)
		to[i] = (u8)((who + 1) * 37 + number * 11 + i * (who + 3));
	return n;
}

/* What goes up, or is the root's result. */
static u32 combined(u32 number, u8 *to)
{
	const struct collective *c = &f.c[f.of[number]];
	static u8 more[PACKET] __attribute__((aligned(16)));
	u32 n = brings(OWN, number, to);
	enum who who;

	for (who = CHILD; who <= CHILD2; who++) {
		struct bgdma_payload p = { .pieces = 1, .p = { more } };

		if (there(who) && (p.n[0] = brings(who, number, more)))
			bgdma_combine(c->ask.dispatch, to, &p);
	}
	return n;
}

static u32 result_of(u32 number, u8 *to)
{
	return root() ? combined(number, to) : brings(PARENT, number, to);
}

static u32 complete(void)
{
	u32 n = f.gave[OWN];

	if (there(CHILD))
		n = min(n, f.gave[CHILD]);
	return there(CHILD2) ? min(n, f.gave[CHILD2]) : n;
}

static u32 results(void)
{
	u32 n = f.gave[OWN], i;

	if (!root())
		return f.gave[PARENT];
	for (i = 0; i < n; i++)
		if (f.c[f.of[i]].ask.op != BGDMA_OP_TREE_BCAST &&
		    i >= complete())
			return i;
	return n;
}

/* Does the FIFO have to take a packet, and has not? */
static bool untaken(u32 number)
{
	const struct collective *c = &f.c[f.of[number]];

	return c->packets && !c->failed && !f.taken[number] &&
	       bgdma_result_is_here(f.cls, &c->ask);
}

static u32 landed(void)
{
	u32 n = min(results(), f.gave[OWN]), i;

	for (i = 0; i < n; i++)
		if (untaken(i))
			return i;
	return n;
}

static u32 base(void)
{
	u32 n = min(landed(), root() ? complete() : f.sent[BGDMA_EDGE_UP]);

	if (there(CHILD))
		n = min(n, f.sent[BGDMA_EDGE_DOWN]);
	return there(CHILD2) ? min(n, f.sent[BGDMA_EDGE_DOWN + 1]) : n;
}

/* ---- What must hold ----------------------------------------------------- */

static u8 in_region(u32 at)
{
	return ((const u8 *)f.pages[at / PAGE_SIZE])[at % PAGE_SIZE];
}

/* Memory: results where they belong, and else nothing. */
static void look_at_memory(void)
{
	static u8 should[COLLECTIVES * PLACE];
	static u8 data[PACKET] __attribute__((aligned(16)));
	u32 i;

	memset(should, 0x5a, sizeof(should));
	for (i = 0; i < landed() && !f.lied; i++) {
		const struct collective *c = &f.c[f.of[i]];
		u32 n = result_of(i, data);

		if (c->nowhere || c->packets || !bgdma_result_bytes(f.cls, &c->ask, n))
			continue;
		memcpy(should + f.of[i] * PLACE + 3 + offset_of(i), data, n);
	}
	for (i = 0; i < f.collectives * PLACE; i++) {
		const struct bgdma_ask *ask = &f.c[i / PLACE].ask;

		if (f.lied && i % PLACE >= 3 && i % PLACE < 3 + ask->total &&
		    bgdma_result_bytes(f.cls, ask, 1))
			continue;
		must(in_region(i) == should[i]);
	}
}

static void settle(void)
{
	const struct bgdma_class *cls = f.cls;
	u32 i;

	must(!cls->lock.held);
	must(cls->complete - cls->base <= cls->window);
	must(cls->result - cls->base <= cls->window);
	must(cls->landed - cls->base <= cls->result - cls->base);
	must(cls->up - cls->base <= cls->complete - cls->base);
	for (i = 0; i < BGDMA_SOURCES; i++)
		if (there((enum who)i))
			must(cls->next[i] - cls->base <= cls->window);
	for (i = 0; i < 2; i++)
		if (there(CHILD + i))
			must(cls->down[i] - cls->base <=
			     cls->result - cls->base);
	must(f.events == !!cls->code);
	must(!f.code || f.code == cls->code);
	f.code = cls->code;
	if (f.code == BGDMA_E_TREE_MISMATCH && f.differs)
		must(cls->broken_by.rank == f.who);
	must(!f.code || f.lied);
	if (f.lied)
		return;
	must(cls->base == base() && cls->landed == landed());
	must(cls->result == results() && cls->complete == complete());
}

/* ---- Results in packets --------------------------------------------------- */

int bgdma_deliver_memfifo(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			  const struct bgdma_payload *p, u32 n)
{
	static u8 should[PACKET] __attribute__((aligned(16)));
	const struct bgdma_desc *d = &s->x.desc;
	u32 number = f.cls->landed, bytes;
	const struct collective *c;

	must(ctx == &f.ctx && s == &f.cls->packets && !f.cls->lock.held);
	must(d->dst_fifo == FIFO && d->rec_ctr == BGDMA_NONE);
	must(s->x.done <= d->length && n <= d->length - s->x.done);
	must(n == (p->pieces ? p->n[0] : 0));
	if (f.answer == BGDMA_E_FIFO)
		s->x.fault.code = BGDMA_E_FIFO;
	if (f.lied)
		return f.answer;
	c = &f.c[f.of[number]];
	bytes = result_of(number, should);
	must(untaken(number) && n == bytes && !memcmp(p->p[0], should, n));
	must(s->x.done == offset_of(number) && d->length == c->ask.total);
	must(d->op == c->ask.op && d->dispatch == c->ask.tag &&
	     d->cookie == COOKIE(c->ask.tag));
	f.taken[number] = !f.answer;
	f.c[f.of[number]].failed |= f.answer > 0;
	return f.answer;
}

/* Somebody has the beginning of it, and the class is over. */
void bgdma_abort_message(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 const struct bgdma_principal *who)
{
	must(ctx == &f.ctx && bgdma_same(who, &f.ctx.who));
	must(f.cls->code && s->x.fault.code == f.cls->code && !f.cuts++);
	must(s->x.done && s->x.done < s->x.desc.length);
}

static void packets_run(int answer)
{
	struct bgdma_stream *s = &f.cls->packets;
	bool broken = f.cls->code;
	int ret;

	if (!bgdma_packets_fetch(s))
		return;
	must(f.lied || untaken(f.cls->landed));
	f.answer = answer;
	ret = bgdma_packets_run(s);
	must(ret == (answer > 0 || broken ? BGDMA_STEP_DONE : answer));
	must(ret || !broken || !bgdma_packets_pending(s));
}

#endif /* FUZZ_TREE_H */
