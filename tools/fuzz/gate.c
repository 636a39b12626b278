// SPDX-License-Identifier: GPL-2.0
/*
 * Gates (kernel/engine/epoch.c, gate.c): origins begin, close and end epochs,
 * slices go in and out, of the gate's region and of one that shares it, origins die,
 * rights are taken back, against a plain queue. No two exclusive epochs, nobody else inside one, first come first
 * served, and each origin told once.
 */
#include "../../kernel/engine/epoch.c"
#include "../../kernel/engine/gate.c"

#include "fuzz.h"

#define WHOS		4	/* of them 0 is the owner */
#define IDS		20	/* more than one may have */
#define SLICES		8
#define STEPS		300

enum { NONE = 99 };

/* What an epoch of an origin should be. */
struct model {
	u16 state;		/* or NONE */
	bool exclusive;
	u64 got, put;
	u32 order;		/* of its place in the queue, or of its limitation */
	u32 answers;		/* that are due */
};

static struct {
	struct bgdma_partition partition;
	struct bgdma_ctx ctx, origin[WHOS];
	struct bgdma_region region, other;
	struct bgdma_stream s;
	struct model m[WHOS][IDS];
	struct {
		struct bgdma_region_gate *in;
		int who;
		u32 epoch;
		bool put;
	} slice[SLICES];
	bool may[WHOS], dead[WHOS];
	bool ask;
	u32 order, capacity;
	u32 told[WHOS][IDS], failed[WHOS][IDS];
} f;

static struct bgdma_principal who_is(int n)
{
	return (struct bgdma_principal){ .rank = n, .incarnation = n + 1 };
}

/* All but the owner live behind links: each answer was promised, or is bad news. */
static bool answer(const struct bgdma_ctx *from,
		   const struct bgdma_answer *a)
{
	must(from == &f.ctx);
	must(a->region == f.region.handle);
	must(!a->to.rank ? !a->promise :
	     a->promise || (a->code && a->code != BGDMA_E_EPOCH_COUNT));
	free(a->promise);
	if (a->counter == BGDMA_NONE)
		return true;
	must(a->counter == a->epoch);
	if (a->code)
		f.failed[a->to.rank][a->epoch - 1]++;
	else
		f.told[a->to.rank][a->epoch - 1]++;
	return true;
}

static const struct bgdma_fabric_ops fabric = {
	.answer = answer, .forget = free,
};

/* What somebody does may be answered. */
static void promise(int who)
{
	free(f.s.promise);
	f.s.promise = who ? malloc(1) : NULL;
}

static u32 count(bool waiting)
{
	u32 n = 0;
	int w, i;

	for (w = 0; w < WHOS; w++)
		for (i = 0; i < IDS; i++)
			n += f.m[w][i].state != NONE &&
			     (f.m[w][i].state == BGDMA_EPOCH_WAITING) == waiting;
	return n;
}

static bool exclusive_held(int *who)
{
	int w, i;

	for (w = 0; w < WHOS; w++) {
		for (i = 0; i < IDS; i++) {
			const struct model *m = &f.m[w][i];

			if (m->state == NONE ||
			    m->state == BGDMA_EPOCH_WAITING || !m->exclusive)
				continue;
			*who = w;
			return true;
		}
	}
	return false;
}

/* Who waits first. */
static struct model *head(void)
{
	struct model *first = NULL;
	int w, i;

	for (w = 0; w < WHOS; w++) {
		for (i = 0; i < IDS; i++) {
			struct model *m = &f.m[w][i];

			if (m->state == BGDMA_EPOCH_WAITING &&
			    (!first || m->order < first->order))
				first = m;
		}
	}
	return first;
}

static u32 inside(void)
{
	u32 i, n = 0;

	for (i = 0; i < SLICES; i++)
		n += !!f.slice[i].in;
	return n;
}

/* Limitations that can be given now, and what the gate has told by then. */
static void settle(void)
{
	struct bgdma_region_gate *gate = f.region.gate;
	struct bgdma_epoch list[WHOS * IDS];
	u32 n = ARRAY_SIZE(list), i, last = 0;
	struct model *m;
	int w;

	/* Nobody takes his turn in time. */
	if (gate->work.work.queued) {
		gate->work.work.queued = false;
		gate->work.work.fn(&gate->work.work);
	}
	while ((m = head()) && !exclusive_held(&w) &&
	       !(m->exclusive && (count(false) || inside()))) {
		m->state = f.ask ? BGDMA_EPOCH_ASKED : BGDMA_EPOCH_OPEN;
		m->order = ++f.order;
		m->answers += !f.ask;
	}
	must(!bgdma_gate_list(&f.ctx, f.region.handle, list, &n));
	must(n == count(true) + count(false));
	for (i = 0; i < n; i++) {
		m = &f.m[list[i].rank][list[i].epoch - 1];
		must(m->state == list[i].state);
		must(m->exclusive == list[i].exclusive);
		must(m->got == list[i].got && m->put == list[i].put);
		must(i < count(false) || m->order > last);
		last = i < count(false) ? 0 : m->order;
		must(!m->exclusive || m->state == BGDMA_EPOCH_WAITING ||
		     count(false) == 1);
		must(f.told[list[i].rank][list[i].epoch - 1] == m->answers);
	}
	must(gate->inside == inside());
}

static void forget(int who, int id)
{
	f.m[who][id] = (struct model){ .state = NONE };
	f.told[who][id] = 0;
	f.failed[who][id] = 0;
}

static void operate(struct input *in)
{
	u8 how = take(in, 1);
	int who = how % WHOS, id = (int)take(in, 1) % IDS;
	struct bgdma_principal principal = who_is(who);
	struct model *m = &f.m[who][id];
	struct bgdma_desc *d = &f.s.x.desc;
	u32 code = BGDMA_OK, got, mine = 0;
	int i, w;

	if (!f.may[who])
		return;
	f.s.ctx = who ? &f.origin[who] : &f.ctx;
	for (i = 0; i < IDS; i++)
		mine += f.m[who][i].state != NONE;
	*d = (struct bgdma_desc){
		.op = BGDMA_OP_EPOCH_BEGIN + (how >> 2) % 3,
		.flags = (how & 16 ? BGDMA_DESC_EXCLUSIVE : 0) |
			 (how & 32 ? BGDMA_DESC_HOLD : 0),
		.epoch = cpu_to_le32(id + 1), .inj_ctr = cpu_to_le32(id + 1),
	};
	switch (d->op) {
	case BGDMA_OP_EPOCH_BEGIN:
		if (f.dead[who])
			code = BGDMA_E_PEER_DOWN;
		else if (m->state != NONE || mine >= BGDMA_EPOCHS_EACH)
			code = BGDMA_E_EPOCH_BUSY;
		else if (!(how & 32) && (head() || exclusive_held(&w) ||
					 (how & 16 && count(false))))
			code = BGDMA_E_EPOCH_HELD;
		else if (count(true) + count(false) == f.capacity)
			code = BGDMA_E_EPOCH_BUSY;
		else
			*m = (struct model){
				.exclusive = how & 16, .order = ++f.order,
			};
		break;
	case BGDMA_OP_EPOCH_CLOSE:
		d->cookie = cpu_to_le64(m->got + (how >> 6) - 1);
		if (m->state != BGDMA_EPOCH_OPEN) {
			code = BGDMA_E_EPOCH_CLOSED;
			break;
		}
		m->put = le64_to_cpu(d->cookie);
		if (m->got > m->put)
			code = BGDMA_E_EPOCH_COUNT;
		m->state = m->got < m->put ? BGDMA_EPOCH_CLOSING :
					     BGDMA_EPOCH_CLOSED;
		m->answers += m->got == m->put;
		break;
	default:
		if (m->state == NONE)
			code = BGDMA_E_EPOCH_CLOSED;
	}
	promise(who);
	got = bgdma_gate_do(f.region.gate, &f.s, &principal);
	must(got == code);
	if (!code && d->op == BGDMA_OP_EPOCH_END)
		forget(who, id);
}

static void go_in(struct input *in)
{
	u8 how = take(in, 1);
	int who = how % WHOS, holder, at;
	u32 epoch = take(in, 1) % (IDS + 1), code = BGDMA_OK;
	struct bgdma_principal principal = who_is(who);
	struct bgdma_region_gate *gate;
	bool put = how & 4, owner = !who && !epoch;
	int ret;

	for (at = 0; at < SLICES && f.slice[at].in; at++)
		;
	if (at == SLICES || f.dead[who])
		return;
	f.s.x.desc.flags = how & 8 ? BGDMA_DESC_HOLD : 0;
	if (epoch) {
		const struct model *m = &f.m[who][epoch - 1];

		if (m->state == NONE || m->state < BGDMA_EPOCH_OPEN)
			code = BGDMA_E_EPOCH_CLOSED;
		else if (m->state == BGDMA_EPOCH_CLOSED)
			code = put ? BGDMA_E_EPOCH_COUNT : BGDMA_E_EPOCH_CLOSED;
	} else if (!owner) {
		if (exclusive_held(&holder) ? holder != who :
		    !count(false) && head() && head()->exclusive)
			code = BGDMA_E_EPOCH_HELD;
	}
	ret = bgdma_gate_enter(how & 16 ? &f.other : &f.region, &f.s,
			       &principal, epoch, put, &gate);
	if (code == BGDMA_E_EPOCH_HELD && how & 8)
		must(ret == BGDMA_STEP_WAIT);
	else
		must(ret == (int)code);
	must(!gate == (code || owner));
	f.slice[at].in = gate;
	f.slice[at].who = who;
	f.slice[at].epoch = epoch;
	f.slice[at].put = put;
}

static void go_out(struct input *in)
{
	u32 at = take(in, 1) % SLICES;
	struct bgdma_principal who = who_is(f.slice[at].who);
	struct bgdma_region_gate *gate = f.slice[at].in;
	struct model *m;

	if (!gate)
		return;
	f.slice[at].in = NULL;
	if (f.slice[at].put && f.slice[at].epoch) {
		m = &f.m[f.slice[at].who][f.slice[at].epoch - 1];
		if (m->state != NONE) {
			m->got++;
			if (m->state == BGDMA_EPOCH_CLOSING &&
			    m->got == m->put) {
				m->state = BGDMA_EPOCH_CLOSED;
				m->answers++;
			}
		}
	}
	promise(f.slice[at].who);
	bgdma_gate_leave(gate, &f.s, &who, f.slice[at].epoch, f.slice[at].put);
}

static void forget_all(int who)
{
	int i;

	for (i = 0; i < IDS; i++)
		forget(who, i);
}

static void set_grants(void)
{
	struct bgdma_grants *g = f.region.grants;
	int w;

	g->n = 0;
	for (w = 1; w < WHOS; w++) {
		if (!f.may[w])
			continue;
		g->e[g->n++] = (struct bgdma_grant_entry){
			.rank = w, .ctx = BGDMA_CTX_ANY, .hi = U64_MAX,
			.rights = BGDMA_RIGHT_EPOCH,
		};
	}
	g->serial++;
}

static void lose(struct input *in)
{
	u8 how = take(in, 1);
	int who = how % WHOS;
	struct bgdma_principal principal = who_is(who);
	u64 from = 0;

	if (how & 4 && who) {
		f.origin[who].dead = true;
		while (bgdma_gates_peer_down(&f.ctx, &principal, &from))
			;
		forget_all(who);
		f.dead[who] = true;
	} else if (how & 8 && who) {
		f.may[who] = !f.may[who];
		set_grants();
		bgdma_gates_recheck(&f.ctx);
		if (!f.may[who])
			forget_all(who);
	} else {
		int id = (int)take(in, 1) % IDS;
		struct model *m = &f.m[who][id];
		struct bgdma_epoch_allow arg = {
			.region = f.region.handle, .epoch = id + 1,
			.incarnation = who + 1,
		};
		bool asks = m->state == BGDMA_EPOCH_ASKED;

		/* Another node's context with the same incarnation is another. */
		arg.rank = who + 1;
		must(bgdma_gate_allow(&f.ctx, &arg) == -ENOENT);
		arg.rank = who;
		must(bgdma_gate_allow(&f.ctx, &arg) == (asks ? 0 : -ENOENT));
		if (asks) {
			m->state = BGDMA_EPOCH_OPEN;
			m->answers++;
		}
	}
}

static bool begin(struct input *in)
{
	static union {
		struct bgdma_grants grants;
		char room[sizeof(struct bgdma_grants) +
			  WHOS * sizeof(struct bgdma_grant_entry)];
	} granted;
	struct bgdma_gate arg = { .region = BGDMA_HANDLE(3, 7) }, share;
	u8 how = take(in, 1);
	int w;

	memset(&f, 0, sizeof(f));
	memset(&granted, 0, sizeof(granted));
	f.partition.fabric = &fabric;
	f.ctx.partition = &f.partition;
	f.ctx.who = who_is(0);
	INIT_LIST_HEAD(&f.ctx.gates);
	f.region.handle = arg.region;
	f.region.busy.n.counter = 1;
	f.region.grants = &granted.grants;
	f.ctx.regions.slot[3] = &f.region;
	f.other = f.region;
	f.other.handle = BGDMA_HANDLE(4, 7);
	f.ctx.regions.slot[4] = &f.other;
	f.s.ctx = &f.ctx;
	for (w = 0; w < WHOS; w++) {
		forget_all(w);
		f.may[w] = true;
	}
	set_grants();
	f.ask = how & 1;
	arg.flags = f.ask ? BGDMA_GATE_ASK : 0;
	arg.epochs = how >> 1;
	f.capacity = arg.epochs ?: 64;
	share = (struct bgdma_gate){
		.region = f.other.handle, .with = f.region.handle,
	};
	return !bgdma_gate_create(&f.ctx, &arg) &&
	       !bgdma_gate_create(&f.ctx, &share);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u32 steps, i;

	must(begin(&in));
	for (steps = 0; in.left && steps < STEPS; steps++) {
		switch (take(&in, 1) % 8) {
		case 0 ... 2:
			operate(&in);
			break;
		case 3 ... 4:
			go_in(&in);
			break;
		case 5 ... 6:
			go_out(&in);
			break;
		default:
			lose(&in);
		}
		settle();
	}
	/* Who is busy with the other one may be so when the first is gone. */
	bgdma_gate_free(&f.region);
	for (i = 0; i < SLICES; i++) {
		struct bgdma_principal who = who_is(f.slice[i].who);

		if (f.slice[i].in)
			bgdma_gate_leave(f.slice[i].in, &f.s, &who,
					 f.slice[i].epoch, f.slice[i].put);
	}
	promise(0);
	bgdma_gate_free(&f.other);
	return 0;
}

/* ---- What it calls ---------------------------------------------------- */

void bgdma_event_post(struct bgdma_ctx *ctx, const struct bgdma_event *event)
{
	must(event->type == BGDMA_EVENT_EPOCH);
	must(event->object == f.region.handle);
}

void bgdma_stream_park(struct bgdma_stream *s, struct bgdma_waiters *waiters,
		       unsigned long timeout, u32 kind, u32 id)
{
	if (list_empty(&waiters->waiting))
		list_add_tail(&s->park_node, &waiters->waiting);
}

void bgdma_waiters_wake(struct bgdma_waiters *waiters)
{
	if (!list_empty(&waiters->waiting))
		list_del(&f.s.park_node);
}

bool bgdma_grants_cover(const struct bgdma_grants *grants,
			const struct bgdma_principal *who, u32 rights, u64 off,
			u64 len, u64 *bound, u64 *memo)
{
	u32 i;

	for (i = 0; i < grants->n; i++) {
		if (grants->e[i].rank == who->rank)
			return true;
	}
	return false;
}

struct bgdma_region *bgdma_region_get(struct bgdma_ctx *ctx, u32 handle,
				      const struct bgdma_principal *who,
				      u32 rights, u64 off, u64 len,
				      struct bgdma_fault *fault,
				      struct bgdma_region_memo *memo)
{
	abort();
}

void bgdma_region_write_bytes(const struct bgdma_region *region, u64 off,
			      const void *from, u32 n)
{
	abort();
}

void bgdma_region_write_pages(const struct bgdma_region *region, u64 off,
			      const struct bgdma_payload *in)
{
	abort();
}
