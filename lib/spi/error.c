// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Codes, records and events in words.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

static const struct code {
	const char *name;
	const char *words;
	int error;
} codes[] = {
#define CODE(code, error, words) [code] = { #code, words, error }
	CODE(BGDMA_OK, 0, "no error"),
	CODE(BGDMA_E_INDEX, -EPROTO,
	     "ring index moved by more than the ring holds"),
	CODE(BGDMA_E_OP, -EINVAL, "no such operation"),
	CODE(BGDMA_E_UNSUPPORTED, -EOPNOTSUPP,
	     "operation, flag or route that this kernel does not have"),
	CODE(BGDMA_E_FLAGS, -EINVAL,
	     "flags or route hints that exclude each other"),
	CODE(BGDMA_E_FIELD, -EINVAL,
	     "a field that the operation does not use is set"),
	CODE(BGDMA_E_LENGTH, -EMSGSIZE,
	     "length not possible for this operation"),
	CODE(BGDMA_E_REGION, -ENOENT, "no such region"),
	CODE(BGDMA_E_COUNTER, -ENOENT, "no such counter"),
	CODE(BGDMA_E_STALE, -ESTALE, "handle of an earlier generation"),
	CODE(BGDMA_E_BOUNDS, -ERANGE,
	     "offset and length leave the region or grant"),
	CODE(BGDMA_E_RIGHTS, -EACCES, "no right to use that object"),
	CODE(BGDMA_E_NO_PEER, -EHOSTUNREACH,
	     "nobody at that rank and context"),
	CODE(BGDMA_E_PEER_DOWN, -ECONNRESET, "peer died or left"),
	CODE(BGDMA_E_FIFO, -ENXIO,
	     "no such reception FIFO or remote-get queue"),
	CODE(BGDMA_E_RGET_FULL, -ENOBUFS,
	     "waited too long for room in a remote-get queue"),
	CODE(BGDMA_E_UNFILLED, -EBADMSG,
	     "remote get that was never filled in"),
	CODE(BGDMA_E_PROVENANCE, -EPERM,
	     "not allowed to a descriptor from another node"),
	CODE(BGDMA_E_UNDERFLOW, -EOVERFLOW, "counter went below zero"),
	CODE(BGDMA_E_CANCELLED, -ECANCELED, "transfer was cancelled"),
	CODE(BGDMA_E_ABORTED, -ECONNABORTED,
	     "other side of the transfer failed"),
	CODE(BGDMA_E_ALIGN, -EINVAL,
	     "operand or descriptor not naturally aligned"),
	CODE(BGDMA_E_EPOCH_HELD, -EBUSY, "region is held by another epoch"),
	CODE(BGDMA_E_EPOCH_CLOSED, -ESHUTDOWN, "epoch is closing or over"),
	CODE(BGDMA_E_EPOCH_COUNT, -EPROTO,
	     "more puts arrived than the epoch had"),
	CODE(BGDMA_E_EPOCH_BUSY, -EBUSY,
	     "epoch identifier in use, or too many wait"),
	CODE(BGDMA_E_GROUP, -ENOENT, "no such group or slot"),
	CODE(BGDMA_E_TREE_MISMATCH, -EPROTO,
	     "members contributed different operations"),
	CODE(BGDMA_E_LINK_DOWN, -ENETUNREACH, "no way to that node"),
	CODE(BGDMA_E_TIMEOUT, -EHOSTDOWN,
	     "peer kernel did not answer in time"),
	CODE(BGDMA_E_CLASS, -ENOENT, "no such class of the combining network"),
#undef CODE
};

static const struct code *code_find(unsigned int code)
{
	return code < ARRAY_SIZE(codes) && codes[code].name ? &codes[code] :
							      NULL;
}

const char *bgdma_strcode(unsigned int code)
{
	const struct code *c = code_find(code);

	return c ? c->words : "unknown code";
}

const char *bgdma_code_name(unsigned int code)
{
	const struct code *c = code_find(code);

	return c ? c->name : NULL;
}

int bgdma_code_errno(unsigned int code)
{
	const struct code *c = code_find(code);

	return c ? c->error : -EIO;
}

/* A sentence that grows; @length counts what does not fit, too. */
struct text {
	char *buf;
	size_t size;
	size_t length;
};

__attribute__((format(printf, 2, 3)))
static void text_add(struct text *text, const char *format, ...)
{
	size_t room = text->length < text->size ? text->size - text->length : 0;
	va_list args;
	int ret;

	va_start(args, format);
	ret = vsnprintf(room ? text->buf + text->length : NULL, room, format,
			args);
	va_end(args);
	if (ret > 0)
		text->length += (size_t)ret;
}

static void text_code(struct text *text, unsigned int code)
{
	const char *name = bgdma_code_name(code);

	if (name)
		text_add(text, "%s (%s)", bgdma_strcode(code), name);
	else
		text_add(text, "unknown code %u", code);
}

static const char *kind_name(unsigned int kind)
{
	static const char *const names[] = {
		[BGDMA_KIND_CONTEXT]	 = "context",
		[BGDMA_KIND_INJ_FIFO]	 = "injection FIFO",
		[BGDMA_KIND_REC_FIFO]	 = "reception FIFO",
		[BGDMA_KIND_RGET_QUEUE]	 = "remote-get queue",
		[BGDMA_KIND_INJ_COUNTER] = "injection counter",
		[BGDMA_KIND_REC_COUNTER] = "reception counter",
		[BGDMA_KIND_REGION]	 = "region",
		[BGDMA_KIND_EVENTS]	 = "events ring",
		[BGDMA_KIND_GROUP]	 = "group",
		[BGDMA_KIND_CLASS]	 = "class",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "object";
}

/* Counters and regions are named by handle, the rest by number. */
static void text_object(struct text *text, unsigned int kind, uint32_t object)
{
	switch (kind) {
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
	case BGDMA_KIND_REGION:
		text_add(text, "%s %u", kind_name(kind),
			 BGDMA_HANDLE_SLOT(object));
		break;
	case BGDMA_KIND_CONTEXT:
	case BGDMA_KIND_EVENTS:
		text_add(text, "%s", kind_name(kind));
		break;
	default:
		text_add(text, "%s %u", kind_name(kind), object);
	}
}

static void text_peer(struct text *text, uint32_t rank, uint16_t ctx)
{
	if (rank == BGDMA_RANK_ANY || rank == BGDMA_RANK_NOBODY)
		text_add(text, "no peer");
	else if (ctx == BGDMA_CTX_ANY)
		text_add(text, "peer rank %u", rank);
	else
		text_add(text, "peer rank %u context %u", rank, ctx);
}

/* Where it went wrong, in numbers whose meaning depends on the code. */
static void text_place(struct text *text, unsigned int code, uint64_t offset,
		       uint64_t bound)
{
	switch (code) {
	case BGDMA_E_UNDERFLOW:
		text_add(text, ", value %" PRId64, (int64_t)offset);
		break;
	case BGDMA_E_ABORTED:
		text_add(text, ", offset %" PRIu64, offset);
		if (!bound)
			break;
		text_add(text, ", because: ");
		text_code(text, (unsigned int)bound);
		break;
	default:
		text_add(text, ", offset %" PRIu64 ", bound %" PRIu64, offset,
			 bound);
	}
}

/* Only some FIFOs hold descriptors, and not every error has a transfer. */
static bool has_descriptor(unsigned int kind, uint64_t transfer)
{
	return kind == BGDMA_KIND_INJ_FIFO || kind == BGDMA_KIND_RGET_QUEUE ||
	       transfer;
}

int bgdma_explain_record(const struct bgdma_record *record, char *buf,
			 size_t size)
{
	struct text text = { .buf = buf, .size = size };

	text_code(&text, record->code);
	if (record->code == BGDMA_OK)
		return (int)text.length;
	text_add(&text, ": ");
	if (has_descriptor(record->fifo_kind, record->transfer_id))
		text_add(&text, "descriptor %" PRIu64 " of ",
			 (uint64_t)record->desc_seq);
	text_object(&text, record->fifo_kind, record->fifo);
	text_add(&text, ", ");
	text_peer(&text, record->peer_rank, record->peer_ctx);
	text_place(&text, record->code, record->offset, record->bound);
	if (record->transfer_id)
		text_add(&text, ", transfer 0x%x", record->transfer_id);
	if (record->lost)
		text_add(&text, "; %u more error%s since", record->lost,
			 record->lost == 1 ? "" : "s");
	return (int)text.length;
}

/* What went wrong with a transfer, of which an event tells. */
static void text_transfer(struct text *text, const struct bgdma_event *event)
{
	text_add(text, ": ");
	text_code(text, event->code);
	text_add(text, ": ");
	if (has_descriptor(event->kind, event->transfer_id))
		text_add(text, "descriptor %" PRIu64 ", ",
			 (uint64_t)event->desc_seq);
	text_peer(text, event->peer_rank, event->peer_ctx);
	text_place(text, event->code, event->offset, event->bound);
	if (event->transfer_id)
		text_add(text, ", transfer 0x%" PRIx64 ", cookie 0x%" PRIx64,
			 (uint64_t)event->transfer_id, (uint64_t)event->cookie);
}

/* A class of which nothing more comes, or a result of it that was lost. */
static void text_class(struct text *text, const struct bgdma_event *event)
{
	text_object(text, event->kind, event->object);
	if (event->transfer_id) {
		text_add(text, ": a result had nowhere to land");
		text_transfer(text, event);
		return;
	}
	text_add(text, " broke: ");
	text_code(text, event->code);
	text_add(text, ": ");
	text_peer(text, event->peer_rank, event->peer_ctx);
	text_add(text, ", instance %" PRIu64, (uint64_t)event->bound);
}

/* One context, or all that a kernel had that is gone. */
static void text_down(struct text *text, const struct bgdma_event *event)
{
	if (event->peer_ctx != BGDMA_CTX_ANY) {
		text_peer(text, event->peer_rank, event->peer_ctx);
		text_add(text, " left or died (incarnation %u)",
			 event->peer_incarnation);
	} else if (event->bound > event->peer_rank) {
		text_add(text, "all at nodes %u to %" PRIu64 " are gone",
			 event->peer_rank, (uint64_t)event->bound);
	} else {
		text_add(text, "all at node %u are gone", event->peer_rank);
	}
}

int bgdma_explain_event(const struct bgdma_event *event, char *buf, size_t size)
{
	struct text text = { .buf = buf, .size = size };

	switch (event->type) {
	case BGDMA_EVENT_PEER_DOWN:
		text_down(&text, event);
		break;
	case BGDMA_EVENT_FIFO_ERROR:
	case BGDMA_EVENT_COUNTER:
		text_object(&text, event->kind, event->object);
		text_add(&text, " is in error");
		text_transfer(&text, event);
		break;
	case BGDMA_EVENT_REFUSED:
		text_add(&text, "our remote descriptor was refused at ");
		text_object(&text, event->kind, event->object);
		text_transfer(&text, event);
		break;
	case BGDMA_EVENT_OFFENDER:
		text_add(&text, "a remote descriptor was refused at our ");
		text_object(&text, event->kind, event->object);
		text_transfer(&text, event);
		break;
	case BGDMA_EVENT_PARTITION:
		text_add(&text, "the partition was deleted");
		break;
	case BGDMA_EVENT_EPOCH:
		text_add(&text, "an epoch broke at ");
		text_object(&text, event->kind, event->object);
		text_transfer(&text, event);
		break;
	case BGDMA_EVENT_CLASS:
		text_class(&text, event);
		break;
	default:
		text_add(&text, "event of unknown type %u", event->type);
		text_transfer(&text, event);
	}
	return (int)text.length;
}
