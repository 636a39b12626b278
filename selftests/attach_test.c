// SPDX-License-Identifier: GPL-2.0
/*
 * Becoming a context of a node: who may, and how many.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "utils.h"

#define NOBODY	65534

FIXTURE(attach) {
	struct node n;
};

FIXTURE_SETUP(attach)
{
	partition_new("4x2x1", "");
}

FIXTURE_TEARDOWN(attach)
{
}

/* What an attach of a fresh file gives; the file is closed again. */
static int try_attach(const char *name, __u32 rank, struct bgdma_attach *opts)
{
	struct bgdma_attach none = { .ctx = BGDMA_CTX_ANY };
	int fd = bg_open();
	int ret;

	if (fd < 0)
		return fd;
	ret = bg_attach(fd, name, rank, opts ? opts : &none);
	close(fd);
	return ret;
}

static int attach_rank_0(void *name)
{
	return try_attach(name, 0, NULL);
}

TEST_F(attach, tells_where_it_is)
{
	const struct bgdma_attach *at = &self->n.at;

	node_new(&self->n, 7);
	EXPECT_EQ(4, at->dims[0]);
	EXPECT_EQ(2, at->dims[1]);
	EXPECT_EQ(1, at->dims[2]);
	EXPECT_EQ(0, at->ctx);
	EXPECT_EQ(7, at->rank);
	EXPECT_NE(0, at->incarnation);
	EXPECT_EQ(BGDMA_STATE_ATTACHED, self->n.kctl->state);
	/* The engine's lines follow the heads of their areas. */
	EXPECT_LE(sizeof(struct bgdma_user_ctl), at->user_inj);
	EXPECT_LE(at->user_inj + 16 * sizeof(struct bgdma_inj_user),
		  at->user_rec);
	EXPECT_LE(at->user_rec + 8 * sizeof(struct bgdma_rec_user),
		  at->areas[BGDMA_AREA_USER_CTL].bytes);
	EXPECT_LE(at->kern_rec + 8 * sizeof(struct bgdma_rec_kern),
		  at->areas[BGDMA_AREA_KERN_CTL].bytes);
	EXPECT_LE(128 * sizeof(struct bgdma_counter_cell),
		  at->areas[BGDMA_AREA_COUNTERS].bytes);
	EXPECT_LE((128 + 16 + 8 + 4) * sizeof(struct bgdma_record),
		  at->areas[BGDMA_AREA_RECORDS].bytes);
	EXPECT_LE(64 * sizeof(struct bgdma_event),
		  at->areas[BGDMA_AREA_EVENTS].bytes);
	node_close(&self->n);
}

TEST_F(attach, wrong_names_and_ranks)
{
	int fd = (int)must(bg_open());
	struct bgdma_attach endless = { .size = sizeof(endless),
					.ctx = BGDMA_CTX_ANY };

	EXPECT_EQ(-ENOENT, try_attach("nowhere", 0, NULL));
	EXPECT_EQ(-ENOENT, try_attach(PARTITION, 8, NULL));
	EXPECT_EQ(-ENOENT, try_attach(PARTITION, BGDMA_RANK_MAX, NULL));
	EXPECT_EQ(-ENOENT, try_attach(PARTITION, BGDMA_RANK_ANY, NULL));
	/* A name that does not end, and none at all. */
	memset(endless.partition, 'x', sizeof(endless.partition));
	EXPECT_EQ(-EINVAL, bg_ioctl(fd, BGDMA_IOC_ATTACH, &endless));
	memset(endless.partition, 0, sizeof(endless.partition));
	EXPECT_GT(0, bg_ioctl(fd, BGDMA_IOC_ATTACH, &endless));
	close(fd);
}

TEST_F(attach, room_out_of_range)
{
	static const struct bgdma_attach bad[] = {
		{ .inj_fifos = BGDMA_INJ_FIFOS_MAX + 1 },
		{ .rec_fifos = BGDMA_REC_FIFOS_MAX + 1 },
		{ .rget_queues = BGDMA_RGET_QUEUES_MAX + 1 },
		{ .inj_counters = BGDMA_COUNTERS_MAX + 1 },
		{ .rec_counters = BGDMA_COUNTERS_MAX + 1 },
		{ .events = BGDMA_EVENTS_MAX * 2 },
		{ .events = 65 },
		{ .inj_fifos = 0xffffffff },
		{ .rec_counters = 0xffffffff },
		{ .ctx = BGDMA_CTX_PER_NODE },
		{ .ctx = BGDMA_CTX_ANY - 1 },
	};
	struct bgdma_attach most = {
		.ctx = BGDMA_CTX_ANY,
		.inj_fifos = BGDMA_INJ_FIFOS_MAX,
		.rec_fifos = BGDMA_REC_FIFOS_MAX,
		.rget_queues = BGDMA_RGET_QUEUES_MAX,
		.inj_counters = BGDMA_COUNTERS_MAX,
		.rec_counters = BGDMA_COUNTERS_MAX,
		.events = BGDMA_EVENTS_MAX,
	};
	struct bgdma_attach least = {
		.ctx = BGDMA_CTX_ANY, .inj_fifos = 1, .rec_fifos = 1,
		.rget_queues = 1, .inj_counters = 1, .rec_counters = 1,
		.events = 1,
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bgdma_attach opts = bad[i];

		EXPECT_EQ(-EINVAL, try_attach(PARTITION, 0, &opts))
			TH_LOG("case %zu", i);
	}
	EXPECT_EQ(0, node_try(&self->n, PARTITION, 0, &most));
	node_close(&self->n);
	EXPECT_EQ(0, node_try(&self->n, PARTITION, 0, &least));
	node_close(&self->n);
}

TEST_F(attach, only_once)
{
	struct bgdma_attach again = { .ctx = BGDMA_CTX_ANY };

	node_new(&self->n, 0);
	EXPECT_EQ(-EISCONN, bg_attach(self->n.fd, PARTITION, 0, &again));
	EXPECT_EQ(-EISCONN, bg_attach(self->n.fd, PARTITION, 1, &again));
	node_close(&self->n);
}

TEST_F(attach, failed_attach_leaves_the_file_free)
{
	struct bgdma_attach at = { .ctx = BGDMA_CTX_ANY };
	int fd = (int)must(bg_open());

	EXPECT_EQ(-ENOENT, bg_attach(fd, "nowhere", 0, &at));
	at = (struct bgdma_attach){ .ctx = BGDMA_CTX_ANY };
	EXPECT_EQ(0, bg_attach(fd, PARTITION, 0, &at));
	close(fd);
}

/* The answer cannot be written: nobody has come, and the file is as before. */
TEST_F(attach, answer_that_cannot_be_written)
{
	struct bgdma_attach *at = shared(PAGE);
	int fd = (int)must(bg_open());

	at->size = sizeof(*at);
	snprintf(at->partition, sizeof(at->partition), PARTITION);
	must(mprotect(at, PAGE, PROT_READ) ? -errno : 0);
	EXPECT_EQ(-EFAULT, bg_ioctl(fd, BGDMA_IOC_ATTACH, at));
	must(mprotect(at, PAGE, PROT_READ | PROT_WRITE) ? -errno : 0);
	/* Context 0 is free still. */
	EXPECT_EQ(0, bg_ioctl(fd, BGDMA_IOC_ATTACH, at));
	EXPECT_EQ(-EISCONN, bg_ioctl(fd, BGDMA_IOC_ATTACH, at));
	close(fd);
}

TEST_F(attach, context_numbers)
{
	struct bgdma_attach at = { .ctx = 200 };
	struct node m, l;

	EXPECT_EQ(0, node_try(&self->n, PARTITION, 0, &at));
	EXPECT_EQ(200, self->n.at.ctx);
	EXPECT_EQ(-EADDRINUSE, try_attach(PARTITION, 0, &at));
	/* The lowest that is free; and numbers are given again. */
	node_new(&m, 0);
	EXPECT_EQ(0, m.at.ctx);
	node_new(&l, 0);
	EXPECT_EQ(1, l.at.ctx);
	node_close(&m);
	node_new(&m, 0);
	EXPECT_EQ(0, m.at.ctx);
	EXPECT_NE(self->n.at.incarnation, m.at.incarnation);
	node_close(&m);
	node_close(&l);
	node_close(&self->n);
}

TEST_F(attach, a_node_has_256_contexts)
{
	struct bgdma_attach small = {
		.inj_fifos = 1, .rec_fifos = 1, .rget_queues = 1,
		.inj_counters = 1, .rec_counters = 1, .events = 1,
	};
	int fd[BGDMA_CTX_PER_NODE], i;

	for (i = 0; i < BGDMA_CTX_PER_NODE; i++) {
		struct bgdma_attach at = small;

		at.ctx = BGDMA_CTX_ANY;
		fd[i] = (int)must(bg_open());
		ASSERT_EQ(0, bg_attach(fd[i], PARTITION, 0, &at));
		ASSERT_EQ(i, at.ctx);
	}
	EXPECT_EQ(-ENOSPC, try_attach(PARTITION, 0, NULL));
	EXPECT_EQ(0, try_attach(PARTITION, 1, NULL));
	for (i = 0; i < BGDMA_CTX_PER_NODE; i++)
		close(fd[i]);
	EXPECT_EQ(0, try_attach(PARTITION, 0, NULL));
}

TEST_F(attach, x2_partition_of_another_user)
{
	ASSERT_EQ(0, partition("add", "mine", "dims 2x1x1 mode 0600"));
	ASSERT_EQ(0, partition("add", "readable", "dims 2x1x1 mode 0644"));
	ASSERT_EQ(0, partition("add", "his", "dims 2x1x1 mode 0600 uid 65534"));
	EXPECT_EQ(-EACCES, as_user(NOBODY, attach_rank_0, "mine"));
	/* Attaching is reading and writing. */
	EXPECT_EQ(-EACCES, as_user(NOBODY, attach_rank_0, "readable"));
	EXPECT_EQ(0, as_user(NOBODY, attach_rank_0, "his"));
	EXPECT_EQ(0, as_user(NOBODY, attach_rank_0, PARTITION));
	EXPECT_EQ(0, in_child(attach_rank_0, "mine"));
}

TEST_F(attach, x2_partition_of_a_group)
{
	ASSERT_EQ(0, partition("add", "team",
			       "dims 2x1x1 mode 0060 gid 65534"));
	ASSERT_EQ(0, partition("add", "other",
			       "dims 2x1x1 mode 0060 gid 65533"));
	EXPECT_EQ(0, as_user(NOBODY, attach_rank_0, "team"));
	EXPECT_EQ(-EACCES, as_user(NOBODY, attach_rank_0, "other"));
}

TEST_F(attach, x2_node_belongs_to_its_first_user)
{
	node_new(&self->n, 0);
	EXPECT_EQ(-EACCES, as_user(NOBODY, attach_rank_0, PARTITION));
	node_close(&self->n);
	EXPECT_EQ(0, as_user(NOBODY, attach_rank_0, PARTITION));
	node_new(&self->n, 0);
	node_close(&self->n);
}

TEST_F(attach, partition_is_of_its_network_namespace)
{
	int ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	node_new(&self->n, 0);
	ASSERT_LE(0, ns);
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	EXPECT_EQ(-ENOENT, try_attach(PARTITION, 1, NULL));
	/* The one that is attached stays where it was. */
	EXPECT_EQ(0, doorbell(&self->n, 0));
	EXPECT_EQ(BGDMA_STATE_ATTACHED, load(&self->n.kctl->state));
	/* Gone with the last that holds the namespace, in use or not. */
	close(ns);
	EXPECT_TRUE(until(load(&self->n.kctl->state) == BGDMA_STATE_DEAD));
	EXPECT_EQ(-ENODEV, doorbell(&self->n, 0));
	node_close(&self->n);
}

TEST_F(attach, limit_of_contexts_of_a_user)
{
	struct node m, l;

	ASSERT_EQ(0, partition("add", "small", "dims 4x1x1 max-contexts 2"));
	must(node_try(&self->n, "small", 0, NULL));
	must(node_try(&m, "small", 1, NULL));
	EXPECT_EQ(-EMFILE, node_try(&l, "small", 2, NULL));
	node_close(&m);
	EXPECT_EQ(0, node_try(&l, "small", 2, NULL));
	node_close(&l);
	node_close(&self->n);
}

TEST_F(attach, limit_of_injection_fifos)
{
	struct inj f[3];

	ASSERT_EQ(0, partition("add", "few", "dims 4x1x1 max-inj-fifos 2"));
	must(node_try(&self->n, "few", 0, NULL));
	EXPECT_EQ(0, inj_try(&f[0], &self->n, BGDMA_ID_ANY, 16));
	EXPECT_EQ(0, inj_try(&f[1], &self->n, BGDMA_ID_ANY, 16));
	EXPECT_EQ(-EMFILE, inj_try(&f[2], &self->n, BGDMA_ID_ANY, 16));
	EXPECT_EQ(0, fifo_destroy(&self->n, BGDMA_KIND_INJ_FIFO, f[0].id));
	EXPECT_EQ(0, inj_try(&f[2], &self->n, BGDMA_ID_ANY, 16));
	node_close(&self->n);
}

TEST_F(attach, two_contexts_of_one_node_are_apart)
{
	struct end a, b;
	struct bgdma_desc d;

	end_new(&a, 0);
	end_new(&b, 0);
	fill(a.mem.p, PAGE, 1);
	/* To context 1 of rank 0, from context 0. */
	d = d_put(0, a.mem.handle, 0, b.mem.handle, 0, PAGE);
	d.dst_ctx = 1;
	EXPECT_EQ(BGDMA_OK, run(&a.inj, &d));
	EXPECT_TRUE(filled(b.mem.p, PAGE, 1));
	d = d_inline(0, b.rec.id, "hello", 5);
	d.dst_ctx = 1;
	EXPECT_EQ(BGDMA_OK, run(&a.inj, &d));
	EXPECT_EQ(0, packet_wait(&b.rec)->src_ctx);
	EXPECT_EQ(0, packet(&b.rec)->src_rank);
	EXPECT_EQ(NULL, packet(&a.rec));
	node_close(&b.n);
	/* It was there when this FIFO sent to it before. */
	EXPECT_EQ(BGDMA_E_PEER_DOWN, run_bad(&a.inj, &d));
	node_close(&a.n);
}

TEST_F(attach, x3_a_thousand_times_at_once)
{
	struct bgdma_attach at = { .ctx = 0 };
	__u32 before = 0;
	int i;

	for (i = 0; i < 1000; i++) {
		/* The number must be free as soon as close returns. */
		must(node_try(&self->n, PARTITION, 3, &at));
		ASSERT_NE(before, self->n.at.incarnation);
		before = self->n.at.incarnation;
		node_close(&self->n);
	}
}

/* As many as the kernel is fast. */
TEST_F_TIMEOUT(attach, four_thousand_nodes_in_one_process, 300)
{
	static struct node n[4096];
	const __u32 nodes = 4096 / slowness(), last = nodes - 1;
	struct rlimit files = { 8192, 8192 };
	struct inj f;
	struct rec r;
	struct bgdma_desc d;
	__u32 i;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	ASSERT_EQ(0, partition("add", "big", "dims 16x16x16"));
	for (i = 0; i < nodes; i++)
		must(node_try(&n[i], "big", i, NULL));
	/* The last one hears the first. */
	inj_new(&f, &n[0]);
	rec_new(&r, &n[last]);
	d = d_inline(last, r.id, "far", 3);
	EXPECT_EQ(BGDMA_OK, run(&f, &d));
	EXPECT_EQ(0, memcmp("far", payload(packet_wait(&r)), 3));
	for (i = 0; i < nodes; i++)
		node_close(&n[i]);
}

TEST_HARNESS_MAIN
