// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What "partition add" takes that needs more than a number: which nodes live here,
 * and the key, which is never on a command line: everybody sees those.
 */
#include "tool.h"

#include <errno.h>
#include <linux/bgdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 64
#define KEY_BYTES 16

struct runs {
	size_t n;
	struct bgdma_run run[RUNS_MAX];
};

/* The number at the beginning of @at, which moves behind it. */
static bool take(const char **at, uint32_t *value)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(*at, &end, 10);
	if (**at < '0' || **at > '9' || errno || number > UINT32_MAX)
		return false;
	*at = end;
	*value = (uint32_t)number;
	return true;
}

static int by_first(const void *a, const void *b)
{
	const struct bgdma_run *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* In order, and those that touch are one. */
static void tidy(struct runs *runs)
{
	struct bgdma_run *last = runs->run;
	size_t i;

	qsort(runs->run, runs->n, sizeof(runs->run[0]), by_first);
	for (i = 1; i < runs->n; i++) {
		const struct bgdma_run *run = &runs->run[i];

		if (run->first > last->last && run->first - last->last > 1)
			*++last = *run;
		else if (run->last > last->last)
			last->last = run->last;
	}
	runs->n = (size_t)(last - runs->run) + 1;
}

/**
 * put_nodes() - nodes such as 0-3,6
 * @msg: request
 * @attr: attribute for them
 * @text: the nodes
 * @base: not used
 *
 * Return: TOOL_OK or TOOL_USAGE.
 */
int put_nodes(struct nl_msg *msg, int attr, const char *text, int base)
{
	struct runs runs = { 0 };
	const char *at = text;

	(void)base;
	for (;;) {
		struct bgdma_run *run = &runs.run[runs.n];

		if (runs.n == RUNS_MAX)
			return usage_error("nodes: more than %d runs",
					   RUNS_MAX);
		if (!take(&at, &run->first))
			break;
		run->last = run->first;
		if (*at == '-' && (at++, !take(&at, &run->last)))
			break;
		if (run->last < run->first)
			break;
		runs.n++;
		if (!*at) {
			tidy(&runs);
			nla_put(msg, attr,
				(int)(runs.n * sizeof(runs.run[0])), runs.run);
			return TOOL_OK;
		}
		if (*at++ != ',')
			break;
	}
	return usage_error("nodes: \"%s\" is not like 0-3,6", text);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool parse_key(const char *text, unsigned char *key)
{
	size_t i;

	for (i = 0; i < KEY_BYTES; i++) {
		int high = digit(text[2 * i]);
		int low = high < 0 ? -1 : digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		key[i] = (unsigned char)(high << 4 | low);
	}
	text += (size_t)2 * KEY_BYTES;
	return !text[strspn(text, "\r\n")];
}

/**
 * put_key_file() - a key out of a file: 32 hexadecimal digits
 * @msg: request
 * @attr: attribute for it
 * @text: name of the file
 * @base: not used
 *
 * Return: TOOL_OK or TOOL_USAGE.
 */
int put_key_file(struct nl_msg *msg, int attr, const char *text, int base)
{
	unsigned char key[KEY_BYTES];
	char line[80] = "";
	FILE *file = fopen(text, "re");
	int ret = TOOL_OK;

	(void)base;
	if (!file)
		return usage_error("%s: %s", text, strerror(errno));
	setvbuf(file, NULL, _IONBF, 0);
	if (!fgets(line, sizeof(line), file) || !parse_key(line, key))
		ret = usage_error("%s: not 32 hexadecimal digits", text);
	else
		nla_put(msg, attr, sizeof(key), key);
	fclose(file);
	explicit_bzero(line, sizeof(line));
	explicit_bzero(key, sizeof(key));
	return ret;
}

/**
 * runs_string() - nodes as people write them
 * @attr: struct bgdma_run, several
 *
 * Return: a new string object.
 */
struct json_object *runs_string(struct nlattr *attr)
{
	const struct bgdma_run *run = nla_data(attr);
	size_t n = (size_t)nla_len(attr) / sizeof(*run), i;
	char text[RUNS_MAX * 24] = "";
	size_t len = 0;

	for (i = 0; i < n && i < RUNS_MAX; i++) {
		const char *comma = i ? "," : "";

		if (run[i].first == run[i].last)
			len += (size_t)sprintf(text + len, "%s%u", comma,
					       run[i].first);
		else
			len += (size_t)sprintf(text + len, "%s%u-%u", comma,
					       run[i].first, run[i].last);
	}
	return json_object_new_string(text);
}
