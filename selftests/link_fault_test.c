// SPDX-License-Identifier: GPL-2.0
/*
 * Links with faults inside, see fault.h: requests, what happens to devices, and what
 * comes in and goes out over them, where the faults are those of the kernel's own
 * threads. Whatever fails, links are as they were or as they were to be, transfers
 * end, and who leaves is missed.
 */
#include <net/if.h>

#include "kselftest_harness.h"
#include "fault.h"
#include "links.h"
#include "netlink_veth.h"

#define NAME	"fault"

static bool with_link;	/* what is made has one */

/* ---- Requests ------------------------------------------------------------ */

static struct nl_msg *of_link(struct link *l, int cmd)
{
	struct nl_msg *msg = request(l, cmd, NLM_F_ACK);

	nla_put_string(msg, BGDMA_A_LINK_PARTITION, NAME);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex("veth0"));
	return msg;
}

static void ask_for(struct nl_msg *msg)
{
	struct answer a = { 0 };

	must(ask(&account_link, msg, &a));
}

static struct nl_msg *partition_of(struct link *l)
{
	static const struct bgdma_run run = { 0, 0 };
	static const uint8_t key[16] = { 1 };
	struct nl_msg *msg = request(l, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, NAME);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, 4);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	nla_put(msg, BGDMA_A_PARTITION_NODES, sizeof(run), &run);
	nla_put(msg, BGDMA_A_PARTITION_KEY, sizeof(key), key);
	return msg;
}

static void gone(void)
{
	by_name(&account_link, BGDMA_CMD_PARTITION_DEL, NAME);
}

/* Devices, and a partition over the first; whatever was left of the last. */
static void ground(void)
{
	if (!if_nametoindex("veth0"))
		must(rt_veth() ? -EIO : 0);
	must(rt_set("veth0", true, 1500) ? -EIO : 0);
	must(rt_set("veth1", true, 1500) ? -EIO : 0);
	ask_for(partition_of(&account_link));
	if (with_link)
		ask_for(of_link(&account_link, BGDMA_CMD_LINK_NEW));
}

static void prepare_partition(void)
{
	fault_fresh(NETLINK_GENERIC);
	fault_built(partition_of(&fault_link));
}

static void prepare_new(void)
{
	with_link = false;
	ground();
	fault_fresh(NETLINK_GENERIC);
	fault_built(of_link(&fault_link, BGDMA_CMD_LINK_NEW));
}

static void prepare(struct nl_msg *(*make_it)(void))
{
	with_link = true;
	ground();
	fault_fresh(NETLINK_GENERIC);
	fault_built(make_it());
}

static struct nl_msg *msg_set(void)
{
	struct nl_msg *msg = of_link(&fault_link, BGDMA_CMD_LINK_SET);

	nla_put_u32(msg, BGDMA_A_LINK_TIMEOUT_MS, 5000);
	return msg;
}

static struct nl_msg *msg_del(void)
{
	return of_link(&fault_link, BGDMA_CMD_LINK_DEL);
}

static struct nl_msg *msg_gone(void)
{
	struct nl_msg *msg = request(&fault_link, BGDMA_CMD_PARTITION_DEL,
				     NLM_F_ACK);

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, NAME);
	return msg;
}

static struct nl_msg *msg_links(void)
{
	return request(&fault_link, BGDMA_CMD_LINK_GET, NLM_F_DUMP);
}

static struct nl_msg *msg_peers(void)
{
	return request(&fault_link, BGDMA_CMD_PEER_GET, NLM_F_DUMP);
}

static struct nl_msg *msg_route(void)
{
	struct nl_msg *msg = request(&fault_link, BGDMA_CMD_ROUTE_GET,
				     NLM_F_ACK);

	nla_put_string(msg, BGDMA_A_ROUTE_PARTITION, NAME);
	nla_put_u32(msg, BGDMA_A_ROUTE_FROM, 0);
	nla_put_u32(msg, BGDMA_A_ROUTE_TO, 3);
	return msg;
}

#define PREPARE(name)				\
static void prepare_##name(void)		\
{						\
	prepare(msg_##name);			\
}

PREPARE(set)
PREPARE(del)
PREPARE(gone)
PREPARE(links)
PREPARE(peers)
PREPARE(route)

static const struct faulty requests[] = {
	FAULTY_MAY("PARTITION_NEW with nodes", prepare_partition,
		   fault_request, gone),
	FAULTY_MAY("LINK_NEW", prepare_new, fault_request, gone),
	FAULTY_MAY("LINK_SET", prepare_set, fault_request, gone),
	FAULTY_MAY("LINK_DEL", prepare_del, fault_request, gone),
	FAULTY_MAY("PARTITION_DEL with a link", prepare_gone, fault_request,
		   gone),
	FAULTY_MAY("LINK_GET dump", prepare_links, fault_request, gone),
	FAULTY_MAY("PEER_GET dump", prepare_peers, fault_request, gone),
	FAULTY_MAY("ROUTE_GET", prepare_route, fault_request, gone),
};

/* ---- What happens to devices --------------------------------------------- */

/* What others do with a fault is their affair: they have many words for it. */
static int call_event(void)
{
	return fault_request() ? -ENOMEM : 0;
}

static void event(struct nl_msg *(*make_it)(void))
{
	with_link = true;
	ground();
	fault_fresh(NETLINK_ROUTE);
	fault_built(make_it());
}

static struct nl_msg *msg_down(void)
{
	return rt_device("veth0", RTM_NEWLINK, 0, IFF_UP);
}

static struct nl_msg *msg_up(void)
{
	must(rt_set("veth0", false, 1500) ? -EIO : 0);
	return rt_device("veth0", RTM_NEWLINK, IFF_UP, IFF_UP);
}

/* Whoever listens is told of a change, and no more. */
static struct nl_msg *msg_change(void)
{
	return rt_device("veth0", RTM_NEWLINK, IFF_DEBUG, IFF_DEBUG);
}

static struct nl_msg *msg_mtu(void)
{
	struct nl_msg *msg = rt_device("veth0", RTM_NEWLINK, 0, 0);

	nla_put_u32(msg, IFLA_MTU, 1300);
	return msg;
}

static struct nl_msg *msg_name(void)
{
	struct nl_msg *msg = rt_device("veth0", RTM_NEWLINK, 0, 0);

	nla_put_string(msg, IFLA_IFNAME, "other");
	return msg;
}

static struct nl_msg *msg_address(void)
{
	static const uint8_t address[6] = { 2, 0, 0, 0, 0, 9 };
	struct nl_msg *msg = rt_device("veth0", RTM_NEWLINK, 0, 0);

	nla_put(msg, IFLA_ADDRESS, sizeof(address), address);
	return msg;
}

static struct nl_msg *msg_delete(void)
{
	return rt_device("veth0", RTM_DELLINK, 0, 0);
}

/* Both ends go, wherever the first is. */
static void undo_event(void)
{
	gone();
	must(rt_del("veth1") ? -EIO : 0);
}

/* A device that is not there has no other end to be deleted by. */
static void undo_delete(void)
{
	gone();
	if (if_nametoindex("veth1"))
		must(rt_del("veth1") ? -EIO : 0);
}

#define EVENT(name)				\
static void event_##name(void)			\
{						\
	event(msg_##name);			\
}

EVENT(down)
EVENT(up)
EVENT(change)
EVENT(mtu)
EVENT(name)
EVENT(address)
EVENT(delete)

/* Another namespace is netns_fault_test's: the kernel itself has to have memory for that. */
static const struct faulty events[] = {
	FAULTY_MAY("device down", event_down, call_event, undo_event),
	FAULTY_MAY("device up", event_up, call_event, undo_event),
	FAULTY_MAY("another flag", event_change, call_event, undo_event),
	FAULTY_MAY("another MTU", event_mtu, call_event, undo_event),
	FAULTY_MAY("another name", event_name, call_event, undo_event),
	FAULTY_MAY("another address", event_address, call_event,
		   undo_event),
	FAULTY_MAY("removal", event_delete, call_event, undo_delete),
};

FIXTURE(control)
{
	struct link listener;
};

FIXTURE_VARIANT(control)
{
	bool listener;
};

FIXTURE_VARIANT_ADD(control, alone)
{
	.listener = false,
};

FIXTURE_VARIANT_ADD(control, with_a_listener)
{
	.listener = true,
};

FIXTURE_SETUP(control)
{
	const char *why = faults_begin();
	int group;

	if (why)
		SKIP(return, "%s", why);
	must(unshare(CLONE_NEWNET) ? -errno : 0);
	if (rt_veth() || rt_del("veth0"))
		SKIP(return, "needs veth");
	if (!variant->listener)
		return;
	must(link_open(&self->listener));
	group = genl_ctrl_resolve_grp(self->listener.sock, BGDMA_GENL_NAME,
				      BGDMA_MCGRP_CONFIG);
	must(group);
	must(nl_socket_add_membership(self->listener.sock, group) ? -EIO : 0);
}

FIXTURE_TEARDOWN(control)
{
	if (self->listener.sock)
		link_close(&self->listener);
}

TEST_F_TIMEOUT(control, every_request, 600)
{
	size_t i;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		EXPECT_LT(0, fault_all(&requests[i]));
}

TEST_F_TIMEOUT(control, every_event, 600)
{
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		EXPECT_LT(0, fault_all(&events[i]));
}

/* ---- What goes over them ------------------------------------------------- */

/* Each node's namespace shows its own. */
static struct {
	struct link link;
	struct account before;
} at[2];

static void account_enter(__u32 rank)
{
	links_enter(rank);
	account_link = at[rank].link;
}

static void account_leave(__u32 rank)
{
	at[rank].link = account_link;
	memset(&account_link, 0, sizeof(account_link));
	links_leave();
}

static void account_both(void)
{
	__u32 rank;

	for (rank = 0; rank < 2; rank++) {
		account_enter(rank);
		account(&at[rank].before);
		account_leave(rank);
	}
}

static bool both_back(void)
{
	bool back = true;
	__u32 rank;

	for (rank = 0; rank < 2; rank++) {
		account_enter(rank);
		back = account_back(&at[rank].before) && back;
		account_leave(rank);
	}
	return back;
}

FIXTURE(traffic)
{
	struct end ends[2];	/* all the time */
};

FIXTURE_SETUP(traffic)
{
	const char *why = faults_begin();

	if (why)
		SKIP(return, "%s", why);
	/* Each node in a namespace of its own, see links.h. */
	setenv("BGDMA_TEST_LINKS", "1", 1);
	pair_new(&self->ends[0], &self->ends[1]);
	memset(at, 0, sizeof(at));
	account_both();
}

FIXTURE_TEARDOWN(traffic)
{
}

/* A transfer that nothing happens to; false: it does not end well. */
static bool works(struct end *from, struct end *to)
{
	struct bgdma_desc d = d_put(to->n.at.rank, from->mem.handle, 0,
				    to->mem.handle, 0, 4096);

	d.dst_ctx = to->n.at.ctx;
	fill(from->mem.p, 4096, 7);
	return run(&from->inj, &d) == BGDMA_OK && filled(to->mem.p, 4096, 7);
}

static struct end now;	/* comes and goes */

static void prepare_attach(void)
{
	memset(&now, 0, sizeof(now));
	now.n.at = (struct bgdma_attach) {
		.size = sizeof(now.n.at), .partition = PARTITION,
		.ctx = BGDMA_CTX_ANY,
	};
	now.n.fd = (int)must(bg_open());
	links_enter(0);
}

static int call_attach(void)
{
	return bg_ioctl(now.n.fd, BGDMA_IOC_ATTACH, &now.n.at);
}

static void undo_attach(void)
{
	links_leave();
	close(now.n.fd);
}

TEST_F_TIMEOUT(traffic, attaching_over_links, 300)
{
	const struct faulty attach = FAULTY("attach", prepare_attach,
					    call_attach, undo_attach);

	EXPECT_LT(0, fault_all(&attach));
	EXPECT_TRUE(works(&self->ends[0], &self->ends[1]));
}

#define ROUNDS	60	/* nobody of ours asks for so much in one of them */

/* Go on with @n: there are @rounds, and more until one has passed. */
static bool more(unsigned int n, unsigned int rounds, bool hit)
{
	return n <= rounds || (hit && n < FAULTS_MAX);
}

/* The first transfers of a new context, of each kind, while @n fails: if any did. */
static bool first_transfers(struct __test_metadata *_metadata,
			    struct end *other, unsigned int n, bool mine)
{
	static const char bytes[8];
	struct bgdma_desc d[4];
	bool hit = false;
	unsigned int i;

	end_new(&now, 0);
	d[0] = d_put(1, now.mem.handle, 0, other->mem.handle, 0, 8192);
	d[1] = d_inline(1, other->rec.id, bytes, sizeof(bytes));
	d[2] = d_put(1, now.mem.handle, 1, other->mem.handle, 3, 100);
	d[3] = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64, 1,
			other->mem.handle, 0, 1);
	if (mine)
		fault_arm(n);
	else
		fault_arm_workers(n);
	for (i = 0; i < 4; i++) {
		int code;

		d[i].dst_ctx = other->n.at.ctx;
		/* Calls of ours would meet the fault, too: its error stays. */
		code = run(&now.inj, &d[i]);
		/* Without memory it waits: nothing is lost for good. */
		EXPECT_EQ(i == 3 ? BGDMA_E_RIGHTS : BGDMA_OK, code)
			TH_LOG("fault %u, transfer %u", n, i);
	}
	hit = mine ? fault_disarm() : fault_disarm_workers();
	packet_drop(&other->rec);
	node_close(&now.n);
	return hit;
}

TEST_F_TIMEOUT(traffic, the_first_transfers, 1200)
{
	struct end *ends = self->ends;
	unsigned int n, hits[2] = { 0 };
	bool hit = false;
	int mine;

	for (mine = 0; mine < 2; mine++) {
		for (n = 1; more(n, ROUNDS, hit); n++) {
			hit = first_transfers(_metadata, &ends[1], n, mine);
			hits[mine] += hit;
			/*
			 * What arrived has been let go of, at the latest when
			 * its sender is.
			 */
			ASSERT_TRUE(until(both_back())) TH_LOG("fault %u", n);
		}
		EXPECT_FALSE(hit);
	}
	TH_LOG("%u and %u faults", hits[0], hits[1]);
	EXPECT_LT(0, hits[0]);
	EXPECT_LT(0, hits[1]);
	EXPECT_TRUE(works(&ends[0], &ends[1]));
	EXPECT_TRUE(works(&ends[1], &ends[0]));
}

/* Whoever leaves is missed, whatever fails meanwhile. */
TEST_F_TIMEOUT(traffic, x3_who_leaves, 600)
{
	struct end *other = &self->ends[1];
	unsigned int n, hits = 0, last = 0;

	for (n = 1; more(n, ROUNDS / 2, last); n++) {
		struct bgdma_event seen;
		__u32 incarnation;

		end_new(&now, 0);
		incarnation = now.n.at.incarnation;
		ASSERT_TRUE(works(&now, other));
		fault_arm_workers(n);
		fault_arm(n);
		node_close(&now.n);
		fault_disarm();
		do {
			ASSERT_TRUE(event_wait(&other->n,
					       BGDMA_EVENT_PEER_DOWN, &seen))
				TH_LOG("fault %u", n);
		} while (seen.peer_incarnation != incarnation);
		last = fault_disarm_workers();
		hits += last;
		ASSERT_TRUE(until(both_back())) TH_LOG("fault %u", n);
	}
	EXPECT_LT(0, hits);
	EXPECT_EQ(0, last);
}

/* ---- What a kernel has to say -------------------------------------------- */

#define FAILS	10	/* of a hundred: with more nothing arrives in time */
#define ASKED	100

static int at_gate(struct end *e, struct end *to, enum bgdma_op op)
{
	struct bgdma_desc d = d_gate(to->n.at.rank, op, to->mem.handle, 1,
				     BGDMA_NONE);

	d.dst_ctx = to->n.at.ctx;
	if (op == BGDMA_OP_EPOCH_BEGIN)
		d.flags = BGDMA_DESC_HOLD | BGDMA_DESC_EXCLUSIVE;
	else if (op == BGDMA_OP_EPOCH_CLOSE)
		d.cookie = htole64(1);
	/* The end of an epoch is not answered. */
	if (op != BGDMA_OP_EPOCH_END) {
		d.inj_ctr = htole32(e->ic);
		counter_add(&e->n, INJ, e->ic, 1);
	}
	return run(&e->inj, &d);
}

static bool answered(struct end *e)
{
	return until(!value(&e->n, INJ, e->ic));
}

/* An epoch of @first's, and one of @next's, which waits for its end. */
static void two_epochs(struct __test_metadata *_metadata, struct end *first,
		       struct end *next, struct end *to)
{
	struct bgdma_desc d = d_put(to->n.at.rank, first->mem.handle, 0,
				    to->mem.handle, 4096, 64);

	d.dst_ctx = to->n.at.ctx;
	d.epoch = htole32(1);
	ASSERT_EQ(BGDMA_OK, at_gate(first, to, BGDMA_OP_EPOCH_BEGIN));
	ASSERT_TRUE(answered(first));
	ASSERT_EQ(BGDMA_OK, at_gate(next, to, BGDMA_OP_EPOCH_BEGIN));
	ASSERT_EQ(BGDMA_OK, run(&first->inj, &d));
	ASSERT_EQ(BGDMA_OK, at_gate(first, to, BGDMA_OP_EPOCH_CLOSE));
	ASSERT_TRUE(answered(first));
	ASSERT_EQ(1, value(&next->n, INJ, next->ic));
	ASSERT_EQ(BGDMA_OK, at_gate(first, to, BGDMA_OP_EPOCH_END));
	ASSERT_TRUE(answered(next));
	ASSERT_EQ(BGDMA_OK, at_gate(next, to, BGDMA_OP_EPOCH_END));
}

/* A get that is refused. */
static void bad_get(struct __test_metadata *_metadata, struct end *e,
		    struct end *to, __u32 src, __u32 dst)
{
	struct bgdma_desc d = d_put(e->n.at.rank, src, 0, dst, 0, 8);
	struct bgdma_event event;

	d.dst_ctx = e->n.at.ctx;
	memcpy(e->mem.p + 8192, &d, sizeof(d));
	d = d_rget(to->n.at.rank, to->rgq, e->mem.handle, 8192, 1);
	d.dst_ctx = to->n.at.ctx;
	ASSERT_EQ(BGDMA_OK, run(&e->inj, &d));
	ASSERT_TRUE(event_wait(&e->n, BGDMA_EVENT_REFUSED, &event));
	EXPECT_EQ(BGDMA_E_REGION, event.code);
}

/* What was there before, @n. */
static void fetch(struct __test_metadata *_metadata, struct end *e,
		  struct end *to, __u64 n)
{
	struct bgdma_desc d = d_atomic(to->n.at.rank, BGDMA_ATOMIC_ADD,
				       BGDMA_ATOMIC_U64, 1, to->mem.handle, 0,
				       1);

	d.dst_ctx = to->n.at.ctx;
	d.flags = BGDMA_DESC_FETCH;
	d.u.at.src_region = htole32(e->mem.handle);
	*(__u64 *)(void *)e->mem.p = ~n;
	ASSERT_EQ(BGDMA_OK, run(&e->inj, &d));
	ASSERT_EQ(n, *(__u64 *)(void *)e->mem.p);
}

/* Nobody waits for ever for what a kernel said when there was no memory. */
TEST_F_TIMEOUT(traffic, x3_whoever_asks_is_answered, 600)
{
	struct end *a = &self->ends[0], *b = &self->ends[1];
	struct bgdma_event event;
	unsigned int i;

	end_new(&now, 0);
	must(grant(&b->n, BGDMA_KIND_REGION, b->mem.handle, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_EPOCH | BGDMA_RIGHT_ATOMIC));
	must(gate(&b->n, b->mem.handle, 0, 0));
	memset(b->mem.p, 0, 8);
	if (!fault_module(FAILS))
		SKIP(return, "needs failslab by the stack of who asks");
	for (i = 0; i < ASKED; i++) {
		fetch(_metadata, a, b, i);
		/* From a region that is not there, and, found out later, to one. */
		bad_get(_metadata, a, b, BGDMA_NONE, a->mem.handle);
		bad_get(_metadata, a, b, b->mem.handle, BGDMA_NONE - 1);
		two_epochs(_metadata, a, &now, b);
	}
	/* Nor when the gate goes: one holds it, and one waits for it. */
	ASSERT_EQ(BGDMA_OK, at_gate(a, b, BGDMA_OP_EPOCH_BEGIN));
	ASSERT_TRUE(answered(a));
	ASSERT_EQ(BGDMA_OK, at_gate(&now, b, BGDMA_OP_EPOCH_BEGIN));
	must(region_free(&b->n, b->mem.handle));
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_EPOCH, &event));
	EXPECT_EQ(BGDMA_E_REGION, event.code);
	ASSERT_TRUE(event_wait(&now.n, BGDMA_EVENT_EPOCH, &event));
	EXPECT_EQ(BGDMA_E_REGION, event.code);
	EXPECT_TRUE(counter_error(&now.n, INJ, now.ic));
	EXPECT_LT(0, fault_module_hits());
	EXPECT_TRUE(fault_module(0));
	node_close(&now.n);
}

/* A link that goes down and comes up, with faults: they find each other again. */
TEST_F_TIMEOUT(traffic, a_hello_that_comes_in, 600)
{
	unsigned int n, hits = 0, last = 0;

	for (n = 1; more(n, ROUNDS / 2, last); n++) {
		links_enter(0);
		must(rt_set("bg0", false, 1500) ? -EIO : 0);
		fault_arm_workers(n);
		must(rt_set("bg0", true, 1500) ? -EIO : 0);
		links_leave();
		ASSERT_TRUE(works(&self->ends[0], &self->ends[1]))
			TH_LOG("fault %u", n);
		last = fault_disarm_workers();
		hits += last;
		ASSERT_TRUE(works(&self->ends[1], &self->ends[0]))
			TH_LOG("after fault %u", n);
		ASSERT_TRUE(until(both_back())) TH_LOG("fault %u", n);
	}
	EXPECT_LT(0, hits);
	EXPECT_EQ(0, last);
}

TEST_HARNESS_MAIN
