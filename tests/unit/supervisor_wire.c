/*
 * Goal: a wire for each linked pair of the table and for no other; listeners with the mode and
 * group of the configuration, stale sockets replaced, a used port refused by name; groups without
 * NSS. Method: a planned supervisor without processes; sockets on loopback and tmpfs.
 * Pitfalls: P40, P84.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/process.h"
#include "supervisor/wire.h"
#include "tests/unit/config_pool.h"

static struct supervisor supervisor;
static struct us_config config;
static char directory[64];
static struct err err;

static config_text put(const char *text)
{
	return config_put(&config, text);
}

static int open_supervisor(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	memset(&config, 0, sizeof(config));
	(void)snprintf(directory, sizeof(directory), "/dev/shm/understudy-test-XXXXXX");
	if (!mkdtemp(directory) || chmod(directory, 0755))
		return -1;
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 1;
	config.worker_count = 3;
	config.listen_address = put("127.0.0.1");
	config.run_directory = put(directory);
	supervisor.config = &config;
	supervisor.listeners[0] = supervisor.listeners[1] = -1;
	return geteuid() == 0 ? fence_page_open(&supervisor.fence, directory, &err) : 0;
}

static int close_supervisor(void **state)
{
	char path[96];

	(void)state;
	for (int i = 0; i < 2; i++)
		if (supervisor.listeners[i] >= 0)
			close(supervisor.listeners[i]);
	if (geteuid() == 0)
		fence_page_close(&supervisor.fence);
	free(supervisor.wires);
	(void)snprintf(path, sizeof(path), "%s/fence", directory);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/status.sock", directory);
	(void)unlink(path);
	return rmdir(directory);
}

static void wires_are_those_of_the_table(void **state)
{
	unsigned repointer_ends = 0;

	(void)state;
	process_plan(&supervisor, &config);
	wire_plan(&supervisor);
	assert_true(supervisor.wire_count > 0);
	for (unsigned i = 0; i < supervisor.wire_count; i++) {
		const struct process *a = supervisor.wires[i].ends[0],
				     *b = supervisor.wires[i].ends[1];

		assert_true(role_row(a->id.role)->links & ROLE_BIT(b->id.role));
		assert_ptr_equal(
		    wire_between(supervisor.wires[i].ends[0], b->id), &supervisor.wires[i]);
		repointer_ends += a->id.role == ROLE_REPOINTER;
		repointer_ends += b->id.role == ROLE_REPOINTER;
	}
	/* Three shards, each with elector, publisher, monitor and the one dialer. */
	assert_int_equal(repointer_ends, 3 * 4);
	assert_null(wire_between(process_of(&supervisor, (struct role_id){ ROLE_SYNCER, 0 }),
	    (struct role_id){ ROLE_REPOINTER, 0 }));
}

static void nothing_is_linked_before_it_is_verified(void **state)
{
	(void)state;
	process_plan(&supervisor, &config);
	wire_plan(&supervisor);
	assert_int_equal(wire_due(&supervisor, 1), INT64_MAX);
	for (unsigned i = 0; i < supervisor.wire_count; i++)
		assert_false(supervisor.wires[i].up);
}

static void listeners_have_mode_and_group(void **state)
{
	struct sockaddr_in address = { 0 };
	socklen_t bytes = sizeof(address);
	char path[96];
	struct stat st;
	int stale;

	(void)state;
	if (geteuid() != 0)
		skip();
	(void)snprintf(path, sizeof(path), "%s/status.sock", directory);
	config.status_group = put("daemon");
	assert_int_equal(wire_open_listeners(&supervisor, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, 1);
	assert_int_equal(getegid(), 0);
	assert_int_equal(
	    getsockname(supervisor.listeners[0], (struct sockaddr *)&address, &bytes), 0);
	assert_int_equal(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
	/* A dead supervisor's socket is replaced. */
	stale = supervisor.listeners[1];
	close(supervisor.listeners[0]);
	assert_int_equal(wire_open_listeners(&supervisor, &err), 0);
	close(stale);
}

static void a_used_port_is_refused_by_name(void **state)
{
	struct sockaddr_in address = { 0 };
	socklen_t bytes = sizeof(address);
	char number[16];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(wire_open_listeners(&supervisor, &err), 0);
	assert_int_equal(
	    getsockname(supervisor.listeners[0], (struct sockaddr *)&address, &bytes), 0);
	config.listen_port = ntohs(address.sin_port);
	(void)snprintf(number, sizeof(number), ":%u:", config.listen_port);
	bytes = (socklen_t)supervisor.listeners[0];
	assert_int_equal(wire_open_listeners(&supervisor, &err), -1);
	close((int)bytes);
	assert_non_null(strstr(err.text, "listen.http 127.0.0.1"));
	assert_non_null(strstr(err.text, number));
	assert_non_null(strstr(err.text, strerror(EADDRINUSE)));
}

static void what_cannot_be_bound_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	config.listen_address = put("localhost");
	assert_int_equal(wire_open_listeners(&supervisor, &err), -1);
	config.listen_address = put("127.0.0.1");
	config.status_group = put("no-such-group");
	assert_int_equal(wire_open_listeners(&supervisor, &err), -1);
	assert_non_null(strstr(err.text, "no-such-group"));
}

static void groups_come_from_the_file(void **state)
{
	char path[] = "/tmp/understudy-test-XXXXXX";
	int fd = mkstemp(path);
	gid_t gid = 1;

	(void)state;
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "root:x:0:\nbroken\nunderstudy:x:977:alice\n") > 0);
	close(fd);
	assert_int_equal(wire_group("", path, &gid), 0);
	assert_int_equal(gid, 0);
	assert_int_equal(wire_group("understudy", path, &gid), 0);
	assert_int_equal(gid, 977);
	assert_int_equal(wire_group("under", path, &gid), -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(wire_group("understudy", path, &gid), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wires_are_those_of_the_table),
		TEST(nothing_is_linked_before_it_is_verified),
		TEST(listeners_have_mode_and_group),
		TEST(a_used_port_is_refused_by_name),
		TEST(what_cannot_be_bound_is_refused),
		TEST(groups_come_from_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
