// SPDX-License-Identifier: GPL-2.0
/*
 * Every call of /dev/bgdma with a fault inside, see fault.h: it fails as a
 * whole, or not at all.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "cgroup.h"
#include "fault_fixture.h"

#define PIN_PAGES	16UL
#define CHUNK		512UL	/* pages that the kernel pins in one go */
#define SLOTS		64	/* of regions, in a node of an xarray */

/* What the calls work on; one test at a time. */
static struct {
	struct node n;
	struct inj inj;
	struct rec rec;
	struct region region, more;
	__u32 counter;
	int eventfd;
	char *memory;		/* PIN_PAGES, present */
	char *much;		/* PIN_PAGES more than CHUNK */
	int fd;
	struct bgdma_attach at;
	__u32 rank;		/* that attaches */
	__u32 id, kind, object;
} w;

static char *memory_new(unsigned long pages)
{
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	must(p == MAP_FAILED ? -errno : 0);
	return p;
}

static void world_new(void)
{
	memset(&w, 0, sizeof(w));
	w.fd = -1;
	partition_new("16x8x8", "");
	node_new(&w.n, 0);
	inj_new(&w.inj, &w.n);
	rec_new(&w.rec, &w.n);
	region_new(&w.region, &w.n, PAGE);
	w.counter = counter_new(&w.n, REC, 0);
	w.eventfd = (int)must(eventfd(0, EFD_NONBLOCK));
	w.memory = memory_new(PIN_PAGES);
	w.much = memory_new(CHUNK + PIN_PAGES);
}

/* ---- open, attach, close ---------------------------------------------- */

static int call_open(void)
{
	w.fd = bg_open();
	return w.fd < 0 ? w.fd : 0;
}

static void undo_open(void)
{
	close(w.fd);
}

static void prepare_open(void)
{
	w.fd = (int)must(bg_open());
}

static int call_query(void)
{
	struct bgdma_query q = { .size = sizeof(q) };

	return bg_ioctl(w.fd, BGDMA_IOC_QUERY, &q);
}

static int call_attach(void)
{
	w.at = (struct bgdma_attach){ .ctx = BGDMA_CTX_ANY };
	return bg_attach(w.fd, PARTITION, w.rank, &w.at);
}

static void prepare_near(void)
{
	prepare_open();
	w.rank = 1;
}

/* What is kept of ranks has to grow by more than one level. */
static void prepare_far(void)
{
	prepare_open();
	w.rank = 1023;
}

static void prepare_attach(void)
{
	prepare_near();
	must(call_attach());
}

static int call_close(void)
{
	int fd = w.fd;

	w.fd = -1;
	return fd < 0 || !close(fd) ? 0 : -errno;
}

/* ---- FIFOs ------------------------------------------------------------ */

static int call_inj(void)
{
	struct bgdma_inj_create c = {
		.size = sizeof(c), .id = BGDMA_ID_ANY, .entries = 256,
	};
	int ret = bg_ioctl(w.n.fd, BGDMA_IOC_INJ_CREATE, &c);

	w.id = c.id;
	return ret;
}

static int call_rec(void)
{
	struct bgdma_rec_create c = {
		.size = sizeof(c), .id = BGDMA_ID_ANY,
		.bytes = BGDMA_REC_BYTES_MIN,
	};
	int ret = bg_ioctl(w.n.fd, BGDMA_IOC_REC_CREATE, &c);

	w.id = c.id;
	return ret;
}

static int call_rgq(void)
{
	return rgq_try(&w.n, 16, 4, 1000, &w.id);
}

static int call_destroy(void)
{
	return fifo_destroy(&w.n, w.kind, w.id);
}

static void undo_inj(void)
{
	must(fifo_destroy(&w.n, BGDMA_KIND_INJ_FIFO, w.id));
}

static void undo_rec(void)
{
	must(fifo_destroy(&w.n, BGDMA_KIND_REC_FIFO, w.id));
}

static void undo_rgq(void)
{
	must(fifo_destroy(&w.n, BGDMA_KIND_RGET_QUEUE, w.id));
}

static void prepare_inj(void)
{
	w.kind = BGDMA_KIND_INJ_FIFO;
	must(call_inj());
}

static void prepare_rec(void)
{
	w.kind = BGDMA_KIND_REC_FIFO;
	must(call_rec());
	must(grant(&w.n, w.kind, w.id, BGDMA_RANK_ANY, BGDMA_RIGHT_ACCEPT));
}

static void prepare_rgq(void)
{
	w.kind = BGDMA_KIND_RGET_QUEUE;
	must(call_rgq());
}

/* ---- Counters --------------------------------------------------------- */

static int call_counters(void)
{
	return counter_alloc(&w.n, INJ, 0, 5, &w.id);
}

static int call_counters_free(void)
{
	return counter_free(&w.n, INJ, w.id, 5);
}

static void undo_counters(void)
{
	must(call_counters_free());
}

static void prepare_counters(void)
{
	must(call_counters());
}

/* ---- Regions ---------------------------------------------------------- */

static int call_pin(void)
{
	return region_pin(&w.n, w.memory, PIN_PAGES * PAGE, LOCAL_RW, &w.id);
}

/* Pages that are not there yet have to be allocated first. */
static void prepare_pin_absent(void)
{
	must(madvise(w.memory, PIN_PAGES * PAGE, MADV_DONTNEED) ? -errno : 0);
}

static int call_pin_much(void)
{
	return region_pin(&w.n, w.much, (CHUNK + PIN_PAGES) * PAGE, LOCAL_RW,
			  &w.id);
}

/* Those of the second chunk, when the first has been pinned. */
static void prepare_pin_much(void)
{
	must(madvise(w.much + CHUNK * PAGE, PIN_PAGES * PAGE, MADV_DONTNEED) ?
	     -errno : 0);
}

static int alloc_pages(unsigned long pages)
{
	struct bgdma_region_alloc c = {
		.size = sizeof(c), .rights = LOCAL_RW, .length = pages * PAGE,
	};
	int ret = bg_ioctl(w.n.fd, BGDMA_IOC_REGION_ALLOC, &c);

	w.id = c.handle;
	return ret;
}

static int call_alloc(void)
{
	return alloc_pages(9);
}

static int call_region_free(void)
{
	return region_free(&w.n, w.id);
}

static void undo_region(void)
{
	must(call_region_free());
}

static void prepare_pin(void)
{
	must(call_pin());
}

static void prepare_alloc(void)
{
	must(call_alloc());
}

/* ---- Grants ----------------------------------------------------------- */

static int call_grant(void)
{
	struct bgdma_grant c = {
		.size = sizeof(c), .kind = w.kind, .object = w.object,
		.count = w.kind == INJ ? 5 : 1, .rank = 1,
		.ctx = BGDMA_CTX_ANY,
		.rights = w.kind == INJ ? BGDMA_RIGHT_COUNT : BGDMA_RIGHT_READ,
	};
	int ret = bg_ioctl(w.n.fd, BGDMA_IOC_GRANT, &c);

	w.id = c.id;
	return ret;
}

static int call_revoke(void)
{
	return grant_revoke(&w.n, w.id);
}

static void undo_grant(void)
{
	must(call_revoke());
}

static void prepare_grant_region(void)
{
	w.kind = BGDMA_KIND_REGION;
	w.object = w.region.handle;
}

static void prepare_grant_counters(void)
{
	must(call_counters());
	w.kind = INJ;
	w.object = w.id;
}

static void undo_grant_counters(void)
{
	must(call_revoke());
	must(counter_free(&w.n, INJ, w.object, 5));
}

static void prepare_revoke(void)
{
	prepare_grant_counters();
	must(call_grant());
}

static void undo_revoke(void)
{
	must(counter_free(&w.n, INJ, w.object, 5));
}

/* ---- Gates ------------------------------------------------------------ */

/* Few: when there is no page vmalloc() is asked, and complains aloud. */
static int call_gate(void)
{
	return gate(&w.n, w.region.handle, 20, 0);
}

/* A gate goes with its region. */
static void undo_gate(void)
{
	must(region_free(&w.n, w.region.handle));
	region_new(&w.region, &w.n, PAGE);
}

/* Of one region the other has it. */
static void prepare_share(void)
{
	must(call_gate());
	region_new(&w.more, &w.n, PAGE);
}

static int call_share(void)
{
	return gate_with(&w.n, w.more.handle, w.region.handle);
}

static void undo_share(void)
{
	must(region_free(&w.n, w.more.handle));
	undo_gate();
}

static int call_epochs(void)
{
	struct bgdma_epoch e[100];
	int ret = epochs(&w.n, w.region.handle, e, 100);

	return ret < 0 ? ret : 0;
}

static void prepare_epochs(void)
{
	must(call_gate());
}

/* One that asks would show in the counts: nobody does. */
static int call_allow(void)
{
	int ret = epoch_allow(&w.n, w.region.handle, w.n.at.rank,
			      w.n.at.incarnation, 1);

	return ret == -ENOENT ? 0 : ret;
}

/* ---- The small ones --------------------------------------------------- */

static int call_bind(void)
{
	return event_bind(&w.n, REC, w.counter, w.eventfd);
}

static void undo_bind(void)
{
	must(event_bind(&w.n, REC, w.counter, -1));
}

static int call_clear(void)
{
	return clear_error(&w.n, BGDMA_KIND_INJ_FIFO, w.inj.id, 0);
}

static int call_cancel(void)
{
	struct bgdma_cancel c = { .size = sizeof(c), .fifo = w.inj.id };

	return bg_ioctl(w.n.fd, BGDMA_IOC_CANCEL, &c);
}

static int call_wait(void)
{
	/* Its value is 0, which is its mark. */
	return wait_for(&w.n, REC, w.counter, 0, 0);
}

/* One that sleeps first: poll() allocates where many files are polled. */
static int call_poll(void)
{
	struct pollfd p[256];
	int i;

	for (i = 0; i < 256; i++)
		p[i] = (struct pollfd){ .fd = w.n.fd, .events = POLLIN };
	return poll(p, 256, 1) < 0 ? -errno : 0;
}

static int call_doorbell(void)
{
	return doorbell(&w.n, 0);
}

/* A counter whose owner's add has reached the mark, and has an eventfd. */
static void prepare_notify(void)
{
	must(call_bind());
}

static int call_notify(void)
{
	return ioctl(w.n.fd, BGDMA_IOC_NOTIFY,
		     BGDMA_NOTIFY_ARG(REC, w.counter)) ? -errno : 0;
}

static int call_group_bind(void)
{
	struct bgdma_group_slot slot = { BGDMA_KIND_REC_FIFO, w.rec.id };
	struct bgdma_group_member who = { .rank = 1 };
	struct bgdma_group_bind c = {
		.size = sizeof(c), .group = 5,
		.slots = (uintptr_t)&slot, .count = 1,
		.members = (uintptr_t)&who, .member_count = 1,
	};

	return bg_ioctl(w.n.fd, BGDMA_IOC_GROUP_BIND, &c);
}

static int call_group_unbind(void)
{
	struct bgdma_group_unbind c = { .size = sizeof(c), .group = 5 };

	return bg_ioctl(w.n.fd, BGDMA_IOC_GROUP_UNBIND, &c);
}

static void undo_group(void)
{
	must(call_group_unbind());
}

static void prepare_group(void)
{
	must(call_group_bind());
}

/* ---- All of them ------------------------------------------------------ */

static const struct faulty calls[] = {
	FAULTY("open", NULL, call_open, undo_open),
	FAULTY("QUERY", prepare_open, call_query, undo_open),
	FAULTY("ATTACH", prepare_near, call_attach, undo_open),
	FAULTY("ATTACH far", prepare_far, call_attach, undo_open),
	FAULTY("close", prepare_attach, call_close, NULL),
	FAULTY("INJ_CREATE", NULL, call_inj, undo_inj),
	FAULTY("REC_CREATE", NULL, call_rec, undo_rec),
	FAULTY("RGQ_CREATE", NULL, call_rgq, undo_rgq),
	FAULTY("FIFO_DESTROY inj", prepare_inj, call_destroy, NULL),
	FAULTY("FIFO_DESTROY rec", prepare_rec, call_destroy, NULL),
	FAULTY("FIFO_DESTROY rgq", prepare_rgq, call_destroy, NULL),
	FAULTY("COUNTER_ALLOC", NULL, call_counters, undo_counters),
	FAULTY("COUNTER_FREE", prepare_counters, call_counters_free, NULL),
	FAULTY("REGION_PIN", NULL, call_pin, undo_region),
	FAULTY("REGION_PIN absent", prepare_pin_absent, call_pin, undo_region),
	FAULTY("REGION_PIN chunks", prepare_pin_much, call_pin_much,
	       undo_region),
	FAULTY("REGION_ALLOC", NULL, call_alloc, undo_region),
	FAULTY("REGION_FREE pinned", prepare_pin, call_region_free, NULL),
	FAULTY("REGION_FREE driver", prepare_alloc, call_region_free, NULL),
	FAULTY("GRANT region", prepare_grant_region, call_grant, undo_grant),
	FAULTY("GRANT counters", prepare_grant_counters, call_grant,
	       undo_grant_counters),
	FAULTY("REVOKE", prepare_revoke, call_revoke, undo_revoke),
	FAULTY("GATE", NULL, call_gate, undo_gate),
	FAULTY("GATE with", prepare_share, call_share, undo_share),
	FAULTY("EPOCHS", prepare_epochs, call_epochs, undo_gate),
	FAULTY("EPOCH_ALLOW", prepare_epochs, call_allow, undo_gate),
	FAULTY("GROUP_BIND", NULL, call_group_bind, undo_group),
	FAULTY("GROUP_UNBIND", prepare_group, call_group_unbind, NULL),
	FAULTY("EVENT_BIND", NULL, call_bind, undo_bind),
	FAULTY("CLEAR_ERROR", NULL, call_clear, NULL),
	FAULTY("CANCEL", NULL, call_cancel, NULL),
	FAULTY("WAIT", NULL, call_wait, NULL),
	FAULTY("poll", NULL, call_poll, NULL),
	FAULTY("DOORBELL", NULL, call_doorbell, NULL),
	FAULTY("NOTIFY", prepare_notify, call_notify, undo_bind),
};

FIXTURE_FAULT(world_new)

/* Calls that neither allocate nor copy see none. */
static bool may_see_none(const struct faulty *f)
{
	return f->call == call_doorbell || f->call == call_notify ||
	       f->call == call_close;
}

/* ---- Charges ---------------------------------------------------------- */

static bool grouped;

/* In a control group, where there are some; on one processor, as its objects are counted. */
static void group_begin(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	must(sched_setaffinity(0, sizeof(first), &first) ? -errno : 0);
	grouped = !group_new("max");
	if (grouped)
		group_join();
}

/* As fault_all(); what it has left of its group's memory is a complaint. */
static int fault_all_charged(const struct faulty *f)
{
	long before, after;
	bool back;
	int n;

	if (!grouped)
		return fault_all(f);
	/* Once, for what stays. */
	if (f->prepare)
		f->prepare();
	must(f->call());
	if (f->undo)
		f->undo();
	before = charged_objects();
	n = fault_all(f);
	back = until((after = charged_objects()) <= before);
	if (!back)
		printf("# %s: %ld bytes are still charged\n", f->name,
		       after - before);
	return back ? n : -1;
}

/* All of them, and may be not that of @but. */
static bool every_call(int (*but)(void))
{
	bool good = true;
	size_t i;

	group_begin();
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].call != but)
			good &= fault_all_charged(&calls[i]) >=
				!may_see_none(&calls[i]);
	if (grouped)
		group_leave();
	return good;
}

TEST_F_TIMEOUT(fault, every_call, 600)
{
	EXPECT_TRUE(every_call(NULL));
}

/* There is none when an xarray asks for the second time, either. */
TEST_F_TIMEOUT(fault, every_call_while_memory_is_out, 600)
{
	if (!faults_last())
		SKIP(return, "needs failslab for one task alone");
	/* That has an array of more than a page: vmalloc() complains aloud. */
	EXPECT_TRUE(every_call(call_pin_much));
}

static int call_pin_page(void)
{
	return region_pin(&w.n, w.memory, PAGE, LOCAL_RW, &w.id);
}

static int call_alloc_page(void)
{
	return alloc_pages(1);
}

/*
 * Slots are kept by 64. The next one is in new memory, and the others are taken, so
 * that going round leads to no other.
 */
TEST_F_TIMEOUT(fault, a_handle_needs_memory, 120)
{
	static const struct faulty pin = FAULTY("REGION_PIN in a new leaf", NULL,
						call_pin_page, undo_region);
	static const struct faulty alloc = FAULTY("REGION_ALLOC in a new leaf",
						  NULL, call_alloc_page,
						  undo_region);
	unsigned int i;

	if (!faults_last())
		SKIP(return, "needs failslab for one task alone");
	for (i = 1; i < SLOTS; i++)
		must(call_alloc_page());
	EXPECT_EQ(SLOTS - 1, BGDMA_HANDLE_SLOT(w.id));
	EXPECT_LT(0, fault_all(&pin));
	EXPECT_LT(0, fault_all(&alloc));
}

/* In a child whose user may lock as much as it pins and not a page more. */
static void limit_begin(void)
{
	struct rlimit limit = { PIN_PAGES * PAGE, PIN_PAGES * PAGE };

	must(setrlimit(RLIMIT_MEMLOCK, &limit) ? -errno : 0);
	/* Else /proc/self belongs to root. */
	must(prctl(PR_SET_DUMPABLE, 1));
}

static int pins_at_the_limit(void *arg)
{
	unsigned int n;
	bool hit = true;
	int ret;

	limit_begin();
	fault_here();
	node_new(&w.n, 2);
	must(call_pin());
	if (region_pin(&w.n, w.memory, 1, LOCAL_RW, &w.kind) != -ENOMEM)
		return -EDOM;	/* no limit: the test would show nothing */
	undo_region();
	for (n = 1; hit && n < FAULTS_MAX; n++) {
		fault_arm(n);
		ret = call_pin();
		hit = fault_disarm();
		if (ret && !fault_errno(ret))
			return ret;
		if (ret)
			ret = call_pin();
		if (ret)
			return ret;
		undo_region();
	}
	*(unsigned int *)arg = n;
	return hit ? -ERANGE : 0;
}

/* Each has what the one before had; their user is there all the time. */
static int exits_at_the_limit(void *arg)
{
	unsigned int n;
	bool hit = true;
	int status;
	pid_t pid;

	limit_begin();
	for (n = 1; hit && n < FAULTS_MAX; n++) {
		pid = (pid_t)must(fork());
		if (!pid) {
			fault_here();
			node_new(&w.n, 2);
			must(call_pin());
			fault_arm(n);
			_exit(0);
		}
		hit = fault_met(pid);
		must(waitpid(pid, &status, 0) == pid ? 0 : -ECHILD);
		if (status)
			return -EDOM;
	}
	*(unsigned int *)arg = n;
	return hit ? -ERANGE : 0;
}

TEST_F_TIMEOUT(fault, locked_memory_is_given_back, 120)
{
	unsigned int *n = shared(PAGE);

	EXPECT_EQ(0, as_user(1000, pins_at_the_limit, n));
	EXPECT_LT(5, *n);
	EXPECT_EQ(0, as_user(1000, exits_at_the_limit, n));
	EXPECT_LT(2, *n);
}

TEST_HARNESS_MAIN
