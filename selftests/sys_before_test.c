// SPDX-License-Identifier: GPL-2.0
/*
 * Kernels that are gone before an endpoint is committed: who commits with it is not
 * who was there, or nobody waits for him.
 */
#include "kselftest_harness.h"
#include "sys_util.h"

#include <bgdma/event.h>

#define FAR	1

/* How far the processes are. */
struct stage {
	volatile bool is_gone;
};

/* Who is told of the others, and of how many. */
struct hearer {
	uint32_t down, code;
	struct count notes;
};

static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	struct hearer *h = arg;

	if (info->trouble != BGDMA_TROUBLE_PEER_DOWN)
		return;
	h->down++;
	h->code = info->code;
}

static int on_note(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct hearer *h = arg;

	(void)rank;
	(void)packet;
	h->notes.is++;
	return 0;
}

static int open_and_hear(struct member *m, struct hearer *h)
{
	return member_open(m, &(struct bgdma_endpoint_attr){
			.trouble = on_trouble, .arg = h });
}

static int commit(struct member *m, struct hearer *h, uint32_t *note)
{
	return member_commit(m, &(struct test_operation){
			"note", on_note, 0, note }, 1, h);
}

static bool is_way(void)
{
	return !system("bgdma route get " PARTITION
		       " from 0 to 1 >/dev/null 2>&1");
}

/* That all of the other's node is gone, and nothing else. */
static int is_told_of_node(const struct member *m)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(m->ep);
	const struct bgdma_event *event;

	require(until(bgdma_events_pending(ctx)));
	event = bgdma_event_peek(ctx);
	require_is(BGDMA_EVENT_PEER_DOWN, event->type);
	require_is(BGDMA_CTX_ANY, event->peer_ctx);
	require_is(FAR, event->peer_rank);
	return 0;
}

/* ---- Others were there ---------------------------------------------------- */

static int anew(uint32_t rank, uint32_t size, void *arg)
{
	struct hearer h = { .notes.wanted = 1 };
	struct member m = { 0 };
	struct stage *stage = arg;
	uint32_t note;

	(void)size;
	require(rank != FAR || until(stage->is_gone));
	require_is(0, open_and_hear(&m, &h));
	if (rank != FAR) {
		require(until(is_way()));
		links_bye(FAR);
		require_is(0, is_told_of_node(&m));
		links_anew(FAR);
		stage->is_gone = true;
	}
	require_is(0, commit(&m, &h, &note));
	require_is(0, bgdma_endpoint_send(m.ep, &(struct bgdma_send_attr){
			.operation = note, .dest = !rank }));
	require_is(0, member_until(&m, count_there, &h.notes));
	require_is(0, h.down);
	return member_close(&m);
}

TEST(x3_who_comes_to_the_place_of_the_dead_is_not_dead)
{
	links_hasty();
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, anew, shared(sizeof(struct stage)), -1));
}

/* ---- They live, and do not know yet --------------------------------------- */

static bool has_heard(void *arg)
{
	const struct hearer *h = arg;

	return h->down;
}

/* It does not take others for dead itself. */
static int patient(void)
{
	return system("bgdma link set dev bg0 partition " PARTITION
		      " timeout 600000 >&2");
}

static int deaf(uint32_t rank, uint32_t size, void *arg)
{
	struct hearer h = { 0 };
	struct member m = { 0 };
	uint32_t note;

	(void)size;
	(void)arg;
	require_is(0, open_and_hear(&m, &h));
	require(rank != FAR || !patient());
	require_is(0, bgdma_job_fence(m.job));
	if (rank != FAR) {
		require(until(is_way()));
		links_deaf(0, true);
		require_is(0, is_told_of_node(&m));
	}
	require_is(0, bgdma_job_fence(m.job));
	require_is(0, commit(&m, &h, &note));
	require_is(0, bgdma_job_fence(m.job));
	if (rank != FAR)
		links_deaf(0, false);
	require_is(0, member_until(&m, has_heard, &h));
	require_is(rank == FAR ? BGDMA_E_PEER_DOWN : BGDMA_E_TIMEOUT, h.code);
	require_is(1, h.down);
	return member_close(&m);
}

TEST(x3_who_is_given_up_later_than_he_gave_up_tells)
{
	links_hasty();
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, deaf, NULL, -1));
}

TEST_HARNESS_MAIN
