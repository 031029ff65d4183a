/*
 * Certificates, keys and tokens for the loader's tests, made afresh in each run so that none of
 * them ever expires in the repository. All texts are allocated; the caller frees them.
 */
#ifndef TESTS_UNIT_LOADER_MAKE_H
#define TESTS_UNIT_LOADER_MAKE_H

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The content of a memory BIO as a text. */
static __attribute__((unused)) char *make_text(BIO *bio)
{
	char *bytes, *text;
	long n = BIO_get_mem_data(bio, &bytes);

	text = strndup(bytes, (size_t)n);
	BIO_free(bio);
	return text;
}

static __attribute__((unused)) EVP_PKEY *make_key(void)
{
	return EVP_EC_gen("P-256");
}

/* A self-signed certificate that is valid from now + from_s to now + to_s. */
static __attribute__((unused)) char *make_certificate(
    EVP_PKEY *key, const char *name, long from_s, long to_s)
{
	X509 *certificate = X509_new();
	BIO *bio = BIO_new(BIO_s_mem());
	X509_NAME *subject = X509_get_subject_name(certificate);

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), from_s);
	X509_gmtime_adj(X509_getm_notAfter(certificate), to_s);
	X509_NAME_add_entry_by_txt(
	    subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(certificate, subject);
	X509_set_pubkey(certificate, key);
	X509_sign(certificate, key, EVP_sha256());
	PEM_write_bio_X509(bio, certificate);
	X509_free(certificate);
	return make_text(bio);
}

/* PKCS#8; with a passphrase, encrypted. */
static __attribute__((unused)) char *make_key_text(EVP_PKEY *key, const char *passphrase)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_PKCS8PrivateKey(bio, key, passphrase ? EVP_aes_256_cbc() : NULL, passphrase,
	    passphrase ? (int)strlen(passphrase) : 0, NULL, NULL);
	return make_text(bio);
}

/* The older form, with "Proc-Type: 4,ENCRYPTED" when there is a passphrase. */
static __attribute__((unused)) char *make_key_traditional(EVP_PKEY *key, const char *passphrase)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_PrivateKey_traditional(bio, key, passphrase ? EVP_aes_256_cbc() : NULL,
	    (const unsigned char *)passphrase, passphrase ? (int)strlen(passphrase) : 0, NULL,
	    NULL);
	return make_text(bio);
}

static __attribute__((unused)) char *make_base64(const char *text)
{
	size_t n = strlen(text);
	char *out = malloc(4 * ((n + 2) / 3) + 1);

	EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)n);
	return out;
}

/* An unsigned token with this payload. */
static __attribute__((unused)) char *make_jwt(const char *payload)
{
	char *encoded = make_base64(payload), *token = NULL;

	for (char *c = encoded; *c; c++)
		*c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c == '=' ? '\0' : *c);
	if (asprintf(&token, "eyJhbGciOiJub25lIn0.%s.c2ln", encoded) < 0)
		abort();
	free(encoded);
	return token;
}

#endif
