/*
 * libmicrohttpd inside our loop (see the header). It must not decide what a page says. Called by
 * main.c.
 * Pitfalls: P28, P41, P42.
 */
#include "monitor/http.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#define MAX_CONNECTIONS   32
#define CONNECTION_MEMORY 16384 /* request line and headers must fit */
#define TIMEOUT_S         10
#define ACCEPT_AT_ONCE    16

struct http {
	struct loop *loop;
	http_page_fn *page;
	void *arg;
	struct MHD_Daemon *daemon;
	int epoll_fd, listen_fd;
	struct loop_timer timer;
	int open[MAX_CONNECTIONS]; /* the library's sockets, the oldest first */
	unsigned open_count;
};

/* Frees the response that MHD keeps alive until it is sent. */
static enum MHD_Result answer_with(
    struct MHD_Connection *connection, unsigned status, const char *type, struct str body)
{
	struct MHD_Response *response =
	    MHD_create_response_from_buffer(body.n, (void *)body.p, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	/* Whatever got into a page: nothing of it runs, and nothing is fetched from anywhere. */
	(void)MHD_add_response_header(response, "Content-Security-Policy",
	    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
	    "frame-ancestors 'none'");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* Called when the headers are read; the answer at once means that no body is ever read. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
    const char *method, const char *version, const char *upload, size_t *upload_size,
    void **connection_arg)
{
	struct http *http = arg;
	struct http_answer answer = { .body = buf_make(HTTP_MAX_BODY) };
	enum MHD_Result result;

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)connection_arg;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return answer_with(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
		    "text/plain; charset=utf-8", STR_LIT("only GET is answered here\n"));
	http->page(http->arg, path, &answer);
	if (answer.body.failed)
		result = answer_with(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
		    "text/plain; charset=utf-8", STR_LIT("the answer is too long\n"));
	else
		result = answer_with(connection, answer.status, answer.type, buf_str(&answer.body));
	buf_free(&answer.body);
	return result;
}

/* Lets the library work, and asks it when it wants to be called for a time-out. */
static void run(struct http *http)
{
	MHD_UNSIGNED_LONG_LONG ms;

	(void)MHD_run(http->daemon);
	if (MHD_get_timeout(http->daemon, &ms) == MHD_YES)
		loop_timer_set(
		    http->loop, &http->timer, base_clock_boot_ns() + (int64_t)ms * BASE_NS_PER_MS);
	else
		loop_timer_cancel(http->loop, &http->timer);
}

static void on_connection_state(void *arg, struct MHD_Connection *connection, void **socket_arg,
    enum MHD_ConnectionNotificationCode code)
{
	struct http *http = arg;
	int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	unsigned at = 0;

	(void)socket_arg;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		CHECK(http->open_count < MAX_CONNECTIONS);
		http->open[http->open_count++] = fd;
		return;
	}
	while (at < http->open_count && http->open[at] != fd)
		at++;
	CHECK(at < http->open_count);
	http->open_count--;
	memmove(http->open + at, http->open + at + 1, (http->open_count - at) * sizeof(fd));
}

/* A client that sends a byte now and then stays below every time-out of the library: with as many
 * of them as there is room for, nobody could ask /livez any more. The oldest has had its time. */
static void make_room(struct http *http)
{
	if (http->open_count < MAX_CONNECTIONS)
		return;
	(void)shutdown(http->open[0], SHUT_RDWR);
	for (int i = 0; i < 3 && http->open_count == MAX_CONNECTIONS; i++)
		(void)MHD_run(http->daemon);
}

static void on_ready(void *arg, uint32_t events)
{
	(void)events;
	run(arg);
}

static void on_timer(void *arg, int64_t now_ns)
{
	(void)now_ns;
	run(arg);
}

static void on_connection(void *arg, uint32_t events)
{
	struct http *http = arg;

	(void)events;
	for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
		struct sockaddr_storage address;
		socklen_t size = sizeof(address);
		int fd = accept4(http->listen_fd, (struct sockaddr *)&address, &size,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			break;
		make_room(http);
		/* Past the limit the library closes it. */
		(void)MHD_add_connection(http->daemon, fd, (const struct sockaddr *)&address, size);
	}
	run(http);
}

struct http *http_new(struct loop *loop, http_page_fn *page, void *arg)
{
	struct http *http = calloc(1, sizeof(*http));

	CHECK(http);
	*http = (struct http){ .loop = loop, .page = page, .arg = arg, .listen_fd = -1 };
	http->timer.fire = on_timer;
	http->timer.arg = http;
	/* Without a Date header: it would ask for the time zone's file once. */
	http->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_SUPPRESS_DATE_NO_CLOCK, 0, NULL,
	    NULL, on_request, http, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	    (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, on_connection_state, http,
	    MHD_OPTION_END);
	if (!http->daemon) {
		free(http);
		return NULL;
	}
	http->epoll_fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	loop_watch(loop, http->epoll_fd, EPOLLIN, on_ready, http);
	return http;
}

static void stop_listening(struct http *http)
{
	if (http->listen_fd < 0)
		return;
	loop_forget(http->loop, http->listen_fd);
	close(http->listen_fd);
	http->listen_fd = -1;
}

void http_listen(struct http *http, int fd)
{
	stop_listening(http);
	http->listen_fd = fd;
	loop_watch(http->loop, fd, EPOLLIN, on_connection, http);
}

void http_free(struct http *http)
{
	if (!http)
		return;
	stop_listening(http);
	loop_timer_cancel(http->loop, &http->timer);
	loop_forget(http->loop, http->epoll_fd);
	MHD_stop_daemon(http->daemon);
	free(http);
}
