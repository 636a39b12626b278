// SPDX-License-Identifier: GPL-2.0
/*
 * Groups and lines (kernel/engine/group.c, kernel/fabric/line.c): contexts bind
 * groups, leave them, end and come again, lose FIFOs; kernels go; streams ask under a
 * group, and go along the axes of a torus or mesh, piece by piece, while members come
 * and go. Against a table of who has bound what: nobody else is let in or gets a copy,
 * each member gets one, in the order of the line.
 */
#include "../../kernel/engine/binding.c"
#include "../../kernel/engine/group.c"
#include "../../kernel/fabric/line.c"

#include "fuzz.h"

#define NODES_MAX	16
#define IDS		2	/* contexts of a node */
#define GROUPS		4
#define SLOTS		3
#define LENGTH		3	/* of a transfer, moved one by one or at once */
#define STREAMS		4
#define STEPS		400

/* What a node has bound under a number. */
struct bound {
	struct bgdma_ctx *ctx;	/* or NULL */
	u32 n_slots, n_members;
	struct bgdma_group_slot slots[SLOTS];
	struct bgdma_group_member members[NODES_MAX];
	bool lost[NODES_MAX];	/* by node: the kernel of whom it names */
};

/* Where a transfer along a line should be. */
struct line {
	bool on;
	u32 axis;
	bool plus;
	u32 at, hops;		/* nodes passed, and all of them */
	u32 receiver;		/* incarnation, or 0 */
	u32 done;
};

static struct bgdma_rget_queue queue;

static struct {
	struct bgdma_partition part;
	struct bgdma_ctx ctx[NODES_MAX][IDS];
	struct bgdma_rec_fifo fifo, *rec[2];
	struct bgdma_rget_queue *rgq[2];
	struct bgdma_region region[2];
	struct bgdma_stream s[STREAMS];
	struct line line[STREAMS];
	struct bound bound[GROUPS][NODES_MAX];
	u32 incarnation;
	struct bgdma_principal been[NODES_MAX * IDS * 2 + STEPS + 1];
	/* The delivery that is expected, and how it ends. */
	struct bgdma_ctx *target;
	int result;
	bool arrives;		/* else handles are of when it did */
	bool delivered;
} f;

/* ---- Who is there ----------------------------------------------------- */

static struct bgdma_ctx *any_ctx(struct input *in)
{
	u8 which = take(in, 1);

	return &f.ctx[which % f.part.size][which >> 4 & 1];
}

/* A context that has just come: others may have had its place. */
static void ctx_new(struct bgdma_ctx *ctx, u32 rank, u16 id)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->partition = &f.part;
	ctx->rank = rank;
	ctx->id = id;
	ctx->who = (struct bgdma_principal){
		.rank = rank, .ctx = id, .incarnation = ++f.incarnation,
	};
	f.been[f.incarnation] = ctx->who;
	ctx->n_rec = 2;
	ctx->n_rgq = 2;
	ctx->rec = f.rec;
	ctx->rgq = f.rgq;
	ctx->regions.slot[0] = &f.region[0];
	ctx->regions.slot[1] = &f.region[1];
	INIT_LIST_HEAD(&ctx->groups);
	bgdma_busy_init(&ctx->busy);
}

static void stream_new(struct bgdma_stream *s, struct bgdma_ctx *ctx)
{
	memset(s, 0, sizeof(*s));
	s->ctx = ctx;
	s->who = ctx->who;
}

static void begin(struct input *in)
{
	u32 i, k;

	memset(&f, 0, sizeof(f));
	f.part.size = 1;
	for (i = 0; i < 3; i++) {
		f.part.dims[i] = 1 + take(in, 1) % NODES_MAX;
		if (f.part.size * f.part.dims[i] > NODES_MAX)
			f.part.dims[i] = 1;
		f.part.size *= f.part.dims[i];
	}
	f.part.torus = take(in, 1);
	f.region[0].handle = BGDMA_HANDLE(0, 1);
	f.region[1].handle = BGDMA_HANDLE(1, 2);
	f.rec[0] = &f.fifo;
	f.rgq[1] = &queue;
	for (i = 0; i < f.part.size; i++)
		for (k = 0; k < IDS; k++)
			ctx_new(&f.ctx[i][k], i, k);
	for (i = 0; i < STREAMS; i++)
		stream_new(&f.s[i], any_ctx(in));
}

/* ---- What should be --------------------------------------------------- */

static bool should_name(const struct bound *b, const struct bgdma_principal *who)
{
	u32 i;

	for (i = 0; i < b->n_members; i++) {
		const struct bgdma_group_member *m = &b->members[i];

		if (m->rank == who->rank && m->ctx == who->ctx)
			return !m->incarnation ||
			       m->incarnation == who->incarnation;
	}
	return false;
}

/* Where nobody is named whoever has the place is a member. */
static bool should_have(const struct bound *b, const struct bgdma_principal *who)
{
	u32 i;

	for (i = 0; i < b->n_members; i++)
		if (b->members[i].rank == who->rank && b->members[i].incarnation &&
		    b->lost[who->rank])
			return false;
	return should_name(b, who);
}

/* The binding of a node that gets a copy of a stream's. */
static struct bound *taker(const struct bgdma_stream *s, u32 rank)
{
	struct bound *b = &f.bound[s->group - 1][rank];
	struct bound *own = &f.bound[s->group - 1][s->ctx->rank];

	if (!b->ctx || own->ctx != s->ctx || !should_have(b, &s->ctx->who) ||
	    !should_have(own, &b->ctx->who))
		return NULL;
	return b;
}

static u32 rank_at(const struct bgdma_stream *s, const struct line *l, u32 hops)
{
	u32 at[3], rank = s->ctx->rank, dim = f.part.dims[l->axis];

	at[0] = rank % f.part.dims[0];
	at[1] = rank / f.part.dims[0] % f.part.dims[1];
	at[2] = rank / f.part.dims[0] / f.part.dims[1];
	at[l->axis] = (at[l->axis] + (l->plus ? hops : dim - hops)) % dim;
	return at[0] + f.part.dims[0] * (at[1] + f.part.dims[1] * at[2]);
}

static u32 hops_of(const struct bgdma_stream *s, const struct line *l)
{
	u32 dim = f.part.dims[l->axis], edge = 0;

	if (f.part.torus & BIT(l->axis))
		return dim - 1;
	/* As far as the next is a neighbour. */
	while (edge + 1 < dim &&
	       (rank_at(s, l, edge + 1) > rank_at(s, l, edge)) == l->plus)
		edge++;
	return edge;
}

/* ---- Binding ---------------------------------------------------------- */

static int object_there(const struct bgdma_ctx *ctx,
			const struct bgdma_group_slot *slot)
{
	u32 object = slot->object;

	switch (slot->kind) {
	case BGDMA_KIND_REC_FIFO:
		return object < 2 && ctx->rec[object] ? 0 : -ENOENT;
	case BGDMA_KIND_RGET_QUEUE:
		return object < 2 && ctx->rgq[object] ? 0 : -ENOENT;
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
		return object < 3 ? 0 : object == 3 ? -ESTALE : -ENOENT;
	case BGDMA_KIND_REGION:
		if (BGDMA_HANDLE_SLOT(object) > 1)
			return -ENOENT;
		return object == f.region[BGDMA_HANDLE_SLOT(object)].handle ?
		       0 : -ESTALE;
	default:
		return -EINVAL;
	}
}

static void take_slot(struct input *in, struct bgdma_group_slot *slot)
{
	u8 what = take(in, 1);

	slot->kind = BGDMA_KIND_INJ_FIFO + what % 7;
	slot->object = what >> 4 & 3;
	if (slot->kind == BGDMA_KIND_REGION)
		slot->object = BGDMA_HANDLE(slot->object, slot->object + 1);
}

static int bind_should(const struct bound *b, const struct bgdma_ctx *ctx,
		       const struct bgdma_group_bind *arg)
{
	u32 i, k;
	int err;

	if (arg->group >= BGDMA_GROUPS_MAX || !arg->member_count)
		return -EINVAL;
	if (fuzz_no_memory)
		return -ENOMEM;
	for (i = 0; i < b->n_slots; i++) {
		err = object_there(ctx, &b->slots[i]);
		if (err)
			return err;
	}
	for (i = 0; i < b->n_members; i++) {
		if (b->members[i].rank >= f.part.size || b->members[i].resv)
			return -EINVAL;
		for (k = 0; k < i; k++)
			if (b->members[k].rank == b->members[i].rank)
				return -EINVAL;
	}
	return f.bound[arg->group][ctx->rank].ctx ? -EEXIST : 0;
}

/* Mostly everybody, once; or some, with mistakes. */
static void take_members(struct input *in, struct bound *b)
{
	u8 how = take(in, 1);
	u32 i;

	b->n_members = how & 1 ? f.part.size : how % (NODES_MAX + 1);
	for (i = 0; i < b->n_members; i++) {
		struct bgdma_group_member *m = &b->members[i];
		u8 more = how & 1 ? 0 : take(in, 1);

		m->rank = how & 1 ? f.part.size - 1 - i : more % (NODES_MAX + 1);
		m->ctx = more >> 5 & 1;
		if (more & 0x40)
			m->incarnation = 1 + take(in, 1) % f.incarnation;
		m->resv = more == 0xff;
	}
}

/* What most lines name. */
static const struct bgdma_group_slot usual[SLOTS] = {
	{ BGDMA_KIND_REGION, BGDMA_HANDLE(1, 2) },
	{ BGDMA_KIND_REC_FIFO, 0 },
	{ BGDMA_KIND_REC_COUNTER, 2 },
};

static void bind(struct input *in)
{
	struct bgdma_ctx *ctx = any_ctx(in);
	struct bound b = { .ctx = ctx };
	u8 how = take(in, 1);
	struct bgdma_group_bind arg = {
		.group = how == 0xff ? BGDMA_GROUPS_MAX : how % GROUPS,
		.slots = (uintptr_t)b.slots,
		.members = (uintptr_t)b.members,
	};
	int should;
	u32 i;

	fuzz_no_memory = how == 0x80;
	if (how & 0x10) {
		memcpy(b.slots, usual, sizeof(usual));
		b.n_slots = SLOTS;
	} else {
		b.n_slots = how >> 2 & 3;
		for (i = 0; i < b.n_slots; i++)
			take_slot(in, &b.slots[i]);
	}
	arg.count = b.n_slots;
	take_members(in, &b);
	arg.member_count = b.n_members;
	should = bind_should(&b, ctx, &arg);
	must(bgdma_group_bind(ctx, &arg) == should);
	if (!should)
		f.bound[arg.group][ctx->rank] = b;
	fuzz_no_memory = false;
}

static void unbind(struct input *in)
{
	struct bgdma_ctx *ctx = any_ctx(in);
	u32 number = take(in, 1) % GROUPS;
	struct bound *b = &f.bound[number][ctx->rank];

	must(bgdma_group_unbind(ctx, number) == (b->ctx == ctx ? 0 : -ENOENT));
	if (b->ctx == ctx)
		memset(b, 0, sizeof(*b));
}

/* With its streams, which the next that has its place has anew. */
static void end(struct bgdma_ctx *ctx)
{
	u32 i;

	bgdma_groups_end(ctx);
	for (i = 0; i < GROUPS; i++)
		if (f.bound[i][ctx->rank].ctx == ctx)
			memset(&f.bound[i][ctx->rank], 0, sizeof(struct bound));
	ctx_new(ctx, ctx->rank, ctx->id);
	for (i = 0; i < STREAMS; i++) {
		if (f.s[i].ctx != ctx)
			continue;
		stream_new(&f.s[i], ctx);
		f.line[i].on = false;
	}
}

static void forget(struct input *in)
{
	struct bgdma_ctx *ctx = any_ctx(in);
	u8 what = take(in, 1);
	u32 kind = what & 1 ? BGDMA_KIND_REC_FIFO : BGDMA_KIND_RGET_QUEUE;
	u32 id = what >> 1 & 1, i, k;

	bgdma_groups_forget(ctx, kind, id);
	for (i = 0; i < GROUPS; i++) {
		struct bound *b = &f.bound[i][ctx->rank];

		for (k = 0; b->ctx == ctx && k < b->n_slots; k++)
			if (b->slots[k].kind == kind && b->slots[k].object == id)
				b->slots[k].kind = BGDMA_KIND_CONTEXT;
	}
}

/* A kernel is gone, with all who lived there: whom a binding names, not his place. */
static void lose(struct input *in)
{
	u32 first = take(in, 1) % f.part.size;
	u32 last = first + take(in, 1) % 4, i, k, rank;

	if (last >= f.part.size)
		last = f.part.size - 1;
	bgdma_groups_lose(&f.part, first, last);
	for (i = 0; i < GROUPS; i++)
		for (k = 0; k < f.part.size; k++)
			for (rank = first; rank <= last; rank++)
				f.bound[i][k].lost[rank] = true;
}

/* ---- Asking ----------------------------------------------------------- */

/* What was begun counts, or fails, though its kernel is gone meanwhile. */
static bool has_begun(const struct bgdma_stream *s, u32 kind)
{
	return kind == BGDMA_KIND_INJ_COUNTER ? s->x.active :
	       kind == BGDMA_KIND_REC_COUNTER && (s->x.done || s->x.cut);
}

static void ask(struct input *in)
{
	u8 how = take(in, 1);
	u32 n = how % STREAMS, i;
	struct bgdma_stream *s = &f.s[n];
	struct bgdma_ctx *ctx = any_ctx(in);
	struct bgdma_principal who = any_ctx(in)->who;
	struct bgdma_group_slot object;
	bool should = false;
	struct bound *b;

	if (f.line[n].on)
		return;
	take_slot(in, &object);
	/* Mostly the same again, which it remembers. */
	s->group = 1 + (how >> 2) % GROUPS;
	/* What is asked for somebody who is gone comes late. */
	if (how & 0x80)
		who = f.been[1 + take(in, 1) % f.incarnation];
	s->x.active = how & 0x20;
	s->x.done = how & 0x40;
	s->x.cut = (how & 0x60) == 0x20;
	b = &f.bound[s->group - 1][ctx->rank];
	if (b->ctx == ctx && (has_begun(s, object.kind) ? should_name(b, &who) :
							  should_have(b, &who)))
		for (i = 0; i < b->n_slots; i++)
			should |= b->slots[i].kind == object.kind &&
				  b->slots[i].object == object.object;
	must(bgdma_group_gives(ctx, s, &who, object.kind, object.object) ==
	     should);
}

/* ---- Lines ------------------------------------------------------------ */

static void line_begin(struct input *in)
{
	u8 how = take(in, 1);
	struct bgdma_stream *s = &f.s[how % STREAMS];
	struct line *l = &f.line[how % STREAMS];
	u32 number = how >> 2 & 3, last, slots = take(in, 1);
	u32 code = BGDMA_OK;

	if (l->on)
		return;
	*l = (struct line){ .axis = (how >> 4) % 3, .plus = how & 0x40 };
	l->hops = hops_of(s, l);
	last = how & 0x80 ? take(in, 1) % f.part.size : rank_at(s, l, l->hops);
	memset(&s->x, 0, sizeof(s->x));
	s->x.desc = (struct bgdma_desc){
		.op = slots & 1 ? BGDMA_OP_PUT : BGDMA_OP_MEMFIFO,
		.route = BGDMA_ROUTE_DEPOSIT | BIT(2 * l->axis + !l->plus),
		.dst_rank = last, .dst_ctx = number, .length = LENGTH,
		.dst_fifo = slots & 2 ? 1 : slots >> 3 & 3,
		.u.at.dst_region = slots & 2 ? 0 : slots >> 3 & 3,
		.rec_ctr = slots & 4 ? 2 : slots & 0x80 ? BGDMA_NONE :
							  slots >> 5 & 3,
	};
	if (f.bound[number][s->ctx->rank].ctx != s->ctx)
		code = BGDMA_E_GROUP;
	else if (last != rank_at(s, l, l->hops))
		code = BGDMA_E_BOUNDS;
	must(bgdma_line_begin(s) == code);
	must(s->x.fault.code == code);
	l->on = !code;
}

/* What a slot means to the receiver; false: nothing of that kind. */
static bool means(const struct bound *b, u32 slot, u32 kind, u32 is)
{
	return slot < b->n_slots && b->slots[slot].kind == kind &&
	       b->slots[slot].object == is;
}

static bool has_slots(const struct bgdma_stream *s, const struct bound *b)
{
	const struct bgdma_line *sent = &s->line;
	bool put = s->x.desc.op == BGDMA_OP_PUT;
	u32 to = put ? sent->region : sent->fifo;

	return to < b->n_slots &&
	       b->slots[to].kind == (put ? BGDMA_KIND_REGION :
					   BGDMA_KIND_REC_FIFO) &&
	       (sent->counter == BGDMA_NONE ||
		(sent->counter < b->n_slots &&
		 b->slots[sent->counter].kind == BGDMA_KIND_REC_COUNTER));
}

static int deliver(struct bgdma_ctx *target, struct bgdma_stream *s,
		   const struct bgdma_payload *p, u32 n)
{
	const struct bound *b = taker(s, target->rank);
	const struct bgdma_desc *d = &s->x.desc;

	must(!f.delivered && target == f.target);
	must(atomic_read(&target->busy.n) == 2);
	must(d->dst_rank == target->rank);
	if (f.arrives) {
		must(d->op == BGDMA_OP_PUT ?
		     means(b, s->line.region, BGDMA_KIND_REGION,
			   d->u.at.dst_region) :
		     means(b, s->line.fifo, BGDMA_KIND_REC_FIFO, d->dst_fifo));
		must(d->rec_ctr == BGDMA_NONE ||
		     means(b, s->line.counter, BGDMA_KIND_REC_COUNTER,
			   d->rec_ctr));
	}
	f.delivered = true;
	return f.result;
}

/* Who gets the next piece, or NULL; *@result: what the move should say if so. */
static struct bgdma_ctx *next_receiver(struct bgdma_stream *s, struct line *l,
				       int *result)
{
	struct bound *b = NULL;

	if (l->receiver) {
		b = taker(s, rank_at(s, l, l->at));
		if (b && b->ctx->who.incarnation == l->receiver)
			return b->ctx;
	}
	/* Who has left his group sends nobody anything more. */
	if (f.bound[s->group - 1][s->ctx->rank].ctx != s->ctx) {
		*result = BGDMA_E_GROUP;
		return NULL;
	}
	if (l->receiver) {
		if (l->done) {
			l->receiver = 0;
			l->done = 0;
			*result = l->at == l->hops ? BGDMA_STEP_DONE :
						     BGDMA_STEP_HOP;
			return NULL;
		}
		b = NULL;
	}
	l->receiver = 0;
	while (!b && l->at < l->hops)
		b = taker(s, rank_at(s, l, ++l->at));
	*result = b ? BGDMA_E_GROUP : BGDMA_STEP_DONE;
	return b && has_slots(s, b) ? b->ctx : NULL;
}

/* How a delivery that ends with @result leaves the line, and what is said. */
static int landed(struct line *l, struct bgdma_ctx *target, u32 bytes, int result)
{
	l->receiver = target->who.incarnation;
	if (result)
		return result;
	l->done += bytes;
	if (l->done < LENGTH)
		return BGDMA_STEP_DONE;
	l->receiver = 0;
	l->done = 0;
	return l->at == l->hops ? BGDMA_STEP_DONE : BGDMA_STEP_HOP;
}

static void line_move(struct input *in)
{
	u8 how = take(in, 1);
	struct bgdma_stream *s = &f.s[how % STREAMS];
	struct line *l = &f.line[how % STREAMS];
	u32 bytes = how & 4 ? LENGTH - s->x.done : 1;
	int result, should;
	bool whole;

	if (!l->on)
		return;
	f.result = how & 0x80 ? BGDMA_STEP_WAIT :
		   (how & 0x78) == 0x78 ? BGDMA_E_RIGHTS : BGDMA_STEP_DONE;
	f.target = next_receiver(s, l, &should);
	f.arrives = !l->receiver;
	/* It may have begun anew, for the next. */
	whole = !f.target || l->done + bytes == LENGTH;
	if (f.target)
		should = landed(l, f.target, bytes, f.result);
	f.delivered = false;
	result = bgdma_line_move(s, NULL, bytes, bytes, deliver);
	must(result == should);
	must(f.delivered == !!f.target);
	must(s->line.left == l->hops - l->at);
	if (result == BGDMA_STEP_HOP)
		must(!s->x.done);
	else if (result == BGDMA_STEP_DONE)
		s->x.done += bytes;
	if (result > 0 || (result == BGDMA_STEP_DONE && whole)) {
		must(result > 0 || s->x.done == LENGTH);
		l->on = false;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u32 steps, i, k;

	begin(&in);
	for (steps = 0; in.left && steps < STEPS; steps++) {
		switch (take(&in, 1) % 17) {
		case 0 ... 3:
			bind(&in);
			break;
		case 4:
			unbind(&in);
			break;
		case 5:
			end(any_ctx(&in));
			break;
		case 6:
			forget(&in);
			break;
		case 7 ... 9:
			ask(&in);
			break;
		case 10 ... 11:
			line_begin(&in);
			break;
		case 16:
			lose(&in);
			break;
		default:
			line_move(&in);
		}
		for (i = 0; i < f.part.size; i++)
			for (k = 0; k < IDS; k++)
				must(atomic_read(&f.ctx[i][k].busy.n) == 1);
	}
	for (i = 0; i < f.part.size; i++)
		for (k = 0; k < IDS; k++)
			end(&f.ctx[i][k]);
	return 0;
}

/* ---- What it calls ---------------------------------------------------- */

int bgdma_counter_find(struct bgdma_ctx *ctx, unsigned int kind, u32 handle,
		       const struct bgdma_principal *who, u64 *memo)
{
	must(!who);
	return handle < 3 ? (int)handle :
	       handle == 3 ? -BGDMA_E_STALE : -BGDMA_E_COUNTER;
}

void bgdma_loopback_talked(struct bgdma_ctx *a, struct bgdma_ctx *b)
{
	must(b == f.target);
}
