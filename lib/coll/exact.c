// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sums of floats that are rounded once.
 */
#include "exact.h"

/*
 * Above the sum: how many values there were of each kind. Both infinities together
 * are what a NaN is told by.
 */
enum tally { OTHERS, MINUS_ZEROS, INFINITIES, MINUS_INFINITIES, TALLIES };

#define TALLY_BITS	40
#define TALLY_MASK	((1ULL << TALLY_BITS) - 1)

/*
 * The highest bit of a value, room for as many as there may be, and a sign: so many
 * bits below the tallies, which end where the words do, or below.
 */
_Static_assert(2098 + EXACT_ROOM + 1 <= 2144, "room of double");
_Static_assert(2144 + TALLIES * TALLY_BITS <= 64 * EXACT_F64_WORDS, "double");
_Static_assert(277 + EXACT_ROOM + 1 <= 320, "room of float");
_Static_assert(320 + TALLIES * TALLY_BITS <= 64 * EXACT_F32_WORDS, "float");

const struct exact exact_f32 = { IEEE_F32, EXACT_F32_WORDS, 320 };
const struct exact exact_f64 = { IEEE_F64, EXACT_F64_WORDS, 2144 };

/* ---- Long integers ------------------------------------------------------ */

/* @value, from word @at on, up to the end. */
static void add_up(const struct exact *x, uint64_t *sum, uint32_t at,
		   ieee_u128 value)
{
	ieee_u128 carry = value;

	for (; carry && at < x->words; at++) {
		carry += sum[at];
		sum[at] = (uint64_t)carry;
		carry >>= 64;
	}
}

static void take_off(const struct exact *x, uint64_t *sum, uint32_t at,
		     ieee_u128 value)
{
	uint64_t low;

	for (; value && at < x->words; at++) {
		low = (uint64_t)value;
		value = (value >> 64) + (sum[at] < low);
		sum[at] -= low;
	}
}

void exact_join(const struct exact *x, const uint64_t *in, uint64_t *inout,
		uint64_t count)
{
	uint64_t carry, i;
	uint32_t at;

	for (i = 0; i < count; i++) {
		carry = 0;
		for (at = 0; at < x->words; at++) {
			ieee_u128 word = (ieee_u128)in[at] + inout[at] + carry;

			inout[at] = (uint64_t)word;
			carry = (uint64_t)(word >> 64);
		}
		in += x->words;
		inout += x->words;
	}
}

static void tally(const struct exact *x, uint64_t *sum, enum tally which,
		  uint64_t count)
{
	uint32_t bit = x->at + TALLY_BITS * which;

	add_up(x, sum, bit / 64, (ieee_u128)count << bit % 64);
}

/* ---- A few values ------------------------------------------------------- */

/* What it is told by. False: it is no number that adds anything. */
static bool tally_value(const struct exact *x, uint64_t *sum, uint64_t bits)
{
	uint64_t sign = ieee_sign(x->format), size = bits & ~sign;
	uint64_t infinity = ieee_infinity(x->format);

	if (size >= infinity) {
		if (size > infinity || !(bits & sign))
			tally(x, sum, INFINITIES, 1);
		if (size > infinity || bits & sign)
			tally(x, sum, MINUS_INFINITIES, 1);
		return false;
	}
	tally(x, sum, bits == sign ? MINUS_ZEROS : OTHERS, 1);
	return size;
}

static void add_value(const struct exact *x, uint64_t *sum, uint64_t bits)
{
	struct ieee_parts p;
	ieee_u128 value;
	uint32_t at;

	if (!tally_value(x, sum, bits))
		return;
	p = ieee_take_apart(x->format, bits);
	at = p.exponent - 1;
	value = (ieee_u128)p.mantissa << at % 64;
	if (p.minus)
		take_off(x, sum, at / 64, value);
	else
		add_up(x, sum, at / 64, value);
}

/* ---- Many values -------------------------------------------------------- */

/*
 * Digits of 32 bits that have room for carries of their own: so that nothing has to
 * be carried until BATCH values are in.
 */
#define BATCH	(1U << 30)
#define DIGITS	(2 * ((2098 + 63) / 64))

/* Fewer are quicker without. */
#define MANY	16U

ieee_inline void digits_add(struct ieee f, int64_t *digit, uint64_t bits)
{
	struct ieee_parts p = ieee_take_apart(f, bits);
	uint32_t at = p.exponent - 1;
	ieee_u128 value = (ieee_u128)p.mantissa << at % 32;
	int64_t minus = -(int64_t)p.minus;

	digit += at / 32;
	digit[0] += ((int64_t)(uint32_t)value ^ minus) - minus;
	digit[1] += ((int64_t)(uint32_t)(value >> 32) ^ minus) - minus;
	if (f.digits > 32)
		digit[2] += ((int64_t)(uint32_t)(value >> 64) ^ minus) - minus;
}

/* Up to BATCH values. */
ieee_inline void digits_of(const struct exact *x, struct ieee f, uint64_t *sum,
			   int64_t *digit, const char *in, uint64_t count)
{
	uint64_t sign = ieee_sign(f), infinity = ieee_infinity(f);
	uint64_t others = 0, i, bits;

	for (i = 0; i < count; i++) {
		bits = ieee_load(f, in + i * f.bytes);
		if (__builtin_expect((bits & ~sign) < infinity &&
				     bits != sign, 1)) {
			digits_add(f, digit, bits);
			others++;
		} else {
			(void)tally_value(x, sum, bits);
		}
	}
	tally(x, sum, OTHERS, others);
}

/* Each digit keeps its 32 bits, and the rest goes to the next; so does the sign. */
static void digits_carry(const struct exact *x, uint64_t *sum,
			 const int64_t *digit)
{
	uint64_t whole[EXACT_WORDS_MAX] = { 0 };
	int64_t carry = 0;
	uint32_t i;

	for (i = 0; i < 2 * x->words; i++) {
		carry += i < DIGITS ? digit[i] : 0;
		if (i % 2)
			whole[i / 2] |= (uint64_t)carry << 32;
		else
			whole[i / 2] = (uint32_t)carry;
		carry >>= 32;
	}
	exact_join(x, whole, sum, 1);
}

void exact_add(const struct exact *x, uint64_t *sum, const void *in,
	       uint64_t count)
{
	uint32_t bytes = x->format.bytes;
	int64_t digit[DIGITS];
	const char *from = in;
	uint64_t i, n;

	if (count < MANY) {
		for (i = 0; i < count; i++, from += bytes)
			add_value(x, sum, ieee_load(x->format, from));
		return;
	}
	for (; count; count -= n, from += n * bytes) {
		n = count < BATCH ? count : BATCH;
		memset(digit, 0, sizeof(digit));
		if (bytes == sizeof(float))
			digits_of(x, IEEE_F32, sum, digit, from, n);
		else
			digits_of(x, IEEE_F64, sum, digit, from, n);
		digits_carry(x, sum, digit);
	}
}

/* ---- What a sum is ------------------------------------------------------ */

static bool bit_at(const uint64_t *sum, uint32_t bit)
{
	return sum[bit / 64] >> bit % 64 & 1;
}

/* The size of the sum alone, in as many words. Return: whether it is below zero. */
static bool size_of(const struct exact *x, const uint64_t *sum, uint64_t *size)
{
	bool minus = bit_at(sum, x->at - 1);
	uint64_t fill = minus ? ~0ULL : 0;
	uint32_t i, end = x->at / 64;
	bool carry = minus;

	for (i = 0; i < x->words; i++) {
		size[i] = i > end ? fill : sum[i];
		if (i == end) {
			size[i] &= (1ULL << x->at % 64) - 1;
			size[i] |= fill << x->at % 64;
		}
		size[i] = (size[i] ^ fill) + carry;
		carry = carry && !size[i];
	}
	return minus;
}

/*
 * A sum below zero has taken one off the first, of which there is one then, and which
 * matters only where the sum is zero.
 */
static void tallies_of(const struct exact *x, const uint64_t *sum,
		       uint64_t *count)
{
	uint32_t i, bit;

	for (i = 0; i < TALLIES; i++) {
		bit = x->at + TALLY_BITS * i;
		count[i] = sum[bit / 64] >> bit % 64;
		if (bit % 64 > 64 - TALLY_BITS)
			count[i] |= sum[bit / 64 + 1] << (64 - bit % 64);
		count[i] &= TALLY_MASK;
	}
}

static uint64_t round_size(struct ieee f, const uint64_t *size, uint32_t top,
			   bool minus)
{
	uint32_t up = (uint32_t)__builtin_clzll(size[top]), i;
	uint64_t high = size[top] << up, low = 0;
	bool rest = false;

	if (top) {
		low = size[top - 1] << up;
		if (up)
			high |= size[top - 1] >> (64 - up);
	}
	rest = low != 0;
	for (i = 0; i + 1 < top && !rest; i++)
		rest = size[i];
	return ieee_round(f, minus, high, (int32_t)(64 * top) - (int32_t)up,
			  rest);
}

static uint64_t value_of(const struct exact *x, const uint64_t *sum)
{
	uint64_t size[EXACT_WORDS_MAX], count[TALLIES];
	bool minus = size_of(x, sum, size);
	uint32_t top = x->words;

	tallies_of(x, sum, count);
	if (count[INFINITIES] && count[MINUS_INFINITIES])
		return ieee_nan(x->format);
	if (count[INFINITIES])
		return ieee_infinity(x->format);
	if (count[MINUS_INFINITIES])
		return ieee_infinity(x->format) | ieee_sign(x->format);
	while (top && !size[top - 1])
		top--;
	if (top)
		return round_size(x->format, size, top - 1, minus);
	return count[MINUS_ZEROS] && !count[OTHERS] ? ieee_sign(x->format) : 0;
}

void exact_values(const struct exact *x, const uint64_t *sum, void *out,
		  uint64_t count)
{
	char *to = out;
	uint64_t i;

	for (i = 0; i < count; i++, to += x->format.bytes)
		ieee_store(x->format, to, value_of(x, sum + i * x->words));
}
