// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What reductions do with elements. Members may combine the same two in either
 * order and all have to get the same: so nothing here depends on it, but which NaN
 * one is.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "operator.h"

/*
 * One product of a complex one must not be rounded when the other is not: which
 * one would depend on the order. Other compilers leave it with -std=c11.
 */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* ---- Elements ----------------------------------------------------------- */

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
__extension__ typedef unsigned __int128 u128;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
__extension__ typedef __int128 s128;
typedef float f32;
typedef double f64;
typedef float _Complex c32;
typedef double _Complex c64;

typedef struct { s16 value; s32 at; } s16_at;
typedef struct { s32 value; s32 at; } s32_at;
typedef struct { s64 value; s32 at; } s64_at;
typedef struct { f32 value; s32 at; } f32_at;
typedef struct { f64 value; s32 at; } f64_at;

static const uint32_t element_bytes[BGDMA_ELEMENT_COUNT] = {
	[BGDMA_S8]     = sizeof(s8),
	[BGDMA_U8]     = sizeof(u8),
	[BGDMA_S16]    = sizeof(s16),
	[BGDMA_U16]    = sizeof(u16),
	[BGDMA_S32]    = sizeof(s32),
	[BGDMA_U32]    = sizeof(u32),
	[BGDMA_S64]    = sizeof(s64),
	[BGDMA_U64]    = sizeof(u64),
	[BGDMA_S128]   = sizeof(s128),
	[BGDMA_U128]   = sizeof(u128),
	[BGDMA_F32]    = sizeof(f32),
	[BGDMA_F64]    = sizeof(f64),
	[BGDMA_C32]    = sizeof(c32),
	[BGDMA_C64]    = sizeof(c64),
	[BGDMA_S16_AT] = sizeof(s16_at),
	[BGDMA_S32_AT] = sizeof(s32_at),
	[BGDMA_S64_AT] = sizeof(s64_at),
	[BGDMA_F32_AT] = sizeof(f32_at),
	[BGDMA_F64_AT] = sizeof(f64_at),
};

uint32_t bgdma_element_bytes(unsigned int element)
{
	return element < BGDMA_ELEMENT_COUNT ? element_bytes[element] : 0;
}

/* ---- Loops -------------------------------------------------------------- */

typedef void loop_fn(const char *in, char *inout, uint64_t count);

/* Compilers make vectors at -O2 only of a number of elements that they know. */
#define BLOCK	64U

/*
 * loop_NAME_TYPE(): @statement for each element. It has a of in and b of inout,
 * copies since memory need not be aligned, and from and to, where those are.
 */
#define LOOP(name, type, statement)					\
static inline __attribute__((always_inline))				\
void part_##name##_##type(const char *restrict in,			\
			  char *restrict inout, uint64_t count)		\
{									\
	uint64_t i;							\
									\
	for (i = 0; i < count; i++) {					\
		const char *from = in + i * sizeof(type);		\
		char *to = inout + i * sizeof(type);			\
		type a, b;						\
									\
		memcpy(&a, from, sizeof(a));				\
		memcpy(&b, to, sizeof(b));				\
		statement;						\
	}								\
}									\
									\
static void loop_##name##_##type(const char *in, char *inout,		\
				 uint64_t count)			\
{									\
	for (; count >= BLOCK; count -= BLOCK) {			\
		part_##name##_##type(in, inout, BLOCK);			\
		in += BLOCK * sizeof(type);				\
		inout += BLOCK * sizeof(type);				\
	}								\
	part_##name##_##type(in, inout, count);				\
}

#define COMPUTE(name, type, result)					\
	LOOP(name, type, b = (result); memcpy(to, &b, sizeof(b)))

/* Not by way of @b: what is between value and place would be anything. */
#define CHOOSE(name, type, in_wins)					\
	LOOP(name, type, if (in_wins) memcpy(to, from, sizeof(a)))

/* ---- Integers ----------------------------------------------------------- */

#define LESS(x, y)	((x) < (y))
#define GREATER(x, y)	((x) > (y))

/* 1U: two uint16_t would become int, whose product may not wrap. */
#define BITS(type)							\
	COMPUTE(sum, type, a + b)					\
	COMPUTE(prod, type, 1U * a * b)					\
	COMPUTE(band, type, a & b)					\
	COMPUTE(bor, type, a | b)					\
	COMPUTE(bxor, type, a ^ b)					\
	COMPUTE(land, type, (a != 0) & (b != 0))			\
	COMPUTE(lor, type, (a != 0) | (b != 0))				\
	COMPUTE(lxor, type, (a != 0) ^ (b != 0))

#define ORDER(type)							\
	COMPUTE(min, type, LESS(a, b) ? a : b)				\
	COMPUTE(max, type, GREATER(a, b) ? a : b)

#define WINS(before)							\
	(before(a.value, b.value) ||					\
	 (a.value == b.value && a.at < b.at))

#define ORDER_AT(type)							\
	CHOOSE(minloc, type, WINS(LESS))				\
	CHOOSE(maxloc, type, WINS(GREATER))

BITS(u8)
BITS(u16)
BITS(u32)
BITS(u64)
BITS(u128)

ORDER(s8)
ORDER(u8)
ORDER(s16)
ORDER(u16)
ORDER(s32)
ORDER(u32)
ORDER(s64)
ORDER(u64)
ORDER(s128)
ORDER(u128)

ORDER_AT(s16_at)
ORDER_AT(s32_at)
ORDER_AT(s64_at)

/* ---- Floats ------------------------------------------------------------- */

#define MINUS(x)	(signbit(x) != 0)
#define PLUS(x)		(signbit(x) == 0)

#define ARITHMETIC(type)						\
	COMPUTE(sum, type, a + b)					\
	COMPUTE(prod, type, a * b)

/* Each half for itself. */
#define COMPLEX(type, half)						\
static void loop_sum_##type(const char *in, char *inout,		\
			    uint64_t count)				\
{									\
	loop_sum_##half(in, inout, 2 * count);				\
}									\
COMPUTE(prod, type, a * b)

/*
 * In bits, since compilers do not make vectors of branches, nor of signbit(). Equal
 * ones differ only if they are zeros, and then in the sign: @zero. What <math.h>
 * compares with raises nothing for a NaN.
 */
#define PICK(name, type, bits, before, zero)				\
	LOOP(name, type,						\
	     bits x; bits y;						\
	     bits wins = -(bits)((before(a, b) | isnan(a)) != 0);	\
	     bits equal = -(bits)(a == b);				\
	     memcpy(&x, &a, sizeof(x));					\
	     memcpy(&y, &b, sizeof(y));					\
	     y = (x & wins) | (y & ~(wins | equal)) |			\
		 ((x zero y) & equal);					\
	     memcpy(to, &y, sizeof(y)))

#define FLOAT_ORDER(type, bits)						\
	PICK(min, type, bits, isless, |)				\
	PICK(max, type, bits, isgreater, &)

#define FLOAT_AT_WINS(before, sign)					\
	(isnan(a.value) ? !isnan(b.value) || a.at < b.at :		\
	 before(a.value, b.value) ||					\
	 (a.value == b.value &&						\
	  (a.at < b.at || (a.at == b.at && sign(a.value)))))

#define FLOAT_ORDER_AT(type)						\
	CHOOSE(minloc, type, FLOAT_AT_WINS(isless, MINUS))		\
	CHOOSE(maxloc, type, FLOAT_AT_WINS(isgreater, PLUS))

ARITHMETIC(f32)
ARITHMETIC(f64)
COMPLEX(c32, f32)
COMPLEX(c64, f64)
FLOAT_ORDER(f32, u32)
FLOAT_ORDER(f64, u64)
FLOAT_ORDER_AT(f32_at)
FLOAT_ORDER_AT(f64_at)

/* ---- Which there are ---------------------------------------------------- */

#define OF_BITS(name)							\
	[BGDMA_S8] = loop_##name##_u8, [BGDMA_U8] = loop_##name##_u8,	\
	[BGDMA_S16] = loop_##name##_u16, [BGDMA_U16] = loop_##name##_u16, \
	[BGDMA_S32] = loop_##name##_u32, [BGDMA_U32] = loop_##name##_u32, \
	[BGDMA_S64] = loop_##name##_u64, [BGDMA_U64] = loop_##name##_u64, \
	[BGDMA_S128] = loop_##name##_u128, [BGDMA_U128] = loop_##name##_u128

#define OF_INTEGERS(name)						\
	[BGDMA_S8] = loop_##name##_s8, [BGDMA_U8] = loop_##name##_u8,	\
	[BGDMA_S16] = loop_##name##_s16, [BGDMA_U16] = loop_##name##_u16, \
	[BGDMA_S32] = loop_##name##_s32, [BGDMA_U32] = loop_##name##_u32, \
	[BGDMA_S64] = loop_##name##_s64, [BGDMA_U64] = loop_##name##_u64, \
	[BGDMA_S128] = loop_##name##_s128, [BGDMA_U128] = loop_##name##_u128

#define OF_FLOATS(name)							\
	[BGDMA_F32] = loop_##name##_f32, [BGDMA_F64] = loop_##name##_f64

#define OF_COMPLEX(name)						\
	[BGDMA_C32] = loop_##name##_c32, [BGDMA_C64] = loop_##name##_c64

#define OF_PLACES(name)							\
	[BGDMA_S16_AT] = loop_##name##_s16_at,				\
	[BGDMA_S32_AT] = loop_##name##_s32_at,				\
	[BGDMA_S64_AT] = loop_##name##_s64_at,				\
	[BGDMA_F32_AT] = loop_##name##_f32_at,				\
	[BGDMA_F64_AT] = loop_##name##_f64_at

static loop_fn *const loops[BGDMA_REDUCTION_COUNT][BGDMA_ELEMENT_COUNT] = {
	[BGDMA_SUM]    = { OF_BITS(sum), OF_FLOATS(sum), OF_COMPLEX(sum) },
	[BGDMA_PROD]   = { OF_BITS(prod), OF_FLOATS(prod), OF_COMPLEX(prod) },
	[BGDMA_MIN]    = { OF_INTEGERS(min), OF_FLOATS(min) },
	[BGDMA_MAX]    = { OF_INTEGERS(max), OF_FLOATS(max) },
	[BGDMA_BAND]   = { OF_BITS(band) },
	[BGDMA_BOR]    = { OF_BITS(bor) },
	[BGDMA_BXOR]   = { OF_BITS(bxor) },
	[BGDMA_LAND]   = { OF_BITS(land) },
	[BGDMA_LOR]    = { OF_BITS(lor) },
	[BGDMA_LXOR]   = { OF_BITS(lxor) },
	[BGDMA_MINLOC] = { OF_PLACES(minloc) },
	[BGDMA_MAXLOC] = { OF_PLACES(maxloc) },
};

int operator_check(const struct bgdma_operator *op)
{
	if (!op)
		return -EINVAL;
	if (op->combine)
		return op->bytes ? 0 : -EINVAL;
	if ((unsigned int)op->reduction >= BGDMA_REDUCTION_COUNT ||
	    (unsigned int)op->element >= BGDMA_ELEMENT_COUNT)
		return -EINVAL;
	return loops[op->reduction][op->element] ? 0 : -EINVAL;
}

uint32_t operator_bytes(const struct bgdma_operator *op)
{
	return op->combine ? op->bytes : element_bytes[op->element];
}

void operator_combine(const struct bgdma_operator *op, const void *in,
		      void *inout, uint64_t count)
{
	if (!count)
		return;
	if (op->combine)
		op->combine(op->arg, in, inout, count);
	else
		loops[op->reduction][op->element](in, inout, count);
}

int bgdma_reduce_local(const struct bgdma_operator *op, const void *in,
		       void *inout, uint64_t count)
{
	int ret = operator_check(op);

	if (!ret)
		operator_combine(op, in, inout, count);
	return ret;
}
