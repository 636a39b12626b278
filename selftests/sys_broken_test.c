// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors that fail, and what of others is under way with them: over links they
 * are many. Who is told, and of whom.
 */
#include <dlfcn.h>
#include <poll.h>

#include "kselftest_harness.h"
#include "sys_module.h"

/* ---- Beside one to the dead ----------------------------------------------- */

#define DEAD	1

struct rest {
	volatile pid_t dead;
	volatile bool heard;
};

/*
 * Over links what is sent behind it goes on, and its place in the channel may be
 * wanted by others before anybody looks at why it failed.
 */
struct blame {
	struct module module;
	uint32_t down;			/* ranks */
	uint32_t lost;
};

static void on_blame(void *arg, const struct bgdma_trouble_info *info)
{
	struct blame *blame = arg;

	if (info->trouble == BGDMA_TROUBLE_PEER_DOWN)
		blame->down |= 1U << info->rank;
	else if (info->trouble == BGDMA_TROUBLE_LOST)
		blame->lost |= 1U << info->rank;
}

/* A ring full of others, without progress. */
static int others_speak(struct blame *blame)
{
	unsigned int i, vain = 0;
	int ret;

	for (i = 0; i < 40 && vain < 100; i++) {
		ret = bgdma_endpoint_send(blame->module.m.ep,
					  &(struct bgdma_send_attr){
				.operation = blame->module.eager, .dest = 2,
				.word = 1 });
		require(ret == 0 || ret == -EAGAIN);
		vain += ret != 0;
		usleep(2000);
	}
	return 0;
}

/* One channel, of so many entries. */
static int blame_open(struct blame *blame, uint32_t entries)
{
	struct module *module = &blame->module;

	require_is(0, member_open(&module->m, &(struct bgdma_endpoint_attr){
			.channels = 1, .entries = entries, .trouble = on_blame,
			.arg = blame }));
	return member_commit(&module->m, &(struct test_operation){
			"eager", on_eager, 0, &module->eager }, 1, module);
}

static int blamed(uint32_t rank, uint32_t size, void *arg)
{
	static struct blame blame;
	struct module *module = &blame.module;
	struct rest *rest = arg;

	(void)size;
	require_is(0, blame_open(&blame, 16));
	if (rank == DEAD) {
		rest->dead = getpid();
		require_is(0, bgdma_job_fence(module->m.job));
		return raise(SIGKILL);
	}
	require_is(0, bgdma_job_fence(module->m.job));
	if (rank == 0) {
		require(until(kill(rest->dead, 0) < 0));
		require_is(0, bgdma_endpoint_send(module->m.ep,
				&(struct bgdma_send_attr){
				.operation = module->eager, .dest = DEAD,
				.word = 1 }));
		require_is(0, others_speak(&blame));
		require_is(0, bgdma_endpoint_flush(module->m.ep,
						   (int64_t)PATIENCE_NS));
		require_is(1U << DEAD, blame.down);
		require_is(1U << DEAD, blame.lost);
		rest->heard = true;
	}
	while (rank == 2 && !rest->heard)
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
	return member_leave(&module->m);
}

TEST(x3_the_dead_alone_are_blamed)
{
	struct rest *rest = shared(sizeof(*rest));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, blamed, rest, DEAD));
}

/* ---- What it had sent before it died ------------------------------------- */

/* A module that wants no packet for now. */
struct unwilling {
	struct blame blame;
	bool wants;
	uint32_t packets;		/* of the dead one */
};

static int on_unwanted(void *arg, uint32_t rank,
		       const struct bgdma_packet *packet)
{
	struct unwilling *u = arg;

	(void)packet;
	if (!u->wants)
		return -EAGAIN;
	u->packets += rank == DEAD;
	return 0;
}

/* Whose death was told. */
static bool is_told(struct unwilling *u, uint32_t rank)
{
	return u->blame.down & 1U << rank;
}

#define TOLD(u, rank) \
	until(({ require(bgdma_endpoint_progress((u)->blame.module.m.ep, 0) >= 0); \
		 is_told(u, rank); }))

/* Of 3, who dies last, nothing waits: its death is not waited for. */
static int deferred(struct unwilling *u, struct rest *rest)
{
	struct bgdma_endpoint_stats stats;

	require(until(kill(rest->dead, 0) < 0));
	rest->heard = true;
	require(TOLD(u, 3));
	require(!is_told(u, DEAD));
	u->wants = true;
	require(TOLD(u, DEAD));
	require_is(2, u->packets);
	bgdma_endpoint_stats(u->blame.module.m.ep, &stats);
	require_is(0, stats.trouble[BGDMA_TROUBLE_STRANGER]);
	return 0;
}

static int unwanted_send(struct module *module, uint32_t count)
{
	while (count--)
		require_is(0, bgdma_endpoint_send(module->m.ep,
				&(struct bgdma_send_attr){
				.operation = module->eager }));
	return bgdma_endpoint_flush(module->m.ep, (int64_t)PATIENCE_NS);
}

static int unwanted(uint32_t rank, uint32_t size, void *arg)
{
	static struct unwilling u;
	struct module *module = &u.blame.module;
	const struct test_operation ops[] = {
		{ "eager", on_unwanted, 0, &module->eager },
	};
	struct rest *rest = arg;
	uint32_t i;

	(void)size;
	require_is(0, member_open(&module->m, &(struct bgdma_endpoint_attr){
			.trouble = on_blame, .arg = &u.blame }));
	require_is(0, member_commit(&module->m, ops, 1, &u));
	/* One of 2 is in front of all that the dead one sends. */
	for (i = 0; i < 2; i++) {
		if (rank == 2 - i)
			require_is(0, unwanted_send(module, rank == DEAD ? 2 : 1));
		require_is(0, bgdma_job_fence(module->m.job));
	}
	if (rank == DEAD) {
		rest->dead = getpid();
		require_is(0, bgdma_job_fence(module->m.job));
		return raise(SIGKILL);
	}
	require_is(0, bgdma_job_fence(module->m.job));
	if (rank == 0)
		require_is(0, deferred(&u, rest));
	require(rank != 3 || until(rest->heard));
	return member_leave(&module->m);
}

TEST(x3_what_waits_of_the_dead_comes_first)
{
	struct rest *rest = shared(sizeof(*rest));

	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, unwanted, rest, DEAD));
}

/* ---- Several that fail together ------------------------------------------ */

#define TOGETHER	5

/* Who lets nobody in any more, though it was open before. */
static int unheard(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[20000];
	struct bgdma_ctx *ctx;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			/* A counter of its own would tell of each. */
			.channels = 1, .counters = BGDMA_COUNTERS_SHARED }));
	ctx = bgdma_endpoint_ctx(module.m.ep);
	/* Whatever the numbers of its grants are. */
	for (i = 1; rank == 1 && i < 100; i++)
		(void)bgdma_revoke(ctx, i);
	require_is(0, bgdma_job_fence(module.m.job));
	for (i = 0; rank == 0 && i < TOGETHER; i++)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = sizeof(mem),
				.data = mem }));
	if (rank == 0) {
		require_is(0, until_count(&module, &module.ended, TOGETHER));
		require_is(0, module.done.is);
	}
	/* The ends that it was told of were not heard either. */
	return member_close(&module.m);
}

TEST(x3_each_of_those_that_fail_together_ends)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, unheard, NULL, -1));
}

/* ---- Several that fail together, and no room to say so -------------------- */

/* A FIFO of ours in error again and again: how many events there was room for. */
static int events_fill(struct bgdma_endpoint *ep, uint64_t most, uint64_t *room)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(ep);
	struct bgdma_transfer t = bgdma__no_transfer();
	uint64_t lost = bgdma_events_lost(ctx);
	struct bgdma_inj_fifo *fifo;
	struct bgdma_desc *desc;

	require_is(0, bgdma_inj_create(ctx, NULL, &fifo));
	t.from.region = 12345;
	for (*room = 0; *room < most && bgdma_events_lost(ctx) == lost; ++*room) {
		desc = bgdma_inj_reserve(fifo);
		require(desc);
		bgdma_desc_local_copy(desc, &t);
		require_is(0, bgdma_inj_submit(fifo));
		require(until(bgdma_inj_state(fifo) == BGDMA_FIFO_ERROR));
		require_is(0, bgdma_inj_clear_error(fifo, 0));
	}
	return bgdma_inj_destroy(fifo);
}

/* One to each, by one channel, of which nobody hears but by the FIFO's record. */
static int speak_in_vain(struct blame *blame)
{
	struct bgdma_endpoint *ep = blame->module.m.ep;
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(ep);
	uint64_t room, lost;
	uint32_t i;

	/* Of each channel, and words: what they can have under way. */
	require_is(0, events_fill(ep, UINT64_MAX, &room));
	require(room >= 3 * 63);
	for (i = 1; i <= 2; i++)
		links_cut(i, true);
	lost = bgdma_events_lost(ctx);
	for (i = 1; i <= 2; i++)
		require_is(0, bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
				.operation = blame->module.eager, .dest = i,
				.word = 1 }));
	/* One has failed before it looks; the FIFO shows the other after that. */
	require(until(bgdma_events_lost(ctx) == lost + 1));
	require(until(({
		require(bgdma_endpoint_progress(ep, 0) >= 0);
		blame->down == (1U << 1 | 1U << 2);
	})));
	for (i = 1; i <= 2; i++)
		links_cut(i, false);
	return 0;
}

static int in_vain(uint32_t rank, uint32_t size, void *arg)
{
	static struct blame blame;
	struct module *module = &blame.module;
	const struct test_operation ops[] = {
		{ "eager", on_eager, 0, &module->eager },
	};
	uint32_t *heard = arg;

	require_is(0, member_open(&module->m, &(struct bgdma_endpoint_attr){
			.channels = 1, .trouble = on_blame, .arg = &blame }));
	require_is(0, member_commit(&module->m, ops, 1, module));
	require_is(0, bgdma_job_fence(module->m.job));
	if (rank == 0)
		require_is(0, speak_in_vain(&blame));
	require(until(({
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
		blame.down;
	})));
	require(!module->eager_word);
	__atomic_add_fetch(heard, 1, __ATOMIC_RELEASE);
	/* Who has broken with others tells them. */
	while (__atomic_load_n(heard, __ATOMIC_ACQUIRE) < size)
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
	return member_close(&module->m);
}

TEST(x3_each_of_those_that_were_lost_together_is_broken_with)
{
	links_hasty();
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, in_vain, shared(sizeof(uint32_t)), -1));
}

/* ---- Beside those to the dead, of whom there is no room to tell ----------- */

/* So much that there is room for failures, and no more for deaths. */
static int events_cram(struct bgdma_endpoint *ep)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(ep);
	uint64_t all, most;

	require_is(0, events_fill(ep, UINT64_MAX, &all));
	/* The last found none. */
	all--;
	require(bgdma_endpoint_progress(ep, 0) >= 0);
	require_is(0, bgdma_events_pending(ctx));
	require_is(0, events_fill(ep, all - all / 8, &most));
	require_is(all - all / 8, bgdma_events_pending(ctx));
	return 0;
}

static int speak_beside(struct blame *blame, struct rest *rest)
{
	static const uint32_t dests[] = { DEAD, DEAD };
	struct bgdma_endpoint *ep = blame->module.m.ep;
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(ep);
	uint32_t pending;
	uint64_t lost;

	require_is(0, events_cram(ep));
	pending = bgdma_events_pending(ctx);
	lost = bgdma_events_lost(ctx);
	must(kill(rest->dead, SIGKILL) ? -errno : 0);
	require(until(bgdma_events_lost(ctx) != lost));
	/* In one frame, as nothing is begun behind one that has failed. */
	require_is(2, bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
			.operation = blame->module.eager, .dests = dests,
			.dest_count = 2, .word = 1, .more = true }));
	require_is(0, bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
			.operation = blame->module.eager, .dest = 2,
			.word = 1 }));
	/* They have failed before it looks: the FIFO shows the first. */
	require(until(bgdma_events_pending(ctx) == pending + 1));
	require_is(0, bgdma_endpoint_flush(ep, (int64_t)PATIENCE_NS));
	require(bgdma_endpoint_progress(ep, 0) >= 0);
	require_is(1U << DEAD, blame->down);
	require_is(1U << DEAD, blame->lost);
	rest->heard = true;
	return 0;
}

static int beside(uint32_t rank, uint32_t size, void *arg)
{
	static struct blame blame;
	struct module *module = &blame.module;
	struct rest *rest = arg;

	(void)size;
	require_is(0, blame_open(&blame, 0));
	if (rank == DEAD)
		rest->dead = getpid();
	require_is(0, bgdma_job_fence(module->m.job));
	if (rank == 0)
		require_is(0, speak_beside(&blame, rest));
	while (!rest->heard)
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
	require(rank || !module->eager_word);
	return member_leave(&module->m);
}

TEST(x3_who_is_well_is_not_broken_with_for_the_dead)
{
	struct rest *rest = shared(sizeof(*rest));

	links_hasty();
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, beside, rest, DEAD));
}

/* ---- Before a packet that says that all is there -------------------------- */

/*
 * Over links what is behind a put that is refused at its target goes on. Nobody looks
 * until that is there, and the event of the refusal too.
 */
static int refused_late(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[5000];
	struct bgdma_region *region;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.counters = BGDMA_COUNTERS_SHARED }));
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem),
				.data = mem }));
	} else {
		/* Nobody else may write there. */
		require_is(0, bgdma_region_alloc(
				bgdma_endpoint_ctx(module.m.ep), sizeof(mem),
				BGDMA_LOCAL_WRITE, &region));
		require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
				.length = sizeof(mem), .to = { region, 0 } }));
	}
	require_is(0, bgdma_job_fence(module.m.job));
	usleep(1000000 * slowness());
	require_is(0, until_count(&module, &module.ended, 1));
	require(module.last);
	return member_close(&module.m);
}

TEST(lc3_a_put_that_was_refused_late_is_no_success)
{
	links_hasty();
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, refused_late, NULL, -1));
}

/* ---- What another thread leaves to the endpoint's own --------------------- */

#define PORTIONS	30000

static _Thread_local bool is_user;
static volatile bool hold, held;

/* The endpoint's thread is about to sleep, and does not for as long as it is held. */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	  const sigset_t *set)
{
	int (*real)(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		    const sigset_t *set) = dlsym(RTLD_NEXT, "ppoll");

	while (hold && !is_user) {
		held = true;
		usleep(1000);
	}
	return real(fds, n, timeout, set);
}

/* Some of the descriptors have been looked at, and no packet will come. */
static int leave_examining(struct module *module)
{
	struct bgdma_endpoint *ep = module->m.ep;
	struct bgdma_endpoint_stats before, after;

	bgdma_endpoint_stats(ep, &before);
	require(until(bgdma_events_pending(bgdma_endpoint_ctx(ep))));
	/* Of a mark: it finds that there is nothing else. */
	do {
		require(bgdma_endpoint_progress(ep, 0) >= 0);
		bgdma_endpoint_stats(ep, &after);
	} while (after.packets == before.packets);
	require_is(0, module->ended.is);
	return 0;
}

static int examined(struct module *module, uint8_t *mem, size_t bytes)
{
	is_user = true;
	require_is(0, announce(module, (struct bgdma_rendezvous_attr){
			.dest = 1, .length = bytes, .data = mem,
			.portion = bytes / PORTIONS }));
	hold = true;
	bgdma_endpoint_wake(module->m.ep);
	require(until(held));
	require_is(0, bgdma_job_fence(module->m.job));
	require_is(0, leave_examining(module));
	hold = false;
	/* We make no progress. */
	require(until(load(&module->ended.is)));
	require(module->last);
	return member_close(&module->m);
}

static int examines(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[PORTIONS * 64];
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };
	struct bgdma_desc nonsense;

	(void)size;
	(void)arg;
	if (rank == 0)
		attr.progress = BGDMA_PROGRESS_THREAD;
	require_is(0, module_open(&module, attr));
	if (rank == 0)
		return examined(&module, mem, sizeof(mem));
	require_is(0, until_count(&module, &module.announced, 1));
	require_is(PORTIONS, module.kept[0].portions);
	require_is(0, bgdma_job_fence(module.m.job));
	memset(&nonsense, 0xee, sizeof(nonsense));
	require_is(0, chain_meddle(&module, PORTIONS - 2, &nonsense));
	return member_close(&module.m);
}

TEST(sp3a_what_another_thread_began_to_look_at)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, examines, NULL, -1));
}

TEST_HARNESS_MAIN
