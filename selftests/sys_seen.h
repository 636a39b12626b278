/* SPDX-License-Identifier: GPL-2.0 */
/* What an administrator sees of a process of a job. */
#ifndef BGDMA_SELFTESTS_SYS_SEEN_H
#define BGDMA_SELFTESTS_SYS_SEEN_H

#include <bgdma/sys.h>

#include "netlink_util.h"
#include "utils.h"

static inline void seen_regions(struct nlattr **attrs, void *arg)
{
	if (attrs[BGDMA_A_CTX_REGIONS])
		*(long *)arg = (long)nla_get_u32(attrs[BGDMA_A_CTX_REGIONS]);
}

static inline void seen_queued(struct nlattr **attrs, void *arg)
{
	if (nla_get_u32(attrs[BGDMA_A_FIFO_KIND]) == BGDMA_KIND_RGET_QUEUE)
		*(long *)arg += (long)nla_get_u64(attrs[BGDMA_A_FIFO_HELD]);
}

/* All that a command shows of a context goes into @number; 0 or -errno. */
static inline int seen_of(uint32_t node, uint32_t ctx, int cmd,
			  void (*each)(struct nlattr **attrs, void *arg),
			  long *number)
{
	struct answer a = { .each = each, .arg = number };
	struct nl_msg *msg;
	struct link l;
	int ret = link_open(&l);

	if (!ret) {
		msg = request(&l, cmd, NLM_F_DUMP);
		nla_put_string(msg, BGDMA_A_CTX_PARTITION, PARTITION);
		nla_put_u32(msg, BGDMA_A_CTX_RANK, node);
		nla_put_u32(msg, BGDMA_A_CTX_CTX, ctx);
		ret = ask(&l, msg, &a);
	}
	link_close(&l);
	return ret;
}

static inline int seen(struct bgdma_endpoint *ep, int cmd,
		       void (*each)(struct nlattr **attrs, void *arg),
		       long *number)
{
	const struct bgdma_ctx_info *info =
		bgdma_ctx_info(bgdma_endpoint_ctx(ep));

	return seen_of(info->rank, info->ctx, cmd, each, number);
}

/* Its regions, but for those that are kept of chains which ended well; -1: unknown. */
static inline long regions_seen(struct bgdma_endpoint *ep)
{
	struct bgdma_endpoint_stats stats;
	long regions = -1;

	if (seen(ep, BGDMA_CMD_CTX_GET, seen_regions, &regions) || regions < 0)
		return -1;
	bgdma_endpoint_stats(ep, &stats);
	return regions - (long)stats.kept;
}

/* Descriptors in its remote-get queues; -1: unknown. */
static inline long queued_seen(struct bgdma_endpoint *ep)
{
	long queued = 0;

	return seen(ep, BGDMA_CMD_FIFO_GET, seen_queued, &queued) ? -1 : queued;
}

#endif /* BGDMA_SELFTESTS_SYS_SEEN_H */
