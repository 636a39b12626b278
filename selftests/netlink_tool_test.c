// SPDX-License-Identifier: GPL-2.0
/*
 * The tool bgdma: exit codes, what it says of errors, and its output. JSON is
 * printed as lines "# json SUBCOMMAND TEXT", which tools/check/json_output.py holds
 * against the schema.
 */
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "netlink_veth.h"
#include "tool.h"
#include "tree.h"

FIXTURE(tool) {
	char out[64 * 1024];
};

FIXTURE_SETUP(tool)
{
	partition_new("4x3x2", "torus xz uid 7 gid 8");
}

FIXTURE_TEARDOWN(tool)
{
}

#define RUN(words) run_tool(words, self->out, sizeof(self->out))

/* What was printed begins with, or contains, a text. */
#define EXPECT_STARTS(text) \
	EXPECT_EQ(0, strncmp(self->out, text, strlen(text))) { \
		TH_LOG("%s", self->out); \
	}
#define EXPECT_HAS(text) \
	EXPECT_NE(NULL, strstr(self->out, text)) { \
		TH_LOG("%s", self->out); \
	}

struct told {
	const char *words;
	int code;
	const char *text;
};

static const struct told errors[] = {
	{ "", 1, "Usage: bgdma" },
	{ "bogus", 1, "Error: \"bogus\" is unknown, try \"bgdma help\".\n" },
	{ "-x", 1, "invalid option" },
	{ "partition bogus", 1,
	  "Error: \"bogus\" is unknown, try \"bgdma help\".\n" },
	{ "partition add", 1,
	  "Error: the name of the partition is missing.\n" },
	{ "partition add p dims", 1, "Error: \"dims\" needs a value.\n" },
	{ "partition add p bogus 1", 1, "Error: \"bogus\" is unknown.\n" },
	{ "partition add p dims 2 dims 3", 1,
	  "Error: \"dims\" was given already.\n" },
	{ "partition add p torus x mesh y", 1,
	  "Error: \"mesh\" was given already.\n" },
	{ "partition add p dims 2y2", 1,
	  "Error: dims: \"2y2\" is not like 8x4x2.\n" },
	{ "partition add p dims 2x2x2x2", 1,
	  "Error: dims: \"2x2x2x2\" is not like 8x4x2.\n" },
	{ "partition add p dims 2x", 1,
	  "Error: dims: \"2x\" is not like 8x4x2.\n" },
	{ "partition add p dims ''", 1, "Error: dims: \"\" is not like 8x4x2.\n" },
	{ "partition add p torus ''", 1,
	  "Error: \"\" is not like xy or none.\n" },
	{ "partition add p mesh ''", 1,
	  "Error: \"\" is not like xy or none.\n" },
	{ "partition add p torus xx", 1,
	  "Error: \"xx\" is not like xy or none.\n" },
	{ "partition add p mode 8", 1,
	  "Error: mode: \"8\" is not a number.\n" },
	{ "partition add p quantum -1", 1,
	  "Error: quantum: \"-1\" is not a number.\n" },
	{ "partition add p uid 4294967296", 1,
	  "Error: owner: \"4294967296\" is not a number.\n" },
	{ "partition add p owner no-such-user", 1,
	  "Error: there is no user \"no-such-user\".\n" },
	{ "partition add p group no-such-group", 1,
	  "Error: there is no group \"no-such-group\".\n" },
	{ "partition show a b", 1, "Error: \"b\" is one word too many.\n" },
	{ "partition del a b", 1, "Error: \"b\" is one word too many.\n" },
	{ "node bogus", 1,
	  "Error: \"bogus\" is unknown, try \"bgdma help\".\n" },
	{ "node show test/x", 1, "Error: \"x\" is not a rank.\n" },
	{ "node show test/1.2", 1, "Error: \"1.2\" is not a rank.\n" },
	{ "ctx show test/1.", 1, "Error: \"1.\" is not a rank.\n" },
	{ "ctx show test/1.x", 1, "Error: \"1.x\" is not a context.\n" },
	{ "fifo show test/1.2.3", 1, "Error: \"1.2.3\" is not a context.\n" },
	{ "tree bogus", 1,
	  "Error: \"bogus\" is unknown, try \"bgdma help\".\n" },
	{ "tree show test class", 1, "Error: \"class\" needs a value.\n" },
	{ "tree show test class x", 1,
	  "Error: class: \"x\" is not a number.\n" },
	{ "tree show test waits class 1", 1,
	  "Error: \"class\" is unknown.\n" },
	{ "tree show test/1.x", 1, "Error: \"1.x\" is not a context.\n" },
	{ "tree show nowhere waits", 2,
	  "Error: bgdma: no such partition in this network namespace.\n" },
	{ "tree show test class 16", 2,
	  "Error: integer out of range, must be 0 to 15.\n" },
	{ "stat bogus", 1, "Error: \"bogus\" is one word too many.\n" },
	{ "partition show nowhere", 2,
	  "Error: bgdma: no such partition in this network namespace.\n" },
	{ "fifo show nowhere", 2,
	  "Error: bgdma: no such partition in this network namespace.\n" },
	{ "ctx show test/24", 2,
	  "Error: bgdma: the partition has no such rank.\n" },
	{ "partition add test dims 1", 2,
	  "Error: bgdma: there is a partition of this name.\n" },
	{ "partition add p", 2,
	  "Error: bgdma: dimensions along X, Y and Z are needed.\n" },
	{ "partition add p dims 1x1025", 2,
	  "Error: integer out of range: dimension Y, must be 1 to 1024.\n" },
	{ "partition add p dims 1 quantum 1", 2,
	  "Error: integer out of range: quantum, must be 4096 to 1048576.\n" },
	{ "partition set test mode 700", 2,
	  "Error: bgdma: a mode has read and write bits only.\n" },
	{ "partition set test nodes 0-3", 2,
	  "Error: Unknown attribute type: nodes.\n" },
	{ "partition set test dims 2", 2,
	  "Error: bgdma: the shape of a partition cannot change.\n" },
};

TEST_F(tool, says_what_is_wrong)
{
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		EXPECT_EQ(errors[i].code, RUN(errors[i].words)) {
			TH_LOG("bgdma %s", errors[i].words);
		}
		EXPECT_NE(NULL, strstr(self->out, errors[i].text)) {
			TH_LOG("bgdma %s: %s", errors[i].words, self->out);
		}
	}
}

TEST_F(tool, name_that_is_too_long)
{
	EXPECT_EQ(2, RUN("partition add 12345678901234567890123456789012"
			 " dims 1"));
	EXPECT_STREQ("Error: Attribute failed policy validation: name,"
		     " has at most 31 characters.\n", self->out);
}

/* One that does not fit into a request is not left out of it, to show all. */
TEST_F(tool, name_that_fits_no_request)
{
	static const char *const words[] = {
		"partition add %s dims 1", "partition show %s", "fifo show %s",
		"tree show %s/0", "link add dev lo partition %s",
		"route get %s from 0 to 1",
	};
	char line[128];
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		snprintf(line, sizeof(line), words[i], "$(printf %05000d 1)");
		EXPECT_EQ(1, RUN(line));
		EXPECT_STREQ("Error: the name \"0000000000000000...\" is too"
			     " long.\n", self->out) {
			TH_LOG("%s", line);
		}
	}
}

TEST_F(tool, help)
{
	EXPECT_EQ(0, RUN("help"));
	EXPECT_HAS("partition add NAME");
	EXPECT_EQ(0, RUN("--help"));
	EXPECT_HAS("partition add NAME");
}

TEST_F(tool, partition_text)
{
	EXPECT_EQ(0, RUN("partition show"));
	EXPECT_STARTS("test: dims 4x3x2 torus xz ");
	EXPECT_HAS(" mode 0666\n");
	EXPECT_HAS("    nodes 24 contexts 0 poll-ns 50000"
		   " quantum 65536 max-contexts 8192"
		   " max-inj-fifos 1024\n");
	EXPECT_EQ(0, RUN("partition set test mode 0600 poll-ns 0 quantum 4096"
			 " max-contexts 3 max-inj-fifos 4"));
	EXPECT_STREQ("", self->out);
	EXPECT_EQ(0, RUN("partition show test"));
	EXPECT_HAS(" mode 0600\n");
	EXPECT_HAS(" poll-ns 0 quantum 4096"
		   " max-contexts 3 max-inj-fifos 4\n");
	EXPECT_EQ(0, RUN("partition del test"));
	EXPECT_EQ(0, RUN("partition show"));
	EXPECT_STREQ("", self->out);
}

TEST_F(tool, partition_json)
{
	EXPECT_EQ(0, RUN("-j partition show test"));
	EXPECT_STREQ("[{\"name\":\"test\",\"uid\":7,\"gid\":8,"
		     "\"poll_ns\":50000,\"quantum\":65536,"
		     "\"max_contexts\":8192,\"max_inj_fifos\":1024,"
		     "\"size\":24,\"contexts\":0,\"dims\":[4,3,2],"
		     "\"torus\":[\"x\",\"z\"],\"mode\":\"0666\"}]\n",
		     self->out);
	EXPECT_EQ(0, RUN("-p partition show test"));
	EXPECT_HAS("\n    \"name\":\"test\",");
	EXPECT_EQ(2, RUN("-j partition show nowhere"));
	EXPECT_EQ(NULL, strchr(self->out, '['));
}

TEST_F(tool, meshes)
{
	EXPECT_EQ(0, RUN("partition add m dims 8 mesh xy"));
	EXPECT_EQ(0, RUN("partition show m"));
	EXPECT_STARTS("m: dims 8x1x1 torus z ");
	EXPECT_EQ(0, RUN("partition add n dims 8x8 torus none"));
	EXPECT_EQ(0, RUN("partition show n"));
	EXPECT_STARTS("n: dims 8x8x1 torus none ");
}

/* The nodes of a kernel that a way passes are no hops of a packet. */
TEST_F(tool, ways_longer_than_are_shown)
{
	EXPECT_EQ(0, RUN("partition add way dims 1024x512 torus none"));
	EXPECT_EQ(0, RUN("route get way from 0 to 255"));
	EXPECT_STARTS("0 x+ to 1\n");
	EXPECT_HAS("\n254 x+ to 255\n");
	EXPECT_EQ(NULL, strstr(self->out, "more"));
	EXPECT_EQ(0, RUN("route get way from 0 to 300"));
	EXPECT_HAS("\n254 x+ to 255\nand 45 more, as far as 300\n");
	EXPECT_EQ(0, RUN("route get way from 524287 to 0"));
	EXPECT_HAS("\nand 1279 more, as far as 0\n");
	EXPECT_EQ(0, RUN("-j route get way from 0 to 300"));
	EXPECT_STARTS("{\"partition\":\"way\",\"from\":0,\"to\":300,"
		      "\"adaptive\":false,\"length\":300,\"hops\":[{");
	EXPECT_EQ(0, RUN("-j route get way from 7 to 7"));
	EXPECT_HAS("\"length\":0,\"hops\":[]");
}

/* All kinds of objects: idle, in error, and waiting for each other. */
static void populate(struct end *a, struct end *b)
{
	struct bgdma_desc d = d_nop();
	struct inj broken;

	end_new(a, 2);
	end_new(b, 3);
	inj_new(&broken, &a->n);
	d.op = 200;
	d.inj_ctr = htole32(a->ic);
	inject(&broken, &d);
	must(outcome(&broken, 0) == BGDMA_E_OP ? 0 : -EPROTO);
	counter_add(&b->n, REC, b->rc, 5);
	store(&cell(&b->n, REC, b->rc)->lease_peer, BGDMA_RANK_NOBODY);
	/* More than the reception FIFO takes. */
	d = d_memfifo(3, b->rec.id, a->mem.handle, 0, PAIR_BYTES);
	while (load(&a->inj.kern->state) != BGDMA_FIFO_BLOCKED) {
		must(a->inj.tail < a->inj.entries ? 0 : -EPROTO);
		inject(&a->inj, &d);
		until(load(&a->inj.kern->done) == a->inj.tail ||
		      load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED);
	}
}

/* A counter whose last error has a value, and neither FIFO nor transfer. */
static void below_zero(struct end *a, struct end *b)
{
	struct bgdma_desc d = d_put(b->n.at.rank, a->mem.handle, 0,
				    b->mem.handle, 0, 140);
	struct inj fifo;

	inj_new(&fifo, &a->n);
	d.rec_ctr = htole32(counter_new(&b->n, REC, 0));
	counter_add(&b->n, REC, le32toh(d.rec_ctr), 100);
	must(-run(&fifo, &d));
	until(counter_error(&b->n, REC, le32toh(d.rec_ctr)));
}

static void expect_json(struct __test_metadata *_metadata, const char *what,
			const char *words, char *out, size_t size)
{
	EXPECT_EQ(0, run_tool(words, out, size));
	EXPECT_GT(strlen(out), 3);
	printf("# json %s %s", what, out);
	fflush(stdout);
}

TEST_F(tool, everything)
{
	static const char *const kinds[] = { "partition", "node", "ctx",
					     "counter", "fifo" };
	struct end a, b;
	char words[64];
	size_t i;

	populate(&a, &b);
	below_zero(&a, &b);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(words, sizeof(words), "-j %s show test", kinds[i]);
		expect_json(_metadata, kinds[i], words, self->out,
			    sizeof(self->out));
	}
	expect_json(_metadata, "stat", "-j stat", self->out,
		    sizeof(self->out));
	expect_json(_metadata, "route", "-j route get test from 2 to 23",
		    self->out, sizeof(self->out));

	EXPECT_EQ(0, RUN("fifo show test/2.0"));
	EXPECT_HAS("test/2.0 injection-fifo 0: blocked"
		   " holds 1 of ");
	EXPECT_HAS("    waits for reception-fifo 0 of"
		   " test/3.0\n");
	EXPECT_HAS("test/2.0 injection-fifo 1: error"
		   " holds 1 of ");
	EXPECT_HAS("    error op lost 0 in"
		   " injection-fifo 1 descriptor 0");
	EXPECT_EQ(0, RUN("fifo show test/3"));
	EXPECT_HAS("test/3.0 reception-fifo 0: busy");
	EXPECT_HAS(" senders-wait\n");
	EXPECT_HAS("test/3.0 remote-get-queue 0: idle"
		   " holds 0 of ");
	EXPECT_EQ(0, RUN("counter show test/3.0"));
	EXPECT_HAS("test/3.0 reception-counter 0:"
		   " value 5 wake-at 0");
	EXPECT_HAS(" lease nobody\n");
	EXPECT_EQ(0, RUN("-j counter show test/3.0"));
	EXPECT_HAS("\"no_underflow\":false,\"lease_ctx\":null");
	EXPECT_EQ(NULL, strstr(self->out, "4294967294"));
	EXPECT_HAS("\"offset\":-40,");
	EXPECT_EQ(0, RUN("counter show test/3.0"));
	EXPECT_HAS("\n    error underflow lost 0 value -40\n");
	EXPECT_EQ(0, RUN("node show"));
	EXPECT_STARTS("test/2: at 2,0,0 owner ");
	EXPECT_EQ(0, RUN("ctx show test/2"));
	EXPECT_STARTS("test/2.0: incarnation 1");
	EXPECT_HAS("    inj-fifos 3/16 rec-fifos 1/8"
		   " rget-queues 1/4");
	EXPECT_EQ(0, RUN("stat"));
	EXPECT_STARTS("partitions 1 nodes 2 contexts 2 ");
	node_close(&a.n);
	node_close(&b.n);
}

static void take_part(struct member *m, __u8 class, __u32 length)
{
	struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE, 0, length);

	d.class_prio = class;
	d.rec_ctr = htole32(BGDMA_NONE);
	inject(&m->inj, &d);
}

/* A class that was broken, and one that waits for its root; each edge was greeted. */
TEST_F(tool, trees)
{
	struct tree t = { 0 };
	__u32 i;

	tree_new(&t, 3, 8);
	for (i = 0; i < 3; i++) {
		must(tree_bind(&t, i, 5, 4));
		/* First, since an error stops the FIFO. */
		if (i)
			take_part(&t.m[i], 5, 10000);
		take_part(&t.m[i], CLASS, i == 1 ? 80 : 64);
	}
	EXPECT_TRUE(until(!RUN("tree show test/0.0 class 5") &&
			  !strcmp(self->out,
				  "test/0.0 class 5: waits member 0 of 3 root"
				  " instance 82\n"
				  "    slots 3/4 packet 4096 oldest 0 combined 3"
				  " collectives 0\n"
				  "    waits for its own context\n"
				  "    child test/1.0\n"
				  "    descriptors 1 packets 1 bytes-copied 0"
				  " errors 0 blocked 0\n"
				  "    child test/2.0\n"
				  "    descriptors 1 packets 1 bytes-copied 0"
				  " errors 0 blocked 0\n"))) {
		TH_LOG("%s", self->out);
	}
	EXPECT_TRUE(until(!RUN("tree show test/2 class 3") &&
			  strstr(self->out, "    error tree-mismatch by"
				 " test/1.0\n")));
	EXPECT_EQ(0, RUN("tree show test/2 class 5"));
	EXPECT_HAS("    parent test/0.0: waits for it\n"
		   "    descriptors 4 packets 4 bytes-copied 10000 ");
	expect_json(_metadata, "tree", "-j tree show test", self->out,
		    sizeof(self->out));
	EXPECT_EQ(0, RUN("tree show test waits"));
	EXPECT_STREQ("test class 5 instance 82: 3 of 3 members seen\n"
		     "    waits for test/0.0\n", self->out);
	expect_json(_metadata, "tree-waits", "-j tree show test waits",
		    self->out, sizeof(self->out));
	EXPECT_STREQ("[{\"partition\":\"test\",\"class\":5,\"instance\":82,"
		     "\"members\":3,\"seen\":3,\"missing\":[{\"rank\":0,"
		     "\"ctx\":0,\"seen\":true}]}]\n", self->out);
	tree_close(&t);
}

TEST_F(tool, links)
{
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, rt_set("veth0", true, 1500));
	ASSERT_EQ(0, rt_set("veth1", true, 1500));
	ASSERT_EQ(0, RUN("partition add other dims 8 nodes 7,2-3,4"));
	EXPECT_EQ(0, RUN("partition show other"));
	EXPECT_HAS("\n    here 2-4,7\n");
	EXPECT_EQ(0, RUN("link add dev veth0 partition test timeout 5000"
			 " hello 100 window 16 copy on"));
	EXPECT_EQ(0, RUN("link add dev veth1 partition other hello 100"));
	EXPECT_EQ(0, RUN("link set dev veth0 partition test copy off sum off"
			 " fixed on"));
	EXPECT_TRUE(until(!RUN("link show dev veth0") &&
			  strstr(self->out, "state partition")));
	EXPECT_STARTS("veth0: partition test state up mtu 1500 inside\n"
		      "    timeout 5000 hello 100 window 16"
		      " copy off sum off fixed on\n    peer ");
	EXPECT_HAS("\n        has partition other, not test\n");
	EXPECT_EQ(NULL, strstr(self->out, "TX:"));
	EXPECT_EQ(0, RUN("link show -s"));
	EXPECT_HAS("\n    TX: frames ");
	EXPECT_STARTS("veth1: partition other state up");
	EXPECT_HAS("\nveth0: partition test state up");
	expect_json(_metadata, "link", "-j link show -s", self->out,
		    sizeof(self->out));
	EXPECT_EQ(2, RUN("route get other from 2 to 0"));
	EXPECT_HAS("Error: there is no way: from 2 x- no link is up.\n");
	EXPECT_EQ(0, RUN("link del dev veth0 partition test"));
	EXPECT_EQ(2, RUN("link del dev veth0 partition test"));
	EXPECT_STARTS("Error: bgdma: the partition has no link on this device");
	EXPECT_EQ(2, RUN("link add dev veth0 partition test window 257"));
	EXPECT_STARTS("Error: integer out of range: window, must be 1 to 256");
}

/* Bytes that a terminal obeys, and that are no text to JSON. */
TEST_F(tool, name_of_a_device_that_is_no_text)
{
	struct ifreq change = { .ifr_name = "veth0",
				.ifr_newname = "v\033[\200" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, ioctl(fd, SIOCSIFNAME, &change));
	close(fd);
	ASSERT_EQ(0, RUN("link add dev \"$(printf 'v\\033[\\200')\""
			 " partition test"));
	EXPECT_EQ(0, RUN("link show"));
	EXPECT_STARTS("v?[?: partition test ");
	EXPECT_EQ(0, RUN("-j link show"));
	EXPECT_HAS("\"dev\":\"v?[?\",");
}

TEST_F(tool, wrong_words_about_links)
{
	static const struct told bad[] = {
		{ "link add dev nowhere partition test", 1,
		  "Error: there is no device \"nowhere\"" },
		{ "link add dev", 1, "Error: \"dev\" needs a value" },
		{ "link add dev lo dev lo", 1,
		  "Error: \"dev\" was given already" },
		{ "link add dev lo copy maybe", 1,
		  "Error: copy: \"maybe\" is neither on nor off" },
		{ "link add dev lo window many", 1,
		  "Error: window: \"many\" is not a number" },
		{ "link add dev lo speed 1", 1, "Error: \"speed\" is unknown" },
		{ "link show everything", 1,
		  "Error: \"everything\" is unknown" },
		{ "link cut", 1, "Error: \"cut\" is unknown" },
		{ "link add dev lo partition test", 2,
		  "Error: bgdma: the device is not an Ethernet device" },
		{ "route", 1, "Error: it is \"route get" },
		{ "route get test from 0", 1, "Error: it is \"route get" },
		{ "route get test from x to 1", 1,
		  "Error: \"x\" is not a rank" },
		{ "route get test from 0 to 24", 2,
		  "Error: bgdma: the partition has no such rank" },
		{ "partition add q dims 4 nodes 3-1", 1,
		  "Error: nodes: \"3-1\" is not like 0-3,6" },
		{ "partition add q dims 4 nodes 0,", 1,
		  "Error: nodes: \"0,\" is not like 0-3,6" },
		{ "partition add q dims 4 nodes 4", 2,
		  "Error: bgdma: nodes are runs of ranks of the partition" },
		{ "partition add q dims 4 key-file /nowhere", 1,
		  "Error: /nowhere: No such file or directory" },
		{ "partition add q dims 4 key-file /dev/null", 1,
		  "Error: /dev/null: not 32 hexadecimal digits" },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(bad[i].code, RUN(bad[i].words)) {
			TH_LOG("%s", bad[i].words);
		}
		EXPECT_STARTS(bad[i].text);
	}
}

/* A line that comes from the tool in time, without its end; or NULL. */
static char *line_of(int fd, char *out, size_t size)
{
	struct pollfd p = { fd, POLLIN, 0 };
	size_t n = 0;

	while (n < size - 1 && poll(&p, 1, 20000) == 1 &&
	       read(fd, out + n, 1) == 1) {
		if (out[n] == '\n') {
			out[n] = '\0';
			return out;
		}
		n++;
	}
	return NULL;
}

/* It cannot be known when it listens: tell it until it says so. */
static char *first_line(int fd, char *out, size_t size)
{
	struct pollfd p = { fd, POLLIN, 0 };
	int tries;

	for (tries = 0; tries < 200; tries++) {
		must(-partition("set", PARTITION, "mode 0600"));
		if (poll(&p, 1, 100) == 1)
			break;
	}
	return line_of(fd, out, size);
}

TEST_F(tool, monitor)
{
	char *line = self->out;
	int out[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(out));
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		execlp("bgdma", "bgdma", "-j", "monitor", NULL);
		_exit(99);
	}
	ASSERT_NE(NULL, first_line(out[0], line, sizeof(self->out)));
	EXPECT_NE(NULL, strstr(line, "\"event\":\"set\""));
	EXPECT_EQ(0, partition("add", "m", "dims 2"));
	do {
		ASSERT_NE(NULL, line_of(out[0], line, sizeof(self->out)));
	} while (strstr(line, "\"event\":\"set\""));
	EXPECT_NE(NULL, strstr(line, "\"name\":\"m\""));
	EXPECT_NE(NULL, strstr(line, "\"event\":\"new\""));
	printf("# json monitor %s\n", line);
	fflush(stdout);
	EXPECT_EQ(0, partition("del", "m", ""));
	ASSERT_NE(NULL, line_of(out[0], line, sizeof(self->out)));
	EXPECT_NE(NULL, strstr(line, "\"event\":\"del\""));
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

TEST_F(tool, monitor_that_cannot_write)
{
	int tries, status = 0;
	pid_t pid = fork();

	if (!pid) {
		dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
		execlp("bgdma", "bgdma", "monitor", NULL);
		_exit(99);
	}
	for (tries = 0; tries < 200; tries++) {
		if (waitpid(pid, &status, WNOHANG))
			break;
		must(-partition("set", PARTITION, "mode 0600"));
		usleep(100000);
	}
	ASSERT_GT(200, tries) {
		kill(pid, SIGKILL);
	}
	EXPECT_EQ(2, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
