/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, msg module: tagged messages between two processes, with MPI's
 * semantics. It stands on the sys layer (<bgdma/sys.h>), beside other modules.
 *
 *	bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){ .job = job });
 *	bgdma_msg_create(&msg, ep, NULL);
 *	bgdma_endpoint_commit(ep, NULL);
 *	if (bgdma_endpoint_rank(ep) == 0)
 *		bgdma_msg_send(msg, "hi", 2, 1, TAG, 0);
 *	else
 *		bgdma_msg_recv(msg, text, sizeof(text), BGDMA_MSG_ANY_SOURCE,
 *			       TAG, 0, &status);
 *
 * A message has a source, a tag and a context; a receive names all three, of
 * which source and tag can be wildcards. Messages of one process to another are
 * matched in the order in which they were sent, receives in the order in which
 * they were posted.
 *
 * Short messages are sent at once (eagerly), long ones when they are received
 * (by rendezvous), which takes the same calls. What arrives before it is
 * received is kept, up to a bound; beyond it messages wait at their senders.
 *
 * Rules that hold for all calls here:
 *
 * - Threads: as the endpoint's enum bgdma_threads. Calls that wait may not be
 *   made from callbacks, the others may. One that would have to wait there does
 *   nothing and returns -EDEADLK.
 * - Progress is made in calls that wait or test; with BGDMA_PROGRESS_THREAD
 *   always.
 * - Memory that is sent must not change, and memory that is received into not
 *   be touched, until the request is complete.
 * - Errors are -errno; errors of a message are in its status, and are what
 *   the call that completes it returns. A call that sends or receives and waits
 *   leaves nothing behind when it fails: its memory is the caller's.
 *
 * Documentation/tagged.rst has the design.
 */
#ifndef BGDMA_MSG_H
#define BGDMA_MSG_H

#include <sys/uio.h>

#include <bgdma/sys.h>

BGDMA_BEGIN_DECLS

/* Wildcards of receives and probes; and who takes and gives nothing. */
#define BGDMA_MSG_ANY_SOURCE	0xffffffffU
#define BGDMA_MSG_ANY_TAG	0xffffffffU
#define BGDMA_MSG_NO_RANK	0xfffffffeU
#define BGDMA_MSG_TAG_MAX	0xfffffffeU

/* Pieces of a message in memory. */
#define BGDMA_MSG_PIECES_MAX	1024

/* Tagged messages on an endpoint. */
struct bgdma_msg;

/* A message under way; NULL: none. */
struct bgdma_msg_request;

/* A message that was found and is nobody else's; NULL: none. */
struct bgdma_msg_message;

/**
 * struct bgdma_msg_attr - how messages are sent; the same on all processes
 * @eager_bytes: longer messages go by rendezvous; up to 32,768; 0: the variable
 *	BGDMA_EAGER_BYTES, or 8,192
 * @unexpected_bytes: memory for messages that were not received yet, of all
 *	peers together; 0: BGDMA_UNEXPECTED_BYTES, or 16 MiB. Each peer has an
 *	equal part, of which a message takes its length and 384 bytes; one that
 *	finds none goes by rendezvous, whatever its length
 * @portion: bytes; longer messages cross in portions (SP-1), shorter ones in one
 *	piece; BGDMA_PORTION_WHOLE: all do that; 0: as the endpoint's @pacing says
 * @busy: calls that wait spin, and never sleep
 * @announced: messages that can be announced and not yet received, of all
 *	peers together, for each of which 384 bytes are kept; 0: BGDMA_ANNOUNCED,
 *	or 131,072, or 10,240 for each process of the job, whichever is more. Each
 *	peer has an equal part, up to 32,768; beyond it, messages wait at their sender
 * @in_flight: portions of a message at a time, up to BGDMA_IN_FLIGHT_MAX; 0: one,
 *	or where the endpoint says the portion, what it says
 */
struct bgdma_msg_attr {
	uint32_t eager_bytes;
	uint64_t unexpected_bytes;
	uint64_t portion;
	bool busy;
	uint32_t announced;
	uint32_t in_flight;
};

/* bgdma_msg_create() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_msg_create_sized(struct bgdma_msg **msg,
				     struct bgdma_endpoint *ep,
				     const struct bgdma_msg_attr *attr,
				     size_t size);

/**
 * bgdma_msg_create() - have tagged messages on an endpoint
 * @msg: out: it ends with the endpoint, and all requests with it
 * @ep: not yet committed; one for each endpoint
 * @attr: how; NULL: by default
 *
 * If the processes do not agree on @unexpected_bytes, @announced or the
 * endpoint's data_bytes, bgdma_endpoint_commit() says so.
 *
 * Thread safety: any thread.
 * Return: 0; -EEXIST it has them, and goes on with those; -EBUSY it is
 * committed; -EINVAL, also for nonsense in a variable; -ENOMEM: the endpoint can
 * only be destroyed.
 */
static inline int bgdma_msg_create(struct bgdma_msg **msg,
				   struct bgdma_endpoint *ep,
				   const struct bgdma_msg_attr *attr)
{
	return bgdma_msg_create_sized(msg, ep, attr,
				      attr ? sizeof(*attr) : 0);
}

/**
 * bgdma_msg_expose() - send from and receive into a region without system calls
 * @msg: committed
 * @region: of the endpoint's context, with local rights of both kinds
 *
 * Long messages that lie in it need not be registered one by one. It must stay
 * until the endpoint ends. Every process of the job may read and write it: also one
 * that may be well but is as if it had died (BGDMA_TROUBLE_PEER_DOWN). What that had
 * under way may still land where a receive has ended with -EHOSTDOWN, if no counter of
 * its own was left for that; in memory that is not in such a region nothing does.
 *
 * Return: 0; -ENOMEM; what bgdma_endpoint_expose() returns.
 */
BGDMA_API int bgdma_msg_expose(struct bgdma_msg *msg,
			       struct bgdma_region *region);

/**
 * struct bgdma_msg_status - what became of a message
 * @rank: of the sender
 * @tag: of the message
 * @cancelled: it was not sent, or not received
 * @error: 0; -EMSGSIZE it was longer than the room for it, which is filled;
 *	-EHOSTDOWN the other process has left or died, or something that one of the
 *	two had sent before was lost (BGDMA_TROUBLE_LOST and _PEER_DOWN), after which
 *	nothing is sent to it or waited for of it any more; -ECANCELED; else what the
 *	engine found wrong (bgdma_code_errno())
 * @length: bytes received; of a probe: bytes of the message
 * @sent: bytes of the message, of which @length were received
 *
 * Of a request to send @cancelled and @error alone mean something. Of no request
 * it is empty: @rank is BGDMA_MSG_ANY_SOURCE, @tag BGDMA_MSG_ANY_TAG, the rest 0.
 */
struct bgdma_msg_status {
	uint32_t rank;
	uint32_t tag;
	bool cancelled;
	int error;
	uint64_t length;
	uint64_t sent;
};

/* ---- Sending ----------------------------------------------------------- */

/**
 * bgdma_msg_isend() - begin to send a message
 * @msg: committed
 * @data: the message
 * @length: of it, in bytes; 0 is a message, too
 * @dest: rank in the job, or BGDMA_MSG_NO_RANK
 * @tag: up to BGDMA_MSG_TAG_MAX
 * @context: of a group of processes: messages of one never meet another
 * @request: out, unless it fails: to be completed by a test or a wait
 *
 * The request is complete when @data may be changed. It never waits.
 *
 * Return: 0; -EINVAL; -EMSGSIZE; -ENOTCONN not committed; -ENOMEM. A process
 * that has died is told by the status.
 */
BGDMA_API int bgdma_msg_isend(struct bgdma_msg *msg, const void *data,
			      size_t length, uint32_t dest, uint32_t tag,
			      uint16_t context,
			      struct bgdma_msg_request **request);

/**
 * bgdma_msg_issend() - the same, complete when it was matched by a receive
 * @msg: committed
 * @data: the message
 * @length: of it
 * @dest: rank
 * @tag: of it
 * @context: of it
 * @request: out, unless it fails
 *
 * Return: as bgdma_msg_isend().
 */
BGDMA_API int bgdma_msg_issend(struct bgdma_msg *msg, const void *data,
			       size_t length, uint32_t dest, uint32_t tag,
			       uint16_t context,
			       struct bgdma_msg_request **request);

/**
 * bgdma_msg_isendv() - begin to send a message that lies in pieces
 * @msg: committed
 * @pieces: of the message, in order; copied, but not what they point to
 * @count: of them, up to BGDMA_MSG_PIECES_MAX
 * @dest: rank
 * @tag: of it
 * @context: of it
 * @request: out, unless it fails
 *
 * Pieces are put together in memory of the library.
 *
 * Return: as bgdma_msg_isend().
 */
BGDMA_API int bgdma_msg_isendv(struct bgdma_msg *msg,
			       const struct iovec *pieces, unsigned int count,
			       uint32_t dest, uint32_t tag, uint16_t context,
			       struct bgdma_msg_request **request);

/**
 * bgdma_msg_send() - send a message
 * @msg: committed
 * @data: may be changed when it returns
 * @length: of it
 * @dest: rank
 * @tag: of it
 * @context: of it
 *
 * It may wait until the message is received, and does for a long one.
 *
 * Return: 0; as bgdma_msg_isend() and bgdma_msg_wait().
 */
BGDMA_API int bgdma_msg_send(struct bgdma_msg *msg, const void *data,
			     size_t length, uint32_t dest, uint32_t tag,
			     uint16_t context);

/**
 * bgdma_msg_ssend() - send a message, and wait until a receive matched it
 * @msg: committed
 * @data: may be changed when it returns
 * @length: of it
 * @dest: rank
 * @tag: of it
 * @context: of it
 *
 * Return: 0; as bgdma_msg_isend() and bgdma_msg_wait().
 */
BGDMA_API int bgdma_msg_ssend(struct bgdma_msg *msg, const void *data,
			      size_t length, uint32_t dest, uint32_t tag,
			      uint16_t context);

/* ---- Receiving --------------------------------------------------------- */

/**
 * bgdma_msg_irecv() - begin to receive a message
 * @msg: committed
 * @data: room for it
 * @length: of the room
 * @source: rank in the job, BGDMA_MSG_ANY_SOURCE or BGDMA_MSG_NO_RANK
 * @tag: or BGDMA_MSG_ANY_TAG
 * @context: of it
 * @request: out, unless it fails: to be completed by a test or a wait
 *
 * A receive from any source, and a probe, goes on when others die, even all of them:
 * the process itself can send. Who would wait for the dead hears of them by
 * BGDMA_TROUBLE_PEER_DOWN (bgdma_endpoint_attr.trouble), and can cancel it.
 *
 * Return: 0; -EINVAL; -ENOTCONN; -ENOMEM.
 */
BGDMA_API int bgdma_msg_irecv(struct bgdma_msg *msg, void *data, size_t length,
			      uint32_t source, uint32_t tag, uint16_t context,
			      struct bgdma_msg_request **request);

/**
 * bgdma_msg_irecvv() - begin to receive a message into pieces
 * @msg: committed
 * @pieces: of the room, in order; copied, but not what they point to
 * @count: of them, up to BGDMA_MSG_PIECES_MAX
 * @source: as for bgdma_msg_irecv()
 * @tag: the same
 * @context: the same
 * @request: out, unless it fails
 *
 * Return: as bgdma_msg_irecv().
 */
BGDMA_API int bgdma_msg_irecvv(struct bgdma_msg *msg,
			       const struct iovec *pieces, unsigned int count,
			       uint32_t source, uint32_t tag, uint16_t context,
			       struct bgdma_msg_request **request);

/**
 * bgdma_msg_recv() - receive a message
 * @msg: committed
 * @data: room for it
 * @length: of the room
 * @source: as for bgdma_msg_irecv()
 * @tag: the same
 * @context: the same
 * @status: out, unless the call itself failed; NULL: not wanted
 *
 * Return: 0; as bgdma_msg_irecv() and bgdma_msg_wait().
 */
BGDMA_API int bgdma_msg_recv(struct bgdma_msg *msg, void *data, size_t length,
			     uint32_t source, uint32_t tag, uint16_t context,
			     struct bgdma_msg_status *status);

/* ---- Probing ----------------------------------------------------------- */

/**
 * bgdma_msg_iprobe() - whether a message is there to be received
 * @msg: committed
 * @source: as for bgdma_msg_irecv()
 * @tag: the same
 * @context: the same
 * @status: out, if it is there: from whom and how long; may be NULL
 *
 * Return: 1: it is; 0: it is not; -EINVAL; -ENOTCONN; -ENODEV; -EHOSTDOWN
 * @source has left or died, and none is there.
 */
BGDMA_API int bgdma_msg_iprobe(struct bgdma_msg *msg, uint32_t source,
			       uint32_t tag, uint16_t context,
			       struct bgdma_msg_status *status);

/**
 * bgdma_msg_probe() - wait until a message is there to be received
 * @msg: committed
 * @source: as for bgdma_msg_irecv()
 * @tag: the same
 * @context: the same
 * @status: out: from whom and how long; may be NULL
 *
 * Return: 0; as bgdma_msg_iprobe().
 */
BGDMA_API int bgdma_msg_probe(struct bgdma_msg *msg, uint32_t source,
			      uint32_t tag, uint16_t context,
			      struct bgdma_msg_status *status);

/**
 * bgdma_msg_improbe() - take a message that is there, to be received later
 * @msg: committed
 * @source: as for bgdma_msg_irecv()
 * @tag: the same
 * @context: the same
 * @message: out: for bgdma_msg_imrecv(); only with 1
 * @status: as for bgdma_msg_iprobe()
 *
 * No other receive or probe finds it any more.
 *
 * Return: as bgdma_msg_iprobe().
 */
BGDMA_API int bgdma_msg_improbe(struct bgdma_msg *msg, uint32_t source,
				uint32_t tag, uint16_t context,
				struct bgdma_msg_message **message,
				struct bgdma_msg_status *status);

/**
 * bgdma_msg_mprobe() - wait for a message and take it, to be received later
 * @msg: committed
 * @source: as for bgdma_msg_irecv()
 * @tag: the same
 * @context: the same
 * @message: out: for bgdma_msg_imrecv(); NULL with BGDMA_MSG_NO_RANK
 * @status: as for bgdma_msg_iprobe()
 *
 * Return: 0; as bgdma_msg_iprobe().
 */
BGDMA_API int bgdma_msg_mprobe(struct bgdma_msg *msg, uint32_t source,
			       uint32_t tag, uint16_t context,
			       struct bgdma_msg_message **message,
			       struct bgdma_msg_status *status);

/**
 * bgdma_msg_imrecv() - begin to receive a message that was taken
 * @msg: committed
 * @data: room for it
 * @length: of the room
 * @message: in: of a probe; out: NULL
 * @request: out, unless it fails
 *
 * Return: as bgdma_msg_irecv(); @message is still there after an error.
 */
BGDMA_API int bgdma_msg_imrecv(struct bgdma_msg *msg, void *data, size_t length,
			       struct bgdma_msg_message **message,
			       struct bgdma_msg_request **request);

/* ---- Completion -------------------------------------------------------- */

/*
 * These make progress. A request that is complete is freed, and its pointer
 * set to NULL; NULL in a row of requests is passed over. A row is of one
 * struct bgdma_msg.
 */

/**
 * bgdma_msg_test() - whether a request is complete
 * @request: in and out; NULL counts as complete
 * @status: out, if it is; may be NULL
 *
 * Return: 1: it is, and well; 0: it is not; the error of its status; -ENODEV.
 */
BGDMA_API int bgdma_msg_test(struct bgdma_msg_request **request,
			     struct bgdma_msg_status *status);

/**
 * bgdma_msg_wait() - wait until a request is complete
 * @request: in and out; NULL counts as complete
 * @status: out; may be NULL
 *
 * Return: 0; the error of its status; -ENODEV the partition is gone: the
 * request is still there, and what was under way may still write to its memory
 * until bgdma_endpoint_destroy() has returned; -EDEADLK called from a callback.
 * Signals are passed over.
 */
BGDMA_API int bgdma_msg_wait(struct bgdma_msg_request **request,
			     struct bgdma_msg_status *status);

/**
 * bgdma_msg_testsome() - complete those of a row that can be
 * @requests: the row
 * @count: of them
 * @index: out: which are complete, @count at most
 * @status: out, beside @index; may be NULL
 *
 * Return: how many are; 0; -ENOENT there is no request in the row; -ENODEV;
 * -EINVAL. Errors of messages are in @status only.
 */
BGDMA_API int bgdma_msg_testsome(struct bgdma_msg_request **requests,
				 unsigned int count, unsigned int *index,
				 struct bgdma_msg_status *status);

/**
 * bgdma_msg_waitsome() - wait until one of a row at least is complete
 * @requests: the row
 * @count: of them
 * @index: out: which are complete
 * @status: out, beside @index; may be NULL
 *
 * Return: as bgdma_msg_testsome(), but for 0; -EDEADLK.
 */
BGDMA_API int bgdma_msg_waitsome(struct bgdma_msg_request **requests,
				 unsigned int count, unsigned int *index,
				 struct bgdma_msg_status *status);

/**
 * bgdma_msg_testany() - complete one of a row, if one can be
 * @requests: the row
 * @count: of them
 * @index: out: which
 * @status: out; may be NULL
 *
 * Return: 1: one is, and well; 0: none is; -ENOENT there is no request in the
 * row; the error of its status; -ENODEV; -EINVAL.
 */
BGDMA_API int bgdma_msg_testany(struct bgdma_msg_request **requests,
				unsigned int count, unsigned int *index,
				struct bgdma_msg_status *status);

/**
 * bgdma_msg_waitany() - wait until one of a row is complete
 * @requests: the row
 * @count: of them
 * @index: out: which
 * @status: out; may be NULL
 *
 * Return: 0; as bgdma_msg_testany(); -EDEADLK.
 */
BGDMA_API int bgdma_msg_waitany(struct bgdma_msg_request **requests,
				unsigned int count, unsigned int *index,
				struct bgdma_msg_status *status);

/**
 * bgdma_msg_testall() - complete a row, if all of it can be
 * @requests: the row
 * @count: of them
 * @status: out: of each; of NULL an empty one; may be NULL
 *
 * Return: 1: all are; 0: not all are, and none was completed; -ENODEV;
 * -EINVAL; else the first error among the statuses: all are complete.
 */
BGDMA_API int bgdma_msg_testall(struct bgdma_msg_request **requests,
				unsigned int count,
				struct bgdma_msg_status *status);

/**
 * bgdma_msg_waitall() - wait until all of a row are complete
 * @requests: the row
 * @count: of them
 * @status: out: of each; of NULL an empty one; may be NULL
 *
 * Return: 0; the first error among the statuses: all are complete; -ENODEV;
 * -EINVAL; -EDEADLK.
 */
BGDMA_API int bgdma_msg_waitall(struct bgdma_msg_request **requests,
				unsigned int count,
				struct bgdma_msg_status *status);

/**
 * bgdma_msg_cancel() - give a request up
 * @request: not NULL; a wait must follow, and its status tells
 *
 * A receive that no message has matched is cancelled; so is a send that has not
 * begun. Others go on, to be completed as ever. For a receive progress is made
 * first, once: who does nothing but post and give up gets what has been sent to
 * him, sooner or later, but not always what has arrived.
 *
 * Return: 0: it is cancelled; -EALREADY: it goes on, or is complete.
 */
BGDMA_API int bgdma_msg_cancel(struct bgdma_msg_request *request);

/**
 * bgdma_msg_request_free() - let a request complete by itself
 * @request: in: not NULL; out: NULL
 */
BGDMA_API void bgdma_msg_request_free(struct bgdma_msg_request **request);

/**
 * struct bgdma_msg_stats - what was done
 * @eager: messages sent eagerly
 * @announced: messages sent by rendezvous
 * @for_room: of those, because the target had no room for more
 * @waited: messages that waited at their sender for room of any kind
 * @expected: messages whose receive was there first
 * @unexpected: messages that came before their receive
 * @kept: bytes of such messages that are here now, with what goes with them
 * @kept_max: the most of them there were
 */
struct bgdma_msg_stats {
	uint64_t eager;
	uint64_t announced;
	uint64_t for_room;
	uint64_t waited;
	uint64_t expected;
	uint64_t unexpected;
	uint64_t kept;
	uint64_t kept_max;
};

/* bgdma_msg_stats() of a program whose structure has @size bytes. */
BGDMA_API void bgdma_msg_stats_sized(struct bgdma_msg *msg,
				     struct bgdma_msg_stats *stats,
				     size_t size);

/**
 * bgdma_msg_stats() - what was done
 * @msg: any
 * @stats: out
 */
static inline void bgdma_msg_stats(struct bgdma_msg *msg,
				   struct bgdma_msg_stats *stats)
{
	bgdma_msg_stats_sized(msg, stats, sizeof(*stats));
}

BGDMA_END_DECLS

#endif /* BGDMA_MSG_H */
