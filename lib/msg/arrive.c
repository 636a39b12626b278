// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Messages in: to the receive that waits for them, or kept until there is one.
 *
 * What is kept is bounded, see credit.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- What is kept ------------------------------------------------------ */

static SELDOM struct bgdma_msg_message *
message_new(struct bgdma_msg *msg, struct match_key key, enum message_kind kind,
	    uint64_t length, size_t room)
{
	struct bgdma_msg_message *m = malloc(sizeof(*m) + room);

	if (!m)
		return NULL;
	m->key = key;
	m->kind = kind;
	m->taken = true;
	m->arrived = kind != MESSAGE_EAGER;
	m->error = 0;
	m->length = length;
	m->request = NULL;
	m->next = msg->messages;
	m->at = &msg->messages;
	if (m->next)
		m->next->at = &m->next;
	msg->messages = m;
	msg->stats.kept += MESSAGE_COST + room;
	if (msg->stats.kept > msg->stats.kept_max)
		msg->stats.kept_max = msg->stats.kept;
	return m;
}

/* The packet stays: nothing but time tells when there may be some. */
static int no_memory(struct bgdma_msg *msg)
{
	msg->no_memory = true;
	return -EAGAIN;
}

/* Let receives find it. */
static void message_keep(struct bgdma_msg *msg, struct bgdma_msg_message *m)
{
	unsigned int kind;

	for (kind = 0; kind < MATCH_KINDS; kind++)
		match_add(&msg->unexpected, &m->link[kind],
			  match_wild(m->key, kind));
	m->taken = false;
	msg->stats.unexpected++;
}

void message_take(struct bgdma_msg *msg, struct bgdma_msg_message *m)
{
	unsigned int kind;

	for (kind = 0; kind < MATCH_KINDS; kind++)
		match_remove(&msg->unexpected, &m->link[kind]);
	m->taken = true;
}

static void message_free(struct bgdma_msg *msg, struct bgdma_msg_message *m)
{
	struct msg_peer *peer = &msg->peer[m->key.rank];

	msg->stats.kept -= MESSAGE_COST;
	if (m->kind == MESSAGE_EAGER) {
		msg->stats.kept -= m->length;
		memory_owe(msg, peer, m->length);
	} else {
		peer->owed.announced++;
		credit_due(msg, peer);
	}
	*m->at = m->next;
	if (m->next)
		m->next->at = m->at;
	free(m);
}

void messages_release(struct bgdma_msg *msg)
{
	struct bgdma_msg_message *m;

	while ((m = msg->messages)) {
		msg->messages = m->next;
		free(m);
	}
}

/* ---- Eager messages ---------------------------------------------------- */

/* Begin to fill a receive by a message. */
static void request_match(struct bgdma_msg_request *r, struct match_key key,
			  uint64_t length)
{
	r->status.rank = key.rank;
	r->status.tag = key.tag;
	r->status.sent = length;
	r->status.length = 0;
}

static void request_fill(struct bgdma_msg_request *r, uint64_t at,
			 const void *data, uint64_t bytes)
{
	if (at >= r->length)
		return;
	if (bytes > r->length - at)
		bytes = r->length - at;
	if (bytes)
		memcpy(r->data + at, data, bytes);
	r->status.length = at + bytes;
}

static void request_received(struct bgdma_msg_request *r, int error)
{
	if (!error && r->status.length < r->status.sent)
		error = -EMSGSIZE;
	request_done(r, error);
}

/* A receive for what is arriving, taken out of those that wait; or NULL. */
static struct bgdma_msg_request *posted_take(struct bgdma_msg *msg,
					     struct match_key key)
{
	struct match_link *link = match_find(&msg->posted, key);
	struct bgdma_msg_request *r;

	if (!link)
		return NULL;
	match_remove(&msg->posted, link);
	r = owner_of(link, struct bgdma_msg_request, link);
	r->posted = false;
	msg->stats.expected++;
	return r;
}

/* All of a kept eager message is there, or will never be. */
static void message_deliver(struct bgdma_msg *msg, struct bgdma_msg_message *m,
			    struct bgdma_msg_request *r)
{
	request_match(r, m->key, m->length);
	if (!m->error)
		request_fill(r, 0, m->data, m->length);
	request_received(r, m->error);
	message_free(msg, m);
}

static APART void arriving_end(struct bgdma_msg *msg, uint32_t rank, int error)
{
	struct msg_peer *peer = &msg->peer[rank];
	struct bgdma_msg_message *m = peer->in.message;

	peer->in.active = false;
	if (!m) {
		request_received(peer->in.request, error);
		memory_owe(msg, peer, peer->in.length);
		return;
	}
	m->arrived = true;
	m->error = error;
	if (m->request)
		message_deliver(msg, m, m->request);
}

void arriving_fail(struct bgdma_msg *msg, uint32_t rank, int error)
{
	if (msg->peer[rank].in.active)
		arriving_end(msg, rank, error);
}

void arriving_cut(struct bgdma_msg *msg, uint32_t rank, uint32_t id)
{
	/* The event may overtake what lies in the FIFO; no more has room there. */
	uint32_t within = (uint32_t)(msg->window.fifo / MESSAGE_COST) + 1;
	struct msg_peer *peer = &msg->peer[rank];
	struct arriving *in = &peer->in;

	if (!in->active || in->id != id) {
		peer->cut[peer->cuts++ % CUTS] = (struct cut){ id, within };
		peer->cut_within = within;
		return;
	}
	in->cut = true;
	arriving_end(msg, rank, -EIO);
}

/* Was that told of the one that has come now? */
static APART void arriving_check_cut(struct bgdma_msg *msg, uint32_t rank)
{
	struct msg_peer *peer = &msg->peer[rank];
	const struct arriving *in = &peer->in;
	bool is_cut = false;
	struct cut *c;

	peer->cut_within--;
	for (c = peer->cut; c < peer->cut + CUTS; c++) {
		if (!c->within)
			continue;
		c->within--;
		if (in->active && in->id == c->id) {
			c->within = 0;
			is_cut = true;
		}
	}
	if (is_cut)
		arriving_cut(msg, rank, in->id);
}

/* The next packet of a message. */
static APART int eager_go_on(struct bgdma_msg *msg, uint32_t rank,
			     const struct bgdma_packet *packet)
{
	struct arriving *in = &msg->peer[rank].in;

	if (in->cut && packet->msg_id == in->id)
		return 0;
	if (!in->active || packet->offset != in->at ||
	    packet->msg_length != in->length ||
	    packet->bytes > in->length - in->at) {
		arriving_fail(msg, rank, -EIO);
		return -EBADMSG;
	}
	if (in->message)
		memcpy(in->message->data + in->at, bgdma_packet_data(packet),
		       packet->bytes);
	else
		request_fill(in->request, in->at, bgdma_packet_data(packet),
			     packet->bytes);
	in->at += packet->bytes;
	if (in->at == in->length)
		arriving_end(msg, rank, 0);
	return 0;
}

int on_eager(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_msg *msg = arg;
	struct msg_peer *peer = &msg->peer[rank];
	struct match_key key = word_key(rank, bgdma_packet_word(packet));
	uint64_t length = packet->msg_length;
	struct bgdma_msg_message *m = NULL;
	struct bgdma_msg_request *r;

	if (bgdma_unlikely(packet->flags & BGDMA_PACKET_ERROR)) {
		arriving_fail(msg, rank, -EIO);
		return 0;
	}
	if (packet->offset)
		return eager_go_on(msg, rank, packet);
	if (bgdma_unlikely(peer->in.active))
		arriving_fail(msg, rank, -EIO);
	if (bgdma_unlikely(length > EAGER_MAX || packet->bytes > length ||
			   key.tag > BGDMA_MSG_TAG_MAX ||
			   message_cost(length) >
			   msg->window.memory - peer->held.memory))
		return -EBADMSG;
	r = posted_take(msg, key);
	if (r) {
		request_match(r, key, length);
		request_fill(r, 0, bgdma_packet_data(packet), packet->bytes);
	} else {
		m = message_new(msg, key, MESSAGE_EAGER, length, length);
		if (!m)
			return no_memory(msg);
		if (packet->bytes)
			memcpy(m->data, bgdma_packet_data(packet),
			       packet->bytes);
		message_keep(msg, m);
	}
	peer->held.memory += message_cost(length);
	fifo_owe(msg, peer, message_cost(length));
	if (packet->bytes < length) {
		peer->in = (struct arriving){
			.active = true, .at = packet->bytes, .length = length,
			.id = packet->msg_id, .request = r, .message = m,
		};
	} else if (r) {
		request_received(r, 0);
		memory_owe(msg, peer, length);
	} else {
		m->arrived = true;
	}
	if (bgdma_unlikely(peer->cut_within))
		arriving_check_cut(msg, rank);
	return 0;
}

/* ---- Announced messages ------------------------------------------------ */

static void on_received(void *arg, int result, uint64_t bytes)
{
	struct bgdma_msg_request *r = arg;

	r->msg->moving--;
	r->msg->stuck = 0;
	r->status.length = bytes;
	request_received(r, result);
}

/* Let a message come, or its sender know that it is received as it is. */
static int accept_try(struct bgdma_msg *msg, const struct bgdma_rts *rts,
		      enum message_kind kind, struct bgdma_msg_request *r)
{
	struct bgdma_accept_attr a = {
		.length = r->length < rts->length ? r->length : rts->length,
		.done = on_received, .arg = r,
	};
	int ret;

	if (kind == MESSAGE_EMPTY || !r->length) {
		ret = bgdma_rendezvous_refuse(msg->ep, rts);
		if (!ret)
			request_received(r, 0);
		return ret;
	}
	a.to = place_of(msg, r->data, r->length);
	if (!a.to.region) {
		if (msg->stuck >= TRIES)
			return -ENOBUFS;
		a.data = r->data;
	}
	ret = bgdma_rendezvous_accept(msg->ep, rts, &a);
	if (ret == -EFAULT && !r->owned) {
		ret = request_apart(r, a.length);
		a.data = r->data;
		if (!ret)
			ret = bgdma_rendezvous_accept(msg->ep, rts, &a);
	}
	if (!ret)
		msg->moving++;
	return ret;
}

/* Tell its sender that nobody will receive it: later, if there is no memory. */
static int message_refuse(struct bgdma_msg *msg, struct bgdma_msg_message *m)
{
	int ret = bgdma_rendezvous_refuse(msg->ep, &m->rts);

	if (ret && ret != -EHOSTDOWN) {
		m->next_refusal = msg->refusals;
		msg->refusals = m;
		return ret;
	}
	message_free(msg, m);
	return 0;
}

/* A receive has its message, but the message cannot come: ever, or yet. */
static void accept_failed(struct bgdma_msg *msg, struct bgdma_msg_message *m,
			  struct bgdma_msg_request *r, int error)
{
	if (short_of_room(msg, error)) {
		r->message = m;
		request_queue_add(&msg->retries, r);
		bgdma_endpoint_wake(msg->ep);
		return;
	}
	/* Who sleeps has to try again in time. */
	if (message_refuse(msg, m))
		bgdma_endpoint_wake(msg->ep);
	request_received(r, error);
}

static void announced_receive(struct bgdma_msg *msg,
			      struct bgdma_msg_message *m,
			      struct bgdma_msg_request *r)
{
	int ret;

	request_match(r, m->key, m->length);
	ret = accept_try(msg, &m->rts, m->kind, r);
	if (ret)
		accept_failed(msg, m, r, ret);
	else
		message_free(msg, m);
}

int retries_progress(struct bgdma_msg *msg)
{
	struct bgdma_msg_request *r, *behind = NULL;
	struct bgdma_msg_message *m;
	int n = 0, ret = 0;

	while (!ret && (m = msg->refusals)) {
		msg->refusals = m->next_refusal;
		ret = message_refuse(msg, m);
		n += !ret;
	}

	while ((r = msg->retries.first) && r != behind &&
	       msg->stuck < TRIES / 2) {
		m = r->message;
		/* Once it is done it may be another's. */
		request_queue_take(&msg->retries);
		r->message = NULL;
		ret = accept_try(msg, &m->rts, m->kind, r);
		if (ret && short_of_room(msg, ret)) {
			/* Others are first then. */
			r->message = m;
			request_queue_add(&msg->retries, r);
			if (ret == -EAGAIN)
				break;
			if (!behind)
				behind = r;
			continue;
		}
		if (ret)
			accept_failed(msg, m, r, ret);
		else
			message_free(msg, m);
		n++;
	}
	return n;
}

void message_receive(struct bgdma_msg *msg, struct bgdma_msg_message *m,
		     struct bgdma_msg_request *r)
{
	if (m->kind != MESSAGE_EAGER) {
		announced_receive(msg, m, r);
	} else if (m->arrived) {
		message_deliver(msg, m, r);
	} else {
		m->request = r;
	}
}

static int announced(struct bgdma_msg *msg, uint32_t rank,
		     const struct bgdma_packet *packet, enum message_kind kind)
{
	struct msg_peer *peer = &msg->peer[rank];
	struct bgdma_msg_message *m;
	struct bgdma_msg_request *r;
	struct match_key key;
	struct bgdma_rts rts;
	uint64_t length;
	int ret = bgdma_rts_read(&rts, rank, packet);

	key = word_key(rank, bgdma_packet_word(packet));
	if (ret || peer->held.announced == msg->window.announced ||
	    key.tag > BGDMA_MSG_TAG_MAX)
		return -EBADMSG;
	length = kind == MESSAGE_EMPTY ? 0 : rts.length;
	m = message_new(msg, key, kind, length, 0);
	if (!m)
		return no_memory(msg);
	m->rts = rts;
	peer->held.announced++;
	/* It may have been the last that the sender could announce. */
	if (peer->owed.announced || peer->owed.memory)
		credit_due(msg, peer);
	fifo_owe(msg, peer, MESSAGE_COST);
	r = posted_take(msg, key);
	if (r)
		announced_receive(msg, m, r);
	else
		message_keep(msg, m);
	return 0;
}

int on_rts(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	return announced(arg, rank, packet, MESSAGE_RTS);
}

int on_empty(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	return announced(arg, rank, packet, MESSAGE_EMPTY);
}
