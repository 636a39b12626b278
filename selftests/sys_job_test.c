// SPDX-License-Identifier: GPL-2.0
/*
 * The job, without any launcher: processes of the test's own, told by
 * variables, and by a PMI-1 server in the test; sys_job_pmix_test has PMIx.
 * tools/check/job asks real launchers.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "kselftest_harness.h"
#include "sys_job.h"

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

/* A fence that timed out is called again; what was put meanwhile is of the next. */
TEST_F(env, again)
{
	const struct bgdma_job_attr hasty = { .timeout_ms = 20 };
	struct bgdma_job *early, *late;
	char byte;

	set("BGDMA_SIZE", 2);
	set("BGDMA_RANK", 1);
	ASSERT_EQ(0, bgdma_job_open(&early, &hasty));
	set("BGDMA_RANK", 0);
	ASSERT_EQ(0, bgdma_job_open(&late, &hasty));
	EXPECT_EQ(-ETIMEDOUT, bgdma_job_fence(early));
	EXPECT_EQ(-ETIMEDOUT, bgdma_job_fence(early));
	EXPECT_EQ(0, bgdma_job_put(early, "key", "x", 1));
	EXPECT_EQ(0, bgdma_job_fence(late));
	EXPECT_EQ(0, bgdma_job_fence(early));
	EXPECT_EQ(-ENOENT, bgdma_job_get(early, 1, "key", &byte, 1));
	EXPECT_EQ(-ETIMEDOUT, bgdma_job_fence(late));
	EXPECT_EQ(0, bgdma_job_fence(early));
	EXPECT_EQ(0, bgdma_job_fence(late));
	EXPECT_EQ(1, bgdma_job_get(late, 1, "key", &byte, 1));
	EXPECT_EQ(1, bgdma_job_get(early, 1, "key", &byte, 1));
	bgdma_job_close(early);
	bgdma_job_close(late);
}

static void ignore(int sig)
{
	(void)sig;
}

/* Signals that cut naps short do not make the time-out come sooner. */
TEST_F(env, signals)
{
	const struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { 0 };
	const struct bgdma_job_attr attr = { .timeout_ms = 300 };
	struct timespec from, to;
	struct bgdma_job *job;

	set("BGDMA_SIZE", 2);
	set("BGDMA_RANK", 1);
	ASSERT_EQ(0, bgdma_job_open(&job, &attr));
	signal(SIGALRM, ignore);
	clock_gettime(CLOCK_MONOTONIC, &from);
	setitimer(ITIMER_REAL, &often, NULL);
	EXPECT_EQ(-ETIMEDOUT, bgdma_job_fence(job));
	setitimer(ITIMER_REAL, &never, NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	EXPECT_LE(299, (to.tv_sec - from.tv_sec) * 1000 +
			       (to.tv_nsec - from.tv_nsec) / 1000000);
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

#define LINE_BYTES	2048	/* of an answer, with its end */
#define NAME_BYTES	512	/* of the space of names, with its end */
#define GARBAGE_ROUNDS	210

struct client {
	int fd;
	size_t fill;
	char line[2048];
};

struct server {
	struct client client[RANKS];
	unsigned int clients, inside, values;
	const char *break_at;		/* the command that it answers */
	const char *break_with;		/* with this */
	size_t break_bytes;		/* of it; 0: it hangs up */
	char kvs[64][2][1024];
};

/* In two pieces, as sockets may. Who was told nonsense before may have gone. */
static void answer_bytes(int fd, const char *text, size_t bytes)
{
	size_t half = bytes / 2;

	(void)send(fd, text, half, MSG_NOSIGNAL);
	(void)send(fd, text + half, bytes - half, MSG_NOSIGNAL);
}

static void answer(int fd, const char *text)
{
	answer_bytes(fd, text, strlen(text));
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
	char cmd[64], kvs[NAME_BYTES], key[128], value[1024];
	unsigned int i;

	if (sscanf(c->line, "cmd=%63s", cmd) != 1)
		must(-EPROTO);
	if (s->break_at && !strcmp(cmd, s->break_at)) {
		if (s->break_bytes)
			answer_bytes(c->fd, s->break_with, s->break_bytes);
		else
			must(shutdown(c->fd, SHUT_RDWR));
	} else if (!strcmp(cmd, "init")) {
		answer(c->fd, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	} else if (!strcmp(cmd, "get_maxes")) {
		answer(c->fd, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
	} else if (!strcmp(cmd, "get_my_kvsname")) {
		answer(c->fd, "cmd=my_kvsname kvsname=kvs_0\n");
	} else if (sscanf(c->line, "cmd=put kvsname=%511s key=%127s value=%1023s",
			  kvs, key, value) == 3) {
		memcpy(s->kvs[s->values][0], key, sizeof(key));
		memcpy(s->kvs[s->values++][1], value, sizeof(value));
		answer(c->fd, "cmd=put_result rc=0 msg=success\n");
	} else if (sscanf(c->line, "cmd=get kvsname=%511s key=%127s", kvs,
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
		/* It says what it was told. */
		must(s->break_at ? shutdown(c->fd, SHUT_RDWR) : -EPROTO);
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

/* One end of the launcher's barrier is not taken for the next one's. */
TEST(pmi1_again)
{
	const struct bgdma_job_attr patient = {
		.timeout_ms = 20000 * slowness() };
	const struct bgdma_job_attr hasty = { .timeout_ms = 20 };
	struct bgdma_job *early, *late;
	static struct server server;
	pthread_t thread;
	int fd;

	forget();
	fd = connect_client(&server, 0);
	connect_client(&server, 1);
	must(-pthread_create(&thread, NULL, serve_thread, &server));
	set("PMI_SIZE", 2);
	ASSERT_EQ(0, bgdma_job_open(&late, &patient));
	set("PMI_FD", (unsigned int)fd);
	set("PMI_RANK", 0);
	ASSERT_EQ(0, bgdma_job_open(&early, &hasty));
	EXPECT_EQ(-ETIMEDOUT, bgdma_job_fence(early));
	EXPECT_EQ(-ETIMEDOUT, bgdma_job_fence(early));
	EXPECT_EQ(0, bgdma_job_fence(late));
	EXPECT_EQ(0, bgdma_job_put(early, "key", "x", 1));
	EXPECT_EQ(0, bgdma_job_fence(early));
	EXPECT_EQ(-ETIMEDOUT, bgdma_job_fence(early));
	bgdma_job_close(early);
	bgdma_job_close(late);
	pthread_join(thread, NULL);
}

/* One process of a job of one, whose launcher goes wrong at one command. */
/* @timeout: in ms; only who waits for what never comes is to find out how long it is. */
static int pmi1_broken_by(const char *at, const char *with, size_t bytes,
			  uint32_t timeout)
{
	static struct server server;
	struct bgdma_job *job;
	pthread_t thread;
	int ret, fd;
	char byte;

	memset(&server, 0, sizeof(server));
	server.break_at = at;
	server.break_with = with;
	server.break_bytes = bytes;
	fd = connect_client(&server, 0);
	set("PMI_SIZE", 1);
	must(-pthread_create(&thread, NULL, serve_thread, &server));
	ret = bgdma_job_open(&job, &(struct bgdma_job_attr){
			.timeout_ms = timeout });
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

static int pmi1_broken(const char *at, const char *with)
{
	return pmi1_broken_by(at, with, with ? strlen(with) : 0,
			      20000 * slowness());
}

/* A line of @bytes, with its end, that begins as said. */
static const char *long_line(char *line, const char *begin, size_t bytes)
{
	memset(line, 'x', bytes - 1);
	memcpy(line, begin, strlen(begin));
	line[bytes - 1] = '\n';
	line[bytes] = '\0';
	return line;
}

TEST(pmi1_long_lines)
{
	static char line[2 * LINE_BYTES];

	forget();
	/* The longest that there may be, and one more. */
	EXPECT_EQ(0, pmi1_broken("init", long_line(line,
			"cmd=response_to_init rc=0 x=", LINE_BYTES)));
	EXPECT_EQ(-EPROTO, pmi1_broken("init", long_line(line,
			"cmd=response_to_init rc=0 x=", LINE_BYTES + 1)));
	/* In one word of it: the name of the space, a value, a number. */
	EXPECT_EQ(-EPROTO, pmi1_broken("get_my_kvsname", long_line(line,
			"cmd=my_kvsname kvsname=", LINE_BYTES)));
	EXPECT_EQ(-EPROTO, pmi1_broken("get_my_kvsname", long_line(line,
			"cmd=my_kvsname kvsname=",
			strlen("cmd=my_kvsname kvsname=") + NAME_BYTES + 1)));
	EXPECT_EQ(0, pmi1_broken("get_my_kvsname", long_line(line,
			"cmd=my_kvsname kvsname=",
			strlen("cmd=my_kvsname kvsname=") + NAME_BYTES)));
	EXPECT_EQ(-EPROTO, pmi1_broken("get", long_line(line,
			"cmd=get_result rc=0 value=", LINE_BYTES)));
	EXPECT_EQ(-EPROTO, pmi1_broken("get", long_line(line,
			"cmd=get_result rc=0 value=07", LINE_BYTES - 1)));
	EXPECT_EQ(-EPROTO, pmi1_broken("get_maxes", long_line(line,
			"cmd=maxes vallen_max=", LINE_BYTES)));
	EXPECT_EQ(-EPROTO, pmi1_broken("get_maxes",
			"cmd=maxes vallen_max=99999999999999999999999\n"));
	EXPECT_EQ(0, leaks());
}

/*
 * Answers with a few bytes that are something else, zeros too, and perhaps several
 * lines. Whatever comes of it, nobody hangs, and nobody reads what is not there.
 */
TEST(pmi1_garbage)
{
	static const char *const answers[][2] = {
		{ "init", "cmd=response_to_init pmi_version=1 rc=0\n" },
		{ "get_maxes", "cmd=maxes kvsname_max=256 vallen_max=1024\n" },
		{ "get_my_kvsname", "cmd=my_kvsname kvsname=kvs_0\n" },
		{ "put", "cmd=put_result rc=0 msg=success\n" },
		{ "barrier_in", "cmd=barrier_out rc=0\n" },
		{ "get", "cmd=get_result rc=0 msg=success value=78\n" },
		{ "finalize", "cmd=finalize_ack rc=0\n" },
	};
	static const char bytes[] = "\n =0rx\xff\x80-";
	unsigned int seed = 1, round, i, refused = 0;
	char answer[64];
	size_t length;

	forget();
	for (round = 0; round < GARBAGE_ROUNDS; round++) {
		const char *const *a = answers[round % 7];

		length = strlen(a[1]);
		memcpy(answer, a[1], length + 1);
		/* Not its end, without which all would wait for more. */
		for (i = 0; i <= round % 4; i++)
			answer[(size_t)rand_r(&seed) % (length - 1)] =
				bytes[(size_t)rand_r(&seed) % sizeof(bytes)];
		refused += pmi1_broken_by(a[0], answer, length, 20) < 0;
	}
	EXPECT_GT(refused, GARBAGE_ROUNDS / 4);
	EXPECT_EQ(0, leaks());
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
	EXPECT_EQ(-ETIMEDOUT, pmi1_broken_by("barrier_in", "cmd=barr", 8, 20));
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
	EXPECT_EQ(0, leaks());
}

TEST_HARNESS_MAIN
