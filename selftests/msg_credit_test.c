// SPDX-License-Identifier: GPL-2.0
/*
 * Credit: what nobody receives is bounded, and holds up nothing else.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "kselftest_harness.h"
#include "msg_util.h"
#include "sys_module.h"

/* ---- Announced messages ------------------------------------------------ */

#define ANNOUNCED	64U	/* of each peer */
#define MORE		1000

/* With little credit: so many announcements, and so many bytes (0: many). */
static int little_open(struct talker *t, uint64_t memory)
{
	const struct bgdma_msg_attr attr = {
		.announced = 2 * ANNOUNCED, .unexpected_bytes = 2 * memory,
	};

	return talker_open(t, (struct bgdma_endpoint_attr){ 0 }, &attr);
}

/* What waits for one to be received comes then. */
static int announced(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[MORE];
	struct bgdma_msg_stats stats;
	struct talker t = { 0 };
	uint32_t i, at;

	(void)size;
	(void)arg;
	require_is(0, little_open(&t, 0));
	for (i = 0; rank == 0 && i < MORE; i++)
		require_is(0, bgdma_msg_issend(t.msg, NULL, 0, 1, i, 0, &r[i]));
	if (rank == 0) {
		bgdma_msg_stats(t.msg, &stats);
		require_is(ANNOUNCED, stats.announced);
		require_is(0, bgdma_msg_waitall(r, MORE, NULL));
		return talker_close(&t);
	}
	/* All but the first, each as soon as it is there. */
	require_is(0, bgdma_msg_probe(t.msg, 0, ANNOUNCED - 1, 0, NULL));
	for (i = 0; i < 10; i++)
		bgdma_endpoint_progress(t.m.ep, 0);
	require_is(0, bgdma_msg_iprobe(t.msg, 0, ANNOUNCED, 0, NULL));
	for (i = 1; i < MORE; i++) {
		at = i < ANNOUNCED ? ANNOUNCED - i : i;
		require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, at, 0, NULL));
	}
	bgdma_msg_stats(t.msg, &stats);
	require_is(384 * ANNOUNCED, stats.kept_max);
	require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, 0, 0, NULL));
	return talker_close(&t);
}

TEST(msg_announced_messages_are_bounded)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, announced, NULL, -1));
}

/* What is given back before the last can be announced comes, too. */
static int the_last(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[ANNOUNCED + 1];
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, little_open(&t, 0));
	for (i = 0; rank == 0 && i < ANNOUNCED + 1; i++) {
		/* One is received before the last two are sent. */
		if (i == ANNOUNCED - 1)
			require_is(0, bgdma_msg_wait(&r[0], NULL));
		require_is(0, bgdma_msg_issend(t.msg, NULL, 0, 1, i, 0, &r[i]));
	}
	if (rank == 0) {
		require_is(0, bgdma_msg_waitall(r, ANNOUNCED + 1, NULL));
		return talker_close(&t);
	}
	require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, 0, 0, NULL));
	for (i = ANNOUNCED; i > 0; i--)
		require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, i, 0, NULL));
	return talker_close(&t);
}

TEST(msg_the_last_that_can_be_announced)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, the_last, NULL, -1));
}

/* ---- Sends that wait --------------------------------------------------- */

/* What waited behind a message that is cancelled has its turn. */
static int behind(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[ANNOUNCED];
	struct bgdma_msg_request *waits, *next;
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, little_open(&t, 0));
	if (rank == 1) {
		require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, 200, 0, NULL));
		for (i = 0; i < ANNOUNCED; i++)
			require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, i, 0,
						     NULL));
		return talker_close(&t);
	}
	for (i = 0; i < ANNOUNCED; i++)
		require_is(0, bgdma_msg_issend(t.msg, NULL, 0, 1, i, 0, &r[i]));
	require_is(0, bgdma_msg_issend(t.msg, NULL, 0, 1, 100, 0, &waits));
	require_is(0, bgdma_msg_isend(t.msg, NULL, 0, 1, 200, 0, &next));
	require_is(0, bgdma_msg_cancel(waits));
	require_is(-ECANCELED, bgdma_msg_wait(&waits, NULL));
	require_is(0, bgdma_msg_wait(&next, NULL));
	require_is(0, bgdma_msg_waitall(r, ANNOUNCED, NULL));
	return talker_close(&t);
}

TEST(msg_a_cancelled_send_lets_others_go)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, behind, NULL, -1));
}

/* ---- A process that has died with all credit --------------------------- */

static int dead(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[ANNOUNCED];
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, little_open(&t, 0));
	if (rank == 1) {
		require_is(0, bgdma_msg_probe(t.msg, 0, ANNOUNCED - 1, 0,
					      NULL));
		raise(SIGKILL);
	}
	for (i = 0; i < ANNOUNCED; i++)
		require_is(0, bgdma_msg_issend(t.msg, NULL, 0, 1, i, 0, &r[i]));
	require_is(-EHOSTDOWN, bgdma_msg_waitall(r, ANNOUNCED, NULL));
	require_is(-EHOSTDOWN, bgdma_msg_ssend(t.msg, NULL, 0, 1, 0, 0));
	return member_leave(&t.m);
}

TEST(x3_msg_to_the_dead_without_credit)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, dead, NULL, 1));
}

/* ---- Memory that is owed when nothing can be announced ----------------- */

#define KEPT	6
#define USED	4

static int owed(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *r[KEPT + USED + ANNOUNCED + 1];
	const uint32_t n = KEPT + USED + ANNOUNCED;
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, little_open(&t, 384 * (KEPT + USED)));
	if (rank == 0) {
		for (i = 0; i <= n; i++)
			require_is(0, bgdma_msg_isend(t.msg, NULL, 0, 1, i, 0,
						      &r[i]));
		require_is(0, bgdma_msg_waitall(r, n + 1, NULL));
		return talker_close(&t);
	}
	for (i = KEPT; i < KEPT + USED; i++)
		require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, i, 0, NULL));
	require_is(0, bgdma_msg_probe(t.msg, 0, n - 1, 0, NULL));
	require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, n, 0, NULL));
	for (i = 0; i < n; i++)
		if (i < KEPT || i >= KEPT + USED)
			require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, i, 0,
						     NULL));
	return talker_close(&t);
}

TEST(msg_memory_that_is_owed_is_given_back)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, owed, NULL, -1));
}

/* ---- A process without progress ---------------------------------------- */

#define MANY		20000	/* more than its FIFO holds */

/* Process 1 does nothing; 0 sends to it, and to 2 by the same channel. */
static int idler(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr attr = { .channels = 1 };
	static struct bgdma_msg_request *r[MANY];
	static uint32_t number[MANY];
	volatile bool *go = arg;
	struct talker t = { 0 };
	uint32_t i, got;

	(void)size;
	require_is(0, talker_open(&t, attr, NULL));
	for (i = 0; rank == 0 && i < MANY; i++) {
		number[i] = i;
		require_is(0, bgdma_msg_isend(t.msg, &number[i],
					      sizeof(number[i]), 1, 1, 0,
					      &r[i]));
	}
	if (rank == 0)
		require_is(0, bgdma_msg_ssend(t.msg, &number[7], 4, 2, 1, 0));
	if (rank == 2) {
		require_is(0, bgdma_msg_recv(t.msg, &got, 4, 0, 1, 0, NULL));
		require_is(7, got);
		*go = true;
	}
	while (!*go)
		usleep(1000);
	for (i = 0; rank == 1 && i < MANY; i++) {
		require_is(0, bgdma_msg_recv(t.msg, &got, 4, 0, 1, 0, NULL));
		require_is(i, got);
	}
	if (rank == 0)
		require_is(0, bgdma_msg_waitall(r, MANY, NULL));
	return talker_close(&t);
}

TEST(lc4_a_process_without_progress_holds_up_nobody)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, idler, shared(sizeof(bool)), -1));
}

/* ---- What is open, by the environment ---------------------------------- */

static int not_even_an_endpoint(uint32_t rank, uint32_t size, void *arg)
{
	struct member m = { 0 };

	(void)rank;
	(void)size;
	require_is(0, setenv("BGDMA_PER_NODE", arg, 1));
	require_is(-EINVAL, member_open(&m, NULL));
	bgdma_job_close(m.job);
	return 0;
}

static int refused(uint32_t rank, uint32_t size, void *arg)
{
	const char *const *v = arg;
	struct bgdma_msg *msg;
	struct member m;

	(void)rank;
	(void)size;
	require_is(0, setenv(v[0], v[1], 1));
	require_is(0, member_open(&m, NULL));
	require_is(-EINVAL, bgdma_msg_create(&msg, m.ep, NULL));
	return member_leave(&m);
}

TEST(msg_nonsense_in_the_environment)
{
	static const char *const nonsense[][2] = {
		{ "BGDMA_EAGER_BYTES", "4k" },
		{ "BGDMA_EAGER_BYTES", "32769" },
		{ "BGDMA_UNEXPECTED_BYTES", "-1" },
		{ "BGDMA_UNEXPECTED_BYTES", "0" },
		{ "BGDMA_ANNOUNCED", "99999999999" },
		{ "BGDMA_ANNOUNCED", "many" },
	};
	unsigned int i;

	partition_new("1x1x1", "");
	for (i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		EXPECT_TRUE(job_run(1, refused, (void *)nonsense[i], -1))
			TH_LOG("variable %u", i);
	EXPECT_TRUE(job_run(1, not_even_an_endpoint, "two", -1));
	EXPECT_TRUE(job_run(1, not_even_an_endpoint, "2x", -1));
}

/* ---- Memory that is not to be had ------------------------------------------ */

#define HUGE_BYTES	(32UL << 20)
#define LONG_BYTES	65536U

/* No more is locked, and next to none mapped. */
static int memory_limit(void)
{
	struct rlimit most;
	unsigned long pages;
	FILE *f = fopen("/proc/self/statm", "r");

	require(f);
	require_is(1, fscanf(f, "%lu", &pages));
	fclose(f);
	require_is(0, lock_nothing());
	most.rlim_cur = pages * 4096 + (16UL << 20);
	most.rlim_max = most.rlim_cur;
	return setrlimit(RLIMIT_AS, &most);
}

/*
 * Process 0 receives what it will never have the memory for, while one of its messages
 * to process 1 waits for another.
 */
static int receives_in_vain(struct talker *t, uint8_t *mem)
{
	struct bgdma_msg_request *vain, *sent[2];
	uint32_t tag;

	require_is(0, memory_limit());
	require_is(0, bgdma_msg_isend(t->msg, mem, LONG_BYTES, 1, 0, 0,
				      &sent[0]));
	require_is(0, bgdma_msg_probe(t->msg, 2, 0, 0, NULL));
	require_is(0, bgdma_msg_irecv(t->msg, mem, HUGE_BYTES, 2, 0, 0, &vain));
	require_is(0, bgdma_msg_test(&vain, NULL));
	require_is(0, bgdma_msg_isend(t->msg, mem, LONG_BYTES, 1, 1, 0,
				      &sent[1]));
	for (tag = 2; tag-- > 0;)
		require_is(0, bgdma_msg_wait(&sent[tag], NULL));
	/* Nothing moves any more that could give it memory. */
	require_is(-ENOMEM, bgdma_msg_wait(&vain, NULL));
	return 0;
}

static int starve(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[HUGE_BYTES] PINNED;
	struct bgdma_msg_request *huge = NULL;
	struct talker t = { 0 };
	uint32_t tag;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 0)
		require_is(0, receives_in_vain(&t, mem));
	else if (rank == 2)
		require_is(0, bgdma_msg_isend(t.msg, mem, HUGE_BYTES, 0, 0, 0,
					      &huge));
	for (tag = 2; rank == 1 && tag-- > 0;)
		require_is(0, bgdma_msg_recv(t.msg, mem, LONG_BYTES, 0, tag, 0,
					     NULL));
	if (huge)
		(void)bgdma_msg_wait(&huge, NULL);
	require_is(0, talker_fence(&t));
	return member_leave(&t.m);
}

TEST(msg_a_receive_in_vain_holds_up_no_other)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(3, starve, NULL, -1));
}

/* ---- Memory that no engine may write ---------------------------------------- */

#define FILE_MESSAGES	40

/* A file of a file system that has to hear of each write to it. */
static uint8_t *file_mapped(void)
{
	char dir[] = "/tmp/msg.XXXXXX", name[32];
	uint8_t *mem;
	int fd;

	must(mkdtemp(dir) ? 0 : -errno);
	must(mount("none", dir, "ramfs", 0, NULL));
	snprintf(name, sizeof(name), "%s/file", dir);
	fd = must(open(name, O_RDWR | O_CREAT, 0600));
	must(ftruncate(fd, LONG_BYTES));
	mem = mmap(NULL, LONG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	must(umount2(dir, MNT_DETACH));
	must(rmdir(dir));
	return mem;
}

/* Eager, announced for want of credit, and too long for what was posted. */
static int into_file(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[FILE_MESSAGES];
	const uint32_t *bytes = arg;
	struct bgdma_msg_status status;
	struct talker t = { 0 };
	static uint8_t mem[FILE_MESSAGES][LONG_BYTES];
	uint8_t *file;
	uint32_t i;

	(void)size;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 },
			&(struct bgdma_msg_attr){ .unexpected_bytes = 16384 }));
	for (i = 0; rank == 0 && i < FILE_MESSAGES; i++) {
		text_fill(mem[i], *bytes, 0, i);
		require_is(0, bgdma_msg_isend(t.msg, mem[i], *bytes, 1, 0, 0,
					      &r[i]));
	}
	if (rank == 0) {
		require_is(0, bgdma_msg_waitall(r, FILE_MESSAGES, NULL));
		return talker_close(&t);
	}
	file = file_mapped();
	require(file != MAP_FAILED);
	for (i = 0; i < FILE_MESSAGES; i++) {
		uint32_t room = i % 2 ? *bytes : *bytes - 1;

		memset(file, 0xee, *bytes);
		require_is(room < *bytes ? -EMSGSIZE : 0,
			   bgdma_msg_recv(t.msg, file, room, 0, 0, 0, &status));
		require_is(room, status.length);
		require(text_is(file, room, 0, i));
		require(room == *bytes || file[room] == 0xee);
	}
	return talker_close(&t);
}

TEST(msg_into_a_file_that_is_mapped)
{
	uint32_t bytes[] = { 1000, LONG_BYTES }, i;

	partition_new("2x1x1", "");
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(job_run(2, into_file, &bytes[i], -1));
}

TEST_HARNESS_MAIN
