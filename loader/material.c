/*
 * Judges an identity before it goes anywhere (see the header; F7, F12, D11, D13). No I/O: the
 * caller hands in bytes and the time. Called by main.c and kubeconfig.c.
 */
#include "loader/material.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ipc/messages.h"
#include "loader/pem.h"

void material_init(struct material *material)
{
	*material = (struct material){
		.ca.bytes = buf_make_secret(MATERIAL_CA_BYTES),
		.certificate.bytes = buf_make_secret(MATERIAL_CERTIFICATE_BYTES),
		.key.bytes = buf_make_secret(MATERIAL_KEY_BYTES),
		.token.bytes = buf_make_secret(MATERIAL_TOKEN_BYTES),
	};
}

void material_free(struct material *material)
{
	buf_free(&material->ca.bytes);
	buf_free(&material->certificate.bytes);
	buf_free(&material->key.bytes);
	buf_free(&material->token.bytes);
	explicit_bzero(material, sizeof(*material));
}

int material_take(struct material_part *part, struct str bytes, const char *where, struct err *err)
{
	(void)snprintf(part->where, sizeof(part->where), "%s", where);
	if (bytes.n == 0)
		return err_set(err, "%s: is empty; expected its content", where);
	buf_append(&part->bytes, bytes.p, bytes.n);
	if (part->bytes.failed)
		return err_set(
		    err, "%s: is longer than %zu bytes; expected less", where, part->bytes.max);
	return 0;
}

/* Replaces the part's bytes by the checked ones. */
static void replace(struct material_part *part, struct buf *checked)
{
	buf_free(&part->bytes);
	part->bytes = *checked;
}

static int check_ca(struct material *material, int64_t now_us, struct err *err)
{
	struct buf checked = buf_make(MATERIAL_CA_BYTES);

	if (pem_read_ca(buf_str(&material->ca.bytes), material->ca.where, now_us, &checked,
		material->note, err)) {
		buf_free(&checked);
		return -1;
	}
	replace(&material->ca, &checked);
	return 0;
}

static int check_pair(struct material *material, int64_t now_us, struct err *err)
{
	struct buf checked = buf_make(MATERIAL_CERTIFICATE_BYTES);

	if (pem_read_pair(buf_str(&material->certificate.bytes), material->certificate.where,
		buf_str(&material->key.bytes), material->key.where, now_us, &checked,
		material->subject, &material->times, err)) {
		buf_free(&checked);
		return -1;
	}
	replace(&material->certificate, &checked);
	return 0;
}

/* The characters of a bearer token (RFC 6750) and ':' of static ones. */
static bool is_token_byte(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~+/=:", c));
}

/* D13: line breaks at the end are an editor's and go; anything else that no token has is an error
 * and not sent to a server. */
static int check_token(struct material *material, int64_t now_us, struct err *err)
{
	struct material_part *token = &material->token;
	struct buf *bytes = &token->bytes;
	char date[32] = "";
	time_t expires;
	struct tm tm;

	while (bytes->len &&
	       (bytes->data[bytes->len - 1] == '\n' || bytes->data[bytes->len - 1] == '\r'))
		bytes->data[--bytes->len] = '\0';
	if (bytes->len == 0)
		return err_set(err, "%s: is empty; expected a bearer token", token->where);
	for (size_t i = 0; i < bytes->len; i++)
		if (!is_token_byte(bytes->data[i]))
			return err_set(err,
			    "%s: holds a character that no token has (byte %zu); expected one line "
			    "with a bearer token",
			    token->where, i + 1);
	jwt_read(buf_str(bytes), material->subject, &material->times);
	if (material->times.expires_us == 0 || material->times.expires_us > now_us)
		return 0;
	expires = (time_t)(material->times.expires_us / 1000000);
	if (gmtime_r(&expires, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return err_set(err, "%s: has expired at %s; expected a valid token", token->where, date);
}

int material_check(struct material *material, int64_t now_us, struct err *err)
{
	if (check_ca(material, now_us, err))
		return -1;
	if (material->token.bytes.len)
		return check_token(material, now_us, err);
	if (material->token_follows && !material->certificate.bytes.len && !material->key.bytes.len)
		return 0;
	return check_pair(material, now_us, err);
}

/* Length first, so that no byte moves unseen from one part into the next. */
static void add_part(struct buf *all, struct str part)
{
	uint64_t length = part.n;

	buf_append(all, (const char *)&length, sizeof(length));
	buf_append(all, part.p, part.n);
}

uint64_t material_fingerprint(const struct material *material, uint64_t key)
{
	struct buf all = buf_make_secret(2UL * MESSAGE_MAX_BYTES);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length = 0;
	uint64_t first = 0;

	add_part(&all, str_of(material->server.url));
	add_part(&all, str_of(material->tls_name));
	add_part(&all, buf_str(&material->ca.bytes));
	add_part(&all, buf_str(&material->certificate.bytes));
	add_part(&all, buf_str(&material->key.bytes));
	add_part(&all, buf_str(&material->token.bytes));
	if (!all.failed &&
	    HMAC(EVP_sha256(), &key, sizeof(key), (const unsigned char *)all.data, all.len, digest,
		&length) &&
	    length >= sizeof(first))
		memcpy(&first, digest, sizeof(first));
	buf_free(&all);
	return first;
}

static uint64_t first_of(const unsigned char *digest)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | digest[i];
	return value;
}

/* The signature is what makes a JWT good: without it it is a description. */
static struct str signed_part(struct str token)
{
	size_t dots = 0, last = 0;

	for (size_t i = 0; i < token.n; i++)
		if (token.p[i] == '.' && ++dots)
			last = i;
	return (struct str){ token.p, dots == 2 ? last : 0 };
}

uint64_t material_public_print(const struct material *material)
{
	const struct buf *pem = &material->certificate.bytes;
	struct str claims = signed_part(buf_str(&material->token.bytes));
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length = 0;
	uint64_t print = 0;

	if (pem->len) {
		BIO *bio = BIO_new_mem_buf(pem->data, (int)pem->len);
		X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

		if (certificate && X509_digest(certificate, EVP_sha256(), digest, &length))
			print = first_of(digest);
		X509_free(certificate);
		BIO_free(bio);
	} else if (claims.n &&
		   EVP_Digest(claims.p, claims.n, digest, &length, EVP_sha256(), NULL)) {
		print = first_of(digest);
	}
	return print;
}
