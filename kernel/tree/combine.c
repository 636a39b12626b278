// SPDX-License-Identifier: GPL-2.0
/*
 * Two elements become one. Pure: knows nothing of trees. What is combined into is
 * the engine's own memory, as its elements want it; what comes may be anywhere, cut
 * into pieces anywhere, and its owner may be writing there.
 */
#include <linux/nospec.h>
#include <linux/string.h>

#include "combine.h"

/* Bit per operation and type that is done; reported by BGDMA_IOC_QUERY. */
const u64 bgdma_tree_supported =
	(1ULL << BGDMA_TREE_OP_COUNT * BGDMA_TREE_TYPE_COUNT) - 1;

#define BGDMA_COMBINE(type, to, from, n, result)			\
	do {								\
		u32 i_;							\
									\
		_Pragma("GCC unroll 4")					\
		for (i_ = 0; i_ < (n) / sizeof(type); i_++) {		\
			type *to_ = (type *)(to) + i_;			\
			type a, b = *to_;				\
									\
			memcpy(&a, (const type *)(from) + i_, sizeof(a)); \
			*to_ = (result);				\
		}							\
	} while (0)

/* All that is the same for signed ones, and the order of unsigned ones. */
#define BGDMA_COMBINE_UNSIGNED(name, type)				\
static void bgdma_combine_##name(u32 op, void *to, const void *from, u32 n) \
{									\
	switch (op) {							\
	case BGDMA_TREE_ADD:						\
		BGDMA_COMBINE(type, to, from, n, a + b);		\
		break;							\
	case BGDMA_TREE_MIN:						\
		BGDMA_COMBINE(type, to, from, n, a < b ? a : b);	\
		break;							\
	case BGDMA_TREE_MAX:						\
		BGDMA_COMBINE(type, to, from, n, a > b ? a : b);	\
		break;							\
	case BGDMA_TREE_AND:						\
		BGDMA_COMBINE(type, to, from, n, a & b);		\
		break;							\
	case BGDMA_TREE_OR:						\
		BGDMA_COMBINE(type, to, from, n, a | b);		\
		break;							\
	default:							\
		BGDMA_COMBINE(type, to, from, n, a ^ b);		\
	}								\
}

/* The order of signed ones. */
#define BGDMA_COMBINE_SIGNED(name, type, rest)				\
static void bgdma_combine_##name(u32 op, void *to, const void *from, u32 n) \
{									\
	if (op == BGDMA_TREE_MIN)					\
		BGDMA_COMBINE(type, to, from, n, a < b ? a : b);	\
	else if (op == BGDMA_TREE_MAX)					\
		BGDMA_COMBINE(type, to, from, n, a > b ? a : b);	\
	else								\
		bgdma_combine_##rest(op, to, from, n);			\
}

BGDMA_COMBINE_UNSIGNED(u16, u16)
BGDMA_COMBINE_UNSIGNED(u32, u32)
BGDMA_COMBINE_UNSIGNED(u64, u64)
BGDMA_COMBINE_UNSIGNED(u128, __uint128_t)
BGDMA_COMBINE_SIGNED(s16, s16, u16)
BGDMA_COMBINE_SIGNED(s32, s32, u32)
BGDMA_COMBINE_SIGNED(s64, s64, u64)
BGDMA_COMBINE_SIGNED(s128, __int128_t, u128)

/* A long number: words, the lowest first, the sign in the highest. */
static void bgdma_wide_add(u64 *to, const u64 *from, u32 words)
{
	__uint128_t sum = 0;
	u64 a;
	u32 i;

	for (i = 0; i < words; i++) {
		memcpy(&a, from + i, sizeof(a));
		sum += (__uint128_t)to[i] + a;
		to[i] = (u64)sum;
		sum >>= 64;
	}
}

static bool bgdma_wide_less(const u64 *a, const u64 *b, u32 words)
{
	u32 i = words - 1;

	if (a[i] != b[i])
		return (s64)a[i] < (s64)b[i];
	while (i--) {
		if (a[i] != b[i])
			return a[i] < b[i];
	}
	return false;
}

/* @from may be written meanwhile: a copy is compared and taken. */
static void bgdma_wide_choose(u64 *to, const u64 *from, u32 words, bool larger)
{
	u64 copy[BGDMA_TREE_WIDE_MAX];

	memcpy(copy, from, words * sizeof(u64));
	if (larger ? bgdma_wide_less(to, copy, words) :
		     bgdma_wide_less(copy, to, words))
		memcpy(to, copy, words * sizeof(u64));
}

static void bgdma_combine_wide(u32 op, void *to, const void *from, u32 n,
			       u32 words)
{
	u32 size = words * sizeof(u64), done;

	if (op != BGDMA_TREE_ADD && op != BGDMA_TREE_MIN &&
	    op != BGDMA_TREE_MAX) {
		bgdma_combine_u64(op, to, from, n);
		return;
	}
	for (done = 0; done < n; done += size) {
		if (op == BGDMA_TREE_ADD)
			bgdma_wide_add(to + done, from + done, words);
		else
			bgdma_wide_choose(to + done, from + done, words,
					  op == BGDMA_TREE_MAX);
	}
}

/**
 * bgdma_combine_size() - bytes of an element
 * @dispatch: BGDMA_TREE_COMBINE()
 *
 * Return: 0 if there is no such operation or type.
 */
u32 bgdma_combine_size(u16 dispatch)
{
	static const u8 size[] = { 2, 2, 4, 4, 8, 8, 16, 16 };
	u32 op = dispatch >> 8, type = dispatch & 0xff;

	if (op >= BGDMA_TREE_OP_COUNT)
		return 0;
	if (type < ARRAY_SIZE(size))
		return size[array_index_nospec(type, ARRAY_SIZE(size))];
	if (type < BGDMA_TREE_WIDE(1) ||
	    type > BGDMA_TREE_WIDE(BGDMA_TREE_WIDE_MAX))
		return 0;
	return (type - BGDMA_TREE_WIDE(1) + 1) * sizeof(u64);
}

/* Whole elements. */
static void bgdma_combine_bytes(u16 dispatch, void *to, const void *from, u32 n)
{
	u32 op = dispatch >> 8, type = dispatch & 0xff;

	switch (type) {
	case BGDMA_TREE_U16:
		bgdma_combine_u16(op, to, from, n);
		break;
	case BGDMA_TREE_S16:
		bgdma_combine_s16(op, to, from, n);
		break;
	case BGDMA_TREE_U32:
		bgdma_combine_u32(op, to, from, n);
		break;
	case BGDMA_TREE_S32:
		bgdma_combine_s32(op, to, from, n);
		break;
	case BGDMA_TREE_U64:
		bgdma_combine_u64(op, to, from, n);
		break;
	case BGDMA_TREE_S64:
		bgdma_combine_s64(op, to, from, n);
		break;
	case BGDMA_TREE_U128:
		bgdma_combine_u128(op, to, from, n);
		break;
	case BGDMA_TREE_S128:
		bgdma_combine_s128(op, to, from, n);
		break;
	default:
		bgdma_combine_wide(op, to, from, n,
				   type - BGDMA_TREE_WIDE(1) + 1);
	}
}

/**
 * bgdma_combine() - combine elements
 * @dispatch: BGDMA_TREE_COMBINE(), a good one
 * @into: elements, aligned as they want to be
 * @from: as many, whole ones
 */
void bgdma_combine(u16 dispatch, void *into, const struct bgdma_payload *from)
{
	u64 cut[BGDMA_TREE_WIDE_MAX];
	u32 size = bgdma_combine_size(dispatch), have = 0, i;

	for (i = 0; i < from->pieces; i++) {
		const void *at = from->p[i];
		u32 left = from->n[i], now;

		if (have) {
			now = min(size - have, left);
			memcpy((void *)cut + have, at, now);
			have += now;
			at += now;
			left -= now;
			if (have < size)
				continue;
			bgdma_combine_bytes(dispatch, into, cut, size);
			into += size;
		}
		have = left % size;
		bgdma_combine_bytes(dispatch, into, at, left - have);
		into += left - have;
		memcpy(cut, at + (left - have), have);
	}
}
