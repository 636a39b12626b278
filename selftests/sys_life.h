/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A life of a process, from the job to the last message and the end of all, in which the
 * nth allocation or system call fails.
 */
#ifndef BGDMA_SELFTESTS_SYS_LIFE_H
#define BGDMA_SELFTESTS_SYS_LIFE_H

#include <bgdma/coll.h>
#include <bgdma/msg.h>
#include <bgdma/network.h>
#include <bgdma/rendezvous.h>
#include <bgdma/rma.h>

#include "failing_calls.h"
#include "fault.h"
#include "sys_util.h"

/* ---- What there is in a life ------------------------------------------- */

struct life;

#define STEPS_MAX	4

/* How one is, and what is done once the endpoint is committed. */
struct kind {
	struct bgdma_endpoint_attr attr;
	int (*steps[STEPS_MAX])(struct life *l);
	unsigned int told;	/* at least so many faults are */
	int code;		/* how they fail; 0: there is no memory */
};

struct life {
	const struct kind *kind;
	struct member m;
	struct bgdma_rma *rma;
	struct bgdma_msg *msg;
	struct bgdma_coll *coll;
	struct bgdma_window *window;
	struct bgdma_coll_group *group;
	struct bgdma_network *net;
	struct bgdma_region *region;
	uint32_t note, sum, rts;	/* operations */
	struct count notes;		/* how often the first two were called */
	struct count announced, ended;	/* messages */
	struct bgdma_rts kept;		/* the latest */
	uint32_t message;
	int result, told;		/* of a message, and of a call */
};

/*
 * A call that has failed works when it is made again; that it did is told in the end.
 * No other may fail in this life.
 */
static bool again(struct life *l, int ret)
{
	if (!ret || l->told || !faults || (ret != -ENOMEM && ret != -fault_code))
		return false;
	l->told = ret;
	return true;
}

/* ---- Its operations ----------------------------------------------------- */

static int on_note(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct life *l = arg;

	(void)rank;
	(void)packet;
	l->notes.is++;
	return 0;
}

static int on_rts(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct life *l = arg;
	int ret = bgdma_rts_read(&l->kept, rank, packet);

	l->announced.is += !ret;
	return ret;
}

/* ---- A life ------------------------------------------------------------ */

static int commit(struct life *l)
{
	static const struct bgdma_module_attr module = { 0 };
	const struct {
		struct bgdma_operation_attr attr;
		uint32_t *id;
	} ops[] = {
		{ { .name = "note", .packet = on_note }, &l->note },
		{ { .name = "rts", .packet = on_rts }, &l->rts },
		{ { .name = "sum", .packet = on_note,
		    .type = BGDMA_COLLECTIVE }, &l->sum },
	};
	struct bgdma_operation_attr attr;
	int ret = member_open(&l->m, &l->kind->attr);
	unsigned int i;

	for (i = 0; !ret && i < 3; i++) {
		attr = ops[i].attr;
		attr.module = "life";
		attr.arg = l;
		do
			ret = bgdma_operation_register(l->m.ep, &attr, ops[i].id);
		while (again(l, ret));
	}
	while (!ret && again(l, ret = bgdma_module_add(l->m.ep, &module)))
		ret = 0;
	if (!ret)
		ret = bgdma_rma_create(&l->rma, l->m.ep, NULL);
	if (!ret)
		ret = bgdma_msg_create(&l->msg, l->m.ep, NULL);
	if (!ret)
		ret = bgdma_coll_create(&l->coll, l->m.ep, l->m.job);
	return ret ? ret : bgdma_endpoint_commit(l->m.ep, NULL);
}

static int live(struct life *l)
{
	int ret = commit(l);
	unsigned int i;

	if (!ret)
		ret = bgdma_region_alloc(bgdma_endpoint_ctx(l->m.ep), 4096,
					 LOCAL_RW, &l->region);
	if (!ret)
		ret = bgdma_endpoint_expose(l->m.ep, l->region,
					    BGDMA_RIGHT_WRITE);
	for (i = 0; !ret && i < STEPS_MAX && l->kind->steps[i]; i++)
		ret = l->kind->steps[i](l);
	return ret ? ret : l->told;
}

/*
 * One life, in which the @n-th call fails; 0: none. Nothing stays of it, here or in the
 * kernel.
 */
static int live_once(const struct kind *kind, unsigned int n)
{
	struct life l = { .kind = kind };
	struct account before;
	long memory;
	int fd, ret;

	account(&before);
	memory = allocated;
	fd = next_fd();
	until_fault = n;
	ret = live(&l);
	bgdma_endpoint_destroy(l.m.ep);
	bgdma_job_close(l.m.job);
	until_fault = 0;
	require(account_back(&before));
	/* What is there once for all the first life has left. */
	if (n) {
		require_is(memory, allocated);
		require_is(fd, next_fd());
	}
	return ret;
}

static int fail_nth(uint32_t rank, uint32_t size, void *arg)
{
	const struct kind *kind = arg;
	unsigned int n, told = 0;
	int ret;

	fault_code = kind->code ? kind->code : ENOMEM;
	(void)rank;
	(void)size;
	require_is(0, live_once(kind, 0));
	for (n = 1; n < 2000; n += fault_step()) {
		faults = 0;
		ret = live_once(kind, n);
		if (!faults)
			break;
		/* Progress tries again what it had no memory for. */
		if (ret != -ENOMEM && ret != -fault_code && ret)
			fprintf(stderr, "# call %u fails: %d\n", n, ret);
		require(ret == -ENOMEM || ret == -fault_code || ret == 0);
		told += ret != 0;
	}
	require_is(0, ret);
	require(told >= kind->told / fault_step());
	return 0;
}

#endif /* BGDMA_SELFTESTS_SYS_LIFE_H */
