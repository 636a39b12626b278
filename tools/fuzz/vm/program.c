// SPDX-License-Identifier: GPL-2.0
/*
 * Programs: random ones, changed ones, and their text.
 */
#include <stdio.h>
#include <string.h>

#include "program.h"

/* xorshift64*: the same programs from the same seed, anywhere. */
static uint64_t random_next(struct random *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1dULL;
}

uint32_t random_below(struct random *r, uint32_t n)
{
	return (uint32_t)((random_next(r) >> 33) % n);
}

/* Mostly one of the first choices, which tend to meet each other. */
static uint8_t random_choice(struct random *r)
{
	switch (random_below(r, 16)) {
	case 0:
		return (uint8_t)random_below(r, 256);
	case 1 ... 4:
		return (uint8_t)random_below(r, CHOICE_ODD);
	default:
		return (uint8_t)random_below(r, 8);
	}
}

static void random_call(struct call *c, struct random *r)
{
	int i;

	c->op = (uint8_t)random_below(r, 256);
	c->file = (uint8_t)random_below(r, 8);
	for (i = 0; i < CHOICES; i++)
		c->choice[i] = random_choice(r);
}

static uint8_t random_ground(struct random *r)
{
	/* Two nodes, mostly. */
	uint8_t ground = random_below(r, 4) ? 2 : random_below(r, 4) & 3;

	if (!random_below(r, 6))
		ground |= GROUND_SAME;
	if (!random_below(r, 3))
		ground |= GROUND_SCRIBBLE;
	if (!random_below(r, 6))
		ground |= GROUND_USER;
	if (random_below(r, 2))
		ground |= GROUND_LINK;
	return ground;
}

void program_random(struct program *p, struct random *r)
{
	int i;

	memset(p, 0, sizeof(*p));
	p->ground = random_ground(r);
	p->calls = (uint8_t)(1 + random_below(r, CALLS_MAX));
	for (i = 0; i < p->calls; i++)
		random_call(&p->call[i], r);
}

static void insert(struct program *p, uint32_t at, const struct call *c)
{
	if (p->calls == CALLS_MAX)
		p->calls--;
	memmove(&p->call[at + 1], &p->call[at],
		(p->calls - at) * sizeof(*c));
	p->call[at] = *c;
	p->calls++;
}

static void drop(struct program *p, uint32_t at)
{
	if (p->calls < 2)
		return;
	p->calls--;
	memmove(&p->call[at], &p->call[at + 1],
		(p->calls - at) * sizeof(p->call[0]));
	memset(&p->call[p->calls], 0, sizeof(p->call[0]));
}

static void mutate_once(struct program *p, const struct program *other,
			struct random *r)
{
	uint32_t at = random_below(r, p->calls);
	struct call c;

	switch (random_below(r, 10)) {
	case 0:
		p->ground = random_ground(r);
		break;
	case 1:
		drop(p, at);
		break;
	case 2:
		random_call(&c, r);
		insert(p, at, &c);
		break;
	case 3:
		c = p->call[random_below(r, p->calls)];
		insert(p, at, &c);
		break;
	case 4 ... 5:
		c = other->call[random_below(r, other->calls)];
		insert(p, at, &c);
		break;
	case 6:
		p->call[at].file = (uint8_t)random_below(r, 8);
		break;
	default:
		p->call[at].choice[random_below(r, CHOICES)] = random_choice(r);
		break;
	}
}

void program_mutate(struct program *p, const struct program *other,
		    struct random *r)
{
	uint32_t times = 1 + random_below(r, 4);

	while (times--)
		mutate_once(p, other, r);
}

static size_t program_bytes(const struct program *p)
{
	return offsetof(struct program, call) + p->calls * sizeof(struct call);
}

void program_print(const struct program *p, char *text)
{
	const uint8_t *bytes = (const uint8_t *)p;
	size_t i;

	for (i = 0; i < program_bytes(p); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

void program_write(const struct program *p, char *text)
{
	int i, j;

	text += sprintf(text, "%02x", p->ground);
	for (i = 0; i < p->calls; i++) {
		const struct call *c = &p->call[i];

		text += sprintf(text, " %.*s:%u:", CALL_NAME_MAX,
				call_name(c->op), c->file);
		for (j = 0; j < CHOICES; j++)
			text += sprintf(text, "%02x", c->choice[j]);
	}
}

/* @count bytes of two digits each; what follows, or NULL. */
static const char *parse_bytes(uint8_t *bytes, size_t count, const char *text)
{
	unsigned int byte;
	size_t i;
	int n;

	for (i = 0; i < count; i++, text += 2) {
		if (sscanf(text, "%2x%n", &byte, &n) != 1 || n != 2)
			return NULL;
		bytes[i] = (uint8_t)byte;
	}
	return text;
}

static const char *parse_call(struct call *c, const char *text)
{
	size_t name = strcspn(text, ":");
	int op = call_named(text, name), n;
	unsigned int file;

	if (op < 0 || sscanf(text + name, ":%u:%n", &file, &n) != 1 ||
	    file > UINT8_MAX)
		return NULL;
	c->op = (uint8_t)op;
	c->file = (uint8_t)file;
	return parse_bytes(c->choice, CHOICES, text + name + n);
}

static bool parse_named(struct program *p, const char *text)
{
	text = parse_bytes(&p->ground, 1, text);
	while (text && *text == ' ' && p->calls < CALLS_MAX)
		text = parse_call(&p->call[p->calls++], text + 1);
	return text && p->calls && !*text;
}

bool program_parse(struct program *p, const char *text)
{
	size_t length = strcspn(text, "\n");

	memset(p, 0, sizeof(*p));
	if (memchr(text, ' ', length)) {
		char line[PROGRAM_LINE];

		if (length >= sizeof(line))
			return false;
		memcpy(line, text, length);
		line[length] = '\0';
		return parse_named(p, line);
	}
	return length / 2 >= offsetof(struct program, call) &&
	       length / 2 <= sizeof(*p) && length % 2 == 0 &&
	       parse_bytes((uint8_t *)p, length / 2, text) && p->calls >= 1 &&
	       p->calls <= CALLS_MAX && length / 2 == program_bytes(p);
}
