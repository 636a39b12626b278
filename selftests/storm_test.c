// SPDX-License-Identifier: GPL-2.0
/*
 * A storm: processes attach, transfer, fork, exec, stop, hold all that they can
 * get, and are killed at no point in particular, while memory is short,
 * processors come and go, partitions are deleted and the module is removed.
 * Afterwards nothing may be left of it.
 *
 *	storm_test [SECONDS [SEED]]
 *
 * Without SECONDS a few small rounds. What is decided follows from the seed, which
 * is printed; when each process gets a processor does not.
 */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "machine.h"
#include "storm.h"

#define WITNESS		"witness"
#define CGROUPS		"/sys/fs/cgroup"
#define CGROUP		CGROUPS "/storm"

static pid_t worker[WORKERS_MAX], anchor, witness;
static unsigned int number, failed;	/* of results */

/* A member of the group that ends with the round, however it was orphaned. */
static pid_t begin_child(void)
{
	pid_t pid = fork();

	/* By whoever comes first: a signal to the group misses nobody. */
	setpgid(pid, anchor);
	if (pid)
		return (pid_t)must(pid);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return 0;
}

static void worker_start(unsigned int i)
{
	__u64 fate = (__u64)any(UINT32_MAX) << 32 | any(UINT32_MAX);
	uid_t uid = FIRST_UID + i % USERS;
	int null;

	worker[i] = begin_child();
	if (worker[i])
		return;
	seed(fate, i);
	if (memory_is_short)
		write_file(CGROUP "/cgroup.procs", "0");
	/* That calls fail is what it is there for. */
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	dup2(null, STDERR_FILENO);
	must(setgroups(0, NULL));
	must(setresgid(uid, uid, uid));
	must(setresuid(uid, uid, uid));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	live(i);
}

/* ---- The witness: somebody else's transfers go on, and are right ------ */

static void bear_witness(void)
{
	struct end a, b;
	unsigned int i;

	must(node_try(&a.n, WITNESS, 0, NULL));
	must(node_try(&b.n, WITNESS, 1, NULL));
	inj_new(&a.inj, &a.n);
	region_new(&a.mem, &a.n, PAIR_BYTES);
	region_new(&b.mem, &b.n, PAIR_BYTES);
	for (i = 0; ; i++) {
		struct bgdma_desc d = d_put(1, a.mem.handle, 0, b.mem.handle, 0,
					    PAIR_BYTES);

		fill(a.mem.p, PAIR_BYTES, i);
		if (run(&a.inj, &d) != BGDMA_OK ||
		    !filled(b.mem.p, PAIR_BYTES, i)) {
			store(&table->betrayed, 1);
			_exit(1);
		}
		store(&table->witnessed, i + 1);
		usleep(1000);
	}
}

/* ---- The machine ------------------------------------------------------ */

/* A limit that the workers together do not always keep. */
static void memory_limit(void)
{
	/* What is mounted here is for nobody else, and goes with this process. */
	if (unshare(CLONE_NEWNS) ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("storm", CGROUPS, "cgroup2", 0, NULL))
		return;
	write_file(CGROUPS "/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0700);
	write_file(CGROUP "/memory.max", "96M");
	memory_is_short = !access(CGROUP "/memory.max", F_OK);
}

static bool module_remove_at_last(void)
{
	return until(!machine_remove());
}

/* "name value" of a file like /proc/meminfo, in its own unit. */
static long figure(const char *path, const char *name)
{
	FILE *f = fopen(path, "r");
	char line[128];
	long found = 0;

	must(f ? 0 : -errno);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), "%*[: ]%ld", &found);
	}
	fclose(f);
	return found;
}

static long pins(void)
{
	return figure("/proc/vmstat", "nr_foll_pin_acquired") -
	       figure("/proc/vmstat", "nr_foll_pin_released");
}

/*
 * In KiB: free pages that processors keep for themselves, some 10 MiB at one time and 70
 * at another. MemFree leaves them out.
 */
static long kept_free(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	long pages, sum = 0;
	char line[128];

	must(f ? 0 : -errno);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %ld", &pages) == 1)
			sum += pages;
	fclose(f);
	return sum * (PAGE / 1024);
}

struct memory {
	long slab, vmalloc, free, kept, pins;
};

static struct memory memory_now(void)
{
	struct memory is;

	sync();
	write_file("/proc/sys/vm/drop_caches", "3");
	is = (struct memory){
		.slab = figure("/proc/meminfo", "Slab"),
		.vmalloc = figure("/proc/meminfo", "VmallocUsed"),
		.kept = kept_free(),
		.pins = pins(),
	};
	is.free = figure("/proc/meminfo", "MemFree") + is.kept;
	return is;
}

/* ---- Results ---------------------------------------------------------- */

static void result(bool good, const char *what)
{
	printf("%s %u %s\n", good ? "ok" : "not ok", ++number, what);
	fflush(stdout);
	failed += !good;
}

/* Nothing of a user is charged: exactly his limit can be pinned, and no more. */
static int pin_the_limit(void *arg)
{
	const struct rlimit limit = { 64 * KIB, 64 * KIB };
	struct node n;
	char *p;
	__u32 h;

	(void)arg;
	must(setrlimit(RLIMIT_MEMLOCK, &limit) ? -errno : 0);
	must(node_try(&n, WITNESS, 0, NULL));
	p = mmap(NULL, 128 * KIB, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!region_pin(&n, p, 64 * KIB + PAGE, LOCAL_RW, &h))
		return -EDOM;
	return region_pin(&n, p, 64 * KIB, LOCAL_RW, &h);
}

static bool nothing_charged(void)
{
	unsigned int i;

	for (i = 0; i < USERS; i++)
		if (as_user(FIRST_UID + i, pin_the_limit, NULL))
			return false;
	return true;
}

static bool nobody_attached(void)
{
	FILE *f = popen("bgdma stat", "r");
	unsigned int nodes = 1, contexts = 1;
	int n = f ? fscanf(f, "%*s %*u nodes %u contexts %u", &nodes,
			   &contexts) : 0;

	if (f)
		pclose(f);
	return n == 2 && !nodes && !contexts;
}

/* ---- Rounds ----------------------------------------------------------- */

static void reap(bool all)
{
	unsigned int i;
	int status;
	pid_t pid;

	while ((pid = waitpid(-anchor, &status, all ? 0 : WNOHANG)) > 0) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == BETRAYED)
			count(&table->betrayed);
		for (i = 0; i < size.workers; i++)
			if (worker[i] == pid)
				worker[i] = 0;
	}
}

/* When this process ends, however it does, nobody of the group stays. */
static void hold_the_group(void)
{
	sigset_t end;
	int signal;

	setpgid(0, 0);
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigwait(&end, &signal);
	kill(0, SIGKILL);
}

static void everybody_in(void)
{
	unsigned int i;

	anchor = fork();
	if (!must(anchor))
		hold_the_group();
	setpgid(anchor, anchor);
	for (i = 0; i < size.workers; i++)
		worker_start(i);
}

static void everybody_out(void)
{
	kill(-anchor, SIGKILL);
	/* Orphans come to us: this process is their reaper. */
	reap(true);
}

static void seen(enum weather kind, bool it)
{
	if (it)
		count(&table->weather[kind]);
}

static void partition_anew(void)
{
	seen(DELETED, !partition("del", PARTITION, ""));
	usleep(any(20000));
	partition("add", PARTITION, "dims 4x4x1 mode 0666");
}

/* Not the first: that stays. */
static unsigned int some_processor(void)
{
	__u32 n = (__u32)sysconf(_SC_NPROCESSORS_CONF);

	return n > 2 ? 1 + any(n - 1) : 1;
}

static void processor_anew(void)
{
	unsigned int k = some_processor();

	seen(PROCESSORS, machine_processor(k, false));
	usleep(any(20000));
	machine_processor(k, true);
}

static void one_step(void)
{
	unsigned int i = any(size.workers), k;

	switch (any(12)) {
	case 0:
		seen(PROCESSORS, machine_processor(some_processor(), any(2)));
		break;
	case 1:
		if (!any(4))
			partition_anew();
		break;
	case 2:
	case 3:
		if (worker[i])
			seen(STOPPED, !kill(worker[i], SIGSTOP));
		break;
	case 4:
		for (k = 0; k < size.workers; k++)
			if (worker[k])
				kill(worker[k], SIGCONT);
		break;
	default:
		if (worker[i])
			seen(KILLED, !kill(worker[i], SIGKILL));
	}
	usleep(any(20000));
	reap(false);
	for (k = 0; k < size.workers; k++)
		if (!worker[k])
			worker_start(k);
}

static void round_of_storm(unsigned int r)
{
	unsigned int step;
	char text[80];
	__u32 before;

	machine_set("/proc/sys/vm/oom_dump_tasks", "0");
	partition_new("4x4x1", "");
	must(-partition("add", WITNESS, "dims 2x1x1 mode 0666"));
	table->witnessed = 0;
	table->betrayed = 0;
	everybody_in();
	witness = begin_child();
	if (!witness)
		bear_witness();
	for (step = 0; step < size.steps; step++) {
		one_step();
		/* However few steps there are. */
		if (step == size.steps / 3)
			processor_anew();
		if (step == size.steps / 2)
			partition_anew();
	}
	/* The storm goes on, and so does somebody else. */
	before = load(&table->witnessed);
	snprintf(text, sizeof(text), "round %u: somebody else's transfers go on",
		 r);
	result(until(load(&table->witnessed) > before + 1) &&
	       !load(&table->betrayed), text);
	machine_restore();
	everybody_out();
	snprintf(text, sizeof(text), "round %u: nothing is left", r);
	result(until(nobody_attached()) && nothing_charged() &&
	       until(!pins()), text);
}

/* In all rounds. */
static unsigned int insertions;

/* The module goes as soon as it can, and comes back, with processes at the door. */
static void round_of_removals(unsigned int r)
{
	unsigned int removed, refused = 0, idle, workers = size.workers;
	char text[100];
	bool good = true;
	int ret;

	partition_new("4x4x1", "");
	size.workers = 8;
	for (removed = 0; good && removed < size.removals; removed++) {
		everybody_in();
		usleep(any(30000));
		if (any(2))
			kill(-anchor, SIGKILL);
		while ((ret = machine_remove()) == -EBUSY || ret == -EAGAIN) {
			refused++;
			kill(-anchor, SIGKILL);
			usleep(any(200));
		}
		good = !ret && !machine_insert();
		everybody_out();
		partition("add", PARTITION, "dims 4x4x1 mode 0666");
	}
	size.workers = workers;
	for (idle = 0; good && idle < 2 * size.removals; idle++)
		good = module_remove_at_last() && !machine_insert();
	insertions += removed + idle;
	snprintf(text, sizeof(text),
		 "round %u: the module goes, %u times in use, %u times idle",
		 r, removed, idle);
	printf("# refused %u times\n", refused);
	result(good, text);
}

/* Of processes that have just gone, some is freed a little later. */
static struct memory memory_settled(struct memory was, long noise)
{
	struct memory is = memory_now();
	unsigned int looks;

	for (looks = 0; looks < 40 && was.free - is.free >= noise; looks++) {
		usleep(500000);
		is = memory_now();
	}
	return is;
}

static void memory_is_back(struct memory was, unsigned int rounds)
{
	const long noise = 8192;
	struct memory is = memory_settled(was, 4 * noise);

	printf("# after %u more rounds: slab %+ld, vmalloc %+ld, free %+ld KiB, pins %ld\n",
	       rounds, is.slab - was.slab, is.vmalloc - was.vmalloc,
	       is.free - was.free, is.pins);
	printf("# of processors: %ld, then %ld KiB\n", was.kept, is.kept);
	result(is.pins == 0, "no page is pinned");
	result(is.slab - was.slab < noise, "slab is back");
	result(is.vmalloc - was.vmalloc < 1024, "vmalloc is back");
	result(was.free - is.free < 4 * noise, "free memory is back");
}

/* How often the workers had no memory to get. */
static long memory_missed(void)
{
	return memory_is_short ? figure(CGROUP "/memory.events", "max") : 0;
}

/* Nothing of it comes by itself; a @small one may not need so much memory. */
static void it_stormed(bool small)
{
	static const char *const names[WEATHER] = {
		"killed", "stopped", "forked", "executed another", "bound a class",
		"partitions deleted", "processors taken and given",
	};
	long missed = memory_missed();
	bool all = missed || small;
	unsigned int i;

	for (i = 0; i < WEATHER; i++) {
		printf("# %s: %u\n", names[i], table->weather[i]);
		all &= !!table->weather[i];
	}
	printf("# memory was short: %ld%s\n", missed, memory_is_short ? "" :
	       ": there is no cgroup2 with memory");
	result(all, "there was some of all weather");
}

/* Of a long storm, however short its time is. */
#define INSERTIONS	1000

static void storm(long seconds)
{
	__u64 end = now_ns() + (__u64)seconds * 1000000000ULL;
	struct memory was = { 0 };
	unsigned int r;

	for (r = 0; seconds ? now_ns() < end || insertions < INSERTIONS :
			      r < size.rounds; r++) {
		round_of_storm(r);
		round_of_removals(r);
		if (!r)
			was = memory_now();
	}
	it_stormed(!seconds);
	memory_is_back(was, r - 1);
	printf("# the module was removed and inserted %u times\n", insertions);
	result(module_remove_at_last(), "the module is removed");
	result(!machine_insert(), "and inserted");
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 0;
	__u64 from = argc > 2 ? strtoull(argv[2], NULL, 0) : now_ns() & 0xffffff;

	table = shared(sizeof(*table));
	if (argc == 3 && !strcmp(argv[1], "--after-exec"))
		use_inherited_and_wait(argv[2]);
	if (geteuid() || machine_module() < 0) {
		printf("1..0 # SKIP needs root, and the file of the module\n");
		return 4;
	}
	if (seconds) {
		size.workers = 200;
		size.steps = 200;
		size.removals = 100;
	}
	printf("TAP version 13\n# seed: storm_test %ld %llu\n", seconds,
	       (unsigned long long)from);
	fflush(stdout);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	memory_limit();
	seed(from, 0);
	storm(seconds);
	machine_restore();
	rmdir(CGROUP);
	printf("1..%u\n", number);
	return failed > 0;
}
