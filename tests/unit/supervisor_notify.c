/*
 * Goal: a service manager hears what sd_notify would say, and its absence or silence harms nothing.
 * Method: a datagram socket of our own as $NOTIFY_SOCKET, by path and abstract.
 * Pitfalls: P15, P16.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/notify.h"

static struct notify notify;

static int manager(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, name, strlen(name));
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
	    0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

static void hears(int fd, const char *text)
{
	char bytes[600] = { 0 };

	assert_int_equal(recv(fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT), strlen(text));
	assert_string_equal(bytes, text);
}

static void hears_nothing(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
}

static void tells_by_path_and_abstract(void **state)
{
	char path[64], names[2][80];

	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/understudy-notify-%d", (int)getpid());
	(void)snprintf(names[0], sizeof(names[0]), "%s", path);
	(void)snprintf(names[1], sizeof(names[1]), "@understudy-notify-%d", (int)getpid());
	for (int i = 0; i < 2; i++) {
		int fd = manager(names[i]);

		notify_open(&notify);
		notify_send(&notify, "STATUS=%s, term %d", "leading", 7);
		hears(fd, "STATUS=leading, term 7");
		close(notify.fd);
		close(fd);
	}
	(void)unlink(path);
}

static void feeds_the_watchdog_at_half_its_time(void **state)
{
	char name[80];
	int fd;

	(void)state;
	(void)snprintf(name, sizeof(name), "@understudy-watchdog-%d", (int)getpid());
	fd = manager(name);
	assert_int_equal(setenv("WATCHDOG_USEC", "2000000", 1), 0);
	notify_open(&notify);
	assert_int_equal(notify_watchdog(&notify, true, 5000000000LL), 6000000000LL);
	hears(fd, "WATCHDOG=1");
	assert_int_equal(notify_watchdog(&notify, true, 5500000000LL), 6000000000LL);
	hears_nothing(fd);
	assert_int_equal(notify_watchdog(&notify, true, 6000000000LL), 7000000000LL);
	hears(fd, "WATCHDOG=1");
	/* F25: somebody gives no signs of life. */
	assert_int_equal(notify_watchdog(&notify, false, 7000000000LL), 8000000000LL);
	hears_nothing(fd);
	assert_int_equal(notify_watchdog(&notify, true, 8000000000LL), 9000000000LL);
	hears(fd, "WATCHDOG=1");
	close(notify.fd);
	close(fd);
	assert_int_equal(unsetenv("WATCHDOG_USEC"), 0);
}

/* Whoever looks at the status after a reload still sees who leads. */
static void the_role_stays_in_front(void **state)
{
	char name[80];
	int fd;

	(void)state;
	(void)snprintf(name, sizeof(name), "@understudy-role-%d", (int)getpid());
	fd = manager(name);
	notify_open(&notify);
	notify_reloaded(&notify, "reloaded; changed: workers");
	hears(fd, "READY=1\nSTATUS=reloaded; changed: workers");
	notify_role(&notify, "%s, term %d", "leading", 7);
	hears(fd, "STATUS=leading, term 7");
	notify_reloaded(&notify, "reloaded; changed: workers");
	hears(fd, "READY=1\nSTATUS=leading, term 7; reloaded; changed: workers");
	close(notify.fd);
	close(fd);
}

static void without_a_manager_nothing_happens(void **state)
{
	static const char *const names[] = { "", "relative", "/no/such/socket",
		"/a/path/that/is/much/too/long/for/the/address/of/a/unix/domain/socket/as/it/has/"
		"one/"
		"hundred/and/eight/bytes/only" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(setenv("NOTIFY_SOCKET", names[i], 1), 0);
		notify_open(&notify);
		assert_int_equal(notify.fd, -1);
		notify_send(&notify, "READY=1");
		assert_int_equal(notify_watchdog(&notify, true, 1), INT64_MAX);
	}
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	notify_open(&notify);
	assert_int_equal(notify.fd, -1);
}

/* A full or dead socket does not block or kill us. */
static void a_manager_that_does_not_read_is_no_harm(void **state)
{
	char name[80];
	int fd;

	(void)state;
	(void)snprintf(name, sizeof(name), "@understudy-deaf-%d", (int)getpid());
	fd = manager(name);
	notify_open(&notify);
	for (int i = 0; i < 10000; i++)
		notify_send(&notify, "STATUS=%d", i);
	close(fd);
	notify_send(&notify, "READY=1");
	close(notify.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_by_path_and_abstract),
		cmocka_unit_test(feeds_the_watchdog_at_half_its_time),
		cmocka_unit_test(the_role_stays_in_front),
		cmocka_unit_test(without_a_manager_nothing_happens),
		cmocka_unit_test(a_manager_that_does_not_read_is_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
