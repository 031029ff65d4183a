/*
 * Certificates and keys in PEM form, checked with OpenSSL before any process gets them: a bad key
 * would otherwise show after a dial, and an encrypted one crashes libcurl 7.88 (F12). No file is
 * opened. Error texts begin with `where` and hold no byte of a key.
 */
#ifndef LOADER_PEM_H
#define LOADER_PEM_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "loader/jwt.h"

/* OpenSSL without its configuration file (F31); before the sandbox is locked. */
void pem_begin(void);

/*
 * A CA bundle: the usable certificates are appended to out as PEM, one after another; `note` says
 * which blocks were left out and why, "" when none (D11). now_us: wall time. 0, or -1 when nothing
 * usable is there.
 */
int pem_read_ca(struct str text, const char *where, int64_t now_us, struct buf *out, char note[256],
    struct err *err);
/*
 * A client certificate (with its chain behind it, appended to out) and its key: they belong
 * together, the certificate has not expired, the key is not encrypted. subject gets the CN, "" when
 * it has none; times those between which it is valid.
 */
int pem_read_pair(struct str certificate, const char *where, struct str key, const char *where_key,
    int64_t now_us, struct buf *out, char subject[256], struct jwt_times *times, struct err *err);

#endif
