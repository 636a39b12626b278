// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Collectives in which all give and all get.
 */
#include "collective.h"

static uint32_t after(const struct bgdma_coll_group *g, uint32_t by)
{
	return (uint32_t)(((uint64_t)g->rank + by) % g->size);
}

static uint32_t before(const struct bgdma_coll_group *g, uint32_t by)
{
	return after(g, g->size - by);
}

/* ---- All-gather --------------------------------------------------------- */

static void own_place(struct bgdma_coll_request *r,
		      const struct bgdma_collective *what,
		      const struct layout *out)
{
	uint32_t own = r->group->rank;

	if (what->in)
		add_copy(r, block_of(what->out, out, own), what->in,
			 block_bytes(out, own));
}

void allgather_linear(struct bgdma_coll_request *r,
		      const struct bgdma_collective *what,
		      const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t i;

	(void)in;
	own_place(r, what, out);
	for (i = 1; i < g->size; i++) {
		add_recv(r, before(g, i), block_of(what->out, out, before(g, i)),
			 block_bytes(out, before(g, i)));
		add_send(r, after(g, i), block_of(what->out, out, g->rank),
			 block_bytes(out, g->rank));
	}
}

/* What a member has got goes on in the next round. */
void ring_gather(struct bgdma_coll_request *r, void *memory,
		 const struct layout *l)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t i, out, in;

	for (i = 0; i + 1 < g->size; i++) {
		out = before(g, i);
		in = before(g, i + 1);
		add_recv(r, before(g, 1), block_of(memory, l, in),
			 block_bytes(l, in));
		add_send(r, after(g, 1), block_of(memory, l, out),
			 block_bytes(l, out));
		add_round(r);
	}
}

void allgather_ring(struct bgdma_coll_request *r,
		    const struct bgdma_collective *what,
		    const struct layout *in, const struct layout *out)
{
	(void)in;
	own_place(r, what, out);
	ring_gather(r, what->out, out);
}

/* From the own block on, the last before the first. */
static void turned_place(struct bgdma_coll_request *r, void *to, const char *all,
			 const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint64_t bytes = block_bytes(out, 0);
	uint32_t i;

	for (i = 0; out->at && i < g->size; i++)
		add_copy(r, block_of(to, out, after(g, i)), all + bytes * i,
			 bytes);
	if (out->at)
		return;
	add_copy(r, plus(to, bytes * g->rank), all,
		 bytes * (g->size - g->rank));
	add_copy(r, to, all + bytes * (g->size - g->rank), bytes * g->rank);
}

/*
 * Each has the blocks of so many members from itself on, and gets those of as many
 * behind them; in the end they are turned to where they belong.
 */
void allgather_doubling(struct bgdma_coll_request *r,
			const struct bgdma_collective *what,
			const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint64_t bytes = block_bytes(out, 0);
	uint32_t have = 1, more;
	const void *own = what->in;
	char *all;

	(void)in;
	all = request_memory(r, bytes * g->size);
	if (!own)
		own = block_of(what->out, out, g->rank);
	add_copy(r, all, own, bytes);
	for (; have < g->size; have += more) {
		more = g->size - have < have ? g->size - have : have;
		add_recv(r, after(g, have), plus(all, bytes * have),
			 bytes * more);
		add_send(r, before(g, have), all, bytes * more);
		add_round(r);
	}
	if (all)
		turned_place(r, what->out, all, out);
}

/* ---- All-to-all --------------------------------------------------------- */

/*
 * What is given, by number; *@l: where each is. In place it is put aside, as what
 * comes would be in its way.
 */
static const void *given(struct bgdma_coll_request *r,
			 const struct bgdma_collective *what,
			 const struct layout *in, const struct layout *out,
			 struct layout *l)
{
	uint32_t i, size = r->group->size;
	uint64_t sum = 0, *at;
	char *aside;

	*l = *in;
	if (what->in)
		return what->in;
	for (i = 0; i < size; i++)
		sum += block_bytes(out, i);
	at = request_memory(r, size * sizeof(*at));
	aside = request_memory(r, sum);
	if (!at || !aside)
		return NULL;
	sum = 0;
	for (i = 0; i < size; i++) {
		at[i] = sum;
		add_copy(r, aside + sum, block_of(what->out, out, i),
			 block_bytes(out, i));
		sum += block_bytes(out, i);
	}
	*l = (struct layout){ .bytes = out->bytes, .at = at,
			      .each = out->each };
	return aside;
}

static void alltoall(struct bgdma_coll_request *r,
		     const struct bgdma_collective *what,
		     const struct layout *in, const struct layout *out,
		     bool rounds)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t i, to, from;
	struct layout l;
	const void *data = given(r, what, in, out, &l);

	if (what->in)
		add_copy(r, block_of(what->out, out, g->rank),
			 block_in(data, &l, g->rank),
			 block_bytes(out, g->rank));
	for (i = 1; i < g->size; i++) {
		to = after(g, i);
		from = before(g, i);
		add_recv(r, from, block_of(what->out, out, from),
			 block_bytes(out, from));
		add_send(r, to, block_in(data, &l, to), block_bytes(&l, to));
		if (rounds)
			add_round(r);
	}
}

void alltoall_linear(struct bgdma_coll_request *r,
		     const struct bgdma_collective *what,
		     const struct layout *in, const struct layout *out)
{
	alltoall(r, what, in, out, false);
}

/* With another partner each time. */
void alltoall_ring(struct bgdma_coll_request *r,
		   const struct bgdma_collective *what,
		   const struct layout *in, const struct layout *out)
{
	alltoall(r, what, in, out, true);
}
