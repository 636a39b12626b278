// SPDX-License-Identifier: GPL-2.0
/*
 * Private mappings of files as regions: a program's static memory, and any
 * other. A pin makes copies of the file's pages, so what lands there is the
 * process's, and the file keeps its bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "pair.h"

FIXTURE_PAIR(private)

#define PAGES	4
#define BYTES	(PAGES * PAGE)

static char initialized[BYTES] = { 1 };	/* of .data */
static char zero[BYTES];		/* of .bss */
static const char constant[BYTES] = { 1 };

/* All of a region goes from a's memory to it, and back to behind that. */
static bool both_ways(struct end *a, __u32 handle, const char *p, __u32 bytes,
		      unsigned int seed)
{
	struct bgdma_desc d;

	fill(a->mem.p, bytes, seed);
	memset(a->mem.p + BYTES, 0, bytes);
	d = d_copy(a->mem.handle, 0, handle, 0, bytes);
	if (run_bad(&a->inj, &d) || !filled(p, bytes, seed))
		return false;
	d = d_copy(handle, 0, a->mem.handle, BYTES, bytes);
	return !run_bad(&a->inj, &d) && filled(a->mem.p + BYTES, bytes, seed);
}

TEST_F(private, x2_static_memory)
{
	char *const memory[] = { initialized, initialized + 1, zero, zero + 7 };
	struct end *a = &self->a;
	unsigned int i;
	__u32 h;

	for (i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		ASSERT_EQ(0, region_pin(&a->n, memory[i], BYTES - 7, LOCAL_RW,
					&h));
		EXPECT_TRUE(both_ways(a, h, memory[i], BYTES - 7, i + 1));
		EXPECT_EQ(0, region_free(&a->n, h));
	}
	/* What cannot be written cannot be pinned, for whatever. */
	EXPECT_EQ(-EFAULT, region_pin(&a->n, (void *)(uintptr_t)constant,
				      BYTES, BGDMA_LOCAL_READ, &h));
}

/* A file of BYTES with a pattern in it, open; or -1. */
static int file_new(unsigned int seed)
{
	char name[] = "bgdma-XXXXXX", bytes[BYTES];
	int fd = mkstemp(name);

	if (fd < 0)
		return fd;
	unlink(name);
	fill(bytes, BYTES, seed);
	must(pwrite(fd, bytes, BYTES, 0) == BYTES ? 0 : -EIO);
	return fd;
}

static bool file_holds(int fd, unsigned int seed)
{
	char bytes[BYTES];

	must(pread(fd, bytes, BYTES, 0) == BYTES ? 0 : -EIO);
	return filled(bytes, BYTES, seed);
}

static char *map_private(int fd, int prot)
{
	char *p = mmap(NULL, BYTES, prot, MAP_PRIVATE, fd, 0);

	must(p == MAP_FAILED ? -errno : 0);
	return p;
}

/* A file of pattern 1, and a private mapping of it that can be written. */
FIXTURE(private_file) {
	struct end a, b;
	int fd;
	char *p;
};

FIXTURE_SETUP(private_file)
{
	self->fd = file_new(1);
	if (self->fd < 0)
		SKIP(return, "the folder is not writable");
	self->p = map_private(self->fd, PROT_READ | PROT_WRITE);
	pair_new(&self->a, &self->b);
}

FIXTURE_TEARDOWN(private_file)
{
	if (self->fd < 0)
		return;
	node_close(&self->b.n);
	node_close(&self->a.n);
	close(self->fd);
}

TEST_F(private_file, x2_a_file_keeps_its_bytes)
{
	struct end *a = &self->a;
	char *p = self->p, *other, *shared_map;
	__u32 h;

	other = map_private(self->fd, PROT_READ | PROT_WRITE);
	shared_map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, shared_map);
	/* Pages that were looked at before, and some that were not. */
	EXPECT_EQ(0, memcmp(p, shared_map, PAGE));
	ASSERT_EQ(0, region_pin(&a->n, p, BYTES, LOCAL_RW, &h));
	EXPECT_TRUE(filled(p, BYTES, 1));
	EXPECT_TRUE(both_ways(a, h, p, BYTES, 2));
	EXPECT_TRUE(file_holds(self->fd, 1));
	EXPECT_TRUE(filled(other, BYTES, 1));
	EXPECT_TRUE(filled(shared_map, BYTES, 1));
	/* Nor does the region see what the file becomes. */
	must(pwrite(self->fd, "new", 3, 0) == 3 ? 0 : -EIO);
	EXPECT_TRUE(filled(p, BYTES, 2));
	EXPECT_EQ(0, region_free(&a->n, h));
	EXPECT_TRUE(filled(p, BYTES, 2));
}

/* A region for reading does not go stale when its owner writes. */
TEST_F(private_file, x2_a_region_to_read_from_sees_later_writes)
{
	struct end *a = &self->a;
	struct bgdma_desc d;
	char *p = self->p;
	__u32 h;

	ASSERT_EQ(0, region_pin(&a->n, p, BYTES, BGDMA_LOCAL_READ, &h));
	fill(p, BYTES, 3);
	d = d_copy(h, 0, a->mem.handle, 0, BYTES);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_TRUE(filled(a->mem.p, BYTES, 3));
	/* And is for reading. */
	d = d_copy(a->mem.handle, 0, h, 0, BYTES);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
}

static int child_writes(void *arg)
{
	char *p = arg;

	/* What it had at the fork, and then its own. */
	if (!filled(p, BYTES, 4))
		return -EBADMSG;
	fill(p, BYTES, 9);
	return 0;
}

TEST_F(private_file, x2_fork_leaves_the_region_with_its_owner)
{
	struct end *a = &self->a;
	char *p = self->p;
	__u32 h;

	ASSERT_EQ(0, region_pin(&a->n, p, BYTES, LOCAL_RW, &h));
	fill(p, BYTES, 4);
	EXPECT_EQ(0, in_child(child_writes, p));
	EXPECT_TRUE(filled(p, BYTES, 4));
	EXPECT_TRUE(both_ways(a, h, p, BYTES, 5));
}

/*
 * The file becomes shorter: the process loses its pages, as it does without a
 * region, and the region keeps those that it has.
 */
TEST_F(private_file, x2_truncation_leaves_the_region_its_pages)
{
	struct end *a = &self->a;
	struct bgdma_desc d;
	char *p = self->p;
	__u32 h;

	ASSERT_EQ(0, region_pin(&a->n, p, BYTES, LOCAL_RW, &h));
	ASSERT_EQ(0, ftruncate(self->fd, 0));
	d = d_copy(h, 0, a->mem.handle, 0, BYTES);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_TRUE(filled(a->mem.p, BYTES, 1));
	fill(a->mem.p, BYTES, 6);
	d = d_copy(a->mem.handle, 0, h, 0, BYTES);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	ASSERT_EQ(0, ftruncate(self->fd, BYTES));
	/* What is in the file now is nobody's but the file's. */
	EXPECT_EQ(0, p[0]);
	EXPECT_EQ(0, region_free(&a->n, h));
}

TEST_F(private_file, x2_what_the_process_cannot_write)
{
	struct node *n = &self->a.n;
	char *p;
	__u32 h;

	p = map_private(self->fd, PROT_READ);
	EXPECT_EQ(-EFAULT, region_pin(n, p, BYTES, BGDMA_LOCAL_READ, &h));
	EXPECT_EQ(-EFAULT, region_pin(n, p, BYTES, LOCAL_RW, &h));
	/* Half of it. */
	ASSERT_EQ(0, mprotect(p, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EFAULT, region_pin(n, p, BYTES, LOCAL_RW, &h));
	EXPECT_EQ(0, region_pin(n, p, PAGE, LOCAL_RW, &h));
	/* Beyond the end of the file. */
	p = self->p;
	ASSERT_EQ(0, ftruncate(self->fd, PAGE));
	EXPECT_EQ(-EFAULT, region_pin(n, p, BYTES, LOCAL_RW, &h));
	EXPECT_EQ(0, region_pin(n, p, PAGE, LOCAL_RW, &h));
}

TEST_HARNESS_MAIN
