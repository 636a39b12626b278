// SPDX-License-Identifier: GPL-2.0
/*
 * An injection FIFO (the library's inject.h, kernel/engine/inj_fifo.c and
 * train.h): descriptors go in, the engine fetches, ends, cancels and flushes
 * them, against a plain list. In the end user space writes any tail it likes.
 */
#include <bgdma/inject.h>

#include "fuzz.h"
#include "ring.h"

#define ENTRIES_MAX	64
#define TOTAL_MAX	4096

/* The library's handle is its view and more. */
struct bgdma_inj_fifo {
	struct bgdma_inj_view view;
};

static struct bgdma_inj_fifo fifo;
static struct ring_fifo shared;
static __u64 doorbell;
static const __u32 awake;		/* the engine polls */

static struct bgdma_desc list[TOTAL_MAX];	/* all that were written */
static uint64_t written, published, fetched, ended;
static uint32_t entries;
static bool running;

int bgdma_doorbell(struct bgdma_ctx *ctx, uint32_t flags)
{
	abort();
}

static bool begin(struct input *in)
{
	uint8_t how = (uint8_t)take(in, 1);

	memset(&shared, 0xa5, sizeof(shared));
	entries = how & 1 ? (uint32_t)take(in, 4) % 200 : 16U << (how >> 1) % 3;
	if (!ring_begin(&shared, entries)) {
		must(entries < 16 || entries & (entries - 1));
		return false;
	}
	must(entries >= 16 && !(entries & (entries - 1)));
	written = 0;
	published = 0;
	fetched = 0;
	ended = 0;
	running = false;
	doorbell = 0;
	fifo.view = (struct bgdma_inj_view){
		.ring = shared.ring, .mask = entries - 1,
		.user = &shared.user, .kern = &shared.kern,
		.doorbell = &doorbell, .bit = 1, .wake = &awake,
	};
	return true;
}

/* Descriptors of few kinds, so that trains form; each has its number. */
static void write_one(struct input *in)
{
	struct bgdma_desc *slot = bgdma_inj_reserve(&fifo);
	uint8_t how = (uint8_t)take(in, 1);
	struct bgdma_transfer t = {
		.dest = how & 1, .counter = how >> 1 & 1,
		.remote_counter = how >> 2 & 1, .dispatch = how >> 3 & 1,
	};

	must(!slot == (written - fetched == entries));
	if (!slot)
		return;
	t.cookie = written;
	bgdma_desc_memfifo(&list[written], &t);
	*slot = list[written];
	written++;
	must(bgdma_inj_next(&fifo) == written);
}

static void publish(void)
{
	must(bgdma_inj_submit(&fifo) == 0);
	published = written;
	must(doorbell == 1);
}

static void check(const struct bgdma_desc *desc, uint64_t seq)
{
	must(fetched < published && seq == fetched);
	must(!memcmp(desc, &list[fetched], sizeof(*desc)));
	fetched++;
}

static void fetch(void)
{
	struct bgdma_desc desc;
	uint64_t seq;
	int ret;

	ring_done();
	if (running)
		ended++;
	running = false;
	must(bgdma_inj_done(&fifo) == ended);
	ret = ring_fetch(&desc, &seq);
	must(ret == (fetched < published));
	if (!ret)
		return;
	check(&desc, seq);
	running = true;
	/* What begins alike, and was there already, comes in one train. */
	while (ring_train(&desc, &seq)) {
		ended++;
		check(&desc, seq);
		must(!memcmp(&desc, &list[fetched - 2], sizeof(desc) / 2));
		must(bgdma_inj_done(&fifo) == ended);
	}
	must(bgdma_inj_space(&fifo) == entries - (written - fetched));
}

static void cancel(struct input *in)
{
	uint64_t first = take(in, 2), last = take(in, 2), seq;
	uint32_t cancelled, expected = 0;
	struct bgdma_desc nop;
	int err;

	bgdma_desc_nop(&nop, 0);
	if (take(in, 1) & 1)
		last = UINT64_MAX;
	err = ring_cancel(first, last, &cancelled);
	must(err == (first > last ? -EINVAL : 0));
	if (err)
		return;
	if (running && fetched - 1 >= first && fetched - 1 <= last) {
		expected++;
		running = false;
		ended = fetched;
	}
	for (seq = fetched; seq < published; seq++) {
		if (seq < first || seq > last)
			continue;
		/* What was cancelled is not cancelled again. */
		expected += memcmp(&list[seq], &nop, sizeof(nop)) != 0;
		list[seq] = nop;
	}
	must(cancelled == expected);
}

static void clear(bool flush)
{
	ring_clear(flush);
	if (flush) {
		/* The library drops what it had reserved, too. */
		fetched = published;
		ended = fetched;
		running = false;
		written = published;
		fifo.view.tail = published;
	}
	must(shared.kern.head == fetched && shared.kern.done == ended);
}

/* Any tail, anything in the ring: the engine reads nothing beside it. */
static void lie(struct input *in)
{
	struct bgdma_desc desc;
	unsigned int i;
	uint64_t seq;
	int ret;

	for (i = 0; in->left && i < 100; i++) {
		uint64_t ahead, head = shared.kern.head;
		uint32_t cancelled;

		if (take(in, 1) & 1)
			shared.user.tail = take(in, 8);
		else
			shared.user.tail += (uint64_t)(int8_t)take(in, 1);
		take_into(in, &shared.ring[take(in, 1) % entries], 8);
		ahead = shared.user.tail - head;
		ring_done();
		ret = ring_fetch(&desc, &seq);
		must(ret == (ahead > entries ? -1 : ahead != 0));
		must(shared.kern.head == head + (ret > 0));
		while (ring_train(&desc, &seq))
			;
		must(shared.user.tail - shared.kern.head <= entries || ret < 0);
		ring_cancel(take(in, 1), UINT64_MAX, &cancelled);
		must(cancelled <= entries + 1);
		if (ret < 0) {
			ring_clear(false);
			must(shared.kern.head == shared.user.tail);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	unsigned int n;

	if (!begin(&in))
		return 0;
	while (in.left && written < TOTAL_MAX - ENTRIES_MAX) {
		switch (take(&in, 1) % 16) {
		case 0:
			lie(&in);
			goto end;
		case 1:
			cancel(&in);
			break;
		case 2:
			clear(take(&in, 1) & 1);
			break;
		case 3 ... 5:
			publish();
			break;
		case 6 ... 8:
			fetch();
			break;
		case 9:
			for (n = take(&in, 1) % ENTRIES_MAX; n; n--)
				write_one(&in);
			break;
		default:
			write_one(&in);
		}
	}
	publish();
	while (fetched < published)
		fetch();
	fetch();
	must(ended == written);
end:
	ring_end();
	return 0;
}
