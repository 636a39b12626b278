// SPDX-License-Identifier: GPL-2.0
/*
 * Tagged messages of many threads on one endpoint, which do all there is to do at
 * the same time: send and give up, receive by wildcards, probe, take by a probe,
 * post and give up. Each message arrives once, or is told to be cancelled.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "msg_util.h"

#define SENDERS		2
#define MESSAGES	96	/* of each sender */
#define ROW		16	/* of them at a time */
#define LENGTH_MAX	30000
#define MEMORY		32768
#define COUNTS		1	/* context of how many there were */
#define LAST		0x10000	/* tag of what ends a receiver */

/* What became of each message, by the rank of its target. */
struct tally {
	uint32_t seen[2][SENDERS][MESSAGES];
	uint32_t cancelled[2][SENDERS][MESSAGES];
};

/* A process. */
struct party {
	struct talker t;
	uint32_t peer;
	struct tally *tally;
	uint32_t sent, received;	/* messages, of all threads */
	pthread_barrier_t begun;	/* the first rows, and nobody receives */
	bool over;
};

struct worker {
	struct party *p;
	int (*work)(struct worker *w);
	uint32_t number;
	uint8_t (*mem)[MEMORY];
	int result;
	pthread_t thread;
};

static uint64_t length_of(uint32_t number)
{
	static const uint64_t lengths[] = { 8, 3000, LENGTH_MAX, 0 };

	return lengths[number % 4];
}

static void tally(uint32_t *count)
{
	__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

/* ---- Sending ------------------------------------------------------------ */

/* One is complete: sent, or not, if it was cancelled. */
static int sent(struct worker *w, uint32_t i, struct bgdma_msg_request **r,
		bool cancelled)
{
	struct party *p = w->p;
	struct bgdma_msg_status status;
	int ret = bgdma_msg_wait(r, &status);

	require_is(cancelled ? -ECANCELED : 0, ret);
	require_is(cancelled, status.cancelled);
	if (cancelled)
		tally(&p->tally->cancelled[p->peer][w->number][i]);
	else
		tally(&p->sent);
	return 0;
}

/* Several at a time, of which some are given up, the last first. */
static int send_row(struct worker *w, uint32_t first)
{
	struct bgdma_msg *msg = w->p->t.msg;
	struct bgdma_msg_request *r[ROW];
	bool cancelled[ROW] = { 0 };
	uint32_t i, k;
	int ret;

	for (k = 0; k < ROW; k++) {
		i = first + k;
		text_fill(w->mem[k], length_of(i), w->number, i);
		require_is(0, (i % 5 ? bgdma_msg_isend : bgdma_msg_issend)(msg,
				w->mem[k], length_of(i), w->p->peer,
				w->number << 8 | i, 0, &r[k]));
	}
	for (k = ROW; k-- > 1;) {
		ret = bgdma_msg_cancel(r[k]);
		require(ret == 0 || ret == -EALREADY);
		cancelled[k] = !ret;
	}
	if (!first)
		pthread_barrier_wait(&w->p->begun);
	for (k = 0; k < ROW; k++)
		if (sent(w, first + k, &r[k], cancelled[k]))
			return 1;
	return 0;
}

static int sender(struct worker *w)
{
	uint32_t i;

	for (i = 0; i < MESSAGES; i += ROW)
		if (send_row(w, i))
			return 1;
	return 0;
}

/* ---- Receiving ---------------------------------------------------------- */

/* What is in @w's memory; @last: it was what ends a receiver. */
static int received(struct worker *w, const struct bgdma_msg_status *status,
		    bool *last)
{
	uint32_t from = status->tag >> 8, i = status->tag & 0xff;
	struct party *p = w->p;

	*last = status->tag == LAST;
	if (*last)
		return 0;
	require_is(p->peer, status->rank);
	require(from < SENDERS && i < MESSAGES);
	require_is(length_of(i), status->length);
	require(text_is(w->mem[0], status->length, from, i));
	tally(&p->tally->seen[p->t.m.rank][from][i]);
	tally(&p->received);
	return 0;
}

static int receiver(struct worker *w)
{
	struct bgdma_msg_status status;
	bool last = false;

	while (!last) {
		require_is(0, bgdma_msg_recv(w->p->t.msg, w->mem[0], LENGTH_MAX,
					     ANY_SOURCE, ANY_TAG, 0, &status));
		if (received(w, &status, &last))
			return 1;
	}
	return 0;
}

/* Take by a probe, that waits or not. */
static int prober(struct worker *w)
{
	struct bgdma_msg *msg = w->p->t.msg;
	struct bgdma_msg_request *r;
	struct bgdma_msg_message *m;
	struct bgdma_msg_status status, probed;
	bool last = false;
	int ret;

	while (!last) {
		ret = bgdma_msg_improbe(msg, ANY_SOURCE, ANY_TAG, 0, &m,
					&probed);
		if (!ret)
			ret = 1 + bgdma_msg_mprobe(msg, ANY_SOURCE, ANY_TAG, 0,
						   &m, &probed);
		require_is(1, ret);
		require_is(0, bgdma_msg_imrecv(msg, w->mem[0], LENGTH_MAX, &m,
					       &r));
		require_is(0, bgdma_msg_wait(&r, &status));
		require_is(probed.tag, status.tag);
		require_is(probed.length, status.length);
		if (received(w, &status, &last))
			return 1;
	}
	return 0;
}

/* Post, and give it up soon, if it is not too late. */
static int waverer(struct worker *w)
{
	struct bgdma_msg *msg = w->p->t.msg;
	struct bgdma_msg_request *r;
	struct bgdma_msg_status status;
	bool last = false;
	int ret;

	while (!last) {
		require_is(0, bgdma_msg_irecv(msg, w->mem[0], LENGTH_MAX,
					      ANY_SOURCE, ANY_TAG, 0, &r));
		usleep(200);
		ret = bgdma_msg_cancel(r);
		require(ret == 0 || ret == -EALREADY);
		if (!ret) {
			require_is(-ECANCELED, bgdma_msg_wait(&r, &status));
			require(status.cancelled);
			continue;
		}
		require_is(0, bgdma_msg_wait(&r, &status));
		if (received(w, &status, &last))
			return 1;
	}
	return 0;
}

/* Only look: what is there may be gone at once. */
static int looker(struct worker *w)
{
	struct bgdma_msg_status status;
	int ret;

	while (!load(&w->p->over)) {
		ret = bgdma_msg_iprobe(w->p->t.msg, ANY_SOURCE, ANY_TAG, 0,
				       &status);
		require(ret == 0 || ret == 1);
		require(!ret || status.tag == LAST ||
			status.length == length_of(status.tag & 0xff));
		usleep(200);
	}
	return 0;
}

/* ---- All together -------------------------------------------------------- */

static int (*const works[])(struct worker *w) = {
	sender, sender, receiver, prober, waverer, looker,
};

#define WORKERS		(sizeof(works) / sizeof(works[0]))
#define RECEIVERS	3

static void *work_thread(void *arg)
{
	struct worker *w = arg;

	w->result = w->work(w);
	return NULL;
}

static int join(struct worker *w)
{
	require_is(0, pthread_join(w->thread, NULL));
	return w->result;
}

/* All that was sent is received; then the receivers are told. */
static int finish(struct party *p)
{
	struct bgdma_msg *msg = p->t.msg;
	uint32_t i, count = load(&p->sent), coming;

	require_is(0, bgdma_msg_send(msg, &count, sizeof(count), p->peer, 0,
				     COUNTS));
	require_is(0, bgdma_msg_recv(msg, &coming, sizeof(coming), p->peer, 0,
				     COUNTS, NULL));
	require(until(load(&p->received) >= coming));
	store(&p->over, true);
	for (i = 0; i < RECEIVERS; i++)
		require_is(0, bgdma_msg_send(msg, NULL, 0, p->t.m.rank, LAST,
					     0));
	require_is(coming, load(&p->received));
	return 0;
}

struct stage {
	struct bgdma_endpoint_attr attr;
	struct tally tally;
};

static int crowd(uint32_t rank, uint32_t size, void *arg)
{
	/* So little that most of a row wait, and can be given up. */
	const struct bgdma_msg_attr attr = {
		.unexpected_bytes = 8192, .announced = 8,
	};
	static uint8_t mem[WORKERS][ROW][MEMORY] PINNED;
	static struct worker w[WORKERS];
	static struct party p;
	struct stage *stage = arg;
	uint32_t i;

	(void)size;
	p.peer = 1 - rank;
	p.tally = &stage->tally;
	require_is(0, talker_open(&p.t, stage->attr, &attr));
	require_is(0, pthread_barrier_init(&p.begun, NULL, SENDERS + 1));
	for (i = 0; i < WORKERS; i++) {
		if (i == SENDERS) {
			pthread_barrier_wait(&p.begun);
			require_is(0, bgdma_job_fence(p.t.m.job));
		}
		w[i] = (struct worker){
			.p = &p, .work = works[i], .number = i, .mem = mem[i],
		};
		require_is(0, pthread_create(&w[i].thread, NULL, work_thread,
					     &w[i]));
	}
	for (i = 0; i < SENDERS; i++)
		require_is(0, join(&w[i]));
	require_is(0, finish(&p));
	for (i = SENDERS; i < WORKERS; i++)
		require_is(0, join(&w[i]));
	return talker_close(&p.t);
}

static bool crowd_run(enum bgdma_progress progress)
{
	struct stage *stage = shared(sizeof(*stage));
	const uint32_t *seen = &stage->tally.seen[0][0][0];
	const uint32_t *cancelled = &stage->tally.cancelled[0][0][0];
	uint32_t i, lost = 0, given_up = 0;

	partition_new("2x1x1", "");
	stage->attr.threads = BGDMA_THREADS_MANY;
	stage->attr.progress = progress;
	if (!job_run(2, crowd, stage, -1))
		return false;
	for (i = 0; i < 2 * SENDERS * MESSAGES; i++) {
		lost += seen[i] + cancelled[i] != 1;
		given_up += cancelled[i];
	}
	return given_up && !lost;
}

TEST(msg_threads_that_do_everything)
{
	EXPECT_TRUE(crowd_run(BGDMA_PROGRESS_CALLER));
}

TEST(msg_threads_that_do_everything_beside_the_endpoints_own)
{
	EXPECT_TRUE(crowd_run(BGDMA_PROGRESS_THREAD));
}

TEST_HARNESS_MAIN
