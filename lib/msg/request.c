// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests: where they come from, and how they are completed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "../forget.h"

static SELDOM void requests_grow(struct bgdma_msg *msg)
{
	struct request_chunk *chunk = calloc(1, sizeof(*chunk));
	unsigned int i;

	if (!chunk)
		return;
	chunk->next = msg->chunks;
	msg->chunks = chunk;
	for (i = 0; i < REQUESTS_CHUNK; i++) {
		chunk->request[i].msg = msg;
		chunk->request[i].next = msg->unused;
		msg->unused = &chunk->request[i];
	}
}

struct bgdma_msg_request *request_get(struct bgdma_msg *msg)
{
	struct bgdma_msg_request *r;

	if (!msg->unused)
		requests_grow(msg);
	r = msg->unused;
	if (!r)
		return NULL;
	msg->unused = r->next;
	r->done = false;
	r->queued = false;
	r->posted = false;
	r->orphan = false;
	r->synchronous = false;
	memset(&r->status, 0, sizeof(r->status));
	return r;
}

static void request_empty(struct bgdma_msg_request *r)
{
	if (!r->owned)
		return;
	free(r->data);
	free(r->pieces);
	r->data = NULL;
	r->pieces = NULL;
	r->owned = false;
}

void request_put(struct bgdma_msg_request *r)
{
	struct bgdma_msg *msg = r->msg;

	if (r == &msg->sent)
		return;
	request_empty(r);
	r->next = msg->unused;
	msg->unused = r;
}

struct bgdma_msg_request *request_own(struct bgdma_msg *msg, size_t length)
{
	struct bgdma_msg_request *r = request_get(msg);

	if (!r)
		return NULL;
	r->owned = true;
	r->length = length;
	r->data = malloc(length + 1);
	if (!r->data) {
		request_put(r);
		return NULL;
	}
	return r;
}

int request_copy(struct bgdma_msg_request *r)
{
	char *data = malloc(r->length + 1);

	if (!data)
		return -ENOMEM;
	memcpy(data, r->data, r->length);
	r->data = data;
	r->owned = true;
	return 0;
}

int request_apart(struct bgdma_msg_request *r, size_t length)
{
	const struct iovec piece = { .iov_base = r->data, .iov_len = length };
	char *data = malloc(length);

	if (!data || request_scatter(r, &piece, 1)) {
		free(data);
		return -ENOMEM;
	}
	r->data = data;
	r->owned = true;
	return 0;
}

int request_scatter(struct bgdma_msg_request *r, const struct iovec *pieces,
		    unsigned int count)
{
	r->pieces = calloc(count + 1, sizeof(*pieces));
	if (!r->pieces)
		return -ENOMEM;
	if (count)
		memcpy(r->pieces, pieces, count * sizeof(*pieces));
	r->count = count;
	return 0;
}

int pieces_length(const struct iovec *pieces, unsigned int count,
		  size_t *length)
{
	unsigned int i;

	*length = 0;
	if (count > BGDMA_MSG_PIECES_MAX || (count && !pieces))
		return -EINVAL;
	for (i = 0; i < count; i++) {
		if (pieces[i].iov_len && !pieces[i].iov_base)
			return -EINVAL;
		if (pieces[i].iov_len > BGDMA_RENDEZVOUS_MAX - *length)
			return -EMSGSIZE;
		*length += pieces[i].iov_len;
	}
	return 0;
}

/* Put what was received together where it belongs. */
static void pieces_fill(struct bgdma_msg_request *r)
{
	uint64_t at = 0, bytes;
	unsigned int i;

	for (i = 0; i < r->count && at < r->status.length; i++) {
		bytes = r->status.length - at;
		if (bytes > r->pieces[i].iov_len)
			bytes = r->pieces[i].iov_len;
		/* One of no bytes may have no place. */
		if (bytes)
			memcpy(r->pieces[i].iov_base, r->data + at, bytes);
		at += bytes;
	}
}

void request_done(struct bgdma_msg_request *r, int error)
{
	if (r->pieces)
		pieces_fill(r);
	r->status.error = error;
	r->done = true;
	if (r->orphan)
		request_put(r);
}

void requests_release(struct bgdma_msg *msg)
{
	struct request_chunk *chunk;
	unsigned int i;

	while ((chunk = msg->chunks)) {
		msg->chunks = chunk->next;
		for (i = 0; i < REQUESTS_CHUNK; i++)
			request_empty(&chunk->request[i]);
		free(chunk);
	}
}

/* ---- One --------------------------------------------------------------- */

int msg_wait(struct bgdma_msg *msg, bool (*holds)(void *arg), void *arg)
{
	enum bgdma_wait_mode mode = msg->attr.busy ? BGDMA_SPIN :
						     BGDMA_SPIN_THEN_SLEEP;
	int ret;

	do {
		ret = bgdma_endpoint_wait_until(msg->ep, holds, arg, mode, -1);
	} while (ret == -EINTR);
	return ret;
}

static void request_abandon(struct bgdma_msg_request *r);

static bool request_holds(void *arg)
{
	const struct bgdma_msg_request *r = arg;

	return r->done;
}

/* It is done: give it back, and its status. The error in that. */
static int request_finish(struct bgdma_msg_request **request,
			  struct bgdma_msg_status *status)
{
	struct bgdma_msg_request *r = *request;
	int error = r->status.error;

	if (status)
		*status = r->status;
	*request = NULL;
	if (r == &r->msg->sent)
		return 0;
	bgdma_endpoint_lock(r->msg->ep);
	request_put(r);
	bgdma_endpoint_unlock(r->msg->ep);
	return error;
}

int blocking_wait(struct blocking *b, bool (*holds)(void *arg),
		  struct bgdma_msg_status *status)
{
	int ret = msg_wait(b->msg, holds, b);

	if (bgdma_unlikely(b->error))
		return b->error;
	if (bgdma_likely(!ret))
		return request_finish(&b->request, status);
	if (b->request)
		request_abandon(b->request);
	return ret;
}

int msg_look(struct bgdma_msg *msg, bool (*holds)(void *arg), void *arg)
{
	int ret = bgdma_endpoint_wait_until(msg->ep, holds, arg, BGDMA_SPIN, 0);

	if (ret == -EDEADLK) {
		/* In a callback, which is progress. */
		bgdma_endpoint_lock(msg->ep);
		ret = holds(arg) ? 0 : -EAGAIN;
		bgdma_endpoint_unlock(msg->ep);
	}
	return ret == -ETIMEDOUT ? -EAGAIN : ret;
}

/* Of no request: MPI's empty status. */
static void status_empty(struct bgdma_msg_status *status)
{
	if (status)
		*status = (struct bgdma_msg_status){
			.rank = BGDMA_MSG_ANY_SOURCE, .tag = BGDMA_MSG_ANY_TAG,
		};
}

int bgdma_msg_test(struct bgdma_msg_request **request,
		   struct bgdma_msg_status *status)
{
	struct bgdma_msg_request *r = *request;
	int ret;

	if (!r) {
		status_empty(status);
		return 1;
	}
	if (r != &r->msg->sent) {
		ret = msg_look(r->msg, request_holds, r);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
	}
	ret = request_finish(request, status);
	return ret ? ret : 1;
}

int bgdma_msg_wait(struct bgdma_msg_request **request,
		   struct bgdma_msg_status *status)
{
	struct bgdma_msg_request *r = *request;
	int ret;

	if (!r) {
		status_empty(status);
		return 0;
	}
	if (r != &r->msg->sent) {
		ret = msg_wait(r->msg, request_holds, r);
		if (ret)
			return ret;
	}
	return request_finish(request, status);
}

static bool receive_waits(const struct bgdma_msg_request *r)
{
	bool posted;

	bgdma_endpoint_lock(r->msg->ep);
	posted = r->posted;
	bgdma_endpoint_unlock(r->msg->ep);
	return posted;
}

/* With the lock. Whether it had not begun: then nothing refers to it any more. */
static bool request_withdraw(struct bgdma_msg_request *r)
{
	struct bgdma_msg *msg = r->msg;

	if (r->posted) {
		match_remove(&msg->posted, &r->link);
		r->posted = false;
		return true;
	}
	return !r->done && r->queued && !r->message && send_cancel(r);
}

int bgdma_msg_cancel(struct bgdma_msg_request *r)
{
	struct bgdma_msg *msg = r->msg;
	bool cancelled;

	/* Who does nothing but post and give up must not wait for ever. */
	if (receive_waits(r))
		(void)bgdma_endpoint_progress(msg->ep, 0);
	bgdma_endpoint_lock(msg->ep);
	cancelled = request_withdraw(r);
	if (cancelled) {
		r->status.cancelled = true;
		request_done(r, -ECANCELED);
		bgdma_endpoint_wake(msg->ep);
	}
	bgdma_endpoint_unlock(msg->ep);
	return cancelled ? 0 : -EALREADY;
}

/*
 * Nobody will wait for it, and its memory is the caller's again: what is under way
 * when the partition goes finds no room for a byte, or ends here.
 */
static SELDOM void request_abandon(struct bgdma_msg_request *r)
{
	struct bgdma_msg *msg = r->msg;

	bgdma_endpoint_lock(msg->ep);
	if (r->done || request_withdraw(r)) {
		request_put(r);
	} else {
		r->length = 0;
		r->count = 0;
		r->orphan = true;
		requests_forget(msg->ep, r);
	}
	bgdma_endpoint_unlock(msg->ep);
}

void bgdma_msg_request_free(struct bgdma_msg_request **request)
{
	struct bgdma_msg_request *r = *request;
	struct bgdma_msg *msg = r->msg;

	*request = NULL;
	if (r == &msg->sent)
		return;
	bgdma_endpoint_lock(msg->ep);
	r->orphan = true;
	if (r->done)
		request_put(r);
	bgdma_endpoint_unlock(msg->ep);
}

/* ---- Several ----------------------------------------------------------- */

/* @at: all before it are done, or NULL. */
struct row {
	struct bgdma_msg_request **requests;
	unsigned int count;
	unsigned int at;
};

static bool row_any(void *arg)
{
	struct row *row = arg;
	unsigned int i;

	for (i = 0; i < row->count; i++) {
		if (row->requests[i] && row->requests[i]->done) {
			row->at = i;
			return true;
		}
	}
	return false;
}

static bool row_all(void *arg)
{
	struct row *row = arg;

	while (row->at < row->count &&
	       (!row->requests[row->at] || row->requests[row->at]->done))
		row->at++;
	return row->at == row->count;
}

/*
 * Until it holds, or, if nobody waits, see whether it does. 0; -EAGAIN it does
 * not; -ENOENT there is none; -EINVAL they are of several.
 */
static int row_until(struct row *row, bool (*holds)(void *arg), bool wait)
{
	struct bgdma_msg *msg = NULL;
	unsigned int i;

	for (i = 0; i < row->count; i++) {
		if (!row->requests[i])
			continue;
		if (msg && row->requests[i]->msg != msg)
			return -EINVAL;
		msg = row->requests[i]->msg;
	}
	if (!msg)
		return -ENOENT;
	return wait ? msg_wait(msg, holds, row) : msg_look(msg, holds, row);
}

/* Callbacks may set it at any time. */
static bool request_is_done(const struct bgdma_msg_request *r)
{
	bool done;

	bgdma_endpoint_lock(r->msg->ep);
	done = r->done;
	bgdma_endpoint_unlock(r->msg->ep);
	return done;
}

static int row_some(struct row *row, unsigned int *index,
		    struct bgdma_msg_status *status)
{
	unsigned int i, n = 0;

	for (i = row->at; i < row->count; i++) {
		if (!row->requests[i] || !request_is_done(row->requests[i]))
			continue;
		request_finish(&row->requests[i], status ? &status[n] : NULL);
		index[n++] = i;
	}
	return (int)n;
}

int bgdma_msg_testsome(struct bgdma_msg_request **requests, unsigned int count,
		       unsigned int *index, struct bgdma_msg_status *status)
{
	struct row row = { requests, count, 0 };
	int ret = row_until(&row, row_any, false);

	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	return row_some(&row, index, status);
}

int bgdma_msg_waitsome(struct bgdma_msg_request **requests, unsigned int count,
		       unsigned int *index, struct bgdma_msg_status *status)
{
	struct row row = { requests, count, 0 };
	int ret = row_until(&row, row_any, true);

	return ret ? ret : row_some(&row, index, status);
}

static int row_one(struct row *row, unsigned int *index,
		   struct bgdma_msg_status *status)
{
	*index = row->at;
	return request_finish(&row->requests[row->at], status);
}

int bgdma_msg_testany(struct bgdma_msg_request **requests, unsigned int count,
		      unsigned int *index, struct bgdma_msg_status *status)
{
	struct row row = { requests, count, 0 };
	int ret = row_until(&row, row_any, false);

	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	ret = row_one(&row, index, status);
	return ret ? ret : 1;
}

int bgdma_msg_waitany(struct bgdma_msg_request **requests, unsigned int count,
		      unsigned int *index, struct bgdma_msg_status *status)
{
	struct row row = { requests, count, 0 };
	int ret = row_until(&row, row_any, true);

	return ret ? ret : row_one(&row, index, status);
}

/* Of none, all are complete. */
static int row_finish(struct row *row, struct bgdma_msg_status *status)
{
	unsigned int i;
	int error = 0, ret;

	for (i = 0; i < row->count; i++) {
		ret = 0;
		if (row->requests[i])
			ret = request_finish(&row->requests[i],
					     status ? &status[i] : NULL);
		else
			status_empty(status ? &status[i] : NULL);
		if (!error)
			error = ret;
	}
	return error;
}

int bgdma_msg_testall(struct bgdma_msg_request **requests, unsigned int count,
		      struct bgdma_msg_status *status)
{
	struct row row = { requests, count, 0 };
	int ret = row_until(&row, row_all, false);

	if (ret && ret != -ENOENT)
		return ret == -EAGAIN ? 0 : ret;
	ret = row_finish(&row, status);
	return ret ? ret : 1;
}

int bgdma_msg_waitall(struct bgdma_msg_request **requests, unsigned int count,
		      struct bgdma_msg_status *status)
{
	struct row row = { requests, count, 0 };
	int ret = row_until(&row, row_all, true);

	if (ret && ret != -ENOENT)
		return ret;
	return row_finish(&row, status);
}
