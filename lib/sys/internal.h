/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the sys layer share.
 */
#ifndef BGDMA_SYS_INTERNAL_H
#define BGDMA_SYS_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <bgdma/rendezvous.h>
#include <bgdma/sys.h>

#include "../attr.h"
#include "../code.h"
#include "../inside.h"
#include "counters.h"
#include "fair.h"
#include "outage.h"
#include "request.h"

/* Reception FIFOs and the remote-get queue have the same numbers everywhere. */
enum { WAY_CONTROL = 0, WAY_DATA = 1, WAYS = 2 };
enum {
	RGQ_CTS		= 0,	/* answers in one piece, and marks */
	RGQ_PAIRS	= 1,	/* of chains: T's, D's and L's, at the origin */
	RGQ_FETCHES	= 2,	/* O's, at the target */
	RGQS		= 3
};
#define RGQ_QUOTA		64	/* descriptors of one sender, of each */

/*
 * Chains of one peer at a time: their O's, and as many probes, always find room
 * in its RGQ_FETCHES. So no T waits for room, and RGQ_PAIRS drains.
 */
#define CHAINS_MAX		(RGQ_QUOTA / 2)
_Static_assert(BGDMA_IN_FLIGHT_MAX <= CHAINS_MAX, "a message has to fit");

/*
 * The header of a packet: the low half of the identifier is its dispatch
 * field, the rest and the type are above the word in its cookie.
 */
#define IDENTIFIER_MASK		0x7fffffffU
#define COOKIE_TYPE_SHIFT	63

static inline uint64_t cookie_make(uint32_t type, uint32_t id, uint64_t word)
{
	return (uint64_t)type << COOKIE_TYPE_SHIFT |
	       (uint64_t)(id >> 16) << BGDMA_WORD_BITS | word;
}

static inline uint32_t packet_type(const struct bgdma_packet *packet)
{
	return (uint32_t)(packet->cookie >> COOKIE_TYPE_SHIFT);
}

static inline uint32_t packet_id(const struct bgdma_packet *packet)
{
	return packet->dispatch |
	       ((uint32_t)(packet->cookie >> BGDMA_WORD_BITS) & 0x7fff) << 16;
}

/* All in a header that names the operation. */
static inline uint64_t packet_key(const struct bgdma_packet *packet)
{
	return (packet->cookie & ~BGDMA_WORD_MASK) | packet->dispatch;
}

#define KEY_WAY_SHIFT	16	/* where it has room for the way */

struct operation {
	struct operation *next;
	uint32_t id;
	uint32_t type;
	uint32_t flags;
	bgdma_packet_fn *packet;
	void *arg;
	char module[BGDMA_OPERATION_NAME_MAX];
	char name[BGDMA_OPERATION_NAME_MAX];
};

/* Operations of one type: in no order until the commit, then by hash. */
struct table {
	struct operation *all;
	uint32_t count;
	uint32_t mask;
	struct operation **slot;
};

/* What a descriptor in a channel was for. */
struct sent {
	const struct operation *op;	/* of a message; or NULL */
	uint32_t rank;
	uint32_t token;		/* of a request; 0: none */
	uint64_t copied;	/* copies up to here end with it */
	bool told;		/* it failed, and was seen to */
};

/*
 * An injection FIFO, and memory for copies of messages that its descriptors
 * name. Copies are given back in the order of the descriptors.
 */
struct channel {
	struct bgdma_inj_fifo *fifo;
	struct sent *sent;	/* by slot of the ring */
	uint64_t mask;		/* slots - 1 */
	uint64_t done;		/* descriptors that have ended, see channel_look() */
	uint64_t ended;		/* that will be @done when as many events are read */
	uint64_t events;
	uint64_t doubt;		/* those before may have failed unseen, */
	uint64_t doubt_lost;	/* if not only so many events_crammed */
	uint32_t doubt_code;	/* of which outage */
	bool asked;		/* a packet will tell of room */
	char *copy;
	uint64_t copy_at;	/* of @copy in its region */
	uint64_t copy_head;	/* bytes taken since creation */
	uint64_t copy_tail;	/* bytes given back */
	struct queue unanswered;	/* requests whose CTS found no room in it */
};

struct peer {
	struct bgdma_peer at;
	struct channel *channel[WAYS];
	struct peer *next_gone;	/* see endpoint_peer_end() */
	bool down;
	bool settled;		/* it is down, and its messages have ended */
	bool searched[WAYS];	/* @gone_after is exact */
	uint64_t gone_after[WAYS];	/* behind what came before it was down */
	bool word_due;		/* it has to be told that we broke with it */
	bool word_vain;		/* it has ended since */
	bool unsure;		/* it is down with its kernel, which may live */
	uint32_t why;		/* it is down: enum bgdma_code */
	bool paced;		/* long messages to it are */
	bool mark_due;		/* see refusal.c */
	uint32_t marks;		/* sent, that have not come back */
	bool probe_due;
	bool probe_out;		/* one is under way, see probe.c */
	uint32_t probe;		/* number of the last */
	uint32_t probes;	/* handle of what they bring back */
	uint64_t probe_order;	/* of the last among our answers */
	uint32_t chains;	/* that it is the origin of */
	uint32_t parked;	/* of its messages */
	struct request *chain_first;	/* of those */
	uint32_t serials;	/* RTS sent to it */
	uint32_t examine;	/* why its chains are looked at, or 0 */
	bool examine_again;
	struct stop *stops;	/* by serial; NULL: none yet */
	struct stop *stops_due;
	bool stops_again;	/* when these are answered */
};

/*
 * A message that its origin gave up before it was accepted; @serial 0: none.
 * @told: what its origin is told of, also when it was accepted meanwhile
 * @lost: the latest that had to make room here for another; 0: none
 * @due: its origin has to be told yet
 */
struct stop {
	uint32_t serial;
	uint32_t told;
	uint32_t lost;
	uint32_t token;
	bool due;
	struct stop *next_due;
};

/* Messages that a process can have announced and that were not answered yet. */
#define ORIGINS_MAX	(1U << (TOKEN_SLOT_BITS - 1))

/*
 * The latest of a peer that are remembered: as many as it can have announced. Of
 * one that was given up before these nothing is known, unless it had to make
 * room: then neither it nor any before it in its place is moved.
 */
#define STOPS		ORIGINS_MAX
#define STOPS_LOST	(1U << 24)	/* serials that are held for lost */
#define STOPS_OLD	(1U << 30)	/* and how far back until they are forgotten */

/* How a message crosses: in portions of so many bytes, or, 0, as a whole. */
struct pace {
	uint64_t portion;
	uint32_t in_flight;
	bool packets;
};

struct token_slot {
	struct request *request;
	uint32_t uses;
	uint32_t next_free;
};

/* From node and context to rank, open addressing. */
struct who {
	uint64_t key;
	uint32_t rank;		/* BGDMA_STRANGER: free, or it has gone */
	bool used;
	bool broken;		/* with who has gone: he may be there */
};

enum state { STATE_OPEN, STATE_FAILED, STATE_COMMITTED, STATE_CLOSED };

/* Memory of a chain that is over, see kept.c. */
struct kept {
	struct bgdma_region *region;
	uint32_t rank;
	bool target;			/* we were */
};

#define KEPT_MAX	8U
#define KEPT_BYTES_MAX	(4U << 20)	/* of all; one chain of 20,000 portions */

struct module {
	struct module *next;
	struct bgdma_module_attr attr;
};

struct bgdma_endpoint {
	struct bgdma_endpoint_attr attr;
	struct bgdma_ctx *ctx;
	uint32_t rank, size;
	_Atomic enum state state;	/* written with the lock */

	struct bgdma_rec_fifo *rec[WAYS];
	bool deferred[WAYS];	/* a callback said -EAGAIN */
	struct channel *channel;
	struct bgdma_region *copies;
	struct bgdma_region *probes;

	struct peer *peer;
	struct peer *gone;	/* not yet told */
	struct who *who;
	uint32_t who_mask;
	struct who last;	/* who it was last time */
	uint64_t last_key;	/* of the packet before, see packet_key() */
	const struct operation *last_op, *sent_op;

	struct table table[2];
	struct module *modules;
	bool work_left;		/* of some module, for which a channel has no room */
	bool work_late;		/* for another reason, of which nothing tells */

	struct bgdma_rget_queue *rgq[RGQS];
	struct pool pool[2];	/* by kind of counter */
	bool unsettled;		/* some message has left something there */
	struct request *requests;
	struct token_slot *slot;
	uint32_t slots, free_slot;
	struct request **by_origin;	/* as many; of targets */
	uint32_t origins;		/* requests of ours to others */
	uint32_t unanswered;		/* in the queues of the channels */
	struct queue parked;
	struct queue ended;		/* and were not told so yet */
	struct queue suspects;		/* failed, see fail.c */
	uint64_t answers;		/* CTS begun: what marks are told by */
	uint64_t events_lost;		/* as last seen */
	uint64_t events_crammed;	/* the same, when the last of a failure may have been */
	uint64_t events_from;		/* where progress that took some has begun */
	uint32_t events_room;
	uint64_t events_before;		/* the commit: see event_nodes_down() */
	bool doubts;			/* of some channel */
	uint32_t examines;		/* peers whose chains are looked at */
	struct kept kept[KEPT_MAX];
	uint32_t kept_next;		/* to make room */
	uint64_t secret;		/* of @by_origin; odd */
	bool marks_due;			/* or stops, of some peer, or probes */
	bool no_room;			/* and no packet will tell of any, or of an end */
	uint32_t asking;		/* channels of which one will */
	uint64_t asks;			/* times that somebody found no room */
	uint32_t took_id, tail_id, piece_id, mark_id, probe_id, cut_id, stop_id;
	uint32_t room_id, word_id;
	struct words words;

	bool many;		/* the lock is needed */
	struct fair_mutex lock;	/* protects all; recursive, for callbacks */
	uint64_t handled;	/* packets and events */
	uint64_t serial;	/* no other endpoint has it */
	unsigned int followers;	/* sleep until somebody else has handled something */
	bool inside;		/* a callback runs */
	bool data_first;	/* the last budget went to control packets */
	bool sleeping;		/* somebody sleeps in the kernel for all */
	bool napping;		/* not for long */
	int wake_fd;		/* an eventfd that wakes him */
	bool stop;		/* the thread has to end */
	bool has_thread;	/* that was not joined */
	bool threaded;		/* it runs */
	pthread_t thread;

	struct bgdma_endpoint_stats stats;
};

static inline void endpoint_lock(struct bgdma_endpoint *ep)
{
	if (ep->many)
		fair_lock(&ep->lock);
}

static inline void endpoint_unlock(struct bgdma_endpoint *ep)
{
	if (ep->many)
		fair_unlock(&ep->lock);
}

/* endpoint.c */

static inline uint64_t who_key(uint32_t node, uint16_t ctx)
{
	return (uint64_t)node << 16 | ctx;
}

/* endpoint_who() of another than last time. */
uint32_t endpoint_who_slow(struct bgdma_endpoint *ep, uint64_t key);

/* Rank of a context, or BGDMA_STRANGER. */
static inline uint32_t endpoint_who(struct bgdma_endpoint *ep, uint32_t node,
				    uint16_t ctx)
{
	uint64_t key = who_key(node, ctx);

	if (bgdma_likely(key == ep->last.key &&
			 ep->last.rank != BGDMA_STRANGER))
		return ep->last.rank;
	return endpoint_who_slow(ep, key);
}

/* It has gone: who comes to its place is nobody of the job. */
void endpoint_forget(struct bgdma_endpoint *ep, const struct peer *peer);

/* Whether it is there, perhaps, but we broke with it: not asked of others. */
bool endpoint_is_broken(struct bgdma_endpoint *ep, uint32_t node, uint16_t ctx);

/* Learn where everybody is, and let them in. */
int endpoint_meet(struct bgdma_endpoint *ep, const struct bgdma_peer *at);

/* registry.c */
static inline struct operation *operation_find(const struct table *table,
					       uint32_t id)
{
	struct operation *op;
	uint32_t i = id;

	do {
		op = table->slot[i++ & table->mask];
	} while (op && op->id != id);
	return op;
}

void registry_free(struct bgdma_endpoint *ep);

/* module.c */
static inline unsigned int modules_work(struct bgdma_endpoint *ep)
{
	const struct module *module;
	unsigned int n = 0;
	uint64_t asks;
	int ret;

	ep->work_left = false;
	ep->work_late = false;
	for (module = ep->modules; module; module = module->next) {
		if (!module->attr.work)
			continue;
		asks = ep->asks;
		ret = module->attr.work(module->attr.arg);
		if (ret > 0)
			n += (unsigned int)ret;
		else if (ret == -EAGAIN && ep->asks != asks)
			ep->work_left = true;
		else if (ret == -EAGAIN || ret == -ENOMEM)
			ep->work_late = true;
	}
	return n;
}

void modules_trouble(struct bgdma_endpoint *ep,
		     const struct bgdma_trouble_info *info);
/* NULL: some were lost. */
void modules_event(struct bgdma_endpoint *ep, const struct bgdma_event *event);
void modules_release(struct bgdma_endpoint *ep);

/* request.c */
struct request *request_new(struct bgdma_endpoint *ep, uint32_t rank,
			    bool target, bgdma_done_fn *done, void *arg);
/* End a request that nobody has heard of yet. */
void request_undo(struct bgdma_endpoint *ep, struct request *r);
/* Free what it holds, and have its function called at the next progress. */
void request_end(struct bgdma_endpoint *ep, struct request *r, int result);
/* The request that a token of a process names, or NULL. */
struct request *request_find(struct bgdma_endpoint *ep, uint32_t token,
			     uint32_t rank, bool target);
/* The same by the token alone. */
struct request *request_of(struct bgdma_endpoint *ep, uint32_t token);
/* Target: from now on request_of_origin() finds it. */
void request_name(struct bgdma_endpoint *ep, struct request *r);
/* The target's request for a message that its origin names, or NULL. */
struct request *request_of_origin(struct bgdma_endpoint *ep, uint32_t token,
				  uint32_t rank);
/* Target: it is answered no more. */
void request_unqueue(struct bgdma_endpoint *ep, struct request *r);
void requests_fail(struct bgdma_endpoint *ep, uint32_t rank);
void requests_destroy(struct bgdma_endpoint *ep);
unsigned int requests_ended(struct bgdma_endpoint *ep);
void queue_init(struct queue *queue);
/* Out of the middle of a queue, of which a request is in one; was it there? */
bool queue_remove(struct queue *queue, struct request *r);
void queue_add(struct queue *queue, struct request *r);
void queue_add_first(struct queue *queue, struct request *r);
struct request *queue_take(struct queue *queue);

/* rendezvous.c */

/*
 * Cookies of the descriptors of a message: which message, and above the word
 * which portion. The origin's own are told from the target's.
 */
#define COOKIE_ORIGIN		(1ULL << 63)
static inline uint64_t tokens_make(uint32_t origin, uint32_t target)
{
	return (uint64_t)origin << TOKEN_BITS | target;
}

static inline uint32_t token_origin(uint64_t word)
{
	return (uint32_t)(word >> TOKEN_BITS) & TOKEN_MASK;
}

static inline uint32_t token_target(uint64_t word)
{
	return (uint32_t)word & TOKEN_MASK;
}

static inline uint64_t cookie_portion(uint32_t portion)
{
	return (uint64_t)portion << BGDMA_WORD_BITS;
}

/*
 * Of packets of a portion: the portion in place of the origin's token, which is
 * always more than BGDMA_PORTIONS_MAX.
 */
static inline uint64_t piece_make(uint32_t portion, uint32_t target)
{
	return tokens_make(portion, target);
}

static inline uint32_t piece_portion(uint64_t word)
{
	return token_origin(word);
}

/* Memory of a request that its peer alone may use, by those rights. */
int request_grant(struct bgdma_endpoint *ep, const struct request *r,
		  struct bgdma_region *region, uint32_t rights);
/* Memory of the caller's as such a region. */
int memory_register(struct bgdma_endpoint *ep, struct request *r, void *data,
		    uint64_t length, uint32_t local, uint32_t right);
int rendezvous_register(struct bgdma_endpoint *ep);
unsigned int rendezvous_progress(struct bgdma_endpoint *ep);

/* target.c */
bgdma_packet_fn on_tail, on_piece;
/* What the builders of all descriptors of a CTS begin with. */
struct bgdma_transfer cts_transfer(const struct bgdma_endpoint *ep,
				   const struct request *r);
/* Puts of @bytes from @at on: how many. */
unsigned int cts_puts(const struct bgdma_endpoint *ep, const struct request *r,
		      uint64_t at, uint64_t bytes, uint32_t portion,
		      struct bgdma_desc *desc);
/* What follows the last bytes, of each chain, if anything must: how many. */
unsigned int cts_end(const struct bgdma_endpoint *ep, const struct request *r,
		     struct bgdma_desc *desc);
/* Descriptors for the engine of another process, by a remote get of ours. */
int rget_send(struct bgdma_endpoint *ep, uint32_t rank, uint16_t queue,
	      uint32_t token, const struct bgdma_desc *desc, unsigned int n);
/* Target: whether its chains may start; else it is parked. */
bool chains_begin(struct bgdma_endpoint *ep, struct request *r);
/* A message that is parked waits no more. */
void chains_unpark(struct bgdma_endpoint *ep, struct request *r);
/* Its chains are over: others may start. */
void chains_end(struct bgdma_endpoint *ep, struct request *r);
/* From now on a mark that is sent comes behind it. */
void answer_begun(struct bgdma_endpoint *ep, struct request *r);
/* Send those answers that found no room: how many. */
unsigned int unanswered_progress(struct bgdma_endpoint *ep);
/* Behind all others that wait for room in the channel of its CTS. */
void unanswered_add(struct bgdma_endpoint *ep, struct request *r);
/* If it is there. */
void unanswered_remove(struct bgdma_endpoint *ep, struct request *r);

/* refusal.c */
bgdma_packet_fn on_mark;
/* Send what of marks, answers and probes found no room: how many answers. */
unsigned int marks_progress(struct bgdma_endpoint *ep);
/* Look at some of the chains whose targets are suspected: 1, so nobody sleeps. */
unsigned int examine_progress(struct bgdma_endpoint *ep);
/* A descriptor of ours was refused at @rank, or we refused one of it. */
void rendezvous_refused(struct bgdma_endpoint *ep, uint32_t rank,
			const struct bgdma_event *event);
/* Events were lost, of which any may have been such a one. */
void rendezvous_missed(struct bgdma_endpoint *ep);

/* probe.c */
bgdma_packet_fn on_probe;
/* What the probes of others bring back, before these are let in. */
int probes_create(struct bgdma_endpoint *ep);
/* A chain is in doubt, by a refusal that a mark before @before followed. */
void probe_begin(struct bgdma_endpoint *ep, uint32_t rank, uint64_t before);
/* Send one that found no room. */
void probe_progress(struct bgdma_endpoint *ep, uint32_t rank);
/* A descriptor of ours that has this word was refused: if it was a probe. */
void probe_refused(struct bgdma_endpoint *ep, uint32_t rank, uint64_t word);

/* fail.c */
bgdma_packet_fn on_cut, on_stop;
/* Answer some of those of a process that were not yet: how many. */
unsigned int stops_progress(struct bgdma_endpoint *ep, uint32_t rank);
/* Answer all of a process again: some answer may have been dropped. */
void stops_again(struct bgdma_endpoint *ep, uint32_t rank);
/* End a message that its origin has given up: false: it has not. */
bool stop_asked(struct bgdma_endpoint *ep, struct request *r);
/* End a request of which something failed, at a portion, or 0: see there. */
void request_broken(struct bgdma_endpoint *ep, struct request *r, int result,
		    uint32_t code, uint32_t portion);
/* Tell of the portion, when callbacks may be called. */
void portion_trouble(struct bgdma_endpoint *ep, const struct request *r);
/* The same as request_broken(), and tell the other side. */
void request_fail(struct bgdma_endpoint *ep, struct request *r, uint32_t code,
		  uint32_t portion);
/*
 * A packet says that it is all there, which of a failure an event said before: look at
 * those. NULL: it has ended, or is to.
 */
struct request *request_told(struct bgdma_endpoint *ep, const struct request *r);
/* How long after one side knows of a failure the other, or an event, may tell more. */
#define EVENT_NS	200000000
/* The same at a time, if nobody ends it before. */
void request_suspect(struct bgdma_endpoint *ep, struct request *r,
		     uint32_t code, uint32_t portion, int64_t until);
void suspects_progress(struct bgdma_endpoint *ep);
/* When the first is due. */
int64_t suspects_next(const struct bgdma_endpoint *ep);

/* chain.c */
/* Origin: write the descriptors O1 to On-1, unfilled (SP-2). */
int chain_offer(struct bgdma_endpoint *ep, struct request *r,
		const struct pace *pace);
/* Origin: the first of so many of them that its target made nonsense of, or 0. */
uint32_t chain_damaged(const struct bgdma_endpoint *ep, const struct request *r,
		       uint32_t first, uint32_t count);
/* The portion that a paced message has got to, or 0: it has not begun. */
uint32_t chain_reached(const struct bgdma_endpoint *ep,
		       const struct request *r);
/* Target: divide what is taken into portions, perhaps only one. */
void chain_divide(struct request *r);
/* Target: which portions come in packets (SP-5); -ENOMEM, -EINVAL. */
int chain_ways(struct bgdma_endpoint *ep, struct request *r,
	       const struct bgdma_accept_attr *a);
bool portion_in_packets(const struct request *r, uint32_t k);
/* Target: write all that the chain needs (SP-3). */
int chain_prepare(struct bgdma_endpoint *ep, struct request *r);
/* Target: have what was not fetched yet move nothing, and tell so. */
void chain_stop(struct request *r);
/* Target: fill in the origin's descriptors and start (SP-3a, SP-4). */
int chain_send(struct bgdma_endpoint *ep, struct request *r);

/* kept.c */
/* Memory for a chain that its peer may use by @rights. */
int chain_memory(struct bgdma_endpoint *ep, struct request *r, uint64_t bytes,
		 uint32_t local, uint32_t rights);
/* It needs it no more; @well: nor is anything of it under way. */
void chain_memory_end(struct bgdma_endpoint *ep, struct request *r, bool well);
/* What is kept for a peer that has gone. */
void kept_drop(struct bgdma_endpoint *ep, uint32_t rank);

/* pacing.c */
/* Fill in what the caller left open. */
int pacing_complete(struct bgdma_endpoint *ep);
/* Whether long messages to a node are paced. */
bool pacing_of(const struct bgdma_endpoint *ep, uint32_t node);
struct pace pace_of(const struct bgdma_endpoint *ep,
		    const struct bgdma_rendezvous_attr *a);

/* send.c */
/* A destination always uses the same (LC-4). */
static inline struct channel *channel_of(const struct bgdma_endpoint *ep,
					 unsigned int way, uint32_t rank)
{
	return ep->peer[rank].channel[way];
}

/* Whether there is a slot, and room for @bytes that its descriptor names. */
bool channel_ready(struct bgdma_endpoint *ep, struct channel *ch,
		   uint64_t bytes);
/*
 * Take a slot of a channel, and room for @bytes that its descriptor names.
 * NULL: no room now. @t gets the place.
 */
struct bgdma_desc *channel_take(struct bgdma_endpoint *ep, struct channel *ch,
				uint64_t bytes, const struct sent *what,
				struct bgdma_transfer *t, char **copy);
#define CHANNELS_MAX	64	/* of each way */

/* Those of the control way come first, as many of the data way follow. */
static inline uint32_t channels_count(const struct bgdma_endpoint *ep)
{
	return WAYS * ep->attr.channels;
}

/* A packet of a channel to ourselves has come: there is room in it. */
bgdma_packet_fn on_room;
int send_one(struct bgdma_endpoint *ep, const struct operation *op,
	     const struct bgdma_send_attr *a, uint32_t rank, uint32_t token);
int channel_create(struct bgdma_endpoint *ep, struct channel *ch,
		   uint32_t index);
void channel_destroy(struct channel *ch);
/* A descriptor of an injection FIFO failed. */
void channel_event(struct bgdma_endpoint *ep, const struct bgdma_event *event);
/*
 * Look for channels in error, report why and let them go on. @lost: events_crammed
 * before any of them can have failed.
 */
unsigned int channels_repair(struct bgdma_endpoint *ep, uint64_t lost);

/* progress.c */
/* Look at what the engine tells: how much. */
unsigned int events_progress(struct bgdma_endpoint *ep);
/* Changes when events were lost among which there may be one of a FIFO's failure. */
uint64_t events_crammed(const struct bgdma_endpoint *ep);
/*
 * With the lock: bgdma_endpoint_progress(). Control packets are first, but for one
 * budget in two.
 */
int progress_locked(struct bgdma_endpoint *ep, unsigned int budget);
/* Count something, and call whoever wants to know. */
void endpoint_trouble(struct bgdma_endpoint *ep,
		      const struct bgdma_trouble_info *info);
/* Mark a process as gone, or as one that we broke with, and say so soon, once. */
void endpoint_peer_end(struct bgdma_endpoint *ep, uint32_t rank, uint32_t code);

static inline void endpoint_peer_down(struct bgdma_endpoint *ep, uint32_t rank)
{
	endpoint_peer_end(ep, rank, BGDMA_E_PEER_DOWN);
}

/* Make the thread, if there is to be one; it waits for progress_begin(). */
int progress_start(struct bgdma_endpoint *ep);
/* All have committed; or not: then the thread ends. */
void progress_begin(struct bgdma_endpoint *ep, bool committed);
void progress_stop(struct bgdma_endpoint *ep);

/* sleep.c */
int wake_create(struct bgdma_endpoint *ep);
void wake_destroy(struct bgdma_endpoint *ep);
/* Of the clock that deadlines are of. */
int64_t sys_now_ns(void);
/* This thread is about to be told -EAGAIN. */
void again_note(const struct bgdma_endpoint *ep);
/* Have whoever sleeps in the kernel look again. */
void sleeper_wake(struct bgdma_endpoint *ep);

/*
 * bgdma_inj_submit(), whose descriptors are in the ring though the doorbell could not
 * be rung: that is done again before a wait. Who was told that it failed would send it
 * twice.
 */
static inline int fifo_submit(struct bgdma_endpoint *ep,
			      struct bgdma_inj_fifo *fifo)
{
	int ret = bgdma_inj_submit(fifo);

	if (bgdma_likely(!ret))
		return 0;
	if (ret == -ENODEV || ret == -EPERM)
		return ret;
	/* Who sleeps does not ring. */
	sleeper_wake(ep);
	return 0;
}

static inline int channel_submit(struct bgdma_endpoint *ep, struct channel *ch)
{
	return fifo_submit(ep, ch->fifo);
}

/* No packet will tell: whoever sleeps looks again soon, and the others with him. */
void nap_ask(struct bgdma_endpoint *ep);
/*
 * Something was handled: have all look whether it was what they wait for. The
 * endpoint's own thread waits for nothing of the kind.
 */
void waiters_wake(struct bgdma_endpoint *ep);
/*
 * Sleep in the kernel, without the lock, until something arrives. A way whose
 * next packet a callback does not want yet is no reason to wake.
 */
int kernel_sleep(struct bgdma_endpoint *ep, int64_t timeout_ns);

#endif /* BGDMA_SYS_INTERNAL_H */
