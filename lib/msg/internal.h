/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the msg module share. It stands on the sys layer's public
 * header, and forget.h.
 */
#ifndef BGDMA_MSG_INTERNAL_H
#define BGDMA_MSG_INTERNAL_H

#include <stddef.h>

#include <bgdma/msg.h>
#include <bgdma/rendezvous.h>

#include "../attr.h"
#include "../code.h"
#include "match.h"

/* What a message takes of its sender's part of our memory, beside its bytes. */
#define MESSAGE_COST	384U

/* Of an eager message: an endpoint can copy it. */
#define EAGER_MAX	(32U << 10)

/* A word of the sys layer: 16 bits of context, 32 of tag. */
static inline uint64_t word_make(struct match_key key)
{
	return (uint64_t)key.context << 32 | key.tag;
}

static inline struct match_key word_key(uint32_t rank, uint64_t word)
{
	return (struct match_key){
		.rank = rank, .tag = (uint32_t)word,
		.context = (uint16_t)(word >> 32),
	};
}

#define owner_of(link_, type, member)					\
	((type *)(void *)((char *)(link_) - offsetof(type, member)))

/*
 * A message to be sent, or a receive.
 * @link: a receive that waits for a message
 * @key: what was asked for; of a send with the rank of the target
 * @next: unused ones; sends that wait for their turn; receives to be retried
 * @message: a receive to be retried: of this
 * @queued: in a queue by @next
 * @posted: in the table of receives
 * @orphan: to be freed when it is done
 * @owned: @data is ours; @pieces, if any, tell where it goes
 */
struct bgdma_msg_request {
	struct match_link link;
	struct match_key key;
	struct bgdma_msg_request *next;
	struct bgdma_msg *msg;
	struct bgdma_msg_message *message;
	bool used, done, queued, posted, orphan, synchronous, owned;
	char *data;
	size_t length;
	struct iovec *pieces;
	unsigned int count;
	struct bgdma_msg_status status;
};

struct request_queue {
	struct bgdma_msg_request *first, **last;
};

#define REQUESTS_CHUNK	64

/*
 * Of those that found no memory so many are tried in turn, receives not more than half
 * of them: one that will never get it must not keep others waiting.
 */
#define TRIES		8

struct request_chunk {
	struct request_chunk *next;
	struct bgdma_msg_request request[REQUESTS_CHUNK];
};

enum message_kind {
	MESSAGE_EAGER,		/* @data has what has arrived */
	MESSAGE_RTS,		/* @rts */
	MESSAGE_EMPTY		/* the same, to be refused: it has no bytes */
};

/*
 * A message that came before its receive.
 * @link: by which receives find it, for each sum of wildcards
 * @taken: by a probe: not in the table
 * @request: a receive that gets it when it has arrived as a whole
 * @next_refusal: it cannot be received, and its sender has to be told
 */
struct bgdma_msg_message {
	struct match_link link[MATCH_KINDS];
	struct bgdma_msg_message *next, **at;	/* of all */
	struct match_key key;
	enum message_kind kind;
	bool taken, arrived;
	int error;
	uint64_t length;
	struct bgdma_msg_request *request;
	struct bgdma_msg_message *next_refusal;
	struct bgdma_rts rts;
	char data[];
};

_Static_assert(sizeof(struct bgdma_msg_message) <= MESSAGE_COST, "it costs more");

/*
 * An eager message of several packets that is arriving.
 * @id: its msg_id
 * @cut: it broke off; packets of it may still come
 */
struct arriving {
	bool active, cut;
	uint32_t id;
	uint64_t at, length;
	struct match_key key;
	struct bgdma_msg_request *request;	/* one of the two */
	struct bgdma_msg_message *message;
};

/*
 * What messages of one process take at another: of its memory until they are
 * received, of its reception FIFO until they are looked at, and of those that it
 * lets be announced.
 */
struct credit {
	uint64_t memory;
	uint64_t fifo;
	uint32_t announced;
};

#define CUTS	4

/* A message that broke off: one of the next @within that arrive may be it. */
struct cut {
	uint32_t id, within;
};

/*
 * Another process.
 * @credit: of ours there, what is left
 * @held: of its here, what it has taken and not got back (its FIFO: not counted)
 * @owed: of that, what it can have back
 * @sends: wait for their turn; those behind wait, too
 * @cut: those that broke off last and have not come yet, in a ring
 * @cuts: of that, how many ever
 * @cut_within: one of the next so many that arrive may be one of those
 * @due: in the list of those whose sends or credits found no room
 */
struct msg_peer {
	struct credit credit, held, owed;
	struct request_queue sends;
	struct arriving in;
	struct msg_peer *next_due;
	struct cut cut[CUTS];
	uint32_t cuts, cut_within;
	bool due, down;
};

/* Memory that all may use. */
struct exposed {
	struct exposed *next;
	struct bgdma_region *region;
	char *addr;
	uint64_t bytes;
};

struct bgdma_msg {
	struct bgdma_msg_attr attr;
	struct bgdma_endpoint *ep;
	uint32_t size;
	bool ready;			/* committed */
	struct credit window;		/* of each peer */
	uint32_t eager, rts, empty, give;	/* operations */
	struct msg_peer *peer;
	struct msg_peer *due, **due_last;
	struct match_table posted, unexpected;
	struct bgdma_msg_message *messages;
	struct request_queue retries;	/* receives that found no room */
	struct bgdma_msg_message *refusals;
	unsigned int moving;		/* rendezvous under way */
	/* How many found no memory, until one of those ends, or some time. */
	unsigned int stuck;
	uint64_t stuck_since;
	bool no_memory;			/* for what is arriving */
	struct request_chunk *chunks;
	struct bgdma_msg_request *unused;
	struct bgdma_msg_request sent;	/* all that were done at once */
	struct exposed *exposed;
	struct bgdma_region *nothing;	/* what an empty message is about */
	struct bgdma_msg_stats stats;
};

static inline void request_queue_init(struct request_queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static inline void request_queue_add(struct request_queue *queue,
				     struct bgdma_msg_request *r)
{
	r->queued = true;
	r->next = NULL;
	*queue->last = r;
	queue->last = &r->next;
}

static inline void request_queue_add_first(struct request_queue *queue,
					   struct bgdma_msg_request *r)
{
	r->queued = true;
	r->next = queue->first;
	if (!queue->first)
		queue->last = &r->next;
	queue->first = r;
}

static inline void request_queue_take(struct request_queue *queue)
{
	struct bgdma_msg_request *r = queue->first;

	r->queued = false;
	queue->first = r->next;
	if (!queue->first)
		queue->last = &queue->first;
}

/* credit.c */

/* What an eager message takes; an announced one takes so much of the FIFO. */
static inline uint64_t message_cost(uint64_t length)
{
	return length + MESSAGE_COST;
}

/* Divide what we have among all. */
void window_make(struct bgdma_msg *msg);
bgdma_packet_fn on_credit;
/* Give a peer back what it can have, when it is time. */
int credit_send(struct bgdma_msg *msg, struct msg_peer *peer);
/* The same, or later. */
void credit_due(struct bgdma_msg *msg, struct msg_peer *peer);

/* A message was looked at: its place in the FIFO is its sender's again. */
static inline void fifo_owe(struct bgdma_msg *msg, struct msg_peer *peer,
			    uint64_t cost)
{
	peer->owed.fifo += cost;
	if (bgdma_unlikely(peer->owed.fifo >= msg->window.fifo / 2))
		credit_due(msg, peer);
}

/* An eager message was received: so is its place in our memory. */
static inline void memory_owe(struct bgdma_msg *msg, struct msg_peer *peer,
			      uint64_t length)
{
	peer->owed.memory += message_cost(length);
	if (bgdma_unlikely(peer->owed.memory >= msg->window.memory / 2 ||
			   peer->held.announced == msg->window.announced))
		credit_due(msg, peer);
}

/* msg.c */
bool msg_becomes_ready(struct bgdma_msg *msg);

/* Whether there is something to stand on. Once it is, it is. */
static inline bool msg_ready(struct bgdma_msg *msg)
{
	return bgdma_likely(__atomic_load_n(&msg->ready, __ATOMIC_RELAXED)) ||
	       msg_becomes_ready(msg);
}

/* Have what waits for room at a peer tried again with the next progress. */
void peer_due(struct bgdma_msg *msg, struct msg_peer *peer);
/* A place in exposed memory, if all of it is in one; else region is NULL. */
struct bgdma_place place_of(const struct bgdma_msg *msg, const void *data,
			    size_t length);
/* Whether an error of the layers below goes away by itself: then wait. */
bool short_of_room(struct bgdma_msg *msg, int error);

/* request.c */
struct bgdma_msg_request *request_get(struct bgdma_msg *msg);
void request_put(struct bgdma_msg_request *r);
/* One with memory of its own; or NULL. */
struct bgdma_msg_request *request_own(struct bgdma_msg *msg, size_t length);
/* Memory that cannot be registered, such as constants: send a copy. -ENOMEM. */
int request_copy(struct bgdma_msg_request *r);
/* The same of a receive: so many bytes at most come to memory of its own. */
int request_apart(struct bgdma_msg_request *r, size_t length);
/* What will be in that memory goes to these pieces. -ENOMEM. */
int request_scatter(struct bgdma_msg_request *r, const struct iovec *pieces,
		    unsigned int count);
/* How much it is in all: 0; -EINVAL; -EMSGSIZE. */
int pieces_length(const struct iovec *pieces, unsigned int count,
		  size_t *length);
/* It is complete, and its status filled in, but for the error. */
void request_done(struct bgdma_msg_request *r, int error);
/* What all calls that wait do; @holds is called where callbacks run. */
int msg_wait(struct bgdma_msg *msg, bool (*holds)(void *arg), void *arg);

/*
 * A call that begins something and waits for it. It begins where it looks first:
 * a wait that is refused, as in a callback, has begun nothing.
 * @data: room for what is received; of a send only read
 * @request: what was begun; NULL: nothing was
 * @error: it could not be begun; there is no request
 */
struct blocking {
	struct bgdma_msg *msg;
	void *data;
	size_t length;
	struct match_key key;
	bool synchronous;
	struct bgdma_msg_request *request;
	int error;
};

/* @holds begins it, and says whether it is over. */
int blocking_wait(struct blocking *b, bool (*holds)(void *arg),
		  struct bgdma_msg_status *status);
/* What all do that do not: look, make progress, look again. -EAGAIN: no. */
int msg_look(struct bgdma_msg *msg, bool (*holds)(void *arg), void *arg);
void requests_release(struct bgdma_msg *msg);

/* send.c */
/* Whether what waits first has the credit that it needs. */
bool sends_can_go(const struct msg_peer *peer);
/* Send what waits, as far as it goes: how much. */
int sends_progress(struct bgdma_msg *msg, struct msg_peer *peer);
void sends_fail(struct msg_peer *peer, int error);
/* Whether it had not begun. */
bool send_cancel(struct bgdma_msg_request *r);

/* arrive.c */
bgdma_packet_fn on_eager, on_rts, on_empty;
/* What is arriving from a peer does not go on. */
void arriving_fail(struct bgdma_msg *msg, uint32_t rank, int error);

/* There was no room to say in the FIFO that a message, of whatever module, broke off. */
void arriving_cut(struct bgdma_msg *msg, uint32_t rank, uint32_t id);
/* Give a receive its message, which is in no table. */
void message_receive(struct bgdma_msg *msg, struct bgdma_msg_message *m,
		     struct bgdma_msg_request *r);
/* No receive or probe finds it any more. */
void message_take(struct bgdma_msg *msg, struct bgdma_msg_message *m);
void messages_release(struct bgdma_msg *msg);
/* Receives that found no room, and refusals. */
int retries_progress(struct bgdma_msg *msg);

/* receive.c */
void receives_fail(struct bgdma_msg *msg, uint32_t rank, int error);

#endif /* BGDMA_MSG_INTERNAL_H */
