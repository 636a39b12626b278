// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Messages out: eagerly while they are short and the target has room for them,
 * else announced. Messages to one process go in order: behind one that waits
 * all others wait.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* On the way of every message, and too large for the compiler's taste. */
#define ALWAYS_INLINE	inline __attribute__((always_inline))

enum course { EAGERLY, ANNOUNCED, NOT_YET };

/* How a message goes, by the credit that there is. */
static inline enum course course_of(const struct bgdma_msg *msg,
				    const struct msg_peer *peer, size_t length,
				    bool synchronous)
{
	if (!synchronous && length <= msg->attr.eager_bytes &&
	    message_cost(length) <= peer->credit.memory)
		return message_cost(length) <= peer->credit.fifo ? EAGERLY :
								   NOT_YET;
	return MESSAGE_COST <= peer->credit.fifo && peer->credit.announced ?
	       ANNOUNCED : NOT_YET;
}

static inline int eager_send(struct bgdma_msg *msg, struct msg_peer *peer,
			     struct match_key key, const void *data,
			     size_t length)
{
	const struct bgdma_send_attr send = {
		.operation = msg->eager, .dest = key.rank,
		.word = word_make(key), .data = data, .length = length,
	};
	int ret = bgdma_endpoint_send(msg->ep, &send);

	if (ret)
		return ret;
	peer->credit.memory -= message_cost(length);
	peer->credit.fifo -= message_cost(length);
	msg->stats.eager++;
	return 0;
}

/* ---- By rendezvous ----------------------------------------------------- */

/* The target has taken it, or as much as it wanted (which may be nothing). */
static void on_sent(void *arg, int result, uint64_t bytes)
{
	struct bgdma_msg_request *r = arg;

	(void)bytes;
	r->msg->moving--;
	r->msg->stuck = 0;
	request_done(r, result == -ECANCELED ? 0 : result);
}

/* What a message without bytes is about: a rendezvous has one at least. */
static int nothing_create(struct bgdma_msg *msg)
{
	int ret;

	if (msg->nothing)
		return 0;
	/* At its end there is no context any more, when what is left is told of. */
	if (!msg_becomes_ready(msg))
		return -ENOTCONN;
	ret = bgdma_region_alloc(bgdma_endpoint_ctx(msg->ep), 1,
				 BGDMA_LOCAL_READ, &msg->nothing);
	if (ret)
		return ret;
	ret = bgdma_endpoint_expose(msg->ep, msg->nothing, BGDMA_RIGHT_READ);
	if (ret) {
		(void)bgdma_region_free(msg->nothing);
		msg->nothing = NULL;
	}
	return ret;
}

/* 0: as the endpoint's pacing says */
static uint64_t portion_of(const struct bgdma_msg *msg, uint64_t length)
{
	uint64_t portion = msg->attr.portion;

	return portion && length <= portion ? BGDMA_PORTION_WHOLE : portion;
}

static int announce(struct bgdma_msg_request *r, struct msg_peer *peer)
{
	struct bgdma_msg *msg = r->msg;
	struct bgdma_rendezvous_attr a = {
		.operation = msg->rts, .dest = r->key.rank,
		.word = word_make(r->key), .length = r->length,
		.done = on_sent, .arg = r,
	};
	int ret;

	if (!r->length) {
		ret = nothing_create(msg);
		if (ret)
			return ret;
		a.operation = msg->empty;
		a.length = 1;
		a.from.region = msg->nothing;
	} else {
		a.from = place_of(msg, r->data, r->length);
		if (!a.from.region) {
			if (msg->stuck >= TRIES)
				return -ENOBUFS;
			a.data = r->data;
		}
		a.portion = portion_of(msg, r->length);
		a.in_flight = msg->attr.in_flight;
	}
	ret = bgdma_rendezvous_send(msg->ep, &a);
	if (ret == -EFAULT && !r->owned) {
		ret = request_copy(r);
		a.data = r->data;
		if (!ret)
			ret = bgdma_rendezvous_send(msg->ep, &a);
	}
	if (ret)
		return ret;
	peer->credit.fifo -= MESSAGE_COST;
	peer->credit.announced--;
	msg->moving++;
	msg->stats.announced++;
	if (r->length <= msg->attr.eager_bytes && !r->synchronous)
		msg->stats.for_room++;
	return 0;
}

/* ---- In order ---------------------------------------------------------- */

static enum course course(const struct bgdma_msg_request *r,
			  const struct msg_peer *peer)
{
	return course_of(r->msg, peer, r->length, r->synchronous);
}

bool sends_can_go(const struct msg_peer *peer)
{
	return peer->sends.first && course(peer->sends.first, peer) != NOT_YET;
}

static int send_try(struct bgdma_msg_request *r, struct msg_peer *peer)
{
	enum course way = course(r, peer);
	int ret;

	/* Who has gone gives no credit back. */
	if (peer->down)
		return -EHOSTDOWN;
	if (way == NOT_YET)
		return -EAGAIN;
	if (way == ANNOUNCED)
		return announce(r, peer);
	ret = eager_send(r->msg, peer, r->key, r->data, r->length);
	if (!ret)
		request_done(r, 0);
	return ret;
}

int sends_progress(struct bgdma_msg *msg, struct msg_peer *peer)
{
	struct bgdma_msg_request *r;
	int n = 0, ret;

	while ((r = peer->sends.first)) {
		/* Once it is done it may be another's. */
		request_queue_take(&peer->sends);
		ret = send_try(r, peer);
		if (ret && short_of_room(msg, ret)) {
			request_queue_add_first(&peer->sends, r);
			break;
		}
		if (ret)
			request_done(r, ret);
		n++;
	}
	return n;
}

void sends_fail(struct msg_peer *peer, int error)
{
	struct bgdma_msg_request *r;

	while ((r = peer->sends.first)) {
		request_queue_take(&peer->sends);
		request_done(r, error);
	}
}

bool send_cancel(struct bgdma_msg_request *r)
{
	struct msg_peer *peer = &r->msg->peer[r->key.rank];
	struct request_queue *queue = &peer->sends;
	struct bgdma_msg_request **at = &queue->first;

	while (*at && *at != r)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = r->next;
	if (!*at)
		queue->last = at;
	r->queued = false;
	/* What waited behind it may have the credit that it lacked. */
	if (sends_can_go(peer))
		peer_due(r->msg, peer);
	return true;
}

/*
 * Begin a message that cannot be done at once, or let it wait. An error: there
 * is no request any more. Only of a death its status tells.
 */
static SELDOM int send_start(struct bgdma_msg_request *r)
{
	struct bgdma_msg *msg = r->msg;
	struct msg_peer *peer = &msg->peer[r->key.rank];
	int ret = peer->sends.first ? -EAGAIN : send_try(r, peer);

	if (!ret)
		return 0;
	if (short_of_room(msg, ret)) {
		msg->stats.waited++;
		request_queue_add(&peer->sends, r);
		/* Of new credit a packet tells. */
		if (!sends_can_go(peer))
			return 0;
		peer_due(msg, peer);
		/* Who sleeps has to try again in time. */
		bgdma_endpoint_wake(msg->ep);
		return 0;
	}
	if (ret != -EHOSTDOWN) {
		request_put(r);
		return ret;
	}
	request_done(r, ret);
	return 0;
}

static inline int send_check(struct bgdma_msg *msg, const void *data,
			     size_t length, uint32_t dest, uint32_t tag)
{
	if (!msg_ready(msg))
		return -ENOTCONN;
	if (length > BGDMA_RENDEZVOUS_MAX)
		return -EMSGSIZE;
	if ((dest >= msg->size && dest != BGDMA_MSG_NO_RANK) ||
	    tag > BGDMA_MSG_TAG_MAX || (length && !data))
		return -EINVAL;
	return 0;
}

/* With the lock. Whether there is nothing left to do for it. */
static ALWAYS_INLINE bool send_at_once(struct bgdma_msg *msg, const void *data,
				       size_t length, struct match_key key,
				       bool synchronous)
{
	struct msg_peer *peer = &msg->peer[key.rank];

	return key.rank == BGDMA_MSG_NO_RANK ||
	       (!peer->sends.first &&
		course_of(msg, peer, length, synchronous) == EAGERLY &&
		!eager_send(msg, peer, key, data, length));
}

/* With the lock. An error: there is no request. */
static int send_later(struct bgdma_msg *msg, const void *data, size_t length,
		      struct match_key key, bool synchronous,
		      struct bgdma_msg_request **request)
{
	struct bgdma_msg_request *r = request_get(msg);
	int ret;

	if (!r)
		return -ENOMEM;
	r->key = key;
	r->data = (char *)(uintptr_t)data;	/* only read */
	r->length = length;
	r->synchronous = synchronous;
	ret = send_start(r);
	if (!ret)
		*request = r;
	return ret;
}

static ALWAYS_INLINE int send_any(struct bgdma_msg *msg, const void *data,
				  size_t length, struct match_key key,
				  bool synchronous,
				  struct bgdma_msg_request **request)
{
	int ret = send_check(msg, data, length, key.rank, key.tag);

	if (ret)
		return ret;
	bgdma_endpoint_lock(msg->ep);
	if (send_at_once(msg, data, length, key, synchronous))
		*request = &msg->sent;
	else
		ret = send_later(msg, data, length, key, synchronous, request);
	bgdma_endpoint_unlock(msg->ep);
	return ret;
}

int bgdma_msg_isend(struct bgdma_msg *msg, const void *data, size_t length,
		    uint32_t dest, uint32_t tag, uint16_t context,
		    struct bgdma_msg_request **request)
{
	const struct match_key key = { dest, tag, context };

	return send_any(msg, data, length, key, false, request);
}

int bgdma_msg_issend(struct bgdma_msg *msg, const void *data, size_t length,
		     uint32_t dest, uint32_t tag, uint16_t context,
		     struct bgdma_msg_request **request)
{
	const struct match_key key = { dest, tag, context };

	return send_any(msg, data, length, key, true, request);
}

static bool send_holds(void *arg)
{
	struct blocking *b = arg;

	if (!b->request)
		b->error = send_later(b->msg, b->data, b->length, b->key,
				      b->synchronous, &b->request);
	return b->error || b->request->done;
}

static SELDOM int send_wait(struct bgdma_msg *msg, const void *data,
			    size_t length, struct match_key key,
			    bool synchronous)
{
	struct blocking b = {
		.msg = msg, .data = (void *)(uintptr_t)data, .length = length,
		.key = key, .synchronous = synchronous,
	};

	return blocking_wait(&b, send_holds, NULL);
}

static ALWAYS_INLINE int send_and_wait(struct bgdma_msg *msg, const void *data,
				       size_t length, struct match_key key,
				       bool synchronous)
{
	int ret = send_check(msg, data, length, key.rank, key.tag);
	bool sent;

	if (ret)
		return ret;
	bgdma_endpoint_lock(msg->ep);
	sent = send_at_once(msg, data, length, key, synchronous);
	bgdma_endpoint_unlock(msg->ep);
	if (bgdma_likely(sent))
		return 0;
	return send_wait(msg, data, length, key, synchronous);
}

int bgdma_msg_send(struct bgdma_msg *msg, const void *data, size_t length,
		   uint32_t dest, uint32_t tag, uint16_t context)
{
	const struct match_key key = { dest, tag, context };

	return send_and_wait(msg, data, length, key, false);
}

int bgdma_msg_ssend(struct bgdma_msg *msg, const void *data, size_t length,
		    uint32_t dest, uint32_t tag, uint16_t context)
{
	const struct match_key key = { dest, tag, context };

	return send_and_wait(msg, data, length, key, true);
}

int bgdma_msg_isendv(struct bgdma_msg *msg, const struct iovec *pieces,
		     unsigned int count, uint32_t dest, uint32_t tag,
		     uint16_t context, struct bgdma_msg_request **request)
{
	const struct match_key key = { dest, tag, context };
	struct bgdma_msg_request *r;
	unsigned int i;
	size_t length;
	char *p;
	int ret;

	ret = pieces_length(pieces, count, &length);
	if (ret)
		return ret;
	if (count == 1)
		return bgdma_msg_isend(msg, pieces->iov_base, length, dest, tag,
				       context, request);
	ret = send_check(msg, &length, length, dest, tag);
	if (ret)
		return ret;
	bgdma_endpoint_lock(msg->ep);
	r = request_own(msg, length);
	if (r) {
		for (p = r->data, i = 0; i < count; p += pieces[i++].iov_len)
			if (pieces[i].iov_len)
				memcpy(p, pieces[i].iov_base,
				       pieces[i].iov_len);
		r->key = key;
		if (dest == BGDMA_MSG_NO_RANK)
			request_done(r, 0);
		else
			ret = send_start(r);
		if (!ret)
			*request = r;
	}
	bgdma_endpoint_unlock(msg->ep);
	return r ? ret : -ENOMEM;
}
