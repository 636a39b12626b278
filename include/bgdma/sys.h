/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, sys layer: messages between the processes of a job, for modules
 * such as <bgdma/msg.h> that know nothing of each other (DP-5).
 *
 * A module registers each of its message passing operations with a callback;
 * an endpoint hands it the packets of that operation where they lie in the
 * reception FIFO, and nothing else (DP-1 to DP-6).
 *
 *	bgdma_job_open(&job, NULL);
 *	bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){ .job = job });
 *	bgdma_operation_register(ep, &(struct bgdma_operation_attr){
 *		.module = "demo", .name = "hello", .packet = hello }, &id);
 *	bgdma_endpoint_commit(ep, NULL);
 *	bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
 *		.operation = id, .dest = 1, .data = "hi", .length = 2 });
 *	bgdma_endpoint_wait(ep, -1);
 *
 * Documentation/messages.rst has the design. The rules of <bgdma/spi.h> hold,
 * and these:
 *
 * - With BGDMA_THREADS_ONE all calls on an endpoint are made by one thread at a
 *   time, with BGDMA_THREADS_MANY by any thread at any time. Endpoints are
 *   independent of each other.
 * - Callbacks run in whoever makes progress, one at a time for each endpoint.
 *   They may call everything here on their endpoint but bgdma_endpoint_wait(),
 *   _wait_until(), _flush(), _commit() and _destroy(), and are not called again
 *   before they have returned.
 */
#ifndef BGDMA_SYS_H
#define BGDMA_SYS_H

#include <bgdma/job.h>
#include <bgdma/spi.h>

BGDMA_BEGIN_DECLS

/* One thread of messages of a process: a context of its own. */
struct bgdma_endpoint;

/**
 * enum bgdma_progress - who handles what arrives
 * @BGDMA_PROGRESS_CALLER: bgdma_endpoint_progress() and the waits
 * @BGDMA_PROGRESS_THREAD: a thread of the endpoint's own, which sleeps while
 *	there is nothing to do, and has all signals blocked that are sent to the
 *	process; implies BGDMA_THREADS_MANY
 */
enum bgdma_progress {
	BGDMA_PROGRESS_CALLER	= 0,
	BGDMA_PROGRESS_THREAD	= 1
};

/**
 * enum bgdma_threads - who may call
 * @BGDMA_THREADS_ONE: one thread at a time; no locks
 * @BGDMA_THREADS_MANY: any thread at any time; none is kept out for long by others
 *	that call all the time
 */
enum bgdma_threads {
	BGDMA_THREADS_ONE	= 0,
	BGDMA_THREADS_MANY	= 1
};

/**
 * enum bgdma_trouble - what an endpoint's error callback is called for
 * @BGDMA_TROUBLE_UNKNOWN: a packet names an operation that nobody registered,
 *	or that is not of its type (DP-9)
 * @BGDMA_TROUBLE_MALFORMED: a callback returned -EBADMSG for a packet (DP-9)
 * @BGDMA_TROUBLE_STRANGER: a packet came from outside of the job
 * @BGDMA_TROUBLE_CUT: a message ends here, incomplete: its sender failed
 * @BGDMA_TROUBLE_LOST: a message could not be sent; @code says why. Of those that
 *	fail together each is told; one whose function tells of its end ends by it,
 *	with the error of the code, and the other side is told where that is possible.
 *	Where there is no way (BGDMA_E_LINK_DOWN), or no answer in time
 *	(BGDMA_E_TIMEOUT), BGDMA_TROUBLE_PEER_DOWN follows
 * @BGDMA_TROUBLE_PEER_DOWN: a process of the job has left or died, @code is
 *	BGDMA_E_PEER_DOWN; or it may be well, but something that one of us sent to the
 *	other was lost, for there was no way for longer than a link's time-out, @code is
 *	BGDMA_E_LINK_DOWN or BGDMA_E_TIMEOUT; or was perhaps, where so much failed at
 *	once that there was no room to say of which messages; or its kernel took ours
 *	for dead. Nobody sends that again, so both are told
 *	this, the other one as soon as it can be reached; each is as if dead for the other as
 *	long as these endpoints live: all that is under way between them fails, sending
 *	is -EHOSTDOWN, and what still comes from it is dropped
 * @BGDMA_TROUBLE_PORTION: a paced message failed at @portion (SP-3a), or was
 *	cancelled there, or its other side died; its own function is called next
 * @BGDMA_TROUBLE_COUNT: number of them
 */
enum bgdma_trouble {
	BGDMA_TROUBLE_UNKNOWN	= 0,
	BGDMA_TROUBLE_MALFORMED	= 1,
	BGDMA_TROUBLE_STRANGER	= 2,
	BGDMA_TROUBLE_CUT	= 3,
	BGDMA_TROUBLE_LOST	= 4,
	BGDMA_TROUBLE_PEER_DOWN	= 5,
	BGDMA_TROUBLE_PORTION	= 6,
	BGDMA_TROUBLE_COUNT	= 7
};

/**
 * enum bgdma_counter_policy - which counters long messages get (LC-6)
 * @BGDMA_COUNTERS_AUTO: one of its own while there are some, else a shared one
 * @BGDMA_COUNTERS_SHARED: all share one
 */
enum bgdma_counter_policy {
	BGDMA_COUNTERS_AUTO	= 0,
	BGDMA_COUNTERS_SHARED	= 1
};

/**
 * enum bgdma_pacing - whether long messages are paced (SP-10)
 * @BGDMA_PACING_AUTO: what BGDMA_PACING says, 0 or 1; else those of a partition
 *	of more than 1,024 nodes are
 * @BGDMA_PACING_OFF: only those that ask for it
 * @BGDMA_PACING_ON: those that are long and go far
 */
enum bgdma_pacing {
	BGDMA_PACING_AUTO	= 0,
	BGDMA_PACING_OFF	= 1,
	BGDMA_PACING_ON		= 2
};

/**
 * enum bgdma_portions - how the portions of a paced message cross (SP-5)
 * @BGDMA_PORTIONS_DEFAULT: as the endpoint's attr says; there: by puts, or, if
 *	BGDMA_PACING_PACKETS is 1, in packets
 * @BGDMA_PORTIONS_PUT: by direct put: no core takes part
 * @BGDMA_PORTIONS_PACKETS: as packets of the target's control way, which its
 *	core copies to where they belong
 */
enum bgdma_portions {
	BGDMA_PORTIONS_DEFAULT	= 0,
	BGDMA_PORTIONS_PUT	= 1,
	BGDMA_PORTIONS_PACKETS	= 2
};

/* Portions of a message that can be in flight. */
#define BGDMA_IN_FLIGHT_MAX	32

/* Of bytes of a portion: the message crosses in one piece, whatever pacing says. */
#define BGDMA_PORTION_WHOLE	UINT64_MAX

/* Of a bound of pacing: 0, so that it bounds nothing. */
#define BGDMA_PACING_ANY	UINT32_MAX

/* Rank of a process that is not of the job. */
#define BGDMA_STRANGER		0xffffffffU

/**
 * struct bgdma_trouble_info - what happened
 * @trouble: what
 * @rank: the other process, or BGDMA_STRANGER
 * @node: its node
 * @ctx: its context there
 * @type: enum bgdma_operation_type
 * @operation: identifier
 * @code: enum bgdma_code, of BGDMA_TROUBLE_LOST, _CUT and _PORTION
 * @portion: of BGDMA_TROUBLE_PORTION, from 1: the one that failed, else the
 *	first that is not known to have crossed, which a shared counter cannot tell
 * @message: the message's msg_id, of BGDMA_TROUBLE_CUT. Where there was no room to
 *	end it by a packet nothing tells @type and @operation, which are 0 then; and
 *	packets of it may still be in the reception FIFO
 */
struct bgdma_trouble_info {
	enum bgdma_trouble trouble;
	uint32_t rank;
	uint32_t node;
	uint16_t ctx;
	uint32_t type;
	uint32_t operation;
	uint32_t code;
	uint32_t portion;
	uint32_t message;
};

/* See struct bgdma_endpoint_attr; @info is valid until it returns. */
typedef void bgdma_trouble_fn(void *arg, const struct bgdma_trouble_info *info);

/**
 * struct bgdma_endpoint_attr - how to make an endpoint
 * @job: required; it must outlive the endpoint
 * @number: which of the endpoints of this process, the same on all: its peers
 *	are those with the same number, which serves once in a job
 * @partition: NULL: what the variable BGDMA_PARTITION names, or "bgdma"
 * @fixed_node: attach to node @node; else to the rank in the job divided by
 *	@per_node
 * @node: rank of the node in the partition
 * @per_node: processes of each node; 0: BGDMA_PER_NODE, or 1
 * @progress: who handles what arrives
 * @threads: who may call
 * @channels: injection FIFOs of each way, control and data; a destination
 *	always uses the same (LC-4); 0: 4, but no more than there are processes
 * @entries: descriptors of each, a power of two; 0: 256
 * @copy_bytes: of each channel, a power of two, for messages that are not in a
 *	region; 0: 262,144
 * @control_bytes: of the reception FIFO of control packets; 0: 65,536
 * @data_bytes: of that of all others; 0: 1,048,576, or 65,536 for each process
 * @inj_counters: for long messages, see <bgdma/rendezvous.h>; 0: what the variable
 *	BGDMA_COUNTERS says, or 64. The context has more, for modules and the
 *	program: one for each process and 64, at least 128; less, but at least
 *	16, where BGDMA_COUNTERS_MAX is not enough
 * @rec_counters: the same
 * @counters: how they are given out
 * @trouble: called when something went wrong (DP-9); NULL: it is only counted
 * @arg: for @trouble
 * @pacing: whether long messages that do not say it themselves are paced: those
 *	of more than @pacing_size bytes, to nodes more than @pacing_hops hops
 *	away, or whose coordinates differ in more than @pacing_dims. What is 0
 *	here and below is what the variable BGDMA_PACING_HOPS, _DIMS, _SIZE,
 *	_PORTION or _MAX says. BGDMA_PACING_ANY is for no hops, dimensions or
 *	bytes at all. Else:
 * @pacing_hops: 4
 * @pacing_dims: 1
 * @pacing_size: 65,536
 * @pacing_portion: bytes; 16,384, from 4,096 nodes on 8,192
 * @pacing_max: bytes of a message in flight, or one portion, if it has to be longer;
 *	65,536, from 4,096 nodes on 32,768, from 8,192 on 24,576
 * @portions: how they cross
 */
struct bgdma_endpoint_attr {
	struct bgdma_job *job;
	uint32_t number;
	const char *partition;
	bool fixed_node;
	uint32_t node;
	uint32_t per_node;
	enum bgdma_progress progress;
	enum bgdma_threads threads;
	uint32_t channels;
	uint32_t entries;
	uint32_t copy_bytes;
	uint32_t control_bytes;
	uint32_t data_bytes;
	uint32_t inj_counters;
	uint32_t rec_counters;
	enum bgdma_counter_policy counters;
	bgdma_trouble_fn *trouble;
	void *arg;
	enum bgdma_pacing pacing;
	uint32_t pacing_hops;
	uint32_t pacing_dims;
	uint32_t pacing_size;
	uint32_t pacing_portion;
	uint32_t pacing_max;
	enum bgdma_portions portions;
};

/* bgdma_endpoint_create() of a program whose attr has @size bytes. */
BGDMA_API int
bgdma_endpoint_create_sized(struct bgdma_endpoint **ep,
			    const struct bgdma_endpoint_attr *attr,
			    size_t size);

/**
 * bgdma_endpoint_create() - make an endpoint
 * @ep: out: to be ended by bgdma_endpoint_destroy()
 * @attr: how; not NULL
 *
 * Attaches to a node. Not collective: only bgdma_endpoint_commit() waits for
 * the others.
 *
 * Thread safety: any thread.
 * Return: 0; -EINVAL; what bgdma_attach(), bgdma_inj_create() and
 * bgdma_region_alloc() return.
 */
static inline int bgdma_endpoint_create(struct bgdma_endpoint **ep,
					const struct bgdma_endpoint_attr *attr)
{
	return bgdma_endpoint_create_sized(ep, attr, sizeof(*attr));
}

/**
 * bgdma_endpoint_destroy() - end an endpoint
 * @ep: endpoint, or NULL
 *
 * Messages of ours that are still in its FIFOs are first sent, if their
 * targets take them within a second. Peers get BGDMA_TROUBLE_PEER_DOWN. What has
 * not ended ends with -ECANCELED, when the context, and all regions and counters of
 * it, are gone already.
 *
 * Thread safety: no other call on the endpoint may run or follow.
 */
BGDMA_API void bgdma_endpoint_destroy(struct bgdma_endpoint *ep);

/**
 * bgdma_endpoint_ctx() - the context, for regions and counters of one's own
 * @ep: endpoint
 *
 * A counter of one's own that is enabled, and at zero, keeps whoever waits for the
 * endpoint from sleeping until its hit is cleared: those that are waited for asleep
 * are better in a context of their own.
 *
 * Thread safety: any thread.
 */
BGDMA_API struct bgdma_ctx *bgdma_endpoint_ctx(const struct bgdma_endpoint *ep);

/**
 * bgdma_endpoint_number() - which of the endpoints of the process
 * @ep: endpoint
 *
 * Thread safety: any thread.
 */
BGDMA_API uint32_t bgdma_endpoint_number(const struct bgdma_endpoint *ep);

/**
 * bgdma_endpoint_rank() - rank in the job
 * @ep: endpoint
 *
 * Thread safety: any thread.
 */
BGDMA_API uint32_t bgdma_endpoint_rank(const struct bgdma_endpoint *ep);

/**
 * bgdma_endpoint_size() - processes of the job
 * @ep: endpoint
 *
 * Thread safety: any thread.
 */
BGDMA_API uint32_t bgdma_endpoint_size(const struct bgdma_endpoint *ep);

/**
 * struct bgdma_peer - where a process of the job is
 * @node: its node
 * @ctx: its context there
 * @incarnation: which attach of that context
 */
struct bgdma_peer {
	uint32_t node;
	uint16_t ctx;
	uint32_t incarnation;
};

/**
 * bgdma_endpoint_peer() - where a process of the job is
 * @ep: endpoint, committed
 * @rank: in the job
 *
 * Thread safety: any thread.
 * Return: valid until bgdma_endpoint_destroy(); NULL: no such rank, or not
 * committed.
 */
BGDMA_API const struct bgdma_peer *
bgdma_endpoint_peer(const struct bgdma_endpoint *ep, uint32_t rank);

/**
 * bgdma_endpoint_share() - what each process may fill of another's FIFO
 * @ep: endpoint
 *
 * For modules that see to it that nobody's packets wait before a reception FIFO
 * that is full, and with them all that is behind them in their channel: if each
 * process has no more than so much in the data FIFO of another, it never is. A
 * packet takes its payload and at most 128 bytes. All modules of an endpoint have it
 * together: tagged messages keep to two thirds, collectives to the rest.
 *
 * Thread safety: any thread.
 * Return: bytes, of an endpoint with the same @data_bytes.
 */
BGDMA_API uint64_t bgdma_endpoint_share(const struct bgdma_endpoint *ep);

/* ---- Operations (DP-1, DP-2) ------------------------------------------- */

#define BGDMA_OPERATION_NAME_MAX	64	/* with its final zero */

/**
 * enum bgdma_operation_type - which dispatch table an operation is in (DP-2)
 * @BGDMA_POINT_TO_POINT: from one to one
 * @BGDMA_COLLECTIVE: of a group
 */
enum bgdma_operation_type {
	BGDMA_POINT_TO_POINT	= 0,
	BGDMA_COLLECTIVE	= 1
};

/**
 * typedef bgdma_packet_fn - take a packet (DP-4)
 * @arg: as registered
 * @rank: of the sender in the job
 * @packet: where it lies in the reception FIFO, until the callback returns;
 *	nothing but its header was read. See bgdma_packet_data() and
 *	bgdma_packet_word()
 *
 * A packet with BGDMA_PACKET_ERROR has no payload and ends its message.
 *
 * Return: 0: taken; -EAGAIN: not now: it stays, and so does everything behind
 * it in that FIFO, until the next progress (also the news of the death of whoever sent
 * some of it); -EBADMSG: it is malformed, which is
 * counted and reported (DP-9). Who refuses until something has ended that itself needs
 * packets of this callback waits for itself.
 */
typedef int bgdma_packet_fn(void *arg, uint32_t rank,
			    const struct bgdma_packet *packet);

/* bgdma_operation_attr.flags */
#define BGDMA_OPERATION_CONTROL	(1U << 0)	/* packets go the control way */

/**
 * struct bgdma_operation_attr - a message passing operation of a module
 * @module: name of the module
 * @name: of the operation, among those of the module
 * @type: enum bgdma_operation_type
 * @flags: BGDMA_OPERATION_CONTROL: short packets that never wait behind data,
 *	whose callback never returns -EAGAIN
 * @packet: the callback
 * @arg: for the callback
 */
struct bgdma_operation_attr {
	const char *module;
	const char *name;
	enum bgdma_operation_type type;
	uint32_t flags;
	bgdma_packet_fn *packet;
	void *arg;
};

/* bgdma_operation_register() of a program whose attr has @size bytes. */
BGDMA_API int
bgdma_operation_register_sized(struct bgdma_endpoint *ep,
			       const struct bgdma_operation_attr *attr,
			       size_t size, uint32_t *id);

/**
 * bgdma_operation_register() - register an operation of a module (DP-1)
 * @ep: endpoint, not yet committed
 * @attr: the operation; copied
 * @id: out: its identifier, which comes from both names and the type, and so
 *	is the same on every node whatever the order of registration
 *
 * Return: 0; -EEXIST it is registered; -EADDRINUSE another operation of this
 * type has the same identifier by chance (1 in 2,000 million): rename it;
 * -EBUSY the endpoint is committed; -EINVAL; -ENAMETOOLONG; -ENOMEM.
 */
static inline int
bgdma_operation_register(struct bgdma_endpoint *ep,
			 const struct bgdma_operation_attr *attr, uint32_t *id)
{
	return bgdma_operation_register_sized(ep, attr, sizeof(*attr), id);
}

/**
 * struct bgdma_disagreement - why bgdma_endpoint_commit() refused
 * @rank: the first process whose operations are not those of process 0
 * @node: its node
 * @missing: it lacks an operation that process 0 has; else it has one that
 *	process 0 lacks. One with other flags is another operation
 * @module: of the operation
 * @name: of the operation
 * @type: of the operation
 */
struct bgdma_disagreement {
	uint32_t rank;
	uint32_t node;
	bool missing;
	char module[BGDMA_OPERATION_NAME_MAX];
	char name[BGDMA_OPERATION_NAME_MAX];
	uint32_t type;
};

/**
 * bgdma_endpoint_commit() - end registration, and meet the others (DP-1)
 * @ep: endpoint
 * @why: out: with -EPROTO, the same on all; may be NULL
 *
 * Collective; a process with several endpoints commits them in the same order
 * as the others, one at a time. Afterwards messages can be sent. Where a process
 * could not do its part, such as for lack of memory, it fails at all, with its error,
 * or with -ENOENT where it could not say which; but who cannot read at the very end
 * what the others have said fails alone.
 *
 * Return: 0; -EPROTO the processes did not register the same operations;
 * -EBADMSG what another one told of itself is nonsense, or that two of them are
 * the same; -EBUSY it is committed; -EEXIST another endpoint of this number was
 * committed in this job, if only before, see bgdma_job_put(); what
 * bgdma_job_fence() and bgdma_job_get() return.
 */
BGDMA_API int bgdma_endpoint_commit(struct bgdma_endpoint *ep,
				    struct bgdma_disagreement *why);

/* ---- Messages (DP-6) --------------------------------------------------- */

/* A message brings its operation's module a word of so many bits. */
#define BGDMA_WORD_BITS		48
#define BGDMA_WORD_MASK		((1ULL << BGDMA_WORD_BITS) - 1)

/**
 * bgdma_packet_word() - the word that the sender's module gave
 * @packet: in a callback
 */
static inline uint64_t bgdma_packet_word(const struct bgdma_packet *packet)
{
	return packet->cookie & BGDMA_WORD_MASK;
}

/**
 * struct bgdma_send_attr - a message
 * @operation: identifier
 * @type: of the operation
 * @dest: rank in the job
 * @dests: several of them, in place of @dest; NULL: one
 * @dest_count: so many
 * @word: BGDMA_WORD_BITS bits that every packet carries
 * @length: bytes, up to BGDMA_LENGTH_MAX; of @data, up to half of the
 *	endpoint's copy_bytes
 * @data: storage anywhere: copied before the call returns; NULL: see @from
 * @from: storage in a region of the endpoint's context: read until @counter
 *	has moved
 * @counter: injection counter that moves by @length for each target; NULL:
 *	none. Add to it before
 * @flags: BGDMA_DESC_INTERRUPT, _FENCE
 * @route: BGDMA_ROUTE_*; only deterministic messages arrive in order
 * @more: more follows: the engine need not look yet
 */
struct bgdma_send_attr {
	uint32_t operation;
	enum bgdma_operation_type type;
	uint32_t dest;
	const uint32_t *dests;
	uint32_t dest_count;
	uint64_t word;
	uint64_t length;
	const void *data;
	struct bgdma_place from;
	struct bgdma_counter *counter;
	uint8_t flags;
	uint8_t route;
	bool more;
};

/* bgdma_endpoint_send() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_endpoint_send_sized(struct bgdma_endpoint *ep,
					const struct bgdma_send_attr *attr,
					size_t size);

/**
 * bgdma_endpoint_send() - make packets of a message and send them (DP-6)
 * @ep: endpoint, committed
 * @attr: the message
 *
 * Every packet carries type and identifier of the operation. Messages to one
 * target arrive in the order of the calls, as far as they are deterministic and
 * go the same way (data or control). It never waits.
 *
 * Return: 0; of several targets how many it went to, from the first on; -EAGAIN
 * no room for any: make progress, or wait: a wait ends when there is; -EMSGSIZE;
 * -EINVAL no such operation, rank, flag or route; -EHOSTDOWN that process has left or
 * died, or is as if it had; -ENOTCONN not committed; -ENODEV.
 */
static inline int bgdma_endpoint_send(struct bgdma_endpoint *ep,
				      const struct bgdma_send_attr *attr)
{
	return bgdma_endpoint_send_sized(ep, attr, sizeof(*attr));
}

/* ---- Progress ---------------------------------------------------------- */

/**
 * bgdma_endpoint_progress() - handle what has arrived
 * @ep: endpoint, committed
 * @budget: packets at most; 0: 64
 *
 * Control packets come first, but next time data if they took all of it. Never
 * sleeps; no system call when there is nothing.
 *
 * Return: what was handled: packets, events, messages that have ended; 0: nothing;
 * -ENODEV the partition is gone; -ENOTCONN.
 */
BGDMA_API int bgdma_endpoint_progress(struct bgdma_endpoint *ep,
				      unsigned int budget);

/**
 * bgdma_endpoint_wait() - sleep until something was handled
 * @ep: endpoint, committed
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * After a call of this thread that returned -EAGAIN: since that.
 *
 * A signal handler ends it only in the thread that sleeps in the kernel. That is
 * never the caller with BGDMA_PROGRESS_THREAD: then no wait is -EINTR, here and
 * below. Such a wait is ended by bgdma_endpoint_wake() of another thread, which no
 * signal handler may call.
 *
 * Return: 0: a packet or an event was handled, by whomever; -ETIMEDOUT;
 * -EINTR; -ENODEV; -ENOTCONN; -EDEADLK called from a callback.
 */
BGDMA_API int bgdma_endpoint_wait(struct bgdma_endpoint *ep,
				  int64_t timeout_ns);

/**
 * bgdma_endpoint_wait_until() - make progress until something holds
 * @ep: endpoint, committed
 * @holds: looks at what callbacks have done; runs where callbacks run
 * @arg: for @holds
 * @mode: whether to spin, to sleep, or first one and then the other
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * Of several threads that wait, one sleeps in the kernel for all: it alone can be
 * told -EINTR.
 *
 * Return: 0: it holds; else as bgdma_endpoint_wait().
 */
BGDMA_API int bgdma_endpoint_wait_until(struct bgdma_endpoint *ep,
					bool (*holds)(void *arg), void *arg,
					enum bgdma_wait_mode mode,
					int64_t timeout_ns);

/**
 * bgdma_endpoint_flush() - wait until messages have arrived
 * @ep: endpoint, committed
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * All that this process sent before is in the FIFO of its target, or lost, which
 * the endpoint has been told as a trouble. Who sends, and makes no progress
 * afterwards, may leave it behind a message to somebody who died.
 *
 * Return: 0; else as bgdma_endpoint_wait().
 */
BGDMA_API int bgdma_endpoint_flush(struct bgdma_endpoint *ep,
				   int64_t timeout_ns);

/**
 * struct bgdma_endpoint_stats - what an endpoint has done
 * @sent: messages, once for each target
 * @packets: packets handed to callbacks
 * @deferred: times that a callback returned -EAGAIN
 * @sleeps: times that somebody slept in the kernel
 * @kept: regions of chains that ended, kept for the next with the same peer
 * @kept_bytes: of these; at most 4 MiB
 * @trouble: by enum bgdma_trouble
 */
struct bgdma_endpoint_stats {
	uint64_t sent;
	uint64_t packets;
	uint64_t deferred;
	uint64_t sleeps;
	uint64_t kept;
	uint64_t kept_bytes;
	uint64_t trouble[BGDMA_TROUBLE_COUNT];
};

/* bgdma_endpoint_stats() of a program whose structure has @size bytes. */
BGDMA_API void bgdma_endpoint_stats_sized(struct bgdma_endpoint *ep,
					  struct bgdma_endpoint_stats *stats,
					  size_t size);

/**
 * bgdma_endpoint_stats() - what an endpoint has done
 * @ep: endpoint
 * @stats: out
 */
static inline void bgdma_endpoint_stats(struct bgdma_endpoint *ep,
					struct bgdma_endpoint_stats *stats)
{
	bgdma_endpoint_stats_sized(ep, stats, sizeof(*stats));
}

/**
 * bgdma_strtrouble() - what happened, as a phrase
 * @trouble: enum bgdma_trouble
 *
 * Return: such as "unknown operation"; never NULL.
 */
BGDMA_API const char *bgdma_strtrouble(unsigned int trouble);

BGDMA_END_DECLS

#include <bgdma/module.h>

#endif /* BGDMA_SYS_H */
