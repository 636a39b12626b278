// SPDX-License-Identifier: GPL-2.0
/*
 * What the module costs while nothing is to do: whether any of its functions
 * runs, whether its threads do, and the memory of a node. And whether the
 * engine copies each byte once.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perf.h"

/* A tracer of our own: what somebody else traces goes on. */
#define TRACING		"/sys/kernel/tracing/instances/bgdma-perf/"
#define WARM		"perf-warm"
#define IDLE		"perf-idle"
#define SETTLE_S	1
#define IDLE_S		2
#define NODES		512
#define MESSAGE		1000
#define PUT		12345
#define ROUNDS		100

static void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t size = (ssize_t)strlen(text);

	if (fd < 0 || write(fd, text, (size_t)size) != size)
		die(name, -errno);
	close(fd);
}

/* Calls of the module's functions that the kernel's tracer saw. */
static unsigned int calls(void)
{
	FILE *trace = fopen(TRACING "trace", "r");
	unsigned int n = 0;
	char line[512];

	if (!trace)
		die(TRACING "trace", -errno);
	while (fgets(line, sizeof(line), trace))
		n += line[0] != '#' && line[0] != '\n';
	fclose(trace);
	return n;
}

/*
 * Nanoseconds that the module's threads ran, and how often they did; the
 * return value is how many there are.
 */
static unsigned int threads(uint64_t *ns, uint64_t *runs)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned int n = 0;

	*ns = 0;
	*runs = 0;
	while (proc && (entry = readdir(proc))) {
		char path[300], comm[32] = "", stat[128] = "";
		char *end;
		FILE *f;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "r");
		if (f && !fgets(comm, sizeof(comm), f))
			comm[0] = '\0';
		if (f)
			fclose(f);
		if (strncmp(comm, "bgdma/", 6))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/schedstat",
			 entry->d_name);
		f = fopen(path, "r");
		if (!f || !fgets(stat, sizeof(stat), f))
			die(path, -EIO);
		fclose(f);
		*ns += strtoull(stat, &end, 10);
		strtoull(end, &end, 10);
		*runs += strtoull(end, NULL, 10);
		n++;
	}
	if (proc)
		closedir(proc);
	return n;
}

/* Work for the threads, so that there are some and they have polled. */
static void work(struct ends *e)
{
	struct bgdma_desc nop;

	bgdma_desc_nop(&nop, 0);
	must(bgdma_inject(e->inj, &nop));
	must(bgdma_doorbell(e->from, BGDMA_DOORBELL_POOL));
	must(bgdma_inj_wait(e->inj, bgdma_inj_next(e->inj), BGDMA_SLEEP, -1));
}

static void cpu_use(struct ends *e)
{
	uint64_t ns[2], runs[2];

	work(e);
	must(mkdir(TRACING, 0700) ? -errno : 0);
	write_file(TRACING "set_ftrace_filter", ":mod:bgdma");
	write_file(TRACING "current_tracer", "function");
	must(bgdma_doorbell(e->from, 0));
	report_number("functions called by a doorbell", calls());
	sleep(SETTLE_S);
	threads(&ns[0], &runs[0]);
	write_file(TRACING "trace", "");
	sleep(IDLE_S);
	report_number("functions called while idle", calls());
	report_number("threads", threads(&ns[1], &runs[1]));
	report_number("times that threads ran while idle", runs[1] - runs[0]);
	report_number("nanoseconds of threads while idle", ns[1] - ns[0]);
	write_file(TRACING "current_tracer", "nop");
}

static void memory(void)
{
	struct bgdma_ctx *ctx[NODES];
	uint64_t before;
	unsigned int i;

	/* What the first one of anything makes is there already. */
	if (system("bgdma partition add " WARM " dims 16x16x16"))
		die("bgdma partition add", -EIO);
	before = free_memory();
	if (system("bgdma partition add " IDLE " dims 16x16x16"))
		die("bgdma partition add", -EIO);
	report_number("bytes of free memory that 4096 nodes took",
		      memory_taken(before, free_memory()));

	before = free_memory();
	for (i = 0; i < NODES; i++) {
		must(bgdma_attach(&ctx[i], &(struct bgdma_attach_attr){
				.partition = IDLE, .rank = i }));
	}
	report_number("bytes of free memory that 512 attached nodes took",
		      memory_taken(before, free_memory()));
	report_tool("idle node", "bgdma -j node show " IDLE "/5");
	for (i = 0; i < NODES; i++) {
		struct bgdma_inj_fifo *inj;
		struct bgdma_rec_fifo *rec;

		must(bgdma_inj_create(ctx[i], NULL, &inj));
		must(bgdma_rec_create(ctx[i], NULL, &rec));
	}
	report_tool("node with FIFOs", "bgdma -j node show " IDLE "/5");
	for (i = 0; i < NODES; i++)
		bgdma_detach(ctx[i]);
}

/* Each payload byte is copied once, whatever the operation. */
static void copies(struct ends *e)
{
	struct bgdma_memfifo_attr message = {
		.dest = 1,
		.dest_ctx = bgdma_ctx_info(e->to)->ctx,
		.fifo = bgdma_rec_id(e->rec),
		.length = MESSAGE,
		.from = { e->source, 1 },
	};
	struct bgdma_put_attr put = {
		.dest = 1,
		.dest_ctx = bgdma_ctx_info(e->to)->ctx,
		.length = PUT,
		.from = { e->source, 3 },
		.to = { bgdma_region_handle(e->target), 5 },
	};
	unsigned int i;

	report_tool("stat before", "bgdma -j stat");
	for (i = 0; i < ROUNDS; i++) {
		must(bgdma_memfifo(e->inj, &message));
		must(bgdma_put(e->inj, &put));
		must(bgdma_rec_wait(e->rec, BGDMA_SLEEP, -1));
		bgdma_rec_next(e->rec);
		must(bgdma_rec_release(e->rec));
		must(bgdma_inj_wait(e->inj, bgdma_inj_next(e->inj),
				    BGDMA_SLEEP, -1));
	}
	report_tool("stat after", "bgdma -j stat");
	report_number("payload", ROUNDS * (MESSAGE + PUT));
}

void idle(void)
{
	struct ends e;
	char *source = small_pages(2 * PUT), *target = small_pages(2 * PUT);

	ends_open(&e);
	ends_memory(&e, source, target, 2 * PUT);
	copies(&e);
	cpu_use(&e);
	memory();
	ends_close(&e);
}

/* What there is of it: whatever ended the measurement. */
void idle_leave(void)
{
	if (!access(TRACING, F_OK) && rmdir(TRACING))
		fprintf(stderr, "bgdma-perf: " TRACING " is left: %s\n", strerror(errno));
	if (system("for name in " WARM " " IDLE "; do "
		   "if bgdma partition show $name >/dev/null 2>&1; then "
		   "bgdma partition del $name || exit; fi; done"))
		fprintf(stderr, "bgdma-perf: a partition is left\n");
}
