// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Progress: hand packets to callbacks (DP-4), look at events, and tell who waits
 * (sleep.c).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include <bgdma/network.h>

#include "../spi/doorbell.h"
#include "internal.h"

#define BUDGET_DEFAULT	64
#define RELEASE_EVERY	32	/* packets, so that senders need not wait */

const char *bgdma_strtrouble(unsigned int trouble)
{
	static const char *const phrase[BGDMA_TROUBLE_COUNT] = {
		[BGDMA_TROUBLE_UNKNOWN] = "unknown operation",
		[BGDMA_TROUBLE_MALFORMED] = "malformed packet",
		[BGDMA_TROUBLE_STRANGER] = "packet from outside of the job",
		[BGDMA_TROUBLE_CUT] = "incomplete message",
		[BGDMA_TROUBLE_LOST] = "message could not be sent",
		[BGDMA_TROUBLE_PEER_DOWN] = "process left or died, or cannot be reached",
		[BGDMA_TROUBLE_PORTION] = "paced message failed",
	};

	return trouble < BGDMA_TROUBLE_COUNT ? phrase[trouble] :
					       "unknown trouble";
}

void bgdma_endpoint_stats_sized(struct bgdma_endpoint *ep,
				struct bgdma_endpoint_stats *stats, size_t size)
{
	size_t known = size < sizeof(*stats) ? size : sizeof(*stats);

	endpoint_lock(ep);
	memset(stats, 0, size);
	memcpy(stats, &ep->stats, known);
	endpoint_unlock(ep);
}

void endpoint_trouble(struct bgdma_endpoint *ep,
		      const struct bgdma_trouble_info *info)
{
	ep->stats.trouble[info->trouble]++;
	modules_trouble(ep, info);
	if (ep->attr.trouble)
		ep->attr.trouble(ep->attr.arg, info);
}

/*
 * What a process sent before it left comes first: its end is told when all that
 * is in the FIFOs now has been handled.
 */
void endpoint_peer_end(struct bgdma_endpoint *ep, uint32_t rank, uint32_t code)
{
	struct peer *peer = &ep->peer[rank];
	unsigned int way;

	if (peer->down)
		return;
	peer->down = true;
	peer->why = code;
	peer->next_gone = ep->gone;
	ep->gone = peer;
	for (way = 0; way < WAYS; way++)
		peer->gone_after[way] = bgdma_load_acquire(
				&bgdma_rec_view(ep->rec[way])->kern->tail);
}

/* Behind the last of its packets, of those up to there. */
static uint64_t last_of(const struct bgdma_rec_view *v, const struct peer *peer,
			uint64_t end)
{
	const struct bgdma_packet *packet;
	uint64_t at = v->cursor, last = at;

	while (at != end) {
		packet = (const void *)(v->ring + (at & v->mask));
		at += bgdma_packet_size(packet->bytes);
		if (packet->src_rank == peer->at.node &&
		    packet->src_ctx == peer->at.ctx)
			last = at;
	}
	return last;
}

/*
 * Whether a way is past that. Where a callback does not want more now it may be the
 * end that it waits for: then no more than what that process has sent is waited for.
 */
static bool way_past(struct bgdma_endpoint *ep, unsigned int way,
		     struct peer *peer)
{
	const struct bgdma_rec_view *v = bgdma_rec_view(ep->rec[way]);
	uint64_t *after = &peer->gone_after[way];

	if (v->cursor - *after < UINT64_MAX / 2)
		return true;
	if (!ep->deferred[way] || peer->searched[way])
		return false;
	peer->searched[way] = true;
	*after = last_of(v, peer, *after);
	return v->cursor == *after;
}

/* Nothing tells of the end of a message any more. */
static void gone_settle(struct bgdma_endpoint *ep, struct peer *peer)
{
	peer->settled = true;
	/* What has arrived first: it may be all there, since it was last looked at. */
	rendezvous_progress(ep);
	requests_fail(ep, (uint32_t)(peer - ep->peer));
}

static void gone_tell(struct bgdma_endpoint *ep, struct peer *peer)
{
	const struct bgdma_trouble_info info = {
		.trouble = BGDMA_TROUBLE_PEER_DOWN, .code = peer->why,
		.rank = (uint32_t)(peer - ep->peer),
		.node = peer->at.node, .ctx = peer->at.ctx,
	};

	endpoint_forget(ep, peer);
	endpoint_trouble(ep, &info);
}

/*
 * Messages end behind the last control packet, for which nobody waits; that the process
 * has gone is told behind all that it sent. How many steps.
 */
static unsigned int gone_progress(struct bgdma_endpoint *ep)
{
	struct peer *peer, *list = ep->gone;
	unsigned int n = 0;

	if (bgdma_likely(!list))
		return 0;
	/* Callbacks may find others. */
	ep->gone = NULL;
	while ((peer = list)) {
		list = peer->next_gone;
		if (!peer->settled && way_past(ep, WAY_CONTROL, peer)) {
			gone_settle(ep, peer);
			n++;
		}
		if (peer->settled && way_past(ep, WAY_DATA, peer)) {
			gone_tell(ep, peer);
			n++;
			continue;
		}
		peer->next_gone = ep->gone;
		ep->gone = peer;
	}
	return n;
}

/* ---- Packets (DP-4) ---------------------------------------------------- */

/*
 * DP-3: of a message on the combining network the payload begins with the identifier, of
 * which nothing but that is read here.
 */
static uint32_t member_id(const struct bgdma_packet *packet)
{
	__le32 id = 0;

	if (packet->bytes >= BGDMA_MEMBER_HEAD)
		memcpy(&id, bgdma_packet_data(packet), sizeof(id));
	return __le32_to_cpu(id);
}

static void packet_trouble(struct bgdma_endpoint *ep,
			   const struct bgdma_packet *packet, uint32_t rank,
			   enum bgdma_trouble trouble)
{
	bool on_tree = packet->type == BGDMA_OP_TREE_P2P;
	const struct bgdma_trouble_info info = {
		.trouble = trouble,
		.rank = rank,
		.node = packet->src_rank,
		.ctx = packet->src_ctx,
		.type = on_tree ? BGDMA_POINT_TO_POINT : packet_type(packet),
		.operation = on_tree ? member_id(packet) : packet_id(packet),
		.code = trouble == BGDMA_TROUBLE_CUT ? BGDMA_E_ABORTED :
						       BGDMA_OK,
		.message = packet->msg_id,
	};

	endpoint_trouble(ep, &info);
}

/*
 * Each operation is heard in its own way only: one that may be refused for now would
 * hold up those for which nobody is to wait.
 */
static const struct operation *
operation_of(struct bgdma_endpoint *ep, unsigned int way, uint32_t type,
	     uint32_t id)
{
	const struct operation *op = operation_find(&ep->table[type], id);

	return op && !(op->flags & BGDMA_OPERATION_CONTROL) ==
		     (way == WAY_DATA) ? op : NULL;
}

/* Most often that of the packet before. */
static inline const struct operation *
packet_operation(struct bgdma_endpoint *ep, unsigned int way,
		 const struct bgdma_packet *packet)
{
	uint64_t key = packet_key(packet) | (uint64_t)way << KEY_WAY_SHIFT;

	if (bgdma_unlikely(packet->type == BGDMA_OP_TREE_P2P))
		return operation_of(ep, way, BGDMA_POINT_TO_POINT,
				    member_id(packet));
	if (bgdma_unlikely(key != ep->last_key)) {
		ep->last_op = operation_of(ep, way, packet_type(packet),
					   packet_id(packet));
		ep->last_key = key;
	}
	return ep->last_op;
}

/* Return: 0: done with it; -EAGAIN: not yet. */
static int packet_dispatch(struct bgdma_endpoint *ep, unsigned int way,
			   const struct bgdma_packet *packet)
{
	uint32_t rank = endpoint_who(ep, packet->src_rank, packet->src_ctx);
	const struct operation *op;
	int ret;

	if (bgdma_unlikely(rank == BGDMA_STRANGER)) {
		if (endpoint_is_broken(ep, packet->src_rank, packet->src_ctx))
			return 0;
		packet_trouble(ep, packet, rank, BGDMA_TROUBLE_STRANGER);
		return 0;
	}
	op = packet_operation(ep, way, packet);
	if (bgdma_unlikely(!op)) {
		packet_trouble(ep, packet, rank, BGDMA_TROUBLE_UNKNOWN);
		return 0;
	}
	ret = op->packet(op->arg, rank, packet);
	if (bgdma_unlikely(ret == -EAGAIN)) {
		ep->stats.deferred++;
		return ret;
	}
	ep->stats.packets++;
	if (bgdma_unlikely(ret == -EBADMSG))
		packet_trouble(ep, packet, rank, BGDMA_TROUBLE_MALFORMED);
	if (bgdma_unlikely(packet->flags & BGDMA_PACKET_ERROR))
		packet_trouble(ep, packet, rank, BGDMA_TROUBLE_CUT);
	return 0;
}

static unsigned int way_progress(struct bgdma_endpoint *ep, unsigned int way,
				 unsigned int budget)
{
	struct bgdma_rec_fifo *rec = ep->rec[way];
	const struct bgdma_packet *packet;
	bool refused = ep->deferred[way];
	unsigned int n = 0;

	ep->deferred[way] = false;
	while (n < budget && (packet = bgdma_rec_peek(rec))) {
		if (packet_dispatch(ep, way, packet)) {
			ep->deferred[way] = true;
			break;
		}
		bgdma_rec_next(rec);
		if (++n % RELEASE_EVERY == 0)
			bgdma_rec_release(rec);
	}
	if (n % RELEASE_EVERY)
		bgdma_rec_release(rec);
	/* Who went to sleep while it was refused would not hear of the next. */
	if (bgdma_unlikely(refused) && !ep->deferred[way])
		sleeper_wake(ep);
	return n;
}

/* ---- Events ------------------------------------------------------------ */

/*
 * Their kernel is gone, which could not tell who was there. Of before the commit it
 * was others, or the kernel lives, and who is there may yet hear that we are gone: he
 * tells us.
 */
static void event_nodes_down(struct bgdma_endpoint *ep, uint64_t first,
			     uint64_t last)
{
	const struct bgdma_ctx_view *view = bgdma_ctx_view(ep->ctx);
	uint32_t rank;

	if (bgdma_load_relaxed(&view->user->events_head) < ep->events_before)
		return;
	for (rank = 0; ep->peer && rank < ep->size; rank++) {
		const struct bgdma_peer *at = &ep->peer[rank].at;

		if (at->node < first || at->node > last)
			continue;
		if (ep->peer[rank].down)
			word_drop(ep, rank);
		/* Some may not be known yet. */
		if (endpoint_who(ep, at->node, at->ctx) == rank)
			peer_lose(ep, rank);
	}
}

/* The one that it is about may be one that we broke with. */
static void event_broken_down(struct bgdma_endpoint *ep,
			      const struct bgdma_event *event)
{
	const struct bgdma_peer *at;
	uint32_t rank;

	for (rank = 0; rank < ep->size; rank++) {
		at = &ep->peer[rank].at;
		if (ep->peer[rank].down && at->node == event->peer_rank &&
		    at->ctx == event->peer_ctx &&
		    at->incarnation == event->peer_incarnation)
			word_drop(ep, rank);
	}
}

static void event_peer_down(struct bgdma_endpoint *ep,
			    const struct bgdma_event *event)
{
	uint32_t rank;

	if (event->peer_ctx == BGDMA_CTX_ANY) {
		event_nodes_down(ep, event->peer_rank, event->bound);
		return;
	}
	if (bgdma_unlikely(ep->words.due || words_out(ep)))
		event_broken_down(ep, event);
	rank = endpoint_who(ep, event->peer_rank, event->peer_ctx);
	/* Who had the place before, or somebody who is not of the job. */
	if (rank == BGDMA_STRANGER ||
	    ep->peer[rank].at.incarnation != event->peer_incarnation)
		return;
	endpoint_peer_down(ep, rank);
}

/* A message broke off, and there was no room to say so in its FIFO. */
static void event_cut(struct bgdma_endpoint *ep,
		      const struct bgdma_event *event)
{
	const struct bgdma_trouble_info info = {
		.trouble = BGDMA_TROUBLE_CUT,
		.rank = endpoint_who(ep, event->peer_rank, event->peer_ctx),
		.node = event->peer_rank,
		.ctx = event->peer_ctx,
		.code = event->code,
		.message = (uint32_t)event->transfer_id,
	};

	endpoint_trouble(ep, &info);
}

static void event_refused(struct bgdma_endpoint *ep,
			  const struct bgdma_event *event)
{
	uint32_t rank = endpoint_who(ep, event->peer_rank, event->peer_ctx);

	if (rank != BGDMA_STRANGER)
		rendezvous_refused(ep, rank, event);
}

static void event_handle(struct bgdma_endpoint *ep,
			 const struct bgdma_event *event)
{
	const struct bgdma_record why = {
		.code = event->code, .peer_rank = event->peer_rank,
		.peer_ctx = event->peer_ctx, .offset = event->offset,
	};

	/* Of whichever object of ours. */
	if (bgdma_unlikely(code_is_outage(event->code)))
		(void)peers_break(ep, &why);
	if (event->type == BGDMA_EVENT_PEER_DOWN)
		event_peer_down(ep, event);
	else if (event->type == BGDMA_EVENT_FIFO_ERROR &&
		 event->kind == BGDMA_KIND_REC_FIFO)
		event_cut(ep, event);
	else if (event->type == BGDMA_EVENT_FIFO_ERROR &&
		 event->kind == BGDMA_KIND_INJ_FIFO)
		channel_event(ep, event);
	else if (event->type == BGDMA_EVENT_REFUSED ||
		 event->type == BGDMA_EVENT_OFFENDER)
		event_refused(ep, event);
}

/*
 * The ring keeps some room from what peers cause, as deaths. Of a failure an event is
 * lost only where all of it was full, as it may have been since we began to take some.
 */
uint64_t events_crammed(const struct bgdma_endpoint *ep)
{
	const struct bgdma_kern_ctl *kern = bgdma_ctx_view(ep->ctx)->kern;
	uint64_t lost = bgdma_load_acquire(&kern->events_lost);

	if (lost == ep->events_lost ||
	    bgdma_load_relaxed(&kern->events_tail) - ep->events_from <
	    ep->events_room)
		return ep->events_crammed;
	return lost;
}

unsigned int events_progress(struct bgdma_endpoint *ep)
{
	const struct bgdma_ctx_view *view = bgdma_ctx_view(ep->ctx);
	/* Those that are there now: peers can make others as fast as we take them. */
	uint32_t left = bgdma_events_pending(ep->ctx);
	uint64_t before = ep->events_crammed, lost;
	const struct bgdma_event *event;
	unsigned int n = 0;

	if (bgdma_unlikely(left))
		ep->events_from = bgdma_load_relaxed(&view->user->events_head);
	while (left-- && (event = bgdma_event_peek(ep->ctx))) {
		event_handle(ep, event);
		modules_event(ep, event);
		bgdma_event_release(ep->ctx);
		n++;
	}
	/* Now that there is room for those that will tell again. */
	lost = bgdma_events_lost(ep->ctx);
	if (bgdma_unlikely(lost != ep->events_lost)) {
		ep->events_crammed = events_crammed(ep);
		ep->events_lost = lost;
		rendezvous_missed(ep);
		modules_event(ep, NULL);
		n++;
	}
	/* Of some there may have been no room for the event. */
	return n + channels_repair(ep, before);
}

/* ---- Progress ---------------------------------------------------------- */

/*
 * Another thread's progress may leave something for later, of which nothing tells the
 * endpoint's own, that has looked when to wake up before. @due: words, before
 */
static inline bool is_left(const struct bgdma_endpoint *ep, uint32_t due)
{
	return ep->work_late || (ep->threaded && (ep->examines || ep->marks_due ||
						  ep->words.due > due));
}

int progress_locked(struct bgdma_endpoint *ep, unsigned int budget)
{
	uint32_t due = ep->words.due;
	unsigned int n;

	if (ep->inside)
		return 0;
	if (!budget)
		budget = BUDGET_DEFAULT;
	ep->inside = true;
	n = way_progress(ep, ep->data_first ? WAY_DATA : WAY_CONTROL, budget);
	if (n < budget)
		n += way_progress(ep, ep->data_first ? WAY_CONTROL : WAY_DATA,
				  budget - n);
	/* A flood of the one kind holds up the other for one budget. */
	ep->data_first = n == budget && !ep->data_first;
	/* Mostly there is nothing of these: that is not to cost a call. */
	if (ep->requests || ep->marks_due)
		n += rendezvous_progress(ep);
	n += events_progress(ep);
	if (bgdma_unlikely(ep->examines))
		n += examine_progress(ep);
	if (bgdma_unlikely(ep->words.due || words_out(ep)))
		n += words_progress(ep);
	n += gone_progress(ep);
	if (ep->ended.first)
		n += requests_ended(ep);
	if (bgdma_unlikely(ep->unsettled))
		pools_settle(ep);
	n += modules_work(ep);
	/* Who sleeps does not know that it is to be looked at again soon. */
	if (bgdma_unlikely(is_left(ep, due)) && !ep->napping)
		sleeper_wake(ep);
	ep->inside = false;
	if (!n) {
		/* Who only looks, again and again, never comes to sleep.c. */
		(void)ctx_ring_again(ep->ctx);
		return bgdma_ctx_dead(ep->ctx) ? -ENODEV : 0;
	}
	ep->handled += n;
	waiters_wake(ep);
	return (int)n;
}

bool endpoint_inside(struct bgdma_endpoint *ep, bool inside)
{
	bool was = ep->inside;

	ep->inside = inside;
	return was;
}

int bgdma_endpoint_progress(struct bgdma_endpoint *ep, unsigned int budget)
{
	int ret;

	if (ep->state != STATE_COMMITTED)
		return -ENOTCONN;
	endpoint_lock(ep);
	ret = progress_locked(ep, budget);
	endpoint_unlock(ep);
	return ret;
}

/* ---- The endpoint's own thread ----------------------------------------- */

static void *progress_thread(void *arg)
{
	struct bgdma_endpoint *ep = arg;
	int ret;

	endpoint_lock(ep);
	while (!ep->stop && ep->state != STATE_COMMITTED)
		(void)fair_sleep(&ep->lock, INT64_MAX);
	while (!ep->stop) {
		ret = progress_locked(ep, 0);
		if (ret < 0)
			break;
		if (ret > 0) {
			/* Those who wait for the lock are not to starve. */
			endpoint_unlock(ep);
			endpoint_lock(ep);
			continue;
		}
		ret = kernel_sleep(ep, -1);
		/* For lack of memory it does not even sleep: it may have some next time. */
		if (ret && ret != -EINTR && ret != -EAGAIN && ret != -ENOMEM)
			break;
	}
	/* Who waits must see for himself that there is no more progress. */
	ep->threaded = false;
	fair_wake(&ep->lock);
	endpoint_unlock(ep);
	return NULL;
}

/*
 * The process's signals are for its own threads: handlers do not expect the endpoint's
 * lock, and who blocks one everywhere, to wait for it, does not know of this thread.
 * But what a callback does wrong, or has trapped, is told where it is done.
 */
static int thread_create(struct bgdma_endpoint *ep)
{
	static const int own[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT,
	};
	sigset_t all, was;
	unsigned int i;
	int ret;

	sigfillset(&all);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	ret = -pthread_create(&ep->thread, NULL, progress_thread, ep);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return ret;
}

int progress_start(struct bgdma_endpoint *ep)
{
	int ret;

	if (ep->attr.progress != BGDMA_PROGRESS_THREAD)
		return 0;
	endpoint_lock(ep);
	ret = thread_create(ep);
	ep->threaded = !ret;
	ep->has_thread = !ret;
	endpoint_unlock(ep);
	return ret;
}

void progress_begin(struct bgdma_endpoint *ep, bool committed)
{
	endpoint_lock(ep);
	if (committed)
		ep->state = STATE_COMMITTED;
	fair_wake(&ep->lock);
	endpoint_unlock(ep);
	if (!committed)
		progress_stop(ep);
}

void progress_stop(struct bgdma_endpoint *ep)
{
	if (!ep->has_thread)
		return;
	endpoint_lock(ep);
	ep->stop = true;
	fair_wake(&ep->lock);
	sleeper_wake(ep);
	endpoint_unlock(ep);
	pthread_join(ep->thread, NULL);
	ep->has_thread = false;
}
