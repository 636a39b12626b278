// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The job, whoever tells of it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../attr.h"
#include "internal.h"

/* In the order in which they are asked: what the user says himself is first. */
static const struct wiring *const wirings[] = {
	&wiring_env, &wiring_pmix, &wiring_pmi1, &wiring_single,
};

#define WIRINGS	(sizeof(wirings) / sizeof(wirings[0]))

bool job_number(const char *text, unsigned long max, uint32_t *number)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value > max)
		return false;
	*number = (uint32_t)value;
	return true;
}

bool job_variable(const char *name, unsigned long max, uint32_t *number)
{
	const char *text = getenv(name);

	return text && job_number(text, max, number);
}

int64_t job_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

int64_t job_deadline(const struct bgdma_job *job)
{
	return job->timeout_ms ? job_now_ms() + job->timeout_ms : 0;
}

void job_to_hex(const void *value, size_t bytes, char *hex)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *byte = value;
	size_t i;

	for (i = 0; i < bytes; i++) {
		hex[2 * i] = digits[byte[i] >> 4];
		hex[2 * i + 1] = digits[byte[i] & 15];
	}
	hex[2 * bytes] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int job_from_hex(const char *hex, void *value, size_t size)
{
	size_t bytes = strlen(hex) / 2, i;
	unsigned char *byte = value;
	int high, low;

	if (!bytes || hex[2 * bytes] || bytes > BGDMA_JOB_VALUE_MAX)
		return -EPROTO;
	if (bytes > size)
		return -EMSGSIZE;
	for (i = 0; i < bytes; i++) {
		high = hex_digit(hex[2 * i]);
		low = hex_digit(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return -EPROTO;
		byte[i] = (unsigned char)(high << 4 | low);
	}
	return (int)bytes;
}

static bool key_good(const char *key)
{
	size_t length = strspn(key, "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_");

	return length && length < BGDMA_JOB_KEY_MAX && !key[length];
}

static const struct wiring *wiring_find(const char *name)
{
	size_t i;

	for (i = 0; i < WIRINGS; i++)
		if (name ? strcmp(wirings[i]->name, name) == 0 :
			   wirings[i]->there())
			return wirings[i];
	return NULL;
}

int bgdma_job_open_sized(struct bgdma_job **jobp,
			 const struct bgdma_job_attr *attr, size_t size)
{
	struct bgdma_job_attr a;
	struct bgdma_job *job;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->timeout_ms = a.timeout_ms;
	job->wiring = wiring_find(a.wiring);
	if (!job->wiring)
		ret = -EINVAL;
	else if (!job->wiring->there())
		ret = -ENOENT;
	else
		ret = job->wiring->open(job);
	if (ret) {
		free(job);
		return ret;
	}
	pthread_mutex_init(&job->lock, NULL);
	*jobp = job;
	return 0;
}

void bgdma_job_close(struct bgdma_job *job)
{
	struct job_key *key;

	if (!job)
		return;
	job->wiring->close(job);
	while ((key = job->keys)) {
		job->keys = key->next;
		free(key);
	}
	pthread_mutex_destroy(&job->lock);
	free(job);
}

uint32_t bgdma_job_rank(const struct bgdma_job *job)
{
	return job->rank;
}

uint32_t bgdma_job_size(const struct bgdma_job *job)
{
	return job->size;
}

const char *bgdma_job_wiring(const struct bgdma_job *job)
{
	return job->wiring->name;
}

static int job_put(struct bgdma_job *job, const char *name, const void *value,
		   size_t bytes)
{
	struct job_key *key;
	int ret;

	for (key = job->keys; key; key = key->next)
		if (!strcmp(key->name, name))
			return -EEXIST;
	key = calloc(1, sizeof(*key));
	if (!key)
		return -ENOMEM;
	ret = job->wiring->put(job, name, value, bytes);
	if (ret) {
		free(key);
		return ret;
	}
	snprintf(key->name, sizeof(key->name), "%s", name);
	key->next = job->keys;
	job->keys = key;
	return 0;
}

int bgdma_job_put(struct bgdma_job *job, const char *key, const void *value,
		  size_t bytes)
{
	int ret;

	if (!key_good(key) || !bytes || bytes > BGDMA_JOB_VALUE_MAX)
		return -EINVAL;
	pthread_mutex_lock(&job->lock);
	ret = job_put(job, key, value, bytes);
	pthread_mutex_unlock(&job->lock);
	return ret;
}

int bgdma_job_fence(struct bgdma_job *job)
{
	int ret;

	pthread_mutex_lock(&job->lock);
	ret = job->wiring->fence(job);
	pthread_mutex_unlock(&job->lock);
	return ret;
}

int bgdma_job_get(struct bgdma_job *job, uint32_t rank, const char *key,
		  void *value, size_t size)
{
	int ret;

	if (rank >= job->size || !key_good(key))
		return -EINVAL;
	pthread_mutex_lock(&job->lock);
	ret = job->wiring->get(job, rank, key, value, size);
	pthread_mutex_unlock(&job->lock);
	return ret;
}
