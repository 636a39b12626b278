// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Lists of acts. What there is no memory for is remembered, and said once, when the
 * list is whole.
 */
#include <stdlib.h>

#include "collective.h"

#define ACTS_MIN	16U

void *request_memory(struct bgdma_coll_request *r, uint64_t bytes)
{
	struct memory *m = NULL;

	if (bytes <= PTRDIFF_MAX - sizeof(*m))
		m = malloc(sizeof(*m) + bytes);
	if (!m) {
		r->lacking = true;
		return NULL;
	}
	m->next = r->memory;
	r->memory = m;
	return m->bytes;
}

static void add(struct bgdma_coll_request *r, const struct act *act)
{
	uint32_t room = r->room ? 2 * r->room : ACTS_MIN;
	struct act *grown;

	if (r->count == r->room) {
		grown = room > r->room ?
			reallocarray(r->act, room, sizeof(*grown)) : NULL;
		if (!grown) {
			r->lacking = true;
			return;
		}
		r->act = grown;
		r->room = room;
	}
	r->act[r->count] = *act;
	r->act[r->count++].request = r;
}

void add_send(struct bgdma_coll_request *r, uint32_t peer, const void *from,
	      uint64_t bytes)
{
	add(r, &(struct act){ .kind = ACT_SEND, .peer = peer, .from = from,
			      .bytes = bytes });
}

void add_recv(struct bgdma_coll_request *r, uint32_t peer, void *to,
	      uint64_t bytes)
{
	add(r, &(struct act){ .kind = ACT_RECV, .peer = peer, .to = to,
			      .bytes = bytes });
}

void add_copy(struct bgdma_coll_request *r, void *to, const void *from,
	      uint64_t bytes)
{
	if (bytes && to != from)
		add(r, &(struct act){ .kind = ACT_COPY, .from = from, .to = to,
				      .bytes = bytes });
}

void add_combine(struct bgdma_coll_request *r, const void *in, void *inout,
		 uint64_t count)
{
	if (count)
		add(r, &(struct act){ .kind = ACT_COMBINE, .from = in,
				      .to = inout, .bytes = count,
				      .op = r->op });
}

void add_call(struct bgdma_coll_request *r, void (*call)(void *arg), void *arg)
{
	add(r, &(struct act){ .kind = ACT_CALL, .call = call, .to = arg });
}

void add_engines(struct bgdma_coll_request *r, uint8_t op, uint16_t dispatch,
		 const void *from, void *to, uint64_t bytes)
{
	r->ordered = ACT_ENGINES;
	add(r, &(struct act){ .kind = ACT_ENGINES, .tree_op = op,
			      .dispatch = dispatch, .from = from, .to = to,
			      .bytes = bytes });
	add_round(r);
}

void add_direct(struct bgdma_coll_request *r, const void *from, void *to,
		uint64_t bytes)
{
	r->ordered = ACT_DIRECT;
	add(r, &(struct act){ .kind = ACT_DIRECT, .from = from, .to = to,
			      .bytes = bytes, .op = r->op });
	add_round(r);
}

void add_round(struct bgdma_coll_request *r)
{
	add(r, &(struct act){ .kind = ACT_ROUND });
}

uint64_t block_bytes(const struct layout *l, uint32_t number)
{
	return l->bytes ? l->bytes[number] : l->each;
}

uint64_t block_at(const struct layout *l, uint32_t number)
{
	return l->at ? l->at[number] : l->each * number;
}

void *block_of(void *memory, const struct layout *l, uint32_t number)
{
	return plus(memory, block_at(l, number));
}

const void *block_in(const void *memory, const struct layout *l,
		     uint32_t number)
{
	return memory ? (const char *)memory + block_at(l, number) : NULL;
}
