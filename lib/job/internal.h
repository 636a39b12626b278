/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the job share: each wiring is a table of functions.
 */
#ifndef BGDMA_JOB_INTERNAL_H
#define BGDMA_JOB_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bgdma/job.h>

#define JOB_SIZE_MAX	(1U << 24)
#define JOB_HEX_MAX	(2 * BGDMA_JOB_VALUE_MAX + 1)	/* with its zero */

/*
 * All but @there return 0 or a negative errno, and run one at a time.
 * @there: whether a launcher left its mark in the environment
 * @open: sets rank, size and state
 * @close: undoes an @open that succeeded
 * @get: bytes, as bgdma_job_get()
 */
struct wiring {
	const char *name;
	bool (*there)(void);
	int (*open)(struct bgdma_job *job);
	void (*close)(struct bgdma_job *job);
	int (*put)(struct bgdma_job *job, const char *key, const void *value,
		   size_t bytes);
	int (*fence)(struct bgdma_job *job);
	int (*get)(struct bgdma_job *job, uint32_t rank, const char *key,
		   void *value, size_t size);
};

/* One that was put: for a second value others could find the first. */
struct job_key {
	struct job_key *next;
	char name[BGDMA_JOB_KEY_MAX];
};

struct bgdma_job {
	uint32_t rank;
	uint32_t size;
	uint32_t timeout_ms;
	const struct wiring *wiring;
	void *state;			/* the wiring's */
	pthread_mutex_t lock;		/* one call at a time */
	struct job_key *keys;
};

extern const struct wiring wiring_env;
extern const struct wiring wiring_pmix;
extern const struct wiring wiring_pmi1;
extern const struct wiring wiring_single;

/* A whole decimal number of at most @max; false: it is something else. */
bool job_number(const char *text, unsigned long max, uint32_t *number);

/* The same of a variable; false: it is not set, or is something else. */
bool job_variable(const char *name, unsigned long max, uint32_t *number);

int64_t job_now_ms(void);
/* When a fence that begins now times out, in job_now_ms(); 0: never. */
int64_t job_deadline(const struct bgdma_job *job);

/* Values as text, for wirings that carry only that. */
void job_to_hex(const void *value, size_t bytes, char *hex);
/* Bytes of the value; -EPROTO it is no hex; -EMSGSIZE longer than @size. */
int job_from_hex(const char *hex, void *value, size_t size);

#endif /* BGDMA_JOB_INTERNAL_H */
