/*
 * The HTTP listener: GET only, one answer per connection, bounded in every direction. It knows
 * paths only as texts; pages.c makes the answers.
 *
 * libmicrohttpd parses: a parser of what the network sends is not a place for our own first one. It
 * runs without threads and without a listening socket: we accept, it gets the connection
 * (MHD_add_connection), and its epoll descriptor, made before the lock, is one more descriptor of
 * our loop. Traced: after the lock accept4, epoll_ctl, epoll_wait, fcntl, recvfrom, sendmsg,
 * sendto, setsockopt(TCP_NODELAY), shutdown and close, all of which the monitor's row has.
 */
#ifndef MONITOR_HTTP_H
#define MONITOR_HTTP_H

#include "base/buf.h"
#include "ipc/loop.h"

struct http;

struct http_answer {
	unsigned status;
	const char *type; /* a literal */
	struct buf body;
};

#define HTTP_MAX_BODY (8UL * 1024 * 1024)

/* Fills the answer for a path ("/metrics"; untrusted). */
typedef void http_page_fn(void *arg, const char *path, struct http_answer *answer);

/* Before role_lock. NULL when the library refuses. */
struct http *http_new(struct loop *loop, http_page_fn *page, void *arg);
/* Takes over a listening socket (non-blocking). A second one replaces the first. */
void http_listen(struct http *http, int fd);
void http_free(struct http *http);

#endif
