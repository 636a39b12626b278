// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Minima and maxima that the engines find of what they do not know: integers stand for
 * the elements on the way.
 */
#include "collective.h"
#include "image.h"

/*
 * One that is under way.
 * @op: as asked for
 * @way: of the integers
 * @in: @count elements
 * @image: of them; then of those that come out
 * @out: where @gets of these go
 */
struct extreme {
	struct bgdma_operator op, way;
	const void *in;
	void *image;
	void *out;
	uint64_t count, gets;
};

static void extreme_images(void *arg)
{
	const struct extreme *e = arg;

	image_make(&e->op, e->in, e->image, e->count);
}

static void extreme_elements(void *arg)
{
	const struct extreme *e = arg;

	image_back(&e->op, e->image, e->out, e->gets);
}

static struct bgdma_operator way_of(const struct bgdma_operator *op)
{
	return (struct bgdma_operator){
		.reduction = image_reduction(op), .element = image_element(op),
	};
}

/* An image has as many bytes as its element: so it is as long. */
bool extreme_fits(const struct bgdma_operator *op)
{
	return image_element(op) != BGDMA_ELEMENT_COUNT;
}

void extreme_build(struct bgdma_coll_request *r,
		   const struct bgdma_collective *what)
{
	uint64_t bytes = what->count * operator_bytes(what->op);
	struct extreme *e = request_memory(r, sizeof(*e));
	void *image = request_memory(r, bytes);
	struct bgdma_collective pass = *what;

	if (r->lacking)
		return;
	*e = (struct extreme){
		.op = *what->op, .way = way_of(what->op),
		.in = what->in ? what->in : what->out, .image = image,
		.out = what->out, .count = what->count,
		.gets = what->kind == BGDMA_ALLREDUCE ||
			r->group->rank == what->root ? what->count : 0,
	};
	add_call(r, extreme_images, e);
	r->op = &e->way;
	pass.in = NULL;
	pass.out = image;
	reduction_build(r, &pass, BGDMA_ENGINES);
	add_round(r);
	add_call(r, extreme_elements, e);
}
