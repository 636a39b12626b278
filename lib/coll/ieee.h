/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Floats as integers: what float and double are made of, and a number of any length
 * rounded to one of them.
 *
 * A format goes to inline functions as a constant, so that each use is compiled for
 * the one that it is about.
 */
#ifndef BGDMA_COLL_IEEE_H
#define BGDMA_COLL_IEEE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 ieee_u128;
__extension__ typedef __int128 ieee_s128;

#define ieee_inline static inline __attribute__((always_inline))

/*
 * @bytes: of a value
 * @digits: of a significand, the first of which is not written down
 * @top: exponent field of infinities and NaN
 */
struct ieee {
	uint32_t bytes;
	uint32_t digits;
	uint32_t top;
};

#define IEEE_F32	((const struct ieee){ 4, 24, 255 })
#define IEEE_F64	((const struct ieee){ 8, 53, 2047 })

/*
 * A finite value is @mantissa times two to the power of (@exponent - 1), times the
 * smallest value that there is; @exponent is 1 or more.
 */
struct ieee_parts {
	uint64_t mantissa;
	uint32_t exponent;
	bool minus;
};

ieee_inline uint64_t ieee_sign(struct ieee f)
{
	return 1ULL << (8 * f.bytes - 1);
}

ieee_inline uint64_t ieee_infinity(struct ieee f)
{
	return (uint64_t)f.top << (f.digits - 1);
}

/* The one NaN that is ever made. */
ieee_inline uint64_t ieee_nan(struct ieee f)
{
	return ieee_infinity(f) | 1ULL << (f.digits - 2);
}

/* Without any alignment. */
ieee_inline uint64_t ieee_load(struct ieee f, const void *from)
{
	uint64_t bits64;
	uint32_t bits32;

	if (f.bytes == sizeof(bits64)) {
		memcpy(&bits64, from, sizeof(bits64));
		return bits64;
	}
	memcpy(&bits32, from, sizeof(bits32));
	return bits32;
}

ieee_inline void ieee_store(struct ieee f, void *to, uint64_t bits)
{
	uint32_t bits32 = (uint32_t)bits;

	if (f.bytes == sizeof(bits))
		memcpy(to, &bits, sizeof(bits));
	else
		memcpy(to, &bits32, sizeof(bits32));
}

/* Of a finite value. */
ieee_inline struct ieee_parts ieee_take_apart(struct ieee f, uint64_t bits)
{
	uint64_t hidden = 1ULL << (f.digits - 1);
	uint32_t field = (uint32_t)(bits >> (f.digits - 1)) & f.top;
	struct ieee_parts p = {
		.mantissa = bits & (hidden - 1),
		.exponent = field + !field,
		.minus = bits & ieee_sign(f),
	};

	p.mantissa |= field ? hidden : 0;
	return p;
}

/* With the sign of a double; no branch: which comes next nobody can guess. */
ieee_inline int64_t ieee_signed(uint64_t size, uint64_t bits)
{
	int64_t minus = -(int64_t)(bits >> 63);

	return ((int64_t)size ^ minus) - minus;
}

/* ieee_round() of a value with this exponent field, which is 1 or more; no sign. */
ieee_inline uint64_t ieee_round_normal(struct ieee f, uint64_t high,
				       uint32_t field, bool rest)
{
	const uint32_t drop = 64 - f.digits;
	uint64_t bits = high >> drop;
	/* What is dropped, and behind it one digit for all the rest. */
	uint64_t tail = (high & ((1ULL << drop) - 1)) << 1 | rest;

	/* More than half of the last digit; or half of an odd one. */
	bits += tail + (bits & 1) > 1ULL << drop;
	/* The first digit adds one to the field, as does one that is carried. */
	return bits + ((uint64_t)(field - 1) << (f.digits - 1));
}

/* ieee_round() of a value that is smaller than all with an exponent; no sign. */
ieee_inline uint64_t ieee_round_small(uint64_t high, uint32_t drop, bool rest)
{
	uint64_t bits, half, below;

	/* Less than half of the smallest. */
	if (drop > 64)
		return 0;
	bits = drop < 64 ? high >> drop : 0;
	half = high >> (drop - 1) & 1;
	below = (high & ((1ULL << (drop - 1)) - 1)) | rest;
	return bits + (half & (below != 0 || bits & 1));
}

/*
 * The value nearest to @high times two to the power of @exponent, in units of the
 * smallest value that there is; of two that are as near the even one. @high has its
 * first bit, and @rest says that a part of one is to be added to it.
 */
ieee_inline uint64_t ieee_round(struct ieee f, bool minus, uint64_t high,
				int32_t exponent, bool rest)
{
	int32_t field = exponent + 64 - (int32_t)(f.digits - 1);
	uint64_t bits;

	if (__builtin_expect((uint32_t)field - 1 < f.top - 1, 1))
		bits = ieee_round_normal(f, high, (uint32_t)field, rest);
	else if (field < 1)
		bits = ieee_round_small(high, (uint32_t)-exponent, rest);
	else
		bits = ieee_infinity(f);
	return bits | (minus ? ieee_sign(f) : 0);
}

#endif /* BGDMA_COLL_IEEE_H */
