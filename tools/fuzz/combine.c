// SPDX-License-Identifier: GPL-2.0
/*
 * Combining (kernel/tree/combine.c): each operation and type, on elements that come
 * in pieces cut anywhere, against numbers written as bytes.
 */
#include "../../kernel/tree/combine.c"

#include "fuzz.h"

#define BYTES_MAX	4096

static u32 width_of(u32 type)
{
	if (type >= 0x40 && type < 0x40 + 64)
		return (type - 0x3f) * 8;
	return type < 8 ? 2U << type / 2 : 0;
}

/* -1, 0 or 1, of numbers of @n bytes, the lowest first. */
static int order(const u8 *a, const u8 *b, u32 n, bool sign)
{
	u8 flip = sign ? 0x80 : 0;

	if (a[n - 1] != b[n - 1])
		return (a[n - 1] ^ flip) < (b[n - 1] ^ flip) ? -1 : 1;
	while (n--)
		if (a[n] != b[n])
			return a[n] < b[n] ? -1 : 1;
	return 0;
}

static void element(u32 op, u32 type, u8 *to, const u8 *from, u32 n)
{
	int which = order(from, to, n, type >= 8 || type % 2);
	u32 sum = 0, i;

	for (i = 0; i < n; i++) {
		sum = (sum >> 8) + to[i] + from[i];
		switch (op) {
		case BGDMA_TREE_ADD:
			to[i] = sum;
			break;
		case BGDMA_TREE_MIN:
			to[i] = which < 0 ? from[i] : to[i];
			break;
		case BGDMA_TREE_MAX:
			to[i] = which > 0 ? from[i] : to[i];
			break;
		case BGDMA_TREE_AND:
			to[i] &= from[i];
			break;
		case BGDMA_TREE_OR:
			to[i] |= from[i];
			break;
		default:
			to[i] ^= from[i];
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct bgdma_payload p = { 0 };
	u32 op = take(&in, 1) % 8, type = take(&in, 1), n, width, done, i;
	static u64 into[BYTES_MAX / 8 + 1], should[BYTES_MAX / 8 + 1];
	u8 *from, *piece[BGDMA_PIECES_MAX];
	u16 dispatch = BGDMA_TREE_COMBINE(op, type);

	width = op < BGDMA_TREE_OP_COUNT ? width_of(type) : 0;
	must(bgdma_combine_size(dispatch) == width);
	if (!width)
		return 0;
	n = (u32)take(&in, 2) % (BYTES_MAX / width) * width;
	from = malloc(n + 1);
	memset(from, 0, n);
	memset(into, 0, sizeof(into));
	for (i = 0; i < BGDMA_PIECES_MAX; i++)
		p.n[i] = take(&in, 2);
	/* What they have, one after the other, so that few bytes tell of both. */
	for (done = 0; done < n; done += width) {
		take_into(&in, from + done, width);
		take_into(&in, (u8 *)into + done, width);
	}
	((u8 *)into)[n] = 0xa5;
	memcpy(should, into, sizeof(should));
	for (done = 0; done < n; done += width)
		element(op, type, (u8 *)should + done, from + done, width);
	/* Each piece ends where its memory does; the last has the rest. */
	for (i = 0, done = 0; done < n; i++) {
		if (i == BGDMA_PIECES_MAX - 1)
			p.n[i] = n - done;
		p.n[i] = min(p.n[i], n - done);
		piece[i] = malloc(p.n[i]);
		memcpy(piece[i], from + done, p.n[i]);
		p.p[i] = piece[i];
		done += p.n[i];
	}
	p.pieces = i;
	bgdma_combine(dispatch, into, &p);
	must(!memcmp(into, should, sizeof(into)));
	while (i--)
		free(piece[i]);
	free(from);
	return 0;
}
