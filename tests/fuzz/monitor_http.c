/*
 * Goal: no bytes of the network crash the HTTP listener or get more than one answer out of it, and
 * each page is asked for by a path that ends. The real loop and the real library, over a UNIX
 * socket.
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/http.h"
#include "tests/fuzz/fuzz.h"

static struct loop *loop;
static struct http *http;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_bytes;

static void page(void *arg, const char *path, struct http_answer *answer)
{
	(void)arg;
	answer->status = path[0] == '/' && path[1] == '\0' ? 200 : 404;
	answer->type = "text/plain";
	answer->body = buf_make(1024);
	buf_printf(&answer->body, "%zu", strlen(path));
}

static void end_turn(void *arg, int64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	loop_stop(loop, 0);
}

static void turn(void)
{
	struct loop_timer limit = { .fire = end_turn };

	loop_timer_set(loop, &limit, base_clock_boot_ns());
	(void)loop_run(loop, base_clock_boot_ns);
}

static void begin(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	loop = loop_new();
	http = http_new(loop, page, NULL);
	/* An address that the kernel chooses, and that is in no directory. */
	MUST(http && fd >= 0 &&
	     bind(fd, (struct sockaddr *)&address, sizeof(address.sun_family)) == 0 &&
	     listen(fd, 16) == 0);
	address_bytes = sizeof(address);
	MUST(getsockname(fd, (struct sockaddr *)&address, &address_bytes) == 0);
	http_listen(http, fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char answer[4096];
	int fd;

	if (!http)
		begin();
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	MUST(fd >= 0 && connect(fd, (struct sockaddr *)&address, address_bytes) == 0);
	turn();
	for (int part = 0; part < 2; part++) {
		size_t n = part ? size - size / 2 : size / 2;

		(void)send(fd, data + (part ? size / 2 : 0), n, MSG_NOSIGNAL);
		turn();
	}
	(void)recv(fd, answer, sizeof(answer), 0);
	close(fd);
	turn();
	return 0;
}
