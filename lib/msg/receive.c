// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Receives and probes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int receive_check(struct bgdma_msg *msg, uint32_t source)
{
	if (!msg_ready(msg))
		return -ENOTCONN;
	if (source >= msg->size && source != BGDMA_MSG_ANY_SOURCE &&
	    source != BGDMA_MSG_NO_RANK)
		return -EINVAL;
	return 0;
}

static struct bgdma_msg_message *message_find(const struct bgdma_msg *msg,
					      struct match_key key)
{
	unsigned int kind = match_kind(key);
	struct match_link *link;

	if (bgdma_likely(!msg->unexpected.rows))
		return NULL;
	link = match_first(&msg->unexpected, key);
	return link ? owner_of(link - kind, struct bgdma_msg_message, link) :
		      NULL;
}

/* Nothing can come from there any more. */
static bool source_down(const struct bgdma_msg *msg, uint32_t source)
{
	return source < msg->size && msg->peer[source].down;
}

/* ---- Receives ---------------------------------------------------------- */

/* With the lock. It is done, or waits for a message. */
static inline void receive_start(struct bgdma_msg_request *r,
				 struct match_key key)
{
	struct bgdma_msg *msg = r->msg;
	struct bgdma_msg_message *m;

	r->key = key;
	r->status.rank = key.rank;
	r->status.tag = key.tag;
	if (key.rank == BGDMA_MSG_NO_RANK) {
		r->status.tag = BGDMA_MSG_ANY_TAG;
		request_done(r, 0);
		return;
	}
	m = message_find(msg, key);
	if (m) {
		message_take(msg, m);
		message_receive(msg, m, r);
	} else if (source_down(msg, key.rank)) {
		request_done(r, -EHOSTDOWN);
	} else {
		match_add(&msg->posted, &r->link, key);
		r->posted = true;
	}
}

/* With the lock. NULL: no memory. */
static inline struct bgdma_msg_request *
receive_begin(struct bgdma_msg *msg, void *data, size_t length,
	      struct match_key key)
{
	struct bgdma_msg_request *r = request_get(msg);

	if (!r)
		return NULL;
	r->data = data;
	r->length = length;
	receive_start(r, key);
	return r;
}

static inline int room_check(struct bgdma_msg *msg, const void *data,
			     size_t length, uint32_t source)
{
	int ret = receive_check(msg, source);

	if (!ret && length && !data)
		ret = -EINVAL;
	return ret;
}

static inline int receive_any(struct bgdma_msg *msg, void *data,
			      size_t length, struct match_key key,
			      struct bgdma_msg_request **request)
{
	int ret = room_check(msg, data, length, key.rank);
	struct bgdma_msg_request *r;

	if (ret)
		return ret;
	bgdma_endpoint_lock(msg->ep);
	r = receive_begin(msg, data, length, key);
	if (r)
		*request = r;
	bgdma_endpoint_unlock(msg->ep);
	return r ? 0 : -ENOMEM;
}

int bgdma_msg_irecv(struct bgdma_msg *msg, void *data, size_t length,
		    uint32_t source, uint32_t tag, uint16_t context,
		    struct bgdma_msg_request **request)
{
	const struct match_key key = { source, tag, context };

	return receive_any(msg, data, length, key, request);
}

static bool receive_holds(void *arg)
{
	struct blocking *b = arg;

	if (!b->request) {
		b->request = receive_begin(b->msg, b->data, b->length, b->key);
		if (!b->request) {
			b->error = -ENOMEM;
			return true;
		}
	}
	return b->request->done;
}

int bgdma_msg_recv(struct bgdma_msg *msg, void *data, size_t length,
		   uint32_t source, uint32_t tag, uint16_t context,
		   struct bgdma_msg_status *status)
{
	struct blocking b = {
		.msg = msg, .data = data, .length = length,
		.key = { source, tag, context },
	};
	int ret = room_check(msg, data, length, source);

	return ret ? ret : blocking_wait(&b, receive_holds, status);
}

int bgdma_msg_irecvv(struct bgdma_msg *msg, const struct iovec *pieces,
		     unsigned int count, uint32_t source, uint32_t tag,
		     uint16_t context, struct bgdma_msg_request **request)
{
	const struct match_key key = { source, tag, context };
	struct bgdma_msg_request *r;
	size_t length;
	int ret;

	ret = pieces_length(pieces, count, &length);
	if (ret)
		return ret;
	if (count == 1)
		return receive_any(msg, pieces->iov_base, length, key, request);
	ret = receive_check(msg, source);
	if (ret)
		return ret;
	bgdma_endpoint_lock(msg->ep);
	r = request_own(msg, length);
	if (r && request_scatter(r, pieces, count)) {
		request_put(r);
		r = NULL;
	}
	if (r) {
		*request = r;
		receive_start(r, key);
	}
	bgdma_endpoint_unlock(msg->ep);
	return r ? 0 : -ENOMEM;
}

int bgdma_msg_imrecv(struct bgdma_msg *msg, void *data, size_t length,
		     struct bgdma_msg_message **message,
		     struct bgdma_msg_request **request)
{
	struct bgdma_msg_message *m = *message;
	struct bgdma_msg_request *r;

	/* The message of nobody, of bgdma_msg_mprobe(). */
	if (!m)
		return bgdma_msg_irecv(msg, data, length, BGDMA_MSG_NO_RANK,
				       BGDMA_MSG_ANY_TAG, 0, request);
	if (length && !data)
		return -EINVAL;
	bgdma_endpoint_lock(msg->ep);
	r = request_get(msg);
	if (r) {
		r->data = data;
		r->length = length;
		r->key = m->key;
		*request = r;
		*message = NULL;
		message_receive(msg, m, r);
	}
	bgdma_endpoint_unlock(msg->ep);
	return r ? 0 : -ENOMEM;
}

struct failing {
	struct bgdma_msg *msg;
	uint32_t rank;
	int error;
};

static void receive_fail(void *arg, struct match_link *link)
{
	const struct failing *f = arg;
	struct bgdma_msg_request *r;

	if (link->key.rank != f->rank)
		return;
	match_remove(&f->msg->posted, link);
	r = owner_of(link, struct bgdma_msg_request, link);
	r->posted = false;
	request_done(r, f->error);
}

void receives_fail(struct bgdma_msg *msg, uint32_t rank, int error)
{
	struct failing f = { msg, rank, error };

	match_each(&msg->posted, receive_fail, &f);
}

/* ---- Probes ------------------------------------------------------------ */

/*
 * @taken: the message is taken, and goes there; NULL: it stays
 * @error: it never will be there
 */
struct probe {
	struct bgdma_msg *msg;
	struct match_key key;
	struct bgdma_msg_message **taken;
	struct bgdma_msg_status status;
	int error;
};

static bool probe_holds(void *arg)
{
	struct probe *p = arg;
	struct bgdma_msg_message *m = message_find(p->msg, p->key);

	if (!m) {
		p->error = -EHOSTDOWN;
		return source_down(p->msg, p->key.rank);
	}
	p->error = 0;
	p->status = (struct bgdma_msg_status){
		.rank = m->key.rank, .tag = m->key.tag,
		.length = m->length, .sent = m->length,
	};
	if (p->taken) {
		message_take(p->msg, m);
		*p->taken = m;
	}
	return true;
}

/* 1: it is there; 0: it is not; or why not. */
static int probe(struct probe *p, bool wait, struct bgdma_msg_status *status)
{
	int ret = receive_check(p->msg, p->key.rank);

	if (ret)
		return ret;
	if (p->key.rank == BGDMA_MSG_NO_RANK) {
		p->status.rank = BGDMA_MSG_NO_RANK;
		p->status.tag = BGDMA_MSG_ANY_TAG;
		if (p->taken)
			*p->taken = NULL;
	} else {
		ret = wait ? msg_wait(p->msg, probe_holds, p) :
			     msg_look(p->msg, probe_holds, p);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
	}
	if (p->error)
		return p->error;
	if (status)
		*status = p->status;
	return 1;
}

int bgdma_msg_iprobe(struct bgdma_msg *msg, uint32_t source, uint32_t tag,
		     uint16_t context, struct bgdma_msg_status *status)
{
	struct probe p = { .msg = msg, .key = { source, tag, context } };

	return probe(&p, false, status);
}

int bgdma_msg_probe(struct bgdma_msg *msg, uint32_t source, uint32_t tag,
		    uint16_t context, struct bgdma_msg_status *status)
{
	struct probe p = { .msg = msg, .key = { source, tag, context } };
	int ret = probe(&p, true, status);

	return ret < 0 ? ret : 0;
}

int bgdma_msg_improbe(struct bgdma_msg *msg, uint32_t source, uint32_t tag,
		      uint16_t context, struct bgdma_msg_message **message,
		      struct bgdma_msg_status *status)
{
	struct probe p = {
		.msg = msg, .key = { source, tag, context }, .taken = message,
	};

	return probe(&p, false, status);
}

int bgdma_msg_mprobe(struct bgdma_msg *msg, uint32_t source, uint32_t tag,
		     uint16_t context, struct bgdma_msg_message **message,
		     struct bgdma_msg_status *status)
{
	struct probe p = {
		.msg = msg, .key = { source, tag, context }, .taken = message,
	};
	int ret = probe(&p, true, status);

	return ret < 0 ? ret : 0;
}
