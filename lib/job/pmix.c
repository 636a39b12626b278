// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * PMIx. Its library is loaded only in a process that a PMIx launcher started,
 * so that nobody else needs it; its header is needed to build this.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

static bool pmix_there(void)
{
	return getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE");
}

#ifdef HAVE_PMIX

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <pmix.h>

struct pmix {
	void *library;
	pmix_proc_t me;
	pmix_status_t (*init)(pmix_proc_t *proc, pmix_info_t info[],
			      size_t ninfo);
	pmix_status_t (*finalize)(const pmix_info_t info[], size_t ninfo);
	pmix_status_t (*put)(pmix_scope_t scope, const char *key,
			     pmix_value_t *value);
	pmix_status_t (*commit)(void);
	pmix_status_t (*fence)(const pmix_proc_t procs[], size_t nprocs,
			       const pmix_info_t info[], size_t ninfo);
	pmix_status_t (*get)(const pmix_proc_t *proc, const char *key,
			     const pmix_info_t info[], size_t ninfo,
			     pmix_value_t **value);
};

/* A function's address as an object's, which ISO C does not know. */
static bool pmix_symbol(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol;
}

static bool pmix_load(struct pmix *pmix)
{
	pmix->library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
	return pmix->library &&
	       pmix_symbol(pmix->library, "PMIx_Init", &pmix->init) &&
	       pmix_symbol(pmix->library, "PMIx_Finalize", &pmix->finalize) &&
	       pmix_symbol(pmix->library, "PMIx_Put", &pmix->put) &&
	       pmix_symbol(pmix->library, "PMIx_Commit", &pmix->commit) &&
	       pmix_symbol(pmix->library, "PMIx_Fence", &pmix->fence) &&
	       pmix_symbol(pmix->library, "PMIx_Get", &pmix->get);
}

static int pmix_errno(pmix_status_t status)
{
	switch (status) {
	case PMIX_SUCCESS:
		return 0;
	case PMIX_ERR_TIMEOUT:
		return -ETIMEDOUT;
	case PMIX_ERR_NOMEM:
		return -ENOMEM;
	case PMIX_ERR_NOT_FOUND:
		return -ENOENT;
	case PMIX_ERR_UNREACH:
	case PMIX_ERR_LOST_CONNECTION:
		return -EPIPE;
	default:
		return -EPROTO;
	}
}

static int pmix_size(struct pmix *pmix, uint32_t *size)
{
	pmix_value_t *value;
	pmix_proc_t all = pmix->me;
	pmix_status_t status;

	all.rank = PMIX_RANK_WILDCARD;
	status = pmix->get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
	if (status != PMIX_SUCCESS)
		return pmix_errno(status);
	*size = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
	free(value);
	return 0;
}

static void pmix_end(struct pmix *pmix)
{
	/* Never unloaded: its threads may still be about to leave it. */
	free(pmix);
}

static int pmix_open(struct bgdma_job *job)
{
	struct pmix *pmix = calloc(1, sizeof(*pmix));
	int ret;

	if (!pmix)
		return -ENOMEM;
	if (!pmix_load(pmix)) {
		pmix_end(pmix);
		return -ENOTSUP;
	}
	ret = pmix_errno(pmix->init(&pmix->me, NULL, 0));
	if (ret) {
		pmix_end(pmix);
		return ret;
	}
	job->rank = pmix->me.rank;
	ret = pmix_size(pmix, &job->size);
	if (!ret && (!job->size || job->rank >= job->size))
		ret = -EPROTO;
	if (ret) {
		pmix->finalize(NULL, 0);
		pmix_end(pmix);
		return ret;
	}
	job->state = pmix;
	return 0;
}

static void pmix_close(struct bgdma_job *job)
{
	struct pmix *pmix = job->state;

	pmix->finalize(NULL, 0);
	pmix_end(pmix);
}

static int pmix_put(struct bgdma_job *job, const char *key, const void *bytes,
		    size_t size)
{
	char copy[BGDMA_JOB_VALUE_MAX];
	struct pmix *pmix = job->state;
	pmix_value_t value;

	memcpy(copy, bytes, size);
	memset(&value, 0, sizeof(value));
	value.type = PMIX_BYTE_OBJECT;
	value.data.bo.bytes = copy;
	value.data.bo.size = size;
	return pmix_errno(pmix->put(PMIX_GLOBAL, key, &value));
}

static int pmix_fence(struct bgdma_job *job)
{
	struct pmix *pmix = job->state;
	pmix_info_t info[2];
	size_t n = 1;
	int ret;

	memset(info, 0, sizeof(info));
	snprintf(info[0].key, sizeof(info[0].key), "%s", PMIX_COLLECT_DATA);
	info[0].value.type = PMIX_BOOL;
	info[0].value.data.flag = true;
	if (job->timeout_ms) {
		snprintf(info[1].key, sizeof(info[1].key), "%s", PMIX_TIMEOUT);
		info[1].value.type = PMIX_INT;
		info[1].value.data.integer = (int)((job->timeout_ms + 999) /
						   1000);
		n = 2;
	}
	ret = pmix_errno(pmix->commit());
	return ret ? ret : pmix_errno(pmix->fence(NULL, 0, info, n));
}

static int pmix_get(struct bgdma_job *job, uint32_t rank, const char *key,
		    void *bytes, size_t size)
{
	struct pmix *pmix = job->state;
	pmix_value_t *value = NULL;
	pmix_proc_t who = pmix->me;
	pmix_info_t info;
	int ret;

	/* The fence collected all there is: one that is not there will not come. */
	memset(&info, 0, sizeof(info));
	snprintf(info.key, sizeof(info.key), "%s", PMIX_IMMEDIATE);
	info.value.type = PMIX_BOOL;
	info.value.data.flag = true;
	who.rank = rank;
	ret = pmix_errno(pmix->get(&who, key, &info, 1, &value));
	if (ret)
		return ret;
	if (value->type != PMIX_BYTE_OBJECT || !value->data.bo.size ||
	    value->data.bo.size > BGDMA_JOB_VALUE_MAX) {
		ret = -EPROTO;
	} else if (value->data.bo.size > size) {
		ret = -EMSGSIZE;
	} else {
		ret = (int)value->data.bo.size;
		memcpy(bytes, value->data.bo.bytes, value->data.bo.size);
	}
	if (value->type == PMIX_BYTE_OBJECT)
		free(value->data.bo.bytes);
	free(value);
	return ret;
}

#else /* built without the header */

static int pmix_open(struct bgdma_job *job)
{
	(void)job;
	return -ENOTSUP;
}

static void pmix_close(struct bgdma_job *job)
{
	(void)job;
}

static int pmix_put(struct bgdma_job *job, const char *key, const void *bytes,
		    size_t size)
{
	(void)job;
	(void)key;
	(void)bytes;
	(void)size;
	return -ENOTSUP;
}

static int pmix_fence(struct bgdma_job *job)
{
	(void)job;
	return -ENOTSUP;
}

static int pmix_get(struct bgdma_job *job, uint32_t rank, const char *key,
		    void *bytes, size_t size)
{
	(void)rank;
	return pmix_put(job, key, bytes, size);
}

#endif

const struct wiring wiring_pmix = {
	.name = "pmix", .there = pmix_there, .open = pmix_open,
	.close = pmix_close, .put = pmix_put, .fence = pmix_fence,
	.get = pmix_get,
};
