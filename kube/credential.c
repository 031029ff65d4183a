/*
 * Takes an identity apart (see the header). It opens nothing and connects to nothing; no text that
 * it produces holds a byte of a key or a token.
 */
#include "kube/credential.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "kube/json.h"

static const char bearer[] = "Authorization: Bearer ";

static bool all_of(struct str text, const char *extra)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		bool plain =
		    (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!plain && (c == '\0' || !strchr(extra, c)))
			return false;
	}
	return true;
}

/* Cuts "https://HOST[:PORT][/BASE]" apart. The loader is the least trusted role, so its check is
 * made again here. */
static int parse_server(
    struct kube_credential *credential, struct str server, struct str tls_name, struct err *err)
{
	static const struct str scheme = STR_LIT("https://");
	struct str host = { server.p, 0 }, digits = { NULL, 0 }, base;
	uint64_t port = 443;
	const char *end = server.p + server.n, *p;
	bool bracket;

	if (server.n <= scheme.n || memcmp(server.p, scheme.p, scheme.n) != 0)
		return err_set(err, "server: expected https://host[:port]");
	p = host.p = server.p + scheme.n;
	bracket = *p == '[';
	while (p < end && *p != '/' && (bracket || *p != ':')) {
		bracket = bracket && *p != ']';
		p++;
	}
	host.n = (size_t)(p - host.p);
	if (p < end && *p == ':') {
		digits.p = ++p;
		while (p < end && *p != '/')
			p++;
		digits.n = (size_t)(p - digits.p);
		if (!str_to_u64(digits, &port) || port == 0 || port > 65535)
			return err_set(err, "server: the port must be 1 to 65535");
	}
	base = (struct str){ p, (size_t)(end - p) };
	while (base.n && base.p[base.n - 1] == '/')
		base.n--;
	if (host.n == 0 || bracket || !all_of(host, host.p[0] == '[' ? "[]:." : "-._") ||
	    !all_of(base, "/-._~%"))
		return err_set(err, "server: expected https://host[:port]");
	if (tls_name.n) {
		if (!all_of(tls_name, "-._"))
			return err_set(err, "tls name: expected a host name");
		host = tls_name;
	}
	credential->port = (uint16_t)port;
	if (snprintf(credential->origin, sizeof(credential->origin), "https://%.*s:%u%.*s",
		STR_ARG(host), credential->port, STR_ARG(base)) >= (int)sizeof(credential->origin))
		return err_set(err, "server: longer than %zu bytes", sizeof(credential->origin));
	return 0;
}

static int64_t time_us(const ASN1_TIME *time)
{
	struct tm tm;

	return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) * 1000000 : 0;
}

/* Counts the certificates of a PEM text; *first (may be NULL) gets the first. -1: something in it
 * is no certificate. */
static int count_certificates(struct str pem, X509 **first)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	X509 *certificate;
	int count = 0;

	while (bio && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		if (count++ == 0 && first)
			*first = certificate;
		else
			X509_free(certificate);
	}
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		count = -1;
	ERR_clear_error();
	BIO_free(bio);
	return count;
}

/* Told that a key is encrypted by being asked for its password (F12). */
static int no_password(char *buffer, int size, int writing, void *asked)
{
	(void)buffer;
	(void)size;
	(void)writing;
	*(bool *)asked = true;
	return -1;
}

static int check_key(struct str pem, X509 *certificate, struct err *err)
{
	bool encrypted = false;
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, &encrypted) : NULL;
	int result = 0;

	if (encrypted)
		result = err_set(err, "key: it is encrypted, expected a plain PEM key");
	else if (!key)
		result = err_set(err, "key: expected a private key in PEM form");
	else if (X509_check_private_key(certificate, key) != 1)
		result = err_set(err, "key: it does not belong to the certificate");
	ERR_clear_error();
	EVP_PKEY_free(key);
	BIO_free(bio);
	return result;
}

static int check_certificate(struct kube_credential *credential,
    const struct msg_credential *message, int64_t now_us, struct err *err)
{
	X509 *certificate = NULL;
	int result = -1;

	if (message->certificate.n == 0 && message->key.n == 0)
		return 0;
	if (message->certificate.n == 0 || message->key.n == 0)
		return err_set(err, "certificate and key: one without the other");
	if (count_certificates(message->certificate, &certificate) < 1) {
		err_set(err, "certificate: expected certificates in PEM form");
		goto out;
	}
	if (check_key(message->key, certificate, err))
		goto out;
	credential->issued_us = time_us(X509_get0_notBefore(certificate));
	credential->expires_us = time_us(X509_get0_notAfter(certificate));
	if (credential->expires_us <= now_us) {
		err_set(err, "certificate: it has expired");
		goto out;
	}
	if (X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
		credential->subject, sizeof(credential->subject)) < 0)
		credential->subject[0] = '\0';
	result = 0;
out:
	ERR_clear_error();
	X509_free(certificate);
	return result;
}

/* The claims of a JWT. Any other token simply says nothing about itself. */
static json_t *read_claims(struct str token)
{
	const char *first = token.n ? memchr(token.p, '.', token.n) : NULL;
	struct buf text = buf_make_secret(token.n);
	struct str claims = { NULL, 0 };
	const char *second;
	json_t *value = NULL;

	if (!first)
		return NULL;
	claims = (struct str){ first + 1, (size_t)(token.p + token.n - first) - 1 };
	second = memchr(claims.p, '.', claims.n);
	if (second)
		claims.n = (size_t)(second - claims.p);
	if (base64_get(&text, claims, BASE64_URL))
		value = kube_json_parse(buf_str(&text), NULL);
	buf_free(&text);
	return value;
}

static int64_t claim_us(const json_t *claims, const char *name)
{
	int64_t seconds = kube_json_integer(claims, name, 0);

	return seconds > 0 && seconds < INT64_MAX / 1000000 ? seconds * 1000000 : 0;
}

static int check_token(
    struct kube_credential *credential, struct str token, int64_t now_us, struct err *err)
{
	json_t *claims;

	if (token.n == 0)
		return 0;
	if (!all_of(token, "-._~+/=:"))
		return err_set(err, "token: it holds a byte that no bearer token has");
	claims = read_claims(token);
	/* Whose end counts is whose beginning counts. */
	if (claim_us(claims, "exp")) {
		credential->issued_us = claim_us(claims, "iat");
		credential->expires_us = claim_us(claims, "exp");
	}
	(void)str_copy(credential->subject, sizeof(credential->subject),
	    str_of(kube_json_text(claims, "sub")));
	json_decref(claims);
	if (credential->expires_us && credential->expires_us <= now_us)
		return err_set(err, "token: it has expired");
	return 0;
}

static char *copy_public(struct str text)
{
	char *copy = malloc(text.n + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	return copy;
}

/* Token first, key behind it; the bounds of messages.def make both fit into one slot. */
static int fill(
    struct kube_credential *credential, const struct msg_credential *message, struct err *err)
{
	size_t header = message->token.n ? sizeof(bearer) - 1 + message->token.n + 1 : 0;

	if (header + message->key.n + 1 > SECRET_SLOT_BYTES)
		return err_set(err, "token and key: longer than %d bytes", SECRET_SLOT_BYTES);
	credential->slot = secret_take(credential->arena);
	if (!credential->slot)
		return err_set(err, "too many generations of credentials are still in use");
	if (message->token.n) {
		credential->authorization = credential->slot;
		memcpy(credential->slot, bearer, sizeof(bearer) - 1);
		memcpy(credential->slot + sizeof(bearer) - 1, message->token.p, message->token.n);
		credential->slot[header - 1] = '\0';
	}
	if (message->key.n) {
		credential->key = credential->slot + header;
		credential->key_length = message->key.n;
		memcpy(credential->key, message->key.p, message->key.n);
		credential->certificate = copy_public(message->certificate);
		credential->certificate_length = message->certificate.n;
	}
	credential->ca = copy_public(message->ca);
	credential->ca_length = message->ca.n;
	if (!credential->ca || (message->key.n && !credential->certificate))
		return err_set(err, "out of memory");
	return 0;
}

struct kube_credential *credential_new(const struct msg_credential *message,
    struct secret_arena *arena, int64_t now_us, struct err *err)
{
	struct kube_credential *credential = calloc(1, sizeof(*credential));

	if (!credential) {
		err_set(err, "out of memory");
		return NULL;
	}
	credential->references = 1;
	credential->arena = arena;
	credential->target = (unsigned)message->target;
	credential->generation = (uint32_t)message->generation;
	if (parse_server(credential, message->server, message->tls_name, err))
		goto bad;
	if (count_certificates(message->ca, NULL) < 1) {
		err_set(err, "ca: expected certificates in PEM form");
		goto bad;
	}
	if (message->token.n == 0 && message->certificate.n == 0 && message->key.n == 0) {
		err_set(err, "neither a token nor a client certificate");
		goto bad;
	}
	if (check_certificate(credential, message, now_us, err) ||
	    check_token(credential, message->token, now_us, err) || fill(credential, message, err))
		goto bad;
	return credential;
bad:
	credential_drop(credential);
	return NULL;
}

struct kube_credential *credential_hold(struct kube_credential *credential)
{
	credential->references++;
	return credential;
}

void credential_drop(struct kube_credential *credential)
{
	if (!credential || --credential->references > 0)
		return;
	if (credential->slot)
		secret_give_back(credential->arena, credential->slot);
	free(credential->ca);
	free(credential->certificate);
	free(credential);
}
