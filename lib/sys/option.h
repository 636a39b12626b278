/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What a program leaves open, and whoever runs it may say: see option.c.
 */
#ifndef BGDMA_SYS_OPTION_H
#define BGDMA_SYS_OPTION_H

#include <stdint.h>

/* What a program says that wants 0. */
#define OPTION_NONE	UINT32_MAX

struct option {
	const char *variable;
	uint32_t *value;	/* 0: it is open */
	uint32_t otherwise;
};

/* Fill in what is open; -EINVAL: the variable is no number, or too large. */
int option_complete(const struct option *o);

#endif /* BGDMA_SYS_OPTION_H */
