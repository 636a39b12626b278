// SPDX-License-Identifier: GPL-2.0
/*
 * Attackers: each one process of a user who has two nodes.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bgdma/gate.h>
#include <bgdma/tree.h>

#include "attack.h"
#include "perf.h"

#define FIFOS		64

struct door door;
static struct bgdma_inj_fifo *many[FIFOS];

static const struct bgdma_grant_attr anyone = {
	.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
};

static struct bgdma_ctx *attach_sender(void)
{
	struct bgdma_ctx *ctx = attach_many(ATTACK_RANK, FIFOS);
	unsigned int i;

	for (i = 0; i < FIFOS; i++)
		must(bgdma_inj_create(ctx, NULL, &many[i]));
	return ctx;
}

/* Both ends on nodes of the attacker's own: 2 and 3. */
static struct ends theirs(void)
{
	struct ends e = { .from = attach_sender(), .to = attach(3, -1) };

	must(bgdma_rec_create(e.to, NULL, &e.rec));
	must(bgdma_rec_grant(e.rec, &anyone, NULL));
	e.inj = many[0];
	return e;
}

static void theirs_memory(struct ends *e)
{
	const struct bgdma_grant_attr all = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
		.rights = BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE |
			  BGDMA_RIGHT_ATOMIC | BGDMA_RIGHT_EPOCH,
	};

	must(bgdma_region_alloc(e->from, LONG,
				BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				&e->source));
	must(bgdma_region_alloc(e->to, LONG,
				BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				&e->target));
	must(bgdma_region_grant(e->source, &all, NULL));
	must(bgdma_region_grant(e->target, &all, NULL));
}

static void compute(void)
{
	for (;;)
		bgdma_relax();
}

static void ring(void)
{
	struct ends e = theirs();

	for (;;)
		must(bgdma_doorbell(e.from, 0));
}

static void message(struct ends *e, struct bgdma_inj_fifo *inj)
{
	uint64_t word = 0;

	if (bgdma_inj_space(inj))
		bgdma_memfifo(inj, &(struct bgdma_memfifo_attr){
			.dest = 3, .dest_ctx = bgdma_ctx_info(e->to)->ctx,
			.fifo = bgdma_rec_id(e->rec), .data = &word,
			.length = sizeof(word), .more = true });
}

static void drain(struct ends *e, unsigned int most)
{
	while (most-- && bgdma_rec_bytes(e->rec)) {
		bgdma_rec_peek(e->rec);
		bgdma_rec_next(e->rec);
	}
	must(bgdma_rec_release(e->rec));
}

static void flood(unsigned int each, unsigned int most)
{
	struct ends e = theirs();
	unsigned int i, k;

	for (;;) {
		for (i = 0; i < FIFOS; i++) {
			for (k = 0; k < each; k++)
				message(&e, many[i]);
			bgdma_inj_publish(many[i]);
		}
		must(bgdma_doorbell(e.from, BGDMA_DOORBELL_POOL));
		drain(&e, most);
	}
}

static void small_messages(void)
{
	flood(32, 1U << 20);
}

/* One packet of room, for which all FIFOs have waited. */
static void park(void)
{
	flood(32, 1);
}

/* The same descriptor in each slot that is free. */
static void fill(struct bgdma_ctx *from, const struct bgdma_desc *desc)
{
	unsigned int i;

	for (i = 0; i < FIFOS; i++) {
		while (bgdma_inj_space(many[i]))
			*bgdma_inj_reserve(many[i]) = *desc;
		bgdma_inj_publish(many[i]);
		if (bgdma_inj_error(many[i], NULL) != BGDMA_OK)
			die("attack", -EPROTO);
	}
	must(bgdma_doorbell(from, BGDMA_DOORBELL_POOL));
}

static void keep_full(struct ends *e, const struct bgdma_desc *desc)
{
	for (;;) {
		fill(e->from, desc);
		usleep(1000);
	}
}

/* Who receives, and is suspended at once: his FIFO fills up, and stays so. */
static struct bgdma_transfer to_stopped(void)
{
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_ctx *to = attach(3, -1);
	struct bgdma_rec_fifo *rec;

	must(bgdma_rec_create(to, NULL, &rec));
	must(bgdma_rec_grant(rec, &anyone, NULL));
	t.dest = 3;
	t.dest_ctx = bgdma_ctx_info(to)->ctx;
	t.dest_fifo = bgdma_rec_id(rec);
	return t;
}

/* All FIFOs wait for room at one whose process is suspended; doorbells without end. */
static void suspended(void)
{
	struct bgdma_transfer t = { 0 };
	struct bgdma_desc desc;
	struct bgdma_ctx *from;
	int there[2], status;
	pid_t pid;

	must(pipe(there) ? -errno : 0);
	pid = fork();
	if (!pid) {
		t = to_stopped();
		if (write(there[1], &t, sizeof(t)) == sizeof(t))
			raise(SIGSTOP);
		exit(1);
	}
	if (read(there[0], &t, sizeof(t)) != sizeof(t) ||
	    waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		die("suspended", -ECHILD);
	from = attach_sender();
	bgdma_desc_memfifo(&desc, &t);
	bgdma_desc_inline(&desc, NULL, 0);
	for (;;)
		fill(from, &desc);
}

/* From theirs to theirs. */
static struct bgdma_transfer long_transfer(struct ends *e)
{
	struct bgdma_transfer t = bgdma__no_transfer();

	theirs_memory(e);
	t.dest = 3;
	t.dest_ctx = bgdma_ctx_info(e->to)->ctx;
	t.length = LONG;
	t.from.region = bgdma_region_handle(e->source);
	t.to.region = bgdma_region_handle(e->target);
	return t;
}

static void long_puts(void)
{
	struct ends e = theirs();
	struct bgdma_transfer t = long_transfer(&e);
	struct bgdma_desc desc;

	bgdma_desc_put(&desc, &t);
	keep_full(&e, &desc);
}

/* An operation that has no instruction, on each of a quarter million elements. */
static void atomics(void)
{
	struct ends e = theirs();
	struct bgdma_transfer t = long_transfer(&e);
	struct bgdma_desc desc;

	t.dispatch = BGDMA_ATOMIC(BGDMA_ATOMIC_MUL, BGDMA_ATOMIC_U32);
	bgdma_desc_atomic(&desc, &t);
	keep_full(&e, &desc);
}

/* Down a line of all nodes, on which there is nobody. */
static void deposits(void)
{
	struct ends e = theirs();
	const struct bgdma_ctx_info *info = bgdma_ctx_info(e.from);
	const struct bgdma_group_member self = {
		.rank = info->rank, .ctx = info->ctx,
	};
	struct bgdma_group_slot slot = { .kind = BGDMA_KIND_REC_FIFO };
	const uint8_t way = BGDMA_ROUTE_XP;
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_rec_fifo *rec;
	struct bgdma_desc desc;

	must(bgdma_rec_create(e.from, NULL, &rec));
	slot.object = bgdma_rec_id(rec);
	must(bgdma_group_bind(e.from, &(struct bgdma_group_attr){
			.number = 1, .slots = &slot, .slot_count = 1,
			.members = &self, .member_count = 1 }));
	t.dest = bgdma_line_last(info, way, NULL);
	t.dest_ctx = 1;
	t.route = BGDMA_ROUTE_DEPOSIT | way;
	t.flags = BGDMA_DESC_GROUP;
	bgdma_desc_memfifo(&desc, &t);
	bgdma_desc_inline(&desc, NULL, 0);
	keep_full(&e, &desc);
}

/* ---- Trees and gates ----------------------------------------------------- */

static struct bgdma_group_member member(struct bgdma_ctx *ctx)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ctx);

	return (struct bgdma_group_member){
		.rank = info->rank, .ctx = info->ctx,
		.incarnation = info->incarnation,
	};
}

/* A class of two nodes, whose engines add long vectors all the time. */
static void collectives_of_two(void)
{
	struct ends e = theirs();
	const struct bgdma_group_member who[2] = {
		member(e.from), member(e.to),
	};
	struct bgdma_tree_attr part[2] = { 0 };
	struct bgdma_inj_fifo *inj[2] = { many[0] };
	uint32_t i;

	theirs_memory(&e);
	must(bgdma_inj_create(e.to, NULL, &inj[1]));
	for (i = 0; i < 2; i++) {
		must(bgdma_class_bind(i ? e.to : e.from,
				      &(struct bgdma_class_attr){
			.number = 1, .instance = 1, .rank = i, .members = who,
			.member_count = 2 }));
		part[i].number = 1;
		part[i].dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD,
						      BGDMA_TREE_S64);
		part[i].length = LONG / 2;
		part[i].from.region = i ? e.target : e.source;
		part[i].to.region = part[i].from.region;
		part[i].to.offset = LONG / 2;
		part[i].more = true;
	}
	for (;;) {
		for (i = 0; i < 2; i++) {
			while (bgdma_inj_space(inj[i]))
				must(bgdma_tree_allreduce(inj[i], &part[i]));
			bgdma_inj_publish(inj[i]);
			if (bgdma_inj_error(inj[i], NULL) != BGDMA_OK)
				die("collectives", -EPROTO);
		}
		must(bgdma_doorbell(e.from, BGDMA_DOORBELL_POOL));
		must(bgdma_doorbell(e.to, BGDMA_DOORBELL_POOL));
		usleep(1000);
	}
}

/* One shared epoch after the other, each with nothing in it. */
static void epochs(void)
{
	struct ends e = theirs();
	struct bgdma_gate_attr attr = { .dest = 3, .more = true };
	struct bgdma_inj_fifo *inj = many[0];

	theirs_memory(&e);
	must(bgdma_gate_create(e.target, 0, 0));
	attr.dest_ctx = bgdma_ctx_info(e.to)->ctx;
	attr.region = bgdma_region_handle(e.target);
	for (;;) {
		while (bgdma_inj_space(inj) >= 3) {
			attr.epoch = attr.epoch % 1000 + 1;
			must(bgdma_gate_begin(inj, &attr));
			must(bgdma_gate_close(inj, &attr));
			must(bgdma_gate_end(inj, &attr));
		}
		bgdma_inj_publish(inj);
		if (bgdma_inj_error(inj, NULL) != BGDMA_OK)
			die("epochs", -EPROTO);
		must(bgdma_doorbell(e.from, BGDMA_DOORBELL_POOL));
	}
}

/* ---- What costs the kernel most ------------------------------------------- */

static void pin(void)
{
	struct bgdma_ctx *ctx = attach(ATTACK_RANK, -1);
	void *memory = small_pages(LONG);
	struct bgdma_region *region;

	for (;;) {
		must(bgdma_region_register(ctx, memory, LONG, BGDMA_LOCAL_READ,
					   &region));
		must(bgdma_region_free(region));
	}
}

/* Contexts with all that they can have, and memory up to his limit. */
static void hoard(void)
{
	void *memory = small_pages(LONG);
	struct bgdma_region *region;
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;
	struct bgdma_ctx *ctx;
	unsigned int i, k;

	for (i = 0; i < FIFOS; i++) {
		ctx = attach_many(ATTACK_RANK, FIFOS);
		for (k = 0; k < FIFOS; k++)
			must(bgdma_inj_create(ctx, NULL, &inj));
		while (!bgdma_rec_create(ctx, NULL, &rec))
			;
		while (!bgdma_region_register(ctx, memory, LONG,
					      BGDMA_LOCAL_READ, &region))
			;
	}
	for (;;)
		pause();
}

/* One process after the other is killed with all that it has on its way. */
static void crash(void)
{
	pid_t pid;

	for (;;) {
		pid = fork();
		if (!pid)
			long_puts();
		usleep(20000);
		must(pid < 0 ? -errno : 0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static void come_and_go(void)
{
	for (;;)
		bgdma_detach(attach(ATTACK_RANK, -1));
}

static void dump(void)
{
	struct bgdma_ctx *ctx[32];
	unsigned int i;

	for (i = 0; i < 32; i++)
		ctx[i] = attach(ATTACK_RANK, -1);
	for (;;) {
		if (system("bgdma ctx show >/dev/null") ||
		    !bgdma_ctx_info(ctx[0]))
			exit(1);
	}
}

/* ---- At the victim's remote-get queues --------------------------------- */

/* What his engine is made to do: it lets them only send to where they are. */
enum work { NOTHING, LONG_PUTS, FORBIDDEN };

static void describe(struct ends *e, enum work work)
{
	struct bgdma_desc *desc = bgdma_region_addr(e->source);
	struct bgdma_region *target;
	struct bgdma_transfer t = {
		.dest = work == FORBIDDEN ? 3 : ATTACK_RANK,
		.dest_ctx = bgdma_ctx_info(e->from)->ctx,
		.length = LONG,
		.from = { door.memory, 0 },
	};
	unsigned int i;

	must(bgdma_region_alloc(e->from, LONG, BGDMA_LOCAL_WRITE, &target));
	must(bgdma_region_grant(target, &(struct bgdma_grant_attr){
			.rank = 0, .ctx = BGDMA_CTX_ANY,
			.rights = BGDMA_RIGHT_WRITE }, NULL));
	t.to.region = bgdma_region_handle(target);
	for (i = 0; i < BGDMA_RGET_DESC_MAX; i++) {
		if (work == NOTHING)
			bgdma_desc_nop(&desc[i], 0);
		else
			bgdma_desc_put(&desc[i], &t);
	}
}

static void send_gets(const struct ends *e, struct bgdma_inj_fifo *inj,
		      uint16_t queue)
{
	while (bgdma_inj_space(inj))
		must(bgdma_rget(inj, &(struct bgdma_rget_attr){
			.dest = 0, .dest_ctx = door.ctx, .queue = queue,
			.count = BGDMA_RGET_DESC_MAX,
			.from = { e->source, 0 }, .more = true }));
	bgdma_inj_publish(inj);
}

/* Who is refused at the door, for that reason alone, comes again. */
static void come_again(struct bgdma_inj_fifo *inj, enum bgdma_code reason)
{
	enum bgdma_code code = (enum bgdma_code)bgdma_inj_error(inj, NULL);

	if (code == BGDMA_OK)
		return;
	if (code != reason)
		die(bgdma_strcode(code), -EPROTO);
	must(bgdma_inj_clear_error(inj, 0));
}

static void knock(uint16_t queue, enum work work, enum bgdma_code reason)
{
	struct ends e = theirs();
	unsigned int i;

	theirs_memory(&e);
	describe(&e, work);
	for (;;) {
		for (i = 0; i < FIFOS; i++) {
			come_again(many[i], reason);
			send_gets(&e, many[i], queue);
		}
		must(bgdma_doorbell(e.from, BGDMA_DOORBELL_POOL));
	}
}

static void gets(void)
{
	knock(door.granted, LONG_PUTS, BGDMA_E_RGET_FULL);
}

static void small_gets(void)
{
	knock(door.granted, NOTHING, BGDMA_E_RGET_FULL);
}

static void bad_gets(void)
{
	knock(door.granted, FORBIDDEN, BGDMA_E_RGET_FULL);
}

static void refused_gets(void)
{
	knock(door.closed, LONG_PUTS, BGDMA_E_RIGHTS);
}

/* For somebody else's measurement: until killed. */
void traffic(void)
{
	as_other_user(long_puts);
	as_other_user(small_messages);
	for (;;)
		pause();
}

const struct attacker attackers[] = {
	{ .name = "alone" },
	{ .name = "computing", .run = compute },
	{ .name = "doorbells", .run = ring },
	{ .name = "small messages", .run = small_messages },
	{ .name = "long puts", .run = long_puts },
	{ .name = "atomics", .run = atomics },
	{ .name = "deposits", .run = deposits },
	{ .name = "collectives", .run = collectives_of_two },
	{ .name = "epochs", .run = epochs },
	{ .name = "parking", .run = park },
	{ .name = "suspended", .run = suspended },
	{ .name = "pinning", .run = pin },
	{ .name = "hoarding", .run = hoard },
	{ .name = "crashing", .run = crash },
	{ .name = "attaching", .run = come_and_go },
	{ .name = "dumps", .run = dump },
	{ .name = "remote gets", .run = gets },
	{ .name = "small remote gets", .run = small_gets },
	{ .name = "bad remote gets", .run = bad_gets,
	  .refused = BGDMA_E_PROVENANCE },
	{ .name = "remote gets without a grant", .run = refused_gets },
};

const size_t n_attackers = sizeof(attackers) / sizeof(attackers[0]);
