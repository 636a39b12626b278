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

struct bgdma_op_rule {
	u8 uses;
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
			 BGDMA_DESC_INLINE | BGDMA_DESC_OPS,
	},
	[BGDMA_OP_LOCAL_MEMFIFO] = {
		.uses = USES_FIFO | USES_DISPATCH | USES_SRC | USES_REC_CTR |
			USES_COOKIE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_INTERRUPT |
			 BGDMA_DESC_INLINE | BGDMA_DESC_OPS,
	},
	[BGDMA_OP_PUT] = {
		.uses = USES_TARGET | USES_SRC | USES_DST | USES_REC_CTR |
			USES_COOKIE | USES_ROUTE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_OPS,
	},
	[BGDMA_OP_LOCAL_COPY] = {
		.uses = USES_SRC | USES_DST | USES_REC_CTR | USES_COOKIE,
		.flags = BGDMA_DESC_FENCE | BGDMA_DESC_OPS,
	},
	[BGDMA_OP_RGET] = {
		.uses = USES_TARGET | USES_FIFO | USES_SRC | USES_COOKIE |
			USES_ROUTE,
		.flags = BGDMA_DESC_FENCE,
	},
};

/* Bit per operation that is executed; reported by BGDMA_IOC_QUERY. */
const u32 bgdma_ops_supported = BIT(BGDMA_OP_NOP) | BIT(BGDMA_OP_MEMFIFO) |
	BIT(BGDMA_OP_LOCAL_MEMFIFO) | BIT(BGDMA_OP_PUT) |
	BIT(BGDMA_OP_LOCAL_COPY) | BIT(BGDMA_OP_RGET);

#define BGDMA_LATER_FLAGS	(BGDMA_DESC_GROUP | BGDMA_DESC_HOLD | \
				 BGDMA_DESC_FETCH | BGDMA_DESC_EXCLUSIVE)
#define BGDMA_HINT_PLUS		(BGDMA_ROUTE_XP | BGDMA_ROUTE_YP | BGDMA_ROUTE_ZP)

static u32 bgdma_route_check(const struct bgdma_desc *d, u8 uses)
{
	if (d->route & BGDMA_ROUTE_DEPOSIT)
		return BGDMA_E_UNSUPPORTED;
	if (d->route && !(uses & USES_ROUTE))
		return BGDMA_E_FIELD;
	/* The hints of one axis stand side by side. */
	if (d->route & BGDMA_HINT_PLUS & (d->route >> 1))
		return BGDMA_E_FLAGS;
	return BGDMA_OK;
}

static u32 bgdma_fields_check(const struct bgdma_desc *d, u8 uses)
{
	bool inlined = d->flags & BGDMA_DESC_INLINE;

	if (d->class_prio & ~BGDMA_PRIORITY || d->resv)
		return BGDMA_E_FIELD;
	if (d->class_prio && !(uses & USES_TARGET))
		return BGDMA_E_FIELD;
	if (!(uses & USES_TARGET) && (d->dst_rank || d->dst_ctx))
		return BGDMA_E_FIELD;
	if (!(uses & USES_FIFO) && d->dst_fifo)
		return BGDMA_E_FIELD;
	if (!(uses & USES_DISPATCH) && d->dispatch)
		return BGDMA_E_FIELD;
	if (!(uses & USES_COOKIE) && d->cookie)
		return BGDMA_E_FIELD;
	if (!(uses & USES_SRC) &&
	    (d->inj_ctr != cpu_to_le32(BGDMA_NONE) || d->length ||
	     d->u.at.src_region != cpu_to_le32(BGDMA_NONE) || d->u.at.src_off))
		return BGDMA_E_FIELD;
	if (!(uses & USES_REC_CTR) && d->rec_ctr != cpu_to_le32(BGDMA_NONE))
		return BGDMA_E_FIELD;
	if (!(uses & USES_DST) && !inlined &&
	    (d->u.at.dst_region != cpu_to_le32(BGDMA_NONE) || d->u.at.dst_off))
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
static u32 bgdma_provenance_check(const struct bgdma_stream *s, u8 uses,
				  struct bgdma_fault *fault)
{
	const struct bgdma_desc *d = &s->x.desc;
	u32 rank = le32_to_cpu(d->dst_rank);
	u16 ctx = le16_to_cpu(d->dst_ctx);

	if (!s->remote || !(uses & USES_TARGET))
		return BGDMA_OK;
	if (rank == s->who.rank && ctx == s->who.ctx)
		return BGDMA_OK;
	if (rank == s->ctx->rank && ctx == s->ctx->id)
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
	if (d->flags & BGDMA_LATER_FLAGS)
		return BGDMA_E_UNSUPPORTED;
	if (d->flags & ~rule->flags)
		return BGDMA_E_FLAGS;

	*fault = (struct bgdma_fault) { .offset = d->route };
	code = bgdma_route_check(d, rule->uses);
	if (code)
		return code;

	*fault = (struct bgdma_fault) { };
	if (d->epoch)
		return BGDMA_E_UNSUPPORTED;
	code = bgdma_fields_check(d, rule->uses);
	if (code)
		return code;
	if (d->op == BGDMA_OP_RGET &&
	    d->u.at.src_region == cpu_to_le32(BGDMA_NONE))
		return BGDMA_E_UNFILLED;
	code = bgdma_length_check(d, fault);
	if (code)
		return code;
	return bgdma_provenance_check(s, rule->uses, fault);
}
