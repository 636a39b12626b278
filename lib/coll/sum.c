// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Exact sums that a process keeps.
 */
#include <bgdma/sum.h>

#include "exact.h"

void bgdma_sum_f64_add(struct bgdma_sum_f64 *sum, const double *values,
		       uint64_t count)
{
	exact_add(&exact_f64, sum->word, values, count);
}

double bgdma_sum_f64_value(const struct bgdma_sum_f64 *sum)
{
	double value;

	exact_values(&exact_f64, sum->word, &value, 1);
	return value;
}

void bgdma_sum_f64_join(void *arg, const void *in, void *inout, uint64_t count)
{
	(void)arg;
	exact_join(&exact_f64, in, inout, count);
}

void bgdma_sum_f32_add(struct bgdma_sum_f32 *sum, const float *values,
		       uint64_t count)
{
	exact_add(&exact_f32, sum->word, values, count);
}

float bgdma_sum_f32_value(const struct bgdma_sum_f32 *sum)
{
	float value;

	exact_values(&exact_f32, sum->word, &value, 1);
	return value;
}

void bgdma_sum_f32_join(void *arg, const void *in, void *inout, uint64_t count)
{
	(void)arg;
	exact_join(&exact_f32, in, inout, count);
}
