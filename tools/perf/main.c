// SPDX-License-Identifier: GPL-2.0
/*
 * bgdma-perf: measure what a transfer costs, where it runs. The program bench
 * runs it in virtual machines, adds the plugin's counts, and judges.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "job.h"

static const struct {
	const char *name;
	void (*run)(void);
	const char *what;
} subjects[] = {
	{ "operations", operations, "latency, rate and bandwidth of all operations and others" },
	{ "links", over_links, "all operations between namespaces, see --netns" },
	{ "lossy", over_lossy_links, "bandwidth of 1 MiB between namespaces, see --netns" },
	{ "pacing", pacing, "small messages beside a long transfer by a slow link, see --netns" },
	{ "antipode", to_antipode, "64 nodes of a torus send to their antipodes, see --netns" },
	{ "scale", scale, "messages by 1 to 2,048 flows between 4,096 nodes, see --netns" },
	{ "share", share, "24 flows at once by one link, see --netns" },
	{ "peers", count_peers, "getppid, an ioctl, process_vm_readv" },
	{ "messages", count_messages, "8-byte messages with a doorbell each, and in batches" },
	{ "puts", count_puts, "puts of 4 KiB, and of 1 MiB" },
	{ "onesided", count_onesided, "8-byte puts, gets and atomics, and epochs" },
	{ "rma", count_rma, "the same in windows" },
	{ "barrier", barrier, "barriers of 4 processes; needs 4 nodes in a ring" },
	{ "entry", barrier_entry, "what a barrier costs by nodes, in ring4, ring64 and ring1024" },
	{ "collectives", collectives, "all-reduces of 4 processes, or of 8, see --netns" },
	{ "sys", sys_small, "8-byte messages of endpoints beside raw ones" },
	{ "msg", msg, "tagged messages, and matching among few and many" },
	{ "switch", eager_switch, "tagged messages of growing length, eager and by rendezvous" },
	{ "long", sys_long, "messages by rendezvous and chains beside raw puts" },
	{ "portions", sys_portions, "chains by size of a portion and portions in flight" },
	{ "pingpong", ping_pong, "8-byte messages to and fro, and an ioctl's time" },
	{ "bandwidth", bandwidth, "times of puts of 1 and 4 MiB beside their peers" },
	{ "idle", idle, "what runs while nothing is to do, and memory" },
	{ "growth", growth, "with more nodes, in grow2, grow64 and grow4096" },
	{ "senders", senders, "with one on each processor; needs 8 nodes in senders" },
	{ "attack", under_attack, "what a user gets beside another; needs 4 nodes" },
	{ "traffic", traffic, "nothing: load for somebody else's, until killed" },
	{ "memcpy-load", load_memcpy, "the same without bgdma, in user space" },
	{ "readv-load", load_readv, "the same without bgdma, in the kernel" },
};

#define SUBJECTS	(sizeof(subjects) / sizeof(subjects[0]))

static unsigned int wanted;	/* --runs */
const char *netns;
const char *only = "";

unsigned int runs(unsigned int otherwise)
{
	return wanted ? wanted : otherwise;
}

static void help(FILE *to)
{
	size_t i;

	fputs("Usage: bgdma-perf [--runs N] [--netns PREFIX] [--only TEXT] MEASUREMENT...\n\n"
	      "Measures what transfers cost, in the partition " PARTITION
	      " of at least 2 nodes:\n\n", to);
	for (i = 0; i < SUBJECTS; i++)
		fprintf(to, "  %-12s %s\n", subjects[i].name, subjects[i].what);
	fputs("\nEach line of output is a JSON object; see bgdma-perf(8).\n",
	      to);
}

static int usage_error(const char *what)
{
	if (what)
		fprintf(stderr, "bgdma-perf: %s?\n", what);
	help(stderr);
	return 2;
}

/* A number, not 0, and nothing else. */
static bool parse_runs(const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || !value ||
	    value > UINT_MAX)
		return false;
	wanted = (unsigned int)value;
	return true;
}

static void (*subject(const char *name))(void)
{
	size_t i;

	for (i = 0; i < SUBJECTS; i++) {
		if (!strcmp(name, subjects[i].name))
			return subjects[i].run;
	}
	return NULL;
}

/* Its exit code; or 128 + a signal that has ended it, or us, as a shell has it. */
static int wait_for(pid_t pid, const sigset_t *set)
{
	int sig, status;

	for (;;) {
		must(-sigwait(set, &sig));
		if (sig != SIGCHLD) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return 128 + sig;
		}
		if (waitpid(pid, &status, WNOHANG) != pid)
			continue;
		return WIFEXITED(status) ? WEXITSTATUS(status) :
					   128 + WTERMSIG(status);
	}
}

/*
 * In a process of its own: where it goes and what it sets is not the next one's. We stay
 * to remove the folder and what else outlives it, whatever ends it.
 */
static int measure(void (*run)(void), const sigset_t *set)
{
	pid_t pid;
	int ret;

	fflush(stdout);
	pid = fork_bound();
	if (!pid) {
		sigprocmask(SIG_UNBLOCK, set, NULL);
		run();
		exit(0);
	}
	ret = wait_for(pid, set);
	if (run == idle)
		idle_leave();
	return ret;
}

/* What ends us, but for what we were begun to ignore: wait_for() takes it. */
static void block_signals(sigset_t *set)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction was;
	size_t i;

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!sigaction(ends[i], NULL, &was) && was.sa_handler != SIG_IGN)
			sigaddset(set, ends[i]);
	}
	sigprocmask(SIG_BLOCK, set, NULL);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "netns", required_argument, NULL, 'n' },
		{ "only", required_argument, NULL, 'o' },
		{ "runs", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	int option, i, ret = 0;
	sigset_t set;

	while ((option = getopt_long(argc, argv, "hn:o:r:", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			help(stdout);
			return 0;
		case 'n':
			netns = optarg;
			break;
		case 'o':
			only = optarg;
			break;
		case 'r':
			if (!parse_runs(optarg))
				return usage_error(optarg);
			break;
		default:
			return usage_error(NULL);
		}
	}
	if (optind == argc)
		return usage_error(NULL);
	for (i = optind; i < argc; i++) {
		if (!subject(argv[i]))
			return usage_error(argv[i]);
	}
	block_signals(&set);
	job_folder();
	for (i = optind; i < argc && !ret; i++)
		ret = measure(subject(argv[i]), &set);
	return ret;
}
