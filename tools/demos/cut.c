// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Put a file from node 0 into memory of node 1 again and again, until that fails,
 * and say why.
 *
 *	cut RANK FILE DIR
 *
 * One process for each node; DIR is where node 1 leaves what node 0 has to know.
 * Node 0 says "round N" after each; when DIR/look appears node 1 has a look at its
 * memory after that, and node 0 says "round N, all there".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bgdma/bgdma.h>

#include "scene.h"

static const char *folder;
static uint8_t *file;
static uint64_t bytes;

static const char *in_folder(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static bool is_there(const char *name)
{
	return !access(in_folder(name), F_OK);
}

static void leave_there(const char *name, uint32_t a, uint32_t b)
{
	FILE *out = fopen(in_folder("new"), "w");
	char from[4096];

	check(out ? 0 : -errno, name);
	fprintf(out, "%u %u\n", a, b);
	check(fclose(out) ? -errno : 0, name);
	snprintf(from, sizeof(from), "%s", in_folder("new"));
	check(rename(from, in_folder(name)) ? -errno : 0, name);
}

/* Until it is there: as long as node 0 lives, whose end ends node 1. */
static void wait_there(const char *name)
{
	while (!is_there(name))
		usleep(10000);
}

static void load(const char *path)
{
	struct stat st = { 0 };
	int fd = open(path, O_RDONLY);

	check(fd < 0 || fstat(fd, &st) ? -errno : 0, path);
	bytes = (uint64_t)st.st_size;
	file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	check(file == MAP_FAILED ? -errno : 0, path);
	close(fd);
}

static struct bgdma_ctx *attach(uint32_t rank)
{
	struct bgdma_ctx *ctx;

	check(bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.partition = "demo", .rank = rank }), "attach");
	return ctx;
}

static void target(void)
{
	struct bgdma_ctx *ctx = attach(1);
	struct bgdma_region *region;

	check(bgdma_region_alloc(ctx, bytes, 0, &region), "memory");
	check(bgdma_region_grant(region, &(struct bgdma_grant_attr){
			.rank = 0, .ctx = BGDMA_CTX_ANY,
			.rights = BGDMA_RIGHT_WRITE }, NULL), "grant");
	leave_there("target", bgdma_region_handle(region),
		    bgdma_ctx_info(ctx)->ctx);
	wait_there("put");
	check(memcmp(bgdma_region_addr(region), file, bytes) ? -EBADMSG : 0,
	      "what came");
	leave_there("seen", 0, 0);
	wait_there("end");
	bgdma_detach(ctx);
}

static void explain(struct bgdma_inj_fifo *fifo)
{
	struct bgdma_record record;
	char text[512];

	check(bgdma_inj_error(fifo, &record), "error");
	bgdma_explain_record(&record, text, sizeof(text));
	printf("failed: %s\n", text);
	leave_there("end", 0, 0);
}

static void origin(void)
{
	struct bgdma_put_attr put = { .dest = 1, .length = bytes };
	struct bgdma_ctx *ctx = attach(0);
	unsigned int round, region = 0, peer = 0;
	struct bgdma_inj_fifo *fifo;
	FILE *in;

	check(bgdma_region_alloc(ctx, bytes, BGDMA_LOCAL_READ,
				 &put.from.region), "memory");
	memcpy(bgdma_region_addr(put.from.region), file, bytes);
	check(bgdma_inj_create(ctx, NULL, &fifo), "FIFO");
	wait_there("target");
	in = fopen(in_folder("target"), "r");
	check(in && fscanf(in, "%u %u", &region, &peer) == 2 ? 0 : -EIO,
	      "target");
	fclose(in);
	put.to.region = region;
	put.dest_ctx = (uint16_t)peer;
	for (round = 1;; round++) {
		bool look = is_there("look") && !is_there("seen");

		check(bgdma_put(fifo, &put), "put");
		if (bgdma_inj_wait(fifo, bgdma_inj_next(fifo), BGDMA_SLEEP, -1))
			break;
		if (look) {
			leave_there("put", 0, 0);
			wait_there("seen");
		}
		printf("round %u%s\n", round, look ? ", all there" : "");
		fflush(stdout);
	}
	explain(fifo);
	bgdma_detach(ctx);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: cut RANK FILE DIR\n");
		return 2;
	}
	folder = argv[3];
	load(argv[2]);
	if (strcmp(argv[1], "0"))
		target();
	else
		origin();
	return 0;
}
