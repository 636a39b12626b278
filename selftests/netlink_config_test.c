// SPDX-License-Identifier: GPL-2.0
/*
 * Making, changing, deleting and showing partitions by netlink: for every
 * attribute the good values, and for each bad one the errno, the explanation,
 * and that the kernel points to the right attribute.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "utils.h"

#define NOBODY		65534
#define RANGE		"integer out of range"
#define BINARY		"binary attribute size out of range"
#define NO_PARTITION	"bgdma: no such partition in this network namespace"
#define BAD_NAME \
	"bgdma: a name is printable ASCII without spaces and slashes"
#define FIXED		"bgdma: the shape of a partition cannot change"
#define ANY_TEXT	((const char *)0)

/* One attribute in place of a good one. @bytes: its length; 0: leave it out */
struct attr {
	int type;
	uint16_t bytes;
	uint64_t value;
	const char *text;	/* instead of @value */
};

struct bad {
	const char *what;
	struct attr attr;
	int err;
	const char *text;
};

FIXTURE(netlink) {
	struct link l;
	struct answer a;
};

FIXTURE_SETUP(netlink)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, link_open(&self->l));
	memset(&self->a, 0, sizeof(self->a));
}

FIXTURE_TEARDOWN(netlink)
{
	link_close(&self->l);
}

static void put_attr(struct nl_msg *msg, const struct attr *attr)
{
	if (attr->text)
		nla_put(msg, attr->type, attr->bytes, attr->text);
	else if (attr->bytes)
		nla_put(msg, attr->type, attr->bytes, &attr->value);
}

/* A request that is right but for one attribute. */
static struct nl_msg *nearly_right(struct link *l, int cmd,
				   const struct attr *attr)
{
	struct nl_msg *msg = request(l, cmd, NLM_F_ACK);
	int i;

	if (attr->type != BGDMA_A_PARTITION_NAME)
		nla_put_string(msg, BGDMA_A_PARTITION_NAME, "p");
	for (i = BGDMA_A_PARTITION_DIM_X; i <= BGDMA_A_PARTITION_DIM_Z; i++) {
		if (cmd == BGDMA_CMD_PARTITION_NEW && attr->type != i)
			nla_put_u32(msg, i, 2);
	}
	put_attr(msg, attr);
	return msg;
}

#define U32(type, value)	{ BGDMA_A_PARTITION_##type, 4, value, NULL }
#define U64(type, value)	{ BGDMA_A_PARTITION_##type, 8, value, NULL }
#define SIZED(type, bytes)	{ BGDMA_A_PARTITION_##type, bytes, 2, NULL }
#define NAME(text)	{ BGDMA_A_PARTITION_NAME, sizeof(text), 0, text }
#define UNENDED(text)	{ BGDMA_A_PARTITION_NAME, sizeof(text) - 1, 0, text }
#define X31		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* Runs of the nodes of a partition of 2x2x2. */
static const char many[520];
static const char disorder[16] = { 4, 0, 0, 0, 4, 0, 0, 0 };
static const char overlap[16] = { 0, 0, 0, 0, 3, 0, 0, 0,
				  3, 0, 0, 0, 5, 0, 0, 0 };
#define NODES	"bgdma: nodes are runs of ranks of the partition, in order"

static const struct bad bad_names[] = {
	{ "no name", SIZED(NAME, 0), -EINVAL,
	  "bgdma: partition name is missing" },
	{ "empty", NAME(""), -EINVAL, BAD_NAME },
	{ "space", NAME("a b"), -EINVAL, BAD_NAME },
	{ "slash", NAME("a/b"), -EINVAL, BAD_NAME },
	{ "control character", NAME("a\tb"), -EINVAL, BAD_NAME },
	{ "delete", NAME("a\177"), -EINVAL, BAD_NAME },
	{ "not ASCII", NAME("\303\244"), -EINVAL, BAD_NAME },
	{ "32 characters", NAME(X31 "x"), -EINVAL,
	  "Attribute failed policy validation" },
	{ "no final zero", UNENDED("p"), -EINVAL,
	  "Attribute failed policy validation" },
	{ "no bytes at all", { BGDMA_A_PARTITION_NAME, 0, 0, "" }, -EINVAL,
	  ANY_TEXT },
};

static const struct bad bad_shapes[] = {
	{ "no X", SIZED(DIM_X, 0), -EINVAL,
	  "bgdma: dimensions along X, Y and Z are needed" },
	{ "no Y", SIZED(DIM_Y, 0), -EINVAL,
	  "bgdma: dimensions along X, Y and Z are needed" },
	{ "no Z", SIZED(DIM_Z, 0), -EINVAL,
	  "bgdma: dimensions along X, Y and Z are needed" },
	{ "X 0", U32(DIM_X, 0), -ERANGE, RANGE },
	{ "Y 0", U32(DIM_Y, 0), -ERANGE, RANGE },
	{ "Z 0", U32(DIM_Z, 0), -ERANGE, RANGE },
	{ "X 1025", U32(DIM_X, 1025), -ERANGE, RANGE },
	{ "Y 1025", U32(DIM_Y, 1025), -ERANGE, RANGE },
	{ "Z 1025", U32(DIM_Z, 1025), -ERANGE, RANGE },
	{ "X huge", U32(DIM_X, 0xffffffff), -ERANGE, RANGE },
	{ "X short", SIZED(DIM_X, 2), -EINVAL, ANY_TEXT },
	{ "X long", SIZED(DIM_X, 8), -EINVAL, ANY_TEXT },
	{ "torus 8", U32(TORUS, 8), -EINVAL, "reserved bit set" },
	{ "torus short", SIZED(TORUS, 1), -EINVAL, ANY_TEXT },
};

static const struct bad bad_values[] = {
	{ "user -1", U32(UID, 0xffffffff), -EINVAL,
	  "bgdma: no such user in the user namespace of this network namespace" },
	{ "group -1", U32(GID, 0xffffffff), -EINVAL,
	  "bgdma: no such group in the user namespace of this network namespace" },
	{ "user short", SIZED(UID, 2), -EINVAL, ANY_TEXT },
	{ "group long", SIZED(GID, 8), -EINVAL, ANY_TEXT },
	{ "mode 0700", U32(MODE, 0700), -EINVAL,
	  "bgdma: a mode has read and write bits only" },
	{ "mode 04600", U32(MODE, 04600), -EINVAL,
	  "bgdma: a mode has read and write bits only" },
	{ "mode 16 bit", SIZED(MODE, 2), -EINVAL, ANY_TEXT },
	{ "poll-ns over", U64(POLL_NS, 1000000001), -ERANGE, RANGE },
	{ "poll-ns 32 bit", SIZED(POLL_NS, 4), -EINVAL, ANY_TEXT },
	{ "quantum under", U32(QUANTUM, 4095), -ERANGE, RANGE },
	{ "quantum over", U32(QUANTUM, 1048577), -ERANGE, RANGE },
	{ "quantum short", SIZED(QUANTUM, 2), -EINVAL, ANY_TEXT },
	{ "contexts 0", U32(MAX_CONTEXTS, 0), -ERANGE, RANGE },
	{ "contexts over", U32(MAX_CONTEXTS, 4194305), -ERANGE, RANGE },
	{ "contexts long", SIZED(MAX_CONTEXTS, 8), -EINVAL, ANY_TEXT },
	{ "FIFOs 0", U32(MAX_INJ_FIFOS, 0), -ERANGE, RANGE },
	{ "FIFOs over", U32(MAX_INJ_FIFOS, 1025), -ERANGE, RANGE },
	{ "FIFOs short", SIZED(MAX_INJ_FIFOS, 1), -EINVAL, ANY_TEXT },
	{ "no such attribute", { 100, 4, 0, NULL }, -EINVAL,
	  "Unknown attribute type" },
	{ "attribute 0", { 0, 4, 0, NULL }, -EINVAL, ANY_TEXT },
};

static const struct bad bad_homes[] = {
	{ "output only", U32(SIZE, 4), -EINVAL, "Unsupported attribute" },
	{ "padding", U32(PAD, 4), -EINVAL, "Unsupported attribute" },
	{ "key too short", SIZED(KEY, 15), -ERANGE, BINARY },
	{ "key too long", SIZED(KEY, 17), -ERANGE, BINARY },
	{ "no nodes", { BGDMA_A_PARTITION_NODES, 0, 0, "" }, -EINVAL, NODES },
	{ "half a run", SIZED(NODES, 4), -EINVAL, NODES },
	{ "one and a half", SIZED(NODES, 12), -EINVAL, NODES },
	{ "behind the last", U64(NODES, 8ULL << 32), -EINVAL, NODES },
	{ "backwards", U64(NODES, 1ULL), -EINVAL, NODES },
	{ "65 runs", { BGDMA_A_PARTITION_NODES, 520, 0, many }, -ERANGE,
	  ANY_TEXT },
	{ "in disorder", { BGDMA_A_PARTITION_NODES, 16, 0, disorder }, -EINVAL,
	  NODES },
	{ "overlapping", { BGDMA_A_PARTITION_NODES, 16, 0, overlap }, -EINVAL,
	  NODES },
};

static const struct bad bad_changes[] = {
	{ "nodes", U64(NODES, 0), -EINVAL, "Unknown attribute type" },
	{ "key", SIZED(KEY, 16), -EINVAL, "Unknown attribute type" },
	{ "output only", U32(SIZE, 4), -EINVAL, "Unknown attribute type" },
	{ "X", U32(DIM_X, 2), -EINVAL, FIXED },
	{ "Y", U32(DIM_Y, 2), -EINVAL, FIXED },
	{ "Z", U32(DIM_Z, 2), -EINVAL, FIXED },
	{ "torus", U32(TORUS, 7), -EINVAL, FIXED },
};

static void expect_refused(struct __test_metadata *_metadata, struct link *l,
			   int cmd, const struct bad *bad, size_t n)
{
	struct answer a = { 0 };

	for (; n--; bad++) {
		EXPECT_EQ(bad->err, ask(l, nearly_right(l, cmd, &bad->attr),
					&a)) {
			TH_LOG("%s: \"%s\"", bad->what, a.text);
		}
		if (bad->text) {
			EXPECT_STREQ(bad->text, a.text) {
				TH_LOG("%s", bad->what);
			}
		} else {
			EXPECT_NE('\0', a.text[0]) {
				TH_LOG("%s: not explained", bad->what);
			}
		}
		if (bad->attr.bytes || bad->attr.text) {
			EXPECT_EQ(bad->attr.type, a.attr) {
				TH_LOG("%s", bad->what);
			}
		}
	}
}

#define N(array) (sizeof(array) / sizeof((array)[0]))
#define EXPECT_REFUSED(cmd, array) \
	expect_refused(_metadata, &self->l, BGDMA_CMD_PARTITION_##cmd, \
		       array, N(array))

TEST_F(netlink, new_refuses_bad_names)
{
	EXPECT_REFUSED(NEW, bad_names);
}

TEST_F(netlink, new_refuses_bad_shapes)
{
	EXPECT_REFUSED(NEW, bad_shapes);
}

TEST_F(netlink, new_refuses_bad_values)
{
	EXPECT_REFUSED(NEW, bad_values);
	/* And made nothing of them. */
	EXPECT_EQ(-ENOENT, by_name(&self->l, BGDMA_CMD_PARTITION_GET, "p"));
}

TEST_F(netlink, x1_new_refuses_bad_nodes_and_keys)
{
	EXPECT_REFUSED(NEW, bad_homes);
}

TEST_F(netlink, set_refuses_bad_values)
{
	ASSERT_EQ(0, make(&self->l, "p", 4));
	EXPECT_REFUSED(SET, bad_names);
	EXPECT_REFUSED(SET, bad_values);
	EXPECT_REFUSED(SET, bad_changes);
}

TEST_F(netlink, del_and_get_take_a_name_only)
{
	static const struct bad bad[] = {
		{ "X", U32(DIM_X, 2), -EINVAL, "Unknown attribute type" },
		{ "mode", U32(MODE, 0600), -EINVAL, "Unknown attribute type" },
	};

	ASSERT_EQ(0, make(&self->l, "p", 4));
	EXPECT_REFUSED(DEL, bad);
	EXPECT_REFUSED(GET, bad);
	EXPECT_REFUSED(DEL, bad_names);
	EXPECT_REFUSED(GET, bad_names);
	EXPECT_EQ(0, by_name(&self->l, BGDMA_CMD_PARTITION_DEL, "p"));
}

TEST_F(netlink, no_such_partition)
{
	static const struct bad bad[] = {
		{ "nowhere", NAME("nowhere"), -ENOENT, NO_PARTITION },
	};

	EXPECT_REFUSED(SET, bad);
	EXPECT_REFUSED(DEL, bad);
	EXPECT_REFUSED(GET, bad);
}

TEST_F(netlink, name_is_taken)
{
	static const struct bad bad[] = {
		{ "twice", NAME("twice"), -EEXIST,
		  "bgdma: there is a partition of this name" },
	};

	ASSERT_EQ(0, make(&self->l, "twice", 1));
	EXPECT_REFUSED(NEW, bad);
	EXPECT_EQ(0, by_name(&self->l, BGDMA_CMD_PARTITION_DEL, "twice"));
	EXPECT_EQ(0, make(&self->l, "twice", 1));
}

TEST_F(netlink, good_names)
{
	EXPECT_EQ(0, make(&self->l, "a", 1));
	EXPECT_EQ(0, make(&self->l, X31, 1));
	EXPECT_EQ(0, make(&self->l, "!~:.%[]-_", 1));
	EXPECT_EQ(0, by_name(&self->l, BGDMA_CMD_PARTITION_GET, X31));
}

static int new_shape(struct link *l, struct answer *a, const char *name,
		     uint32_t x, uint32_t y, uint32_t z)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, name);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, x);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, y);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, z);
	return ask(l, msg, a);
}

TEST_F(netlink, largest_partition)
{
	EXPECT_EQ(0, new_shape(&self->l, &self->a, "p", 1024, 1024, 16));
	EXPECT_EQ(-EINVAL, new_shape(&self->l, &self->a, "q", 1024, 1024, 17));
	EXPECT_STREQ("bgdma: a partition has at most 2^24 nodes",
		     self->a.text);
	EXPECT_EQ(-EINVAL,
		  new_shape(&self->l, &self->a, "q", 1024, 1024, 1024));
}

/* All that a partition says of itself. */
struct shown {
	char name[BGDMA_NAME_MAX];
	uint32_t u32[BGDMA_A_PARTITION_MAX + 1];
	uint64_t poll_ns;
};

static void take(struct nlattr **attrs, void *arg)
{
	struct shown *s = arg;
	int i;

	memset(s, 0, sizeof(*s));
	for (i = 1; i <= BGDMA_A_PARTITION_MAX; i++) {
		if (!attrs[i])
			continue;
		if (i == BGDMA_A_PARTITION_NAME)
			snprintf(s->name, sizeof(s->name), "%s",
				 nla_get_string(attrs[i]));
		else if (i == BGDMA_A_PARTITION_POLL_NS)
			s->poll_ns = nla_get_u64(attrs[i]);
		else if (nla_len(attrs[i]) == 4)
			s->u32[i] = nla_get_u32(attrs[i]);
	}
}

static int look(struct link *l, const char *name, struct shown *s)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_PARTITION_GET, NLM_F_ACK);
	struct answer a = { .each = take, .arg = s };
	int err;

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, name);
	err = ask(l, msg, &a);
	return err ?: a.messages == 1 ? 0 : -EPROTO;
}

TEST_F(netlink, defaults)
{
	struct shown s;

	ASSERT_EQ(0, new_shape(&self->l, &self->a, "p", 4, 3, 2));
	ASSERT_EQ(0, look(&self->l, "p", &s));
	EXPECT_STREQ("p", s.name);
	EXPECT_EQ(4, s.u32[BGDMA_A_PARTITION_DIM_X]);
	EXPECT_EQ(3, s.u32[BGDMA_A_PARTITION_DIM_Y]);
	EXPECT_EQ(2, s.u32[BGDMA_A_PARTITION_DIM_Z]);
	EXPECT_EQ(24, s.u32[BGDMA_A_PARTITION_SIZE]);
	EXPECT_EQ(7, s.u32[BGDMA_A_PARTITION_TORUS]);
	EXPECT_EQ(getuid(), s.u32[BGDMA_A_PARTITION_UID]);
	EXPECT_EQ(getgid(), s.u32[BGDMA_A_PARTITION_GID]);
	EXPECT_EQ(0600, s.u32[BGDMA_A_PARTITION_MODE]);
	EXPECT_EQ(50000, s.poll_ns);
	EXPECT_EQ(65536, s.u32[BGDMA_A_PARTITION_QUANTUM]);
	EXPECT_EQ(8192, s.u32[BGDMA_A_PARTITION_MAX_CONTEXTS]);
	EXPECT_EQ(1024, s.u32[BGDMA_A_PARTITION_MAX_INJ_FIFOS]);
	EXPECT_EQ(0, s.u32[BGDMA_A_PARTITION_CONTEXTS]);
}

/* Each value at both ends of its range, by NEW and by SET. */
static const struct attr good[] = {
	U32(UID, 0), U32(UID, 0xfffffffe),
	U32(GID, 0), U32(GID, 0xfffffffe),
	U32(MODE, 0), U32(MODE, 0666),
	U32(QUANTUM, 4096), U32(QUANTUM, 1048576),
	U32(MAX_CONTEXTS, 1), U32(MAX_CONTEXTS, 4194304),
	U32(MAX_INJ_FIFOS, 1), U32(MAX_INJ_FIFOS, 1024),
	U64(POLL_NS, 0), U64(POLL_NS, 1000000000),
};

static void expect_kept(struct __test_metadata *_metadata, struct link *l,
			const struct attr *attr)
{
	struct shown s;

	ASSERT_EQ(0, look(l, "p", &s));
	EXPECT_EQ(attr->value, attr->type == BGDMA_A_PARTITION_POLL_NS ?
			       s.poll_ns : s.u32[attr->type]) {
		TH_LOG("attribute %d", attr->type);
	}
}

TEST_F(netlink, new_keeps_good_values)
{
	static const struct attr shape[] = {
		U32(DIM_X, 1024), U32(DIM_Y, 1024), U32(DIM_Z, 1024),
		U32(DIM_X, 1), U32(TORUS, 0), U32(TORUS, 5),
	};
	struct link *l = &self->l;
	size_t i;

	for (i = 0; i < N(good) + N(shape); i++) {
		const struct attr *attr = i < N(good) ? &good[i] :
							&shape[i - N(good)];

		EXPECT_EQ(0, ask(l, nearly_right(l, BGDMA_CMD_PARTITION_NEW,
						 attr), &self->a)) {
			TH_LOG("attribute %d: %s", attr->type, self->a.text);
		}
		expect_kept(_metadata, l, attr);
		EXPECT_EQ(0, by_name(l, BGDMA_CMD_PARTITION_DEL, "p"));
	}
}

TEST_F(netlink, set_keeps_good_values)
{
	struct link *l = &self->l;
	size_t i;

	ASSERT_EQ(0, make(l, "p", 2));
	for (i = 0; i < N(good); i++) {
		EXPECT_EQ(0, ask(l, nearly_right(l, BGDMA_CMD_PARTITION_SET,
						 &good[i]), &self->a)) {
			TH_LOG("attribute %d: %s", good[i].type, self->a.text);
		}
		expect_kept(_metadata, l, &good[i]);
	}
}

TEST_F(netlink, refused_set_changes_nothing)
{
	struct link *l = &self->l;
	struct nl_msg *msg;
	struct shown s;

	ASSERT_EQ(0, make(l, "p", 2));
	msg = request(l, BGDMA_CMD_PARTITION_SET, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_PARTITION_NAME, "p");
	nla_put_u32(msg, BGDMA_A_PARTITION_UID, 5);
	nla_put_u32(msg, BGDMA_A_PARTITION_MODE, 0111);
	nla_put_u32(msg, BGDMA_A_PARTITION_QUANTUM, 8192);
	EXPECT_EQ(-EINVAL, ask(l, msg, &self->a));
	ASSERT_EQ(0, look(l, "p", &s));
	EXPECT_EQ(getuid(), s.u32[BGDMA_A_PARTITION_UID]);
	EXPECT_EQ(65536, s.u32[BGDMA_A_PARTITION_QUANTUM]);
}

TEST_F(netlink, no_such_command)
{
	struct link *l = &self->l;

	EXPECT_EQ(-EOPNOTSUPP, ask(l, request(l, 0, NLM_F_ACK), &self->a));
	EXPECT_EQ(-EOPNOTSUPP, ask(l, request(l, BGDMA_CMD_MAX + 1, NLM_F_ACK),
				   &self->a));
	EXPECT_EQ(-EOPNOTSUPP,
		  ask(l, request(l, BGDMA_CMD_PARTITION_NEW_NTF, NLM_F_ACK),
		      &self->a));
	/* Only as a dump, and not as a dump. */
	EXPECT_EQ(-EOPNOTSUPP, ask(l, request(l, BGDMA_CMD_NODE_GET, NLM_F_ACK),
				   &self->a));
	EXPECT_EQ(-EOPNOTSUPP,
		  ask(l, request(l, BGDMA_CMD_STATS_GET, NLM_F_DUMP),
		      &self->a));
}

/* ---- Who may ---------------------------------------------------------- */

static int try_new(void *name)
{
	struct link l;
	int err = link_open(&l);

	return err ?: make(&l, name, 2);
}

static int try_set(void *name)
{
	struct link l;
	int err = link_open(&l);

	return err ?: by_name(&l, BGDMA_CMD_PARTITION_SET, name);
}

static int try_del(void *name)
{
	struct link l;
	int err = link_open(&l);

	return err ?: by_name(&l, BGDMA_CMD_PARTITION_DEL, name);
}

static int try_get(void *name)
{
	struct link l;
	int err = link_open(&l);

	return err ?: by_name(&l, BGDMA_CMD_PARTITION_GET, name);
}

TEST_F(netlink, x2_others_only_look)
{
	ASSERT_EQ(0, make(&self->l, "p", 2));
	EXPECT_EQ(-EPERM, as_user(NOBODY, try_new, "q"));
	EXPECT_EQ(-EPERM, as_user(NOBODY, try_set, "p"));
	EXPECT_EQ(-EPERM, as_user(NOBODY, try_del, "p"));
	EXPECT_EQ(0, as_user(NOBODY, try_get, "p"));
}

/* In a user namespace of his own, anybody is administrator of his network. */
static int in_user_namespace(void *name)
{
	struct link l;
	struct answer a = { 0 };
	static const struct attr unmapped = U32(UID, 0);
	int err;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return errno == ENOSPC || errno == EPERM ? 0 : -errno;
	err = link_open(&l);
	if (err)
		return err;
	if (by_name(&l, BGDMA_CMD_PARTITION_GET, name) != -ENOENT)
		return -EXDEV;
	err = make(&l, name, 2);
	if (err)
		return err;
	/* No user is mapped in there. */
	err = ask(&l, nearly_right(&l, BGDMA_CMD_PARTITION_SET, &unmapped),
		  &a);
	return err == -EINVAL ? 0 : -EPROTO;
}

TEST_F(netlink, x2_user_namespace)
{
	ASSERT_EQ(0, make(&self->l, "p", 2));
	EXPECT_EQ(0, as_user(NOBODY, in_user_namespace, "p"));
}

enum { KNOCKS = 1, END = 2 };

/* Two settings by turns, neither of which lets nobody in. */
static int flip_access(void *state)
{
	static const struct {
		uint32_t gid, mode;
	} access[] = { { NOBODY, 0600 }, { 0, 0660 } };
	struct answer a = { 0 };
	struct nl_msg *msg;
	unsigned int i;
	struct link l;
	int err = link_open(&l);

	must(until(load((int *)state) == KNOCKS) ? 0 : -ETIME);
	for (i = 0; !err && i < 3000; i++) {
		msg = request(&l, BGDMA_CMD_PARTITION_SET, NLM_F_ACK);
		nla_put_string(msg, BGDMA_A_PARTITION_NAME, "p");
		nla_put_u32(msg, BGDMA_A_PARTITION_GID, access[i % 2].gid);
		nla_put_u32(msg, BGDMA_A_PARTITION_MODE, access[i % 2].mode);
		err = ask(&l, msg, &a);
	}
	store((int *)state, err ? err : END);
	return err;
}

/* Attaches until there is an end to it; nothing but -EACCES is right. */
static int knock(void *state)
{
	int fd = (int)must(open("/dev/bgdma", O_RDWR | O_CLOEXEC)), ret;
	struct bgdma_attach at = { 0 };

	do {
		ret = bg_attach(fd, "p", 0, &at);
		if (!load((int *)state))
			store((int *)state, KNOCKS);
	} while (ret == -EACCES && load((int *)state) == KNOCKS);
	return ret == -EACCES ? 0 : -EXDEV;
}

/* Who is let in neither by what was nor by what is to be is not by half of each. */
TEST_F(netlink, x2_access_changes_as_a_whole)
{
	int *state = shared(sizeof(*state));
	pid_t pid;

	ASSERT_EQ(0, make(&self->l, "p", 2));
	pid = start_child(flip_access, state);
	EXPECT_EQ(0, as_user(NOBODY, knock, state));
	EXPECT_EQ(END, load(state));
	kill_child(pid, SIGKILL);
}

static int elsewhere(void *name)
{
	if (unshare(CLONE_NEWNET))
		return -errno;
	return try_get(name) == -ENOENT ? try_new(name) : -EXDEV;
}

TEST_F(netlink, network_namespaces_are_apart)
{
	ASSERT_EQ(0, make(&self->l, "p", 2));
	EXPECT_EQ(0, in_child(elsewhere, "p"));
	EXPECT_EQ(0, by_name(&self->l, BGDMA_CMD_PARTITION_DEL, "p"));
}

/* ---- Notifications ---------------------------------------------------- */

struct heard {
	struct shown shown;
	uint8_t cmd;
	unsigned int n;
};

static int hear(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[ATTRS_MAX];
	struct heard *h = arg;

	h->n++;
	h->cmd = genlmsg_hdr(nlmsg_hdr(msg))->cmd;
	if (!genlmsg_parse(nlmsg_hdr(msg), 0, attrs, ATTRS_MAX - 1, NULL))
		take(attrs, &h->shown);
	return NL_OK;
}

static bool heard_something(struct link *l)
{
	struct pollfd p = { nl_socket_get_fd(l->sock), POLLIN, 0 };

	return poll(&p, 1, 0) == 1 && !nl_recvmsgs_default(l->sock);
}

TEST_F(netlink, monitor)
{
	static const struct attr mode = U32(MODE, 0640);
	struct link ears, *l = &self->l;
	struct heard h = { 0 };
	int group;

	ASSERT_EQ(0, link_open(&ears));
	group = genl_ctrl_resolve_grp(ears.sock, BGDMA_GENL_NAME,
				      BGDMA_MCGRP_CONFIG);
	ASSERT_GT(group, 0);
	nl_socket_disable_seq_check(ears.sock);
	nl_socket_modify_cb(ears.sock, NL_CB_VALID, NL_CB_CUSTOM, hear, &h);
	ASSERT_EQ(0, nl_socket_add_membership(ears.sock, group));

	ASSERT_EQ(0, make(l, "p", 2));
	ASSERT_TRUE(heard_something(&ears));
	EXPECT_EQ(BGDMA_CMD_PARTITION_NEW_NTF, h.cmd);
	EXPECT_STREQ("p", h.shown.name);
	EXPECT_EQ(2, h.shown.u32[BGDMA_A_PARTITION_SIZE]);

	ASSERT_EQ(0, ask(l, nearly_right(l, BGDMA_CMD_PARTITION_SET, &mode),
			 &self->a));
	ASSERT_TRUE(heard_something(&ears));
	EXPECT_EQ(BGDMA_CMD_PARTITION_SET_NTF, h.cmd);
	EXPECT_EQ(0640, h.shown.u32[BGDMA_A_PARTITION_MODE]);

	/* What is refused is not told. */
	EXPECT_EQ(-EEXIST, make(l, "p", 2));
	EXPECT_EQ(-ENOENT, by_name(l, BGDMA_CMD_PARTITION_DEL, "q"));
	EXPECT_FALSE(heard_something(&ears));
	/* Nor what is done in another network namespace. */
	EXPECT_EQ(0, in_child(elsewhere, "p"));
	EXPECT_FALSE(heard_something(&ears));

	ASSERT_EQ(0, by_name(l, BGDMA_CMD_PARTITION_DEL, "p"));
	ASSERT_TRUE(heard_something(&ears));
	EXPECT_EQ(BGDMA_CMD_PARTITION_DEL_NTF, h.cmd);
	EXPECT_STREQ("p", h.shown.name);
	EXPECT_EQ(3, h.n);
	EXPECT_FALSE(heard_something(&ears));
	link_close(&ears);
}

TEST_HARNESS_MAIN
