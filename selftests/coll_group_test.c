// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of the coll module: what members and others can do to them, what happens
 * when one member cannot make its own, and what is used again.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "kselftest_harness.h"
#include "coll_util.h"
#include "../lib/coll/internal.h"

FIXTURE(coll) {
};

FIXTURE_SETUP(coll)
{
	board = shared(sizeof(*board));
}

FIXTURE_TEARDOWN(coll)
{
}

/* ---- Packets that are ours alone --------------------------------------- */

/* Zeros behind the two bytes of rank 0's memory; it is refused, or goes nowhere. */
static int write_behind(struct caller *c, bool lines)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(c->m.ep);
	const struct bgdma_peer *victim = bgdma_endpoint_peer(c->m.ep, 0);
	const struct bgdma_inj_attr attr = { .entries = 64 };
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_inj_fifo *fifo;
	struct bgdma_region *from;
	struct bgdma_desc desc;

	require_is(0, bgdma_inj_create(ctx, &attr, &fifo));
	require_is(0, bgdma_region_alloc(ctx, 4096, BGDMA_LOCAL_READ, &from));
	t.dest = victim->node;
	t.dest_ctx = victim->ctx;
	t.from.region = bgdma_region_handle(from);
	t.to.region = lines ? 1 : (uint32_t)board->value[0];
	t.to.offset = 64;
	t.length = 192;
	bgdma_desc_put(&desc, &t);
	if (lines)
		bgdma_desc_under(&desc, 0);
	require_is(0, bgdma_inject(fifo, &desc));
	(void)bgdma_inj_wait(fifo, bgdma_inj_next(fifo), BGDMA_SLEEP,
			     (int64_t)PATIENCE_NS);
	usleep(20000);
	require_is(0, bgdma_inj_destroy(fifo));
	return bgdma_region_free(from);
}

static int writing_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr *split = arg;
	struct caller c = { 0 };
	int i;

	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, split, &c.group));
	require_is(0, bgdma_coll_barrier(c.group));
	if (!rank)
		board->value[0] = bgdma_region_handle(c.group->memory);
	place(0, size);
	if (rank)
		require_is(0, write_behind(&c, !split->flags));
	place(1, size);
	for (i = 0; i < 10; i++) {
		require_is(0, bgdma_coll_enter(c.group));
		require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP,
					      (int64_t)PATIENCE_NS));
	}
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba3_members_cannot_write_our_packets, 120)
{
	struct bgdma_split_attr split = { .flags = BGDMA_SPLIT_PLAIN };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, writing_member, &split, -1));
	memset(board, 0, sizeof(*board));
	split.flags = 0;
	EXPECT_TRUE(job_run(2, writing_member, &split, -1));
}

/* ---- One packet too many ----------------------------------------------- */

enum { LATE = 2, TWICE = 3 };

/* Barriers that nobody leaves before all have entered. */
static int rounds(struct bgdma_coll_group *group, uint32_t rank, uint32_t size)
{
	int64_t i, seen;
	uint32_t r;

	for (i = 1; i <= 50; i++) {
		store(&board->round[rank], i);
		require_is(0, bgdma_coll_barrier(group));
		for (r = 0; r < size; r++) {
			seen = load(&board->round[r]);
			require(seen == i || seen == i + 1);
		}
	}
	return 0;
}

/*
 * TWICE enters and says so twice. Those that wait for LATE leave without it: a member
 * can do that to its own group, and to none of the others.
 */
static int excess_member(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *other;
	struct caller c = { 0 };

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	require_is(0, bgdma_coll_split(c.coll, NULL, &other));
	require_is(0, bgdma_coll_barrier(c.group));
	place(0, size);
	if (rank != LATE)
		require_is(0, bgdma_coll_enter(c.group));
	if (rank == TWICE)
		require_is(0, bgdma_inject(c.coll->fifo, c.group->desc));
	if (rank < LATE) {
		require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP,
					      (int64_t)PATIENCE_NS));
		require_is(0, load(&board->value[LATE]));
	}
	place(1, size);
	if (rank == LATE) {
		store(&board->value[LATE], 1);
		require_is(0, bgdma_coll_enter(c.group));
	}
	if (rank >= LATE)
		require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP,
					      (int64_t)PATIENCE_NS));
	require_is(0, rounds(other, rank, size));
	bgdma_coll_group_destroy(other);
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba4_one_packet_too_many_hurts_its_own_group, 60)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, excess_member, NULL, -1));
}

/* ---- Who is ready ------------------------------------------------------ */

/* A packet to rank 0, which has to refuse it. */
static int say_with(struct caller *c, const char *name, uint64_t word,
		    const void *data, uint64_t length)
{
	struct bgdma_send_attr send = {
		.type = BGDMA_COLLECTIVE, .word = word,
		.data = data, .length = length,
	};
	int ret;

	require_is(0, operation_id(c, name, BGDMA_COLLECTIVE,
				  &send.operation));
	while ((ret = bgdma_endpoint_send(c->m.ep, &send)) == -EAGAIN)
		(void)bgdma_endpoint_wait(c->m.ep, -1);
	return ret;
}

static int say(struct caller *c, uint64_t word)
{
	return say_with(c, "ready", word, NULL, 0);
}

/* 0 and 1 are members, 2 is not; the group is the job's first. */
static int saying_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr split = {
		.color = rank == 2 ? BGDMA_SPLIT_NONE : 0,
		.flags = BGDMA_SPLIT_PLAIN,
	};
	uint32_t gone[2] = { 0, 1000 };
	const struct card card = { 0 };
	struct caller c = { 0 };

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, &split, &c.group));
	if (!rank)
		require_is(0, malformed(&c));
	place(0, size);
	/* Again; of no member; of no group. And who gives up: too short, nobody. */
	if (rank == 1) {
		require_is(0, say(&c, 0));
		require_is(0, say_with(&c, "gone", 0, gone, 4));
		require_is(0, say_with(&c, "gone", 0, gone, 8));
	}
	if (rank == 2) {
		require_is(0, say(&c, 0));
		require_is(0, say(&c, 1 << 1));
		require_is(0, say(&c, 7 << 2));
		gone[0] = 1;
		gone[1] = BGDMA_STRANGER;
		require_is(0, say_with(&c, "gone", 0, gone, 8));
		require_is(0, say_with(&c, "gone", 7, gone, 8));
		/* What it has: again, of later splits than the next, too short. */
		require_is(0, say_with(&c, "card", 0, &card, sizeof(card)));
		require_is(0, say_with(&c, "card", 2, &card, sizeof(card)));
		require_is(0, say_with(&c, "card", 1, gone, 8));
	}
	require(rank || until(malformed(&c) == 11));
	/* None of it has ended the group. */
	if (c.group)
		require_is(0, bgdma_coll_barrier(c.group));
	place(1, size);
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba1_each_member_is_ready_once, 120)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, saying_member, NULL, -1));
}

/* ---- One cannot -------------------------------------------------------- */

/* ioctl()s that grant fail from now on, in this process. */
static void forbid_grants(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 (uint32_t)BGDMA_IOC_GRANT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0);
}

static int refusing_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr split = { .flags = BGDMA_SPLIT_PLAIN };
	struct caller c = { 0 };

	(void)size;
	(void)arg;
	require_is(0, caller_open(&c, 1));
	if (rank == 1)
		forbid_grants();
	require_is(rank == 1 ? -ENOMEM : -ENOSPC,
		   bgdma_coll_split(c.coll, &split, &c.group));
	require(!c.group);
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba1_all_fail_when_one_cannot, 60)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, refusing_member, NULL, -1));
}

/* ---- What a group takes ------------------------------------------------ */

/* All numbers of groups at this node but 1 and 2. */
static int numbers_take(struct caller *c)
{
	const struct bgdma_peer *self = bgdma_endpoint_peer(c->m.ep, c->m.rank);
	struct bgdma_group_member member = {
		.rank = self->node, .ctx = self->ctx,
	};
	struct bgdma_group_attr attr = {
		.members = &member, .member_count = 1,
	};

	for (; attr.number < BGDMA_GROUPS_MAX; attr.number++)
		if (attr.number != 1 && attr.number != 2)
			require_is(0, bgdma_group_bind(
					bgdma_endpoint_ctx(c->m.ep), &attr));
	return 0;
}

/* One group by lines after the other, beside one that stays. */
static int many_member(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *group;
	struct bgdma_coll_plan plan;
	struct caller c = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, caller_open(&c, 1));
	if (!rank)
		require_is(0, numbers_take(&c));
	/* Number 0, which is taken; then 1; then 2 again and again. */
	for (i = 0; i < 8; i++) {
		require_is(0, bgdma_coll_split(c.coll, NULL, &group));
		bgdma_coll_plan(group, &plan);
		require_is(i > 0, plan.deposit);
		require_is(0, bgdma_coll_barrier(group));
		if (c.group)
			require_is(0, bgdma_coll_barrier(c.group));
		if (i == 1)
			c.group = group;
		else
			bgdma_coll_group_destroy(group);
	}
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba2_numbers_are_used_again, 60)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, many_member, NULL, -1));
}

/* Rank 1 has no counter left, and needs none to be in no group. */
static int idle_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr split = {
		.color = rank == 1 ? BGDMA_SPLIT_NONE : 0,
	};
	struct bgdma_counter *counter;
	struct caller c = { 0 };
	int ret = 0;

	(void)size;
	(void)arg;
	require_is(0, caller_open(&c, 1));
	while (rank == 1 && !ret)
		ret = bgdma_counter_alloc_many(bgdma_endpoint_ctx(c.m.ep),
					       BGDMA_INJECTION, 1, 0, &counter);
	require_is(0, bgdma_coll_split(c.coll, &split, &c.group));
	require_is(rank == 1, !c.group);
	if (rank != 1)
		require_is(0, bgdma_coll_barrier(c.group));
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba1_none_takes_no_counter, 60)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, idle_member, NULL, -1));
}

/* ---- Signals ----------------------------------------------------------- */

#define SIGNAL_US	2000
#define SIGNAL_SPLITS	100

static void on_alarm(int signal)
{
	(void)signal;
}

static void alarms(suseconds_t every)
{
	const struct itimerval timer = { { 0, every }, { 0, every } };
	const struct sigaction action = { .sa_handler = on_alarm };

	must(sigaction(SIGALRM, &action, NULL));
	must(setitimer(ITIMER_REAL, &timer, NULL));
}

/* A signal at one member, at any time, fails no split: the others would hang. */
static int signalled_member(uint32_t rank, uint32_t size, void *arg)
{
	struct caller c = { 0 };
	uint32_t i;

	(void)arg;
	require_is(0, caller_open(&c, 1));
	for (i = 0; i < SIGNAL_SPLITS; i++) {
		const struct bgdma_split_attr split = {
			.flags = i % 2 ? BGDMA_SPLIT_PLAIN : 0,
		};

		if (!rank)
			alarms(SIGNAL_US);
		require_is(0, bgdma_coll_split(c.coll, &split, &c.group));
		alarms(0);
		place(0, size * (i + 1));
		bgdma_coll_group_destroy(c.group);
		c.group = NULL;
	}
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba1_signals_in_splits, 300)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, signalled_member, NULL, -1));
}

/* ---- Deaths ------------------------------------------------------------ */

#define VICTIM	2

/*
 * A process dies before a split: at once, or after it has told some of the others
 * what it has. Who lives hears of it, those of other colours too.
 */
static int dying_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr colours = { .color = rank % 2 };
	const struct bgdma_split_attr *split = arg;
	struct caller c = { 0 };
	int ret;

	require_is(0, caller_open(&c, 1));
	if (split) {
		require_is(0, bgdma_coll_split(c.coll, split, &c.group));
		require_is(0, bgdma_coll_barrier(c.group));
	}
	place(0, size);
	if (rank == VICTIM)
		return raise(SIGKILL);
	bgdma_coll_group_destroy(c.group);
	c.group = NULL;
	ret = bgdma_coll_split(c.coll, split ? NULL : &colours, &c.group);
	require_is(-EHOSTDOWN, ret);
	place(1, size - 1);
	require_is(-EHOSTDOWN, bgdma_coll_split(c.coll, NULL, &c.group));
	place(2, size - 1);
	return member_leave(&c.m);
}

TEST_F_TIMEOUT(coll, x3_a_process_dies_before_a_split, 120)
{
	struct bgdma_split_attr split = { 0 };

	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, dying_member, &split, VICTIM));
	memset(board, 0, sizeof(*board));
	split.flags = BGDMA_SPLIT_PLAIN;
	EXPECT_TRUE(job_run(4, dying_member, &split, VICTIM));
	memset(board, 0, sizeof(*board));
	EXPECT_TRUE(job_run(4, dying_member, NULL, VICTIM));
}

/*
 * It dies at some time while all split and meet, again and again: all others fail
 * in a split or in a barrier, and none hangs.
 */
static int killed_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr split = { .color = rank % 4 / 2 };
	uint32_t when = *(uint32_t *)arg;
	struct caller c = { 0 };
	uint32_t i;
	int ret = 0;

	require_is(0, caller_open(&c, 1));
	place(0, size);
	if (rank == VICTIM) {
		signal(SIGALRM, SIG_DFL);
		must(setitimer(ITIMER_REAL, &(struct itimerval){
			.it_value.tv_usec = 1000 + when * 1700 }, NULL));
	}
	for (i = 0; !ret; i++) {
		ret = bgdma_coll_split(c.coll, i % 2 ? &split : NULL, &c.group);
		if (!ret)
			ret = bgdma_coll_barrier(c.group);
		if (!ret)
			bgdma_coll_group_destroy(c.group);
		if (!ret)
			c.group = NULL;
	}
	require_is(-EHOSTDOWN, ret);
	place(1, size - 1);
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F_TIMEOUT(coll, x3_a_process_dies_in_some_split, 300)
{
	uint32_t when;

	partition_new("2x2x2", "");
	for (when = 0; when < 12; when++) {
		memset(board, 0, sizeof(*board));
		EXPECT_TRUE(job_run(8, killed_member, &when, VICTIM))
			TH_LOG("time %u", when);
	}
}

/* ---- Replies ----------------------------------------------------------- */

#define REPLY_ROUNDS	20

/* Each packet is answered, which the sink counts; or none is. */
static int replying_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr *split = arg;
	bool silent = split->flags & (BGDMA_SPLIT_NO_REPLY | BGDMA_SPLIT_PUT);
	int64_t replies = silent ? 0 : size - 1;
	struct caller c = { 0 };
	uint32_t i;

	(void)rank;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, split, &c.group));
	for (i = 0; i < REPLY_ROUNDS; i++)
		require_is(0, bgdma_coll_barrier(c.group));
	require(until(bgdma_counter_read(c.group->sink) ==
		      -replies * REPLY_ROUNDS));
	place(0, size);
	require_is(-replies * REPLY_ROUNDS, bgdma_counter_read(c.group->sink));
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba3_packets_are_answered_or_not, 120)
{
	static const uint32_t flags[] = {
		0, BGDMA_SPLIT_NO_REPLY, BGDMA_SPLIT_PLAIN,
		BGDMA_SPLIT_PLAIN | BGDMA_SPLIT_NO_REPLY, BGDMA_SPLIT_PUT,
		BGDMA_SPLIT_PUT | BGDMA_SPLIT_NO_REPLY,
	};
	struct bgdma_split_attr split = { 0 };
	unsigned int i;

	partition_new("4x1x1", "torus xyz");
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		memset(board, 0, sizeof(*board));
		split.flags = flags[i];
		EXPECT_TRUE(job_run(4, replying_member, &split, -1))
			TH_LOG("flags %x", flags[i]);
	}
}

/* Rank 1 asks for what there is not: nobody gets a group, and nobody waits. */
static int nonsense(uint32_t rank, uint32_t size, void *arg)
{
	struct {
		struct bgdma_split_attr attr;
		uint64_t news;
	} later = { .news = rank == 1 };
	struct bgdma_split_attr attr = { .flags = rank == 1 ? 1U << 20 : 0 };
	struct caller c = { 0 };

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require(bgdma_coll_split(c.coll, &attr, &c.group) == -EINVAL);
	require_is(rank == 1 ? -E2BIG : -EINVAL,
		   bgdma_coll_split_sized(c.coll, &later.attr, sizeof(later),
					  &c.group));
	attr.flags = 0;
	require_is(0, bgdma_coll_split(c.coll, &attr, &c.group));
	require_is(0, bgdma_coll_barrier(c.group));
	place(0, size);
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, ba1_all_fail_when_one_asks_for_nonsense, 60)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, nonsense, NULL, -1));
}

/* ---- Windows ------------------------------------------------------------- */

/* How much a member may be ahead comes from what it has room for. */
static int less_room(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr ep = {
		.data_bytes = rank ? 65536 : 0,
	};
	struct caller c = { 0 };

	(void)size;
	(void)arg;
	require_is(-EPROTO, caller_open_as(&c, &ep));
	return member_leave(&c.m);
}

TEST_F(coll, dp6_members_with_other_windows_are_refused)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, less_room, NULL, -1));
}

TEST_HARNESS_MAIN
