// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sums of floats in collectives: integers stand for them on the way, so that the
 * result is the same whoever adds what to what, and in which order.
 */
#include <errno.h>
#include <stdlib.h>

#include <bgdma/sum.h>

#include "collective.h"
#include "exact.h"
#include "fast.h"

/* Images that are worth while to share out among members that have all of them. */
#define SHARE_BYTES	(512U << 10)

/*
 * A sum that is under way.
 * @plain: of others, addends are added one after the other
 * @in: @addends times @count values; a complex one is two
 * @code: FAST: the largest exponents
 * @image: integers
 * @out: where it goes
 * @first, @gets: elements that this member works out, from @from, to @to
 */
struct sum {
	const struct fast *fast;
	const struct exact *exact;
	const struct bgdma_operator *plain;
	uint32_t bytes;
	const char *in;
	uint64_t addends, count;
	uint16_t *code;
	void *image;
	void *out;
	uint64_t first, gets;
	const void *from;
	void *to;
};

/* ---- Which and whether -------------------------------------------------- */

static bool is_float_sum(const struct bgdma_operator *op)
{
	return !op->combine && op->reduction == BGDMA_SUM &&
	       op->element >= BGDMA_F32 && op->element <= BGDMA_C64;
}

static bool is_single(const struct bgdma_operator *op)
{
	return op->element == BGDMA_F32 || op->element == BGDMA_C32;
}

static uint32_t parts_of(const struct bgdma_operator *op)
{
	return op->element >= BGDMA_C32 ? 2 : 1;
}

static bool is_scan(const struct bgdma_collective *what)
{
	return what->kind == BGDMA_SCAN || what->kind == BGDMA_EXSCAN;
}

/*
 * In a scan each member gets the sum of others, which may have another largest exponent:
 * there would have to be an integer for each.
 */
unsigned int sum_kind(const struct bgdma_coll_group *g,
		      const struct bgdma_collective *what)
{
	unsigned int kind = what->summation;

	if (!is_float_sum(what->op))
		return BGDMA_SUM_PLAIN;
	if (kind == BGDMA_SUM_AUTO)
		kind = g->coll->summation;
	return kind == BGDMA_SUM_FAST && is_scan(what) ? BGDMA_SUM_EXACT : kind;
}

static uint64_t addends_of(const struct bgdma_collective *what)
{
	return what->addends ? what->addends : 1;
}

bool sum_is_own(const struct bgdma_coll_group *g,
		const struct bgdma_collective *what)
{
	return sum_kind(g, what) != BGDMA_SUM_PLAIN || addends_of(what) > 1;
}

uint32_t sum_bytes(const struct bgdma_coll_group *g,
		   const struct bgdma_collective *what)
{
	bool single;

	if (!is_float_sum(what->op))
		return operator_bytes(what->op);
	single = is_single(what->op);
	switch (sum_kind(g, what)) {
	case BGDMA_SUM_FAST:
		return parts_of(what->op) *
		       (single ? fast_f32.wide : fast_f64.wide);
	case BGDMA_SUM_EXACT:
		return parts_of(what->op) * (uint32_t)sizeof(uint64_t) *
		       (single ? EXACT_F32_WORDS : EXACT_F64_WORDS);
	default:
		return operator_bytes(what->op);
	}
}

/* All members together have no more values than there is room for. */
int sum_check(const struct bgdma_coll_group *g,
	      const struct bgdma_collective *what)
{
	uint64_t addends = addends_of(what), most = 1ULL << EXACT_ROOM;

	if ((unsigned int)what->summation >= BGDMA_SUMMATION_COUNT)
		return -EINVAL;
	if (addends > 1 && (!is_float_sum(what->op) || !what->in))
		return -EINVAL;
	if (!is_float_sum(what->op))
		return 0;
	if (sum_kind(g, what) == BGDMA_SUM_FAST)
		most = 1ULL << (is_single(what->op) ? FAST_F32_ROOM :
						      FAST_F64_ROOM);
	return addends > most / g->size ? -EMSGSIZE : 0;
}

bool sum_overflows(const struct bgdma_coll_group *g,
		   const struct bgdma_collective *what)
{
	return what->kind >= BGDMA_REDUCE && !operator_check(what->op) &&
	       sum_check(g, what) == -EMSGSIZE;
}

int sum_default(uint32_t *summation)
{
	static const char *const name[BGDMA_SUMMATION_COUNT] = {
		[BGDMA_SUM_PLAIN] = "plain",
		[BGDMA_SUM_FAST] = "fast",
		[BGDMA_SUM_EXACT] = "exact",
	};
	const char *text = getenv("BGDMA_SUMMATION");
	uint32_t i;

	*summation = BGDMA_SUM_FAST;
	if (!text || !*text)
		return 0;
	for (i = 0; i < BGDMA_SUMMATION_COUNT; i++) {
		if (!name[i] || strcmp(text, name[i]) != 0)
			continue;
		*summation = i;
		return 0;
	}
	return -EINVAL;
}

/* ---- What is done with one's own memory --------------------------------- */

static void sum_codes(void *arg)
{
	const struct sum *s = arg;
	const char *in = s->in;
	uint64_t i;

	if (s->count == 1) {
		*s->code = FAST_NOTHING;
		s->fast->code_of(in, s->code, s->addends);
		return;
	}
	for (i = 0; i < s->addends; i++, in += s->count * s->bytes)
		s->fast->codes(in, s->code, s->count, i);
}

static void sum_images(void *arg)
{
	const struct sum *s = arg;
	const char *in = s->in;
	uint64_t i;

	if (s->count == 1) {
		memset(s->image, 0, s->fast->wide);
		s->fast->image_of(in, s->code, s->image, s->addends);
		return;
	}
	for (i = 0; i < s->addends; i++, in += s->count * s->bytes)
		s->fast->images(in, s->code, s->image, s->count, i);
}

static void sum_exact(void *arg)
{
	const struct sum *s = arg;
	const char *in = s->in;
	uint64_t i, j, *to;

	memset(s->image, 0, s->count * s->exact->words * sizeof(*to));
	if (s->count == 1) {
		exact_add(s->exact, s->image, in, s->addends);
		return;
	}
	for (i = 0; i < s->addends; i++) {
		to = s->image;
		for (j = 0; j < s->count; j++, in += s->bytes) {
			exact_add(s->exact, to, in, 1);
			to += s->exact->words;
		}
	}
}

static void sum_plain(void *arg)
{
	const struct sum *s = arg;
	const char *in = s->in;
	uint64_t i;

	memcpy(s->image, in, s->count * s->bytes);
	for (i = 1; i < s->addends; i++) {
		in += s->count * s->bytes;
		operator_combine(s->plain, in, s->image, s->count);
	}
}

static void sum_values(void *arg)
{
	const struct sum *s = arg;

	if (s->fast)
		s->fast->values(s->code + s->first, s->from, s->to, s->gets);
	else
		exact_values(s->exact, s->from, s->to, s->gets);
}

/* ---- Acts --------------------------------------------------------------- */

static const struct bgdma_operator plain_f32 = {
	.reduction = BGDMA_SUM, .element = BGDMA_F32,
}, plain_f64 = {
	.reduction = BGDMA_SUM, .element = BGDMA_F64,
}, max_16 = {
	.reduction = BGDMA_MAX, .element = BGDMA_U16,
}, add_64 = {
	.reduction = BGDMA_SUM, .element = BGDMA_U64,
}, add_128 = {
	.reduction = BGDMA_SUM, .element = BGDMA_U128,
}, add_f32 = {
	.combine = bgdma_sum_f32_join, .bytes = sizeof(struct bgdma_sum_f32),
}, add_f64 = {
	.combine = bgdma_sum_f64_join, .bytes = sizeof(struct bgdma_sum_f64),
};

/* A complex value is two. */
static void halve(struct bgdma_coll_request *r, struct bgdma_collective *what,
		  uint32_t parts)
{
	uint64_t *counts;
	uint32_t i;

	what->count *= parts;
	if (what->kind != BGDMA_REDUCE_SCATTER || !what->counts)
		return;
	counts = request_memory(r, r->group->size * sizeof(*counts));
	for (i = 0; counts && i < r->group->size; i++)
		counts[i] = what->counts[i] * parts;
	what->counts = counts;
}

/* Elements that each member has, and which of them it gets. */
static void sum_extent(const struct bgdma_coll_group *g,
		       const struct bgdma_collective *what, struct sum *s)
{
	uint32_t i;

	s->count = what->count;
	s->gets = what->count;
	if (what->kind == BGDMA_REDUCE && g->rank != what->root)
		s->gets = 0;
	if (what->kind == BGDMA_EXSCAN && !g->rank)
		s->gets = 0;
	if (what->kind != BGDMA_REDUCE_SCATTER)
		return;
	s->count = 0;
	for (i = 0; i < g->size; i++) {
		if (i == g->rank)
			s->first = s->count;
		s->count += what->counts ? what->counts[i] : what->count;
	}
	if (what->counts)
		s->gets = what->counts[g->rank];
}

/* How all learn of the largest exponents, whatever the kind. */
static void codes_build(struct bgdma_coll_request *r, const struct sum *s,
			unsigned int algorithm)
{
	const struct bgdma_collective pass = {
		.kind = BGDMA_ALLREDUCE, .out = s->code, .count = s->count,
	};

	/* They are an eighth of what follows. */
	if (algorithm == BGDMA_RING && s->count * sizeof(*s->code) < LONG_BYTES)
		algorithm = BGDMA_DOUBLING;
	else if (algorithm == BGDMA_LINEAR)
		algorithm = BGDMA_TREE;
	r->op = &max_16;
	reduction_build(r, &pass, algorithm);
	add_round(r);
}

/* Each member works out what its part of the sums is, which goes to the others as it is. */
static void values_share(struct bgdma_coll_request *r, struct sum *s,
			 const struct layout *images)
{
	uint32_t own = r->group->rank;
	struct layout values;

	ring_parts(r, s->count, s->bytes, &values);
	if (r->lacking)
		return;
	s->from = block_of(s->image, images, own);
	s->first = block_at(&values, own) / s->bytes;
	s->gets = block_bytes(&values, own) / s->bytes;
	s->to = block_of(s->out, &values, own);
	add_call(r, sum_values, s);
	ring_gather(r, s->out, &values);
}

/*
 * An all-reduce whose values the members share out: along a ring each adds up its part
 * only; of many that the engines have added up for all, it is the work that is shared.
 */
static bool shares(const struct bgdma_collective *what, uint64_t image_bytes,
		   unsigned int algorithm)
{
	if (what->kind != BGDMA_ALLREDUCE)
		return false;
	return algorithm == BGDMA_RING ||
	       (algorithm == BGDMA_ENGINES && image_bytes >= SHARE_BYTES);
}

/* A reduce-scatter leaves what this member gets in the beginning. */
static void images_build(struct bgdma_coll_request *r,
			 const struct bgdma_collective *what, struct sum *s,
			 unsigned int algorithm)
{
	uint32_t wide = operator_bytes(r->op);
	bool shared = shares(what, s->count * wide, algorithm);
	struct bgdma_collective pass = *what;
	struct layout images;

	if (shared)
		ring_parts(r, s->count, wide, &images);
	if (r->lacking)
		return;
	if (shared && algorithm == BGDMA_RING) {
		ring_reduce(r, s->image, &images);
	} else {
		pass.in = NULL;
		pass.out = s->image;
		reduction_build(r, &pass, algorithm);
		add_round(r);
	}
	if (shared) {
		values_share(r, s, &images);
		return;
	}
	s->from = s->image;
	s->to = s->out;
	add_call(r, sum_values, s);
}

static void plain_sum_build(struct bgdma_coll_request *r,
			    const struct bgdma_collective *what, struct sum *s,
			    unsigned int algorithm)
{
	struct bgdma_collective pass = *what;

	s->image = request_memory(r, s->count * s->bytes);
	if (r->lacking)
		return;
	add_call(r, sum_plain, s);
	pass.in = s->image;
	reduction_build(r, &pass, algorithm);
}

static void fast_build(struct bgdma_coll_request *r,
		       const struct bgdma_collective *what, struct sum *s,
		       bool single, unsigned int algorithm)
{
	s->fast = single ? &fast_f32 : &fast_f64;
	s->code = request_memory(r, s->count * sizeof(*s->code));
	s->image = request_memory(r, s->count * s->fast->wide);
	if (r->lacking)
		return;
	add_call(r, sum_codes, s);
	codes_build(r, s, algorithm);
	add_call(r, sum_images, s);
	r->op = single ? &add_64 : &add_128;
	images_build(r, what, s, algorithm);
}

static void exact_build(struct bgdma_coll_request *r,
			const struct bgdma_collective *what, struct sum *s,
			bool single, unsigned int algorithm)
{
	s->exact = single ? &exact_f32 : &exact_f64;
	r->op = single ? &add_f32 : &add_f64;
	s->image = request_memory(r, s->count * r->op->bytes);
	if (r->lacking)
		return;
	add_call(r, sum_exact, s);
	images_build(r, what, s, algorithm);
}

void sum_build(struct bgdma_coll_request *r,
	       const struct bgdma_collective *what, unsigned int algorithm)
{
	struct sum *s = request_memory(r, sizeof(*s));
	struct bgdma_collective parts = *what;
	bool single = is_single(what->op);

	halve(r, &parts, parts_of(what->op));
	if (r->lacking)
		return;
	*s = (struct sum){
		.bytes = single ? sizeof(float) : sizeof(double),
		.plain = single ? &plain_f32 : &plain_f64,
		.addends = addends_of(what), .out = what->out,
		.in = what->in ? what->in : what->out,
	};
	sum_extent(r->group, &parts, s);
	/* However many there are of nothing. */
	if (!s->count)
		s->addends = 1;
	switch (sum_kind(r->group, what)) {
	case BGDMA_SUM_FAST:
		fast_build(r, &parts, s, single, algorithm);
		break;
	case BGDMA_SUM_EXACT:
		exact_build(r, &parts, s, single, algorithm);
		break;
	default:
		plain_sum_build(r, what, s, algorithm);
	}
}

/* ---- Alone -------------------------------------------------------------- */

static void sum_alone(struct sum *s, unsigned int kind, bool single)
{
	if (!s->addends) {
		memset(s->to, 0, s->count * s->bytes);
	} else if (kind == BGDMA_SUM_FAST) {
		s->fast = single ? &fast_f32 : &fast_f64;
		sum_codes(s);
		sum_images(s);
		sum_values(s);
	} else if (kind == BGDMA_SUM_EXACT) {
		s->exact = single ? &exact_f32 : &exact_f64;
		sum_exact(s);
		sum_values(s);
	} else {
		s->image = s->to;
		sum_plain(s);
	}
}

int bgdma_sum_values(enum bgdma_element element,
		     enum bgdma_summation summation, const void *values,
		     uint64_t count, void *sum)
{
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = element };
	bool single = is_single(&op), fast = summation <= BGDMA_SUM_FAST &&
					     summation != BGDMA_SUM_PLAIN;
	uint64_t most = 1ULL << (fast && single ? FAST_F32_ROOM : EXACT_ROOM);
	_Alignas(16) uint64_t image[2 * EXACT_WORDS_MAX];
	uint16_t code[2];
	struct sum s = {
		.bytes = single ? sizeof(float) : sizeof(double),
		.plain = single ? &plain_f32 : &plain_f64,
		.in = values, .addends = count, .count = parts_of(&op),
		.code = code, .image = image, .gets = parts_of(&op),
		.from = image, .to = sum,
	};

	if (!is_float_sum(&op) ||
	    (unsigned int)summation >= BGDMA_SUMMATION_COUNT)
		return -EINVAL;
	if (count > most)
		return -EMSGSIZE;
	sum_alone(&s, fast ? BGDMA_SUM_FAST : summation, single);
	return 0;
}
