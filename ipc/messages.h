/*
 * Messages between roles: names, structs, rights, bounds, encoding. Everything here is expanded
 * from messages.def. The wire form is msgpack, [number, {field: value, ...}], fields in the order
 * of the definition, no more and no less. Decoding never trusts a byte: ipc/scan.h walks the
 * packet first, then msgpack-c decodes, then each value is held against its bounds.
 * TEXT and BYTES are views: into the packet after decoding (valid inside the handler only), into
 * the caller's memory when encoding.
 */
#ifndef IPC_MESSAGES_H
#define IPC_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "policy/roles.h"

/* Values of ENUM fields. 0 is a valid value everywhere; the last one is the bound. */
enum dial_outcome { DIAL_OK, DIAL_REFUSED, DIAL_TIMEOUT, DIAL_RESET, DIAL_NO_NAME, DIAL_DENIED };
enum peer_class { PEER_OK, PEER_NOT_FOUND, PEER_SILENT, PEER_BLIND }; /* C4 */
enum peer_why {
	PEER_WHY_NONE,
	PEER_WHY_REFUSED,
	PEER_WHY_TIMEOUT,
	PEER_WHY_RESET,
	PEER_WHY_SERVER_ERROR,
	PEER_WHY_THROTTLED,
	PEER_WHY_X509,
	PEER_WHY_UNAUTHORIZED,
	PEER_WHY_FORBIDDEN,
	PEER_WHY_WRONG_UID,
	PEER_WHY_UNPARSABLE,
	PEER_WHY_NO_NAME,
	PEER_WHY_NO_CREDENTIAL,
	PEER_WHY_DIALER,
	PEER_WHY_LAST = PEER_WHY_DIALER
};
enum lease_holder { HOLDER_NONE, HOLDER_SELF, HOLDER_PEER, HOLDER_OTHER };
enum lease_phase { PHASE_NONE, PHASE_ACQUIRING, PHASE_LEADING, PHASE_DRAINING, PHASE_RELEASED };
enum sync_verb { SYNC_CONFIRM_DELETES, SYNC_DISCARD, SYNC_RESYNC, SYNC_ACCEPT_RESTORE, SYNC_DIFF };
enum sync_outcome { SYNC_OUTCOME_DONE, SYNC_OUTCOME_REFUSED, SYNC_OUTCOME_UNKNOWN };
enum sync_row_type { SYNC_ROW_OBJECT, SYNC_ROW_CHECK };
/* What the mirror, or one of its kinds, is to a person. */
enum sync_state {
	SYNC_STATE_UNKNOWN,     /* the source cannot be read, or has not been yet */
	SYNC_STATE_SYNCED,      /* nothing to do */
	SYNC_STATE_PROGRESSING, /* is being written */
	SYNC_STATE_DEGRADED,    /* goes on, with faults, or waits for its source */
	SYNC_STATE_BLOCKED,     /* something waits for a person */
	SYNC_STATE_SKIPPED      /* of a kind: mirror.skip leaves it out */
};
/* Why an object is listed by name. */
enum sync_listing { LISTED_BLOCKED, LISTED_HELD, LISTED_EXCLUDED, LISTED_REFERENCED };
enum probe_verdict { PROBE_ACCEPTED, PROBE_FENCED, PROBE_NO_OBJECT, PROBE_FAILED };
enum worker_state {
	WORKER_OK,
	WORKER_NO_CRD,
	WORKER_NO_OBJECT,
	WORKER_NO_FENCE,
	WORKER_DENIED,
	WORKER_UNREACHABLE
};
enum push_outcome {
	PUSH_DONE,
	PUSH_EQUAL,
	PUSH_SUPERSEDED,
	PUSH_DENIED,
	PUSH_NO_CRD,
	PUSH_UNREACHABLE
};
enum witness_answer {
	WITNESS_NO_API,
	WITNESS_NO_ANSWER,
	WITNESS_READ,
	WITNESS_CUT_OFF,
	WITNESS_DENIED,
	WITNESS_ABSENT
};
/* What a role tries at an API server for the audit, and what came of it. */
enum rights_check {
	RIGHTS_CHECK_HOME,      /* its identity's rights where its business is */
	RIGHTS_CHECK_ELSEWHERE, /* the same where it has none */
	RIGHTS_CHECK_SPEC,      /* the four doors of a worker (C11): a claim without content, */
	RIGHTS_CHECK_DELETE,    /* none at all, */
	RIGHTS_CHECK_IDENTITY,  /* one in another's name, */
	RIGHTS_CHECK_TERM,      /* one that goes back */
	RIGHTS_CHECK_FENCE,     /* the own API server enforces this hub's role (C1) */
	RIGHTS_CHECK_LAST = RIGHTS_CHECK_FENCE
};
#define RIGHTS_CHECKS (RIGHTS_CHECK_LAST + 1)
enum rights_verdict { RIGHTS_AS_WANTED, RIGHTS_DIFFER, RIGHTS_UNKNOWN };
enum event_reason {
	EVENT_MIRROR_SYNC_FAILED,
	EVENT_LEFT_SCOPE,
	EVENT_SOURCE_REGRESSED,
	EVENT_PRUNED_FIELD,
	EVENT_PUBLISH_PRUNED,
	EVENT_WORKER_UNREACHABLE,
	EVENT_WORKER_SUPERSEDED,
	EVENT_PEER_UNREADABLE,
	EVENT_DELETES_HELD,
	EVENT_REJOINED,
	EVENT_REASON_LAST = EVENT_REJOINED
};

#define METRIC(id, ...) METRIC_##id,
enum metric_id {
#include "ipc/metrics.def"
	METRIC_COUNT
};

#define MESSAGE(ID, ...) MSG_##ID,
enum message_id {
#include "ipc/messages.def"
	MSG_COUNT
};

#define MESSAGE(ID, name, ...)   struct msg_##name {
#define U64(name, field, ...)    uint64_t field;
#define I64(name, field, ...)    int64_t field;
#define BOOL(name, field)        bool field;
#define ENUM(name, field, last)  uint32_t field;
#define TEXT(name, field, most)  struct str field;
#define BYTES(name, field, most) struct str field;
#define MESSAGE_END(ID, name)                                                                      \
	}                                                                                          \
	;
#include "ipc/messages.def"

/* A decoded message of any kind. */
struct message {
	enum message_id id;
	union {
#define MESSAGE(ID, name, ...) struct msg_##name name;
#include "ipc/messages.def"
	};
};

enum message_fd { FD_NONE, FD_ONE, FD_IF_OK };
enum message_queue { QUEUE_CUT, QUEUE_OLDEST, QUEUE_KEEP, QUEUE_KEEP_EACH };
enum field_type { FIELD_U64, FIELD_I64, FIELD_BOOL, FIELD_ENUM, FIELD_TEXT, FIELD_BYTES };

struct field_row {
	const char *name;
	enum field_type type;
	size_t offset;
	uint64_t least, most; /* I64: cast */
};

/* One block of messages.def. */
struct message_row {
	const char *name;
	uint32_t senders, receivers; /* ROLE_BITs */
	enum message_fd fd;
	enum message_queue queue;
	size_t limit;
	const struct field_row *fields;
	size_t field_count;
};

#define MESSAGE_MAX_BYTES 131072

const struct message_row *message_row(enum message_id id);
/* May `from` send this to `to`? (F4: the sender is the link's far end, never a field.) */
bool message_may(enum message_id id, enum role from, enum role to);
/* Appends the packet. 0, or -1 with the field that is out of its bounds: the sender's own bug or
 * a value that must not leave. `body` is the struct msg_* of that id. */
int message_encode(enum message_id id, const void *body, struct buf *out, struct err *err);
/* 0, or -1 with what is wrong with the packet. Texts in *out are views into the packet. */
int message_decode(struct str packet, struct message *out, struct err *err);
/* Whether a packet of this message carries a descriptor, told from its content (FD_IF_OK). */
bool message_wants_fd(const struct message *message);

#endif
