// SPDX-License-Identifier: GPL-2.0
/*
 * The library's sys layer with many threads: on one endpoint, and on one each.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "sys_util.h"

#define THREADS		4
#define ROUNDS		200

struct worker {
	struct bgdma_endpoint *ep;
	uint32_t operation, number, dest;
	struct count heard;	/* messages for this thread */
	uint64_t next;
	bool wrong;
	int result;
	pthread_t thread;
};

/* The word says for which thread a message is, and its number. */
static int to_worker(void *arg, uint32_t rank,
		     const struct bgdma_packet *packet)
{
	struct worker *w = arg;

	(void)rank;
	w += bgdma_packet_word(packet) & 0xff;
	w->wrong |= bgdma_packet_word(packet) >> 8 != w->next++;
	w->heard.is++;
	return 0;
}

/* Send to the same thread of the next process, and wait for the last's. */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct bgdma_send_attr send = {
		.operation = w->operation, .dest = w->dest,
		.data = "of this thread's own", .length = 20,
	};
	uint64_t i;
	int ret = 0;

	for (i = 0; !ret && i < ROUNDS; i++) {
		send.word = i << 8 | w->number;
		while ((ret = bgdma_endpoint_send(w->ep, &send)) == -EAGAIN)
			bgdma_endpoint_progress(w->ep, 0);
		w->heard.wanted = i + 1;
		if (!ret)
			ret = bgdma_endpoint_wait_until(w->ep, count_there,
					&w->heard, i % 2 ? BGDMA_SLEEP :
					BGDMA_SPIN_THEN_SLEEP,
					(int64_t)PATIENCE_NS);
	}
	w->result = ret;
	return NULL;
}

static int threads_run(struct worker *worker)
{
	uint32_t i;

	for (i = 0; i < THREADS; i++)
		require_is(0, pthread_create(&worker[i].thread, NULL, work,
					     &worker[i]));
	for (i = 0; i < THREADS; i++)
		require_is(0, pthread_join(worker[i].thread, NULL));
	for (i = 0; i < THREADS; i++) {
		require_is(0, worker[i].result);
		require(!worker[i].wrong);
		require_is(ROUNDS, worker[i].heard.is);
	}
	return 0;
}

/* One endpoint with many threads. */
static int shared_endpoint(uint32_t rank, uint32_t size, void *arg)
{
	static struct worker worker[THREADS];
	const struct bgdma_endpoint_attr *attr = arg;
	struct member m;
	uint32_t id, i;

	require_is(0, member_open(&m, attr));
	require_is(0, bgdma_operation_register(m.ep,
			&(struct bgdma_operation_attr){ .module = "threads",
			.name = "word", .packet = to_worker, .arg = worker },
			&id));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	for (i = 0; i < THREADS; i++) {
		worker[i].ep = m.ep;
		worker[i].operation = id;
		worker[i].number = i;
		worker[i].dest = (rank + 1) % size;
	}
	require_is(0, threads_run(worker));
	return member_close(&m);
}

TEST(threads_share_an_endpoint)
{
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, shared_endpoint, &attr, -1));
	attr.progress = BGDMA_PROGRESS_THREAD;
	EXPECT_TRUE(job_run(2, shared_endpoint, &attr, -1));
}

/* Several endpoints with a thread each, and no locks. */
static int own_endpoints(uint32_t rank, uint32_t size, void *arg)
{
	static struct worker worker[THREADS];
	struct bgdma_endpoint_attr attr = { 0 };
	const struct bgdma_job_attr job = { .timeout_ms = 20000 };
	struct bgdma_job *j;
	uint32_t i;

	(void)arg;
	require_is(0, bgdma_job_open(&j, &job));
	for (i = 0; i < THREADS; i++) {
		attr.job = j;
		attr.number = i;
		require_is(0, bgdma_endpoint_create(&worker[i].ep, &attr));
		/* The word names this thread among all. */
		require_is(0, bgdma_operation_register(worker[i].ep,
				&(struct bgdma_operation_attr){
				.module = "threads", .name = "word",
				.packet = to_worker, .arg = worker },
				&worker[i].operation));
		require_is(0, bgdma_endpoint_commit(worker[i].ep, NULL));
		worker[i].number = i;
		worker[i].dest = (rank + 1) % size;
	}
	require_is(0, threads_run(worker));
	require_is(0, bgdma_job_fence(j));
	for (i = 0; i < THREADS; i++)
		bgdma_endpoint_destroy(worker[i].ep);
	bgdma_job_close(j);
	return 0;
}

TEST(threads_have_their_own_endpoints)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, own_endpoints, NULL, -1));
}

TEST_HARNESS_MAIN
