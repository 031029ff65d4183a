/*
 * For tests of the API client: a certificate authority, a child process that is dialer and TLS
 * server at once (HTTP/1.1 and the few frames of HTTP/2 that an answer needs), and the functions
 * of a role process that the client calls, played by the test. The child answers with canned
 * texts, as the path (HTTP/1.1) or the method (HTTP/2) asks for. Loopback only.
 */
#ifndef KUBE_BED_H
#define KUBE_BED_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* How the child's next connection behaves. */
enum bed_mode {
	BED_H2 = 'h',
	BED_H1 = '1',
	BED_MUTE = 'm',    /* accepts, never says a word */
	BED_GARBAGE = 'g', /* no TLS */
	BED_RESET = 'r',   /* closes at once */
	BED_OTHER_PORT = 'o'
};

/* Seen and set by both processes. */
struct bed_shared {
	atomic_int dials, requests, hangups;
	atomic_int frozen; /* connections up to this number read and write nothing any more */
	char authorization[256], subject[256];
};

struct bed {
	struct bed_shared *shared;
	pid_t child;
	int link;
	uint16_t port;
	char ca[4096], other_ca[4096], certificate[4096], key[4096], encrypted_key[4096];
};

/* --- Certificates --------------------------------------------------------------------------- */

static inline void bed_put_pem(char text[4096], BIO *bio)
{
	int n = BIO_read(bio, text, 4095);

	assert_true(n > 0);
	text[n] = '\0';
	BIO_free(bio);
}

static inline void bed_extend(X509 *certificate, int nid, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(extension);
	X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
}

/* Signed by issuer (NULL: by itself), good from an hour ago for `days`. */
static inline X509 *bed_certify(EVP_PKEY *key, const char *name, const char *alternative,
    X509 *issuer, EVP_PKEY *issuer_key, long days)
{
	X509 *certificate = X509_new();
	X509_NAME *subject = X509_get_subject_name(certificate);
	static long serial;

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -30 * 86400);
	X509_gmtime_adj(X509_getm_notAfter(certificate), days * 86400);
	X509_NAME_add_entry_by_txt(
	    subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : subject);
	X509_set_pubkey(certificate, key);
	if (issuer)
		bed_extend(certificate, NID_subject_alt_name, alternative);
	else
		bed_extend(certificate, NID_basic_constraints, "critical,CA:TRUE");
	assert_true(X509_sign(certificate, issuer ? issuer_key : key, EVP_sha256()) > 0);
	return certificate;
}

static inline void bed_print_certificate(char text[4096], X509 *certificate)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_X509(bio, certificate);
	bed_put_pem(text, bio);
}

static inline void bed_print_key(char text[4096], EVP_PKEY *key, const char *password)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_PrivateKey(bio, key, password ? EVP_aes_128_cbc() : NULL,
	    (const unsigned char *)password, password ? (int)strlen(password) : 0, NULL, NULL);
	bed_put_pem(text, bio);
}

/* --- Server --------------------------------------------------------------------------------- */

struct bed_connection {
	struct bed *bed;
	SSL_CTX *context;
	int fd, number;
	enum bed_mode mode;
};

static inline bool bed_write(SSL *ssl, const void *bytes, size_t n)
{
	return n == 0 || SSL_write(ssl, bytes, (int)n) == (int)n;
}

static inline void bed_h1_answer(SSL *ssl, const char *head, const char *body)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", head,
	    strlen(body), body);

	(void)bed_write(ssl, text, (size_t)n);
}

#define BED_JSON "\r\nContent-Type: application/json"

static inline void bed_h1_big(SSL *ssl)
{
	static char block[1 << 20];
	const char *head = "HTTP/1.1 200 OK" BED_JSON "\r\nContent-Length: 34603008\r\n\r\n";

	memset(block, ' ', sizeof(block));
	(void)bed_write(ssl, head, strlen(head));
	for (int i = 0; i < 33; i++)
		if (!bed_write(ssl, block, sizeof(block)))
			return;
}

/* One request's answer. False: the connection ends. */
static inline bool bed_h1_serve(SSL *ssl, const char *request)
{
	static const char stream[] =
	    "HTTP/1.1 200 OK" BED_JSON "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\"\n\r\n";
	static const char cut[] = "HTTP/1.1 200 OK" BED_JSON "\r\nContent-Length: 99\r\n\r\n{";
	const char *path = strchr(request, ' ');

	if (strncmp(path, " /api/hang", 10) == 0)
		return true;
	if (strncmp(path, " /api/cut", 9) == 0)
		return bed_write(ssl, cut, sizeof(cut) - 1) && false;
	if (strncmp(path, " /api/drop", 10) == 0)
		return false;
	if (strncmp(path, " /api/big", 9) == 0)
		bed_h1_big(ssl);
	else if (strncmp(path, " /api/stall", 11) == 0)
		(void)bed_write(ssl, stream, sizeof(stream) - 1);
	else if (strncmp(path, " /api/stream", 12) == 0)
		return bed_write(ssl, stream, sizeof(stream) - 1) && bed_write(ssl, "0\r\n\r\n", 5);
	else if (strncmp(path, " /api/html", 10) == 0)
		bed_h1_answer(ssl, "200 OK\r\nContent-Type: text/html", "<html>");
	else if (strncmp(path, " /api/429", 9) == 0)
		bed_h1_answer(ssl, "429 Too Many\r\nRetry-After: 7", "");
	else if (strncmp(path, " /api/401", 9) == 0)
		bed_h1_answer(ssl, "401 Unauthorized", "");
	else if (strncmp(path, " /api/moved", 11) == 0)
		bed_h1_answer(ssl, "302 Found\r\nLocation: https://127.0.0.1:1/", "");
	else
		bed_h1_answer(ssl,
		    "200 OK" BED_JSON "\r\nDate: Sun, 29 Nov 2026 16:00:00 GMT"
		    "\r\nWarning: 299 - \"unknown field\"",
		    strstr(request, "\r\n\r\n") + 4);
	return true;
}

static inline void bed_note_head(struct bed_connection *c, const char *request)
{
	const char *at = strcasestr(request, "authorization: ");

	if (at)
		(void)snprintf(c->bed->shared->authorization, 256, "%.*s",
		    (int)strcspn(at + 15, "\r\n"), at + 15);
	atomic_fetch_add(&c->bed->shared->requests, 1);
}

static inline void bed_h1(struct bed_connection *c, SSL *ssl)
{
	static _Thread_local char text[65536];
	size_t have = 0;

	for (;;) {
		int n = SSL_read(ssl, text + have, (int)(sizeof(text) - 1 - have));
		char *end, *length;

		if (n <= 0)
			return;
		have += (size_t)n;
		text[have] = '\0';
		end = strstr(text, "\r\n\r\n");
		if (!end)
			continue;
		length = strcasestr(text, "content-length: ");
		if (length && length < end &&
		    (size_t)atoi(length + 16) > have - (size_t)(end + 4 - text))
			continue;
		bed_note_head(c, text);
		if (!bed_h1_serve(ssl, text))
			return;
		have = 0;
	}
}

static inline bool bed_read(SSL *ssl, unsigned char *bytes, size_t n)
{
	for (size_t have = 0; have < n;) {
		int got = SSL_read(ssl, bytes + have, (int)(n - have));

		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	return true;
}

static inline bool bed_frame(
    SSL *ssl, int type, int flags, uint32_t stream, const void *bytes, size_t n)
{
	unsigned char head[9] = { (unsigned char)(n >> 16), (unsigned char)(n >> 8),
		(unsigned char)n, (unsigned char)type, (unsigned char)flags,
		(unsigned char)(stream >> 24), (unsigned char)(stream >> 16),
		(unsigned char)(stream >> 8), (unsigned char)stream };

	return bed_write(ssl, head, sizeof(head)) && bed_write(ssl, bytes, n);
}

/* GET: an answer. POST: none. Any other method: a head and a first line, then nothing. */
static inline void bed_h2_answer(SSL *ssl, uint32_t stream, unsigned char method)
{
	/* :status 200; content-type (static entry 31) as a literal. */
	static const unsigned char head[] = { 0x88, 0x0f, 0x10, 16, 'a', 'p', 'p', 'l', 'i', 'c',
		'a', 't', 'i', 'o', 'n', '/', 'j', 's', 'o', 'n' };

	if (method == 0x83)
		return;
	(void)bed_frame(ssl, 1, 4, stream, head, sizeof(head));
	if (method == 0x82)
		(void)bed_frame(ssl, 0, 1, stream, "{}", 2);
	else
		(void)bed_frame(ssl, 0, 0, stream, "{}\n", 3);
}

static inline void bed_h2(struct bed_connection *c, SSL *ssl)
{
	static _Thread_local unsigned char payload[65536];
	unsigned char head[24];

	if (!bed_read(ssl, head, 24) || !bed_frame(ssl, 4, 0, 0, "", 0))
		return;
	while (bed_read(ssl, head, 9)) {
		size_t n = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
		uint32_t stream = (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 |
				  (uint32_t)head[7] << 8 | head[8];

		if (n > sizeof(payload) || !bed_read(ssl, payload, n))
			return;
		while (atomic_load(&c->bed->shared->frozen) >= c->number)
			usleep(1000);
		if (head[3] == 4 && !(head[4] & 1))
			(void)bed_frame(ssl, 4, 1, 0, "", 0);
		if (head[3] == 1) {
			size_t skip = head[4] & 0x20 ? 5 : 0; /* priority */

			atomic_fetch_add(&c->bed->shared->requests, 1);
			bed_h2_answer(ssl, stream, payload[skip]);
		}
	}
}

static inline void *bed_serve(void *arg)
{
	struct bed_connection *c = arg;
	SSL *ssl = SSL_new(c->context);
	X509 *peer;

	SSL_set_fd(ssl, c->fd);
	if (c->mode == BED_MUTE) {
		char byte;

		while (recv(c->fd, &byte, 1, 0) > 0)
			;
	} else if (c->mode == BED_GARBAGE) {
		(void)send(c->fd, "HTTP/1.0 400 no TLS here\r\n\r\n", 28, MSG_NOSIGNAL);
	} else if (c->mode != BED_RESET && SSL_accept(ssl) == 1) {
		const unsigned char *protocol = NULL;
		unsigned n = 0;

		peer = SSL_get1_peer_certificate(ssl);
		if (peer)
			X509_NAME_oneline(
			    X509_get_subject_name(peer), c->bed->shared->subject, 256);
		X509_free(peer);
		SSL_get0_alpn_selected(ssl, &protocol, &n);
		if (n == 2)
			bed_h2(c, ssl);
		else
			bed_h1(c, ssl);
	}
	atomic_fetch_add(&c->bed->shared->hangups, 1);
	SSL_free(ssl);
	close(c->fd);
	free(c);
	return NULL;
}

static inline int bed_choose(SSL *ssl, const unsigned char **out, unsigned char *length,
    const unsigned char *in, unsigned n, void *arg)
{
	static const unsigned char h2[] = "\2h2";

	(void)ssl;
	(void)arg;
	return SSL_select_next_proto((unsigned char **)out, length, h2, 3, in, n) ==
		       OPENSSL_NPN_NEGOTIATED
		   ? SSL_TLSEXT_ERR_OK
		   : SSL_TLSEXT_ERR_NOACK;
}

static inline int bed_any(int ok, X509_STORE_CTX *store)
{
	(void)ok;
	(void)store;
	return 1;
}

static inline SSL_CTX *bed_context(EVP_PKEY *key, X509 *certificate, bool h2)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	SSL_CTX_use_certificate(context, certificate);
	SSL_CTX_use_PrivateKey(context, key);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, bed_any);
	if (h2)
		SSL_CTX_set_alpn_select_cb(context, bed_choose, NULL);
	return context;
}

static inline int bed_listen(struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*address);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)address, size) || listen(fd, 64) ||
	    getsockname(fd, (struct sockaddr *)address, &size))
		abort();
	return fd;
}

static inline void bed_send_fd(int link, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = '+';
	struct iovec vector = { &byte, 1 };
	struct msghdr message = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *c = &control.header;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(link, &message, MSG_NOSIGNAL) != 1)
		_exit(0);
	close(fd);
}

/* The child: each byte of the link is a connection to make, serve and hand over. */
_Noreturn static inline void bed_child(struct bed *bed, int link, EVP_PKEY *key, X509 *certificate)
{
	SSL_CTX *h1 = bed_context(key, certificate, false),
		*h2 = bed_context(key, certificate, true);
	struct sockaddr_in address, other;
	int listener = bed_listen(&address), second = bed_listen(&other), number = 0, on = 1;
	char mode;

	signal(SIGPIPE, SIG_IGN);
	(void)!write(link, &address.sin_port, sizeof(address.sin_port));
	while (recv(link, &mode, 1, 0) == 1) {
		struct bed_connection *c = malloc(sizeof(*c));
		struct sockaddr_in *to = mode == BED_OTHER_PORT ? &other : &address;
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		pthread_t thread;

		if (!c || connect(fd, (struct sockaddr *)to, sizeof(*to)))
			abort();
		*c = (struct bed_connection){ bed, mode == BED_H2 ? h2 : h1,
			accept4(to == &other ? second : listener, NULL, NULL, SOCK_CLOEXEC),
			++number, (enum bed_mode)mode };
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		atomic_fetch_add(&bed->shared->dials, 1);
		if (pthread_create(&thread, NULL, bed_serve, c))
			abort();
		pthread_detach(thread);
		bed_send_fd(link, fd);
	}
	_exit(0);
}

/* connect() answers EINPROGRESS, as the filter of a role makes it. */
static inline void bed_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINPROGRESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

static inline void bed_start(struct bed *bed)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256"),
		 *client_key = EVP_EC_gen("P-256");
	X509 *ca = bed_certify(ca_key, "bed CA", NULL, NULL, NULL, 1);
	X509 *other = bed_certify(key, "another CA", NULL, NULL, NULL, 1);
	X509 *server = bed_certify(key, "bed", "IP:127.0.0.1,DNS:api.test", ca, ca_key, 1);
	X509 *client = bed_certify(client_key, "elector", "DNS:client", ca, ca_key, 1);
	int pair[2];

	bed_print_certificate(bed->ca, ca);
	bed_print_certificate(bed->other_ca, other);
	bed_print_certificate(bed->certificate, client);
	bed_print_key(bed->key, client_key, NULL);
	bed_print_key(bed->encrypted_key, client_key, "secret");
	bed->shared = mmap(
	    NULL, sizeof(*bed->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bed->shared == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		abort();
	bed->child = fork();
	if (bed->child == 0) {
		close(pair[0]);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		bed_child(bed, pair[1], key, server);
	}
	close(pair[1]);
	bed->link = pair[0];
	if (read(bed->link, &bed->port, sizeof(bed->port)) != sizeof(bed->port))
		abort();
	bed->port = ntohs(bed->port);
	X509_free(ca);
	X509_free(other);
	X509_free(server);
	X509_free(client);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
	EVP_PKEY_free(client_key);
	bed_filter();
}

static inline void bed_stop(struct bed *bed)
{
	int status;

	close(bed->link);
	(void)waitpid(bed->child, &status, 0);
	(void)munmap(bed->shared, sizeof(*bed->shared));
}

/* The descriptor of one finished dial; -1 when the link is empty. */
static inline int bed_receive_fd(struct bed *bed)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte;
	struct iovec vector = { &byte, 1 };
	struct msghdr message = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_LEN(sizeof(int)) };
	int fd = -1;

	if (recvmsg(bed->link, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1 &&
	    CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

#endif
