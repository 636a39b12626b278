// SPDX-License-Identifier: GPL-2.0
/*
 * The checksum of payload. It is taken as rows of eight little-endian words of 32
 * bits, the last row filled up with zeroes. Of each column its words are added up,
 * and what that comes to after each row is added up, too, so that rows that changed
 * their places show; all modulo 2^32. The checksum is the CRC-32C of these sixteen
 * numbers, the simple sums first.
 *
 * So it is no more than two additions for a row where a register has room for one.
 * The long registers belong to user space: they are borrowed for long payload only.
 */
#include <linux/string.h>

#include "../compat.h"
#include "sum.h"

/* From so many bytes on it pays to borrow them. */
#define BGDMA_SUM_WIDE		1024

#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

static bool bgdma_sum_borrow(u32 bytes)
{
	if (bytes < BGDMA_SUM_WIDE || !boot_cpu_has(X86_FEATURE_AVX2) ||
	    !irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	return true;
}

static void bgdma_sum_return(void)
{
	kernel_fpu_end();
}

#define BGDMA_SUM_ONE(offset)						\
	"vpaddd " #offset "(%[at]), %%ymm0, %%ymm0\n\t"			\
	"vpaddd %%ymm0, %%ymm1, %%ymm1\n\t"

/* The compiler has no such registers, and so leaves these alone. */
static void bgdma_sum_wide(struct bgdma_sum *sum, const u8 *at, u32 rows)
{
	asm volatile("vmovdqu %[once], %%ymm0\n\t"
		     "vmovdqu %[twice], %%ymm1"
		     :: [once] "m" (sum->once), [twice] "m" (sum->twice));
	for (; rows >= 8; rows -= 8, at += 8 * BGDMA_SUM_ROW)
		asm volatile(BGDMA_SUM_ONE(0) BGDMA_SUM_ONE(32)
			     BGDMA_SUM_ONE(64) BGDMA_SUM_ONE(96)
			     BGDMA_SUM_ONE(128) BGDMA_SUM_ONE(160)
			     BGDMA_SUM_ONE(192) BGDMA_SUM_ONE(224)
			     :: [at] "r" (at) : "memory");
	for (; rows; rows--, at += BGDMA_SUM_ROW)
		asm volatile(BGDMA_SUM_ONE(0) :: [at] "r" (at) : "memory");
	asm volatile("vmovdqu %%ymm0, %[once]\n\t"
		     "vmovdqu %%ymm1, %[twice]\n\t"
		     "vzeroupper"
		     : [once] "=m" (sum->once), [twice] "=m" (sum->twice));
}
#else
static bool bgdma_sum_borrow(u32 bytes)
{
	return false;
}

static void bgdma_sum_return(void)
{
}

static void bgdma_sum_wide(struct bgdma_sum *sum, const u8 *at, u32 rows)
{
}
#endif

static u32 bgdma_sum_word(const u8 *at)
{
	__le32 word;

	memcpy(&word, at, sizeof(word));
	return le32_to_cpu(word);
}

static void bgdma_sum_rows(struct bgdma_sum *sum, const u8 *at, u32 rows)
{
	u32 i;

	if (sum->wide) {
		bgdma_sum_wide(sum, at, rows);
		return;
	}
	for (; rows; rows--) {
		for (i = 0; i < BGDMA_SUM_COLUMNS; i++, at += sizeof(u32)) {
			sum->once[i] += bgdma_sum_word(at);
			sum->twice[i] += sum->once[i];
		}
	}
}

/**
 * bgdma_sum_begin() - begin a checksum
 * @sum: to be ended by bgdma_sum_end()
 * @bytes: that are to come, about
 *
 * Context: any but hard interrupts; nothing sleeps until the end.
 */
void bgdma_sum_begin(struct bgdma_sum *sum, u32 bytes)
{
	memset(sum, 0, sizeof(*sum));
	sum->wide = bgdma_sum_borrow(bytes);
}

/**
 * bgdma_sum_add() - what comes next
 * @sum: begun
 * @from: bytes, which may change meanwhile: then the sum is of no use
 * @n: so many
 */
void bgdma_sum_add(struct bgdma_sum *sum, const void *from, u32 n)
{
	u32 first, rows;

	if (sum->n || n < BGDMA_SUM_ROW) {
		first = min_t(u32, n, BGDMA_SUM_ROW - sum->n);
		memcpy(sum->rest + sum->n, from, first);
		sum->n += first;
		if (sum->n < BGDMA_SUM_ROW)
			return;
		bgdma_sum_rows(sum, sum->rest, 1);
		from += first;
		n -= first;
	}
	rows = n / BGDMA_SUM_ROW;
	bgdma_sum_rows(sum, from, rows);
	from += rows * BGDMA_SUM_ROW;
	sum->n = n % BGDMA_SUM_ROW;
	memcpy(sum->rest, from, sum->n);
}

/**
 * bgdma_sum_end() - the checksum of all that came
 * @sum: not used any more
 */
u32 bgdma_sum_end(struct bgdma_sum *sum)
{
	__le32 numbers[2 * BGDMA_SUM_COLUMNS];
	u32 i;

	if (sum->n) {
		memset(sum->rest + sum->n, 0, BGDMA_SUM_ROW - sum->n);
		bgdma_sum_rows(sum, sum->rest, 1);
	}
	if (sum->wide)
		bgdma_sum_return();
	for (i = 0; i < BGDMA_SUM_COLUMNS; i++) {
		numbers[i] = cpu_to_le32(sum->once[i]);
		numbers[BGDMA_SUM_COLUMNS + i] = cpu_to_le32(sum->twice[i]);
	}
	return ~bgdma_crc32c(~0U, numbers, sizeof(numbers));
}
