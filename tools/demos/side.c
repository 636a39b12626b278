// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A side of the demonstration: see side.h.
 */
#include "side.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS		5000000000LL
#define SPIN_SHORT_NS	20000
#define LOOKS_PER_CLOCK	64
#define LEAVE_NS	10000000000LL
#define WAKE_NS		1000000000LL

static void explain(const struct side *s, const struct bgdma_record *record)
{
	char text[256];

	bgdma_explain_record(record, text, sizeof(text));
	fprintf(stderr, "node %u: %s\n", s->rank, text);
}

/* Everything that the device has to say about this side. */
static void explain_all(const struct side *s)
{
	const struct bgdma_event *event;
	struct bgdma_record record;
	char text[256];

	if (s->out && bgdma_inj_error(s->out, &record))
		explain(s, &record);
	if (s->in && bgdma_rec_error(s->in, &record))
		explain(s, &record);
	while ((event = bgdma_event_peek(s->ctx))) {
		bgdma_explain_event(event, text, sizeof(text));
		fprintf(stderr, "node %u: %s\n", s->rank, text);
		bgdma_event_release(s->ctx);
	}
}

void side_die(struct side *s, const char *what, int err)
{
	fprintf(stderr, "node %u: %s%s%s\n", s->rank, what, err ? ": " : "",
		err ? strerror(-err) : "");
	if (s->ctx)
		explain_all(s);
	/* The kernel frees what the process had, and tells the peer. */
	exit(1);
}

void side_check(struct side *s, int err, const char *what)
{
	if (err < 0)
		side_die(s, what, err);
}

enum method method_of(const char *name)
{
	static const char *const names[] = { "memfifo", "put", "rget" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return (enum method)i;
	}
	fprintf(stderr, "memfifo, put or rget, not %s\n", name);
	exit(2);
}

/*
 * Who spins takes a processor, and the engine needs one. Of two processors the
 * sides share the first; where there is only one they hardly spin.
 */
static int64_t spin_ns(void)
{
	cpu_set_t cpus;
	int i;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) > 2)
		return SPIN_NS;
	if (CPU_COUNT(&cpus) < 2)
		return SPIN_SHORT_NS;
	for (i = CPU_SETSIZE - 1; CPU_COUNT(&cpus) > 1; i--)
		CPU_CLR(i, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	return SPIN_NS;
}

struct bgdma_grant_attr side_grant(const struct side *s, uint32_t rights)
{
	return (struct bgdma_grant_attr){
		.rank = s->peer, .ctx = CTX, .rights = rights,
	};
}

void side_open(struct side *s, enum rank rank)
{
	struct bgdma_attach_attr where = {
		.partition = PARTITION, .rank = rank,
		.fixed_ctx = true, .ctx = CTX,
	};
	struct bgdma_rec_attr in = { .bytes = REC_BYTES, .fixed_id = true };
	struct bgdma_grant_attr peer;

	memset(s, 0, sizeof(*s));
	s->rank = rank;
	s->peer = rank == SENDER ? RECEIVER : SENDER;
	s->spin_ns = spin_ns();
	side_check(s, bgdma_attach(&s->ctx, &where), "attach");
	side_check(s, bgdma_inj_create(s->ctx, NULL, &s->out),
		   "injection FIFO");
	in.id = FIFO;
	side_check(s, bgdma_rec_create(s->ctx, &in, &s->in), "reception FIFO");
	peer = side_grant(s, 0);
	side_check(s, bgdma_rec_grant(s->in, &peer, NULL), "grant");

	s->hash = EVP_MD_CTX_new();
	if (!s->hash || !EVP_DigestInit_ex(s->hash, EVP_sha256(), NULL))
		side_die(s, "no sha256", 0);
}

void side_close(struct side *s)
{
	side_check(s, bgdma_inj_wait(s->out, bgdma_inj_next(s->out),
				     BGDMA_SPIN_THEN_SLEEP, LEAVE_NS),
		   "the last word");
	EVP_MD_CTX_free(s->hash);
	bgdma_detach(s->ctx);
}

void side_window(struct side *s, uint64_t length, uint32_t rights)
{
	uint64_t bytes = length < WINDOW ? length : WINDOW;

	side_check(s, bgdma_region_alloc(s->ctx, bytes ? bytes : 1, rights,
					 &s->window), "window");
}

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/*
 * By the engine's threads rather than in this process: who worked for us polls
 * our doorbell for a while, so the next descriptors need no call.
 */
void side_submit(struct side *s)
{
	bgdma_inj_publish(s->out);
	bgdma_full_barrier();
	if (bgdma_load_relaxed(&bgdma_ctx_view(s->ctx)->kern->wake) &
	    BGDMA_NEED_WAKEUP)
		side_check(s, bgdma_doorbell(s->ctx, BGDMA_DOORBELL_POOL),
			   "doorbell");
}

void side_wake_engine(struct side *s)
{
	const struct bgdma_kern_ctl *kern = bgdma_ctx_view(s->ctx)->kern;
	int64_t end = now_ns() + WAKE_NS;

	while (bgdma_load_relaxed(&kern->wake) & BGDMA_NEED_WAKEUP &&
	       now_ns() < end)
		bgdma_relax();
}

static bool is_there(struct side *s, const struct bgdma_counter *counter)
{
	return counter ? bgdma_counter_there(counter) :
			 bgdma_rec_peek(s->in) != NULL;
}

/*
 * What an event means for us; NULL: nothing. No event is good news here, if it
 * is not about somebody else.
 */
static const char *bad_event(struct side *s)
{
	const struct bgdma_event *event;

	while ((event = bgdma_event_peek(s->ctx))) {
		if (event->type != BGDMA_EVENT_PEER_DOWN)
			return "cannot go on";
		if (event->peer_rank == s->peer)
			return "the other side died, or left";
		bgdma_event_release(s->ctx);
	}
	return NULL;
}

/* Return: false: it is time to sleep. */
static bool spin(struct side *s, const struct bgdma_counter *counter)
{
	int64_t end = now_ns() + s->spin_ns;
	int looks;

	do {
		for (looks = 0; looks < LOOKS_PER_CLOCK; looks++) {
			if (is_there(s, counter))
				return true;
			bgdma_relax();
		}
		if (bgdma_event_peek(s->ctx) || bgdma_ctx_dead(s->ctx))
			return true;
	} while (now_ns() < end);
	return false;
}

static void sleep_until(struct side *s, const struct bgdma_counter *counter)
{
	struct bgdma_condition until[] = {
		counter ? bgdma_until_counter(counter) :
			  bgdma_until_packet(s->in),
		bgdma_until_event(s->ctx),
	};
	int ret = bgdma_wait(s->ctx, until, 2, -1);

	if (ret != -EINTR)
		side_check(s, ret, "wait");
}

void side_wait(struct side *s, struct bgdma_counter *counter)
{
	struct bgdma_record record;
	const char *bad;

	while (!is_there(s, counter)) {
		if (bgdma_ctx_dead(s->ctx))
			side_die(s, "the partition is gone", 0);
		bad = bad_event(s);
		/* The peer may have said its last word before it left. */
		if (bad && !is_there(s, counter))
			side_die(s, bad, 0);
		if (!spin(s, counter))
			sleep_until(s, counter);
	}
	if (counter && bgdma_counter_error(counter, &record)) {
		explain(s, &record);
		side_die(s, "the counter failed", 0);
	}
}

const struct bgdma_packet *side_packet(struct side *s)
{
	const struct bgdma_packet *packet = bgdma_rec_peek(s->in);

	if (!packet) {
		side_check(s, bgdma_rec_release(s->in), "release");
		s->unreleased = 0;
		side_wait(s, NULL);
		packet = bgdma_rec_peek(s->in);
	}
	return packet;
}

void side_next(struct side *s)
{
	s->unreleased += bgdma_packet_size(bgdma_rec_peek(s->in)->bytes);
	bgdma_rec_next(s->in);
	if (s->unreleased < REC_BYTES / 8)
		return;
	side_check(s, bgdma_rec_release(s->in), "release");
	s->unreleased = 0;
}

void side_say(struct side *s, enum dispatch what, const struct word *word)
{
	struct bgdma_memfifo_attr message = {
		.dest = s->peer, .dest_ctx = CTX, .fifo = FIFO,
		.dispatch = what, .data = word ? (const void *)word : "",
		.length = word ? sizeof(*word) : 0, .more = true,
	};

	side_check(s, bgdma_memfifo(s->out, &message), "memory FIFO message");
	side_submit(s);
}

void side_hear(struct side *s, enum dispatch what, struct word *word)
{
	const struct bgdma_packet *packet = side_packet(s);

	if (packet->flags & BGDMA_PACKET_ERROR || packet->dispatch != what ||
	    packet->bytes != (word ? sizeof(*word) : 0))
		side_die(s, "the peer speaks out of turn", 0);
	if (word)
		memcpy(word, bgdma_packet_data(packet), sizeof(*word));
	side_next(s);
}

uint32_t pieces_of(uint32_t bytes)
{
	return bytes ? (bytes + PIECE - 1) / PIECE : 1;
}

uint32_t piece_bytes(uint32_t bytes, uint32_t i)
{
	return bytes - i * PIECE < PIECE ? bytes - i * PIECE : PIECE;
}

void side_hash(struct side *s, const void *data, uint32_t bytes)
{
	if (!EVP_DigestUpdate(s->hash, data, bytes))
		side_die(s, "sha256", 0);
}

void side_print_hash(struct side *s)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int i, length;

	if (!EVP_DigestFinal_ex(s->hash, digest, &length))
		side_die(s, "sha256", 0);
	printf("sha256 ");
	for (i = 0; i < length; i++)
		printf("%02x", digest[i]);
	printf("\n");
}
