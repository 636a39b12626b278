// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Three origins share a table in the window of process 0, whose core only looks
 * on: an exclusive epoch keeps the others out, an access in the closing stage is
 * refused, and an origin that is killed in an epoch gives it up (EP-1 to EP-8).
 *
 *	epoch FILE
 *
 * FILE has a key and a number in each line.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bgdma/bgdma.h>

enum { ROWS = 256, ID = 100, BATCHES = 5, BATCH = 20, PAUSE_US = 50000 };
enum { ORIGINS = 3, CHANGES = BATCHES * BATCH };
enum { SEEN = ROWS - 2, LAST = ROWS - 1 };	/* rows of no key */

struct row {
	char key[48];
	uint64_t number;
	uint64_t changes;
};

static struct bgdma_endpoint *ep;
static struct bgdma_window *window;
static struct bgdma_region *region;
static uint32_t rank;
static struct row *mine;		/* two, to put from and get into */
static const struct bgdma_rma_trouble *volatile broken;

static void must(const char *what, int ret)
{
	if (ret >= 0)
		return;
	printf("process %u: %s: %s\n", rank, what, strerror(-ret));
	exit(1);
}

static void meet(void)
{
	must("meet", bgdma_window_fence(window, BGDMA_FENCE_LAST));
}

static void on_trouble(void *arg, const struct bgdma_rma_trouble *trouble)
{
	static struct bgdma_rma_trouble copy;

	(void)arg;
	if (trouble->origin)
		return;
	copy = *trouble;
	broken = &copy;
}

static bool is_broken(void *arg)
{
	(void)arg;
	return broken;
}

static struct bgdma_access_attr row_at(uint32_t i)
{
	return (struct bgdma_access_attr){
		.local = { region, 0 }, .length = sizeof(struct row), .at = i,
	};
}

/* ---- The target -------------------------------------------------------- */

static uint32_t load(const char *path)
{
	struct row *rows = bgdma_window_addr(window);
	FILE *file = fopen(path, "r");
	uint32_t n = 0;

	if (!file)
		must(path, -errno);
	while (n < SEEN && fscanf(file, "%47s %" SCNu64 "%*[^\n]",
				  rows[n].key, &rows[n].number) == 2)
		n++;
	fclose(file);
	return n;
}

static const char *state_name(unsigned int state)
{
	static const char *const names[] = {
		"waits", "asks", "is open", "is closing", "is closed",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

/* The origin may see what its epoch has got: whose, and how many. */
static uint64_t seen_of(uint32_t origin, uint64_t got)
{
	return (uint64_t)origin << 32 | got;
}

/* Say what is at the gate whenever it changes, until all have been there. */
static void watch(void)
{
	struct row *rows = bgdma_window_addr(window);
	struct bgdma_epoch now[8], before = { 0 };
	int n, seen = -1;

	do {
		n = bgdma_gate_epochs(bgdma_window_region(window), now, 8);
		must("gate", n);
		if (n == seen && (!n || (now[0].got == before.got &&
					 now[0].put == before.put &&
					 now[0].state == before.state &&
					 now[0].rank == before.rank)))
			continue;
		seen = n;
		if (!n)
			continue;
		before = now[0];
		printf("target: epoch %u of process %u %s: got: %llu, put: %llu"
		       "; %d more wait\n", before.epoch, before.rank,
		       state_name(before.state), before.got, before.put,
		       n - 1);
		__atomic_store_n(&rows[SEEN].number,
				 seen_of(before.rank, before.got),
				 __ATOMIC_RELEASE);
	} while (bgdma_endpoint_progress(ep, 0) >= 0 &&
		 (n || __atomic_load_n(&rows->changes, __ATOMIC_ACQUIRE) <
		       ORIGINS * CHANGES));
}

static void target(const char *path)
{
	const struct row *rows = bgdma_window_addr(window);
	uint32_t keys = load(path);
	struct bgdma_epoch last;

	printf("target: %u keys, first %s %" PRIu64 "\n", keys, rows->key,
	       rows->number);
	meet();
	meet();
	watch();
	meet();
	printf("target: %s is %" PRIu64 " after %" PRIu64 " changes\n",
	       rows->key, rows->number, rows->changes);
	meet();
	must("wait for a death",
	     bgdma_endpoint_wait_until(ep, is_broken, NULL, BGDMA_SLEEP, -1));
	printf("target: epoch %u of process %u broke: %s; it had put %" PRIu64
	       " rows\n", broken->epoch, broken->rank,
	       bgdma_strcode(broken->code), broken->got);
	/* Process 1 has it next. */
	while (__atomic_load_n(&rows[LAST].changes, __ATOMIC_ACQUIRE) != 1)
		must("progress", bgdma_endpoint_progress(ep, 0));
	/* And closes it: nobody is at the gate. */
	while (bgdma_gate_epochs(bgdma_window_region(window), &last, 1) > 0)
		must("progress", bgdma_endpoint_progress(ep, 0));
}

/* ---- The origins ------------------------------------------------------- */

/* All puts have come: the target counts as many as we do. */
static void counters_meet(struct bgdma_rma_epoch *e)
{
	struct bgdma_access_attr seen = row_at(SEEN);
	struct bgdma_epoch_info info;

	bgdma_epoch_info(e, &info);
	seen.local.offset = sizeof(*mine);
	for (;;) {
		must("get", bgdma_epoch_get(e, &seen));
		must("flush", bgdma_epoch_flush(e));
		if (mine[1].number == seen_of(rank, info.puts))
			break;
		usleep(1000);
	}
	printf("process %u: put counter %" PRIu64 ", the target got: %u\n",
	       rank, info.puts, (uint32_t)mine[1].number);
}

/* Change the first row many times, alone. */
static void change_alone(struct bgdma_rma_epoch *e)
{
	struct bgdma_access_attr row = row_at(0);
	struct bgdma_epoch_info info;
	unsigned int i, k;

	must("get", bgdma_epoch_get(e, &row));
	must("flush", bgdma_epoch_flush(e));
	for (i = 0; i < BATCHES; i++) {
		for (k = 0; k < BATCH; k++) {
			mine->number++;
			mine->changes++;
			must("put", bgdma_epoch_put(e, &row));
			must("flush", bgdma_epoch_flush(e));
		}
		bgdma_epoch_info(e, &info);
		printf("process %u: put counter %" PRIu64 ", get counter %"
		       PRId64 "\n", rank, info.puts, info.gets);
		usleep(PAUSE_US);
	}
	counters_meet(e);
	must("closing", bgdma_epoch_closing(e));
	printf("process %u: a put in the closing stage: %s\n", rank,
	       strerror(-bgdma_epoch_put(e, &row)));
}

static void share(void)
{
	struct bgdma_rma_epoch *e = NULL;
	int ret;

	if (rank == 1)
		must("begin", bgdma_epoch_begin(window, 0, ID,
						BGDMA_EPOCH_EXCLUSIVE, &e));
	meet();
	if (rank == 2) {
		ret = bgdma_epoch_begin(window, 0, ID, BGDMA_EPOCH_REFUSE, &e);
		printf("process 2: asks, and would not wait: %s\n",
		       strerror(-ret));
	}
	if (rank != 1)
		must("begin", bgdma_epoch_begin(window, 0, ID,
						BGDMA_EPOCH_EXCLUSIVE, &e));
	change_alone(e);
	must("close", bgdma_epoch_close(e));
	printf("process %u: has closed\n", rank);
}

static void die_in_an_epoch(void)
{
	struct bgdma_access_attr row = row_at(1);
	struct bgdma_rma_epoch *e;

	must("begin", bgdma_epoch_begin(window, 0, ID + rank,
					BGDMA_EPOCH_EXCLUSIVE, &e));
	must("put", bgdma_epoch_put(e, &row));
	must("flush", bgdma_epoch_flush(e));
	printf("process %u: kills itself in epoch %u\n", rank, ID + rank);
	fflush(stdout);
	kill(getpid(), SIGKILL);
}

static void origin(void)
{
	struct bgdma_access_attr row = row_at(LAST);
	struct bgdma_rma_epoch *e;

	meet();
	share();
	meet();
	meet();
	if (rank == 2)
		die_in_an_epoch();
	if (rank != 1)
		return;
	usleep(PAUSE_US);
	must("begin", bgdma_epoch_begin(window, 0, ID, BGDMA_EPOCH_EXCLUSIVE,
					&e));
	printf("process 1: has the table next\n");
	mine->changes = 1;
	must("put", bgdma_epoch_put(e, &row));
	must("close", bgdma_epoch_close(e));
}

int main(int argc, char **argv)
{
	const struct bgdma_rma_attr attr = { .trouble = on_trouble };
	struct bgdma_rma *rma;
	struct bgdma_job *job;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must("job", bgdma_job_open(&job, NULL));
	rank = bgdma_job_rank(job);
	must("endpoint", bgdma_endpoint_create(&ep,
			&(struct bgdma_endpoint_attr){ .job = job }));
	must("rma", bgdma_rma_create(&rma, ep, &attr));
	must("commit", bgdma_endpoint_commit(ep, NULL));
	must("region", bgdma_region_alloc(bgdma_endpoint_ctx(ep),
			2 * sizeof(struct row), BGDMA_LOCAL_READ |
			BGDMA_LOCAL_WRITE, &region));
	must("expose", bgdma_endpoint_expose(ep, region, BGDMA_RIGHT_WRITE));
	mine = bgdma_region_addr(region);
	must("window", bgdma_window_create(rma, &(struct bgdma_window_attr){
			.length = rank ? 0 : ROWS * sizeof(struct row),
			.unit = sizeof(struct row) }, &window));
	if (rank)
		origin();
	else
		target(argc > 1 ? argv[1] : "/proc/meminfo");
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
	return 0;
}
