/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A PMIx library of the tests' own: what it is told to do, by the object of the
 * name pmix_fake in it.
 */
#ifndef BGDMA_SELFTESTS_PMIX_FAKE_H
#define BGDMA_SELFTESTS_PMIX_FAKE_H

#include <pthread.h>

#include <pmix.h>

#define PMIX_FAKE_BYTES	1024	/* of a value */

struct pmix_fake_value {
	unsigned int rank;
	char key[64];
	size_t bytes;
	char value[PMIX_FAKE_BYTES];
};

/* What the processes of a job have in common. */
struct pmix_fake_space {
	pthread_barrier_t barrier;
	pthread_mutex_t lock;
	unsigned int size;
	unsigned int values;
	struct pmix_fake_value value[64];
};

/*
 * @fails: this function returns @status
 * @size_type: of the job's size
 * @value_type: of values, which have @bytes, if that is not -1
 * @timeout: of the last fence, in seconds
 */
struct pmix_fake {
	struct pmix_fake_space *space;
	unsigned int rank;
	const char *fails;
	pmix_status_t status;
	pmix_data_type_t size_type, value_type;
	long bytes;
	int timeout;
};

#endif /* BGDMA_SELFTESTS_PMIX_FAKE_H */
