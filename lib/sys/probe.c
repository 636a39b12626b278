// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Probes: whether chains still go on. A chain of which a refusal dropped a
 * descriptor stands still, and nobody is told.
 *
 * A probe goes around as a chain does: the target sends a descriptor as Tk is to
 * RGQ_PAIRS of the origin, and it brings P, a packet, to RGQ_FETCHES of the
 * target, whose engine gives it to its core. Queues keep the order of what one
 * sender puts in. So when a probe is back, each chain between the two that goes
 * on has moved a portion at least; and one that has not ended after as many
 * rounds as it has portions has lost something.
 *
 * The P's lie in memory of the origin's endpoint, which everybody of the job may
 * fetch from and nobody writes: so no probe is refused, whatever the origin has
 * forgotten meanwhile, and none hurts a chain. They differ in a number, of which
 * the target takes the next one for each probe: of an answer to an earlier one
 * than the last nothing is counted.
 */
#include <errno.h>

#include "internal.h"

/*
 * More than are ever under way to one peer: another is sent before the last is
 * back only if a mark that was sent after it is.
 */
#define PROBES	64

/* In P, and in the descriptor that fetches it: tokens are larger. */
static uint64_t probe_word(uint32_t probe)
{
	return tokens_make(1 + probe % PROBES, 0);
}

static uint64_t probe_at(uint32_t probe)
{
	return probe % PROBES * sizeof(struct bgdma_desc);
}

int probes_create(struct bgdma_endpoint *ep)
{
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *desc;
	uint32_t i;
	int ret;

	ret = bgdma_region_alloc(ep->ctx, PROBES * sizeof(*desc),
				 BGDMA_LOCAL_READ, &ep->probes);
	if (ret)
		return ret;
	desc = bgdma_region_addr(ep->probes);
	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->probe_id;
	for (i = 0; i < PROBES; i++) {
		t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->probe_id,
				       probe_word(i));
		bgdma_desc_local_memfifo(&desc[i], &t);
		bgdma_desc_inline(&desc[i], NULL, 0);
	}
	return 0;
}

static void probe_send(struct bgdma_endpoint *ep, struct peer *peer)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ep->ctx);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc desc;

	peer->probe++;
	peer->probe_out = true;
	peer->probe_order = ep->answers;
	t.dest = info->rank;
	t.dest_ctx = info->ctx;
	t.dest_fifo = RGQ_FETCHES;
	t.length = sizeof(desc);
	t.from.region = peer->probes;
	t.from.offset = probe_at(peer->probe);
	t.cookie = probe_word(peer->probe);
	bgdma_desc_rget(&desc, &t);
	peer->probe_due = rget_send(ep, (uint32_t)(peer - ep->peer), RGQ_PAIRS,
				    0, &desc, 1) == -EAGAIN;
	ep->marks_due |= peer->probe_due;
}

void probe_progress(struct bgdma_endpoint *ep, uint32_t rank)
{
	if (ep->peer[rank].probe_due)
		probe_send(ep, &ep->peer[rank]);
}

void probe_begin(struct bgdma_endpoint *ep, uint32_t rank, uint64_t before)
{
	struct peer *peer = &ep->peer[rank];

	if (!peer->probe_out || peer->probe_order < before)
		probe_send(ep, peer);
}

/*
 * A round is over. One that was told to stop is known to have done so, though its
 * origin, who tells of it, may not make progress. Of another the origin may find
 * which descriptor it was, and tell (SP-3a).
 *
 * Return: there is still a chain in doubt.
 */
static bool round_count(struct bgdma_endpoint *ep, struct peer *peer)
{
	struct request *r, *next;
	bool left = false;

	for (r = peer->chain_first; r; r = next) {
		next = r->chain_next;
		if (!r->doubt || r->suspect)
			continue;
		/* Until all its chains are on their way it cannot end. */
		r->rounds += r->answered;
		if (r->rounds <= r->portions / r->chains + 2ULL)
			left = true;
		else if (r->halted)
			request_fail(ep, r, BGDMA_E_CANCELLED, 0);
		else
			request_suspect(ep, r, BGDMA_E_ABORTED, 0,
					sys_now_ns() + EVENT_NS);
	}
	return left;
}

int on_probe(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	struct peer *peer = &ep->peer[rank];

	/* What has arrived first. */
	rendezvous_progress(ep);
	if (!peer->probe_out ||
	    bgdma_packet_word(packet) != probe_word(peer->probe))
		return 0;
	peer->probe_out = round_count(ep, peer);
	if (peer->probe_out)
		probe_send(ep, peer);
	return 0;
}

void probe_refused(struct bgdma_endpoint *ep, uint32_t rank, uint64_t word)
{
	struct peer *peer = &ep->peer[rank];

	/* A mark follows, and another probe. */
	if (peer->probe_out && word == probe_word(peer->probe))
		round_count(ep, peer);
}
