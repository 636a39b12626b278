/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What reductions are, told a second time: an element of any kind becomes a number,
 * two numbers one, and that an element again. Floats have values whose sums and
 * products are the same in any order.
 */
#ifndef BGDMA_SELFTESTS_COLL_REFERENCE_H
#define BGDMA_SELFTESTS_COLL_REFERENCE_H

#include <complex.h>
#include <stdbool.h>
#include <string.h>

#include <bgdma/collective.h>

/* Beside those of the library: x to a * x + b, joined one after the other. */
#define ELEMENT_LINE	BGDMA_ELEMENT_COUNT
#define ELEMENTS	(BGDMA_ELEMENT_COUNT + 1)

struct line {
	uint64_t a, b;
};

/* The application's own reduction: one line after the other is another. */
static inline void lines_join(void *arg, const void *in, void *inout, uint64_t count)
{
	const struct line *first = in;
	struct line *then = inout;
	uint64_t i;

	(void)arg;
	for (i = 0; i < count; i++) {
		then[i].b += first[i].b * then[i].a;
		then[i].a *= first[i].a;
	}
}

enum sort { SIGNED, UNSIGNED, REAL, COMPLEX, PLACED, PLACED_REAL, LINE };

static const struct {
	enum sort sort;
	uint32_t bytes;		/* of the value, where there is a place */
} elements[ELEMENTS] = {
	[BGDMA_S8] = { SIGNED, 1 }, [BGDMA_U8] = { UNSIGNED, 1 },
	[BGDMA_S16] = { SIGNED, 2 }, [BGDMA_U16] = { UNSIGNED, 2 },
	[BGDMA_S32] = { SIGNED, 4 }, [BGDMA_U32] = { UNSIGNED, 4 },
	[BGDMA_S64] = { SIGNED, 8 }, [BGDMA_U64] = { UNSIGNED, 8 },
	[BGDMA_S128] = { SIGNED, 16 }, [BGDMA_U128] = { UNSIGNED, 16 },
	[BGDMA_F32] = { REAL, 4 }, [BGDMA_F64] = { REAL, 8 },
	[BGDMA_C32] = { COMPLEX, 8 }, [BGDMA_C64] = { COMPLEX, 16 },
	[BGDMA_S16_AT] = { PLACED, 2 }, [BGDMA_S32_AT] = { PLACED, 4 },
	[BGDMA_S64_AT] = { PLACED, 8 }, [BGDMA_F32_AT] = { PLACED_REAL, 4 },
	[BGDMA_F64_AT] = { PLACED_REAL, 8 },
	[ELEMENT_LINE] = { LINE, sizeof(struct line) },
};

struct number {
	__int128_t i;
	double complex z;
	int32_t at;
	struct line line;
};

static inline uint32_t element_bytes(unsigned int e)
{
	return e == ELEMENT_LINE ? sizeof(struct line) : bgdma_element_bytes(e);
}

/* Where the place is: behind the value, on a multiple of four bytes. */
static inline uint32_t place_at(unsigned int e)
{
	return elements[e].bytes < 4 ? 4 : elements[e].bytes;
}

static inline bool is_real(unsigned int e)
{
	return elements[e].sort == REAL || elements[e].sort == PLACED_REAL;
}

static inline struct number number_load(unsigned int e, const void *from)
{
	uint32_t bytes = elements[e].bytes;
	unsigned int unused = 128 - 8 * bytes;
	float complex c32;
	struct number n;
	float f32;
	double f64;

	memset(&n, 0, sizeof(n));
	if (elements[e].sort == LINE) {
		memcpy(&n.line, from, sizeof(n.line));
	} else if (elements[e].sort == COMPLEX && bytes == 16) {
		memcpy(&n.z, from, sizeof(n.z));
	} else if (elements[e].sort == COMPLEX) {
		memcpy(&c32, from, sizeof(c32));
		n.z = c32;
	} else if (is_real(e) && bytes == 4) {
		memcpy(&f32, from, sizeof(f32));
		n.z = f32;
	} else if (is_real(e)) {
		memcpy(&f64, from, sizeof(f64));
		n.z = f64;
	} else {
		memcpy(&n.i, from, bytes);
		if (elements[e].sort != UNSIGNED)
			n.i = (__int128_t)((__uint128_t)n.i << unused) >> unused;
	}
	if (elements[e].sort == PLACED || elements[e].sort == PLACED_REAL)
		memcpy(&n.at, (const char *)from + place_at(e), sizeof(n.at));
	return n;
}

static inline void number_store(unsigned int e, const struct number *n, void *to)
{
	uint32_t bytes = elements[e].bytes;
	float complex c32 = (float complex)n->z;
	double f64 = creal(n->z);
	float f32 = (float)f64;

	if (elements[e].sort == LINE)
		memcpy(to, &n->line, sizeof(n->line));
	else if (elements[e].sort == COMPLEX)
		memcpy(to, bytes == 16 ? (const void *)&n->z : &c32, bytes);
	else if (is_real(e))
		memcpy(to, bytes == 8 ? (const void *)&f64 : &f32, bytes);
	else
		memcpy(to, &n->i, bytes);
	if (elements[e].sort == PLACED || elements[e].sort == PLACED_REAL)
		memcpy((char *)to + place_at(e), &n->at, sizeof(n->at));
}

static inline bool number_less(unsigned int e, const struct number *a,
			       const struct number *b)
{
	if (is_real(e))
		return creal(a->z) < creal(b->z);
	if (elements[e].sort == UNSIGNED)
		return (__uint128_t)a->i < (__uint128_t)b->i;
	return a->i < b->i;
}

static inline bool number_same(const struct number *a, const struct number *b)
{
	return a->i == b->i && a->z == b->z && a->at == b->at &&
	       a->line.a == b->line.a && a->line.b == b->line.b;
}

/* Of two, the one that an extreme is; of the same values the smaller place. */
static inline bool number_first(unsigned int e, enum bgdma_reduction how,
				const struct number *a, const struct number *b)
{
	bool smallest = how == BGDMA_MIN || how == BGDMA_MINLOC;

	if (number_less(e, a, b) || number_less(e, b, a))
		return number_less(e, a, b) == smallest;
	return a->at < b->at;
}

static inline struct number number_join(unsigned int e, enum bgdma_reduction how,
					struct number a, struct number b)
{
	if (elements[e].sort == LINE) {
		b.line.b += a.line.b * b.line.a;
		b.line.a *= a.line.a;
		return b;
	}
	switch (how) {
	case BGDMA_SUM:
		b.i = (__int128_t)((__uint128_t)a.i + (__uint128_t)b.i);
		b.z += a.z;
		return b;
	case BGDMA_PROD:
		b.i = (__int128_t)((__uint128_t)a.i * (__uint128_t)b.i);
		b.z *= a.z;
		return b;
	case BGDMA_BAND:
		b.i &= a.i;
		return b;
	case BGDMA_BOR:
		b.i |= a.i;
		return b;
	case BGDMA_BXOR:
		b.i ^= a.i;
		return b;
	case BGDMA_LAND:
		b.i = a.i && b.i;
		return b;
	case BGDMA_LOR:
		b.i = a.i || b.i;
		return b;
	case BGDMA_LXOR:
		b.i = !a.i != !b.i;
		return b;
	default:
		return number_first(e, how, &a, &b) ? a : b;
	}
}

/* Some element of a kind, by 64 random bits. */
static inline struct number number_given(unsigned int e, uint64_t random)
{
	struct number n;

	memset(&n, 0, sizeof(n));
	switch (elements[e].sort) {
	case SIGNED:
	case UNSIGNED:
		if (random % 3)
			n.i = (__int128_t)((__uint128_t)random << 64 |
					 (random * 0x9e3779b97f4a7c15ULL));
		return n;
	case REAL:
		n.z = (double)(random % 5) - 2;
		return n;
	case COMPLEX:
		n.z = (double)(random % 5) - 2 + ((double)(random / 5 % 5) - 2) * I;
		return n;
	case LINE:
		n.line = (struct line){ random, random * 0x9e3779b97f4a7c15ULL };
		return n;
	default:
		n.i = (int)(random % 4) - 1;
		n.z = elements[e].sort == PLACED_REAL ? (double)n.i : 0;
		n.i = elements[e].sort == PLACED_REAL ? 0 : n.i;
		n.at = (int32_t)(random >> 8 & 0xffff);
		return n;
	}
}

#endif /* BGDMA_SELFTESTS_COLL_REFERENCE_H */
