/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of tagged messages share: a process of a job with them, and
 * messages that tell whose they are.
 */
#ifndef BGDMA_SELFTESTS_MSG_UTIL_H
#define BGDMA_SELFTESTS_MSG_UTIL_H

#include <bgdma/msg.h>
#include <bgdma/rendezvous.h>

#include "sys_util.h"

#define ANY_SOURCE	BGDMA_MSG_ANY_SOURCE
#define ANY_TAG		BGDMA_MSG_ANY_TAG

/* One process of a job, and its tagged messages. */
struct talker {
	struct member m;
	struct bgdma_msg *msg;
	uint32_t troubles[BGDMA_TROUBLE_COUNT];
};

static inline void talker_trouble(void *arg,
				  const struct bgdma_trouble_info *info)
{
	struct talker *t = arg;

	t->troubles[info->trouble]++;
}

/* Up to the commit, which is the caller's. */
static inline int talker_create(struct talker *t,
				struct bgdma_endpoint_attr ep,
				const struct bgdma_msg_attr *attr)
{
	int ret;

	ep.trouble = talker_trouble;
	ep.arg = t;
	ret = member_open(&t->m, &ep);
	return ret ? ret : bgdma_msg_create(&t->msg, t->m.ep, attr);
}

static inline int talker_open(struct talker *t, struct bgdma_endpoint_attr ep,
			      const struct bgdma_msg_attr *attr)
{
	int ret = talker_create(t, ep, attr);

	return ret ? ret : bgdma_endpoint_commit(t->m.ep, NULL);
}

/*
 * All processes of the job are here, and make progress until then. Without credit for
 * them the messages are announced, and hold a counter until they are taken.
 */
static inline int talker_fence(struct talker *t)
{
	enum { FENCE_CONTEXT = 0xffff, FENCE_RANKS = 64 };
	struct bgdma_msg_request *sent[FENCE_RANKS];
	uint32_t peer;
	int ret;

	require(t->m.size <= FENCE_RANKS);
	/* Not bgdma_job_fence(): it makes no progress. */
	for (peer = 0; peer < t->m.size; peer++) {
		ret = bgdma_msg_isend(t->msg, NULL, 0, peer, 0, FENCE_CONTEXT,
				      &sent[peer]);
		if (ret)
			return ret;
	}
	for (peer = 0; peer < t->m.size; peer++) {
		ret = bgdma_msg_recv(t->msg, NULL, 0, peer, 0, FENCE_CONTEXT,
				     NULL);
		if (ret)
			return ret;
	}
	return bgdma_msg_waitall(sent, t->m.size, NULL);
}

/* Nothing is left but what the fence leaves. */
static inline int talker_close(struct talker *t)
{
	struct bgdma_counter_stats used;
	struct bgdma_msg_stats stats;
	unsigned int kind;

	require_is(0, talker_fence(t));
	for (kind = BGDMA_INJECTION; kind <= BGDMA_RECEPTION; kind++) {
		bgdma_counters_used(t->m.ep, kind, &used);
		require_is(0, used.busy);
	}
	bgdma_msg_stats(t->msg, &stats);
	require(stats.kept <= t->m.size * 384ULL);
	return member_close(&t->m);
}

/* A byte of a message of a sender. */
static inline uint8_t text_byte(uint32_t sender, uint32_t number, uint64_t at)
{
	return (uint8_t)(sender * 131 + number * 31 + at + (at >> 8) * 7);
}

static inline void text_fill(uint8_t *to, uint64_t bytes, uint32_t sender,
			     uint32_t number)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		to[i] = text_byte(sender, number, i);
}

static inline bool text_is(const uint8_t *p, uint64_t bytes, uint32_t sender,
			   uint32_t number)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		if (p[i] != text_byte(sender, number, i))
			return false;
	return true;
}

#endif /* BGDMA_SELFTESTS_MSG_UTIL_H */
