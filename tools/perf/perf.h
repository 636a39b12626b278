/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the subjects of the measuring program share.
 */
#ifndef BGDMA_PERF_H
#define BGDMA_PERF_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <bgdma/bgdma.h>

#include "mark.h"

#define PARTITION	"perf"
#define BATCH		32
#define PAIRS		15

/* How often everything is measured: what was asked for, or this. */
unsigned int runs(unsigned int otherwise);

/* --netns: with "0" or "1" behind it the namespace of each side; or NULL */
extern const char *netns;
/* The calling thread goes into that of a side; none without --netns. */
void netns_enter(uint32_t rank);
/* --only: of operations, barriers, links and collectives those figures with this in their names */
extern const char *only;

/* Both ends of a transfer, in one process: node 0 sends to node 1. */
struct ends {
	struct bgdma_ctx *from, *to;
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;
	struct bgdma_region *source, *target;
	struct bgdma_counter *sent, *arrived;
};

/* End the program with what went wrong; err is a negative errno. */
void die(const char *what, int err) __attribute__((noreturn));

/* expr gives 0 or a negative errno */
#define must(expr)							\
do {									\
	int must_ = (expr);						\
									\
	if (must_ < 0)							\
		die(#expr, must_);					\
} while (0)

/* Looking in vain is waiting; the look that finds it is work. */
#define spin_until(condition)						\
do {									\
	if (!(condition)) {						\
		MARK(MARK_WAIT);					\
		while (!(condition))					\
			bgdma_relax();					\
		MARK(MARK_GO);						\
	}								\
} while (0)

/* A context of a node; ctx: its number, or -1 for any. */
struct bgdma_ctx *attach(uint32_t rank, int ctx);
/* One with room for so many injection FIFOs. */
struct bgdma_ctx *attach_many(uint32_t rank, uint32_t inj_fifos);

/* FIFOs and counters of both ends, granted to each other. */
void ends_open(struct ends *ends);

/* And memory: size bytes at each end. */
void ends_memory(struct ends *ends, void *source, void *target, size_t size);
void ends_close(struct ends *ends);

/* Let a process of another user run this until it is killed. */
pid_t as_other_user(void (*run)(void));

/* Memory in small pages, in place, that begins at an odd page. */
void *small_pages(size_t size);
void pin_to(int cpu);

/* A child that is killed when its parent ends. */
pid_t fork_bound(void);
uint64_t now_ns(void);

/* One line of JSON for the host; the plugin's numbers come apart. */
void report_region(const char *name, unsigned int ops, uint64_t ns);
void report_ns(const char *name, unsigned int pair, uint64_t ns,
	       uint64_t ops);
void report_number(const char *name, uint64_t value);

/* Free bytes of the machine, with those that each processor keeps for itself. */
uint64_t free_memory(void);
/* 0 where others gave back more meanwhile. */
uint64_t memory_taken(uint64_t before, uint64_t after);

/* What our tool says, in JSON, for the host to make sense of. */
void report_tool(const char *name, const char *command);

/*
 * Count fn(n), n operations, some times over. It is warmed up first. A macro,
 * so that fn is inlined between the markers.
 */
#define REGIONS		5
#define count(name, n, fn)						\
do {									\
	unsigned int count_i;						\
	uint64_t count_from;						\
									\
	fn(n);								\
	for (count_i = 0; count_i < runs(REGIONS); count_i++) {		\
		count_from = now_ns();					\
		MARK(MARK_BEGIN);					\
		fn(n);							\
		MARK(MARK_END);						\
		report_region(name, n, now_ns() - count_from);		\
	}								\
} while (0)

/* The subjects. */
void count_peers(void);
void count_messages(void);
void count_puts(void);
void count_onesided(void);
void count_rma(void);
void barrier(void);
void barrier_entry(void);
void collectives(void);
void ping_pong(void);
void bandwidth(void);
void idle(void);
void idle_leave(void);
void growth(void);
void senders(void);
void under_attack(void);
void traffic(void);
void load_memcpy(void);
void load_readv(void);
void operations(void);
void over_links(void);
void over_lossy_links(void);
void pacing(void);
void to_antipode(void);
void scale(void);
void share(void);
void sys_small(void);
void sys_long(void);
void sys_portions(void);
void msg(void);
void eager_switch(void);

#endif /* BGDMA_PERF_H */
