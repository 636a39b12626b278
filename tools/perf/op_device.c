// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of the device. Transfers of up to a page, which run in the
 * caller, are waited for by spinning, longer ones asleep: then the engine's
 * threads have the processors.
 */
#include <errno.h>
#include <string.h>

#include "operations.h"

#define ENTRIES		256U
#define FIFO_BYTES	(1U << 20)
#define DESCS		BGDMA_RGET_DESC_MAX
#define CLASS		0U
#define GROUP		0U
/* Slots of the group; to the builders 0 is none. */
#define SLOT_TARGET	1U
#define SLOT_ARRIVED	2U

static struct bgdma_ctx *ctx;
static struct bgdma_inj_fifo *inj;
static struct bgdma_rec_fifo *rec;
static struct bgdma_rget_queue *queue;
static struct bgdma_region *source, *target, *descs, *word;
static struct bgdma_counter *arrived, *fetched;
static uint32_t me, peer;	/* ranks */
static uint8_t line;		/* BGDMA_ROUTE_*, from us to the peer */

static bool spins(size_t size)
{
	return size <= 4096;
}

/* A full FIFO: asleep until half of it is done. */
#define inject(call)							\
do {									\
	int inject_;							\
									\
	while ((inject_ = (call)) == -EAGAIN)				\
		must(bgdma_inj_wait(inj, bgdma_inj_next(inj) -		\
				    ENTRIES / 2, BGDMA_SLEEP, -1));	\
	must(inject_);							\
} while (0)

static bool more(unsigned int i, unsigned int n)
{
	return i + 1 < n && (i + 1) % op_batch;
}

/* ---- Messages ----------------------------------------------------------- */

static struct bgdma_memfifo_attr message(unsigned int i, size_t size)
{
	struct bgdma_memfifo_attr attr = {
		.dest = peer, .dest_ctx = op_peer.ctx, .fifo = op_peer.fifo,
		.length = size,
	};

	if (size == WORD)
		attr.data = op_source + place(i, size);
	else
		attr.from = (struct bgdma_place){ source, place(i, size) };
	return attr;
}

/* Packets that are there, from so many bytes of a stream on: their bytes. */
static size_t read_packets(size_t at)
{
	const struct bgdma_packet *packet;
	size_t bytes = 0;

	while ((packet = bgdma_rec_peek(rec))) {
		if (memcmp(bgdma_packet_data(packet),
			   op_source + (at + bytes) % MEMORY, WORD))
			die("message", -EBADMSG);
		bytes += packet->bytes;
		bgdma_rec_next(rec);
	}
	must(bgdma_rec_release(rec));
	return bytes;
}

static void wait_packet(bool spin)
{
	if (spin)
		spin_until(bgdma_rec_bytes(rec));
	else
		must(bgdma_rec_wait(rec, BGDMA_SLEEP, -1));
}

static void read_stream(unsigned int n, size_t size)
{
	size_t got = 0;

	while (got < n * size) {
		wait_packet(spins(size));
		got += read_packets(got);
	}
}

static void send_word(void)
{
	struct bgdma_memfifo_attr attr = message(0, WORD);

	inject(bgdma_memfifo(inj, &attr));
}

static void read_word(bool spin)
{
	wait_packet(spin);
	if (read_packets(0) != WORD)
		die("message", -EBADMSG);
}

static void memfifo_ping(unsigned int n)
{
	while (n--) {
		send_word();
		read_word(true);
	}
}

static void memfifo_pong(unsigned int n)
{
	while (n--) {
		read_word(true);
		send_word();
	}
}

static void memfifo_stream(unsigned int n, size_t size)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct bgdma_memfifo_attr attr = message(i, size);

		attr.more = more(i, n);
		inject(bgdma_memfifo(inj, &attr));
	}
	read_word(spins(size));
}

static void memfifo_sink(unsigned int n, size_t size)
{
	read_stream(n, size);
	send_word();
}

/* ---- Messages to oneself ------------------------------------------------- */

static struct bgdma_memfifo_attr local_message(unsigned int i, size_t size)
{
	struct bgdma_memfifo_attr attr = message(i, size);

	attr.fifo = bgdma_rec_id(rec);
	return attr;
}

static void local_memfifo_ping(unsigned int n)
{
	while (n--) {
		struct bgdma_memfifo_attr attr = local_message(0, WORD);

		inject(bgdma_local_memfifo(inj, &attr));
		read_word(true);
	}
}

/* Up to a batch goes in before what has come is read. */
static void local_memfifo_stream(unsigned int n, size_t size)
{
	unsigned int i = 0;
	size_t got = 0;

	while (got < n * size) {
		bool last = i == n;

		while (!last) {
			struct bgdma_memfifo_attr attr = local_message(i, size);
			int ret;

			attr.more = more(i, n);
			ret = bgdma_local_memfifo(inj, &attr);
			if (ret == -EAGAIN)
				break;
			must(ret);
			i++;
			last = !attr.more;
		}
		wait_packet(spins(size));
		got += read_packets(got);
	}
}

/* ---- Counters ------------------------------------------------------------ */

static void expect(size_t bytes)
{
	bgdma_counter_clear_hit(arrived);
	bgdma_counter_add(arrived, (int64_t)bytes);
}

static void wait_counter(bool spin)
{
	if (spin)
		spin_until(bgdma_counter_there(arrived));
	must(bgdma_counter_wait(arrived, BGDMA_SLEEP, -1));
}

/* ---- What moves a counter at the target ---------------------------------- */

typedef void send_fn(unsigned int i, size_t size, bool is_more);

static void send_and_wait(send_fn *send, unsigned int n)
{
	while (n--) {
		expect(WORD);
		send(0, WORD, false);
		wait_counter(true);
	}
}

/* What is to come next is expected before the other side can know. */
static void wait_and_send(send_fn *send, unsigned int n)
{
	while (n--) {
		wait_counter(true);
		if (n)
			expect(WORD);
		send(0, WORD, false);
	}
}

static void send_stream(send_fn *send, unsigned int n, size_t size)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		send(i, size, more(i, n));
	read_word(spins(size));
}

static void counted_sink(unsigned int n, size_t size)
{
	(void)n;
	wait_counter(spins(size));
	send_word();
}

/* What a method is made of, of a send_fn. */
#define COUNTED_WAY(send)						\
static void send##_ping(unsigned int n)					\
{									\
	send_and_wait(send, n);						\
}									\
									\
static void send##_pong(unsigned int n)					\
{									\
	wait_and_send(send, n);						\
}									\
									\
static void send##_stream(unsigned int n, size_t size)			\
{									\
	send_stream(send, n, size);					\
}

/* ---- Direct puts --------------------------------------------------------- */

static void put(unsigned int i, size_t size, bool is_more)
{
	struct bgdma_put_attr attr = {
		.dest = peer, .dest_ctx = op_peer.ctx, .length = size,
		.from = { source, place(i, size) },
		.to = { op_peer.target_handle, place(i, size) },
		.remote_counter = op_peer.arrived,
		.more = is_more,
	};

	inject(bgdma_put(inj, &attr));
}

COUNTED_WAY(put)

/* ---- Puts by deposit bit: a line of one hop ------------------------------ */

static void deposit(unsigned int i, size_t size, bool is_more)
{
	const struct bgdma_transfer t = {
		.length = (uint32_t)size,
		.from = { bgdma_region_handle(source), place(i, size) },
		.to = { SLOT_TARGET, place(i, size) },
		.remote_counter = SLOT_ARRIVED,
	};
	struct bgdma_desc *desc;

	while (!(desc = bgdma_inj_reserve(inj)))
		must(bgdma_inj_wait(inj, bgdma_inj_next(inj) - ENTRIES / 2,
				    BGDMA_SLEEP, -1));
	bgdma_desc_put(desc, &t);
	bgdma_desc_deposit(desc, GROUP, line, peer);
	if (!is_more)
		must(bgdma_inj_submit(inj));
}

COUNTED_WAY(deposit)

/* ---- Atomics on many words: swapped for what is sent --------------------- */

static void swap(unsigned int i, size_t size, bool is_more)
{
	uint64_t first;

	/* One has its operand in the descriptor. */
	memcpy(&first, op_source + place(i, size), WORD);
	inject(bgdma_atomic(inj, &(struct bgdma_atomic_attr){
		.dest = peer, .dest_ctx = op_peer.ctx,
		.op = BGDMA_ATOMIC_SWAP, .type = BGDMA_ATOMIC_U64,
		.count = (uint32_t)(size / WORD),
		.operand = first,
		.from = size == WORD ? (struct bgdma_place){ 0 } :
			(struct bgdma_place){ source, place(i, size) },
		.to = { op_peer.target_handle, place(i, size) },
		.remote_counter = op_peer.arrived, .more = is_more }));
}

COUNTED_WAY(swap)

/* ---- Local copies -------------------------------------------------------- */

static void local_copy_stream(unsigned int n, size_t size)
{
	unsigned int i;

	expect(n * size);
	for (i = 0; i < n; i++)
		inject(bgdma_local_copy(inj, &(struct bgdma_local_copy_attr){
			.length = size,
			.from = { source, place(i, size) },
			.to = { target, place(i, size) },
			.rec_counter = arrived,
			.more = more(i, n) }));
	wait_counter(spins(size));
}

static void local_copy_ping(unsigned int n)
{
	while (n--)
		local_copy_stream(1, WORD);
}

/* ---- Remote gets: the other side's engine puts --------------------------- */

static void describe(unsigned int i, size_t size)
{
	struct bgdma_desc *desc = bgdma_region_addr(descs);
	struct bgdma_transfer t = {
		.dest = me,
		.dest_ctx = bgdma_ctx_info(ctx)->ctx,
		.length = (uint32_t)size,
		.from = { op_peer.source_handle, place(i, size) },
		.to = { bgdma_region_handle(target), place(i, size) },
		.remote_counter = bgdma_counter_handle(arrived),
	};

	bgdma_desc_put(&desc[i], &t);
}

static void get_stream(unsigned int n, size_t size)
{
	unsigned int i, count;

	expect(n * size);
	for (i = 0; i < n; i += count) {
		for (count = 0; count < DESCS && i + count < n; count++)
			describe(i + count, size);
		inject(bgdma_rget(inj, &(struct bgdma_rget_attr){
			.dest = peer, .dest_ctx = op_peer.ctx,
			.queue = op_peer.queue, .count = count,
			.from = { descs, i * sizeof(struct bgdma_desc) },
			.more = more(i + count - 1, n) }));
	}
	wait_counter(spins(size));
}

static void get_ping(unsigned int n)
{
	while (n--)
		get_stream(1, WORD);
}

/* ---- Atomics: what was there before comes back ---------------------------- */

static void fetch_and_add(unsigned int i, unsigned int n)
{
	inject(bgdma_atomic(inj, &(struct bgdma_atomic_attr){
		.dest = peer, .dest_ctx = op_peer.ctx,
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64,
		.count = 1, .operand = 1,
		.from = { descs, i * WORD }, .to = { op_peer.word_handle, 0 },
		.counter = fetched, .flags = BGDMA_DESC_FETCH,
		.more = more(i, n) }));
}

/* Each finds what the one before has left. */
static void atomic_stream(unsigned int n, size_t size)
{
	static uint64_t before;
	const uint64_t *got = bgdma_region_addr(descs);
	unsigned int i;

	bgdma_counter_clear_hit(fetched);
	bgdma_counter_add(fetched, (int64_t)(n * size));
	for (i = 0; i < n; i++)
		fetch_and_add(i, n);
	spin_until(bgdma_counter_there(fetched));
	must(bgdma_counter_wait(fetched, BGDMA_SLEEP, -1));
	for (i = 0; i < n; i++) {
		if (got[i] != before++)
			die("atomic", -EBADMSG);
	}
}

static void atomic_ping(unsigned int n)
{
	while (n--)
		atomic_stream(1, WORD);
}

/* ---- The combining network: both have the same, so the largest is that ---- */

static void combine_stream(unsigned int n, size_t size)
{
	unsigned int i;

	expect(n * size);
	for (i = 0; i < n; i++)
		inject(bgdma_tree_allreduce(inj, &(struct bgdma_tree_attr){
			.dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_MAX,
						       BGDMA_TREE_U64),
			.number = CLASS, .length = size,
			.from = { source, place(i, size) },
			.to = { target, place(i, size) },
			.ended = arrived, .more = more(i, n) }));
	wait_counter(spins(size));
}

static void combine_ping(unsigned int n)
{
	while (n--)
		combine_stream(1, WORD);
}

/* On a ring of two nodes either way goes to the other, on a mesh one. */
static void group_join(const struct bgdma_group_member *members)
{
	const struct bgdma_group_slot slots[] = {
		{ BGDMA_KIND_REC_FIFO, bgdma_rec_id(rec) },
		[SLOT_TARGET] = { BGDMA_KIND_REGION,
				  bgdma_region_handle(target) },
		[SLOT_ARRIVED] = { BGDMA_KIND_REC_COUNTER,
				   bgdma_counter_handle(arrived) },
	};

	must(bgdma_group_bind(ctx, &(struct bgdma_group_attr){
			.number = GROUP, .slots = slots, .slot_count = 3,
			.members = members, .member_count = 2 }));
	line = bgdma_line_last(bgdma_ctx_info(ctx), BGDMA_ROUTE_XP, NULL) ==
	       peer ? BGDMA_ROUTE_XP : BGDMA_ROUTE_XM;
}

void device_join(void)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ctx);
	struct bgdma_group_member members[2];

	members[me] = (struct bgdma_group_member){
		.rank = me, .ctx = info->ctx, .incarnation = info->incarnation,
	};
	members[peer] = (struct bgdma_group_member){
		.rank = peer, .ctx = op_peer.ctx,
		.incarnation = op_peer.incarnation,
	};
	must(bgdma_class_bind(ctx, &(struct bgdma_class_attr){
			.number = CLASS, .instance = 1, .rank = me,
			.members = members, .member_count = 2 }));
	group_join(members);
}

/* ------------------------------------------------------------------------ */

static void grant_all(void)
{
	const struct bgdma_grant_attr all = {
		.rank = peer, .ctx = BGDMA_CTX_ANY,
	};
	struct bgdma_grant_attr memory = all;

	must(bgdma_rec_grant(rec, &all, NULL));
	must(bgdma_rgq_grant(queue, &all, NULL));
	must(bgdma_counter_grant(arrived, 1, &all, NULL));
	memory.rights = BGDMA_RIGHT_READ;
	must(bgdma_region_grant(source, &memory, NULL));
	memory.rights = BGDMA_RIGHT_WRITE | BGDMA_RIGHT_ATOMIC;
	must(bgdma_region_grant(target, &memory, NULL));
	memory.rights = BGDMA_RIGHT_ATOMIC;
	must(bgdma_region_grant(word, &memory, NULL));
}

void device_open(uint32_t rank, struct names *mine)
{
	me = rank;
	peer = 1 - rank;
	ctx = attach(rank, -1);
	must(bgdma_inj_create(ctx, &(struct bgdma_inj_attr){
			.entries = ENTRIES }, &inj));
	must(bgdma_rec_create(ctx, &(struct bgdma_rec_attr){
			.bytes = FIFO_BYTES }, &rec));
	must(bgdma_rgq_create(ctx, &(struct bgdma_rgq_attr){
			.quota = MANY }, &queue));
	must(bgdma_counter_alloc(ctx, BGDMA_RECEPTION, &arrived));
	must(bgdma_region_register(ctx, op_source, MEMORY, BGDMA_LOCAL_READ,
				   &source));
	must(bgdma_region_register(ctx, op_target, MEMORY, BGDMA_LOCAL_READ |
				   BGDMA_LOCAL_WRITE, &target));
	must(bgdma_region_alloc(ctx, MANY * sizeof(struct bgdma_desc),
				BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE, &descs));
	must(bgdma_counter_alloc(ctx, BGDMA_INJECTION, &fetched));
	must(bgdma_region_alloc(ctx, WORD, BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				&word));
	grant_all();
	mine->source_handle = bgdma_region_handle(source);
	mine->target_handle = bgdma_region_handle(target);
	mine->arrived = bgdma_counter_handle(arrived);
	mine->word_handle = bgdma_region_handle(word);
	mine->ctx = bgdma_ctx_info(ctx)->ctx;
	mine->incarnation = bgdma_ctx_info(ctx)->incarnation;
	mine->fifo = bgdma_rec_id(rec);
	mine->queue = bgdma_rgq_id(queue);
}

const struct method device_methods[] = {
	{ .name = "memory FIFO",
	  .ping = memfifo_ping, .pong = memfifo_pong,
	  .stream = memfifo_stream, .sink = memfifo_sink },
	{ .name = "local memory FIFO",
	  .ping = local_memfifo_ping, .stream = local_memfifo_stream },
	{ .name = "direct put", .landing = &op_target, .prepare = expect,
	  .ping = put_ping, .pong = put_pong,
	  .stream = put_stream, .sink = counted_sink },
	{ .name = "put by deposit bit", .landing = &op_target,
	  .prepare = expect, .ping = deposit_ping, .pong = deposit_pong,
	  .stream = deposit_stream, .sink = counted_sink },
	{ .name = "local copy", .landing = &op_target,
	  .ping = local_copy_ping, .stream = local_copy_stream },
	{ .name = "remote get", .landing = &op_target,
	  .ping = get_ping, .stream = get_stream },
	{ .name = "fetch and add", .largest = WORD,
	  .ping = atomic_ping, .stream = atomic_stream },
	{ .name = "swap of words", .landing = &op_target, .prepare = expect,
	  .ping = swap_ping, .pong = swap_pong,
	  .stream = swap_stream, .sink = counted_sink },
	{ .name = "combining all-reduce", .together = true, .landing = &op_target,
	  .ping = combine_ping, .pong = combine_ping,
	  .stream = combine_stream, .sink = combine_stream },
};

const size_t n_device_methods =
	sizeof(device_methods) / sizeof(device_methods[0]);
