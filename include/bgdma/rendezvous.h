/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Rendezvous, for modules: a message stays where it is until its target has a
 * place for it, and the engines move it (LC-1 to LC-6).
 *
 * The origin announces it: bgdma_rendezvous_send() sends an RTS, an ordinary
 * message of an operation of the module. In the callback the target's module
 * takes it apart with bgdma_rts_read(), and whenever it likes accepts it, or
 * refuses it. Both are told of the end by a function, which runs where
 * callbacks run.
 *
 * Counters may run out: then messages share one, and it takes a packet or two
 * more on their own nodes; see enum bgdma_counter_policy.
 */
#ifndef BGDMA_RENDEZVOUS_H
#define BGDMA_RENDEZVOUS_H

#include <bgdma/sys.h>

BGDMA_BEGIN_DECLS

/* Bytes of one message, and portions of a paced one. */
#define BGDMA_RENDEZVOUS_MAX	(8ULL * BGDMA_LENGTH_MAX)
#define BGDMA_PORTIONS_MAX	32767

/**
 * typedef bgdma_done_fn - a rendezvous has ended
 * @arg: as given
 * @result: 0; -ECANCELED the target refused it, somebody has cancelled it, or
 *	the endpoint ends;
 *	-EHOSTDOWN the other process has left or died, or there was no way to it
 *	(BGDMA_TROUBLE_PEER_DOWN); else what the engine found wrong, by
 *	bgdma_code_errno()
 * @bytes: that were moved, if @result is 0
 *
 * The memory is the caller's again. When the endpoint ends, its context is gone
 * before this is called, and its regions and counters with it: those are not to be
 * freed, or used, from here.
 */
typedef void bgdma_done_fn(void *arg, int result, uint64_t bytes);

/**
 * struct bgdma_rendezvous_attr - a message to announce
 * @operation: identifier of the operation of the RTS, point to point and not
 *	of the control way
 * @dest: rank in the job
 * @word: as in struct bgdma_send_attr
 * @length: bytes, 1 to BGDMA_RENDEZVOUS_MAX
 * @data: memory anywhere, which is registered until the end, or copied if the user
 *	may lock no more (RLIMIT_MEMLOCK); NULL: see @from
 * @from: a place in a region that bgdma_endpoint_expose() has shown
 * @deterministic: route of the data; else adaptive (LC-5)
 * @portion: bytes; a longer message crosses in portions of about so many, each
 *	fetched by a chain of remote gets when the one before is on its way
 *	(SP-1 to SP-10); 0: as the endpoint's @pacing says; BGDMA_PORTION_WHOLE:
 *	in one piece. There are BGDMA_PORTIONS_MAX at most: where that is not
 *	enough each has @length / BGDMA_PORTIONS_MAX bytes, rounded up
 * @done: called at the end
 * @arg: for @done
 * @in_flight: portions at a time, up to BGDMA_IN_FLIGHT_MAX; 0: one, or where
 *	the endpoint says the portion, what it says
 * @portions: how they cross
 * @id: out: names the message for bgdma_rendezvous_cancel() until @done is
 *	called; may be NULL
 */
struct bgdma_rendezvous_attr {
	uint32_t operation;
	uint32_t dest;
	uint64_t word;
	uint64_t length;
	void *data;
	struct bgdma_place from;
	bool deterministic;
	uint64_t portion;
	bgdma_done_fn *done;
	void *arg;
	uint32_t in_flight;
	enum bgdma_portions portions;
	uint32_t *id;
};

/* bgdma_rendezvous_send() of a program whose attr has @size bytes. */
BGDMA_API int
bgdma_rendezvous_send_sized(struct bgdma_endpoint *ep,
			    const struct bgdma_rendezvous_attr *attr,
			    size_t size);

/**
 * bgdma_rendezvous_send() - announce a message (LC-1, LC-2)
 * @ep: endpoint, committed
 * @attr: the message
 *
 * The memory must stay as it is until the end.
 *
 * Return: 0; as bgdma_endpoint_send(); what bgdma_region_register() and
 * bgdma_region_grant() return.
 */
static inline int
bgdma_rendezvous_send(struct bgdma_endpoint *ep,
		      const struct bgdma_rendezvous_attr *attr)
{
	return bgdma_rendezvous_send_sized(ep, attr, sizeof(*attr));
}

/**
 * struct bgdma_rts - an announcement, to be kept until it is answered
 * @rank: of the origin
 * @word: of its module
 * @length: bytes of the message
 * @offset: where it is, in @region
 * @region: handle at the origin
 * @counter: handle of the origin's injection counter
 * @token: what the origin calls it
 * @queue: remote-get queue of the origin
 * @fifo: reception FIFO of the origin that is told of the end (SP-7)
 * @flags: of the layer
 * @portions: that are offered; 1: the message is not paced
 * @chain_region: handle at the origin of its remote-get descriptors
 * @chain_offset: where the first is
 * @in_flight: portions that the target may have in flight
 * @serial: number of the announcement among the origin's to this process
 */
struct bgdma_rts {
	uint32_t rank;
	uint64_t word;
	uint64_t length;
	uint64_t offset;
	uint32_t region;
	uint32_t counter;
	uint32_t token;
	uint16_t queue;
	uint16_t fifo;
	uint32_t flags;
	uint32_t portions;
	uint32_t chain_region;
	uint64_t chain_offset;
	uint32_t in_flight;
	uint32_t serial;
};

/**
 * bgdma_rts_read() - take the packet of an RTS apart
 * @rts: out
 * @rank: as the callback got it
 * @packet: as the callback got it
 *
 * Return: 0; -EBADMSG it is none.
 */
BGDMA_API int bgdma_rts_read(struct bgdma_rts *rts, uint32_t rank,
			     const struct bgdma_packet *packet);

/**
 * typedef bgdma_way_fn - how a portion of a paced message is to cross (SP-5)
 * @arg: of the struct bgdma_accept_attr
 * @portion: its number, from 1 on
 * @offset: where its bytes begin in the message
 * @length: bytes
 *
 * Called for each portion before bgdma_rendezvous_accept() returns; it must not
 * call the endpoint.
 *
 * Return: BGDMA_PORTIONS_PUT or _PACKETS; BGDMA_PORTIONS_DEFAULT: as the origin said.
 */
typedef enum bgdma_portions bgdma_way_fn(void *arg, uint32_t portion,
					 uint64_t offset, uint64_t length);

/**
 * struct bgdma_accept_attr - where a message goes
 * @length: room; what is more is not moved
 * @data: memory anywhere, registered until the end or copied likewise; NULL: see @to
 * @to: a place in a region that bgdma_endpoint_expose() has shown
 * @done: called at the end, not before bgdma_rendezvous_accept() has returned
 * @arg: for @done and @way
 * @id: out: names the message for bgdma_rendezvous_cancel() until @done is
 *	called; may be NULL
 * @way: of a message in portions, how each of them crosses; NULL: all as the origin
 *	said
 */
struct bgdma_accept_attr {
	uint64_t length;
	void *data;
	struct bgdma_place to;
	bgdma_done_fn *done;
	void *arg;
	uint32_t *id;
	bgdma_way_fn *way;
};

/* bgdma_rendezvous_accept() of a program whose attr has @size bytes. */
BGDMA_API int
bgdma_rendezvous_accept_sized(struct bgdma_endpoint *ep,
			      const struct bgdma_rts *rts,
			      const struct bgdma_accept_attr *attr,
			      size_t size);

/**
 * bgdma_rendezvous_accept() - let a message come
 * @ep: endpoint
 * @rts: answered once
 * @attr: where to
 *
 * Return: 0; -EHOSTDOWN; -EINVAL, also for a place that leaves its region and for
 * what is no way to cross; -ENOMEM;
 * -ENOTCONN not committed; what bgdma_region_register() and bgdma_region_grant()
 * return. It is still to be answered after an error.
 */
static inline int
bgdma_rendezvous_accept(struct bgdma_endpoint *ep, const struct bgdma_rts *rts,
			const struct bgdma_accept_attr *attr)
{
	return bgdma_rendezvous_accept_sized(ep, rts, attr, sizeof(*attr));
}

/**
 * bgdma_rendezvous_refuse() - do not let a message come
 * @ep: endpoint
 * @rts: answered once
 *
 * The origin's function gets -ECANCELED.
 *
 * Return: 0; -EHOSTDOWN; -EINVAL; -ENOMEM; -ENOTCONN not committed.
 */
BGDMA_API int bgdma_rendezvous_refuse(struct bgdma_endpoint *ep,
				      const struct bgdma_rts *rts);

/**
 * bgdma_rendezvous_cancel() - ask that a message ends
 * @ep: endpoint
 * @id: of the message: what bgdma_rendezvous_send() or _accept() told
 *
 * A message that is not accepted yet, and a paced one of which a portion is
 * still to come, end with -ECANCELED on both sides; others as if nothing had
 * been said. The memory is the caller's when @done is called, not before.
 *
 * Return: 0: @done will be called; -ENOENT: it was, or is about to be; -EAGAIN
 * no room to ask: make progress; -ENOTCONN; -ENODEV.
 */
BGDMA_API int bgdma_rendezvous_cancel(struct bgdma_endpoint *ep, uint32_t id);

/**
 * bgdma_endpoint_expose() - let the processes of the job use a region
 * @ep: endpoint, committed
 * @region: of the endpoint's context
 * @rights: BGDMA_RIGHT_READ to send from it, BGDMA_RIGHT_WRITE to receive
 *	into it
 *
 * Until the region is freed. Messages from it need no system call.
 *
 * Return: 0; -ENOTCONN; what bgdma_region_grant() returns.
 */
BGDMA_API int bgdma_endpoint_expose(struct bgdma_endpoint *ep,
				    struct bgdma_region *region,
				    uint32_t rights);

/**
 * struct bgdma_counter_stats - how messages got their counters, of one kind
 * @counters: there are
 * @exclusive: messages that had one of their own
 * @shared: messages that shared one
 * @busy: counters in use now, exclusively
 */
struct bgdma_counter_stats {
	uint32_t counters;
	uint32_t busy;
	uint64_t exclusive;
	uint64_t shared;
};

/**
 * bgdma_counters_used() - how messages got their counters (LC-6)
 * @ep: endpoint
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @stats: out
 */
BGDMA_API void bgdma_counters_used(struct bgdma_endpoint *ep, unsigned int kind,
				   struct bgdma_counter_stats *stats);

BGDMA_END_DECLS

#endif /* BGDMA_RENDEZVOUS_H */
