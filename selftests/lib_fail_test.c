// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma when it is refused: attributes that make no sense, and calls that
 * fail one after the other, after which nothing may be left behind.
 */
#include <dlfcn.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <bgdma/bgdma.h>

#include "kselftest_harness.h"
#include "lib_fake.h"

TEST(attach_refusals)
{
	struct {
		struct bgdma_attach_attr attr;
		char more[8];
	} later = { .attr = { .partition = "fake" } };
	size_t past = offsetof(struct bgdma_attach_attr, rank);
	struct bgdma_attach_attr long_name = { .rank = 0 };
	char name[BGDMA_NAME_MAX + 1];
	struct bgdma_ctx *ctx = NULL;

	fake_reset();
	EXPECT_EQ(-ENOENT, bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.partition = "nowhere" }));
	EXPECT_EQ(-1, fcntl(fake.fd, F_GETFD));
	EXPECT_EQ(-EINVAL, bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.rank = 1 }));
	memset(name, 'x', sizeof(name));
	name[BGDMA_NAME_MAX] = 0;
	long_name.partition = name;
	EXPECT_EQ(-ENAMETOOLONG, bgdma_attach(&ctx, &long_name));
	EXPECT_EQ(NULL, ctx);

	/* A program of the future may ask for nothing that we do not know. */
	EXPECT_EQ(0, bgdma_attach_sized(&ctx, &later.attr, sizeof(later)));
	bgdma_detach(ctx);
	later.more[3] = 1;
	EXPECT_EQ(-E2BIG, bgdma_attach_sized(&ctx, &later.attr, sizeof(later)));
	/* One of the past knew less. */
	EXPECT_EQ(0, bgdma_attach_sized(&ctx, &later.attr, past));
	bgdma_detach(ctx);
	bgdma_detach(NULL);
}

/* Make and end one of each kind; @made counts what should exist then. */
static int use_everything(struct bgdma_ctx **ctx, int *made)
{
	struct bgdma_region *pinned, *driver = NULL;
	struct bgdma_counter *counters[5];
	struct bgdma_inj_fifo *inj = NULL;
	struct bgdma_rget_queue *queue;
	struct bgdma_rec_fifo *rec;
	static char memory[4096];
	int ret;

	ret = bgdma_attach(ctx, &(struct bgdma_attach_attr){
			.partition = "fake" });
	if (ret)
		return ret;
	ret = bgdma_inj_create(*ctx, NULL, &inj);
	*made += !ret;
	if (!ret)
		ret = bgdma_rec_create(*ctx, NULL, &rec);
	*made += !ret;
	if (!ret)
		ret = bgdma_rgq_create(*ctx, NULL, &queue);
	*made += !ret;
	if (!ret)
		ret = bgdma_counter_alloc_many(*ctx, BGDMA_INJECTION, 5, 0,
					       counters);
	*made += ret ? 0 : 5;
	if (!ret)
		ret = bgdma_region_register(*ctx, memory, sizeof(memory),
					    BGDMA_LOCAL_READ, &pinned);
	*made += !ret;
	if (!ret)
		ret = bgdma_region_alloc(*ctx, 9000, BGDMA_LOCAL_READ, &driver);
	*made += !ret;
	if (!ret)
		ret = bgdma_region_free(driver);
	*made -= !ret;
	if (!ret)
		ret = bgdma_inj_destroy(inj);
	*made -= !ret;
	return ret;
}

/* The nth call fails, for every n, until there are so many no longer. */
TEST(fail_nth)
{
	int n, ret = -ENOMEM;

	for (n = 1; ret && n < 100; n++) {
		struct bgdma_ctx *ctx = NULL;
		int made = 0;

		fake_reset();
		fake.fail_at = n;
		fake.fail_with = ENOMEM;
		ret = use_everything(&ctx, &made);
		EXPECT_TRUE(ret == 0 || ret == -ENOMEM);
		/* What the caller has a handle for is what exists. */
		EXPECT_EQ(made, fake.objects);
		bgdma_detach(ctx);
		EXPECT_EQ(-1, fcntl(fake.fd, F_GETFD));
	}
	EXPECT_EQ(0, ret);
	/* open, attach, five areas, nine calls and three rings at least. */
	EXPECT_GE(n, 19);
}

/* ---- Every public call, one system call of it after the other failing --- */

/* Memory and io_uring fail as system calls do, while a call is on trial. */
static bool on_trial;

static bool trial_fails(void)
{
	return on_trial && fake_fails();
}

extern void *__libc_calloc(size_t n, size_t size);

void *calloc(size_t n, size_t size)
{
	if (!trial_fails())
		return __libc_calloc(n, size);
	errno = ENOMEM;
	return NULL;
}

#define REAL(name)	((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int io_uring_queue_init(unsigned int entries, struct io_uring *ring,
			unsigned int flags)
{
	return trial_fails() ? -fake.fail_with :
		REAL(io_uring_queue_init)(entries, ring, flags);
}

int io_uring_submit(struct io_uring *ring)
{
	return trial_fails() ? -fake.fail_with : REAL(io_uring_submit)(ring);
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned int count)
{
	return trial_fails() ? -fake.fail_with :
		REAL(io_uring_submit_and_wait)(ring, count);
}

int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe,
		       unsigned int submit, unsigned int count, sigset_t *mask)
{
	return trial_fails() ? -fake.fail_with :
		REAL(__io_uring_get_cqe)(ring, cqe, submit, count, mask);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
	  const sigset_t *mask)
{
	if (!trial_fails())
		return REAL(ppoll)(fds, n, limit, mask);
	errno = fake.fail_with;
	return -1;
}

static struct {
	struct bgdma_ctx *ctx;
	struct bgdma_inj_fifo *inj, *inj2;
	struct bgdma_rec_fifo *rec, *rec2;
	struct bgdma_rget_queue *rgq, *rgq2;
	struct bgdma_region *region, *region2;
	struct bgdma_counter *counter, *counters[5];
	struct bgdma_query query;
	uint32_t id;
	char memory[4096];
} all;

static void all_new(void)
{
	const struct bgdma_attach_attr attr = { .partition = "fake" };

	memset(&all, 0, sizeof(all));
	fake_reset();
	if (bgdma_attach(&all.ctx, &attr) ||
	    bgdma_inj_create(all.ctx, NULL, &all.inj) ||
	    bgdma_rec_create(all.ctx, NULL, &all.rec) ||
	    bgdma_rgq_create(all.ctx, NULL, &all.rgq) ||
	    bgdma_region_alloc(all.ctx, 9000, BGDMA_LOCAL_READ, &all.region) ||
	    bgdma_counter_alloc(all.ctx, BGDMA_INJECTION, &all.counter))
		abort();
}

/* What is polled is an eventfd that is ready; all maps are there. */
static void all_polled(void)
{
	uint64_t one = 1;
	int event = eventfd(0, EFD_NONBLOCK);

	if (event < 0 || write(event, &one, sizeof(one)) != sizeof(one) ||
	    dup2(event, fake.fd) < 0)
		abort();
	close(event);
}

static void all_end(void)
{
	bgdma_detach(all.ctx);
}

static int try_query(void)
{
	int fd = fake.fd;
	int ret = bgdma_query(&all.query);

	/* It opens a file of its own. */
	fake.fd = fd;
	return ret;
}

static int try_inj_create(void)
{
	return bgdma_inj_create(all.ctx, NULL, &all.inj2);
}

static int try_inj_destroy(void)
{
	return bgdma_inj_destroy(all.inj);
}

static int try_inj_cancel(void)
{
	int ret = bgdma_inj_cancel(all.inj, 0, 9);

	return ret < 0 ? ret : 0;
}

static int try_inj_clear(void)
{
	return bgdma_inj_clear_error(all.inj, 0);
}

static void inj_is_done(void)
{
	fake_inj_kern(bgdma_inj_id(all.inj))->done = 3;
}

static int try_inj_wait(void)
{
	fake.on_wait = inj_is_done;
	return bgdma_inj_wait(all.inj, 3, BGDMA_SLEEP, -1);
}

static int try_rec_create(void)
{
	return bgdma_rec_create(all.ctx, NULL, &all.rec2);
}

static int try_rec_destroy(void)
{
	return bgdma_rec_destroy(all.rec);
}

static int try_rec_clear(void)
{
	return bgdma_rec_clear_error(all.rec, 0);
}

static int try_rec_eventfd(void)
{
	return bgdma_rec_eventfd(all.rec, 0);
}

static void rec_is_filled(void)
{
	fake_rec_kern(bgdma_rec_id(all.rec))->tail = 64;
}

static int try_rec_wait(void)
{
	fake.on_wait = rec_is_filled;
	return bgdma_rec_wait(all.rec, BGDMA_SLEEP, -1);
}

static int try_rgq_create(void)
{
	return bgdma_rgq_create(all.ctx, NULL, &all.rgq2);
}

static int try_rgq_destroy(void)
{
	return bgdma_rgq_destroy(all.rgq);
}

static int try_rgq_clear(void)
{
	return bgdma_rgq_clear_error(all.rgq, 0);
}

static int try_counters(void)
{
	return bgdma_counter_alloc_many(all.ctx, BGDMA_INJECTION, 5, 0,
					all.counters);
}

static int try_counter_free(void)
{
	return bgdma_counter_free(all.counter);
}

static int try_counter_notify(void)
{
	return bgdma_counter_notify(all.counter);
}

static int try_counter_clear(void)
{
	return bgdma_counter_clear_error(all.counter);
}

static int try_counter_eventfd(void)
{
	return bgdma_counter_eventfd(all.counter, 0);
}

static void counter_is_there(void)
{
	fake_cell(BGDMA_INJECTION, bgdma_counter_slot(all.counter))->value = 0;
}

static int try_counter_wait(void)
{
	fake_cell(BGDMA_INJECTION, bgdma_counter_slot(all.counter))->value = 9;
	fake.on_wait = counter_is_there;
	return bgdma_counter_wait(all.counter, BGDMA_SLEEP, -1);
}

static int try_register(void)
{
	return bgdma_region_register(all.ctx, all.memory, sizeof(all.memory),
				     BGDMA_LOCAL_READ, &all.region2);
}

static int try_alloc(void)
{
	return bgdma_region_alloc(all.ctx, 4096, BGDMA_LOCAL_READ,
				  &all.region2);
}

static int try_region_free(void)
{
	return bgdma_region_free(all.region);
}

static int try_grant(void)
{
	return bgdma_region_grant(all.region, &(struct bgdma_grant_attr){
			.ctx = BGDMA_CTX_ANY, .rights = BGDMA_RIGHT_READ },
			&all.id);
}

static int try_revoke(void)
{
	return bgdma_revoke(all.ctx, 99);
}

static int try_wait(void)
{
	struct bgdma_condition events = { .kind = BGDMA_KIND_EVENTS };

	fake.on_wait = NULL;
	return bgdma_wait(all.ctx, &events, 1, -1);
}

static int try_ctx_wait(void)
{
	return bgdma_ctx_wait(all.ctx, 1000000000);
}

static int try_inj_full(void)
{
	int ret;

	fake_kern->wake = BGDMA_NEED_WAKEUP;
	ret = bgdma_inj_full(all.inj);
	/* So it says when it could be rung. */
	return ret == -EAGAIN ? 0 : ret;
}

static int try_doorbell(void)
{
	return bgdma_doorbell(all.ctx, BGDMA_DOORBELL_POOL);
}

static int try_events_eventfd(void)
{
	return bgdma_events_eventfd(all.ctx, 0);
}

static int try_gate_create(void)
{
	return bgdma_gate_create(all.region, 4, 0);
}

static int try_gate_share(void)
{
	return bgdma_gate_share(all.region, all.region);
}

static int try_gate_epochs(void)
{
	struct bgdma_epoch epoch;

	return bgdma_gate_epochs(all.region, &epoch, 1);
}

static int try_gate_allow(void)
{
	return bgdma_gate_allow(all.region, 1, 7, 3);
}

static const struct bgdma_group_member both[2] = { { .rank = 0 }, { .rank = 1 } };

static int try_group_bind(void)
{
	const struct bgdma_group_slot slot = {
		BGDMA_KIND_REC_FIFO, bgdma_rec_id(all.rec),
	};

	return bgdma_group_bind(all.ctx, &(struct bgdma_group_attr){
			.number = 1, .slots = &slot, .slot_count = 1,
			.members = both, .member_count = 2 });
}

static int try_group_unbind(void)
{
	return bgdma_group_unbind(all.ctx, 1);
}

static int try_class_bind(void)
{
	return bgdma_class_bind(all.ctx, &(struct bgdma_class_attr){
			.number = 1, .instance = 1, .members = both,
			.member_count = 2 });
}

static int try_class_unbind(void)
{
	return bgdma_class_unbind(all.ctx, 1, 0);
}

/*
 * @makes: objects that it leaves when it was good; those that end one give the
 * handle up in any case, and tell when the kernel has kept the object.
 * @copes: it has another way where one fails
 */
static const struct attempt {
	const char *name;
	int (*call)(void);
	int makes;
	bool copes;
} attempts[] = {
	{ "query", try_query, 0, false },
	{ "inj_create", try_inj_create, 1, false },
	{ "inj_destroy", try_inj_destroy, -1, false },
	{ "inj_cancel", try_inj_cancel, 0, false },
	{ "inj_clear_error", try_inj_clear, 0, false },
	{ "inj_wait", try_inj_wait, 0, false },
	{ "rec_create", try_rec_create, 1, false },
	{ "rec_destroy", try_rec_destroy, -1, false },
	{ "rec_clear_error", try_rec_clear, 0, false },
	{ "rec_eventfd", try_rec_eventfd, 0, false },
	{ "rec_wait", try_rec_wait, 0, false },
	{ "rgq_create", try_rgq_create, 1, false },
	{ "rgq_destroy", try_rgq_destroy, -1, false },
	{ "rgq_clear_error", try_rgq_clear, 0, false },
	{ "counter_alloc_many", try_counters, 5, false },
	{ "counter_free", try_counter_free, -1, false },
	{ "counter_notify", try_counter_notify, 0, false },
	{ "counter_clear_error", try_counter_clear, 0, false },
	{ "counter_eventfd", try_counter_eventfd, 0, false },
	{ "counter_wait", try_counter_wait, 0, false },
	{ "region_register", try_register, 1, false },
	{ "region_alloc", try_alloc, 1, false },
	{ "region_free", try_region_free, -1, false },
	{ "grant", try_grant, 0, false },
	{ "revoke", try_revoke, 0, false },
	{ "wait", try_wait, 0, false },
	{ "ctx_wait", try_ctx_wait, 0, true },
	{ "inj_full", try_inj_full, 0, false },
	{ "doorbell", try_doorbell, 0, false },
	{ "events_eventfd", try_events_eventfd, 0, false },
	{ "gate_create", try_gate_create, 0, false },
	{ "gate_share", try_gate_share, 0, false },
	{ "gate_epochs", try_gate_epochs, 0, false },
	{ "gate_allow", try_gate_allow, 0, false },
	{ "group_bind", try_group_bind, 1, false },
	{ "group_unbind", try_group_unbind, -1, false },
	{ "class_bind", try_class_bind, 1, false },
	{ "class_unbind", try_class_unbind, -1, false },
};

/* One trial: true when the call had no nth to fail. */
static bool attempt(const struct attempt *t, int n, int error,
		    struct __test_metadata *_metadata)
{
	int before, ret;
	bool over;

	all_new();
	if (t->call == try_ctx_wait)
		all_polled();
	before = fake.objects;
	fake.calls = 0;
	fake.fail_at = n;
	fake.fail_with = error;
	on_trial = true;
	ret = t->call();
	on_trial = false;
	over = fake.calls < n;
	fake.fail_at = 0;

	if (over) {
		EXPECT_EQ(0, ret) TH_LOG("%s, call %d", t->name, n);
	} else if (!t->copes || ret) {
		EXPECT_TRUE(ret == -error || ret == -ENOMEM)
			TH_LOG("%s, call %d: %d", t->name, n, ret);
	}
	EXPECT_EQ(before + (over ? t->makes : 0), fake.objects)
		TH_LOG("%s, call %d", t->name, n);
	/* Whoever may try again does. */
	if (!over && !t->copes && t->makes >= 0) {
		EXPECT_EQ(0, t->call()) TH_LOG("%s, again", t->name);
		EXPECT_EQ(before + t->makes, fake.objects);
	}
	all_end();
	EXPECT_EQ(-1, fcntl(fake.fd, F_GETFD));
	return over;
}

TEST(every_call_fails_at_every_step)
{
	static const int errors[] = { ENOMEM, EINTR, EIO };
	size_t i, k;
	int n;

	for (i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		for (k = 0; k < sizeof(errors) / sizeof(errors[0]); k++) {
			n = 1;
			while (!attempt(&attempts[i], n, errors[k], _metadata))
				ASSERT_GT(50, ++n);
			/* Each of them asks the kernel for something. */
			EXPECT_LT(1, n) TH_LOG("%s", attempts[i].name);
		}
}

TEST_HARNESS_MAIN
