// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Endpoints: a context with its FIFOs, and where the others are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../secret.h"
#include "internal.h"
#include "option.h"

#define CHANNELS_DEFAULT	4
#define ENTRIES_DEFAULT		256
#define COPY_DEFAULT		(256U << 10)
#define COPY_MIN		(64U << 10)
#define COPY_MAX		(64U << 20)
#define CONTROL_DEFAULT		(64U << 10)
#define DATA_DEFAULT		(1U << 20)
#define DATA_EACH		(64U << 10)
#define COUNTERS_DEFAULT	64
#define SPARE			16	/* FIFOs for modules and the user */
#define SPARE_COUNTERS		128	/* or, if it is more, for each process one */
#define SPARE_MORE		64	/* and these; if there can be so many */
#define EVENTS_MIN		64
#define UNDER_WAY_MAX		64	/* over links, of each injection FIFO */
#define RGQ_SENDERS_MAX		1024
#define RGQ_TIMEOUT_MS		3600000	/* death ends a wait, not time */
#define FLUSH_NS		1000000000LL
#define FLUSH_LOOK_NS		10000000LL	/* at all channels */
#define PARTITION_DEFAULT	"bgdma"

static void or_default(uint32_t *value, uint32_t value_default)
{
	if (!*value)
		*value = value_default;
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static uint32_t data_default(uint32_t size)
{
	uint32_t bytes = DATA_DEFAULT;

	while (bytes < BGDMA_REC_BYTES_MAX && bytes / DATA_EACH < size)
		bytes *= 2;
	return bytes;
}

/* The first of each kind is for all that have none of their own. */
static int counters_complete(struct bgdma_endpoint_attr *a)
{
	const struct option options[] = {
		{ "BGDMA_COUNTERS", &a->inj_counters, COUNTERS_DEFAULT },
		{ "BGDMA_COUNTERS", &a->rec_counters, COUNTERS_DEFAULT },
	};
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		ret = option_complete(&options[i]);
		if (ret)
			return ret;
		if (!*options[i].value ||
		    *options[i].value > BGDMA_COUNTERS_MAX - SPARE)
			return -EINVAL;
	}
	return a->counters > BGDMA_COUNTERS_SHARED ? -EINVAL : 0;
}

/* Fill in what the caller left open. */
static int attr_complete(struct bgdma_endpoint *ep)
{
	struct bgdma_endpoint_attr *a = &ep->attr;
	const struct option per_node = { "BGDMA_PER_NODE", &a->per_node, 1 };

	if (!a->job || a->progress > BGDMA_PROGRESS_THREAD ||
	    a->threads > BGDMA_THREADS_MANY || a->channels > CHANNELS_MAX)
		return -EINVAL;
	ep->rank = bgdma_job_rank(a->job);
	ep->size = bgdma_job_size(a->job);
	if (!a->partition)
		a->partition = getenv("BGDMA_PARTITION");
	if (!a->partition)
		a->partition = PARTITION_DEFAULT;
	if (option_complete(&per_node) || !a->per_node)
		return -EINVAL;
	if (!a->fixed_node)
		a->node = ep->rank / a->per_node;
	or_default(&a->channels, CHANNELS_DEFAULT);
	if (a->channels > ep->size)
		a->channels = ep->size;
	or_default(&a->entries, ENTRIES_DEFAULT);
	or_default(&a->copy_bytes, COPY_DEFAULT);
	if (!power_of_two(a->copy_bytes) || a->copy_bytes < COPY_MIN ||
	    a->copy_bytes > COPY_MAX)
		return -EINVAL;
	or_default(&a->control_bytes, CONTROL_DEFAULT);
	or_default(&a->data_bytes, data_default(ep->size));
	ep->many = a->threads == BGDMA_THREADS_MANY ||
		   a->progress == BGDMA_PROGRESS_THREAD;
	return counters_complete(a);
}

/* As many more as there can be. */
static uint32_t with_spare(const struct bgdma_endpoint *ep, uint32_t counters)
{
	uint64_t spare = (uint64_t)ep->size + SPARE_MORE;

	if (spare < SPARE_COUNTERS)
		spare = SPARE_COUNTERS;
	return counters + spare > BGDMA_COUNTERS_MAX ?
	       BGDMA_COUNTERS_MAX : counters + (uint32_t)spare;
}

static int context_create(struct bgdma_endpoint *ep)
{
	const struct bgdma_endpoint_attr *a = &ep->attr;
	struct bgdma_attach_attr attach = {
		.partition = a->partition,
		.rank = a->node,
		.inj_fifos = channels_count(ep) + 1 + SPARE,
		.rget_queues = RGQS + SPARE,
		.inj_counters = with_spare(ep, a->inj_counters),
		.rec_counters = with_spare(ep, a->rec_counters),
		.events = EVENTS_MIN,
		.watch = true,
	};

	/*
	 * Room to hear of the death of all others at the same time, and of the
	 * failure of all that the injection FIFOs have under way.
	 */
	while (attach.events < 2 * ep->size +
			       attach.inj_fifos * UNDER_WAY_MAX &&
	       attach.events < BGDMA_EVENTS_MAX)
		attach.events *= 2;
	ep->events_room = attach.events;
	return bgdma_attach(&ep->ctx, &attach);
}

static int fifos_create(struct bgdma_endpoint *ep)
{
	const uint32_t bytes[WAYS] = {
		[WAY_CONTROL] = ep->attr.control_bytes,
		[WAY_DATA] = ep->attr.data_bytes,
	};
	struct bgdma_rgq_attr rgq = {
		.quota = RGQ_QUOTA,
		.senders = ep->size < RGQ_SENDERS_MAX ? ep->size :
							RGQ_SENDERS_MAX,
		.timeout_ms = RGQ_TIMEOUT_MS,
		.fixed_id = true,
	};
	uint32_t i;
	int ret;

	for (i = 0; i < WAYS; i++) {
		const struct bgdma_rec_attr attr = {
			.bytes = bytes[i], .fixed_id = true, .id = i,
		};

		ret = bgdma_rec_create(ep->ctx, &attr, &ep->rec[i]);
		if (ret)
			return ret;
	}
	for (rgq.id = 0; rgq.id < RGQS; rgq.id++) {
		ret = bgdma_rgq_create(ep->ctx, &rgq, &ep->rgq[rgq.id]);
		if (ret)
			return ret;
	}
	ret = bgdma_region_alloc(ep->ctx, (uint64_t)channels_count(ep) *
				 ep->attr.copy_bytes, BGDMA_LOCAL_READ,
				 &ep->copies);
	for (i = 0; !ret && i < channels_count(ep); i++)
		ret = channel_create(ep, &ep->channel[i], i);
	return ret ? ret : words_create(ep);
}

/* Not its address, which another may have later. */
static uint64_t serial_new(void)
{
	static uint64_t serials;

	return __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
}

int bgdma_endpoint_create_sized(struct bgdma_endpoint **epp,
				const struct bgdma_endpoint_attr *attr,
				size_t size)
{
	struct bgdma_endpoint *ep = calloc(1, sizeof(*ep));
	int ret;

	if (!ep)
		return -ENOMEM;
	ep->serial = serial_new();
	ep->secret = secret_new(ep) | 1;
	ep->last.rank = BGDMA_STRANGER;
	ep->last_key = UINT64_MAX;	/* of no packet */
	ep->wake_fd = -1;
	queue_init(&ep->ended);
	queue_init(&ep->parked);
	queue_init(&ep->suspects);
	ret = fair_init(&ep->lock);
	if (ret) {
		free(ep);
		return ret;
	}
	ret = attr_copy(&ep->attr, sizeof(ep->attr), attr, size);
	if (!ret)
		ret = attr_complete(ep);
	if (!ret) {
		ep->channel = calloc(channels_count(ep), sizeof(*ep->channel));
		ep->peer = calloc(ep->size, sizeof(*ep->peer));
		if (!ep->channel || !ep->peer)
			ret = -ENOMEM;
	}
	if (!ret)
		ret = wake_create(ep);
	if (!ret)
		ret = context_create(ep);
	if (!ret)
		ret = pacing_complete(ep);
	if (!ret)
		ret = fifos_create(ep);
	if (!ret)
		ret = pool_create(ep, BGDMA_INJECTION, ep->attr.inj_counters);
	if (!ret)
		ret = pool_create(ep, BGDMA_RECEPTION, ep->attr.rec_counters);
	if (!ret)
		ret = rendezvous_register(ep);
	if (!ret)
		ret = probes_create(ep);
	if (ret) {
		bgdma_endpoint_destroy(ep);
		return ret;
	}
	*epp = ep;
	return 0;
}

/*
 * A channel that is not empty, or NULL. What is behind a message to the dead may be to
 * others: all go on.
 */
static struct channel *channel_left(struct bgdma_endpoint *ep)
{
	struct channel *ch, *left = NULL;
	uint32_t i;

	for (i = 0; i < channels_count(ep); i++) {
		ch = &ep->channel[i];
		if (bgdma_inj_error(ch->fifo, NULL))
			(void)bgdma_inj_clear_error(ch->fifo, 0);
		(void)bgdma_inj_submit(ch->fifo);
		if (bgdma_inj_done(ch->fifo) < bgdma_inj_next(ch->fifo))
			left = ch;
	}
	return left;
}

/* Let what is in the channels go, as far as its targets take it in time. */
static void channels_flush(struct bgdma_endpoint *ep)
{
	int64_t end = sys_now_ns() + FLUSH_NS;
	struct channel *ch;
	int ret = 0;

	while (ret != -ENODEV && sys_now_ns() < end &&
	       (ch = channel_left(ep)))
		ret = bgdma_inj_wait(ch->fifo, bgdma_inj_next(ch->fifo),
				     BGDMA_SPIN_THEN_SLEEP, FLUSH_LOOK_NS);
}

void bgdma_endpoint_destroy(struct bgdma_endpoint *ep)
{
	uint32_t i;

	if (!ep)
		return;
	progress_stop(ep);
	if (ep->state == STATE_COMMITTED)
		channels_flush(ep);
	/* Whatever a callback asks for from now on is refused. */
	ep->state = STATE_CLOSED;
	for (i = 0; ep->channel && i < channels_count(ep); i++)
		channel_destroy(&ep->channel[i]);
	bgdma_detach(ep->ctx);
	/* Nobody moves anything any more: the memory can be given back. */
	requests_destroy(ep);
	modules_release(ep);
	pool_destroy(&ep->pool[BGDMA_INJECTION]);
	pool_destroy(&ep->pool[BGDMA_RECEPTION]);
	wake_destroy(ep);
	registry_free(ep);
	fair_destroy(&ep->lock);
	free(ep->channel);
	for (i = 0; ep->peer && i < ep->size; i++)
		free(ep->peer[i].stops);
	free(ep->peer);
	free(ep->who);
	free(ep);
}

struct bgdma_ctx *bgdma_endpoint_ctx(const struct bgdma_endpoint *ep)
{
	return ep->ctx;
}

uint32_t bgdma_endpoint_number(const struct bgdma_endpoint *ep)
{
	return ep->attr.number;
}

uint32_t bgdma_endpoint_rank(const struct bgdma_endpoint *ep)
{
	return ep->rank;
}

uint32_t bgdma_endpoint_size(const struct bgdma_endpoint *ep)
{
	return ep->size;
}

/* Before the end of the ring so much can be left that no packet fits into. */
uint64_t bgdma_endpoint_share(const struct bgdma_endpoint *ep)
{
	uint64_t lost = 2ULL * BGDMA_PACKET_MAX;

	return ep->attr.data_bytes > lost ?
	       (ep->attr.data_bytes - lost) / ep->size : 0;
}

const struct bgdma_peer *bgdma_endpoint_peer(const struct bgdma_endpoint *ep,
					     uint32_t rank)
{
	if (ep->state != STATE_COMMITTED || rank >= ep->size)
		return NULL;
	return &ep->peer[rank].at;
}

/* ---- Who is who -------------------------------------------------------- */

static struct who *who_slot(struct bgdma_endpoint *ep, uint64_t key)
{
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32);
	struct who *who;

	do {
		who = &ep->who[i++ & ep->who_mask];
	} while (who->used && who->key != key);
	return who;
}

uint32_t endpoint_who_slow(struct bgdma_endpoint *ep, uint64_t key)
{
	ep->last.key = key;
	ep->last.rank = who_slot(ep, key)->rank;
	return ep->last.rank;
}

void endpoint_forget(struct bgdma_endpoint *ep, const struct peer *peer)
{
	struct who *who = who_slot(ep, who_key(peer->at.node, peer->at.ctx));

	who->rank = BGDMA_STRANGER;
	who->broken = peer->unsure || !code_is_death(peer->why);
	ep->last.rank = BGDMA_STRANGER;
}

bool endpoint_is_broken(struct bgdma_endpoint *ep, uint32_t node, uint16_t ctx)
{
	return who_slot(ep, who_key(node, ctx))->broken;
}

/*
 * Let the processes of the job use something, and nobody else. An object has
 * only so many grants: in larger jobs it is open to the partition, and the
 * dispatcher tells strangers.
 */
static int peers_grant(struct bgdma_endpoint *ep, uint32_t kind,
		       uint32_t object, uint32_t count, uint32_t rights)
{
	struct bgdma_grant_attr to = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY, .rights = rights,
	};
	uint32_t i;
	int ret = 0;

	if (ep->size > BGDMA_GRANTS_MAX)
		return bgdma_grant_sized(ep->ctx, kind, object, count, &to,
					 sizeof(to), NULL);
	for (i = 0; !ret && i < ep->size; i++) {
		to.rank = ep->peer[i].at.node;
		to.ctx = ep->peer[i].at.ctx;
		to.incarnation = ep->peer[i].at.incarnation;
		ret = bgdma_grant_sized(ep->ctx, kind, object, count, &to,
					sizeof(to), NULL);
	}
	return ret;
}

/* Of each of our objects that the others use. */
static int doors_open(struct bgdma_endpoint *ep)
{
	const struct pool *pool;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < RGQS; i++)
		ret = peers_grant(ep, BGDMA_KIND_RGET_QUEUE,
				  bgdma_rgq_id(ep->rgq[i]), 1, 0);
	for (i = 0; !ret && i < WAYS; i++)
		ret = peers_grant(ep, BGDMA_KIND_REC_FIFO,
				  bgdma_rec_view(ep->rec[i])->id, 1, 0);
	for (i = 0; !ret && i < 2; i++) {
		pool = &ep->pool[i];
		ret = peers_grant(ep, BGDMA_KIND_INJ_COUNTER + i, pool->first,
				  pool->stats.counters, 0);
	}
	return ret ? ret : peers_grant(ep, BGDMA_KIND_REGION,
				       bgdma_region_handle(ep->probes), 1,
				       BGDMA_RIGHT_FETCH);
}

int endpoint_meet(struct bgdma_endpoint *ep, const struct bgdma_peer *at)
{
	uint32_t slots = 2, i, way;
	struct who *who;

	while (slots < 2 * ep->size)
		slots *= 2;
	ep->who = calloc(slots, sizeof(*ep->who));
	if (!ep->who)
		return -ENOMEM;
	ep->who_mask = slots - 1;
	for (i = 0; i < slots; i++)
		ep->who[i].rank = BGDMA_STRANGER;
	for (i = 0; i < ep->size; i++) {
		ep->peer[i].at = at[i];
		ep->peer[i].paced = pacing_of(ep, at[i].node);
		for (way = 0; way < WAYS; way++)
			ep->peer[i].channel[way] = &ep->channel[
				way * ep->attr.channels +
				i % ep->attr.channels];
		who = who_slot(ep, who_key(at[i].node, at[i].ctx));
		/* Else what the one sends would be taken for the other's. */
		if (who->used)
			return -EBADMSG;
		who->key = who_key(at[i].node, at[i].ctx);
		who->rank = i;
		who->used = true;
	}
	return doors_open(ep);
}

int bgdma_endpoint_grant(struct bgdma_endpoint *ep, uint32_t kind,
			 uint32_t object, uint32_t count, uint32_t rights)
{
	if (ep->state != STATE_COMMITTED)
		return -ENOTCONN;
	return peers_grant(ep, kind, object, count, rights);
}

int bgdma_endpoint_expose(struct bgdma_endpoint *ep,
			  struct bgdma_region *region, uint32_t rights)
{
	return bgdma_endpoint_grant(ep, BGDMA_KIND_REGION,
				    bgdma_region_handle(region), 1, rights);
}
