/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What sender and receiver of the demonstration share: the words that they
 * exchange, and a side with its FIFOs, waiting and hash.
 *
 * The file goes window by window, so that memory stays bounded:
 *
 *	sender                          receiver
 *	HELLO length, source    ->
 *	                        <-      WELCOME window, counter
 *	for each window:
 *	LOADED                  ->
 *	                        <-      GO (not for a remote get)
 *	messages or puts        ->      (or a remote get, which makes the puts)
 *	                        <-      DONE
 *
 * These words are inline memory FIFO messages. An empty file is one window
 * with one transfer of 0 bytes.
 */
#ifndef DEMO_SIDE_H
#define DEMO_SIDE_H

#include <stdint.h>

#include <bgdma/bgdma.h>
#include <openssl/evp.h>

#define PARTITION	"demo"
#define WINDOW		(8U << 20)		/* bytes */
#define PIECES		BGDMA_RGET_DESC_MAX	/* transfers of a window */
#define PIECE		(WINDOW / PIECES)
#define REC_BYTES	(1U << 20)

enum rank { SENDER = 0, RECEIVER = 1 };

/* Each process is alone on its node. */
#define CTX		0
#define FIFO		0
#define RGET_QUEUE	0

enum method { MEMFIFO, PUT, RGET };

/* The operation identifier of a packet. */
enum dispatch { DATA, HELLO, WELCOME, LOADED, GO, DONE };

/**
 * struct word - payload of HELLO and WELCOME; the others have none
 * @length: HELLO: bytes of the file
 * @region: HELLO: the source window; WELCOME: the target window
 * @counter: WELCOME: counts the transfers that arrived
 * @method: HELLO: enum method
 */
struct word {
	uint64_t length;
	uint32_t region;
	uint32_t counter;
	uint32_t method;
};

/**
 * struct side - one process
 * @rank: enum rank
 * @peer: rank of the other
 * @spin_ns: how long it spins before it sleeps
 * @unreleased: bytes read from @in and not given back yet
 * @window: the memory that the transfers read or write
 * @hash: of what went through @window
 */
struct side {
	uint32_t rank;
	uint32_t peer;
	int64_t spin_ns;
	struct bgdma_ctx *ctx;
	struct bgdma_inj_fifo *out;
	struct bgdma_rec_fifo *in;
	uint32_t unreleased;
	struct bgdma_region *window;
	EVP_MD_CTX *hash;
};

/* Say what failed, with all that the device knows of it, and end. */
_Noreturn void side_die(struct side *s, const char *what, int err);

/* Nothing, if @err is not negative; else side_die(). */
void side_check(struct side *s, int err, const char *what);

/* enum method of its name; ends the program if there is none. */
enum method method_of(const char *name);

/* Attach as @rank and make the FIFOs, open for the peer alone. */
void side_open(struct side *s, enum rank rank);

/* Leave, after the last word has left. */
void side_close(struct side *s);

/* A grant of @rights to the peer, and to nobody else. */
struct bgdma_grant_attr side_grant(const struct side *s, uint32_t rights);

/* Make @window, large enough for a file of @length bytes or a part of it. */
void side_window(struct side *s, uint64_t length, uint32_t rights);

/* Let the engine see what was reserved, and keep it awake. */
void side_submit(struct side *s);

/* After a submit: wait until the engine polls our doorbell, if it ever does. */
void side_wake_engine(struct side *s);

/* Wait for @counter, or with NULL for a packet. Ends if the peer dies. */
void side_wait(struct side *s, struct bgdma_counter *counter);

/* The next packet, in place; to be followed by side_next(). */
const struct bgdma_packet *side_packet(struct side *s);
void side_next(struct side *s);

/* Say a word to the peer; @word may be NULL. */
void side_say(struct side *s, enum dispatch what, const struct word *word);

/* Wait for a word of the peer; @word may be NULL. */
void side_hear(struct side *s, enum dispatch what, struct word *word);

/* Nanoseconds of the monotonic clock; no system call. */
int64_t now_ns(void);

/* Transfers of a window, and bytes of transfer number @i. */
uint32_t pieces_of(uint32_t bytes);
uint32_t piece_bytes(uint32_t bytes, uint32_t i);

void side_hash(struct side *s, const void *data, uint32_t bytes);
/* The line "sha256 ..." on standard output. */
void side_print_hash(struct side *s);

#endif /* DEMO_SIDE_H */
