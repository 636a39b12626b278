// SPDX-License-Identifier: GPL-2.0
/*
 * Is what came over a link well-formed? Pure: looks at nothing but the head of a
 * frame. But for bgdma_wire_head_check() its checksum was right, so who sends
 * nonsense does so on purpose. tools/fuzz/wire.c is about this file.
 */
#include <linux/build_bug.h>
#include <linux/string.h>

#include "../bgdma.h"
#include "check.h"

/* --------------------------------------------------------------------- */
/* Any frame                                                              */

/* Bytes that the head of a frame must have; 0: of no frame. */
static u32 bgdma_wire_head(const struct bgdma_frame *f)
{
	u32 packets = f->packets;

	switch (f->type) {
	case BGDMA_FRAME_DATA:
		/* Each may be refused, and an ACK has to tell of all. */
		if (!packets || packets > BGDMA_WIRE_RESULTS)
			return 0;
		return sizeof(*f) + packets * sizeof(struct bgdma_wire_packet);
	case BGDMA_FRAME_ACK:
		if (packets > BGDMA_WIRE_RESULTS)
			return 0;
		return sizeof(*f) + sizeof(struct bgdma_wire_ack) +
		       packets * sizeof(struct bgdma_wire_result);
	case BGDMA_FRAME_CLOSE:
		return packets ? 0 : sizeof(*f);
	case BGDMA_FRAME_HELLO:
		return packets ? 0 :
			sizeof(*f) + sizeof(struct bgdma_wire_hello);
	case BGDMA_FRAME_STATE:
		return packets ? 0 :
			sizeof(*f) + sizeof(struct bgdma_wire_state);
	default:
		return 0;
	}
}

/**
 * bgdma_wire_head_check() - has a frame the head that its type asks for?
 * @f: the fixed part of it, which is there, of our version
 * @len: bytes of all that came
 *
 * Return: true if f.head bytes came, and f.bytes behind them.
 */
bool bgdma_wire_head_check(const struct bgdma_frame *f, u32 len)
{
	u32 head = bgdma_wire_head(f), bytes = le32_to_cpu(f->bytes);

	return head && head == le16_to_cpu(f->head) && head <= len &&
	       bytes <= len - head && !(f->flags & ~BGDMA_FRAME_FLAGS) &&
	       (!bytes || f->type == BGDMA_FRAME_DATA) &&
	       (!f->more || (f->type == BGDMA_FRAME_DATA &&
			     f->more < BGDMA_WIRE_SPAN));
}

/* --------------------------------------------------------------------- */
/* About kernels                                                          */

/**
 * bgdma_wire_runs_check() - are these nodes of a partition, in order?
 * @run: room for BGDMA_WIRE_RUNS
 * @n: so many, as the frame says
 * @size: nodes of the partition
 */
bool bgdma_wire_runs_check(const struct bgdma_wire_run *run, u32 n, u32 size)
{
	u32 i;

	if (!n || n > BGDMA_WIRE_RUNS)
		return false;
	for (i = 0; i < n; i++) {
		u32 first = le32_to_cpu(run[i].first);
		u32 last = le32_to_cpu(run[i].last);

		if (first > last || last >= size ||
		    (i && first <= le32_to_cpu(run[i - 1].last)))
			return false;
	}
	return true;
}

/* A name that may be shown: as bgdma_config_name() takes it. */
static bool bgdma_wire_name(const char *name)
{
	size_t len = strnlen(name, BGDMA_NAME_MAX), i;

	for (i = 0; i < len; i++) {
		if (name[i] <= ' ' || name[i] >= 0x7f || name[i] == '/')
			return false;
	}
	return len && len < BGDMA_NAME_MAX;
}

/**
 * bgdma_wire_hello_check() - can a HELLO be what a kernel says?
 * @hello: all of it
 */
bool bgdma_wire_hello_check(const struct bgdma_wire_hello *hello)
{
	u64 size = 1;
	int i;

	if (!bgdma_wire_name(hello->name) || !hello->kernel ||
	    le32_to_cpu(hello->heard) > BGDMA_WIRE_HEARD ||
	    le32_to_cpu(hello->torus) > 7 || !hello->every ||
	    le32_to_cpu(hello->every) > BGDMA_LINK_HELLO_MAX ||
	    le32_to_cpu(hello->mtu) > BGDMA_WIRE_MTU_MAX)
		return false;
	for (i = 0; i < 3; i++) {
		u32 dim = le32_to_cpu(hello->dims[i]);

		if (!dim || dim > 1024)
			return false;
		size *= dim;
	}
	return size <= BGDMA_RANK_MAX + 1ULL &&
	       bgdma_wire_runs_check(hello->run, le32_to_cpu(hello->runs),
				     size);
}

static bool bgdma_wire_ends_check(const struct bgdma_wire_end *end)
{
	u32 i;

	for (i = 0; i < BGDMA_WIRE_ENDS && end[i].kernel; i++) {
		if (!end[i].lost && !end[i].known)
			return false;
	}
	for (; i < BGDMA_WIRE_ENDS; i++) {
		if (end[i].kernel || end[i].lost || end[i].known)
			return false;
	}
	return true;
}

/**
 * bgdma_wire_state_check() - can a STATE be what a kernel says?
 * @state: all of it
 * @size: nodes of the partition
 */
bool bgdma_wire_state_check(const struct bgdma_wire_state *state, u32 size)
{
	return state->kernel && state->seq &&
	       le32_to_cpu(state->peers) <= BGDMA_WIRE_PEERS &&
	       !(le32_to_cpu(state->flags) & ~BGDMA_WIRE_STATE_FLAGS) &&
	       bgdma_wire_ends_check(state->end) &&
	       bgdma_wire_runs_check(state->run, le32_to_cpu(state->runs),
				     size);
}

/* --------------------------------------------------------------------- */
/* Data and acknowledgments                                               */

static bool bgdma_wire_inline(const struct bgdma_wire_packet *p, u32 length)
{
	return p->desc.op == BGDMA_OP_MEMFIFO && !p->bytes && !p->offset &&
	       length <= BGDMA_INLINE_MAX;
}

/* No piece crosses from one packet of a reception FIFO into the next. */
static bool bgdma_wire_memfifo(u32 length, u32 offset, u32 bytes)
{
	if (!bytes)
		return !length;
	return offset / BGDMA_PACKET_MAX ==
	       (offset + bytes - 1) / BGDMA_PACKET_MAX;
}

/* A packet of the combining network: part of one, if it is long. */
static bool bgdma_wire_tree(const struct bgdma_desc *d, u32 length, u32 bytes)
{
	const struct bgdma_tree_head *head = (const void *)d->u.inline_data;
	u32 total = le32_to_cpu(head->total);

	return length <= BGDMA_PACKET_MAX && (bytes || !length) &&
	       total <= BGDMA_LENGTH_MAX && le32_to_cpu(head->offset) <= total &&
	       head->kind < BGDMA_TREE_KINDS && !head->resv &&
	       (head->kind == BGDMA_TREE_PART || !length) &&
	       !(d->class_prio & ~BGDMA_CLASS_MASK) &&
	       !(d->route & BGDMA_ROUTE_DEPOSIT) && !d->flags && d->epoch;
}

static bool bgdma_wire_atomic(const struct bgdma_desc *d, u32 length,
			      u32 offset, u32 bytes)
{
	u32 op = le16_to_cpu(d->dispatch) >> 8;
	u32 type = le16_to_cpu(d->dispatch) & 0xff;
	u32 size;

	if (op >= BGDMA_ATOMIC_OP_COUNT || type >= BGDMA_ATOMIC_TYPE_COUNT)
		return false;
	size = type == BGDMA_ATOMIC_S32 || type == BGDMA_ATOMIC_U32 ? 4 : 8;
	/* One element has its operand in the descriptor, or brings it. */
	return bytes && bytes <= BGDMA_WIRE_ATOMIC && !(length % size) &&
	       !(offset % size) && !(bytes % size) &&
	       (op != BGDMA_ATOMIC_CAS || length == size);
}

/* A piece of a transfer, as its descriptor says. */
static bool bgdma_wire_piece(const struct bgdma_wire_packet *p)
{
	const struct bgdma_desc *d = &p->desc;
	u32 length = le32_to_cpu(d->length);
	u32 offset = le32_to_cpu(p->offset);
	u32 bytes = le32_to_cpu(p->bytes);

	if (length > BGDMA_LENGTH_MAX || offset > length ||
	    bytes > length - offset)
		return false;
	if (d->flags & BGDMA_DESC_INLINE)
		return bgdma_wire_inline(p, length);
	switch (d->op) {
	case BGDMA_OP_PUT:
		return bytes || !length;
	case BGDMA_OP_MEMFIFO:
	case BGDMA_OP_TREE_P2P:
		return bgdma_wire_memfifo(length, offset, bytes);
	case BGDMA_OP_TREE_REDUCE:
	case BGDMA_OP_TREE_BCAST:
	case BGDMA_OP_TREE_ALLREDUCE:
		return !(p->flags & BGDMA_WIRE_REMOTE) &&
		       bgdma_wire_tree(d, length, bytes);
	case BGDMA_OP_RGET:
		return !offset && bytes == length && length &&
		       !(length % sizeof(*d)) &&
		       length <= BGDMA_RGET_DESC_MAX * sizeof(*d);
	case BGDMA_OP_ATOMIC:
		return bgdma_wire_atomic(d, length, offset, bytes);
	case BGDMA_OP_EPOCH_BEGIN:
	case BGDMA_OP_EPOCH_CLOSE:
	case BGDMA_OP_EPOCH_END:
		return !length && d->epoch;
	default:
		return false;
	}
}

/**
 * bgdma_wire_packet_check() - can a packet be what its sender meant?
 * @p: packet
 *
 * What it names is looked up when it is delivered.
 */
bool bgdma_wire_packet_check(const struct bgdma_wire_packet *p)
{
	static const u32 fixed[] = {
		[BGDMA_WIRE_ANSWER] = sizeof(struct bgdma_wire_answer),
		[BGDMA_WIRE_EVENT] = sizeof(struct bgdma_event),
		[BGDMA_WIRE_GONE] = sizeof(struct bgdma_wire_gone),
	};
	u32 bytes = le32_to_cpu(p->bytes);

	if (p->resv || p->flags & ~BGDMA_WIRE_FLAGS || p->desc.resv)
		return false;
	if (p->flags & BGDMA_WIRE_REMOTE && !p->dst_inc)
		return false;
	switch (p->kind) {
	case BGDMA_WIRE_PIECE:
		return bgdma_wire_piece(p);
	case BGDMA_WIRE_ABORT:
		return le32_to_cpu(p->desc.length) <= BGDMA_LENGTH_MAX &&
		       le32_to_cpu(p->offset) <= le32_to_cpu(p->desc.length);
	case BGDMA_WIRE_FETCHED:
		return bytes && bytes <= BGDMA_WIRE_ATOMIC;
	case BGDMA_WIRE_ANSWER:
	case BGDMA_WIRE_EVENT:
	case BGDMA_WIRE_GONE:
		return bytes == fixed[p->kind];
	default:
		return false;
	}
}

/**
 * bgdma_wire_strip() - what others get to see of a descriptor
 * @d: as its origin executes it; without what only the origin can use
 */
void bgdma_wire_strip(struct bgdma_desc *d)
{
	/* A gate answers with it. */
	if (!bgdma_op_is_gate(d->op))
		d->inj_ctr = cpu_to_le32(BGDMA_NONE);
	if (!(d->flags & BGDMA_DESC_INLINE) && !bgdma_op_is_tree(d->op)) {
		d->u.at.src_region = cpu_to_le32(BGDMA_NONE);
		d->u.at.src_off = 0;
	}
}

/**
 * bgdma_wire_payload() - bytes of payload that a packet has
 * @p: a good one
 */
u32 bgdma_wire_payload(const struct bgdma_wire_packet *p)
{
	return p->kind == BGDMA_WIRE_ABORT ? 0 : le32_to_cpu(p->bytes);
}

/**
 * bgdma_wire_is_gate() - is a packet for a gate?
 * @p: packet
 *
 * It begins a frame: before it is dealt with the sender has to know of all refusals,
 * which he does when the frames before it were.
 */
bool bgdma_wire_is_gate(const struct bgdma_wire_packet *p)
{
	return p->kind == BGDMA_WIRE_PIECE && bgdma_op_is_gate(p->desc.op);
}

/**
 * bgdma_wire_frame_check() - is a frame of data what it says?
 * @f: its head, of f.head bytes that are there
 * @payload: bytes that follow
 *
 * Of an acknowledgment bgdma_wire_head_check() has seen all.
 *
 * Return: true for a frame of data with all of its parts.
 */
bool bgdma_wire_frame_check(const struct bgdma_frame *f, u32 payload)
{
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	u32 i, n = f->packets;
	u64 sum = 0;

	BUILD_BUG_ON(sizeof(struct bgdma_frame) != 72);
	BUILD_BUG_ON(sizeof(struct bgdma_wire_packet) != 88);

	if (f->flags & ~BGDMA_FRAME_FLAGS || le32_to_cpu(f->bytes) != payload)
		return false;
	if (f->type != BGDMA_FRAME_DATA || !n ||
	    le16_to_cpu(f->head) != sizeof(*f) + n * sizeof(*p))
		return false;
	for (i = 0; i < n; i++) {
		if (!bgdma_wire_packet_check(&p[i]) ||
		    (i && bgdma_wire_is_gate(&p[i])))
			return false;
		sum += bgdma_wire_payload(&p[i]);
	}
	return sum == payload;
}

/* Does it matter where a packet is cut? */
static bool bgdma_wire_divides(const struct bgdma_wire_packet *p)
{
	return p->kind == BGDMA_WIRE_PIECE &&
	       (p->desc.op == BGDMA_OP_PUT || p->desc.op == BGDMA_OP_MEMFIFO);
}

/**
 * bgdma_wire_cut() - the next part of a frame that is longer than a link takes
 * @f: its head, well-formed
 * @mtu: bytes of a part at most; not less than BGDMA_WIRE_MTU_MIN
 * @cut: the part before; all zero before the first
 * @to: NULL, or room for the packets of a frame: gets those of the part
 *
 * With the same @mtu the parts are the same.
 *
 * Return: false: there is none.
 */
bool bgdma_wire_cut(const struct bgdma_frame *f, u32 mtu,
		    struct bgdma_wire_cut *cut, struct bgdma_wire_packet *to)
{
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	u32 used = sizeof(*f);

	cut->at += cut->bytes;
	cut->bytes = 0;
	for (cut->packets = 0; cut->packet < f->packets; cut->packets++) {
		const struct bgdma_wire_packet *q = &p[cut->packet];
		u32 all = bgdma_wire_payload(q), left = all - cut->done, now;

		if (used + sizeof(*q) > mtu)
			break;
		used += sizeof(*q);
		now = min(left, mtu - used);
		/* No slivers; each part has one packet at least. */
		if (now < left && cut->packets &&
		    (!bgdma_wire_divides(q) || now < BGDMA_WIRE_SLIVER))
			break;
		if (to) {
			to[cut->packets] = *q;
			to[cut->packets].offset =
				cpu_to_le32(le32_to_cpu(q->offset) + cut->done);
			if (all)
				to[cut->packets].bytes = cpu_to_le32(now);
		}
		used += now;
		cut->bytes += now;
		cut->done += now;
		if (now < left) {
			cut->packets++;
			break;
		}
		cut->packet++;
		cut->done = 0;
	}
	return cut->packets;
}
