// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Windows: memory with a gate, and what each process knows of the others' part.
 * They are made in the same order everywhere, so a number names them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asm/byteorder.h>

#include "internal.h"

/* The word of a packet: number, kind and detail. */
#define NUMBER_SHIFT	16
#define KIND_SHIFT	8
#define DETAIL_MASK	0xffU


/* ---- Packets ----------------------------------------------------------- */

static bool is_down(void *arg)
{
	const struct rma_peer *peer = arg;

	return peer->down;
}

int window_send_counted(struct bgdma_window *window, uint32_t dest,
			unsigned int kind, unsigned int detail,
			const void *data, size_t length,
			struct bgdma_counter *counter)
{
	struct bgdma_rma *rma = window->rma;
	const struct bgdma_send_attr send = {
		.operation = rma->operation, .dest = dest,
		.word = (uint64_t)window->number << NUMBER_SHIFT |
			(uint64_t)kind << KIND_SHIFT | detail,
		.data = data, .length = length, .counter = counter,
	};
	int ret;

	while ((ret = bgdma_endpoint_send(rma->ep, &send)) == -EAGAIN) {
		ret = bgdma_endpoint_wait(rma->ep, -1);
		if (ret && ret != -EINTR)
			break;
	}
	/* Whoever hears of that may give his memory back. */
	if (ret == -EHOSTDOWN)
		(void)rma_wait(rma, is_down, &rma->peer[dest]);
	return ret;
}

int window_send(struct bgdma_window *window, uint32_t dest, unsigned int kind,
		unsigned int detail, const void *data, size_t length)
{
	return window_send_counted(window, dest, kind, detail, data, length,
				   NULL);
}

static struct bgdma_window *window_find(struct bgdma_rma *rma, uint64_t number)
{
	struct bgdma_window *window;

	for (window = rma->windows; window; window = window->next)
		if (window->number == number)
			return window;
	return NULL;
}

static void window_dealloc(struct bgdma_window *window)
{
	free(window->grant);
	free(window->peer);
	free(window);
}

static struct bgdma_window *window_alloc(const struct bgdma_rma *rma)
{
	struct bgdma_window *window = calloc(1, sizeof(*window));

	if (!window)
		return NULL;
	window->peer = calloc(rma->size, sizeof(*window->peer));
	window->grant = calloc(rma->size, sizeof(*window->grant));
	if (!window->peer || !window->grant) {
		window_dealloc(window);
		return NULL;
	}
	return window;
}

int window_keep(struct bgdma_rma *rma)
{
	rma->kept[0] = window_alloc(rma);
	rma->kept[1] = window_alloc(rma);
	return rma->kept[0] && rma->kept[1] ? 0 : -ENOMEM;
}

void window_unkeep(struct bgdma_rma *rma)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (rma->kept[i])
			window_dealloc(rma->kept[i]);
		rma->kept[i] = NULL;
	}
}

static bool is_kept(const struct bgdma_window *window)
{
	return window == window->rma->kept[0] || window == window->rma->kept[1];
}

/* It is for another one, too. */
static void kept_clear(struct bgdma_window *kept)
{
	uint32_t size = kept->rma->size;

	memset(kept->peer, 0, size * sizeof(*kept->peer));
	memset(kept->grant, 0, size * sizeof(*kept->grant));
	*kept = (struct bgdma_window){ .peer = kept->peer, .grant = kept->grant };
}

static struct bgdma_window *window_link(struct bgdma_window *window,
					struct bgdma_rma *rma, uint32_t number)
{
	window->rma = rma;
	window->number = number;
	window->trap = -1;
	window->next = rma->windows;
	rma->windows = window;
	return window;
}

/*
 * Who has no memory for a window meets the others all the same, who wait for its part:
 * with one of those that are kept. Nobody is ahead by more than one, so that each of the
 * two is free again when it is wanted.
 */
static struct bgdma_window *window_new(struct bgdma_rma *rma, uint32_t number)
{
	struct bgdma_window *window = window_alloc(rma);

	return window_link(window ? window : rma->kept[number % 2], rma,
			   number);
}

#define ERRNOS		4096	/* so many, as results of calls */

static int on_part(struct bgdma_window *window, uint32_t rank,
		   const struct bgdma_packet *packet)
{
	struct window_peer *peer = &window->peer[rank];
	struct part_wire wire;

	if (packet->bytes != sizeof(wire) || peer->told)
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	if (__le32_to_cpu(wire.status) >= ERRNOS ||
	    __le16_to_cpu(wire.dynamic) > 1)
		return -EBADMSG;
	peer->told = true;
	peer->status = -(int)__le32_to_cpu(wire.status);
	peer->region = __le32_to_cpu(wire.region);
	peer->unit = __le32_to_cpu(wire.unit);
	peer->length = __le64_to_cpu(wire.length);
	peer->queue = __le16_to_cpu(wire.queue);
	peer->dynamic = __le16_to_cpu(wire.dynamic);
	return 0;
}

int on_window(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_rma *rma = arg;
	uint64_t word = bgdma_packet_word(packet);
	uint64_t number = word >> NUMBER_SHIFT;
	unsigned int kind = word >> KIND_SHIFT & 0xff;
	unsigned int detail = word & DETAIL_MASK;
	struct bgdma_window *window = window_find(rma, number);

	if (packet->flags & BGDMA_PACKET_ERROR)
		return 0;
	/* Others may be faster than we, by one window. */
	if (!window && kind == PACKET_PART && number == rma->created)
		window = window_new(rma, (uint32_t)number);
	/* Late for one that is not any more, or never was: others may not know yet. */
	if (!window)
		return number < rma->created && kind < PACKET_KINDS ?
		       0 : -EBADMSG;
	switch (kind) {
	case PACKET_PART:
		return on_part(window, rank, packet);
	case PACKET_BARRIER:
		if (!barrier_is_from(window, detail & ~BARRIER_BROKEN, rank))
			return -EBADMSG;
		barrier_arrived(window, detail & ~BARRIER_BROKEN,
				detail & BARRIER_BROKEN);
		return 0;
	case PACKET_POST:
		window->peer[rank].posts++;
		return 0;
	case PACKET_COMPLETE:
		window->peer[rank].completes++;
		return 0;
	case PACKET_ATTACH:
		return on_attach(window, rank, packet);
	case PACKET_GONE:
		window->peer[rank].gone = true;
		return 0;
	default:
		return -EBADMSG;
	}
}

/* ---- The own part ------------------------------------------------------ */

/*
 * As many as the engine lets each process have, so that none finds it full because
 * of others; but in a job that is too large for that.
 */
uint32_t window_epochs(const struct bgdma_rma *rma)
{
	uint64_t all = (uint64_t)rma->size * BGDMA_EPOCHS_EACH;

	return all < BGDMA_EPOCHS_MAX ? (uint32_t)all : BGDMA_EPOCHS_MAX;
}

/* Who has no memory still has a gate, of a page. */
static int region_create(struct bgdma_window *window)
{
	const struct bgdma_window_attr *a = &window->attr;
	const uint32_t rights = BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE;
	struct bgdma_ctx *ctx = window->rma->ctx;

	if (a->addr && a->length && !a->dynamic)
		return bgdma_region_register(ctx, a->addr, a->length, rights,
					     &window->region);
	return bgdma_region_alloc(ctx, a->length ? a->length : 1, rights,
				  &window->region);
}

int rma_expose(struct bgdma_rma *rma, struct bgdma_region *region,
	       uint32_t rights, uint32_t *grant)
{
	struct bgdma_grant_attr to = { .rights = rights };
	const struct bgdma_peer *at;
	uint32_t i;
	int ret = 0;

	if (rma->size > BGDMA_GRANTS_MAX)
		return bgdma_endpoint_expose(rma->ep, region, rights);
	for (i = 0; !ret && i < rma->size; i++) {
		if (rma->peer[i].lost)
			continue;
		at = bgdma_endpoint_peer(rma->ep, i);
		to.rank = at->node;
		to.ctx = at->ctx;
		to.incarnation = at->incarnation;
		ret = bgdma_region_grant(region, &to, &grant[i]);
	}
	return ret;
}

#define SHUT_BUDGET	4	/* rights in one progress: the engine is waited for */

static int grant_end(struct bgdma_rma *rma, uint32_t *grant)
{
	if (!grant || !*grant)
		return 0;
	(void)bgdma_revoke(rma->ctx, *grant);
	*grant = 0;
	return 1;
}

/* As many as may be; fewer: there is no more. */
static int peer_shut(struct bgdma_rma *rma, uint32_t rank, int most)
{
	struct bgdma_window *window;
	struct attached *a;
	int n = 0;

	for (window = rma->windows; window; window = window->next) {
		a = window->peer[rma->rank].attached;
		for (; n < most && a; a = a->next)
			n += grant_end(rma, a->grant ? &a->grant[rank] : NULL);
		if (n == most)
			break;
		if (!grant_end(rma, &window->grant[rank]))
			continue;
		n++;
		/* Nobody tells of the end of what was begun there. */
		trap_event(window, NULL, rank);
	}
	return n;
}

/* Who waits for it is told when nothing of it comes any more. */
int windows_shut(struct bgdma_rma *rma)
{
	struct rma_peer *peer;
	int n = 0;

	for (peer = rma->peer; peer < rma->peer + rma->size; peer++) {
		if (!peer->lost || peer->down)
			continue;
		n += peer_shut(rma, (uint32_t)(peer - rma->peer),
			       SHUT_BUDGET - n);
		if (n >= SHUT_BUDGET)
			break;
		peer->down = peer->lost;
		rma->shutting--;
	}
	/* Some are told, or there is more to do. */
	return n + 1;
}

static int part_create(struct bgdma_window *window)
{
	struct bgdma_window_attr *a = &window->attr;
	struct bgdma_rma *rma = window->rma;
	int ret;

	if (!a->unit)
		a->unit = 1;
	if (a->trap > BGDMA_TRAP_ALL || (a->dynamic && (a->length || a->trap)))
		return -EINVAL;
	ret = region_create(window);
	if (!ret && a->trap)
		ret = trap_create(window);
	if (!ret)
		ret = bgdma_gate_create(window->region, window_epochs(rma),
					a->trap ? BGDMA_GATE_ASK : 0);
	if (!ret)
		ret = rma_expose(rma, window->region, BGDMA_RIGHT_READ |
				 BGDMA_RIGHT_WRITE | BGDMA_RIGHT_ATOMIC |
				 BGDMA_RIGHT_EPOCH, window->grant);
	return ret;
}

static int queue_open(struct bgdma_rma *rma)
{
	int ret;

	if (rma->open)
		return 0;
	ret = bgdma_endpoint_grant(rma->ep, BGDMA_KIND_RGET_QUEUE,
				   bgdma_rgq_id(rma->queue), 1, 0);
	rma->open = !ret;
	return ret;
}

/* ---- Meeting ----------------------------------------------------------- */

static int parts_send(struct bgdma_window *window, int status)
{
	const struct bgdma_rma *rma = window->rma;
	const struct bgdma_window_attr *a = &window->attr;
	const struct part_wire wire = {
		.status = __cpu_to_le32((uint32_t)-status),
		.region = __cpu_to_le32(window->region ?
				bgdma_region_handle(window->region) : 0),
		.unit = __cpu_to_le32(a->unit),
		.queue = __cpu_to_le16(bgdma_rgq_id(rma->queue)),
		.dynamic = __cpu_to_le16(a->dynamic),
		.length = __cpu_to_le64(a->length),
	};
	uint32_t i;
	int ret, first = 0;

	/* Whoever lives hears of it, whatever has become of the others. */
	for (i = 0; i < rma->size; i++) {
		ret = window_send(window, i, PACKET_PART, 0, &wire,
				  sizeof(wire));
		if (ret && !first)
			first = ret;
	}
	return first;
}

static bool parts_there(void *arg)
{
	const struct bgdma_window *window = arg;
	uint32_t i;

	for (i = 0; i < window->rma->size; i++)
		if (!window->peer[i].told && !window->rma->peer[i].down)
			return false;
	return true;
}

/* What all say together: the same everywhere, unless somebody died. */
static int parts_status(const struct bgdma_window *window)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < window->rma->size; i++) {
		if (!window->peer[i].told)
			return -EHOSTDOWN;
		if (!ret)
			ret = window->peer[i].status;
	}
	for (i = 0; !ret && i < window->rma->size; i++)
		if (window->peer[i].dynamic != window->peer[0].dynamic)
			ret = -EINVAL;
	return ret;
}

static struct bgdma_window *window_own(struct bgdma_rma *rma, int *status)
{
	struct bgdma_window *window;

	rma_lock(rma);
	window = window_find(rma, rma->created);
	if (!window)
		window = window_new(rma, rma->created);
	if (is_kept(window))
		*status = -ENOMEM;
	window->created = true;
	rma->created++;
	rma_unlock(rma);
	return window;
}

int bgdma_window_create_sized(struct bgdma_rma *rma,
			      const struct bgdma_window_attr *attr, size_t size,
			      struct bgdma_window **windowp)
{
	struct bgdma_window_attr own;
	struct bgdma_window *window;
	int ret, sent, status;

	if (!bgdma_endpoint_peer(rma->ep, 0))
		return -ENOTCONN;
	status = attr_copy(&own, sizeof(own), attr, size);
	window = window_own(rma, &status);
	if (!status) {
		window->attr = own;
		status = queue_open(rma);
	}
	if (!status)
		status = part_create(window);
	sent = parts_send(window, status);
	ret = sent;
	/* Else the next part of ours could come to one who is not at this window yet. */
	if (!sent || sent == -EHOSTDOWN)
		ret = rma_wait(rma, parts_there, window);
	if (!ret)
		ret = sent ? sent : parts_status(window);
	if (ret) {
		/* For others it may be made, if somebody died within this. */
		window_refuse(window);
		rma_lock(rma);
		window_drop(window, true);
		rma_unlock(rma);
		return ret;
	}
	*windowp = window;
	return 0;
}

/* ---- The end ----------------------------------------------------------- */

void window_drop(struct bgdma_window *window, bool regions)
{
	struct bgdma_window **link = &window->rma->windows;
	struct bgdma_rma_epoch *e;
	uint32_t i;

	while (*link != window)
		link = &(*link)->next;
	*link = window->next;
	/* The driver's has gone with the context, the caller's has not. */
	trap_destroy(window, regions || window->attr.addr);
	for (i = 0; i < window->rma->size; i++)
		attached_free(window->peer[i].attached, regions);
	attached_free(window->untold, false);
	if (regions)
		(void)bgdma_region_free(window->region);
	while ((e = window->open)) {
		window->open = e->next;
		free(e);
	}
	free(window->exposed);
	if (is_kept(window))
		kept_clear(window);
	else
		window_dealloc(window);
}

int bgdma_window_free(struct bgdma_window *window)
{
	struct bgdma_rma *rma;
	bool open;
	int ret;

	if (!window)
		return 0;
	rma = window->rma;
	rma_lock(rma);
	open = window->open || window->posted;
	rma_unlock(rma);
	if (open)
		return -EBUSY;
	ret = window_barrier(window);
	rma_lock(rma);
	window_drop(window, true);
	rma_unlock(rma);
	return ret;
}

/* ---- Looking ----------------------------------------------------------- */

struct bgdma_window *window_of_region(struct bgdma_rma *rma, uint32_t handle)
{
	struct bgdma_window *window;

	for (window = rma->windows; window; window = window->next)
		if (window->region &&
		    bgdma_region_handle(window->region) == handle)
			return window;
	return NULL;
}

void *bgdma_window_addr(const struct bgdma_window *window)
{
	return bgdma_region_addr(window->region);
}

struct bgdma_region *bgdma_window_region(const struct bgdma_window *window)
{
	return window->region;
}

uint64_t bgdma_window_length(const struct bgdma_window *window, uint32_t rank)
{
	return rank < window->rma->size ? window->peer[rank].length : 0;
}
