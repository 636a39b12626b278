// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The codes and images of the fast sum.
 */
#include "fast.h"

/* Two's complement; they may wrap. */
typedef uint64_t image32;
typedef ieee_u128 image64;

#define CODE(x)		((uint16_t)(x))

/* Above it there is no exponent. */
static bool is_special(uint16_t code)
{
	return code >= FAST_INFINITE;
}

/* ---- The first pass ----------------------------------------------------- */

ieee_inline uint32_t field_of(struct ieee f, uint64_t bits)
{
	return (uint32_t)(bits >> (f.digits - 1)) & f.top;
}

/* Of a finite value that has its first digit: neither is it zero. */
ieee_inline bool is_normal(struct ieee f, uint32_t field)
{
	return __builtin_expect(field - 1 < f.top - 1, 1);
}

/* @magnitude: the bits without the sign. */
ieee_inline uint16_t code_of_bits(struct ieee f, uint64_t magnitude, bool minus)
{
	uint32_t field = field_of(f, magnitude);

	if (is_normal(f, field))
		return CODE(FAST_ZERO + field);
	if (field)
		return magnitude > ieee_infinity(f) ? FAST_NAN : FAST_INFINITE;
	if (!magnitude)
		return minus ? FAST_MINUS_ZERO : FAST_ZERO;
	return CODE(FAST_ZERO + 1);
}

/* @more: than there are; or there are none. */
ieee_inline void codes(struct ieee f, const char *in, uint16_t *code,
		       uint64_t count, bool more)
{
	uint64_t sign = ieee_sign(f), i, bits;
	uint16_t c;

	for (i = 0; i < count; i++) {
		bits = ieee_load(f, in + i * f.bytes);
		c = code_of_bits(f, bits & ~sign, bits & sign);
		if (!more || c > code[i])
			code[i] = c;
	}
}

/* The largest of the bits is the largest of the codes, but for the sign of zeros. */
ieee_inline void code_of(struct ieee f, const char *in, uint16_t *code,
			 uint64_t count)
{
	uint64_t sign = ieee_sign(f), most = 0, all = ~0ULL, i, bits;
	uint16_t c;

	if (!count)
		return;
	for (i = 0; i < count; i++) {
		bits = ieee_load(f, in + i * f.bytes);
		all &= bits;
		bits &= ~sign;
		most = bits > most ? bits : most;
	}
	c = code_of_bits(f, most, all & sign);
	if (c > *code)
		*code = c;
}

/* ---- The second pass ---------------------------------------------------- */

/*
 * Two counts, if there is an infinity among the values: those above zero in the lower
 * half of an image, the others in the upper one. Of NaN nothing more need be known.
 */
ieee_inline ieee_u128 special(struct ieee f, uint64_t bits, uint16_t code,
			      uint32_t wide)
{
	uint64_t sign = ieee_sign(f);

	if (code == FAST_NAN || (bits & ~sign) != ieee_infinity(f))
		return 0;
	return bits & sign ? (ieee_u128)1 << 4 * wide : 1;
}

/* One and so many zeroes, and so on with fewer. */
#define POWERS(zeroes)							\
	1LL << (zeroes), 1LL << ((zeroes) - 1), 1LL << ((zeroes) - 2),	\
	1LL << ((zeroes) - 3)

/* A value of the largest exponent is shifted by so much. */
#define SHIFT_MAX	(FAST_F64_BITS - 53)

/*
 * What shifts a number to its place, by how far that is below the largest. To multiply
 * by what is in a table takes compilers and processors less than to shift 128 bits.
 */
static const int64_t place[] = {
	POWERS(35), POWERS(31), POWERS(27), POWERS(23), POWERS(19),
	POWERS(15), POWERS(11), POWERS(7), POWERS(3),
};

_Static_assert(sizeof(place) / sizeof(place[0]) == SHIFT_MAX + 1, "a place for each");

/*
 * Special, or one without its first digit, or one that is cut; or too far below the
 * largest for the sum. A code that others lied about makes a wrong sum, and does no
 * other harm.
 */
static image64 image_f64_other(uint64_t bits, uint16_t code)
{
	const struct ieee_parts p = ieee_take_apart(IEEE_F64, bits);
	uint32_t down = code - FAST_ZERO - p.exponent;

	if (is_special(code))
		return special(IEEE_F64, bits, code, sizeof(image64));
	if (down >= FAST_F64_BITS)
		return 0;
	if (down > SHIFT_MAX)
		return (image64)(ieee_s128)ieee_signed(p.mantissa >>
						       (down - SHIFT_MAX), bits);
	return (image64)((ieee_s128)ieee_signed(p.mantissa, bits) *
			 place[down]);
}

/*
 * A special code is far above all exponents. The sign goes to 64 bits: compilers do
 * better so than with 128.
 */
ieee_inline image64 image_f64(uint64_t bits, uint16_t code)
{
	const uint64_t first = 1ULL << 52;
	uint32_t field = field_of(IEEE_F64, bits);
	uint32_t down = code - FAST_ZERO - field;

	if (__builtin_expect(field && down <= SHIFT_MAX, 1))
		return (image64)((ieee_s128)ieee_signed((bits & (first - 1)) |
							first, bits) *
				 place[down]);
	return image_f64_other(bits, code);
}

ieee_inline image32 image_f32(uint64_t bits, uint16_t code)
{
	struct ieee_parts p;
	uint32_t down;
	image32 image;

	if (__builtin_expect(is_special(code), 0))
		return (image32)special(IEEE_F32, bits, code, sizeof(image32));
	p = ieee_take_apart(IEEE_F32, bits);
	down = code - FAST_ZERO - p.exponent;
	if (down >= FAST_F32_BITS)
		return 0;
	image = p.mantissa << (FAST_F32_BITS - 24) >> down;
	return p.minus ? -image : image;
}

/* ---- What a sum is ------------------------------------------------------ */

ieee_inline uint64_t special_value(struct ieee f, uint16_t code,
				   uint64_t above, uint64_t below)
{
	if (code == FAST_INFINITE && above && !below)
		return ieee_infinity(f);
	if (code == FAST_INFINITE && below && !above)
		return ieee_infinity(f) | ieee_sign(f);
	return ieee_nan(f);
}

/* @bits: of an image. */
ieee_inline uint64_t value(struct ieee f, uint16_t code, ieee_s128 image,
			   int32_t bits)
{
	uint64_t high = (uint64_t)(image >> 64), low = (uint64_t)image;
	uint64_t minus = -(high >> 63);
	int32_t exponent = code - FAST_ZERO - 1 - (bits - (int32_t)f.digits), up;

	if (code <= FAST_ZERO)
		return code == FAST_MINUS_ZERO ? ieee_sign(f) : 0;
	/* Its size, in halves, which compilers keep in registers. */
	low = (low ^ minus) - minus;
	high = (high ^ minus) + (minus & !low);
	/* Of that the first 64 bits; in two steps, as none is shifted by 64. */
	if (high) {
		up = __builtin_clzll(high);
		high = high << up | low >> 1 >> (63 - up);
		return ieee_round(f, minus, high, exponent + 64 - up,
				  low << up != 0);
	}
	if (!low)
		return 0;
	up = __builtin_clzll(low);
	return ieee_round(f, minus, low << up, exponent - up, false);
}

static uint64_t value_f32(uint16_t code, image32 image)
{
	if (is_special(code))
		return special_value(IEEE_F32, code, (uint32_t)image,
				     image >> 32);
	return value(IEEE_F32, code, (int64_t)image, FAST_F32_BITS);
}

static uint64_t value_f64(uint16_t code, image64 image)
{
	if (is_special(code))
		return special_value(IEEE_F64, code, (uint64_t)image,
				     (uint64_t)(image >> 64));
	return value(IEEE_F64, code, (ieee_s128)image, FAST_F64_BITS);
}

/* ---- For each element --------------------------------------------------- */

#define FAST(name, format, bits)					\
static void codes_##name(const void *in, uint16_t *code, uint64_t count, \
			 bool more)					\
{									\
	if (more)							\
		codes(format, in, code, count, true);			\
	else								\
		codes(format, in, code, count, false);			\
}									\
									\
static void code_of_##name(const void *in, uint16_t *code, uint64_t count) \
{									\
	code_of(format, in, code, count);				\
}									\
									\
ieee_inline void images_each_##name(const char *in, const uint16_t *code, \
				    image##bits *to, uint64_t count,	\
				    bool add)				\
{									\
	uint64_t i;							\
									\
	for (i = 0; i < count; i++, in += (format).bytes)		\
		to[i] = image_##name(ieee_load(format, in), code[i]) +	\
			(add ? to[i] : 0);				\
}									\
									\
static void images_##name(const void *in, const uint16_t *code, void *image, \
			  uint64_t count, bool add)			\
{									\
	if (add)							\
		images_each_##name(in, code, image, count, true);	\
	else								\
		images_each_##name(in, code, image, count, false);	\
}									\
									\
static void image_of_##name(const void *in, const uint16_t *code,	\
			    void *image, uint64_t count)		\
{									\
	const char *from = in;						\
	uint16_t c = *code;						\
	image##bits sum = 0;						\
	uint64_t i;							\
									\
	for (i = 0; i < count; i++, from += (format).bytes)	\
		sum += image_##name(ieee_load(format, from), c);	\
	*(image##bits *)image += sum;					\
}									\
									\
static void values_##name(const uint16_t *code, const void *image,	\
			  void *out, uint64_t count)			\
{									\
	const image##bits *from = image;				\
	char *to = out;							\
	uint64_t i;							\
									\
	for (i = 0; i < count; i++, to += (format).bytes)		\
		ieee_store(format, to, value_##name(code[i], from[i]));	\
}									\
									\
const struct fast fast_##name = {					\
	.wide = sizeof(image##bits), .codes = codes_##name,		\
	.images = images_##name, .code_of = code_of_##name,		\
	.image_of = image_of_##name, .values = values_##name,		\
};

FAST(f32, IEEE_F32, 32)
FAST(f64, IEEE_F64, 64)
