/*
 * libcurl on handed-over sockets (the only file that drives it): its options (recipe F10-F12, F30,
 * F31), its sockets and its timer on the role's loop. It opens nothing, resolves nothing, follows
 * nothing, and knows no target: a request comes with its socket or is given back for one.
 * Pitfall: P81.
 */
#include <malloc.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/clock.h"
#include "kube/internal.h"
#include "kube/json.h"

#define CONNECTION_LIFETIME_S 900L
#define LARGE_BYTES           32768
/* Without TLS 1.3's own suites, which are all fine. */
#define TLS12_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

/* --- Options -------------------------------------------------------------------------------- */

static size_t on_header(char *bytes, size_t size, size_t n, void *arg)
{
	struct request *request = arg;

	answer_header(&request->answer, &request->head, (struct str){ bytes, size * n });
	request_heard(request);
	/* The empty line ends the head. */
	if (request->streaming && request->answer.status == 200 && *bytes == '\r' &&
	    !request->cancelled)
		request->ended = !request->chunk(request->arg, (struct str){ bytes, 0 });
	return request->ended || request->cancelled ? 0 : size * n;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct request *request = arg;
	struct str text = { bytes, size * n };

	request_heard(request);
	if (request->cancelled)
		return 0;
	if (request->streaming && request->answer.status == 200) {
		request->ended = !request->chunk(request->arg, text);
		return request->ended || request->cancelled ? 0 : text.n;
	}
	buf_append(&request->response, text.p, text.n);
	return request->response.failed ? 0 : text.n;
}

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	int fd = connection_open(arg);

	(void)purpose;
	(void)address;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* The socket is connected; with libcurl 7.88 "OK" plus a connect() that the filter answers with
 * EINPROGRESS is the way that costs no 200 ms (F32). */
static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	(void)arg;
	(void)fd;
	(void)purpose;
	return CURL_SOCKOPT_OK;
}

static int on_close_socket(void *arg, curl_socket_t fd)
{
	connection_close(arg, fd);
	return 0;
}

/* Connected, TLS done, nothing sent yet. A repeated try keeps the first time: that one may have
 * been applied (H1). */
static int on_before_request(void *arg, char *remote, char *local, int remote_port, int local_port)
{
	struct request *request = arg;

	(void)remote;
	(void)local;
	(void)remote_port;
	(void)local_port;
	if (!request->answer.sent)
		request->answer.sent_ns = base_clock_boot_ns();
	request->answer.sent = true;
	request->tried = true;
	connection_up(request);
	return CURL_PREREQFUNC_OK;
}

static const char *content_type(enum kube_verb verb)
{
	static char json[] = "Content-Type: application/json";
	static char merge[] = "Content-Type: application/merge-patch+json";
	static char apply[] = "Content-Type: application/apply-patch+yaml";
	static char patch[] = "Content-Type: application/json-patch+json";

	switch (verb) {
	case KUBE_PATCH_MERGE: return merge;
	case KUBE_PATCH_APPLY: return apply;
	case KUBE_PATCH_JSON: return patch;
	default: return json;
	}
}

/* The list lives in the request, its last node points into the credential's slot: libcurl reads
 * it in place and no copy of the token is made here. */
static void set_headers(struct request *request)
{
	static char accept[] = "Accept: application/json", no_expect[] = "Expect:";
	char *lines[4] = { accept, no_expect, NULL, request->pool->credential->authorization };
	struct curl_slist *list = NULL;

	lines[2] = request->body.len ? (char *)content_type(request->verb) : NULL;
	for (int i = 3; i >= 0; i--) {
		if (!lines[i])
			continue;
		request->headers[i] = (struct curl_slist){ lines[i], list };
		list = &request->headers[i];
	}
	curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, list);
}

static void set_method(struct request *request)
{
	static const char *const names[] = { [KUBE_GET] = "GET",
		[KUBE_POST] = "POST",
		[KUBE_PUT] = "PUT",
		[KUBE_PATCH_MERGE] = "PATCH",
		[KUBE_PATCH_APPLY] = "PATCH",
		[KUBE_PATCH_JSON] = "PATCH",
		[KUBE_DELETE] = "DELETE" };
	CURL *easy = request->easy;

	if (request->body.len || request->verb == KUBE_POST) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
		curl_easy_setopt(
		    easy, CURLOPT_POSTFIELDS, request->body.data ? request->body.data : "");
	}
	if (request->verb != KUBE_GET)
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, names[request->verb]);
}

static void set_tls(CURL *easy, const struct kube_credential *credential)
{
	struct curl_blob blob = { credential->ca, credential->ca_length, CURL_BLOB_NOCOPY };

	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_CIPHER_LIST, TLS12_CIPHERS);
	curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(easy, CURLOPT_KEYPASSWD, ""); /* else an encrypted key is a crash (F12) */
	if (!credential->key)
		return;
	blob = (struct curl_blob){ credential->certificate, credential->certificate_length,
		CURL_BLOB_NOCOPY };
	curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &blob);
	blob = (struct curl_blob){ credential->key, credential->key_length, CURL_BLOB_NOCOPY };
	curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &blob);
}

static void set_transfer(struct request *request)
{
	struct kube_client *client = request->client;
	CURL *easy = request->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, client->agent);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 0L); /* the dialer has set it */
	curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, CONNECTION_LIFETIME_S);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, request);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, client);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_before_request);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, request);
}

/* The handle of a request lives until its answer; a parked one is given to libcurl again. */
static bool make_easy(struct request *request)
{
	struct pool *pool = request->pool;
	struct buf url = buf_make(16384);

	buf_puts(&url, pool->credential->origin);
	buf_puts(&url, request->resource);
	request->easy = curl_easy_init();
	if (!request->easy || url.failed) {
		buf_free(&url);
		return false;
	}
	request->url = url.data;
	curl_easy_setopt(request->easy, CURLOPT_URL, request->url);
	/* Never opened: it keeps libcurl from resolving, and is part of the reuse key (F10). */
	curl_easy_setopt(request->easy, CURLOPT_UNIX_SOCKET_PATH, pool->name);
	set_transfer(request);
	set_tls(request->easy, pool->credential);
	set_method(request);
	set_headers(request);
	if (request->fresh)
		curl_easy_setopt(request->easy, CURLOPT_FORBID_REUSE, 1L);
	return true;
}

bool transport_start(struct request *request)
{
	if (!request->easy && !make_easy(request))
		return false;
	request->error[0] = '\0';
	/* An opener takes its own socket, even if another connection has become free. */
	curl_easy_setopt(request->easy, CURLOPT_FRESH_CONNECT, request->opener ? 1L : 0L);
	if (curl_multi_add_handle(request->client->multi, request->easy) != CURLM_OK)
		return false;
	request->client->added = true;
	return true;
}

void transport_stop(struct request *request)
{
	if (!request->easy)
		return;
	(void)curl_multi_remove_handle(request->client->multi, request->easy);
	curl_easy_cleanup(request->easy);
	request->easy = NULL;
	free(request->url);
	request->url = NULL;
}

/* --- Loop ----------------------------------------------------------------------------------- */

static void on_ready(void *arg, uint32_t events)
{
	struct connection *connection = arg;
	struct kube_client *client = connection->client;
	int mask = 0, running;

	if (events & EPOLLIN)
		connection->pool->rx_ns = base_clock_boot_ns();
	mask |= events & EPOLLIN ? CURL_CSELECT_IN : 0;
	mask |= events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
	mask |= events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0;
	client->pumping = true;
	(void)curl_multi_socket_action(client->multi, connection->fd, mask, &running);
	client->pumping = false;
	client_pump(client);
}

static int on_socket_wish(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
	struct kube_client *client = arg;
	struct connection *connection = connection_find(client, fd);
	uint32_t events = 0;

	(void)easy;
	(void)unused;
	if (what == CURL_POLL_REMOVE) {
		loop_forget(client->loop, fd);
		return 0;
	}
	CHECK(connection);
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	loop_watch(client->loop, fd, events, on_ready, connection);
	return 0;
}

static int on_timer_wish(CURLM *multi, long timeout_ms, void *arg)
{
	struct kube_client *client = arg;

	(void)multi;
	if (timeout_ms < 0)
		loop_timer_cancel(client->loop, &client->curl_timer);
	else
		loop_timer_set(client->loop, &client->curl_timer,
		    base_clock_boot_ns() + timeout_ms * BASE_NS_PER_MS);
	return 0;
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct kube_client *client = arg;

	(void)now_ns;
	client->added = true;
	client_pump(client);
}

void transport_run(struct kube_client *client)
{
	CURLMsg *message;
	int left, running;

	if (client->added) {
		client->added = false;
		(void)curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	while ((message = curl_multi_info_read(client->multi, &left))) {
		CURLcode code = message->data.result;
		struct request *request = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
		CHECK(request);
		(void)curl_multi_remove_handle(client->multi, request->easy);
		client->work = true;
		if (request->state == REQUEST_RUNNING)
			request_result(request, code);
	}
}

/* Once per process: libcurl and jansson get allocators that wipe (F30), OpenSSL reads no
 * configuration file (F31). */
static void init_libraries(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	/* Large buffers are mapped apart: what is freed is gone, and what is never filled is never
	 * there. libcurl holds one of 32 KiB for each connection (F9). */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	CHECK(OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1);
	CHECK(curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, secret_free, secret_realloc, strdup,
		  calloc) == CURLE_OK);
	json_set_alloc_funcs(malloc, secret_free);
}

void transport_open(struct kube_client *client)
{
	init_libraries();
	client->curl_timer.fire = on_timer;
	client->curl_timer.arg = client;
	client->multi = curl_multi_init();
	CHECK(client->multi);
	curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wish);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer_wish);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
}

void transport_close(struct kube_client *client)
{
	(void)curl_multi_cleanup(client->multi);
	loop_timer_cancel(client->loop, &client->curl_timer);
}
