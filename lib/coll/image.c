// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Integers that are in the order of what they stand for.
 */
#include "ieee.h"
#include "image.h"

/* Two's complement. */
typedef uint32_t image32;
typedef uint64_t image64;
typedef ieee_u128 image128;

typedef struct { int16_t value; int32_t at; } s16_at;
typedef struct { int32_t value; int32_t at; } s32_at;
typedef struct { int64_t value; int32_t at; } s64_at;
typedef struct { float value; int32_t at; } f32_at;
typedef struct { double value; int32_t at; } f64_at;

static bool is_least(const struct bgdma_operator *op)
{
	return op->reduction == BGDMA_MIN || op->reduction == BGDMA_MINLOC;
}

enum bgdma_element image_element(const struct bgdma_operator *op)
{
	if (op->combine || op->reduction == BGDMA_SUM ||
	    op->reduction == BGDMA_PROD)
		return BGDMA_ELEMENT_COUNT;
	switch (op->element) {
	case BGDMA_F32:
		return BGDMA_S32;
	case BGDMA_F64:
	case BGDMA_S16_AT:
	case BGDMA_S32_AT:
	case BGDMA_F32_AT:
		return BGDMA_S64;
	case BGDMA_S64_AT:
	case BGDMA_F64_AT:
		return BGDMA_S128;
	default:
		return BGDMA_ELEMENT_COUNT;
	}
}

enum bgdma_reduction image_reduction(const struct bgdma_operator *op)
{
	return is_least(op) ? BGDMA_MIN : BGDMA_MAX;
}

/* ---- Floats ------------------------------------------------------------- */

/*
 * Without a sign the bits are in order already. With one they go the other way, so
 * all but the sign are turned: -0.0 becomes -1, +0.0 is 0. The largest integer, and
 * the smallest, are those of NaNs: a NaN becomes the one that wins.
 */
ieee_inline uint64_t float_image(struct ieee f, uint64_t bits, bool least)
{
	uint64_t sign = ieee_sign(f);

	if ((bits & ~sign) > ieee_infinity(f))
		return least ? sign : sign - 1;
	return bits & sign ? bits ^ (sign - 1) : bits;
}

ieee_inline uint64_t float_back(struct ieee f, uint64_t image)
{
	uint64_t sign = ieee_sign(f);
	uint64_t bits = image & sign ? image ^ (sign - 1) : image;

	return (bits & ~sign) > ieee_infinity(f) ? ieee_nan(f) : bits;
}

/* ---- Places ------------------------------------------------------------- */

/* The smaller place is the smaller of these, or the larger, so that it wins. */
static uint32_t place_image(int32_t at, bool least)
{
	uint32_t image = (uint32_t)at ^ 1U << 31;

	return least ? image : ~image;
}

static int32_t place_back(uint32_t image, bool least)
{
	return (int32_t)((least ? image : ~image) ^ 1U << 31);
}

/*
 * A value's image above that of its place. Those of zeros, -1 and 0, are next to each
 * other: both have the place above the sign instead.
 */
#define FLOAT_AT(name, bits_type, image_type, format)			\
static image_type image_of_##name##_at(const name##_at *e, bool least)		\
{									\
	uint32_t width = 4 * sizeof(image_type);			\
	uint64_t place = place_image(e->at, least), value;		\
	image_type zeros = -((image_type)1 << width);			\
									\
	value = ieee_load(format, &e->value);				\
	if (!(value & ~ieee_sign(format)))				\
		return zeros + 2 * place + !(value & ieee_sign(format));\
	value = float_image(format, value, least);			\
	return (image_type)value << width | place;			\
}									\
									\
static void back_of_##name##_at(image_type image, name##_at *e, bool least)	\
{									\
	uint32_t width = 4 * sizeof(image_type);			\
	uint64_t value = (bits_type)(image >> width);			\
									\
	if (!value || value == (bits_type)~(bits_type)0) {		\
		image += (image_type)1 << width;			\
		value = image & 1 ? 0 : ieee_sign(format);		\
		image >>= 1;						\
	} else {							\
		value = float_back(format, value);			\
	}								\
	ieee_store(format, &e->value, value);				\
	e->at = place_back((uint32_t)image, least);			\
}

FLOAT_AT(f32, uint32_t, image64, IEEE_F32)
FLOAT_AT(f64, uint64_t, image128, IEEE_F64)

#define INTEGER_AT(name, value_type, wide, image_type)			\
static image_type image_of_##name##_at(const name##_at *e, bool least)		\
{									\
	return (image_type)(wide)e->value << 4 * sizeof(image_type) |	\
	       place_image(e->at, least);				\
}									\
									\
static void back_of_##name##_at(image_type image, name##_at *e, bool least)	\
{									\
	e->value = (value_type)(image >> 4 * sizeof(image_type));	\
	e->at = place_back((uint32_t)image, least);			\
}

INTEGER_AT(s16, int16_t, int64_t, image64)
INTEGER_AT(s32, int32_t, int64_t, image64)
INTEGER_AT(s64, int64_t, ieee_s128, image128)

/* ---- Without places ----------------------------------------------------- */

static image32 image_of_f32(const image32 *e, bool least)
{
	return (image32)float_image(IEEE_F32, *e, least);
}

static void back_of_f32(image32 image, image32 *e, bool least)
{
	(void)least;
	*e = (image32)float_back(IEEE_F32, image);
}

static image64 image_of_f64(const image64 *e, bool least)
{
	return float_image(IEEE_F64, *e, least);
}

static void back_of_f64(image64 image, image64 *e, bool least)
{
	(void)least;
	*e = float_back(IEEE_F64, image);
}

/* ---- For each element --------------------------------------------------- */

/* What is between a value and its place becomes nothing. */
#define EACH(name, type, image_type)					\
static void make_##name(const char *in, char *to, uint64_t count, bool least) \
{									\
	image_type image;						\
	type e;								\
									\
	for (; count; count--, in += sizeof(e), to += sizeof(image)) {	\
		memcpy(&e, in, sizeof(e));				\
		image = image_of_##name(&e, least);			\
		memcpy(to, &image, sizeof(image));			\
	}								\
}									\
									\
static void back_##name(const char *from, char *out, uint64_t count,	\
			bool least)					\
{									\
	image_type image;						\
	type e;								\
									\
	memset(&e, 0, sizeof(e));					\
	for (; count; count--, from += sizeof(image), out += sizeof(e)) {\
		memcpy(&image, from, sizeof(image));			\
		back_of_##name(image, &e, least);			\
		memcpy(out, &e, sizeof(e));				\
	}								\
}

EACH(f32, image32, image32)
EACH(f64, image64, image64)
EACH(s16_at, s16_at, image64)
EACH(s32_at, s32_at, image64)
EACH(s64_at, s64_at, image128)
EACH(f32_at, f32_at, image64)
EACH(f64_at, f64_at, image128)

typedef void each_fn(const char *from, char *to, uint64_t count, bool least);

static const struct {
	each_fn *make, *back;
} each[BGDMA_ELEMENT_COUNT] = {
	[BGDMA_F32]    = { make_f32, back_f32 },
	[BGDMA_F64]    = { make_f64, back_f64 },
	[BGDMA_S16_AT] = { make_s16_at, back_s16_at },
	[BGDMA_S32_AT] = { make_s32_at, back_s32_at },
	[BGDMA_S64_AT] = { make_s64_at, back_s64_at },
	[BGDMA_F32_AT] = { make_f32_at, back_f32_at },
	[BGDMA_F64_AT] = { make_f64_at, back_f64_at },
};

void image_make(const struct bgdma_operator *op, const void *in, void *images,
		uint64_t count)
{
	each[op->element].make(in, images, count, is_least(op));
}

void image_back(const struct bgdma_operator *op, const void *images, void *out,
		uint64_t count)
{
	each[op->element].back(images, out, count, is_least(op));
}
