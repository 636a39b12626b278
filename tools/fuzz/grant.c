// SPDX-License-Identifier: GPL-2.0
/*
 * Grants (kernel/engine/grant.c): any sequence of grants, revocations and
 * questions, with and without a memo, against a plain list.
 */
#include "../../kernel/engine/grant.c"

#include "fuzz.h"

#define COUNTERS	4
#define LENGTH		100	/* of the region */
#define STEPS		400
#define WHOS		4

static const u32 all_rights[] = {
	BGDMA_RIGHT_READ, BGDMA_RIGHT_WRITE,
	BGDMA_RIGHT_READ | BGDMA_RIGHT_FETCH, BGDMA_RIGHT_COUNT,
	BGDMA_RIGHT_ACCEPT, BGDMA_RIGHT_INJECT,
};

#define RIGHTS		ARRAY_SIZE(all_rights)

/* Everything that can be granted, in a row. */
enum { REGION, INJ, REC = INJ + COUNTERS, FIFO = REC + COUNTERS, QUEUE,
       OBJECTS };

struct given {
	struct bgdma_grant arg;
	u32 first, last;		/* objects */
};

static struct {
	struct bgdma_ctx ctx;
	struct bgdma_partition partition;
	struct bgdma_region region;
	struct bgdma_counter counters[2][COUNTERS];
	struct bgdma_rec_fifo fifo, *rec;
	struct bgdma_rget_queue *rgq;
	u64 memo[OBJECTS][WHOS][RIGHTS];
	struct given given[STEPS];
	u32 n;
} f;

static struct bgdma_rget_queue queue;

static void begin(void)
{
	u32 i;

	memset(&f, 0, sizeof(f));
	f.ctx.partition = &f.partition;
	f.partition.size = 8;
	f.region.handle = BGDMA_HANDLE(3, 7);
	f.region.length = LENGTH;
	f.ctx.regions.slot[3] = &f.region;
	for (i = 0; i < 2; i++) {
		f.ctx.counters[i] = f.counters[i];
		f.ctx.n_ctr[i] = COUNTERS;
	}
	for (i = 0; i < COUNTERS - 1; i++) {
		f.counters[0][i].used = true;
		f.counters[1][i].used = true;
	}
	f.rec = &f.fifo;
	f.rgq = &queue;
	f.ctx.rec = &f.rec;
	f.ctx.rgq = &f.rgq;
	f.ctx.n_rec = 1;
	f.ctx.n_rgq = 1;
}

static struct bgdma_grants **grants_of(u32 object)
{
	switch (object) {
	case REGION:
		return &f.region.grants;
	case FIFO:
		return &f.fifo.grants;
	case QUEUE:
		return &queue.grants;
	default:
		object -= INJ;
		return &f.counters[object / COUNTERS][object % COUNTERS].grants;
	}
}

static struct bgdma_principal who_is(u32 n)
{
	return (struct bgdma_principal){
		.rank = n & 1, .ctx = n >> 1 & 1, .incarnation = n + 1,
	};
}

/* What the list says. */
static bool granted(u32 object, struct bgdma_principal who, u32 rights, u64 off,
		    u64 len)
{
	u32 i;

	for (i = 0; i < f.n; i++) {
		const struct bgdma_grant *g = &f.given[i].arg;
		unsigned __int128 end = (unsigned __int128)off + len;

		if (object < f.given[i].first || object > f.given[i].last)
			continue;
		if ((g->rank != BGDMA_RANK_ANY && g->rank != who.rank) ||
		    (g->ctx != BGDMA_CTX_ANY && g->ctx != who.ctx) ||
		    (g->incarnation && g->incarnation != who.incarnation))
			continue;
		if ((g->rights & rights) == rights && off >= g->lo &&
		    (!g->hi || end <= g->hi))
			return true;
	}
	return false;
}

static u32 live(u32 object)
{
	u32 i, n = 0;

	for (i = 0; i < f.n; i++)
		n += object >= f.given[i].first && object <= f.given[i].last;
	return n;
}

static void ask(struct input *in)
{
	u32 object = take(in, 1) % OBJECTS, n = take(in, 1) % WHOS;
	u32 right = take(in, 1) % RIGHTS;
	struct bgdma_principal who = who_is(n);
	u64 off = object == REGION ? take(in, 1) % (LENGTH + 1) : 0;
	u64 len = object == REGION ? take(in, 1) % (LENGTH - off + 1) : 0;
	u64 *memo = &f.memo[object][n][right], bound = 0;
	bool expected = granted(object, who, all_rights[right], off, len);

	must(bgdma_granted(grants_of(object), &who, all_rights[right], off, len,
			   &bound, NULL) == expected);
	must(bgdma_granted(grants_of(object), &who, all_rights[right], off, len,
			   &bound, memo) == expected);
	if (object != REGION)
		must(bgdma_granted_whole(grants_of(object), &who,
					 all_rights[right], memo) == expected);
	must(bgdma_grants_count(grants_of(object)) == live(object));
}

/* The objects that a grant names; false: not all are there. */
static bool objects_of(const struct bgdma_grant *arg, struct given *out)
{
	u32 kind = arg->kind, first;

	if (kind == BGDMA_KIND_REGION) {
		out->first = REGION;
		out->last = REGION;
		return arg->object == f.region.handle;
	}
	if (kind == BGDMA_KIND_REC_FIFO || kind == BGDMA_KIND_RGET_QUEUE) {
		out->first = kind == BGDMA_KIND_REC_FIFO ? FIFO : QUEUE;
		out->last = out->first;
		return arg->object == 0;
	}
	first = kind == BGDMA_KIND_INJ_COUNTER ? INJ : REC;
	out->first = first + arg->object;
	out->last = out->first + arg->count - 1;
	/* The last counter of each kind is not allocated. */
	return arg->object < COUNTERS && arg->count < COUNTERS &&
	       arg->object + arg->count < COUNTERS;
}

static bool fitting(const struct bgdma_grant *arg)
{
	u32 fit;

	switch (arg->kind) {
	case BGDMA_KIND_REGION:
		fit = BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE | BGDMA_RIGHT_FETCH |
		      BGDMA_RIGHT_ATOMIC | BGDMA_RIGHT_EPOCH;
		break;
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
		fit = BGDMA_RIGHT_COUNT;
		break;
	case BGDMA_KIND_REC_FIFO:
		fit = BGDMA_RIGHT_ACCEPT;
		break;
	case BGDMA_KIND_RGET_QUEUE:
		fit = BGDMA_RIGHT_INJECT;
		break;
	default:
		return false;
	}
	if (arg->kind != BGDMA_KIND_INJ_COUNTER &&
	    arg->kind != BGDMA_KIND_REC_COUNTER && arg->count != 1)
		return false;
	if (arg->kind == BGDMA_KIND_REGION ?
	    arg->lo >= (arg->hi ? arg->hi : LENGTH) || arg->hi > LENGTH :
	    arg->lo || arg->hi)
		return false;
	return arg->rights && !(arg->rights & ~fit) && arg->count &&
	       arg->count <= BGDMA_COUNTERS_MAX &&
	       (arg->rank == BGDMA_RANK_ANY || arg->rank < f.partition.size) &&
	       (arg->ctx == BGDMA_CTX_ANY || arg->ctx < BGDMA_CTX_PER_NODE) &&
	       !arg->resv && !arg->resv1;
}

static void give(struct input *in)
{
	struct given *g = &f.given[f.n];
	struct bgdma_grant *arg = &g->arg;
	u8 how = take(in, 1), who = take(in, 1);
	bool there, full = false;
	int err;
	u32 i;

	*arg = (struct bgdma_grant){
		.kind = take(in, 1) % 8, .count = 1,
		.rank = who & 1 ? BGDMA_RANK_ANY : who >> 1 & 1,
		.ctx = who & 4 ? BGDMA_CTX_ANY : who >> 3 & 1,
		.incarnation = who & 16 ? 0 : (who >> 5) % 5,
		.rights = 1U << take(in, 1) % 12,
	};
	arg->object = arg->kind == BGDMA_KIND_REGION ? f.region.handle :
		      take(in, 1) % (COUNTERS + 1);
	if (arg->kind == BGDMA_KIND_REGION && how & 1) {
		arg->lo = take(in, 1);
		arg->hi = take(in, 1);
		arg->rights |= take(in, 1);
	}
	if (how & 2)
		arg->count = take(in, 1) % (COUNTERS + 2);
	if (how & 4)	/* anything, anywhere */
		((u8 *)arg)[take(in, 1) % sizeof(*arg)] ^= take(in, 1);
	fuzz_no_memory = (how & 0xf8) == 0xf8;

	there = fitting(arg) && objects_of(arg, g);
	for (i = g->first; there && i <= g->last; i++)
		full |= live(i) >= BGDMA_GRANTS_MAX;
	err = bgdma_grant(&f.ctx, arg);
	must(!err == (there && !full && !fuzz_no_memory));
	must(err != -ENOSPC || full);
	must(err != -EINTR);
	must(err != -ENOMEM || fuzz_no_memory);
	fuzz_no_memory = false;
	if (err)
		return;
	must(arg->id != 0);
	for (i = 0; i < f.n; i++)
		must(f.given[i].arg.id != arg->id);
	f.n++;
}

static void take_back(struct input *in)
{
	u32 n = take(in, 1), id = n;

	if (n < f.n)
		id = f.given[n].arg.id;
	for (n = 0; n < f.n && f.given[n].arg.id != id; n++)
		;
	must(bgdma_revoke(&f.ctx, id) == (n < f.n ? 0 : -ENOENT));
	if (n < f.n)
		f.given[n] = f.given[--f.n];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u32 steps;

	begin();
	for (steps = 0; in.left && steps < STEPS; steps++) {
		switch (take(&in, 1) % 16) {
		case 0 ... 3:
			take_back(&in);
			break;
		case 4 ... 7:
			give(&in);
			break;
		case 8:		/* years later */
			f.ctx.grant_last = BGDMA_NONE - 1 - take(&in, 1) % 4;
			f.ctx.grants_round = true;
			break;
		default:
			ask(&in);
		}
	}
	/* What is forgotten is freed, or the leak checker finds it. */
	for (steps = 0; steps < OBJECTS; steps++)
		bgdma_grants_drop(grants_of(steps));
	return 0;
}

/* ---- What it calls ---------------------------------------------------- */

/* That epochs end with the right is the business of gate.c. */
void bgdma_gates_recheck(struct bgdma_ctx *ctx)
{
}
