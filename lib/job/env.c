// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A job by plain variables, and a folder that its processes share; or a job of
 * one, which needs neither.
 *
 * At fence n process r makes the file n.r in the folder, with a line for each
 * value that it put since the last fence, and waits for those of the others. A
 * file gets its name when it is complete.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define NAP_NS		1000000		/* 1 ms, between two looks for a file */
#define PATH_ROOM	64		/* for "/NUMBER.RANK.new" */

struct pair {
	struct pair *next;
	uint32_t fence;			/* the one that it was put before */
	size_t bytes;
	char key[BGDMA_JOB_KEY_MAX];
	unsigned char value[];
};

struct env {
	struct pair *pairs;		/* of our own, latest first */
	uint32_t fences;		/* done */
	bool said;			/* our file for the next one is there */
	size_t path_size;
	char *path;			/* to compose names in */
	char dir[];			/* of a job of one: empty */
};

static bool env_there(void)
{
	return getenv("BGDMA_RANK") || getenv("BGDMA_SIZE");
}

static int env_state(struct bgdma_job *job, const char *dir)
{
	size_t length = strlen(dir);
	struct env *env = calloc(1, sizeof(*env) + length + 1);

	if (!env)
		return -ENOMEM;
	memcpy(env->dir, dir, length + 1);
	env->path_size = length + PATH_ROOM;
	env->path = malloc(env->path_size);
	if (!env->path) {
		free(env);
		return -ENOMEM;
	}
	job->state = env;
	return 0;
}

static int env_open(struct bgdma_job *job)
{
	const char *dir = getenv("BGDMA_JOB_DIR");

	if (!job_variable("BGDMA_SIZE", JOB_SIZE_MAX, &job->size) ||
	    !job_variable("BGDMA_RANK", JOB_SIZE_MAX, &job->rank) ||
	    job->rank >= job->size)
		return -EINVAL;
	if (job->size == 1)
		dir = "";
	else if (!dir || !*dir)
		return -EINVAL;
	return env_state(job, dir);
}

static void env_close(struct bgdma_job *job)
{
	struct env *env = job->state;
	struct pair *pair, *next;

	for (pair = env->pairs; pair; pair = next) {
		next = pair->next;
		free(pair);
	}
	free(env->path);
	free(env);
}

static int env_put(struct bgdma_job *job, const char *key, const void *value,
		   size_t bytes)
{
	struct pair *pair = calloc(1, sizeof(*pair) + bytes);
	struct env *env = job->state;

	if (!pair)
		return -ENOMEM;
	/* A fence that timed out, and is to be called again, has its file. */
	pair->fence = env->fences + env->said;
	pair->bytes = bytes;
	snprintf(pair->key, sizeof(pair->key), "%s", key);
	memcpy(pair->value, value, bytes);
	pair->next = env->pairs;
	env->pairs = pair;
	return 0;
}

static const char *env_path(struct env *env, uint32_t fence, uint32_t rank,
			    const char *suffix)
{
	snprintf(env->path, env->path_size, "%s/%u.%u%s", env->dir, fence, rank,
		 suffix);
	return env->path;
}

/* The lines of what was put since the last fence. */
static int env_write_lines(const struct env *env, FILE *file)
{
	char hex[JOB_HEX_MAX];
	const struct pair *pair;

	for (pair = env->pairs; pair; pair = pair->next) {
		if (pair->fence != env->fences)
			break;
		job_to_hex(pair->value, pair->bytes, hex);
		if (fprintf(file, "%s %s\n", pair->key, hex) < 0)
			return -errno;
	}
	return 0;
}

/* link() and not rename(): it refuses a name that is there. */
static int env_write(struct bgdma_job *job)
{
	struct env *env = job->state;
	char *name;
	FILE *file;
	int ret;

	file = fopen(env_path(env, env->fences, job->rank, ".new"), "wxe");
	if (!file)
		return -errno;
	ret = env_write_lines(env, file);
	if (fclose(file) && !ret)
		ret = -errno;
	name = strdup(env->path);
	if (!name) {
		unlink(env->path);
		return -ENOMEM;
	}
	if (!ret && link(name, env_path(env, env->fences, job->rank, "")))
		ret = -errno;
	unlink(name);
	free(name);
	return ret;
}

/* @deadline in ms; 0: for ever. */
static int env_await(struct bgdma_job *job, uint32_t rank, int64_t deadline)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct env *env = job->state;
	const char *path = env_path(env, env->fences, rank, "");

	while (access(path, R_OK)) {
		if (errno != ENOENT)
			return -errno;
		if (deadline && job_now_ms() >= deadline)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
	return 0;
}

static int env_fence(struct bgdma_job *job)
{
	int64_t deadline = job_deadline(job);
	struct env *env = job->state;
	uint32_t rank;
	int ret = 0;

	if (job->size > 1 && !env->said) {
		ret = env_write(job);
		env->said = !ret;
	}
	for (rank = 0; !ret && job->size > 1 && rank < job->size; rank++)
		ret = env_await(job, rank, deadline);
	if (!ret) {
		env->fences++;
		env->said = false;
	}
	return ret;
}

static int env_get_own(const struct env *env, const char *key, void *value,
		       size_t size)
{
	const struct pair *pair;

	for (pair = env->pairs; pair; pair = pair->next) {
		if (pair->fence >= env->fences || strcmp(pair->key, key))
			continue;
		if (pair->bytes > size)
			return -EMSGSIZE;
		memcpy(value, pair->value, pair->bytes);
		return (int)pair->bytes;
	}
	return -ENOENT;
}

static int env_get_from(const char *path, const char *key, void *value,
			size_t size)
{
	char line[BGDMA_JOB_KEY_MAX + JOB_HEX_MAX + 1];
	size_t length = strlen(key);
	FILE *file = fopen(path, "re");
	int ret = -ENOENT;

	if (!file)
		return -errno;
	while (ret == -ENOENT && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, key, length) == 0 && line[length] == ' ')
			ret = job_from_hex(line + length + 1, value, size);
	}
	fclose(file);
	return ret;
}

static int env_get(struct bgdma_job *job, uint32_t rank, const char *key,
		   void *value, size_t size)
{
	struct env *env = job->state;
	int ret = -ENOENT;
	uint32_t fence;

	if (rank == job->rank)
		return env_get_own(env, key, value, size);
	for (fence = 0; ret == -ENOENT && fence < env->fences; fence++)
		ret = env_get_from(env_path(env, fence, rank, ""), key, value,
				   size);
	return ret;
}

const struct wiring wiring_env = {
	.name = "env", .there = env_there, .open = env_open,
	.close = env_close, .put = env_put, .fence = env_fence, .get = env_get,
};

static bool single_there(void)
{
	return true;
}

static int single_open(struct bgdma_job *job)
{
	job->rank = 0;
	job->size = 1;
	return env_state(job, "");
}

const struct wiring wiring_single = {
	.name = "single", .there = single_there, .open = single_open,
	.close = env_close, .put = env_put, .fence = env_fence, .get = env_get,
};
