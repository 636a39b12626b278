// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Tagged messages on an endpoint: a module of the sys layer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define EAGER_DEFAULT		8192U
#define UNEXPECTED_DEFAULT	(16ULL << 20)
#define ANNOUNCED_DEFAULT	131072U
#define ANNOUNCED_EACH		10240U	/* at least: LC-6 has 10,000 */

/* Between two attempts at what there was no memory for. */
#define RETRY_NS		1000000

/* What the caller left open: the variable, or what is usual. */
static int option(uint64_t *value, const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;

	if (*value)
		return 0;
	*value = otherwise;
	if (!text || !*text)
		return 0;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return *text == '-' || *end || errno || !*value ? -EINVAL : 0;
}

static int attr_complete(struct bgdma_msg *msg)
{
	struct bgdma_msg_attr *a = &msg->attr;
	uint64_t eager = a->eager_bytes, announced = a->announced;
	uint64_t usual = (uint64_t)msg->size * ANNOUNCED_EACH;
	int ret;

	if (usual < ANNOUNCED_DEFAULT)
		usual = ANNOUNCED_DEFAULT;
	ret = option(&eager, "BGDMA_EAGER_BYTES", EAGER_DEFAULT);
	if (!ret)
		ret = option(&a->unexpected_bytes, "BGDMA_UNEXPECTED_BYTES",
			     UNEXPECTED_DEFAULT);
	if (!ret)
		ret = option(&announced, "BGDMA_ANNOUNCED", usual);
	if (ret || eager > EAGER_MAX || announced > UINT32_MAX ||
	    a->in_flight > BGDMA_IN_FLIGHT_MAX)
		return -EINVAL;
	a->eager_bytes = (uint32_t)eager;
	a->announced = (uint32_t)announced;
	window_make(msg);
	return 0;
}

void peer_due(struct bgdma_msg *msg, struct msg_peer *peer)
{
	if (peer->due)
		return;
	peer->due = true;
	peer->next_due = NULL;
	*msg->due_last = peer;
	msg->due_last = &peer->next_due;
}

static void peers_due_none(struct bgdma_msg *msg)
{
	msg->due = NULL;
	msg->due_last = &msg->due;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Send what waits, and credit. Those who had a try, and found no memory, are behind
 * the others next time.
 */
static int peers_progress(struct bgdma_msg *msg)
{
	struct msg_peer *peer, *list = msg->due, *tried = NULL;
	unsigned int stuck;
	int n = 0, ret;

	peers_due_none(msg);
	while ((peer = list)) {
		list = peer->next_due;
		peer->due = false;
		stuck = msg->stuck;
		ret = credit_send(msg, peer);
		n += sends_progress(msg, peer);
		/* Of new credit a packet tells. */
		if (!ret && !sends_can_go(peer))
			continue;
		if (stuck < TRIES && msg->stuck > stuck) {
			peer->next_due = tried;
			tried = peer;
		} else {
			peer_due(msg, peer);
		}
	}
	while ((peer = tried)) {
		tried = peer->next_due;
		peer_due(msg, peer);
	}
	return n;
}

/* What found no room before, or no memory. */
static SELDOM int work_left(struct bgdma_msg *msg)
{
	bool again = msg->no_memory;
	int n = 0;

	msg->no_memory = false;
	if (msg->stuck && now_ns() - msg->stuck_since > RETRY_NS)
		msg->stuck = 0;
	if (msg->retries.first || msg->refusals)
		n += retries_progress(msg);
	n += peers_progress(msg);
	if (n)
		return n;
	if (again || msg->stuck || msg->refusals)
		return -ENOMEM;
	return msg->due || msg->retries.first ? -EAGAIN : 0;
}

static int work(void *arg)
{
	struct bgdma_msg *msg = arg;

	if (bgdma_likely(!msg->due && !msg->retries.first && !msg->refusals &&
			 !msg->no_memory))
		return 0;
	return work_left(msg);
}

static void peer_end(struct bgdma_msg *msg, uint32_t rank, int error)
{
	struct msg_peer *peer = &msg->peer[rank];

	peer->down = true;
	/* So none goes the short way, which does not ask. */
	peer->credit = (struct credit){ 0 };
	arriving_fail(msg, rank, error);
	sends_fail(peer, error);
	receives_fail(msg, rank, error);
}

/*
 * A message or credit that nobody sends again: what follows is not to overtake it. But
 * of a death PEER_DOWN tells, behind all that was sent before.
 */
static bool is_lost(const struct bgdma_msg *msg,
		    const struct bgdma_trouble_info *info)
{
	return info->trouble == BGDMA_TROUBLE_LOST &&
	       !code_is_death(info->code) &&
	       info->type == BGDMA_POINT_TO_POINT &&
	       (info->operation == msg->eager || info->operation == msg->give);
}

static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	struct bgdma_msg *msg = arg;

	if (info->rank >= msg->size)
		return;
	if (info->trouble == BGDMA_TROUBLE_CUT && !info->operation) {
		arriving_cut(msg, info->rank, info->message);
	} else if (info->trouble == BGDMA_TROUBLE_PEER_DOWN ||
		   is_lost(msg, info)) {
		peer_end(msg, info->rank, -EHOSTDOWN);
	}
}

static void release(void *arg)
{
	struct bgdma_msg *msg = arg;
	struct exposed *exposed;

	messages_release(msg);
	requests_release(msg);
	while ((exposed = msg->exposed)) {
		msg->exposed = exposed->next;
		free(exposed);
	}
	match_destroy(&msg->posted);
	match_destroy(&msg->unexpected);
	free(msg->peer);
	free(msg);
}

static int operations_register(struct bgdma_msg *msg)
{
	char eager[BGDMA_OPERATION_NAME_MAX], rts[BGDMA_OPERATION_NAME_MAX];
	/*
	 * A name that does not depend on the window is first: where there are
	 * tagged messages already it fails, and nothing was registered.
	 */
	const struct bgdma_operation_attr ops[] = {
		{ .name = "empty", .packet = on_empty },
		{ .name = "credit", .packet = on_credit,
		  .flags = BGDMA_OPERATION_CONTROL },
		{ .name = eager, .packet = on_eager },
		{ .name = rts, .packet = on_rts },
	};
	uint32_t *const id[] = {
		&msg->empty, &msg->give, &msg->eager, &msg->rts,
	};
	struct bgdma_operation_attr op;
	unsigned int i;
	int ret = 0;

	/* Who would have another window is told so by the commit. */
	snprintf(eager, sizeof(eager), "eager, %llu bytes for each peer",
		 (unsigned long long)msg->window.memory);
	snprintf(rts, sizeof(rts), "rts, %u and %llu bytes for each peer",
		 msg->window.announced, (unsigned long long)msg->window.fifo);
	for (i = 0; !ret && i < sizeof(ops) / sizeof(ops[0]); i++) {
		op = ops[i];
		op.module = "msg";
		op.arg = msg;
		ret = bgdma_operation_register(msg->ep, &op, id[i]);
	}
	return ret;
}

static int peers_create(struct bgdma_msg *msg)
{
	uint32_t i;

	msg->peer = calloc(msg->size, sizeof(*msg->peer));
	if (!msg->peer)
		return -ENOMEM;
	for (i = 0; i < msg->size; i++) {
		msg->peer[i].credit = msg->window;
		request_queue_init(&msg->peer[i].sends);
	}
	return 0;
}

int bgdma_msg_create_sized(struct bgdma_msg **msgp, struct bgdma_endpoint *ep,
			   const struct bgdma_msg_attr *attr, size_t size)
{
	struct bgdma_module_attr module = {
		.work = work, .trouble = on_trouble, .release = release,
	};
	struct bgdma_msg *msg = calloc(1, sizeof(*msg));
	int ret;

	if (!msg)
		return -ENOMEM;
	msg->ep = ep;
	msg->size = bgdma_endpoint_size(ep);
	msg->sent.msg = msg;
	msg->sent.done = true;
	request_queue_init(&msg->retries);
	peers_due_none(msg);
	ret = attr_copy(&msg->attr, sizeof(msg->attr), attr, size);
	if (!ret)
		ret = attr_complete(msg);
	if (!ret)
		ret = match_init(&msg->posted);
	if (!ret)
		ret = match_init(&msg->unexpected);
	if (!ret)
		ret = peers_create(msg);
	module.arg = msg;
	/* From here on the endpoint has callbacks to us. */
	if (!ret)
		ret = bgdma_module_add(ep, &module);
	if (ret) {
		release(msg);
		return ret;
	}
	ret = operations_register(msg);
	if (!ret)
		*msgp = msg;
	return ret;
}

bool msg_becomes_ready(struct bgdma_msg *msg)
{
	bool ready = bgdma_endpoint_peer(msg->ep, 0);

	__atomic_store_n(&msg->ready, ready, __ATOMIC_RELAXED);
	return ready;
}

/*
 * What one rendezvous takes another gives back: it is tried again when one has
 * ended, and now and then. While there is none the error is final.
 */
bool short_of_room(struct bgdma_msg *msg, int error)
{
	if (error == -EAGAIN)
		return true;
	if (!msg->moving ||
	    (error != -ENOMEM && error != -ENOSPC && error != -ENOBUFS))
		return false;
	if (!msg->stuck)
		msg->stuck_since = now_ns();
	if (msg->stuck < TRIES)
		msg->stuck++;
	return true;
}

int bgdma_msg_expose(struct bgdma_msg *msg, struct bgdma_region *region)
{
	struct exposed *exposed = calloc(1, sizeof(*exposed));
	int ret;

	if (!exposed)
		return -ENOMEM;
	exposed->region = region;
	exposed->addr = bgdma_region_addr(region);
	exposed->bytes = bgdma_region_length(region);
	ret = bgdma_endpoint_expose(msg->ep, region,
				    BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE);
	if (ret) {
		free(exposed);
		return ret;
	}
	bgdma_endpoint_lock(msg->ep);
	exposed->next = msg->exposed;
	msg->exposed = exposed;
	bgdma_endpoint_unlock(msg->ep);
	return 0;
}

struct bgdma_place place_of(const struct bgdma_msg *msg, const void *data,
			    size_t length)
{
	const struct exposed *e;
	const char *p = data;

	for (e = msg->exposed; e; e = e->next)
		if (p >= e->addr && length <= e->bytes &&
		    (uint64_t)(p - e->addr) <= e->bytes - length)
			return (struct bgdma_place){
				e->region, (uint64_t)(p - e->addr),
			};
	return (struct bgdma_place){ 0 };
}

void bgdma_msg_stats_sized(struct bgdma_msg *msg, struct bgdma_msg_stats *stats,
			   size_t size)
{
	size_t known = size < sizeof(*stats) ? size : sizeof(*stats);

	bgdma_endpoint_lock(msg->ep);
	memset(stats, 0, size);
	memcpy(stats, &msg->stats, known);
	bgdma_endpoint_unlock(msg->ep);
}
