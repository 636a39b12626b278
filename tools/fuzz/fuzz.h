/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the targets share: bytes of the input, and what must hold.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Never compiled out. */
#define must(x)								\
	((x) ? (void)0 : (fprintf(stderr, "%s:%d: not %s\n", __FILE__,	\
				  __LINE__, #x), abort()))

struct input {
	const uint8_t *data;
	size_t left;
};

static inline void take_into(struct input *in, void *to, size_t size)
{
	if (size > in->left)
		size = in->left;
	if (size)
		memcpy(to, in->data, size);
	in->data += size;
	in->left -= size;
}

/* The next bytes as a number; 0 where there are no more. */
static inline uint64_t take(struct input *in, size_t size)
{
	uint64_t value = 0;

	take_into(in, &value, size);
	return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_H */
