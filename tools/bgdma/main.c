// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma: configure partitions, and look at what their nodes do.
 */
#include "tool.h"

#include <getopt.h>
#include <linux/bgdma_netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct options options;

static const char usage[] =
	"Usage: bgdma [-j] [-p] COMMAND\n"
	"\n"
	"  partition add NAME dims X[xY[xZ]] [torus AXES | mesh AXES]\n"
	"                [owner USER] [group GROUP] [mode MODE]\n"
	"                [poll-ns N] [quantum BYTES]\n"
	"                [max-contexts N] [max-inj-fifos N]\n"
	"                [nodes RANKS] [key-file PATH]\n"
	"  partition set NAME [owner USER] [group GROUP] [mode MODE]\n"
	"                [poll-ns N] [quantum BYTES]\n"
	"                [max-contexts N] [max-inj-fifos N]\n"
	"  partition del NAME\n"
	"  partition show [NAME]\n"
	"  node show [NAME[/RANK]]\n"
	"  ctx show [NAME[/RANK[.CTX]]]\n"
	"  counter show [NAME[/RANK[.CTX]]]\n"
	"  fifo show [NAME[/RANK[.CTX]]]\n"
	"  tree show [NAME[/RANK[.CTX]] [class N] [waits]]\n"
	"  link add dev DEV partition NAME [timeout MS] [hello MS] [window N]\n"
	"                [copy on|off] [sum on|off]\n"
	"                [fixed on|off]\n"
	"  link set dev DEV partition NAME ...\n"
	"  link del dev DEV partition NAME\n"
	"  link show [-s] [dev DEV]\n"
	"  route get NAME from RANK to RANK [adaptive]\n"
	"  stat\n"
	"  monitor\n"
	"  help\n"
	"\n"
	"  -j, --json     JSON output\n"
	"  -p, --pretty   JSON output for people to read\n"
	"  -h, --help     this text\n"
	"\n"
	"AXES: letters out of xyz, or none. RANKS: such as 0-3,6. uid and gid are owner and group by\n"
	"number. See bgdma(8).\n";

static int cmd_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fputs(usage, stdout);
	return TOOL_OK;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "partition", cmd_partition },
	{ "node", cmd_node },
	{ "ctx", cmd_ctx },
	{ "counter", cmd_counter },
	{ "fifo", cmd_fifo },
	{ "tree", cmd_tree },
	{ "link", cmd_link },
	{ "route", cmd_route },
	{ "stat", cmd_stat },
	{ "monitor", cmd_monitor },
	{ "help", cmd_help },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/**
 * usage_error() - say what is wrong with the command line
 * @format: as for printf
 *
 * Return: TOOL_USAGE.
 */
int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("Error: ", stderr);
	vfprintf(stderr, format, args);
	fputs(".\n", stderr);
	va_end(args);
	return TOOL_USAGE;
}

static int run(int argc, char **argv)
{
	size_t i;

	if (argc < 1) {
		fputs(usage, stderr);
		return TOOL_USAGE;
	}
	for (i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	return usage_error("\"%s\" is unknown, try \"bgdma help\"", argv[0]);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pretty", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int opt, ret;

	while ((opt = getopt_long(argc, argv, "+jph", longs, NULL)) != -1) {
		switch (opt) {
		case 'j':
			options.json = true;
			break;
		case 'p':
			options.json = true;
			options.pretty = true;
			break;
		case 'h':
			return cmd_help(0, NULL);
		default:
			return TOOL_USAGE;
		}
	}
	ret = run(argc - optind, argv + optind);
	tool_close();
	if (fflush(stdout) || ferror(stdout)) {
		perror("bgdma");
		return TOOL_REFUSED;
	}
	return ret;
}
