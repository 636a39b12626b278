// SPDX-License-Identifier: GPL-2.0
/*
 * The job, without any launcher: processes of the test's own, told by
 * variables, by a PMI-1 server in the test, and by a PMIx library in the test.
 * tools/check/job asks real launchers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <bgdma/job.h>

#include "kselftest_harness.h"
#include "sys_require.h"
#include "utils.h"

#define RANKS	4

static void forget(void)
{
	static const char *const names[] = {
		"BGDMA_RANK", "BGDMA_SIZE", "BGDMA_JOB_DIR", "PMI_FD",
		"PMI_RANK", "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

static void set(const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	setenv(name, text, 1);
}

static int open_as(struct bgdma_job **job, const char *wiring)
{
	return bgdma_job_open(job, &(struct bgdma_job_attr){
			.wiring = wiring, .timeout_ms = 60000 * slowness() });
}

/* What each process of a job does, whatever the wiring: its exit code. */
static int member(const char *wiring, unsigned int rank, unsigned int size)
{
	unsigned char value[BGDMA_JOB_VALUE_MAX], got[BGDMA_JOB_VALUE_MAX];
	struct bgdma_job *job;
	unsigned int i, r;

	require(open_as(&job, NULL) == 0);
	require(strcmp(bgdma_job_wiring(job), wiring) == 0);
	require(bgdma_job_rank(job) == rank);
	require(bgdma_job_size(job) == size);

	/* All bytes, the longest value, and one that others have too. */
	for (i = 0; i < sizeof(value); i++)
		value[i] = (unsigned char)(i + rank);
	require(bgdma_job_put(job, "all-bytes", value, sizeof(value)) == 0);
	require(bgdma_job_put(job, "all", &rank, sizeof(rank)) == 0);
	require(bgdma_job_fence(job) == 0);
	for (r = 0; r < size; r++) {
		require(bgdma_job_get(job, r, "all", got, sizeof(got)) == 4);
		require(memcmp(got, &r, 4) == 0);
		require(bgdma_job_get(job, r, "all-bytes", got,
				      sizeof(got)) == sizeof(got));
		for (i = 0; i < sizeof(got); i++)
			require(got[i] == (unsigned char)(i + r));
	}
	require(bgdma_job_get(job, 0, "all", got, 3) == -EMSGSIZE);
	require(bgdma_job_get(job, 0, "none", got, 4) == -ENOENT);
	require(bgdma_job_get(job, size, "all", got, 4) == -EINVAL);

	/* After another fence both rounds are there. */
	require(bgdma_job_put(job, "second", "x", 1) == 0);
	require(bgdma_job_fence(job) == 0);
	for (r = 0; r < size; r++) {
		require(bgdma_job_get(job, r, "second", got, 1) == 1);
		require(bgdma_job_get(job, r, "all", got, 4) == 4);
	}

	require(bgdma_job_put(job, "", "x", 1) == -EINVAL);
	require(bgdma_job_put(job, "a b", "x", 1) == -EINVAL);
	require(bgdma_job_put(job, "a=b", "x", 1) == -EINVAL);
	require(bgdma_job_put(job, "0123456789abcdef0123456789abcdef", "x",
			      1) == -EINVAL);
	require(bgdma_job_put(job, "a", "x", 0) == -EINVAL);
	require(bgdma_job_put(job, "a", value, sizeof(value) + 1) == -EINVAL);
	bgdma_job_close(job);
	return 0;
}

static pid_t fork_member(const char *wiring, unsigned int rank)
{
	pid_t pid = must(fork());

	if (!pid)
		_exit(member(wiring, rank, RANKS));
	return pid;
}

static bool all_well(const pid_t *pids, unsigned int count)
{
	bool well = true;
	unsigned int i;
	int status;

	for (i = 0; i < count; i++) {
		must(waitpid(pids[i], &status, 0));
		well &= WIFEXITED(status) && !WEXITSTATUS(status);
	}
	return well;
}

/* ---- Variables --------------------------------------------------------- */

FIXTURE(env) {
	char dir[32];
};

FIXTURE_SETUP(env)
{
	forget();
	snprintf(self->dir, sizeof(self->dir), "/tmp/job.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	setenv("BGDMA_JOB_DIR", self->dir, 1);
}

FIXTURE_TEARDOWN(env)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", self->dir);
	EXPECT_EQ(0, system(command));
}

TEST_F(env, many)
{
	pid_t pids[RANKS];
	unsigned int i;

	set("BGDMA_SIZE", RANKS);
	for (i = 0; i < RANKS; i++) {
		set("BGDMA_RANK", i);
		pids[i] = fork_member("env", i);
	}
	EXPECT_TRUE(all_well(pids, RANKS));
}

TEST_F(env, one)
{
	unsetenv("BGDMA_JOB_DIR");
	set("BGDMA_SIZE", 1);
	set("BGDMA_RANK", 0);
	EXPECT_EQ(0, member("env", 0, 1));
}

TEST_F(env, nonsense)
{
	static const char *const bad[][2] = {
		{ "0", NULL }, { NULL, "2" }, { "2", "2" }, { "-1", "2" },
		{ "0", "0" }, { "0x1", "2" }, { "1 ", "2" }, { "", "2" },
		{ "0", "99999999999999999999" },
	};
	struct bgdma_job *job;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		unsetenv("BGDMA_RANK");
		unsetenv("BGDMA_SIZE");
		if (bad[i][0])
			setenv("BGDMA_RANK", bad[i][0], 1);
		if (bad[i][1])
			setenv("BGDMA_SIZE", bad[i][1], 1);
		EXPECT_EQ(-EINVAL, open_as(&job, NULL));
	}
	/* Two processes without a folder cannot meet. */
	setenv("BGDMA_RANK", "0", 1);
	setenv("BGDMA_SIZE", "2", 1);
	unsetenv("BGDMA_JOB_DIR");
	EXPECT_EQ(-EINVAL, open_as(&job, NULL));
	EXPECT_EQ(-EINVAL, open_as(&job, "no such wiring"));
	EXPECT_EQ(-ENOENT, open_as(&job, "pmi1"));
}

/* A folder of an earlier job, one that is not there, and nobody else. */
TEST_F(env, folder)
{
	const struct bgdma_job_attr hasty = { .timeout_ms = 20 };
	struct bgdma_job *job;

	set("BGDMA_SIZE", 2);
	set("BGDMA_RANK", 1);
	ASSERT_EQ(0, bgdma_job_open(&job, &hasty));
	EXPECT_EQ(-ETIMEDOUT, bgdma_job_fence(job));
	bgdma_job_close(job);

	ASSERT_EQ(0, bgdma_job_open(&job, &hasty));
	EXPECT_EQ(-EEXIST, bgdma_job_fence(job));
	bgdma_job_close(job);

	setenv("BGDMA_JOB_DIR", "/tmp/no/such/folder", 1);
	ASSERT_EQ(0, bgdma_job_open(&job, &hasty));
	EXPECT_EQ(-ENOENT, bgdma_job_fence(job));
	bgdma_job_close(job);
}

TEST(single)
{
	struct bgdma_job *job;
	char byte;

	forget();
	EXPECT_EQ(0, member("single", 0, 1));
	/* What was put is there only after the fence. */
	ASSERT_EQ(0, bgdma_job_open(&job, NULL));
	EXPECT_EQ(0, bgdma_job_put(job, "key", "x", 1));
	EXPECT_EQ(-ENOENT, bgdma_job_get(job, 0, "key", &byte, 1));
	EXPECT_EQ(0, bgdma_job_fence(job));
	EXPECT_EQ(1, bgdma_job_get(job, 0, "key", &byte, 1));
	EXPECT_EQ(-EEXIST, bgdma_job_put(job, "key", "y", 1));
	bgdma_job_close(job);
}

/* ---- PMI-1: the server's side of it ------------------------------------ */

struct client {
	int fd;
	size_t fill;
	char line[2048];
};

struct server {
	struct client client[RANKS];
	unsigned int clients, inside, values;
	const char *break_at;		/* the command that it answers */
	const char *break_with;		/* with this; "": by hanging up */
	char kvs[64][2][1024];
};

static void answer(int fd, const char *text)
{
	size_t bytes = strlen(text);

	/* In two pieces, as sockets may. */
	must(send(fd, text, bytes / 2, MSG_NOSIGNAL));
	must(send(fd, text + bytes / 2, bytes - bytes / 2, MSG_NOSIGNAL));
}

static void server_get(struct server *s, int fd, const char *key)
{
	char text[1100];
	unsigned int i;

	for (i = 0; i < s->values; i++) {
		if (strcmp(s->kvs[i][0], key) != 0)
			continue;
		snprintf(text, sizeof(text),
			 "cmd=get_result rc=0 msg=success value=%s\n",
			 s->kvs[i][1]);
		answer(fd, text);
		return;
	}
	/* As hydra says it. */
	answer(fd, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

static void server_line(struct server *s, struct client *c)
{
	char cmd[64], kvs[64], key[128], value[1024];
	unsigned int i;

	if (sscanf(c->line, "cmd=%63s", cmd) != 1)
		must(-EPROTO);
	if (s->break_at && !strcmp(cmd, s->break_at)) {
		if (*s->break_with)
			answer(c->fd, s->break_with);
		else
			must(shutdown(c->fd, SHUT_RDWR));
	} else if (!strcmp(cmd, "init")) {
		answer(c->fd, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	} else if (!strcmp(cmd, "get_maxes")) {
		answer(c->fd, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
	} else if (!strcmp(cmd, "get_my_kvsname")) {
		answer(c->fd, "cmd=my_kvsname kvsname=kvs_0\n");
	} else if (sscanf(c->line, "cmd=put kvsname=%63s key=%127s value=%1023s",
			  kvs, key, value) == 3) {
		memcpy(s->kvs[s->values][0], key, sizeof(key));
		memcpy(s->kvs[s->values++][1], value, sizeof(value));
		answer(c->fd, "cmd=put_result rc=0 msg=success\n");
	} else if (sscanf(c->line, "cmd=get kvsname=%63s key=%127s", kvs,
			  key) == 2) {
		server_get(s, c->fd, key);
	} else if (!strcmp(cmd, "barrier_in")) {
		if (++s->inside < s->clients)
			return;
		s->inside = 0;
		for (i = 0; i < s->clients; i++)
			answer(s->client[i].fd, "cmd=barrier_out rc=0\n");
	} else if (!strcmp(cmd, "finalize")) {
		answer(c->fd, "cmd=finalize_ack rc=0\n");
	} else {
		must(-EPROTO);
	}
}

/* Serve until all have hung up. */
static void serve(struct server *s)
{
	struct pollfd pfd[RANKS];
	unsigned int i, open = s->clients;
	struct client *c;
	char *end;
	ssize_t n;

	for (i = 0; i < s->clients; i++)
		pfd[i] = (struct pollfd){ s->client[i].fd, POLLIN, 0 };
	while (open) {
		must(poll(pfd, s->clients, -1));
		for (i = 0; i < s->clients; i++) {
			if (!pfd[i].revents)
				continue;
			c = &s->client[i];
			n = recv(c->fd, c->line + c->fill,
				 sizeof(c->line) - 1 - c->fill, 0);
			if (n <= 0) {
				pfd[i].fd = -1;
				close(c->fd);
				open--;
				continue;
			}
			c->fill += (size_t)n;
			c->line[c->fill] = '\0';
			while ((end = strchr(c->line, '\n'))) {
				*end = '\0';
				server_line(s, c);
				c->fill -= (size_t)(end + 1 - c->line);
				memmove(c->line, end + 1, c->fill + 1);
			}
		}
	}
}

/* A pair of sockets: one end for the server, the other in PMI_FD. */
static int connect_client(struct server *s, unsigned int rank)
{
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	s->client[s->clients++].fd = pair[0];
	set("PMI_FD", (unsigned int)pair[1]);
	set("PMI_RANK", rank);
	set("PMI_SIZE", RANKS);
	return pair[1];
}

TEST(pmi1_many)
{
	static struct server server;
	pid_t pids[RANKS];
	unsigned int i;
	int fd;

	forget();
	for (i = 0; i < RANKS; i++) {
		fd = connect_client(&server, i);
		pids[i] = fork_member("pmi1", i);
		close(fd);
	}
	/* The children hold copies of the ends that came before theirs. */
	serve(&server);
	EXPECT_TRUE(all_well(pids, RANKS));
}

static void *serve_thread(void *server)
{
	serve(server);
	return NULL;
}

/* One process of a job of one, whose launcher goes wrong at one command. */
static int pmi1_broken(const char *at, const char *with)
{
	static struct server server;
	struct bgdma_job *job;
	pthread_t thread;
	int ret, fd;
	char byte;

	memset(&server, 0, sizeof(server));
	server.break_at = at;
	server.break_with = with;
	fd = connect_client(&server, 0);
	set("PMI_SIZE", 1);
	must(-pthread_create(&thread, NULL, serve_thread, &server));
	ret = bgdma_job_open(&job, &(struct bgdma_job_attr){
			.timeout_ms = 20 });
	if (ret) {
		close(fd);
	} else {
		ret = bgdma_job_put(job, "key", "x", 1);
		if (!ret)
			ret = bgdma_job_fence(job);
		if (!ret)
			ret = bgdma_job_get(job, 0, "key", &byte, 1);
		if (ret == 1)
			ret = 0;
		bgdma_job_close(job);
	}
	pthread_join(thread, NULL);
	return ret;
}

TEST(pmi1_nonsense)
{
	static char endless[4096];
	struct bgdma_job *job;

	forget();
	memset(endless, 'x', sizeof(endless) - 1);
	EXPECT_EQ(0, pmi1_broken(NULL, NULL));
	EXPECT_EQ(-EPIPE, pmi1_broken("init", ""));
	EXPECT_EQ(-EPROTO, pmi1_broken("init", "hello\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("init", endless));
	EXPECT_EQ(-EPROTO, pmi1_broken("init", "cmd=response_to_initx\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("init",
				       "cmd=response_to_init rc=-1\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("get_maxes", "cmd=maxes\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("get_maxes",
				       "cmd=maxes vallen_max=512\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("get_my_kvsname",
				       "cmd=my_kvsname x=1\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("put", "cmd=put_result rc=-1\n"));
	EXPECT_EQ(-EPIPE, pmi1_broken("put", ""));
	EXPECT_EQ(-ETIMEDOUT, pmi1_broken("barrier_in", "cmd=barr"));
	EXPECT_EQ(-EPIPE, pmi1_broken("barrier_in", ""));
	EXPECT_EQ(-EPROTO, pmi1_broken("barrier_in", "cmd=hello\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("barrier_in",
				       "cmd=barrier_out rc=-1\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("get",
				       "cmd=get_result rc=0 value=7g\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("get",
				       "cmd=get_result rc=0 value=777\n"));
	EXPECT_EQ(-EPROTO, pmi1_broken("get", "cmd=get_result rc=0\n"));
	EXPECT_EQ(-EMSGSIZE, pmi1_broken("get",
				"cmd=get_result rc=0 value=0707\n"));
	/* A launcher that hangs up at the end is no harm. */
	EXPECT_EQ(0, pmi1_broken("finalize", ""));

	unsetenv("PMI_SIZE");
	EXPECT_EQ(-EINVAL, open_as(&job, NULL));
}

/* ---- PMIx: a library of the test's own --------------------------------- */

#if __has_include(<pmix.h>)

#include <pmix.h>

struct pair {
	unsigned int rank;
	char key[64];
	size_t bytes;
	char value[BGDMA_JOB_VALUE_MAX];
};

static struct pmix_fake {
	pthread_barrier_t barrier;
	pthread_mutex_t lock;
	unsigned int values;
	struct pair value[64];
} *pmix;

static unsigned int pmix_rank, pmix_options;
static bool pmix_missing;

static pmix_status_t fake_init(pmix_proc_t *proc, pmix_info_t *info,
			       size_t ninfo)
{
	(void)info;
	(void)ninfo;
	memset(proc, 0, sizeof(*proc));
	snprintf(proc->nspace, sizeof(proc->nspace), "test");
	proc->rank = pmix_rank;
	return PMIX_SUCCESS;
}

static pmix_status_t fake_finalize(const pmix_info_t *info, size_t ninfo)
{
	(void)info;
	(void)ninfo;
	return PMIX_SUCCESS;
}

static pmix_status_t fake_put(pmix_scope_t scope, const char *key,
			      pmix_value_t *value)
{
	struct pair *to;

	if (scope != PMIX_GLOBAL || value->type != PMIX_BYTE_OBJECT)
		return PMIX_ERR_BAD_PARAM;
	pthread_mutex_lock(&pmix->lock);
	to = &pmix->value[pmix->values++];
	to->rank = pmix_rank;
	to->bytes = value->data.bo.size;
	snprintf(to->key, sizeof(to->key), "%s", key);
	memcpy(to->value, value->data.bo.bytes, to->bytes);
	pthread_mutex_unlock(&pmix->lock);
	return PMIX_SUCCESS;
}

static pmix_status_t fake_commit(void)
{
	return PMIX_SUCCESS;
}

static pmix_status_t fake_fence(const pmix_proc_t *procs, size_t nprocs,
				const pmix_info_t *info, size_t ninfo)
{
	(void)procs;
	(void)nprocs;
	if (ninfo < 1 || strcmp(info[0].key, PMIX_COLLECT_DATA) != 0 ||
	    !info[0].value.data.flag)
		return PMIX_ERR_BAD_PARAM;
	pmix_options |= ninfo == 2 && !strcmp(info[1].key, PMIX_TIMEOUT);
	pthread_barrier_wait(&pmix->barrier);
	return PMIX_SUCCESS;
}

static pmix_status_t fake_get(const pmix_proc_t *proc, const char *key,
			      const pmix_info_t *info, size_t ninfo,
			      pmix_value_t **value)
{
	pmix_value_t *v;
	unsigned int i;

	(void)info;
	(void)ninfo;
	if (strcmp(proc->nspace, "test") != 0)
		return PMIX_ERR_BAD_PARAM;
	v = calloc(1, sizeof(*v));
	*value = v;
	if (proc->rank == PMIX_RANK_WILDCARD && !strcmp(key, PMIX_JOB_SIZE)) {
		v->type = PMIX_UINT32;
		v->data.uint32 = RANKS;
		return PMIX_SUCCESS;
	}
	for (i = 0; i < pmix->values; i++) {
		struct pair *p = &pmix->value[i];

		if (p->rank != proc->rank || strcmp(p->key, key) != 0)
			continue;
		v->type = PMIX_BYTE_OBJECT;
		v->data.bo.size = p->bytes;
		v->data.bo.bytes = malloc(p->bytes);
		memcpy(v->data.bo.bytes, p->value, p->bytes);
		return PMIX_SUCCESS;
	}
	free(v);
	*value = NULL;
	return PMIX_ERR_NOT_FOUND;
}

/* In front of the C library: the only library that is loaded is ours. */
void *dlopen(const char *file, int mode)
{
	(void)mode;
	return pmix && !pmix_missing && !strcmp(file, "libpmix.so.2") ? pmix :
									NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
	static const struct {
		const char *name;
		void *function;
	} table[] = {
		{ "PMIx_Init", fake_init }, { "PMIx_Finalize", fake_finalize },
		{ "PMIx_Put", fake_put }, { "PMIx_Commit", fake_commit },
		{ "PMIx_Fence", fake_fence }, { "PMIx_Get", fake_get },
	};
	unsigned int i;

	(void)handle;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(name, table[i].name))
			return table[i].function;
	return NULL;
}

TEST(pmix_many)
{
	pthread_barrierattr_t barrier;
	pthread_mutexattr_t mutex;
	struct bgdma_job *job;
	pid_t pids[RANKS];

	forget();
	pmix = shared(sizeof(*pmix));
	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&pmix->barrier, &barrier, RANKS);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&pmix->lock, &mutex);
	setenv("PMIX_NAMESPACE", "test", 1);
	setenv("PMIX_RANK", "0", 1);
	for (pmix_rank = 0; pmix_rank < RANKS; pmix_rank++)
		pids[pmix_rank] = fork_member("pmix", pmix_rank);
	EXPECT_TRUE(all_well(pids, RANKS));

	/* A launcher, but no library; a rank beyond the job. */
	pmix_missing = true;
	EXPECT_EQ(-ENOTSUP, open_as(&job, NULL));
	pmix_missing = false;
	pmix_rank = RANKS;
	EXPECT_EQ(-EPROTO, open_as(&job, NULL));
}

#endif

TEST_HARNESS_MAIN
