/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the sys layer share.
 */
#ifndef BGDMA_SYS_INTERNAL_H
#define BGDMA_SYS_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <bgdma/sys.h>

#include "../spi/attr.h"

/* Reception FIFOs have the same numbers in every endpoint. */
enum { WAY_CONTROL = 0, WAY_DATA = 1, WAYS = 2 };

/*
 * The header of a packet: the low half of the identifier is its dispatch
 * field, the rest and the type are above the word in its cookie.
 */
#define IDENTIFIER_MASK		0x7fffffffU
#define COOKIE_TYPE_SHIFT	63

static inline uint64_t cookie_make(uint32_t type, uint32_t id, uint64_t word)
{
	return (uint64_t)type << COOKIE_TYPE_SHIFT |
	       (uint64_t)(id >> 16) << BGDMA_WORD_BITS | word;
}

static inline uint32_t packet_type(const struct bgdma_packet *packet)
{
	return (uint32_t)(packet->cookie >> COOKIE_TYPE_SHIFT);
}

static inline uint32_t packet_id(const struct bgdma_packet *packet)
{
	return packet->dispatch |
	       ((uint32_t)(packet->cookie >> BGDMA_WORD_BITS) & 0x7fff) << 16;
}

struct operation {
	struct operation *next;
	uint32_t id;
	uint32_t type;
	uint32_t flags;
	bgdma_packet_fn *packet;
	void *arg;
	char module[BGDMA_OPERATION_NAME_MAX];
	char name[BGDMA_OPERATION_NAME_MAX];
};

/* Operations of one type: in no order until the commit, then by hash. */
struct table {
	struct operation *all;
	uint32_t count;
	uint32_t mask;
	struct operation **slot;
};

/* What a descriptor in a channel was for. */
struct sent {
	uint32_t rank;
	uint32_t type;
	uint32_t id;
	uint64_t copied;	/* copies up to here end with it */
};

/*
 * An injection FIFO, and memory for copies of messages that its descriptors
 * name. Copies are given back in the order of the descriptors.
 */
struct channel {
	struct bgdma_inj_fifo *fifo;
	struct sent *sent;	/* by slot of the ring */
	uint64_t mask;		/* slots - 1 */
	uint64_t done;		/* descriptors that have ended, as last seen */
	char *copy;
	uint64_t copy_at;	/* of @copy in its region */
	uint64_t copy_head;	/* bytes taken since creation */
	uint64_t copy_tail;	/* bytes given back */
};

struct peer {
	struct bgdma_peer at;
	bool down;
};

/* From node and context to rank, open addressing. */
struct who {
	uint64_t key;
	uint32_t rank;		/* BGDMA_STRANGER: free */
};

enum state { STATE_OPEN, STATE_FAILED, STATE_COMMITTED };

struct bgdma_endpoint {
	struct bgdma_endpoint_attr attr;
	struct bgdma_ctx *ctx;
	uint32_t rank, size;
	enum state state;

	struct bgdma_rec_fifo *rec[WAYS];
	bool deferred[WAYS];	/* a callback said -EAGAIN */
	struct channel *channel;
	struct bgdma_region *copies;

	struct peer *peer;
	struct who *who;
	uint32_t who_mask;
	struct who last;	/* who it was last time */

	struct table table[2];

	bool many;		/* the lock is needed */
	pthread_mutex_t lock;	/* protects all; recursive, for callbacks */
	pthread_cond_t handled_cond;
	uint64_t handled;	/* packets and events */
	unsigned int followers;	/* in handled_cond */
	bool inside;		/* a callback runs */
	bool sleeping;		/* somebody sleeps in the kernel for all */
	int wake_fd;		/* an eventfd that wakes him */
	bool stop;		/* the thread has to end */
	bool threaded;		/* it runs */
	pthread_t thread;

	struct bgdma_endpoint_stats stats;
};

static inline void endpoint_lock(struct bgdma_endpoint *ep)
{
	if (ep->many)
		pthread_mutex_lock(&ep->lock);
}

static inline void endpoint_unlock(struct bgdma_endpoint *ep)
{
	if (ep->many)
		pthread_mutex_unlock(&ep->lock);
}

/* endpoint.c */

/* Rank of a context, or BGDMA_STRANGER. */
uint32_t endpoint_who(struct bgdma_endpoint *ep, uint32_t node, uint16_t ctx);
/* Learn where everybody is, and let them in. */
int endpoint_meet(struct bgdma_endpoint *ep, const struct bgdma_peer *at);

/* registry.c */
struct operation *operation_find(const struct table *table, uint32_t id);
void registry_free(struct bgdma_endpoint *ep);

/* send.c */
int channel_create(struct bgdma_endpoint *ep, struct channel *ch,
		   uint32_t index);
void channel_destroy(struct channel *ch);
/* Look for channels in error, report why and let them go on. */
unsigned int channels_repair(struct bgdma_endpoint *ep);

/* progress.c */
int wake_create(struct bgdma_endpoint *ep);
void wake_destroy(struct bgdma_endpoint *ep);
/* Of the clock that deadlines are of. */
int64_t sys_now_ns(void);
/* Count something, and call whoever wants to know. */
void endpoint_trouble(struct bgdma_endpoint *ep,
		      const struct bgdma_trouble_info *info);
/* Mark a process as gone and say so, once. */
void endpoint_peer_down(struct bgdma_endpoint *ep, uint32_t rank);
int progress_start(struct bgdma_endpoint *ep);
void progress_stop(struct bgdma_endpoint *ep);

#endif /* BGDMA_SYS_INTERNAL_H */
