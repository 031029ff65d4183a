/*
 * Requests to API servers over connections that the role's dialer hands over (F10-F12, F22): one
 * client per process, any number of targets (= credentials), HTTP/2 multiplexed where the server
 * has it, one deadline per request (H1, L34), answers typed (C4, H7). libcurl and OpenSSL stand
 * behind this header and kube/transport; nobody else includes curl.
 * A target's connections belong to its credential generation: a new generation never reuses an
 * old connection (F10). No file, no name, no proxy, no redirect, TLS >= 1.2, the target's own CA.
 */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "ipc/role.h"

struct kube_client;

enum kube_verb {
	KUBE_GET,
	KUBE_POST,
	KUBE_PUT,
	KUBE_PATCH_MERGE,
	KUBE_PATCH_APPLY,
	KUBE_PATCH_JSON,
	KUBE_DELETE
};

/* What an answer means. Everything up to KUBE_SERVER_ERROR was said by the server. */
enum kube_class {
	KUBE_OK,           /* 2xx */
	KUBE_NOT_FOUND,    /* 404, the object */
	KUBE_NO_RESOURCE,  /* 404, the whole resource: no such kind here (M7, H20) */
	KUBE_UNAUTHORIZED, /* 401 */
	KUBE_FORBIDDEN, /* 403, or a webhook's no; message tells RBAC from UNDERSTUDY_* policies */
	KUBE_CONFLICT,  /* 409, resourceVersion or uid precondition */
	KUBE_EXISTS,    /* 409 AlreadyExists */
	KUBE_GONE,      /* 410 */
	KUBE_TOO_LARGE, /* 413 */
	KUBE_INVALID,   /* 422 */
	KUBE_THROTTLED, /* 429; retry_after_ms */
	KUBE_REFUSED,   /* any other 4xx */
	KUBE_SERVER_ERROR, /* 5xx */
	KUBE_SILENT,       /* refused, reset, time-out, no TLS or HTTP reply, cut body */
	KUBE_BLIND, /* our own fault: x509, no cached address, not JSON, 3xx, no credential (C4) */
};

struct kube_ask {
	unsigned target; /* credential number */
	enum kube_verb verb;
	const char *path;     /* starts with '/', already escaped (kube/url.h) */
	const char *query;    /* without '?', NULL or "" for none; already escaped */
	struct str body;      /* copied */
	uint32_t deadline_ms; /* from now to the last byte; never 0 */
	size_t most_bytes;    /* of the answer's body, 0: 32 MiB */
	bool fresh;           /* a new TCP and TLS connection for this one (M18, C4) */
};

struct kube_answer {
	enum kube_class class;
	int status;        /* HTTP status, 0 when there was none */
	enum peer_why why; /* the cause of SILENT, BLIND and errors, for PEER_SEEN (C4) */
	bool sent;     /* false: no byte of the request left, so it cannot have been applied (H1) */
	bool too_long; /* BLIND because the body is longer than was asked for */
	char reason[64];        /* Status.reason, printable */
	char message[512];      /* Status.message or the transport's words, printable */
	char cause_field[128];  /* Status.details.causes: the field of all, "" when they differ */
	char warning[256];      /* Warning: 299 text (H11), "" when none */
	int64_t retry_after_ms; /* 0: not said */
	int64_t sent_ns,
	    finished_ns; /* boot time of the start and end (validity counts from sent: I1) */
	int64_t date_us; /* Date header, 0 when absent (C9) */
	struct str body; /* valid during the callback only */
};

typedef void kube_done_fn(void *arg, const struct kube_answer *answer);
/* Bytes of a streaming answer (watch); return false to end it. */
typedef bool kube_chunk_fn(void *arg, struct str bytes);

/* Before role_lock: makes the curl multi handle, no OpenSSL configuration file (F10, F31). */
struct kube_client *kube_client_new(struct role_process *process);
void kube_client_free(struct kube_client *client);

/* Takes over one identity; copies what it needs and checks it: CA, key matches certificate, not
 * expired, nothing encrypted (F12). 0, or -1 with a text without secrets. Requests that run keep
 * the old generation and end with it. */
int kube_client_credential(
    struct kube_client *client, const struct msg_credential *credential, struct err *err);
bool kube_client_has(const struct kube_client *client, unsigned target);
/* Added to a target's number: an identity on trial for it, beside the one in use and over
 * connections of its own to the same server, so that it is proven before it is used (H12). */
#define KUBE_TRIAL 0x8000u
/* Lets an identity go; requests that run keep it and end with it. */
void kube_client_forget(struct kube_client *client, unsigned target);
/* What the identity of a target says of itself: the token's `sub` or the certificate's CN ("" when
 * it says nothing), its beginning and its end in wall time (0: says nothing). False: there is none.
 * For STATUS_CREDENTIAL. */
struct kube_identity {
	char subject[254];
	int64_t issued_us, expires_us;
	uint64_t generation;
};
bool kube_client_identity(
    const struct kube_client *client, unsigned target, struct kube_identity *identity);
/* All that a role does with an identity that arrives: takes it over as above, answers the
 * supervisor, shows it to the monitor. False when it was refused (logged; the old one stays). */
bool kube_client_take(struct kube_client *client, const struct msg_credential *credential);
/* Told when a target has another identity: what failed with the old one need not wait any longer.
 * Its owner keeps it until it is taken back; `renewed` may set timers and ask, nothing else. */
struct kube_renewal {
	struct kube_renewal *next; /* the client's */
	unsigned target;
	void (*renewed)(void *arg);
	void *arg;
};
void kube_client_on_renewal(struct kube_client *client, struct kube_renewal *renewal);
void kube_client_off_renewal(struct kube_client *client, struct kube_renewal *renewal);
/* Shows the monitor the identity of a target, if there is one: for a monitor that is new. */
void kube_client_show(struct kube_client *client, unsigned target);
/* Asks the server of this target what our identity may do there, soon and every five minutes, and
 * shows the monitor what differs from the least that the role needs (STATUS_RIGHTS); shows it
 * again. kube_client_take and kube_client_show do this. */
void kube_rights_watch(struct kube_client *client, unsigned target);
void kube_rights_show(struct kube_client *client, unsigned target);
/* For the role's handler of DIALED; the descriptor belongs to the client from here. */
enum verdict kube_client_dialed(struct kube_client *client, const struct msg_dialed *m, int fd);
/* The dialer is gone: what waits for a connection fails as BLIND/DIALER, or waits for the next. */
void kube_client_dialer_lost(struct kube_client *client);

/* Starts a request; done is called exactly once, never from inside this call. Returns an id for
 * cancel. A target without a credential answers KUBE_BLIND. */
uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *ask, kube_done_fn *done, void *arg);
/* A watch: chunk gets the body as it comes when the status is 200, and before it "", when the head
 * is there: a watch with nothing to tell brings no body for a minute; done gets the end (class OK:
 * the server ended it, or its credential was replaced and it is time to come again with the new
 * one; body empty then). deadline_ms counts to the head of the answer, from there on idle_ms:
 * silent for so long = KUBE_SILENT. */
uint64_t kube_client_stream(struct kube_client *client, const struct kube_ask *ask,
    uint32_t idle_ms, kube_chunk_fn *chunk, kube_done_fn *done, void *arg);
/* No callback afterwards. Unknown ids are fine. The request may still reach the server (H3). */
void kube_client_cancel(struct kube_client *client, uint64_t id);
/* From now on requests to this target use new connections, and its watches come again over one:
 * the name may lead elsewhere than when the old ones were made (B11). */
void kube_client_redial(struct kube_client *client, unsigned target);
/* Shuts every connection down in both directions, so that nothing of ours is still on its way
 * (F8, H3). */
void kube_client_shutdown(struct kube_client *client);

const char *kube_class_name(enum kube_class class);
/* True when a webhook that must be asked was not reached, so that nothing was done (H5, B24). */
bool kube_is_dead_webhook(const struct kube_answer *answer);

#endif
