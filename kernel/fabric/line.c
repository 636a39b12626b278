// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of the loopback link: a transfer with the deposit bit goes from node to
 * node along one axis, and leaves a copy with each that has bound its group.
 *
 * It is one transfer after another for the engine: a copy is whole before the
 * next begins, each step is one piece for one node, and between two steps the
 * stream may be preempted, parked where there is no room, or cancelled. Its
 * descriptor says where it is: dst_rank is the node, dst_ctx is nobody's, so
 * that no other path takes it for a transfer of its own.
 *
 * A node behind a link gets its copy as packets with the bit, which its kernel
 * delivers as here; all of these are one transfer that was sent (remote.c).
 */
#include "../bgdma.h"
#include "../engine/busy.h"
#include "../engine/group.h"
#include "loopback.h"
#include "remote.h"
#include "wire.h"

/* Nodes that are passed by in one step. */
#define BGDMA_LINE_LOOK		64

/**
 * struct bgdma_line_axis - the line that a descriptor goes along
 * @stride: between the ranks of neighbours
 * @dim: nodes of the line
 * @at: coordinate of a node on it
 * @torus: the last is a neighbour of the first
 * @plus: to higher coordinates
 */
struct bgdma_line_axis {
	u32 stride;
	u32 dim;
	u32 at;
	bool torus;
	bool plus;
};

static struct bgdma_line_axis bgdma_axis_of(const struct bgdma_stream *s, u32 rank)
{
	const struct bgdma_partition *part = s->ctx->partition;
	struct bgdma_line_axis axis = { .stride = 1 };
	u8 hint = s->x.desc.route;
	unsigned int i = 0;

	for (; !(hint & 3); hint >>= 2)
		axis.stride *= part->dims[i++];
	axis.dim = part->dims[i];
	axis.at = rank / axis.stride % axis.dim;
	axis.torus = part->torus & BIT(i);
	axis.plus = hint & 1;
	return axis;
}

/* The node so many hops on; not beyond the edge of a mesh. */
static u32 bgdma_axis_rank(const struct bgdma_line_axis *axis, u32 rank, u32 hops)
{
	u32 to = axis->plus ? axis->at + hops : axis->at + axis->dim - hops;

	return rank - axis->at * axis->stride + to % axis->dim * axis->stride;
}

static u32 bgdma_axis_hops(const struct bgdma_line_axis *axis)
{
	if (axis->torus)
		return axis->dim - 1;
	return axis->plus ? axis->dim - 1 - axis->at : axis->at;
}

/**
 * bgdma_line_begin() - a transfer with the deposit bit begins
 * @s: owned; its descriptor is good but for its target
 *
 * Return: BGDMA_OK or an enum bgdma_code, with s->x.fault.
 */
u32 bgdma_line_begin(struct bgdma_stream *s)
{
	u32 rank = s->ctx->rank, last = le32_to_cpu(s->x.desc.dst_rank);
	u16 number = le16_to_cpu(s->x.desc.dst_ctx);
	struct bgdma_line_axis axis = bgdma_axis_of(s, rank);
	struct bgdma_desc *d = &s->x.desc;
	u32 hops = bgdma_axis_hops(&axis);
	bool bound;

	bgdma_slice_begin();
	bound = bgdma_group_own(s, number);
	bgdma_slice_end();
	if (!bound) {
		s->x.fault = (struct bgdma_fault) {
			.code = BGDMA_E_GROUP, .offset = number,
			.bound = BGDMA_GROUPS_MAX,
		};
		return BGDMA_E_GROUP;
	}
	if (last != bgdma_axis_rank(&axis, rank, hops)) {
		s->x.fault = (struct bgdma_fault) {
			.code = BGDMA_E_BOUNDS, .offset = last,
			.bound = bgdma_axis_rank(&axis, rank, hops),
		};
		return BGDMA_E_BOUNDS;
	}
	s->group = number + 1;
	s->line = (struct bgdma_line) {
		.left = hops,
		.region = d->u.at.dst_region,
		.counter = d->rec_ctr,
		.fifo = d->dst_fifo,
	};
	d->dst_rank = cpu_to_le32(rank);
	d->dst_ctx = cpu_to_le16(BGDMA_CTX_ANY);
	return BGDMA_OK;
}

/* The context of a binding, busy as it is, if it is the one with the beginning. */
static struct bgdma_ctx *bgdma_line_receiver(const struct bgdma_stream *s,
					     const struct bgdma_group *group)
{
	if (!group)
		return NULL;
	if (group->ctx->who.incarnation == s->line.receiver)
		return group->ctx;
	bgdma_busy_put(&group->ctx->busy);
	return NULL;
}

/**
 * bgdma_line_again() - the node that a stream leaves a copy with just now
 * @s: owned, deposits
 *
 * Context: inside a slice.
 * Return: its context with a busy reference, or NULL if there is none, or it
 * is no longer a member.
 */
struct bgdma_ctx *bgdma_line_again(struct bgdma_stream *s)
{
	if (!s->line.receiver || s->line.receiver == BGDMA_LINE_FAR)
		return NULL;
	return bgdma_line_receiver(s, bgdma_group_member(s,
					le32_to_cpu(s->x.desc.dst_rank)));
}

/**
 * bgdma_line_began() - the node that has the beginning of a copy
 * @s: owned, deposits; its sender may be a member no longer
 *
 * Context: inside a slice.
 * Return: as bgdma_line_again().
 */
struct bgdma_ctx *bgdma_line_began(struct bgdma_stream *s)
{
	return bgdma_line_receiver(s, bgdma_group_receiver(s,
					le32_to_cpu(s->x.desc.dst_rank)));
}

/* The sender's own binding went: what it has not sent by then nobody gets. */
static int bgdma_line_left(struct bgdma_stream *s)
{
	s->x.fault = (struct bgdma_fault) {
		.code = BGDMA_E_GROUP, .offset = s->group - 1,
		.bound = BGDMA_GROUPS_MAX,
	};
	return BGDMA_E_GROUP;
}

/* The descriptor as its sender wrote it: with slots. */
static void bgdma_line_slots(struct bgdma_stream *s)
{
	struct bgdma_desc *d = &s->x.desc;

	if (!(d->flags & BGDMA_DESC_INLINE))
		d->u.at.dst_region = s->line.region;
	d->rec_ctr = s->line.counter;
	d->dst_fifo = s->line.fifo;
}

/* A member behind a link: whether that is who is there its kernel knows. */
static bool bgdma_line_far(struct bgdma_stream *s, u32 rank)
{
	const struct bgdma_group_member *m = NULL;

	if (bgdma_is_remote(s->ctx->partition, rank))
		m = bgdma_group_names(s, rank);
	if (!m)
		return false;
	s->line.ctx = m->ctx;
	s->line.incarnation = m->incarnation;
	return true;
}

/**
 * bgdma_line_head() - whom a packet for a member behind a link is meant for
 * @s: owned
 * @p: packet
 */
void bgdma_line_head(const struct bgdma_stream *s, struct bgdma_wire_packet *p)
{
	if (likely(!(s->x.desc.route & BGDMA_ROUTE_DEPOSIT)))
		return;
	p->desc.dst_ctx = cpu_to_le16(s->line.ctx);
	p->dst_inc = cpu_to_le32(s->line.incarnation);
}

/*
 * The next member, busy; NULL: BGDMA_STEP_DONE, _HOP, _SENT where it is behind a
 * link, or a code in *@ret.
 */
static struct bgdma_ctx *bgdma_line_next(struct bgdma_stream *s, int *ret)
{
	struct bgdma_desc *d = &s->x.desc;
	u32 rank = le32_to_cpu(d->dst_rank);
	struct bgdma_line_axis axis = bgdma_axis_of(s, rank);
	const struct bgdma_group *group = NULL;
	u32 hops = 0, most = min_t(u32, s->line.left, BGDMA_LINE_LOOK);
	bool far = false;

	while (!group && !far && hops < most) {
		u32 at = bgdma_axis_rank(&axis, rank, ++hops);

		group = bgdma_group_member(s, at);
		far = bgdma_line_far(s, at);
	}
	s->line.left -= hops;
	s->line.looked += hops;
	d->dst_rank = cpu_to_le32(bgdma_axis_rank(&axis, rank, hops));
	if (far) {
		bgdma_line_slots(s);
		s->line.receiver = BGDMA_LINE_FAR;
		*ret = BGDMA_STEP_SENT;
		return NULL;
	}
	if (!group) {
		*ret = s->line.left ? BGDMA_STEP_HOP : BGDMA_STEP_DONE;
		return NULL;
	}
	bgdma_line_slots(s);
	*ret = bgdma_group_arrive(group, s);
	if (!*ret) {
		s->line.receiver = group->ctx->who.incarnation;
		s->line.binding = group->serial;
		s->line.given = true;
		return group->ctx;
	}
	bgdma_busy_put(&group->ctx->busy);
	return NULL;
}

/* The whole of it is where it was to go. */
static int bgdma_line_landed(struct bgdma_stream *s, struct bgdma_ctx *target,
			     u32 n)
{
	bgdma_loopback_talked(s->ctx, target);
	s->line.receiver = 0;
	s->deadline = 0;
	if (!s->line.left)
		return BGDMA_STEP_DONE;
	bgdma_stat_add(s->stats.packets, 1);
	bgdma_stat_add(s->stats.bytes_copied, n);
	s->x.done = 0;
	s->x.uncounted = 0;
	return BGDMA_STEP_HOP;
}

/* Whoever takes its copy just now is no member any more: the next one. */
static int bgdma_line_pass_by(struct bgdma_stream *s, u32 bytes)
{
	s->line.receiver = 0;
	s->deadline = 0;
	s->x.done = 0;
	s->x.uncounted = 0;
	if (s->line.left)
		return BGDMA_STEP_HOP;
	s->x.done = le32_to_cpu(s->x.desc.length) - bytes;
	return BGDMA_STEP_DONE;
}

/*
 * A node refused its copy: is it still one that takes any? Who has bound the group anew
 * takes the next. What is remembered may be a moment behind what the node knew.
 */
static bool bgdma_line_gone(struct bgdma_stream *s)
{
	const struct bgdma_group *now;
	u32 serial;

	now = bgdma_group_receiver(s, le32_to_cpu(s->x.desc.dst_rank));
	if (!now)
		return true;
	serial = now->serial;
	bgdma_busy_put(&now->ctx->busy);
	return serial != s->line.binding;
}

/* A piece for the node behind a link that the stream is at. */
static int bgdma_line_send(struct bgdma_stream *s,
			   const struct bgdma_payload *p, u32 bytes)
{
	int ret = bgdma_remote_line(s, p, bytes);

	if (ret == BGDMA_STEP_DONE)
		return bgdma_line_pass_by(s, bytes);
	if (ret != BGDMA_STEP_SENT ||
	    s->x.done + bytes != le32_to_cpu(s->x.desc.length))
		return ret;
	s->line.receiver = 0;
	if (!s->line.left)
		return BGDMA_STEP_DONE;
	s->x.done = 0;
	return BGDMA_STEP_HOP;
}

/**
 * bgdma_line_move() - a piece of a transfer with the deposit bit
 * @s: owned
 * @p: the bytes; NULL: they are in the descriptor
 * @n: so many, or descriptors
 * @bytes: of the transfer that they are
 * @deliver: how it lands
 *
 * Context: inside a slice.
 * Return: as the calls of struct bgdma_fabric_ops, or BGDMA_STEP_HOP.
 */
int bgdma_line_move(struct bgdma_stream *s, const struct bgdma_payload *p,
		    u32 n, u32 bytes, bgdma_deliver_fn *deliver)
{
	u32 length = le32_to_cpu(s->x.desc.length);
	struct bgdma_ctx *target;
	int ret;

	if (s->line.receiver == BGDMA_LINE_FAR)
		return bgdma_line_send(s, p, bytes);
	target = bgdma_line_again(s);
	if (!target) {
		if (unlikely(!bgdma_group_own(s, s->group - 1)))
			return bgdma_line_left(s);
		if (s->x.done)
			return bgdma_line_pass_by(s, bytes);
		s->line.receiver = 0;
		s->deadline = 0;
		s->x.uncounted = 0;
		target = bgdma_line_next(s, &ret);
		if (!target && ret == BGDMA_STEP_SENT)
			return bgdma_line_send(s, p, bytes);
		if (!target) {
			if (ret == BGDMA_STEP_DONE)
				s->x.done = length - bytes;
			return ret;
		}
	}
	ret = deliver(target, s, p, n);
	s->line.given = false;
	if (ret == BGDMA_STEP_DONE && s->x.done + bytes == length)
		ret = bgdma_line_landed(s, target, bytes);
	else if (unlikely(ret > 0) && bgdma_line_gone(s))
		ret = bgdma_line_pass_by(s, bytes);
	bgdma_busy_put(&target->busy);
	return ret;
}
