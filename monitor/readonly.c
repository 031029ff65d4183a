/*
 * Serves the read-only status socket (see the header). A reader that does not read loses its
 * connection and disturbs nobody. Called by main.c.
 */
#include "monitor/readonly.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#define PATIENCE_NS (5 * BASE_NS_PER_S)

struct client {
	struct readonly *owner;
	int fd; /* -1: free */
	struct buf document;
	size_t sent;
	struct loop_timer patience;
};

struct readonly {
	struct loop *loop;
	readonly_make_fn *make;
	void *arg;
	int listen_fd;
	struct client clients[READONLY_MAX];
};

static void end(struct client *client)
{
	struct loop *loop = client->owner->loop;

	if (client->fd < 0)
		return;
	loop_timer_cancel(loop, &client->patience);
	loop_forget(loop, client->fd);
	close(client->fd);
	client->fd = -1;
	buf_free(&client->document);
}

static void on_patience(void *arg, int64_t now_ns)
{
	(void)now_ns;
	end(arg);
}

/* Sends what fits. The end is the end of the document, or of the reader. */
static void on_writable(void *arg, uint32_t events)
{
	struct client *client = arg;
	struct str document = buf_str(&client->document);

	if (events & (EPOLLERR | EPOLLHUP)) {
		end(client);
		return;
	}
	while (client->sent < document.n) {
		ssize_t n = send(client->fd, document.p + client->sent, document.n - client->sent,
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0)
			break;
		client->sent += (size_t)n;
	}
	if (client->sent == document.n)
		end(client);
}

static struct client *free_client(struct readonly *readonly)
{
	for (unsigned i = 0; i < READONLY_MAX; i++)
		if (readonly->clients[i].fd < 0)
			return &readonly->clients[i];
	return NULL;
}

static void on_connection(void *arg, uint32_t events)
{
	struct readonly *readonly = arg;
	int fd = accept4(readonly->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *client = free_client(readonly);

	(void)events;
	if (fd < 0)
		return;
	if (!client) {
		close(fd);
		return;
	}
	client->fd = fd;
	client->sent = 0;
	readonly->make(readonly->arg, &client->document);
	if (client->document.failed) {
		log_error("the status is larger than %lu bytes: not sent", READONLY_MAX_BYTES);
		buf_clear(&client->document);
	}
	loop_watch(readonly->loop, fd, EPOLLOUT, on_writable, client);
	loop_timer_set(readonly->loop, &client->patience, base_clock_boot_ns() + PATIENCE_NS);
}

struct readonly *readonly_new(struct loop *loop, readonly_make_fn *make, void *arg)
{
	struct readonly *readonly = calloc(1, sizeof(*readonly));

	CHECK(readonly);
	*readonly = (struct readonly){ .loop = loop, .make = make, .arg = arg, .listen_fd = -1 };
	for (unsigned i = 0; i < READONLY_MAX; i++)
		readonly->clients[i] = (struct client){ .owner = readonly,
			.fd = -1,
			.document = buf_make(READONLY_MAX_BYTES),
			.patience = { .fire = on_patience, .arg = &readonly->clients[i] } };
	return readonly;
}

static void stop_listening(struct readonly *readonly)
{
	if (readonly->listen_fd < 0)
		return;
	loop_forget(readonly->loop, readonly->listen_fd);
	close(readonly->listen_fd);
	readonly->listen_fd = -1;
}

void readonly_listen(struct readonly *readonly, int fd)
{
	stop_listening(readonly);
	readonly->listen_fd = fd;
	loop_watch(readonly->loop, fd, EPOLLIN, on_connection, readonly);
}

void readonly_free(struct readonly *readonly)
{
	if (!readonly)
		return;
	stop_listening(readonly);
	for (unsigned i = 0; i < READONLY_MAX; i++)
		end(&readonly->clients[i]);
	free(readonly);
}
