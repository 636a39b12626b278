/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the rma module share.
 */
#ifndef BGDMA_RMA_INTERNAL_H
#define BGDMA_RMA_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <bgdma/rendezvous.h>
#include <bgdma/rma.h>

#include "../attr.h"
#include "../code.h"

/* Of epochs that stand for MPI's: one of each process at a gate. */
#define EPOCH_ACCESS		BGDMA_EPOCH_RESERVED

/* What a descriptor in a channel is. */
enum sent_kind {
	SENT_GATE, SENT_PUT, SENT_MARK,
	SENT_GET			/* + the epoch's phase */
};

struct sent {
	struct bgdma_rma_epoch *epoch;	/* NULL: nobody wants to know */
	uint64_t serial;
	uint32_t count;			/* gets: of them; a mark: whose it is */
	enum sent_kind kind;
};

/*
 * An injection FIFO, and memory for the descriptors of its remote gets: for
 * each slot of the ring as many as one can have.
 */
struct channel {
	struct bgdma_rma *rma;
	struct bgdma_inj_fifo *fifo;
	struct sent *sent;		/* by slot of the ring */
	uint64_t mask;			/* slots - 1 */
	uint64_t done;			/* have ended, as last seen */
	struct bgdma_desc *gets;
	uint64_t gets_at;		/* of @gets in the module's memory */
	uint64_t scratch;		/* there, eight bytes for each of: */
	unsigned int atomics;		/* that somebody waits for: see update.c */
};

/* An origin's epoch. Used again for the same target, with another @serial. */
struct bgdma_rma_epoch {
	struct bgdma_rma_epoch *next;	/* of the window, or of the idle ones */
	struct bgdma_rma *rma;
	struct bgdma_window *window;	/* NULL: idle */
	struct channel *ch;
	struct bgdma_counter *sync;	/* injection: granted, closed */
	struct bgdma_counter *get;	/* reception: the get counter (EP-2) */
	struct bgdma_counter *before;	/* of gets up to @turn; NULL: not yet */
	uint64_t serial;
	uint32_t target;
	uint32_t id;
	uint32_t node;
	uint16_t ctx;
	uint16_t queue;			/* of remote gets, there */
	uint32_t region;		/* there; 0: dynamic */
	uint32_t unit;
	uint64_t length;
	uint32_t get_handle, before_handle;
	unsigned int phase;		/* how often these were swapped, mod 2 */
	bool closing;
	bool ending;			/* a thread has begun to close it */
	bool acknowledged;		/* a CLOSE was sent */
	bool doubted;			/* see mark.c: one is to be sent */
	uint64_t mark;			/* 0: none is under way */
	uint64_t mark_gets;		/* that went before it */
	uint32_t mark_code;		/* of what was refused */
	uint32_t code;			/* enum bgdma_code of the first error */
	unsigned int watchers;		/* threads that sleep on its counters */
	uint64_t puts;			/* the put counter (EP-3) */
	uint64_t gets;			/* since it began */
	uint64_t gets_done;		/* of those, the first, at least */
	uint64_t turn;			/* how many @before counts */
	uint64_t seq;			/* after its last descriptor */
	uint64_t failed_seq;		/* after the last that failed, with: */
	uint32_t failed_code;
};

struct attached {
	struct attached *next;
	uint64_t addr, length;
	uint32_t handle;
	struct bgdma_region *region;	/* own: */
	uint32_t *grant;		/* as that of a window */
};

/* A process, as a window sees it. */
struct window_peer {
	bool gone;			/* it has not the window, which some have */
	bool told;			/* of its part: */
	bool dynamic;
	int status;
	uint32_t region;
	uint32_t unit;
	uint64_t length;
	uint16_t queue;
	struct bgdma_rma_epoch *access;	/* of lock, fence or start */
	struct bgdma_rma_epoch *closing; /* the same, while all are closed */
	bool beginning;			/* a thread waits for that */
	bool locked;			/* it is a lock's */
	int result;			/* of closing it, so far */
	uint64_t end;			/* where its END is in the channel */
	bool started;
	uint64_t named;			/* @namings of the window, at the last */
	uint32_t posts;			/* not yet used */
	uint32_t completes;
	struct attached *attached;
	uint32_t pieces;		/* of these; own: and of @untold */
};

/* What accesses without an own lock belong to; busy: a thread begins or ends that. */
enum access_mode {
	ACCESS_NONE, ACCESS_LOCKS, ACCESS_FENCE, ACCESS_STARTED, ACCESS_BUSY
};

#define ROUNDS	32

/* An epoch of another process at our window, for which accesses are trapped. */
struct trapped {
	struct trapped *next;
	uint32_t node, incarnation, epoch;
	uint32_t rank;		/* of its origin in the job */
};

struct bgdma_window {
	struct bgdma_window *next;
	struct bgdma_rma *rma;
	uint32_t number;
	bool created;			/* by us; else others were faster */
	struct bgdma_window_attr attr;
	struct bgdma_region *region;
	uint32_t *grant;		/* of it, to each rank; 0: none of its own */
	struct window_peer *peer;
	/*
	 * Own memory that is detached, or was not attached for good, of which some
	 * others may still know. It counts: they count it.
	 */
	struct attached *untold;
	struct bgdma_rma_epoch *open;
	enum access_mode mode;
	uint32_t locks;			/* of bgdma_window_lock(), and who waits for one */
	bool posted;			/* and not waited for yet */
	uint32_t *exposed;		/* whom post let */
	uint32_t n_exposed;
	uint64_t namings;		/* of ranks, by post or start */
	uint32_t generation;		/* barriers begun */
	uint32_t arrived[ROUNDS];
	uint32_t broken;		/* barrier from which on one is missing */
	struct trapped *trapped;
	int trap;			/* its place in the handler's table */
	bool closed;			/* its memory was protected since it was open */
};

struct rma_peer {
	uint32_t down;			/* enum bgdma_code, or 0 */
	uint32_t lost;			/* it will be: our memory is being shut to it */
	struct channel *ch;
	struct bgdma_rma_epoch *idle;
};

struct bgdma_rma {
	struct bgdma_endpoint *ep;
	struct bgdma_ctx *ctx;
	struct bgdma_rma_attr attr;
	uint32_t rank, size;
	bool no_memory;			/* for what a packet or a gate says: it stays */
	bool trap_missed;		/* a gate's answer, or open memory, is due */
	uint32_t shutting;		/* peers that are lost, and not yet down */
	uint32_t operation, mark_operation;
	uint64_t marks;			/* sent */
	bool doubts;			/* of some epoch */
	struct channel *channel;
	struct bgdma_region *memory;	/* of the channels */
	struct bgdma_rget_queue *queue;
	bool open;			/* the queue, to the others */
	struct rma_peer *peer;
	struct bgdma_window *windows;
	struct bgdma_window *kept[2];	/* for when there is no memory for one */
	struct bgdma_rma_epoch *spare;	/* without counters */
	uint32_t idle;			/* counters of those that are idle, of a kind */
	uint32_t created;
};

/* Those of this process at all windows. */
#define for_each_epoch(e, window, rma)					\
	for ((window) = (rma)->windows; (window); (window) = (window)->next) \
		for ((e) = (window)->open; (e); (e) = (e)->next)

static inline void rma_lock(const struct bgdma_rma *rma)
{
	bgdma_endpoint_lock(rma->ep);
}

static inline void rma_unlock(const struct bgdma_rma *rma)
{
	bgdma_endpoint_unlock(rma->ep);
}

/* For a packet: it stays, and nothing but time tells when there may be some. */
static inline int rma_no_memory(struct bgdma_rma *rma)
{
	rma->no_memory = true;
	return -EAGAIN;
}

/* rma.c */
/* Wait with progress, whatever signals come. */
int rma_wait(struct bgdma_rma *rma, bool (*holds)(void *arg), void *arg);
void rma_trouble(struct bgdma_rma *rma, const struct bgdma_rma_trouble *t);
/* Who a context is: a rank, or BGDMA_STRANGER. */
uint32_t rma_rank(const struct bgdma_rma *rma, uint32_t node, uint16_t ctx,
		  uint32_t incarnation);
int rma_errno(uint32_t code);

/* channel.c: all with the lock; rma_channel_wait() also without */
int rma_channel_create(struct bgdma_rma *rma, struct channel *ch,
		       uint32_t index);
uint64_t rma_channel_bytes(const struct bgdma_rma *rma);
/* Whether there is a slot. What has ended is attributed then. */
bool rma_channel_has_room(struct channel *ch);
int rma_channel_room_wait(struct channel *ch);

/*
 * Wait for a slot, which takes only engines, but for marks: so progress is made after a
 * while, and a callback may end what is going on. So this comes first, and then the
 * question whether the access is possible. Between this and rma_channel_take() there is
 * no progress, which could take the slot.
 */
static inline int rma_channel_room(struct channel *ch)
{
	if (bgdma_likely(bgdma_inj_next(ch->fifo) - ch->done <= ch->mask))
		return 0;
	return rma_channel_room_wait(ch);
}

/* The next slot, for a descriptor of an epoch: fill it, then submit. There is room. */
int rma_channel_take(struct bgdma_rma_epoch *e, enum sent_kind kind,
		     uint32_t count, struct bgdma_desc **desc);
/*
 * Send what is in the ring. A doorbell that could not be rung is rung again before a
 * wait: who was told that it failed would do the same twice.
 */
static inline int rma_channel_ring(struct channel *ch)
{
	int ret = bgdma_inj_submit(ch->fifo);

	if (bgdma_likely(!ret) || ret == -ENODEV || ret == -EPERM)
		return ret;
	/* Who sleeps does not ring. */
	bgdma_endpoint_wake(ch->rma->ep);
	return 0;
}

/* If there is anything. */
int rma_channel_submit(struct channel *ch);
/* Report why the FIFO has stopped, and let it go on. */
void rma_channel_repair(struct channel *ch);
/* Until all before @seq has ended. */
int rma_channel_wait(struct bgdma_rma *rma, struct channel *ch, uint64_t seq);

/* epoch.c */
void epoch_fail(struct bgdma_rma_epoch *e, uint32_t code);
int epoch_begin(struct bgdma_window *window, uint32_t target, uint32_t id,
		unsigned int flags, struct bgdma_rma_epoch **epoch);
/* Wait for what a request names, in the channel that its epoch had. */
int epoch_settle(const struct bgdma_rma_request *request, struct channel *ch);
/* The error of a counter, which then is the epoch's, or BGDMA_OK. */
uint32_t epoch_counter_fails(struct bgdma_rma_epoch *e,
			     const struct bgdma_counter *counter);
/* Of bgdma_epoch_flush(), with the lock: all until now is to be settled. */
int epoch_flush_begin(struct bgdma_rma_epoch *e, struct bgdma_rma_request *all,
		      struct channel **ch);
/* Before the last look of who then sleeps. */
void epoch_clear_hits(struct bgdma_rma_epoch *e);
/* Whether its target is gone, or as if it were: then that is the epoch's error. */
bool epoch_is_lost(struct bgdma_rma_epoch *e);
/* Wait, with interrupts of its counters. */
int epoch_wait(struct bgdma_rma_epoch *e, bool (*there)(void *arg), void *arg);
/* Any counter; with the lock. If there is none left it is taken from an idle epoch. */
int epoch_counter_alloc(struct bgdma_rma *rma, unsigned int kind,
			struct bgdma_counter **counter);
/* A get counter that the target may move. */
int get_counter_create(struct bgdma_rma_epoch *e,
		       struct bgdma_counter **counter);
/* The stages of a close: several epochs go through each together. */
/* One of the application's, or a lock's. */
int epoch_close(struct bgdma_rma_epoch *e);
int epoch_close_begin(struct bgdma_rma_epoch *e);
int epoch_close_wait(struct bgdma_rma_epoch *e);
int epoch_close_end(struct bgdma_rma_epoch *e, int result, uint64_t *seq);
void epochs_release(struct bgdma_rma *rma);

/* gets.c: with the lock */
struct gets_wait {
	struct bgdma_rma_epoch *epoch;
	uint64_t serial;
	uint64_t gets;
};

/* Of struct gets_wait: have so many ended, or all that ever will, or the epoch? */
bool gets_over(const struct gets_wait *w);
/* The same for who sleeps until then. */
bool gets_there(void *arg);
bool gets_done(struct bgdma_rma_epoch *e, uint64_t gets);
/* Gets that are under way. */
int64_t gets_open(const struct bgdma_rma_epoch *e);
/* Of the first @gets those that have not come never will. How many, as known. */
int64_t gets_drop(struct bgdma_rma_epoch *e, uint64_t gets);
/* The counter of a get of the past. */
struct bgdma_counter *gets_counter(const struct bgdma_rma_epoch *e,
				   unsigned int phase);

/* transfer.c */

/* Pieces, one after the other, of whatever form. */
struct row {
	const struct bgdma_piece *pieces;	/* or NULL: */
	const struct bgdma_stride *stride;	/* of @length bytes each */
	uint64_t length;
	uint32_t count;
};

/* Piece @i, relative to the first's place. */
int row_at(const struct row *row, uint32_t i, struct bgdma_piece *piece);
/* A place in the target's window, if accesses to it are possible now. */
int epoch_place(const struct bgdma_rma_epoch *e, uint64_t at, uint64_t length,
		struct bgdma_at *to);
void request_make(struct bgdma_rma_epoch *e, struct bgdma_rma_request *request,
		  bool get);
/*
 * Make the last slot taken one of a remote get of @count descriptors: where these are
 * to be written.
 */
struct bgdma_desc *rget_describe(const struct bgdma_rma_epoch *e,
				 struct bgdma_desc *desc, uint32_t count,
				 uint8_t flags);

/*
 * Take a slot for a put, or what counts as one, and begin to describe it. In
 * line: this is on the way of every put.
 */
BGDMA_INLINE int put_take(struct bgdma_rma_epoch *e, struct bgdma_at to,
			  struct bgdma_transfer *t, struct bgdma_desc **desc)
{
	int ret = rma_channel_take(e, SENT_PUT, 0, desc);

	if (bgdma_unlikely(ret))
		return ret;
	t->dest = e->node;
	t->dest_ctx = e->ctx;
	t->to = to;
	e->puts++;
	t->epoch = e->id;
	return 0;
}

/* mark.c: with the lock */
#define ANY_QUEUE	(-1)
bgdma_packet_fn on_gets_mark;
/*
 * Some gets at a process may have been dropped from a queue of its, by a refusal;
 * @code 0: nobody knows.
 */
void gets_doubt(struct bgdma_rma *rma, uint32_t rank, int queue, uint32_t code);
/*
 * Send the marks that are due; @wait: for room. How many, or -ENOMEM: none, and some
 * are left.
 */
int gets_ask(struct bgdma_rma *rma, bool wait);
/* A mark will not come back: none of the gets that it tells of will, either. */
void gets_mark_failed(struct bgdma_rma *rma, uint32_t rank, uint32_t code);

/* window.c */
int window_send(struct bgdma_window *window, uint32_t dest, unsigned int kind,
		unsigned int detail, const void *data, size_t length);
/* The same with an injection counter: there, when it has moved by @length. */
int window_send_counted(struct bgdma_window *window, uint32_t dest,
			unsigned int kind, unsigned int detail,
			const void *data, size_t length,
			struct bgdma_counter *counter);
bgdma_packet_fn on_window;
/* Epochs that a gate has room for. */
uint32_t window_epochs(const struct bgdma_rma *rma);
struct bgdma_window *window_of_region(struct bgdma_rma *rma, uint32_t handle);
/*
 * Let each process use a region of ours. To each by itself, so that it can be taken
 * back: @grant gets which; in larger jobs there is no room for that.
 */
int rma_expose(struct bgdma_rma *rma, struct bgdma_region *region,
	       uint32_t rights, uint32_t *grant);
/*
 * Who broke with us may be at our gates, and tells them of no end any more, and may
 * write to our memory yet: some of what there is to do, how much.
 */
int windows_shut(struct bgdma_rma *rma);
/* Forget it; its region ends if @regions. */
void window_drop(struct bgdma_window *window, bool regions);
/* Keep two for when there is no memory for one: 0 or -ENOMEM. */
int window_keep(struct bgdma_rma *rma);
void window_unkeep(struct bgdma_rma *rma);

/* dynamic.c */
void attached_look(struct bgdma_rma *rma);

/* With the lock, before an access: take what tells of memory that is attached. */
static inline void access_look(const struct bgdma_rma_epoch *e)
{
	if (bgdma_unlikely(!e->region))
		attached_look(e->rma);
}

bool attached_is_held_up(struct bgdma_rma *rma);
int on_attach(struct bgdma_window *window, uint32_t rank,
	      const struct bgdma_packet *packet);
const struct attached *attached_find(const struct attached *list, uint64_t at,
				     uint64_t length);
void attached_free(struct attached *list, bool regions);

/* access.c */
/*
 * Nobody else begins or ends epochs of locks, fences or starts until the mode is set:
 * -EALREADY if one that is no fence's is open or waited for. @was: the mode.
 */
int accesses_claim(struct bgdma_window *window, enum access_mode *was);
/* The same of who ends one: -ENOLCK if the mode is not @mode. */
int accesses_claim_end(struct bgdma_window *window, enum access_mode mode);
void accesses_set(struct bgdma_window *window, enum access_mode mode);
/* End the epochs at all targets. */
int accesses_close(struct bgdma_window *window);

/* sync.c */
void barrier_arrived(struct bgdma_window *window, unsigned int number,
		     bool broken);
/* Whether a packet of a round comes from who sends it. */
bool barrier_is_from(const struct bgdma_window *window, unsigned int number,
		     uint32_t rank);
int window_barrier(struct bgdma_window *window);
void window_refuse(struct bgdma_window *window);

/* trap.c */
int trap_create(struct bgdma_window *window);
/* @memory: the window's is there yet. */
void trap_destroy(struct bgdma_window *window, bool memory);
/* An event of the window's gate; NULL: some were lost. */
void trap_event(struct bgdma_window *window, const struct bgdma_event *event,
		uint32_t rank);
/* Once more what a gate could not be told, or asked. */
void traps_again(struct bgdma_rma *rma);

/* Packets of the module, by kind. */
enum packet_kind {
	PACKET_PART	= 0,	/* what a process has of a window */
	PACKET_BARRIER	= 1,	/* detail: the round */
	PACKET_POST	= 2,
	PACKET_COMPLETE	= 3,
	PACKET_ATTACH	= 4,
	PACKET_GONE	= 5,	/* for who sends it there is no such window */
	PACKET_KINDS	= 6
};

#define BARRIER_BROKEN	0x80U		/* in the detail */

struct part_wire {
	__le32 status;
	__le32 region;
	__le32 unit;
	__le16 queue;
	__le16 dynamic;
	__le64 length;
};

struct attach_wire {
	__le64 addr;
	__le64 length;		/* 0: no longer attached */
	__le32 region;
	__le32 resv;
};

_Static_assert(sizeof(struct part_wire) <= BGDMA_INLINE_MAX, "inline");
_Static_assert(sizeof(struct attach_wire) <= BGDMA_INLINE_MAX, "inline");

#endif /* BGDMA_RMA_INTERNAL_H */
