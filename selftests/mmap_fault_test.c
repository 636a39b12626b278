// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of mapping of /dev/bgdma with a fault inside, see fault.h: it is made as a
 * whole, or not at all.
 */
#include "kselftest_harness.h"
#include "fault_fixture.h"

static struct {
	struct node n;
	struct bgdma_area area;
	int prot;
	void *map;
	__u32 id;	/* of what it is of */
} w;

static int call_mmap(void)
{
	return bg_mmap(w.n.fd, &w.area, w.prot, &w.map);
}

static int call_munmap(void)
{
	return munmap(w.map, w.area.bytes) ? -errno : 0;
}

/* All of it is there: who touches what is not dies. */
static void undo_mmap(void)
{
	(void)*(volatile char *)w.map;
	(void)*((volatile char *)w.map + w.area.bytes - 1);
	must(call_munmap());
}

/* ---- What a context has from the start ------------------------------------ */

static void area(unsigned int which, int prot)
{
	w.area = w.n.at.areas[which];
	w.prot = prot;
}

static void prepare_user(void)
{
	area(BGDMA_AREA_USER_CTL, PROT_READ | PROT_WRITE);
}

static void prepare_kern(void)
{
	area(BGDMA_AREA_KERN_CTL, PROT_READ);
}

static void prepare_counters(void)
{
	area(BGDMA_AREA_COUNTERS, PROT_READ | PROT_WRITE);
}

static void prepare_records(void)
{
	area(BGDMA_AREA_RECORDS, PROT_READ);
}

static void prepare_events(void)
{
	area(BGDMA_AREA_EVENTS, PROT_READ);
}

static void prepare_munmap(void)
{
	prepare_counters();
	must(call_mmap());
}

/* ---- What it makes --------------------------------------------------------- */

static void prepare_inj(void)
{
	struct bgdma_inj_create c = {
		.size = sizeof(c), .id = BGDMA_ID_ANY, .entries = 1024,
	};

	must(bg_ioctl(w.n.fd, BGDMA_IOC_INJ_CREATE, &c));
	w.id = c.id;
	w.area = c.ring;
	w.prot = PROT_READ | PROT_WRITE;
}

static void undo_inj(void)
{
	undo_mmap();
	must(fifo_destroy(&w.n, BGDMA_KIND_INJ_FIFO, w.id));
}

/* Mapped twice in a row. */
static void prepare_rec(void)
{
	struct bgdma_rec_create c = {
		.size = sizeof(c), .id = BGDMA_ID_ANY,
		.bytes = BGDMA_REC_BYTES_MIN,
	};

	must(bg_ioctl(w.n.fd, BGDMA_IOC_REC_CREATE, &c));
	w.id = c.id;
	w.area = c.ring;
	w.prot = PROT_READ;
}

static void undo_rec(void)
{
	undo_mmap();
	must(fifo_destroy(&w.n, BGDMA_KIND_REC_FIFO, w.id));
}

/* What one table of pages holds. */
#define TABLE	(2 * MIB)

/* Where nothing is for three tables, the middle of what is mapped begins the second. */
static void prepare_rec_apart(void)
{
	uintptr_t at;
	void *hole;

	prepare_rec();
	hole = mmap(NULL, 4 * TABLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(hole == MAP_FAILED ? -errno : 0);
	must(munmap(hole, 4 * TABLE) ? -errno : 0);
	at = ((uintptr_t)hole + TABLE - 1) & ~(TABLE - 1);
	w.map = (void *)(at + TABLE - w.area.bytes / 2);
}

static int call_mmap_there(void)
{
	void *p = mmap(w.map, w.area.bytes, w.prot,
		       MAP_SHARED | MAP_FIXED_NOREPLACE, w.n.fd,
		       (off_t)w.area.offset);

	return p == MAP_FAILED ? -errno : 0;
}

static void prepare_region(void)
{
	struct bgdma_region_alloc c = {
		.size = sizeof(c), .rights = LOCAL_RW, .length = 9 * PAGE,
	};

	must(bg_ioctl(w.n.fd, BGDMA_IOC_REGION_ALLOC, &c));
	w.id = c.handle;
	w.area = c.mem;
	w.prot = PROT_READ | PROT_WRITE;
}

static void undo_region(void)
{
	undo_mmap();
	must(region_free(&w.n, w.id));
}

/* ---- All of them ------------------------------------------------------------ */

static const struct faulty mappings[] = {
	FAULTY("user's control", prepare_user, call_mmap, undo_mmap),
	FAULTY("kernel's control", prepare_kern, call_mmap, undo_mmap),
	FAULTY("counters", prepare_counters, call_mmap, undo_mmap),
	FAULTY("records", prepare_records, call_mmap, undo_mmap),
	FAULTY("events", prepare_events, call_mmap, undo_mmap),
	FAULTY("injection FIFO", prepare_inj, call_mmap, undo_inj),
	FAULTY("reception FIFO", prepare_rec, call_mmap, undo_rec),
	FAULTY("region", prepare_region, call_mmap, undo_region),
};

static void world_new(void)
{
	memset(&w, 0, sizeof(w));
	partition_new("4x1x1", "");
	node_new(&w.n, 0);
}

FIXTURE_FAULT(world_new)

TEST_F_TIMEOUT(fault, every_mapping, 600)
{
	size_t i;

	for (i = 0; i < sizeof(mappings) / sizeof(mappings[0]); i++)
		EXPECT_LT(0, fault_all(&mappings[i]));
}

/* Each half of a reception FIFO wants a table of its own. */
TEST_F_TIMEOUT(fault, a_table_for_each_half, 120)
{
	const struct faulty together = FAULTY("reception FIFO", prepare_rec,
					      call_mmap, undo_rec);
	const struct faulty apart = FAULTY("reception FIFO in two tables",
					   prepare_rec_apart, call_mmap_there,
					   undo_rec);

	EXPECT_LT(fault_all(&together), fault_all(&apart));
}

/* It may have to split what is mapped, or not. */
TEST_F_TIMEOUT(fault, its_end, 120)
{
	const struct faulty end = FAULTY("munmap", prepare_munmap, call_munmap,
					 NULL);

	EXPECT_LE(0, fault_all(&end));
}

TEST_HARNESS_MAIN
