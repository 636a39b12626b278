// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz the device with short programs, and keep those that reach what none
 * before them reached, as KCOV tells.
 *
 *	bgdma-fuzz [-n PROGRAMS] [-t SECONDS] [-s SEED] [-c FILE] [-r FILE]
 *
 * -c names a file of programs to begin with, one a line, with the names of their
 * calls; what was kept is printed at the end in the same way, behind "keep". -r runs
 * a file's and no other. Each program is told to the kernel's log before it runs: the last one
 * there is to blame for what follows, with those before it in its process.
 *
 * It fails when there is no coverage at all, or a process that cannot be
 * killed. What the kernel has to say about it is read by whoever runs this.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcov.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

#define CORPUS_MAX	4096
#define SESSION		12	/* programs in one process */
#define SESSION_MS	10000	/* then it is killed */
#define KILLED_MS	60000	/* then something is wrong */

/* ---- Sets of numbers --------------------------------------------------- */

#define SET_SLOTS	(1UL << 18)

struct set {
	unsigned long slot[SET_SLOTS];
	size_t used;
};

static unsigned long mixed(unsigned long v)
{
	v = (v ^ v >> 31) * 0x9e3779b97f4a7c15UL;
	return v ^ v >> 29;
}

/* Whether it was new. */
static bool set_add(struct set *s, unsigned long v)
{
	size_t i = mixed(v) % SET_SLOTS;

	while (s->slot[i] && s->slot[i] != v)
		i = (i + 1) % SET_SLOTS;
	if (s->slot[i] || s->used > SET_SLOTS / 2)
		return false;
	s->slot[i] = v;
	s->used++;
	return true;
}

/* ---- Coverage ---------------------------------------------------------- */

#define KCOV_WORDS	(1UL << 16)

/* @words[0] counts what follows. */
struct kcov {
	int fd;
	unsigned long *words;
};

/* ---- What is known so far; all processes share it --------------------- */

struct fuzzer {
	struct kcov calls;	/* of the process that runs programs */
	struct kcov engine;	/* what the module's threads do for it */
	struct random random;
	struct set blocks;	/* of code */
	unsigned long in_threads; /* of them, reached there first */
	struct set steps;	/* from one block to the next */
	struct program corpus[CORPUS_MAX];
	size_t corpus_size;
	struct program seed[CORPUS_MAX];
	size_t seeds, given;
	bool only_seeds;
	unsigned long programs, programs_max;
	unsigned long killed;
	long end;
	int kmsg;
};

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool kcov_map(struct kcov *k)
{
	k->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (k->fd < 0 || ioctl(k->fd, KCOV_INIT_TRACE, KCOV_WORDS))
		return false;
	k->words = mmap(NULL, KCOV_WORDS * sizeof(*k->words),
			PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, 0);
	return k->words != MAP_FAILED;
}

/*
 * Whoever opens the device from here on, and sends frames: the module's threads are
 * covered for this process and those that it forks, until these end a trace of
 * their own.
 */
static bool kcov_of_threads(const struct kcov *k)
{
	struct kcov_remote_arg arg = {
		.trace_mode = KCOV_TRACE_PC, .area_size = KCOV_WORDS / 2,
		.common_handle = kcov_remote_handle(KCOV_SUBSYSTEM_COMMON,
						    (__u64)getpid()),
	};

	return !ioctl(k->fd, KCOV_REMOTE_ENABLE, &arg);
}

static bool kcov_open(struct fuzzer *f)
{
	return kcov_map(&f->calls) && kcov_map(&f->engine) &&
	       kcov_of_threads(&f->engine);
}

static void kcov_clear(struct fuzzer *f)
{
	f->calls.words[0] = 0;
	__atomic_store_n(&f->engine.words[0], 0, __ATOMIC_RELAXED);
}

/* @blocks: how many of code none before had reached are added there */
static bool new_in(struct fuzzer *f, const struct kcov *k, unsigned long *blocks)
{
	unsigned long count = k->words[0], last = 0, i;
	bool found = false;

	if (count > KCOV_WORDS - 1)
		count = KCOV_WORDS - 1;
	for (i = 1; i <= count; i++) {
		unsigned long at = k->words[i];

		*blocks += set_add(&f->blocks, at);
		found |= set_add(&f->steps, at ^ mixed(last));
		last = at;
	}
	return found;
}

/* Whether a program took a step that none before took. */
static bool anything_new(struct fuzzer *f)
{
	unsigned long in_calls = 0;
	bool found = new_in(f, &f->calls, &in_calls);

	return new_in(f, &f->engine, &f->in_threads) || found;
}

/* ---- Running ----------------------------------------------------------- */

static void tell(struct fuzzer *f, const struct program *p)
{
	char text[PROGRAM_TEXT], line[PROGRAM_TEXT + 32];
	int length;

	program_print(p, text);
	length = snprintf(line, sizeof(line), "<6>fuzz %s\n", text);
	if (write(f->kmsg, line, (size_t)length) != length)
		perror("fuzz: /dev/kmsg");
}

/* Whether a process ends within that time, and how. */
static bool ends(pid_t pid, long ms, int *status)
{
	long end = now_ms() + ms;

	do {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(1000);
	} while (now_ms() < end);
	return false;
}

/* What a program has started and not waited for is ours now. */
static bool end_orphans(void)
{
	long end = now_ms() + KILLED_MS;
	char list[256];
	ssize_t bytes;
	pid_t pid;
	int fd;

	for (;;) {
		pid = waitpid(-1, NULL, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			return true;
		if (pid > 0)
			continue;
		if (now_ms() > end)
			return false;
		fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
		bytes = fd < 0 ? 0 : read(fd, list, sizeof(list) - 1);
		if (fd >= 0)
			close(fd);
		list[bytes > 0 ? bytes : 0] = '\0';
		pid = (pid_t)strtol(list, NULL, 10);
		if (pid > 0)
			kill(pid, SIGKILL);
		usleep(1000);
	}
}

static void choose(struct fuzzer *f, struct program *p)
{
	struct random *r = &f->random;
	size_t n = f->corpus_size;

	if (n < 4 || !random_below(r, 8)) {
		program_random(p, r);
		return;
	}
	*p = f->corpus[random_below(r, (uint32_t)n)];
	program_mutate(p, &f->corpus[random_below(r, (uint32_t)n)], r);
}

/* The next program; false when it is enough. */
static bool next(struct fuzzer *f, struct program *p)
{
	if (f->given < f->seeds) {
		*p = f->seed[f->given++];
		return true;
	}
	if ((f->programs_max && f->programs >= f->programs_max) ||
	    (f->end && now_ms() >= f->end) || f->only_seeds)
		return false;
	choose(f, p);
	return true;
}

/*
 * Several programs on one ground, in a process of their own: it is the ground
 * that takes time. Another program begins only if the one before let it.
 */
static void session(struct fuzzer *f, struct program *p)
{
	int n = 0;

	/* To the end: who ends a trace is covered no more by the module's threads. */
	if (ioctl(f->calls.fd, KCOV_ENABLE, KCOV_TRACE_PC))
		perror("fuzz: KCOV");
	run_ground(p);
	do {
		f->programs++;
		tell(f, p);
		kcov_clear(f);
		run_program(p);
		if (anything_new(f) && f->corpus_size < CORPUS_MAX)
			f->corpus[f->corpus_size++] = *p;
	} while (++n < SESSION && next(f, p));
	run_end();
}

static bool run(struct fuzzer *f, struct program *p)
{
	unsigned long before = f->programs;
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		session(f, p);
	if (pid < 0)
		return false;
	if (!ends(pid, SESSION_MS, &status)) {
		f->killed++;
		kill(pid, SIGKILL);
		if (!ends(pid, KILLED_MS, &status))
			return false;
	}
	/* What the one that did not return has reached, on the whole. */
	if (!WIFEXITED(status) && anything_new(f) &&
	    f->corpus_size < CORPUS_MAX)
		f->corpus[f->corpus_size++] = *p;
	if (f->programs == before)
		run_repair();
	return end_orphans();
}

/* @logged: it may be from the kernel's log, as this program wrote it. */
static bool read_seeds(struct fuzzer *f, const char *name, bool logged)
{
	FILE *file = fopen(name, "re");
	char line[PROGRAM_LINE + 8];
	bool good = true;

	if (!file) {
		perror(name);
		return false;
	}
	while (good && f->seeds < CORPUS_MAX && fgets(line, sizeof(line), file)) {
		good = (logged || strchr(line, ' ')) &&
		       program_parse(&f->seed[f->seeds], line);
		f->seeds++;
	}
	if (!good)
		fprintf(stderr, "%s:%zu: no program\n", name, f->seeds);
	fclose(file);
	return good;
}

static int report(struct fuzzer *f)
{
	char text[PROGRAM_LINE];
	bool none;
	size_t i;

	for (i = 0; i < f->corpus_size; i++) {
		program_write(&f->corpus[i], text);
		printf("keep %s\n", text);
	}
	printf("fuzz: %lu programs, %lu killed, %zu kept, %zu blocks, %zu steps, %lu blocks by threads\n",
	       f->programs, f->killed, f->corpus_size, f->blocks.used,
	       f->steps.used, f->in_threads);
	/* A few programs that are run again may well leave threads nothing to do. */
	none = !f->blocks.used || (!f->in_threads && !f->only_seeds);
	if (none)
		printf("fuzz: no coverage: is the module built with it?\n");
	return none;
}

static bool options(struct fuzzer *f, int argc, char **argv)
{
	bool good = true;
	int option;

	while (good && (option = getopt(argc, argv, "n:t:s:c:r:")) > 0) {
		switch (option) {
		case 'n':
			f->programs_max = strtoul(optarg, NULL, 0);
			break;
		case 't':
			f->end = now_ms() + 1000 * strtol(optarg, NULL, 0);
			break;
		case 's':
			f->random.state = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			good = read_seeds(f, optarg, false);
			break;
		case 'r':
			good = read_seeds(f, optarg, true);
			f->only_seeds = true;
			break;
		default:
			return false;
		}
	}
	return good;
}

int main(int argc, char **argv)
{
	struct fuzzer *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct program p;

	/* What a program executes: nothing. */
	if (argc == 2 && !strcmp(argv[1], "-x"))
		return 0;
	if (f == MAP_FAILED)
		return 1;
	f->random.state = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
	if (!options(f, argc, argv))
		return 2;
	if (!f->random.state)
		f->random.state = 1;
	printf("fuzz: seed %#llx\n", (unsigned long long)f->random.state);
	fflush(stdout);
	f->kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (!kcov_open(f)) {
		perror("fuzz: KCOV");
		return 4;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	run_prepare();
	while (next(f, &p)) {
		if (!run(f, &p)) {
			printf("fuzz: cannot be killed\n");
			return 1;
		}
	}
	return report(f);
}
