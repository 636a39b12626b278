// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Variables of the environment that say what a program leaves open.
 */
#include <errno.h>
#include <stdlib.h>

#include "option.h"

static int option_find(const struct option *o)
{
	const char *text = getenv(o->variable);
	unsigned long number;
	char *end;

	*o->value = o->otherwise;
	if (!text || !*text)
		return 0;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (*text == '-' || *end || errno || number > UINT32_MAX)
		return -EINVAL;
	*o->value = (uint32_t)number;
	return 0;
}

int option_complete(const struct option *o)
{
	if (*o->value == OPTION_NONE)
		*o->value = 0;
	else if (!*o->value)
		return option_find(o);
	return 0;
}
