/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of most tests with faults: they skip where there are none; else @begin makes
 * what the calls work on. After kselftest_harness.h.
 */
#ifndef BGDMA_SELFTESTS_FAULT_FIXTURE_H
#define BGDMA_SELFTESTS_FAULT_FIXTURE_H

#include "fault.h"

#define FIXTURE_FAULT(begin)						\
FIXTURE(fault)								\
{									\
	int unused;							\
};									\
									\
FIXTURE_SETUP(fault)							\
{									\
	const char *why = faults_begin();				\
									\
	if (why)							\
		SKIP(return, "%s", why);				\
	begin();							\
}									\
									\
FIXTURE_TEARDOWN(fault)							\
{									\
}

#endif /* BGDMA_SELFTESTS_FAULT_FIXTURE_H */
