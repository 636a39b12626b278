// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Contexts: the file, its control pages, and the list of what belongs to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doorbell.h"
#include "internal.h"

#define SPIN_NS_DEFAULT		20000
#define EVENTS_DEFAULT		64

static const int area_prot[BGDMA_AREA_COUNT] = {
	[BGDMA_AREA_USER_CTL]	= PROT_READ | PROT_WRITE,
	[BGDMA_AREA_KERN_CTL]	= PROT_READ,
	[BGDMA_AREA_COUNTERS]	= PROT_READ | PROT_WRITE,
	[BGDMA_AREA_RECORDS]	= PROT_READ,
	[BGDMA_AREA_EVENTS]	= PROT_READ,
};

int attr_copy(void *attr, size_t known, const void *from, size_t size)
{
	const unsigned char *byte = from;
	size_t i;

	memset(attr, 0, known);
	if (!from)
		return 0;
	for (i = known; i < size; i++)
		if (byte[i])
			return -E2BIG;
	memcpy(attr, from, size < known ? size : known);
	return 0;
}

int ctx_ioctl(const struct bgdma_ctx *ctx, unsigned long request, void *arg)
{
	int ret = ioctl(ctx->view.fd, request, arg);

	return ret < 0 ? -errno : ret;
}

void *ctx_map(const struct bgdma_ctx *ctx, const struct bgdma_area *area,
	      int prot, int *error)
{
	void *map;

	if (area->bytes > SIZE_MAX) {
		*error = -ENOMEM;
		return NULL;
	}
	map = mmap(NULL, (size_t)area->bytes, prot, MAP_SHARED, ctx->view.fd,
		   (off_t)area->offset);
	if (map == MAP_FAILED) {
		*error = -errno;
		return NULL;
	}
	return map;
}

/* Pages are not inherited by fork: a child must not unmap what it never had. */
static bool ctx_inherited(const struct bgdma_ctx *ctx)
{
	return getpid() != ctx->owner;
}

void object_init(struct object *object, struct bgdma_ctx *ctx, void *memory,
		 void *map, size_t map_bytes)
{
	object->ctx = ctx;
	object->memory = memory;
	object->map = map;
	object->map_bytes = map_bytes;

	pthread_mutex_lock(&ctx->lock);
	object->next = ctx->objects;
	object->link = &ctx->objects;
	if (object->next)
		object->next->link = &object->next;
	ctx->objects = object;
	pthread_mutex_unlock(&ctx->lock);
}

void object_unmap(struct object *object)
{
	if (object->map && !ctx_inherited(object->ctx))
		munmap(object->map, object->map_bytes);
	object->map = NULL;
}

void object_free(struct object *object)
{
	struct bgdma_ctx *ctx = object->ctx;

	pthread_mutex_lock(&ctx->lock);
	*object->link = object->next;
	if (object->next)
		object->next->link = object->link;
	pthread_mutex_unlock(&ctx->lock);
	object_unmap(object);
	free(object->memory);
}

static int ctx_open(void)
{
	int fd = open(BGDMA_DEVICE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int ctx_map_areas(struct bgdma_ctx *ctx)
{
	int i, error = 0;

	for (i = 0; i < BGDMA_AREA_COUNT; i++) {
		ctx->area[i] = ctx_map(ctx, &ctx->uapi.areas[i], area_prot[i],
				       &error);
		if (!ctx->area[i])
			return error;
	}
	ctx->view.user = ctx->area[BGDMA_AREA_USER_CTL];
	ctx->view.kern = ctx->area[BGDMA_AREA_KERN_CTL];
	ctx->events = ctx->area[BGDMA_AREA_EVENTS];
	ctx->events_mask = ctx->uapi.events - 1;
	return 0;
}

static int ctx_do_attach(struct bgdma_ctx *ctx,
			 const struct bgdma_attach_attr *attr)
{
	struct bgdma_attach *uapi = &ctx->uapi;
	int ret;

	uapi->size = sizeof(*uapi);
	snprintf(uapi->partition, sizeof(uapi->partition), "%s",
		 attr->partition);
	uapi->flags = attr->watch ? BGDMA_ATTACH_WATCH : 0;
	uapi->rank = attr->rank;
	uapi->ctx = attr->fixed_ctx ? attr->ctx : BGDMA_CTX_ANY;
	uapi->inj_fifos = attr->inj_fifos;
	uapi->rec_fifos = attr->rec_fifos;
	uapi->rget_queues = attr->rget_queues;
	uapi->inj_counters = attr->inj_counters;
	uapi->rec_counters = attr->rec_counters;
	uapi->events = attr->events ? attr->events : EVENTS_DEFAULT;
	ret = ctx_ioctl(ctx, BGDMA_IOC_ATTACH, uapi);
	if (ret)
		return ret;

	memcpy(ctx->info.partition, uapi->partition,
	       sizeof(ctx->info.partition));
	ctx->info.rank = uapi->rank;
	ctx->info.ctx = uapi->ctx;
	ctx->info.incarnation = uapi->incarnation;
	memcpy(ctx->info.dims, uapi->dims, sizeof(ctx->info.dims));
	ctx->info.torus = uapi->torus;
	ctx->spin_ns = attr->spin_ns ? attr->spin_ns : SPIN_NS_DEFAULT;
	return ctx_map_areas(ctx);
}

int bgdma_attach_sized(struct bgdma_ctx **ctxp,
		       const struct bgdma_attach_attr *attr, size_t size)
{
	struct bgdma_attach_attr a;
	struct bgdma_ctx *ctx;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	if (!a.partition)
		return -EINVAL;
	if (strlen(a.partition) >= BGDMA_NAME_MAX)
		return -ENAMETOOLONG;

	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->owner = getpid();
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->ring_lock, NULL);

	ctx->view.fd = ctx_open();
	ret = ctx->view.fd < 0 ? ctx->view.fd : ctx_do_attach(ctx, &a);
	if (ret) {
		bgdma_detach(ctx);
		return ret;
	}
	*ctxp = ctx;
	return 0;
}

void bgdma_detach(struct bgdma_ctx *ctx)
{
	struct object *object, *next;
	int i;

	if (!ctx)
		return;
	for (object = ctx->objects; object; object = next) {
		next = object->next;
		object_unmap(object);
		free(object->memory);
	}
	if (ctx->ring_state == RING_READY)
		io_uring_queue_exit(&ctx->ring);
	for (i = 0; i < BGDMA_AREA_COUNT; i++)
		if (ctx->area[i] && !ctx_inherited(ctx))
			munmap(ctx->area[i], (size_t)ctx->uapi.areas[i].bytes);
	if (ctx->view.fd >= 0)
		close(ctx->view.fd);
	pthread_mutex_destroy(&ctx->ring_lock);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

const struct bgdma_ctx_info *bgdma_ctx_info(const struct bgdma_ctx *ctx)
{
	return &ctx->info;
}

uint32_t bgdma_ctx_rank(const struct bgdma_ctx *ctx)
{
	return ctx->info.rank;
}

int bgdma_query_sized(struct bgdma_query *query, size_t size)
{
	int ret, fd = ctx_open();

	if (fd < 0)
		return fd;
	memset(query, 0, size);
	query->size = (__u32)size;
	ret = ioctl(fd, BGDMA_IOC_QUERY, query) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int bgdma_doorbell(struct bgdma_ctx *ctx, unsigned int flags)
{
	/* On the way of every message: without ioctl()'s variable arguments. */
	long ret = syscall(SYS_ioctl, ctx->view.fd, BGDMA_IOC_DOORBELL,
			   (unsigned long)flags);

	if (bgdma_likely(!ret))
		return 0;
	bgdma_store_relaxed(&ctx->unrung, true);
	return -errno;
}

int ctx_ring_again(struct bgdma_ctx *ctx)
{
	if (bgdma_likely(!bgdma_load_relaxed(&ctx->unrung)))
		return 0;
	bgdma_store_relaxed(&ctx->unrung, false);
	return bgdma_doorbell(ctx, 0);
}

int ctx_fifo_destroy(struct bgdma_ctx *ctx, uint32_t kind, uint32_t id)
{
	struct bgdma_fifo_destroy destroy = {
		.size = sizeof(destroy), .kind = kind, .id = id,
	};

	return ctx_ioctl(ctx, BGDMA_IOC_FIFO_DESTROY, &destroy);
}

int ctx_fifo_map(struct bgdma_ctx *ctx, uint32_t kind, uint32_t id,
		 const struct bgdma_area *area, void **ring)
{
	/* Only software writes an injection FIFO, only the engine the other. */
	bool written = kind == BGDMA_KIND_INJ_FIFO;
	int ret = 0;

	*ring = ctx_map(ctx, area, PROT_READ | (written ? PROT_WRITE : 0),
			&ret);
	if (!*ring)
		ctx_fifo_destroy(ctx, kind, id);
	return ret;
}

int ctx_fifo_end(struct object *object, uint32_t kind, uint32_t id)
{
	int ret;

	object_unmap(object);
	ret = ctx_fifo_destroy(object->ctx, kind, id);
	object_free(object);
	return ret;
}

int ctx_clear_error(struct bgdma_ctx *ctx, uint32_t kind, uint32_t object,
		    unsigned int flags)
{
	struct bgdma_clear_error clear = {
		.size = sizeof(clear), .flags = flags,
		.kind = kind, .object = object,
	};

	return ctx_ioctl(ctx, BGDMA_IOC_CLEAR_ERROR, &clear);
}

int ctx_eventfd(struct bgdma_ctx *ctx, uint32_t kind, uint32_t object,
		int eventfd)
{
	struct bgdma_event_bind bind = {
		.size = sizeof(bind), .kind = kind, .object = object,
		.eventfd = eventfd,
	};

	return ctx_ioctl(ctx, BGDMA_IOC_EVENT_BIND, &bind);
}

const struct bgdma_record *ctx_record(const struct bgdma_ctx *ctx,
				      uint32_t offset, uint32_t index)
{
	const char *records = ctx->area[BGDMA_AREA_RECORDS];

	return (const struct bgdma_record *)(const void *)(records + offset) +
	       index;
}

/*
 * Another thread may clear the record, and the next error, which can have the
 * same code, fill it meanwhile. A copy that is still there after a look at the
 * code is what was there at that look. tools/models/record.pml
 */
int record_read(const struct bgdma_record *record, struct bgdma_record *to)
{
	struct bgdma_record copy;
	uint32_t code;

	do {
		copy = *record;
		bgdma_full_barrier();
		code = bgdma_load_acquire(&record->code);
	} while (memcmp(&copy, record, sizeof(copy)) != 0);

	if (!code)
		memset(&copy, 0, sizeof(copy));
	copy.code = code;
	if (to)
		*to = copy;
	return (int)code;
}
