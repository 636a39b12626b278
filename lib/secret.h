/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Numbers for hashes of what others choose: they are not to know what meets in a bucket.
 */
#ifndef BGDMA_SECRET_H
#define BGDMA_SECRET_H

#include <stdint.h>
#include <sys/random.h>
#include <time.h>

/* Without the kernel's numbers one that is hard to guess from outside. */
static inline uint64_t secret_guess(const void *owner)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint64_t)now.tv_nsec ^ (uintptr_t)owner ^
		(uint64_t)now.tv_sec << 32) * 0x9e3779b97f4a7c15ULL;
}

/* @owner: an address of whose it is. It never waits, and is not fit for a cipher. */
static inline uint64_t secret_new(const void *owner)
{
	uint64_t secret;

	if (getrandom(&secret, sizeof(secret), GRND_INSECURE) != sizeof(secret))
		return secret_guess(owner);
	return secret;
}

#endif /* BGDMA_SECRET_H */
