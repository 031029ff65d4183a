/*
 * One identity on its way through the loader: server, CA, and a token or a client certificate with
 * its key. Filled from a kubeconfig (kubeconfig.h) or from files, then checked, then sent as one
 * CREDENTIAL. Everything secret lies in buffers that are wiped by material_free().
 */
#ifndef LOADER_MATERIAL_H
#define LOADER_MATERIAL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "loader/jwt.h"
#include "loader/values.h"

/* The bounds of the message CREDENTIAL. */
#define MATERIAL_CA_BYTES          65536
#define MATERIAL_CERTIFICATE_BYTES 32768
#define MATERIAL_KEY_BYTES         16384
#define MATERIAL_TOKEN_BYTES       12288

struct material_part {
	struct buf bytes;
	char where[384]; /* "FILE" or "FILE:LINE: KEY", for error texts */
};

struct material {
	struct value_server server;
	char tls_name[254];                               /* "" = the server's host */
	struct material_part ca, certificate, key, token; /* empty = not given */
	bool token_follows; /* a follower's hub delivers it elsewhere: the CA alone is enough (H12)
			     */
	/* Of material_check(): */
	char subject[256];
	struct jwt_times times; /* of the token or the certificate */
	char note[256];         /* what of the CA bundle was left out, "" = nothing */
};

void material_init(struct material *material);
void material_free(struct material *material);
/* Copies a file's content into a part of the identity. -1 when it is empty or too long. */
int material_take(struct material_part *part, struct str bytes, const char *where, struct err *err);
/*
 * Trims the token, checks every part, and makes CA and certificate what roles expect: PEM blocks
 * of usable certificates and nothing else. now_us: wall time. 0, or -1 with
 * "WHERE: what; expected ...".
 */
int material_check(struct material *material, int64_t now_us, struct err *err);
/* Keyed hash of all that a role gets: tells that it changed, and nothing else. */
uint64_t material_fingerprint(const struct material *material, uint64_t key);
/* The first eight bytes (big-endian) of the SHA-256 of what is no secret of it: the certificate in
 * DER, as `openssl x509 -fingerprint -sha256` has it, or the part of a JWT that is signed. 0 when
 * there is none: an opaque token. For the audit. */
uint64_t material_public_print(const struct material *material);

#endif
