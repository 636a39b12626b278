// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts the guest's instructions between markers.
 *
 *	-plugin libinsns.so[,profile=on] -d plugin -D FILE
 *
 * For each region, numbered in the order in which they end, and each virtual
 * processor it writes
 *
 *	region N cpu C user U kernel K waiting W
 *
 * and with profile=on, for each block of instructions that ran in it,
 *
 *	block N ADDRESS TIMES INSTRUCTIONS
 *
 * where what ran while a processor waited (MARK_WAIT) is left out. QEMU gives
 * us blocks, not instructions: a block is counted when it is entered, and a
 * marker inside puts right what its block had counted too early.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mark.h"
#include "qemu.h"

#define CPUS_MAX	64
#define KERNEL_HALF	(1ULL << 63)

enum kind { USER, KERNEL, WAITING, KINDS };

struct cpu {
	uint64_t count[KINDS];
	uint64_t begin[KINDS];
	bool waiting;
} __attribute__((aligned(64)));

struct block {
	struct block *next;
	uint64_t addr;
	uint64_t hits;		/* in this region */
	uint32_t insns;
	enum kind kind;
};

struct marker {
	enum mark code;
	uint32_t after;		/* instructions of its block that follow it */
};

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static struct cpu cpus[CPUS_MAX];
static unsigned int n_cpus;
static struct block *blocks;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static bool profile, open_region;
static unsigned int region;

static void on_block(unsigned int cpu, void *data)
{
	struct block *b = data;
	struct cpu *c = &cpus[cpu % CPUS_MAX];

	c->count[c->waiting ? WAITING : b->kind] += b->insns;
	if (open_region && profile && !c->waiting)
		__atomic_fetch_add(&b->hits, 1, __ATOMIC_RELAXED);
}

static void write_line(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

static void write_line(const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	qemu_plugin_outs(text);
}

static void region_begin(void)
{
	unsigned int i;

	for (i = 0; i < n_cpus; i++)
		memcpy(cpus[i].begin, cpus[i].count, sizeof(cpus[i].begin));
	open_region = true;
}

static void region_end(void)
{
	struct block *b;
	unsigned int i;

	open_region = false;
	for (i = 0; i < n_cpus; i++) {
		const struct cpu *c = &cpus[i];

		write_line("region %u cpu %u user %" PRIu64 " kernel %" PRIu64
			   " waiting %" PRIu64 "\n", region, i,
			   c->count[USER] - c->begin[USER],
			   c->count[KERNEL] - c->begin[KERNEL],
			   c->count[WAITING] - c->begin[WAITING]);
	}
	pthread_mutex_lock(&blocks_lock);
	for (b = blocks; profile && b; b = b->next) {
		if (b->hits)
			write_line("block %u %" PRIx64 " %" PRIu64 " %u\n",
				   region, b->addr, b->hits, b->insns);
		b->hits = 0;
	}
	pthread_mutex_unlock(&blocks_lock);
	region++;
}

/* The instructions behind the marker have been counted already. */
static void on_marker(unsigned int cpu, void *data)
{
	const struct marker *m = data;
	struct cpu *c = &cpus[cpu % CPUS_MAX];
	enum kind kind = c->waiting ? WAITING : USER;

	c->count[kind] -= m->after + 1;
	switch (m->code) {
	case MARK_BEGIN:
		region_begin();
		break;
	case MARK_END:
		region_end();
		break;
	case MARK_WAIT:
		c->waiting = true;
		kind = WAITING;
		break;
	case MARK_GO:
		c->waiting = false;
		kind = USER;
		break;
	}
	c->count[kind] += m->after;
}

/* The code of a marker, or 0. */
static unsigned int marker_code(const struct qemu_plugin_insn *insn)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x84, 0x00 };
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
	uint32_t disp;

	if (qemu_plugin_insn_size(insn) != 8 || memcmp(bytes, nop, 4))
		return 0;
	memcpy(&disp, bytes + 4, sizeof(disp));
	return (disp & ~0xffU) == MARK_MAGIC ? disp & 0xff : 0;
}

/* Blocks live for ever: QEMU may still run what it has thrown away. */
static void *keep(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	struct block *b = keep(sizeof(*b));

	(void)id;
	b->addr = qemu_plugin_tb_vaddr(tb);
	b->insns = (uint32_t)n;
	b->kind = b->addr & KERNEL_HALF ? KERNEL : USER;
	pthread_mutex_lock(&blocks_lock);
	b->next = blocks;
	blocks = b;
	pthread_mutex_unlock(&blocks_lock);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block,
					     QEMU_PLUGIN_CB_NO_REGS, b);

	for (i = 0; b->kind == USER && i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		unsigned int code = marker_code(insn);
		struct marker *m;

		if (!code)
			continue;
		m = keep(sizeof(*m));
		m->code = (enum mark)code;
		m->after = (uint32_t)(n - i - 1);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker,
						       QEMU_PLUGIN_CB_NO_REGS,
						       m);
	}
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			char **argv)
{
	int i;

	if (!info->system_emulation || info->system.smp_vcpus > CPUS_MAX)
		return -1;
	n_cpus = (unsigned int)info->system.smp_vcpus;
	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], "profile=on"))
			return -1;
		profile = true;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
