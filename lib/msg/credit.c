// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Credit: what each process may take of another, so that what nobody receives is
 * bounded and gets in nobody's way.
 *
 * - Memory for eager messages, until they are received. Who has none announces
 *   even short messages, of which less is kept.
 * - Messages that are announced, until they are received. Who has none waits.
 * - Room in the reception FIFO, until messages are looked at. Who has none waits:
 *   so a process that makes no progress fills no data FIFO, and holds up nothing
 *   in the channels of its senders but what is for itself.
 *
 * It is given back half a window at a time; memory and what is announced also
 * when nothing more could be announced, since a message that waits may be what is
 * received next.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define MESSAGES_MIN	4U	/* that a peer has room for at least */
#define ANNOUNCED_MAX	32768U	/* no process has more under way */

/* Of a credit. */
struct credit_wire {
	__le64 memory;
	__le64 fifo;
	__le32 announced;
	__le32 resv;
};

_Static_assert(sizeof(struct credit_wire) <= BGDMA_INLINE_MAX, "inline");

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value < least ? least : value;
}

/* The rest of our share of the FIFO is for collectives, see lib/coll/credit.c. */
void window_make(struct bgdma_msg *msg)
{
	uint64_t announced = msg->attr.announced / msg->size, part;
	struct credit *window = &msg->window;

	window->memory = at_least(msg->attr.unexpected_bytes / msg->size,
				  MESSAGES_MIN * MESSAGE_COST);
	window->fifo = at_least(bgdma_endpoint_share(msg->ep) / 3 * 2,
				MESSAGES_MIN * MESSAGE_COST);
	announced = at_least(announced, MESSAGES_MIN);
	window->announced = announced < ANNOUNCED_MAX ? (uint32_t)announced :
							ANNOUNCED_MAX;
	/* One message is not to be all of it. */
	part = window->memory < window->fifo ? window->memory : window->fifo;
	part = part / MESSAGES_MIN - MESSAGE_COST;
	if (msg->attr.eager_bytes > part)
		msg->attr.eager_bytes = (uint32_t)part;
}

/* A peer gives back what we had taken. */
int on_credit(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_msg *msg = arg;
	struct msg_peer *peer = &msg->peer[rank];
	struct credit_wire wire;
	struct credit got;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	if (peer->down)
		return 0;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	got.memory = __le64_to_cpu(wire.memory);
	got.fifo = __le64_to_cpu(wire.fifo);
	got.announced = __le32_to_cpu(wire.announced);
	if (got.memory > msg->window.memory - peer->credit.memory ||
	    got.fifo > msg->window.fifo - peer->credit.fifo ||
	    got.announced > msg->window.announced - peer->credit.announced)
		return -EBADMSG;
	peer->credit.memory += got.memory;
	peer->credit.fifo += got.fifo;
	peer->credit.announced += got.announced;
	if (peer->sends.first)
		peer_due(msg, peer);
	return 0;
}

static bool is_due(const struct bgdma_msg *msg, const struct msg_peer *peer)
{
	return peer->owed.memory >= msg->window.memory / 2 ||
	       peer->owed.fifo >= msg->window.fifo / 2 ||
	       peer->owed.announced >= msg->window.announced / 2 ||
	       ((peer->owed.announced || peer->owed.memory) &&
		peer->held.announced == msg->window.announced);
}

int credit_send(struct bgdma_msg *msg, struct msg_peer *peer)
{
	const struct credit_wire wire = {
		.memory = __cpu_to_le64(peer->owed.memory),
		.fifo = __cpu_to_le64(peer->owed.fifo),
		.announced = __cpu_to_le32(peer->owed.announced),
	};
	const struct bgdma_send_attr send = {
		.operation = msg->give, .dest = (uint32_t)(peer - msg->peer),
		.data = &wire, .length = sizeof(wire),
	};
	int ret;

	if (!is_due(msg, peer) || peer->down)
		return 0;
	ret = bgdma_endpoint_send(msg->ep, &send);
	if (ret)
		return ret == -EAGAIN ? ret : 0;
	peer->held.memory -= peer->owed.memory;
	peer->held.announced -= peer->owed.announced;
	peer->owed = (struct credit){ 0 };
	return 0;
}

void credit_due(struct bgdma_msg *msg, struct msg_peer *peer)
{
	if (credit_send(msg, peer))
		peer_due(msg, peer);
}
