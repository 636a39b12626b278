// SPDX-License-Identifier: GPL-2.0
/*
 * In the place of libpmix.so.2, whose name it has: who has loaded it finds it when
 * he asks for that one.
 */
#if __has_include(<pmix.h>)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix_fake.h"

struct pmix_fake pmix_fake = {
	.size_type = PMIX_UINT32, .value_type = PMIX_BYTE_OBJECT, .bytes = -1,
};

static pmix_status_t status_of(const char *function)
{
	return pmix_fake.fails && !strcmp(pmix_fake.fails, function) ?
	       pmix_fake.status : PMIX_SUCCESS;
}

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo)
{
	(void)info;
	(void)ninfo;
	memset(proc, 0, sizeof(*proc));
	snprintf(proc->nspace, sizeof(proc->nspace), "test");
	proc->rank = pmix_fake.rank;
	return status_of("init");
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t ninfo)
{
	(void)info;
	(void)ninfo;
	return status_of("finalize");
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[],
		       pmix_value_t *value)
{
	struct pmix_fake_space *space = pmix_fake.space;
	struct pmix_fake_value *to;

	if (scope != PMIX_GLOBAL || value->type != PMIX_BYTE_OBJECT ||
	    value->data.bo.size > sizeof(to->value))
		return PMIX_ERR_BAD_PARAM;
	pthread_mutex_lock(&space->lock);
	to = &space->value[space->values++];
	to->rank = pmix_fake.rank;
	to->bytes = value->data.bo.size;
	snprintf(to->key, sizeof(to->key), "%s", key);
	memcpy(to->value, value->data.bo.bytes, to->bytes);
	pthread_mutex_unlock(&space->lock);
	return status_of("put");
}

pmix_status_t PMIx_Commit(void)
{
	return status_of("commit");
}

pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t nprocs,
			 const pmix_info_t info[], size_t ninfo)
{
	(void)procs;
	(void)nprocs;
	if (ninfo < 1 || strcmp(info[0].key, PMIX_COLLECT_DATA) != 0 ||
	    !info[0].value.data.flag)
		return PMIX_ERR_BAD_PARAM;
	if (ninfo == 2 && !strcmp(info[1].key, PMIX_TIMEOUT))
		pmix_fake.timeout = info[1].value.data.integer;
	pthread_barrier_wait(&pmix_fake.space->barrier);
	return status_of("fence");
}

static pmix_value_t *value_new(pmix_data_type_t type)
{
	pmix_value_t *value = calloc(1, sizeof(*value));

	if (value)
		value->type = type;
	return value;
}

static pmix_status_t value_get(const struct pmix_fake_value *found,
			       pmix_value_t **value)
{
	size_t bytes = pmix_fake.bytes < 0 ? found->bytes :
					     (size_t)pmix_fake.bytes;
	pmix_value_t *v = value_new(pmix_fake.value_type);

	*value = v;
	if (!v)
		return PMIX_ERR_NOMEM;
	if (v->type != PMIX_BYTE_OBJECT || !bytes)
		return PMIX_SUCCESS;
	v->data.bo.bytes = calloc(1, bytes);
	if (!v->data.bo.bytes) {
		free(v);
		return PMIX_ERR_NOMEM;
	}
	v->data.bo.size = bytes;
	memcpy(v->data.bo.bytes, found->value,
	       bytes < found->bytes ? bytes : found->bytes);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[],
		       const pmix_info_t info[], size_t ninfo,
		       pmix_value_t **value)
{
	const struct pmix_fake_space *space = pmix_fake.space;
	bool job = proc->rank == PMIX_RANK_WILDCARD &&
		   !strcmp(key, PMIX_JOB_SIZE);
	pmix_status_t status = status_of(job ? "size" : "get");
	unsigned int i;

	*value = NULL;
	if (strcmp(proc->nspace, "test") != 0)
		return PMIX_ERR_BAD_PARAM;
	if (status != PMIX_SUCCESS)
		return status;
	if (job) {
		*value = value_new(pmix_fake.size_type);
		if (*value)
			(*value)->data.uint32 = space->size;
		return *value ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
	}
	for (i = 0; i < space->values; i++)
		if (space->value[i].rank == proc->rank &&
		    !strcmp(space->value[i].key, key))
			return value_get(&space->value[i], value);
	/* It waits for what may still be put. */
	return ninfo == 1 && !strcmp(info->key, PMIX_IMMEDIATE) &&
	       info->value.data.flag ? PMIX_ERR_NOT_FOUND : PMIX_ERR_TIMEOUT;
}

#endif /* the header is there */
