/*
 * PEM through OpenSSL (see the header). Everything is parsed from memory; each error queue entry
 * of OpenSSL is dropped, for its texts say little and may name pieces of the input. Called by
 * material.c.
 * Pitfall: P77.
 */
#include "loader/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void pem_begin(void)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

enum block { BLOCK_END, BLOCK_CERTIFICATE, BLOCK_OTHER };

/* The next PEM block; what it is in `what` when it is no certificate. */
static enum block next_block(BIO *bio, X509 **certificate, char what[64])
{
	char *name = NULL, *header = NULL;
	unsigned char *data = NULL;
	const unsigned char *p;
	long length = 0;
	bool read;

	*certificate = NULL;
	ERR_clear_error();
	read = PEM_read_bio(bio, &name, &header, &data, &length) == 1;
	if (!read && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) {
		ERR_clear_error();
		return BLOCK_END;
	}
	p = data;
	if (!read)
		(void)snprintf(what, 64, "is damaged");
	else if (strcmp(name, "CERTIFICATE") != 0)
		(void)snprintf(what, 64, "is a %.48s", name);
	else if (!(*certificate = d2i_X509(NULL, &p, length)))
		(void)snprintf(what, 64, "is damaged");
	ERR_clear_error();
	OPENSSL_free(name);
	OPENSSL_free(header);
	OPENSSL_clear_free(data, length > 0 ? (size_t)length : 0);
	return *certificate ? BLOCK_CERTIFICATE : BLOCK_OTHER;
}

static bool append_certificate(struct buf *out, X509 *certificate)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long n;

	if (bio && PEM_write_bio_X509(bio, certificate) == 1) {
		n = BIO_get_mem_data(bio, &text);
		buf_append(out, text, (size_t)n);
	} else {
		out->failed = true;
	}
	BIO_free(bio);
	return !out->failed;
}

static bool is_expired(const X509 *certificate, int64_t now_us)
{
	time_t now = (time_t)(now_us / 1000000);

	/* 0: the time is broken, which is no better. */
	return X509_cmp_time(X509_get0_notAfter(certificate), &now) <= 0;
}

static void note_block(char note[256], unsigned number, const char *what)
{
	size_t n = strlen(note);

	(void)snprintf(note + n, 256 - n, "%sblock %u %s", n ? ", " : "", number, what);
}

int pem_read_ca(struct str text, const char *where, int64_t now_us, struct buf *out, char note[256],
    struct err *err)
{
	BIO *bio = BIO_new_mem_buf(text.p, (int)text.n);
	unsigned number = 0, used = 0;
	enum block block = bio ? BLOCK_OTHER : BLOCK_END;
	X509 *certificate;
	char what[64];

	note[0] = '\0';
	while (block != BLOCK_END && (block = next_block(bio, &certificate, what)) != BLOCK_END) {
		number++;
		if (block == BLOCK_CERTIFICATE && is_expired(certificate, now_us)) {
			(void)snprintf(what, sizeof(what), "has expired");
			block = BLOCK_OTHER;
		}
		if (block == BLOCK_CERTIFICATE && append_certificate(out, certificate))
			used++;
		else
			note_block(note, number, what);
		X509_free(certificate);
	}
	BIO_free(bio);
	if (out->failed)
		return err_set(
		    err, "%s: is longer than 64 KiB; expected fewer certificates", where);
	if (number == 0)
		return err_set(
		    err, "%s: holds no PEM block; expected -----BEGIN CERTIFICATE-----", where);
	if (used == 0)
		return err_set(err,
		    "%s: holds no usable CA certificate (%s); expected one in PEM "
		    "form",
		    where, note);
	return 0;
}

/* The certificates of the file, the first (borrowed by nobody: the caller frees it) in *leaf. */
static int read_chain(
    struct str text, const char *where, struct buf *out, X509 **leaf, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(text.p, (int)text.n);
	enum block block = bio ? BLOCK_OTHER : BLOCK_END;
	X509 *certificate;
	char what[64];

	while (block != BLOCK_END && (block = next_block(bio, &certificate, what)) != BLOCK_END) {
		if (block == BLOCK_CERTIFICATE)
			append_certificate(out, certificate);
		if (!*leaf)
			*leaf = certificate;
		else
			X509_free(certificate);
	}
	BIO_free(bio);
	if (!*leaf)
		return err_set(
		    err, "%s: holds no certificate; expected -----BEGIN CERTIFICATE-----", where);
	if (out->failed)
		return err_set(err, "%s: is longer than 32 KiB; expected less", where);
	return 0;
}

/* OpenSSL asks for a password: the key is encrypted, and there is nobody to ask (F12). */
static int note_question(char *buffer, int size, int writing, void *asked)
{
	(void)buffer;
	(void)size;
	(void)writing;
	*(bool *)asked = true;
	return -1;
}

static int check_key(struct str text, const char *where, X509 *leaf, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(text.p, (int)text.n);
	bool asked = false;
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, note_question, &asked) : NULL;
	int result = 0;

	if (asked)
		result = err_set(
		    err, "%s: is encrypted; expected a private key without a passphrase", where);
	else if (!key)
		result = err_set(err, "%s: holds no private key; expected one in PEM form", where);
	else if (X509_check_private_key(leaf, key) != 1)
		result = err_set(err,
		    "%s: does not belong to the certificate; expected the key that it was made "
		    "for",
		    where);
	ERR_clear_error();
	EVP_PKEY_free(key);
	BIO_free(bio);
	return result;
}

static void put_date(const ASN1_TIME *time, char text[32])
{
	struct tm tm;

	if (ASN1_TIME_to_tm(time, &tm) != 1 || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(text, 32, "an unreadable time");
}

static int64_t time_us(const ASN1_TIME *time)
{
	struct tm tm;

	return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) * 1000000 : 0;
}

int pem_read_pair(struct str certificate, const char *where, struct str key, const char *where_key,
    int64_t now_us, struct buf *out, char subject[256], struct jwt_times *times, struct err *err)
{
	X509 *leaf = NULL;
	char date[32];
	int result = -1;

	subject[0] = '\0';
	if (read_chain(certificate, where, out, &leaf, err) || check_key(key, where_key, leaf, err))
		goto out;
	if (is_expired(leaf, now_us)) {
		put_date(X509_get0_notAfter(leaf), date);
		err_set(err, "%s: has expired at %s; expected a valid certificate", where, date);
		goto out;
	}
	if (X509_NAME_get_text_by_NID(X509_get_subject_name(leaf), NID_commonName, subject, 256) <
	    0)
		subject[0] = '\0';
	times->issued_us = time_us(X509_get0_notBefore(leaf));
	times->expires_us = time_us(X509_get0_notAfter(leaf));
	result = 0;
out:
	X509_free(leaf);
	return result;
}
