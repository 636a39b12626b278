/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A module for the tests of rendezvous: it keeps announcements until it is told
 * to answer.
 */
#ifndef BGDMA_SELFTESTS_SYS_MODULE_H
#define BGDMA_SELFTESTS_SYS_MODULE_H

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys_seen.h"
#include "sys_util.h"

#include <bgdma/rendezvous.h>

#define KEPT_MAX	10000

struct module {
	struct member m;
	uint32_t rts, eager;		/* identifiers */
	struct bgdma_rts kept[KEPT_MAX];
	struct count announced;
	struct count done;		/* that ended well */
	struct count ended;		/* in any way */
	struct count dead;		/* because the other side died */
	uint64_t bytes;
	int last;			/* result */
	uint64_t eager_word;		/* of the last eager message */
	bool disorder;
	uint64_t troubles;
	uint32_t portion;		/* that a paced message failed at */
	long regions;			/* at the beginning */
};

static inline int on_rts(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct module *module = arg;
	struct bgdma_rts *rts = &module->kept[module->announced.is];
	int ret = bgdma_rts_read(rts, rank, packet);

	if (ret)
		return ret;
	/* LC-4: in order with what goes eagerly. */
	module->disorder |= rts->word != module->announced.is ||
			    (module->eager_word &&
			     module->eager_word != rts->word);
	module->announced.is++;
	return 0;
}

static inline int on_eager(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct module *module = arg;

	(void)rank;
	module->eager_word = bgdma_packet_word(packet);
	return 0;
}

static inline void on_done(void *arg, int result, uint64_t bytes)
{
	struct module *module = arg;

	module->ended.is++;
	module->last = result;
	module->dead.is += result == -EHOSTDOWN;
	if (result)
		return;
	module->done.is++;
	module->bytes += bytes;
}

static inline void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	struct module *module = arg;

	if (info->trouble == BGDMA_TROUBLE_PORTION) {
		module->portion = info->portion;
	} else if (info->trouble != BGDMA_TROUBLE_PEER_DOWN) {
		module->troubles++;
		fprintf(stderr, "# %s, code %u, rank %u, operation %x\n",
			bgdma_strtrouble(info->trouble), info->code, info->rank,
			info->operation);
	}
}

static inline int module_open(struct module *module, struct bgdma_endpoint_attr attr)
{
	const struct test_operation ops[] = {
		{ "rts", on_rts, 0, &module->rts },
		{ "eager", on_eager, 0, &module->eager },
	};
	int ret;

	attr.trouble = on_trouble;
	attr.arg = module;
	ret = member_open(&module->m, &attr);
	if (!ret)
		ret = member_commit(&module->m, ops, 2, module);
	if (!ret)
		module->regions = regions_seen(module->m.ep);
	return ret;
}

static inline int until_count(struct module *module, struct count *count, uint64_t n)
{
	count->wanted = n;
	return member_until(&module->m, count_there, count);
}

/* The byte at an offset of a message. */
static inline uint8_t byte_of(uint32_t message, uint64_t at)
{
	return (uint8_t)(message * 31 + at + (at >> 8) * 7);
}

static inline void message_fill(uint8_t *to, uint64_t bytes, uint32_t message)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		to[i] = byte_of(message, i);
}

static inline bool message_is(const uint8_t *p, uint64_t bytes, uint32_t message)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		if (p[i] != byte_of(message, i))
			return false;
	return true;
}

static inline int announce(struct module *module, struct bgdma_rendezvous_attr attr)
{
	int ret;

	attr.operation = module->rts;
	attr.done = on_done;
	attr.arg = module;
	while ((ret = bgdma_rendezvous_send(module->m.ep, &attr)) == -EAGAIN)
		bgdma_endpoint_progress(module->m.ep, 0);
	return ret;
}

static inline int take(struct module *module, uint32_t i, struct bgdma_accept_attr attr)
{
	attr.done = on_done;
	attr.arg = module;
	return bgdma_rendezvous_accept(module->m.ep, &module->kept[i], &attr);
}

/* Message @i, when it is announced. */
static inline int take_next(struct module *module, uint32_t i,
			    struct bgdma_accept_attr attr)
{
	require_is(0, until_count(module, &module->announced, i + 1));
	return take(module, i, attr);
}

/*
 * The next message, of number @attr.word, from process 0 to process 1, which has
 * @room for it. Both have memory at @attr.data, for one byte more.
 */
static inline int message_cross(struct module *module,
				struct bgdma_rendezvous_attr attr,
				uint64_t room)
{
	uint64_t bytes = attr.length < room ? attr.length : room;
	uint32_t i = (uint32_t)attr.word;
	uint8_t *mem = attr.data;

	attr.dest = 1;
	if (module->m.rank == 0) {
		message_fill(mem, attr.length, i);
		require_is(0, announce(module, attr));
	} else {
		require_is(0, until_count(module, &module->announced, i + 1));
		memset(mem, 0xee, attr.length + 1);
		require_is(0, take(module, i, (struct bgdma_accept_attr){
				.length = room, .data = mem }));
	}
	require_is(0, until_count(module, &module->ended, i + 1));
	require_is(0, module->last);
	if (module->m.rank == 1) {
		require(message_is(mem, bytes, i));
		require(mem[bytes] == 0xee);
	}
	return 0;
}

/*
 * The same in packets: at process 1 @pieces is how many came, but for announcements,
 * of which the next may be there already.
 */
static inline int pieces_cross(struct module *module,
			       struct bgdma_rendezvous_attr attr, uint64_t room,
			       uint64_t *pieces)
{
	uint64_t announced = module->announced.is;
	struct bgdma_endpoint_stats before, after;

	attr.portions = BGDMA_PORTIONS_PACKETS;
	bgdma_endpoint_stats(module->m.ep, &before);
	require_is(0, message_cross(module, attr, room));
	bgdma_endpoint_stats(module->m.ep, &after);
	*pieces = after.packets - before.packets -
		  (module->announced.is - announced);
	return 0;
}

static inline uint32_t busy(struct module *module, unsigned int kind)
{
	struct bgdma_counter_stats stats;

	bgdma_counters_used(module->m.ep, kind, &stats);
	return stats.busy;
}

/* Nothing is on a counter of an endpoint, which are the first of its context. */
static inline int counters_empty(struct module *module, unsigned int kind)
{
	const struct bgdma_counter_view *v;
	struct bgdma_counter_stats stats;
	struct bgdma_counter *own;
	uint32_t slot;

	bgdma_counters_used(module->m.ep, kind, &stats);
	require_is(0, stats.busy);
	require_is(0, bgdma_counter_alloc(bgdma_endpoint_ctx(module->m.ep),
					  kind, &own));
	v = bgdma_counter_view(own);
	/*
	 * The first is shared: over a link what a message that failed had under way
	 * may still land on it, here be refused.
	 */
	require(links_used() ||
		until(bgdma_endpoint_progress(module->m.ep, 0) >= 0 &&
		      !load(&(v->cell - v->slot)->value)));
	for (slot = 1; slot < stats.counters; slot++)
		require_is(0, load(&(v->cell - v->slot + slot)->value));
	return bgdma_counter_free(own);
}

/* Counters are back and empty, and none of them has counted wrong. */
static inline int all_back(struct module *module)
{
	const struct bgdma_kern_ctl *kern =
		bgdma_ctx_view(bgdma_endpoint_ctx(module->m.ep))->kern;

	if (module->done.is == module->ended.is)
		require_is(0, kern->counter_error[BGDMA_RECEPTION][0]);
	require_is(0, counters_empty(module, BGDMA_INJECTION));
	require_is(0, counters_empty(module, BGDMA_RECEPTION));
	require_is(0, module->troubles);
	return 0;
}

/* The same, and there is no memory and no descriptor of any message. */
static inline int nothing_left(struct module *module)
{
	require_is(0, all_back(module));
	require_is(module->regions, regions_seen(module->m.ep));
	/* The last of them may wait for room, in a FIFO that we have to read. */
	require(until(bgdma_endpoint_progress(module->m.ep, 0) >= 0 &&
		      queued_seen(module->m.ep) == 0));
	return 0;
}

static inline int module_close(struct module *module)
{
	require_is(0, nothing_left(module));
	return member_close(&module->m);
}

/* Root may lock as much as he likes, and there is no limit that he has not. */
static inline int lock_nothing(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct caps[2];
	const struct rlimit none = { 0 };

	require_is(0, syscall(SYS_capget, &head, caps));
	caps[0].effective &= ~(1U << CAP_IPC_LOCK);
	require_is(0, syscall(SYS_capset, &head, caps));
	return setrlimit(RLIMIT_MEMLOCK, &none);
}

/* A message that crosses; 0 in flight: as it is by default. */
struct crossing {
	uint64_t bytes, portion, room;
	uint32_t in_flight;
};

/* All of a row, one after the other, over @mem; then leave. */
static inline int messages_cross(struct module *module,
				 const struct crossing *row, uint32_t n,
				 enum bgdma_portions portions, uint8_t *mem)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		require_is(0, message_cross(module,
				(struct bgdma_rendezvous_attr){ .word = i,
				.length = row[i].bytes, .data = mem,
				.portion = row[i].portion,
				.in_flight = row[i].in_flight,
				.portions = portions }, row[i].room));
	require_is(0, bgdma_job_fence(module->m.job));
	require_is(0, bgdma_endpoint_progress(module->m.ep, 0));
	require_is(n, module->done.is);
	return module_close(module);
}

/*
 * As the target of a chain, have the origin's engine run one of its descriptors, the
 * first is 0, before it is filled, or with @nonsense in its place.
 */
static inline int chain_meddle(struct module *module, uint32_t which,
			       const void *nonsense)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(module->m.ep);
	const struct bgdma_peer *self = bgdma_endpoint_peer(module->m.ep, 1);
	const struct bgdma_peer *origin = bgdma_endpoint_peer(module->m.ep, 0);
	const struct bgdma_rts *rts = &module->kept[0];
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_inj_fifo *fifo;
	struct bgdma_region *region;
	struct bgdma_desc *desc;

	require_is(0, bgdma_inj_create(ctx, NULL, &fifo));
	require_is(0, bgdma_region_alloc(ctx, 4096, BGDMA_LOCAL_READ, &region));
	desc = bgdma_region_addr(region);
	t.dest = self->node;
	t.dest_ctx = self->ctx;
	t.length = sizeof(*desc);
	t.from.region = rts->chain_region;
	t.from.offset = rts->chain_offset + which * sizeof(*desc);
	bgdma_desc_rget(desc, &t);
	if (nonsense) {
		memcpy(desc + 1, nonsense, sizeof(*desc));
		require_is(0, bgdma_put(fifo, &(struct bgdma_put_attr){
				.dest = origin->node, .dest_ctx = origin->ctx,
				.length = sizeof(*desc),
				.from = { region, sizeof(*desc) },
				.to = { t.from.region, t.from.offset } }));
	}
	require_is(0, bgdma_rget(fifo, &(struct bgdma_rget_attr){
			.dest = origin->node, .dest_ctx = origin->ctx,
			.queue = rts->queue, .count = 1,
			.from = { region, 0 } }));
	return 0;
}

#endif /* BGDMA_SELFTESTS_SYS_MODULE_H */
