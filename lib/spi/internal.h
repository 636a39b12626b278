/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the spi layer share. Each handle begins with its view,
 * see <bgdma/types.h>, and is linked into its context, which frees whatever
 * is left at detach.
 */
#ifndef BGDMA_SPI_INTERNAL_H
#define BGDMA_SPI_INTERNAL_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include <liburing.h>

#include <bgdma/spi.h>

#include "../attr.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/*
 * An object of a context, at the same place in each kind of handle's memory.
 * @map: what its own munmap() must undo, or NULL
 */
struct object {
	struct object *next;
	struct object **link;
	struct bgdma_ctx *ctx;
	void *memory;
	void *map;
	size_t map_bytes;
};

struct bgdma_ctx {
	struct bgdma_ctx_view view;
	struct bgdma_ctx_info info;
	struct bgdma_attach uapi;		/* as the kernel returned it */
	void *area[BGDMA_AREA_COUNT];
	pid_t owner;				/* others only inherited it */
	uint32_t spin_ns;
	bool unrung;				/* a doorbell failed since */

	pthread_mutex_t lock;			/* protects @objects */
	struct object *objects;

	const struct bgdma_event *events;
	uint64_t events_mask;

	pthread_mutex_t ring_lock;		/* protects what follows */
	enum { RING_NONE, RING_READY, RING_BROKEN } ring_state;
	struct io_uring ring;
};

struct bgdma_region {
	struct bgdma_region_view view;
	struct object object;
};

struct bgdma_counter {
	struct bgdma_counter_view view;
	struct object object;
	const struct bgdma_record *record;
};

struct bgdma_inj_fifo {
	struct bgdma_inj_view view;
	struct object object;
	const struct bgdma_record *record;
};

struct bgdma_rec_fifo {
	struct bgdma_rec_view view;
	struct object object;
	const struct bgdma_record *record;
};

struct bgdma_rget_queue {
	uint32_t id;
	struct object object;
	const struct bgdma_record *record;
};

/* context.c */

/* ioctl() with a negative errno. */
int ctx_ioctl(const struct bgdma_ctx *ctx, unsigned long request, void *arg);

/* Map an area, or NULL with *@error set. */
void *ctx_map(const struct bgdma_ctx *ctx, const struct bgdma_area *area,
	      int prot, int *error);

/* Link an object that is allocated as @memory into its context, or free it. */
void object_init(struct object *object, struct bgdma_ctx *ctx, void *memory,
		 void *map, size_t map_bytes);
void object_unmap(struct object *object);
void object_free(struct object *object);

/* BGDMA_IOC_FIFO_DESTROY, _CLEAR_ERROR and _EVENT_BIND */
int ctx_fifo_destroy(struct bgdma_ctx *ctx, uint32_t kind, uint32_t id);

/* Map the ring of a FIFO that was just created, or destroy it: 0 or -errno. */
int ctx_fifo_map(struct bgdma_ctx *ctx, uint32_t kind, uint32_t id,
		 const struct bgdma_area *area, void **ring);
/* Unmap, destroy and free a FIFO. */
int ctx_fifo_end(struct object *object, uint32_t kind, uint32_t id);

int ctx_clear_error(struct bgdma_ctx *ctx, uint32_t kind, uint32_t object,
		    unsigned int flags);
int ctx_eventfd(struct bgdma_ctx *ctx, uint32_t kind, uint32_t object,
		int eventfd);

/* Record number @index of those at byte @offset of the records' area. */
const struct bgdma_record *ctx_record(const struct bgdma_ctx *ctx,
				      uint32_t offset, uint32_t index);

/* Copy a record, if it holds an error; returns its code. */
int record_read(const struct bgdma_record *record, struct bgdma_record *to);

/* wait.c */

/* Something that a wait is for, and how to see without the kernel if it is. */
struct waiter {
	struct bgdma_ctx *ctx;
	bool (*there)(void *arg);
	void *arg;
	struct bgdma_condition condition;
};

int wait_until(const struct waiter *waiter, enum bgdma_wait_mode mode,
	       int64_t timeout_ns);

#endif /* BGDMA_SPI_INTERNAL_H */
