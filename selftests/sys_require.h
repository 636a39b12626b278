/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a process of a job has to find: it ends with exit code 1 when it does
 * not, and says where.
 */
#ifndef BGDMA_SELFTESTS_SYS_REQUIRE_H
#define BGDMA_SELFTESTS_SYS_REQUIRE_H

#include <stdio.h>

#define require(condition)						\
do {									\
	if (!(condition)) {						\
		fprintf(stderr, "# %s:%d: %s\n", __FILE__, __LINE__,	\
			#condition);					\
		return 1;						\
	}								\
} while (0)

/* The same of a call that has to return a number, which is shown. */
#define require_is(expected, call)					\
do {									\
	long is_ = (long)(call);					\
									\
	if (is_ != (long)(expected)) {					\
		fprintf(stderr, "# %s:%d: %s is %ld\n", __FILE__,	\
			__LINE__, #call, is_);				\
		return 1;						\
	}								\
} while (0)

#endif /* BGDMA_SELFTESTS_SYS_REQUIRE_H */
