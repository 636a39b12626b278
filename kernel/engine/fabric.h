/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric, as the engine sees it. Part of bgdma.h, which has the lock order; not
 * to be included by itself.
 */
#ifndef _BGDMA_FABRIC_H
#define _BGDMA_FABRIC_H

struct bgdma_partition;

/**
 * struct bgdma_fabric_ops - how a stream's transfer reaches its target
 * @put: bytes for the target region, at most BGDMA_SLICE_MAX
 * @memfifo: one packet; no payload: it is in the descriptor. The rest of a train
 *	too, where the fabric can, see bgdma_deliver_memfifo()
 * @rget: all descriptors of one remote get
 * @gate: an operation on the gate of a region
 * @tree: a packet of the combining network, as a whole; its descriptor is the
 *	engine's own, and goes as it is
 * @atomic: update elements; their operands become what was there before. *@n is
 *	the bytes of them, and afterwards of those that were updated
 * @answer: of a gate of @from, to the origin of an epoch; takes its promise, without
 *	which it may return false: no memory, and nothing was said
 * @forget: a promise that nobody takes, or NULL; may be NULL where there are none
 * @count: bytes that were not counted yet are visible at the target; with the
 *	last piece of a transfer @put and @memfifo count by themselves
 * @tells: can the other side be told that the transfer ends here? False: not now, the
 *	stream was parked, or tries again; NULL: always
 * @abort: the transfer ends here, with so many bytes never to come
 * @promise: a stream of a remote-get queue is about to begin a descriptor, of whose
 *	end its sender may have to be told: false if there is no memory for that yet;
 *	NULL: it takes none
 * @refused: tell the sender of a remote descriptor that it was refused
 * @line: a transfer with the deposit bit begins: an enum bgdma_code
 * @fence: of a stream with a tx: is nothing on its way? BGDMA_STEP_DONE, or
 *	BGDMA_STEP_WAIT when it was parked
 * @quiet: of one with a tx: is nothing on its way, if nobody adds anything?
 * @drop: of one with a tx, owned: what is on its way to where there is no room is not
 *	needed any more
 * @ended: of one with a tx: those that it has begun have ended, but for what is on
 *	its way and the one that it is at
 * @flush: of one with a tx: a run is over, what is ready goes on its way
 * @freeze: of one with a tx, owned: what was sent of a region, or with BGDMA_NONE of any,
 *	is from now on as it is now; true: some of it may be looked at on this machine until
 *	a grace period has passed. May sleep
 * @end: of one with a tx: it was killed, nothing of it is on its way any more
 * @left: a context is gone, with all of its streams; or NULL
 * @turn: of one of BGDMA_KIND_FLOW: bytes to deliver at most; what is left of them
 *
 * The first six return BGDMA_STEP_DONE, BGDMA_STEP_SENT, BGDMA_STEP_WAIT when the
 * stream was parked, BGDMA_STEP_AGAIN, or an enum bgdma_code with s->x.fault
 * filled in; and with the deposit bit BGDMA_STEP_HOP, when the transfer begins
 * again, for the next node. Where one of them returns WAIT or AGAIN it has taken
 * nothing. What was sent the fabric takes off the injection counter, when the other
 * side has dealt with it, and ends the transfer.
 */
struct bgdma_fabric_ops {
	int (*put)(struct bgdma_stream *s, const struct bgdma_payload *p, u32 n);
	int (*memfifo)(struct bgdma_stream *s, const struct bgdma_payload *p,
		       u32 n);
	int (*rget)(struct bgdma_stream *s, const struct bgdma_payload *p, u32 n);
	int (*gate)(struct bgdma_stream *s);
	int (*tree)(struct bgdma_stream *s, const struct bgdma_payload *p,
		    u32 n);
	int (*atomic)(struct bgdma_stream *s, void *operands, u32 *n);
	bool (*answer)(const struct bgdma_ctx *from,
		       const struct bgdma_answer *answer);
	void (*forget)(void *promise);
	void (*count)(struct bgdma_stream *s, u32 n);
	bool (*tells)(struct bgdma_stream *s);
	void (*abort)(struct bgdma_stream *s, u32 left);
	bool (*promise)(struct bgdma_stream *s);
	void (*refused)(struct bgdma_stream *s);
	u32 (*line)(struct bgdma_stream *s);
	int (*fence)(struct bgdma_stream *s);
	bool (*quiet)(const struct bgdma_stream *s);
	void (*drop)(struct bgdma_stream *s);
	void (*ended)(struct bgdma_stream *s);
	void (*flush)(struct bgdma_stream *s);
	bool (*freeze)(struct bgdma_stream *s, u32 region);
	void (*end)(struct bgdma_stream *s);
	void (*left)(struct bgdma_ctx *ctx);
	long (*turn)(struct bgdma_stream *s, long budget);
};

extern const struct bgdma_fabric_ops bgdma_loopback;
extern const struct bgdma_fabric_ops bgdma_ether_fabric;

#endif /* _BGDMA_FABRIC_H */
