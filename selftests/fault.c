// SPDX-License-Identifier: GPL-2.0
/*
 * Calls with a fault inside. See fault.h.
 */
#include <dirent.h>
#include <stdarg.h>

#include "fault.h"

int fault_fd = -1;
struct link account_link;

/* Tells failslab's task-filter of this thread, where its faults last; or -1. */
static int lasting_fd = -1;

static int open_own(const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/thread-self/%s", what);
	return open(name, O_RDWR | O_CLOEXEC);
}

void fault_here(void)
{
	fault_fd = (int)must(open_own("fail-nth"));
	if (lasting_fd >= 0)
		lasting_fd = (int)must(open_own("make-it-fail"));
}

const char *faults_begin(void)
{
	static const char *const kinds[] = {
		"failslab", "fail_page_alloc", "fail_usercopy",
	};
	static char why[128];
	char name[128];
	size_t i;

	fault_fd = open_own("fail-nth");
	if (fault_fd < 0)
		return "this kernel has no fault injection (fail-nth)";
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(name, sizeof(name), "/sys/kernel/debug/%s/verbose",
			 kinds[i]);
		/* Each failure would leave a call trace, which is a complaint. */
		if (machine_set(name, "0")) {
			snprintf(why, sizeof(why), "this kernel has no %s",
				 kinds[i]);
			return why;
		}
	}
	/* Allocations that may sleep are nearly all of ours. */
	must(machine_set("/sys/kernel/debug/failslab/ignore-gfp-wait", "N"));
	must(machine_set("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait",
			 "N"));
	must(machine_set("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem",
			 "N"));
	must(machine_set("/sys/kernel/debug/fail_page_alloc/min-order", "0"));
	return NULL;
}

bool faults_last(void)
{
	static const struct {
		const char *what, *text;
	} settings[] = {
		{ "task-filter", "Y" }, { "interval", "1" }, { "times", "-1" },
		{ "probability", "100" },
	};
	char name[64];
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		snprintf(name, sizeof(name), "/sys/kernel/debug/failslab/%s",
			 settings[i].what);
		if (machine_set(name, settings[i].text))
			return false;
	}
	lasting_fd = open_own("make-it-fail");
	return lasting_fd >= 0;
}

/* Before the nth nothing fails: the kernel looks at one or the other. */
static void lasting(const char *yes)
{
	if (lasting_fd >= 0)
		must(pwrite(lasting_fd, yes, 1, 0) == 1 ? 0 : -EIO);
}

void fault_arm(unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	lasting("1");
	must(pwrite(fault_fd, text, (size_t)length, 0) == length ? 0 : -EIO);
}

bool fault_disarm(void)
{
	char text[16] = "";
	/* Copying this out is subject to it, too: then it had not happened. */
	bool hit = pread(fault_fd, text, sizeof(text) - 1, 0) > 0 &&
		   atoi(text) == 0;

	if (pwrite(fault_fd, "0", 1, 0) != 1)
		must(pwrite(fault_fd, "0", 1, 0) == 1 ? 0 : -EIO);
	lasting("0");
	return hit;
}

bool fault_met(pid_t pid)
{
	char name[64], text[16] = "";
	siginfo_t info;
	int fd;

	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) ? -errno : 0);
	snprintf(name, sizeof(name), "/proc/%d/fail-nth", pid);
	fd = (int)must(open(name, O_RDONLY | O_CLOEXEC));
	must(pread(fd, text, sizeof(text) - 1, 0) > 0 ? 0 : -EIO);
	close(fd);
	return !atoi(text);
}

bool fault_errno(int ret)
{
	return ret == -ENOMEM || ret == -EFAULT || ret == -ENOBUFS ||
	       ret == -EAGAIN;
}

/* ---- What the module keeps account of ----------------------------------- */

static long number_of(const char *name, const char *key)
{
	char line[256];
	long value = -1;
	FILE *file = fopen(name, "re");

	must(file ? 0 : -errno);
	while (fgets(line, sizeof(line), file)) {
		size_t length = strlen(key);

		if (!strncmp(line, key, length) &&
		    (!length || line[length] == ' ' || line[length] == ':')) {
			value = atol(line + length + !!length);
			break;
		}
	}
	fclose(file);
	return value;
}

/* What a context has: what was done for it, and is done now, is no part of that. */
static void hash_ctx(struct nlattr **attrs, void *arg)
{
	attrs[BGDMA_A_CTX_STATS] = NULL;
	attrs[BGDMA_A_CTX_ASLEEP] = NULL;
	hash_attrs(attrs, arg);
}

/* Nor what has been told it. */
static void hash_owner(struct nlattr **attrs, void *arg)
{
	attrs[BGDMA_A_CTX_EVENTS] = NULL;
	attrs[BGDMA_A_CTX_EVENTS_LOST] = NULL;
	hash_ctx(attrs, arg);
}

/* Of a link what does not change by itself. */
static void hash_link(struct nlattr **attrs, void *arg)
{
	attrs[BGDMA_A_LINK_PEERS] = NULL;
	attrs[BGDMA_A_LINK_STATS] = NULL;
	hash_attrs(attrs, arg);
}

/* Of a class what does not change while its members find each other. */
static void hash_class(struct nlattr **attrs, void *arg)
{
	static const int changes[] = {
		BGDMA_A_TREE_STATE, BGDMA_A_TREE_OLDEST,
		BGDMA_A_TREE_COMBINED, BGDMA_A_TREE_COLLECTIVES,
		BGDMA_A_TREE_WAITS_OWN, BGDMA_A_TREE_CODE,
		BGDMA_A_TREE_BROKEN_RANK, BGDMA_A_TREE_BROKEN_CTX,
		BGDMA_A_TREE_EDGE,
	};
	size_t i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		attrs[changes[i]] = NULL;
	hash_attrs(attrs, arg);
}

struct dump {
	int command;
	void (*hash)(struct nlattr **attrs, void *arg);
};

static __u64 hash_dumps(const struct dump *dumps, size_t count)
{
	__u64 hash = HASH_BEGIN;
	size_t i;

	for (i = 0; i < count; i++) {
		struct answer a = { .each = dumps[i].hash, .arg = &hash };

		must(ask(&account_link,
			 request(&account_link, dumps[i].command,
				 NLM_F_DUMP), &a));
	}
	return hash;
}

void account(struct account *out)
{
	static const struct dump shown[] = {
		{ BGDMA_CMD_PARTITION_GET, hash_attrs },
		{ BGDMA_CMD_NODE_GET, hash_attrs },
		{ BGDMA_CMD_CTX_GET, hash_ctx },
		{ BGDMA_CMD_COUNTER_GET, hash_attrs },
		{ BGDMA_CMD_FIFO_GET, hash_attrs },
		{ BGDMA_CMD_LINK_GET, hash_link },
		{ BGDMA_CMD_TREE_GET, hash_class },
	};
	static const struct dump held[] = {
		{ BGDMA_CMD_PARTITION_GET, hash_attrs },
		{ BGDMA_CMD_NODE_GET, hash_attrs },
		{ BGDMA_CMD_CTX_GET, hash_owner },
		{ BGDMA_CMD_LINK_GET, hash_link },
		{ BGDMA_CMD_TREE_GET, hash_class },
	};

	if (!account_link.sock)
		must(link_open(&account_link));
	out->shown = hash_dumps(shown, sizeof(shown) / sizeof(shown[0]));
	out->held = hash_dumps(held, sizeof(held) / sizeof(held[0]));
	/* Counts of each processor come into the sum when asked to. */
	must(write_file("/proc/sys/vm/stat_refresh", "1"));
	out->pins = number_of("/proc/vmstat", "nr_foll_pin_acquired") -
		    number_of("/proc/vmstat", "nr_foll_pin_released");
	out->users = number_of("/sys/module/bgdma/refcnt", "");
}

bool account_unchanged(const struct account *before)
{
	struct account now;

	account(&now);
	return now.shown == before->shown && now.pins == before->pins &&
	       now.users == before->users;
}

bool account_back(const struct account *before)
{
	struct account now;

	account(&now);
	return now.held == before->held && now.pins == before->pins &&
	       now.users == before->users;
}

/* ---- Netlink requests with a fault inside ------------------------------- */

static struct nl_msg *message;
static char answer[65536];
struct link fault_link;
bool fault_answered;

void fault_built(struct nl_msg *msg)
{
	if (message)
		nlmsg_free(message);
	nl_complete_msg(fault_link.sock, msg);
	message = msg;
}

static bool last_of(ssize_t n, int *ret)
{
	struct nlmsghdr *nlh = (void *)answer;
	struct nlmsgerr *e;

	for (; NLMSG_OK(nlh, n); nlh = NLMSG_NEXT(nlh, n)) {
		switch (nlh->nlmsg_type) {
		case NLMSG_ERROR:
			e = NLMSG_DATA(nlh);
			*ret = e->error;
			fault_answered = true;
			return true;
		case NLMSG_DONE:
			*ret = *(int *)NLMSG_DATA(nlh);
			fault_answered = true;
			return true;
		}
	}
	return false;
}

int fault_request(void)
{
	struct nlmsghdr *nlh = nlmsg_hdr(message);
	int fd = nl_socket_get_fd(fault_link.sock);
	int ret = 0;
	ssize_t n;

	nlh->nlmsg_seq++;
	fault_answered = false;
	if (send(fd, nlh, nlh->nlmsg_len, 0) < 0)
		return -errno;
	do {
		n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
		if (n < 0)
			return -errno;
	} while (!last_of(n, &ret));
	return ret;
}

void fault_fresh(int protocol)
{
	if (fault_link.sock)
		link_close(&fault_link);
	if (protocol != NETLINK_GENERIC) {
		fault_link.sock = nl_socket_alloc();
		must(nl_connect(fault_link.sock, protocol) ? -EIO : 0);
	} else {
		must(link_open(&fault_link));
	}
	nl_socket_disable_seq_check(fault_link.sock);
}

/* ---- Faults in the kernel's own threads --------------------------------- */

/* Those that work for the module: its own, and workers that no CPU binds. */
static bool is_worker(const char *pid)
{
	char name[64], text[32] = "";
	FILE *file;

	if (*pid < '0' || *pid > '9')
		return false;
	snprintf(name, sizeof(name), "/proc/%.12s/comm", pid);
	file = fopen(name, "re");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return !strncmp(text, "kworker/u", 9) || !strncmp(text, "bgdma/", 6);
}

#define WORKERS_MAX	256

static long armed[WORKERS_MAX];
static unsigned int n_armed;

/* Of one of them: what is left of its n, or -1. */
static int worker_fault(long pid, unsigned int n)
{
	char text[64];
	int fd, left = -1;

	snprintf(text, sizeof(text), "/proc/%ld/fail-nth", pid);
	fd = open(text, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	memset(text, 0, sizeof(text));
	if (pread(fd, text, sizeof(text) - 1, 0) > 0)
		left = atoi(text);
	dprintf(fd, "%u", n);
	close(fd);
	return left;
}

void fault_arm_workers(unsigned int n)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;

	must(proc ? 0 : -errno);
	n_armed = 0;
	while ((d = readdir(proc))) {
		if (!is_worker(d->d_name) || n_armed == WORKERS_MAX)
			continue;
		armed[n_armed] = atol(d->d_name);
		worker_fault(armed[n_armed++], n);
	}
	closedir(proc);
}

unsigned int fault_disarm_workers(void)
{
	unsigned int hits = 0, i;

	for (i = 0; i < n_armed; i++)
		hits += !worker_fault(armed[i], 0);
	return hits;
}

/* ---- Faults wherever the module works ------------------------------------ */

struct symbol {
	unsigned long at;
	char name[256];
};

/* The next of the module's functions. */
static bool symbol_next(FILE *kallsyms, struct symbol *s)
{
	char line[512], kind, module[64];

	while (fgets(line, sizeof(line), kallsyms))
		if (sscanf(line, "%lx %c %255s [%63[^]]", &s->at, &kind, s->name,
			   module) == 4 &&
		    (kind | 0x20) == 't' && !strcmp(module, "bgdma"))
			return true;
	return false;
}

/* Where the module's code is, or that of one function, for a look at the stack of who asks. */
static bool module_text(const char *function, unsigned long *first,
			unsigned long *last)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct symbol s;

	must(file ? 0 : -errno);
	*first = ~0UL;
	*last = 0;
	while (symbol_next(file, &s)) {
		if (function && strcmp(s.name, function))
			continue;
		if (s.at < *first)
			*first = s.at;
		if (s.at > *last)
			*last = s.at;
	}
	/* The last function, too: the only one ends where another begins. */
	*last = function ? ~0UL : *last + 4096;
	rewind(file);
	while (function && symbol_next(file, &s))
		if (s.at > *first && s.at < *last)
			*last = s.at;
	fclose(file);
	return *first < *last;
}

#define MODULE_FAULTS_MAX	"1000000000"	/* what is left of them is counted */

static bool module_fault(const char *kind, const char *what, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", kind, what);
	return !machine_set(path, text);
}

static bool module_faults(const char *kind, const char *function,
			  const char *percent)
{
	unsigned long first, last;
	char from[32], to[32];

	if (!module_text(function, &first, &last))
		return false;
	snprintf(from, sizeof(from), "0x%lx", first);
	snprintf(to, sizeof(to), "0x%lx", last);
	return module_fault(kind, "require-start", from) &&
	       module_fault(kind, "require-end", to) &&
	       module_fault(kind, "stacktrace-depth", "32") &&
	       module_fault(kind, "times", MODULE_FAULTS_MAX) &&
	       module_fault(kind, "probability", percent);
}

bool fault_function(const char *function, unsigned int percent)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", percent);
	return module_faults("failslab", function, text) &&
	       module_faults("fail_page_alloc", function, text);
}

bool fault_module(unsigned int percent)
{
	return fault_function(NULL, percent);
}

unsigned int fault_module_hits(void)
{
	long most = atol(MODULE_FAULTS_MAX);

	return (unsigned int)
		(2 * most - number_of("/sys/kernel/debug/failslab/times", "") -
		 number_of("/sys/kernel/debug/fail_page_alloc/times", ""));
}

/* ---- One call, again and again ------------------------------------------ */

static void __attribute__((format(printf, 1, 2)))
complain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

static bool account_same(const struct faulty *f, unsigned int n,
			 const char *when, const struct account *before)
{
	struct account now;

	account(&now);
	if (now.shown == before->shown && now.pins == before->pins &&
	    now.users == before->users)
		return true;
	complain("%s, fault %u, %s: %s, pins %+ld, references %+ld", f->name,
		 n, when, now.shown == before->shown ? "shows the same" :
		 "shows something else", now.pins - before->pins,
		 now.users - before->users);
	return false;
}

/* One round; 1: go on, 0: the call has passed, -1: complaint. */
static int fault_round(const struct faulty *f, unsigned int n)
{
	struct account first, before;
	bool hit;
	int ret;

	account(&first);
	if (f->prepare)
		f->prepare();
	account(&before);
	fault_answered = false;
	fault_arm(n);
	ret = f->call();
	hit = fault_disarm();
	if (ret && (!hit || !fault_errno(ret))) {
		complain("%s, fault %u (%s): %d", f->name, n,
			 hit ? "happened" : "did not happen", ret);
		return -1;
	}
	/* Of what the kernel refused, with a word, nothing is done. */
	if (ret && (!f->may || fault_answered)) {
		if (!account_same(f, n, "failed", &before))
			return -1;
		ret = f->call();
		if (ret) {
			complain("%s, again after fault %u: %d", f->name, n, ret);
			return -1;
		}
	}
	if (f->undo)
		f->undo();
	return account_same(f, n, "undone", &first) ? hit : -1;
}

int fault_all(const struct faulty *f)
{
	unsigned int n;
	int ret = 1;

	for (n = 1; ret > 0 && n < FAULTS_MAX; n++)
		ret = fault_round(f, n);
	if (ret)
		return -1;
	printf("# %s: %u faults\n", f->name, n - 2);
	return (int)n - 2;
}
