// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Reductions that all members get something of. Elements of members with lower
 * numbers always come first, but along a ring.
 */
#include "collective.h"

static const void *own_of(const struct bgdma_collective *what)
{
	return what->in ? what->in : what->out;
}

/* ---- All-reduce --------------------------------------------------------- */

void allreduce_tree(struct bgdma_coll_request *r,
		    const struct bgdma_collective *what,
		    const struct layout *in, const struct layout *out)
{
	struct bgdma_collective part = *what;

	part.root = 0;
	reduce_tree(r, &part, in, out);
	add_round(r);
	part.bytes = what->count * operator_bytes(r->op);
	broadcast_tree(r, &part, in, out);
}

/*
 * Who takes part in the doubling, in the same order: of the first 2 * @fold members
 * one of each two.
 */
struct doubles {
	uint32_t fold, count;
};

static uint32_t member_of(const struct doubles *d, uint32_t number)
{
	return number < d->fold ? 2 * number + 1 : number + d->fold;
}

static void exchange(struct bgdma_coll_request *r, uint32_t with, uint64_t count,
		     void **sum, void **spare)
{
	uint64_t bytes = count * operator_bytes(r->op);
	void *other = *spare;

	add_recv(r, with, other, bytes);
	add_send(r, with, *sum, bytes);
	add_round(r);
	if (with < r->group->rank) {
		add_combine(r, other, *sum, count);
		return;
	}
	add_combine(r, *sum, other, count);
	*spare = *sum;
	*sum = other;
}

/* The count of members is brought to a power of two, and back. */
void allreduce_doubling(struct bgdma_coll_request *r,
			const struct bgdma_collective *what,
			const struct layout *in, const struct layout *out)
{
	uint32_t rank = r->group->rank, size = r->group->size, bit, number;
	uint64_t bytes = what->count * operator_bytes(r->op);
	struct doubles d = { .count = 1 };
	void *sum = what->out, *spare = request_memory(r, bytes);

	(void)in;
	(void)out;
	while (d.count <= size / 2)
		d.count *= 2;
	d.fold = size - d.count;
	add_copy(r, sum, own_of(what), bytes);
	if (rank < 2 * d.fold && rank % 2 == 0) {
		add_send(r, rank + 1, sum, bytes);
		add_round(r);
		add_recv(r, rank + 1, sum, bytes);
		return;
	}
	if (rank < 2 * d.fold) {
		add_recv(r, rank - 1, spare, bytes);
		add_round(r);
		add_combine(r, spare, sum, what->count);
	}
	number = rank < 2 * d.fold ? rank / 2 : rank - d.fold;
	for (bit = 1; bit < d.count; bit *= 2)
		exchange(r, member_of(&d, number ^ bit), what->count, &sum,
			 &spare);
	if (rank < 2 * d.fold)
		add_send(r, rank - 1, sum, bytes);
	add_copy(r, what->out, sum, bytes);
}

void allreduce_direct(struct bgdma_coll_request *r,
		      const struct bgdma_collective *what,
		      const struct layout *in, const struct layout *out)
{
	(void)in;
	(void)out;
	add_direct(r, own_of(what), what->out,
		   what->count * operator_bytes(r->op));
}

/* ---- Along a ring ------------------------------------------------------- */

static uint32_t behind(const struct bgdma_coll_group *g, uint32_t by)
{
	return (uint32_t)(((uint64_t)g->rank + 2ULL * g->size - by) % g->size);
}

void ring_reduce(struct bgdma_coll_request *r, char *work,
		 const struct layout *l)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t i, to, from, element = operator_bytes(r->op);
	uint64_t most = 0;
	void *spare;

	for (i = 0; i < g->size; i++)
		if (block_bytes(l, i) > most)
			most = block_bytes(l, i);
	spare = request_memory(r, most);
	for (i = 1; i < g->size; i++) {
		to = behind(g, i);
		from = behind(g, i + 1);
		add_recv(r, behind(g, 1), spare, block_bytes(l, from));
		add_send(r, behind(g, g->size - 1), block_of(work, l, to),
			 block_bytes(l, to));
		add_round(r);
		add_combine(r, spare, block_of(work, l, from),
			    block_bytes(l, from) / element);
	}
}

void ring_parts(struct bgdma_coll_request *r, uint64_t count, uint32_t element,
		struct layout *l)
{
	uint32_t i, size = r->group->size;
	uint64_t *bytes = request_memory(r, size * sizeof(*bytes));
	uint64_t *at = request_memory(r, size * sizeof(*at)), sum = 0;

	*l = (struct layout){ .bytes = bytes, .at = at };
	if (!bytes || !at)
		return;
	for (i = 0; i < size; i++) {
		bytes[i] = (count / size + (i < count % size)) * element;
		at[i] = sum;
		sum += bytes[i];
	}
}

void allreduce_ring(struct bgdma_coll_request *r,
		    const struct bgdma_collective *what,
		    const struct layout *in, const struct layout *out)
{
	uint32_t element = operator_bytes(r->op);
	struct layout l;

	(void)in;
	(void)out;
	ring_parts(r, what->count, element, &l);
	if (r->lacking)
		return;
	add_copy(r, what->out, own_of(what), what->count * element);
	ring_reduce(r, what->out, &l);
	ring_gather(r, what->out, &l);
}

static uint64_t layout_bytes(const struct bgdma_coll_group *g,
			     const struct layout *l)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < g->size; i++)
		sum += block_bytes(l, i);
	return sum;
}

void reduce_scatter_ring(struct bgdma_coll_request *r,
			 const struct bgdma_collective *what,
			 const struct layout *in, const struct layout *out)
{
	uint64_t bytes = layout_bytes(r->group, in);
	char *work = request_memory(r, bytes);

	(void)out;
	add_copy(r, work, own_of(what), bytes);
	ring_reduce(r, work, in);
	add_copy(r, what->out, block_of(work, in, r->group->rank),
		 block_bytes(in, r->group->rank));
}

void reduce_scatter_tree(struct bgdma_coll_request *r,
			 const struct bgdma_collective *what,
			 const struct layout *in, const struct layout *out)
{
	uint64_t bytes = layout_bytes(r->group, in);
	struct bgdma_collective part = *what;

	part.root = 0;
	part.in = own_of(what);
	part.count = bytes / operator_bytes(r->op);
	if (!r->group->rank)
		part.out = request_memory(r, bytes);
	reduce_tree(r, &part, in, out);
	add_round(r);
	part.in = part.out;
	part.out = what->out;
	part.bytes = block_bytes(in, r->group->rank);
	scatter_linear(r, &part, in, out);
}

/* ---- Scan --------------------------------------------------------------- */

void scan_linear(struct bgdma_coll_request *r,
		 const struct bgdma_collective *what,
		 const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint64_t bytes = what->count * operator_bytes(r->op);
	void *lower;

	(void)in;
	(void)out;
	add_copy(r, what->out, own_of(what), bytes);
	if (g->rank) {
		lower = request_memory(r, bytes);
		add_recv(r, g->rank - 1, lower, bytes);
		add_round(r);
		add_combine(r, lower, what->out, what->count);
	}
	if (g->rank + 1 < g->size)
		add_send(r, g->rank + 1, what->out, bytes);
}

void exscan_linear(struct bgdma_coll_request *r,
		   const struct bgdma_collective *what,
		   const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint64_t bytes = what->count * operator_bytes(r->op);
	void *sum = request_memory(r, bytes);

	(void)in;
	(void)out;
	add_copy(r, sum, own_of(what), bytes);
	if (g->rank) {
		add_recv(r, g->rank - 1, what->out, bytes);
		add_round(r);
		add_combine(r, what->out, sum, what->count);
	}
	if (g->rank + 1 < g->size)
		add_send(r, g->rank + 1, sum, bytes);
}

/* Each knows of ever more members up to itself; @sum is of these. */
static void scan(struct bgdma_coll_request *r,
		 const struct bgdma_collective *what, void *sum, bool others)
{
	const struct bgdma_coll_group *g = r->group;
	uint64_t bytes = what->count * operator_bytes(r->op), by;
	void *lower = request_memory(r, bytes);
	bool first = true;

	add_copy(r, sum, own_of(what), bytes);
	for (by = 1; by < g->size; by *= 2) {
		if (g->rank >= by)
			add_recv(r, g->rank - (uint32_t)by, lower, bytes);
		if (g->rank + by < g->size)
			add_send(r, g->rank + (uint32_t)by, sum, bytes);
		add_round(r);
		if (g->rank < by)
			continue;
		add_combine(r, lower, sum, what->count);
		if (!others)
			continue;
		if (first)
			add_copy(r, what->out, lower, bytes);
		else
			add_combine(r, lower, what->out, what->count);
		first = false;
	}
}

void scan_doubling(struct bgdma_coll_request *r,
		   const struct bgdma_collective *what,
		   const struct layout *in, const struct layout *out)
{
	(void)in;
	(void)out;
	scan(r, what, what->out, false);
}

void exscan_doubling(struct bgdma_coll_request *r,
		     const struct bgdma_collective *what,
		     const struct layout *in, const struct layout *out)
{
	(void)in;
	(void)out;
	scan(r, what, request_memory(r, what->count * operator_bytes(r->op)),
	     true);
}
