// SPDX-License-Identifier: GPL-2.0
/*
 * What there is to be seen of a frame: a line "FRAME FIELD=VALUE" for each member of
 * each structure in it. The tables have all members; a structure that gets one more
 * needs it here, and in the dissector.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define DESC		sizeof(struct bgdma_desc)

struct member {
	const char *name;
	size_t at, size;
	unsigned int count;	/* 0: bytes in a row; else numbers */
};

#define NUMBER(s, m) \
	{ #m, offsetof(struct s, m), sizeof(((struct s *)0)->m), 1 }
#define BYTES(s, m) \
	{ #m, offsetof(struct s, m), sizeof(((struct s *)0)->m), 0 }

static const struct member frame_members[] = {
	NUMBER(bgdma_frame, magic), NUMBER(bgdma_frame, version),
	NUMBER(bgdma_frame, type), NUMBER(bgdma_frame, partition),
	NUMBER(bgdma_frame, crc), NUMBER(bgdma_frame, at),
	NUMBER(bgdma_frame, hops), NUMBER(bgdma_frame, flags),
	NUMBER(bgdma_frame, head), NUMBER(bgdma_frame, src_rank),
	NUMBER(bgdma_frame, dst_rank), NUMBER(bgdma_frame, flow_inc),
	NUMBER(bgdma_frame, flow_ctx), NUMBER(bgdma_frame, packets),
	NUMBER(bgdma_frame, more),
	NUMBER(bgdma_frame, flow), NUMBER(bgdma_frame, session),
	NUMBER(bgdma_frame, psn), NUMBER(bgdma_frame, first),
	NUMBER(bgdma_frame, stamp), NUMBER(bgdma_frame, bytes),
	NUMBER(bgdma_frame, sum), NUMBER(bgdma_frame, kernel),
};

/* Where the payload is; or the payload. */
#define DESC_REST \
	NUMBER(bgdma_desc, op), NUMBER(bgdma_desc, flags), \
	NUMBER(bgdma_desc, route), NUMBER(bgdma_desc, class_prio), \
	NUMBER(bgdma_desc, dst_rank), NUMBER(bgdma_desc, dst_ctx), \
	NUMBER(bgdma_desc, dst_fifo), NUMBER(bgdma_desc, inj_ctr), \
	NUMBER(bgdma_desc, rec_ctr), NUMBER(bgdma_desc, epoch), \
	NUMBER(bgdma_desc, length), NUMBER(bgdma_desc, dispatch), \
	NUMBER(bgdma_desc, resv), NUMBER(bgdma_desc, cookie)
#define DESC_AT(m) \
	{ #m, offsetof(struct bgdma_desc, u.at.m), \
	  sizeof(((struct bgdma_desc *)0)->u.at.m), 1 }

static const struct member desc_members[] = {
	DESC_REST, DESC_AT(src_region), DESC_AT(dst_region), DESC_AT(src_off),
	DESC_AT(dst_off),
};

static const struct member inline_members[] = {
	DESC_REST,
	{ "inline_data", offsetof(struct bgdma_desc, u.inline_data),
	  BGDMA_INLINE_MAX, 0 },
};

/* struct bgdma_tree_head, which only the kernel has: kernel/engine/tree.h */
#define HEAD(m, at, size) \
	{ #m, offsetof(struct bgdma_desc, u) + (at), size, 1 }

static const struct member tree_members[] = {
	HEAD(index, 0, 4), HEAD(offset, 4, 4), HEAD(total, 8, 4),
	HEAD(rank, 12, 4), HEAD(ctx, 16, 2), HEAD(kind, 18, 1),
	HEAD(code, 19, 1), HEAD(resv, 20, 4),
};

static const struct member common_members[] = { DESC_REST };

static const struct member packet_members[] = {
	NUMBER(bgdma_wire_packet, id), NUMBER(bgdma_wire_packet, offset),
	NUMBER(bgdma_wire_packet, bytes), NUMBER(bgdma_wire_packet, dst_inc),
	NUMBER(bgdma_wire_packet, kind), NUMBER(bgdma_wire_packet, flags),
	NUMBER(bgdma_wire_packet, group), NUMBER(bgdma_wire_packet, resv),
};

static const struct member ack_members[] = {
	BYTES(bgdma_wire_ack, sack), NUMBER(bgdma_wire_ack, window),
	NUMBER(bgdma_wire_ack, state), NUMBER(bgdma_wire_ack, kind),
	NUMBER(bgdma_wire_ack, object),
};

static const struct member result_members[] = {
	NUMBER(bgdma_wire_result, offset), NUMBER(bgdma_wire_result, bound),
	NUMBER(bgdma_wire_result, id), NUMBER(bgdma_wire_result, code),
	NUMBER(bgdma_wire_result, psn), NUMBER(bgdma_wire_result, resv),
};

static const struct member answer_members[] = {
	NUMBER(bgdma_wire_answer, counter), NUMBER(bgdma_wire_answer, region),
	NUMBER(bgdma_wire_answer, epoch), NUMBER(bgdma_wire_answer, code),
	NUMBER(bgdma_wire_answer, rank),
	NUMBER(bgdma_wire_answer, incarnation), NUMBER(bgdma_wire_answer, ctx),
	NUMBER(bgdma_wire_answer, resv),
};

static const struct member event_members[] = {
	NUMBER(bgdma_event, type), NUMBER(bgdma_event, code),
	NUMBER(bgdma_event, peer_rank), NUMBER(bgdma_event, peer_ctx),
	NUMBER(bgdma_event, kind), NUMBER(bgdma_event, peer_incarnation),
	NUMBER(bgdma_event, object), NUMBER(bgdma_event, desc_seq),
	NUMBER(bgdma_event, transfer_id), NUMBER(bgdma_event, cookie),
	NUMBER(bgdma_event, offset), NUMBER(bgdma_event, bound),
};

static const struct member gone_members[] = {
	NUMBER(bgdma_wire_gone, rank), NUMBER(bgdma_wire_gone, incarnation),
	NUMBER(bgdma_wire_gone, uid), NUMBER(bgdma_wire_gone, ctx),
	NUMBER(bgdma_wire_gone, resv),
};

/* Lists have as many as there are, and are told apart. */
static const struct member hello_members[] = {
	NUMBER(bgdma_wire_hello, kernel), NUMBER(bgdma_wire_hello, proof),
	BYTES(bgdma_wire_hello, name),
	{ "dims", offsetof(struct bgdma_wire_hello, dims), sizeof(__u32), 3 },
	NUMBER(bgdma_wire_hello, torus), NUMBER(bgdma_wire_hello, mtu),
	NUMBER(bgdma_wire_hello, every), NUMBER(bgdma_wire_hello, runs),
	NUMBER(bgdma_wire_hello, heard),
};

static const struct member state_members[] = {
	NUMBER(bgdma_wire_state, kernel), NUMBER(bgdma_wire_state, proof),
	NUMBER(bgdma_wire_state, seq), NUMBER(bgdma_wire_state, runs),
	NUMBER(bgdma_wire_state, peers), NUMBER(bgdma_wire_state, flags),
};

static const struct member end_members[] = {
	NUMBER(bgdma_wire_end, kernel), NUMBER(bgdma_wire_end, lost),
	NUMBER(bgdma_wire_end, known),
};

static const struct member run_members[] = {
	NUMBER(bgdma_wire_run, first), NUMBER(bgdma_wire_run, last),
};

static void complete(const struct member *m, size_t n, size_t size)
{
	size_t i, sum = 0;

	for (i = 0; i < n; i++)
		sum += m[i].size * (m[i].count ? m[i].count : 1);
	if (sum != size) {
		fprintf(stderr, "frames: %zu bytes from %s on, not %zu\n", size,
			m->name, sum);
		exit(1);
	}
}

#define COMPLETE(m, size) complete(m, COUNT(m), size)

void told_complete(void)
{
	COMPLETE(frame_members, sizeof(struct bgdma_frame));
	COMPLETE(desc_members, DESC);
	COMPLETE(inline_members, DESC);
	COMPLETE(packet_members, sizeof(struct bgdma_wire_packet) - DESC);
	COMPLETE(ack_members, sizeof(struct bgdma_wire_ack));
	COMPLETE(result_members, sizeof(struct bgdma_wire_result));
	COMPLETE(answer_members, sizeof(struct bgdma_wire_answer));
	COMPLETE(event_members, sizeof(struct bgdma_event));
	COMPLETE(gone_members, sizeof(struct bgdma_wire_gone));
	COMPLETE(hello_members, offsetof(struct bgdma_wire_hello, run));
	COMPLETE(state_members, offsetof(struct bgdma_wire_state, run));
	COMPLETE(end_members, sizeof(struct bgdma_wire_end));
	COMPLETE(run_members, sizeof(struct bgdma_wire_run));
}

void tell(const char *field, uint64_t value)
{
	fprintf(told, "%u %s=%" PRIu64 "\n", written, field, value);
}

static void tell_member(const char *prefix, const struct member *m,
			const uint8_t *p)
{
	unsigned int i;
	uint64_t value;

	for (i = 0; i < m->count; i++) {
		value = 0;
		memcpy(&value, p + m->at + i * m->size, m->size);
		fprintf(told, "%u bgdma.%s%s=%" PRIu64 "\n", written, prefix,
			m->name, value);
	}
	if (m->count)
		return;
	fprintf(told, "%u bgdma.%s%s=", written, prefix, m->name);
	for (i = 0; i < m->size; i++)
		fprintf(told, "%02x", p[m->at + i]);
	fputc('\n', told);
}

static void tell_members(const char *prefix, const struct member *m, size_t n,
			 const void *p)
{
	while (n--)
		tell_member(prefix, m++, p);
}

#define TELL(prefix, m, p) tell_members(prefix, m, COUNT(m), p)

static void tell_desc(const struct bgdma_desc *d)
{
	if (d->op >= BGDMA_OP_TREE_REDUCE && d->op <= BGDMA_OP_TREE_ALLREDUCE) {
		TELL("desc.", common_members, d);
		TELL("tree.", tree_members, d);
	} else if (d->flags & BGDMA_DESC_INLINE) {
		TELL("desc.", inline_members, d);
	} else {
		TELL("desc.", desc_members, d);
	}
}

static void tell_payload(const struct bgdma_wire_packet *p, const uint8_t *at)
{
	uint32_t i;

	switch (p->kind) {
	case BGDMA_WIRE_PIECE:
		if (p->desc.op != BGDMA_OP_RGET)
			break;
		for (i = 0; i < p->bytes; i += DESC)
			tell_desc((const void *)(at + i));
		break;
	case BGDMA_WIRE_ANSWER:
		TELL("answer.", answer_members, at);
		break;
	case BGDMA_WIRE_EVENT:
		TELL("event.", event_members, at);
		break;
	case BGDMA_WIRE_GONE:
		TELL("gone.", gone_members, at);
		break;
	}
}

static void tell_data(const struct bgdma_frame *f)
{
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	const uint8_t *payload = (const uint8_t *)f + f->head;
	unsigned int i;

	for (i = 0; i < f->packets; i++, p++) {
		TELL("packet.", packet_members, p);
		tell_desc(&p->desc);
		tell_payload(p, payload);
		payload += bgdma_wire_payload(p);
	}
	if (f->bytes && !(f->flags & BGDMA_FRAME_UNSUMMED))
		tell("bgdma.sum.good", 1);
}

static void tell_ack(const struct bgdma_frame *f)
{
	const struct bgdma_wire_ack *ack = (const void *)(f + 1);
	const struct bgdma_wire_result *r = (const void *)(ack + 1);
	unsigned int i;

	TELL("ack.", ack_members, ack);
	for (i = 0; i < BGDMA_WIRE_SACK; i++) {
		if (ack->sack[i / 64] >> i % 64 & 1)
			tell("bgdma.ack.psn", f->psn + i);
	}
	for (i = 0; i < f->packets; i++)
		TELL("result.", result_members, r + i);
}

static void tell_runs(const struct bgdma_wire_run *run, unsigned int n)
{
	while (n--)
		TELL("run.", run_members, run++);
}

static void tell_ends(const struct bgdma_wire_end *end)
{
	unsigned int i;

	for (i = 0; i < BGDMA_WIRE_ENDS && end[i].kernel; i++)
		TELL("end.", end_members, end + i);
}

static void tell_kernels(const char *field, const __le64 *kernel, unsigned int n)
{
	while (n--)
		tell(field, *kernel++);
}

void tell_frame(const union frame *u)
{
	const struct bgdma_wire_hello *hello = &u->hello.hello;
	const struct bgdma_wire_state *state = &u->state.state;

	TELL("", frame_members, u);
	tell("bgdma.crc.good", 1);
	switch (u->f.type) {
	case BGDMA_FRAME_DATA:
		tell_data(&u->f);
		break;
	case BGDMA_FRAME_ACK:
		tell_ack(&u->f);
		break;
	case BGDMA_FRAME_HELLO:
		TELL("hello.", hello_members, hello);
		tell_runs(hello->run, hello->runs);
		tell_kernels("bgdma.hello.hears", hello->hears, hello->heard);
		break;
	case BGDMA_FRAME_STATE:
		TELL("state.", state_members, state);
		tell_runs(state->run, state->runs);
		tell_kernels("bgdma.state.peer", state->peer, state->peers);
		tell_ends(state->end);
		break;
	}
}
