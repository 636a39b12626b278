// SPDX-License-Identifier: GPL-2.0
/*
 * What a user gets while another does his worst: latency of an 8-byte message,
 * by doorbell and by sleeping, and bandwidth of 1 MiB puts, alone and beside
 * each attacker in turn.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "perf.h"

#define RUNS		9
#define PUTS		32
#define ROUNDS		256
#define SLEEPS		64

static struct ends e;
static uint16_t to_ctx;
static struct bgdma_inj_fifo *back;
static struct bgdma_rec_fifo *home;
static struct bgdma_rget_queue *granted;

static void say(const char *attacker, const char *what, unsigned int run,
		uint64_t ns, uint64_t ops)
{
	printf("{\"attack\":\"%s\",\"what\":\"%s\",\"run\":%u,\"ns\":%.1f}\n",
	       attacker, what, run, (double)ns / (double)ops);
	fflush(stdout);
}

static void send_to(struct bgdma_inj_fifo *inj, uint32_t rank, uint16_t ctx,
		    struct bgdma_rec_fifo *rec)
{
	uint64_t word = 1;

	must(bgdma_memfifo(inj, &(struct bgdma_memfifo_attr){
		.dest = rank, .dest_ctx = ctx, .fifo = bgdma_rec_id(rec),
		.data = &word, .length = sizeof(word) }));
}

static void receive(struct bgdma_rec_fifo *rec, enum bgdma_wait_mode mode)
{
	must(bgdma_rec_wait(rec, mode, -1));
	bgdma_rec_peek(rec);
	bgdma_rec_next(rec);
	must(bgdma_rec_release(rec));
}

static uint64_t by_doorbell(void)
{
	uint64_t begin = now_ns();
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		send_to(e.inj, 1, to_ctx, e.rec);
		receive(e.rec, BGDMA_SPIN);
	}
	return now_ns() - begin;
}

static void *echo(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; i < SLEEPS; i++) {
		receive(e.rec, BGDMA_SLEEP);
		send_to(back, 0, bgdma_ctx_info(e.from)->ctx, home);
	}
	return NULL;
}

static uint64_t by_sleeping(void)
{
	uint64_t begin;
	unsigned int i;
	pthread_t t;

	must(-pthread_create(&t, NULL, echo, NULL));
	begin = now_ns();
	for (i = 0; i < SLEEPS; i++) {
		send_to(e.inj, 1, to_ctx, e.rec);
		receive(home, BGDMA_SLEEP);
	}
	begin = now_ns() - begin;
	pthread_join(t, NULL);
	return begin;
}

static uint64_t by_puts(void)
{
	uint64_t begin = now_ns();
	unsigned int i;

	bgdma_counter_clear_hit(e.arrived);
	bgdma_counter_add(e.arrived, (int64_t)PUTS * LONG);
	for (i = 0; i < PUTS; i++)
		must(bgdma_put(e.inj, &(struct bgdma_put_attr){
			.dest = 1, .dest_ctx = to_ctx, .length = LONG,
			.from = { e.source, 0 },
			.to = { bgdma_region_handle(e.target), 0 },
			.remote_counter = bgdma_counter_handle(e.arrived),
			.more = i + 1 < PUTS }));
	must(bgdma_counter_wait(e.arrived, BGDMA_SLEEP, -1));
	return now_ns() - begin;
}

/* What he lets others do to node 0, which he sends from. */
static void door_open(void)
{
	struct bgdma_grant_attr to = {
		.rank = ATTACK_RANK, .ctx = BGDMA_CTX_ANY,
	};
	struct bgdma_rget_queue *closed;

	must(bgdma_rgq_create(e.from, NULL, &granted));
	must(bgdma_rgq_grant(granted, &to, NULL));
	door.granted = bgdma_rgq_id(granted);
	must(bgdma_rgq_create(e.from, NULL, &closed));
	door.closed = bgdma_rgq_id(closed);
	to.rights = BGDMA_RIGHT_READ;
	must(bgdma_region_grant(e.source, &to, NULL));
	door.memory = bgdma_region_handle(e.source);
	door.ctx = bgdma_ctx_info(e.from)->ctx;
}

static void victim_open(void)
{
	const struct bgdma_grant_attr anyone = {
		.rank = 1, .ctx = BGDMA_CTX_ANY,
	};

	ends_open(&e);
	to_ctx = bgdma_ctx_info(e.to)->ctx;
	ends_memory(&e, small_pages(LONG), small_pages(LONG), LONG);
	must(bgdma_inj_create(e.to, NULL, &back));
	must(bgdma_rec_create(e.from, NULL, &home));
	must(bgdma_rec_grant(home, &anyone, NULL));
	door_open();
}

/* An attack that was not what it should be shows nothing. */
static void check(const struct attacker *a)
{
	enum bgdma_code code =
		(enum bgdma_code)bgdma_rgq_error(granted, NULL);

	if (code != a->refused) {
		fprintf(stderr, "%s\n", bgdma_strcode(code));
		die(a->name, -EPROTO);
	}
}

static void beside(const struct attacker *a, unsigned int run)
{
	pid_t pid = a->run ? as_other_user(a->run) : 0;

	usleep(200000);
	/* That the one before died is there. */
	must(bgdma_rgq_clear_error(granted, 0));
	say(a->name, "doorbell", run, by_doorbell(), 2 * ROUNDS);
	say(a->name, "sleeping", run, by_sleeping(), 2 * SLEEPS);
	say(a->name, "1 MiB put", run, by_puts(), PUTS);
	if (!pid)
		return;
	if (waitpid(pid, NULL, WNOHANG))
		die(a->name, -ECHILD);
	check(a);
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void under_attack(void)
{
	unsigned int run;
	size_t i;

	victim_open();
	for (run = 0; run < runs(RUNS); run++)
		for (i = 0; i < n_attackers; i++)
			beside(&attackers[i], run);
	ends_close(&e);
}
