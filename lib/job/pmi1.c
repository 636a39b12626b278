// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * PMI-1, which mpiexec.hydra speaks: lines of words key=value, over a socket
 * whose number the launcher left in PMI_FD. All values share one space of
 * names, so ours begin with the rank; and they are text.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

#define LINE_MAX_BYTES	2048
#define NAME_MAX_BYTES	512
#define KEY_ROOM	(BGDMA_JOB_KEY_MAX + 16)

/* Of the launcher's barrier: a fence that timed out left us inside. */
enum barrier { OUTSIDE, INSIDE, LET_OUT };

struct pmi1 {
	int fd;
	enum barrier barrier;
	size_t fill;			/* bytes of @in */
	char kvs[NAME_MAX_BYTES];
	char in[LINE_MAX_BYTES];
	char line[LINE_MAX_BYTES];	/* the last answer, zero-terminated */
	char word[LINE_MAX_BYTES];	/* of it */
};

static bool pmi1_there(void)
{
	return getenv("PMI_FD");
}

__attribute__((format(printf, 2, 3)))
static int pmi1_say(struct pmi1 *pmi, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	const char *from = line;
	va_list args;
	ssize_t n;
	int left;

	va_start(args, format);
	left = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (left < 0 || left >= (int)sizeof(line))
		return -EPROTO;
	while (left) {
		n = send(pmi->fd, from, (size_t)left, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		left -= (int)n;
	}
	return 0;
}

/* Wait until something can be read. @deadline in ms; 0: for ever. */
static int pmi1_poll(struct pmi1 *pmi, int64_t deadline)
{
	struct pollfd pfd = { .fd = pmi->fd, .events = POLLIN };
	int64_t left = -1;
	int ret;

	do {
		if (deadline) {
			left = deadline - job_now_ms();
			if (left < 0)
				left = 0;
		}
		ret = poll(&pfd, 1, left > 3600000 ? 3600000 : (int)left);
	} while ((ret < 0 && errno == EINTR) || (!ret && left > 0));
	if (ret < 0)
		return -errno;
	return ret ? 0 : -ETIMEDOUT;
}

/* The next line into @pmi->line. */
static int pmi1_next(struct pmi1 *pmi, int64_t deadline)
{
	size_t length;
	char *end;
	ssize_t n;
	int ret;

	while (!(end = memchr(pmi->in, '\n', pmi->fill))) {
		if (pmi->fill == sizeof(pmi->in))
			return -EPROTO;
		ret = pmi1_poll(pmi, deadline);
		if (ret)
			return ret;
		n = recv(pmi->fd, pmi->in + pmi->fill,
			 sizeof(pmi->in) - pmi->fill, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		pmi->fill += (size_t)n;
	}
	length = (size_t)(end - pmi->in);
	memcpy(pmi->line, pmi->in, length);
	pmi->line[length] = '\0';
	pmi->fill -= length + 1;
	memmove(pmi->in, end + 1, pmi->fill);
	return 0;
}

static bool pmi1_is(const struct pmi1 *pmi, const char *cmd)
{
	size_t length = strlen(cmd);

	return !strncmp(pmi->line, "cmd=", 4) &&
	       !strncmp(pmi->line + 4, cmd, length) &&
	       (!pmi->line[4 + length] || pmi->line[4 + length] == ' ');
}

/* The next line but one that ends a barrier must be an answer @cmd. */
static int pmi1_hear(struct pmi1 *pmi, const char *cmd, int64_t deadline)
{
	int ret;

	ret = pmi1_next(pmi, deadline);
	if (!ret && pmi->barrier == INSIDE && pmi1_is(pmi, "barrier_out")) {
		pmi->barrier = LET_OUT;
		if (pmi1_is(pmi, cmd))
			return 0;
		ret = pmi1_next(pmi, deadline);
	}
	if (ret)
		return ret;
	return pmi1_is(pmi, cmd) ? 0 : -EPROTO;
}

/* A word of the last answer, until the next call; NULL: it has none. */
static const char *pmi1_word(struct pmi1 *pmi, const char *key)
{
	size_t length = strlen(key);
	const char *at = pmi->line;

	while ((at = strstr(at, key))) {
		if (at > pmi->line && at[-1] == ' ' && at[length] == '=') {
			at += length + 1;
			length = strcspn(at, " ");
			memcpy(pmi->word, at, length);
			pmi->word[length] = '\0';
			return pmi->word;
		}
		at += length;
	}
	return NULL;
}

/* Whether the last answer says that it went well. It may say nothing. */
static int pmi1_result(struct pmi1 *pmi)
{
	const char *rc = pmi1_word(pmi, "rc");

	return rc && strcmp(rc, "0") != 0 ? -EPROTO : 0;
}

static int pmi1_greet(struct pmi1 *pmi)
{
	uint32_t longest;
	const char *word;
	int ret;

	ret = pmi1_say(pmi, "cmd=init pmi_version=1 pmi_subversion=1\n");
	if (!ret)
		ret = pmi1_hear(pmi, "response_to_init", 0);
	if (!ret)
		ret = pmi1_result(pmi);
	if (!ret)
		ret = pmi1_say(pmi, "cmd=get_maxes\n");
	if (!ret)
		ret = pmi1_hear(pmi, "maxes", 0);
	if (ret)
		return ret;
	word = pmi1_word(pmi, "vallen_max");
	if (!word || !job_number(word, UINT32_MAX, &longest) ||
	    longest < JOB_HEX_MAX)
		return -EPROTO;

	ret = pmi1_say(pmi, "cmd=get_my_kvsname\n");
	if (!ret)
		ret = pmi1_hear(pmi, "my_kvsname", 0);
	if (ret)
		return ret;
	word = pmi1_word(pmi, "kvsname");
	if (!word || strlen(word) >= sizeof(pmi->kvs))
		return -EPROTO;
	memcpy(pmi->kvs, word, strlen(word) + 1);
	return 0;
}

static int pmi1_open(struct bgdma_job *job)
{
	struct pmi1 *pmi;
	uint32_t fd;
	int ret;

	if (!job_variable("PMI_FD", INT32_MAX, &fd) ||
	    !job_variable("PMI_SIZE", JOB_SIZE_MAX, &job->size) ||
	    !job_variable("PMI_RANK", JOB_SIZE_MAX, &job->rank) ||
	    job->rank >= job->size)
		return -EINVAL;
	pmi = calloc(1, sizeof(*pmi));
	if (!pmi)
		return -ENOMEM;
	pmi->fd = (int)fd;
	ret = pmi1_greet(pmi);
	if (ret) {
		free(pmi);
		return ret;
	}
	job->state = pmi;
	return 0;
}

static void pmi1_close(struct bgdma_job *job)
{
	struct pmi1 *pmi = job->state;

	/* The launcher takes an end without this word for a crash. */
	if (!pmi1_say(pmi, "cmd=finalize\n"))
		(void)pmi1_hear(pmi, "finalize_ack", 0);
	close(pmi->fd);
	free(pmi);
}

static const char *pmi1_key(char *buf, uint32_t rank, const char *key)
{
	snprintf(buf, KEY_ROOM, "%u.%s", rank, key);
	return buf;
}

static int pmi1_put(struct bgdma_job *job, const char *key, const void *value,
		    size_t bytes)
{
	struct pmi1 *pmi = job->state;
	char hex[JOB_HEX_MAX], name[KEY_ROOM];
	int ret;

	job_to_hex(value, bytes, hex);
	ret = pmi1_say(pmi, "cmd=put kvsname=%s key=%s value=%s\n", pmi->kvs,
		       pmi1_key(name, job->rank, key), hex);
	if (!ret)
		ret = pmi1_hear(pmi, "put_result", 0);
	return ret ? ret : pmi1_result(pmi);
}

static int pmi1_fence(struct bgdma_job *job)
{
	int64_t deadline = job_deadline(job);
	struct pmi1 *pmi = job->state;
	int ret = 0;

	if (pmi->barrier == OUTSIDE) {
		ret = pmi1_say(pmi, "cmd=barrier_in\n");
		if (!ret)
			pmi->barrier = INSIDE;
	}
	if (!ret && pmi->barrier == INSIDE) {
		ret = pmi1_hear(pmi, "barrier_out", deadline);
		if (!ret)
			ret = pmi1_result(pmi);
	}
	if (ret != -ETIMEDOUT)
		pmi->barrier = OUTSIDE;
	return ret;
}

static int pmi1_get(struct bgdma_job *job, uint32_t rank, const char *key,
		    void *value, size_t size)
{
	struct pmi1 *pmi = job->state;
	char name[KEY_ROOM];
	const char *word;
	int ret;

	ret = pmi1_say(pmi, "cmd=get kvsname=%s key=%s\n", pmi->kvs,
		       pmi1_key(name, rank, key));
	if (!ret)
		ret = pmi1_hear(pmi, "get_result", 0);
	if (ret)
		return ret;
	if (pmi1_result(pmi))
		return -ENOENT;
	word = pmi1_word(pmi, "value");
	return word ? job_from_hex(word, value, size) : -EPROTO;
}

const struct wiring wiring_pmi1 = {
	.name = "pmi1", .there = pmi1_there, .open = pmi1_open,
	.close = pmi1_close, .put = pmi1_put, .fence = pmi1_fence,
	.get = pmi1_get,
};
