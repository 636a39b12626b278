// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Modules on the combining network: what they send there is named as all else (DP-3).
 * Collectives have an injection FIFO of their own, for it waits where the tree has no
 * room; messages go with those to the same process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bgdma/network.h>

#include "internal.h"

#define ENTRIES		64U
#define CLOSE_NS	1000000000LL

struct bgdma_network {
	struct bgdma_endpoint *ep;
	struct bgdma_inj_fifo *fifo;
	struct bgdma_counter *ended;	/* collectives that have not */
	uint32_t number, size;
	uint32_t member[];		/* rank in the job, by place */
};

/* ---- Open and close ----------------------------------------------------- */

static struct bgdma_network *network_new(struct bgdma_endpoint *ep,
					 const struct bgdma_network_attr *a)
{
	uint32_t size = a->members ? a->member_count : ep->size, i;
	struct bgdma_network *net;

	net = calloc(1, sizeof(*net) + size * sizeof(net->member[0]));
	if (!net)
		return NULL;
	net->ep = ep;
	net->number = a->number;
	net->size = size;
	for (i = 0; i < size; i++)
		net->member[i] = a->members ? a->members[i] : i;
	return net;
}

/* Of this process; the size of the tree, if it has none or several. */
static uint32_t network_place(const struct bgdma_network *net)
{
	uint32_t i, place = net->size;

	for (i = 0; i < net->size; i++) {
		if (net->member[i] != net->ep->rank)
			continue;
		if (place != net->size)
			return net->size;
		place = i;
	}
	return place;
}

static int network_bind(const struct bgdma_network *net,
			const struct bgdma_network_attr *a)
{
	struct bgdma_group_member *members = calloc(net->size,
						    sizeof(*members));
	struct bgdma_class_attr class = {
		.number = net->number, .instance = a->instance + 1,
		.rank = network_place(net), .members = members,
		.member_count = net->size, .packet = a->packet,
		.window = a->window, .flags = BGDMA_CLASS_P2P,
	};
	uint32_t i;
	int ret;

	if (!members)
		return -ENOMEM;
	for (i = 0; i < net->size; i++) {
		const struct bgdma_peer *peer = &net->ep->peer[net->member[i]].at;

		members[i].rank = peer->node;
		members[i].ctx = peer->ctx;
		members[i].incarnation = peer->incarnation;
	}
	ret = bgdma_class_bind(net->ep->ctx, &class);
	free(members);
	return ret;
}

static int network_objects(struct bgdma_network *net)
{
	const struct bgdma_inj_attr attr = { .entries = ENTRIES };
	int ret;

	ret = bgdma_inj_create(net->ep->ctx, &attr, &net->fifo);
	/* Packets tell of results, and an event of a break: it wakes nobody. */
	return ret ? ret : bgdma_counter_alloc_many(net->ep->ctx,
						    BGDMA_RECEPTION, 1,
						    BGDMA_COUNTER_NO_UNDERFLOW,
						    &net->ended);
}

static void network_free(struct bgdma_network *net)
{
	if (net->fifo)
		bgdma_inj_destroy(net->fifo);
	if (net->ended)
		(void)bgdma_counter_free(net->ended);
	free(net);
}

static int network_check(const struct bgdma_endpoint *ep,
			 const struct bgdma_network_attr *a)
{
	uint32_t i;

	if (ep->state != STATE_COMMITTED)
		return -ENOTCONN;
	if (!a->members)
		return a->member_count ? -EINVAL : 0;
	if (!a->member_count || a->member_count > BGDMA_CLASS_MEMBERS_MAX)
		return -EINVAL;
	for (i = 0; i < a->member_count; i++)
		if (a->members[i] >= ep->size)
			return -EINVAL;
	return 0;
}

int bgdma_network_open_sized(struct bgdma_endpoint *ep,
			     const struct bgdma_network_attr *attr, size_t size,
			     struct bgdma_network **net)
{
	struct bgdma_network_attr a;
	struct bgdma_network *made;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (!ret)
		ret = network_check(ep, &a);
	if (ret)
		return ret;
	made = network_new(ep, &a);
	if (!made)
		return -ENOMEM;
	ret = network_place(made) == made->size ? -EINVAL :
						  network_objects(made);
	if (!ret)
		ret = network_bind(made, &a);
	if (ret) {
		network_free(made);
		return ret;
	}
	*net = made;
	return 0;
}

void bgdma_network_close(struct bgdma_network *net)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	int64_t end = sys_now_ns() + CLOSE_NS;
	unsigned int flags;
	int ret;

	if (!net)
		return;
	flags = bgdma_counter_read(net->ended) || bgdma_network_error(net, NULL) ?
		BGDMA_CLASS_BREAK : 0;
	while ((ret = bgdma_class_unbind(net->ep->ctx, net->number, flags)) ==
	       -EBUSY && sys_now_ns() < end)
		nanosleep(&pause, NULL);
	/* If it is still there it ends with the endpoint. */
	if (ret == -EBUSY)
		(void)bgdma_class_unbind(net->ep->ctx, net->number,
					 BGDMA_CLASS_BREAK);
	network_free(net);
}

uint32_t bgdma_network_error(const struct bgdma_network *net,
			     struct bgdma_record *why)
{
	int code = bgdma_counter_error(net->ended, why);

	if (!code)
		code = bgdma_inj_error(net->fifo, why);
	return (uint32_t)code;
}

/* ---- Messages ----------------------------------------------------------- */

/* With the endpoint locked. */
static int member_send(struct bgdma_network *net, const struct operation *op,
		       const struct bgdma_member_attr *a)
{
	unsigned int way = op->flags & BGDMA_OPERATION_CONTROL ? WAY_CONTROL :
								 WAY_DATA;
	uint64_t length = BGDMA_MEMBER_HEAD + a->length;
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_endpoint *ep = net->ep;
	uint32_t rank = net->member[a->dest];
	const struct sent what = { .op = op, .rank = rank };
	struct channel *ch = channel_of(ep, way, rank);
	const __le32 id = __cpu_to_le32(op->id);
	struct bgdma_desc *desc;
	char *copy;

	if (ep->peer[rank].down)
		return -EHOSTDOWN;
	desc = channel_take(ep, ch, length, &what, &t, &copy);
	if (!desc)
		return -EAGAIN;
	memset(copy, 0, BGDMA_MEMBER_HEAD);
	memcpy(copy, &id, sizeof(id));
	if (a->length)
		memcpy(copy + BGDMA_MEMBER_HEAD, a->data, a->length);
	t.class_number = (uint8_t)net->number;
	t.dest = a->dest;
	t.dest_fifo = (uint16_t)way;
	t.length = (uint32_t)length;
	t.cookie = cookie_make(op->type, 0, a->word);
	bgdma_desc_tree_p2p(desc, &t);
	ep->stats.sent++;
	return a->more ? 0 : channel_submit(ep, ch);
}

int bgdma_network_send_sized(struct bgdma_network *net,
			     const struct bgdma_member_attr *attr, size_t size)
{
	const struct operation *op;
	struct bgdma_member_attr a;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	if (a.dest >= net->size || a.word & ~BGDMA_WORD_MASK ||
	    (a.length && !a.data))
		return -EINVAL;
	if (a.length > BGDMA_MEMBER_MAX)
		return -EMSGSIZE;
	endpoint_lock(net->ep);
	op = operation_find(&net->ep->table[BGDMA_POINT_TO_POINT], a.operation);
	ret = op ? member_send(net, op, &a) : -EINVAL;
	endpoint_unlock(net->ep);
	return ret;
}

/* ---- Collectives -------------------------------------------------------- */

static int combine_check(const struct bgdma_combine_attr *a)
{
	if (a->op != BGDMA_OP_TREE_REDUCE && a->op != BGDMA_OP_TREE_ALLREDUCE &&
	    a->op != BGDMA_OP_TREE_BCAST)
		return -EINVAL;
	if (a->word & ~BGDMA_WORD_MASK)
		return -EINVAL;
	return a->length > BGDMA_LENGTH_MAX ? -EMSGSIZE : 0;
}

/* With the endpoint locked. */
static int combine(struct bgdma_network *net, const struct operation *op,
		   const struct bgdma_combine_attr *a)
{
	const struct bgdma_tree_attr attr = {
		.number = net->number,
		.tag = (uint16_t)op->id,
		.dispatch = a->dispatch,
		.length = a->length,
		.from = a->from,
		.packets = net->ep->rec[op->flags & BGDMA_OPERATION_CONTROL ?
					WAY_CONTROL : WAY_DATA],
		.cookie = cookie_make(op->type, op->id, a->word),
		.sent = a->sent,
		.ended = net->ended,
		.flags = BGDMA_DESC_OPS,
		.more = true,
	};
	int ret;

	if (bgdma_network_error(net, NULL))
		return -EIO;
	bgdma_counter_add(net->ended, 1);
	if (a->op == BGDMA_OP_TREE_BCAST)
		ret = bgdma_tree_broadcast(net->fifo, &attr);
	else if (a->op == BGDMA_OP_TREE_REDUCE)
		ret = bgdma_tree_reduce(net->fifo, &attr);
	else
		ret = bgdma_tree_allreduce(net->fifo, &attr);
	if (ret)
		bgdma_counter_add(net->ended, -1);
	/* No packet tells of room in this FIFO. */
	if (bgdma_unlikely(ret == -EAGAIN)) {
		again_note(net->ep);
		nap_ask(net->ep);
	}
	return ret || a->more ? ret : fifo_submit(net->ep, net->fifo);
}

int bgdma_network_combine_sized(struct bgdma_network *net,
				const struct bgdma_combine_attr *attr,
				size_t size)
{
	const struct operation *op;
	struct bgdma_combine_attr a;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (!ret)
		ret = combine_check(&a);
	if (ret)
		return ret;
	endpoint_lock(net->ep);
	op = operation_find(&net->ep->table[BGDMA_COLLECTIVE], a.operation);
	ret = op ? combine(net, op, &a) : -EINVAL;
	endpoint_unlock(net->ep);
	return ret;
}
