// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Collectives in which one member gives, or gets, everything.
 */
#include "collective.h"

/* What a message of a ring carries. */
#define SEGMENT		65536U

/* Members counted from the root on. */
static uint32_t relative(const struct bgdma_coll_group *g, uint32_t root)
{
	return g->rank >= root ? g->rank - root : g->rank + g->size - root;
}

static uint32_t absolute(const struct bgdma_coll_group *g, uint32_t root,
			 uint32_t number)
{
	return (uint32_t)(((uint64_t)root + number) % g->size);
}

/* ---- Broadcast ---------------------------------------------------------- */

void broadcast_linear(struct bgdma_coll_request *r,
		      const struct bgdma_collective *what,
		      const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t i;

	(void)in;
	(void)out;
	if (g->rank != what->root) {
		add_recv(r, what->root, what->out, what->bytes);
		return;
	}
	for (i = 1; i < g->size; i++)
		add_send(r, absolute(g, what->root, i), what->out, what->bytes);
}

/* Who is reached tells those whose number differs in a lower bit. */
void broadcast_tree(struct bgdma_coll_request *r,
		    const struct bgdma_collective *what,
		    const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t own = relative(g, what->root), bit = 1;

	(void)in;
	(void)out;
	while (bit < g->size && !(own & bit))
		bit <<= 1;
	if (own) {
		add_recv(r, absolute(g, what->root, own - bit), what->out,
			 what->bytes);
		add_round(r);
	}
	for (bit >>= 1; bit; bit >>= 1)
		if (own + bit < g->size)
			add_send(r, absolute(g, what->root, own + bit),
				 what->out, what->bytes);
}

/* A segment comes while the one before goes on. */
void broadcast_ring(struct bgdma_coll_request *r,
		    const struct bgdma_collective *what,
		    const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t own = relative(g, what->root);
	uint64_t at = 0, before = 0, n, last = 0;
	char *data = what->out;
	bool sends = own + 1 < g->size;

	(void)in;
	(void)out;
	do {
		n = what->bytes - at < SEGMENT ? what->bytes - at : SEGMENT;
		if (own)
			add_recv(r, absolute(g, what->root, own - 1), plus(data, at),
				 n);
		if (own && at && sends)
			add_send(r, absolute(g, what->root, own + 1),
				 plus(data, before), last);
		if (!own && sends)
			add_send(r, absolute(g, what->root, 1),
				 plus(data, at), n);
		add_round(r);
		before = at;
		last = n;
		at += n;
	} while (at < what->bytes);
	if (own && sends)
		add_send(r, absolute(g, what->root, own + 1),
			 plus(data, before), last);
}

/* ---- Scatter and gather ------------------------------------------------- */

void scatter_linear(struct bgdma_coll_request *r,
		    const struct bgdma_collective *what,
		    const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t i, to;

	(void)out;
	if (g->rank != what->root) {
		add_recv(r, what->root, what->out, what->bytes);
		return;
	}
	for (i = 1; i < g->size; i++) {
		to = absolute(g, what->root, i);
		add_send(r, to, block_in(what->in, in, to),
			 block_bytes(in, to));
	}
	if (what->out)
		add_copy(r, what->out, block_in(what->in, in, g->rank),
			 block_bytes(in, g->rank));
}

void gather_linear(struct bgdma_coll_request *r,
		   const struct bgdma_collective *what,
		   const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint32_t i, from;

	(void)in;
	if (g->rank != what->root) {
		add_send(r, what->root, what->in ? what->in : what->out,
			 what->bytes);
		return;
	}
	for (i = 1; i < g->size; i++) {
		from = absolute(g, what->root, i);
		add_recv(r, from, block_of(what->out, out, from),
			 block_bytes(out, from));
	}
	if (what->in)
		add_copy(r, block_of(what->out, out, g->rank), what->in,
			 block_bytes(out, g->rank));
}

/* ---- Reduce ------------------------------------------------------------- */

/*
 * All that the root gets, from the last member down: so each is put before those
 * that are there already, and order is kept.
 */
void reduce_linear(struct bgdma_coll_request *r,
		   const struct bgdma_collective *what,
		   const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint64_t bytes = what->count * operator_bytes(r->op);
	const void *own = what->in ? what->in : what->out;
	char *all, *from;
	uint32_t i;

	(void)in;
	(void)out;
	if (g->rank != what->root) {
		add_send(r, what->root, own, bytes);
		return;
	}
	all = request_memory(r, bytes * g->size);
	if (!all)
		return;
	for (i = 0; i < g->size; i++)
		if (i != g->rank)
			add_recv(r, i, plus(all, bytes * i), bytes);
	add_copy(r, all + bytes * g->rank, own, bytes);
	add_round(r);
	from = all + bytes * (g->size - 1);
	add_copy(r, what->out, from, bytes);
	for (i = g->size - 1; i-- > 0; ) {
		from -= bytes;
		add_combine(r, from, what->out, what->count);
	}
}

/*
 * Along a tree whose branches are members in a row, so order is kept: those of a
 * branch come after whom they are told to. From member 0 it goes to the root, unless
 * order is no matter and the root can be where members are counted from.
 */
void reduce_tree(struct bgdma_coll_request *r,
		 const struct bgdma_collective *what,
		 const struct layout *in, const struct layout *out)
{
	const struct bgdma_coll_group *g = r->group;
	uint64_t bytes = what->count * operator_bytes(r->op);
	uint32_t top = r->op->combine && r->op->ordered ? 0 : what->root;
	uint32_t own = relative(g, top), bit;
	const void *sum = what->in ? what->in : what->out;
	void *next, *spare[2] = { NULL };
	unsigned int turn = 0;

	(void)in;
	(void)out;
	for (bit = 1; bit < g->size && !(own & bit); bit <<= 1) {
		if (own + bit >= g->size)
			continue;
		/* The sum is in the other one. */
		turn ^= 1;
		if (!spare[turn])
			spare[turn] = request_memory(r, bytes);
		next = spare[turn];
		add_recv(r, absolute(g, top, own + bit), next, bytes);
		add_round(r);
		add_combine(r, sum, next, what->count);
		sum = next;
	}
	if (own)
		add_send(r, absolute(g, top, own - bit), sum, bytes);
	else if (g->rank == what->root)
		add_copy(r, what->out, sum, bytes);
	else
		add_send(r, what->root, sum, bytes);
	if (own && g->rank == what->root) {
		add_round(r);
		add_recv(r, top, what->out, bytes);
	}
}
