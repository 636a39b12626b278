// SPDX-License-Identifier: GPL-2.0
/*
 * What every subject needs: two ends of a transfer, memory, a clock, and lines
 * for the host.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

#define PAGE	4096UL
#define OTHER	3000	/* uid */

void die(const char *what, int err)
{
	fprintf(stderr, "bgdma-perf: %s: %s\n", what, strerror(-err));
	exit(1);
}

struct bgdma_ctx *attach(uint32_t rank, int number)
{
	struct bgdma_attach_attr attr = {
		.partition = PARTITION,
		.rank = rank,
		.fixed_ctx = number >= 0,
		.ctx = number >= 0 ? (uint16_t)number : 0,
	};
	struct bgdma_ctx *ctx;

	must(bgdma_attach(&ctx, &attr));
	return ctx;
}

struct bgdma_ctx *attach_many(uint32_t rank, uint32_t inj_fifos)
{
	struct bgdma_attach_attr attr = {
		.partition = PARTITION,
		.rank = rank,
		.inj_fifos = inj_fifos,
	};
	struct bgdma_ctx *ctx;

	must(bgdma_attach(&ctx, &attr));
	return ctx;
}

void ends_open(struct ends *e)
{
	const struct bgdma_grant_attr anyone = {
		.rank = 0,
		.ctx = BGDMA_CTX_ANY,
	};

	memset(e, 0, sizeof(*e));
	e->from = attach(0, -1);
	e->to = attach(1, -1);
	must(bgdma_inj_create(e->from, NULL, &e->inj));
	must(bgdma_rec_create(e->to, NULL, &e->rec));
	must(bgdma_rec_grant(e->rec, &anyone, NULL));
	must(bgdma_counter_alloc(e->from, BGDMA_INJECTION, &e->sent));
	must(bgdma_counter_alloc(e->to, BGDMA_RECEPTION, &e->arrived));
	must(bgdma_counter_grant(e->arrived, 1, &anyone, NULL));
}

void ends_memory(struct ends *e, void *source, void *target, size_t size)
{
	const struct bgdma_grant_attr write = {
		.rank = 0,
		.ctx = BGDMA_CTX_ANY,
		.rights = BGDMA_RIGHT_WRITE,
	};

	must(bgdma_region_register(e->from, source, size, BGDMA_LOCAL_READ,
				   &e->source));
	must(bgdma_region_register(e->to, target, size, BGDMA_LOCAL_WRITE,
				   &e->target));
	must(bgdma_region_grant(e->target, &write, NULL));
}

void ends_close(struct ends *e)
{
	bgdma_detach(e->from);
	bgdma_detach(e->to);
}

pid_t as_other_user(void (*run)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A group, so that what it starts ends with it. */
	setpgid(0, 0);
	must(setresuid(OTHER, OTHER, OTHER) ? -errno : 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run();
	exit(1);
}

void *small_pages(size_t size)
{
	static unsigned int odd = 1;
	char *p;

	/* Distances of a multiple of 64 pages are slow under TCG. */
	p = mmap(NULL, size + 128 * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap", -errno);
	if (madvise(p, size + 128 * PAGE, MADV_NOHUGEPAGE) && errno != EINVAL)
		die("madvise", -errno);
	odd = (odd + 22) % 64 | 1;
	p += odd * PAGE;
	memset(p, 1, size);
	return p;
}

pid_t fork_bound(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork", -errno);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Before that? */
	if (getppid() != parent)
		_exit(1);
	return 0;
}

void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity", -errno);
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void report_region(const char *name, unsigned int ops, uint64_t ns)
{
	printf("{\"region\":\"%s\",\"ops\":%u,\"ns\":%.1f}\n", name, ops,
	       (double)ns / ops);
	fflush(stdout);
}

void report_ns(const char *name, unsigned int pair, uint64_t ns, uint64_t ops)
{
	printf("{\"time\":\"%s\",\"pair\":%u,\"ns\":%.1f}\n", name, pair,
	       (double)ns / (double)ops);
	fflush(stdout);
}

void report_number(const char *name, uint64_t value)
{
	printf("{\"number\":\"%s\",\"value\":%llu}\n", name,
	       (unsigned long long)value);
	fflush(stdout);
}

void report_tool(const char *name, const char *command)
{
	FILE *tool = popen(command, "r");
	int byte, status;

	if (!tool)
		die(command, -errno);
	printf("{\"tool\":\"%s\",\"says\":", name);
	while ((byte = getc(tool)) != EOF) {
		if (byte != '\n')
			putchar(byte);
	}
	status = pclose(tool);
	printf("}\n");
	fflush(stdout);
	if (status)
		die(command, -EIO);
}
