/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#ifndef BGDMA_ATTR_H
#define BGDMA_ATTR_H

#include <stddef.h>

/*
 * Bring an attr of a program that knew @size bytes of it to our size.
 * NULL means all defaults. -E2BIG: it asks for what we do not know.
 */
int attr_copy(void *attr, size_t known, const void *from, size_t size);

#endif /* BGDMA_ATTR_H */
