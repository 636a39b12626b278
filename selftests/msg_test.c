// SPDX-License-Identifier: GPL-2.0
/*
 * Tagged messages: what MPI says of them, one rule after the other.
 */
#include "kselftest_harness.h"
#include "msg_util.h"

#define SPACE		400000

static const uint32_t sizes[] = {
	0, 1, 8, 24, 25, 100, 3968, 3969, 4096, 4097, 8000, 65537, 300000,
};

#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static uint8_t out[SPACE] PINNED, in[SPACE + 1] PINNED;

/* ---- Every size, before and after its receive -------------------------- */

static int all_sizes(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_status status;
	struct talker t = { 0 };
	uint32_t i, late;

	(void)size;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, arg));
	for (late = 0; late < 2; late++) {
		for (i = 0; i < SIZES; i++) {
			text_fill(out, sizes[i], 0, i);
			if (rank == 0 && late)
				require_is(0, talker_fence(&t));
			if (rank == 0) {
				require_is(0, bgdma_msg_send(t.msg, out,
						sizes[i], 1, i, 7));
				if (!late)
					require_is(0, talker_fence(&t));
				continue;
			}
			memset(in, 0xee, sizes[i] + 1);
			/* The receive is there first, or the message may be. */
			if (late) {
				struct bgdma_msg_request *r;

				require_is(0, bgdma_msg_irecv(t.msg, in, SPACE,
							0, i, 7, &r));
				require_is(0, talker_fence(&t));
				require_is(0, bgdma_msg_wait(&r, &status));
				require(!r);
			} else {
				require_is(0, bgdma_msg_recv(t.msg, in, SPACE,
						ANY_SOURCE, ANY_TAG, 7,
						&status));
				require_is(0, talker_fence(&t));
			}
			require_is(0, status.rank);
			require_is(i, status.tag);
			require_is(sizes[i], status.length);
			require_is(sizes[i], status.sent);
			require_is(0, status.error);
			require(text_is(in, sizes[i], 0, i));
			require_is(0xee, in[sizes[i]]);
		}
	}
	return talker_close(&t);
}

TEST(msg_all_sizes)
{
	struct bgdma_msg_attr attr = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, all_sizes, &attr, -1));
	attr.eager_bytes = 64;
	EXPECT_TRUE(job_run(2, all_sizes, &attr, -1));
	attr.eager_bytes = 32768;
	attr.busy = true;
	EXPECT_TRUE(job_run(2, all_sizes, &attr, -1));
	attr.portion = 10000;
	EXPECT_TRUE(job_run(2, all_sizes, &attr, -1));
}

/* ---- SP-10: in how many portions, and how many at a time ---------------- */

#define PACED	40000	/* bytes */

struct paced {
	struct bgdma_endpoint_attr ep;
	struct bgdma_msg_attr msg;
	uint32_t portions, in_flight;	/* that it is to have */
};

static uint64_t packets_read(const struct talker *t)
{
	struct bgdma_endpoint_stats stats;

	bgdma_endpoint_stats(t->m.ep, &stats);
	return stats.packets;
}

/* Each portion is a packet to the target, and each chain ends by one to the origin. */
static int paced(uint32_t rank, uint32_t size, void *arg)
{
	const struct paced *p = arg;
	struct talker t = { 0 };
	uint64_t packets, least;

	(void)size;
	require_is(0, talker_open(&t, p->ep, &p->msg));
	text_fill(out, PACED, 0, 0);
	if (rank == 0)
		require_is(0, bgdma_msg_send(t.msg, out, PACED, 1, 0, 0));
	else
		require_is(0, bgdma_msg_recv(t.msg, in, PACED, 0, 0, 0, NULL));
	packets = packets_read(&t);
	least = p->in_flight;
	if (rank == 1) {
		require(text_is(in, PACED, 0, 0));
		/* The announcement is one, too. */
		least = 1 + (p->portions > 1 ? p->portions : 0);
	}
	/* Credit may have come, and what the fence sends. */
	require(packets >= least && packets <= least + 2);
	return talker_close(&t);
}

#define PACING .ep = { .pacing = BGDMA_PACING_ON, .pacing_portion = 4000,	\
		       .pacing_hops = BGDMA_PACING_ANY, .pacing_max = 20000,	\
		       .portions = BGDMA_PORTIONS_PACKETS }

TEST(sp10_portions_of_messages)
{
	static struct paced rows[] = {
		{ .portions = 1 },
		{ PACING, .portions = 10, .in_flight = 5 },
		{ PACING, .msg.in_flight = 2, .portions = 10, .in_flight = 2 },
		{ PACING, .msg.portion = 2000, .portions = 20, .in_flight = 1 },
		{ PACING, .msg.portion = 2000, .msg.in_flight = 4,
		  .portions = 20, .in_flight = 4 },
		/* What is shorter than that is not cut by the endpoint. */
		{ PACING, .msg.portion = PACED, .portions = 1 },
		{ PACING, .msg.portion = BGDMA_PORTION_WHOLE, .portions = 1 },
	};
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		rows[i].ep.pacing_size = BGDMA_PACING_ANY;
		EXPECT_TRUE(job_run(2, paced, &rows[i], -1))
			TH_LOG("row %u", i);
	}
}

static int to_itself(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *r;
	struct bgdma_msg_status status;
	struct talker t = { 0 };
	uint32_t i;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; i < SIZES; i++) {
		text_fill(out, sizes[i], 0, i);
		require_is(0, bgdma_msg_isend(t.msg, out, sizes[i], 0, i, 0,
					      &r));
		require_is(0, bgdma_msg_recv(t.msg, in, SPACE, 0, i, 0,
					     &status));
		require_is(0, bgdma_msg_wait(&r, NULL));
		require_is(sizes[i], status.length);
		require(text_is(in, sizes[i], 0, i));
	}
	return talker_close(&t);
}

TEST(msg_to_oneself)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, to_itself, NULL, -1));
}

/* ---- Truncation -------------------------------------------------------- */

static int truncated(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t rooms[] = { 0, 1, 20, 4000 };
	struct bgdma_msg_status status;
	struct talker t = { 0 };
	uint32_t i, k, length;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; i < SIZES; i++) {
		length = sizes[i];
		for (k = 0; k < sizeof(rooms) / sizeof(rooms[0]); k++) {
			if (rooms[k] >= length)
				continue;
			text_fill(out, length, 0, i);
			if (rank == 0) {
				require_is(0, bgdma_msg_send(t.msg, out, length,
							     1, i, 0));
				continue;
			}
			memset(in, 0xee, length);
			require_is(-EMSGSIZE, bgdma_msg_recv(t.msg, in,
					rooms[k], 0, i, 0, &status));
			require_is(-EMSGSIZE, status.error);
			require_is(rooms[k], status.length);
			require_is(length, status.sent);
			require(text_is(in, rooms[k], 0, i));
			require_is(0xee, in[rooms[k]]);
		}
	}
	return talker_close(&t);
}

TEST(msg_truncation_is_reported)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, truncated, NULL, -1));
}

/* ---- Synchronous sends ------------------------------------------------- */

static int synchronous(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *r;
	struct talker t = { 0 };
	uint32_t i, k;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; i < SIZES; i++) {
		text_fill(out, sizes[i], 0, i);
		if (rank == 0) {
			require_is(0, bgdma_msg_issend(t.msg, out, sizes[i], 1,
						       i, 0, &r));
			/* It is there, and so is what came behind it. */
			require_is(0, talker_fence(&t));
			for (k = 0; k < 10; k++)
				require_is(0, bgdma_msg_test(&r, NULL));
			require_is(0, talker_fence(&t));
			require_is(0, bgdma_msg_wait(&r, NULL));
			continue;
		}
		require_is(0, talker_fence(&t));
		require_is(1, bgdma_msg_iprobe(t.msg, 0, i, 0, NULL));
		require_is(0, talker_fence(&t));
		require_is(0, bgdma_msg_recv(t.msg, in, SPACE, 0, i, 0, NULL));
		require(text_is(in, sizes[i], 0, i));
	}
	if (rank == 0)
		require_is(0, bgdma_msg_ssend(t.msg, out, 5, 1, 1, 1));
	else
		require_is(0, bgdma_msg_recv(t.msg, in, 5, 0, 1, 1, NULL));
	return talker_close(&t);
}

TEST(msg_synchronous_sends_wait_for_their_receive)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, synchronous, NULL, -1));
}

/* ---- Probes ------------------------------------------------------------ */

static int probed(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_message *m = NULL, *none;
	struct bgdma_msg_status status;
	struct bgdma_msg_request *r;
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; i < SIZES; i++) {
		text_fill(out, sizes[i], 0, i);
		if (rank == 0) {
			require_is(0, bgdma_msg_isend(t.msg, out, sizes[i], 1,
						      i, 3, &r));
			require_is(0, talker_fence(&t));
			require_is(0, bgdma_msg_wait(&r, NULL));
			continue;
		}
		require_is(0, bgdma_msg_probe(t.msg, ANY_SOURCE, ANY_TAG, 3,
					      &status));
		require_is(0, status.rank);
		require_is(i, status.tag);
		require_is(sizes[i], status.length);
		/* Others are not there. */
		require_is(0, bgdma_msg_iprobe(t.msg, 0, i + 1, 3, NULL));
		require_is(0, bgdma_msg_iprobe(t.msg, 1, i, 3, NULL));
		require_is(0, bgdma_msg_iprobe(t.msg, 0, i, 4, NULL));
		require_is(1, bgdma_msg_iprobe(t.msg, 0, ANY_TAG, 3, NULL));
		if (i % 2)
			require_is(0, bgdma_msg_mprobe(t.msg, 0, i, 3, &m,
						       &status));
		else
			require_is(1, bgdma_msg_improbe(t.msg, ANY_SOURCE, i, 3,
							&m, &status));
		require_is(sizes[i], status.length);
		/* It is taken. */
		require_is(0, bgdma_msg_improbe(t.msg, 0, i, 3, &none, NULL));
		memset(in, 0xee, sizes[i] + 1);
		require_is(0, bgdma_msg_imrecv(t.msg, in, SPACE, &m, &r));
		require(!m);
		require_is(0, bgdma_msg_wait(&r, &status));
		require_is(sizes[i], status.length);
		require(text_is(in, sizes[i], 0, i));
		require_is(0, talker_fence(&t));
	}
	return talker_close(&t);
}

TEST(msg_probes_find_and_take)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, probed, NULL, -1));
}

/* ---- Nobody ------------------------------------------------------------ */

static int nobody(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_message *m = (void *)in;
	struct bgdma_msg_status status;
	struct bgdma_msg_request *r;
	struct talker t = { 0 };

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	require_is(0, bgdma_msg_send(t.msg, out, 9, BGDMA_MSG_NO_RANK, 0, 0));
	require_is(0, bgdma_msg_ssend(t.msg, out, 9, BGDMA_MSG_NO_RANK, 0, 0));
	require_is(0, bgdma_msg_recv(t.msg, in, 9, BGDMA_MSG_NO_RANK, 5, 0,
				     &status));
	require_is(BGDMA_MSG_NO_RANK, status.rank);
	require_is(ANY_TAG, status.tag);
	require_is(0, status.length);
	require_is(0, bgdma_msg_mprobe(t.msg, BGDMA_MSG_NO_RANK, 5, 0, &m,
				       &status));
	require(!m);
	require_is(0, bgdma_msg_imrecv(t.msg, in, 9, &m, &r));
	require_is(1, bgdma_msg_test(&r, &status));
	require_is(BGDMA_MSG_NO_RANK, status.rank);
	return talker_close(&t);
}

TEST(msg_nobody_takes_and_gives_nothing)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, nobody, NULL, -1));
}

/* ---- Pieces ------------------------------------------------------------ */

static int pieces(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t cuts[] = { 3, 0, 700, 1, 5000, 100000 };
	const unsigned int n = sizeof(cuts) / sizeof(cuts[0]);
	struct iovec vec[sizeof(cuts) / sizeof(cuts[0])];
	struct bgdma_msg_status status;
	struct bgdma_msg_request *r;
	uint32_t count, i, at, total;
	struct talker t = { 0 };

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (count = 0; count <= n; count++) {
		/* With a gap of one byte behind each. */
		memset(in, 0xee, sizeof(in));
		for (i = 0, at = 0, total = 0; i < count; i++) {
			vec[i].iov_base = (rank ? in : out) + at;
			vec[i].iov_len = cuts[i];
			if (!rank)
				text_fill(out + at, cuts[i], i, count);
			at += cuts[i] + 1;
			total += cuts[i];
		}
		if (rank == 0) {
			require_is(0, bgdma_msg_isendv(t.msg, vec, count, 1,
						       count, 0, &r));
			require_is(0, bgdma_msg_wait(&r, NULL));
			continue;
		}
		require_is(0, bgdma_msg_irecvv(t.msg, vec, count, 0, count, 0,
					       &r));
		require_is(0, bgdma_msg_wait(&r, &status));
		require_is(total, status.length);
		for (i = 0; i < count; i++) {
			uint8_t *p = vec[i].iov_base;

			require(text_is(p, cuts[i], i, count));
			require_is(0xee, p[cuts[i]]);
		}
	}
	/* A short message fills the first pieces only; a long one all. */
	if (rank == 0) {
		text_fill(out, 200000, 0, 0);
		require_is(0, bgdma_msg_send(t.msg, out, 10, 1, 0, 1));
		require_is(0, bgdma_msg_send(t.msg, out, 200000, 1, 0, 1));
		return talker_close(&t);
	}
	memset(in, 0xee, sizeof(in));
	require_is(0, bgdma_msg_irecvv(t.msg, vec, n, 0, 0, 1, &r));
	require_is(0, bgdma_msg_wait(&r, &status));
	require_is(10, status.length);
	require(text_is(in, 3, 0, 0));
	require_is(text_byte(0, 0, 3), ((uint8_t *)vec[2].iov_base)[0]);
	require_is(0xee, ((uint8_t *)vec[2].iov_base)[7]);
	require_is(0, bgdma_msg_irecvv(t.msg, vec, n, 0, 0, 1, &r));
	require_is(-EMSGSIZE, bgdma_msg_wait(&r, &status));
	require_is(105704, status.length);
	require_is(0xee, in[at - 1]);
	return talker_close(&t);
}

TEST(msg_vectors_of_pieces)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, pieces, NULL, -1));
}

/* ---- Completion of several --------------------------------------------- */

#define ROW	20

/* As MPI has it of a null request, whatever was there before. */
static int empty(struct bgdma_msg_status *status)
{
	require_is(ANY_SOURCE, status->rank);
	require_is(ANY_TAG, status->tag);
	require(!status->cancelled);
	require_is(0, status->error);
	require_is(0, status->length);
	require_is(0, status->sent);
	memset(status, 0xee, sizeof(*status));
	return 0;
}

static int several(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *r[ROW], *none[2] = { NULL, NULL };
	struct bgdma_msg_status status[ROW];
	unsigned int index[ROW], seen = 0, i;
	struct talker t = { 0 };
	uint32_t at;
	int n;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	require_is(-ENOENT, bgdma_msg_waitany(none, 2, index, status));
	require_is(-ENOENT, bgdma_msg_testany(none, 2, index, status));
	require_is(-ENOENT, bgdma_msg_waitsome(none, 2, index, status));
	require_is(-ENOENT, bgdma_msg_testsome(none, 2, index, status));
	require_is(1, bgdma_msg_testall(none, 2, status));
	require_is(0, empty(&status[1]));
	require_is(0, bgdma_msg_waitall(none, 2, status));
	require_is(0, empty(&status[0]));
	require_is(0, empty(&status[1]));
	require_is(1, bgdma_msg_test(none, status));
	require_is(0, empty(&status[0]));
	require_is(0, bgdma_msg_wait(none, status));
	require_is(0, empty(&status[0]));
	if (rank == 0) {
		/* The fence has the even ones come, and no other. */
		for (i = 0; i < ROW; i += 2)
			require_is(0, bgdma_msg_send(t.msg, &i, sizeof(i), 1, i,
						     0));
		require_is(0, talker_fence(&t));
		require_is(0, talker_fence(&t));
		for (i = 1; i < ROW; i += 2)
			require_is(0, bgdma_msg_isend(t.msg, out, 50000, 1, i,
						      0, &r[i / 2]));
		require_is(0, bgdma_msg_waitall(r, ROW / 2, status));
		return talker_close(&t);
	}
	for (i = 0, at = 0; i < ROW; i++, at += 20000)
		require_is(0, bgdma_msg_irecv(t.msg, in + at, 20000, 0, i, 0,
					      &r[i]));
	require_is(0, talker_fence(&t));
	require_is(0, bgdma_msg_testall(r, ROW, status));
	require_is(1, bgdma_msg_testany(r, ROW, index, status));
	require_is(0, index[0]);
	require_is(0, status[0].tag);
	require(!r[0]);
	require_is(0, bgdma_msg_waitany(r, ROW, index, status));
	require_is(2, index[0]);
	require_is(ROW / 2 - 2, bgdma_msg_testsome(r, ROW, index, status));
	for (i = 0; i < ROW / 2 - 2; i++) {
		require_is(2 * i + 4, index[i]);
		require_is(2 * i + 4, status[i].tag);
	}
	require_is(0, bgdma_msg_testsome(r, ROW, index, status));
	require_is(0, bgdma_msg_testany(r, ROW, index, status));
	require_is(0, talker_fence(&t));
	/* The others are truncated: that is of each, and not of the call. */
	n = bgdma_msg_waitsome(r, ROW, index, status);
	require(n > 0);
	for (i = 0; i < (unsigned int)n; i++) {
		require_is(-EMSGSIZE, status[i].error);
		require_is(index[i], status[i].tag);
		seen++;
	}
	require_is(seen < ROW / 2 ? -EMSGSIZE : 0,
		   bgdma_msg_waitall(r, ROW, status));
	for (i = 0; i < ROW; i++)
		seen += status[i].error == -EMSGSIZE;
	require_is(ROW / 2, seen);
	return talker_close(&t);
}

TEST(msg_completion_of_several)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, several, NULL, -1));
}

/* ---- Cancelling -------------------------------------------------------- */

static int cancelled(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_status status;
	struct bgdma_msg_request *r, *s;
	struct talker t = { 0 };

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 0) {
		require_is(0, talker_fence(&t));
		require_is(0, bgdma_msg_isend(t.msg, out, 100, 1, 1, 0, &r));
		require_is(-EALREADY, bgdma_msg_cancel(r));
		require_is(0, bgdma_msg_wait(&r, &status));
		require(!status.cancelled);
		require_is(0, bgdma_msg_isend(t.msg, out, 100000, 1, 2, 0, &r));
		require_is(-EALREADY, bgdma_msg_cancel(r));
		require_is(0, bgdma_msg_wait(&r, &status));
		return talker_close(&t);
	}
	require_is(0, bgdma_msg_irecv(t.msg, in, SPACE, 0, 1, 0, &r));
	require_is(0, bgdma_msg_irecv(t.msg, out, SPACE, 0, 1, 0, &s));
	require_is(0, bgdma_msg_cancel(r));
	require_is(-EALREADY, bgdma_msg_cancel(r));
	require_is(-ECANCELED, bgdma_msg_wait(&r, &status));
	require(status.cancelled);
	require_is(0, talker_fence(&t));
	/* The other one gets it. */
	require_is(0, bgdma_msg_wait(&s, &status));
	require(!status.cancelled);
	require_is(100, status.length);
	/* Nobody waits for it: it frees itself. */
	require_is(0, bgdma_msg_irecv(t.msg, in, SPACE, 0, 2, 0, &r));
	bgdma_msg_request_free(&r);
	require(!r);
	return talker_close(&t);
}

TEST(msg_cancel)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, cancelled, NULL, -1));
}

/* Who only posts and gives up gets what was sent, too. */
static int given_up(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *r;
	struct talker t;
	int ret;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 0)
		require_is(0, bgdma_msg_send(t.msg, out, 8, 1, 1, 0));
	while (rank == 1) {
		require_is(0, bgdma_msg_irecv(t.msg, in, SPACE, 0, 1, 0, &r));
		ret = bgdma_msg_cancel(r);
		require_is(ret ? 0 : -ECANCELED, bgdma_msg_wait(&r, NULL));
		if (ret == -EALREADY)
			break;
		usleep(100);
	}
	return talker_close(&t);
}

TEST(msg_giving_up_is_progress)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, given_up, NULL, -1));
}

TEST_HARNESS_MAIN
