// SPDX-License-Identifier: GPL-2.0
/*
 * The library's sys layer with many threads: on one endpoint, and on one each.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "sys_module.h"

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

/* ---- What another thread has handled ------------------------------------ */

/* Send to ourselves until there is no room: how many. */
static uint32_t fill_up(struct worker *w)
{
	const struct bgdma_send_attr send = {
		.operation = w->operation, .data = "x", .length = 1,
	};
	uint32_t sent = 0;

	while (bgdma_endpoint_send(w->ep, &send) == 0)
		sent++;
	return sent;
}

static int count_word(void *arg, uint32_t rank,
		      const struct bgdma_packet *packet)
{
	struct worker *w = arg;

	(void)rank;
	(void)packet;
	w->heard.is++;
	return 0;
}

static void *empty(void *arg)
{
	struct worker *w = arg;

	w->result = bgdma_endpoint_wait_until(w->ep, count_there, &w->heard,
					      BGDMA_SLEEP,
					      (int64_t)PATIENCE_NS);
	/* The packet that tells of room, too. */
	while (bgdma_endpoint_wait(w->ep, 100000000) == 0)
		;
	return NULL;
}

/* One thread, refused by two endpoints, which another thread empties. */
static int refused_by_two(uint32_t rank, uint32_t size, void *arg)
{
	static struct worker worker[2];
	struct bgdma_endpoint_attr attr = {
		.threads = BGDMA_THREADS_MANY, .data_bytes = 16384,
	};
	const struct bgdma_job_attr job = { .timeout_ms = 20000 };
	struct worker *w;
	unsigned int i;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, bgdma_job_open(&attr.job, &job));
	for (w = worker; w < worker + 2; w++) {
		attr.number = (uint32_t)(w - worker);
		require_is(0, bgdma_endpoint_create(&w->ep, &attr));
		require_is(0, bgdma_operation_register(w->ep,
				&(struct bgdma_operation_attr){
				.module = "threads", .name = "word",
				.packet = count_word, .arg = w },
				&w->operation));
		require_is(0, bgdma_endpoint_commit(w->ep, NULL));
	}
	for (w = worker; w < worker + 2; w++)
		w->heard.wanted = fill_up(w);
	/* What the first has said is not forgotten, however often the other does. */
	w = &worker[1];
	for (i = 0; i < 20; i++) {
		(void)bgdma_endpoint_wait(w->ep, 0);
		w->heard.wanted += fill_up(w);
	}
	for (w = worker; w < worker + 2; w++) {
		require_is(0, pthread_create(&w->thread, NULL, empty, w));
		require_is(0, pthread_join(w->thread, NULL));
		require_is(0, w->result);
	}
	/* There is room since: to wait for more would be in vain. */
	for (w = worker; w < worker + 2; w++)
		require_is(0, bgdma_endpoint_wait(w->ep, 1000000000));
	for (w = worker; w < worker + 2; w++)
		bgdma_endpoint_destroy(w->ep);
	bgdma_job_close(attr.job);
	return 0;
}

TEST(dp4_room_that_another_thread_heard_of)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(1, refused_by_two, NULL, -1));
}

/* ---- What another thread has taken -------------------------------------- */

/* A callback that refuses what comes until it is opened. */
struct door {
	int open, passed;
};

static int at_door(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct door *door = arg;

	(void)rank;
	(void)packet;
	if (!__atomic_load_n(&door->open, __ATOMIC_SEQ_CST))
		return -EAGAIN;
	__atomic_add_fetch(&door->passed, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static uint64_t refusals(struct bgdma_endpoint *ep)
{
	struct bgdma_endpoint_stats stats;

	bgdma_endpoint_stats(ep, &stats);
	return stats.deferred;
}

/* The endpoint's thread sleeps, and does not hear of more, when we take it. */
static int door_opened(struct member *m, struct door *door)
{
	require(until(refusals(m->ep)));
	usleep(100000);
	__atomic_store_n(&door->open, 1, __ATOMIC_SEQ_CST);
	require_is(1, bgdma_endpoint_progress(m->ep, 0));
	require_is(0, bgdma_job_fence(m->job));
	/* We make no progress. */
	require(until(__atomic_load_n(&door->passed, __ATOMIC_SEQ_CST) == 2));
	return 0;
}

static int taken_by_another(uint32_t rank, uint32_t size, void *arg)
{
	struct test_operation op = { .name = "door", .packet = at_door };
	struct bgdma_send_attr knock = { 0 };
	struct door door = { 0 };
	struct member m;

	(void)size;
	(void)arg;
	op.id = &knock.operation;
	require_is(0, member_open(&m, &(struct bgdma_endpoint_attr){
			.progress = BGDMA_PROGRESS_THREAD,
			.threads = BGDMA_THREADS_MANY }));
	require_is(0, member_commit(&m, &op, 1, &door));
	if (rank) {
		require_is(0, bgdma_endpoint_send(m.ep, &knock));
		require_is(0, bgdma_job_fence(m.job));
		require_is(0, bgdma_endpoint_send(m.ep, &knock));
	} else if (door_opened(&m, &door)) {
		return 1;
	}
	return member_close(&m);
}

TEST(dp4_the_endpoints_thread_hears_of_more_than_another_took)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, taken_by_another, NULL, -1));
}

/* ---- Who comes to an endpoint that another thread has nearly always ------- */

#define TURNS_MAX	5000	/* of one that leaves off for no one */
#define TURNS_OK	100	/* of some ms each */

struct hog {
	struct bgdma_endpoint *ep;
	uint32_t turns;
	int stop;
};

static bool is_taken_long(void *arg)
{
	struct hog *hog = arg;

	usleep(1000);
	__atomic_add_fetch(&hog->turns, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void *hog_it(void *arg)
{
	struct hog *hog = arg;

	while (!load(&hog->stop) && load(&hog->turns) < TURNS_MAX)
		must(bgdma_endpoint_wait_until(hog->ep, is_taken_long, hog,
					       BGDMA_SLEEP, 0));
	return NULL;
}

static int let_in(uint32_t rank, uint32_t size, void *arg)
{
	struct hog hog = { 0 };
	uint32_t turns, i;
	pthread_t thread;
	struct member m;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, member_open(&m, &(struct bgdma_endpoint_attr){
			.threads = BGDMA_THREADS_MANY }));
	require_is(0, member_commit(&m, NULL, 0, NULL));
	hog.ep = m.ep;
	require_is(0, pthread_create(&thread, NULL, hog_it, &hog));
	for (i = 0; i < 10; i++) {
		turns = load(&hog.turns);
		require(until(load(&hog.turns) > turns));
		bgdma_endpoint_wake(m.ep);
		require(load(&hog.turns) - turns < TURNS_OK);
	}
	store(&hog.stop, 1);
	require_is(0, pthread_join(thread, NULL));
	return member_close(&m);
}

TEST(sys_a_thread_is_let_in_that_others_are_faster_than)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, let_in, NULL, -1));
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

/* ---- Rendezvous --------------------------------------------------------- */

#define LONG_MESSAGES	192
#define LONG_BYTES	9000

/* A thread that accepts every so many of the announcements. */
struct acceptor {
	struct module *module;
	uint32_t first, next;
	uint8_t (*mem)[3 * PAGE];
	int result;
	pthread_t thread;
};

static bool announced(void *arg)
{
	const struct acceptor *a = arg;

	return a->module->announced.is > a->next;
}

/* Accept, and give every fourth up at once, if it is not too late. */
static int accept_some(struct acceptor *a)
{
	struct module *module = a->module;
	struct bgdma_accept_attr attr = { .length = LONG_BYTES };
	uint32_t id;
	int ret;

	attr.id = &id;
	for (a->next = a->first; a->next < LONG_MESSAGES; a->next += THREADS) {
		require_is(0, member_until(&module->m, announced, a));
		attr.data = a->mem[a->next];
		require_is(0, take(module, a->next, attr));
		if (a->next / THREADS % 4)
			continue;
		ret = bgdma_rendezvous_cancel(module->m.ep, id);
		require(ret == 0 || ret == -ENOENT);
	}
	return 0;
}

static void *accept_thread(void *arg)
{
	struct acceptor *a = arg;

	a->result = accept_some(a);
	return NULL;
}

/* Threads of the user accept what the endpoint's own has heard of. */
static int accepted(struct module *module, uint8_t (*mem)[3 * PAGE])
{
	struct acceptor a[THREADS];
	uint32_t i;

	for (i = 0; i < THREADS; i++) {
		a[i] = (struct acceptor){
			.module = module, .first = i, .mem = mem,
		};
		require_is(0, pthread_create(&a[i].thread, NULL, accept_thread,
					     &a[i]));
	}
	for (i = 0; i < THREADS; i++) {
		require_is(0, pthread_join(a[i].thread, NULL));
		require_is(0, a[i].result);
	}
	require_is(0, until_count(module, &module->ended, LONG_MESSAGES));
	/* Three of four were not given up. */
	for (i = 0; i < LONG_MESSAGES; i++)
		if (i / THREADS % 4)
			require(message_is(mem[i], LONG_BYTES, i));
	return 0;
}

static int long_messages(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[LONG_MESSAGES][3 * PAGE] PINNED;
	static struct module module;
	struct bgdma_endpoint_attr *attr = arg;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, *attr));
	for (i = 0; rank == 0 && i < LONG_MESSAGES; i++) {
		message_fill(mem[i], LONG_BYTES, i);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = LONG_BYTES,
				.data = mem[i], .portion = i % 3 ? 1000 : 0,
				.portions = i % 3 == 2 ? BGDMA_PORTIONS_PACKETS :
							 BGDMA_PORTIONS_PUT }));
	}
	if (rank == 0)
		require_is(0, until_count(&module, &module.ended,
					  LONG_MESSAGES));
	else if (accepted(&module, mem))
		return 1;
	require(module.done.is >= LONG_MESSAGES * 3 / 4);
	require_is(0, counters_empty(&module, BGDMA_INJECTION));
	require_is(0, counters_empty(&module, BGDMA_RECEPTION));
	require_is(0, module.troubles);
	return member_close(&module.m);
}

TEST(lc1_sp3_threads_accept_and_give_up)
{
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, long_messages, &attr, -1));
	attr.progress = BGDMA_PROGRESS_THREAD;
	EXPECT_TRUE(job_run(2, long_messages, &attr, -1));
	attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run(2, long_messages, &attr, -1));
}

/* ---- Some register while another commits ---------------------------------- */

#define OPERATIONS_MOST	2000
#define COMMITS		50

struct registrar {
	struct bgdma_endpoint *ep;
	uint32_t number, count, id[OPERATIONS_MOST];
	_Atomic bool begun;
	int result;
	pthread_t thread;
};

static int nothing(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return 0;
}

static void *register_all(void *arg)
{
	struct registrar *r = arg;
	struct bgdma_operation_attr op = { .module = "late", .packet = nothing };
	char name[16];
	int ret = 0;

	op.name = name;
	while (r->count < OPERATIONS_MOST) {
		snprintf(name, sizeof(name), "%u.%u", r->number, r->count);
		ret = bgdma_operation_register(r->ep, &op, &r->id[r->count]);
		if (ret)
			break;
		r->count++;
		r->begun = true;
	}
	r->result = ret == -EBUSY ? 0 : ret;
	return NULL;
}

/* What was registered is known to all who have committed. */
static int registered(struct registrar *r)
{
	uint32_t i;

	require_is(0, pthread_join(r->thread, NULL));
	require_is(0, r->result);
	for (i = 0; i < r->count; i++) {
		require_is(0, bgdma_endpoint_send(r->ep,
				&(struct bgdma_send_attr){
				.operation = r->id[i] }));
		require(bgdma_endpoint_progress(r->ep, 0) >= 0);
	}
	return 0;
}

static int commit_beside(struct bgdma_endpoint *ep)
{
	static struct registrar registrars[THREADS];
	struct registrar *r;

	memset(registrars, 0, sizeof(registrars));
	for (r = registrars; r < registrars + THREADS; r++) {
		r->ep = ep;
		r->number = (uint32_t)(r - registrars);
		require_is(0, pthread_create(&r->thread, NULL, register_all, r));
	}
	while (!registrars[THREADS - 1].begun)
		sched_yield();
	require_is(0, bgdma_endpoint_commit(ep, NULL));
	for (r = registrars; r < registrars + THREADS; r++)
		require_is(0, registered(r));
	return 0;
}

static int commit_often(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };
	struct bgdma_endpoint *ep;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, bgdma_job_open(&attr.job, NULL));
	for (; attr.number < COMMITS; attr.number++) {
		require_is(0, bgdma_endpoint_create(&ep, &attr));
		require_is(0, commit_beside(ep));
		bgdma_endpoint_destroy(ep);
	}
	bgdma_job_close(attr.job);
	return 0;
}

TEST(dp1_operations_registered_beside_a_commit)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, commit_often, NULL, -1));
}

TEST_HARNESS_MAIN
