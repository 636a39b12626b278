/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a hostile process of a job does: it speaks the language of the sys layer
 * by packets made by hand, and has the rights of a peer.
 */
#ifndef BGDMA_SELFTESTS_SYS_FORGE_H
#define BGDMA_SELFTESTS_SYS_FORGE_H

#include "../lib/sys/wire.h"
#include "sys_module.h"

#define CONTROL_FIFO	0	/* of every endpoint */
#define DATA_FIFO	1
#define CTS_QUEUE	0
#define FORGED_MAX	2048	/* bytes of a message */

/* An injection FIFO of its own, and memory for what it sends. */
struct forger {
	struct module *module;
	struct bgdma_inj_fifo *fifo;
	struct bgdma_region *region;
};

static inline int forger_open(struct forger *f, struct module *module)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(module->m.ep);
	int ret;

	f->module = module;
	ret = bgdma_inj_create(ctx, NULL, &f->fifo);
	return ret ? ret : bgdma_region_alloc(ctx, FORGED_MAX,
					      BGDMA_LOCAL_READ, &f->region);
}

static inline uint64_t forge_hash(uint64_t h, const char *text, size_t bytes)
{
	while (bytes--)
		h = (h ^ (unsigned char)*text++) * 0x100000001b3ULL;
	return h;
}

/* The identifier of a point to point operation comes from its names (DP-1). */
static inline uint32_t forge_id(const char *module, const char *name)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	h = forge_hash(h, module, strlen(module) + 1);
	h = forge_hash(h, name, strlen(name) + 1);
	h = forge_hash(h, "", 1);
	return (uint32_t)(h ^ h >> 32) & 0x7fffffff;
}

/* The word of a packet that names a message by the tokens of both sides. */
static inline uint64_t forge_word(uint32_t origin, uint32_t target)
{
	return (uint64_t)origin << 24 | target;
}

/* A packet of an operation, as a transfer to a process. */
static inline struct bgdma_transfer
forge_transfer(const struct forger *f, uint32_t rank, uint32_t id,
	       uint64_t word, uint32_t length)
{
	const struct bgdma_peer *to = bgdma_endpoint_peer(f->module->m.ep,
							  rank);
	struct bgdma_transfer t = bgdma__no_transfer();

	t.dest = to->node;
	t.dest_ctx = to->ctx;
	t.dest_fifo = CONTROL_FIFO;
	t.dispatch = (uint16_t)id;
	t.cookie = (uint64_t)(id >> 16) << BGDMA_WORD_BITS | word;
	t.length = length;
	return t;
}

/* All that was injected has left; 0 or -errno. */
static inline int forger_flush(struct forger *f)
{
	int ret = bgdma_inj_submit(f->fifo);

	return ret ? ret : bgdma_inj_wait(f->fifo, bgdma_inj_next(f->fifo),
					  BGDMA_SPIN_THEN_SLEEP,
					  (int64_t)PATIENCE_NS);
}

/* Send a packet, and wait until it is where it goes; 0 or -errno. */
static inline int forge(struct forger *f, uint32_t rank, uint16_t fifo,
			uint32_t id, uint64_t word, const void *data,
			uint32_t length)
{
	struct bgdma_transfer t = forge_transfer(f, rank, id, word, length);
	struct bgdma_desc *desc = bgdma_inj_reserve(f->fifo);

	if (!desc)
		return -ENOBUFS;
	t.dest_fifo = fifo;
	t.from.region = bgdma_region_handle(f->region);
	memcpy(bgdma_region_addr(f->region), data, length);
	bgdma_desc_memfifo(desc, &t);
	return forger_flush(f);
}

/* Have the engine of the process run descriptors that are in the region. */
static inline int forge_run(struct forger *f, uint32_t rank, uint32_t count)
{
	struct bgdma_transfer t = forge_transfer(f, rank, 0, 0,
						 count * sizeof(struct bgdma_desc));
	struct bgdma_desc *desc = bgdma_inj_reserve(f->fifo);

	if (!desc)
		return -ENOBUFS;
	t.dest_fifo = CTS_QUEUE;
	t.from.region = bgdma_region_handle(f->region);
	bgdma_desc_rget(desc, &t);
	return forger_flush(f);
}

static inline bool eager_there(void *arg)
{
	return ((struct module *)arg)->eager_word;
}

/* Have the engine of the process make the packet, and tell that it has. */
static inline int forge_there(struct forger *f, uint32_t rank, uint32_t id,
			      uint64_t word, const void *data, uint32_t length)
{
	struct bgdma_transfer t = forge_transfer(f, rank, id, word, length);
	struct bgdma_desc *desc = bgdma_region_addr(f->region);
	struct module *module = f->module;
	int ret;

	bgdma_desc_local_memfifo(&desc[0], &t);
	bgdma_desc_inline(&desc[0], data, length);
	t = forge_transfer(f, module->m.rank, module->eager, 1, 0);
	t.dest_fifo = DATA_FIFO;
	bgdma_desc_memfifo(&desc[1], &t);
	bgdma_desc_inline(&desc[1], NULL, 0);
	module->eager_word = 0;
	ret = forge_run(f, rank, 2);
	return ret ? ret : member_until(&module->m, eager_there, module);
}

#endif /* BGDMA_SELFTESTS_SYS_FORGE_H */
