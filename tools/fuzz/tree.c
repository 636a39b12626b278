// SPDX-License-Identifier: GPL-2.0
/*
 * Classes (kernel/tree): one member, to which its core, its children and its parent
 * bring packets in any order, and some lie, against what tree.h says: what goes along
 * an edge or lands is what it should be, numbers stay in the window, no slot goes
 * while somebody needs it, a class breaks once, and who differs is named.
 */
#include "../../kernel/tree/class.c"
#include "../../kernel/tree/collect.c"
#include "../../kernel/tree/result.c"
#include "../../kernel/tree/packets.c"
#include "../../kernel/tree/edge.c"
#include "../../kernel/tree/broken.c"
#include "../../kernel/tree/combine.c"

#include "tree.h"

/* ---- What they do ------------------------------------------------------- */

static void lie(enum who who)
{
	/* Where one alone differs he is named, but for the root, who is right. */
	f.differs = !f.lied && !(who == OWN && root());
	f.who = who == OWN ? f.ctx.rank : f.other[who].rank;
	f.lied = true;
}

/* Cut anywhere; each piece ends where its memory does. */
static void cut(struct input *in, struct bgdma_payload *p, const u8 *data, u32 n)
{
	u32 at = n ? (u32)take(in, 1) * 2 % n : 0;
	u8 *first = malloc(at), *second = malloc(n - at);

	memset(p, 0, sizeof(*p));
	memcpy(first, data, at);
	memcpy(second, data + at, n - at);
	p->p[0] = first;
	p->n[0] = at;
	p->p[1] = second;
	p->n[1] = n - at;
	p->pieces = n ? 2 : 0;
}

static void uncut(struct bgdma_payload *p)
{
	free((void *)p->p[0]);
	free((void *)p->p[1]);
}

static bool fits(u32 number)
{
	return number - f.cls->base < f.cls->window;
}

static void bgdma_desc_to_fifo(struct bgdma_desc *d)
{
	d->class_prio |= BGDMA_TREE_PACKETS;
	d->u.at.dst_region = FIFO;
	d->u.at.dst_off = 0;
	d->cookie = COOKIE(d->dst_fifo);
}

static void core_begins(u8 how)
{
	const struct collective *c = &f.c[f.of[f.gave[OWN]]];
	struct bgdma_xfer *x = &f.core.x;

	*x = (struct bgdma_xfer) { .seq = f.of[f.gave[OWN]] };
	x->desc = (struct bgdma_desc) {
		.op = c->ask.op, .flags = how & 1 ? BGDMA_DESC_OPS : 0,
		.class_prio = NUMBER, .dst_fifo = c->ask.tag,
		.inj_ctr = BGDMA_NONE, .rec_ctr = COUNTER,
		.length = c->ask.total, .dispatch = c->ask.dispatch,
		.u.at = {
			.src_region = HANDLE,
			.dst_region = c->nowhere ? HANDLE + 1 : HANDLE,
			.dst_off = f.of[f.gave[OWN]] * PLACE + 3,
		},
	};
	if (c->packets)
		bgdma_desc_to_fifo(&x->desc);
	if (how >= 0xf8 && !f.lied) {
		x->desc.dst_fifo++;
		lie(OWN);
	}
	x->active = !bgdma_collect_begin(&f.core);
	must(x->active == !f.cls->code);
	f.dead = !x->active;
	f.cell[COUNTER].value = 1LL << 40;
}

static void core_brings(struct input *in)
{
	struct bgdma_xfer *x = &f.core.x;
	u32 number = f.gave[OWN], n, bytes;
	static u8 data[PACKET];
	struct bgdma_payload p;
	bool room;
	int ret;

	if (f.dead || number == f.packets)
		return;
	if (!x->active)
		core_begins(take(in, 1));
	if (f.dead)
		return;
	n = bytes_of(number);
	bytes = brings(OWN, number, data);
	must(min(x->desc.length - x->done, bgdma_collect_piece(&f.core)) == n);
	cut(in, &p, data, bytes);
	room = fits(number);
	ret = bgdma_collect_own(&f.core, bytes ? &p : NULL, n);
	uncut(&p);
	if (ret > 0) {
		must(ret == (int)f.cls->code);
		bgdma_collect_abort(&f.core);
		f.dead = true;
		return;
	}
	must(ret == (room ? BGDMA_STEP_DONE : BGDMA_STEP_WAIT));
	if (ret)
		return;
	f.gave[OWN]++;
	x->done += n;
	x->active = x->done != x->desc.length;
}

static void packet_of(enum who who, u32 number, struct bgdma_desc *d, u32 n)
{
	const struct collective *c = &f.c[f.of[number]];

	*d = (struct bgdma_desc) {
		.op = c->ask.op, .class_prio = NUMBER, .dst_fifo = c->ask.tag,
		.dispatch = c->ask.dispatch, .epoch = INSTANCE, .length = n,
		.inj_ctr = BGDMA_NONE, .rec_ctr = BGDMA_NONE,
	};
	*bgdma_tree_head(d) = (struct bgdma_tree_head) {
		.index = number, .offset = offset_of(number),
		.total = c->ask.total,
	};
}

/* One thing of a packet is not true, as far as the wire lets it through. */
static u32 forge(struct input *in, enum who *who, u32 n)
{
	struct bgdma_desc *d = &f.flow[*who].x.desc;
	struct bgdma_tree_head *head = bgdma_tree_head(d);
	u8 how = take(in, 1) % 12;
	u32 what = take(in, 4);

	switch (how) {
	case 0:
		head->index += what;
		break;
	case 1:
		head->total = what % (BGDMA_LENGTH_MAX + 1);
		break;
	case 2:
		head->offset = what;
		break;
	case 3:
		d->op = BGDMA_OP_TREE_REDUCE + what % 3;
		break;
	case 4:
		d->dispatch = what;
		break;
	case 5:
		d->dst_fifo = what;
		break;
	case 6:
	case 7:
		head->kind = BGDMA_TREE_DIFFER + how % 2;
		head->code = what;
		head->rank = what >> 8;
		d->cookie = (u64)what << 4;
		n = 0;
		break;
	case 8:
		n = what % (BGDMA_PACKET_MAX + 1);
		break;
	case 9:
		d->epoch += what | 1;
		break;
	case 10:
		f.flow[STRANGER].x = f.flow[*who].x;
		*who = STRANGER;
		break;
	default:
		d->class_prio = what % 16;
	}
	head->offset = head->offset > head->total ? head->total : head->offset;
	d->length = n;
	return n;
}

static void other_brings(struct input *in, enum who who, bool honest)
{
	static u8 data[BGDMA_PACKET_MAX] __attribute__((aligned(16)));
	u32 number = f.gave[who], n;
	struct bgdma_class was = *f.cls;
	enum who from = who;
	struct bgdma_payload p;
	int ret;

	if (!there(who) || number == f.packets)
		return;
	/* The parent has a result when this member has sent all of its own. */
	if (honest && who == PARENT && number >= f.sent[BGDMA_EDGE_UP] &&
	    f.c[f.of[number]].ask.op != BGDMA_OP_TREE_BCAST)
		return;
	n = brings(who, number, data);
	packet_of(who, number, &f.flow[who].x.desc, n);
	if (!honest)
		n = forge(in, &from, n);
	cut(in, &p, data, n);
	ret = bgdma_collect_arrive(&f.ctx, &f.flow[from], &p, n);
	uncut(&p);
	/* What is refused, or waits, has changed nothing. */
	if (ret) {
		must(f.cls->complete == was.complete && f.cls->base == was.base);
		must(f.cls->result == was.result && f.cls->code == was.code);
		must(ret > 0 || !fits(number));
		must(ret < 0 || !honest || f.lied);
		return;
	}
	must(from != STRANGER);
	/* Nobody hears of an outage between others. */
	must(f.cls->code == was.code || (f.cls->code != BGDMA_E_TIMEOUT &&
					 f.cls->code != BGDMA_E_LINK_DOWN));
	if (!honest)
		lie(who);
	/* Others may be named by who says that they differ, or broke it. */
	if (f.flow[from].x.desc.u.inline_data[18] || who == PARENT)
		f.differs = f.differs && honest;
	f.gave[who]++;
}

/* A neighbour, or who takes this member for one. */
static void other_greets(struct input *in)
{
	enum who who = CHILD + take(in, 1) % (WHOS - CHILD);
	struct bgdma_xfer *x = &f.flow[who].x;
	struct bgdma_payload p = {};
	struct bgdma_edge *edge = bgdma_edge_from(f.cls, &f.other[who].who);
	struct bgdma_class was = *f.cls;
	u64 whom = take(in, 1) % 8;
	bool right;

	*x = (struct bgdma_xfer) {
		.desc = {
			.op = BGDMA_OP_TREE_ALLREDUCE, .cookie = whom,
			.class_prio = NUMBER + !(take(in, 1) % 4),
			.epoch = INSTANCE + !(take(in, 1) % 4), .inj_ctr = BGDMA_NONE,
			.rec_ctr = BGDMA_NONE,
		},
	};
	*bgdma_tree_head(&x->desc) = (struct bgdma_tree_head) {
		.kind = BGDMA_TREE_HELLO,
	};
	right = whom == f.ctx.who.incarnation;
	must(bgdma_collect_arrive(&f.ctx, &f.flow[who], &p, 0) ==
	     (right ? BGDMA_STEP_DONE : BGDMA_E_NO_PEER));
	/* It may have to be told again, once, and that is all. */
	if (edge && right && x->desc.class_prio == NUMBER &&
	    x->desc.epoch == INSTANCE) {
		must(edge->greeted && edge->due == 1 +
		     (was.edge[edge->id].due == 2 ||
		      (f.cls->code && !was.edge[edge->id].greeted)));
		if (edge->due != was.edge[edge->id].due)
			f.told[edge->id] = false;
		was.edge[edge->id].greeted = true;
		was.edge[edge->id].due = edge->due;
	}
	must(!memcmp(f.cls, &was, sizeof(was)));
}

/* ---- Edges --------------------------------------------------------------- */

static void look_at_packet(u32 id, const struct bgdma_payload *p, u32 n)
{
	struct bgdma_desc *d = &f.cls->edge[id].s.x.desc;
	const struct bgdma_tree_head *head = bgdma_tree_head(d);
	static u8 should[PACKET] __attribute__((aligned(16)));
	u32 number = f.sent[id], bytes;
	struct bgdma_desc good;

	must(p->pieces == !!n && n <= PACKET);
	must(d->epoch == INSTANCE && d->class_prio == NUMBER);
	if (head->kind == BGDMA_TREE_BROKEN) {
		must(f.cls->code);
		must(head->rank == f.cls->broken_by.rank &&
		     head->code == (u8)f.cls->code);
		f.over = true;
		return;
	}
	if (head->kind == BGDMA_TREE_LEFT) {
		must(f.cls->leaving && !f.cls->code && !n);
		f.over = true;
		return;
	}
	if (head->kind == BGDMA_TREE_HELLO) {
		const struct bgdma_edge *edge = &f.cls->edge[id];

		must(edge->greet && !f.cls->code && !n && !number);
		must(d->dst_rank == edge->who.rank && !d->length &&
		     d->cookie == edge->who.incarnation);
		f.greeted[id] = true;
		return;
	}
	/* Before anything else. */
	must(f.greeted[id]);
	must(!f.cls->code && head->index == number);
	must(head->kind == BGDMA_TREE_PART || id == BGDMA_EDGE_UP);
	must(f.lied || head->kind == BGDMA_TREE_PART);
	if (f.lied)
		return;
	bytes = id == BGDMA_EDGE_UP ? combined(number, should) :
				      result_of(number, should);
	if (id != BGDMA_EDGE_UP &&
	    f.c[f.of[number]].ask.op == BGDMA_OP_TREE_REDUCE)
		bytes = 0;
	must(number < (id == BGDMA_EDGE_UP ? complete() : results()));
	packet_of(OWN, number, &good, bytes);
	must(n == bytes && !memcmp(p->p[0], should, n));
	must(d->op == good.op && d->dispatch == good.dispatch &&
	     d->dst_fifo == good.dst_fifo && d->length == n);
	must(!memcmp(head, bgdma_tree_head(&good), sizeof(*head)));
}

static int fabric_tree(struct bgdma_stream *s, const struct bgdma_payload *p,
		       u32 n)
{
	u32 id = s->id % BGDMA_TREE_STREAMS;

	look_at_packet(id, p, n);
	return f.answer;
}

static const struct bgdma_fabric_ops fabric = { .tree = fabric_tree };

static void edge_runs(u32 id, int answer)
{
	struct bgdma_edge *edge = &f.cls->edge[id];
	bool broken = f.cls->code, greets = edge->greet;
	int ret;

	if (!edge->there || !bgdma_edge_fetch(&edge->s))
		return;
	f.answer = answer;
	f.over = false;
	ret = bgdma_edge_run(&edge->s);
	must(ret == answer || (ret == BGDMA_STEP_AGAIN && broken));
	f.told[id] |= f.over && ret != BGDMA_STEP_WAIT &&
		      ret != BGDMA_STEP_AGAIN;
	if (!broken && greets && ret == answer)
		must(edge->greet == (answer < 0 && answer != BGDMA_STEP_SENT));
	f.sent[id] += !broken && !greets && (ret == BGDMA_STEP_DONE ||
					     ret == BGDMA_STEP_SENT);
	bgdma_class_progress(f.cls);
}

/* ---- The end of somebody -------------------------------------------------- */

static void loses(struct input *in)
{
	u8 how = take(in, 1);
	enum who who = OWN + how % STRANGER;
	struct bgdma_principal gone = f.other[who].who;

	if (who == OWN && f.core.x.active) {
		f.core.x.fault.code = BGDMA_E_CANCELLED;
		if (f.cls->poster)
			lie(OWN);
		bgdma_collect_abort(&f.core);
		f.core.x.active = false;
		f.dead = f.cls->code;
	} else if (who != OWN && how & 0x80) {
		must(!f.cls->code || f.lied);
		if (there(who))
			lie(who);
		bgdma_class_peer_down(&f.ctx, &gone);
	} else if (who != OWN && how & 0x40 && there(who)) {
		struct bgdma_edge *edge =
			&f.cls->edge[who == PARENT ? BGDMA_EDGE_UP :
				     BGDMA_EDGE_DOWN + who - CHILD];

		lie(who);
		edge->s.x.fault.code = BGDMA_E_TIMEOUT;
		bgdma_edge_failed(&edge->s, &edge->s);
	}
}

/* All that is to come comes: nobody waits for ever. */
static void finish(struct input *in)
{
	u32 before, after = 0, rounds, i;

	/* A greeting is no packet of a collective: it would look like no progress. */
	for (i = 0; i < BGDMA_EDGES; i++)
		if (f.cls->edge[i].greet)
			edge_runs(i, BGDMA_STEP_DONE);
	for (rounds = 0; rounds < 8 * PACKETS_MAX; rounds++) {
		before = after;
		core_brings(in);
		other_brings(in, CHILD, true);
		other_brings(in, CHILD2, true);
		other_brings(in, PARENT, true);
		for (i = 0; i < BGDMA_EDGES; i++)
			edge_runs(i, BGDMA_STEP_DONE);
		packets_run(BGDMA_STEP_DONE);
		settle();
		after = f.lied ? 0 : landed();
		for (i = 0; i < WHOS; i++)
			after += f.gave[i] + (i < BGDMA_EDGES ? f.sent[i] : 0);
		if (after == before)
			break;
	}
	must(f.lied || (f.gave[OWN] == f.packets && base() == f.packets));
}

static void unbind(void)
{
	struct bgdma_class_unbind arg = { .number = NUMBER };
	bool told[BGDMA_EDGES];
	u32 i, tries;
	int err;

	for (i = 0; i < BGDMA_EDGES; i++)
		told[i] = !f.cls->edge[i].there;
	/* Where all is over the neighbours hear of it, and nothing breaks. */
	arg.flags = f.lied ? BGDMA_CLASS_BREAK : 0;
	for (tries = 0, err = -EBUSY; err && tries < 4; tries++) {
		err = bgdma_class_unbind(&f.ctx, &arg);
		for (i = 0; err && i < BGDMA_EDGES; i++)
			edge_runs(i, BGDMA_STEP_DONE);
		/* Who reads it is told first that a result breaks off. */
		if (err)
			packets_run(BGDMA_STEP_DONE);
	}
	must(!err && f.events <= f.lied);
	for (i = 0; i < BGDMA_EDGES; i++)
		must(told[i] || f.told[i]);
}

/* ---- The beginning -------------------------------------------------------- */

static void plan(struct input *in)
{
	static const u32 totals[] = { 0, 2, 48, 504, 512, 513, 1024, 1536, 2040 };
	static const u16 how[] = {
		BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U16),
		BGDMA_TREE_COMBINE(BGDMA_TREE_MAX, BGDMA_TREE_S64),
		BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_WIDE(3)),
		BGDMA_TREE_COMBINE(BGDMA_TREE_XOR, BGDMA_TREE_WIDE(64)),
	};
	u32 i, k, n;

	f.collectives = 1 + take(in, 1) % COLLECTIVES;
	for (k = 0; k < f.collectives; k++) {
		struct collective *c = &f.c[k];
		u8 b = take(in, 1);

		c->ask = (struct bgdma_ask) {
			.op = BGDMA_OP_TREE_REDUCE + b % 3, .tag = k,
			.total = totals[(b >> 2) % ARRAY_SIZE(totals)],
		};
		if (c->ask.op != BGDMA_OP_TREE_BCAST) {
			c->ask.dispatch = how[b >> 6];
			c->ask.total -= c->ask.total %
				bgdma_combine_size(c->ask.dispatch);
		}
		c->nowhere = b % 16 == 15;
		c->packets = b % 8 == 6 || b % 8 == 3;
		c->first = f.packets;
		n = c->ask.total ? DIV_ROUND_UP(c->ask.total, size_of(&c->ask)) :
				   1;
		for (i = 0; i < n; i++)
			f.of[f.packets++] = k;
	}
}

static void begin(struct input *in)
{
	static const struct { u8 rank, size; } trees[] = {
		{ 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 2 }, { 1, 4 }, { 1, 5 },
	};
	u8 how = take(in, 1);
	struct bgdma_group_member m[5];
	u32 rank = trees[how % 6].rank, i;
	struct bgdma_class_bind arg = {
		.number = NUMBER, .instance = INSTANCE, .rank = rank,
		.member_count = trees[how % 6].size, .packet = PACKET,
		.members = (uintptr_t)m, .window = 1U << (how / 6) % 4,
		.flags = how & 0x80 ? BGDMA_CLASS_P2P : 0,
	};
	const u32 rank_of[] = { rank, 2 * rank + 1, 2 * rank + 2, 0, 6 };

	memset(&f, 0, sizeof(f));
	for (i = 0; i < 5; i++)
		m[i] = (struct bgdma_group_member) { .rank = i, .ctx = 1,
						     .incarnation = i + 1 };
	f.partition.size = 8;
	f.partition.fabric = &fabric;
	f.ctx = (struct bgdma_ctx) {
		.partition = &f.partition, .rank = rank, .id = 1,
		.who = { .rank = rank, .ctx = 1, .incarnation = rank + 1 },
		.uctl = &f.uctl, .n_rec = 4, .cells[BGDMA_RECEPTION] = f.cell,
	};
	for (i = CHILD; i < WHOS; i++) {
		f.other[i] = (struct bgdma_ctx) {
			.partition = &f.partition, .rank = rank_of[i], .id = 1,
			.who = { .rank = rank_of[i], .ctx = 1,
				 .incarnation = rank_of[i] + 1 },
		};
		f.flow[i].ctx = &f.other[i];
	}
	f.core.ctx = &f.ctx;
	must(!bgdma_class_bind(&f.ctx, &arg));
	must(bgdma_class_bind(&f.ctx, &arg) == -EEXIST);
	f.cls = f.ctx.classes[NUMBER];
	/* Nobody runs an edge to nobody. */
	for (i = 0; i < BGDMA_EDGES; i++)
		must(f.cls->edge[i].there ==
		     !!bgdma_tree.follow(&f.ctx, NUMBER * BGDMA_TREE_STREAMS + i));
	plan(in);
	f.region.handle = HANDLE;
	f.region.length = f.collectives * PLACE;
	f.region.busy.n.counter = 1;
	f.pages = malloc(f.collectives * sizeof(*f.pages));
	for (i = 0; i < f.collectives; i++) {
		f.pages[i] = malloc(PAGE_SIZE);
		memset(f.pages[i], 0x5a, PAGE_SIZE);
	}
	f.region.at = f.pages;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int answers[] = {
		BGDMA_STEP_DONE, BGDMA_STEP_SENT, BGDMA_STEP_DONE,
		BGDMA_STEP_WAIT, BGDMA_STEP_AGAIN,
	};
	static const int takes[] = { BGDMA_STEP_DONE, BGDMA_STEP_DONE,
				     BGDMA_STEP_WAIT, BGDMA_E_FIFO };
	struct input in = { data, size };
	u32 steps, i;
	u8 what;

	begin(&in);
	for (steps = 0; in.left && steps < STEPS; steps++) {
		what = take(&in, 1);
		switch (what % 16) {
		case 0 ... 3:
			core_brings(&in);
			break;
		case 4 ... 6:
			other_brings(&in, CHILD, true);
			break;
		case 7 ... 8:
			other_brings(&in, CHILD2, true);
			break;
		case 9 ... 10:
			other_brings(&in, PARENT, true);
			break;
		case 11 ... 13:
			edge_runs(what % 16 - 11, answers[what / 16 % 5]);
			break;
		case 14:
			other_brings(&in, CHILD + what / 16 % 3, what < 128);
			break;
		default:
			if (what >= 0xe0)
				loses(&in);
			else if (what >= 0xc0)
				other_greets(&in);
			else
				packets_run(takes[what / 16 % 4]);
		}
		settle();
		if (steps % 32 == 0)
			look_at_memory();
	}
	finish(&in);
	look_at_memory();
	unbind();
	must(f.region.busy.n.counter == 1);
	for (i = 0; i < f.collectives; i++)
		free(f.pages[i]);
	free(f.pages);
	return 0;
}

/* ---- What it calls -------------------------------------------------------- */

void bgdma_event_post(struct bgdma_ctx *ctx, const struct bgdma_event *event)
{
	must(ctx == &f.ctx && event->type == BGDMA_EVENT_CLASS);
	must(event->object == NUMBER && event->code);
	f.events++;
}

int bgdma_counter_find(struct bgdma_ctx *ctx, unsigned int kind, u32 handle,
		       const struct bgdma_principal *who, u64 *memo)
{
	must(ctx == &f.ctx && kind == BGDMA_RECEPTION && handle == COUNTER);
	return COUNTER;
}

void bgdma_counter_fail(struct bgdma_ctx *ctx, unsigned int kind, u32 slot,
			u64 left, const struct bgdma_record *why)
{
	must(why->code && slot == COUNTER && !f.cls->lock.held);
	must(left <= BGDMA_LENGTH_MAX);
}

void bgdma_record_of(const struct bgdma_stream *s, struct bgdma_record *out)
{
	*out = (struct bgdma_record) { .code = s->x.fault.code };
}

struct bgdma_region *bgdma_region_get(struct bgdma_ctx *ctx, u32 handle,
				      const struct bgdma_principal *who,
				      u32 rights, u64 off, u64 len,
				      struct bgdma_fault *fault,
				      struct bgdma_region_memo *memo)
{
	must(ctx == &f.ctx && who == &f.ctx.who && rights == BGDMA_RIGHT_WRITE);
	fault->code = handle != HANDLE ? BGDMA_E_REGION :
		off > f.region.length || len > f.region.length - off ?
		BGDMA_E_BOUNDS : BGDMA_OK;
	if (fault->code)
		return NULL;
	f.region.busy.n.counter++;
	return &f.region;
}

void bgdma_region_write_bytes(const struct bgdma_region *region, u64 off,
			      const void *from, u32 n)
{
	while (n--) {
		must(off < region->length);
		((u8 *)f.pages[off / PAGE_SIZE])[off % PAGE_SIZE] =
			*(const u8 *)from++;
		off++;
	}
}

void bgdma_region_write_pages(const struct bgdma_region *region, u64 off,
			      const struct bgdma_payload *in)
{
	abort();
}

void bgdma_stream_init(struct bgdma_stream *s, struct bgdma_ctx *ctx, u16 kind,
		       u32 id, int (*fetch)(struct bgdma_stream *s))
{
	s->ctx = ctx;
	s->kind = kind;
	s->id = id;
	s->fetch = fetch;
}

void bgdma_stream_park(struct bgdma_stream *s, struct bgdma_waiters *waiters,
		       unsigned long timeout, u32 kind, u32 id)
{
	must(kind == BGDMA_KIND_CLASS && id == NUMBER && !f.cls->lock.held);
}

void bgdma_stream_kill(struct bgdma_stream *s)
{
}

void bgdma_stats_add(struct bgdma_stream_stats *sum,
		     const struct bgdma_stream_stats *s)
{
}
