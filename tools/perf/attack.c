// SPDX-License-Identifier: GPL-2.0
/*
 * What a user gets while another does his worst: latency of an 8-byte message,
 * by doorbell and by sleeping, and bandwidth of 1 MiB puts, alone and beside
 * each attacker in turn. An attacker is one process of another user.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define RUNS		9
#define ATTACKER	3000	/* uid */
#define LONG		(1U << 20)
#define FIFOS		64
#define PUTS		32
#define ROUNDS		256
#define SLEEPS		64

/* ---- Attackers -------------------------------------------------------- */

static struct bgdma_inj_fifo *many[FIFOS];

/* Both ends on nodes of the attacker's own: 2 and 3. */
static struct ends theirs(void)
{
	const struct bgdma_grant_attr anyone = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
	};
	struct ends e = { .from = attach_many(2, FIFOS), .to = attach(3, -1) };
	unsigned int i;

	for (i = 0; i < FIFOS; i++)
		must(bgdma_inj_create(e.from, NULL, &many[i]));
	must(bgdma_rec_create(e.to, NULL, &e.rec));
	must(bgdma_rec_grant(e.rec, &anyone, NULL));
	e.inj = many[0];
	return e;
}

static void theirs_memory(struct ends *e)
{
	const struct bgdma_grant_attr anyone = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
		.rights = BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE,
	};

	must(bgdma_region_alloc(e->from, LONG,
				BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				&e->source));
	must(bgdma_region_alloc(e->to, LONG,
				BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				&e->target));
	must(bgdma_region_grant(e->source, &anyone, NULL));
	must(bgdma_region_grant(e->target, &anyone, NULL));
}

static void compute(void)
{
	for (;;)
		bgdma_relax();
}

static void ring(void)
{
	struct ends e = theirs();

	for (;;)
		must(bgdma_doorbell(e.from, 0));
}

static void message(struct ends *e, struct bgdma_inj_fifo *inj)
{
	uint64_t word = 0;

	if (bgdma_inj_space(inj))
		bgdma_memfifo(inj, &(struct bgdma_memfifo_attr){
			.dest = 3, .dest_ctx = bgdma_ctx_info(e->to)->ctx,
			.fifo = bgdma_rec_id(e->rec), .data = &word,
			.length = sizeof(word), .more = true });
}

static void drain(struct ends *e, unsigned int most)
{
	while (most-- && bgdma_rec_bytes(e->rec)) {
		bgdma_rec_peek(e->rec);
		bgdma_rec_next(e->rec);
	}
	must(bgdma_rec_release(e->rec));
}

static void flood(unsigned int each, unsigned int most)
{
	struct ends e = theirs();
	unsigned int i, k;

	for (;;) {
		for (i = 0; i < FIFOS; i++) {
			for (k = 0; k < each; k++)
				message(&e, many[i]);
			bgdma_inj_publish(many[i]);
		}
		must(bgdma_doorbell(e.from, BGDMA_DOORBELL_POOL));
		drain(&e, most);
	}
}

static void small_messages(void)
{
	flood(32, 1U << 20);
}

/* One packet of room, for which all FIFOs have waited. */
static void park(void)
{
	flood(32, 1);
}

static void long_puts(void)
{
	struct ends e = theirs();
	unsigned int i;

	theirs_memory(&e);
	for (;;) {
		for (i = 0; i < FIFOS; i++) {
			while (bgdma_inj_space(many[i]))
				must(bgdma_put(many[i], &(struct bgdma_put_attr){
					.dest = 3,
					.dest_ctx = bgdma_ctx_info(e.to)->ctx,
					.length = LONG,
					.from = { e.source, 0 },
					.to = { bgdma_region_handle(e.target), 0 },
					.more = true }));
			bgdma_inj_publish(many[i]);
		}
		must(bgdma_doorbell(e.from, BGDMA_DOORBELL_POOL));
		usleep(1000);
	}
}

static void come_and_go(void)
{
	for (;;)
		bgdma_detach(attach(2, -1));
}

static void dump(void)
{
	struct bgdma_ctx *ctx[32];
	unsigned int i;

	for (i = 0; i < 32; i++)
		ctx[i] = attach(2, -1);
	for (;;) {
		if (system("bgdma ctx show >/dev/null") ||
		    !bgdma_ctx_info(ctx[0]))
			exit(1);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} attackers[] = {
	{ "alone", NULL },
	{ "computing", compute },
	{ "doorbells", ring },
	{ "small messages", small_messages },
	{ "long puts", long_puts },
	{ "parking", park },
	{ "attaching", come_and_go },
	{ "dumps", dump },
};

static pid_t attack(void (*run)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A group, so that what it starts ends with it. */
	setpgid(0, 0);
	must(setresuid(ATTACKER, ATTACKER, ATTACKER) ? -errno : 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run();
	exit(1);
}

/* For somebody else's measurement: until killed. */
void traffic(void)
{
	attack(long_puts);
	attack(small_messages);
	for (;;)
		pause();
}

/* ---- The victim ------------------------------------------------------- */

static struct ends e;
static uint16_t to_ctx;
static struct bgdma_inj_fifo *back;
static struct bgdma_rec_fifo *home;

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
	wait_used(e.arrived, BGDMA_SLEEP);
	return now_ns() - begin;
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
}

void under_attack(void)
{
	unsigned int run, i;
	pid_t pid;

	victim_open();
	for (run = 0; run < runs(RUNS); run++) {
		for (i = 0; i < sizeof(attackers) / sizeof(*attackers); i++) {
			const char *name = attackers[i].name;

			pid = attackers[i].run ? attack(attackers[i].run) : 0;
			usleep(200000);
			say(name, "doorbell", run, by_doorbell(), 2 * ROUNDS);
			say(name, "sleeping", run, by_sleeping(), 2 * SLEEPS);
			say(name, "1 MiB put", run, by_puts(), PUTS);
			if (!pid)
				continue;
			if (waitpid(pid, NULL, WNOHANG))
				die(name, -ECHILD);
			kill(-pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
	}
	ends_close(&e);
}
