// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping the areas: all of each, with no more rights than it has, and not
 * in a child.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "utils.h"

FIXTURE(map) {
	struct node n;
	struct bgdma_area area;
};

FIXTURE_VARIANT(map) {
	int id;		/* enum bgdma_area_id, or one of those below */
	bool writable;
};

enum { INJ_RING = 100, REC_RING, DRIVER_MEMORY };

FIXTURE_VARIANT_ADD(map, user_ctl) { BGDMA_AREA_USER_CTL, true };
FIXTURE_VARIANT_ADD(map, kern_ctl) { BGDMA_AREA_KERN_CTL, false };
FIXTURE_VARIANT_ADD(map, counters) { BGDMA_AREA_COUNTERS, true };
FIXTURE_VARIANT_ADD(map, records) { BGDMA_AREA_RECORDS, false };
FIXTURE_VARIANT_ADD(map, events) { BGDMA_AREA_EVENTS, false };
FIXTURE_VARIANT_ADD(map, injection_ring) { INJ_RING, true };
FIXTURE_VARIANT_ADD(map, reception_ring) { REC_RING, false };
FIXTURE_VARIANT_ADD(map, driver_memory) { DRIVER_MEMORY, true };

static struct bgdma_area area_of(struct node *n, int id)
{
	/* Sizes of more than one page, so that there are parts. */
	struct bgdma_inj_create inj = {
		.size = sizeof(inj), .id = BGDMA_ID_ANY, .entries = 256,
	};
	struct bgdma_rec_create rec = {
		.size = sizeof(rec), .id = BGDMA_ID_ANY,
		.bytes = BGDMA_REC_BYTES_MIN,
	};
	struct bgdma_region_alloc mem = {
		.size = sizeof(mem), .rights = LOCAL_RW, .length = 3 * PAGE,
	};

	switch (id) {
	case INJ_RING:
		must(bg_ioctl(n->fd, BGDMA_IOC_INJ_CREATE, &inj));
		return inj.ring;
	case REC_RING:
		must(bg_ioctl(n->fd, BGDMA_IOC_REC_CREATE, &rec));
		return rec.ring;
	case DRIVER_MEMORY:
		must(bg_ioctl(n->fd, BGDMA_IOC_REGION_ALLOC, &mem));
		return mem.mem;
	default:
		return n->at.areas[id];
	}
}

FIXTURE_SETUP(map)
{
	struct bgdma_attach at = { .ctx = BGDMA_CTX_ANY };

	partition_new("2x1x1", "");
	/* Only attached: the test maps. */
	self->n = (struct node){ .fd = (int)must(bg_open()) };
	at.events = 256;
	at.inj_fifos = 256;
	must(bg_attach(self->n.fd, PARTITION, 0, &at));
	self->n.at = at;
	self->area = area_of(&self->n, variant->id);
	ASSERT_LE(PAGE, self->area.bytes);
}

FIXTURE_TEARDOWN(map)
{
	close(self->n.fd);
}

static int map_flags(int fd, const struct bgdma_area *a, int prot, int flags)
{
	void *p = mmap(NULL, a->bytes, prot, flags, fd, (off_t)a->offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, a->bytes);
	return 0;
}

static int map_as(int fd, __u64 offset, __u64 bytes, int prot)
{
	struct bgdma_area a = { offset, bytes };

	return map_flags(fd, &a, prot, MAP_SHARED);
}

/* Whatever the kernel kept in these pages before. */
TEST_F(map, x2_begins_as_zeros)
{
	const char *p;
	size_t i;

	/* The others have something to say from the start. */
	if (variant->id < INJ_RING && variant->id != BGDMA_AREA_EVENTS &&
	    variant->id != BGDMA_AREA_RECORDS)
		return;
	ASSERT_EQ(0, bg_mmap(self->n.fd, &self->area, PROT_READ, (void **)&p));
	for (i = 0; i < self->area.bytes; i++)
		ASSERT_EQ(0, p[i]);
}

TEST_F(map, as_the_call_returned_it)
{
	int fd = self->n.fd;
	void *p;

	ASSERT_EQ(0, bg_mmap(fd, &self->area, PROT_READ, &p));
	/* Every page is there. */
	for (size_t i = 0; i < self->area.bytes; i += PAGE)
		(void)*(volatile char *)((char *)p + i);
	EXPECT_EQ(0, munmap(p, self->area.bytes));
	/* And again. */
	EXPECT_EQ(0, map_flags(fd, &self->area, PROT_READ, MAP_SHARED));
}

TEST_F(map, x2_rights)
{
	int fd = self->n.fd;

	EXPECT_EQ(variant->writable ? 0 : -EPERM,
		  map_flags(fd, &self->area, PROT_READ | PROT_WRITE,
			    MAP_SHARED));
	EXPECT_EQ(variant->writable ? 0 : -EPERM,
		  map_flags(fd, &self->area, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EPERM, map_flags(fd, &self->area, PROT_READ | PROT_EXEC,
				    MAP_SHARED));
	EXPECT_EQ(-EINVAL, map_flags(fd, &self->area, PROT_READ, MAP_PRIVATE));
	EXPECT_EQ(-EINVAL, map_flags(fd, &self->area, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE));
}

TEST_F(map, x2_rights_cannot_be_raised)
{
	size_t bytes = self->area.bytes;
	void *p;

	ASSERT_EQ(0, bg_mmap(self->n.fd, &self->area, PROT_READ, &p));
	EXPECT_EQ(-1, mprotect(p, bytes, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(variant->writable ? 0 : -1,
		  mprotect(p, bytes, PROT_READ | PROT_WRITE));
	munmap(p, bytes);
}

/* A debugger may write where the process itself may not: not here. */
TEST_F(map, x2_not_written_through_proc)
{
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	void *p;

	ASSERT_LE(0, mem);
	ASSERT_EQ(0, bg_mmap(self->n.fd, &self->area, PROT_READ, &p));
	EXPECT_GT(0, pwrite(mem, "forged", 6, (off_t)(uintptr_t)p));
	EXPECT_NE(0, memcmp(p, "forged", 6));
	munmap(p, self->area.bytes);
	close(mem);
}

TEST_F(map, the_whole_area_at_once)
{
	struct bgdma_area *a = &self->area;
	int fd = self->n.fd;

	EXPECT_EQ(-EINVAL, map_as(fd, a->offset, a->bytes + PAGE, PROT_READ));
	EXPECT_EQ(-EINVAL, map_as(fd, a->offset, 2 * a->bytes, PROT_READ));
	EXPECT_GT(0, map_as(fd, a->offset + PAGE, a->bytes, PROT_READ));
	EXPECT_GT(0, map_as(fd, a->offset - PAGE, a->bytes, PROT_READ));
	if (a->bytes > PAGE) {
		EXPECT_EQ(-EINVAL, map_as(fd, a->offset, a->bytes - PAGE,
					  PROT_READ));
		EXPECT_GT(0, map_as(fd, a->offset + PAGE, a->bytes - PAGE,
				    PROT_READ));
	}
}

TEST_F(map, cannot_be_split_or_enlarged)
{
	size_t bytes = self->area.bytes;
	char *p;

	ASSERT_EQ(0, bg_mmap(self->n.fd, &self->area, PROT_READ, (void **)&p));
	EXPECT_EQ(MAP_FAILED, mremap(p, bytes, bytes + PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(p, bytes, 4 * bytes, MREMAP_MAYMOVE));
	/* Old size 0: a second view of a shared mapping. */
	EXPECT_EQ(MAP_FAILED, mremap(p, 0, bytes, MREMAP_MAYMOVE));
	if (bytes > PAGE) {
		EXPECT_EQ(-1, munmap(p, PAGE));
		EXPECT_EQ(-1, munmap(p + bytes - PAGE, PAGE));
		EXPECT_EQ(-1, mprotect(p, PAGE, PROT_NONE));
		EXPECT_EQ(MAP_FAILED, mremap(p, bytes, bytes - PAGE, 0));
	}
	(void)*(volatile char *)(p + bytes - 1);
	EXPECT_EQ(0, munmap(p, bytes));
}

static int look(void *p)
{
	(void)*(volatile char *)p;
	return 0;
}

TEST_F(map, x2_not_inherited_by_fork)
{
	void *p;

	ASSERT_EQ(0, bg_mmap(self->n.fd, &self->area, PROT_READ, &p));
	EXPECT_EQ(0, look(p));
	/* Killed by SIGSEGV. */
	EXPECT_EQ(-EINTR, in_child(look, p));
	munmap(p, self->area.bytes);
}

TEST_F(map, x2_not_inherited_by_asking_for_it)
{
	void *p;

	ASSERT_EQ(0, bg_mmap(self->n.fd, &self->area, PROT_READ, &p));
	EXPECT_EQ(-1, madvise(p, self->area.bytes, MADV_DOFORK));
	EXPECT_EQ(-EINTR, in_child(look, p));
	munmap(p, self->area.bytes);
}

struct map_call {
	int fd;
	struct bgdma_area *area;
};

static int map_in_child(void *arg)
{
	struct map_call *c = arg;

	return map_flags(c->fd, c->area, PROT_READ, MAP_SHARED);
}

TEST_F(map, x2_not_by_another_process)
{
	struct map_call c = { self->n.fd, &self->area };

	EXPECT_EQ(-EPERM, in_child(map_in_child, &c));
}

TEST_F(map, not_of_another_file)
{
	int fd = (int)must(bg_open());

	EXPECT_EQ(-ENOTCONN, map_flags(fd, &self->area, PROT_READ, MAP_SHARED));
	close(fd);
}

TEST_F(map, survives_close_of_the_file)
{
	void *p;

	ASSERT_EQ(0, bg_mmap(self->n.fd, &self->area, PROT_READ, &p));
	close(self->n.fd);
	EXPECT_EQ(0, look(p));
	/* The mapping holds the context, so its number is still taken. */
	EXPECT_EQ(0, munmap(p, self->area.bytes));
	self->n.fd = (int)must(bg_open());
}

FIXTURE(offsets) {
	struct node n;
};

FIXTURE_SETUP(offsets)
{
	partition_new("2x1x1", "");
	node_new(&self->n, 0);
}

FIXTURE_TEARDOWN(offsets)
{
	node_close(&self->n);
}

TEST_F(offsets, x2_that_nobody_returned)
{
	__u64 bit;

	EXPECT_GT(0, map_as(self->n.fd, 0, PAGE, PROT_READ));
	for (bit = PAGE; bit < 1ULL << 63; bit <<= 1) {
		int i;
		bool known = false;

		for (i = 0; i < BGDMA_AREA_COUNT; i++)
			known |= self->n.at.areas[i].offset == bit &&
				 self->n.at.areas[i].bytes == PAGE;
		if (!known)
			EXPECT_GT(0, map_as(self->n.fd, bit, PAGE, PROT_READ));
	}
	EXPECT_GT(0, map_as(self->n.fd, (1ULL << 63) - PAGE, PAGE, PROT_READ));
}

TEST_F(offsets, x2_of_objects_that_are_gone)
{
	struct bgdma_region_alloc mem = {
		.size = sizeof(mem), .rights = LOCAL_RW, .length = PAGE,
	};
	struct bgdma_inj_create inj = {
		.size = sizeof(inj), .id = BGDMA_ID_ANY, .entries = 64,
	};
	struct bgdma_rec_create rec = {
		.size = sizeof(rec), .id = BGDMA_ID_ANY,
		.bytes = BGDMA_REC_BYTES_MIN,
	};
	int fd = self->n.fd;
	char *p;

	ASSERT_EQ(0, bg_ioctl(fd, BGDMA_IOC_REGION_ALLOC, &mem));
	ASSERT_EQ(0, bg_mmap(fd, &mem.mem, PROT_READ | PROT_WRITE,
			     (void **)&p));
	p[0] = 'x';
	EXPECT_EQ(0, region_free(&self->n, mem.handle));
	EXPECT_GT(0, map_flags(fd, &mem.mem, PROT_READ, MAP_SHARED));
	/* Memory that is still mapped stays with the mapping. */
	EXPECT_EQ('x', p[0]);
	munmap(p, PAGE);

	ASSERT_EQ(0, bg_ioctl(fd, BGDMA_IOC_INJ_CREATE, &inj));
	EXPECT_EQ(0, fifo_destroy(&self->n, BGDMA_KIND_INJ_FIFO, inj.id));
	EXPECT_GT(0, map_flags(fd, &inj.ring, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, bg_ioctl(fd, BGDMA_IOC_REC_CREATE, &rec));
	EXPECT_EQ(0, fifo_destroy(&self->n, BGDMA_KIND_REC_FIFO, rec.id));
	EXPECT_GT(0, map_flags(fd, &rec.ring, PROT_READ, MAP_SHARED));
}

TEST_F(offsets, of_pinned_memory)
{
	struct bgdma_region_alloc mem = {
		.size = sizeof(mem), .rights = LOCAL_RW, .length = PAGE,
	};
	struct region r;
	__u64 offset;

	/* Where driver memory of that slot would be. */
	ASSERT_EQ(0, bg_ioctl(self->n.fd, BGDMA_IOC_REGION_ALLOC, &mem));
	offset = mem.mem.offset;
	EXPECT_EQ(0, region_free(&self->n, mem.handle));
	do {
		region_new(&r, &self->n, PAGE);
	} while (BGDMA_HANDLE_SLOT(r.handle) > 0 &&
		 BGDMA_HANDLE_SLOT(r.handle) < BGDMA_HANDLE_SLOT(mem.handle));
	EXPECT_GT(0, map_as(self->n.fd, offset, PAGE, PROT_READ));
}

TEST_F(offsets, driver_memory_begins_as_zeros)
{
	struct region r;
	int round;

	for (round = 0; round < 4; round++) {
		region_driver(&r, &self->n, 64 * KIB);
		for (size_t i = 0; i < r.bytes; i++)
			ASSERT_EQ(0, r.p[i]);
		memset(r.p, 0xa5, r.bytes);
		EXPECT_EQ(0, region_free(&self->n, r.handle));
		/* Unmapped, so the pages can come again. */
		self->n.n_more--;
		munmap(r.p, r.bytes);
	}
}

TEST_F(offsets, dma3_reception_ring_is_there_twice)
{
	struct inj f;
	struct rec r;
	struct bgdma_desc d;

	inj_new(&f, &self->n);
	rec_new(&r, &self->n);
	d = d_local_memfifo(r.id, 0, 0, 5);
	d.flags = BGDMA_DESC_INLINE;
	memset(&d.u, 0, sizeof(d.u));
	memcpy(d.u.inline_data, "twice", 5);
	EXPECT_EQ(BGDMA_OK, run(&f, &d));
	EXPECT_EQ(0, memcmp(r.ring, r.ring + r.bytes, r.bytes));
	EXPECT_EQ(0, memcmp(r.ring + r.bytes + sizeof(struct bgdma_packet),
			    "twice", 5));
}

TEST_HARNESS_MAIN
