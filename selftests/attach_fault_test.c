// SPDX-License-Identifier: GPL-2.0
/*
 * The first that comes, with a fault inside, see fault.h: no thread of the engine runs,
 * its user has no context, nor has its process. What fails leaves all of it so.
 */
#include <linux/capability.h>

#include "kselftest_harness.h"
#include "cgroup.h"
#include "fault_fixture.h"

#define USERS	1000U	/* that and all above: each has one context */
#define LINKED	"linked"

static bool grouped;	/* there is a control group, and who attaches is in it */

static void world_new(void)
{
	partition_new("4x1x1", "");
	grouped = !group_new("max");
}

FIXTURE_FAULT(world_new)

/* ---- Threads of the engine ------------------------------------------------ */

static void take_threads(struct nlattr **attrs, void *arg)
{
	*(__u32 *)arg = nla_get_u32(attrs[BGDMA_A_ENGINE_THREADS]);
}

static __u32 threads(void)
{
	__u32 n = 0;
	struct answer a = { .each = take_threads, .arg = &n };

	must(ask(&account_link,
		 request(&account_link, BGDMA_CMD_STATS_GET, NLM_F_ACK), &a));
	return n;
}

/* They stay for a while when the last context has gone. */
static bool idle(struct account *before)
{
	account(before);
	return until(!threads());
}

/* ---- Attaching ------------------------------------------------------------- */

/* Not even what somebody could find yet. */
static bool nothing_charged(void)
{
	bool nothing = !grouped || until(!charged_objects());

	if (grouped)
		group_end();
	return nothing;
}

struct attempt {
	unsigned int n;		/* the fault; what follows is shared with a child */
	int ret, again;
	bool hit;
};

/* Of another user's, but with all that this process may do. */
static void become(uid_t uid)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	size_t i;

	fault_here();
	must(seteuid(uid) ? -errno : 0);
	must(syscall(SYS_capget, &head, caps) ? -errno : 0);
	for (i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		caps[i].effective = caps[i].permitted;
	must(syscall(SYS_capset, &head, caps) ? -errno : 0);
}

static int attach(void *arg)
{
	struct bgdma_attach at = { .ctx = BGDMA_CTX_ANY }, again = at;
	struct attempt *a = arg;
	int fd;

	if (grouped)
		group_join();
	become(USERS + a->n);
	fd = (int)must(bg_open());
	fault_arm(a->n);
	a->ret = bg_attach(fd, PARTITION, 0, &at);
	a->hit = fault_disarm();
	/* Only where that makes no threads that were not there. */
	if (a->ret && a->again)
		a->again = bg_attach(fd, PARTITION, 0, &again);
	else
		a->again = 0;
	return 0;
}

/* Until a fault comes later than the threads; each goes on until the call has failed. */
TEST_F_TIMEOUT(fault, who_is_first_leaves_no_threads, 300)
{
	struct attempt *a = shared(sizeof(*a));
	struct account before;

	if (!faults_last())
		SKIP(return, "needs failslab for one task alone");
	ASSERT_TRUE(idle(&before));
	for (a->n = 1; a->n < FAULTS_MAX; a->n++) {
		ASSERT_EQ(0, in_child(attach, a));
		ASSERT_TRUE(account_unchanged(&before)) TH_LOG("fault %u", a->n);
		if (threads())
			break;
		ASSERT_TRUE(a->hit && fault_errno(a->ret))
			TH_LOG("fault %u: %d", a->n, a->ret);
	}
	TH_LOG("%u faults", a->n - 1);
	EXPECT_EQ(sysconf(_SC_NPROCESSORS_ONLN), threads());
	EXPECT_TRUE(nothing_charged());
	/* The argument, two words of it, the user, the threads, and two for each. */
	EXPECT_LT(5, a->n);
	EXPECT_GT(FAULTS_MAX, a->n);
}

/* There may be threads, of those that were here before; all else is new. */
TEST_F_TIMEOUT(fault, who_is_first_of_a_user, 300)
{
	struct attempt *a = shared(sizeof(*a));
	struct account before;

	account(&before);
	for (a->n = 1, a->hit = true; a->hit && a->n < FAULTS_MAX; a->n++) {
		a->again = 1;
		ASSERT_EQ(0, in_child(attach, a));
		ASSERT_TRUE(!a->ret || (a->hit && fault_errno(a->ret)))
			TH_LOG("fault %u: %d", a->n, a->ret);
		ASSERT_EQ(0, a->again) TH_LOG("fault %u", a->n);
		ASSERT_TRUE(account_unchanged(&before)) TH_LOG("fault %u", a->n);
	}
	TH_LOG("%u faults", a->n - 2);
	EXPECT_TRUE(nothing_charged());
	EXPECT_FALSE(a->hit);
	EXPECT_LT(20, a->n);
}

/* ---- Links ------------------------------------------------------------------ */

/* A partition of which one node lives here. */
static int linked_new(void)
{
	static const struct bgdma_run run = { 0, 0 };
	struct nl_msg *msg = request(&account_link, BGDMA_CMD_PARTITION_NEW,
				     NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, LINKED);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, 2);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	nla_put(msg, BGDMA_A_PARTITION_NODES, sizeof(run), &run);
	return ask(&account_link, msg, &a);
}

/* Nothing is left of one that misses what @function asks for. */
static int linked_without(const char *function, const struct account *before)
{
	int ret;

	must(fault_function(function, 100) ? 0 : -EIO);
	ret = linked_new();
	if (fault_module_hits() != 1)
		ret = -EDOM;
	must(fault_function(function, 0) ? 0 : -EIO);
	return account_unchanged(before) ? ret : -EBUSY;
}

/* What comes in by links is for the threads: they are there before anybody attaches. */
TEST_F_TIMEOUT(fault, the_first_partition_with_links, 120)
{
	struct account before;

	ASSERT_TRUE(idle(&before));
	if (!fault_module(0))
		SKIP(return, "needs failslab by the stack of who asks");
	EXPECT_EQ(-ENOMEM, linked_without("bgdma_engine_get", &before));
	EXPECT_EQ(0, threads());
	EXPECT_EQ(-ENOMEM, linked_without("bgdma_voice_new", &before));
	EXPECT_EQ(0, linked_new());
	EXPECT_LT(0, threads());
	EXPECT_EQ(0, by_name(&account_link, BGDMA_CMD_PARTITION_DEL, LINKED));
	EXPECT_TRUE(account_unchanged(&before));
	if (grouped)
		group_end();
}

TEST_HARNESS_MAIN
