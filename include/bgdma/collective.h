/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, coll module: collectives of a group (DP-8). What they mean is what
 * MPI's mean: all members call the same ones in the same order.
 *
 *	struct bgdma_operator op = { .reduction = BGDMA_SUM, .element = BGDMA_S64 };
 *	bgdma_coll_allreduce(world, NULL, &sum, 1, &op);
 *
 * Each is a struct bgdma_collective; bgdma_coll_start() begins one and returns,
 * bgdma_coll_run() does all of it, and the functions with names of their own write
 * the structure down. Several may be under way, also of one group.
 *
 * An error of one, a death that it cannot do without, or members that do not mean
 * the same one, ends the group: all members that are in one, or begin one, are told.
 *
 * The rules of <bgdma/sys.h> hold.
 */
#ifndef BGDMA_COLLECTIVE_H
#define BGDMA_COLLECTIVE_H

#include <string.h>

#include <bgdma/coll.h>

BGDMA_BEGIN_DECLS

/* ---- Elements and what is done to them ---------------------------------- */

/**
 * enum bgdma_element - what a reduction has in its memory
 * @BGDMA_S8: integers, signed (S) and unsigned (U), of so many bits
 * @BGDMA_F32: float
 * @BGDMA_F64: double
 * @BGDMA_C32: float _Complex
 * @BGDMA_C64: double _Complex
 * @BGDMA_S16_AT: struct { int16_t value; int32_t at; }, as C lays it out; and so
 *	on, for BGDMA_MINLOC and _MAXLOC
 * @BGDMA_ELEMENT_COUNT: number of kinds
 */
enum bgdma_element {
	BGDMA_S8,
	BGDMA_U8,
	BGDMA_S16,
	BGDMA_U16,
	BGDMA_S32,
	BGDMA_U32,
	BGDMA_S64,
	BGDMA_U64,
	BGDMA_S128,
	BGDMA_U128,
	BGDMA_F32,
	BGDMA_F64,
	BGDMA_C32,
	BGDMA_C64,
	BGDMA_S16_AT,
	BGDMA_S32_AT,
	BGDMA_S64_AT,
	BGDMA_F32_AT,
	BGDMA_F64_AT,
	BGDMA_ELEMENT_COUNT
};

/**
 * enum bgdma_reduction - how two elements become one
 * @BGDMA_SUM: of integers it wraps; of floats see enum bgdma_summation
 * @BGDMA_PROD: the product; of integers it wraps
 * @BGDMA_MIN: the smaller; of floats a NaN if either is one
 * @BGDMA_MAX: the larger; likewise
 * @BGDMA_BAND: bit by bit, integers only
 * @BGDMA_BOR: likewise
 * @BGDMA_BXOR: likewise
 * @BGDMA_LAND: 1 or 0: whether both are not 0; integers only
 * @BGDMA_LOR: whether one is
 * @BGDMA_LXOR: whether only one is
 * @BGDMA_MINLOC: of values with a place: the smaller, and its place; of the same
 *	values the smaller place
 * @BGDMA_MAXLOC: likewise
 * @BGDMA_REDUCTION_COUNT: number of them
 */
enum bgdma_reduction {
	BGDMA_SUM,
	BGDMA_PROD,
	BGDMA_MIN,
	BGDMA_MAX,
	BGDMA_BAND,
	BGDMA_BOR,
	BGDMA_BXOR,
	BGDMA_LAND,
	BGDMA_LOR,
	BGDMA_LXOR,
	BGDMA_MINLOC,
	BGDMA_MAXLOC,
	BGDMA_REDUCTION_COUNT
};

/**
 * typedef bgdma_combine_fn - a reduction of the application's own
 * @arg: as given
 * @in: elements of members with lower numbers
 * @inout: those of members with higher ones; out: both
 * @count: elements
 *
 * It has to be associative. Runs where callbacks run.
 */
typedef void bgdma_combine_fn(void *arg, const void *in, void *inout,
			      uint64_t count);

/**
 * struct bgdma_operator - a reduction
 * @reduction: one of ours, if @combine is NULL
 * @element: of it
 * @combine: the application's own
 * @arg: for @combine
 * @bytes: of an element of @combine
 * @ordered: @combine does not commute
 */
struct bgdma_operator {
	enum bgdma_reduction reduction;
	enum bgdma_element element;
	bgdma_combine_fn *combine;
	void *arg;
	uint32_t bytes;
	bool ordered;
};

/**
 * enum bgdma_summation - how floats, and complex ones, are added up
 * @BGDMA_SUM_AUTO: as BGDMA_SUMMATION in the environment said when the module was
 *	created ("plain", "fast" or "exact", the same at all); else _FAST
 * @BGDMA_SUM_PLAIN: one after the other, each sum rounded: the result depends on the
 *	order, and so on the number of members and on the algorithm
 * @BGDMA_SUM_FAST: as integers, cut 88 bits below the largest exponent (of float 32),
 *	rounded once. With n values of which the largest has the size m the error is
 *	below n * m / 2^87 (of float 2^31), and half a unit of the last place. The same
 *	bits for the same values, whoever has which. Of scans _EXACT
 * @BGDMA_SUM_EXACT: what the sum is, rounded once, to the nearest, of two to the even
 *	one. 288 bytes cross in the place of a double, 64 in that of a float
 * @BGDMA_SUMMATION_COUNT: number of them
 *
 * But for _PLAIN: of infinities of one sign the sum is that one; of both, and with a
 * NaN, it is a NaN, always the same one. What goes over only on the way does not. A
 * sum of nothing but -0.0 is -0.0, another that is zero +0.0.
 */
enum bgdma_summation {
	BGDMA_SUM_AUTO,
	BGDMA_SUM_PLAIN,
	BGDMA_SUM_FAST,
	BGDMA_SUM_EXACT,
	BGDMA_SUMMATION_COUNT
};

/**
 * bgdma_element_bytes() - size of an element
 * @element: enum bgdma_element
 *
 * Thread safety: any thread.
 * Return: bytes; 0: no such element.
 */
BGDMA_API uint32_t bgdma_element_bytes(unsigned int element);

/**
 * bgdma_reduce_local() - do what a reduction does, without anybody else
 * @op: ours, or the application's own
 * @in: elements
 * @inout: as many; out: both
 * @count: of them
 *
 * Sums of floats are plain ones; see bgdma_sum_values().
 *
 * Thread safety: any thread, as @op->combine.
 * Return: 0; -EINVAL no such reduction, or not of such elements.
 */
BGDMA_API int bgdma_reduce_local(const struct bgdma_operator *op,
				 const void *in, void *inout, uint64_t count);

/* ---- Collectives -------------------------------------------------------- */

/**
 * enum bgdma_collective_kind - what becomes of the members' memory
 * @BGDMA_BROADCAST: the root's @out is everybody's
 * @BGDMA_SCATTER: a block of the root's @in for each, by number
 * @BGDMA_GATHER: a block of each, into the root's @out
 * @BGDMA_ALLGATHER: the same, into everybody's
 * @BGDMA_ALLTOALL: a block of each for each
 * @BGDMA_REDUCE: everybody's elements become one in the root's @out
 * @BGDMA_ALLREDUCE: the same, in everybody's
 * @BGDMA_REDUCE_SCATTER: the same, a block for each
 * @BGDMA_SCAN: the same, of members up to this one
 * @BGDMA_EXSCAN: of those before it; the first one's @out stays as it is
 * @BGDMA_COLLECTIVE_COUNT: number of them
 */
enum bgdma_collective_kind {
	BGDMA_BROADCAST,
	BGDMA_SCATTER,
	BGDMA_GATHER,
	BGDMA_ALLGATHER,
	BGDMA_ALLTOALL,
	BGDMA_REDUCE,
	BGDMA_ALLREDUCE,
	BGDMA_REDUCE_SCATTER,
	BGDMA_SCAN,
	BGDMA_EXSCAN,
	BGDMA_COLLECTIVE_COUNT
};

/**
 * enum bgdma_algorithm - how
 * @BGDMA_ALGORITHM_AUTO: what is fastest for such a group and size
 * @BGDMA_LINEAR: everything straight to where it belongs
 * @BGDMA_TREE: along a binomial tree
 * @BGDMA_DOUBLING: with members ever further away
 * @BGDMA_RING: from neighbour to neighbour, a block at a time
 * @BGDMA_ENGINES: the combining network does it, in groups that were split with
 *	BGDMA_SPLIT_ENGINES: broadcasts; reduce and all-reduce of integers of 16 bits and
 *	more by BGDMA_SUM, _MIN, _MAX, _BAND, _BOR and _BXOR, of floats by BGDMA_MIN and
 *	_MAX, of values with a place by BGDMA_MINLOC and _MAXLOC, and of sums of floats
 *	but for BGDMA_SUM_PLAIN
 * @BGDMA_DIRECT: each puts what it has to all others: an all-reduce of up to 496 bytes
 *	of what stands for the elements, in groups of two to four whose members all had
 *	two reception counters left when it was made
 * @BGDMA_ALGORITHM_COUNT: number of them
 */
enum bgdma_algorithm {
	BGDMA_ALGORITHM_AUTO,
	BGDMA_LINEAR,
	BGDMA_TREE,
	BGDMA_DOUBLING,
	BGDMA_RING,
	BGDMA_ENGINES,
	BGDMA_DIRECT,
	BGDMA_ALGORITHM_COUNT
};

/**
 * struct bgdma_blocks - memory in a block for each member
 * @bytes: of each, by number; NULL: all the same
 * @at: where each is, in bytes; NULL: one after the other
 *
 * Of what is written no two overlap.
 */
struct bgdma_blocks {
	const uint64_t *bytes;
	const uint64_t *at;
};

/**
 * struct bgdma_collective - one collective, as one member sees it
 * @kind: enum bgdma_collective_kind, the same at all
 * @algorithm: enum bgdma_algorithm, the same at all; one that there is not for
 *	this kind and this operator is -EINVAL
 * @root: number of the member, the same at all
 * @in: what this member gives; NULL: it is in @out already, at its place (of
 *	scatters: the root's block stays where it is, if @out is NULL there)
 * @out: what it gets
 * @bytes: of a block, or of the whole of a broadcast; of the own block where
 *	others have other sizes
 * @in_blocks: of scatters (the root's) and all-to-all; its @bytes the same as
 *	the other side's @bytes
 * @out_blocks: of gathers (the root's), all-gathers and all-to-all
 * @op: of reductions, the same at all; copied
 * @count: elements of a reduction, the same at all; of a reduce-scatter in a block
 * @counts: of a reduce-scatter: elements for each, the same at all; NULL: @count
 * @summation: of sums of floats, the same at all
 * @addends: of sums of floats: so many values for each element, in arrays of all
 *	elements that lie one after the other at @in, which is not NULL; each member as
 *	many as it likes. 0: one. Who has none gives -0.0, which changes no sum
 *
 * Memory stays as it is, and @in_blocks, @out_blocks and @counts too, until the end.
 */
struct bgdma_collective {
	enum bgdma_collective_kind kind;
	enum bgdma_algorithm algorithm;
	uint32_t root;
	const void *in;
	void *out;
	uint64_t bytes;
	struct bgdma_blocks in_blocks;
	struct bgdma_blocks out_blocks;
	const struct bgdma_operator *op;
	uint64_t count;
	const uint64_t *counts;
	enum bgdma_summation summation;
	uint64_t addends;
};

/* A collective that is under way, as one member sees it. */
struct bgdma_coll_request;

/* bgdma_coll_start() of a program whose structure has @size bytes. */
BGDMA_API int bgdma_coll_start_sized(struct bgdma_coll_group *group,
				     const struct bgdma_collective *what,
				     size_t size,
				     struct bgdma_coll_request **request);

/**
 * bgdma_coll_start() - begin a collective
 * @group: group
 * @what: the collective
 * @request: out: until bgdma_coll_request_test() or _wait() has said how it ended,
 *	which is before bgdma_coll_group_destroy()
 *
 * It waits for nobody.
 *
 * Thread safety: as the endpoint; of one group in the same order at all members.
 * Return: 0; -EINVAL also of another operator, or no such algorithm; -EMSGSIZE a
 * block is longer than BGDMA_RENDEZVOUS_MAX, or all members might have more than 2^39
 * addends for an element (of float, if fast, 2^31); -ENOMEM; -EHOSTDOWN, -EIO the group is
 * over; -ENOTCONN. After an error that only this member has the others would wait
 * for it: so all but -EINVAL, and -EMSGSIZE of a block, end the group.
 */
static inline int bgdma_coll_start(struct bgdma_coll_group *group,
				   const struct bgdma_collective *what,
				   struct bgdma_coll_request **request)
{
	return bgdma_coll_start_sized(group, what, sizeof(*what), request);
}

/**
 * bgdma_coll_request_test() - whether a collective is over for this member
 * @request: in, out: NULL when it is
 *
 * Makes progress.
 *
 * Thread safety: as the endpoint.
 * Return: 0: it is over, or @request was NULL; -EAGAIN: not yet; -EHOSTDOWN a
 * member has died, see bgdma_coll_dead(); -EBADMSG members did not mean the same
 * one; -EIO another member had an error; -ENOMEM; -ENODEV.
 */
BGDMA_API int bgdma_coll_request_test(struct bgdma_coll_request **request);

/**
 * bgdma_coll_request_wait() - wait until a collective is over for this member
 * @request: in, out: NULL when it is
 * @mode: how
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * Thread safety: as the endpoint; one thread for each.
 * Return: as bgdma_coll_request_test(), and -ETIMEDOUT, -EINTR, -EDEADLK as
 * bgdma_endpoint_wait_until(): then it is still under way.
 */
BGDMA_API int bgdma_coll_request_wait(struct bgdma_coll_request **request,
				      enum bgdma_wait_mode mode,
				      int64_t timeout_ns);

/* bgdma_coll_run() of a program whose structure has @size bytes. */
BGDMA_API int bgdma_coll_run_sized(struct bgdma_coll_group *group,
				   const struct bgdma_collective *what,
				   size_t size);

/**
 * bgdma_coll_run() - begin a collective and wait for its end
 * @group: group
 * @what: the collective
 *
 * No signal ends it. In a callback it does nothing and returns -EDEADLK.
 *
 * Thread safety: as the endpoint.
 * Return: as bgdma_coll_start() and bgdma_coll_request_wait(). Where it cannot be
 * waited for any more (-ENODEV) the group is over, and nothing of it is moved any more.
 */
static inline int bgdma_coll_run(struct bgdma_coll_group *group,
				 const struct bgdma_collective *what)
{
	return bgdma_coll_run_sized(group, what, sizeof(*what));
}

/* bgdma_coll_algorithm() of a program whose structure has @size bytes. */
BGDMA_API int bgdma_coll_algorithm_sized(const struct bgdma_coll_group *group,
					 const struct bgdma_collective *what,
					 size_t size);

/**
 * bgdma_coll_algorithm() - how a collective would be done
 * @group: group
 * @what: the collective
 *
 * Thread safety: any thread.
 * Return: enum bgdma_algorithm, not _AUTO; or as bgdma_coll_start().
 */
static inline int bgdma_coll_algorithm(const struct bgdma_coll_group *group,
				       const struct bgdma_collective *what)
{
	return bgdma_coll_algorithm_sized(group, what, sizeof(*what));
}

/* ---- By name ------------------------------------------------------------ */

static inline struct bgdma_collective
bgdma__collective(enum bgdma_collective_kind kind)
{
	struct bgdma_collective what;

	memset(&what, 0, sizeof(what));
	what.kind = kind;
	return what;
}

/**
 * bgdma_coll_broadcast() - give all members what the root has
 * @group: group
 * @data: the root's; out: of the others
 * @bytes: the same at all
 * @root: number of the member
 *
 * Return: as bgdma_coll_run().
 */
static inline int bgdma_coll_broadcast(struct bgdma_coll_group *group,
				       void *data, uint64_t bytes,
				       uint32_t root)
{
	struct bgdma_collective what = bgdma__collective(BGDMA_BROADCAST);

	what.root = root;
	what.out = data;
	what.bytes = bytes;
	return bgdma_coll_run(group, &what);
}

/**
 * bgdma_coll_allgather() - give all members a block of each
 * @group: group
 * @in: the own block, or NULL: it is at its place
 * @out: blocks, by number
 * @bytes: of one, the same at all
 *
 * Return: as bgdma_coll_run().
 */
static inline int bgdma_coll_allgather(struct bgdma_coll_group *group,
				       const void *in, void *out,
				       uint64_t bytes)
{
	struct bgdma_collective what = bgdma__collective(BGDMA_ALLGATHER);

	what.in = in;
	what.out = out;
	what.bytes = bytes;
	return bgdma_coll_run(group, &what);
}

/**
 * bgdma_coll_alltoall() - give each member a block of each
 * @group: group
 * @in: blocks, by number
 * @out: likewise
 * @bytes: of one, the same at all
 *
 * Return: as bgdma_coll_run().
 */
static inline int bgdma_coll_alltoall(struct bgdma_coll_group *group,
				      const void *in, void *out,
				      uint64_t bytes)
{
	struct bgdma_collective what = bgdma__collective(BGDMA_ALLTOALL);

	what.in = in;
	what.out = out;
	what.bytes = bytes;
	return bgdma_coll_run(group, &what);
}

/**
 * bgdma_coll_reduce() - make one of all members' elements, at the root
 * @group: group
 * @in: elements; NULL: those in @out
 * @out: the root's
 * @count: elements, the same at all
 * @op: the same at all
 * @root: number of the member
 *
 * Return: as bgdma_coll_run().
 */
static inline int bgdma_coll_reduce(struct bgdma_coll_group *group,
				    const void *in, void *out, uint64_t count,
				    const struct bgdma_operator *op,
				    uint32_t root)
{
	struct bgdma_collective what = bgdma__collective(BGDMA_REDUCE);

	what.root = root;
	what.in = in;
	what.out = out;
	what.op = op;
	what.count = count;
	return bgdma_coll_run(group, &what);
}

/**
 * bgdma_coll_allreduce() - make one of all members' elements, at all
 * @group: group
 * @in: elements; NULL: those in @out
 * @out: the result
 * @count: elements, the same at all
 * @op: the same at all
 *
 * Return: as bgdma_coll_run().
 */
static inline int bgdma_coll_allreduce(struct bgdma_coll_group *group,
				       const void *in, void *out,
				       uint64_t count,
				       const struct bgdma_operator *op)
{
	struct bgdma_collective what = bgdma__collective(BGDMA_ALLREDUCE);

	what.in = in;
	what.out = out;
	what.op = op;
	what.count = count;
	return bgdma_coll_run(group, &what);
}

BGDMA_END_DECLS

#endif /* BGDMA_COLLECTIVE_H */
