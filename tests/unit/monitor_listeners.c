/*
 * The two listeners inside one loop, with clients in the same loop: what comes out, what is
 * refused, and that a client that does not read, or floods, disturbs nobody. Sockets are unnamed
 * in the file system (abstract); no sleeps: the loop ends when the awaited clients have ended.
 * Pitfalls: P28, P41, P42.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "monitor/http.h"
#include "monitor/readonly.h"

struct client {
	int fd;
	size_t got;
	char text[4096];
};

static struct loop *loop;
static unsigned awaited;
static size_t document_bytes;

static int listen_on(struct sockaddr_un *address, socklen_t *size)
{
	static unsigned number;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int n;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "understudy-test-%d-%u",
	    (int)getpid(), number++);
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	assert_int_equal(bind(fd, (struct sockaddr *)address, *size), 0);
	assert_int_equal(listen(fd, 128), 0);
	return fd;
}

static void client_open(struct client *client, const struct sockaddr_un *address, socklen_t size)
{
	*client = (struct client){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	assert_int_equal(connect(client->fd, (const struct sockaddr *)address, size), 0);
}

/* Everything up to the end is counted, the beginning is kept. */
static void on_readable(void *arg, uint32_t events)
{
	struct client *client = arg;
	char block[65536];
	ssize_t n = recv(client->fd, block, sizeof(block), MSG_DONTWAIT);

	(void)events;
	if (n > 0) {
		size_t room = client->got < sizeof(client->text) - 1
				  ? sizeof(client->text) - 1 - client->got
				  : 0;

		memcpy(client->text + (room ? client->got : 0), block,
		    (size_t)n < room ? (size_t)n : room);
		client->got += (size_t)n;
		return;
	}
	loop_forget(loop, client->fd);
	close(client->fd);
	client->fd = -1;
	if (--awaited == 0)
		loop_stop(loop, 0);
}

static void await(struct client *client)
{
	loop_watch(loop, client->fd, EPOLLIN, on_readable, client);
	awaited++;
}

static void make_page(void *arg, const char *path, struct http_answer *answer)
{
	(void)arg;
	answer->status = 200;
	answer->type = "text/plain";
	buf_printf(&answer->body, "page %s\n", path);
	while (strcmp(path, "/huge") == 0 && !answer->body.failed)
		buf_puts(&answer->body, "more and more and more and more\n");
}

static void make_document(void *arg, struct buf *out)
{
	(void)arg;
	while (out->len < document_bytes && !out->failed)
		buf_puts(out, "0123456789abcdef");
}

/* One request, the whole answer. */
static void ask(const struct sockaddr_un *address, socklen_t size, const char *request, size_t n,
    struct client *client)
{
	client_open(client, address, size);
	assert_int_equal(send(client->fd, request, n, MSG_NOSIGNAL), (ssize_t)n);
	await(client);
	loop_run(loop, base_clock_boot_ns);
}

static void http_answers_get_and_nothing_else(void **state)
{
	static char big[32768];
	struct sockaddr_un address;
	struct http *http;
	struct client client;
	socklen_t size;

	(void)state;
	loop = loop_new();
	http = http_new(loop, make_page, NULL);
	assert_non_null(http);
	http_listen(http, listen_on(&address, &size));
#define ASK(request) ask(&address, size, request, sizeof(request) - 1, &client)
	ASK("GET /leader?x=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
	assert_memory_equal(client.text, "HTTP/1.1 200 OK\r\n", 17);
	assert_non_null(strstr(client.text, "\r\n\r\npage /leader\n"));
	assert_non_null(strstr(client.text, "Cache-Control: no-store\r\n"));
	/* No script can run, whatever got into a page. */
	assert_non_null(
	    strstr(client.text, "Content-Security-Policy: default-src 'none'; style-src"));
	ASK("POST /leader HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
	assert_memory_equal(client.text, "HTTP/1.1 405 ", 13);
	assert_non_null(strstr(client.text, "Allow: GET\r\n"));
	ASK("DELETE / HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_memory_equal(client.text, "HTTP/1.1 405 ", 13);
	ASK("GET /huge HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_memory_equal(client.text, "HTTP/1.1 500 ", 13);
	memset(big, 'a', sizeof(big));
	big[snprintf(big, sizeof(big), "GET /")] = 'a';
	ask(&address, size, big, sizeof(big), &client);
	assert_memory_equal(client.text, "HTTP/1.1 414 ", 13);
	big[snprintf(big, sizeof(big), "GET / HTTP/1.1\r\nX: ")] = 'a';
	ask(&address, size, big, sizeof(big), &client);
	assert_memory_equal(client.text, "HTTP/1.1 431 ", 13);
	http_free(http);
	loop_free(loop);
}

/* More connections than the limit, each in the middle of a request for ever: the oldest go, and
 * who asks is answered while all others stay. */
static void http_survives_a_flood(void **state)
{
	static const char slow[] = "GET / HTTP/1.1\r\nX: ";
	static struct client idle[48];
	struct sockaddr_un address;
	struct http *http;
	struct client client;
	socklen_t size;

	(void)state;
	loop = loop_new();
	http = http_new(loop, make_page, NULL);
	http_listen(http, listen_on(&address, &size));
	for (unsigned i = 0; i < 48; i++) {
		client_open(&idle[i], &address, size);
		assert_int_equal(send(idle[i].fd, slow, sizeof(slow) - 1, MSG_NOSIGNAL),
		    (ssize_t)sizeof(slow) - 1);
	}
	for (unsigned i = 0; i < 16; i++)
		await(&idle[i]);
	loop_run(loop, base_clock_boot_ns);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(idle[i].got, 0);
	ASK("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_memory_equal(client.text, "HTTP/1.1 200 OK\r\n", 17);
	/* The others have lost nothing by it. */
	assert_int_equal(send(idle[47].fd, "a\r\n\r\n", 5, MSG_NOSIGNAL), 5);
	await(&idle[47]);
	loop_run(loop, base_clock_boot_ns);
	assert_memory_equal(idle[47].text, "HTTP/1.1 ", 9);
	for (unsigned i = 16; i < 47; i++)
		close(idle[i].fd);
	http_free(http);
	loop_free(loop);
}

static void a_reader_gets_the_whole_document(void **state)
{
	struct sockaddr_un address;
	struct readonly *readonly;
	struct client client;
	socklen_t size;

	(void)state;
	loop = loop_new();
	readonly = readonly_new(loop, make_document, NULL);
	readonly_listen(readonly, listen_on(&address, &size));
	document_bytes = 3UL * 1024 * 1024;
	client_open(&client, &address, size);
	await(&client);
	loop_run(loop, base_clock_boot_ns);
	assert_int_equal(client.got, document_bytes);
	assert_memory_equal(client.text, "0123456789abcdef", 16);
	/* Too long for a document: none, rather than a cut one. */
	document_bytes = READONLY_MAX_BYTES + 1;
	client_open(&client, &address, size);
	await(&client);
	loop_run(loop, base_clock_boot_ns);
	assert_int_equal(client.got, 0);
	readonly_free(readonly);
	loop_free(loop);
}

static void a_flood_of_silent_readers_is_bounded(void **state)
{
	static struct client silent[READONLY_MAX], late[4];
	struct sockaddr_un address;
	struct readonly *readonly;
	struct client client;
	socklen_t size;

	(void)state;
	loop = loop_new();
	readonly = readonly_new(loop, make_document, NULL);
	readonly_listen(readonly, listen_on(&address, &size));
	document_bytes = 1024UL * 1024;
	for (unsigned i = 0; i < READONLY_MAX; i++)
		client_open(&silent[i], &address, size);
	for (unsigned i = 0; i < 4; i++) {
		client_open(&late[i], &address, size);
		await(&late[i]);
	}
	loop_run(loop, base_clock_boot_ns);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(late[i].got, 0);
	for (unsigned i = 0; i < READONLY_MAX; i++)
		close(silent[i].fd);
	/* The hang-ups are seen before a new connection is accepted, or with the next one. */
	do {
		client_open(&client, &address, size);
		await(&client);
		loop_run(loop, base_clock_boot_ns);
	} while (client.got == 0);
	assert_int_equal(client.got, document_bytes);
	readonly_free(readonly);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http_answers_get_and_nothing_else),
		cmocka_unit_test(http_survives_a_flood),
		cmocka_unit_test(a_reader_gets_the_whole_document),
		cmocka_unit_test(a_flood_of_silent_readers_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
