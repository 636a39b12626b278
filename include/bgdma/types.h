/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Handles, and the ring views behind them.
 *
 * A handle is opaque: its structure belongs to the library. It begins with a
 * view, the pointers and cached indices that the inline data path needs; the
 * bgdma_*_view() functions get there. A view only ever grows at its end, so a
 * program that was built with an older header goes on working. Programs use
 * the functions, not the members.
 */
#ifndef BGDMA_TYPES_H
#define BGDMA_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/bgdma.h>

#ifdef __cplusplus
#define BGDMA_BEGIN_DECLS	extern "C" {
#define BGDMA_END_DECLS		}
#else
#define BGDMA_BEGIN_DECLS
#define BGDMA_END_DECLS
#endif

#define BGDMA_API	__attribute__((visibility("default")))

/*
 * The data path. Left to itself gcc -O2 keeps the larger of these out of line
 * and passes their structures through memory: 70 instructions a message.
 */
#define BGDMA_INLINE	static inline __attribute__((always_inline))

/* One process's share of a node: an open and attached /dev/bgdma. */
struct bgdma_ctx;
/* Memory that descriptors can name. */
struct bgdma_region;
/* A byte counter (DMA-4). */
struct bgdma_counter;
/* A ring of descriptors, which the engine executes in order (DMA-2). */
struct bgdma_inj_fifo;
/* A ring of packets that memory FIFO messages land in (DMA-3). */
struct bgdma_rec_fifo;
/* A queue in the kernel that peers inject descriptors into (DMA-1). */
struct bgdma_rget_queue;

struct bgdma_ctx_view {
	struct bgdma_user_ctl *user;
	const struct bgdma_kern_ctl *kern;
	int fd;
};

struct bgdma_region_view {
	void *addr;
	uint64_t length;
	uint32_t handle;
};

struct bgdma_counter_view {
	struct bgdma_counter_cell *cell;
	__u64 *hit;			/* the words that @bit is in */
	__u64 *enable;
	const __u64 *error;
	__u64 bit;
	struct bgdma_ctx *ctx;
	uint32_t kind;			/* BGDMA_KIND_INJ_COUNTER or _REC_ */
	uint32_t slot;
	uint32_t moved;			/* by us, since we cleared the hit bit */
};

struct bgdma_inj_view {
	struct bgdma_desc *ring;
	uint64_t mask;			/* entries - 1 */
	uint64_t tail;			/* reserved so far */
	uint64_t head;			/* as last seen */
	struct bgdma_inj_user *user;
	const struct bgdma_inj_kern *kern;
	__u64 *doorbell;		/* the word that @bit is in */
	__u64 bit;
	const __u32 *wake;
	struct bgdma_ctx *ctx;
	uint32_t id;
};

struct bgdma_rec_view {
	const uint8_t *ring;
	uint64_t mask;			/* bytes - 1 */
	uint64_t cursor;		/* next packet to look at */
	uint64_t tail;			/* as last seen */
	uint64_t released;		/* head as last stored */
	uint64_t marked;		/* marked packets before @cursor */
	struct bgdma_rec_user *user;
	const struct bgdma_rec_kern *kern;
	__u64 *doorbell;
	__u64 bit;
	const __u32 *wake;
	struct bgdma_ctx *ctx;
	uint32_t id;
};

static inline const struct bgdma_ctx_view *
bgdma_ctx_view(const struct bgdma_ctx *ctx)
{
	return (const struct bgdma_ctx_view *)(const void *)ctx;
}

static inline const struct bgdma_region_view *
bgdma_region_view(const struct bgdma_region *region)
{
	return (const struct bgdma_region_view *)(const void *)region;
}

static inline const struct bgdma_counter_view *
bgdma_counter_view(const struct bgdma_counter *counter)
{
	return (const struct bgdma_counter_view *)(const void *)counter;
}

/* What is of the handle, and not in the mapped pages. */
static inline uint32_t *bgdma__counter_moved(struct bgdma_counter *counter)
{
	return &((struct bgdma_counter_view *)(void *)counter)->moved;
}

static inline struct bgdma_inj_view *
bgdma_inj_view(struct bgdma_inj_fifo *fifo)
{
	return (struct bgdma_inj_view *)(void *)fifo;
}

static inline struct bgdma_rec_view *
bgdma_rec_view(struct bgdma_rec_fifo *fifo)
{
	return (struct bgdma_rec_view *)(void *)fifo;
}

#endif /* BGDMA_TYPES_H */
