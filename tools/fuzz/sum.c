// SPDX-License-Identifier: GPL-2.0
/*
 * Sums of floats (lib/coll/fast.c, lib/coll/exact.c): any values, in any parts. The
 * second telling has a number for each bit, and rounds by hand.
 */
#include <math.h>

#include "../../lib/coll/exact.c"
#include "../../lib/coll/fast.c"

#include "fuzz.h"

#define VALUES	200
#define PLACES	2200	/* bits that a sum may have */

/* ---- The second telling ------------------------------------------------- */

struct told {
	bool plus, minus, nan, other, any;
	int exponent;		/* field of the largest; 1 at least */
	int64_t place[PLACES];
};

static void told_value(struct told *t, struct ieee f, uint64_t bits)
{
	uint64_t size = bits & ~ieee_sign(f);

	t->any = true;
	t->other |= bits != ieee_sign(f);
	t->nan |= size > ieee_infinity(f);
	if (size == ieee_infinity(f) && bits & ieee_sign(f))
		t->minus = true;
	if (size == ieee_infinity(f) && !(bits & ieee_sign(f)))
		t->plus = true;
	if (size < ieee_infinity(f) &&
	    (int)(size >> (f.digits - 1)) > t->exponent)
		t->exponent = (int)(size >> (f.digits - 1));
}

/* Bits below @cut are not. */
static void told_add(struct told *t, struct ieee f, uint64_t bits, int cut)
{
	uint64_t fraction = bits & ((1ULL << (f.digits - 1)) - 1);
	int field = (int)(bits >> (f.digits - 1) & f.top), i;
	int at = field ? field - 1 : 0;

	if (field)
		fraction |= 1ULL << (f.digits - 1);
	for (i = 0; i < (int)f.digits; i++)
		if (fraction >> i & 1 && at + i >= cut)
			t->place[at + i] += bits & ieee_sign(f) ? -1 : 1;
}

/* To bits of 0 and 1. Return: the sum is below zero. */
static bool told_carry(struct told *t)
{
	bool minus = false;
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i + 1 < PLACES; i++) {
			t->place[i + 1] += t->place[i] >> 1;
			t->place[i] &= 1;
		}
		if (t->place[PLACES - 1] >= 0)
			break;
		/* The other way round. */
		minus = true;
		for (i = 0; i < PLACES; i++)
			t->place[i] = -t->place[i];
	}
	return minus;
}

static double told_round(const struct told *t, struct ieee f, int unit)
{
	int top = PLACES - 1, last, i;
	double sum = 0;
	bool half, below = false;

	while (top >= 0 && !t->place[top])
		top--;
	if (top < 0)
		return 0;
	last = top - (int)f.digits + 1 > 0 ? top - (int)f.digits + 1 : 0;
	for (i = top; i >= last; i--)
		sum = 2 * sum + (double)t->place[i];
	half = last && t->place[last - 1];
	for (i = 0; i < last - 1; i++)
		below |= t->place[i];
	if (half && (below || t->place[last]))
		sum++;
	/* No rounding is left to do. */
	sum = ldexp(sum, last + unit);
	return f.bytes == 4 && sum >= 0x1p128 ? INFINITY : sum;
}

static double told(struct ieee f, const char *in, uint64_t n, bool fast)
{
	int digits = (int)f.digits, unit = f.bytes == 4 ? -149 : -1074, cut;
	struct told t = { .exponent = 1 };
	double sum;
	uint64_t i;
	bool minus;

	for (i = 0; i < n; i++)
		told_value(&t, f, ieee_load(f, in + i * f.bytes));
	if (t.nan || (t.plus && t.minus))
		return NAN;
	if (t.plus || t.minus)
		return t.plus ? INFINITY : -INFINITY;
	cut = fast ? t.exponent - 1 - (f.bytes == 4 ? 32 : 88) + digits : 0;
	for (i = 0; i < n; i++)
		told_add(&t, f, ieee_load(f, in + i * f.bytes), cut);
	minus = told_carry(&t);
	sum = told_round(&t, f, unit);
	if (sum == 0)
		return t.any && !t.other ? -0.0 : 0.0;
	return minus ? -sum : sum;
}

/* ---- Ours --------------------------------------------------------------- */

static double widened(struct ieee f, const void *from)
{
	double f64;
	float f32;

	memcpy(&f32, from, sizeof(f32));
	if (f.bytes == sizeof(f32))
		return (double)f32;
	memcpy(&f64, from, sizeof(f64));
	return f64;
}

static double ours_exact(const struct exact *x, const char *in, uint64_t n,
			 struct input *parts)
{
	uint64_t sum[4][EXACT_WORDS_MAX] = { 0 }, part;
	char value[8];
	int i;

	while (n) {
		part = take(parts, 1) % 32;
		part = part && part < n ? part : n;
		exact_add(x, sum[take(parts, 1) % 4], in, part);
		in += part * x->format.bytes;
		n -= part;
	}
	for (i = 3; i; i--)
		exact_join(x, sum[i], sum[take(parts, 1) % (uint64_t)i], 1);
	exact_values(x, sum[0], value, 1);
	return widened(x->format, value);
}

/* Parts have codes and images of their own, one at a time or all at once. */
static double ours_fast(struct ieee f, const struct fast *x, const char *in,
			uint64_t n, struct input *parts)
{
	uint16_t code = FAST_NOTHING;
	_Alignas(16) char image[16] = { 0 };
	char value[8];
	uint64_t part, i;

	for (i = 0; i < n; i += part) {
		part = take(parts, 1) % 32;
		part = part && part < n - i ? part : n - i;
		if (part == 1)
			x->codes(in + i * f.bytes, &code, 1, true);
		else
			x->code_of(in + i * f.bytes, &code, part);
	}
	for (i = n; i; i -= part) {
		part = take(parts, 1) % 32;
		part = part && part < i ? part : i;
		if (part == 1)
			x->images(in + (i - 1) * f.bytes, &code, image, 1,
				  true);
		else
			x->image_of(in + (i - part) * f.bytes, &code, image,
				    part);
	}
	x->values(&code, image, value, 1);
	return widened(f, value);
}

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint64_t kind = take(&in, 1), n = take(&in, 1) % (VALUES + 1);
	struct ieee f = kind & 1 ? IEEE_F32 : IEEE_F64;
	char values[VALUES * 8] = { 0 };

	take_into(&in, values, n * f.bytes);
	if (kind & 2)
		must(same(told(f, values, n, true),
			  ours_fast(f, kind & 1 ? &fast_f32 : &fast_f64, values,
				    n, &in)));
	else
		must(same(told(f, values, n, false),
			  ours_exact(kind & 1 ? &exact_f32 : &exact_f64, values,
				     n, &in)));
	return 0;
}
