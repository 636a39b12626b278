// SPDX-License-Identifier: GPL-2.0
/*
 * The fabric of a partition with links: what is for nodes that live here goes the way
 * of the loopback link, all else leaves (remote.c).
 */
#include "../engine/busy.h"
#include "flow.h"
#include "loopback.h"
#include "remote.h"

static struct bgdma_ether *bgdma_ether_of(const struct bgdma_stream *s)
{
	return s->ctx->partition->ether;
}

/* Does the transfer leave this kernel? */
static bool bgdma_leaves(const struct bgdma_stream *s)
{
	return !(s->x.desc.route & BGDMA_ROUTE_DEPOSIT) &&
	       s->x.desc.op != BGDMA_OP_LOCAL_COPY &&
	       s->x.desc.op != BGDMA_OP_LOCAL_MEMFIFO &&
	       !bgdma_nodes_have(&bgdma_ether_of(s)->local,
				 le32_to_cpu(s->x.desc.dst_rank));
}

static int bgdma_ether_put(struct bgdma_stream *s,
			   const struct bgdma_payload *p, u32 n)
{
	if (s->x.desc.route & BGDMA_ROUTE_DEPOSIT)
		return bgdma_remote_line_over(s, bgdma_loopback.put(s, p, n), n);
	if (!bgdma_leaves(s))
		return bgdma_loopback.put(s, p, n);
	return bgdma_remote_slice(s, p, n, (struct bgdma_chunk) {
		.least = 256,
	});
}

static int bgdma_ether_memfifo(struct bgdma_stream *s,
			       const struct bgdma_payload *p, u32 n)
{
	if (s->x.desc.route & BGDMA_ROUTE_DEPOSIT)
		return bgdma_remote_line_over(s, bgdma_loopback.memfifo(s, p, n),
					      n);
	if (!bgdma_leaves(s))
		return bgdma_loopback.memfifo(s, p, n);
	return bgdma_remote_slice(s, p, n, (struct bgdma_chunk) {
		.least = 256, .within = BGDMA_PACKET_MAX,
	});
}

static int bgdma_ether_rget(struct bgdma_stream *s,
			    const struct bgdma_payload *p, u32 n)
{
	if (s->x.desc.route & BGDMA_ROUTE_DEPOSIT)
		return bgdma_remote_line_over(s, bgdma_loopback.rget(s, p, n),
					      n * sizeof(struct bgdma_desc));
	if (!bgdma_leaves(s))
		return bgdma_loopback.rget(s, p, n);
	n *= sizeof(struct bgdma_desc);
	return bgdma_remote_slice(s, p, n, (struct bgdma_chunk) {
		.least = n, .copy = sizeof(struct bgdma_desc),
	});
}

static int bgdma_ether_gate(struct bgdma_stream *s)
{
	if (!bgdma_leaves(s))
		return bgdma_loopback.gate(s);
	return bgdma_remote_slice(s, NULL, 0, (struct bgdma_chunk) { });
}

static int bgdma_ether_tree(struct bgdma_stream *s,
			    const struct bgdma_payload *p, u32 n)
{
	if (!bgdma_leaves(s))
		return bgdma_loopback.tree(s, p, n);
	return bgdma_remote_slice(s, p, n, (struct bgdma_chunk) {
		.least = 256, .copy = PAGE_SIZE,
	});
}

static int bgdma_ether_atomic(struct bgdma_stream *s, void *operands, u32 *n)
{
	struct bgdma_payload p = { .pieces = 1, .n = { *n }, .p = { operands } };

	if (!bgdma_leaves(s))
		return bgdma_loopback.atomic(s, operands, n);
	return bgdma_remote_slice(s, &p, *n, (struct bgdma_chunk) {
		.least = *n, .copy = PAGE_SIZE,
	});
}

static bool bgdma_ether_answer(const struct bgdma_ctx *from,
			       const struct bgdma_answer *answer)
{
	if (bgdma_nodes_have(&from->partition->ether->local, answer->to.rank))
		return bgdma_loopback.answer(from, answer);
	return bgdma_voice_answer(from, answer);
}

static void bgdma_ether_forget(void *promise)
{
	consume_skb(promise);
}

static void bgdma_ether_count(struct bgdma_stream *s, u32 n)
{
	if (!bgdma_leaves(s))
		bgdma_loopback.count(s, n);
}

static void bgdma_ether_abort(struct bgdma_stream *s, u32 left)
{
	if (bgdma_leaves(s)) {
		if (s->tx || bgdma_remote_tx(s))
			bgdma_remote_abort(s);
		return;
	}
	bgdma_loopback.abort(s, left);
	if (s->tx && s->x.desc.route & BGDMA_ROUTE_DEPOSIT)
		bgdma_remote_abort_line(s);
}

static bool bgdma_ether_tells(struct bgdma_stream *s)
{
	return !bgdma_leaves(s) || bgdma_remote_tells(s);
}

static bool bgdma_ether_promise(struct bgdma_stream *s)
{
	if (bgdma_nodes_have(&bgdma_ether_of(s)->local, s->who.rank))
		return true;
	return (s->tx || bgdma_remote_tx(s)) && bgdma_voice_pledge(s);
}

static void bgdma_ether_refused(struct bgdma_stream *s)
{
	if (bgdma_nodes_have(&bgdma_ether_of(s)->local, s->who.rank))
		bgdma_loopback.refused(s);
	else
		bgdma_voice_refused(s);
}

const struct bgdma_fabric_ops bgdma_ether_fabric = {
	.put = bgdma_ether_put,
	.memfifo = bgdma_ether_memfifo,
	.rget = bgdma_ether_rget,
	.gate = bgdma_ether_gate,
	.tree = bgdma_ether_tree,
	.atomic = bgdma_ether_atomic,
	.answer = bgdma_ether_answer,
	.forget = bgdma_ether_forget,
	.promise = bgdma_ether_promise,
	.count = bgdma_ether_count,
	.tells = bgdma_ether_tells,
	.abort = bgdma_ether_abort,
	.refused = bgdma_ether_refused,
	.line = bgdma_line_begin,
	.fence = bgdma_remote_fence,
	.quiet = bgdma_remote_quiet,
	.drop = bgdma_remote_drop,
	.ended = bgdma_remote_ended,
	.flush = bgdma_tx_turn,
	.freeze = bgdma_remote_freeze,
	.end = bgdma_remote_killed,
	.left = bgdma_parting_left,
	.turn = bgdma_rx_turn,
};
