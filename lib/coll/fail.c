// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Deaths, and who gives up for one. All members hear of a death, but it ends the
 * barrier that they are in only where the dead one is missing: who has left a
 * barrier that is over may go. Whoever sees that a barrier cannot end, or that he
 * cannot enter the next, tells those who share a line with him.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <asm/byteorder.h>

#include "collective.h"

int64_t coll_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* ---- What is known ----------------------------------------------------- */

/* Whether a member of the step is gone before it has told so much. */
static bool is_missed(const struct bgdma_coll_group *g, const struct step *step,
		      uint32_t told)
{
	uint32_t i, rank;

	for (i = 0; i < g->size; i++) {
		rank = g->member[i];
		if (i == g->rank || !step_has(g, step, i))
			continue;
		if (g->coll->down[rank] ||
		    (g->said[rank] & SAID_GONE &&
		     (int32_t)(g->gone[rank] - told) < 0))
			return true;
	}
	return false;
}

int step_failure(const struct bgdma_coll_group *g, const struct step *step,
		 uint32_t told)
{
	int ret = group_failure(g);

	if (bgdma_likely(!ret) || g->error)
		return ret;
	return is_missed(g, step, told) ? ret : 0;
}

/* ---- Telling ----------------------------------------------------------- */

static bool on_a_line(const struct bgdma_coll_group *g, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < g->steps; i++)
		if (step_has(g, &g->step[i], number))
			return true;
	return false;
}

/* As many as there is room for; the rest when there is more. */
static void gone_tell(struct bgdma_coll_group *g)
{
	const struct gone_wire wire = {
		.told = __cpu_to_le32(g->told), .dead = __cpu_to_le32(g->dead),
	};
	struct bgdma_send_attr send = {
		.operation = g->coll->gone_id, .type = BGDMA_COLLECTIVE,
		.word = g->serial, .data = &wire, .length = sizeof(wire),
	};

	for (; g->tell < g->size; g->tell++) {
		send.dest = g->member[g->tell];
		if (g->tell == g->rank || g->coll->down[send.dest] ||
		    (g->made && !on_a_line(g, g->tell)))
			continue;
		if (bgdma_endpoint_send(g->coll->ep, &send) == -EAGAIN)
			return;
	}
	g->coll->telling--;
}

static void give_up(struct bgdma_coll_group *g)
{
	if (g->given_up)
		return;
	g->given_up = true;
	g->coll->telling++;
	gone_tell(g);
}

void group_give_up(struct bgdma_coll_group *g)
{
	/* Each hears of a death himself, but not of two who lost each other. */
	if (g->steps || g->error)
		give_up(g);
}

static bool all_told(void *arg)
{
	const struct bgdma_coll_group *g = arg;

	return (!g->given_up || g->tell == g->size) &&
	       (!g->stopped || g->stop_told == g->size);
}

/*
 * Until the others have what we told them, whatever signals come: we may make no
 * progress for long. -EDEADLK: it cannot be, in a callback.
 */
static int told_flush(struct bgdma_coll_group *g)
{
	int64_t left = FLUSH_NS, end = coll_now_ns() + left;
	struct bgdma_endpoint *ep = g->coll->ep;
	int ret;

	do {
		ret = bgdma_endpoint_wait_until(ep, all_told, g, BGDMA_SLEEP,
						left);
		left = end - coll_now_ns();
		if (left < 0)
			left = 0;
	} while (ret == -EINTR && left);
	if (bgdma_unlikely(ret == -ETIMEDOUT)) {
		/* What was put is waited for no more: nobody may come back to this. */
		bgdma_endpoint_lock(ep);
		g->stop_until = 0;
		if (g->stopped)
			stop_tell(g);
		bgdma_endpoint_unlock(ep);
	}
	do {
		ret = bgdma_endpoint_flush(ep, left);
		left = end - coll_now_ns();
	} while (ret == -EINTR && left > 0);
	return ret;
}

int group_over(struct bgdma_coll_group *g, int result)
{
	struct bgdma_endpoint *ep = g->coll->ep;
	bool first;

	bgdma_endpoint_lock(ep);
	first = (g->given_up || g->stopped) && !g->heard;
	bgdma_endpoint_unlock(ep);
	if (first && told_flush(g) != -EDEADLK) {
		bgdma_endpoint_lock(ep);
		g->heard = true;
		bgdma_endpoint_unlock(ep);
	}
	return result;
}

void give_up_flush(struct bgdma_coll_group *g)
{
	struct bgdma_endpoint *ep = g->coll->ep;

	if (g->given_up || g->stopped)
		(void)told_flush(g);
	bgdma_endpoint_lock(ep);
	if (g->given_up && g->tell < g->size)
		g->coll->telling--;
	bgdma_endpoint_unlock(ep);
}

void split_give_up(struct bgdma_coll_group *g, int error)
{
	bgdma_endpoint_lock(g->coll->ep);
	give_up(g);
	/* Who is through is in a collective, perhaps, and waits for us there. */
	if (g->partner)
		coll_stop(g, error);
	bgdma_endpoint_unlock(g->coll->ep);
	give_up_flush(g);
}

/* ---- Hearing ----------------------------------------------------------- */

static void member_fail(struct bgdma_coll_group *g, uint32_t number)
{
	bool first = g->dead == BGDMA_STRANGER;

	if (first)
		g->dead = g->member[number];
	/* The next barrier will not be entered, and may not be tried. */
	if (first && g->made && !g->entered)
		group_give_up(g);
	if (g->partner)
		partner_stop(g, number, -EHOSTDOWN);
	coll_stop_idle(g);
}

void coll_fail(struct bgdma_coll *coll, uint32_t rank)
{
	struct bgdma_coll_group *g;
	uint32_t i;

	coll->down[rank] = true;
	for (g = coll->groups; g; g = g->next)
		for (i = 0; i < g->size; i++)
			if (g->member[i] == rank)
				member_fail(g, i);
	bgdma_endpoint_wake(coll->ep);
}

void group_misses(struct bgdma_coll_group *g, uint32_t number)
{
	if (g->dead == BGDMA_STRANGER)
		g->dead = g->member[number];
}

static struct bgdma_coll_group *group_find(struct bgdma_coll *coll,
					   uint64_t serial)
{
	struct bgdma_coll_group *g;

	for (g = coll->groups; g; g = g->next)
		if (g->serial == serial)
			return g;
	return NULL;
}

int dead_read(const struct bgdma_coll *coll, uint32_t rank, __le32 wire,
	      uint32_t *dead)
{
	*dead = __le32_to_cpu(wire);
	if (*dead != BGDMA_STRANGER && *dead >= bgdma_endpoint_size(coll->ep))
		return -EBADMSG;
	/* Who cannot reach us takes us for it. */
	if (*dead == bgdma_endpoint_rank(coll->ep))
		*dead = rank;
	return 0;
}

void gone_take(struct bgdma_coll_group *g)
{
	g->broken = true;
	if (g->dead == BGDMA_STRANGER)
		g->dead = g->why;
}

int on_gone(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint64_t serial = bgdma_packet_word(packet);
	struct bgdma_coll *coll = arg;
	struct bgdma_coll_group *g = group_find(coll, serial);
	struct gone_wire wire;
	uint32_t dead;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	if (dead_read(coll, rank, wire.dead, &dead))
		return -EBADMSG;
	if (!g)
		return card_gone(coll, rank, serial, dead);
	if (g->said[rank] & SAID_GONE)
		return -EBADMSG;
	/* One who could not learn who is in which group tells all. */
	if (g->size && !(g->said[rank] & SAID_MEMBER))
		return wire.told ? -EBADMSG : 0;
	g->said[rank] |= SAID_GONE;
	g->gone[rank] = __le32_to_cpu(wire.told);
	g->why = dead;
	if (g->said[rank] & SAID_MEMBER)
		gone_take(g);
	if (g->made && !g->entered)
		group_give_up(g);
	coll_stop_idle(g);
	bgdma_endpoint_wake(coll->ep);
	return 0;
}

/* ---- The FIFO ---------------------------------------------------------- */

/* Who waits for something hears of it now, others when they ask. */
static void group_fail(struct bgdma_coll_group *g)
{
	g->error = -EIO;
	if (g->direct.act)
		coll_stop(g, -EIO);
	else
		coll_stop_idle(g);
}

/*
 * What was put names objects of a group, which its receiver has ended: that is the
 * business of this group alone, and of none if we have ended it, too.
 */
static bool put_missed(struct bgdma_coll *coll, const struct bgdma_record *why)
{
	struct bgdma_coll_group *g;

	if (why->code != BGDMA_E_COUNTER && why->code != BGDMA_E_STALE &&
	    why->code != BGDMA_E_REGION && why->code != BGDMA_E_RIGHTS)
		return false;
	for (g = coll->groups; g; g = g->next)
		if (span_has(&g->told_by, why->desc_seq) ||
		    span_has(&g->direct.sent[0], why->desc_seq) ||
		    span_has(&g->direct.sent[1], why->desc_seq))
			break;
	if (g)
		group_fail(g);
	bgdma_endpoint_wake(coll->ep);
	return true;
}

int counter_failure(struct bgdma_coll_group *g, struct bgdma_counter *counter)
{
	struct bgdma_record why;
	int code = bgdma_counter_error(counter, &why);
	uint32_t i;

	if (code == BGDMA_E_TREE_MISMATCH)
		return -EBADMSG;
	if (code_result((unsigned int)code) != -EHOSTDOWN)
		return -EIO;
	for (i = 0; i < g->size; i++) {
		const struct bgdma_peer *peer = peer_of(g, i);

		if (peer->node == why.peer_rank && peer->ctx == why.peer_ctx)
			group_misses(g, i);
	}
	return -EHOSTDOWN;
}

void fifo_failed(struct bgdma_coll *coll)
{
	struct bgdma_coll_group *g;
	struct bgdma_record why;

	(void)bgdma_inj_error(coll->fifo, &why);
	(void)bgdma_inj_clear_error(coll->fifo, 0);
	/* Of whom it was for the endpoint tells us, if there is nobody any more. */
	if (bgdma_endpoint_break(coll->ep, &why) || put_missed(coll, &why))
		return;
	for (g = coll->groups; g; g = g->next)
		group_fail(g);
	bgdma_endpoint_wake(coll->ep);
}

void coll_late(struct bgdma_coll_group *g)
{
	g->late = true;
	g->coll->late = true;
}

/* What found no room for a group: whether it did now. */
static bool late_work(struct bgdma_coll_group *g)
{
	uint32_t i;

	if (!g->late)
		return true;
	g->late = false;
	if (g->stopped) {
		stop_tell(g);
		return !g->late;
	}
	credit_again(g);
	accepts_go(g);
	direct_next(g);
	for (i = 0; i < g->size && !g->stopped; i++)
		sends_go(g, i);
	return !g->late;
}

static int all_late_work(struct bgdma_coll *coll)
{
	struct bgdma_coll_group *g;
	bool all = true;

	if (bgdma_likely(!coll->late))
		return 0;
	coll->late = false;
	room_again(coll);
	for (g = coll->groups; g; g = g->next)
		all &= late_work(g);
	return all && !coll->owing ? 1 : -EAGAIN;
}

int coll_work(void *arg)
{
	struct bgdma_coll *coll = arg;
	struct bgdma_coll_group *g;
	int done = 0, refused, late = all_late_work(coll);

	if (bgdma_unlikely(bgdma_inj_state(coll->fifo) == BGDMA_FIFO_ERROR)) {
		fifo_failed(coll);
		done++;
	}
	if (late > 0)
		done++;
	for (g = coll->groups; g; g = g->next) {
		if (bgdma_unlikely(g->engines.act))
			done += engines_work(g);
		if (bgdma_unlikely(g->direct.act))
			done += direct_work(g);
	}
	if (bgdma_unlikely(coll->refusals || coll->refusing)) {
		coll->refusing = false;
		refused = refusals_work(coll);
		if (refused > 0)
			done += refused;
		else if (!late)
			late = -ENOMEM;
	}
	if (bgdma_likely(!coll->telling))
		return done ? done : late;
	for (g = coll->groups; g; g = g->next) {
		if (!g->given_up || g->tell == g->size)
			continue;
		gone_tell(g);
		done += g->tell == g->size;
	}
	return done ? done : late;
}
