/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The combining network, as the engine sees it. Part of bgdma.h, which has the lock
 * order; not to be included by itself.
 */
#ifndef _BGDMA_TREE_H
#define _BGDMA_TREE_H

struct bgdma_class;

/* What goes along an edge of a tree is a stream, too. No FIFO has this kind. */
#define BGDMA_KIND_EDGE		0xfffe

/* The streams of a class: the edges to its parent and its children, and one more. */
enum bgdma_edge_id {
	BGDMA_EDGE_UP = 0,
	BGDMA_EDGE_DOWN = 1,	/* and BGDMA_EDGE_DOWN + 1 */
	BGDMA_EDGES = 3,
	BGDMA_TREE_PACKETS_ID = BGDMA_EDGES,	/* brings the member its own results */
	BGDMA_TREE_STREAMS			/* that a class has */
};

/* What a packet on an edge is. */
enum bgdma_tree_kind {
	BGDMA_TREE_PART = 0,	/* of a collective */
	BGDMA_TREE_DIFFER = 1,	/* instead of one: members did not ask for the same */
	BGDMA_TREE_BROKEN = 2,	/* the class is */
	BGDMA_TREE_LEFT = 3,	/* its sender takes part no more */
	BGDMA_TREE_HELLO = 4,	/* its sender has bound the class */
	BGDMA_TREE_KINDS
};

/**
 * struct bgdma_tree_head - a packet on an edge, in bgdma_desc.u
 * @index: of the packet in its class
 * @offset: of its bytes in the collective
 * @total: bytes of the collective
 * @rank: node of the member that is named
 * @ctx: context of it
 * @kind: enum bgdma_tree_kind
 * @code: BGDMA_TREE_BROKEN: why
 * @resv: 0
 *
 * The rest of the descriptor has operation, tag (dst_fifo) and dispatch of the
 * collective, the instance of the class (epoch), and the bytes of this packet
 * (length). BGDMA_TREE_DIFFER names two members, of which one did not ask for what the
 * descriptor says: the other is in cookie. BGDMA_TREE_HELLO has the incarnation of its
 * target there.
 */
struct bgdma_tree_head {
	__le32 index;
	__le32 offset;
	__le32 total;
	__le32 rank;
	__le16 ctx;
	u8 kind;
	u8 code;
	__le32 resv;
};

static inline struct bgdma_tree_head *bgdma_tree_head(struct bgdma_desc *d)
{
	BUILD_BUG_ON(sizeof(struct bgdma_tree_head) != BGDMA_INLINE_MAX);
	return (struct bgdma_tree_head *)d->u.inline_data;
}

static inline bool bgdma_op_is_tree(u8 op)
{
	return op >= BGDMA_OP_TREE_REDUCE && op <= BGDMA_OP_TREE_ALLREDUCE;
}

/* Of the descriptor of a message for a member: which one it means, or 0. */
static inline u32 bgdma_tree_member(const struct bgdma_desc *d)
{
	return d->op == BGDMA_OP_TREE_P2P ? le64_to_cpu(d->u.at.dst_off) : 0;
}

/*
 * Whoever is greeted need not have asked for it, so it is nothing exchanged: his class
 * hears of the other's end, and he does not.
 */
static inline bool bgdma_is_greeting(struct bgdma_desc *packet)
{
	return bgdma_op_is_tree(packet->op) &&
	       bgdma_tree_head(packet)->kind == BGDMA_TREE_HELLO;
}

/**
 * struct bgdma_tree_ops - what the engine leaves to the combining network
 * @begin: the owner's descriptor begins: an enum bgdma_code, with s->x.fault. Of a
 *	message to one member, who that is becomes its target: bgdma_tree_member()
 * @piece: bytes of a collective's packet, of which @begin said that it is good
 * @contribute: a packet of this context's: its bytes, if it has any
 * @arrive: a packet from the other end of an edge; @n bytes
 * @run: the next packet of a class's stream goes
 * @pending: has such a stream something to do?
 * @failed: what such a stream sent could not be delivered; @at says why
 * @held: there is no room where what such a stream sent goes to
 * @abort: the collective that a stream of the core's is at ends here
 * @follow: a stream of a class by its id, or NULL
 * @wake: streams that wait for room in a context's classes go on
 * @peer_down: a context is gone; @ctx is held busy
 * @end: a context is in no class any more
 *
 * @contribute, @arrive and @run return BGDMA_STEP_DONE, _WAIT or _AGAIN, or an enum
 * bgdma_code with s->x.fault; @run also _SENT. All but @failed, @held and @end
 * inside a slice.
 */
struct bgdma_tree_ops {
	u32 (*begin)(struct bgdma_stream *s);
	u32 (*piece)(const struct bgdma_stream *s);
	int (*contribute)(struct bgdma_stream *s, const struct bgdma_payload *p,
			  u32 n);
	int (*arrive)(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		      const struct bgdma_payload *p, u32 n);
	int (*run)(struct bgdma_stream *s);
	bool (*pending)(const struct bgdma_stream *s);
	void (*failed)(struct bgdma_stream *s, const struct bgdma_stream *at);
	void (*held)(struct bgdma_stream *s);
	void (*abort)(struct bgdma_stream *s);
	struct bgdma_stream *(*follow)(struct bgdma_ctx *ctx, u32 id);
	void (*wake)(struct bgdma_ctx *ctx);
	void (*peer_down)(struct bgdma_ctx *ctx,
			  const struct bgdma_principal *peer);
	void (*end)(struct bgdma_ctx *ctx);
};

extern const struct bgdma_tree_ops bgdma_tree;
extern const u64 bgdma_tree_supported;

#endif /* _BGDMA_TREE_H */
