// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A group that is over for collectives at this process: one has failed here, or the
 * next cannot begin. The others are told behind all that was sent to them, so whoever
 * misses nothing of ours ends as if nothing had happened. Who does miss something
 * stops too, and so all that wait for each other do.
 */
#include <errno.h>
#include <string.h>

#include <asm/byteorder.h>

#include "collective.h"

/*
 * What was put goes another way, and is not to be overtaken; but what stands before it
 * for somebody who cannot be reached is not waited for for ever, nor in a sleep.
 */
static bool puts_wait(const struct bgdma_coll_group *g)
{
	return !direct_landed(g) && coll_now_ns() < g->stop_until;
}

void stop_tell(struct bgdma_coll_group *g)
{
	const __le32 dead = __cpu_to_le32(g->dead);
	struct bgdma_send_attr send = {
		.operation = g->coll->stop_id, .type = BGDMA_COLLECTIVE,
		.word = word_of(g), .data = &dead, .length = sizeof(dead),
	};

	if (g->stop_told < g->size && puts_wait(g)) {
		coll_late(g);
		return;
	}
	for (; g->stop_told < g->size; g->stop_told++) {
		send.dest = g->member[g->stop_told];
		if (g->stop_told == g->rank || g->coll->down[send.dest])
			continue;
		if (bgdma_endpoint_send(g->coll->ep, &send) == -EAGAIN) {
			coll_late(g);
			return;
		}
	}
}

/* What is not fetched by now is not to be. */
static void rendezvous_cancel(struct bgdma_coll_request *r)
{
	uint32_t i;

	for (i = 0; i < r->at; i++)
		if (r->act[i].moving)
			(void)bgdma_rendezvous_cancel(r->group->coll->ep,
						      r->act[i].id);
}

void coll_stop(struct bgdma_coll_group *g, int error)
{
	struct bgdma_coll_request *r;

	/* What has landed of somebody who is gone is no less there. */
	if (g->direct.act)
		(void)direct_work(g);
	if (g->stopped)
		return;
	g->stopped = true;
	if (error && !group_failure(g))
		g->error = error;
	for (r = g->requests; r; r = r->next)
		if (!r->result)
			r->result = group_failure(g);
	pieces_drop(g);
	engines_break(g);
	direct_break(g);
	for (r = g->requests; r; r = r->next)
		rendezvous_cancel(r);
	/* A barrier that others are through may be over for us, too. */
	if (g->made && !g->entered)
		group_give_up(g);
	g->stop_until = coll_now_ns() + FLUSH_NS;
	stop_tell(g);
	bgdma_endpoint_wake(g->coll->ep);
}

void coll_stop_idle(struct bgdma_coll_group *g)
{
	if (g->partner && !g->requests && group_failure(g))
		coll_stop(g, 0);
}

void partner_stop(struct bgdma_coll_group *g, uint32_t number, int error)
{
	struct partner *p = &g->partner[number];

	p->stopped = true;
	if (p->recvs.first || p->sends.first || p->to ||
	    direct_misses(g, number))
		coll_stop(g, error ? error : -EIO);
}

/*
 * Whether he gave up a split that we are in: that has told us all there is. Or we did,
 * who are in no collective of it.
 */
static bool split_is_over(const struct bgdma_coll *coll, uint64_t word,
			  uint32_t rank)
{
	const struct bgdma_coll_group *g = coll->groups;

	while (g && word_of(g) != word)
		g = g->next;
	return g && !g->partner && (g->given_up || g->said[rank] & SAID_GONE);
}

int on_coll_stop(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_coll *coll = arg;
	struct bgdma_coll_group *g;
	uint32_t number, dead;
	__le32 wire;
	int ret;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	if (dead_read(coll, rank, wire, &dead))
		return -EBADMSG;
	if (split_is_over(coll, bgdma_packet_word(packet), rank))
		return 0;
	ret = partner_find(coll, bgdma_packet_word(packet), rank, &g, &number);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	g->broken = true;
	if (g->dead == BGDMA_STRANGER)
		g->dead = dead;
	partner_stop(g, number, 0);
	coll_stop_idle(g);
	return 0;
}
