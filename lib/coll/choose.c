// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What a collective is asked to do: whether it can be, and by which algorithm.
 */
#include <errno.h>
#include <string.h>

#include "../attr.h"
#include "collective.h"

/* So many can all be served at once. */
#define FEW		4U
/* Images of a fast sum that go faster by messages. */
#define LONG_SUM_BYTES	(2U << 20)

/* ---- Which there are ---------------------------------------------------- */

static build_fn *const builder[BGDMA_COLLECTIVE_COUNT][BGDMA_ALGORITHM_COUNT] = {
	[BGDMA_BROADCAST] = {
		[BGDMA_LINEAR] = broadcast_linear,
		[BGDMA_TREE] = broadcast_tree,
		[BGDMA_RING] = broadcast_ring,
		[BGDMA_ENGINES] = broadcast_engines,
	},
	[BGDMA_SCATTER] = { [BGDMA_LINEAR] = scatter_linear },
	[BGDMA_GATHER] = { [BGDMA_LINEAR] = gather_linear },
	[BGDMA_ALLGATHER] = {
		[BGDMA_LINEAR] = allgather_linear,
		[BGDMA_DOUBLING] = allgather_doubling,
		[BGDMA_RING] = allgather_ring,
	},
	[BGDMA_ALLTOALL] = {
		[BGDMA_LINEAR] = alltoall_linear,
		[BGDMA_RING] = alltoall_ring,
	},
	[BGDMA_REDUCE] = {
		[BGDMA_LINEAR] = reduce_linear,
		[BGDMA_TREE] = reduce_tree,
		[BGDMA_ENGINES] = reduce_engines,
	},
	[BGDMA_ALLREDUCE] = {
		[BGDMA_TREE] = allreduce_tree,
		[BGDMA_DOUBLING] = allreduce_doubling,
		[BGDMA_RING] = allreduce_ring,
		[BGDMA_ENGINES] = allreduce_engines,
		[BGDMA_DIRECT] = allreduce_direct,
	},
	[BGDMA_REDUCE_SCATTER] = {
		[BGDMA_TREE] = reduce_scatter_tree,
		[BGDMA_RING] = reduce_scatter_ring,
	},
	[BGDMA_SCAN] = {
		[BGDMA_LINEAR] = scan_linear,
		[BGDMA_DOUBLING] = scan_doubling,
	},
	[BGDMA_EXSCAN] = {
		[BGDMA_LINEAR] = exscan_linear,
		[BGDMA_DOUBLING] = exscan_doubling,
	},
};

static bool is_reduction(const struct bgdma_collective *what)
{
	return what->kind >= BGDMA_REDUCE;
}

static bool is_rooted(const struct bgdma_collective *what)
{
	return what->kind <= BGDMA_GATHER || what->kind == BGDMA_REDUCE;
}

static bool is_ordered(const struct bgdma_operator *op)
{
	return op->combine && op->ordered;
}

static bool engines_combine(const struct bgdma_operator *op)
{
	uint16_t dispatch;

	return engines_dispatch(op, &dispatch);
}

/* Do the group's engines know what is to be done? */
static bool engines_can(const struct bgdma_coll_group *g,
			const struct bgdma_collective *what)
{
	uint64_t bytes = what->bytes;

	if (g->engines.number >= BGDMA_CLASSES_MAX)
		return false;
	if (is_reduction(what)) {
		bytes = what->count * sum_bytes(g, what);
		if (sum_kind(g, what) == BGDMA_SUM_PLAIN &&
		    !engines_combine(what->op) && !extreme_fits(what->op))
			return false;
	}
	return bytes <= BGDMA_LENGTH_MAX;
}

/* As all members see it: of a block, or on the average. */
static uint64_t bytes_of(const struct bgdma_coll_group *g,
			 const struct bgdma_collective *what)
{
	const uint64_t *bytes = what->out_blocks.bytes;
	uint64_t sum = 0;
	uint32_t i;

	if (is_reduction(what))
		return what->count * sum_bytes(g, what);
	if (what->kind != BGDMA_ALLGATHER || !bytes)
		return what->bytes;
	for (i = 0; i < g->size; i++)
		sum += bytes[i];
	return sum / (g->size ? g->size : 1);
}

/* Whether all blocks are of one size, which all members know; where is their own. */
static bool is_even(const struct bgdma_coll_group *g,
		    const struct bgdma_collective *what)
{
	const uint64_t *bytes = what->out_blocks.bytes;
	uint32_t i;

	for (i = 1; bytes && i < g->size; i++)
		if (bytes[i] != bytes[0])
			return false;
	return true;
}

/* With a ring each block is added up from another member on. */
static bool is_possible(const struct bgdma_coll_group *g,
			const struct bgdma_collective *what,
			unsigned int algorithm)
{
	if (algorithm >= BGDMA_ALGORITHM_COUNT ||
	    !builder[what->kind][algorithm])
		return false;
	if (algorithm == BGDMA_ENGINES)
		return engines_can(g, what);
	if (algorithm == BGDMA_DIRECT)
		return g->direct.usable && bytes_of(g, what) <= DIRECT_BYTES;
	if (is_reduction(what) && algorithm == BGDMA_RING)
		return !is_ordered(what->op);
	if (what->kind != BGDMA_ALLGATHER || algorithm != BGDMA_DOUBLING)
		return true;
	/* Blocks travel together. */
	return is_even(g, what) &&
	       bytes_of(g, what) <= BGDMA_RENDEZVOUS_MAX / g->size;
}

/* ---- Which is the fastest ----------------------------------------------- */

/* Members that a ring is faster for: of two each saves half of making a sum. */
static uint32_t ring_least(const struct bgdma_coll_group *g,
			   const struct bgdma_collective *what)
{
	return sum_kind(g, what) == BGDMA_SUM_PLAIN ? 3 : 2;
}

/* Measured: of so many elements the values are the most work, which a ring shares out. */
static bool is_long_sum(const struct bgdma_coll_group *g,
			const struct bgdma_collective *what)
{
	return what->kind == BGDMA_ALLREDUCE &&
	       sum_kind(g, what) == BGDMA_SUM_FAST &&
	       bytes_of(g, what) >= LONG_SUM_BYTES;
}

static unsigned int choose(const struct bgdma_coll_group *g,
			   const struct bgdma_collective *what)
{
	bool is_long = bytes_of(g, what) >= LONG_BYTES;

	if (is_possible(g, what, BGDMA_DIRECT))
		return BGDMA_DIRECT;
	if (is_possible(g, what, BGDMA_ENGINES) && !is_long_sum(g, what))
		return BGDMA_ENGINES;
	switch (what->kind) {
	case BGDMA_BROADCAST:
		return is_long && g->size > 2 ? BGDMA_RING : BGDMA_TREE;
	case BGDMA_ALLGATHER:
		return is_long || !is_possible(g, what, BGDMA_DOUBLING) ?
		       BGDMA_RING : BGDMA_DOUBLING;
	case BGDMA_ALLTOALL:
		return g->size > FEW ? BGDMA_RING : BGDMA_LINEAR;
	case BGDMA_REDUCE:
		return BGDMA_TREE;
	case BGDMA_ALLREDUCE:
		return is_long && g->size >= ring_least(g, what) &&
		       !is_ordered(what->op) ? BGDMA_RING : BGDMA_DOUBLING;
	case BGDMA_REDUCE_SCATTER:
		return is_ordered(what->op) ? BGDMA_TREE : BGDMA_RING;
	case BGDMA_SCAN:
	case BGDMA_EXSCAN:
		return BGDMA_DOUBLING;
	default:
		return BGDMA_LINEAR;
	}
}

static unsigned int algorithm_of(const struct bgdma_coll_group *g,
				 const struct bgdma_collective *what)
{
	return what->algorithm == BGDMA_ALGORITHM_AUTO ? choose(g, what) :
							 what->algorithm;
}

/* ---- Whether it makes sense --------------------------------------------- */

/* No sum or product of lengths goes over. */
static int lengths_check(const uint64_t *value, uint32_t n, uint64_t most)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; value && i < n; i++) {
		if (value[i] > most || sum > INT64_MAX - value[i])
			return -EMSGSIZE;
		sum += value[i];
	}
	return 0;
}

static int reduction_check(const struct bgdma_coll_group *g,
			   const struct bgdma_collective *what)
{
	uint64_t most;
	int ret;

	ret = operator_check(what->op);
	if (!ret)
		ret = sum_check(g, what);
	if (ret)
		return ret;
	most = BGDMA_RENDEZVOUS_MAX / sum_bytes(g, what);
	if (what->count > most ||
	    (what->kind == BGDMA_REDUCE_SCATTER && what->count > most / g->size))
		return -EMSGSIZE;
	return what->kind == BGDMA_REDUCE_SCATTER ?
	       lengths_check(what->counts, g->size, most / g->size) : 0;
}

int collective_check(const struct bgdma_coll_group *g,
		     const struct bgdma_collective *what)
{
	int ret = 0;

	if ((unsigned int)what->kind >= BGDMA_COLLECTIVE_COUNT ||
	    (is_rooted(what) && what->root >= g->size))
		return -EINVAL;
	if (is_reduction(what))
		ret = reduction_check(g, what);
	else if (what->bytes > BGDMA_RENDEZVOUS_MAX)
		ret = -EMSGSIZE;
	if (!ret)
		ret = lengths_check(what->in_blocks.bytes, g->size,
				    BGDMA_RENDEZVOUS_MAX);
	if (!ret)
		ret = lengths_check(what->out_blocks.bytes, g->size,
				    BGDMA_RENDEZVOUS_MAX);
	if (!ret && !is_possible(g, what, algorithm_of(g, what)))
		ret = -EINVAL;
	return ret;
}

int bgdma_coll_algorithm_sized(const struct bgdma_coll_group *g,
			       const struct bgdma_collective *what, size_t size)
{
	struct bgdma_collective w;
	int ret;

	ret = attr_copy(&w, sizeof(w), what, size);
	if (!ret)
		ret = collective_check(g, &w);
	return ret ? ret : (int)algorithm_of(g, &w);
}

/* ---- Making it ---------------------------------------------------------- */

/* What has no places gets them. */
static void layout_make(struct bgdma_coll_request *r, struct layout *l,
			const struct bgdma_blocks *blocks, uint64_t each)
{
	uint32_t i, size = r->group->size;
	uint64_t *at;

	*l = (struct layout){ .bytes = blocks->bytes, .at = blocks->at,
			      .each = each };
	if (!l->bytes || l->at)
		return;
	at = request_memory(r, size * sizeof(*at));
	if (!at)
		return;
	at[0] = 0;
	for (i = 1; i < size; i++)
		at[i] = at[i - 1] + l->bytes[i - 1];
	l->at = at;
}

/* A reduce-scatter counts elements. */
static void counts_layout(struct bgdma_coll_request *r, struct layout *l,
			  const uint64_t *counts, uint64_t count)
{
	uint32_t i, size = r->group->size, element = operator_bytes(r->op);
	struct bgdma_blocks blocks = { 0 };
	uint64_t *bytes;

	if (counts) {
		bytes = request_memory(r, size * sizeof(*bytes));
		if (!bytes)
			return;
		for (i = 0; i < size; i++)
			bytes[i] = counts[i] * element;
		blocks.bytes = bytes;
	}
	layout_make(r, l, &blocks, count * element);
}

/* There is one: collective_check() has seen to that. */
static void list_build(struct bgdma_coll_request *r,
		       const struct bgdma_collective *what,
		       unsigned int algorithm, const struct layout *in,
		       const struct layout *out)
{
	build_fn *build = builder[what->kind][algorithm];

	if (build && !r->lacking)
		build(r, what, in, out);
}

static void data_build(struct bgdma_coll_request *r,
		       const struct bgdma_collective *what,
		       unsigned int algorithm)
{
	struct layout in, out;

	layout_make(r, &in, &what->in_blocks, what->bytes);
	layout_make(r, &out, &what->out_blocks, what->bytes);
	list_build(r, what, algorithm, &in, &out);
}

void reduction_build(struct bgdma_coll_request *r,
		     const struct bgdma_collective *what,
		     unsigned int algorithm)
{
	struct layout in = { 0 }, out = { 0 };

	if (what->kind == BGDMA_REDUCE_SCATTER)
		counts_layout(r, &in, what->counts, what->count);
	list_build(r, what, algorithm, &in, &out);
}

int collective_build(struct bgdma_coll_request *r,
		     const struct bgdma_collective *what)
{
	unsigned int algorithm = algorithm_of(r->group, what);

	if (is_reduction(what)) {
		r->own = *what->op;
		r->op = &r->own;
	}
	if (!is_reduction(what))
		data_build(r, what, algorithm);
	else if (sum_is_own(r->group, what))
		sum_build(r, what, algorithm);
	else if (algorithm == BGDMA_ENGINES && !engines_combine(what->op))
		extreme_build(r, what);
	else
		reduction_build(r, what, algorithm);
	return r->lacking ? -ENOMEM : 0;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
	sum = (sum ^ value) * 0x9e3779b97f4a7c15ULL;
	return sum ^ sum >> 29;
}

uint64_t collective_sum(const struct bgdma_coll_group *g,
			const struct bgdma_collective *what)
{
	uint64_t sum = mix(what->kind, algorithm_of(g, what));

	if (is_rooted(what))
		sum = mix(sum, what->root);
	/* Of other kinds a member may have blocks of its own. */
	if (what->kind == BGDMA_BROADCAST)
		sum = mix(sum, what->bytes);
	if (is_reduction(what)) {
		sum = mix(sum, operator_bytes(what->op));
		sum = mix(sum, what->counts ? 0 : what->count);
		sum = mix(sum, what->op->combine ? BGDMA_REDUCTION_COUNT :
						   what->op->reduction);
		if (!what->op->combine)
			sum = mix(sum, what->op->element);
		sum = mix(sum, sum_kind(g, what));
	}
	return sum >> (64 - CHECK_BITS);
}
