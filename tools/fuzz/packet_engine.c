// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's half of the target "packet": the module's own code, with the
 * rest of the engine as small as it can be.
 */
#include "../../kernel/engine/rec_fifo.c"
#include "../../kernel/engine/packet.c"

#include "packet.h"

struct packet_seen packet_seen;

static struct bgdma_ctx ctx;
static struct bgdma_kern_ctl kctl;
static struct bgdma_rec_fifo fifo, *fifos = &fifo;
static struct bgdma_stream stream;

void packet_begin(const struct packet_fifo *from)
{
	memset(&packet_seen, 0, sizeof(packet_seen));
	memset(&ctx, 0, sizeof(ctx));
	memset(&stream, 0, sizeof(stream));
	ctx.who.incarnation = 1;
	ctx.kctl = &kctl;
	ctx.rec = &fifos;
	ctx.n_rec = 1;
	stream.ctx = &ctx;
	stream.who = ctx.who;
	fifo = (struct bgdma_rec_fifo){
		.ctx = &ctx, .size = from->size, .user = from->user,
		.kern = from->kern, .shm.addr = from->ring,
	};
}

bool packet_send(const struct bgdma_desc *desc, uint32_t id, uint32_t done,
		 const uint8_t *payload, uint32_t n, uint32_t cut)
{
	struct bgdma_payload in = {
		.pieces = 2, .p = { payload, payload + cut },
		.n = { cut, n - cut },
	};
	int ret;

	stream.x.desc = *desc;
	stream.x.id = id;
	stream.x.done = done;
	ret = bgdma_deliver_memfifo(&ctx, &stream, desc->flags &
				    BGDMA_DESC_INLINE ? NULL : &in, n);
	if (ret != BGDMA_STEP_DONE && ret != BGDMA_STEP_WAIT)
		abort();
	return ret == BGDMA_STEP_DONE;
}

void packet_kick(void)
{
	bgdma_rec_kick(&fifo);
}

/* ---- What it calls ---------------------------------------------------- */

void bgdma_stream_park(struct bgdma_stream *s, struct bgdma_waiters *waiters,
		       unsigned long timeout, u32 kind, u32 id)
{
	packet_seen.parked = true;
}

void bgdma_stream_unpark(struct bgdma_stream *s)
{
	packet_seen.parked = false;
}

void bgdma_waiters_wake(struct bgdma_waiters *waiters)
{
	packet_seen.parked = false;
}

bool bgdma_record_set(struct bgdma_ctx *c, struct bgdma_record *rec, u64 *words,
		      u32 bit, const struct bgdma_record *why)
{
	packet_seen.bad_head = true;
	return false;
}

void bgdma_eventfd_signal(struct bgdma_eventfd *const *where)
{
	packet_seen.signals++;
}
