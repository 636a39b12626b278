// SPDX-License-Identifier: GPL-2.0
/*
 * Is a descriptor one that can be executed? Pure: looks at nothing but the
 * engine's copy of the descriptor and who it came from. Objects that it names
 * are looked up piece by piece, when they are used.
 */
#include "../bgdma.h"

/* What a descriptor of an operation may hold; the rest is 0 or BGDMA_NONE. */
#define USES_TARGET	BIT(0)	/* dst_rank, dst_ctx */
#define USES_FIFO	BIT(1)	/* dst_fifo */
#define USES_DISPATCH	BIT(2)
#define USES_SRC	BIT(3)	/* src_region, src_off, length, inj_ctr */
#define USES_DST	BIT(4)	/* dst_region, dst_off */
#define USES_COOKIE	BIT(5)
#define USES_ROUTE	BIT(6)
#define USES_REC_CTR	BIT(7)
#define USES_EPOCH	BIT(8)
#define USES_GATE	BIT(9)	/* dst_region, epoch, and not 0 */
#define USES_INJ_CTR	BIT(10)	/* without a source */
#define USES_CLASS	BIT(11)	/* class_prio */

#define USES_RANK	BIT(12)	/* dst_rank */

#define USES_TREE	(USES_CLASS | USES_FIFO | USES_DISPATCH | USES_SRC | \
			 USES_DST | USES_REC_CTR)

struct bgdma_op_rule {
	u16 uses;
	u8 flags;
};

static const struct bgdma_op_rule bgdma_op_rules[] = {
	[BGDMA_OP_NOP] = {
		.flags = BGDMA_DESC_FENCE,
	},
	[BGDMA_OP_MEMFIFO] = {
		.uses = USES_TARGET | USES_FIFO | USES_DISPATCH | USES_SRC |
			USES_REC_CTR | USES_COOKIE | USES_ROUTE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_INTERRUPT |
			 BGDMA_DESC_INLINE | BGDMA_DESC_OPS | BGDMA_DESC_GROUP,
	},
	[BGDMA_OP_LOCAL_MEMFIFO] = {
		.uses = USES_FIFO | USES_DISPATCH | USES_SRC | USES_REC_CTR |
			USES_COOKIE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_INTERRUPT |
			 BGDMA_DESC_INLINE | BGDMA_DESC_OPS | BGDMA_DESC_GROUP,
	},
	[BGDMA_OP_PUT] = {
		.uses = USES_TARGET | USES_SRC | USES_DST | USES_REC_CTR |
			USES_COOKIE | USES_ROUTE | USES_EPOCH,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_OPS | BGDMA_DESC_HOLD |
			 BGDMA_DESC_GROUP,
	},
	[BGDMA_OP_LOCAL_COPY] = {
		.uses = USES_SRC | USES_DST | USES_REC_CTR | USES_COOKIE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_OPS | BGDMA_DESC_GROUP,
	},
	[BGDMA_OP_RGET] = {
		.uses = USES_TARGET | USES_FIFO | USES_SRC | USES_COOKIE |
			USES_ROUTE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_GROUP,
	},
	[BGDMA_OP_ATOMIC] = {
		.uses = USES_TARGET | USES_SRC | USES_DST | USES_REC_CTR |
			USES_COOKIE | USES_ROUTE | USES_DISPATCH | USES_EPOCH,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_OPS | BGDMA_DESC_HOLD |
			 BGDMA_DESC_FETCH,
	},
	[BGDMA_OP_TREE_REDUCE] = {
		.uses = USES_TREE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_OPS,
	},
	[BGDMA_OP_TREE_BCAST] = {
		.uses = USES_TREE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_OPS,
	},
	[BGDMA_OP_TREE_ALLREDUCE] = {
		.uses = USES_TREE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_OPS,
	},
	[BGDMA_OP_TREE_P2P] = {
		.uses = USES_RANK | USES_CLASS | USES_FIFO | USES_SRC |
			USES_REC_CTR | USES_COOKIE | USES_ROUTE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_INTERRUPT |
			 BGDMA_DESC_OPS,
	},
	[BGDMA_OP_EPOCH_BEGIN] = {
		.uses = USES_TARGET | USES_ROUTE | USES_GATE | USES_INJ_CTR,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_HOLD |
			 BGDMA_DESC_EXCLUSIVE,
	},
	[BGDMA_OP_EPOCH_CLOSE] = {
		.uses = USES_TARGET | USES_ROUTE | USES_GATE | USES_INJ_CTR |
			USES_COOKIE,
		.flags = BGDMA_DESC_FENCE,
	},
	[BGDMA_OP_EPOCH_END] = {
		.uses = USES_TARGET | USES_ROUTE | USES_GATE,
		.flags = BGDMA_DESC_FENCE,
	},
};

/* Bit per operation that is executed; reported by BGDMA_IOC_QUERY. */
const u32 bgdma_ops_supported = BIT(BGDMA_OP_NOP) | BIT(BGDMA_OP_MEMFIFO) |
	BIT(BGDMA_OP_LOCAL_MEMFIFO) | BIT(BGDMA_OP_PUT) |
	BIT(BGDMA_OP_LOCAL_COPY) | BIT(BGDMA_OP_RGET) |
	BIT(BGDMA_OP_ATOMIC) | BIT(BGDMA_OP_TREE_REDUCE) |
	BIT(BGDMA_OP_TREE_BCAST) | BIT(BGDMA_OP_TREE_ALLREDUCE) |
	BIT(BGDMA_OP_TREE_P2P) | BIT(BGDMA_OP_EPOCH_BEGIN) |
	BIT(BGDMA_OP_EPOCH_CLOSE) | BIT(BGDMA_OP_EPOCH_END);

#define BGDMA_HINT_PLUS		(BGDMA_ROUTE_XP | BGDMA_ROUTE_YP | BGDMA_ROUTE_ZP)
#define BGDMA_HINTS		(BGDMA_HINT_PLUS | BGDMA_HINT_PLUS << 1)

static u32 bgdma_route_check(const struct bgdma_desc *d, u16 uses)
{
	u8 hints = d->route & BGDMA_HINTS;

	if (d->route && !(uses & USES_ROUTE))
		return BGDMA_E_FIELD;
	/* The hints of one axis stand side by side. */
	if (d->route & BGDMA_HINT_PLUS & (d->route >> 1))
		return BGDMA_E_FLAGS;
	/* A line is along one axis, one way. */
	if (d->route & BGDMA_ROUTE_DEPOSIT &&
	    (d->route & BGDMA_ROUTE_ADAPTIVE || !hints || hints & (hints - 1)))
		return BGDMA_E_FLAGS;
	return BGDMA_OK;
}

/* A group is named by what goes down a line, and by what came down one. */
static u32 bgdma_group_check(const struct bgdma_stream *s,
			     struct bgdma_fault *fault)
{
	const struct bgdma_desc *d = &s->x.desc;
	bool deposit = d->route & BGDMA_ROUTE_DEPOSIT;
	bool group = d->flags & BGDMA_DESC_GROUP;

	/* An epoch is of one target. */
	if (group && d->epoch)
		return BGDMA_E_FIELD;
	if (!s->remote)
		return deposit == group ? BGDMA_OK : BGDMA_E_FLAGS;
	if (deposit)
		return BGDMA_E_PROVENANCE;
	if (!group || s->group == le16_to_cpu(d->dst_ctx) + 1)
		return BGDMA_OK;
	fault->offset = le16_to_cpu(d->dst_ctx);
	fault->bound = BGDMA_GROUPS_MAX;
	return BGDMA_E_GROUP;
}

static u32 bgdma_fields_check(const struct bgdma_desc *d, u16 uses)
{
	bool inlined = d->flags & BGDMA_DESC_INLINE;

	if (d->class_prio & ~(BGDMA_PRIORITY | BGDMA_TREE_PACKETS |
			      BGDMA_CLASS_MASK) || d->resv)
		return BGDMA_E_FIELD;
	/* Only a result; it begins at the beginning. */
	if (d->class_prio & BGDMA_TREE_PACKETS &&
	    (!(uses & USES_CLASS) || !(uses & USES_DST) || d->u.at.dst_off))
		return BGDMA_E_FIELD;
	if (d->class_prio & BGDMA_PRIORITY && !(uses & USES_TARGET))
		return BGDMA_E_FIELD;
	if (d->class_prio & BGDMA_CLASS_MASK && !(uses & USES_CLASS))
		return BGDMA_E_FIELD;
	if (d->dst_rank && !(uses & (USES_TARGET | USES_RANK)))
		return BGDMA_E_FIELD;
	if (d->dst_ctx && !(uses & USES_TARGET) &&
	    !(d->flags & BGDMA_DESC_GROUP))
		return BGDMA_E_FIELD;
	if (!(uses & USES_FIFO) && d->dst_fifo)
		return BGDMA_E_FIELD;
	if (!(uses & USES_DISPATCH) && d->dispatch)
		return BGDMA_E_FIELD;
	if (!(uses & USES_COOKIE) && d->cookie &&
	    !(d->class_prio & BGDMA_TREE_PACKETS))
		return BGDMA_E_FIELD;
	if (!(uses & (USES_SRC | USES_INJ_CTR)) &&
	    d->inj_ctr != cpu_to_le32(BGDMA_NONE))
		return BGDMA_E_FIELD;
	if (!(uses & USES_SRC) &&
	    (d->length || d->u.at.src_region != cpu_to_le32(BGDMA_NONE) ||
	     d->u.at.src_off))
		return BGDMA_E_FIELD;
	if (!(uses & USES_REC_CTR) && d->rec_ctr != cpu_to_le32(BGDMA_NONE))
		return BGDMA_E_FIELD;
	if (!(uses & USES_DST) && !inlined &&
	    (d->u.at.dst_off || (!(uses & USES_GATE) &&
				 d->u.at.dst_region != cpu_to_le32(BGDMA_NONE))))
		return BGDMA_E_FIELD;
	if (uses & USES_GATE ? !d->epoch : d->epoch && !(uses & USES_EPOCH))
		return BGDMA_E_FIELD;
	return BGDMA_OK;
}

/* Elements, and where their operands are: see struct bgdma_desc. */
static u32 bgdma_atomic_check(const struct bgdma_desc *d,
			      struct bgdma_fault *fault)
{
	u32 op = le16_to_cpu(d->dispatch) >> 8;
	u32 type = le16_to_cpu(d->dispatch) & 0xff;
	u32 length = le32_to_cpu(d->length);
	bool fetch = d->flags & BGDMA_DESC_FETCH;

	if (op >= BGDMA_ATOMIC_OP_COUNT || type >= BGDMA_ATOMIC_TYPE_COUNT) {
		fault->offset = le16_to_cpu(d->dispatch);
		return BGDMA_E_OP;
	}
	if (op == BGDMA_ATOMIC_READ && !fetch)
		return BGDMA_E_FLAGS;
	if (!length || length % bgdma_atomic_size(type) ||
	    (op == BGDMA_ATOMIC_CAS && !bgdma_atomic_is_single(d))) {
		fault->offset = length;
		fault->bound = bgdma_atomic_size(type);
		return BGDMA_E_LENGTH;
	}
	if (!bgdma_atomic_is_single(d))
		return d->cookie ? BGDMA_E_FIELD : BGDMA_OK;
	if (!fetch && op != BGDMA_ATOMIC_CAS &&
	    (d->u.at.src_region != cpu_to_le32(BGDMA_NONE) || d->u.at.src_off))
		return BGDMA_E_FIELD;
	return BGDMA_OK;
}

static u32 bgdma_length_check(const struct bgdma_desc *d,
			      struct bgdma_fault *fault)
{
	u32 max = BGDMA_LENGTH_MAX, length = le32_to_cpu(d->length);

	if (d->op == BGDMA_OP_RGET)
		max = BGDMA_RGET_DESC_MAX * sizeof(struct bgdma_desc);
	else if (d->flags & BGDMA_DESC_INLINE)
		max = BGDMA_INLINE_MAX;
	fault->offset = length;
	fault->bound = max;
	if (length > max)
		return BGDMA_E_LENGTH;
	if (d->op == BGDMA_OP_RGET &&
	    (!length || length % sizeof(struct bgdma_desc)))
		return BGDMA_E_LENGTH;
	*fault = (struct bgdma_fault) { };
	return BGDMA_OK;
}

/* A descriptor from elsewhere may send to where it came from, and stay here. */
static u32 bgdma_provenance_check(const struct bgdma_stream *s, u16 uses,
				  struct bgdma_fault *fault)
{
	const struct bgdma_desc *d = &s->x.desc;
	u32 rank = le32_to_cpu(d->dst_rank);
	u16 ctx = le16_to_cpu(d->dst_ctx);

	if (!s->remote)
		return BGDMA_OK;
	/* Nor does anybody else take part in a collective for it. */
	if (uses & USES_CLASS)
		return BGDMA_E_PROVENANCE;
	if (!(uses & USES_TARGET))
		return BGDMA_OK;
	/* Only its own core begins an epoch, or updates what is a peer's. */
	if (uses & USES_GATE || d->op == BGDMA_OP_ATOMIC)
		return BGDMA_E_PROVENANCE;
	/* Under a group it stays there, or goes to its sender. */
	if (rank == s->who.rank &&
	    (ctx == s->who.ctx || d->flags & BGDMA_DESC_GROUP))
		return BGDMA_OK;
	if (rank == s->ctx->rank && ctx == s->ctx->id &&
	    !(d->flags & BGDMA_DESC_GROUP))
		return BGDMA_OK;
	fault->offset = rank;
	fault->bound = s->who.rank;
	return BGDMA_E_PROVENANCE;
}

/**
 * bgdma_desc_check() - is the descriptor that a stream is at a good one?
 * @s: owned; s->x.desc was just fetched
 * @fault: offset and bound are filled in where they help
 *
 * Return: BGDMA_OK or what is wrong.
 */
u32 bgdma_desc_check(const struct bgdma_stream *s, struct bgdma_fault *fault)
{
	const struct bgdma_desc *d = &s->x.desc;
	const struct bgdma_op_rule *rule;
	u32 code;

	*fault = (struct bgdma_fault) { .offset = d->op };
	if (d->op >= BGDMA_OP_COUNT)
		return BGDMA_E_OP;
	if (!(bgdma_ops_supported & BIT(d->op)))
		return BGDMA_E_UNSUPPORTED;
	rule = &bgdma_op_rules[d->op];

	*fault = (struct bgdma_fault) { .offset = d->flags,
					.bound = rule->flags };
	if (d->flags & ~rule->flags)
		return BGDMA_E_FLAGS;

	*fault = (struct bgdma_fault) { .offset = d->route };
	code = bgdma_route_check(d, rule->uses);
	if (code)
		return code;

	*fault = (struct bgdma_fault) { };
	code = bgdma_group_check(s, fault);
	if (code)
		return code;
	code = bgdma_fields_check(d, rule->uses);
	if (code)
		return code;
	if (d->op == BGDMA_OP_RGET &&
	    d->u.at.src_region == cpu_to_le32(BGDMA_NONE))
		return BGDMA_E_UNFILLED;
	code = bgdma_length_check(d, fault);
	if (!code && d->op == BGDMA_OP_ATOMIC)
		code = bgdma_atomic_check(d, fault);
	if (code)
		return code;
	return bgdma_provenance_check(s, rule->uses, fault);
}
