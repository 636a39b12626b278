/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzzer of the device runs: a short list of calls, each with a few
 * bytes that say how. Any bytes are a program, so that a mutation is one too.
 */
#ifndef BGDMA_FUZZ_PROGRAM_H
#define BGDMA_FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLS_MAX	20
#define CHOICES		18

/*
 * @op: modulo the number of operations
 * @file: which of the open files
 * @choice: one byte for each argument: small ones choose what makes sense at
 *	that place, from CHOICE_ODD on what does not
 */
struct call {
	uint8_t op;
	uint8_t file;
	uint8_t choice[CHOICES];
};

#define CHOICE_ODD	0xf0

/*
 * @ground: GROUND_*: what is there before, if this is the first of a process
 */
struct program {
	uint8_t ground;
	uint8_t calls;
	struct call call[CALLS_MAX];
};

#define GROUND_NODES	3	/* so many attached files */
#define GROUND_SAME	4	/* all at one rank */
#define GROUND_SCRIBBLE	8	/* a thread writes into what is mapped */
#define GROUND_USER	16	/* without privileges */
#define GROUND_LINK	32	/* all but the first behind a link; not for users */

/* ---- program.c: making them ------------------------------------------ */

struct random {
	uint64_t state;
};

uint32_t random_below(struct random *r, uint32_t n);
void program_random(struct program *p, struct random *r);
/* Change it in one to four places; parts may come from @other. */
void program_mutate(struct program *p, const struct program *other,
		    struct random *r);
/* Two digits a byte: short, for the kernel's log. */
#define PROGRAM_TEXT	(2 * sizeof(struct program) + 1)
void program_print(const struct program *p, char *text);
/*
 * To be kept: the ground, and of each call its name, which says the same when there are
 * more calls, its file and its choices:
 *
 *	02 GRANT:1:0203... inject:0:0001...
 */
#define CALL_NAME_MAX	16
#define PROGRAM_LINE	(4 + CALLS_MAX * (CALL_NAME_MAX + 8 + 2 * CHOICES))
void program_write(const struct program *p, char *text);
/* Either of them: false when that is no program. */
bool program_parse(struct program *p, const char *text);

/* ---- run.c: names of calls ------------------------------------------- */

const char *call_name(uint8_t op);
/* The first that has it, or -1. */
int call_named(const char *name, size_t length);

/* ---- run.c: running them --------------------------------------------- */

/* Prepares this process for all: a network namespace, signals. */
void run_prepare(void);
/* A partition to attach to, when somebody deleted it. */
void run_repair(void);
/* Attach, create and map what p->ground says; ends the process if it cannot. */
void run_ground(const struct program *p);
/* The calls; it may well not return. */
void run_program(const struct program *p);
void run_end(void) __attribute__((noreturn));

#endif /* BGDMA_FUZZ_PROGRAM_H */
