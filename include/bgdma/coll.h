/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, coll module: groups of processes of a job, and barriers that the
 * engines carry out on a counter (BA-1 to BA-7).
 *
 *	bgdma_coll_create(&coll, ep, job);
 *	bgdma_endpoint_commit(ep, NULL);
 *	bgdma_coll_split(coll, NULL, &world);
 *	bgdma_coll_enter(world);
 *	... work that needs nobody ...
 *	bgdma_coll_wait(world, BGDMA_SPIN_THEN_SLEEP, -1);
 *
 * A barrier orders nothing but itself. Documentation/barriers.rst has the
 * protocol, why barriers can follow each other on one counter, and what they
 * cost. The rules of <bgdma/sys.h> hold.
 */
#ifndef BGDMA_COLL_H
#define BGDMA_COLL_H

#include <bgdma/sys.h>

BGDMA_BEGIN_DECLS

/* The module on an endpoint. */
struct bgdma_coll;

/* A group of processes of the job, as one of them sees it. */
struct bgdma_coll_group;

/**
 * bgdma_coll_create() - let an endpoint have groups
 * @coll: out: lives as long as the endpoint
 * @ep: endpoint, not yet committed
 * @job: of the endpoint
 *
 * Endpoints of the job have the same @data_bytes, from which it comes how much a
 * member may be ahead of another: else the commit returns -EPROTO.
 *
 * Return: 0; -EBUSY the endpoint is committed; what bgdma_inj_create(),
 * bgdma_rgq_create() and bgdma_operation_register() return; -EINVAL also
 * BGDMA_SUMMATION in the environment is nothing that there is; -ENOMEM.
 */
BGDMA_API int bgdma_coll_create(struct bgdma_coll **coll,
				struct bgdma_endpoint *ep,
				struct bgdma_job *job);

/* bgdma_split_attr.flags */
#define BGDMA_SPLIT_X		(1U << 0)	/* along these axes alone */
#define BGDMA_SPLIT_Y		(1U << 1)
#define BGDMA_SPLIT_Z		(1U << 2)
#define BGDMA_SPLIT_NO_REPLY	(1U << 3)	/* sink at the receiver (BA-3) */
#define BGDMA_SPLIT_PLAIN	(1U << 4)	/* a packet for each member */
#define BGDMA_SPLIT_ENGINES	(1U << 5)	/* collectives by the engines, if it can be */
#define BGDMA_SPLIT_PUT		(1U << 6)	/* a byte is put: the fastest */

#define BGDMA_SPLIT_NONE	0xffffffffU	/* colour: in no group */

/**
 * struct bgdma_split_attr - which group a process is in
 * @color: processes with the same are in the same group, or BGDMA_SPLIT_NONE
 * @key: members are numbered by it, and those with the same by rank
 * @flags: BGDMA_SPLIT_X, _Y, _Z: of these, processes whose nodes differ in the
 *	coordinates named only; _NO_REPLY; _PLAIN; _PUT: the control packet is a put of
 *	a byte to a sink of the receiver, whose barrier counter is a reception counter:
 *	no descriptor is brought, and no reply sent; _ENGINES: a class of the combining
 *	network, of which a context has BGDMA_CLASSES_MAX; where a member has none left,
 *	or no FIFO, messages do all. The same on all
 */
struct bgdma_split_attr {
	uint32_t color;
	uint32_t key;
	uint32_t flags;
};

/* bgdma_coll_split() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_coll_split_sized(struct bgdma_coll *coll,
				     const struct bgdma_split_attr *attr,
				     size_t size,
				     struct bgdma_coll_group **group);

/**
 * bgdma_coll_split() - make groups of all processes of the job
 * @coll: module; its endpoint is committed
 * @attr: which group; NULL: one of all, by rank
 * @group: out: NULL with BGDMA_SPLIT_NONE; to be ended by
 *	bgdma_coll_group_destroy()
 *
 * Collective over the job; no signal ends it. When it returns the counters of all
 * members are at zero, and may be used (BA-1). A group whose processes are alone
 * on the nodes of whole lines gets barriers by deposit bit, axis by axis (BA-2);
 * another sends a packet to each member (BA-7).
 *
 * Thread safety: any thread, one at a time in a process, and in the same order on
 * all processes.
 * Return: 0; -EHOSTDOWN a process of the job has died or left; -EIO one of them gave
 * this up; -EINVAL; -ENOTCONN not committed; -EDEADLK in a callback; -ENOSPC no counter
 * is left, at this member or another; -ENOMEM.
 */
static inline int bgdma_coll_split(struct bgdma_coll *coll,
				   const struct bgdma_split_attr *attr,
				   struct bgdma_coll_group **group)
{
	return bgdma_coll_split_sized(coll, attr, sizeof(*attr), group);
}

/**
 * bgdma_coll_group_destroy() - end a group
 * @group: group, or NULL; this process is in no barrier of it
 *
 * Not collective. What is on its way for the last barrier is waited for, for at
 * most a second.
 *
 * Thread safety: nobody may use the group meanwhile.
 */
BGDMA_API void bgdma_coll_group_destroy(struct bgdma_coll_group *group);

/**
 * bgdma_coll_rank() - number of this process in a group
 * @group: group
 *
 * Thread safety: any thread.
 */
BGDMA_API uint32_t bgdma_coll_rank(const struct bgdma_coll_group *group);

/**
 * bgdma_coll_size() - members of a group
 * @group: group
 *
 * Thread safety: any thread.
 */
BGDMA_API uint32_t bgdma_coll_size(const struct bgdma_coll_group *group);

/**
 * bgdma_coll_member() - rank in the job of a member
 * @group: group
 * @number: of the member
 *
 * Thread safety: any thread.
 * Return: its rank, or BGDMA_STRANGER: no such member.
 */
BGDMA_API uint32_t bgdma_coll_member(const struct bgdma_coll_group *group,
				     uint32_t number);

/**
 * bgdma_coll_enter() - enter a barrier (BA-2)
 * @group: group
 *
 * Adds to the counter and lets the engine tell the others. It waits for nobody
 * but for room in an injection FIFO; and the first call that tells of an error of
 * the group, this or another, for up to a second until those have heard of it who
 * would wait for this process. It makes progress meanwhile, unless it is called by a
 * callback: then the next call does so.
 *
 * Thread safety: as the endpoint.
 * Return: 0; -EBUSY this process is in one already; -EHOSTDOWN a member has
 * died, see bgdma_coll_dead(); -EIO a packet could not be sent, here or at another
 * member; -ENODEV.
 */
BGDMA_API int bgdma_coll_enter(struct bgdma_coll_group *group);

/**
 * bgdma_coll_test() - whether the barrier that was entered is over (BA-4)
 * @group: group
 *
 * Makes no progress but that of the barrier: a death is seen by
 * bgdma_endpoint_progress() and the waits.
 *
 * Thread safety: as the endpoint.
 * Return: 0: all have entered, and this process is in none any more; -EAGAIN: not
 * yet; -EINVAL: it is in none; else as bgdma_coll_enter().
 */
BGDMA_API int bgdma_coll_test(struct bgdma_coll_group *group);

/**
 * bgdma_coll_wait() - wait until the barrier that was entered is over
 * @group: group
 * @mode: how; who sleeps is woken by the counter's interrupt
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * Progress of the endpoint is made meanwhile. Who has left this barrier may be gone:
 * it is over for the others too, once they have the packets of all. Who goes at once,
 * without a bgdma_job_fence(), may be missed by who lacks those of a third.
 *
 * Thread safety: as the endpoint.
 * Return: as bgdma_coll_test(), and -ETIMEDOUT, -EINTR, -EDEADLK as
 * bgdma_endpoint_wait_until(): then this process is still in it.
 */
BGDMA_API int bgdma_coll_wait(struct bgdma_coll_group *group,
			      enum bgdma_wait_mode mode, int64_t timeout_ns);

/**
 * bgdma_coll_barrier() - enter a barrier, and wait for the others
 * @group: group
 *
 * Thread safety: as the endpoint.
 * Return: as bgdma_coll_enter() and bgdma_coll_wait().
 */
static inline int bgdma_coll_barrier(struct bgdma_coll_group *group)
{
	int ret = bgdma_coll_enter(group);

	return ret ? ret : bgdma_coll_wait(group, BGDMA_SPIN_THEN_SLEEP, -1);
}

/**
 * bgdma_coll_dead() - whose death ended a group
 * @group: group
 *
 * Or who could not be reached, see BGDMA_TROUBLE_PEER_DOWN.
 *
 * Thread safety: as the endpoint.
 * Return: rank in the job, or BGDMA_STRANGER: of nobody.
 */
BGDMA_API uint32_t bgdma_coll_dead(const struct bgdma_coll_group *group);

/**
 * struct bgdma_coll_plan - what a barrier costs this process (BA-7)
 * @steps: axes one after the other, or 1 of plain packets, or 0: alone
 * @packets: control packets that it sends
 * @hops: links that these cross, together; by the shortest way where each member
 *	gets one of its own
 * @replies: packets that it answers with
 * @deposit: by deposit bit
 * @reply_hops: links that the replies cross, together, by the shortest way
 */
struct bgdma_coll_plan {
	uint32_t steps;
	uint32_t packets;
	uint32_t hops;
	uint32_t replies;
	bool deposit;
	uint32_t reply_hops;
};

/* bgdma_coll_plan() of a program whose structure has @size bytes. */
BGDMA_API void bgdma_coll_plan_sized(const struct bgdma_coll_group *group,
				     struct bgdma_coll_plan *plan, size_t size);

/**
 * bgdma_coll_plan() - what a barrier costs
 * @group: group
 * @plan: out
 *
 * Thread safety: any thread.
 */
static inline void bgdma_coll_plan(const struct bgdma_coll_group *group,
				   struct bgdma_coll_plan *plan)
{
	bgdma_coll_plan_sized(group, plan, sizeof(*plan));
}

/**
 * bgdma_coll_counter() - the counter of a step of the barrier (BA-1)
 * @group: group
 * @step: below bgdma_coll_plan.steps
 *
 * To look at.
 *
 * Thread safety: any thread.
 * Return: an injection counter, with BGDMA_SPLIT_PUT a reception counter; or NULL.
 */
BGDMA_API const struct bgdma_counter *
bgdma_coll_counter(const struct bgdma_coll_group *group, uint32_t step);

BGDMA_END_DECLS

#endif /* BGDMA_COLL_H */
