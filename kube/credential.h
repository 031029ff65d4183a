/*
 * One generation of one identity: where its server is, what proves us to it, what proves the
 * server to us. Checked once, on arrival, so that a bad file is a clear text and not a failed
 * handshake later (F12). Counted references: requests that run keep their generation.
 */
#ifndef KUBE_CREDENTIAL_H
#define KUBE_CREDENTIAL_H

#include <stdint.h>

#include "base/err.h"
#include "ipc/messages.h"
#include "kube/secret.h"

struct kube_credential {
	unsigned target, references;
	uint32_t generation;
	char origin[1024]; /* "https://host:port/base": what a path is appended to */
	uint16_t port;
	char *ca, *certificate; /* PEM; certificate NULL: none */
	size_t ca_length, certificate_length;
	char *key; /* PEM in the slot, NULL: none */
	size_t key_length;
	char *authorization; /* "Authorization: Bearer ..." in the slot, NULL: none */
	char subject[254];   /* the token's sub or the certificate's CN, "" when unknown */
	int64_t issued_us, expires_us; /* 0: nothing says so */
	struct secret_arena *arena;
	char *slot;
};

/* A copy with one reference, or NULL with a text without secrets. now_us: wall time, against which
 * the certificate and the token must not have expired. */
struct kube_credential *credential_new(const struct msg_credential *message,
    struct secret_arena *arena, int64_t now_us, struct err *err);
struct kube_credential *credential_hold(struct kube_credential *credential);
/* Wiped and freed with the last reference. NULL is fine. */
void credential_drop(struct kube_credential *credential);

#endif
