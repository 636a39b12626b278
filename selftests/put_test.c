// SPDX-License-Identifier: GPL-2.0
/*
 * Direct puts and local copies: what lands, and what may not.
 */
#include <endian.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include "kselftest_harness.h"
#include "links.h"
#include "machine.h"
#include "pair.h"

FIXTURE_PAIR(put)

/* From a's memory to b's. */
static struct bgdma_desc across(struct end *a, struct end *b, __u64 src,
				__u64 dst, __u32 length)
{
	return d_put(1, a->mem.handle, src, b->mem.handle, dst, length);
}

TEST_F(put, dma1_lands_with_both_counters)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = across(&self->a, &self->b, 0, 0, PAIR_BYTES);

	fill(a->mem.p, PAIR_BYTES, 7);
	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(b->rc);
	counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
	counter_add(&b->n, REC, b->rc, PAIR_BYTES);
	inject(&a->inj, &d);
	EXPECT_TRUE(until(hit(&b->n, REC, b->rc)));
	EXPECT_EQ(0, value(&b->n, REC, b->rc));
	EXPECT_TRUE(filled(b->mem.p, PAIR_BYTES, 7));
	EXPECT_TRUE(until(hit(&a->n, INJ, a->ic)));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_FALSE(counter_error(&a->n, INJ, a->ic));
	EXPECT_FALSE(counter_error(&b->n, REC, b->rc));
}

/* Copy, and look at the bytes before and behind as well. */
static bool lands(struct inj *f, struct bgdma_desc *d, char *src, char *dst,
		  size_t length, unsigned int seed)
{
	char before = dst[-1], behind = dst[length];

	fill(src, length, seed);
	if (run_bad(f, d) != BGDMA_OK)
		return false;
	return filled(dst, length, seed) && dst[-1] == before &&
	       dst[length] == behind;
}

TEST_F(put, dma1_sizes_and_edges)
{
	static const __u32 sizes[] = { 0, 1, 2, 7, 8, 63, 64, 65, 4095, 4096,
				       4097, 8191, 8192, 12289, 32768 };
	static const __u32 offsets[] = { 1, 8, 4095, 4096, 4097, 8191, 16384 };
	struct end *a = &self->a, *b = &self->b;
	unsigned int s, i, j, seed = 0;

	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
			struct bgdma_desc d;

			j = (i + s) % (sizeof(offsets) / sizeof(offsets[0]));
			d = across(&self->a, &self->b, offsets[i], offsets[j], sizes[s]);
			ASSERT_TRUE(lands(&a->inj, &d, a->mem.p + offsets[i],
					  b->mem.p + offsets[j], sizes[s],
					  ++seed))
				TH_LOG("%u bytes from %u to %u", sizes[s],
				       offsets[i], offsets[j]);
		}
	}
}

TEST_F(put, dma1_local_copy)
{
	struct end *a = &self->a;
	struct bgdma_desc d = d_copy(a->mem.handle, 1, a->mem.handle, 32771,
				     30001);

	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(a->rc);
	counter_add(&a->n, INJ, a->ic, 30001);
	counter_add(&a->n, REC, a->rc, 30001);
	EXPECT_TRUE(lands(&a->inj, &d, a->mem.p + 1, a->mem.p + 32771, 30001,
			  3));
	EXPECT_TRUE(hit(&a->n, INJ, a->ic));
	EXPECT_TRUE(hit(&a->n, REC, a->rc));
}

TEST_F(put, dma1_to_itself_by_rank)
{
	struct end *a = &self->a;
	struct bgdma_desc d = d_put(0, a->mem.handle, 5, a->mem.handle, 9001,
				    5000);

	EXPECT_TRUE(lands(&a->inj, &d, a->mem.p + 5, a->mem.p + 9001, 5000,
			  4));
}

TEST_F(put, dma1_a_mebibyte_and_more)
{
	static const size_t sizes[] = { MIB - 1, MIB, MIB + 4095, 4 * MIB };
	struct region src, dst;
	unsigned int i;

	region_new(&src, &self->a.n, 8 * MIB);
	region_new(&dst, &self->b.n, 8 * MIB);
	for (i = 0; i < 4; i++) {
		struct bgdma_desc d = d_put(1, src.handle, 3, dst.handle,
					    4093 + i, (__u32)sizes[i]);

		EXPECT_TRUE(lands(&self->a.inj, &d, src.p + 3,
				  dst.p + 4093 + i, sizes[i], i));
	}
}

TEST_F(put, dma1_regions_at_any_address)
{
	struct end *a = &self->a, *b = &self->b;
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const size_t at[] = { 1, 4095, 4096, 5000 };
	static const size_t bytes[] = { 1, 2, 4096, 4097 };
	unsigned int i, j;

	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < 4; i++) {
		for (j = 0; j < 4; j++) {
			struct bgdma_desc d;
			__u32 h;

			must(region_pin(&a->n, p + at[i], bytes[j], LOCAL_RW,
					&h));
			d = d_put(1, h, 0, b->mem.handle, 17, (__u32)bytes[j]);
			EXPECT_TRUE(lands(&a->inj, &d, p + at[i],
					  b->mem.p + 17, bytes[j], i * 4 + j));
			d.length = htole32((__u32)bytes[j] + 1);
			EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
			EXPECT_EQ(0, region_free(&a->n, h));
		}
	}
}

TEST_F(put, x2_bounds)
{
	struct end *a = &self->a;
	static const struct {
		__u64 src, dst;
		__u32 length;
	} bad[] = {
		{ 0, 0, PAIR_BYTES + 1 },
		{ 1, 0, PAIR_BYTES },
		{ 0, 1, PAIR_BYTES },
		{ PAIR_BYTES, 0, 1 },
		{ 0, PAIR_BYTES, 1 },
		{ PAIR_BYTES + 1, 0, 0 },
		{ ~0ULL, 0, 1 },
		{ 0, ~0ULL, 1 },
		{ ~0ULL - 4095, 0, 4096 },
		{ 0, ~0ULL - 4094, 4096 },
		{ 1ULL << 63, 0, 8 },
		{ 0, 0, BGDMA_LENGTH_MAX },
	};
	struct bgdma_desc d;
	unsigned int i;

	fill(self->b.mem.p, PAIR_BYTES, 5);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		d = across(&self->a, &self->b, bad[i].src, bad[i].dst, bad[i].length);
		EXPECT_EQ(BGDMA_E_BOUNDS, run(&a->inj, &d))
			TH_LOG("case %u", i);
		/* DMA-8: where, and what it had to stay within. */
		EXPECT_LE(PAIR_BYTES, a->inj.rec->bound);
		EXPECT_EQ(BGDMA_KIND_INJ_FIFO, a->inj.rec->fifo_kind);
		EXPECT_EQ(i, a->inj.rec->desc_seq);
		EXPECT_EQ(0, clear_error(&a->n, BGDMA_KIND_INJ_FIFO,
					 a->inj.id, 0));
	}
	EXPECT_TRUE(filled(self->b.mem.p, PAIR_BYTES, 5));
	/* The end itself is not beyond the end. */
	d = across(&self->a, &self->b, PAIR_BYTES, PAIR_BYTES, 0);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	d = across(&self->a, &self->b, PAIR_BYTES - 1, PAIR_BYTES - 1, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
}

TEST_F(put, x2_lengths_and_handles)
{
	struct end *a = &self->a;
	struct bgdma_desc d = across(&self->a, &self->b, 0, 0, BGDMA_LENGTH_MAX + 1);

	EXPECT_EQ(BGDMA_E_LENGTH, run_bad(&a->inj, &d));
	d = across(&self->a, &self->b, 0, 0, 8);
	d.u.at.src_region = htole32(BGDMA_HANDLE(65000, 1));
	EXPECT_EQ(BGDMA_E_REGION, run_bad(&a->inj, &d));
	d = across(&self->a, &self->b, 0, 0, 8);
	d.u.at.dst_region = htole32(BGDMA_HANDLE(65000, 1));
	EXPECT_EQ(BGDMA_E_REGION, run_bad(&a->inj, &d));
	d = across(&self->a, &self->b, 0, 0, 8);
	d.u.at.src_region = htole32(a->mem.handle + (1U << 16));
	EXPECT_EQ(BGDMA_E_STALE, run_bad(&a->inj, &d));
	d = across(&self->a, &self->b, 0, 0, 8);
	d.u.at.dst_region = htole32(self->b.mem.handle + (1U << 16));
	EXPECT_EQ(BGDMA_E_STALE, run_bad(&a->inj, &d));
	d = across(&self->a, &self->b, 0, 0, 8);
	d.u.at.dst_region = htole32(BGDMA_NONE);
	EXPECT_EQ(BGDMA_E_REGION, run_bad(&a->inj, &d));
}

TEST_F(put, x2_stale_after_free)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	struct region r;
	__u32 old, again = 0;
	int i;

	region_new(&r, &b->n, PAGE);
	old = r.handle;
	d = d_put(1, a->mem.handle, 0, old, 0, 8);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_EQ(0, region_free(&b->n, old));
	EXPECT_EQ(-ENOENT, region_free(&b->n, old));
	i = run_bad(&a->inj, &d);
	EXPECT_TRUE(i == BGDMA_E_REGION || i == BGDMA_E_STALE);
	/* Whatever uses the slot next, the old handle does not reach it. */
	for (i = 0; i < 200 && !again; i++) {
		region_new(&r, &b->n, PAGE);
		if (BGDMA_HANDLE_SLOT(r.handle) == BGDMA_HANDLE_SLOT(old))
			again = r.handle;
	}
	EXPECT_NE(old, again);
	i = run_bad(&a->inj, &d);
	EXPECT_TRUE(i == BGDMA_E_REGION || i == BGDMA_E_STALE);
}

TEST_F(put, x2_rights_of_the_owner)
{
	struct end *a = &self->a;
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u32 ro, wo, none;
	struct bgdma_desc d;

	must(region_pin(&a->n, p, PAGE, BGDMA_LOCAL_READ, &ro));
	must(region_pin(&a->n, p, PAGE, BGDMA_LOCAL_WRITE, &wo));
	must(region_pin(&a->n, p, PAGE, 0, &none));
	d = d_copy(ro, 0, a->mem.handle, 0, 8);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	d = d_copy(a->mem.handle, 0, wo, 0, 8);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	d = d_copy(wo, 0, a->mem.handle, 0, 8);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	d = d_copy(a->mem.handle, 0, ro, 0, 8);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	/* Nor when the engine remembers the region from before. */
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	d = d_copy(none, 0, a->mem.handle, 0, 8);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
}

TEST_F(put, x2_rights_of_peers)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int id;
	__u32 h;

	must(region_pin(&b->n, p, 2 * PAGE, LOCAL_RW, &h));
	d = d_put(1, a->mem.handle, 0, h, 100, 8);
	/* Closed until a grant opens it. */
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	must(grant(&b->n, BGDMA_KIND_REGION, h, 0, BGDMA_RIGHT_READ));
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	must(grant(&b->n, BGDMA_KIND_REGION, h, 2, BGDMA_RIGHT_WRITE));
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	id = (int)must(grant_range(&b->n, h, 0, BGDMA_RIGHT_WRITE, 100, 108));
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	d = d_put(1, a->mem.handle, 0, h, 99, 8);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
	d = d_put(1, a->mem.handle, 0, h, 101, 8);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
	EXPECT_EQ(0, grant_revoke(&b->n, (__u32)id));
	EXPECT_EQ(-ENOENT, grant_revoke(&b->n, (__u32)id));
	d = d_put(1, a->mem.handle, 0, h, 100, 8);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
}

/* Where the refusal of a put of 8 bytes to @off says that the bound is. */
static __u64 bound_at(struct end *a, __u32 to, __u64 off, int code)
{
	struct bgdma_desc d = d_put(1, a->mem.handle, 0, to, off, 8);
	__u64 bound;

	must(run(&a->inj, &d) == code ? 0 : -EPROTO);
	bound = a->inj.rec->bound;
	must(clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 0));
	return bound;
}

/* How long a region is: known to who may use it, as far as he may. */
TEST_F(put, x2_length_is_nobodys_business)
{
	struct end *a = &self->a, *b = &self->b;
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 inside;
	__u32 h;
	int id;

	must(region_pin(&b->n, p, 4 * PAGE, LOCAL_RW, &h));
	inside = bound_at(a, h, 0, BGDMA_E_RIGHTS);
	EXPECT_EQ(inside, bound_at(a, h, 4 * PAGE, BGDMA_E_RIGHTS));
	EXPECT_EQ(inside, bound_at(a, h, ~0ULL, BGDMA_E_RIGHTS));

	id = (int)must(grant_range(&b->n, h, 0, BGDMA_RIGHT_WRITE, 0, PAGE));
	EXPECT_EQ(PAGE, bound_at(a, h, PAGE, BGDMA_E_BOUNDS));
	EXPECT_EQ(PAGE, bound_at(a, h, 4 * PAGE, BGDMA_E_BOUNDS));
	EXPECT_EQ(0, grant_revoke(&b->n, (__u32)id));

	must(grant_range(&b->n, h, 0, BGDMA_RIGHT_WRITE, PAGE, 0));
	EXPECT_EQ(4 * PAGE, bound_at(a, h, 0, BGDMA_E_BOUNDS));
	EXPECT_EQ(4 * PAGE, bound_at(a, h, 4 * PAGE, BGDMA_E_BOUNDS));
	EXPECT_EQ(4 * PAGE, bound_at(a, h, ~0ULL, BGDMA_E_BOUNDS));
}

TEST_F(put, x2_grant_for_one_incarnation)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_grant g = {
		.size = sizeof(g), .kind = BGDMA_KIND_REGION, .count = 1,
		.rank = 0, .ctx = 0, .rights = BGDMA_RIGHT_WRITE,
		.incarnation = a->n.at.incarnation,
	};
	struct bgdma_desc d;
	struct end c;
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(region_pin(&b->n, p, PAGE, LOCAL_RW, &g.object));
	must(bg_ioctl(b->n.fd, BGDMA_IOC_GRANT, &g));
	d = d_put(1, a->mem.handle, 0, g.object, 0, 8);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	/* Another context of the node; then another process in its place. */
	end_new(&c, 0);
	d.u.at.src_region = htole32(c.mem.handle);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&c.inj, &d));
	node_close(&c.n);
	node_close(&a->n);
	end_new(a, 0);
	EXPECT_EQ(0, a->n.at.ctx);
	d.u.at.src_region = htole32(a->mem.handle);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
}

TEST_F(put, grants_of_one_object_are_limited)
{
	struct end *b = &self->b;
	int i, ret = 0;

	for (i = 0; ret >= 0 && i < 200; i++)
		ret = grant(&b->n, BGDMA_KIND_REGION, b->mem.handle,
			    BGDMA_RANK_ANY, BGDMA_RIGHT_READ);
	EXPECT_EQ(-ENOSPC, ret);
	/* One was there already. */
	EXPECT_EQ(BGDMA_GRANTS_MAX, i);
	EXPECT_EQ(-ESTALE, grant(&b->n, BGDMA_KIND_REGION,
				 b->mem.handle + (1U << 16), 0,
				 BGDMA_RIGHT_READ));
	EXPECT_EQ(-ENOENT, grant(&b->n, BGDMA_KIND_REGION,
				 BGDMA_HANDLE(60000, 1), 0, BGDMA_RIGHT_READ));
}

TEST_F(put, x2_region_freed_in_use)
{
	struct end *a = &self->a;
	struct region src, dst;
	int round, code;

	for (round = 0; round < 20; round++) {
		struct bgdma_desc d;
		__u64 seq;

		region_new(&src, &a->n, 4 * MIB);
		region_new(&dst, &self->b.n, 4 * MIB);
		d = d_put(1, src.handle, 0, dst.handle, 0, 4 * MIB);
		seq = put_in(&a->inj, &d);
		post(&a->inj);
		EXPECT_EQ(0, region_free(&self->b.n, dst.handle));
		/* No page of it is touched any more: the memory is ours. */
		fill(dst.p, dst.bytes, 1);
		code = outcome(&a->inj, seq);
		EXPECT_TRUE(code == BGDMA_OK || code == BGDMA_E_REGION ||
			    code == BGDMA_E_STALE)
			TH_LOG("%d", code);
		if (code != BGDMA_OK)
			must(clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id,
					 0));
		EXPECT_TRUE(filled(dst.p, dst.bytes, 1));
		EXPECT_EQ(0, region_free(&a->n, src.handle));
		munmap(src.p, src.bytes);
		munmap(dst.p, dst.bytes);
	}
}

TEST_F(put, dma1_driver_memory)
{
	struct region src, dst;
	struct bgdma_desc d;

	region_driver(&src, &self->a.n, 100001);
	region_driver(&dst, &self->b.n, 100001);
	d = d_put(1, src.handle, 0, dst.handle, 1, 99999);
	EXPECT_TRUE(lands(&self->a.inj, &d, src.p, dst.p + 1, 99999, 2));
	d = d_put(1, src.handle, 0, dst.handle, 1, 100001);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&self->a.inj, &d));
	/* One to a region of the other kind, and back. */
	d = d_put(1, src.handle, 11, self->b.mem.handle, 1, 60000);
	EXPECT_TRUE(lands(&self->a.inj, &d, src.p + 11, self->b.mem.p + 1,
			  60000, 8));
	d = d_put(0, self->b.mem.handle, 11, src.handle, 1, 60000);
	EXPECT_TRUE(lands(&self->b.inj, &d, self->b.mem.p + 11, src.p + 1,
			  60000, 9));
}

TEST_F_TIMEOUT(put, x3_no_descriptor_ends_before_its_error_shows, 120)
{
	struct bgdma_desc d;
	unsigned int i;

	/* Long enough that the sender is still at it when it is refused. */
	d = d_put(1, self->a.mem.handle, 0, self->b.mem.handle, 1, PAIR_BYTES);
	for (i = 0; i < 100 / slowness(); i++)
		ASSERT_EQ(BGDMA_E_BOUNDS, run_bad(&self->a.inj, &d));
}

TEST_F(put, dma1_memfd_and_shared_memory)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct bgdma_desc d;
	char *one, *two;
	__u32 h;

	ASSERT_EQ(0, ftruncate(fd, 4 * PAGE));
	one = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	two = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	must(region_pin(&self->b.n, one, 4 * PAGE, LOCAL_RW, &h));
	must(grant(&self->b.n, BGDMA_KIND_REGION, h, 0, BGDMA_RIGHT_WRITE));
	fill(self->a.mem.p, 4 * PAGE, 6);
	d = d_put(1, self->a.mem.handle, 0, h, 0, 4 * PAGE);
	EXPECT_EQ(BGDMA_OK, run_bad(&self->a.inj, &d));
	EXPECT_TRUE(filled(two, 4 * PAGE, 6));
	close(fd);
}

TEST_F(put, dma1_huge_pages)
{
	struct bgdma_desc d;
	char *p;
	__u32 h;

	machine_set("/proc/sys/vm/nr_hugepages", "4");
	p = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED)
		SKIP(return, "no huge pages: %s", strerror(errno));
	must(region_pin(&self->b.n, p, 2 * MIB, LOCAL_RW, &h));
	must(grant(&self->b.n, BGDMA_KIND_REGION, h, 0, BGDMA_RIGHT_WRITE));
	d = d_put(1, self->a.mem.handle, 0, h, MIB - 100, PAIR_BYTES);
	EXPECT_TRUE(lands(&self->a.inj, &d, self->a.mem.p, p + MIB - 100,
			  PAIR_BYTES, 1));
}

TEST_F_TIMEOUT(put, dma1_region_of_five_gibibytes, 120)
{
	const size_t piece = 64 * MIB, total = 5120 * MIB;
	struct end *a = &self->a;
	int fd = memfd_create("test", MFD_CLOEXEC);
	char *p = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	struct bgdma_desc d;
	size_t at;
	__u32 h;

	if (slowness() >= 10)
		SKIP(return, "a kernel this slow takes 20 minutes for 2 GiB");
	/* The same 64 MiB again and again, so that any machine has them. */
	ASSERT_EQ(0, ftruncate(fd, (off_t)piece));
	ASSERT_NE(MAP_FAILED, p);
	for (at = 0; at < total; at += piece)
		ASSERT_EQ(p + at, mmap(p + at, piece, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_FIXED, fd, 0));
	must(region_pin(&a->n, p, total, LOCAL_RW, &h));
	fill(a->mem.p, PAIR_BYTES, 1);
	/* An offset that 32 bits do not hold, and the very end. */
	d = d_copy(a->mem.handle, 0, h, 4096 * MIB - 5, PAIR_BYTES);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_TRUE(filled(p + 4096 * MIB - 5, PAIR_BYTES, 1));
	d = d_copy(a->mem.handle, 0, h, total - PAIR_BYTES, PAIR_BYTES);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_TRUE(filled(p + total - PAIR_BYTES, PAIR_BYTES, 1));
	d = d_copy(a->mem.handle, 0, h, total - PAIR_BYTES + 1, PAIR_BYTES);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
	/* The longest transfer, counted to the byte. */
	d = d_copy(h, 0, h, 2048 * MIB, BGDMA_LENGTH_MAX);
	d.inj_ctr = htole32(a->ic);
	counter_add(&a->n, INJ, a->ic, BGDMA_LENGTH_MAX);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(0, region_free(&a->n, h));
	close(fd);
}

TEST_F(put, x2_memory_that_cannot_be_registered)
{
	struct node *n = &self->a.n;
	char *ro = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	char *hole = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u32 h;

	EXPECT_EQ(-EFAULT, region_pin(n, ro, PAGE, LOCAL_RW, &h));
	EXPECT_EQ(-EFAULT, region_pin(n, ro, PAGE, BGDMA_LOCAL_READ, &h));
	EXPECT_EQ(-EFAULT, region_pin(n, NULL, PAGE, LOCAL_RW, &h));
	/* Of a program file, and of the device itself. */
	EXPECT_EQ(-EFAULT, region_pin(n, (void *)(uintptr_t)&region_free, 8,
				      LOCAL_RW, &h));
	EXPECT_EQ(-EFAULT, region_pin(n, n->uctl, PAGE, LOCAL_RW, &h));
	EXPECT_EQ(-EFAULT, region_pin(n, (void *)(uintptr_t)n->kctl, PAGE,
				      LOCAL_RW, &h));
	/* With a hole in the middle, or running out of the address space. */
	munmap(hole + PAGE, PAGE);
	EXPECT_EQ(-EFAULT, region_pin(n, hole, 3 * PAGE, LOCAL_RW, &h));
	EXPECT_GT(0, region_pin(n, hole, ~0UL, LOCAL_RW, &h));
	EXPECT_GT(0, region_pin(n, (void *)~4095UL, 2 * PAGE, LOCAL_RW, &h));
	EXPECT_GT(0, region_pin(n, (void *)(1UL << 63), PAGE, LOCAL_RW, &h));
	/* Nothing of the failed ones is left behind. */
	EXPECT_EQ(0, region_pin(n, hole, PAGE, LOCAL_RW, &h));
}

TEST_F(put, x2_file_memory_is_refused)
{
	char name[] = "bgdma-XXXXXX", *p;
	int fd = mkstemp(name);
	struct statfs fs;
	__u32 h;

	if (fd < 0)
		SKIP(return, "the folder is not writable");
	unlink(name);
	ASSERT_EQ(0, fstatfs(fd, &fs));
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	/* A tmpfs is shared memory. */
	EXPECT_EQ(fs.f_type == TMPFS_MAGIC ? 0 : -EFAULT,
		  region_pin(&self->a.n, p, PAGE, LOCAL_RW, &h));
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	EXPECT_EQ(-EFAULT, region_pin(&self->a.n, p, PAGE, LOCAL_RW, &h));
	close(fd);
}

static int pin_over_the_limit(void *arg)
{
	struct rlimit limit = { 64 * KIB, 64 * KIB };
	struct node n;
	char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u32 h, g;
	int ret;

	(void)arg;
	must(setrlimit(RLIMIT_MEMLOCK, &limit) ? -errno : 0);
	must(node_try(&n, PARTITION, 3, NULL));
	if (region_pin(&n, p, 64 * KIB + PAGE, LOCAL_RW, &h) != -ENOMEM)
		return -EDOM;
	must(region_pin(&n, p, 64 * KIB, LOCAL_RW, &h));
	if (region_pin(&n, p, 1, LOCAL_RW, &g) != -ENOMEM)
		return -ERANGE;
	/* Uncharged when the call returns. */
	must(region_free(&n, h));
	must(region_pin(&n, p, 64 * KIB, LOCAL_RW, &h));
	node_close(&n);
	must(node_try(&n, PARTITION, 3, NULL));
	ret = region_pin(&n, p, 64 * KIB, LOCAL_RW, &h);
	node_close(&n);
	return ret;
}

TEST_F(put, x2_memlock_limit)
{
	if (links_used())
		SKIP(return, "over links another user cannot go to the namespace");
	EXPECT_EQ(0, as_user(65534, pin_over_the_limit, NULL));
}

TEST_F(put, dma8_no_peer)
{
	struct end *a = &self->a;
	struct bgdma_desc d = across(&self->a, &self->b, 0, 0, 8);

	d.dst_rank = htole32(2);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&a->inj, &d));
	d.dst_rank = htole32(4);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&a->inj, &d));
	d.dst_rank = htole32(BGDMA_RANK_ANY);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&a->inj, &d));
	d = across(&self->a, &self->b, 0, 0, 8);
	d.dst_ctx = htole16(1);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&a->inj, &d));
	d.dst_ctx = htole16(BGDMA_CTX_ANY);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&a->inj, &d));
}

TEST_F(put, x2_many_regions)
{
	struct end *a = &self->a;
	static __u32 h[2000];
	struct bgdma_desc d;
	int i, j;

	for (i = 0; i < 2000; i++) {
		must(region_pin(&a->n, a->mem.p + i, 1, LOCAL_RW, &h[i]));
		ASSERT_NE(0, BGDMA_HANDLE_GEN(h[i]));
	}
	for (i = 0; i < 2000; i++)
		for (j = i + 1; j < i + 20 && j < 2000; j++)
			ASSERT_NE(BGDMA_HANDLE_SLOT(h[i]),
				  BGDMA_HANDLE_SLOT(h[j]));
	fill(a->mem.p, 2000, 1);
	d = d_put(1, h[1999], 0, self->b.mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_EQ(a->mem.p[1999], self->b.mem.p[0]);
}

/* Nothing ever came back, and still they had something to do with each other. */
TEST_F(put, x3_who_only_puts_hears_of_the_end)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = across(a, b, 0, 0, 8);
	__u32 incarnation = b->n.at.incarnation;
	struct bgdma_event e;

	ASSERT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	node_close(&b->n);
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_PEER_DOWN, &e));
	EXPECT_EQ(1, e.peer_rank);
	EXPECT_EQ(incarnation, e.peer_incarnation);
	node_new(&b->n, 1);
}

/* One that this FIFO has met; the other finds nobody there. */
TEST_F(put, x3_who_is_not_there_any_more)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = across(a, b, 0, 0, 8), more = d;
	struct inj other;

	inj_new(&other, &a->n);
	more.route = BGDMA_ROUTE_ADAPTIVE;
	ASSERT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	node_close(&b->n);
	EXPECT_EQ(BGDMA_E_PEER_DOWN, run_bad(&a->inj, &d));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, run_bad(&a->inj, &more));
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&other, &d));
	d.dst_ctx = htole16(5);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&a->inj, &d));
	node_new(&b->n, 1);
}

TEST_HARNESS_MAIN
